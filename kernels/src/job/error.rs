//! Errors of putting a job together, carrying it out and reading its arrays.

use cp2_host::{HostError, PlanError};

/// Why a job cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A pass cannot be paged on the machine.
    #[error(transparent)]
    Paging(#[from] PlanError),
    /// A sweep cannot be cut into pages on the machine.
    #[error(transparent)]
    Sweep(#[from] cp2_host::nest::NestError),
    /// The device refused a command.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The job exchanges messages, and runs alone.
    #[error("the job exchanges messages with other processors; run it together with theirs")]
    OtherProcessors,
    /// A part of a job exchanges messages.
    #[error(
        "a part of the job sends messages or waits for them: its program does that, between parts"
    )]
    MessagesInPart,
    /// The program of the job has failed.
    #[error("{0}")]
    Program(String),
    /// An array is larger than system memory.
    #[error(
        "the array `{array}` of {} elements of {element} B needs {} B; the machine has {memory} B of system memory (`host.memory`): use a smaller problem or a machine with more memory",
        extents(.shape), bytes(.shape, *.element)
    )]
    ArrayTooLarge {
        /// Name of the array.
        array: String,
        /// Its extents.
        shape: Vec<u64>,
        /// Bytes of one element.
        element: u64,
        /// Bytes of the machine's system memory.
        memory: u64,
    },
    /// An array does not fit beside the arrays and programs that are there.
    #[error(
        "the array `{array}` needs {bytes} B; of the {memory} B of the machine's system memory (`host.memory`) {free} are free beside the arrays and programs before it: use a smaller problem or a machine with more memory"
    )]
    NoRoom {
        /// Name of the array.
        array: String,
        /// Bytes that the array needs.
        bytes: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes of the machine's system memory.
        memory: u64,
    },
    /// The kernel that puts an array into another layout does not run on the machine.
    #[error(transparent)]
    Unfit(#[from] crate::Unfit),
    /// The schedule of the kernel that puts an array into another layout needs more registers than there are.
    #[error(transparent)]
    Unschedulable(#[from] crate::Unschedulable),
    /// Words should be filled when a pass begins, but no pass was added last.
    #[error(
        "`{label}` would be filled when a pass begins, but none was added last: add the pass, then say what fills its words"
    )]
    NoPass {
        /// Label of the words.
        label: String,
    },
    /// The words to fill at run time are not in the program's data.
    #[error(
        "the data of `{program}` has no {bytes} B at the label `{label}`: a section `.dmem` holds what is filled at run time, `{label}: .space {bytes}`"
    )]
    NoWords {
        /// Name of the program.
        program: String,
        /// Label of the words.
        label: String,
        /// Bytes that should be there.
        bytes: u64,
    },
    /// The words to fill at run time are not whole granules of the DMA.
    #[error(
        "`{label}`, {bytes} B from {from:#x} to DMEM {to:#x}: addresses and size must be multiples of the {granule} B that the DMA moves; put `.align {granule}` before the label"
    )]
    Unaligned {
        /// Label of the words.
        label: String,
        /// Bytes of the words.
        bytes: u64,
        /// Byte address of the array in system memory.
        from: u64,
        /// Byte address of the words in DMEM.
        to: u64,
        /// Bytes of the machine's DMA granule.
        granule: u64,
    },
    /// The job has no array of that name.
    #[error("the job has no {kind} `{name}`; it has {}", named(.known))]
    Unnamed {
        /// Kind of array that was looked for: an input or an output.
        kind: &'static str,
        /// Name that was looked for.
        name: String,
        /// Names of all arrays of this kind.
        known: Vec<String>,
    },
    /// The values given are of another type than the array.
    #[error("the {kind} `{name}` holds {expected}, not {found}")]
    Element {
        /// Kind of array: an input or an output.
        kind: &'static str,
        /// Name of the array.
        name: String,
        /// The type of the values given.
        found: &'static str,
        /// The type of the array's values.
        expected: String,
    },
    /// The values given or wanted are not in the array.
    #[error("the {kind} `{name}` holds {len} values, not {values} from value {from} on")]
    Length {
        /// Kind of array: an input or an output.
        kind: &'static str,
        /// Name of the array.
        name: String,
        /// Number of values given or wanted.
        values: u64,
        /// Index of the first of these values in the array.
        from: u64,
        /// Number of values of the array.
        len: u64,
    },
}

/// Formats extents for a message: `3 x 4`.
fn extents(shape: &[u64]) -> String {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    extents.join(" x ")
}

/// Formats the bytes of an array for a message: all digits as far as 128 bits go.
fn bytes(shape: &[u64], element: u64) -> String {
    let bytes = shape
        .iter()
        .try_fold(u128::from(element), |n, &d| n.checked_mul(d.into()));
    match bytes {
        Some(bytes) => bytes.to_string(),
        None => {
            let about = shape.iter().fold(element as f64, |n, &d| n * d as f64);
            format!("about {about:.3e}")
        }
    }
}

/// Formats a list of names for a message.
fn named(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => format!("`{}`", names.join("`, `")),
    }
}
