//! Scalars of a segment as sums of a value and a constant.

use super::ir::{Id, IrInstruction};
use super::segment_steps::FirstPass;
use crate::semantics::action::{ScalarOp, Source};
use crate::semantics::scalar::Binary;
use cp2_asm::isa::{Address, Mode, SCALARS, Scalar};

/// A scalar: a value, and a constant added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub root: Id,
    pub add: i32,
}

/// Largest offset; four times it stays far inside 32 bits.
pub(super) const FAR: i32 = 1 << 26;

impl FirstPass {
    /// Returns the address register's value after the access, if the mode changes it.
    pub(super) fn next(&mut self, address: Address, base: Sum, bytes: u32) -> Option<Sum> {
        match address.mode {
            Mode::Offset(_) => None,
            Mode::Post(increment) => Some(Sum {
                root: base.root,
                add: base.add + increment,
            }),
            Mode::Step(s) => {
                let (a, s) = (self.value(base), self.read(Scalar::step(s)));
                Some(self.root(IrInstruction::Compute(Binary::Add, a, s)))
            }
            Mode::Modulo(s) => {
                let i = address.base % Address::MODULO_REGISTERS;
                let (a, s) = (self.value(base), self.read(Scalar::step(s)));
                let (b, l) = (self.read(Scalar::base(i)), self.read(Scalar::length(i)));
                Some(self.root(IrInstruction::Modulo(a, s, b, l)))
            }
            Mode::Reverse(s) => {
                let (a, s) = (self.value(base), self.read(Scalar::step(s)));
                Some(self.root(IrInstruction::Reverse(a, s, bytes)))
            }
        }
    }

    pub(super) fn compute(&mut self, op: ScalarOp) {
        match op {
            ScalarOp::Move { x, y } => {
                let value = match y {
                    Source::Register(y) => self.scalar(y),
                    Source::Constant(bits) => self.root(IrInstruction::Immediate(bits)),
                };
                self.set_sum(x, value);
            }
            ScalarOp::High { x, value } => {
                let old = self.read(x);
                let low = self
                    .root(IrInstruction::ComputeWith(Binary::And, old, 0xffff))
                    .root;
                let new = self.root(IrInstruction::ComputeWith(Binary::Or, low, value << 16));
                self.set_sum(x, new);
            }
            ScalarOp::Binary { function, x, y, z } => {
                let value = match (function, y, z) {
                    (Binary::Add, Source::Register(y), Source::Constant(add))
                        if (add as i32).unsigned_abs() <= FAR as u32 =>
                    {
                        let y = self.scalar(y);
                        let y = if y.add.abs() > FAR {
                            Sum {
                                root: self.value(y),
                                add: 0,
                            }
                        } else {
                            y
                        };
                        Sum {
                            root: y.root,
                            add: y.add + add as i32,
                        }
                    }
                    (_, y, Source::Constant(bits)) => {
                        let y = self.source(y);
                        self.root(IrInstruction::ComputeWith(function, y, bits))
                    }
                    (_, y, z) => {
                        let (y, z) = (self.source(y), self.source(z));
                        self.root(IrInstruction::Compute(function, y, z))
                    }
                };
                self.set_sum(x, value);
            }
        }
    }

    pub(super) fn source(&mut self, source: Source) -> Id {
        match source {
            Source::Register(x) => self.read(x),
            Source::Constant(bits) => self.root(IrInstruction::Immediate(bits)).root,
        }
    }

    pub(super) fn is_late(&self, id: Id) -> bool {
        self.late.get(id as usize).is_some_and(|late| *late)
    }

    /// Adds an instruction: to the list at the top, or to the word's list if it depends on a load.
    pub(super) fn list(&mut self, inst: IrInstruction, load: bool) -> Id {
        let (id, new) = self.out.arena.add(inst);
        if new {
            let uses = inst.uses();
            let late = load || uses.iter().flatten().any(|id| self.is_late(*id));
            self.late.resize(id as usize + 1, false);
            self.late[id as usize] = late;
            if late {
                self.pending.push(id);
            } else {
                self.out.top.push(id);
            }
        }
        id
    }

    pub(super) fn root(&mut self, inst: IrInstruction) -> Sum {
        Sum {
            root: self.list(inst, false),
            add: 0,
        }
    }

    pub(super) fn scalar(&mut self, scalar: Scalar) -> Sum {
        let i = usize::from(scalar.0) % SCALARS;
        if let Some(sum) = self.scalars[i] {
            return sum;
        }
        let sum = self.root(IrInstruction::Scalar(i as u8));
        self.scalars[i] = Some(sum);
        sum
    }

    pub(super) fn value(&mut self, sum: Sum) -> Id {
        if sum.add == 0 {
            sum.root
        } else {
            self.root(IrInstruction::Offset(sum.root, sum.add)).root
        }
    }

    pub(super) fn read(&mut self, scalar: Scalar) -> Id {
        let sum = self.scalar(scalar);
        self.value(sum)
    }

    pub(super) fn set_sum(&mut self, scalar: Scalar, sum: Sum) {
        self.scalars[usize::from(scalar.0) % SCALARS] = Some(sum);
    }
}
