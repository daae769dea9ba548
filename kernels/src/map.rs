//! Sends arrays of one to three axes through a user's page kernel in one call.
//!
//! Every array is cut into blocks of one grid; inputs may have a halo, which shows the elements around a
//! block, or the continuation beyond the array's edge. Rows need not be whole granules of the DMA: where
//! transfers alone cannot move them, another pass puts them into another layout first, or back afterwards, in
//! simulated time.

mod arrays;
#[cfg(any(test, feature = "testing"))]
mod check;
mod layout;
mod shares;

#[cfg(any(test, feature = "testing"))]
pub use check::{Inputs, KernelFailure, KernelTest, Neighbourhood, check_kernel};

pub use arrays::{ArrayId, Arrays, MapJob, PassArray, Streams};
pub use shares::share_blocks;

use crate::job::{JobError, Pass};
use cp2_asm::Program;
use cp2_host::nest::{AXES, BoundaryRule, GridPass, GridPlan, March};
use cp2_host::{BlocksPerSection, Buffering, DeviceOptions, FinishedRun, HostError};
use cp2_machine::{Cycles, Machine};
use cp2_reference::Figures;
use std::sync::Arc;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    /// Name of the type in NumPy.
    pub name: &'static str,
    /// Bytes of one element.
    pub bytes: u64,
}

/// An input: an array as it lies in the user's memory, row by row.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Name in listings and recordings.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// Extents, slowest axis first.
    pub shape: Vec<u64>,
    /// Bytes of the array.
    pub bytes: &'a [u8],
    /// Elements of a block along each axis; a single number takes the whole array as one row.
    pub block: Vec<u64>,
    /// Elements of the halo on either side along each axis: empty for none, or as many numbers as `shape`.
    pub halo: Vec<u64>,
    /// Continuation of the array beyond its edges.
    pub edge: BoundaryRule,
}

/// An output array.
#[derive(Clone, Debug)]
pub struct Output {
    /// Name in listings and recordings.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// Extents, slowest axis first.
    pub shape: Vec<u64>,
    /// Elements of a block along each axis; a single number takes the whole array as one row.
    pub block: Vec<u64>,
}

/// A kernel's arrays, paging and options for one call of [`map`].
#[derive(Clone, Debug)]
pub struct ArrayJob<'a> {
    /// Name of the kernel on the timeline.
    pub name: String,
    /// Arrays that every page loads, in the order of the arguments.
    pub inputs: Vec<Input<'a>>,
    /// Arrays that every page stores, in the order of the arguments.
    pub outputs: Vec<Output>,
    /// Data that stays in DMEM throughout: names and bytes.
    pub tables: Vec<(String, &'a [u8])>,
    /// True if the kernel leaves the block of output `i` in the place of the block of input `i`.
    pub in_place: bool,
    /// Axis that pages march along, for kernels that read the addresses of their windows' planes or rows.
    pub march: Option<March>,
    /// True if the whole array is reduced to one block of the one output.
    pub reduce: bool,
    /// Bytes of working space in DMEM.
    pub scratch: u64,
    /// Argument words of the kernel's own.
    pub words: Vec<u32>,
    /// Number of blocks per section in a page.
    pub size: BlocksPerSection,
    /// Number of pages in DMEM at a time.
    pub buffering: Buffering,
    /// Word address to launch at; none for the program's entry.
    pub entry: Option<u32>,
    /// Options of the device.
    pub options: DeviceOptions,
}

impl ArrayJob<'_> {
    /// Creates a job without arrays for which the scheduler chooses everything.
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

/// Result of a call of [`map`].
#[derive(Debug)]
pub struct Mapped {
    /// The outputs, row by row; none if the run did not finish.
    pub outputs: Option<Vec<Vec<u8>>>,
    /// Cycles that the run should have taken; none where data decide how long a kernel takes.
    pub expected: Option<Cycles>,
    /// The proved limit: the user's arrays once over the DMA channel. The problem that the kernel computes is
    /// unknown.
    pub figures: Figures,
    /// Number of passes that only make the margins of rows, for arrays that continue with their outermost
    /// elements; they are among the passes that put arrays into another layout.
    pub clamps: usize,
    /// Passes: that of the kernel, and before and behind it those that put arrays into another layout.
    pub passes: Vec<Pass>,
    /// The finished run.
    pub run: FinishedRun,
}

impl Mapped {
    /// Returns the pages of the kernel's pass.
    #[must_use]
    pub fn nest(&self) -> Option<&GridPlan> {
        self.passes.iter().find_map(Pass::nest)
    }

    /// Counts the passes that put an array into another layout.
    #[must_use]
    pub fn relayouts(&self) -> usize {
        self.passes.iter().filter(|pass| pass.is_relayout()).count()
    }
}

/// The reason why arrays cannot be sent through a kernel.
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
    #[error("`{array}` has {}; expected 1 to {AXES}", format_count(*.found, "axis"))]
    Dimensions {
        /// Name of the array.
        array: String,
        /// Number of its axes.
        found: usize,
    },
    /// Blocks or halos have another number of dimensions than the array.
    #[error(
        "`{array}`: {what} {}, the array {}: expected a number for each of them, slowest first",
        format_count(*.found, "number"), format_count(*.expected, "axis")
    )]
    Rank {
        /// Name of the array.
        array: String,
        /// Extents that are wrong: of blocks or of the halo.
        what: &'static str,
        /// Number of axes of these.
        found: usize,
        /// Number of axes of the array.
        expected: usize,
    },
    /// Several processors cannot share the blocks.
    #[error("{processors} processors cannot share the blocks: {reason}")]
    Shared {
        /// Number of processors.
        processors: usize,
        /// Reason.
        reason: String,
    },
    /// Bytes and extents disagree.
    #[error("`{array}` has {bytes} B; its extents and elements make {expected} B")]
    Bytes {
        /// Name of the array.
        array: String,
        /// Bytes given.
        bytes: u64,
        /// Bytes by its extents and elements.
        expected: u64,
    },
}

/// Formats a count with its noun, `1 axis` or `2 axes`.
fn format_count(count: usize, what: &str) -> String {
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
///         name: "x".into(), element, shape: vec![9], bytes: &x,
///         block: vec![4], halo: vec![1], edge: BoundaryRule::Clamp,
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
    map_arrays(&program, machine, job)?.run()
}

/// Puts the job together that [`map`] carries out, for a processor among several.
///
/// # Errors
/// The arrays do not fit each other or the machine.
pub fn map_job(
    program: &Arc<Program>,
    machine: Arc<Machine>,
    job: ArrayJob<'_>,
) -> Result<MapJob, MapError> {
    Ok(map_arrays(program, machine, job)?.into_job())
}

/// Puts the passes over the arrays of a job together.
fn map_arrays(
    program: &Arc<Program>,
    machine: Arc<Machine>,
    job: ArrayJob<'_>,
) -> Result<Arrays, MapError> {
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
    let kernel = arrays.kernel(&job.name, program)?;
    arrays.name_passes(&job.name);
    arrays.pass(&kernel, entry, streams, sweep, job.reduce)?;
    Ok(arrays)
}
