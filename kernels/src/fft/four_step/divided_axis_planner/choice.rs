//! Chooses the options of both passes, and whether to prefetch the second.

use super::{DividedAxis, DividedAxisPasses, PassOption};
use crate::assembly::moves;
use crate::fft::error::FftError;
use crate::fft::four_step::program_prefetch;
use crate::fft::program::large_program_at;
use crate::job::{image, load};
use cp2_asm::Program;
use cp2_host::paging::{PassEstimate, RingPass};
use cp2_machine::Machine;
use std::mem;
use std::sync::Arc;

/// Number of the fastest plans without prefetch that are also priced with the second program prefetched. It
/// bounds the time of planning.
const MOST_PREFETCH_PRICED: usize = 6;

/// Chosen options of the two passes, and their price.
pub(super) struct DividedAxisPlan<'a> {
    pub visits: [&'a PassOption; 2],
    /// DMEM address of the second pass's tables, if its program is prefetched while the first runs.
    pub behind: Option<u64>,
    pub expected: PassEstimate,
}

impl DividedAxisPasses {
    /// Drops the options whose transfers the machine's DMA refuses; none if no others are left.
    pub(super) fn keep_transferable(mut self, machine: &Machine) -> Option<Self> {
        let (first, second) = (mem::take(&mut self.first), mem::take(&mut self.second));
        let moved = |pass: RingPass| moves(&self.recipe(), &pass, machine).is_ok();
        let first: Vec<PassOption> = first
            .into_iter()
            .filter(|visit| moved(self.first_pass(visit, 1, [0; 3])))
            .collect();
        let tile = self.tile(first.first()?);
        let second: Vec<PassOption> = second
            .into_iter()
            .filter(|visit| moved(self.second_pass(visit, tile, 1, [0; 3])))
            .collect();
        (self.first, self.second) = (first, second);
        (!self.second.is_empty()).then_some(self)
    }

    /// Returns the fastest options of the passes.
    pub(super) fn fastest(&self, machine: &Machine, batch: u64) -> Option<DividedAxisPlan<'_>> {
        let price = |visit: &PassOption, pass: RingPass| {
            let image = load(image(&visit.program), machine);
            let once = pass.expect(machine).and(PassEstimate {
                cycles: image,
                least: image,
            });
            let times = self.times(visit) as f64;
            PassEstimate {
                cycles: times * once.cycles,
                least: times * once.least,
            }
        };
        let mut plans = Vec::new();
        // Prices of the second passes for each width of tiles.
        let mut after: Vec<(u64, Vec<PassEstimate>)> = Vec::new();
        for first in &self.first {
            let tile = self.tile(first);
            if !after.iter().any(|(of, _)| *of == tile) {
                let seconds = self.second.iter();
                let priced =
                    seconds.map(|visit| price(visit, self.second_pass(visit, tile, batch, [0; 3])));
                after.push((tile, priced.collect()));
            }
            let own = price(first, self.first_pass(first, batch, [0; 3]));
            let seconds = after.iter().find(|(of, _)| *of == tile);
            let seconds = seconds.into_iter().flat_map(|(_, priced)| priced);
            plans.extend(
                seconds
                    .zip(&self.second)
                    .map(|(rest, second)| DividedAxisPlan {
                        visits: [first, second],
                        behind: None,
                        expected: own.and(*rest),
                    }),
            );
        }
        let by_time = |a: &DividedAxisPlan<'_>, b: &DividedAxisPlan<'_>| {
            a.expected.cycles.total_cmp(&b.expected.cycles)
        };
        plans.sort_by(by_time);
        plans.truncate(MOST_PREFETCH_PRICED);
        let followed = plans
            .iter()
            .filter_map(|plan| self.price_prefetch(machine, plan.visits, batch));
        let followed: Vec<DividedAxisPlan<'_>> = followed.collect();
        followed.into_iter().chain(plans).min_by(by_time)
    }

    /// Prices both passes with the second program prefetched while the first runs; none where DMEM has no
    /// room for both.
    fn price_prefetch<'a>(
        &self,
        machine: &Machine,
        visits: [&'a PassOption; 2],
        batch: u64,
    ) -> Option<DividedAxisPlan<'a>> {
        // Addresses for pricing: the passes share only the intermediate array.
        let (arrays, factors) = ([0, 1 << 40, 1 << 41], [1 << 42; 2]);
        let passes = |behind| self.passes(visits, behind, batch, arrays, factors);
        let [first, second] = visits.map(|visit| &visit.program);
        let [one, other] = self.entries();
        let programs = [(first, one), (second, other)];
        let (tables, expected) = program_prefetch::price_prefetch(passes, programs, machine)?;
        Some(DividedAxisPlan {
            visits,
            behind: Some(tables),
            expected,
        })
    }

    /// Describes both passes over arrays at `from`, with the intermediate array at `between`, results at
    /// `to`, and the factors of each pass; the buffers of the second are `behind` bytes further in DMEM.
    pub(super) fn passes(
        &self,
        [first, second]: [&PassOption; 2],
        behind: u64,
        batch: u64,
        [from, between, to]: [u64; 3],
        factors: [u64; 2],
    ) -> [RingPass; 2] {
        let second = PassOption {
            ring: second.ring.clone().shift_addresses(behind),
            ..second.clone()
        };
        let addresses = [between, to, factors[1]];
        [
            self.first_pass(first, batch, [from, between, factors[0]]),
            self.second_pass(&second, self.tile(first), batch, addresses),
        ]
    }

    /// Links the programs of both passes for prefetch. Returns also the first word of the second program and
    /// the DMEM address of its tables.
    pub(super) fn link_programs(
        &self,
        [first, second]: [&PassOption; 2],
        tables: u64,
        machine: &Machine,
    ) -> Result<(Arc<Program>, [u64; 2]), FftError> {
        let (lines, direction) = (&second.lines, self.direction);
        let other = match self.divided {
            DividedAxis::Columns(_) => {
                large_program_at(tables, Some(lines), None, true, direction, machine)
            }
            DividedAxis::Rows(..) => {
                large_program_at(tables, None, Some(lines), false, direction, machine)
            }
        }?;
        program_prefetch::link_programs(&first.program, &other.program, tables)
    }

    /// Returns a lower bound in cycles over all options, with all words of their kernels, and without the
    /// load of the second program.
    pub(in crate::fft::four_step) fn floor(&self, machine: &Machine, batch: u64) -> f64 {
        let firsts = self.first.iter().map(|first| {
            let pass = self.first_pass(first, batch, [0; 3]);
            let (before, tile) = (pass.floor(machine, false), self.tile(first));
            let both = self.second.iter().map(|second| {
                let next = self.second_pass(second, tile, batch, [0; 3]);
                let next = next.floor(machine, true);
                let others = (self.times(second) - 1) as f64 * next.cycles();
                // The second pass over several arrays can load the first before the first pass stores the
                // last.
                others
                    + match batch {
                        1 => before.cycles() + next.cycles(),
                        _ => before.overlapped(next).cycles(),
                    }
            });
            load(image(&first.program), machine) + both.fold(f64::INFINITY, f64::min)
        });
        firsts.fold(f64::INFINITY, f64::min)
    }
}
