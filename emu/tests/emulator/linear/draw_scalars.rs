//! Draws scalar values: loads, arithmetic, addresses.
//!
//! An address is masked by `c13`, so that it lies in the data and is a multiple of 16, whatever was loaded.

use super::{Drawing, Initial, Operand};
use cp2_asm::isa::Op;

/// Most scalar values of a block: the definition has a register for each, and for two iterations before.
const MOST: usize = 6;
/// Most iterations after which a scalar is read.
const FURTHEST: i64 = 2;

impl Drawing<'_> {
    fn count_scalars(&self) -> usize {
        self.block.values.iter().filter(|own| own.scalar).count()
    }

    fn enter_scalar(&mut self) -> usize {
        let value = self.enter(false);
        self.block.values[value].scalar = true;
        self.defined[value] = [true; 2];
        value
    }

    /// Adds the operation that makes an address of a scalar.
    fn mask(&mut self, from: usize) {
        let to = self.enter_scalar();
        let operands = vec![of(to), of(from), Operand::Scalar("c13")];
        self.push(Op::AndX, operands);
        self.addresses.push(to);
    }

    /// Draws a load of scalars, arithmetic on them, or an access through one.
    pub(super) fn compute_scalar(&mut self) {
        let left = MOST - self.count_scalars();
        match self.random.below(3) {
            0 | 1 if left >= 2 => {
                let both = left >= 4 && self.random.once_in(2);
                let value = self.enter_scalar();
                let known = self.addresses.clone();
                if !known.is_empty() && self.random.once_in(2) {
                    let [a, b] = [0, 1].map(|_| of(self.random.pick(&known)));
                    let number = Operand::Number(self.random.range(0, 9).to_string());
                    let (op, operands) = match self.random.below(6) {
                        0 => (Op::AddX, vec![of(value), a, b]),
                        1 => (Op::SubX, vec![of(value), a, Operand::Scalar("c13")]),
                        2 => (Op::MulX, vec![of(value), a, b]),
                        3 => (Op::ShlX, vec![of(value), a, number]),
                        4 => (Op::Addi, vec![of(value), a, number]),
                        _ => (Op::OrX, vec![of(value), a, b]),
                    };
                    self.push(op, operands);
                    self.mask(value);
                    return;
                }
                let Some(place) = self.place(8) else {
                    self.push(Op::Movi, vec![of(value), Operand::Number("800".to_owned())]);
                    self.mask(value);
                    return;
                };
                if both {
                    let second = self.enter_scalar();
                    self.push(Op::LdX2, vec![Operand::Couple([value, second]), place]);
                    self.mask(value);
                    self.mask(second);
                } else {
                    self.push(Op::LdX, vec![of(value), place]);
                    self.mask(value);
                }
            }
            _ => {
                let quad = self.random.once_in(2);
                let place = (!self.addresses.is_empty()).then(|| self.place_of_scalar(16));
                let Some(place) = place else { return };
                if self.random.once_in(2) {
                    let result = self.result(quad, false);
                    let op = if quad { Op::LdQ } else { Op::LdP };
                    self.push(op, vec![result, place]);
                } else {
                    let source = if quad { self.quad() } else { self.pair() };
                    let op = if quad { Op::StQ } else { Op::StP };
                    if let Some(source) = source {
                        self.push(op, vec![source, place]);
                    }
                }
            }
        }
    }

    /// Draws the place of an access of scalars.
    fn place(&mut self, align: i64) -> Option<Operand> {
        if !self.addresses.is_empty() && self.random.once_in(3) {
            return Some(self.place_of_scalar(align));
        }
        self.address(8, align)
    }

    fn place_of_scalar(&mut self, align: i64) -> Operand {
        let known = self.addresses.clone();
        let value = self.random.pick(&known);
        let offset = align * self.random.range(0, 40);
        let back = 0;
        Operand::Place {
            value,
            back,
            offset,
        }
    }

    /// Lets operations read scalars of earlier iterations: addresses where addresses are read.
    pub(super) fn carry_scalars(&mut self) {
        for index in 0..self.block.operations.len() {
            for place in 0..self.block.operations[index].operands.len() {
                if !self.random.once_in(4) || self.addresses.is_empty() {
                    continue;
                }
                let known = self.addresses.clone();
                let other = self.random.pick(&known);
                let ago = self.random.range(1, FURTHEST) as u32;
                let written = self.block.operations[index].op.row().form.operands()[place]
                    .role
                    .writes();
                match &mut self.block.operations[index].operands[place] {
                    Operand::Place { value, back, .. } => (*value, *back) = (other, ago),
                    Operand::Value { value, back, .. }
                        if !written && self.block.values[*value].scalar =>
                    {
                        (*value, *back) = (other, ago);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Draws an address before the first iteration.
    pub(super) fn initial_scalar(&mut self) -> Initial {
        match self.random.once_in(2) {
            true => Initial::Scalar(Some("c14"), 0x240),
            false => Initial::Scalar(None, 16 * self.random.range(0, 255)),
        }
    }

    /// Lets a register get a scalar behind the last iteration.
    pub(super) fn mark(&mut self) {
        let scalars: Vec<usize> = (0..self.block.values.len())
            .filter(|&value| self.block.values[value].scalar)
            .filter(|&value| self.block.iterations > 0 || self.block.furthest(value) > 0)
            .collect();
        if !scalars.is_empty() {
            self.block.marked = Some(self.random.pick(&scalars));
        }
    }
}

/// Returns the operand of a scalar of this iteration.
fn of(value: usize) -> Operand {
    Operand::Value {
        value,
        half: None,
        back: 0,
    }
}
