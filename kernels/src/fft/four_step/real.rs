//! A transform of real numbers larger than DMEM, in two passes over system memory, there or back.

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

/// Bits of the lengths: of shorter ones columns or rows have no kernel, lines of longer ones do not fit.
const BITS: std::ops::RangeInclusive<u32> = 10..=21;
/// Batches for which divisions are looked for: small pages suit a transform alone, large ones many.
const BATCHES: [u64; 3] = [1, 4, 32];
/// How many of the divisions with the fastest passes are compared with the load of their programs.
const PLACED: usize = 6;
/// How many more of those that have room for both kernels.
const ROOMY: usize = 2;

/// Transforms of N real numbers: columns two at a time, then rows 0 to N1/2; or back, columns 0 to N2/2 of
/// half a spectrum, then rows that are couples of real columns.
#[derive(Debug)]
pub(in crate::fft) struct FourStepReal {
    machine: Arc<Machine>,
    /// By the batch that each suits, the smallest first.
    plans: Vec<FourStepRealPlan>,
}

/// A division that has been placed.
#[derive(Debug)]
struct FourStepRealPlan {
    /// The batch that it was looked for.
    batch: u64,
    division: FourStepRealRecipe,
    programs: [Arc<Program>; 2],
    rings: [Ring; 2],
    /// The last columns where they are a pass of their own.
    ends: Option<LastColumns>,
    /// Both passes with the second kernel loaded while the first runs, where there is room.
    followed: Option<PrefetchedPasses>,
}

impl FourStepReal {
    /// Whether there may be a plan for a length: a power of two.
    pub(in crate::fft) fn supports_length(n: usize) -> bool {
        n.is_power_of_two() && BITS.contains(&n.ilog2())
    }

    /// The transform of `n` real numbers.
    ///
    /// # Errors
    /// No division into pages fits the machine.
    pub(in crate::fft) fn new(
        n: usize,
        direction: TransformDirection,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let mut plans: Vec<FourStepRealPlan> = Vec::new();
        for batch in BATCHES {
            let mut unfit = None;
            let mut best: Option<FourStepRealPlan> = None;
            let mut placed = 0;
            for division in FourStepRealRecipe::all(n, direction, &machine, batch) {
                // Then only those that have room for both kernels, which count for a transform alone.
                let roomy = placed >= PLACED;
                if roomy && (batch > 1 || placed >= PLACED + ROOMY) {
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

    /// The plan that takes the least time for `batch` transforms.
    fn plan(&self, batch: usize) -> &FourStepRealPlan {
        let of = |plan: &&FourStepRealPlan| plan.estimate(&self.machine, batch);
        let best = self.plans.iter().min_by_key(of);
        // There is one at least.
        best.unwrap_or(&self.plans[0])
    }

    pub(in crate::fft) fn len(&self) -> usize {
        self.plans[0].division.n() as usize
    }

    /// What the planner has decided for a transform alone and, where that is another, for many.
    pub(in crate::fft) fn recipe(&self) -> String {
        let many = self.plans[1..].iter();
        let many =
            many.map(|plan| format!("; for batches of {}: {}", plan.batch, plan.division.pages()));
        self.plans[0].division.to_string() + &many.collect::<String>()
    }

    /// What it takes for a batch.
    pub(in crate::fft) fn recipe_for(&self, batch: usize) -> String {
        self.plan(batch).division.to_string()
    }

    pub(in crate::fft) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// The program of the columns, or of both passes.
    pub(in crate::fft) fn program(&self, batch: usize) -> &Arc<Program> {
        let plan = self.plan(batch);
        let followed = plan.choose_prefetch(&self.machine, batch);
        followed.map_or(&plan.programs[0], |(followed, _)| &followed.both)
    }

    pub(in crate::fft) fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Input, what is between the passes, and output.
    pub(in crate::fft) fn max_batch(&self) -> usize {
        let room = |plan: &FourStepRealPlan| plan.max_batch(&self.machine);
        self.plans.iter().map(room).min().unwrap_or(0)
    }

    pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        self.plan(batch).division.operations(batch)
    }

    /// Numbers from a half spectrum to the next.
    pub(in crate::fft) fn pitch(&self, batch: usize) -> usize {
        self.plan(batch).division.pitch() as usize
    }

    /// Adds both passes over a batch from address to address.
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

    /// The least that the pages can take: what both passes compute, products, separation and conjugates among it, or
    /// move, factors and runs among it, with the first load and the last store of either.
    pub(in crate::fft) fn recipe_floor(&self, batch: usize) -> (f64, &'static str) {
        let expected = self.plan(batch).expect(&self.machine, batch);
        (expected.least, RECIPE_FLOOR)
    }
}

impl FourStepRealPlan {
    /// Bytes of the programs in the order in which they are loaded.
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

    /// What all passes and the load of the programs should take, and can at least.
    fn expect(&self, machine: &Machine, batch: usize) -> PassEstimate {
        let followed = self.choose_prefetch(machine, batch);
        followed.map_or_else(
            || self.price_without_prefetch(machine, batch),
            |(_, expected)| expected,
        )
    }

    /// The same with all programs loaded before their passes.
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

    /// The same with the second kernel loaded while the first runs, where that takes less.
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
