//! Transforms of any length by Bluestein's algorithm.

use super::blocks::Blocks;
use super::plan::check_room;
use super::program::bluestein;
use super::recipe::{LONGEST, MixedRecipe, best_order, cost, factors, least_slots};
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::plan::{FftRun, batch_of};
use crate::fft::transform::{Fft, Rows};
use crate::job::{Job, Least};
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Cycles, Machine};
use num_complex::{Complex32, Complex64};
use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

/// Bytes of a complex number.
const COMPLEX: u64 = 8;

/// A transform of any length N as a convolution of length M >= 2 N - 1, a
/// product of 2, 3, 5 and 7: with `b[j] = exp(-pi i j^2/N)`,
/// `X[k] = b[k] sum over j of (b[j] x[j]) conj b[k-j]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BluesteinRecipe {
    n: usize,
    direction: Direction,
    m: usize,
    radices: Vec<usize>,
}

impl BluesteinRecipe {
    /// The convolution of the length with the fewest slots. None where no
    /// local memory has room for one.
    #[must_use]
    pub fn new(n: usize, direction: Direction) -> Option<Self> {
        let least = n.checked_mul(2)?.checked_sub(1)?;
        if least > LONGEST {
            return None;
        }
        let lengths = least..=least.checked_next_power_of_two()?;
        let recipes = lengths.filter_map(|m| Some((m, best_order(factors(m)?, (false, false)))));
        let slots = |(_, radices): &(usize, Vec<usize>)| cost(radices, (false, false));
        let (m, radices) = recipes.min_by_key(slots)?;
        Some(Self {
            n,
            direction,
            m,
            radices,
        })
    }

    /// Length of the transform.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Never.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Length of the convolution.
    #[must_use]
    pub fn convolution(&self) -> usize {
        self.m
    }

    /// The least arithmetic issues of the algorithm: two transforms of length
    /// M, M products with the filter and 2 N with the chirp.
    #[must_use]
    pub fn issues(&self) -> u64 {
        let transform = MixedRecipe::new(self.m, self.direction).map_or(0, |r| r.issues());
        2 * transform + self.m as u64 + 2 * self.n as u64
    }

    /// The least slots of two transforms: both transforms, the products with the
    /// filter (arithmetic, in the last pass) and with the chirp (four memory
    /// operations a number), and the zeros.
    pub(super) fn slots(&self) -> u64 {
        let (n, m) = (self.n as u64, self.m as u64);
        2 * least_slots(self.m, 1, &self.radices, (false, false)) + m + 8 * n + (m - n)
    }

    /// The angle of b[j] in units of 1/(2 N) turns: j^2.
    fn angle(&self, j: usize) -> u64 {
        (j as u128 * j as u128 % (2 * self.n as u128)) as u64
    }

    /// The chirp b as directives.
    fn chirp(&self) -> Vec<String> {
        (0..self.n)
            .map(|j| format!(".cis -{}, {}", self.angle(j), 2 * self.n))
            .collect()
    }

    /// The transform of conj b, which the convolution is with, divided by M, as directives.
    fn filter(&self) -> Vec<String> {
        let mut h = vec![Complex64::default(); self.m];
        for j in 0..self.n {
            let c = Complex64::from_polar(
                1.0 / self.m as f64,
                PI * self.angle(j) as f64 / self.n as f64,
            );
            h[j] = c;
            h[(self.m - j) % self.m] = c;
        }
        rustfft::FftPlannerScalar::new()
            .plan_fft_forward(self.m)
            .process(&mut h);
        h.iter()
            .map(|z| format!(".complex {:?}, {:?}", z.re, z.im))
            .collect()
    }
}

impl fmt::Display for BluesteinRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let radices: Vec<String> = self.radices.iter().map(usize::to_string).collect();
        let (n, direction, m) = (self.n, self.direction, self.m);
        write!(
            f,
            "fft {n} {direction}: bluestein by {m} = {}",
            radices.join(" x ")
        )
    }
}

/// A planned transform by Bluestein's algorithm, the whole convolution in local memory.
#[derive(Debug)]
pub struct BluesteinFft {
    recipe: BluesteinRecipe,
    blocks: Blocks,
}

impl BluesteinFft {
    pub(in crate::fft) fn new(
        recipe: BluesteinRecipe,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        // The two buffers of the convolution of two transforms.
        check_room(recipe.m as u64 * COMPLEX, &recipe, &machine)?;
        let bytes = recipe.n as u64 * COMPLEX;
        let (chirp, filter) = (recipe.chirp(), recipe.filter());
        let make = |pairs| {
            let convolution = (recipe.m, &recipe.radices[..]);
            let factors = (&chirp[..], &filter[..]);
            bluestein(
                recipe.n,
                convolution,
                recipe.direction,
                factors,
                pairs,
                &machine,
            )
        };
        let blocks = Blocks::new(recipe.to_string(), machine.clone(), (bytes, bytes), make)?;
        Ok(Self { recipe, blocks })
    }

    /// What the planner has decided.
    #[must_use]
    pub fn bluestein_recipe(&self) -> &BluesteinRecipe {
        &self.recipe
    }

    /// What any program of the algorithm must compute and move for `batch` transforms.
    pub(super) fn least(&self, batch: usize) -> Least {
        let batch = batch as u128;
        Least {
            issues: batch * u128::from(self.recipe.issues()),
            bytes: batch * u128::from(2 * self.recipe.n as u64 * COMPLEX),
            ..Least::default()
        }
    }

    /// The job that transforms `input`, a whole number of transforms.
    pub(super) fn job(
        &self,
        input: &[Complex32],
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>), FftError> {
        let batch = self.batch_of(input.len())?;
        self.blocks
            .job(input, batch, (self.recipe.n, self.recipe.n), options)
    }

    /// The batch that `found` numbers make.
    pub(super) fn batch_of(&self, found: usize) -> Result<usize, FftError> {
        batch_of(found, self.recipe.n, self.max_batch(), self.machine())
    }
}

impl Fft for BluesteinFft {
    fn len(&self) -> usize {
        self.recipe.n
    }

    fn direction(&self) -> Direction {
        self.recipe.direction
    }

    fn recipe(&self) -> String {
        self.recipe.to_string()
    }

    fn machine(&self) -> &Arc<Machine> {
        self.blocks.machine()
    }

    fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        self.blocks.program(batch).map(Some)
    }

    fn source(&self, file: &str) -> Option<String> {
        self.blocks.source(file)
    }

    fn max_batch(&self) -> usize {
        self.blocks.max_batch()
    }

    fn bound(&self, batch: usize) -> Cycles {
        self.least(batch).cycles(self.machine())
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        self.blocks.expected(batch)
    }

    fn process_with(&self, input: &[Complex32], options: Options) -> Result<FftRun, FftError> {
        self.batch_of(input.len())?;
        let row = self.len();
        let rows = Rows {
            input: row,
            output: row,
        };
        self.process_rows(input, rows, options)
    }

    fn process_rows(
        &self,
        input: &[Complex32],
        rows: Rows,
        options: Options,
    ) -> Result<FftRun, FftError> {
        let longest = rows.input.max(rows.output);
        let most = self.max_batch() / longest.div_ceil(self.len()).max(1);
        let batch = rows.batch_of(input.len(), self.len(), most, self.machine())?;
        let (least, apart) = (self.least(batch), (rows.input, rows.output));
        self.blocks.run(input, batch, apart, least, options)
    }
}
