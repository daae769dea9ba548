//! Loops over rows of a plane, for fused passes that keep data between planes.
//!
//! The operator on a plane and both its neighbours is taken apart: the contribution of a plane to its
//! neighbours is computed once, when the plane is loaded. With C = u(y-1) + u(y+1), H = u + C/2 and Q = C +
//! H(x-1) + H(x+1), a plane has the partial residual P = v - a0 u - a2 (C(x-1) + C(x+1)) - a2 Q(z-1) until
//! the next plane is loaded; then its residual is P - a2 Q(z+1): nine operations a quad. The smoother takes
//! ten by the same idea.
//!
//! The residual of the plane before takes the place of the rows of v of the current page, since it is needed
//! in that page alone. Its last rows are stored from there, and the section's next block, if it is adjacent,
//! loads them there instead of computing them again.

use super::numbers::NumberQuad;
use super::rows::{MultigridOperator, RowBuilder, RowDataflow, RowOperand, SquareSums};
use cp2_asm::schedule::{DataOperand, DataPointer};

/// The arrays of a section in its working space, made of rows of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaneTile {
    /// Number of rows of a block, on the finer level.
    pub(super) height: i64,
    /// Number of rows before the block whose residual is computed too.
    pub(super) before: i64,
    /// Number of rows behind the block whose residual is computed too.
    pub(super) behind: i64,
    /// True if a residual is computed.
    pub(super) residual: bool,
    /// Bytes of a row of the finer level.
    pub(super) row: i64,
    /// Number of rows of the residual that the block before hands over, if it is of the same section: the
    /// first ones.
    pub(super) handed: i64,
}

/// Subsets of a block's rows that a loop computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowSubset {
    /// All rows, or those that are not handed over.
    Own,
    /// The first rows, which a block computes besides if they were not handed over to it.
    Opening,
}

/// Index of the input v, whose place the residual takes.
pub(super) const V: usize = 1;

/// Arrays in the working space. The page that loads plane z finds values of the planes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TileArray {
    /// Partial residual P of plane z-1, without the contribution of plane z; includes the rows beside the
    /// block.
    Partial,
    /// Contribution Q of plane z-1; includes the rows beside the block.
    Given,
    /// Smoothed plane z-2, without the contribution of the residual of plane z-1.
    Smoothed,
    /// u of plane z-1 with the contribution of the residual of plane z-2.
    Begun,
    /// Partial sum of a row of a projection.
    Projected,
    /// u of plane z where it is not in the page; includes two rows more on either side.
    Field,
}

impl PlaneTile {
    /// Returns the bytes of a row.
    pub(super) fn row(self) -> i64 {
        self.row
    }

    /// Returns the number of rows whose residual is computed.
    pub(super) fn residuals(self) -> i64 {
        self.before + self.height + self.behind
    }

    /// Returns the first row whose residual a part computes, relative to the block's first row, and the
    /// number of rows.
    pub(super) fn part(self, part: RowSubset) -> (i64, i64) {
        match part {
            RowSubset::Opening => (-self.before, self.handed),
            RowSubset::Own => (self.handed - self.before, self.residuals() - self.handed),
        }
    }

    /// Returns the first pair of rows of u that a part needs for its residual, relative to the block, and the
    /// number of pairs.
    ///
    /// The pair before the block is included if nothing is handed over.
    pub(super) fn pairs(self, part: RowSubset) -> (i64, i64) {
        match (part, self.handed) {
            (RowSubset::Opening, _) => (-1, 1),
            (RowSubset::Own, 0) => (-1, self.height / 2 + 2),
            (RowSubset::Own, _) => (0, self.height / 2 + 1),
        }
    }

    /// Returns the place of the block's first row of an array in the working space.
    pub(super) fn place(self, kept: TileArray) -> RowOperand {
        let (height, all) = (self.height, self.residuals());
        let state = if self.residual { 2 * all } else { 0 };
        let rows = match kept {
            TileArray::Partial => self.before,
            TileArray::Given => all + self.before,
            // Kernels that smooth do not project, so the two share a place; a projection needs a quarter of a
            // plane.
            TileArray::Smoothed | TileArray::Projected => state,
            TileArray::Begun => state + height,
            TileArray::Field => state + 2 * height + 2,
        };
        RowOperand::Scratch(rows * self.row())
    }

    /// Returns the bytes of the working space of a kernel.
    pub(super) fn bytes(self, operator: MultigridOperator) -> i64 {
        let height = self.height;
        let state = if self.residual {
            2 * self.residuals()
        } else {
            0
        };
        let more = match operator {
            MultigridOperator::Ascend { add: false } => 3 * height + 4,
            MultigridOperator::Ascend { add: true } => 2 * height,
            MultigridOperator::Descend | MultigridOperator::Begin => (height + 3) / 4,
            _ => 0,
        };
        (state + more) * self.row()
    }
}

/// Returns a place so many bytes further.
fn shift_operand(place: RowOperand, bytes: i64) -> RowOperand {
    match place {
        RowOperand::Plane(z, at) => RowOperand::Plane(z, at + bytes),
        RowOperand::Input(i, at) => RowOperand::Input(i, at + bytes),
        RowOperand::Output(i, at) => RowOperand::Output(i, at + bytes),
        RowOperand::Scratch(at) => RowOperand::Scratch(at + bytes),
    }
}

impl RowBuilder {
    /// Makes pairs of rows of u by adding the correction, whose plane is already interpolated along z.
    ///
    /// The correction is input `correction`; `from` is the place of u, if it is not zero. The loop has an
    /// iteration for each row of the coarser level and begins `first` pairs behind the block's first row.
    pub(super) fn corrected(
        mut self,
        (correction, first): (usize, i64),
        from: Option<RowOperand>,
        to: RowOperand,
    ) -> RowDataflow {
        let coarse = self.row();
        let fine = 2 * coarse;
        let e = self.pointer(RowOperand::Input(correction, (first - 1) * coarse), coarse);
        let first = 2 * first * fine;
        let u = from.map(|from| self.pointer(shift_operand(from, first), 2 * fine));
        let to = self.pointer(shift_operand(to, first), 2 * fine);
        let [half, quarter] = self.constants();
        let last = self.quads - 1;
        let pair = |maker: &mut Self, j: usize| {
            let at = maker.at(j);
            let before = maker.load(e, at);
            let own = maker.load(e, coarse + at);
            let both = maker.q("add", &[before, own]);
            [both, own]
        };
        let end = pair(&mut self, last);
        let mut left = end.map(|quad| self.turned_right(quad));
        for j in 0..=last {
            self.phase(j);
            let own = if j < last { pair(&mut self, j) } else { end };
            for y in [0, 1] {
                // The even row has sums of two and four numbers, the odd row sums of one and two.
                let (odd, even) = match y {
                    0 => (Some(half), quarter),
                    _ => (None, half),
                };
                let both = self.q("add", &[left[y], own[y]]);
                for (sum, factor, x) in [(both, Some(even), 2 * j), (own[y], odd, 2 * j + 1)] {
                    let at = y as i64 * fine + self.at(x);
                    let u = u.map(|u| self.load(u, at));
                    let result = match (u, factor) {
                        (Some(u), Some(factor)) => self.q("madd", &[sum, factor, u]),
                        (Some(u), None) => self.q("add", &[u, sum]),
                        (None, Some(factor)) => self.q("mul", &[sum, factor]),
                        (None, None) => sum,
                    };
                    self.store(result, to, at);
                }
            }
            left = own;
        }
        self.rows
    }

    /// Completes a row of the residual of the plane before from u of this plane, and begins that of this
    /// plane.
    ///
    /// With C, H and Q of this module: `r(z-1) = P(z-1) - a2 Q(z)` and
    /// `P(z) = v - a0 u - a2 (C(x-1) + C(x+1) + Q(z-1))`. Constants are -a0, -a2 and a3 / a2. The loop begins
    /// `first` rows behind the block's first row. The residual takes the place of v, or with `squares` is
    /// only squared and added up.
    pub(super) fn residual_plane(
        mut self,
        (tile, first): (PlaneTile, i64),
        u: RowOperand,
        squares: bool,
    ) -> RowDataflow {
        let row = self.row();
        let first = first * row;
        let u = [(); 3].map(|()| self.pointer(shift_operand(u, first - row), row));
        let place = RowOperand::Input(V, first);
        let v = self.pointer(place, row);
        let residual = (!squares).then(|| self.pointer(place, row));
        let kept = |maker: &mut Self, kept: TileArray| {
            maker.pointer(shift_operand(tile.place(kept), first), row)
        };
        let mut sums = squares.then(|| SquareSums::new(&mut self));
        // Loads and the stores that replace them have pointers of their own: all accesses through a pointer
        // must lie within an interval.
        let [partial, given] =
            [TileArray::Partial, TileArray::Given].map(|of| [(); 2].map(|()| kept(&mut self, of)));
        let [centre, edges, ratio] = self.constants();
        self.chain(
            |maker, x, by| {
                let at = maker.at(x);
                let [above, own, below] = [0, 1, 2].map(|y| maker.load(u[by], y * row + at));
                let beside = maker.q("add", &[above, below]);
                let side = maker.q("madd", &[beside, ratio, own]);
                ([beside, side], own)
            },
            |maker, x, [beside, _], own, [left, right]| {
                let at = maker.at(x);
                let v = maker.load(v, at);
                let rest = maker.q("madd", &[own, centre, v]);
                let sum = maker.q("add", &[beside, left[1]]);
                let gives = maker.q("add", &[sum, right[1]]);
                let before = maker.load(partial[0], at);
                let result = maker.q("madd", &[gives, edges, before]);
                match (residual, &mut sums) {
                    (Some(residual), _) => maker.replace(result, v, residual, at),
                    (None, Some(sums)) => sums.square(maker, x, result),
                    (None, None) => {}
                }
                let given_before = maker.load(given[0], at);
                let sum = maker.q("add", &[left[0], right[0]]);
                let sum = maker.q("add", &[sum, given_before]);
                let next = maker.q("madd", &[sum, edges, rest]);
                maker.replace(next, before, partial[1], at);
                maker.replace(gives, given_before, given[1], at);
            },
        );
        if let Some(sums) = sums {
            sums.end(&mut self);
        }
        self.rows
    }

    /// Completes a row of the smoothed plane z-2 from the residual r of plane z-1, and continues planes z-1
    /// and z.
    ///
    /// With F = r(x-1) + r(x+1) + r(y-1) + r(y+1), D the sum of the four diagonal neighbours in the plane and
    /// G = F + c1/c2 r: `out(z-2) = smoothed + c2 G`, `smoothed = begun + c0 r + c2 (D + c1/c2 F)`,
    /// `begun = u(z) + c2 G`. Constants are c0, c2 and c1 / c2. `u` is the place of u of plane z; if it is in
    /// the page, the result takes this place.
    pub(super) fn smooth_plane(mut self, tile: PlaneTile, u: RowOperand) -> RowDataflow {
        let row = self.row();
        let u = self.pointer(u, row);
        let out = self.pointer(RowOperand::Output(0, 0), row);
        let residual = [(); 3].map(|()| self.pointer(RowOperand::Input(V, -row), row));
        let [smoothed, begun] = [TileArray::Smoothed, TileArray::Begun]
            .map(|kept| [(); 2].map(|()| self.pointer(tile.place(kept), row)));
        let [centre, edges, ratio] = self.constants();
        self.chain(
            |maker, x, by| {
                let at = maker.at(x);
                let [above, own, below] = [0, 1, 2].map(|y| maker.load(residual[by], y * row + at));
                let beside = maker.q("add", &[above, below]);
                ([own, beside], ())
            },
            |maker, x, [own, beside], (), [left, right]| {
                let at = maker.at(x);
                let sides = maker.q("add", &[left[0], right[0]]);
                let faces = maker.q("add", &[sides, beside]);
                let gives = maker.q("madd", &[own, ratio, faces]);
                let before = maker.load(smoothed[0], at);
                let u = maker.load(u, at);
                let start = maker.q("madd", &[gives, edges, u]);
                let result = maker.q("madd", &[gives, edges, before]);
                maker.replace(result, u, out, at);
                let started = maker.load(begun[0], at);
                let rest = maker.q("madd", &[own, centre, started]);
                let sum = maker.q("add", &[left[1], right[1]]);
                let sum = maker.q("madd", &[faces, ratio, sum]);
                let next = maker.q("madd", &[sum, edges, rest]);
                maker.replace(next, before, smoothed[1], at);
                maker.replace(start, started, begun[1], at);
            },
        );
        self.rows
    }

    /// Adds a projected row of rows of a plane to the partial sum of the coarser plane.
    ///
    /// With t the plane's row projected along x and y: `out = sum + t / 2` is stored, then
    /// `sum = (sum & mask) + factor t`. The quads `switch` are mask and factor. Constants are a half and a
    /// quarter.
    pub(super) fn project_plane(
        mut self,
        tile: PlaneTile,
        from: RowOperand,
        switch: [u8; 2],
    ) -> RowDataflow {
        let coarse = self.row();
        self.quads *= 2;
        let row = self.row();
        let rows = self.pointer(from, 2 * row);
        let projected = [(); 2].map(|()| self.pointer(tile.place(TileArray::Projected), coarse));
        let out = self.pointer(RowOperand::Output(0, 0), coarse);
        let [half] = self.constants();
        let [mask, factor] = switch.map(|quad| NumberQuad::power_of_two(DataOperand::Quad(quad)));
        let across = |maker: &mut Self, x: usize| {
            let at = maker.at(x);
            let [above, own, below] = [0, 1, 2].map(|y| maker.load(rows, y * row + at));
            let sum = maker.q("add", &[above, below]);
            maker.q("madd", &[sum, half, own])
        };
        self.coarsened(across, |maker, j, plane| {
            let at = maker.at(j);
            let before = maker.load(projected[0], at);
            let result = maker.q("madd", &[plane, half, before]);
            maker.store(result, out, at);
            let kept = maker.q("and", &[before, mask]);
            let next = maker.q("madd", &[plane, factor, kept]);
            maker.replace(next, before, projected[1], at);
        });
        self.rows
    }

    /// Computes a row between two planes of a level: the mean of the plane before and this plane,
    /// interpolated along z.
    pub(super) fn expanded(mut self) -> RowDataflow {
        let row = self.row();
        let [before, own] = [0, 1].map(|z| self.pointer(RowOperand::Plane(z, 0), row));
        let to = self.pointer(RowOperand::Output(0, 0), row);
        let [half] = self.constants();
        for x in 0..self.quads {
            self.phase(x);
            let at = self.at(x);
            let [before, own] = [before, own].map(|z: DataPointer| self.load(z, at));
            let sum = self.q("add", &[before, own]);
            let mean = self.q("mul", &[sum, half]);
            self.store(mean, to, at);
        }
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npb::mg::rows::{QUAD, residual_constants, smoother_constants};
    use cp2_machine::Machine;
    use cp2_problems::npb::Precision;
    use cp2_problems::npb::mg::{MgProblem, Smoother};

    /// Rows of 32 quads take at most 9.5 cycles a quad for the residual, which has nine operations, and 10.5
    /// for the smoother, which has ten.
    #[test]
    fn rows_are_scheduled_close_together() {
        let tile = PlaneTile {
            height: 8,
            before: 1,
            behind: 1,
            residual: true,
            row: 32 * QUAD,
            handed: 0,
        };
        let u = RowOperand::Input(0, 0);
        for name in ["vm7", "vm9"] {
            let machine = Machine::builtin(name).unwrap();
            let a = residual_constants(MgProblem::OPERATOR);
            let s = smoother_constants(Smoother::A.weights());
            let residual =
                RowBuilder::new(Precision::Single, 32, &a).residual_plane((tile, -1), u, false);
            let smoother = RowBuilder::new(Precision::Single, 32, &s).smooth_plane(tile, u);
            for (rows, least, most) in [(residual, 9.0, 9.5), (smoother, 10.0, 10.5)] {
                let schedule = rows.ops.schedule(&machine).unwrap();
                let of = |rows: u64| schedule.emit(rows).cycles as f64;
                let quad = (of(1010) - of(10)) / 1000.0 / 32.0;
                assert!((least..most).contains(&quad), "{name}: {quad}");
            }
        }
    }
}
