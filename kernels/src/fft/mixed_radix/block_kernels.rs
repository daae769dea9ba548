//! Page kernels by block size: one transform, or pairs of transforms.

use crate::assembly::assembly;
use crate::fft::error::FftError;
use crate::fft::fft_trait::pass_estimate;
use crate::job::{Job, room};
use crate::pipeline::Operations;
use cp2_asm::schedule::Unschedulable;
use cp2_asm::{Program, Source};
use cp2_host::{BlockPiece, Paging, Stream};
use cp2_machine::{Class, Cycles, Machine};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers of pairs of transforms in a block that are tried. With more pairs a pass's fill and drain weigh
/// less; with fewer, larger transforms fit.
const TRIED_PAIRS: [usize; 8] = [1, 2, 4, 6, 8, 12, 16, 32];
/// Bytes of a block beyond which more pairs gain nothing: the fill and drain of a pass weigh little by then.
const ENOUGH_BLOCK_BYTES: u64 = 32_768;

/// The source of a page kernel and what it costs.
#[derive(Clone, Debug)]
pub(in crate::fft) struct GeneratedKernel {
    /// Assembly text.
    pub(in crate::fft) text: String,
    /// Program words.
    pub(in crate::fft) words: u64,
    /// DMEM bytes of tables.
    pub(in crate::fft) tables: u64,
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

/// A page kernel for blocks of `transforms` transforms.
#[derive(Debug)]
struct BlockKernel {
    transforms: usize,
    made: GeneratedKernel,
}

impl BlockKernel {
    /// Returns the batch, rounded up to whole blocks.
    fn padded(&self, batch: usize) -> usize {
        batch.next_multiple_of(self.transforms)
    }
}

/// Kernels of one transform that differ in the size of the block.
#[derive(Debug)]
pub(super) struct BlockKernels {
    name: String,
    machine: Arc<Machine>,
    /// Bytes of one transform's input and output in system memory.
    bytes: (u64, u64),
    kernels: Vec<BlockKernel>,
    programs: Mutex<BTreeMap<usize, Arc<Program>>>,
}

impl BlockKernels {
    /// Makes the kernels by `make`, which takes a number of pairs; `name` says what they do.
    pub(super) fn new(
        name: String,
        machine: Arc<Machine>,
        bytes: (u64, u64),
        make: impl Fn(usize) -> Result<GeneratedKernel, Unschedulable>,
    ) -> Result<Self, FftError> {
        let mut kernels = Vec::new();
        for pairs in TRIED_PAIRS {
            let block = 2 * pairs as u64 * bytes.0.max(bytes.1);
            if pairs > 1 && block > ENOUGH_BLOCK_BYTES.min(machine.cp2.dmem.0 / 3) {
                break;
            }
            let made = make(pairs)?;
            let transforms = 2 * pairs;
            kernels.push(BlockKernel { transforms, made });
        }
        Self::from_kernels(name, machine, bytes, kernels)
    }

    /// Wraps one kernel, whose blocks are one transform.
    pub(super) fn single(
        name: String,
        machine: Arc<Machine>,
        bytes: (u64, u64),
        made: GeneratedKernel,
    ) -> Result<Self, FftError> {
        let transforms = 1;
        Self::from_kernels(name, machine, bytes, vec![BlockKernel { transforms, made }])
    }

    fn from_kernels(
        name: String,
        machine: Arc<Machine>,
        bytes: (u64, u64),
        kernels: Vec<BlockKernel>,
    ) -> Result<Self, FftError> {
        let blocks = Self {
            name,
            machine,
            bytes,
            kernels,
            programs: Mutex::default(),
        };
        blocks.estimate(1)?;
        // The assembler checks what a kernel needs beside room for data.
        blocks.program(1)?;
        Ok(blocks)
    }

    pub(super) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Returns the kernel that takes the least time for a batch, and that time.
    fn best(&self, batch: usize) -> Result<(&BlockKernel, Cycles), FftError> {
        let mut best: Option<(&BlockKernel, Cycles)> = None;
        let mut error = None;
        for kernel in &self.kernels {
            let input = kernel.padded(batch) as u64 * self.bytes.0;
            let places = (0, input.next_multiple_of(4096));
            let paging = self.paging(kernel, batch, places);
            let made = &kernel.made;
            match pass_estimate(paging, made.words, made.tables, &self.machine) {
                Ok(cycles) if best.is_none_or(|(_, least)| cycles < least) => {
                    best = Some((kernel, cycles));
                }
                Ok(_) => {}
                // The error of the smallest block says best what does not fit.
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
        self.best(batch).map(|(_, cycles)| cycles)
    }

    /// Returns the operations that the blocks of a batch issue at least, see [`crate::fft::Fft::operations`].
    pub(super) fn operations(&self, batch: usize) -> Vec<(Class, u64)> {
        let Ok((kernel, _)) = self.best(batch) else {
            return Vec::new();
        };
        let blocks = kernel.padded(batch) / kernel.transforms;
        kernel.made.operations.times(blocks as u64)
    }

    /// Returns the program that transforms a batch.
    pub(super) fn program(&self, batch: usize) -> Result<Arc<Program>, FftError> {
        self.assembled(self.best(batch)?.0)
    }

    fn assembled(&self, kernel: &BlockKernel) -> Result<Arc<Program>, FftError> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&kernel.transforms) {
            return Ok(program.clone());
        }
        let options = cp2_asm::Options {
            machine: Some(&self.machine),
            ..cp2_asm::Options::default()
        };
        let source = Source::new(self.file(kernel), kernel.made.text.clone());
        let program = Arc::new(assembly(&self.name, (&source, ""), &options)?.program);
        programs.insert(kernel.transforms, program.clone());
        Ok(program)
    }

    /// Returns the name of a kernel's generated source.
    fn file(&self, kernel: &BlockKernel) -> String {
        format!("{}, {} at a time.s", self.name, kernel.transforms)
    }

    /// Returns the source of a kernel by its name.
    pub(super) fn source(&self, file: &str) -> Option<String> {
        let kernel = self.kernels.iter().find(|k| self.file(k) == file)?;
        Some(kernel.made.text.clone())
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

    fn paging(&self, kernel: &BlockKernel, batch: usize, at: (u64, u64)) -> Paging {
        let made = &kernel.made;
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
        let (kernel, _) = self.best(batch)?;
        let program = self.assembled(kernel)?;
        let placed = job.program(&self.name, &program)?;
        let paging = self.paging(kernel, batch, at);
        Ok(job.pass(&placed, program.entry.into(), paging)?)
    }
}
