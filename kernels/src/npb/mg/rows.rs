//! Loops over rows of an operator, on rows in the lifted layout.
//!
//! An iteration computes one row of the result, or the rows that belong to one row of the coarser level.
//!
//! In a *lifted* row of n points, quad X holds the points X, X + n/L, .. of which there are as many as a quad has
//! numbers: L = 4 in single precision, L = 2 in double precision. So the neighbours along x of a quad are the
//! adjacent quads. Only at the ends of a row the numbers of a quad are rotated by one, which closes the periodic
//! ring. The point 2 J + 1 of a row is in the place of a quad that J has in a row of the coarser level.
//!
//! The coarsest rows have two points. In single precision they are stored as rows of four, the two points twice: a
//! sequence of period 2 also has the period 4.

use crate::pipeline::{Body, Ops, Pointer, Reg, Step};
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

/// Returns how many numbers of a precision a quad holds.
pub(super) fn numbers_of_quad(precision: Precision) -> u64 {
    QUAD as u64 / precision.bytes()
}

/// Returns the lanes of a quad whose numbers are all the same one.
pub(super) fn fill_quad(precision: Precision, value: f64) -> [u32; 4] {
    match precision {
        Precision::Single => [(value as f32).to_bits(); 4],
        Precision::Double => {
            let bits = value.to_bits();
            let [low, high] = [bits as u32, (bits >> 32) as u32];
            [low, high, low, high]
        }
    }
}

/// Returns the mnemonic of an operation on the numbers of a precision, given that of single precision. Operations that
/// move bits are the same in all.
fn mnemonic(precision: Precision, name: &'static str) -> &'static str {
    match (precision, name) {
        (Precision::Double, "add") => "dadd",
        (Precision::Double, "mul") => "dmul",
        (Precision::Double, "madd") => "dmadd",
        (Precision::Double, "nmsub") => "dnmsub",
        (Precision::Single | Precision::Double, name) => name,
    }
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
    pub(super) pointers: Vec<(Pointer, RowOperand)>,
    /// Quad register that is carried through all iterations of a page and stored behind them.
    pub(super) sum: Option<u8>,
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

/// Sums of squares of a row, in as many chains as hide the latency of a multiply-add, and the quad register
/// that they are added to.
pub(super) struct SquareSums {
    carried: Reg,
    chains: [Option<Reg>; 4],
}

/// Cycles that the interval of a loop with sums is longer than the least.
const FREE: usize = 4;

impl SquareSums {
    /// Reserves the carried quad of a loop.
    pub(super) fn new(maker: &mut RowBuilder) -> Self {
        let carried = maker.rows.ops.carry();
        maker.rows.sum = Some(carried);
        Self {
            carried: Reg::Quad(carried),
            chains: [None; 4],
        }
    }

    /// Adds the square of quad x of the row.
    pub(super) fn square(&mut self, maker: &mut RowBuilder, x: usize, value: Reg) {
        let chain = &mut self.chains[x % 4];
        *chain = Some(match *chain {
            Some(sum) => maker.q("madd", &[value, value, sum]),
            None => maker.q("mul", &[value, value]),
        });
    }

    /// Adds the sums of the row to the carried quad.
    pub(super) fn end(self, maker: &mut RowBuilder) {
        let chains: Vec<Reg> = self.chains.into_iter().flatten().collect();
        let add = mnemonic(maker.precision, "add");
        let all = maker.rows.ops.tournament(add, &chains);
        let carried = self.carried;
        // The free cycles let the end of the row be issued within the next interval, not later.
        maker.rows.ops.body.spare = FREE;
        maker.rows.ops.body.op(add, &[carried], &[carried, all]);
    }
}

/// Builds the dataflow of an iteration over rows.
pub(super) struct RowBuilder {
    pub(super) rows: RowDataflow,
    precision: Precision,
    /// Number of quads of a row, of the coarser level where there are two.
    pub(super) quads: usize,
}

/// Returns a0, a2 and a3 / a2, which are all of A: it has no weight for faces (a1).
pub(super) fn residual_constants([centre, _, edges, corners]: [f64; 4]) -> [f64; 3] {
    [centre, edges, corners / edges]
}

/// Returns c0, c2 and c1 / c2, which are all of S: it has no weight for corners (c3).
pub(super) fn smoother_constants([centre, faces, edges, _]: [f64; 4]) -> [f64; 3] {
    [centre, edges, faces / edges]
}

impl RowBuilder {
    /// Begins a dataflow with constants, for rows of so many quads.
    pub(super) fn new(precision: Precision, quads: usize, constants: &[f64]) -> Self {
        let constants = constants.iter().map(|&c| fill_quad(precision, c));
        Self {
            rows: RowDataflow {
                ops: Ops::from_quads(Body::evenly(), constants.collect()),
                pointers: Vec::new(),
                sum: None,
            },
            precision,
            quads,
        }
    }

    /// Returns the bytes of a row.
    pub(super) fn row(&self) -> i64 {
        self.quads as i64 * QUAD
    }

    /// Returns the register of a constant.
    pub(super) fn constant(&self, index: usize) -> Reg {
        self.rows.ops.constant(index)
    }

    /// Applies an operation to whole quads of the rows' precision; it is named as in single precision.
    pub(super) fn q(&mut self, name: &'static str, uses: &[Reg]) -> Reg {
        self.rows.ops.q(mnemonic(self.precision, name), uses)
    }

    /// Adds a pointer that begins at a place and advances by `step` bytes in an iteration.
    pub(super) fn pointer(&mut self, place: RowOperand, step: i64) -> Pointer {
        let index = self.rows.pointers.len() as u8;
        let pointer = self.rows.ops.body.pointer(index, Step::Bytes(step));
        self.rows.pointers.push((pointer, place));
        pointer
    }

    /// Adds a load of a quad.
    pub(super) fn load(&mut self, pointer: Pointer, bytes: i64) -> Reg {
        let value = Reg::Whole(self.rows.ops.body.quad());
        self.rows.ops.body.load(value, pointer, bytes);
        value
    }

    /// Adds a store of a quad.
    pub(super) fn store(&mut self, value: Reg, pointer: Pointer, bytes: i64) {
        self.rows.ops.body.store(value, pointer, bytes);
    }

    /// Sets the phase: operations that follow may begin when so many quads of the row have been computed.
    pub(super) fn phase(&mut self, quads: usize) {
        let passed = quads as f64 / (self.quads + 1) as f64;
        self.rows.ops.body.phase(passed);
    }

    /// Adds a store into the place that `before` was loaded from.
    pub(super) fn replace(&mut self, value: Reg, before: Reg, pointer: Pointer, bytes: i64) {
        self.rows.ops.body.replace(value, before, pointer, bytes);
    }

    /// Adds a store: into the place of the value `before`, or to a place of its own if there is none.
    fn add_store(&mut self, value: Reg, before: Option<Reg>, pointer: Pointer, bytes: i64) {
        match before {
            Some(before) => self.replace(value, before, pointer, bytes),
            None => self.store(value, pointer, bytes),
        }
    }

    /// Returns the left neighbour of a row's first quad, given its last quad.
    pub(super) fn turned_right(&mut self, last: Reg) -> Reg {
        let lanes = match self.precision {
            Precision::Single => LAST_TO_FIRST,
            Precision::Double => HALVES,
        };
        self.lanes(last, lanes)
    }

    /// Returns the right neighbour of a row's last quad, given its first quad.
    pub(super) fn rotate_first_quad(&mut self, first: Reg) -> Reg {
        let lanes = match self.precision {
            Precision::Single => FIRST_TO_LAST,
            Precision::Double => HALVES,
        };
        self.lanes(first, lanes)
    }

    /// Permutes the lanes of a quad.
    fn lanes(&mut self, from: Reg, lanes: i64) -> Reg {
        Reg::Whole(self.rows.ops.body.quad_immediate("perm", &[from], lanes))
    }

    /// Adds pointers to the three planes of a window, each at the row before the block's.
    fn add_plane_pointers(&mut self) -> [Pointer; 3] {
        let row = self.row();
        [0, 1, 2].map(|z| self.pointer(RowOperand::Plane(z, -row), row))
    }

    /// Returns sums over the 3 x 3 neighbourhood across x: the centre, the sum of the four adjacent to it,
    /// and the sum of the four at the corners.
    ///
    /// The pointers are at the first row of the neighbourhood.
    fn sum_neighbourhood(&mut self, planes: [Pointer; 3], x: usize) -> [Reg; 3] {
        let row = self.row();
        let at = |y: i64| y * row + x as i64 * QUAD;
        let [near, mid, far] = planes;
        let sum = |maker: &mut Self, a: (Pointer, i64), b: (Pointer, i64)| {
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
        mut begin: impl FnMut(&mut Self, usize, usize) -> ([Reg; N], T),
        mut end: impl FnMut(&mut Self, usize, [Reg; N], T, [[Reg; N]; 2]),
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

    /// Computes `v - a0 u - a2 (corners + G(x-1) + G(x+1))`, `G = beside + a3/a2 corners`: eleven operations
    /// a quad.
    pub(super) fn residual(mut self) -> RowDataflow {
        let planes = [(); 3].map(|()| self.add_plane_pointers());
        let row = self.row();
        let v = self.pointer(RowOperand::Input(1, 0), row);
        let r = self.pointer(RowOperand::Output(0, 0), row);
        let [centre, edges, ratio] = [0, 1, 2].map(|i| self.constant(i));
        self.chain(
            |maker, x, by| {
                let [u, beside, corners] = maker.sum_neighbourhood(planes[by], x);
                let side = maker.q("madd", &[corners, ratio, beside]);
                ([side], (u, corners))
            },
            |maker, x, _, (u, corners), [[left], [right]]| {
                let v = maker.load(v, x as i64 * QUAD);
                let own = maker.q("nmsub", &[u, centre, v]);
                let sum = maker.q("add", &[corners, left]);
                let sum = maker.q("add", &[sum, right]);
                let result = maker.q("nmsub", &[sum, edges, own]);
                maker.replace(result, v, r, x as i64 * QUAD);
            },
        );
        self.rows
    }

    /// Computes `u + c0 r + c2 (corners + c1/c2 beside + K(x-1) + K(x+1))`, `K = beside + c1/c2 r`: twelve
    /// operations a quad.
    pub(super) fn smooth(mut self, add: bool) -> RowDataflow {
        let planes = [(); 3].map(|()| self.add_plane_pointers());
        let row = self.row();
        let u = add.then(|| self.pointer(RowOperand::Input(1, 0), row));
        let out = self.pointer(RowOperand::Output(0, 0), row);
        let [centre, edges, ratio] = [0, 1, 2].map(|i| self.constant(i));
        self.chain(
            |maker, x, by| {
                let [r, beside, corners] = maker.sum_neighbourhood(planes[by], x);
                let side = maker.q("madd", &[r, ratio, beside]);
                ([side], (r, beside, corners))
            },
            |maker, x, _, (r, beside, corners), [[left], [right]]| {
                let inner = maker.q("madd", &[beside, ratio, corners]);
                let u = u.map(|u| maker.load(u, x as i64 * QUAD));
                let own = match u {
                    Some(u) => maker.q("madd", &[r, centre, u]),
                    None => maker.q("mul", &[r, centre]),
                };
                let sum = maker.q("add", &[inner, left]);
                let sum = maker.q("add", &[sum, right]);
                let result = maker.q("madd", &[sum, edges, own]);
                maker.add_store(result, u, out, x as i64 * QUAD);
            },
        );
        self.rows
    }

    /// Computes a quad of the coarser level, `mid / 2 + (near + far) / 4`. Constants are a half and a
    /// quarter.
    fn halved(&mut self, [near, mid, far]: [Reg; 3]) -> Reg {
        let [half, quarter] = [0, 1].map(|i| self.constant(i));
        let own = self.q("mul", &[mid, half]);
        let sides = self.q("add", &[near, far]);
        self.q("madd", &[sides, quarter, own])
    }

    /// Iterates over the quads of a row of the coarser level.
    ///
    /// `across` computes a quad of the finer level, `end` gets the quad that is made of these.
    pub(super) fn coarsened(
        &mut self,
        mut across: impl FnMut(&mut Self, usize) -> Reg,
        mut end: impl FnMut(&mut Self, usize, Reg),
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
        let [half, quarter] = [0, 1].map(|i| self.constant(i));
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
            maker.store(quad, out, j as i64 * QUAD);
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
            let at = j as i64 * QUAD;
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
        let put = |maker: &mut Self, sum: Reg, weight: usize, (z, y): (usize, usize), x: usize| {
            let at = y as i64 * fine + x as i64 * QUAD;
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
    /// otherwise the reverse. With `measured`, the quads are also squared and added up.
    pub(super) fn turn(
        mut self,
        lift: bool,
        measured: bool,
        [from, to]: [RowOperand; 2],
    ) -> RowDataflow {
        let row = self.row();
        let from = self.pointer(from, row);
        let to = self.pointer(to, row);
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
            let quads: Vec<Reg> = here.iter().map(|&at| self.load(from, at)).collect();
            if let Some(sums) = &mut sums {
                for (x, &quad) in quads.iter().enumerate() {
                    sums.square(&mut self, x, quad);
                }
            }
            let turned = match quads[..] {
                [a, b] => ["trnlo", "trnhi"]
                    .map(|half| self.q(half, &[a, b]))
                    .to_vec(),
                [a, b, c, d] => self.rows.ops.lanes([a, b, c, d]).to_vec(),
                _ => quads,
            };
            for (quad, bytes) in turned.into_iter().zip(there) {
                self.store(quad, to, bytes);
            }
        }
        if let Some(sums) = sums {
            sums.end(&mut self);
        }
        self.rows
    }
}
