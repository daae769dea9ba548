//! Lists of instructions become code: one pass that assigns registers and encodes.
//!
//! A value that no longer fits goes to its spill slot, the one needed last
//! first; values at the beginning of a segment are read again from where the
//! segment found them instead.

use super::asm::{Asm, Hole};
use super::build::Segment;
use super::frame;
use super::ir::{Class, Id, Inst};
use super::registers::{Bank, NEVER, Place};
use super::rounds::Carried;
use super::{asm, select};
use iced_x86::{Code, IcedError, Instruction, Register};

/// Scalar registers that hold values, those first that a function need not save.
pub(super) const SCALAR_REGISTERS: [Register; 8] = [
    Register::R9D,
    Register::R10D,
    Register::EBX,
    Register::EBP,
    Register::R12D,
    Register::R13D,
    Register::R14D,
    Register::R15D,
];
pub(super) const VECTOR_REGISTERS: usize = 32;

/// Why there is no code.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Too many values at once.
    Slots,
    /// The encoder.
    Encode,
}

impl From<IcedError> for Refusal {
    fn from(_: IcedError) -> Self {
        Self::Encode
    }
}

pub(super) struct Lower<'a> {
    pub asm: &'a mut Asm,
    segment: &'a Segment,
    pub places: Vec<Place>,
    pub vectors: Bank,
    scalars: Bank,
    /// Where a value should be in the end.
    pub hints: Vec<Option<u8>>,
    /// From here on what the segment found is being replaced.
    replaced: u32,
    pub holes: Vec<Hole>,
    /// Next use of each operand of each listed instruction.
    next: Vec<[u32; 4]>,
    first: Vec<u32>,
    pub end_next: Vec<u32>,
    /// Scalar registers that have held something, as bits.
    pub scalars_used: u32,
}

/// A list and what follows it, as positions.
pub(super) struct Order {
    pub insts: Vec<Id>,
    /// Position of the end of a pass.
    pub end: usize,
}

impl<'a> Lower<'a> {
    pub(super) fn new(
        asm: &'a mut Asm,
        segment: &'a Segment,
        order: &Order,
        carried: &[Carried],
    ) -> Self {
        let arena = &segment.vectors.arena;
        let n = arena.insts.len();
        let mut upcoming = vec![NEVER; n];
        let mut next = vec![[NEVER; 4]; order.insts.len()];
        let mut first = vec![NEVER; order.insts.len()];
        let mut end_next = vec![NEVER; carried.len()];
        for position in (0..=order.insts.len()).rev() {
            if position == order.end {
                for (c, next) in carried.iter().zip(&mut end_next) {
                    *next = upcoming[c.end as usize];
                }
                for c in carried {
                    upcoming[c.end as usize] = position as u32;
                }
            }
            let Some(id) = order.insts.get(position) else {
                continue;
            };
            let inst = arena.get(*id);
            first[position] = upcoming[*id as usize];
            if inst.class().is_some() && upcoming[*id as usize] == NEVER {
                continue;
            }
            let uses = inst.uses();
            for (next, used) in next[position].iter_mut().zip(uses) {
                if let Some(used) = used {
                    *next = upcoming[used as usize];
                }
            }
            for used in uses.into_iter().flatten() {
                upcoming[used as usize] = position as u32;
            }
        }
        let replaced = order
            .insts
            .iter()
            .position(|id| matches!(arena.get(*id), Inst::SetHome(..) | Inst::SetScalar(..)))
            .unwrap_or(order.insts.len()) as u32;
        let mut places = vec![Place::default(); n];
        for (place, next) in places.iter_mut().zip(&upcoming) {
            place.next = *next;
        }
        Self {
            asm,
            segment,
            places,
            vectors: Bank::new(VECTOR_REGISTERS, frame::VECTOR_SLOTS),
            scalars: Bank::new(SCALAR_REGISTERS.len(), frame::SCALAR_SLOTS),
            hints: vec![None; n],
            replaced,
            holes: Vec::new(),
            next,
            first,
            end_next,
            scalars_used: 0,
        }
    }

    fn bank(&mut self, class: Class) -> &mut Bank {
        match class {
            Class::Vector => &mut self.vectors,
            Class::Scalar => &mut self.scalars,
        }
    }

    pub(super) fn inst_of(&self, id: Id) -> Inst {
        self.segment.vectors.arena.get(id)
    }

    fn class(&self, id: Id) -> Class {
        self.inst_of(id).class().unwrap_or(Class::Scalar)
    }

    pub(super) fn load_home(&mut self, register: u8, quad: u8) {
        let home = asm::mem(asm::FILE, 64 * i64::from(quad));
        self.asm.put(Instruction::with2(
            Code::EVEX_Vmovups_zmm_k1z_zmmm512,
            select::vector(register),
            home,
        ));
    }

    /// Copies a value into a vector register, from wherever it is.
    pub(super) fn fetch(&mut self, id: Id, target: u8) {
        let place = self.places[id as usize];
        if let Some(register) = place.register {
            self.asm.put(Instruction::with2(
                Code::EVEX_Vmovaps_zmm_k1z_zmmm512,
                select::vector(target),
                select::vector(register),
            ));
        } else if let Some(slot) = place.slot {
            self.asm.put(Instruction::with2(
                Code::EVEX_Vmovups_zmm_k1z_zmmm512,
                select::vector(target),
                asm::mem(asm::FRAME, frame::VECTORS + 64 * i64::from(slot)),
            ));
        } else if let Inst::Home(quad) = self.inst_of(id) {
            self.load_home(target, quad);
        }
    }

    /// Stores a value to its slot, once.
    pub(super) fn spill(&mut self, id: Id) -> Result<(), Refusal> {
        let place = self.places[id as usize];
        let (None, Some(register)) = (place.slot, place.register) else {
            return Ok(());
        };
        let class = self.class(id);
        let slot = self.bank(class).slot().ok_or(Refusal::Slots)?;
        self.places[id as usize].slot = Some(slot);
        let slot = i64::from(slot);
        self.asm.put(match class {
            Class::Vector => Instruction::with2(
                Code::EVEX_Vmovups_zmmm512_k1z_zmm,
                asm::mem(asm::FRAME, frame::VECTORS + 64 * slot),
                select::vector(register),
            ),
            Class::Scalar => Instruction::with2(
                Code::Mov_rm32_r32,
                asm::mem(asm::FRAME, frame::SCALARS + 4 * slot),
                SCALAR_REGISTERS[usize::from(register)],
            ),
        });
        Ok(())
    }

    /// Whether the loop carries the value and replaces it, so that only its
    /// first pass finds it in the register file.
    fn changes(&self, id: Id) -> bool {
        let carried = &self.segment.carried;
        carried.iter().any(|c| c.begin == id && c.end != id)
    }

    /// A register for a value of the class.
    fn room(&mut self, class: Class, hint: Option<u8>) -> Result<u8, Refusal> {
        if let Some(register) = self.bank(class).free(hint) {
            if class == Class::Scalar {
                self.scalars_used |= 1 << register;
            }
            return Ok(register);
        }
        let places = std::mem::take(&mut self.places);
        let victim = self.bank(class).victim(|id| places[id as usize].next);
        self.places = places;
        let register = victim.ok_or(Refusal::Slots)?;
        if let Some(owner) = self.bank(class).owner(register) {
            let next = self.places[owner as usize].next;
            let found = match self.inst_of(owner) {
                Inst::Home(_) => !self.changes(owner),
                Inst::Scalar(_) => true,
                _ => false,
            };
            // What is found again where it was needs no slot.
            if !(found && next < self.replaced) {
                self.spill(owner)?;
            }
            self.places[owner as usize].register = None;
        }
        self.bank(class).set_owner(register, None);
        Ok(register)
    }

    /// The operand's register, loaded if it is not in one.
    fn operand(&mut self, id: Id) -> Result<u8, Refusal> {
        let class = self.class(id);
        if let Some(register) = self.places[id as usize].register {
            self.bank(class).lock(register);
            return Ok(register);
        }
        let register = self.room(class, None)?;
        match class {
            Class::Vector => self.fetch(id, register),
            Class::Scalar => {
                let source = match (self.places[id as usize].slot, self.inst_of(id)) {
                    (Some(slot), _) => asm::mem(asm::FRAME, frame::SCALARS + 4 * i64::from(slot)),
                    (None, Inst::Scalar(i)) => asm::mem(asm::SCALARS, 4 * i64::from(i)),
                    // Every other value is in a register or a slot.
                    _ => return Err(Refusal::Slots),
                };
                self.asm.put(Instruction::with2(
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

    fn release(&mut self, id: Id) {
        let class = self.class(id);
        let place = self.places[id as usize];
        if place.next == NEVER {
            if let Some(register) = place.register {
                self.bank(class).set_owner(register, None);
                self.places[id as usize].register = None;
            }
            if let Some(slot) = place.slot {
                self.bank(class).give_back(slot);
                self.places[id as usize].slot = None;
            }
        }
    }

    /// One listed instruction: operands, registers, bytes.
    pub(super) fn inst(&mut self, position: usize, id: Id) -> Result<(), Refusal> {
        let inst = self.inst_of(id);
        let class = inst.class();
        if class.is_some() && self.first[position] == NEVER {
            return Ok(());
        }
        let uses = inst.uses();
        let mut registers = [0; 4];
        for (register, used) in registers.iter_mut().zip(uses) {
            if let Some(used) = used {
                *register = self.operand(used)?;
            }
        }
        let next = self.next[position];
        for (used, next) in uses.iter().zip(next) {
            if let Some(used) = used {
                self.places[*used as usize].next = next;
            }
        }
        let dies = |s: &Self, i: usize| uses[i].is_some_and(|u| s.places[u as usize].next == NEVER);
        let order = select::order(&inst);
        let mut hint = self.hints[id as usize];
        if let select::Order::Overwrites = order {
            // The destination is an operand's register where one is free after this.
            if let Some(i) = (0..2).find(|i| dies(self, *i)) {
                hint = Some(registers[i]);
            }
        }
        let early = order == select::Order::Early;
        if !early {
            for used in uses.into_iter().flatten() {
                self.release(used);
            }
            // An operand that went is not to be protected any more.
            self.vectors.unlock_all();
            self.scalars.unlock_all();
            for (i, used) in uses.iter().enumerate() {
                if let (Some(used), false) = (used, dies(self, i)) {
                    let class = self.class(*used);
                    self.bank(class).lock(registers[i]);
                }
            }
        }
        let mut destination = 0;
        if let Some(class) = class {
            destination = self.room(class, hint)?;
            self.bank(class).set_owner(destination, Some(id));
            let place = &mut self.places[id as usize];
            place.register = Some(destination);
            place.slot = None;
            place.next = self.first[position];
        }
        select::encode(self.asm, &inst, destination, registers, &mut self.holes);
        if early {
            for used in uses.into_iter().flatten() {
                self.release(used);
            }
        }
        self.vectors.unlock_all();
        self.scalars.unlock_all();
        Ok(())
    }
}
