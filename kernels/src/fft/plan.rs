//! An FFT on CP2: the program of a recipe, and how a batch is paged through it.

use super::definition::FftProblem;
use super::error::FftError;
use super::program::program;
use super::recipe::{Layout, Recipe};
use super::run::FftRun;
use crate::backend::Plan;
use cp2_asm::Program;
use cp2_dma::Level;
use cp2_host::emit::Output;
use cp2_host::{
    BlocksPerSection, Buffering, Device, Options, PageArgs, Paging, Piece, Reserved, Stream,
};
use cp2_machine::{Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Bytes of a complex number.
const COMPLEX: u64 = 8;

/// Cycles that a pass over a page takes beside its butterflies: pointers,
/// first loads and last stores (`docs/fft.md`). The page size is chosen by it.
const PASS_OVERHEAD: u64 = 40;

/// A planned FFT: made once, used for any batch.
#[derive(Debug)]
pub struct Fft {
    recipe: Recipe,
    machine: Arc<Machine>,
    program: Arc<Program>,
}

impl Fft {
    pub(super) fn new(recipe: Recipe, machine: Arc<Machine>) -> Result<Self, FftError> {
        let program = Arc::new(program(&recipe, &machine)?.program);
        Ok(Self {
            recipe,
            machine,
            program,
        })
    }

    /// What the planner has decided.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The assembled page kernel.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// The largest batch whose input and output fit the machine's system memory.
    #[must_use]
    pub fn max_batch(&self) -> usize {
        let image = 8 * self.program.words.len()
            + self
                .program
                .dmem
                .iter()
                .map(|s| s.bytes.len())
                .sum::<usize>();
        // Argument blocks and alignment: far less than this.
        let free = self
            .machine
            .host
            .memory
            .0
            .saturating_sub(image as u64 + 65_536);
        usize::try_from(free / (2 * self.block_bytes())).unwrap_or(usize::MAX)
    }

    /// Lower bound of the time for `batch` transforms: all butterflies at the
    /// machine's peak rate, or every input and output byte over the DMA channel once.
    #[must_use]
    pub fn bound(&self, batch: usize) -> Cycles {
        let ratio = |count: u128, num: u64, den: u64| {
            (count * u128::from(den)).div_ceil(u128::from(num.max(1)))
        };
        let (cp2, dma) = (&self.machine.cp2, &self.machine.dma);
        let butterflies = batch as u128 * u128::from(self.recipe.butterflies());
        let rate = cp2.butterflies_per_cycle;
        let compute = ratio(
            butterflies,
            rate.num.saturating_mul(cp2.sections as u64),
            rate.den,
        );
        let bytes = batch as u128 * u128::from(2 * self.block_bytes());
        let transfer = ratio(bytes, dma.bandwidth.num, dma.bandwidth.den);
        Cycles(u64::try_from(compute.max(transfer)).unwrap_or(u64::MAX))
    }

    /// Transforms `input`, a whole number of transforms, each `len` consecutive
    /// numbers; the output has the same shape.
    ///
    /// # Errors
    /// An input of the wrong shape or too large for the machine. A run that
    /// does not finish is no error: it has no output and a report that says why.
    pub fn process(&self, input: &[Complex32]) -> Result<FftRun, FftError> {
        self.process_with(input, Options::default())
    }

    /// The same on a device with options.
    ///
    /// # Errors
    /// See [`Fft::process`].
    pub fn process_with(&self, input: &[Complex32], options: Options) -> Result<FftRun, FftError> {
        let batch = self.batch_of(input)?;
        let words: Vec<[f32; 2]> = input.iter().map(|z| [z.re, z.im]).collect();
        let mut device = Device::with_options(self.machine.clone(), options);
        let x = device.alloc_from(&words)?;
        let y = device.alloc::<[f32; 2]>(words.len() as u64)?;
        device.output(Output {
            name: "y".to_owned(),
            address: y.address(),
            bytes: y.bytes(),
            element: "complex64".to_owned(),
            shape: vec![batch as u64, self.recipe.len() as u64],
        });
        let placed = device.place(&self.recipe.to_string(), self.program.clone())?;
        let job = self.paging(batch, x.address(), y.address(), placed.reserved());
        let plan = cp2_host::Plan::new(job, &self.machine)?;
        device.page(&plan, &placed, self.program.entry.into(), &[])?;
        let run = device.finish()?;
        let output = if run.report.end.is_finished() {
            Some(
                run.read(y)?
                    .into_iter()
                    .map(|[re, im]| Complex32::new(re, im))
                    .collect(),
            )
        } else {
            None
        };
        Ok(FftRun {
            output,
            plan,
            bound: self.bound(batch),
            run,
        })
    }

    fn batch_of(&self, input: &[Complex32]) -> Result<usize, FftError> {
        let (n, found) = (self.recipe.len(), input.len());
        let batch = found / n;
        if found % n != 0 {
            return Err(FftError::Ragged { n, found });
        }
        if batch == 0 {
            return Err(FftError::Empty);
        }
        if batch > self.max_batch() {
            return Err(FftError::OutOfMemory {
                n,
                batch,
                most: self.max_batch(),
                machine: self.machine.name.clone(),
            });
        }
        Ok(batch)
    }

    fn block_bytes(&self) -> u64 {
        self.recipe.len() as u64 * COMPLEX
    }

    /// How `batch` transforms from `x` to `y` in system memory are paged.
    fn paging(&self, batch: usize, x: u64, y: u64, reserved: Vec<Reserved>) -> Paging {
        let bytes = self.block_bytes();
        let (input, output) = match self.recipe.layout() {
            Layout::Stockham => (
                Stream::contiguous("x", x, bytes),
                Stream::contiguous("y", y, bytes),
            ),
            Layout::InPlace => rows(x, y, bytes),
        };
        let stockham = self.recipe.layout() == Layout::Stockham;
        let in_place = self.recipe.in_place();
        Paging {
            blocks: batch as u64,
            inputs: vec![input],
            outputs: vec![output],
            in_place,
            scratch: 0,
            scratch_per_block: if stockham && in_place { bytes } else { 0 },
            reserved,
            args: PageArgs::default(),
            size: BlocksPerSection::ANY,
            buffering: Buffering::Auto,
            cycles_per_block: Some(self.recipe.butterflies()),
            cycles_per_page: PASS_OVERHEAD * self.recipe.passes().len() as u64,
        }
    }
}

/// The pages of `fft4096.s`: eight rows, each after a gap of 64 bytes; the
/// result in runs of 64 bytes that are in order in system memory.
fn rows(x: u64, y: u64, bytes: u64) -> (Stream, Stream) {
    const GAP: u64 = 64;
    let row = bytes / 8;
    let pitch = row + GAP;
    let level = |count, system_stride: u64, local_stride: u64| Level {
        count,
        system_stride: system_stride as i64,
        local_stride: local_stride as i64,
    };
    let mut load = Piece::new(row, vec![level(8, row, pitch)]);
    load.local = GAP as i64;
    let store = Piece::new(
        64,
        vec![level(8, 64, 512), level(8, 512, 64), level(8, row, pitch)],
    );
    let stream = |name, at, piece| Stream::strided(name, at, bytes, 8 * pitch, vec![piece]);
    (stream("x", x, load), stream("y", y, store))
}

impl Plan<FftProblem> for Fft {
    type Run = FftRun;
    type Error = FftError;

    fn run(&self, problem: &FftProblem, input: &[Complex32]) -> Result<FftRun, FftError> {
        if (problem.len(), problem.direction()) != (self.recipe.len(), self.recipe.direction()) {
            return Err(FftError::OtherProblem {
                plan: self.recipe.to_string(),
            });
        }
        self.process(input)
    }

    fn output(run: &FftRun) -> Option<&[Complex32]> {
        run.output.as_deref()
    }
}
