//! From half spectra to the first pass of the inverse transform; see `real`.

use super::dft::{Constant, LANES, constants, mirror};
use super::real::RealPass;
use super::text::{Constants, Text};
use super::walk::{Base, COMPLEX, Loop, QUAD, Walk};
use crate::fft::Direction;
use crate::pipeline::{Body, Pointer, Reg, Unschedulable, Value};
use cp2_machine::Machine;

impl RealPass {
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
