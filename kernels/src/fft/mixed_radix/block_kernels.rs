//! Page kernels by block size: one transform, or pairs of transforms.

use crate::fft::error::FftError;
use crate::fft::fft_trait::pass_estimate;
use crate::job::{Job, data_end, room};
use crate::pipeline::Operations;
use cp2_asm::Program;
use cp2_host::{BlockPiece, Paging, Stream};
use cp2_machine::{Class, Cycles, Machine};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Numbers of pairs of transforms in a block that are tried. With more pairs a pass's fill and drain weigh
/// less; with fewer, larger transforms fit.
const TRIED_PAIRS: [usize; 8] = [1, 2, 4, 6, 8, 12, 16, 32];
/// Bytes of a block beyond which more pairs gain nothing: the fill and drain of a pass weigh little by then.
const ENOUGH_BLOCK_BYTES: u64 = 32_768;

/// The source of a page kernel and what it costs.
#[derive(Clone, Debug)]
pub(in crate::fft) struct GeneratedKernel {
    /// Name of the source.
    pub(in crate::fft) file: String,
    /// Assembly text.
    pub(in crate::fft) text: String,
    /// The program of that text.
    pub(in crate::fft) program: Arc<Program>,
    /// Cycles per block.
    pub(in crate::fft) block_cycles: u64,
    /// Operations that a block issues at least.
    pub(in crate::fft) operations: Operations,
    /// Cycles per page beside its blocks.
    pub(in crate::fft) page_cycles: u64,
    /// Bytes from a block to the next in a page of inputs and of outputs; the
    /// pages are one where the kernel works in place.
    pub(in crate::fft) pitch: (u64, u64),
    /// True if the output replaces the input.
    pub(in crate::fft) in_place: bool,
    /// Bytes of working space.
    pub(in crate::fft) scratch: u64,
}

/// A page kernel for blocks of `transforms` transforms, as soon as it is asked for; none if the machine lacks
/// something for it.
#[derive(Debug)]
struct BlockKernel {
    transforms: usize,
    made: OnceLock<Option<GeneratedKernel>>,
}

impl BlockKernel {
    /// Returns the batch, rounded up to whole blocks.
    fn padded(&self, batch: usize) -> usize {
        batch.next_multiple_of(self.transforms)
    }
}

/// Makes the kernel for a number of pairs of transforms.
type KernelMaker = dyn Fn(usize) -> Result<GeneratedKernel, FftError> + Send + Sync;

/// Kernels of one transform that differ in the size of the block.
pub(super) struct BlockKernels {
    name: String,
    machine: Arc<Machine>,
    /// Bytes of one transform's input and output in system memory.
    bytes: (u64, u64),
    /// The kernels, by rising numbers of transforms. The first is made.
    kernels: Vec<BlockKernel>,
    /// Makes the others; none where blocks have one size.
    make: Option<Box<KernelMaker>>,
}

impl fmt::Debug for BlockKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels = &self.kernels;
        f.debug_struct("BlockKernels")
            .field("name", &self.name)
            .field("kernels", kernels)
            .finish_non_exhaustive()
    }
}

impl BlockKernels {
    /// Makes kernels by `make`, which takes a number of pairs; `name` says what they do.
    pub(super) fn new(
        name: String,
        machine: Arc<Machine>,
        bytes: (u64, u64),
        make: impl Fn(usize) -> Result<GeneratedKernel, FftError> + Send + Sync + 'static,
    ) -> Result<Self, FftError> {
        // The error of the smallest block says best what does not fit.
        let first = make(TRIED_PAIRS[0])?;
        let room = ENOUGH_BLOCK_BYTES.min(machine.cp2.dmem.0 / 3);
        let fits = |pairs: &usize| *pairs == 1 || 2 * *pairs as u64 * bytes.0.max(bytes.1) <= room;
        let kernels = TRIED_PAIRS.into_iter().take_while(fits);
        let kernels = kernels.map(|pairs| BlockKernel {
            transforms: 2 * pairs,
            made: OnceLock::new(),
        });
        let make: Box<KernelMaker> = Box::new(make);
        Self::from_kernels(
            name,
            (machine, bytes),
            (kernels.collect(), Some(make)),
            first,
        )
    }

    /// Wraps one kernel, whose blocks are one transform.
    pub(super) fn single(
        name: String,
        machine: Arc<Machine>,
        bytes: (u64, u64),
        made: GeneratedKernel,
    ) -> Result<Self, FftError> {
        let kernel = BlockKernel {
            transforms: 1,
            made: OnceLock::new(),
        };
        Self::from_kernels(name, (machine, bytes), (vec![kernel], None), made)
    }

    fn from_kernels(
        name: String,
        (machine, bytes): (Arc<Machine>, (u64, u64)),
        (kernels, make): (Vec<BlockKernel>, Option<Box<KernelMaker>>),
        first: GeneratedKernel,
    ) -> Result<Self, FftError> {
        if let Some(kernel) = kernels.first() {
            kernel.made.get_or_init(|| Some(first));
        }
        let blocks = Self {
            name,
            machine,
            bytes,
            kernels,
            make,
        };
        blocks.estimate(1)?;
        Ok(blocks)
    }

    /// Returns a kernel as it is made when it is asked for the first time; none if the machine lacks something for it.
    fn find<'a>(&self, kernel: &'a BlockKernel) -> Result<Option<&'a GeneratedKernel>, FftError> {
        if let Some(known) = kernel.made.get() {
            return Ok(known.as_ref());
        }
        let made = match self.make.as_ref().map(|make| make(kernel.transforms / 2)) {
            Some(Ok(made)) => Some(made),
            Some(Err(e)) if !e.is_refusal() => return Err(e),
            Some(Err(_)) | None => None,
        };
        Ok(kernel.made.get_or_init(|| made).as_ref())
    }

    pub(super) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Returns the kernel that takes the least time for a batch, and that time.
    fn best(&self, batch: usize) -> Result<(&BlockKernel, &GeneratedKernel, Cycles), FftError> {
        let mut best: Option<(&BlockKernel, &GeneratedKernel, Cycles)> = None;
        let mut error = None;
        // A block with more transforms than a section's share leaves sections without work; but fewer may be no whole
        // number of granules.
        let share = batch.div_ceil(self.machine.cp2.sections);
        let least = self.kernels.first().map_or(1, |kernel| kernel.transforms);
        let enough = share.next_multiple_of(least);
        for kernel in &self.kernels {
            if kernel.transforms > enough && best.is_some() {
                break;
            }
            let Some(made) = self.find(kernel)? else {
                break;
            };
            let input = kernel.padded(batch) as u64 * self.bytes.0;
            let places = (0, input.next_multiple_of(4096));
            let paging = self.paging((kernel, made), batch, places);
            let words = made.program.words.len() as u64;
            match pass_estimate(paging, words, data_end(&made.program), &self.machine) {
                Ok(cycles) if best.is_none_or(|(.., least)| cycles < least) => {
                    best = Some((kernel, made, cycles));
                }
                Ok(_) => {}
                Err(e) => error = error.or(Some(e)),
            }
        }
        best.ok_or_else(|| {
            error.unwrap_or(FftError::NoRoom {
                transform: self.name.clone(),
                machine: self.machine.name.clone(),
            })
        })
    }

    /// Estimates the cycles of a batch.
    pub(super) fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        self.best(batch).map(|(.., cycles)| cycles)
    }

    /// Returns the operations that the blocks of a batch issue at least, see [`crate::fft::Fft::operations`].
    pub(super) fn operations(&self, batch: usize) -> Vec<(Class, u64)> {
        let Ok((kernel, made, _)) = self.best(batch) else {
            return Vec::new();
        };
        let blocks = kernel.padded(batch) / kernel.transforms;
        made.operations.times(blocks as u64)
    }

    /// Returns the program that transforms a batch.
    pub(super) fn program(&self, batch: usize) -> Result<Arc<Program>, FftError> {
        Ok(self.best(batch)?.1.program.clone())
    }

    /// Returns the source of a kernel by its name.
    pub(super) fn source(&self, file: &str) -> Option<String> {
        let made = self
            .kernels
            .iter()
            .filter_map(|kernel| kernel.made.get()?.as_ref());
        let mut own = made.filter(|made| made.file == file);
        own.next().map(|made| made.text.clone())
    }

    /// Returns the largest batch whose input and output fit the machine's system memory.
    pub(super) fn max_batch(&self) -> usize {
        let Ok(program) = self.program(1) else {
            return 0;
        };
        let batch = usize::try_from(room(&self.machine, &program) / (self.bytes.0 + self.bytes.1));
        // Arrays are filled up to whole blocks.
        let most = self.kernels.iter().map(|k| k.transforms).max().unwrap_or(1);
        batch.unwrap_or(usize::MAX).saturating_sub(most)
    }

    fn paging(
        &self,
        (kernel, made): (&BlockKernel, &GeneratedKernel),
        batch: usize,
        at: (u64, u64),
    ) -> Paging {
        let stream = |name, at, bytes: u64, pitch| {
            let all = kernel.transforms as u64 * bytes;
            Stream::strided(name, at, all, pitch, vec![BlockPiece::new(all, Vec::new())])
        };
        Paging {
            in_place: made.in_place,
            scratch: made.scratch,
            cycles_per_block: Some(made.block_cycles),
            cycles_per_page: made.page_cycles,
            ..Paging::new(
                (kernel.padded(batch) / kernel.transforms) as u64,
                vec![stream("x", at.0, self.bytes.0, made.pitch.0)],
                vec![stream("y", at.1, self.bytes.1, made.pitch.1)],
            )
        }
    }

    /// Returns the rows of arrays for a batch: whole blocks.
    pub(super) fn padded(&self, batch: usize) -> Result<usize, FftError> {
        Ok(self.best(batch)?.0.padded(batch))
    }

    /// Adds the pass over a batch whose rows follow each other, in whole blocks, to a job.
    pub(super) fn append(
        &self,
        job: &mut Job,
        batch: usize,
        at: (u64, u64),
    ) -> Result<(), FftError> {
        let (kernel, made, _) = self.best(batch)?;
        let program = &made.program;
        let placed = job.program(&self.name, program)?;
        let paging = self.paging((kernel, made), batch, at);
        Ok(job.pass(&placed, program.entry.into(), paging)?)
    }
}
