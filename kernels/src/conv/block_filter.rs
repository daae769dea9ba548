//! A kernel that filters a stream block by block, and how streams are laid out for it.

use super::channel_layout::ChannelLayout;
use super::error::ConvError;
use super::memory::ChannelExtent;
use super::request::FilterRequest;
use crate::job::{Job, JobError, KernelInput, room};
use cp2_asm::Program;
use cp2_dma::Level;
use cp2_host::paging::{KernelEntryPoint, priced};
use cp2_host::{
    BlockPiece, BlocksPerSection, Buffer, DeviceOptions, MemoryElement, Paging, PlanError,
    Reserved, Stream, StreamPlan,
};
use cp2_machine::{Class, Cycles, Machine};
use cp2_problems::conv::Sample;
use num_complex::Complex32;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a complex number.
pub(super) const COMPLEX: u64 = 8;

/// Real or complex samples.
///
/// A kernel filters complex numbers. Real samples under real taps go through
/// it two by two, both of one channel where they share their rounding.
pub trait FilterSample: Sample + MemoryElement {}

impl<T: Sample + MemoryElement> FilterSample for T {}

/// What filters blocks by passes of its own, not by the scheduler's pages.
pub(super) trait FilterPasses: fmt::Debug + Send + Sync {
    /// The passes of `blocks` blocks from `x` to `y`.
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        blocks: usize,
    ) -> Result<(), JobError>;
    /// Bytes of system memory beside samples and outputs of `blocks` blocks.
    fn bytes(&self, blocks: usize) -> u64;
    /// Blocks that they are made for, at least.
    fn fewest(&self) -> usize {
        1
    }
    /// Expected cycles of `blocks` blocks; none where they are too few.
    fn estimate(&self, blocks: usize) -> Option<f64>;
    /// Arithmetic of `blocks` blocks, pass by pass.
    fn operations(&self, blocks: usize) -> Vec<Vec<(Class, u64)>>;
}

/// Of a block's samples those that its outputs need, where these are fewer.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatheredRuns {
    /// Numbers of each output, even: transfers are whole granules.
    pub(super) run: usize,
    /// Outputs: an even number if `every` is odd.
    pub(super) count: usize,
    /// Samples from an output to the next.
    pub(super) every: usize,
    /// Numbers at the beginning of the first run of two that no output needs, where `every` is odd.
    pub(super) spare: usize,
}

impl GatheredRuns {
    /// The runs of a block: each begins at an even number.
    fn pieces(self) -> Vec<BlockPiece> {
        let (every, run) = (self.every, self.run);
        let bytes = |numbers: usize| numbers as u64 * COMPLEX;
        let level = |count: usize, [system, local]: [usize; 2]| Level {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            system_stride: bytes(system) as i64,
            local_stride: bytes(local) as i64,
        };
        if every % 2 == 0 {
            return vec![BlockPiece::new(
                bytes(run),
                vec![level(self.count, [every, run])],
            )];
        }
        let couples = level(self.count / 2, [2 * every, 2 * run]);
        if self.spare == 0 {
            let couple = level(2, [every + 1, run]);
            return vec![BlockPiece::new(bytes(run), vec![couple, couples])];
        }
        let of = |skipped: usize, [system, local]: [usize; 2]| BlockPiece {
            system: bytes(system) as i64,
            local: bytes(local) as i64,
            ..BlockPiece::new(bytes(run - skipped), vec![couples])
        };
        vec![of(self.spare, [self.spare; 2]), of(0, [every + 1, run])]
    }

    /// Samples from the first run to the end of the last.
    pub(super) fn reach(self) -> usize {
        (self.count - 1) * self.every + self.every % 2 + self.run
    }
}

/// A page kernel for streams of complex numbers. Block `b` reads `window`
/// samples from `b hop` on and makes `out` outputs, `b apart` and following;
/// output `k out / hop` ends at sample `lead + k`.
#[derive(Clone, Debug)]
pub(super) struct BlockFilter {
    /// Its name.
    pub(super) title: String,
    /// The page kernel with its data.
    pub(super) program: Arc<Program>,
    /// The machine.
    pub(super) machine: Arc<Machine>,
    /// Samples before the first one of the signal.
    pub(super) lead: usize,
    /// Samples of a block.
    pub(super) window: usize,
    /// Those of them that are moved, if not all.
    pub(super) rows: Option<GatheredRuns>,
    /// Samples from a block to the next.
    pub(super) hop: usize,
    /// Outputs of a block.
    pub(super) out: usize,
    /// Outputs from a block's first to the next one's.
    pub(super) apart: usize,
    /// Numbers in a block before its outputs.
    pub(super) skip: usize,
    /// What a channel's first output is in the full convolution.
    pub(super) first: usize,
    /// Outputs are where the inputs were.
    pub(super) in_place: bool,
    /// A page holds one block of each section.
    pub(super) fixed: bool,
    /// As many blocks as a multiple of these.
    pub(super) deal: usize,
    /// Arithmetic of a block that the algorithm asks for.
    pub(super) operations: Vec<(Class, u64)>,
    /// Cycles of the kernel for a block at least: its arithmetic, or its schedule.
    pub(super) cycles_per_block: u64,
    /// The passes of blocks that are too long for pages.
    pub(super) passes: Option<Arc<dyn FilterPasses>>,
    /// Samples before an output that it needs, where all numbers of a block share
    /// their rounding and their NaNs; none where an output has its own samples alone.
    pub(super) mixes: Option<usize>,
    /// Whether an output is a sum of the products of its definition and of no others: a NaN or an infinity in a sample reaches
    /// exactly the outputs that it is a part of.
    pub(super) exact: bool,
    /// Outputs from one that the user is given to the next.
    pub(super) keep: usize,
}

impl BlockFilter {
    /// What it is called beside others.
    pub(super) fn name(&self) -> String {
        format!(
            "{}{}, {} outputs a block",
            self.title,
            self.rest(),
            self.out
        )
    }

    /// What its title leaves out.
    fn rest(&self) -> String {
        match self.keep {
            1 => String::new(),
            keep => format!(", one output of {keep}"),
        }
    }

    /// The same of whose outputs one of each `keep` is kept.
    pub(super) fn keep_one_of(self, keep: usize) -> Self {
        Self { keep, ..self }
    }

    /// The same, whose title says all of that.
    pub(super) fn with_full_title(self) -> Self {
        let title = format!("{}{}", self.title, self.rest());
        Self { title, ..self }
    }

    /// Whether the channels have as many blocks as it is made for.
    pub(super) fn suits<T: FilterSample>(&self, channels: usize, samples: usize) -> bool {
        let fewest = self.passes.as_ref().map_or(1, |passes| passes.fewest());
        self.layout::<T>(channels, samples).total >= fewest
    }

    /// Arithmetic of `blocks` blocks, pass by pass.
    pub(super) fn operations(&self, blocks: usize) -> Vec<Vec<(Class, u64)>> {
        match &self.passes {
            Some(passes) => passes.operations(blocks),
            None => {
                let all = self.operations.iter();
                vec![all.map(|&(class, n)| (class, n * blocks as u64)).collect()]
            }
        }
    }

    /// How `blocks` blocks from `x` to `y` in system memory are paged.
    pub(super) fn paging(&self, blocks: usize, x: u64, y: u64) -> Paging {
        let bytes = |n: usize| n as u64 * COMPLEX;
        let (loads, held) = match self.rows {
            None => (
                vec![BlockPiece::new(bytes(self.window), Vec::new())],
                self.window,
            ),
            Some(rows) => (rows.pieces(), rows.run * rows.count),
        };
        let mut store = BlockPiece::new(bytes(self.out), Vec::new());
        store.local = bytes(self.skip) as i64;
        let input = Stream::strided("x", x, bytes(self.hop), bytes(held), loads);
        let pitch = if self.in_place {
            self.window
        } else {
            self.skip + self.out
        };
        let output = Stream::strided("y", y, bytes(self.apart), bytes(pitch), vec![store]);
        Paging {
            in_place: self.in_place,
            size: if self.fixed {
                BlocksPerSection::Fixed(1)
            } else {
                BlocksPerSection::ANY
            },
            cycles_per_block: Some(self.cycles_per_block),
            ..Paging::new(blocks as u64, vec![input], vec![output])
        }
    }

    /// Samples of the packed input of `blocks` blocks.
    pub(super) fn input_len(&self, blocks: usize) -> usize {
        (blocks - 1) * self.hop + self.window
    }

    /// Bytes of system memory for `blocks` blocks, input and output.
    pub(super) fn bytes(&self, blocks: usize) -> u64 {
        let numbers = (blocks as u64)
            .saturating_mul((self.hop + self.out) as u64)
            .saturating_add(self.window as u64);
        numbers
            .saturating_mul(COMPLEX)
            .saturating_add(self.intermediate_bytes(blocks))
    }

    /// ... beside input, output and program.
    pub(super) fn intermediate_bytes(&self, blocks: usize) -> u64 {
        let passes = self.passes.as_ref();
        passes.map_or(0, |passes| passes.bytes(blocks))
    }

    /// The same whose blocks `passes` filters.
    pub(super) fn with_passes(self, passes: impl FilterPasses + 'static) -> Self {
        Self {
            passes: Some(Arc::new(passes)),
            ..self
        }
    }

    /// Refuses channels whose blocks system memory does not hold.
    pub(super) fn check_room<T: FilterSample>(
        &self,
        extent: &ChannelExtent,
        machine: &Machine,
    ) -> Result<(), ConvError> {
        let room = room(machine, &self.program);
        let blocks = |samples| self.layout::<T>(extent.channels, samples).total;
        extent.check_room(machine, room, |samples| self.bytes(blocks(samples)))
    }

    /// Expected cycles for `blocks` blocks; none where they are too few for this kernel.
    pub(super) fn estimate(&self, blocks: usize) -> Result<Option<f64>, ConvError> {
        if let Some(passes) = &self.passes {
            return Ok(passes.estimate(blocks));
        }
        let y = (self.input_len(blocks) as u64 * COMPLEX).next_multiple_of(64);
        let mut paging = self.paging(blocks, 0, y);
        paging.reserved.extend(reserved(&self.program));
        let kernel = KernelEntryPoint::new(&self.program, self.program.entry.into());
        let paging = priced(paging, &kernel, &self.machine);
        Ok(Some(
            StreamPlan::new(paging, &self.machine)?.estimate().cycles,
        ))
    }

    /// The price of the job that filters channels; none where its kernels cannot be counted.
    pub(super) fn price<T: FilterSample>(&self, wanted: &FilterRequest<'_>) -> Option<Cycles> {
        let mut job = Job::new(self.machine.clone(), DeviceOptions::default());
        let layout = self.layout::<T>(wanted.channels, wanted.samples);
        let x = job.temporary::<T>((wanted.channels * wanted.samples) as u64);
        self.channels(&mut job, x.ok()?.into(), layout, wanted.outputs())
            .ok()?;
        job.expected()
    }

    /// Adds the filter of the channels of `x` to a job, and gives the array that the outputs `wanted` of each will be.
    pub(super) fn channels<T: FilterSample>(
        &self,
        job: &mut Job,
        x: KernelInput<'_, T>,
        layout: ChannelLayout,
        wanted: Range<usize>,
    ) -> Result<Buffer<T>, JobError> {
        let wanted = wanted.start - self.first..wanted.end - self.first;
        let x = self.place(job, x, layout)?;
        let stored = self.result::<T>(job, layout, &wanted)?;
        let numbers = |address, blocks: usize| Buffer::from_address(address, blocks as u64);
        let x = numbers(x, self.input_len(layout.total));
        let y = numbers(stored.address, layout.total * self.out);
        self.append(job, x, y, layout.total)?;
        job.deliver(stored)
    }

    /// The passes that filter `blocks` blocks from `x` to `y`.
    pub(super) fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        blocks: usize,
    ) -> Result<(), JobError> {
        if let Some(passes) = &self.passes {
            return passes.append(job, x, y, blocks);
        }
        let program = job.program(&self.title, &self.program)?;
        let paging = self.paging(blocks, x.address(), y.address());
        job.pass(&program, self.program.entry.into(), paging)
    }
}

/// The DMEM of a program's data.
pub(super) fn reserved(program: &Program) -> impl Iterator<Item = Reserved> {
    program.dmem.iter().map(|s| Reserved {
        name: "data".to_owned(),
        address: s.address.into(),
        bytes: s.bytes.len() as u64,
    })
}

impl From<PlanError> for ConvError {
    fn from(error: PlanError) -> Self {
        JobError::from(error).into()
    }
}
