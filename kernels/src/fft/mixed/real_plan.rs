//! Batches of transforms of real numbers.

use super::blocks::{Blocks, Generated};
use super::dft::{issues, powers};
use super::long::LongReal;
use super::plan::{BlockRecipe as _, check_room};
use super::program::real;
use super::real::RealPass;
use super::recipe::{MixedRecipe, best_order, factors, least_slots};
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::plan::batch_of;
use crate::fft::transform::rows_of;
use crate::job::{Job, KernelRun, Least};
use crate::pipeline::Unschedulable;
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Radices of the pass that goes together with the split or the merge.
const JOINT: [usize; 4] = [1, 2, 4, 8];

/// The passes of a transform of N real numbers, N even: those of N/2 complex
/// ones, of which one also separates (or joins) the spectrum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RealRecipe {
    n: usize,
    direction: Direction,
    radices: Vec<usize>,
    joint: usize,
}

/// Numbers of one half of the pairs of a block, at a guess.
const BLOCK: usize = 1024;

impl RealRecipe {
    /// The recipe whose kernel takes the fewest cycles.
    fn new(n: usize, direction: Direction, machine: &Machine) -> Result<Self, FftError> {
        let m = n / 2;
        if n % 2 == 1 || factors(m).is_none() {
            return Err(FftError::RealLength { n });
        }
        check_room(4 * n as u64, &format!("real fft {n} {direction}"), machine)?;
        let mut best: Option<(u64, Self)> = None;
        // As many as a block is likely to have: of few, fill and drain weigh more.
        let pairs = (BLOCK / m.max(1)).clamp(1, 8);
        let mut error = FftError::RealLength { n };
        for joint in JOINT {
            if m % joint != 0 || (joint > 1 && m == joint) {
                continue;
            }
            let Some(radices) = factors(m / joint) else {
                continue;
            };
            let forward = direction == Direction::Forward;
            let recipe = Self {
                n,
                direction,
                radices: best_order(radices, (forward, !forward)),
                joint,
            };
            match recipe.kernel(pairs, machine) {
                Ok(made) if best.as_ref().is_none_or(|(c, _)| made.block_cycles < *c) => {
                    best = Some((made.block_cycles, recipe));
                }
                Ok(_) => {}
                Err(e) => error = e.into(),
            }
        }
        best.map(|(_, recipe)| recipe).ok_or(error)
    }

    fn kernel(&self, pairs: usize, machine: &Machine) -> Result<Generated, Unschedulable> {
        real(
            self.n / 2,
            &self.radices,
            self.joint,
            self.direction,
            pairs,
            machine,
        )
    }

    /// The least arithmetic issues of one transform: those of N/2 complex
    /// numbers, and two butterflies for every two numbers of the spectrum. For
    /// a power of two that is N/4 (log2 N + 1).
    #[must_use]
    pub fn issues(&self) -> u64 {
        let m = self.n / 2;
        let complex = MixedRecipe::new(m, self.direction).map_or(0, |r| r.issues());
        complex + m as u64
    }

    /// The least slots of two transforms by this recipe: its passes, and of the
    /// joint pass for every couple of columns, and for those that are alone, the
    /// arithmetic (five issues for two numbers of each of two transforms in the
    /// split, four in the merge) or loads, factors, stores and steps.
    fn slots(&self) -> u64 {
        let (m, r) = (self.n / 2, self.joint as u64);
        let (forward, inverse) = ((true, false), (false, true));
        let (joined, transform, turns, passes) = match self.direction {
            Direction::Forward => {
                let passes = least_slots(m, 1, &self.radices, forward);
                let turns = 2 * powers(self.joint).len() as u64 + r;
                (5, issues(self.joint, false), turns, passes)
            }
            Direction::Inverse => {
                let passes = least_slots(m, self.joint, &self.radices, inverse);
                (4, issues(self.joint, true), r, passes)
            }
        };
        // Pointers that wait for all pairs of a block have their steps in tables.
        let steps = 2 + u64::from(self.direction == Direction::Inverse);
        let couple = (4 * transform + joined * r).max(6 * r + turns.div_ceil(2) + steps);
        let pass = self.joint_pass();
        let alone = pass.alone();
        let pairs: usize = alone.iter().map(|(_, pairs)| pairs.len()).sum();
        let (columns, pairs) = (alone.len() as u64, pairs as u64);
        // The middle of the spectrum is its own partner.
        let memory = columns * r + 4 * pairs - 2 * (columns - 1);
        let alone = (2 * columns * transform + joined * pairs).max(memory);
        passes + pass.couples() as u64 * couple + alone
    }

    fn joint_pass(&self) -> RealPass {
        RealPass {
            m: self.n / 2,
            pairs: 1,
            radix: self.joint,
            from: 0,
            to: 0,
        }
    }
}

impl fmt::Display for RealRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let radices: Vec<String> = self.radices.iter().map(usize::to_string).collect();
        let (n, direction, radices) = (self.n, self.direction, radices.join(" x "));
        let joint = if self.joint == 1 {
            String::new()
        } else {
            format!("{} with ", self.joint)
        };
        match direction {
            Direction::Forward => write!(
                f,
                "real fft {n} {direction}: mixed {radices} x {joint}split"
            ),
            Direction::Inverse => write!(
                f,
                "real fft {n} {direction}: mixed {joint}merge x {radices}"
            ),
        }
    }
}

/// A batch of real transforms that has been run.
pub type RealRun<T> = KernelRun<Vec<T>>;

/// A job, where its output will be, and numbers from a row of it to the next.
type Made<O> = (Job, Buffer<O>, usize);

/// What real transforms of both directions have in common.
#[derive(Debug)]
enum Real {
    /// In local memory.
    Local { recipe: RealRecipe, blocks: Blocks },
    /// By passes over system memory.
    Long(LongReal),
}

impl Real {
    /// By local memory where it fits, else what `long` makes.
    fn new(
        n: usize,
        direction: Direction,
        machine: Arc<Machine>,
        long: impl FnOnce() -> Result<LongReal, FftError>,
    ) -> Result<Self, FftError> {
        match Self::local(n, direction, machine) {
            Err(e) if e.is_refusal() => long().map(Self::Long),
            local => local,
        }
    }

    fn local(n: usize, direction: Direction, machine: Arc<Machine>) -> Result<Self, FftError> {
        let recipe = RealRecipe::new(n, direction, &machine)?;
        let (time, spectrum) = (4 * n as u64, 8 * (n as u64 / 2 + 1));
        let bytes = match direction {
            Direction::Forward => (time, spectrum),
            Direction::Inverse => (spectrum, time),
        };
        let make = |pairs| recipe.kernel(pairs, &machine);
        let blocks = Blocks::new(recipe.to_string(), machine.clone(), bytes, make)?;
        Ok(Self::Local { recipe, blocks })
    }

    fn len(&self) -> usize {
        match self {
            Self::Local { recipe, .. } => recipe.n,
            Self::Long(real) => real.len(),
        }
    }

    fn recipe(&self) -> String {
        match self {
            Self::Local { recipe, .. } => recipe.to_string(),
            Self::Long(real) => real.to_string(),
        }
    }

    fn machine(&self) -> &Arc<Machine> {
        match self {
            Self::Local { blocks, .. } => blocks.machine(),
            Self::Long(real) => real.machine(),
        }
    }

    fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        match self {
            Self::Local { blocks, .. } => blocks.program(batch).map(Some),
            Self::Long(_) => Ok(None),
        }
    }

    fn source(&self, file: &str) -> Option<String> {
        match self {
            Self::Local { blocks, .. } => blocks.source(file),
            Self::Long(real) => real.source(file),
        }
    }

    fn max_batch(&self) -> usize {
        match self {
            Self::Local { blocks, .. } => blocks.max_batch(),
            Self::Long(real) => real.max_batch(),
        }
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        match self {
            Self::Local { blocks, .. } => blocks.expected(batch),
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
            Self::Long(real) => real.least(batch),
        }
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        match self {
            // Memory operations count where they are more than the arithmetic.
            Self::Local { recipe, .. } => {
                vec![vec![(Class::Butterfly, batch as u64 * recipe.slots() / 2)]]
            }
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
                let out = recipe.n / 2 + 1;
                let (job, y) = blocks.job(input, batch, (recipe.n, out), options)?;
                Ok((job, y, out))
            }
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
                let apart = (recipe.n / 2 + 1, recipe.n);
                let (job, y) = blocks.job(input, batch, apart, options)?;
                Ok((job, y, recipe.n))
            }
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
                long: impl FnOnce() -> Result<LongReal, FftError>,
            ) -> Result<Self, FftError> {
                Real::new(n, $direction, machine, long).map(Self)
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
            pub(super) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
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
            pub(super) fn least(&self, batch: usize) -> Least {
                self.0.least(batch)
            }

            /// The job that transforms `input`, whole rows, and its output.
            pub(super) fn job(
                &self,
                input: &[$input],
                options: Options,
            ) -> Result<Made<$output>, FftError> {
                let (batch, _) = self.batch_of(input.len())?;
                self.0.$job(input, batch, options)
            }

            /// The batch that `found` numbers make, and the numbers of a result.
            pub(super) fn batch_of(&self, found: usize) -> Result<(usize, usize), FftError> {
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
