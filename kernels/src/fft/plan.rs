//! An FFT on CP2: the program of a recipe, and how a batch is paged through it.

use super::error::FftError;
use super::program::{program, source};
use super::recipe::{Direction, Layout, Recipe};
use super::transform::{Fft, expected};
use crate::job::{self, Job, KernelRun, Least};
use cp2_asm::Program;
use cp2_dma::Level;
use cp2_host::{Buffer, Options, Paging, Piece, Stream};
use cp2_machine::{Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Bytes of a complex number.
const COMPLEX: u64 = 8;

/// Cycles that a pass over a page takes beside its butterflies: pointers,
/// first loads and last stores (`docs/fft.md`). The page size is chosen by it.
const PASS_OVERHEAD: u64 = 40;

/// A batch of FFTs that has been run.
pub type FftRun = KernelRun<Vec<Complex32>>;

/// A planned FFT of a power of two by hand-written kernels.
#[derive(Debug)]
pub struct LocalFft {
    recipe: Recipe,
    machine: Arc<Machine>,
    program: Arc<Program>,
}

impl LocalFft {
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
    pub fn local_recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The assembled page kernel.
    #[must_use]
    pub fn kernel(&self) -> &Arc<Program> {
        &self.program
    }

    /// What any program must compute and move for `batch` transforms.
    pub(super) fn least(&self, batch: usize) -> Least {
        let batch = batch as u128;
        Least {
            butterflies: batch * u128::from(self.recipe.butterflies()),
            bytes: batch * u128::from(2 * self.block_bytes()),
            ..Least::default()
        }
    }

    /// The job that transforms `input`, and where its output will be.
    pub(super) fn job(
        &self,
        input: &[Complex32],
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>), FftError> {
        let batch = self.batch_of(input.len())?;
        let mut job = Job::new(self.machine.clone(), options);
        let x = job.input(input)?;
        let y = job.output("y", &[batch as u64, self.recipe.len() as u64])?;
        let program = job.program(&self.recipe.to_string(), &self.program)?;
        let paging = self.paging(batch, x.address(), y.address());
        job.pass(&program, self.program.entry.into(), paging)?;
        Ok((job, y))
    }

    /// The batch that `found` numbers make.
    pub(super) fn batch_of(&self, found: usize) -> Result<usize, FftError> {
        batch_of(found, self.recipe.len(), self.max_batch(), &self.machine)
    }

    fn block_bytes(&self) -> u64 {
        self.recipe.len() as u64 * COMPLEX
    }

    /// How `batch` transforms from `x` to `y` in system memory are paged.
    fn paging(&self, batch: usize, x: u64, y: u64) -> Paging {
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
            in_place,
            scratch_per_block: if stockham && in_place { bytes } else { 0 },
            cycles_per_block: Some(self.recipe.butterflies()),
            cycles_per_page: PASS_OVERHEAD * self.recipe.passes().len() as u64,
            ..Paging::new(batch as u64, vec![input], vec![output])
        }
    }
}

/// The number of transforms of length `n` in `found` numbers, at most `most`.
pub(super) fn batch_of(
    found: usize,
    n: usize,
    most: usize,
    machine: &Machine,
) -> Result<usize, FftError> {
    let batch = found / n;
    if found % n != 0 {
        return Err(FftError::Ragged { n, found });
    }
    if batch == 0 {
        return Err(FftError::Empty);
    }
    if batch > most {
        return Err(FftError::OutOfMemory {
            n,
            batch,
            most,
            machine: machine.name.clone(),
        });
    }
    Ok(batch)
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

impl Fft for LocalFft {
    fn len(&self) -> usize {
        self.recipe.len()
    }

    fn direction(&self) -> Direction {
        self.recipe.direction()
    }

    fn recipe(&self) -> String {
        self.recipe.to_string()
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(Some(self.program.clone()))
    }

    fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    fn max_batch(&self) -> usize {
        let free = job::room(&self.machine, &self.program);
        usize::try_from(free / (2 * self.block_bytes())).unwrap_or(usize::MAX)
    }

    fn bound(&self, batch: usize) -> Cycles {
        self.least(batch).cycles(&self.machine)
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let tables = self.program.dmem.iter().map(|s| s.bytes.len() as u64).sum();
        let paging = self.paging(batch, 0, batch as u64 * self.block_bytes());
        expected(
            paging,
            self.program.words.len() as u64,
            tables,
            &self.machine,
        )
    }

    fn process_with(&self, input: &[Complex32], options: Options) -> Result<FftRun, FftError> {
        let (job, y) = self.job(input, options)?;
        let bound = self.bound(input.len() / self.recipe.len());
        Ok(job.run(bound, |run| run.read(y))?)
    }
}
