//! Loops over rows of an operator, on rows in the lifted layout.
//!
//! An iteration computes one row of the result, or the rows that belong to one row of the coarser level.
//!
//! In a *lifted* row of n points, quad X holds the points X, X + n/L, .. of which there are as many as a quad has
//! numbers: L = 4 in single precision, L = 2 in double precision. In double-single precision L = 4 too, and a quad X
//! is two quads of registers and of memory: the upper parts of its numbers, then the lower parts. So the neighbours
//! along x of a quad are the adjacent quads. Only at the ends of a row the numbers of a quad are rotated by one, which
//! closes the periodic ring. The point 2 J + 1 of a row is in the place of a quad that J has in a row of the coarser
//! level.
//!
//! The coarsest rows have two points. Where a quad has four numbers they are stored as rows of four, the two points
//! twice: a sequence of period 2 also has the period 4.

use super::numbers::{ConstantQuads, NumberQuad, apply, normalise};
use crate::pipeline::Ops;
use cp2_asm::schedule::{DataOperand, DataPointer, Dataflow, PointerStep};
use cp2_problems::npb::Precision;

/// Bytes of a quad.
pub(super) const QUAD: i64 = 16;

/// Lane permutation of a row's last quad that gives the left neighbour of its first quad.
const LAST_TO_FIRST: i64 = 0b10_01_00_11;
/// Lane permutation of a row's first quad that gives the right neighbour of its last quad.
const FIRST_TO_LAST: i64 = 0b00_11_10_01;
/// Lane permutation that exchanges the halves of a quad: of two numbers in double precision each is the other's
/// neighbour on both sides.
const HALVES: i64 = 0b01_00_11_10;

/// Returns how many numbers of a precision an operation on quads computes.
pub(super) fn numbers_of_quad(precision: Precision) -> u64 {
    match precision {
        Precision::Single | Precision::DoubleSingle => 4,
        Precision::Double => 2,
    }
}

/// Returns the bytes of as many numbers of a precision as an operation on quads computes.
pub(super) fn quad_bytes(precision: Precision) -> i64 {
    (numbers_of_quad(precision) * precision.bytes()) as i64
}

/// The place of the first row that an iteration reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOperand {
    /// In the window of the first input: the number of the plane, and the bytes from the row of the block.
    Plane(usize, i64),
    /// In the page of an input: its number, and the bytes from its start.
    Input(usize, i64),
    /// In the page of an output: its number, and the bytes from its start.
    Output(usize, i64),
    /// In the working space: the bytes from its start.
    Scratch(i64),
}

/// The dataflow of an iteration, and the places where its pointers begin.
#[derive(Debug)]
pub(super) struct RowDataflow {
    pub(super) ops: Ops,
    pub(super) pointers: Vec<(DataPointer, RowOperand)>,
    /// Quad registers of a sum that is carried through all iterations of a page and stored behind them: none, one, or
    /// its upper and its lower parts.
    pub(super) sum: Vec<u8>,
}

/// Operators of V-cycles, single and fused. A is the 27-point operator, S the smoother.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MultigridOperator {
    /// `r = v - A u`: the first input is u, the second v.
    Residual,
    /// `u + S r`: the first input is r; the second is u, if it is not zero.
    Smooth {
        /// True if u is not zero.
        add: bool,
    },
    /// Projection: a row of the coarser level from three rows of three planes.
    Project,
    /// Interpolation: two rows of two planes. The first input is the coarser level; the second is u, if it is
    /// not zero, which the result is added to.
    Interpolate {
        /// True if u is not zero.
        add: bool,
    },
    /// Correction, residual and smoother in one pass over planes.
    ///
    /// The inputs are u, if it is not zero, v, and the correction interpolated along z; without u the
    /// correction is the first input.
    Ascend {
        /// True if u is not zero.
        add: bool,
    },
    /// Residual and projection in one pass over planes: the inputs are u and v.
    Descend,
    /// The planes of a level that lie between those of the coarser level, interpolated along z.
    Expand,
    /// The sum of the squares of the residual of a page, lane by lane, in a pass over planes: the inputs are
    /// u and v. The residual is not stored.
    ResidualSquares,
    /// Rows in natural order to lifted rows, with the sum of their squares.
    Lift,
    /// Rows in natural order to lifted rows, with the sum of their squares and their projection, in one pass
    /// over planes.
    Begin,
    /// Lifted rows to rows in natural order.
    Lower,
    /// Lifted rows of u to rows in natural order, and the sum of the squares of the residual, in one pass
    /// over planes: the inputs are u and v.
    Finish,
}

/// Sums of squares of a row, in as many chains as hide the latency of a multiply-add, and the quad registers
/// that they are added to.
pub(super) struct SquareSums {
    carried: NumberQuad,
    chains: Vec<Option<NumberQuad>>,
}

/// Cycles that the interval of a loop with sums is longer than the least.
const FREE: usize = 4;

impl SquareSums {
    /// Reserves the carried quad of a loop.
    pub(super) fn new(maker: &mut RowBuilder) -> Self {
        let mut carry = || {
            let carried = maker.rows.ops.carry();
            maker.rows.sum.push(carried);
            DataOperand::Quad(carried)
        };
        let (carried, chains) = match maker.precision {
            Precision::Single | Precision::Double => (NumberQuad::whole(carry()), 4),
            // The operations on a quad take longer than the latency of a sum.
            Precision::DoubleSingle => (NumberQuad::of_parts([carry(), carry()]), 1),
        };
        Self {
            carried,
            chains: vec![None; chains],
        }
    }

    /// Adds the square of quad x of the row.
    pub(super) fn square(&mut self, maker: &mut RowBuilder, x: usize, value: NumberQuad) {
        // The square of a lower part is left out, so that it must be small.
        let value = normalise(&mut maker.rows.ops, value);
        let number = x % self.chains.len().max(1);
        if let Some(chain) = self.chains.get_mut(number) {
            *chain = Some(match *chain {
                Some(sum) => maker.q("madd", &[value, value, sum]),
                None => maker.q("mul", &[value, value]),
            });
        }
    }

    /// Adds the squares of adjacent quads, the first of which has an even number in the row.
    fn add_squares(&mut self, maker: &mut RowBuilder, values: &[NumberQuad]) {
        for (x, &value) in values.iter().enumerate() {
            self.square(maker, x, value);
        }
    }

    /// Adds the sums of the row to the carried quad.
    pub(super) fn end(self, maker: &mut RowBuilder) {
        let chains: Vec<NumberQuad> = self.chains.into_iter().flatten().collect();
        let all = maker.add_all(&chains);
        // The free cycles let the end of the row be issued within the next interval, not later.
        maker.rows.ops.body.spare = FREE;
        maker.add_to(self.carried, all);
    }
}

/// Builds the dataflow of an iteration over rows.
pub(super) struct RowBuilder {
    pub(super) rows: RowDataflow,
    precision: Precision,
    constants: Vec<NumberQuad>,
    /// Number of quads of a row, of the coarser level where there are two.
    pub(super) quads: usize,
}

/// Returns -a0, -a2 and a3 / a2, which are all of A: it has no weight for faces (a1).
pub(super) fn residual_constants([centre, _, edges, corners]: [f64; 4]) -> [f64; 3] {
    [-centre, -edges, corners / edges]
}

/// Returns c0, c2 and c1 / c2, which are all of S: it has no weight for corners (c3).
pub(super) fn smoother_constants([centre, faces, edges, _]: [f64; 4]) -> [f64; 3] {
    [centre, edges, faces / edges]
}

impl RowBuilder {
    /// Begins a dataflow with constants, for rows of so many quads.
    pub(super) fn new(precision: Precision, quads: usize, constants: &[f64]) -> Self {
        let constants = ConstantQuads::new(precision, constants);
        let ops = Ops::from_quads(Dataflow::evenly(), constants.lanes.clone());
        Self {
            constants: constants.in_registers(&ops),
            rows: RowDataflow {
                ops,
                pointers: Vec::new(),
                sum: Vec::new(),
            },
            precision,
            quads,
        }
    }

    /// Returns the bytes of a row.
    pub(super) fn row(&self) -> i64 {
        self.at(self.quads)
    }

    /// Returns the bytes from the beginning of a row to its quad x.
    pub(super) fn at(&self, x: usize) -> i64 {
        x as i64 * quad_bytes(self.precision)
    }

    /// Returns the first constants, as many as are asked for.
    pub(super) fn constants<const N: usize>(&self) -> [NumberQuad; N] {
        std::array::from_fn(|index| self.constant(index))
    }

    /// Returns a constant.
    fn constant(&self, index: usize) -> NumberQuad {
        let register = || NumberQuad::whole(self.rows.ops.constant(index));
        self.constants.get(index).copied().unwrap_or_else(register)
    }

    /// Applies an operation to whole quads of the rows' precision; it is named as in single precision.
    pub(super) fn q(&mut self, name: &'static str, uses: &[NumberQuad]) -> NumberQuad {
        apply(&mut self.rows.ops, self.precision, name, uses)
    }

    /// Adds up quads, as a binary tree. There must be one at least.
    fn add_all(&mut self, quads: &[NumberQuad]) -> NumberQuad {
        match quads {
            [one] => *one,
            _ => {
                let (a, b) = quads.split_at(quads.len() / 2);
                let both = [self.add_all(a), self.add_all(b)];
                self.q("add", &both)
            }
        }
    }

    /// Adds a quad to one in registers that are carried.
    fn add_to(&mut self, carried: NumberQuad, quad: NumberQuad) {
        let NumberQuad { high, low, .. } = carried;
        match low {
            None => {
                let add = if self.precision == Precision::Double {
                    "dadd"
                } else {
                    "add"
                };
                self.rows.ops.body.op(add, &[high], &[high, quad.high]);
            }
            Some(low) => {
                let sum: Vec<DataOperand> = self.q("add", &[carried, quad]).parts().collect();
                self.rows.ops.body.op("add", &[high], &sum);
                self.rows.ops.body.op("adde", &[low], &sum);
            }
        }
    }

    /// Adds a pointer that begins at a place and advances by `step` bytes in an iteration.
    pub(super) fn pointer(&mut self, place: RowOperand, step: i64) -> DataPointer {
        let index = self.rows.pointers.len() as u8;
        let pointer = self.rows.ops.body.pointer(index, PointerStep::Bytes(step));
        self.rows.pointers.push((pointer, place));
        pointer
    }

    /// Adds loads of a quad's numbers.
    pub(super) fn load(&mut self, pointer: DataPointer, bytes: i64) -> NumberQuad {
        let high = self.load_quad(pointer, bytes);
        match self.precision {
            Precision::Single | Precision::Double => NumberQuad::whole(high),
            Precision::DoubleSingle => {
                NumberQuad::of_parts([high, self.load_quad(pointer, bytes + QUAD)])
            }
        }
    }

    /// Adds a load of a quad of memory.
    fn load_quad(&mut self, pointer: DataPointer, bytes: i64) -> DataOperand {
        let value = DataOperand::Whole(self.rows.ops.body.quad());
        self.rows.ops.body.load(value, pointer, bytes);
        value
    }

    /// Adds stores of a quad's numbers.
    pub(super) fn store(&mut self, value: NumberQuad, pointer: DataPointer, bytes: i64) {
        let value = normalise(&mut self.rows.ops, value);
        for (part, at) in value.parts().zip((bytes..).step_by(QUAD as usize)) {
            self.rows.ops.body.store(part, pointer, at);
        }
    }

    /// Sets the phase: operations that follow may begin when so many quads of the row have been computed.
    pub(super) fn phase(&mut self, quads: usize) {
        let passed = quads as f64 / (self.quads + 1) as f64;
        self.rows.ops.body.phase(passed);
    }

    /// Adds stores into the place that `before` was loaded from.
    pub(super) fn replace(
        &mut self,
        value: NumberQuad,
        before: NumberQuad,
        pointer: DataPointer,
        bytes: i64,
    ) {
        let value = normalise(&mut self.rows.ops, value);
        let places = before.parts().zip((bytes..).step_by(QUAD as usize));
        for (part, (before, at)) in value.parts().zip(places) {
            self.rows.ops.body.replace(part, before, pointer, at);
        }
    }

    /// Adds stores: into the place of the value `before`, or to a place of their own if there is none.
    fn add_store(
        &mut self,
        value: NumberQuad,
        before: Option<NumberQuad>,
        pointer: DataPointer,
        bytes: i64,
    ) {
        match before {
            Some(before) => self.replace(value, before, pointer, bytes),
            None => self.store(value, pointer, bytes),
        }
    }

    /// Returns the left neighbour of a row's first quad, given its last quad.
    pub(super) fn turned_right(&mut self, last: NumberQuad) -> NumberQuad {
        let lanes = match self.precision {
            Precision::Single | Precision::DoubleSingle => LAST_TO_FIRST,
            Precision::Double => HALVES,
        };
        self.lanes(last, lanes)
    }

    /// Returns the right neighbour of a row's last quad, given its first quad.
    pub(super) fn rotate_first_quad(&mut self, first: NumberQuad) -> NumberQuad {
        let lanes = match self.precision {
            Precision::Single | Precision::DoubleSingle => FIRST_TO_LAST,
            Precision::Double => HALVES,
        };
        self.lanes(first, lanes)
    }

    /// Permutes the lanes of a quad.
    fn lanes(&mut self, from: NumberQuad, lanes: i64) -> NumberQuad {
        let body = &mut self.rows.ops.body;
        from.map(|part| DataOperand::Whole(body.quad_immediate("perm", &[part], lanes)))
    }

    /// Adds pointers to the three planes of a window, each at the row before the block's.
    fn add_plane_pointers(&mut self) -> [DataPointer; 3] {
        let row = self.row();
        [0, 1, 2].map(|z| self.pointer(RowOperand::Plane(z, -row), row))
    }

    /// Returns sums over the 3 x 3 neighbourhood across x: the centre, the sum of the four adjacent to it,
    /// and the sum of the four at the corners.
    ///
    /// The pointers are at the first row of the neighbourhood.
    fn sum_neighbourhood(&mut self, planes: [DataPointer; 3], x: usize) -> [NumberQuad; 3] {
        let (row, first) = (self.row(), self.at(x));
        let at = |y: i64| y * row + first;
        let [near, mid, far] = planes;
        let sum = |maker: &mut Self, a: (DataPointer, i64), b: (DataPointer, i64)| {
            let (a, b) = (maker.load(a.0, at(a.1)), maker.load(b.0, at(b.1)));
            maker.q("add", &[a, b])
        };
        let below = sum(self, (near, 0), (near, 2));
        let above = sum(self, (far, 0), (far, 2));
        let ahead = sum(self, (near, 1), (far, 1));
        let aside = sum(self, (mid, 0), (mid, 2));
        let centre = self.load(mid, at(1));
        let corners = self.q("add", &[below, above]);
        let beside = self.q("add", &[ahead, aside]);
        [centre, beside, corners]
    }

    /// Iterates over the quads of a row.
    ///
    /// For each quad, `begin` computes the N values that its neighbours need; `end` computes the result from
    /// the own values and those of both neighbours. At the ends of a row `begin` is called again for the
    /// quads at the other end, which takes less than the registers to keep them. There it is told, by 1 or 2,
    /// to load by other pointers, since all accesses through a pointer must lie within an interval.
    pub(super) fn chain<const N: usize, T>(
        &mut self,
        mut begin: impl FnMut(&mut Self, usize, usize) -> ([NumberQuad; N], T),
        mut end: impl FnMut(&mut Self, usize, [NumberQuad; N], T, [[NumberQuad; N]; 2]),
    ) {
        let last = self.quads - 1;
        self.phase(0);
        let mut left = begin(self, last, 1).0.map(|quad| self.turned_right(quad));
        let (mut own, mut rest) = begin(self, 0, 0);
        for x in 0..=last {
            self.phase(x + 1);
            let (right, next) = match x < last {
                true => begin(self, x + 1, 0),
                false => begin(self, 0, 2),
            };
            let turned = match x < last {
                true => right,
                false => right.map(|quad| self.rotate_first_quad(quad)),
            };
            end(self, x, own, rest, [left, turned]);
            (left, own, rest) = (own, right, next);
        }
    }

    /// Computes `u + c0 r + c2 (corners + c1/c2 beside + K(x-1) + K(x+1))`, `K = beside + c1/c2 r`: twelve
    /// operations a quad.
    pub(super) fn smooth(mut self, add: bool) -> RowDataflow {
        let planes = [(); 3].map(|()| self.add_plane_pointers());
        let row = self.row();
        let u = add.then(|| self.pointer(RowOperand::Input(1, 0), row));
        let out = self.pointer(RowOperand::Output(0, 0), row);
        let [centre, edges, ratio] = self.constants();
        self.chain(
            |maker, x, by| {
                let [r, beside, corners] = maker.sum_neighbourhood(planes[by], x);
                let side = maker.q("madd", &[r, ratio, beside]);
                ([side], (r, beside, corners))
            },
            |maker, x, _, (r, beside, corners), [[left], [right]]| {
                let inner = maker.q("madd", &[beside, ratio, corners]);
                let at = maker.at(x);
                let u = u.map(|u| maker.load(u, at));
                let own = match u {
                    Some(u) => maker.q("madd", &[r, centre, u]),
                    None => maker.q("mul", &[r, centre]),
                };
                let sum = maker.q("add", &[inner, left]);
                let sum = maker.q("add", &[sum, right]);
                let result = maker.q("madd", &[sum, edges, own]);
                maker.add_store(result, u, out, at);
            },
        );
        self.rows
    }

    /// Computes a quad of the coarser level, `mid / 2 + (near + far) / 4`. Constants are a half and a
    /// quarter.
    fn halved(&mut self, [near, mid, far]: [NumberQuad; 3]) -> NumberQuad {
        let [half, quarter] = self.constants();
        let own = self.q("mul", &[mid, half]);
        let sides = self.q("add", &[near, far]);
        self.q("madd", &[sides, quarter, own])
    }

    /// Iterates over the quads of a row of the coarser level.
    ///
    /// `across` computes a quad of the finer level, `end` gets the quad that is made of these.
    pub(super) fn coarsened(
        &mut self,
        mut across: impl FnMut(&mut Self, usize) -> NumberQuad,
        mut end: impl FnMut(&mut Self, usize, NumberQuad),
    ) {
        let first = across(self, 0);
        let mut near = first;
        for j in 0..self.quads / 2 {
            self.phase(2 * j);
            let mid = across(self, 2 * j + 1);
            let far = match 2 * j + 2 < self.quads {
                true => across(self, 2 * j + 2),
                false => self.rotate_first_quad(first),
            };
            let quad = self.halved([near, mid, far]);
            end(self, j, quad);
            near = far;
        }
    }

    /// Computes a row of the coarser level by `t = centre + beside / 2 + corners / 4` across x and (1/4, 1/2,
    /// 1/4) along x.
    pub(super) fn project(mut self, two: bool) -> RowDataflow {
        let coarse = self.row();
        // Rows of the finer level are twice as long, except where the coarser one has two points.
        self.quads *= if two { 1 } else { 2 };
        // The first row of a fine plane in the window is that of the block: the neighbourhood of row 2 Y + 1
        // begins at row 2 Y.
        let row = self.row();
        let planes = [1, 2, 3].map(|z| self.pointer(RowOperand::Plane(z, 0), 2 * row));
        let out = self.pointer(RowOperand::Output(0, 0), coarse);
        let [half, quarter] = self.constants();
        let across = |maker: &mut Self, x: usize| {
            let [centre, beside, corners] = maker.sum_neighbourhood(planes, x);
            let inner = maker.q("madd", &[beside, half, centre]);
            maker.q("madd", &[corners, quarter, inner])
        };
        if two {
            let t = across(&mut self, 0);
            let lanes = [0b10_00_10_00, 0b11_01_11_01, 0b00_10_00_10];
            let three = lanes.map(|lanes| self.lanes(t, lanes));
            let quad = self.halved(three);
            self.store(quad, out, 0);
            return self.rows;
        }
        self.coarsened(across, |maker, j, quad| {
            let at = maker.at(j);
            maker.store(quad, out, at);
        });
        self.rows
    }

    /// Interpolates four rows of the finer level from sums of one, two and four rows of the coarser one.
    ///
    /// Along x the sums themselves are at 2 J + 1, the means of two adjacent ones at 2 J.
    pub(super) fn interpolate(mut self, add: bool, two: bool, height: usize) -> RowDataflow {
        let coarse = self.row();
        let fine = coarse * if two { 1 } else { 2 };
        // Bytes of a plane of the block, which has twice as many rows as the coarser level's.
        let plane = 2 * height as i64 * fine;
        let planes = [0, 1].map(|z| self.pointer(RowOperand::Plane(z, -coarse), coarse));
        let rows = |maker: &mut Self, place: fn(i64) -> RowOperand| {
            [0, plane].map(|plane| maker.pointer(place(plane), 2 * fine))
        };
        let u = add.then(|| rows(&mut self, |bytes| RowOperand::Input(1, bytes)));
        let out = rows(&mut self, |bytes| RowOperand::Output(0, bytes));
        let sums = |maker: &mut Self, j: usize| {
            let at = maker.at(j);
            let load = |maker: &mut Self, z: usize, y: i64| maker.load(planes[z], y * coarse + at);
            let [a, b] = [0, 1].map(|y| load(maker, 1, y));
            let [c, d] = [0, 1].map(|y| load(maker, 0, y));
            let rows = maker.q("add", &[a, b]);
            let before = maker.q("add", &[c, d]);
            let planes = maker.q("add", &[b, d]);
            let all = maker.q("add", &[rows, before]);
            // Indices are plane and row of the finer level; the odd ones coincide with coarse ones.
            [[all, planes], [rows, b]]
        };
        // Stores `u + sum / 2^weight` at a quad; constants are the powers of 1/2.
        let put =
            |maker: &mut Self, sum: NumberQuad, weight: usize, (z, y): (usize, usize), x: usize| {
                let at = y as i64 * fine + maker.at(x);
                let factor = weight.checked_sub(1).map(|w| maker.constant(w));
                let u = u.map(|u| maker.load(u[z], at));
                let result = match (u, factor) {
                    (Some(u), Some(factor)) => maker.q("madd", &[sum, factor, u]),
                    (Some(u), None) => maker.q("add", &[u, sum]),
                    (None, Some(factor)) => maker.q("mul", &[sum, factor]),
                    (None, None) => sum,
                };
                maker.add_store(result, u, out[z], at);
            };
        let grid = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let weight = |(z, y): (usize, usize)| 2 - z - y;
        if two {
            let s = sums(&mut self, 0);
            for (z, y) in grid {
                let left = self.lanes(s[z][y], 0b01_00_00_00);
                let right = self.lanes(s[z][y], 0b01_01_00_01);
                let sum = self.q("add", &[left, right]);
                put(&mut self, sum, weight((z, y)) + 1, (z, y), 0);
            }
            return self.rows;
        }
        let end = self.quads - 1;
        let last = sums(&mut self, end);
        let turned = last.map(|rows| rows.map(|sum| self.turned_right(sum)));
        let mut left = turned;
        for j in 0..=end {
            self.phase(j);
            let own = match j < end {
                true => sums(&mut self, j),
                false => last,
            };
            for (z, y) in grid {
                let both = self.q("add", &[left[z][y], own[z][y]]);
                put(&mut self, both, weight((z, y)) + 1, (z, y), 2 * j);
                put(&mut self, own[z][y], weight((z, y)), (z, y), 2 * j + 1);
            }
            left = own;
        }
        self.rows
    }

    /// Converts between natural and lifted rows by transposes of as many quads as a quad has numbers.
    ///
    /// With `lift`, quads that are a quarter of a row apart, or half a row in double precision, become adjacent quads,
    /// otherwise the reverse. With `measured`, the numbers are also squared and added up; in double-single precision
    /// that is done with lifted ones.
    pub(super) fn turn(
        mut self,
        lift: bool,
        measured: bool,
        [from, to]: [RowOperand; 2],
    ) -> RowDataflow {
        let row = self.row();
        let from = self.pointer(from, row);
        let to = self.pointer(to, row);
        // Quads of memory: their transposes also part upper from lower parts, which take turns in natural order.
        self.quads = (row / QUAD) as usize;
        let numbers = numbers_of_quad(self.precision) as usize;
        let part = self.quads / numbers;
        let mut sums = measured.then(|| SquareSums::new(&mut self));
        for k in 0..part {
            self.phase(numbers * k);
            let apart = (0..numbers).map(|l| ((l * part + k) as i64) * QUAD);
            let beside = (0..numbers).map(|l| ((numbers * k + l) as i64) * QUAD);
            let (apart, beside): (Vec<i64>, Vec<i64>) = (apart.collect(), beside.collect());
            let (here, there) = if lift {
                (apart, beside)
            } else {
                (beside, apart)
            };
            let quads: Vec<DataOperand> = here.iter().map(|&at| self.load_quad(from, at)).collect();
            let whole =
                |quads: &[DataOperand]| quads.iter().map(|&quad| NumberQuad::whole(quad)).collect();
            if let (Some(sums), false) = (&mut sums, self.precision == Precision::DoubleSingle) {
                let numbers: Vec<NumberQuad> = whole(&quads);
                sums.add_squares(&mut self, &numbers);
            }
            let turned = match quads[..] {
                [a, b] => ["trnlo", "trnhi"]
                    .map(|half| self.rows.ops.q(half, &[a, b]))
                    .to_vec(),
                [a, b, c, d] => self.rows.ops.lanes([a, b, c, d]).to_vec(),
                _ => quads,
            };
            if let (Some(sums), true) = (&mut sums, self.precision == Precision::DoubleSingle) {
                let parts = turned.as_chunks().0.iter();
                let numbers: Vec<NumberQuad> =
                    parts.map(|&own| NumberQuad::of_parts(own)).collect();
                sums.add_squares(&mut self, &numbers);
            }
            for (quad, bytes) in turned.into_iter().zip(there) {
                self.rows.ops.body.store(quad, to, bytes);
            }
        }
        if let Some(sums) = sums {
            sums.end(&mut self);
        }
        self.rows
    }
}
