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
    pub(super) fn columns(&self) -> usize {
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
    pub(super) fn quads(&self) -> i64 {
        QUAD * self.pairs as i64
    }

    /// Bytes from a row of the pass to the next.
    fn round(&self) -> i64 {
        self.quads() * self.columns() as i64
    }

    /// Bytes of a spectrum.
    pub(super) fn row(&self) -> i64 {
        COMPLEX * (self.m as i64 + 1)
    }

    /// Couples of transforms that an iteration over couples of columns takes: in radix 1
    /// and 2 steps and factors, which they share, are more than the memory slot has room for.
    pub(super) fn at_once(&self) -> usize {
        let even = |&count: &usize| self.pairs % count == 0;
        match self.radix {
            1 | 2 => [4, 2].into_iter().find(even).unwrap_or(1),
            _ => 1,
        }
    }

    /// Different factors of a couple of columns beside the powers: those of the rows
    /// r/2 .. are -i times those of the rows below, and those of column L - c conjugates.
    pub(super) fn half(&self) -> usize {
        (self.radix / 2).max(1)
    }

    /// Two pointers to the spectra of the pairs, upwards from X[1] or downwards from X[M - 1].
    pub(super) fn spectra(&self, looped: &mut Loop, block: u8, down: bool) -> [Pointer; 2] {
        [0, self.row()].map(|behind| {
            let step = if down { -COMPLEX } else { COMPLEX };
            let walk = Walk::apart(self.m + 1, (self.pairs, self.at_once()), step);
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
    pub(super) fn beginnings(&self, looped: &mut Loop, block: u8) -> [Pointer; 2] {
        // Too far for an immediate step where transforms are long.
        let (pair, pairs) = (2 * self.row(), self.pairs as i64);
        [0, self.row()].map(|behind| {
            let walk = Walk::Modulo(pair, pair * pairs);
            looped.stream(Base::Register(block, behind), walk)
        })
    }

    /// A table that all pairs share: `count` lines of `line`.
    pub(super) fn table(
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
            _ => Walk::held(self.pairs / self.at_once(), bytes, None),
        };
        let pointer = looped.stream(Base::Table(label), walk);
        looped.body.load_pairs(pointer, length)
    }

    /// exp(-2 pi i k/N) as a directive.
    pub(super) fn turn(&self, k: usize) -> String {
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

    pub(super) fn column<'a>(
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
            opposite: false,
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
        let (r, columns, at_once) = (self.radix, self.columns(), self.at_once());
        let mut looped = Loop::new();
        // Column c upwards, column L - c downwards.
        let up = Base::Register(self.from, self.quads());
        let up = looped.stream(up, Walk::Bytes(QUAD * at_once as i64));
        let down = Base::Register(self.from, self.round() - self.quads());
        let down = looped.stream(down, Walk::side_by_side((self.pairs, at_once), -1));

        let line = |c: usize| {
            let turns = (0..self.half())
                .map(|m| self.turn(c + m * columns))
                .collect();
            [self.powers(c), turns].concat()
        };
        let lines = (1..=self.couples()).map(line).collect();
        let factors = self.table(text, &mut looped, name, lines);
        let (powers, turns) = factors.split_at(powers(r).len());
        let to_up = self.spectra(&mut looped, self.to, false);
        let to_down = self.spectra(&mut looped, self.to, true);
        for pair in 0..at_once as i64 {
            let columns_of = [(up, false), (down, true)].map(|(pointer, opposite)| {
                let x = self.load_rows(&mut looped.body, pointer, pair * QUAD);
                let column = Column {
                    opposite,
                    ..self.column(Direction::Forward, powers, constants)
                };
                column.transform(&mut looped.body, &x)
            });
            let [above, below] = columns_of;
            for m in 0..r {
                let turn = (turns[m % self.half()], m >= self.half());
                let both = (above[m], below[r - 1 - m]);
                let (x, mirrored) = separate(&mut looped.body, both, turn, constants);
                let (behind, offset) = (2 * pair * self.row(), COMPLEX * (m * columns) as i64);
                for (lane, (up, down)) in LANES.iter().zip(to_up.into_iter().zip(to_down)) {
                    looped.body.store(lane(x), up, behind + offset);
                    looped.body.store(lane(mirrored), down, behind - offset);
                }
            }
        }
        let iterations = self.couples() * self.pairs / at_once;
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
                let turn = (turn[0], false);
                let (x, mirrored) = separate(&mut looped.body, pair, turn, constants);
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
}

/// X[k] and X[M-k] from Z[k]/2 and Z[M-k]/2, and w or, `turned`, what -i is a factor of in w.
fn separate(
    body: &mut Body,
    pair: (Value, Value),
    (w, turned): ([Reg; 2], bool),
    constants: &Constants,
) -> (Value, Value) {
    let one = constants.register(Constant::Complex(1.0));
    let (s, d) = mirror(body, pair, one);
    let (x, conjugate) = (body.quad(), body.quad());
    for (lane, w) in LANES.iter().zip(w) {
        let operands = [lane(s), lane(d), w];
        if turned {
            body.op("bfly", &[lane(conjugate), lane(x)], &operands);
        } else {
            body.op("bflyn", &[lane(x), lane(conjugate)], &operands);
        }
    }
    (x, body.quad_op("conj", &[Reg::Whole(conjugate)]))
}
