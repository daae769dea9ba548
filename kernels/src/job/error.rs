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
    /// An array is larger than system memory.
    #[error(
        "the array `{array}` of {} elements of {element} B needs {} B; the machine has {memory} B of system memory (`host.memory`): use a smaller problem or a machine with more memory",
        extents(.shape), bytes(.shape, *.element)
    )]
    ArrayTooLarge {
        /// Its name.
        array: String,
        /// Its extents.
        shape: Vec<u64>,
        /// Bytes of an element.
        element: u64,
        /// Bytes of the machine.
        memory: u64,
    },
    /// An array does not fit beside those that are there.
    #[error(
        "the array `{array}` needs {bytes} B; of the {memory} B of the machine's system memory (`host.memory`) {free} are free beside the arrays and programs before it: use a smaller problem or a machine with more memory"
    )]
    NoRoom {
        /// Its name.
        array: String,
        /// Its bytes.
        bytes: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes of the machine.
        memory: u64,
    },
    /// The kernel that puts an array into another layout does not run on the machine.
    #[error(transparent)]
    Unfit(#[from] crate::Unfit),
    /// The same for want of registers.
    #[error(transparent)]
    Unschedulable(#[from] crate::Unschedulable),
    /// Words would be filled of no pass.
    #[error(
        "`{label}` would be filled when a pass begins, but none was added last: add the pass, then say what fills its words"
    )]
    NoPass {
        /// The label.
        label: String,
    },
    /// Words that are filled at run time are no words of the program's data.
    #[error(
        "the data of `{program}` has no {bytes} B at the label `{label}`: a section `.dmem` holds what is filled at run time, `{label}: .space {bytes}`"
    )]
    NoWords {
        /// The program.
        program: String,
        /// The label.
        label: String,
        /// How many bytes there should be.
        bytes: u64,
    },
    /// They are no whole granules of the DMA.
    #[error(
        "`{label}`, {bytes} B from {from:#x} to DMEM {to:#x}: addresses and size must be multiples of the {granule} B that the DMA moves; put `.align {granule}` before the label"
    )]
    Unaligned {
        /// The label.
        label: String,
        /// Their bytes.
        bytes: u64,
        /// Their address in system memory.
        from: u64,
        /// Their address in DMEM.
        to: u64,
        /// The machine's granule.
        granule: u64,
    },
    /// The job has no array of that name.
    #[error("the job has no {kind} `{name}`; it has {}", named(.known))]
    Unnamed {
        /// What is looked for: an input or an output.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// An array holds numbers of another type.
    #[error("the {kind} `{name}` holds {expected}, not {found}")]
    Element {
        /// What the array is: an input or an output.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The type of the values given.
        found: &'static str,
        /// The array's.
        expected: String,
    },
    /// An array has another length.
    #[error("the {kind} `{name}` holds {len} values, not {values} from value {from} on")]
    Length {
        /// What the array is: an input or an output.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Values given or wanted.
        values: u64,
        /// The first of them.
        from: u64,
        /// Values of the array.
        len: u64,
    },
}

/// Extents in a message.
fn extents(shape: &[u64]) -> String {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    extents.join(" x ")
}

/// Bytes in a message: all digits as far as 128 bits go.
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

/// Names in a message.
fn named(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => format!("`{}`", names.join("`, `")),
    }
}
