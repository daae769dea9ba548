//! An array through a page kernel in one call.

use crate::device::{Buffer, Device, Event, HostError, Options, Run};
use crate::emit::Array;
use crate::schedule::{BlocksPerSection, Buffering, PageArgs, Paging, Plan, PlanError, Stream};
use cp2_asm::Program;
use cp2_machine::Machine;
use std::sync::Arc;

/// What to do with the array.
#[derive(Clone, Debug)]
pub struct MapJob {
    /// Name of the kernel on the timeline.
    pub name: String,
    /// Bytes of a block of the input: a multiple of the DMA granule.
    pub block: u64,
    /// Bytes of a block of the output; the same as the input's if not given.
    pub output_block: Option<u64>,
    /// The kernel leaves its output where its input was.
    pub in_place: bool,
    /// DMEM bytes of working space.
    pub scratch: u64,
    /// The same for every block per section of a page.
    pub scratch_per_block: u64,
    /// Kernel-specific argument words.
    pub args: Vec<u32>,
    /// Blocks per section in a page.
    pub size: BlocksPerSection,
    /// Pages in DMEM at a time.
    pub buffering: Buffering,
    /// Element type by NumPy's name and its bytes, for the recording.
    pub element: (&'static str, u64),
    /// Shape of the input, for the recording; one row if not given.
    pub shape: Option<Vec<u64>>,
    /// Word address to launch at; the program's entry if not given.
    pub entry: Option<u32>,
    /// How the device runs.
    pub options: Options,
}

impl MapJob {
    /// Blocks of `block` bytes, everything else chosen by the scheduler.
    #[must_use]
    pub fn new(name: &str, block: u64) -> Self {
        Self {
            name: name.to_string(),
            block,
            output_block: None,
            in_place: false,
            scratch: 0,
            scratch_per_block: 0,
            args: Vec::new(),
            size: BlocksPerSection::ANY,
            buffering: Buffering::Auto,
            element: ("uint8", 1),
            shape: None,
            entry: None,
            options: Options::default(),
        }
    }
}

/// The result of [`map()`].
#[derive(Debug)]
pub struct MapRun {
    /// The output array, whole blocks; meaningless unless the run finished.
    pub output: Vec<u8>,
    /// The plan that was carried out.
    pub plan: Plan,
    /// The run.
    pub run: Run,
}

/// Why an array cannot be mapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The array is no whole number of blocks.
    #[error(
        "the input has {bytes} B, which is no whole number of blocks of {block} B; {fits} B would be"
    )]
    Length {
        /// Bytes of the array.
        bytes: u64,
        /// Bytes of a block.
        block: u64,
        /// The next multiple.
        fits: u64,
    },
    /// There is nothing to do.
    #[error("{what} is empty; it must have at least one byte")]
    Empty {
        /// The array or the block.
        what: &'static str,
    },
    /// The job cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device refused something.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Pages `input` through a page kernel: each block of the array becomes a
/// block of the output.
///
/// ```
/// use cp2_asm::{Options, Source, assemble};
/// use cp2_host::{MapJob, map};
/// use cp2_machine::Machine;
/// use std::sync::Arc;
///
/// // Doubles every float of the page's blocks, 16 bytes each.
/// let text = r#"
/// .include "page.s"
/// .program
///     page_begin
///     ldx2 a0, [a15]      ; input and output page
///     ldx  c0, [a15 + 8]  ; blocks in this page
///     loop c0 {
///         ldq q0, [a0]+16
///         add q1, q0, q0
///         stq q1, [a1]+16
///     }
///     page_end
///     stop
/// "#;
/// let program = assemble(&Source::new("double.s", text), &Options::default()).unwrap().program;
/// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
/// let input: Vec<u8> = (0..40u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
/// let done = map(Arc::new(program), vm7, &input, &MapJob::new("double", 16))?;
/// assert_eq!(done.output[4..8], 2f32.to_le_bytes());
/// # Ok::<(), cp2_host::MapError>(())
/// ```
///
/// # Errors
/// The array is no whole number of blocks, does not fit, or breaks a rule of
/// the DMA. A guest fault is no error: see the run's report.
pub fn map(
    program: Arc<Program>,
    machine: Arc<Machine>,
    input: &[u8],
    job: &MapJob,
) -> Result<MapRun, MapError> {
    let bytes = input.len() as u64;
    if job.block == 0 || job.output_block == Some(0) {
        return Err(MapError::Empty { what: "the block" });
    }
    if bytes == 0 {
        return Err(MapError::Empty { what: "the input" });
    }
    if !bytes.is_multiple_of(job.block) {
        let fits = bytes
            .checked_next_multiple_of(job.block)
            .unwrap_or(job.block);
        return Err(MapError::Length {
            bytes,
            block: job.block,
            fits,
        });
    }
    let blocks = bytes / job.block;
    let output_block = job.output_block.unwrap_or(job.block);
    let mut device = Device::with_options(machine.clone(), job.options.clone());
    let entry = job.entry.unwrap_or(program.entry.into());
    let placed = device.place(&job.name, program)?;
    let x = device.alloc_from(input)?;
    let size = blocks
        .checked_mul(output_block)
        .ok_or(HostError::TooLarge {
            count: blocks,
            bytes: output_block,
        })?;
    let y = device.alloc::<u8>(size)?;
    let (element, each) = job.element;
    let array = |name: &str, buffer: Buffer<u8>| Array {
        element: element.to_owned(),
        shape: match &job.shape {
            Some(shape) if buffer.bytes() == bytes => shape.clone(),
            _ => vec![buffer.bytes() / each.max(1)],
        },
        ..Array::new(name, buffer, &[buffer.bytes()])
    };
    device.input(array("input", x));
    device.output(array("output", y));
    let plan = Plan::new(
        Paging {
            in_place: job.in_place,
            scratch: job.scratch,
            scratch_per_block: job.scratch_per_block,
            reserved: placed.reserved(),
            args: PageArgs {
                words: job.args.clone(),
            },
            size: job.size,
            buffering: job.buffering,
            ..Paging::new(
                blocks,
                vec![Stream::contiguous("input", x.address(), job.block)],
                vec![Stream::contiguous("output", y.address(), output_block)],
            )
        },
        &machine,
    )?;
    device.page(&plan, &placed, entry, &[] as &[Event])?;
    let run = device.finish()?;
    let output = run.read(y)?;
    Ok(MapRun { output, plan, run })
}
