//! A pass of a large odd radix: loops over its columns.
//!
//! A column of 11 numbers and more, with its constants, does not fit the registers. The
//! first loop makes `x[0]`, the sums `a[k]` and the differences `b[k]` of `butterflies`; the second `y[0]`
//! and `m[j]`, which overwrite `x[0]` and `a[k]`; the third `t[j]` and the results. In the second and
//! third h sums grow side by side, so that every number is loaded once, and of the constants
//! those for which there is no register. From 23 on the third loop is two, of the sums `t[j]`, in the place
//! of `b[j]`, and of the results. What an iteration stores depends on all that it loads from
//! the same place.

use super::assembly_text::{AssemblyText, ConstantRegisters};
use super::butterflies::multiply_add;
use super::column_loop::{ColumnLoop, PointerBase, PointerWalk, QUAD};
use super::column_rows::ColumnRows;
use super::radix::is_divided;
use super::radix_constants::{RadixConstant, angle, place, sines};
use super::stockham_pass::StockhamPass;
use crate::pipeline::{Body, Pointer, Reg, Unschedulable, Value};
use cp2_machine::Machine;

/// Registers, in quads, for what is neither a sum nor a constant that stays.
const PASSING: usize = 9;
/// All registers, in quads.
const REGISTERS: usize = 32;

/// Where the first loop leaves its results, or the second its sums.
#[derive(Clone, Copy, Debug)]
enum LoopBuffer {
    /// Where the pass reads.
    Input,
    /// Where it writes.
    Output,
    /// The quads that take the place of a couple of transforms, in the block at a register.
    Couple(u8),
}

/// Constants, some in registers, the others in a table.
struct SpilledConstants {
    constants: ConstantRegisters,
    table: Option<(Pointer, Vec<RadixConstant>)>,
}

impl SpilledConstants {
    /// The constants of a loop with so many sums; those first in the list stay in registers.
    fn new(
        all: Vec<RadixConstant>,
        sums: usize,
        (text, looped): (&mut AssemblyText, &mut ColumnLoop),
        name: &str,
    ) -> Self {
        let stay = all.len().min(REGISTERS.saturating_sub(PASSING + sums));
        let (stay, others) = all.split_at(stay);
        let constants = text.constants(name, stay.to_vec());
        let table = (!others.is_empty()).then(|| {
            let line = |c: &RadixConstant| match c {
                RadixConstant::Real(x) => vec![format!(".complex {x:?}, {x:?}")],
                // A pair of another kind would be a bug: these are put first.
                _ => Vec::new(),
            };
            let lines = others.iter().map(line).collect();
            let (label, _) = text.pairs(&format!("scarce{name}"), lines);
            let pointer = looped.stream(PointerBase::Table(label), PointerWalk::Bytes(0));
            (pointer, others.to_vec())
        });
        Self { constants, table }
    }

    /// The register of |k|.
    fn register(&self, body: &mut Body, k: f64) -> Reg {
        let wanted = RadixConstant::Real(k.abs());
        let loaded = self.table.as_ref().and_then(|(pointer, others)| {
            let at = place(others, wanted)?;
            let quad = body.quad();
            body.load_twice(Reg::Whole(quad), *pointer, 8 * at as i64);
            Some(Reg::Whole(quad))
        });
        loaded.unwrap_or_else(|| self.constants.register(wanted))
    }

    /// c + k a.
    fn multiply_add(&self, body: &mut Body, k: f64, a: Value, c: Value) -> Value {
        let factor = self.register(body, k);
        multiply_add(body, (k, factor), a, c)
    }
}

impl StockhamPass<'_> {
    fn h(&self) -> usize {
        (self.radix - 1) / 2
    }

    /// Where the first loop leaves its results and the second its sums.
    fn places(&self) -> [LoopBuffer; 2] {
        match (self.loads_apart, self.stores_apart) {
            (_, false) => [LoopBuffer::Output; 2],
            (false, true) => [LoopBuffer::Input; 2],
            // A couple of transforms is a column, in input and output.
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
    pub(super) fn write_large(
        &self,
        text: &mut AssemblyText,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let [sums, cosines] = self.places();
        self.write_pairs(sums, text, machine, &format!("{name}_pairs"))?;
        self.write_cosines([sums, cosines], text, machine, &format!("{name}_cosines"))?;
        self.write_sines([sums, cosines], text, machine, &format!("{name}_sines"))
    }

    /// `x[0]`, `a[k]` in rows k and `b[k]` in rows r - k.
    fn write_pairs(
        &self,
        to: LoopBuffer,
        text: &mut AssemblyText,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let scale = (self.scale != 1.0).then_some(RadixConstant::Real(self.scale));
        let constants = text.constants(name, scale.into_iter().collect());
        let mut looped = ColumnLoop::new();
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
                let operands = [Reg::Whole(x[0]), constants.register(scale)];
                looped.body.quad_op("mul", &operands)
            }
        };
        output.store(&mut looped.body, 0, first);
        for (k, (a, b)) in (1..).zip(pairs) {
            output.store(&mut looped.body, k, a);
            output.store(&mut looped.body, self.radix - k, b);
        }
        looped.write(text, machine, &constants, self.iterations(), name)
    }

    /// `m[j]` in rows j, and the result y[0].
    fn write_cosines(
        &self,
        [from, to]: [LoopBuffer; 2],
        text: &mut AssemblyText,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
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
                let operands = [Reg::Whole(zero), Reg::Whole(a)];
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
        looped.write(text, machine, &scarce.constants, self.iterations(), name)
    }

    /// The sums `t[j]` side by side, one more term of all of them at a time, and which are negative.
    fn sines(
        &self,
        looped: &mut ColumnLoop,
        scarce: &SpilledConstants,
        from: LoopBuffer,
    ) -> Vec<(Value, bool)> {
        let (r, h) = (self.radix, self.h());
        let b = self.rows(from, looped);
        let rows: Vec<_> = (1..=h).map(|j| sines(r, j)).collect();
        let pivots = rows.iter().map(|(pivot, ..)| r - pivot);
        let mut t: Vec<Value> = pivots.map(|m| b.load(&mut looped.body, m)).collect();
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

    /// The results y[1] to y[r - 1].
    fn write_sines(
        &self,
        [from, cosines]: [LoopBuffer; 2],
        text: &mut AssemblyText,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        if is_divided(self.radix) {
            return self.write_divided([from, cosines], text, machine, name);
        }
        // The largest sine is the same for all j, and so are the others' parts of it.
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
        self.write_ends(looped, &t, cosines, (text, machine), constants, name)
    }

    /// The same in two loops, the first of which leaves `t[j]` in rows r - j. The sums have all sines as
    /// they are: one operation more for each, but none begins with a number of its own.
    fn write_divided(
        &self,
        [from, to]: [LoopBuffer; 2],
        text: &mut AssemblyText,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let (r, h) = (self.radix, self.h());
        let mut looped = ColumnLoop::in_order();
        let all = (1..=h).map(|j| RadixConstant::Real(angle(r, j).1.abs()));
        let scarce = SpilledConstants::new(all.collect(), h, (text, &mut looped), name);
        let b = self.rows(from, &mut looped);
        let body = &mut looped.body;
        // The sines of the first half of a turn are positive.
        let first = b.load(body, r - 1);
        let mut t: Vec<Value> = (1..=h)
            .map(|j| {
                let sine = scarce.register(body, angle(r, j).1);
                body.quad_op("mul", &[Reg::Whole(first), sine])
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
        looped.write(text, machine, &scarce.constants, self.iterations(), name)?;

        let name = &format!("{name}_ends");
        let mut looped = ColumnLoop::new();
        let one = RadixConstant::Complex(self.scale);
        let constants = text.constants(name, vec![one]);
        let rows = self.rows(to, &mut looped);
        let t: Vec<_> = (1..=h)
            .map(|j| (rows.load(&mut looped.body, r - j), false))
            .collect();
        self.write_ends(looped, &t, to, (text, machine), (&constants, one), name)
    }

    /// The butterflies of `m[j]` and `t[j]`, some negative, times a sine, and the loop that has them.
    fn write_ends(
        &self,
        mut looped: ColumnLoop,
        t: &[(Value, bool)],
        cosines: LoopBuffer,
        (text, machine): (&mut AssemblyText, &Machine),
        (constants, sine): (&ConstantRegisters, RadixConstant),
        name: &str,
    ) -> Result<(), Unschedulable> {
        let column = self.column(&[], constants);
        let m = self.rows(cosines, &mut looped);
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (j, &(t, negative)) in (1..).zip(t) {
            let m = m.load(&mut looped.body, j);
            let w = [constants.register(sine); 2];
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
        looped.write(text, machine, constants, self.iterations(), name)
    }
}
