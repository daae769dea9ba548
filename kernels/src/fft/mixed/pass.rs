//! One pass over a block.

use super::dft::{Column, constants, powers};
use super::text::Text;
use super::walk::{Base, COMPLEX, Loop, QUAD, Walk};
use crate::fft::Direction;
use crate::pipeline::{Reg, Unschedulable};
use cp2_machine::Machine;

/// A pass of radix r after L, over a block of 2V transforms of N numbers.
///
/// The transforms come and go one behind the other. In between, number j of
/// transform pair p is the quad j V + p. An iteration takes column c = t L + k
/// of pair p; p runs fastest, then k, then t.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass<'a> {
    pub(super) n: usize,
    pub(super) pairs: usize,
    pub(super) radix: usize,
    pub(super) done: usize,
    pub(super) direction: Direction,
    /// Whether it loads numbers of transforms that lie one behind the other.
    pub(super) loads_apart: bool,
    /// Whether it stores them so.
    pub(super) stores_apart: bool,
    /// What the results of the first pass are multiplied by, 1 or 1/2.
    pub(super) scale: f64,
    /// Numbers that the results of the last pass are multiplied by, as directives.
    pub(super) product: &'a [String],
    /// Address register of the block it reads.
    pub(super) from: u8,
    /// Address register of the block it writes.
    pub(super) to: u8,
}

impl Pass<'_> {
    fn write_walk(&self) -> Walk {
        let (period, done) = (self.done * self.pairs, self.done as i64);
        let jump = (self.radix as i64 - 1) * done * self.quads();
        if self.done * self.radix == self.n {
            Walk::Bytes(QUAD)
        } else if period == 1 {
            Walk::Bytes(QUAD + jump)
        } else {
            Walk::Table(Walk::every(period, QUAD, QUAD + jump), None)
        }
    }

    /// Bytes of one number of all transforms.
    fn quads(&self) -> i64 {
        QUAD * self.pairs as i64
    }

    /// Writes the words and tables of the pass; `name` is unique.
    pub(super) fn write(
        &self,
        text: &mut Text,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        text.label(&format!("pass{name}"));
        let constants = text.constants(name, constants(self.radix, self.done == 1, self.scale));
        let mut looped = Loop::new();
        let rows = (self.n / self.radix) as i64;

        // Two transforms one behind the other have a pointer each.
        let twins = |looped: &mut Loop, block: u8| {
            [0, COMPLEX * self.n as i64].map(|behind| {
                let walk = Walk::apart(self.n, self.pairs, COMPLEX);
                looped.stream(Base::Register(block, behind), walk)
            })
        };
        let x: Vec<_> = (0..self.radix).map(|_| looped.body.quad()).collect();
        if self.loads_apart {
            let [a, b] = twins(&mut looped, self.from);
            for (m, &x) in (0..).zip(&x) {
                looped.body.load(Reg::Lo(x), a, m * rows * COMPLEX);
                looped.body.load(Reg::Hi(x), b, m * rows * COMPLEX);
            }
        } else {
            let a = looped.stream(Base::Register(self.from, 0), Walk::Bytes(QUAD));
            for (m, &x) in (0..).zip(&x) {
                looped.body.load(Reg::Whole(x), a, m * rows * self.quads());
            }
        }

        let mut factors = Vec::new();
        if self.done > 1 {
            let powers = powers(self.radix);
            let circle = self.radix * self.done;
            let lines = (0..self.done).map(|k| {
                // Eighths of a turn occur with radix 8, whose circle is a multiple of 8.
                let factor = |&(power, eighths)| (k * power + eighths * circle / 8, circle);
                powers.iter().map(factor).collect()
            });
            let (label, bytes) = text.roots(name, lines.collect());
            let round = (self.done * self.radix < self.n).then(|| bytes * self.done as i64);
            let walk = Walk::held(self.pairs, bytes, round);
            let pointer = looped.stream(Base::Table(label), walk);
            factors = looped.body.load_pairs(pointer, powers.len());
        }

        let column = Column {
            direction: self.direction,
            factors: &factors,
            constants: &constants,
            mirrored: false,
            scale: self.scale,
        };
        let mut y = column.transform(&mut looped.body, &x);
        if !self.product.is_empty() {
            let result =
                |k: usize| (0..self.radix).map(move |m| self.product[m * self.done + k].clone());
            let lines = (0..self.done).map(|k| result(k).collect());
            let (label, bytes) = text.pairs(&format!("product{name}"), lines.collect());
            let walk = Walk::held(self.pairs, bytes, None);
            let pointer = looped.stream(Base::Table(label), walk);
            let factors = looped.body.load_pairs(pointer, self.radix);
            for (y, factor) in y.iter_mut().zip(factors) {
                *y = column.product(&mut looped.body, *y, factor);
            }
        }

        if self.stores_apart {
            let [a, b] = twins(&mut looped, self.to);
            for (m, &y) in (0..).zip(&y) {
                let offset = m * self.done as i64 * COMPLEX;
                looped.body.store(Reg::Lo(y), a, offset);
                looped.body.store(Reg::Hi(y), b, offset);
            }
        } else {
            let a = looped.stream(Base::Register(self.to, 0), self.write_walk());
            for (m, &y) in (0..).zip(&y) {
                looped
                    .body
                    .store(Reg::Whole(y), a, m * self.done as i64 * self.quads());
            }
        }
        let iterations = self.n / self.radix * self.pairs;
        looped.write(text, machine, &constants, iterations, name)
    }
}
