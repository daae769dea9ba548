//! A row's dataflow: shifts, ends of the row, and results.

use super::dataflow_inputs::DataflowBuilder;
use super::row_dataflow::{Classes, KeepMasks, NeighbourSide, PARTS, PointerWalkKind, QUAD};
use cp2_asm::schedule::DataOperand;
use cp2_problems::stencil::Edge;

impl DataflowBuilder<'_> {
    /// Returns the values one lane to the west of quad `k`, x(i-1), where `of` makes the quads.
    pub(super) fn west(
        &mut self,
        of: &mut dyn FnMut(&mut Self, i64) -> DataOperand,
        k: i64,
    ) -> DataOperand {
        let own = of(self, k);
        if k > 0 || !self.row.whole {
            let before = of(self, k - 1);
            return self.shift(before, own, 3);
        }
        let (quad, lane) = self.row.last();
        match self.row.edge {
            Edge::Zero | Edge::Fixed => {
                let zero = self.constant([0; 4]);
                self.shift(zero, own, 3)
            }
            Edge::Mirrored => self.lanes(own, [0, 0, 1, 2]),
            Edge::Periodic => {
                let last = of(self, quad);
                let last = match lane {
                    3 => last,
                    _ => self.lanes(last, [lane; 4]),
                };
                self.shift(last, own, 3)
            }
        }
    }

    /// Returns the values one lane to the east of quad `k`, x(i+1), where `of` makes the quads.
    pub(super) fn east(
        &mut self,
        of: &mut dyn FnMut(&mut Self, i64) -> DataOperand,
        k: i64,
    ) -> DataOperand {
        let own = of(self, k);
        let (quad, lane) = self.row.last();
        if k < quad || !self.row.whole {
            let next = of(self, k + 1);
            return self.shift(own, next, 1);
        }
        let from = |first: usize| [0, 1, 2, 3].map(|i| if i >= first { u32::MAX } else { 0 });
        match self.row.edge {
            Edge::Zero | Edge::Fixed => {
                let zero = self.constant([0; 4]);
                let filled = match lane {
                    3 => own,
                    _ => {
                        let beyond = self.constant(from(lane + 1));
                        self.q("sel", &[zero, own, beyond])
                    }
                };
                self.shift(filled, zero, 1)
            }
            Edge::Mirrored => self.lanes(own, [1, 2, 3, 4].map(|next: usize| next.min(lane))),
            Edge::Periodic => {
                let first = of(self, 0);
                if lane == 3 {
                    return self.shift(own, first, 1);
                }
                let first = self.lanes(first, [0; 4]);
                let next = self.lanes(own, [1, 2, 3, 3]);
                let beyond = self.constant(from(lane));
                self.q("sel", &[first, next, beyond])
            }
        }
    }

    /// Returns the values one lane to the west (-1) or to the east (1) of quad `k`.
    fn beside(
        &mut self,
        (side, classes): (NeighbourSide, &Classes),
        k: i64,
        lane: i64,
    ) -> DataOperand {
        if let Some(loaded) = self.load_beside((side, classes), k, lane) {
            return loaded;
        }
        let mut of = |maker: &mut Self, k: i64| maker.weigh(side, classes, k);
        match lane {
            -1 => self.west(&mut of, k),
            _ => self.east(&mut of, k),
        }
    }

    /// Returns these values by a load at a word address, if they lie in memory and the variant has such loads.
    fn load_beside(
        &mut self,
        (side, classes): (NeighbourSide, &Classes),
        k: i64,
        lane: i64,
    ) -> Option<DataOperand> {
        let inside = match lane {
            -1 => k > 0,
            _ => k < self.row.last().0,
        };
        let shifted = lane < 0 && k.checked_rem(self.made.way.shifted) == Some(0);
        if !self.made.way.words || shifted || self.row.whole && !inside {
            return None;
        }
        match &classes[..] {
            [(_, rows)] => match rows[..] {
                [row] => Some(self.load_words(row, k, lane)),
                _ => None,
            },
            _ => {
                let stored = side == NeighbourSide::Both && self.made.way.through.is_some();
                stored.then(|| self.load_sum_words((side, classes), k, lane))
            }
        }
    }

    /// Returns the sum of the neighbours along the row.
    pub(super) fn sum_row_neighbours(
        &mut self,
        side: NeighbourSide,
        classes: &Classes,
        k: i64,
    ) -> DataOperand {
        match (side, &classes[..]) {
            (NeighbourSide::West, _) => return self.beside((side, classes), k, -1),
            (NeighbourSide::East, _) => return self.beside((side, classes), k, 1),
            (NeighbourSide::Both, _) if self.made.way.words => {}
            (NeighbourSide::Both, [(_, rows)]) => {
                let inside = k > 0 && k < self.row.last().0;
                if let ([row], true) = (&rows[..], inside || !self.row.whole) {
                    // T(i-1) = x(i-1) + x(i+1)
                    let [before, own] = [k - 1, k].map(|k| self.double(*row, k));
                    return self.shift(before, own, 3);
                }
            }
            (NeighbourSide::Both, _) => {
                let inside = k > 0 && k < self.row.last().0;
                if self.made.way.through.is_some() && (inside || !self.row.whole) {
                    // T(i-1) = s(i-1) + s(i+1)
                    let [before, own] = [k - 1, k].map(|k| self.double_sum(side, classes, k));
                    return self.shift(before, own, 3);
                }
            }
        }
        let both = [-1, 1].map(|lane| self.beside((side, classes), k, lane));
        self.q("add", &both)
    }

    /// Returns a quad of the result where coefficients are the same for all elements: the sum of coefficient
    /// times sum of points.
    pub(super) fn common(&mut self, k: i64) -> DataOperand {
        let mut terms: Vec<(Option<f32>, DataOperand)> = Vec::new();
        for (weight, rows) in self.row.classes(1) {
            let sum = self.sum(&rows, k);
            terms.push((Some(weight), sum));
        }
        for (side, classes) in self.row.sides() {
            let sum = self.sum_row_neighbours(side, &classes, k);
            let weight = match &classes[..] {
                [(weight, _)] => Some(*weight),
                _ => None,
            };
            match terms.iter().position(|(own, _)| *own == weight) {
                Some(at) => terms[at].1 = self.q("add", &[terms[at].1, sum]),
                None => terms.push((weight, sum)),
            }
        }
        for (weight, _) in &mut terms {
            // A coefficient of 1 needs no product.
            weight.take_if(|weight| *weight == 1.0);
        }
        // Terms without a product come first: the products of the others are added to them.
        terms.sort_by_key(|(weight, _)| weight.is_some());
        let mut all = None;
        for (weight, sum) in terms {
            let weight = weight.map(|weight| self.number(weight));
            all = Some(match (all, weight) {
                (None, None) => sum,
                (None, Some(weight)) => self.q("mul", &[sum, weight]),
                (Some(before), Some(weight)) => self.q("madd", &[sum, weight, before]),
                (Some(before), None) => self.q("add", &[sum, before]),
            });
        }
        match all {
            Some(all) => all,
            // All coefficients are 0.
            None => self.constant([0; 4]),
        }
    }

    /// Returns a quad of the result where every element has its own coefficients, in partial sums that do not
    /// wait for each other.
    pub(super) fn sum_own_coefficients(&mut self, k: i64) -> DataOperand {
        let mut parts: Vec<DataOperand> = Vec::new();
        for (p, point) in self.row.stencil.points().iter().enumerate() {
            let [z, y, x] = point.offset;
            let mut of = |maker: &mut Self, k: i64| maker.load((z, y), k);
            let value = match x {
                0 => of(self, k),
                1 => self.east(&mut of, k),
                _ => self.west(&mut of, k),
            };
            let weight = DataOperand::Whole(self.made.body.quad());
            let own = self.pointer(PointerWalkKind::Own);
            let at = p as i64 * self.pitch[1] + QUAD * k;
            self.made.body.load(weight, own, at);
            match parts.get(p % PARTS).copied() {
                None => parts.push(self.q("mul", &[value, weight])),
                Some(before) => parts[p % PARTS] = self.q("madd", &[value, weight, before]),
            }
        }
        self.tree(parts)
    }

    /// Returns the mask of a row whose elements all keep their values, if edges are fixed.
    pub(super) fn outermost(&mut self) -> Option<DataOperand> {
        if self.row.edge != Edge::Fixed {
            return None;
        }
        let kept = KeepMasks::ALL;
        self.made.kept = Some(kept);
        let [none, last, one] = [0, self.row.rows as u32 - 1, 1].map(|n| self.constant([n; 4]));
        let row = DataOperand::Quad(kept.row);
        let first = self.q("icmpeq", &[row, none]);
        let last = self.q("icmpeq", &[row, last]);
        self.made.body.op("iadd", &[row], &[row, one]);
        let row = self.q("or", &[first, last]);
        Some(self.q("or", &[row, DataOperand::Quad(kept.plane)]))
    }

    /// Returns the quad of the result, or the old values in a row that is kept and at the row's ends.
    pub(super) fn kept(&mut self, k: i64, sum: DataOperand, row: DataOperand) -> DataOperand {
        let mut mask = row;
        for (at, end) in [
            (0, KeepMasks::ALL.first),
            (self.row.last().0, KeepMasks::ALL.last),
        ] {
            if k == at {
                mask = self.q("or", &[mask, DataOperand::Quad(end)]);
            }
        }
        let own = self.load((0, 0), k);
        self.q("sel", &[own, sum, mask])
    }
}
