//! Helper of the tests: an array through a page kernel, block by block.

use super::*;
use crate::emit::EmittedArray;

/// Options of a run over an array.
#[derive(Clone, Debug)]
pub(super) struct MapJob {
    pub(super) name: String,
    /// Bytes of a block.
    pub(super) block: u64,
    pub(super) in_place: bool,
    pub(super) scratch: u64,
    pub(super) args: Vec<u32>,
    pub(super) size: BlocksPerSection,
    pub(super) buffering: Buffering,
    pub(super) options: DeviceOptions,
}

impl MapJob {
    /// Creates a job of blocks of `block` bytes; the scheduler chooses everything else.
    pub(super) fn new(name: &str, block: u64) -> Self {
        Self {
            name: name.to_string(),
            block,
            in_place: false,
            scratch: 0,
            args: Vec::new(),
            size: BlocksPerSection::ANY,
            buffering: Buffering::Auto,
            options: DeviceOptions::default(),
        }
    }
}

#[derive(Debug)]
pub(super) struct MapRun {
    /// Output array, meaningless unless the run finished.
    pub(super) output: Vec<u8>,
    pub(super) plan: StreamPlan,
    pub(super) run: FinishedRun,
}

/// Runs each block of the array through the kernel to a block of the output.
pub(super) fn map(
    program: Arc<Program>,
    machine: Arc<Machine>,
    input: &[u8],
    job: &MapJob,
) -> MapRun {
    let blocks = input.len() as u64 / job.block;
    let mut device = Device::with_options(machine.clone(), job.options.clone());
    let entry = program.entry.into();
    let placed = device.place(&job.name, program).unwrap();
    let x = device.alloc_from(input).unwrap();
    let y = device.alloc::<u8>(x.bytes()).unwrap();
    device.input(EmittedArray::new("input", x, &[x.bytes()]));
    device.output(EmittedArray::new("output", y, &[y.bytes()]));
    let stream = |name, at: Buffer<u8>| Stream::contiguous(name, at.address(), job.block);
    let paging = Paging {
        in_place: job.in_place,
        scratch: job.scratch,
        reserved: placed.reserved(),
        args: PageArgs {
            words: job.args.clone(),
        },
        size: job.size,
        buffering: job.buffering,
        ..Paging::new(blocks, vec![stream("input", x)], vec![stream("output", y)])
    };
    let plan = StreamPlan::new(paging, &machine).unwrap();
    device.page(&plan, &placed, entry, &[]).unwrap();
    let run = device.finish().unwrap();
    let output = run.read(y).unwrap();
    MapRun { output, plan, run }
}
