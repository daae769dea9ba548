//! Schedules linear blocks, or finds their schedules among those that are known.

use super::composer::Composer;
use crate::diag::{Fail, Problem};
use crate::linear::{BlockCount, BoundTerm, KeptValues, LoweredBlock, PlacementHint, lower};
use crate::schedule::{
    Dataflow, Iterations, KeptSchedule, ModuloSchedule, RefusedInterval, ScheduleRequest,
    Unschedulable,
};
use std::hash::Hash;
use std::sync::Arc;

/// A schedule with the dataflow that it is of.
pub(super) struct ScheduledBlock {
    pub(super) lowered: LoweredBlock,
    pub(super) schedule: ModuloSchedule,
    /// The least interval, in cycles.
    pub(super) bound: u32,
    pub(super) terms: Vec<BoundTerm>,
    pub(super) refused: Vec<RefusedInterval>,
}

impl Composer<'_> {
    /// Schedules the block as a loop whose iterations overlap.
    pub(super) fn schedule(&self, iterations: Iterations) -> Result<ScheduledBlock, Fail> {
        let mut lowered = self.lower(KeptValues::Copies)?;
        // The search begins at the interval that the block asks for.
        let least = lowered.dataflow.least_interval(self.machine);
        let asked = self.block.least_interval.saturating_sub(least);
        lowered.dataflow.spare = asked.max(self.block.spare) as usize;
        lowered.dataflow.turns = self.block.turns;
        let free = lowered.free_registers();
        let dataflow = &lowered.dataflow;
        // A count that is not known has to fit the number of copies.
        let counted = iterations == Iterations::Unknown;
        let hinted = self.block.hint != PlacementHint::Free;
        if hinted && !counted {
            // This search does not depend on the number of iterations.
            let kept = self.search(dataflow, &free, || {
                (dataflow.schedule_or_stretch(self.machine, free), None)
            });
            if kept.0.is_ok() {
                return self.take_schedule(lowered, &kept);
            }
        }
        let find = |iterations: Iterations| {
            let request = ScheduleRequest::new(free, iterations);
            self.search(dataflow, &(request, true), || {
                if counted || !hinted {
                    let (found, report) = dataflow.schedule_best(self.machine, &request);
                    if found.is_ok() || !hinted {
                        return (found, Some(report));
                    }
                }
                // The order of the text may be none that loads and stores can keep.
                let (found, report) = dataflow
                    .without_order()
                    .schedule_best(self.machine, &request);
                (found, Some(report))
            })
        };
        let kept = match iterations {
            Iterations::Unknown => find(iterations),
            Iterations::Known(count) => {
                // Few iterations leave room for few copies only; the schedule of many often needs no more, and is
                // known.
                let many = find(Iterations::Known(u64::MAX));
                match &many.0 {
                    Ok(schedule) if u64::from(schedule.copies()) <= count.max(1) => many,
                    _ => find(iterations),
                }
            }
        };
        self.take_schedule(lowered, &kept)
    }

    /// Schedules the only iteration of a block. A loop's schedule is short for many iterations, a line's for this one.
    pub(super) fn schedule_once(&self) -> Result<ScheduledBlock, Fail> {
        let mut lowered = self.lower(KeptValues::Copies)?;
        lowered.dataflow.hold_pointers();
        let line = self.schedule_line(lowered);
        match self.block.count {
            // A loop may do with fewer registers.
            BlockCount::Known(_) if line.is_err() => self.schedule(Iterations::Known(1)),
            _ => line,
        }
    }

    /// Schedules each iteration as a straight line.
    pub(super) fn schedule_straight(&self, kept: KeptValues) -> Result<ScheduledBlock, Fail> {
        self.schedule_line(self.lower(kept)?)
    }

    fn schedule_line(&self, lowered: LoweredBlock) -> Result<ScheduledBlock, Fail> {
        let free = lowered.free_registers();
        let request = ScheduleRequest::new(free, Iterations::Known(1));
        let kept = self.search(&lowered.dataflow, &(request, false), || {
            let (found, report) = lowered.dataflow.schedule_straight(self.machine, free);
            (found, Some(report))
        });
        self.take_schedule(lowered, &kept)
    }

    /// Returns the result of a search, which may be known for a dataflow of the same shape.
    fn search(
        &self,
        dataflow: &Dataflow,
        request: &impl Hash,
        search: impl FnOnce() -> KeptSchedule,
    ) -> Arc<KeptSchedule> {
        match self.schedules {
            Some(schedules) => schedules.find_or_search(dataflow, self.machine, request, search),
            None => Arc::new(search()),
        }
    }

    /// Joins what a search found with what it reports.
    fn take_schedule(
        &self,
        lowered: LoweredBlock,
        (found, report): &KeptSchedule,
    ) -> Result<ScheduledBlock, Fail> {
        let known = found.as_ref().map_err(|&refusal| self.refuse(refusal))?;
        let schedule = known.for_body(&lowered.dataflow);
        let place_of = |operation: usize| {
            let index = lowered.origins.get(operation).copied().flatten()?;
            let own = self.block.operations.get(index)?;
            Some((own.at.file, own.at.line))
        };
        let (bound, terms, refused) = match report {
            Some(report) => (
                report.bound.cycles,
                BoundTerm::list(report, place_of),
                report.refused.clone(),
            ),
            None => (
                lowered.dataflow.least_interval(self.machine),
                BoundTerm::list_slots(&lowered.dataflow, self.machine),
                Vec::new(),
            ),
        };
        Ok(ScheduledBlock {
            schedule,
            bound,
            terms,
            refused,
            lowered,
        })
    }

    fn lower(&self, kept: KeptValues) -> Result<LoweredBlock, Fail> {
        lower(self.block, self.rows, (self.free, &self.held), kept).map_err(|lack| self.lack(lack))
    }

    /// Makes the error of a block without a schedule.
    fn refuse(&self, refusal: Unschedulable) -> Fail {
        let name = self.block.name.to_string();
        Fail::new(Problem::Unschedulable { name, refusal }, self.block.at)
    }
}
