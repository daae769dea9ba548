//! Locations of values, and moves between registers, slots and memory.

use super::asm;
use super::code_form::CodeForm;
use super::code_frame;
use super::ir::{Id, IrInstruction, LaneOperation, RegisterClass};
use super::lower::{FOLDED, Lower, LoweringRefusal, SCALAR_REGISTERS};
use super::registers::NEVER;
use super::select;
use iced_x86::{Code, Instruction, MemoryOperand};

/// Location that a vector is copied from.
enum VectorSource {
    Register(u8),
    Memory(MemoryOperand),
}

/// True if the operands may be exchanged; of two NaN operands either result will do.
fn commutes(op: LaneOperation) -> bool {
    use LaneOperation as L;
    matches!(
        op,
        L::Add | L::Mul | L::And | L::Or | L::Xor | L::IAdd | L::IMul | L::IMin | L::IMax
    )
}

impl Lower<'_> {
    /// Copies a vector from a register or memory.
    fn copy(&mut self, target: u8, source: VectorSource) {
        let (code, target) = (self.form().load(), self.form().vector(target));
        self.asm.encode_instruction(match source {
            VectorSource::Register(register) => {
                Instruction::with2(code, target, self.form().vector(register))
            }
            VectorSource::Memory(memory) => Instruction::with2(code, target, memory),
        });
    }

    pub(super) fn load_home(&mut self, register: u8, home: u8) {
        self.copy(register, VectorSource::Memory(self.home_operand(home)));
    }

    fn home_operand(&self, home: u8) -> MemoryOperand {
        select::home(self.form(), home)
    }

    fn slot_operand(&self, slot: u16) -> MemoryOperand {
        let at = code_frame::VECTORS + self.form().bytes() * i64::from(slot);
        asm::mem(asm::FRAME, at)
    }

    /// Returns a vector's location in memory, if it has one that is still valid at position
    /// `until`.
    fn memory(&self, id: Id, until: u32) -> Option<MemoryOperand> {
        let place = self.places[id as usize];
        match (place.slot, place.home, self.find_instruction(id)) {
            (Some(slot), ..) => Some(self.slot_operand(slot)),
            (None, Some(home), _) => Some(self.home_operand(home)),
            (None, None, IrInstruction::Home(home)) if until <= self.stale[usize::from(home)] => {
                Some(self.home_operand(home))
            }
            _ => None,
        }
    }

    /// Copies a value into a vector register, from wherever it is.
    pub(super) fn fetch(&mut self, id: Id, target: u8) {
        if let Some(register) = self.places[id as usize].register {
            self.copy(target, VectorSource::Register(register));
        } else if let Some(memory) = self.memory(id, 0) {
            self.copy(target, VectorSource::Memory(memory));
        }
    }

    /// Records that a value has been stored to the register file.
    pub(super) fn keep_home(&mut self, home: u8, id: Id) -> Result<(), LoweringRefusal> {
        let before = self.stored[usize::from(home)].replace(id);
        if let Some(before) = before.filter(|before| *before != id) {
            let place = &mut self.places[before as usize];
            place.home = None;
            if place.next != NEVER && place.register.is_none() && place.slot.is_none() {
                return Err(LoweringRefusal::Slots);
            }
        }
        self.places[id as usize].home = Some(home);
        Ok(())
    }

    /// Stores a value to its spill slot, once.
    pub(super) fn spill(&mut self, id: Id) -> Result<(), LoweringRefusal> {
        let place = self.places[id as usize];
        let (None, None, Some(register)) = (place.slot, place.home, place.register) else {
            return Ok(());
        };
        let class = self.class(id);
        let slot = self.bank(class).slot().ok_or(LoweringRefusal::Slots)?;
        self.places[id as usize].slot = Some(slot);
        self.asm.encode_instruction(match class {
            RegisterClass::Vector => Instruction::with2(
                self.form().store(),
                self.slot_operand(slot),
                self.form().vector(register),
            ),
            RegisterClass::Scalar => Instruction::with2(
                Code::Mov_rm32_r32,
                asm::mem(asm::FRAME, code_frame::SCALARS + 4 * i64::from(slot)),
                SCALAR_REGISTERS[usize::from(register)],
            ),
        });
        Ok(())
    }

    /// Returns a free register for a value of the class, after spilling another value if necessary.
    pub(super) fn room(
        &mut self,
        class: RegisterClass,
        hint: Option<u8>,
    ) -> Result<u8, LoweringRefusal> {
        if let Some(register) = self.bank(class).free(hint) {
            if class == RegisterClass::Scalar {
                self.scalars_used |= 1 << register;
            }
            return Ok(register);
        }
        let places = std::mem::take(&mut self.places);
        let victim = self.bank(class).victim(|id| places[id as usize].next);
        self.places = places;
        let register = victim.ok_or(LoweringRefusal::Slots)?;
        if let Some(owner) = self.bank(class).owner(register) {
            let next = self.places[owner as usize].next;
            let found = match self.find_instruction(owner) {
                IrInstruction::Home(home) => next <= self.stale[usize::from(home)],
                IrInstruction::Scalar(_) => next < self.replaced,
                _ => false,
            };
            // A value that can be read again from where it was found needs no slot.
            if !found {
                self.spill(owner)?;
            }
            self.places[owner as usize].register = None;
        }
        self.bank(class).set_owner(register, None);
        Ok(register)
    }

    /// Returns the operand's register; loads the operand if it is not in one.
    pub(super) fn operand(&mut self, id: Id) -> Result<u8, LoweringRefusal> {
        let class = self.class(id);
        if let Some(register) = self.places[id as usize].register {
            self.bank(class).lock(register);
            return Ok(register);
        }
        let register = self.room(class, None)?;
        match class {
            RegisterClass::Vector => self.fetch(id, register),
            RegisterClass::Scalar => {
                let source = match (self.places[id as usize].slot, self.find_instruction(id)) {
                    (Some(slot), _) => {
                        asm::mem(asm::FRAME, code_frame::SCALARS + 4 * i64::from(slot))
                    }
                    (None, IrInstruction::Scalar(i)) => asm::mem(asm::SCALARS, 4 * i64::from(i)),
                    // Every other value is in a register or a slot.
                    _ => return Err(LoweringRefusal::Slots),
                };
                self.asm.encode_instruction(Instruction::with2(
                    Code::Mov_r32_rm32,
                    SCALAR_REGISTERS[usize::from(register)],
                    source,
                ));
            }
        }
        self.places[id as usize].register = Some(register);
        let bank = self.bank(class);
        bank.set_owner(register, Some(id));
        bank.lock(register);
        Ok(register)
    }

    pub(super) fn release(&mut self, id: Id) {
        let class = self.class(id);
        let place = self.places[id as usize];
        if place.next == NEVER {
            if let Some(register) = place.register {
                self.bank(class).set_owner(register, None);
                self.places[id as usize].register = None;
            }
            if let Some(slot) = place.slot {
                self.bank(class).release_slot(slot);
                self.places[id as usize].slot = None;
            }
        }
    }

    /// Returns the memory location from which the instruction can take the operand [`FOLDED`], if
    /// there is one. The flag says that the operands must be exchanged for that.
    pub(super) fn fold(
        &self,
        inst: IrInstruction,
        next: [u32; 4],
    ) -> (Option<MemoryOperand>, bool) {
        let there = |id: Id, next: u32| {
            let place = self.places[id as usize];
            let (worth, until) = match next {
                NEVER => (true, self.now),
                next => (self.form() == CodeForm::Avx2, next),
            };
            let memory = self.memory(id, until);
            memory.filter(|_| place.register.is_none() && worth)
        };
        if let Some((v, lane)) = inst.spread() {
            // Memory serves even where the vector is in a register too: a load spreads a lane at no
            // extra cost.
            let until = match (next[FOLDED], self.places[v as usize].register) {
                (NEVER, _) | (_, Some(_)) => self.now,
                (next, None) => next,
            };
            let found = self.memory(v, until).map(|mut memory| {
                memory.displacement += 16 * i64::from(lane);
                memory
            });
            return (found, false);
        }
        match inst {
            IrInstruction::Binary(op, a, b) if a != b => {
                let found = there(b, next[FOLDED]);
                if found.is_some() || !commutes(op) {
                    return (found, false);
                }
                let found = there(a, next[0]);
                (found, found.is_some())
            }
            _ => (None, false),
        }
    }
}
