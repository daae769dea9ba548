//! A row's operations: shifts, ends of the row, and results.

use super::dataflow_inputs::DataflowBuilder;
use super::row_dataflow::{Classes, KeepMasks, NeighbourSide, PARTS, PointerWalkKind, QUAD};
use cp2_problems::stencil::Edge;

impl DataflowBuilder<'_> {
    /// Returns the values one lane to the west of quad `k`, x(i-1), where `of` makes the quads.
    fn west(&mut self, of: &mut dyn FnMut(&mut Self, i64) -> String, k: i64) -> String {
        let own = of(self, k);
        let to = ("west", k);
        if k > 0 || !self.row.whole {
            let before = of(self, k - 1);
            return self.shift(to, [&before, &own], 3);
        }
        let (quad, lane) = self.row.last();
        match self.row.edge {
            Edge::Zero | Edge::Fixed => {
                let zero = self.constant([0; 4]);
                self.shift(to, [&zero, &own], 3)
            }
            Edge::Mirrored => self.lanes(to, &own, [0, 0, 1, 2]),
            Edge::Periodic => {
                let last = of(self, quad);
                let last = match lane {
                    3 => last,
                    _ => self.lanes(("last", k), &last, [lane; 4]),
                };
                self.shift(to, [&last, &own], 3)
            }
        }
    }

    /// Returns the values one lane to the east of quad `k`, x(i+1), where `of` makes the quads.
    fn east(&mut self, of: &mut dyn FnMut(&mut Self, i64) -> String, k: i64) -> String {
        let own = of(self, k);
        let to = ("east", k);
        let (quad, lane) = self.row.last();
        if k < quad || !self.row.whole {
            let next = of(self, k + 1);
            return self.shift(to, [&own, &next], 1);
        }
        let from = |first: usize| [0, 1, 2, 3].map(|i| if i >= first { u32::MAX } else { 0 });
        match self.row.edge {
            Edge::Zero | Edge::Fixed => {
                let zero = self.constant([0; 4]);
                let filled = match lane {
                    3 => own,
                    _ => {
                        let beyond = self.constant(from(lane + 1));
                        self.q(("filled", k), "sel", &[&zero, &own, &beyond])
                    }
                };
                self.shift(to, [&filled, &zero], 1)
            }
            Edge::Mirrored => self.lanes(to, &own, [1, 2, 3, 4].map(|next: usize| next.min(lane))),
            Edge::Periodic => {
                let first = of(self, 0);
                if lane == 3 {
                    return self.shift(to, [&own, &first], 1);
                }
                let first = self.lanes(("first", k), &first, [0; 4]);
                let next = self.lanes(("next", k), &own, [1, 2, 3, 3]);
                let beyond = self.constant(from(lane));
                self.q(to, "sel", &[&first, &next, &beyond])
            }
        }
    }

    /// Returns the values one lane to the west (-1) or to the east (1) of quad `k`.
    fn beside(&mut self, (side, classes): (NeighbourSide, &Classes), k: i64, lane: i64) -> String {
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
    ) -> Option<String> {
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
    fn sum_row_neighbours(&mut self, side: NeighbourSide, classes: &Classes, k: i64) -> String {
        match (side, &classes[..]) {
            (NeighbourSide::West, _) => return self.beside((side, classes), k, -1),
            (NeighbourSide::East, _) => return self.beside((side, classes), k, 1),
            (NeighbourSide::Both, _) if self.made.way.words => {}
            (NeighbourSide::Both, [(_, rows)]) => {
                let inside = k > 0 && k < self.row.last().0;
                if let ([row], true) = (&rows[..], inside || !self.row.whole) {
                    // T(i-1) = x(i-1) + x(i+1)
                    let [before, own] = [k - 1, k].map(|k| self.double(*row, k));
                    return self.shift(("both", k), [&before, &own], 3);
                }
            }
            (NeighbourSide::Both, _) => {
                let inside = k > 0 && k < self.row.last().0;
                if self.made.way.through.is_some() && (inside || !self.row.whole) {
                    // T(i-1) = s(i-1) + s(i+1)
                    let [before, own] = [k - 1, k].map(|k| self.double_sum(side, classes, k));
                    return self.shift(("both", k), [&before, &own], 3);
                }
            }
        }
        let [west, east] = [-1, 1].map(|lane| self.beside((side, classes), k, lane));
        self.q(("both", k), "add", &[&west, &east])
    }

    /// Returns a quad of the result where coefficients are the same for all elements: the sum of coefficient
    /// times sum of points.
    pub(super) fn common(&mut self, k: i64) -> String {
        let mut terms: Vec<(Option<f32>, String)> = Vec::new();
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
                Some(at) => terms[at].1 = self.q(("sum", k), "add", &[&terms[at].1, &sum]),
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
            all = Some(self.add_term(("v", k), all, (weight, sum)));
        }
        match all {
            Some(all) => all,
            // All coefficients are 0.
            None => self.constant([0; 4]),
        }
    }

    /// Returns a quad of the result where every element has its own coefficients, in partial sums that do not
    /// wait for each other.
    pub(super) fn sum_own_coefficients(&mut self, k: i64) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (p, point) in self.row.stencil.points().iter().enumerate() {
            let [z, y, x] = point.offset;
            let mut of = |maker: &mut Self, k: i64| maker.load((z, y), k);
            let value = match x {
                0 => of(self, k),
                1 => self.east(&mut of, k),
                _ => self.west(&mut of, k),
            };
            let at = p as i64 * self.pitch[1] + QUAD * k;
            let weight = self.load_quad(&format!("a[{p}][{k}]"), PointerWalkKind::Own, at);
            let part = p % PARTS;
            let before = parts.get(part).cloned();
            let first = before.is_none();
            let sum = self.add_term(("part", k), before, (Some(weight), value));
            match first {
                true => parts.push(sum),
                false => parts[part] = sum,
            }
        }
        self.tree(("v", k), parts)
    }

    /// Returns the mask of a row whose elements all keep their values, if edges are fixed.
    pub(super) fn outermost(&mut self) -> Option<String> {
        if self.row.edge != Edge::Fixed {
            return None;
        }
        self.made.keeps_edges = true;
        let KeepMasks { plane, row, .. } = KeepMasks::ALL;
        let block = &mut self.made.block;
        block.declare(&format!(".before row@1 = q{row}"));
        block.declare(&format!(".after q{row} = row"));
        let [none, last, one] = [0, self.row.rows as u32 - 1, 1].map(|n| self.constant([n; 4]));
        let block = &mut self.made.block;
        let first = block.compute("is.first", "icmpeq", &["row@1", &none]);
        let last = block.compute("is.last", "icmpeq", &["row@1", &last]);
        block.operation("iadd", &["row", "row@1", &one]);
        let either = block.compute("is.either", "or", &[&first, &last]);
        Some(block.compute("is.kept", "or", &[&either, &format!("q{plane}")]))
    }

    /// Returns the quad of the result, or the old values in a row that is kept and at the row's ends.
    pub(super) fn kept(&mut self, k: i64, sum: &str, row: &str) -> String {
        let mut mask = row.to_owned();
        for (at, end) in [
            (0, KeepMasks::ALL.first),
            (self.row.last().0, KeepMasks::ALL.last),
        ] {
            if k == at {
                mask = self.q(("kept", k), "or", &[&mask, &format!("q{end}")]);
            }
        }
        let own = self.load((0, 0), k);
        self.q(("result", k), "sel", &[&own, sum, &mask])
    }
}
