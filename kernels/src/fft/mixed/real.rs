//! Between the transform of M complex numbers and that of N = 2M real ones.
//!
//! `z[j] = x[2j] + i x[2j+1]` is the real input as it lies in memory, Z its
//! transform, and with `w = exp(-2 pi i k/N)`, P = Z[k], Q = Z[M-k] (Z[M] = Z[0]):
//!
//! * real to complex, from Z/2, which the first pass of the transform makes:
//!   `S, D = P +- conj Q`, `X[k], conj X[M-k] = S -+ i w D`: 2 butterflies for two
//!   numbers, and a conjugation, which as a quad operation serves two transforms;
//! * complex to real: `S, D = P +- conj Q`, `Z[k], conj Z[M-k] = S +- i conj(w) D`
//!   with P = X[k], Q = X[M-k]: 2 butterflies for two numbers. It gives N times the input.
//!
//! Either is done together with a pass of the transform, of radix r: columns c
//! and L - c of the last (or, with L = M/r, the first) pass have all the partners of
//! their numbers, number c + m L being that of (L - c) + (r - 1 - m) L. Columns 0 and
//! L/2, whose numbers are partners of each other, make a loop of their own.

use super::dft::{Column, Constant, LANES, constants, mirror, powers};
use super::text::{Constants, Text};
use super::walk::{Base, COMPLEX, Loop, QUAD, Walk};
use crate::fft::Direction;
use crate::pipeline::{Body, Pointer, Reg, Unschedulable, Value};
use cp2_machine::Machine;

/// The pass at the side of the real numbers' spectrum, over a block of 2V transforms.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealPass {
    /// Complex numbers of a transform, M.
    pub(super) m: usize,
    pub(super) pairs: usize,
    /// The radix of the pass of the transform that it does as well; 1: none.
    pub(super) radix: usize,
    /// Address register of the block it reads.
    pub(super) from: u8,
    /// Address register of the block it writes.
    pub(super) to: u8,
}

/// A column by itself: its index, and for each of its numbers that has a partner
/// in the column, or is its own, both.
type Alone = (usize, Vec<(usize, usize)>);

impl RealPass {
    /// Columns of the transform's pass, L.
    fn columns(&self) -> usize {
        self.m / self.radix
    }

    /// Couples of columns: c and L - c are not the same.
    pub(super) fn couples(&self) -> usize {
        (self.columns() - 1) / 2
    }

    /// Columns 0 and, where there is one, L/2.
    pub(super) fn alone(&self) -> Vec<Alone> {
        let (r, columns) = (self.radix, self.columns());
        let zero = (0..=r / 2).map(|m| (m, (r - m) % r)).collect();
        let mut all = vec![(0, zero)];
        if columns % 2 == 0 {
            let middle = (0..r.div_ceil(2)).map(|m| (m, r - 1 - m)).collect();
            all.push((columns / 2, middle));
        }
        all
    }

    /// Bytes of one number of all transforms.
    fn quads(&self) -> i64 {
        QUAD * self.pairs as i64
    }

    /// Bytes from a row of the pass to the next.
    fn round(&self) -> i64 {
        self.quads() * self.columns() as i64
    }

    /// Bytes of a spectrum.
    fn row(&self) -> i64 {
        COMPLEX * (self.m as i64 + 1)
    }

    /// Two pointers to the spectra of the pairs, upwards from X[1] or downwards from X[M - 1].
    fn spectra(&self, looped: &mut Loop, block: u8, down: bool) -> [Pointer; 2] {
        [0, self.row()].map(|behind| {
            let step = if down { -COMPLEX } else { COMPLEX };
            let walk = Walk::apart(self.m + 1, self.pairs, step);
            let (start, inside) = if down {
                (
                    self.row() - 2 * COMPLEX,
                    COMPLEX * (self.couples() as i64 + 1),
                )
            } else {
                (COMPLEX, 0)
            };
            looped.stream_inside(Base::Register(block, behind + start), walk, inside)
        })
    }

    /// Two pointers to the beginnings of the spectra of the pairs.
    fn beginnings(&self, looped: &mut Loop, block: u8) -> [Pointer; 2] {
        // Too far for an immediate step where transforms are long.
        let (pair, pairs) = (2 * self.row(), self.pairs as i64);
        [0, self.row()].map(|behind| {
            let walk = Walk::Modulo(pair, pair * pairs);
            looped.stream(Base::Register(block, behind), walk)
        })
    }

    /// A table that all pairs share: `count` lines of `line`.
    fn table(
        &self,
        text: &mut Text,
        looped: &mut Loop,
        name: &str,
        lines: Vec<Vec<String>>,
    ) -> Vec<[Reg; 2]> {
        let (count, length) = (lines.len(), lines.first().map_or(0, Vec::len));
        let (label, bytes) = text.pairs(&format!("factors{name}"), lines);
        let walk = match count {
            1 => Walk::Bytes(0),
            _ => Walk::held(self.pairs, bytes, None),
        };
        let pointer = looped.stream(Base::Table(label), walk);
        looped.body.load_pairs(pointer, length)
    }

    /// exp(-2 pi i k/N) as a directive.
    fn turn(&self, k: usize) -> String {
        format!(".cis -{k}, {}", 2 * self.m)
    }

    /// The factors of a column of the transform's pass.
    fn powers(&self, c: usize) -> Vec<String> {
        let factor = |&(power, eighths): &(usize, usize)| {
            format!(".cis -{}, {}", c * power + eighths * self.m / 8, self.m)
        };
        powers(self.radix).iter().map(factor).collect()
    }

    /// The column's rows, through a pointer to its first.
    fn load_rows(&self, body: &mut Body, pointer: Pointer, offset: i64) -> Vec<Value> {
        let load = |m: usize| {
            let x = body.quad();
            let at = offset + m as i64 * self.round();
            body.load(Reg::Whole(x), pointer, at);
            x
        };
        (0..self.radix).map(load).collect()
    }

    fn column<'a>(
        &self,
        direction: Direction,
        factors: &'a [[Reg; 2]],
        constants: &'a Constants,
    ) -> Column<'a> {
        Column {
            direction,
            factors,
            constants,
            mirrored: direction == Direction::Inverse,
            scale: 1.0,
        }
    }

    /// Real to complex: the last pass of the transform and the split.
    pub(super) fn split(
        &self,
        text: &mut Text,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        text.label(&format!("split{name}"));
        let mut wanted = constants(self.radix, false, 1.0);
        wanted.push(Constant::Complex(1.0));
        let constants = text.constants(name, wanted);
        if self.couples() > 0 {
            self.split_couples(text, machine, &constants, name)?;
        }
        self.split_alone(text, machine, &constants, &format!("{name}a"))
    }

    fn split_couples(
        &self,
        text: &mut Text,
        machine: &Machine,
        constants: &Constants,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let (r, columns) = (self.radix, self.columns());
        let mut looped = Loop::new();
        // Column c upwards, column L - c downwards.
        let up = Base::Register(self.from, self.quads());
        let up = looped.stream(up, Walk::Bytes(QUAD));
        let down = Base::Register(self.from, self.round() - self.quads());
        let down = looped.stream(down, Walk::side_by_side(self.pairs, -1, None));
        let rows = [up, down].map(|pointer| self.load_rows(&mut looped.body, pointer, 0));

        let line = |c: usize| {
            let turns = (0..r).map(|m| self.turn(c + m * columns)).collect();
            [self.powers(c), self.powers(columns - c), turns].concat()
        };
        let lines = (1..=self.couples()).map(line).collect();
        let factors = self.table(text, &mut looped, name, lines);
        let count = powers(r).len();
        let (first, rest) = factors.split_at(count);
        let (second, turns) = rest.split_at(count);
        let [above, below] = [(&rows[0], first), (&rows[1], second)].map(|(x, factors)| {
            let column = self.column(Direction::Forward, factors, constants);
            column.transform(&mut looped.body, x)
        });

        let up = self.spectra(&mut looped, self.to, false);
        let down = self.spectra(&mut looped, self.to, true);
        for m in 0..r {
            let pair = (above[m], below[r - 1 - m]);
            let (x, mirrored) = separate(&mut looped.body, pair, turns[m], constants);
            let offset = COMPLEX * (m * columns) as i64;
            for (lane, (up, down)) in LANES.iter().zip(up.into_iter().zip(down)) {
                looped.body.store(lane(x), up, offset);
                looped.body.store(lane(mirrored), down, -offset);
            }
        }
        let iterations = self.couples() * self.pairs;
        looped.write(text, machine, constants, iterations, name)
    }

    fn split_alone(
        &self,
        text: &mut Text,
        machine: &Machine,
        constants: &Constants,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let (columns, alone) = (self.columns(), self.alone());
        let mut looped = Loop::new();
        let from = looped.stream(Base::Register(self.from, 0), Walk::Bytes(QUAD));
        let turns = |&(c, ref pairs): &Alone| -> Vec<String> {
            let turns = pairs.iter().map(|&(m, _)| self.turn(c + m * columns));
            turns.collect()
        };
        let own = alone.iter().flat_map(|(c, _)| self.powers(*c));
        let line = own.chain(alone.iter().flat_map(turns)).collect();
        let factors = self.table(text, &mut looped, name, vec![line]);
        let (own, mut turns) = factors.split_at(powers(self.radix).len() * alone.len());
        let to = self.beginnings(&mut looped, self.to);
        for (i, (c, pairs)) in alone.iter().enumerate() {
            let count = own.len() / alone.len();
            let factors = &own[i * count..(i + 1) * count];
            let rows = self.load_rows(&mut looped.body, from, *c as i64 * self.quads());
            let column = self.column(Direction::Forward, factors, constants);
            let z = column.transform(&mut looped.body, &rows);
            for &(m, partner) in pairs {
                let (turn, rest) = turns.split_at(1);
                turns = rest;
                let pair = (z[m], z[partner]);
                let (x, mirrored) = separate(&mut looped.body, pair, turn[0], constants);
                let k = c + m * columns;
                for (lane, to) in LANES.iter().zip(to) {
                    looped.body.store(lane(x), to, COMPLEX * k as i64);
                    if 2 * k != self.m {
                        let k = self.m - k;
                        looped.body.store(lane(mirrored), to, COMPLEX * k as i64);
                    }
                }
            }
        }
        looped.write(text, machine, constants, self.pairs, name)
    }

    /// Complex to real: the merge and the first pass of the inverse transform,
    /// of radix 1 or even.
    pub(super) fn merge(
        &self,
        text: &mut Text,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        text.label(&format!("merge{name}"));
        let mut wanted = constants(self.radix, true, 1.0);
        if self.radix <= 2 {
            wanted.push(Constant::Complex(1.0));
        }
        let constants = text.constants(name, wanted);
        if self.couples() > 0 {
            self.merge_couples(text, machine, &constants, name)?;
        }
        self.merge_alone(text, machine, &constants, &format!("{name}a"))
    }

    fn merge_couples(
        &self,
        text: &mut Text,
        machine: &Machine,
        constants: &Constants,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let (r, columns) = (self.radix, self.columns());
        let mut looped = Loop::new();
        let up = self.spectra(&mut looped, self.from, false);
        let down = self.spectra(&mut looped, self.from, true);
        // X[c + m L] and X[M - c - m L].
        let offsets = (0..r).map(|m| COMPLEX * (m * columns) as i64);
        let (ups, downs): (Vec<Value>, Vec<Value>) = offsets
            .map(|offset| {
                (
                    load_lanes(&mut looped.body, up, offset),
                    load_lanes(&mut looped.body, down, -offset),
                )
            })
            .unzip();

        // The rows of columns c and L - c of Z: the lower half as they are, the
        // upper half conjugated. Row m of L - c is number M - c - (r - 1 - m) L.
        let half = (r / 2).max(1);
        let turns = |c: usize| -> Vec<String> {
            let low = |m: usize| {
                let second = (r > 1).then(|| self.turn(columns - c + m * columns));
                std::iter::once(self.turn(c + m * columns)).chain(second)
            };
            (0..half).flat_map(low).collect()
        };
        let lines = (1..=self.couples()).map(turns).collect();
        let w = self.table(text, &mut looped, name, lines);
        let one = constants.register(Constant::Complex(1.0));
        let (mut rows, mut mirrored) = (ups.clone(), ups.clone());
        let mut w = w.into_iter();
        let mut next = || w.next().unwrap_or([Reg::Pair(u8::MAX); 2]);
        for m in 0..half {
            let (z, conjugate) = join(&mut looped.body, (ups[m], downs[m]), next(), one);
            (rows[m], mirrored[r - 1 - m]) = (z, conjugate);
            if r > 1 {
                let partners = (downs[r - 1 - m], ups[r - 1 - m]);
                let (z, conjugate) = join(&mut looped.body, partners, next(), one);
                (mirrored[m], rows[r - 1 - m]) = (z, conjugate);
            }
        }
        let column = self.column(Direction::Inverse, &[], constants);
        let (mut y, mut below) = (rows, mirrored);
        if r == 1 {
            below = vec![looped.body.quad_op("conj", &[Reg::Whole(below[0])])];
        } else {
            y = column.transform(&mut looped.body, &y);
            below = column.transform(&mut looped.body, &below);
        }

        // Column c becomes the numbers c r .., column L - c those from (L - c) r on.
        let (step, numbers) = (self.quads() * r as i64, r as i64);
        let end = self.quads() * self.m as i64;
        for (y, start, numbers) in [(y, step, numbers), (below, end - step, -numbers)] {
            let walk = Walk::side_by_side(self.pairs, numbers, None);
            let pointer = looped.stream(Base::Register(self.to, start), walk);
            for (m, &y) in (0..).zip(&y) {
                looped.body.store(Reg::Whole(y), pointer, m * self.quads());
            }
        }
        let iterations = self.couples() * self.pairs;
        looped.write(text, machine, constants, iterations, name)
    }

    fn merge_alone(
        &self,
        text: &mut Text,
        machine: &Machine,
        constants: &Constants,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let (r, columns, alone) = (self.radix, self.columns(), self.alone());
        let mut looped = Loop::new();
        let from = self.beginnings(&mut looped, self.from);
        let to = looped.stream(Base::Register(self.to, 0), Walk::Bytes(QUAD));
        let turns = alone.iter().flat_map(|(c, pairs)| {
            let turn = |&(m, _): &(usize, usize)| self.turn(c + m * columns);
            pairs.iter().map(turn).collect::<Vec<_>>()
        });
        let line = turns.collect();
        let mut turns = self.table(text, &mut looped, name, vec![line]).into_iter();
        let one = constants.register(Constant::Complex(1.0));
        for (c, pairs) in &alone {
            let mut rows = Vec::new();
            for &(m, partner) in pairs {
                let k = (c + m * columns) as i64;
                let x = load_lanes(&mut looped.body, from, COMPLEX * k);
                let y = load_lanes(&mut looped.body, from, COMPLEX * (self.m as i64 - k));
                let turn = turns.next().unwrap_or([Reg::Pair(u8::MAX); 2]);
                let (z, conjugate) = join(&mut looped.body, (x, y), turn, one);
                // The upper half of the rows conjugated.
                if m < r.div_ceil(2) {
                    rows.push((m, z));
                }
                if partner >= r.div_ceil(2) {
                    rows.push((partner, conjugate));
                }
            }
            rows.sort_by_key(|&(m, _)| m);
            let rows: Vec<Value> = rows.into_iter().map(|(_, z)| z).collect();
            let y = match r {
                1 => rows,
                _ => self
                    .column(Direction::Inverse, &[], constants)
                    .transform(&mut looped.body, &rows),
            };
            for (m, &y) in y.iter().enumerate() {
                let number = (c * r + m) as i64;
                looped.body.store(Reg::Whole(y), to, number * self.quads());
            }
        }
        looped.write(text, machine, constants, self.pairs, name)
    }
}

/// A number of each of two transforms.
fn load_lanes(body: &mut Body, pointers: [Pointer; 2], offset: i64) -> Value {
    let x = body.quad();
    for (lane, pointer) in LANES.iter().zip(pointers) {
        body.load(lane(x), pointer, offset);
    }
    x
}

/// X[k] and X[M-k] from Z[k]/2 and Z[M-k]/2.
fn separate(
    body: &mut Body,
    pair: (Value, Value),
    w: [Reg; 2],
    constants: &Constants,
) -> (Value, Value) {
    let one = constants.register(Constant::Complex(1.0));
    let (s, d) = mirror(body, pair, one);
    let (x, conjugate) = (body.quad(), body.quad());
    for (lane, w) in LANES.iter().zip(w) {
        body.op("bflyn", &[lane(x), lane(conjugate)], &[lane(s), lane(d), w]);
    }
    (x, body.quad_op("conj", &[Reg::Whole(conjugate)]))
}

/// Z[k] and conj Z[M-k] from X[k] and X[M-k].
fn join(body: &mut Body, pair: (Value, Value), w: [Reg; 2], one: Reg) -> (Value, Value) {
    let (s, d) = mirror(body, pair, one);
    let (z, conjugate) = (body.quad(), body.quad());
    for (lane, w) in LANES.iter().zip(w) {
        body.op(
            "bflyci",
            &[lane(z), lane(conjugate)],
            &[lane(s), lane(d), w],
        );
    }
    (z, conjugate)
}
