//! A pass of an odd radix from 11 on, as loops over each column.
//!
//! A column of 11 numbers and more, with its constants, does not fit the registers. The first loop makes
//! `x[0]`, the sums `a[k]` and the differences `b[k]` of `butterflies`; the second `y[0]` and `m[j]`, which
//! overwrite `x[0]` and `a[k]`; the third `t[j]` and the results. In the second and third loop h sums are
//! accumulated side by side, so that every number, and every constant for which there is no register, is
//! loaded once. From radix 23 on the third loop is two: one for the sums `t[j]`, which overwrite `b[j]`, and
//! one for the results. Every value that an iteration stores depends on all that it loads from the same
//! place.

use super::assembly_text::AssemblyText;
use super::butterflies::multiply_add;
use super::column_loop::{ColumnLoop, PointerBase, PointerWalk, QUAD};
use super::column_rows::ColumnRows;
use super::radix::is_divided;
use super::radix_constants::{RadixConstant, angle, place, sines};
use super::radix_operands::RadixOperands;
use super::stockham_pass::StockhamPass;
use crate::pipeline::{BlockBody, BodyOperand, BodyPointer, BodyValue};

/// Quad registers for values that are neither sums nor resident constants.
const PASSING_QUADS: usize = 9;
/// All quad registers.
const QUAD_REGISTERS: usize = 32;

/// Buffer of the first loop's results, or of the second loop's sums.
#[derive(Clone, Copy, Debug)]
enum LoopBuffer {
    /// The block that the pass reads.
    Input,
    /// The block that the pass writes.
    Output,
    /// The block at an address register, where a pair of transforms is a column of quads.
    Couple(u8),
}

/// Constants, some in registers, the others in a table.
struct SpilledConstants {
    constants: RadixOperands,
    table: Option<(BodyPointer, Vec<RadixConstant>)>,
}

impl SpilledConstants {
    /// Places the constants of a loop with `sums` sums; the first in the list stay in registers.
    fn new(
        all: Vec<RadixConstant>,
        sums: usize,
        (text, looped): (&mut AssemblyText, &mut ColumnLoop),
        name: &str,
    ) -> Self {
        let stay = all
            .len()
            .min(QUAD_REGISTERS.saturating_sub(PASSING_QUADS + sums));
        let (stay, others) = all.split_at(stay);
        let constants = looped.constants(stay.to_vec());
        let table = (!others.is_empty()).then(|| {
            let line = |c: &RadixConstant| match c {
                RadixConstant::Real(x) => vec![format!(".complex {x:?}, {x:?}")],
                // Constants of another kind come first in the list, so that they are in registers.
                _ => Vec::new(),
            };
            let lines = others.iter().map(line).collect();
            let (label, _) = text.pairs(&format!("scarce{name}"), lines);
            let pointer = looped.stream(PointerBase::Table(label), PointerWalk::Bytes(0));
            (pointer, others.to_vec())
        });
        Self { constants, table }
    }

    /// Returns a register with |k|, which is loaded if it has none.
    fn register(&self, body: &mut BlockBody, k: f64) -> BodyOperand {
        let wanted = RadixConstant::Real(k.abs());
        let loaded = self.table.as_ref().and_then(|(pointer, others)| {
            let at = place(others, wanted)?;
            let quad = body.quad();
            body.load_twice(BodyOperand::Whole(quad), *pointer, 8 * at as i64);
            Some(BodyOperand::Whole(quad))
        });
        loaded.unwrap_or_else(|| self.constants.operand(wanted))
    }

    /// Computes c + k a.
    fn multiply_add(&self, body: &mut BlockBody, k: f64, a: BodyValue, c: BodyValue) -> BodyValue {
        let factor = self.register(body, k);
        multiply_add(body, (k, factor), a, c)
    }
}

impl StockhamPass<'_> {
    fn h(&self) -> usize {
        (self.radix - 1) / 2
    }

    /// Returns the buffers of the first loop's results and of the second loop's sums.
    fn places(&self) -> [LoopBuffer; 2] {
        match (self.loads_apart, self.stores_apart) {
            (_, false) => [LoopBuffer::Output; 2],
            (false, true) => [LoopBuffer::Input; 2],
            // A pair of transforms is one column, in input and output.
            (true, true) => [LoopBuffer::Couple(self.to), LoopBuffer::Couple(self.from)],
        }
    }

    fn rows(&self, place: LoopBuffer, looped: &mut ColumnLoop) -> ColumnRows {
        match place {
            LoopBuffer::Input => self.input(looped),
            LoopBuffer::Output => self.output(looped),
            LoopBuffer::Couple(register) => {
                let walk = PointerWalk::Bytes(QUAD * self.radix as i64);
                ColumnRows::Quads(
                    looped.stream(PointerBase::Register(register, 0), walk),
                    QUAD,
                )
            }
        }
    }

    /// Writes the words and tables of the pass.
    pub(super) fn write_large(&self, text: &mut AssemblyText, name: &str) {
        let [sums, cosines] = self.places();
        self.write_pairs(sums, text, &format!("{name}_pairs"));
        self.write_cosines([sums, cosines], text, &format!("{name}_cosines"));
        self.write_sines([sums, cosines], text, &format!("{name}_sines"))
    }

    /// Writes the first loop: `x[0]`, `a[k]` to rows k and `b[k]` to rows r - k.
    fn write_pairs(&self, to: LoopBuffer, text: &mut AssemblyText, name: &str) {
        let scale = (self.scale != 1.0).then_some(RadixConstant::Real(self.scale));
        let mut looped = ColumnLoop::default();
        let constants = looped.constants(scale.into_iter().collect());
        let (input, output) = (self.input(&mut looped), self.rows(to, &mut looped));
        let x: Vec<_> = (0..self.radix)
            .map(|m| input.load(&mut looped.body, m))
            .collect();
        let factors = self.factors(text, &mut looped, name);
        let pairs = self
            .column(&factors, &constants)
            .pairs(&mut looped.body, &x);
        let first = match scale {
            None => x[0],
            Some(scale) => {
                let operands = [BodyOperand::Whole(x[0]), constants.operand(scale)];
                looped.body.quad_op("mul", &operands)
            }
        };
        output.store(&mut looped.body, 0, first);
        for (k, (a, b)) in (1..).zip(pairs) {
            output.store(&mut looped.body, k, a);
            output.store(&mut looped.body, self.radix - k, b);
        }
        looped.write(text, self.iterations(), name)
    }

    /// Writes the second loop: `m[j] = x[0] + sum of cos(2 pi jk/r) a[k]` to rows j, and the result `y[0]`.
    fn write_cosines(&self, [from, to]: [LoopBuffer; 2], text: &mut AssemblyText, name: &str) {
        let (r, h) = (self.radix, self.h());
        let mut looped = ColumnLoop::in_order();
        let mut all: Vec<RadixConstant> = (1..=h)
            .map(|j| RadixConstant::Real((self.scale * angle(r, j).0).abs()))
            .collect();
        if self.scale != 1.0 {
            all.insert(0, RadixConstant::Real(self.scale));
        }
        let scarce = SpilledConstants::new(all, h + 1, (text, &mut looped), name);
        let a = self.rows(from, &mut looped);
        let first = a.load(&mut looped.body, 0);
        let (mut zero, mut m) = (first, vec![first; h]);
        for k in 1..=h {
            let a = a.load(&mut looped.body, k);
            for (j, m) in (1..).zip(&mut m) {
                let cosine = self.scale * angle(r, j * k).0;
                *m = scarce.multiply_add(&mut looped.body, cosine, a, *m);
            }
            zero = if self.scale == 1.0 {
                let operands = [BodyOperand::Whole(zero), BodyOperand::Whole(a)];
                looped.body.quad_op("add", &operands)
            } else {
                scarce.multiply_add(&mut looped.body, self.scale, a, zero)
            };
        }
        let column = self.column(&[], &scarce.constants);
        let mut results = [zero];
        self.multiply((text, &mut looped), &column, (&mut results, 0), name);
        let output = self.output(&mut looped);
        output.store(&mut looped.body, 0, results[0]);
        let to = self.rows(to, &mut looped);
        for (j, m) in (1..).zip(m) {
            to.store(&mut looped.body, j, m);
        }
        looped.write(text, self.iterations(), name)
    }

    /// Computes the sums `t[j]` side by side, one term of all of them at a time, and says which are negative.
    fn sines(
        &self,
        looped: &mut ColumnLoop,
        scarce: &SpilledConstants,
        from: LoopBuffer,
    ) -> Vec<(BodyValue, bool)> {
        let (r, h) = (self.radix, self.h());
        let b = self.rows(from, looped);
        let rows: Vec<_> = (1..=h).map(|j| sines(r, j)).collect();
        let pivots = rows.iter().map(|(pivot, ..)| r - pivot);
        let mut t: Vec<BodyValue> = pivots.map(|m| b.load(&mut looped.body, m)).collect();
        for k in 1..=h {
            let b = b.load(&mut looped.body, r - k);
            for (t, (_, _, _, others)) in t.iter_mut().zip(&rows) {
                if let Some((_, ratio)) = others.iter().find(|(other, _)| *other == k) {
                    *t = scarce.multiply_add(&mut looped.body, *ratio, b, *t);
                }
            }
        }
        let negative = rows.iter().map(|&(_, _, negative, _)| negative);
        t.into_iter().zip(negative).collect()
    }

    /// Writes the third loop: the results `y[1]` to `y[r - 1]`.
    fn write_sines(&self, [from, cosines]: [LoopBuffer; 2], text: &mut AssemblyText, name: &str) {
        if is_divided(self.radix) {
            return self.write_divided([from, cosines], text, name);
        }
        // The largest sine is the same for all j, and so are the ratios of the others to it.
        let (_, sine, _, others) = sines(self.radix, 1);
        let sine = RadixConstant::Complex(self.scale * sine);
        let parts = others
            .iter()
            .map(|(_, part)| RadixConstant::Real(part.abs()));
        let all = std::iter::once(sine).chain(parts).collect();
        let mut looped = ColumnLoop::in_order();
        let scarce = SpilledConstants::new(all, self.h(), (text, &mut looped), name);
        let t = self.sines(&mut looped, &scarce, from);
        let constants = (&scarce.constants, sine);
        self.write_ends(looped, &t, cosines, text, constants, name)
    }

    /// Writes the results in two loops, of which the first leaves `t[j]` in rows r - j. The sums multiply by
    /// the sines themselves, not by ratios: one operation more for each sum, but no sum begins with a load of
    /// its own.
    fn write_divided(&self, [from, to]: [LoopBuffer; 2], text: &mut AssemblyText, name: &str) {
        let (r, h) = (self.radix, self.h());
        let mut looped = ColumnLoop::in_order();
        let all = (1..=h).map(|j| RadixConstant::Real(angle(r, j).1.abs()));
        let scarce = SpilledConstants::new(all.collect(), h, (text, &mut looped), name);
        let b = self.rows(from, &mut looped);
        let body = &mut looped.body;
        // The sines of the first half of a turn are positive.
        let first = b.load(body, r - 1);
        let mut t: Vec<BodyValue> = (1..=h)
            .map(|j| {
                let sine = scarce.register(body, angle(r, j).1);
                body.quad_op("mul", &[BodyOperand::Whole(first), sine])
            })
            .collect();
        for k in 2..=h {
            let b = b.load(body, r - k);
            for (j, t) in (1..).zip(&mut t) {
                *t = scarce.multiply_add(body, angle(r, j * k).1, b, *t);
            }
        }
        let rows = self.rows(to, &mut looped);
        for (j, &t) in (1..).zip(&t) {
            rows.store(&mut looped.body, r - j, t);
        }
        looped.write(text, self.iterations(), name);

        let name = &format!("{name}_ends");
        let mut looped = ColumnLoop::default();
        let one = RadixConstant::Complex(self.scale);
        let constants = looped.constants(vec![one]);
        let rows = self.rows(to, &mut looped);
        let t: Vec<_> = (1..=h)
            .map(|j| (rows.load(&mut looped.body, r - j), false))
            .collect();
        self.write_ends(looped, &t, to, text, (&constants, one), name)
    }

    /// Adds the butterflies `m[j] -+ i sine t[j]`, where some `t[j]` are negative, and writes the loop.
    fn write_ends(
        &self,
        mut looped: ColumnLoop,
        t: &[(BodyValue, bool)],
        cosines: LoopBuffer,
        text: &mut AssemblyText,
        (constants, sine): (&RadixOperands, RadixConstant),
        name: &str,
    ) {
        let column = self.column(&[], constants);
        let m = self.rows(cosines, &mut looped);
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (j, &(t, negative)) in (1..).zip(t) {
            let m = m.load(&mut looped.body, j);
            let w = [constants.operand(sine); 2];
            let (minus, plus) = column.butterfly(&mut looped.body, (m, t), w, true);
            near.push(if negative { plus } else { minus });
            far.push(if negative { minus } else { plus });
        }
        near.extend(far.into_iter().rev());
        self.multiply((text, &mut looped), &column, (&mut near, 1), name);
        let output = self.output(&mut looped);
        for (j, y) in (1..).zip(near) {
            output.store(&mut looped.body, j, y);
        }
        looped.write(text, self.iterations(), name)
    }
}
