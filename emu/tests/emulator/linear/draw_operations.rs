//! Draws the operations of linear blocks: rows, operands, results.

use super::Drawing;
use crate::linear::block::{Operand, Operation, Value};
use cp2_asm::isa::{Form, Kind, Op, Role, Slot};
use cp2_machine::Machine;

/// Rows whose operations a block may have on a machine.
fn rows(machine: &Machine, slot: Slot, stores: bool) -> Vec<Op> {
    let fits = |op: &&Op| {
        let row = op.row();
        let operands = row.form.operands();
        let plain = operands.iter().all(|o| {
            !matches!(
                o.kind,
                Kind::Scalar | Kind::ScalarCouple | Kind::OwnMem { .. }
            ) && o.role != Role::InOut
        });
        let written = operands.iter().any(|o| o.role == Role::Out);
        let access = operands.iter().any(|o| matches!(o.kind, Kind::Mem { .. }));
        row.slot() == slot
            && machine.cp2.extensions.contains(row.requires)
            && plain
            && access == (slot == Slot::Mem)
            && written != stores
    };
    Op::ALL.iter().filter(fits).copied().collect()
}

/// True if a row of the mnemonic with as many operands has quads.
fn has_quad_row(op: Op) -> bool {
    let row = op.row();
    let same = |other: &&Op| {
        let (own, other) = (row.form.operands(), other.row());
        other.mnemonic == row.mnemonic && other.form.operands().len() == own.len()
    };
    let mut others = Op::ALL.iter().filter(same);
    others.any(|other| {
        other
            .row()
            .form
            .operands()
            .iter()
            .any(|o| o.kind == Kind::Quad)
    })
}

impl Drawing<'_> {
    /// Draws the operations.
    pub(super) fn compute(&mut self, machine: &Machine) {
        let arithmetic = rows(machine, Slot::Arith, false);
        let loads = rows(machine, Slot::Mem, false);
        let stores = rows(machine, Slot::Mem, true);
        let wanted = 1 + self.random.below(20);
        for n in 0..wanted {
            if self.scalars && n >= 1 && self.random.once_in(3) {
                self.compute_scalar();
                continue;
            }
            let kind = if n < 2 { 9 } else { self.random.below(10) };
            let ops = match kind {
                0..=5 => &arithmetic,
                6..=7 => &stores,
                _ => &loads,
            };
            let op = self.random.pick(ops);
            if self.random.once_in(6) {
                self.phase = self.random.range(self.phase.into(), 8) as u8;
            }
            let phase = self.random.once_in(6).then_some(self.phase);
            if let Some((operands, halves)) = self.operands(op) {
                self.block.operations.push(Operation {
                    op,
                    halves,
                    operands,
                    phase,
                });
            }
        }
    }

    /// Draws operands of a row; none if there is nothing to read.
    fn operands(&mut self, op: Op) -> Option<(Vec<Operand>, bool)> {
        let form = op.row().form.operands();
        let pairs_only = op.row().slot() == Slot::Arith
            && !has_quad_row(op)
            && form
                .iter()
                .any(|o| o.kind == Kind::Pair && o.role == Role::In);
        let halves = pairs_only && self.random.once_in(3);
        let mut operands = vec![Operand::Number(String::new()); form.len()];
        // Sources come first: an operation does not read its own results.
        for (place, o) in form.iter().enumerate().filter(|(_, o)| !o.role.writes()) {
            operands[place] = match o.kind {
                Kind::Pair if !halves => self.pair()?,
                Kind::Pair | Kind::Quad => self.quad()?,
                Kind::Mem { bytes, align } => self.address(i64::from(bytes), i64::from(align))?,
                Kind::Imm { signed, min } => {
                    let (least, most) = match signed {
                        true => (-(1 << (o.field.bits - 1)), (1 << (o.field.bits - 1)) - 1),
                        false => (i64::from(min), (1 << o.field.bits) - 1),
                    };
                    Operand::Number(self.random.range(least, most).to_string())
                }
                Kind::Float24 => {
                    let value = self.random.range(-100, 100) as f64 / 4.0;
                    Operand::Number(format!("{value:?}"))
                }
                _ => return None,
            };
        }
        let sources = || operands.iter().zip(form).filter(|(_, o)| !o.role.writes());
        let whole_constant =
            |operand: &Operand| matches!(operand, Operand::Constant { half: None, .. });
        let registers = || sources().filter(|(_, o)| matches!(o.kind, Kind::Pair | Kind::Quad));
        // Constants alone leave it open whether they are pairs: quads are meant.
        let pairs = form.iter().all(|o| o.kind != Kind::Quad) && !halves;
        let open = registers().all(|(operand, _)| whole_constant(operand));
        if (pairs && has_quad_row(op) || halves) && open && registers().next().is_some() {
            return None;
        }
        for (place, o) in form.iter().enumerate().filter(|(_, o)| o.role.writes()) {
            operands[place] = self.result(o.kind == Kind::Quad || halves, halves);
            if op.row().form == Form::P2
                && op.row().mnemonic == "ftod"
                && let Operand::Value {
                    value, half: None, ..
                } = operands[place]
            {
                self.block.values[value].declared = true;
            }
        }
        Some((operands, halves))
    }

    /// Draws the result of an operation: a new value, or for pairs half of a quad.
    pub(super) fn result(&mut self, quad: bool, halves: bool) -> Operand {
        let whole = quad || halves;
        if !whole && self.random.once_in(3) {
            let open = self.half_open();
            let value = match open {
                Some(value) if self.random.once_in(2) => value,
                _ => self.enter(true),
            };
            let half = match self.defined[value] {
                [true, _] => 1,
                [_, true] => 0,
                _ => self.random.below(2),
            };
            self.defined[value][half] = true;
            return Operand::Value {
                value,
                half: Some(half as u8),
                back: 0,
            };
        }
        let value = self.enter(whole);
        self.defined[value] = [true; 2];
        Operand::Value {
            value,
            half: None,
            back: 0,
        }
    }

    /// Returns a quad of which one half is computed.
    fn half_open(&self) -> Option<usize> {
        (self.defined.iter()).position(|defined| defined.contains(&false))
    }

    pub(super) fn enter(&mut self, quad: bool) -> usize {
        self.block.values.push(Value {
            quad,
            declared: false,
            scalar: false,
        });
        self.defined.push([false; 2]);
        self.block.values.len() - 1
    }

    /// Draws a pair to read.
    pub(super) fn pair(&mut self) -> Option<Operand> {
        let mut found = Vec::new();
        for (value, (own, defined)) in self.block.values.iter().zip(&self.defined).enumerate() {
            let of = |half| Operand::Value {
                value,
                half,
                back: 0,
            };
            match own.quad {
                _ if own.scalar => {}
                false => found.push(of(None)),
                true => {
                    let halves = (0..2).filter(|&half| defined[usize::from(half)]);
                    found.extend(halves.map(|half| of(Some(half))));
                }
            }
        }
        let late = found.len().saturating_sub(6);
        if !found.is_empty() && !self.random.once_in(5) {
            return Some(self.random.pick(&found[late..]));
        }
        for (index, own) in self.block.constants.iter().enumerate() {
            let same = own.words[..2] == own.words[2..];
            let whole = same.then_some(None);
            let halves = [Some(0), Some(1)].into_iter().chain(whole);
            found.extend(halves.map(|half| Operand::Constant { index, half }));
        }
        for &quad in &self.block.registers {
            found.extend([0, 1].map(|half| Operand::Register {
                quad,
                half: Some(half),
            }));
        }
        (!found.is_empty()).then(|| self.random.pick(&found))
    }

    /// Draws a quad to read.
    pub(super) fn quad(&mut self) -> Option<Operand> {
        let whole = |(value, (own, defined)): (usize, (&Value, &[bool; 2]))| {
            (own.quad && *defined == [true; 2]).then_some(Operand::Value {
                value,
                half: None,
                back: 0,
            })
        };
        let values = self.block.values.iter().zip(&self.defined).enumerate();
        let mut found: Vec<Operand> = values.filter_map(whole).collect();
        let late = found.len().saturating_sub(4);
        if !found.is_empty() && !self.random.once_in(5) {
            return Some(self.random.pick(&found[late..]));
        }
        let constants = 0..self.block.constants.len();
        found.extend(constants.map(|index| Operand::Constant { index, half: None }));
        let registers = self.block.registers.iter();
        found.extend(registers.map(|&quad| Operand::Register { quad, half: None }));
        (!found.is_empty()).then(|| self.random.pick(&found))
    }

    /// Draws the place of an access.
    pub(super) fn address(&mut self, bytes: i64, align: i64) -> Option<Operand> {
        let fits = |pointer: &usize| self.units[*pointer] % align == 0;
        let pointers: Vec<usize> = (0..self.units.len()).filter(fits).collect();
        if pointers.is_empty() {
            return None;
        }
        let pointer = self.random.pick(&pointers);
        let reach = if self.random.once_in(4) { 24 } else { 4 };
        let offset = align * self.random.range(-reach, reach);
        debug_assert!(bytes <= 16);
        Some(Operand::Address { pointer, offset })
    }

    /// Completes values of which one half is computed, and stores most of what nothing reads.
    pub(super) fn finish(&mut self) {
        if self.block.operations.is_empty() {
            let result = self.result(false, false);
            self.push(Op::Lii, vec![result, Operand::Number("-7".to_owned())]);
        }
        while let Some(value) = self.half_open() {
            let half = u8::from(self.defined[value][0]);
            let Some(source) = self.pair() else {
                break;
            };
            self.defined[value] = [true; 2];
            let result = Operand::Value {
                value,
                half: Some(half),
                back: 0,
            };
            self.push(Op::NegP, vec![result, source]);
        }
        if self.random.once_in(8) {
            return;
        }
        let read: Vec<usize> = self
            .block
            .operations
            .iter()
            .flat_map(|own| own.reads().map(|read| read.0))
            .collect();
        for value in (0..self.block.values.len()).filter(|value| !read.contains(value)) {
            if self.block.values[value].scalar {
                continue;
            }
            let quad = self.block.values[value].quad;
            let (op, bytes) = if quad { (Op::StQ, 16) } else { (Op::StP, 8) };
            let Some(place) = self.address(bytes, bytes) else {
                continue;
            };
            let source = Operand::Value {
                value,
                half: None,
                back: 0,
            };
            self.push(op, vec![source, place]);
        }
    }

    pub(super) fn push(&mut self, op: Op, operands: Vec<Operand>) {
        self.block.operations.push(Operation {
            op,
            halves: false,
            operands,
            phase: None,
        });
    }
}
