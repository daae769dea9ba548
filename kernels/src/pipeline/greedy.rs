//! Placing arithmetic first, then loads and stores around it.

use super::schedule::Attempt;

impl Attempt<'_> {
    /// As early as possible, longest path to the end first, or in the order given;
    /// loads are taken to be there.
    pub(super) fn place_arithmetic(&mut self, sources: &[Vec<usize>], written: bool) -> Option<()> {
        let ops = &self.body.ops;
        let mut height = vec![0; ops.len()];
        for op in (0..ops.len()).rev() {
            for &source in &sources[op] {
                height[source] = height[source].max(height[op] + self.latency(source));
            }
        }
        let mut order: Vec<usize> = (0..ops.len())
            .filter(|&i| ops[i].access.is_none())
            .collect();
        if !self.body.in_order && !written {
            order.sort_by_key(|&i| (-height[i], i));
        }
        let count = order.len().max(1) as i64;
        for (place, op) in (0..).zip(order) {
            let mut earliest = 0;
            if self.body.in_order {
                earliest = place * self.interval / count;
            }
            for &source in sources[op].iter().filter(|&&s| ops[s].access.is_none()) {
                earliest = earliest.max(self.at[source]? + self.latency(source));
            }
            self.at[op] = Some(self.arithmetic_in(op, earliest..earliest + self.interval)?);
        }
        Some(())
    }

    /// As late as possible, so that registers are not held for long.
    pub(super) fn place_loads(&mut self, sources: &[Vec<usize>]) -> Option<()> {
        let ops = &self.body.ops;
        let mut deadline = vec![i64::MAX; ops.len()];
        for (at, sources) in self.at.iter().zip(sources) {
            if let Some(at) = at {
                for &source in sources {
                    deadline[source] = deadline[source].min(at - self.latency(source));
                }
            }
        }
        let mut order: Vec<usize> = (0..ops.len()).filter(|&i| ops[i].is_load()).collect();
        order.sort_by_key(|&i| (deadline[i], i));
        if self.body.in_order {
            // None is then pushed further than those behind it need.
            order.reverse();
        }
        let mut ends: Vec<Option<(i64, i64)>> = vec![None; self.body.pointers.len()];
        for op in order {
            let pointer = ops[op].access?.pointer;
            // What is only copied is loaded at once.
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
            let t = self.memory_in((earliest..=latest).rev())?;
            let (first, last) = ends[pointer].unwrap_or((t, t));
            ends[pointer] = Some((first.min(t), last.max(t)));
            self.at[op] = Some(t);
        }
        Some(())
    }

    /// As early as possible, all of a pointer within `window` of an interval.
    pub(super) fn place_stores(&mut self, sources: &[Vec<usize>], window: f64) -> Option<()> {
        let ops = &self.body.ops;
        let stores: Vec<usize> = (0..ops.len())
            .filter(|&i| ops[i].access.is_some() && !ops[i].is_load())
            .collect();
        // A store of what the loop does not compute is ready at once.
        let mut ready = vec![0; ops.len()];
        let mut latest = vec![0; self.body.pointers.len()];
        for &op in &stores {
            for &source in &sources[op] {
                ready[op] = ready[op].max(self.at[source]? + self.latency(source));
            }
            let pointer = ops[op].access?.pointer;
            if let Some(behind) = self.behind(pointer) {
                ready[op] = ready[op].max(behind);
            }
            latest[pointer] = latest[pointer].max(ready[op]);
        }
        let reach = ((self.interval - 1) as f64 * window) as i64;
        let mut order = stores;
        order.sort_by_key(|&i| (ready[i], i));
        for op in order {
            let earliest = ready[op].max(latest[ops[op].access?.pointer] - reach);
            self.at[op] = Some(self.memory_in(earliest..earliest + self.interval)?);
        }
        Some(())
    }
}
