//! Batches through kernels whose block is 2V transforms, or one.

use crate::assembly::assembly;
use crate::fft::error::FftError;
use crate::fft::transform::{expected, place, rows_of};
use crate::job::{Job, KernelRun, room};
use crate::pipeline::{Operations, Unschedulable};
use cp2_asm::{Program, Source};
use cp2_dma::Level;
use cp2_host::{Buffer, Element, Options, Paging, Piece, Stream};
use cp2_machine::{Class, Cycles, Machine};
use cp2_reference::Figures;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Pairs of transforms in a block that are tried: the more, the less a pass's
/// fill and drain weigh; the fewer, the larger a transform fits.
const PAIRS: [usize; 8] = [1, 2, 4, 6, 8, 12, 16, 32];
/// Bytes of a block from which on more pairs gain nothing.
const ENOUGH: u64 = 32_768;

/// The source of a page kernel and what it costs.
#[derive(Clone, Debug)]
pub(in crate::fft) struct Generated {
    /// Assembly.
    pub(in crate::fft) text: String,
    /// Words.
    pub(in crate::fft) words: u64,
    /// DMEM bytes of tables.
    pub(in crate::fft) tables: u64,
    /// Cycles per block.
    pub(in crate::fft) block_cycles: u64,
    /// What a block issues at least.
    pub(in crate::fft) operations: Operations,
    /// Cycles per page beside its blocks.
    pub(in crate::fft) page_cycles: u64,
    /// Bytes from a block to the next in a page of inputs and of outputs; the
    /// pages are one where the kernel works in place.
    pub(in crate::fft) pitch: (u64, u64),
    /// Whether the output is where the input was.
    pub(in crate::fft) in_place: bool,
    /// Bytes of working space.
    pub(in crate::fft) scratch: u64,
}

/// A page kernel for blocks of so many transforms.
#[derive(Debug)]
struct Kernel {
    transforms: usize,
    made: Generated,
}

impl Kernel {
    /// The batch in whole blocks.
    fn padded(&self, batch: usize) -> usize {
        batch.next_multiple_of(self.transforms)
    }
}

/// Kernels that differ in the size of the block.
#[derive(Debug)]
pub(super) struct Blocks {
    name: String,
    machine: Arc<Machine>,
    /// Bytes of one transform's input and output in system memory.
    bytes: (u64, u64),
    kernels: Vec<Kernel>,
    programs: Mutex<BTreeMap<usize, Arc<Program>>>,
}

impl Blocks {
    /// Kernels made by `make` for a number of pairs; `name` says what they do.
    pub(super) fn new(
        name: String,
        machine: Arc<Machine>,
        bytes: (u64, u64),
        make: impl Fn(usize) -> Result<Generated, Unschedulable>,
    ) -> Result<Self, FftError> {
        let mut kernels = Vec::new();
        for pairs in PAIRS {
            let block = 2 * pairs as u64 * bytes.0.max(bytes.1);
            if pairs > 1 && block > ENOUGH.min(machine.cp2.dmem.0 / 3) {
                break;
            }
            let made = make(pairs)?;
            let transforms = 2 * pairs;
            kernels.push(Kernel { transforms, made });
        }
        Self::with(name, machine, bytes, kernels)
    }

    /// One kernel, whose blocks are one transform.
    pub(super) fn single(
        name: String,
        machine: Arc<Machine>,
        bytes: (u64, u64),
        made: Generated,
    ) -> Result<Self, FftError> {
        let transforms = 1;
        Self::with(name, machine, bytes, vec![Kernel { transforms, made }])
    }

    fn with(
        name: String,
        machine: Arc<Machine>,
        bytes: (u64, u64),
        kernels: Vec<Kernel>,
    ) -> Result<Self, FftError> {
        let blocks = Self {
            name,
            machine,
            bytes,
            kernels,
            programs: Mutex::default(),
        };
        blocks.expected(1)?;
        // What it needs beside room for data the assembler knows.
        blocks.program(1)?;
        Ok(blocks)
    }

    pub(super) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// The kernel that takes the least time for a batch, and that time.
    fn best(&self, batch: usize) -> Result<(&Kernel, Cycles), FftError> {
        let mut best: Option<(&Kernel, Cycles)> = None;
        let mut error = None;
        for kernel in &self.kernels {
            let input = kernel.padded(batch) as u64 * self.bytes.0;
            let places = (0, input.next_multiple_of(4096));
            let paging = self.paging(kernel, batch, places, self.bytes);
            let made = &kernel.made;
            match expected(paging, made.words, made.tables, &self.machine) {
                Ok(cycles) if best.is_none_or(|(_, least)| cycles < least) => {
                    best = Some((kernel, cycles));
                }
                Ok(_) => {}
                // The smallest block says best what does not fit.
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

    /// The expected time of a batch.
    pub(super) fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        self.best(batch).map(|(_, cycles)| cycles)
    }

    /// What the blocks of a batch issue at least, see [`crate::fft::Fft::operations`].
    pub(super) fn operations(&self, batch: usize) -> Vec<(Class, u64)> {
        let Ok((kernel, _)) = self.best(batch) else {
            return Vec::new();
        };
        let blocks = kernel.padded(batch) / kernel.transforms;
        kernel.made.operations.times(blocks as u64)
    }

    /// The program a batch is transformed by.
    pub(super) fn program(&self, batch: usize) -> Result<Arc<Program>, FftError> {
        self.assembled(self.best(batch)?.0)
    }

    fn assembled(&self, kernel: &Kernel) -> Result<Arc<Program>, FftError> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&kernel.transforms) {
            return Ok(program.clone());
        }
        let options = cp2_asm::Options {
            machine: Some(&self.machine),
            ..cp2_asm::Options::default()
        };
        let source = Source::new(self.file(kernel), kernel.made.text.clone());
        let program = Arc::new(assembly(&self.name, &source, &options)?.program);
        programs.insert(kernel.transforms, program.clone());
        Ok(program)
    }

    /// The name of a kernel's generated source.
    fn file(&self, kernel: &Kernel) -> String {
        format!("{}, {} at a time.s", self.name, kernel.transforms)
    }

    /// The source of a kernel by its name.
    pub(super) fn source(&self, file: &str) -> Option<String> {
        let kernel = self.kernels.iter().find(|k| self.file(k) == file)?;
        Some(kernel.made.text.clone())
    }

    /// The largest batch whose input and output fit the machine's system memory.
    pub(super) fn max_batch(&self) -> usize {
        let Ok(program) = self.program(1) else {
            return 0;
        };
        let batch = usize::try_from(room(&self.machine, &program) / (self.bytes.0 + self.bytes.1));
        // Room for filling up to whole blocks.
        let most = self.kernels.iter().map(|k| k.transforms).max().unwrap_or(1);
        batch.unwrap_or(usize::MAX).saturating_sub(most)
    }

    /// `apart`: bytes from a transform to the next in system memory.
    fn paging(&self, kernel: &Kernel, batch: usize, at: (u64, u64), apart: (u64, u64)) -> Paging {
        let (made, transforms) = (&kernel.made, kernel.transforms as u32);
        let stream = |name, at, bytes: u64, apart: u64, pitch| {
            let count = u64::from(transforms);
            let piece = if apart == bytes {
                Piece::new(count * bytes, Vec::new())
            } else {
                let row = Level {
                    count: transforms,
                    system_stride: i64::try_from(apart).unwrap_or(i64::MAX),
                    local_stride: i64::try_from(bytes).unwrap_or(i64::MAX),
                };
                Piece::new(bytes, vec![row])
            };
            Stream::strided(name, at, count.saturating_mul(apart), pitch, vec![piece])
        };
        Paging {
            in_place: made.in_place,
            scratch: made.scratch,
            cycles_per_block: Some(made.block_cycles),
            cycles_per_page: made.page_cycles,
            ..Paging::new(
                (kernel.padded(batch) / kernel.transforms) as u64,
                vec![stream("x", at.0, self.bytes.0, apart.0, made.pitch.0)],
                vec![stream("y", at.1, self.bytes.1, apart.1, made.pitch.1)],
            )
        }
    }

    /// The rows of arrays for a batch: whole blocks.
    pub(super) fn padded(&self, batch: usize) -> Result<usize, FftError> {
        Ok(self.best(batch)?.0.padded(batch))
    }

    /// Adds the pass over a batch whose rows follow each other.
    pub(super) fn append(
        &self,
        job: &mut Job,
        batch: usize,
        at: (u64, u64),
    ) -> Result<(), FftError> {
        self.pass(job, batch, at, self.bytes)
    }

    /// The same with rows `apart` bytes from each other.
    fn pass(
        &self,
        job: &mut Job,
        batch: usize,
        at: (u64, u64),
        apart: (u64, u64),
    ) -> Result<(), FftError> {
        let (kernel, _) = self.best(batch)?;
        let program = self.assembled(kernel)?;
        let placed = job.program(&self.name, &program)?;
        let paging = self.paging(kernel, batch, at, apart);
        Ok(job.pass(&placed, program.entry.into(), paging)?)
    }

    /// The job that transforms a batch, and where its output will be, `apart.1`
    /// elements per transform; the transforms that fill it up come last.
    /// `apart`: elements from a row to the next in input and output.
    pub(super) fn job<I: Element + Default, O: Element>(
        &self,
        input: &[I],
        batch: usize,
        apart: (usize, usize),
        options: Options,
    ) -> Result<(Job, Buffer<O>), FftError> {
        let bytes = (
            apart.0 as u64 * I::BYTES as u64,
            apart.1 as u64 * O::BYTES as u64,
        );
        let granule = self.machine.dma.granule.0;
        for (row, distance) in [(self.bytes.0, bytes.0), (self.bytes.1, bytes.1)] {
            let strided = distance > row && row % granule == 0 && distance % granule == 0;
            if distance != row && !strided {
                return Err(FftError::Rows {
                    row,
                    distance,
                    granule,
                });
            }
        }
        let padded = self.padded(batch)?;
        let mut job = Job::new(self.machine.clone(), options);
        let x = place(&mut job, input, apart.0, [padded, apart.0])?;
        let y = job.output("y", &[padded as u64, apart.1 as u64])?;
        self.pass(&mut job, batch, (x.address(), y.address()), bytes)?;
        Ok((job, y))
    }

    /// Transforms a batch.
    pub(super) fn run<I: Element + Default, O: Element>(
        &self,
        input: &[I],
        batch: usize,
        apart: (usize, usize),
        figures: Figures,
        options: Options,
    ) -> Result<KernelRun<Vec<O>>, FftError> {
        let (job, y) = self.job(input, batch, apart, options)?;
        Ok(job.run(figures, |run| {
            Ok(rows_of(run.read(y)?, batch, apart.1, apart.1))
        })?)
    }
}
