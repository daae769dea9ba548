//! The ways to compute a batch of transforms of real numbers, of which a planner takes one.

use super::blocks::Blocks;
use super::long::LongReal;
use super::real_recipe::RealRecipe;
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::large::LargeReal;
use crate::fft::planner::TYPICAL_BATCH;
use crate::fft::real_ring::RealRingFft;
use crate::fft::transform::{rows_of, spread};
use crate::job::Job;
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::borrow::Cow;
use std::sync::Arc;

/// A job that transforms real numbers, and where its output will be.
#[derive(Debug)]
pub(in crate::fft) struct Made<O> {
    pub(in crate::fft) job: Job,
    pub(in crate::fft) output: Buffer<O>,
    /// Values from a row of the output to the next.
    pub(in crate::fft) pitch: usize,
    /// Values from one of a row to the next: of complex numbers whose real parts are the result, two.
    pub(in crate::fft) step: usize,
}

impl<O: Copy> Made<O> {
    /// The result lies row after row, `pitch` values apart.
    pub(in crate::fft) fn rows((job, output, pitch): (Job, Buffer<O>, usize)) -> Self {
        Self {
            job,
            output,
            pitch,
            step: 1,
        }
    }
}

/// The first `n` results of the first `batch` rows of an output; see [`Made`].
pub(in crate::fft) fn results<O: Copy>(
    mut all: Vec<O>,
    [batch, n]: [usize; 2],
    pitch: usize,
    step: usize,
) -> Vec<O> {
    if step > 1 {
        all = all.into_iter().step_by(step).collect();
    }
    rows_of(all, batch, n, pitch / step.max(1))
}

/// Bytes of DMEM for each number of a transform below which one by columns is considered.
const BY_COLUMNS: u64 = 36;

/// A transform in local memory, and the kernels of its blocks.
#[derive(Debug)]
pub(in crate::fft) struct LocalReal {
    recipe: RealRecipe,
    blocks: Blocks,
}

/// A way to transform real numbers, there or back.
#[derive(Debug)]
pub(in crate::fft) enum RealWay {
    /// In local memory.
    Local(LocalReal),
    /// In local memory, in place.
    Ring(Box<RealRingFft>),
    /// By two passes over system memory.
    Large(Box<LargeReal>),
    /// Around a complex transform.
    Long(LongReal),
}

impl RealWay {
    /// The ways in local memory: the halves of a quad are transforms, or of long ones columns.
    pub(in crate::fft) fn locals(
        n: usize,
        direction: Direction,
        machine: &Arc<Machine>,
    ) -> Vec<Result<Self, FftError>> {
        let mut all = vec![Self::transforms(n, direction, machine)];
        // Two pages of two transforms, in and out, and tables.
        if BY_COLUMNS.saturating_mul(n as u64) > machine.cp2.dmem.0 {
            all.push(Self::columns(n, direction, machine));
        }
        all
    }

    fn transforms(
        n: usize,
        direction: Direction,
        machine: &Arc<Machine>,
    ) -> Result<Self, FftError> {
        let recipe = RealRecipe::new(n, direction, machine)?;
        let name = recipe.to_string();
        let make = |pairs| recipe.kernel(pairs, machine);
        let blocks = Blocks::new(name, machine.clone(), recipe.bytes(), make)?;
        Ok(Self::Local(LocalReal { recipe, blocks }))
    }

    fn columns(n: usize, direction: Direction, machine: &Arc<Machine>) -> Result<Self, FftError> {
        let mut best: Option<(Cycles, LocalReal)> = None;
        let mut refused = FftError::RealLength { n };
        for (recipe, made) in RealRecipe::columns(n, direction, machine)? {
            let blocks = Blocks::single(recipe.to_string(), machine.clone(), recipe.bytes(), made);
            let priced = blocks.and_then(|blocks| Ok((blocks.expected(TYPICAL_BATCH)?, blocks)));
            match priced {
                Ok((cycles, blocks)) if best.as_ref().is_none_or(|(least, _)| cycles < *least) => {
                    best = Some((cycles, LocalReal { recipe, blocks }));
                }
                Ok(_) => {}
                Err(e) if e.is_refusal() => refused = e,
                // Of local memory larger than that of the machines here: rows that no offset reaches.
                Err(FftError::Unfit(_)) => {}
                Err(e) => return Err(e),
            }
        }
        best.map(|(_, local)| Self::Local(local)).ok_or(refused)
    }

    /// Half spectra without the imaginary parts that are 0 by definition, where a complex transform leaves its
    /// rounding in them: the way back takes them as they come.
    pub(in crate::fft) fn spectra(&self, y: Vec<Complex32>) -> Vec<Complex32> {
        match self {
            Self::Long(LongReal::Whole(_)) => real_ends(&y, self.len()).into_owned(),
            _ => y,
        }
    }

    pub(in crate::fft) fn len(&self) -> usize {
        match self {
            Self::Local(LocalReal { recipe, .. }) => recipe.n,
            Self::Ring(real) => real.len(),
            Self::Large(real) => real.len(),
            Self::Long(real) => real.len(),
        }
    }

    pub(in crate::fft) fn recipe(&self) -> String {
        match self {
            Self::Local(LocalReal { recipe, .. }) => recipe.to_string(),
            Self::Ring(real) => real.recipe(),
            Self::Large(real) => real.recipe(),
            Self::Long(real) => real.to_string(),
        }
    }

    /// The recipe of a batch.
    pub(in crate::fft) fn recipe_for(&self, batch: usize) -> String {
        match self {
            Self::Large(real) => real.recipe_for(batch),
            _ => self.recipe(),
        }
    }

    pub(in crate::fft) fn machine(&self) -> &Arc<Machine> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.machine(),
            Self::Ring(real) => real.machine(),
            Self::Large(real) => real.machine(),
            Self::Long(real) => real.machine(),
        }
    }

    pub(in crate::fft) fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.program(batch).map(Some),
            Self::Ring(real) => Ok(Some(real.program().clone())),
            Self::Large(real) => Ok(Some(real.program(batch).clone())),
            Self::Long(_) => Ok(None),
        }
    }

    pub(in crate::fft) fn source(&self, file: &str) -> Option<String> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.source(file),
            Self::Ring(real) => real.source(file),
            Self::Large(real) => real.source(file),
            Self::Long(real) => real.source(file),
        }
    }

    pub(in crate::fft) fn max_batch(&self) -> usize {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.max_batch(),
            Self::Ring(real) => real.max_batch(),
            Self::Large(real) => real.max_batch(),
            Self::Long(real) => real.max_batch(),
        }
    }

    pub(in crate::fft) fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.expected(batch),
            Self::Ring(real) => Ok(real.expected(batch)),
            Self::Large(real) => Ok(real.expected(batch)),
            Self::Long(real) => real.expected(batch),
        }
    }

    pub(in crate::fft) fn recipe_floor(&self, batch: usize) -> Option<(f64, &'static str)> {
        match self {
            Self::Large(real) => Some(real.recipe_floor(batch)),
            Self::Local(_) | Self::Ring(_) | Self::Long(_) => None,
        }
    }

    pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => vec![blocks.operations(batch)],
            Self::Ring(real) => real.operations(batch),
            Self::Large(real) => real.operations(batch),
            Self::Long(real) => real.operations(batch),
        }
    }

    pub(in crate::fft) fn forward(
        &self,
        input: &[f32],
        batch: usize,
        options: Options,
    ) -> Result<Made<Complex32>, FftError> {
        match self {
            Self::Local(LocalReal { recipe, blocks }) => {
                let out = recipe.spectrum();
                let (job, y) = blocks.job(input, batch, (recipe.n, out), options)?;
                Ok(Made::rows((job, y, out)))
            }
            Self::Ring(real) => real.forward(input, batch, options).map(Made::rows),
            Self::Large(real) => real.forward(input, batch, options).map(Made::rows),
            Self::Long(real) => real.forward(input, batch, options),
        }
    }

    pub(in crate::fft) fn inverse(
        &self,
        input: &[Complex32],
        batch: usize,
        options: Options,
    ) -> Result<Made<f32>, FftError> {
        let input = &real_ends(input, self.len());
        match self {
            Self::Local(LocalReal { recipe, blocks }) => {
                let (row, from) = (recipe.n / 2 + 1, recipe.spectrum());
                let spread = (from > row).then(|| spread(input, row, [batch, from]));
                let input = spread.as_deref().unwrap_or(input);
                let (job, y) = blocks.job(input, batch, (from, recipe.n), options)?;
                Ok(Made::rows((job, y, recipe.n)))
            }
            Self::Large(real) => real.inverse(input, batch, options).map(Made::rows),
            Self::Ring(real) => real.inverse(input, batch, options).map(Made::rows),
            Self::Long(real) => real.inverse(input, batch, options),
        }
    }
}

/// Half spectra without the imaginary parts of the numbers that are their own conjugates.
fn real_ends(spectra: &[Complex32], n: usize) -> Cow<'_, [Complex32]> {
    let row = n / 2 + 1;
    let is_end = |i: usize| i.is_multiple_of(row) || (n.is_multiple_of(2) && i % row == n / 2);
    let mut all = Cow::Borrowed(spectra);
    for (i, z) in spectra.iter().enumerate() {
        if is_end(i) && z.im != 0.0 {
            all.to_mut()[i].im = 0.0;
        }
    }
    all
}
