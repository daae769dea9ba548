//! Between the transform of M complex numbers and that of N = 2M real ones.
//!
//! `z[j] = x[2j] + i x[2j+1]` is the real input as it lies in memory, Z its
//! transform, and with `w = exp(-2 pi i k/N)`, P = Z[k], Q = Z[M-k] (Z[M] = Z[0]):
//!
//! * real to complex: `D = P - conj Q`, `beta = (1 + i w)/2`,
//!   `X[k] = P - beta D`, `X[M-k] = Q + conj(beta D)`: 3 issues for two numbers;
//! * complex to real: `S, D = P +- conj Q`, `Z[k], conj Z[M-k] = S +- i conj(w) D`
//!   with P = X[k], Q = X[M-k]: 2 butterflies for two numbers. It gives N times the input.
//!
//! Either is done together with a pass of the transform, of radix r: columns c
//! and L - c of the last (or, with L = M/r, the first) pass have all the partners of
//! their numbers, number c + m L being that of (L - c) + (r - 1 - m) L.

use super::dft::{Column, Constant, LANES, constants, mirror, powers};
use super::text::Text;
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

impl RealPass {
    /// Columns c of which L - c is no other: 0 .. L/2.
    fn columns(&self) -> usize {
        self.m / self.radix / 2 + 1
    }

    /// Bytes of one number of all transforms.
    fn quads(&self) -> i64 {
        QUAD * self.pairs as i64
    }

    /// Two pointers to the spectra of the pairs, upwards from X[0] or downwards from X[M].
    fn spectra(&self, looped: &mut Loop, block: u8, down: bool) -> [Pointer; 2] {
        let row = COMPLEX * (self.m as i64 + 1);
        [0, row].map(|behind| {
            let step = if down { -COMPLEX } else { COMPLEX };
            let walk = Walk::apart(self.m + 1, self.pairs, step);
            let (start, inside) = if down {
                (row - COMPLEX, COMPLEX * self.columns() as i64)
            } else {
                (0, 0)
            };
            looped.stream_inside(Base::Register(block, behind + start), walk, inside)
        })
    }

    /// Real to complex: the last pass of the transform and the split.
    pub(super) fn split(
        &self,
        text: &mut Text,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let (r, columns) = (self.radix, self.m / self.radix);
        text.label(&format!("split{name}"));
        let mut wanted = constants(r, false);
        wanted.push(Constant::Complex(1.0));
        let constants = text.constants(name, wanted);
        let mut looped = Loop::new();

        // Column c upwards, column (L - c) mod L downwards.
        let round = self.quads() * columns as i64;
        let up = looped.stream(Base::Register(self.from, 0), Walk::Bytes(QUAD));
        let down = looped.stream(
            Base::Register(self.from, 0),
            Walk::side_by_side(self.pairs, -1, Some(round)),
        );
        let rows: Vec<Vec<Value>> = [up, down]
            .into_iter()
            .map(|pointer| {
                let load = |m: usize| {
                    let x = looped.body.quad();
                    looped.body.load(Reg::Whole(x), pointer, m as i64 * round);
                    x
                };
                (0..r).map(load).collect()
            })
            .collect();

        let powers = powers(r);
        let line = |c: usize| -> Vec<String> {
            let factor = |c: usize| {
                powers.iter().map(move |(power, eighths)| {
                    format!(".cis -{}, {}", c * power + eighths * self.m / 8, self.m)
                })
            };
            let betas = (0..r).map(|m| beta(c + m * columns, self.m));
            factor(c).chain(factor(columns - c)).chain(betas).collect()
        };
        let (label, bytes) = text.pairs(
            &format!("factors{name}"),
            (0..self.columns()).map(line).collect(),
        );
        let walk = Walk::held(self.pairs, bytes, None);
        let pointer = looped.stream(Base::Table(label), walk);
        let factors = looped.body.load_pairs(pointer, 2 * powers.len() + r);
        let (own, betas) = factors.split_at(2 * powers.len());
        let spectra: Vec<Vec<Value>> = rows
            .iter()
            .zip(
                own.chunks(powers.len().max(1))
                    .chain(std::iter::repeat(&[][..])),
            )
            .map(|(x, factors)| {
                let column = Column {
                    direction: Direction::Forward,
                    factors,
                    constants: &constants,
                    mirrored: false,
                };
                column.transform(&mut looped.body, x)
            })
            .collect();

        let up = self.spectra(&mut looped, self.to, false);
        let down = self.spectra(&mut looped, self.to, true);
        let one = constants.register(Constant::Complex(1.0));
        for m in 0..r {
            let (p, q) = (spectra[0][m], spectra[1][r - 1 - m]);
            let (x, mirrored) = separate(&mut looped.body, (p, q), betas[m], one);
            let offset = COMPLEX * (m * columns) as i64;
            for (lane, (up, down)) in LANES.iter().zip(up.into_iter().zip(down)) {
                looped.body.store(lane(x), up, offset);
                looped.body.store(lane(mirrored), down, -offset);
            }
        }
        looped.write(text, machine, &constants, self.columns() * self.pairs, name)
    }

    /// Complex to real: the merge and the first pass of the inverse transform,
    /// of radix 1 or even.
    pub(super) fn merge(
        &self,
        text: &mut Text,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let (r, columns) = (self.radix, self.m / self.radix);
        text.label(&format!("merge{name}"));
        let mut wanted = constants(r, true);
        if r <= 2 {
            wanted.push(Constant::Complex(1.0));
        }
        let constants = text.constants(name, wanted);
        let mut looped = Loop::new();
        let up = self.spectra(&mut looped, self.from, false);
        let down = self.spectra(&mut looped, self.from, true);
        let mut load = |pointers: [Pointer; 2], offset: i64| {
            let x = looped.body.quad();
            for (lane, pointer) in LANES.iter().zip(pointers) {
                looped.body.load(lane(x), pointer, offset);
            }
            x
        };
        // X[c + m L] and X[M - c - m L].
        let offsets = (0..r).map(|m| COMPLEX * (m * columns) as i64);
        let (ups, downs): (Vec<Value>, Vec<Value>) = offsets
            .map(|offset| (load(up, offset), load(down, -offset)))
            .unzip();

        // The rows of columns c and L - c of Z: the lower half as they are, the
        // upper half conjugated. Row m of L - c is number M - c - (r - 1 - m) L.
        let half = (r / 2).max(1);
        let turns = |c: usize| -> Vec<String> {
            let root = |k: usize| format!(".cis -{k}, {}", 2 * self.m);
            let low = |m: usize| {
                let second = (r > 1).then(|| root(columns - c + m * columns));
                std::iter::once(root(c + m * columns)).chain(second)
            };
            (0..half).flat_map(low).collect()
        };
        let (label, bytes) = text.pairs(
            &format!("factors{name}"),
            (0..self.columns()).map(turns).collect(),
        );
        let pointer = looped.stream(Base::Table(label), Walk::held(self.pairs, bytes, None));
        let w = looped.body.load_pairs(pointer, if r == 1 { 1 } else { r });
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
        let column = Column {
            direction: Direction::Inverse,
            factors: &[],
            constants: &constants,
            mirrored: true,
        };
        let (mut y, mut below) = (rows, mirrored);
        if r == 1 {
            below = vec![looped.body.quad_op("conj", &[Reg::Whole(below[0])])];
        } else {
            y = column.transform(&mut looped.body, &y);
            below = column.transform(&mut looped.body, &below);
        }

        // Column c becomes the numbers c r .., column L - c those below; column L, behind the end, is none.
        let end = self.quads() * self.m as i64;
        let numbers = r as i64;
        for (y, start, numbers) in [(y, 0, numbers), (below, end, -numbers)] {
            let walk = Walk::side_by_side(self.pairs, numbers, None);
            let pointer = looped.stream(Base::Register(self.to, start), walk);
            for (m, &y) in (0..).zip(&y) {
                looped.body.store(Reg::Whole(y), pointer, m * self.quads());
            }
        }
        looped.write(text, machine, &constants, self.columns() * self.pairs, name)
    }

    /// Bytes that [`RealPass::merge`] writes behind the end of its block.
    pub(super) fn behind(&self) -> u64 {
        self.quads() as u64 * self.radix as u64
    }
}

/// (1 + i w)/2, w = exp(-2 pi i k/N), as a directive: by the exact symmetry
/// between k and M - k, so that partners get the same bits.
fn beta(k: usize, m: usize) -> String {
    let (near, sign) = if 2 * k > m { (m - k, "-") } else { (k, "") };
    let turns = format!("{near}.0/{}", 2 * m);
    format!(".complex (1 + sin({turns}))/2, {sign}cos({turns})/2")
}

/// X[k] and X[M-k] from Z[k] and Z[M-k].
fn separate(body: &mut Body, (p, q): (Value, Value), beta: [Reg; 2], one: Reg) -> (Value, Value) {
    let (d, x, mirrored) = (body.quad(), body.quad(), body.quad());
    for (lane, beta) in LANES.iter().zip(beta) {
        let unused = body.pair();
        body.op("cmsubc", &[lane(d)], &[one, lane(q), lane(p)]);
        body.op("cmsub", &[lane(x)], &[beta, lane(d), lane(p)]);
        let results = [lane(mirrored), Reg::Whole(unused)];
        body.op("bflyyc", &results, &[lane(q), lane(d), beta]);
    }
    (x, mirrored)
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
