//! A planned power-of-two FFT in DMEM, by hand-written kernels.

use super::error::FftError;
use super::fft_trait::{Fft, pass_estimate};
use super::power_of_two_recipe::{PassLayout, PowerOfTwoRecipe};
use super::program::{program, source};
use super::ring4096_pages::{BLOCK, RING, Ring4096Pages};
use crate::assembly::moves;
use crate::fft::TransformDirection;
use crate::job::{self, Job, KernelRun, LowerBound, load};
use cp2_asm::{Program, Segment};
use cp2_host::paging::{KernelEntryPoint, priced};
use cp2_host::paging::{Ring, RingPass, SectionBlocks, aligned};
use cp2_host::{Paging, Stream};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Bytes of a complex number.
pub(super) const COMPLEX: u64 = 8;

/// A batch of FFTs that has been run.
pub type FftRun = KernelRun<Vec<Complex32>>;

/// Returns a lower bound of the cycles of `batch` transforms of a power of two, for planners: the larger of
/// one issue for each of N/2 log2 N butterflies a transform, and the transfer of every number in and out.
pub(super) fn butterfly_floor(n: usize, batch: usize, machine: &Machine) -> Cycles {
    let (n, batch) = (n as u128, batch as u128);
    let floor = LowerBound {
        issues: batch * (n / 2) * u128::from(n.max(1).ilog2()),
        bytes: batch * 2 * n * u128::from(COMPLEX),
        ..LowerBound::default()
    };
    floor.cycles(machine)
}

/// A planned FFT of a power of two by hand-written kernels.
#[derive(Debug)]
pub struct LocalFft {
    recipe: PowerOfTwoRecipe,
    machine: Arc<Machine>,
    program: Arc<Program>,
}

impl LocalFft {
    pub(super) fn new(recipe: PowerOfTwoRecipe, machine: Arc<Machine>) -> Result<Self, FftError> {
        let program = Arc::new(program(&recipe, &machine)?.program);
        let fft = Self {
            recipe,
            machine,
            program,
        };
        if fft.recipe.layout() == PassLayout::Ring {
            moves(&fft.recipe(), &fft.ring(1, 0, 0), &fft.machine)?;
        }
        Ok(fft)
    }

    /// Returns the recipe.
    #[must_use]
    pub fn local_recipe(&self) -> &PowerOfTwoRecipe {
        &self.recipe
    }

    /// Returns the assembled page kernel.
    #[must_use]
    pub fn kernel(&self) -> &Arc<Program> {
        &self.program
    }

    /// Adds the pass over `batch` transforms from `x` to `y` in system memory.
    pub(super) fn pass(&self, job: &mut Job, batch: usize, x: u64, y: u64) -> Result<(), FftError> {
        let program = job.program(&self.recipe.to_string(), &self.program)?;
        match self.recipe.layout() {
            PassLayout::Stockham => {
                let paging = self.paging(batch, x, y);
                job.pass(&program, self.program.entry.into(), paging)?;
            }
            PassLayout::Ring => job.ring(&program, "start", self.ring(batch, x, y))?,
        }
        Ok(())
    }

    pub(super) fn block_bytes(&self) -> u64 {
        self.recipe.len() as u64 * COMPLEX
    }

    /// Describes how `batch` transforms from `x` to `y` in system memory are paged.
    pub(super) fn paging(&self, batch: usize, x: u64, y: u64) -> Paging {
        let bytes = self.block_bytes();
        let (input, output) = (
            Stream::contiguous("x", x, bytes),
            Stream::contiguous("y", y, bytes),
        );
        let in_place = self.recipe.is_in_place();
        let paging = Paging {
            in_place,
            scratch_per_block: if in_place { bytes } else { 0 },
            ..Paging::new(batch as u64, vec![input], vec![output])
        };
        let entry = self.program.entry.into();
        priced(
            paging,
            &KernelEntryPoint::new(&self.program, entry),
            &self.machine,
        )
    }

    /// Returns the DMEM address of a ring's argument block, which lies behind the tables.
    pub(super) fn ring_arguments(&self) -> u32 {
        let end = |s: &Segment| u64::from(s.address) + s.bytes.len() as u64;
        let tables = self.program.dmem.iter().map(end).max().unwrap_or(0);
        u32::try_from(tables.next_multiple_of(aligned(&self.machine))).unwrap_or(u32::MAX)
    }

    /// Describes how `batch` transforms from `x` to `y` go through a ring of blocks.
    fn ring(&self, batch: usize, x: u64, y: u64) -> RingPass {
        let batch = SectionBlocks {
            count: batch as u64,
            sections: self.machine.cp2.sections as u64,
        };
        let blocks = Ring4096Pages { batch, x, y };
        RingPass::new(
            Ring::new_in_place(self.ring_arguments().into(), 0, RING, BLOCK),
            blocks,
        )
        .price_by_kernel(&self.program, "start")
    }
}

/// Returns the number of transforms of length `n` in `found` numbers, and refuses more than `most`.
pub(super) fn count_transforms(
    found: usize,
    n: usize,
    most: usize,
    machine: &Machine,
) -> Result<usize, FftError> {
    let batch = found / n;
    if !found.is_multiple_of(n) {
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

impl Fft for LocalFft {
    fn len(&self) -> usize {
        self.recipe.len()
    }

    fn direction(&self) -> TransformDirection {
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

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let butterflies = batch as u64 * self.recipe.butterflies();
        vec![vec![(Class::Butterfly, butterflies)]]
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        self.pass(job, batch, from, to)
    }

    fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        let tables = self.program.dmem.iter().map(|s| s.bytes.len() as u64).sum();
        if self.recipe.layout() == PassLayout::Ring {
            let pass = self.ring(batch, 0, batch as u64 * self.block_bytes());
            let image = 8 * self.program.words.len() as u64 + tables;
            let cycles = pass.expect(&self.machine).cycles + load(image, &self.machine);
            return Ok(Cycles(cycles.ceil() as u64));
        }
        let paging = self.paging(batch, 0, batch as u64 * self.block_bytes());
        pass_estimate(
            paging,
            self.program.words.len() as u64,
            tables,
            &self.machine,
        )
    }
}
