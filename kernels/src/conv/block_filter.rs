//! A kernel that filters a stream block by block: sizes, paging, price.

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

/// Type of the samples of a channel, real or complex.
///
/// A kernel filters complex numbers. Real samples under real taps go through it in pairs, as real and
/// imaginary part; both are of one channel where the numbers of a block share their rounding.
pub trait FilterSample: Sample + MemoryElement {}

impl<T: Sample + MemoryElement> FilterSample for T {}

/// Filter that moves its blocks by passes of its own instead of the scheduler's pages.
pub(super) trait FilterPasses: fmt::Debug + Send + Sync {
    /// Adds the passes that filter `blocks` blocks from `x` to `y` to a job.
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        blocks: usize,
    ) -> Result<(), JobError>;
    /// Returns the bytes of system memory that `blocks` blocks take in addition to samples and outputs.
    fn bytes(&self, blocks: usize) -> u64;
    /// Returns the least number of blocks that the passes are made for.
    fn min_blocks(&self) -> usize {
        1
    }
    /// Returns the expected cycles of `blocks` blocks; none if they are too few.
    fn estimate(&self, blocks: usize) -> Option<f64>;
    /// Returns the arithmetic of `blocks` blocks, pass by pass.
    fn operations(&self, blocks: usize) -> Vec<Vec<(Class, u64)>>;
}

/// Runs of samples that the outputs of a decimating filter need, where they are fewer than the samples of a
/// block.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatheredRuns {
    /// Length of the run of an output, even: transfers are whole granules of two numbers.
    pub(super) run: usize,
    /// Number of outputs; even if `every` is odd.
    pub(super) count: usize,
    /// Samples from an output to the next.
    pub(super) every: usize,
    /// Numbers at the beginning of the first run of each two that no output needs, where `every` is odd.
    pub(super) spare: usize,
}

impl GatheredRuns {
    /// Returns the transfers of a block's runs, each of which begins at an even number.
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

    /// Returns the number of samples from the beginning of the first run to the end of the last.
    pub(super) fn reach(self) -> usize {
        (self.count - 1) * self.every + self.every % 2 + self.run
    }
}

/// A page kernel for streams of complex numbers. Block `b` reads `window`
/// samples from `b hop` on and makes `out` outputs, `b apart` and following;
/// output `k out / hop` ends at sample `lead + k`.
#[derive(Clone, Debug)]
pub(super) struct BlockFilter {
    /// Name in messages.
    pub(super) title: String,
    /// Page kernel with its data.
    pub(super) program: Arc<Program>,
    /// Machine that the filter is planned for.
    pub(super) machine: Arc<Machine>,
    /// Samples of a block before the first one of the signal: the overlap.
    pub(super) lead: usize,
    /// Samples of a block.
    pub(super) window: usize,
    /// Runs of a block that are moved, where not all samples are.
    pub(super) rows: Option<GatheredRuns>,
    /// Samples from a block to the next.
    pub(super) hop: usize,
    /// Outputs of a block.
    pub(super) out: usize,
    /// Outputs from a block's first to the first of the next.
    pub(super) apart: usize,
    /// Numbers in a block before its outputs.
    pub(super) skip: usize,
    /// Index of a channel's first output in the full convolution.
    pub(super) first: usize,
    /// True if outputs replace the inputs in local memory.
    pub(super) in_place: bool,
    /// True if a page holds exactly one block of each section.
    pub(super) fixed: bool,
    /// Number of which the count of blocks is a multiple.
    pub(super) deal: usize,
    /// Arithmetic of a block that the algorithm asks for.
    pub(super) operations: Vec<(Class, u64)>,
    /// Least cycles of the kernel for a block: those of its arithmetic, or of its schedule.
    pub(super) cycles_per_block: u64,
    /// Passes of blocks that are too long for pages.
    pub(super) passes: Option<Arc<dyn FilterPasses>>,
    /// Number of samples before an output that it needs, where all numbers of a block share their rounding
    /// and their NaNs (overlap-save); none where an output depends on its own samples alone (direct).
    pub(super) mixes: Option<usize>,
    /// True if an output is the sum of exactly the products of its definition: a NaN or an infinity in a
    /// sample reaches only the outputs that it is a part of.
    pub(super) exact: bool,
    /// Outputs from one that the user receives to the next: one of each `keep` is kept.
    pub(super) keep: usize,
}

impl BlockFilter {
    /// Returns the name by which candidates are printed.
    pub(super) fn name(&self) -> String {
        format!(
            "{}{}, {} outputs a block",
            self.title,
            self.describe_kept_outputs(),
            self.out
        )
    }

    /// Returns the part of the name that the title leaves out: the outputs that are kept.
    fn describe_kept_outputs(&self) -> String {
        match self.keep {
            1 => String::new(),
            keep => format!(", one output of {keep}"),
        }
    }

    /// Returns this filter with one of each `keep` outputs kept.
    pub(super) fn with_decimation(self, keep: usize) -> Self {
        Self { keep, ..self }
    }

    /// Returns this filter with the outputs that are kept named in its title.
    pub(super) fn with_full_title(self) -> Self {
        let title = format!("{}{}", self.title, self.describe_kept_outputs());
        Self { title, ..self }
    }

    /// Returns whether the channels have as many blocks as the filter is made for.
    pub(super) fn has_enough_blocks<T: FilterSample>(
        &self,
        channels: usize,
        samples: usize,
    ) -> bool {
        let fewest = self.passes.as_ref().map_or(1, |passes| passes.min_blocks());
        self.layout::<T>(channels, samples).total >= fewest
    }

    /// Returns the arithmetic of `blocks` blocks, pass by pass.
    pub(super) fn operations(&self, blocks: usize) -> Vec<Vec<(Class, u64)>> {
        match &self.passes {
            Some(passes) => passes.operations(blocks),
            None => {
                let all = self.operations.iter();
                vec![all.map(|&(class, n)| (class, n * blocks as u64)).collect()]
            }
        }
    }

    /// Returns the paging of `blocks` blocks from `x` to `y` in system memory.
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

    /// Returns the number of samples of the packed input of `blocks` blocks.
    pub(super) fn input_len(&self, blocks: usize) -> usize {
        (blocks - 1) * self.hop + self.window
    }

    /// Returns the bytes of system memory for `blocks` blocks, input and output.
    pub(super) fn bytes(&self, blocks: usize) -> u64 {
        let numbers = (blocks as u64)
            .saturating_mul((self.hop + self.out) as u64)
            .saturating_add(self.window as u64);
        numbers
            .saturating_mul(COMPLEX)
            .saturating_add(self.intermediate_bytes(blocks))
    }

    /// Returns the bytes of system memory in addition to input, output and program.
    pub(super) fn intermediate_bytes(&self, blocks: usize) -> u64 {
        let passes = self.passes.as_ref();
        passes.map_or(0, |passes| passes.bytes(blocks))
    }

    /// Returns this filter with its blocks filtered by `passes`.
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

    /// Returns the expected cycles for `blocks` blocks; none if they are too few for this kernel.
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

    /// Returns the price of the job that filters channels; none if the cycles of its kernels cannot be
    /// counted.
    pub(super) fn price<T: FilterSample>(&self, wanted: &FilterRequest<'_>) -> Option<Cycles> {
        let mut job = Job::new(self.machine.clone(), DeviceOptions::default());
        let layout = self.layout::<T>(wanted.channels, wanted.samples);
        let x = job.temporary::<T>((wanted.channels * wanted.samples) as u64);
        self.channels(&mut job, x.ok()?.into(), layout, wanted.outputs())
            .ok()?;
        job.expected()
    }

    /// Adds the filter of the channels of `x` to a job, and returns the array of the outputs `wanted` of each
    /// channel.
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

    /// Adds the passes that filter `blocks` blocks from `x` to `y` to a job.
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

/// Returns the DMEM areas that a program's data takes.
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
