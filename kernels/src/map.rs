//! Arrays of one to three dimensions through a page kernel of the user's own, in one call.
//!
//! Every array is cut into blocks of the same grid; inputs may have a halo, which shows what the array has around a block, or what
//! its edge continues it with. Rows need not be whole granules of the DMA: where transfers alone cannot move them,
//! another pass puts them into another layout first, or back afterwards, in simulated time.

mod arrays;
#[cfg(any(test, feature = "testing"))]
mod check;
mod layout;

#[cfg(any(test, feature = "testing"))]
pub use check::{Inputs, KernelFailure, KernelTest, Neighbourhood, check_kernel};

pub use arrays::{ArrayId, Arrays, PassArray, Streams};

use crate::job::{JobError, Pass};
use cp2_asm::Program;
use cp2_host::nest::{AXES, BoundaryRule, GridPass, GridPlan, March};
use cp2_host::{BlocksPerSection, Buffering, DeviceOptions, FinishedRun, HostError};
use cp2_machine::{Cycles, Machine};
use cp2_reference::Figures;
use std::sync::Arc;

/// Elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    /// NumPy's name.
    pub name: &'static str,
    /// Bytes of one.
    pub bytes: u64,
}

/// An input: an array as it lies in the user's memory, row by row.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Name in listings and recordings.
    pub name: String,
    /// Its elements.
    pub element: ElementType,
    /// Its extents, slowest first.
    pub shape: Vec<u64>,
    /// The bytes.
    pub bytes: &'a [u8],
    /// Elements of a block along each axis; one alone takes the whole array as one row.
    pub block: Vec<u64>,
    /// Elements of the halo on either side along each axis; none, or as many as `shape`.
    pub halo: Vec<u64>,
    /// What lies beyond the array.
    pub edge: BoundaryRule,
}

/// An output.
#[derive(Clone, Debug)]
pub struct Output {
    /// Name in listings and recordings.
    pub name: String,
    /// Its elements.
    pub element: ElementType,
    /// Its extents, slowest first.
    pub shape: Vec<u64>,
    /// Elements of a block along each axis; one alone takes the whole array as one row.
    pub block: Vec<u64>,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct ArrayJob<'a> {
    /// Name of the kernel on the timeline.
    pub name: String,
    /// What every page loads, in the order of the arguments.
    pub inputs: Vec<Input<'a>>,
    /// What every page stores, in the order of the arguments.
    pub outputs: Vec<Output>,
    /// Data that lies in DMEM throughout: names and bytes.
    pub tables: Vec<(String, &'a [u8])>,
    /// The kernel leaves output `i` where the block of input `i` was.
    pub in_place: bool,
    /// The axis that pages march along: of a kernel that reads the addresses of its windows' planes or rows.
    pub march: Option<March>,
    /// The whole array ends in one block of the one output.
    pub reduce: bool,
    /// DMEM bytes of working space.
    pub scratch: u64,
    /// Words of the kernel's own.
    pub words: Vec<u32>,
    /// Blocks per section in a page.
    pub size: BlocksPerSection,
    /// Pages in DMEM at a time.
    pub buffering: Buffering,
    /// Word address to launch at; the program's entry if not given.
    pub entry: Option<u32>,
    /// How the device runs.
    pub options: DeviceOptions,
}

impl ArrayJob<'_> {
    /// A job of which the scheduler chooses everything.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            tables: Vec::new(),
            in_place: false,
            march: None,
            reduce: false,
            scratch: 0,
            words: Vec::new(),
            size: BlocksPerSection::ANY,
            buffering: Buffering::Auto,
            entry: None,
            options: DeviceOptions::default(),
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Mapped {
    /// The outputs, row by row; none if the run did not finish.
    pub outputs: Option<Vec<Vec<u8>>>,
    /// What it should have taken, in cycles; none where data decide how long a kernel takes.
    pub expected: Option<Cycles>,
    /// The proved limit: the user's arrays once over the DMA channel. Of the kernel's own problem nothing is known.
    pub figures: Figures,
    /// Of the passes that put arrays into another layout those that only make the margins of rows, where these go on with their outermost elements.
    pub clamps: usize,
    /// Its passes: that of the kernel, and before and behind it those that put arrays into another layout.
    pub passes: Vec<Pass>,
    /// The run.
    pub run: FinishedRun,
}

impl Mapped {
    /// The pages of the kernel's pass.
    #[must_use]
    pub fn nest(&self) -> Option<&GridPlan> {
        self.passes.iter().find_map(Pass::nest)
    }

    /// How many passes put an array into another layout.
    #[must_use]
    pub fn relayouts(&self) -> usize {
        self.passes.iter().filter(|pass| pass.is_relayout()).count()
    }
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The device refused a command.
    #[error(transparent)]
    Host(#[from] HostError),
    /// An array has no extents, or too many.
    #[error("`{array}` has {}; expected 1 to {AXES}", counted(*.found, "axis"))]
    Dimensions {
        /// The array.
        array: String,
        /// How many it has.
        found: usize,
    },
    /// Blocks or halos have another number of dimensions than the array.
    #[error(
        "`{array}`: {what} {}, the array {}: expected a number for each of them, slowest first",
        counted(*.found, "number"), counted(*.expected, "axis")
    )]
    Rank {
        /// The array.
        array: String,
        /// Blocks or halo.
        what: &'static str,
        /// Its dimensions.
        found: usize,
        /// Those of the array.
        expected: usize,
    },
    /// Bytes and extents disagree.
    #[error("`{array}` has {bytes} B; its extents and elements make {expected} B")]
    Bytes {
        /// The array.
        array: String,
        /// Bytes that it has.
        bytes: u64,
        /// Bytes that it should have.
        expected: u64,
    },
}

/// How many there are, in words.
fn counted(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "axis") => format!("{count} axes"),
        _ => format!("{count} {what}s"),
    }
}

/// Sends arrays through a page kernel (see `docs/abi.md`).
///
/// ```
/// use cp2_asm::{Options, Source, assemble};
/// use cp2_host::nest::BoundaryRule;
/// use cp2_kernels::map::{ArrayJob, ElementType, Input, Output, map};
/// use cp2_machine::Machine;
/// use std::sync::Arc;
///
/// // The sum of each element's neighbours in its row.
/// let text = r#"
/// .include "page.s"
/// .program
///     page_begin
///     ldx2 a0, [a15]                  ; the block's first element; the result's
///     ldx c0, [a15 + PAGE_COLUMNS]    ; quads of its row
///     loop c0 {
///         ldq q0, [a0 - 16]
///         ldq q1, [a0]+16
///         ldq q2, [a0]
///         ext q3, q0, q1, 3           ; what lies one to the left
///         ext q4, q1, q2, 1           ; and one to the right
///         add q5, q3, q4
///         stq q5, [a1]+16
///     }
///     page_end
///     stop
/// "#;
/// let program = assemble(&Source::new("neighbours.s", text), &Options::default()).unwrap().program;
/// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
/// let x: Vec<u8> = (1..=9u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
/// let element = ElementType { name: "float32", bytes: 4 };
/// let done = map(Arc::new(program), vm7, ArrayJob {
///     inputs: vec![Input {
///         name: "x".into(), element, shape: vec![9], bytes: &x, block: vec![4], halo: vec![1], edge: BoundaryRule::Clamp,
///     }],
///     outputs: vec![Output { name: "y".into(), element, shape: vec![9], block: vec![4] }],
///     ..ArrayJob::new("neighbours")
/// })?;
/// let y: Vec<f32> = done.outputs.unwrap()[0].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
/// assert_eq!(y, [3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 17.0]);
/// # Ok::<(), cp2_kernels::map::MapError>(())
/// ```
///
/// # Errors
/// The arrays do not fit each other or the machine. A guest fault is no error: see the run's report.
pub fn map(
    program: Arc<Program>,
    machine: Arc<Machine>,
    job: ArrayJob<'_>,
) -> Result<Mapped, MapError> {
    let mut arrays = Arrays::new(machine, job.options.clone());
    let mut streams = Streams {
        in_place: job.in_place,
        ..Streams::default()
    };
    for input in &job.inputs {
        let array = arrays.input(&input.name, input.element, &input.shape, input.bytes)?;
        streams.inputs.push(PassArray {
            array,
            block: input.block.clone(),
            halo: input.halo.clone(),
            edge: input.edge,
        });
    }
    for output in &job.outputs {
        let array = arrays.output(&output.name, output.element, &output.shape)?;
        streams.outputs.push(PassArray::new(array, &output.block));
    }
    for (name, bytes) in &job.tables {
        let element = ElementType {
            name: "uint8",
            bytes: 1,
        };
        let table = arrays.input(name, element, &[bytes.len() as u64], bytes)?;
        streams.tables.push(table);
    }
    let sweep = GridPass {
        march: job.march,
        scratch: job.scratch,
        words: job.words,
        size: job.size,
        buffering: job.buffering,
        ..GridPass::new(Vec::new(), Vec::new())
    };
    let entry = job.entry.unwrap_or(program.entry.into());
    let kernel = arrays.kernel(&job.name, &program)?;
    arrays.name_passes(&job.name);
    arrays.pass(&kernel, entry, streams, sweep, job.reduce)?;
    arrays.run()
}
