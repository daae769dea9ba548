//! Operations on pairs, two in a vector where that is legal and pays.

use super::arithmetic_rows::OperandPacking;
use super::build::SegmentBuilder;
use super::ir::VectorHalves;
use super::segment_steps::{Arith, PairValue, REGISTERS};
use super::vector_sharing::AHEAD;
use super::vectors::PairOperand;

/// Placement of a second operation in one vector with a first.
struct PairPlacement {
    /// Number of shuffles that packing the operands takes.
    cost: usize,
    step: usize,
    /// True if the first operation takes the upper half.
    swapped: bool,
}

impl SegmentBuilder {
    fn ready(&self, arith: &Arith) -> bool {
        let known = |v: &PairValue| (*v as usize) < REGISTERS || self.values[*v as usize].is_some();
        arith.ins.iter().all(|v| known(&v[0]))
    }

    /// Makes an operation wait if its partner cannot be built yet; returns true if it waits.
    pub(super) fn may_wait(&mut self, i: usize) -> bool {
        let Some(j) = self.partners.get(i).copied().flatten() else {
            return false;
        };
        if self.done[i] || self.done[j] || self.waiting.contains(&j) || self.are_both_ready(i, j) {
            return false;
        }
        self.waiting.push(i);
        true
    }

    fn are_both_ready(&self, i: usize, j: usize) -> bool {
        [i, j]
            .iter()
            .all(|i| self.ops[*i].as_ref().is_none_or(|op| self.ready(op)))
    }

    /// Builds the waiting operations that can be built now.
    pub(super) fn meet(&mut self) {
        loop {
            let found = self.waiting.iter().position(|i| {
                let partner = self.partners[*i];
                self.done[*i] || partner.is_none_or(|j| self.done[j] || self.are_both_ready(*i, j))
            });
            let Some(found) = found else { return };
            let i = self.waiting.remove(found);
            self.operation(i);
        }
    }

    /// Counts the shuffles that packing the operands takes.
    fn cost(&mut self, row: OperandPacking, first: &Arith, second: &Arith) -> usize {
        let both = first.ins.iter().zip(&second.ins);
        let factors = row
            .factor()
            .map(|i| usize::from(first.ins[i] != second.ins[i]));
        let moves = both.take(row.shared_operand_count()).filter(|(a, b)| {
            let (lo, hi) = (self.place(a[0]), self.place(b[0]));
            !(lo.0 == hi.0 && !lo.1 && hi.1)
        });
        moves.count() + factors.unwrap_or(0)
    }

    /// Returns the vector and half of a value. A register that has not been used yet gets a
    /// negative vector number, so that no load is listed for it.
    fn place(&self, value: PairValue) -> (i64, bool) {
        match self.values[value as usize] {
            Some(half) => (i64::from(half.v), half.hi),
            None => (-1 - i64::from(value / 2), value % 2 == 1),
        }
    }

    /// Returns the placement of step `j`'s operation with this one; `None` if they cannot share a
    /// vector.
    fn find_pairing(&mut self, arith: &Arith, j: usize) -> Option<PairPlacement> {
        let ops = self.ops.clone();
        let other = ops[j].as_ref()?;
        (!self.done[j] && arith.is_pairable_with(other) && self.ready(other)).then(|| {
            let (up, down) = (
                self.cost(arith.row, arith, other),
                self.cost(arith.row, other, arith),
            );
            PairPlacement {
                cost: up.min(down),
                step: j,
                swapped: down < up,
            }
        })
    }

    /// Finds the step whose operation is cheapest to pair with: the partner, or else one without a
    /// partner.
    fn partner(&mut self, i: usize, arith: &Arith) -> Option<PairPlacement> {
        let reserved = self.partners.get(i).copied().flatten();
        if let Some(found) = reserved.and_then(|j| self.find_pairing(arith, j)) {
            return Some(found);
        }
        let mut best: Option<PairPlacement> = None;
        for j in (i + 1..self.ops.len()).take(AHEAD) {
            let free = self.partners.get(j).is_none_or(Option::is_none);
            let Some(found) = Some(j)
                .filter(|_| free)
                .and_then(|j| self.find_pairing(arith, j))
            else {
                continue;
            };
            let cost = found.cost;
            if best.as_ref().is_none_or(|best| cost < best.cost) {
                best = Some(found);
            }
            if cost == 0 {
                break;
            }
        }
        best.filter(|best| best.cost < arith.row.price().max(1))
    }

    /// Builds an operation on pairs, with another one if possible.
    pub(super) fn pair(&mut self, i: usize, arith: &Arith) {
        let ops = self.ops.clone();
        // Its operands may themselves be waiting for partners.
        for values in &arith.ins {
            self.build_value(values[0]);
        }
        let partner = self.partner(i, arith);
        match partner.and_then(|found| Some((ops[found.step].as_ref()?, found))) {
            Some((other, found)) => {
                self.done[found.step] = true;
                let (lower, upper) = if found.swapped {
                    (other, arith)
                } else {
                    (arith, other)
                };
                self.two(lower, upper);
            }
            None => self.build_single(arith),
        }
    }

    fn two(&mut self, lower: &Arith, upper: &Arith) {
        let observes = lower.row.observes();
        let operands: Vec<PairOperand> = lower
            .ins
            .iter()
            .zip(&upper.ins)
            .map(|(a, b)| {
                self.note(a[0], observes);
                self.note(b[0], observes);
                let lo = self.half(a[0]);
                PairOperand::Two(lo, self.half(b[0]))
            })
            .collect();
        let results = lower.row.emit(&mut self.s, &lower.inst, &operands);
        let outs = lower.outs.iter().zip(&upper.outs);
        for ((a, b), v) in outs.zip(results.into_iter().flatten()) {
            self.set_value(a[0], v, false);
            self.set_value(b[0], v, true);
        }
    }

    /// Builds an operation by itself, in the half that holds more of its operands.
    fn build_single(&mut self, arith: &Arith) {
        let observes = arith.row.observes();
        let halves: Vec<VectorHalves> = arith
            .ins
            .iter()
            .map(|v| {
                self.note(v[0], observes);
                self.half(v[0])
            })
            .collect();
        let upper = 2 * halves.iter().filter(|h| h.hi).count() > halves.len();
        let operands: Vec<PairOperand> = halves
            .into_iter()
            .map(|h| PairOperand::One(h, upper))
            .collect();
        let results = arith.row.emit(&mut self.s, &arith.inst, &operands);
        for (outs, v) in arith.outs.iter().zip(results.into_iter().flatten()) {
            self.set_value(outs[0], v, upper);
        }
    }
}
