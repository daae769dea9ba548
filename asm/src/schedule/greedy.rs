//! Greedy placement: arithmetic first, then loads and stores around it.

use super::placement::{Attempt, PlacementTimes};

/// Cycles that loads and stores may have to wait for the memory slot, where a value goes through memory.
const MEMORY_SLOT_WAIT_CYCLES: i64 = 4;

impl Attempt<'_> {
    /// Places arithmetic as early as possible, the longest path to the end first.
    ///
    /// With `written`, operations are placed in the order given instead, and with `evenly` spread over the
    /// interval. Loads are taken to arrive in time.
    pub(super) fn place_arithmetic(
        &mut self,
        sources: &[Vec<usize>],
        written: bool,
        evenly: bool,
    ) -> Option<()> {
        let ops = &self.body.ops;
        let mut height = vec![0; ops.len()];
        for op in (0..ops.len()).rev() {
            for &source in &sources[op] {
                height[source] = height[source].max(height[op] + self.latency(source));
            }
        }
        // A value that goes through memory arrives these cycles after its source.
        let mut late: Vec<Vec<(usize, i64)>> = vec![Vec::new(); ops.len()];
        for (store, load) in self.body.stored_and_loaded() {
            let readers = (0..ops.len()).filter(|&op| sources[op].contains(&load));
            for reader in readers {
                let lag = 1 + self.latency(load) + MEMORY_SLOT_WAIT_CYCLES;
                late[reader].extend(sources[store].iter().map(|&source| (source, lag)));
            }
        }
        let mut order: Vec<usize> = (0..ops.len())
            .filter(|&i| ops[i].access.is_none())
            .collect();
        if !written {
            order.sort_by_key(|&i| (-height[i], i));
        }
        let count = order.len().max(1) as i64;
        for (place, op) in (0..).zip(order) {
            let mut earliest = 0;
            if evenly {
                earliest = place * self.interval / count;
            }
            for &source in sources[op].iter().filter(|&&s| ops[s].access.is_none()) {
                earliest = earliest.max(self.at[source]? + self.latency(source));
            }
            for &(source, lag) in &late[op] {
                earliest = earliest.max(self.at[source]? + self.latency(source) + lag);
            }
            let times = PlacementTimes::forwards(earliest, earliest + self.interval - 1);
            self.at[op] = Some(self.place_within(op, times)?);
        }
        Some(())
    }

    /// Places arithmetic as soon as its phase and its operands allow, in the order of these earliest times.
    /// Loads are taken to arrive in time.
    pub(super) fn place_by_phase(&mut self, sources: &[Vec<usize>]) -> Option<()> {
        let ops = &self.body.ops;
        let arithmetic = |op: &usize| ops[*op].access.is_none();
        let mut earliest = vec![0; ops.len()];
        for op in (0..ops.len()).filter(|op| arithmetic(op)) {
            let begun = (ops[op].phase * self.interval as f64) as i64;
            let own = sources[op].iter().filter(|source| arithmetic(source));
            let ready = own.map(|&source| earliest[source] + self.latency(source));
            earliest[op] = ready.fold(begun, i64::max);
        }
        let mut order: Vec<usize> = (0..ops.len()).filter(arithmetic).collect();
        order.sort_by_key(|&op| (earliest[op], op));
        for op in order {
            let mut from = earliest[op];
            for &source in sources[op].iter().filter(|source| arithmetic(source)) {
                from = from.max(self.at[source]? + self.latency(source));
            }
            let times = PlacementTimes::forwards(from, from + self.interval - 1);
            self.at[op] = Some(self.place_within(op, times)?);
        }
        Some(())
    }

    /// Returns the latest time of each operation for the placed operations that read it.
    fn deadlines(&self, sources: &[Vec<usize>]) -> Vec<i64> {
        let mut deadline = vec![i64::MAX; sources.len()];
        for (at, sources) in self.at.iter().zip(sources) {
            if let Some(at) = at {
                for &source in sources {
                    deadline[source] = deadline[source].min(at - self.latency(source));
                }
            }
        }
        deadline
    }

    /// Places loads as late as possible, so that registers are not held for long.
    pub(super) fn place_loads(&mut self, sources: &[Vec<usize>]) -> Option<()> {
        let ops = &self.body.ops;
        let deadline = self.deadlines(sources);
        let mut order: Vec<usize> = (0..ops.len()).filter(|&i| ops[i].is_load()).collect();
        order.sort_by_key(|&i| (deadline[i], i));
        if self.body.in_order {
            // From the last deadline back, so that no load is pushed further than the loads behind it need.
            order.reverse();
        }
        let mut ends: Vec<Option<(i64, i64)>> = vec![None; self.body.pointers.len()];
        for op in order {
            let pointer = ops[op].access?.pointer;
            // A value that is only copied is loaded at time 0.
            let mut latest = if deadline[op] == i64::MAX {
                0
            } else {
                deadline[op]
            };
            let mut bound = i64::MIN;
            if let Some((first, last)) = ends[pointer].filter(|_| self.steps(pointer)) {
                latest = latest.min(first + self.interval - 1);
                bound = last - self.interval + 1;
            }
            let earliest = bound.max(latest - self.interval + 1);
            let t = self.place_within(op, PlacementTimes::backwards(earliest, latest))?;
            let (first, last) = ends[pointer].unwrap_or((t, t));
            ends[pointer] = Some((first.min(t), last.max(t)));
            self.at[op] = Some(t);
        }
        Some(())
    }

    /// Places loads and stores together in the order in which they are due.
    ///
    /// A load is due when its first reader is issued, a store `lag` cycles after its operand is ready. So
    /// none of them is pushed far from its arithmetic where no slot is left free. With `held`, the first
    /// stores through a pointer are delayed until the last one comes within an interval of them.
    pub(super) fn place_evenly(
        &mut self,
        sources: &[Vec<usize>],
        lag: i64,
        held: bool,
    ) -> Option<()> {
        let ops = &self.body.ops;
        // A value that is only copied is loaded at time 0. One that nothing reads is loaded last, near the others.
        let mut deadline = self.deadlines(sources);
        for &source in sources.iter().flatten() {
            if deadline[source] == i64::MAX {
                deadline[source] = 0;
            }
        }
        // A load that is not placed counts by its deadline: its readers are not ready before.
        let known = |op: usize| self.at[op].unwrap_or(deadline[op]);
        let ready = |op: usize| {
            let sources = sources[op].iter();
            let ends = sources.map(|&source| known(source).saturating_add(self.latency(source)));
            ends.max().unwrap_or(0)
        };
        let accesses = (0..ops.len()).filter(|&op| ops[op].access.is_some());
        let mut due: Vec<(i64, usize)> = accesses
            .map(|op| match ops[op].is_load() {
                true => (deadline[op], op),
                false => (ready(op).saturating_add(lag), op),
            })
            .collect();
        due.sort_unstable();
        let mut begin = vec![i64::MIN; self.body.pointers.len()];
        for &(time, op) in due.iter().filter(|&&(_, op)| held && !ops[op].is_load()) {
            let pointer = ops[op].access?.pointer;
            if self.steps(pointer) {
                begin[pointer] = begin[pointer].max(time - self.interval + 1);
            }
        }
        let mut ends: Vec<Option<(i64, i64)>> = vec![None; self.body.pointers.len()];
        for (time, op) in due {
            let pointer = ops[op].access?.pointer;
            let within = ends[pointer].filter(|_| self.steps(pointer));
            let (least, most) = match within {
                Some((first, last)) => (
                    last.saturating_sub(self.interval - 1),
                    first.saturating_add(self.interval - 1),
                ),
                None => (i64::MIN, i64::MAX),
            };
            let t = if ops[op].is_load() {
                let latest = if time.min(most) == i64::MAX {
                    0
                } else {
                    time.min(most)
                };
                let earliest = least.max(latest.saturating_sub(self.interval - 1));
                self.place_within(op, PlacementTimes::backwards(earliest, latest))?
            } else {
                let earliest = least.max(time.saturating_sub(lag)).max(begin[pointer]);
                let latest = most.min(earliest.saturating_add(self.interval - 1));
                self.place_within(op, PlacementTimes::forwards(earliest, latest))?
            };
            let (first, last) = ends[pointer].unwrap_or((t, t));
            ends[pointer] = Some((first.min(t), last.max(t)));
            self.at[op] = Some(t);
        }
        Some(())
    }

    /// Places stores as early as possible, all of a pointer within `window` of an interval.
    pub(super) fn place_stores(&mut self, sources: &[Vec<usize>], window: f64) -> Option<()> {
        let ops = &self.body.ops;
        let stores: Vec<usize> = (0..ops.len())
            .filter(|&i| ops[i].access.is_some() && !ops[i].is_load())
            .collect();
        // A store of a value that the loop does not compute is ready at once.
        let mut ready = vec![0; ops.len()];
        let mut latest = vec![0; self.body.pointers.len()];
        for &op in &stores {
            for &source in &sources[op] {
                ready[op] = ready[op].max(self.at[source]? + self.latency(source));
            }
            let pointer = ops[op].access?.pointer;
            if let Some(behind) = self.first_store_cycle(pointer) {
                ready[op] = ready[op].max(behind);
            }
            latest[pointer] = latest[pointer].max(ready[op]);
        }
        let reach = ((self.interval - 1) as f64 * window) as i64;
        let mut order = stores;
        order.sort_by_key(|&i| (ready[i], i));
        for op in order {
            let earliest = ready[op].max(latest[ops[op].access?.pointer] - reach);
            let times = PlacementTimes::forwards(earliest, earliest + self.interval - 1);
            self.at[op] = Some(self.place_within(op, times)?);
        }
        Some(())
    }
}
