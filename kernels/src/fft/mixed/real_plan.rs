//! Batches of transforms of real numbers.

use super::blocks::Blocks;
use super::long::LongReal;
use super::pass::Lanes;
use super::real_recipe::RealRecipe;
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::large::LargeReal;
use crate::fft::plan::batch_of;
use crate::fft::planner::TYPICAL_BATCH;
use crate::fft::real_ring::RealRingFft;
use crate::fft::transform::{rows_of, spread};
use crate::job::{Job, KernelRun, Least};
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::borrow::Cow;
use std::sync::Arc;

/// A batch of real transforms that has been run.
pub type RealRun<T> = KernelRun<Vec<T>>;

/// A job, where its output will be, and numbers from a row of it to the next.
type Made<O> = (Job, Buffer<O>, usize);

/// Lengths from which on a real transform by columns is considered.
const BY_COLUMNS: usize = 2048;

/// Part of the expected time that the bound must be for no passes over system memory to be looked at.
const WORTH: f64 = 0.6;

/// What real transforms of both directions have in common.
#[derive(Debug)]
enum Real {
    /// In local memory.
    Local { recipe: RealRecipe, blocks: Blocks },
    /// In local memory, in place.
    Ring(Box<RealRingFft>),
    /// By two passes over system memory.
    Large(Box<LargeReal>),
    /// By passes over system memory around a complex transform.
    Long(LongReal),
}

impl Real {
    /// By local memory where it fits, by the way that takes less time, else what `long` makes;
    /// a transform that leaves no room for another one of a section by the way that is faster for `batch` of them.
    fn new(
        n: usize,
        direction: Direction,
        machine: Arc<Machine>,
        batch: usize,
        long: impl FnOnce() -> Result<LongReal, FftError>,
    ) -> Result<Self, FftError> {
        if RealRingFft::has(n) {
            let ring = RealRingFft::new(machine.clone(), direction);
            let ring = ring.map(|fft| Self::Ring(Box::new(fft)));
            if let Err(e) = ring {
                // A machine without room for it has the other way.
                return match e.is_refusal() {
                    true => long().map(Self::Long).map_err(|long| e.or(long)),
                    false => Err(e),
                };
            }
            let ways = [ring, long().map(Self::Long)];
            let priced = ways.map(|way| way.and_then(|way| Ok((way.expected(batch)?, way))));
            return match priced {
                [Ok(a), Ok(b)] => Ok(if a.0 <= b.0 { a.1 } else { b.1 }),
                [Ok(one), _] | [_, Ok(one)] => Ok(one.1),
                [Err(a), Err(b)] => Err(a.or(b)),
            };
        }
        let (mut best, mut refusal): (Option<(Cycles, Self)>, _) = (None, None);
        let columns = (n >= BY_COLUMNS).then_some(Lanes::Columns);
        for lanes in [Some(Lanes::Transforms), columns].into_iter().flatten() {
            let priced = Self::local(n, direction, lanes, &machine)
                .and_then(|local| Ok((local.expected(TYPICAL_BATCH)?, local)));
            match priced {
                Ok(local) if best.as_ref().is_none_or(|(least, _)| local.0 < *least) => {
                    best = Some(local);
                }
                Ok(_) => {}
                Err(e) if e.is_refusal() => refusal = refusal.or(Some(e)),
                Err(e) => return Err(e),
            }
        }
        let Some((cycles, local)) = best else {
            let refused = |long| match refusal {
                Some(local) => FftError::or(local, long),
                None => long,
            };
            let fits = |long: LongReal| long.expected(1).map(|_| Self::Long(long));
            let large = Self::large(n, direction, &machine)?;
            return large
                .map_or_else(|| long().and_then(fits), Ok)
                .map_err(refused);
        };
        let bound = local.least(TYPICAL_BATCH).cycles(&machine);
        if bound.0 as f64 >= WORTH * cycles.0 as f64 {
            return Ok(local);
        }
        let large = Self::large(n, direction, &machine)?;
        let long = large.map_or_else(|| long().map(Self::Long), Ok);
        let cheaper = |long: &Self| long.expected(TYPICAL_BATCH).is_ok_and(|c| c < cycles);
        let long = FftError::unless_refused(long)?;
        Ok(long.filter(cheaper).unwrap_or(local))
    }

    /// In two passes, which take less time than a complex transform and a pass that separates; none where they do not fit.
    fn large(
        n: usize,
        direction: Direction,
        machine: &Arc<Machine>,
    ) -> Result<Option<Self>, FftError> {
        if !LargeReal::has(n) {
            return Ok(None);
        }
        let made = LargeReal::new(n, direction, machine.clone());
        let made = FftError::unless_refused(made)?;
        Ok(made.map(|real| Self::Large(Box::new(real))))
    }

    fn local(
        n: usize,
        direction: Direction,
        lanes: Lanes,
        machine: &Arc<Machine>,
    ) -> Result<Self, FftError> {
        let recipe = RealRecipe::new(n, direction, lanes, machine)?;
        let (time, spectrum) = (4 * n as u64, 8 * recipe.spectrum() as u64);
        let bytes = match direction {
            Direction::Forward => (time, spectrum),
            Direction::Inverse => (spectrum, time),
        };
        let (name, make) = (recipe.to_string(), |pairs| recipe.kernel(pairs, machine));
        let blocks = match recipe.lanes() {
            Lanes::Transforms => Blocks::new(name, machine.clone(), bytes, make)?,
            Lanes::Columns => Blocks::single(name, machine.clone(), bytes, make(1)?)?,
        };
        Ok(Self::Local { recipe, blocks })
    }

    fn len(&self) -> usize {
        match self {
            Self::Local { recipe, .. } => recipe.n,
            Self::Ring(real) => real.len(),
            Self::Large(real) => real.len(),
            Self::Long(real) => real.len(),
        }
    }

    fn recipe(&self) -> String {
        match self {
            Self::Local { recipe, .. } => recipe.to_string(),
            Self::Ring(real) => real.recipe(),
            Self::Large(real) => real.recipe(),
            Self::Long(real) => real.to_string(),
        }
    }

    fn machine(&self) -> &Arc<Machine> {
        match self {
            Self::Local { blocks, .. } => blocks.machine(),
            Self::Ring(real) => real.machine(),
            Self::Large(real) => real.machine(),
            Self::Long(real) => real.machine(),
        }
    }

    fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        match self {
            Self::Local { blocks, .. } => blocks.program(batch).map(Some),
            Self::Ring(real) => Ok(Some(real.program().clone())),
            Self::Large(real) => Ok(Some(real.program(batch).clone())),
            Self::Long(_) => Ok(None),
        }
    }

    fn source(&self, file: &str) -> Option<String> {
        match self {
            Self::Local { blocks, .. } => blocks.source(file),
            Self::Ring(real) => real.source(file),
            Self::Large(real) => real.source(file),
            Self::Long(real) => real.source(file),
        }
    }

    fn max_batch(&self) -> usize {
        match self {
            Self::Local { blocks, .. } => blocks.max_batch(),
            Self::Ring(real) => real.max_batch(),
            Self::Large(real) => real.max_batch(),
            Self::Long(real) => real.max_batch(),
        }
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        match self {
            Self::Local { blocks, .. } => blocks.expected(batch),
            Self::Ring(real) => Ok(real.expected(batch)),
            Self::Large(real) => Ok(real.expected(batch)),
            Self::Long(real) => real.expected(batch),
        }
    }

    fn least(&self, batch: usize) -> Least {
        match self {
            Self::Local { recipe, .. } => {
                let (batch, n) = (batch as u128, recipe.n as u128);
                Least {
                    issues: batch * u128::from(recipe.issues()),
                    bytes: batch * (4 * n + 8 * (n / 2 + 1)),
                    ..Least::default()
                }
            }
            Self::Ring(real) => real.least(batch),
            Self::Large(real) => real.least(batch),
            Self::Long(real) => real.least(batch),
        }
    }

    fn own_bound(&self, batch: usize) -> Option<(f64, &'static str)> {
        match self {
            Self::Large(real) => Some(real.own_bound(batch)),
            Self::Local { .. } | Self::Ring(_) | Self::Long(_) => None,
        }
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        match self {
            Self::Local { blocks, .. } => vec![blocks.operations(batch)],
            Self::Ring(real) => real.operations(batch),
            Self::Large(real) => real.operations(batch),
            Self::Long(real) => real.operations(batch),
        }
    }

    fn forward(
        &self,
        input: &[f32],
        batch: usize,
        options: Options,
    ) -> Result<Made<Complex32>, FftError> {
        match self {
            Self::Local { recipe, blocks } => {
                let out = recipe.spectrum();
                let (job, y) = blocks.job(input, batch, (recipe.n, out), options)?;
                Ok((job, y, out))
            }
            Self::Ring(real) => real.forward(input, batch, options),
            Self::Large(real) => real.forward(input, batch, options),
            Self::Long(real) => real.forward(input, batch, options),
        }
    }

    fn inverse(
        &self,
        input: &[Complex32],
        batch: usize,
        options: Options,
    ) -> Result<Made<f32>, FftError> {
        let input = &real_ends(input, self.len());
        match self {
            Self::Local { recipe, blocks } => {
                let (row, from) = (recipe.n / 2 + 1, recipe.spectrum());
                let spread = (from > row).then(|| spread(input, row, [batch, from]));
                let input = spread.as_deref().unwrap_or(input);
                let (job, y) = blocks.job(input, batch, (from, recipe.n), options)?;
                Ok((job, y, recipe.n))
            }
            Self::Large(real) => real.inverse(input, batch, options),
            Self::Ring(real) => real.inverse(input, batch, options),
            Self::Long(real) => real.inverse(input, batch, options),
        }
    }
}

/// Half spectra without the imaginary parts of the numbers that are their own conjugates.
fn real_ends(spectra: &[Complex32], n: usize) -> Cow<'_, [Complex32]> {
    let row = n / 2 + 1;
    let is_end = |i: usize| i % row == 0 || (n % 2 == 0 && i % row == n / 2);
    let mut all = Cow::Borrowed(spectra);
    for (i, z) in spectra.iter().enumerate() {
        if is_end(i) && z.im != 0.0 {
            all.to_mut()[i].im = 0.0;
        }
    }
    all
}

macro_rules! real_transform {
    ($(#[$doc:meta])* $name:ident, $job:ident, $direction:expr, $input:ty, $output:ty, $in_len:expr, $out_len:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Real);

        impl $name {
            pub(in crate::fft) fn new(
                n: usize,
                machine: Arc<Machine>,
                batch: usize,
                long: impl FnOnce() -> Result<LongReal, FftError>,
            ) -> Result<Self, FftError> {
                Real::new(n, $direction, machine, batch, long).map(Self)
            }

            /// Real numbers of a transform.
            #[must_use]
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Never.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// What the planner has decided.
            #[must_use]
            pub fn recipe(&self) -> String {
                self.0.recipe()
            }

            /// See [`Fft::operations`](crate::fft::Fft::operations).
            pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
                self.0.operations(batch)
            }

            /// The machine.
            #[must_use]
            pub fn machine(&self) -> &Arc<Machine> {
                self.0.machine()
            }

            /// The page kernel that a batch is transformed by; none where a job has several.
            ///
            /// # Errors
            /// It does not assemble for the machine.
            pub fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
                self.0.program(batch)
            }

            /// The source of a kernel by the name that line tables call it.
            #[must_use]
            pub fn source(&self, file: &str) -> Option<String> {
                self.0.source(file)
            }

            /// The largest batch that fits the machine's system memory.
            #[must_use]
            pub fn max_batch(&self) -> usize {
                self.0.max_batch()
            }

            /// What any program must compute and move for `batch` transforms.
            pub(in crate::fft) fn least(&self, batch: usize) -> Least {
                self.0.least(batch)
            }

            /// The job that transforms `input`, whole rows, and its output.
            pub(in crate::fft) fn job(
                &self,
                input: &[$input],
                options: Options,
            ) -> Result<Made<$output>, FftError> {
                let (batch, _) = self.batch_of(input.len())?;
                self.0.$job(input, batch, options)
            }

            /// The batch that `found` numbers make, and the numbers of a result.
            pub(in crate::fft) fn batch_of(&self, found: usize) -> Result<(usize, usize), FftError> {
                let row: fn(usize) -> usize = $in_len;
                let out: fn(usize) -> usize = $out_len;
                let batch = batch_of(found, row(self.len()), self.max_batch(), self.machine())?;
                Ok((batch, out(self.len())))
            }

            /// Lower bound of the time for `batch` transforms: N/4 (log2 N + 1)
            /// issues for a power of two, or every byte over the DMA channel once.
            #[must_use]
            pub fn bound(&self, batch: usize) -> Cycles {
                self.least(batch).cycles(self.machine())
            }

            /// The least time that the recipe itself can take, where it costs by design what
            /// the bound leaves out: in cycles, and the formula in words.
            #[must_use]
            pub fn own_bound(&self, batch: usize) -> Option<(f64, &'static str)> {
                self.0.own_bound(batch)
            }

            /// The time that a batch should take, from formulas alone.
            ///
            /// # Errors
            /// The batch cannot be paged on the machine.
            pub fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
                self.0.expected(batch)
            }

            /// Transforms whole rows on a device with options.
            ///
            /// # Errors
            /// An input of the wrong shape or too large for the machine.
            pub fn process_with(
                &self,
                input: &[$input],
                options: Options,
            ) -> Result<RealRun<$output>, FftError> {
                let (batch, out) = self.batch_of(input.len())?;
                let (job, y, pitch) = self.job(input, options)?;
                Ok(job.run(self.bound(batch), |run| {
                    Ok(rows_of(run.read(y)?, batch, out, pitch))
                })?)
            }

            /// The same on a device with default options.
            ///
            /// # Errors
            /// See `process_with`.
            pub fn process(&self, input: &[$input]) -> Result<RealRun<$output>, FftError> {
                self.process_with(input, Options::default())
            }
        }
    };
}

real_transform!(
    /// N real numbers to the N/2 + 1 numbers of their spectrum that are not
    /// conjugates of others, exp(-2 pi i jk/N), not scaled.
    RealToComplex,
    forward,
    Direction::Forward,
    f32,
    Complex32,
    |n| n,
    |n| n / 2 + 1
);
real_transform!(
    /// N/2 + 1 numbers of a spectrum to the N real numbers that have it,
    /// exp(+2 pi i jk/N), not scaled: N times the input of [`RealToComplex`].
    /// The imaginary parts of the first and the last number count as 0.
    ComplexToReal,
    inverse,
    Direction::Inverse,
    Complex32,
    f32,
    |n| n / 2 + 1,
    |n| n
);
