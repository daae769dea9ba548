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
        let (r, columns, at_once) = (self.radix, self.columns(), self.at_once());
        let (half, one) = (self.half(), constants.register(Constant::Complex(1.0)));
        let mut looped = Loop::new();
        let up = self.spectra(&mut looped, self.from, false);
        let down = self.spectra(&mut looped, self.from, true);
        let turns = |c: usize| (0..half).map(|m| self.turn(c + m * columns)).collect();
        let lines = (1..=self.couples()).map(turns).collect();
        let turns = self.table(text, &mut looped, name, lines);
        // Column c becomes the numbers c r .., column L - c those from (L - c) r on.
        let (step, numbers) = (self.quads() * r as i64, r as i64);
        let end = self.quads() * self.m as i64;
        let to = [(step, numbers), (end - step, -numbers)].map(|(start, numbers)| {
            let walk = Walk::side_by_side((self.pairs, at_once), numbers);
            looped.stream(Base::Register(self.to, start), walk)
        });

        let body = &mut looped.body;
        for pair in 0..at_once as i64 {
            // X[c + m L] and X[M - c - m L].
            let behind = 2 * pair * self.row();
            let offsets = (0..r).map(|m| COMPLEX * (m * columns) as i64);
            let (ups, downs): (Vec<Value>, Vec<Value>) = offsets
                .map(|offset| {
                    (
                        load_lanes(body, up, behind + offset),
                        load_lanes(body, down, behind - offset),
                    )
                })
                .unzip();

            // The rows of columns c and L - c of Z: the lower half as they are, the
            // upper half conjugated. Row m of L - c is number M - c - (r - 1 - m) L.
            let (mut rows, mut mirrored) = (ups.clone(), ups.clone());
            for m in 0..half {
                let turn = (turns[m], false);
                (rows[m], mirrored[r - 1 - m]) = join(body, (ups[m], downs[m]), turn, one);
                if r > 1 {
                    let partners = (downs[r - 1 - m], ups[r - 1 - m]);
                    let turn = (turns[half - 1 - m], true);
                    (mirrored[m], rows[r - 1 - m]) = join(body, partners, turn, one);
                }
            }
            let column = self.column(Direction::Inverse, &[], constants);
            let (y, below) = if r == 1 {
                (rows, vec![body.quad_op("conj", &[Reg::Whole(mirrored[0])])])
            } else {
                let mut of = |rows: &[Value]| column.transform(body, rows);
                (of(&rows), of(&mirrored))
            };
            for (y, to) in [y, below].iter().zip(to) {
                for (m, &y) in (0..).zip(y) {
                    body.store(Reg::Whole(y), to, m * self.quads() + pair * QUAD);
                }
            }
        }
        let iterations = self.couples() * self.pairs / at_once;
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
                let (z, conjugate) = join(&mut looped.body, (x, y), (turn, false), one);
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

/// Z[k] and conj Z[M-k] from X[k] and X[M-k], and w or, `turned`, v with `conj w = i v`.
fn join(
    body: &mut Body,
    pair: (Value, Value),
    (w, turned): ([Reg; 2], bool),
    one: Reg,
) -> (Value, Value) {
    let (s, d) = mirror(body, pair, one);
    let (z, conjugate) = (body.quad(), body.quad());
    for (lane, w) in LANES.iter().zip(w) {
        let operands = [lane(s), lane(d), w];
        if turned {
            body.op("bfly", &[lane(conjugate), lane(z)], &operands);
        } else {
            body.op("bflyci", &[lane(z), lane(conjugate)], &operands);
        }
    }
    (z, conjugate)
}
