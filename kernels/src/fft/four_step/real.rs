//! The planned four-step FFT of real numbers, forward and inverse.

use super::complex::{RECIPE_FLOOR, add_passes, distinct_programs, place, unless_large};
use super::line_batch::COMPLEX;
use super::program_prefetch::PrefetchedPasses;
use super::real_recipe::{FourStepRealRecipe, LastColumns};
use crate::assembly::moves;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::program::source;
use crate::job::{self, Job, image, load};
use cp2_asm::Program;
use cp2_host::paging::{PassEstimate, Ring};

use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Range of log2 of the lengths. Shorter ones have columns or rows without a kernel; the lines of longer ones
/// do not fit.
const LENGTH_BITS: std::ops::RangeInclusive<u32> = 10..=21;
/// Batches for which divisions are searched: small pages suit a transform alone, large ones many.
const SEARCHED_BATCHES: [u64; 3] = [1, 4, 32];
/// Number of divisions with the fastest passes that are assembled and compared with the load of their
/// programs. It bounds the time of planning; the passes' own estimates come first.
const MOST_ASSEMBLED_DIVISIONS: usize = 6;
/// Number of further divisions that are compared because DMEM has room for both kernels. It bounds the time
/// of planning.
const MOST_ROOMY_DIVISIONS: usize = 2;

/// Transforms of N = N1 N2 real numbers. Forward: complex columns, each a pair of real ones, then rows 0 to
/// N1/2. Inverse: columns 0 to N2/2 of half a spectrum, then rows that are pairs of real ones.
#[derive(Debug)]
pub(in crate::fft) struct FourStepReal {
    machine: Arc<Machine>,
    /// Plans in the order of the batches that they suit, the smallest first.
    plans: Vec<FourStepRealPlan>,
}

/// A division with its assembled programs and buffers.
#[derive(Debug)]
struct FourStepRealPlan {
    /// Batch for which the division was searched.
    batch: u64,
    division: FourStepRealRecipe,
    programs: [Arc<Program>; 2],
    rings: [Ring; 2],
    /// Pass of the last columns, where they have one of their own.
    ends: Option<LastColumns>,
    /// Both passes with the second kernel prefetched while the first runs, where there is room.
    followed: Option<PrefetchedPasses>,
}

impl FourStepReal {
    /// True if there may be a plan for a length: a power of two from 2^10 to 2^21.
    pub(in crate::fft) fn supports_length(n: usize) -> bool {
        n.is_power_of_two() && LENGTH_BITS.contains(&n.ilog2())
    }

    /// Plans the transform of `n` real numbers.
    ///
    /// # Errors
    /// No division into pages fits the machine.
    pub(in crate::fft) fn new(
        n: usize,
        direction: TransformDirection,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let mut plans: Vec<FourStepRealPlan> = Vec::new();
        for batch in SEARCHED_BATCHES {
            let mut unfit = None;
            let mut best: Option<FourStepRealPlan> = None;
            let mut placed = 0;
            for division in FourStepRealRecipe::all(n, direction, &machine, batch) {
                // Further divisions are considered only for a transform alone, if DMEM has room for both
                // kernels.
                let roomy = placed >= MOST_ASSEMBLED_DIVISIONS;
                if roomy && (batch > 1 || placed >= MOST_ASSEMBLED_DIVISIONS + MOST_ROOMY_DIVISIONS)
                {
                    break;
                }
                let both = batch == 1 && division.is_roomy(&machine);
                if roomy && !both {
                    continue;
                }
                let fitted = unless_large(division.place(&machine), &mut unfit)?;
                let Some((programs, rings, ends)) = fitted.flatten() else {
                    continue;
                };
                let mut passes = division
                    .passes(rings.clone(), 1, [0; 3], [0; 2])
                    .into_iter();
                if let Err(e) = passes.try_for_each(|p| moves(&division.to_string(), &p, &machine))
                {
                    unfit.get_or_insert(e);
                    continue;
                }
                let followed = match both {
                    true => unless_large(division.plan_prefetch(&machine), &mut unfit)?.flatten(),
                    false => None,
                };
                let plan = FourStepRealPlan {
                    batch,
                    ends,
                    division,
                    programs,
                    rings,
                    followed,
                };
                let expected = |plan: &FourStepRealPlan| plan.estimate(&machine, batch as usize);
                if best
                    .as_ref()
                    .is_none_or(|best| expected(&plan) < expected(best))
                {
                    best = Some(plan);
                }
                placed += 1;
            }
            let Some(best) = best else {
                return Err(unfit.map_or(FftError::RealLength { n }, FftError::Unfit));
            };
            if plans.iter().all(|plan| plan.division != best.division) {
                plans.push(best);
            }
        }
        Ok(Self { machine, plans })
    }

    /// Returns the plan that takes the least time for `batch` transforms.
    fn plan(&self, batch: usize) -> &FourStepRealPlan {
        let of = |plan: &&FourStepRealPlan| plan.estimate(&self.machine, batch);
        let best = self.plans.iter().min_by_key(of);
        // There is at least one plan.
        best.unwrap_or(&self.plans[0])
    }

    pub(in crate::fft) fn len(&self) -> usize {
        self.plans[0].division.n() as usize
    }

    /// Describes the division for a transform alone and, where others are better, for batches.
    pub(in crate::fft) fn recipe(&self) -> String {
        let many = self.plans[1..].iter();
        let many =
            many.map(|plan| format!("; for batches of {}: {}", plan.batch, plan.division.pages()));
        self.plans[0].division.to_string() + &many.collect::<String>()
    }

    /// Describes the division that a batch takes.
    pub(in crate::fft) fn recipe_for(&self, batch: usize) -> String {
        self.plan(batch).division.to_string()
    }

    pub(in crate::fft) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Returns the program of the columns, or of both passes where they share one.
    pub(in crate::fft) fn program(&self, batch: usize) -> &Arc<Program> {
        let plan = self.plan(batch);
        let followed = plan.choose_prefetch(&self.machine, batch);
        followed.map_or(&plan.programs[0], |(followed, _)| &followed.both)
    }

    pub(in crate::fft) fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Returns the largest batch whose input, intermediate array and output fit system memory.
    pub(in crate::fft) fn max_batch(&self) -> usize {
        let room = |plan: &FourStepRealPlan| plan.max_batch(&self.machine);
        self.plans.iter().map(room).min().unwrap_or(0)
    }

    pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        self.plan(batch).division.operations(batch)
    }

    /// Returns the numbers from a half spectrum to the next.
    pub(in crate::fft) fn pitch(&self, batch: usize) -> usize {
        self.plan(batch).division.pitch() as usize
    }

    /// Adds both passes over a batch, from one address in system memory to another, to a job.
    pub(in crate::fft) fn append(
        &self,
        job: &mut Job,
        batch: usize,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let plan = self.plan(batch);
        let division = &plan.division;
        let between =
            job.temporary::<Complex32>(division.intermediate_bytes() / COMPLEX * batch as u64)?;
        let [columns, rows] = division.factors();
        let columns = match columns.is_empty() {
            true => 0,
            false => job.table(&columns)?.address(),
        };
        let rows = job.table(&rows)?.address();
        let arrays = [from, between.address(), to];
        let passes = |rings| division.passes(rings, batch as u64, arrays, [columns, rows]);
        let name = division.to_string();
        match plan.choose_prefetch(&self.machine, batch) {
            Some((followed, _)) => followed.add_passes(job, &name, passes(followed.rings()))?,
            None => {
                if let Some(ends) = &plan.ends {
                    let rows_are = (division, &plan.programs[1], &plan.rings[1]);
                    let between = (batch as u64, arrays, [columns, rows]);
                    ends.add_passes(job, rows_are, between)?;
                } else {
                    let placed = place(job, &name, &plan.programs)?;
                    add_passes(job, &placed, passes(plan.rings.clone()))?;
                }
            }
        }
        Ok(())
    }

    pub(in crate::fft) fn estimate(&self, batch: usize) -> Cycles {
        self.plan(batch).estimate(&self.machine, batch)
    }

    /// Returns the least time of the pages and its formula. Either pass takes its arithmetic, with products,
    /// split and conjugates, or its transfers, with factors and runs, and its first load and last store.
    pub(in crate::fft) fn recipe_floor(&self, batch: usize) -> (f64, &'static str) {
        let expected = self.plan(batch).expect(&self.machine, batch);
        (expected.least, RECIPE_FLOOR)
    }
}

impl FourStepRealPlan {
    /// Returns the bytes of each program, in the order of their loads.
    fn images(&self) -> impl Iterator<Item = u64> {
        let main = distinct_programs(&self.programs).map(|program| image(program));
        main.chain(self.ends.iter().map(LastColumns::image))
    }

    fn max_batch(&self, machine: &Machine) -> usize {
        let division = &self.division;
        let each = 4 * division.n() + division.intermediate_bytes() + division.pitch() * COMPLEX;
        let factors = division.factors().concat().len() as u64 * COMPLEX;
        let beside = factors + self.images().skip(1).sum::<u64>();
        let free = job::room(machine, &self.programs[0]).saturating_sub(beside);
        usize::try_from(free / each).unwrap_or(usize::MAX)
    }

    fn estimate(&self, machine: &Machine, batch: usize) -> Cycles {
        Cycles(self.expect(machine, batch).cycles.ceil() as u64)
    }

    /// Prices all passes and the loads of the programs.
    fn expect(&self, machine: &Machine, batch: usize) -> PassEstimate {
        let followed = self.choose_prefetch(machine, batch);
        followed.map_or_else(
            || self.price_without_prefetch(machine, batch),
            |(_, expected)| expected,
        )
    }

    /// Prices the passes with every program loaded before its pass.
    fn price_without_prefetch(&self, machine: &Machine, batch: usize) -> PassEstimate {
        let batch = batch as u64;
        if let Some(ends) = &self.ends {
            let rows = (&self.division, &self.programs[1], &self.rings[1]);
            return ends.expect(rows, machine, batch);
        }
        let image = load(self.images().sum(), machine);
        let image = PassEstimate {
            cycles: image,
            least: image,
        };
        let [columns, rows] = self
            .division
            .passes(self.rings.clone(), batch, [0; 3], [0; 2]);
        let columns = columns
            .price_by_kernel(&self.programs[0], "columns")
            .expect(machine);
        let rows = rows
            .price_by_kernel(&self.programs[1], "rows")
            .expect(machine);
        columns.and(rows).and(image)
    }

    /// Returns the prefetched passes and their price, where prefetching the second kernel takes less time.
    fn choose_prefetch(
        &self,
        machine: &Machine,
        batch: usize,
    ) -> Option<(&PrefetchedPasses, PassEstimate)> {
        let followed = self.followed.as_ref()?;
        let passes =
            |rings, arrays, factors| self.division.passes(rings, batch as u64, arrays, factors);
        let expected = followed.expect(passes, machine)?;
        (expected.cycles < self.price_without_prefetch(machine, batch).cycles)
            .then_some((followed, expected))
    }
}

#[cfg(test)]
mod tests;
