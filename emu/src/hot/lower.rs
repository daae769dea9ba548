//! Lists of instructions become code: one pass that assigns registers and encodes.
//!
//! A value that no longer fits goes to its spill slot, the one needed last
//! first; values at the beginning of a segment are read again from where the
//! segment found them instead.

use super::asm::{Asm, Hole};
use super::build::Segment;
use super::form::Form;
use super::frame;
use super::ir::{Class, Id, Inst, Lanes};
use super::registers::{Bank, NEVER, Place};
use super::rounds::Carried;
use super::{asm, select};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

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
    /// From here on the scalars that the segment found are being replaced.
    replaced: u32,
    /// The same of each vector of the register file.
    stale: Vec<u32>,
    /// The value that was stored to it.
    stored: Vec<Option<Id>>,
    /// Position of the present instruction.
    now: u32,
    pub holes: Vec<Hole>,
    /// Next use of each operand of each listed instruction.
    next: Vec<[u32; 4]>,
    first: Vec<u32>,
    pub end_next: Vec<u32>,
    /// Scalar registers that have held something, as bits.
    pub scalars_used: u32,
}

/// Where a vector is.
enum Source {
    Register(u8),
    Memory(MemoryOperand),
}

/// The operand that an instruction may take from memory.
const FOLDED: usize = 1;

/// Whether the operands may change places; of two NaN any will do.
fn commutes(op: Lanes) -> bool {
    use Lanes as L;
    matches!(
        op,
        L::Add | L::Mul | L::And | L::Or | L::Xor | L::IAdd | L::IMul | L::IMin | L::IMax
    )
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
            .position(|id| matches!(arena.get(*id), Inst::SetScalar(..)))
            .unwrap_or(order.insts.len()) as u32;
        let form = segment.vectors.form;
        let mut stale = vec![NEVER; form.homes()];
        for (position, id) in order.insts.iter().enumerate().rev() {
            if let Inst::SetHome(home, _) = arena.get(*id) {
                stale[usize::from(home)] = position as u32;
            }
        }
        let mut places = vec![Place::default(); n];
        for (place, next) in places.iter_mut().zip(&upcoming) {
            place.next = *next;
        }
        Self {
            asm,
            segment,
            places,
            vectors: Bank::new(
                form.registers(),
                frame::VECTOR_BYTES / form.bytes() as usize,
            ),
            scalars: Bank::new(SCALAR_REGISTERS.len(), frame::SCALAR_SLOTS),
            hints: vec![None; n],
            replaced,
            stored: vec![None; stale.len()],
            stale,
            now: 0,
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

    pub(super) fn form(&self) -> Form {
        self.segment.vectors.form
    }

    /// Copies a vector from a register or memory.
    fn copy(&mut self, target: u8, source: Source) {
        let (code, target) = (self.form().load(), self.form().vector(target));
        self.asm.put(match source {
            Source::Register(register) => {
                Instruction::with2(code, target, self.form().vector(register))
            }
            Source::Memory(memory) => Instruction::with2(code, target, memory),
        });
    }

    pub(super) fn load_home(&mut self, register: u8, home: u8) {
        self.copy(register, Source::Memory(self.at_home(home)));
    }

    fn at_home(&self, home: u8) -> MemoryOperand {
        select::home(self.form(), home)
    }

    fn in_slot(&self, slot: u16) -> MemoryOperand {
        let at = frame::VECTORS + self.form().bytes() * i64::from(slot);
        asm::mem(asm::FRAME, at)
    }

    /// Where a vector is in memory now, and still was at position `until`.
    fn memory(&self, id: Id, until: u32) -> Option<MemoryOperand> {
        let place = self.places[id as usize];
        match (place.slot, place.home, self.inst_of(id)) {
            (Some(slot), ..) => Some(self.in_slot(slot)),
            (None, Some(home), _) => Some(self.at_home(home)),
            (None, None, Inst::Home(home)) if until <= self.stale[usize::from(home)] => {
                Some(self.at_home(home))
            }
            _ => None,
        }
    }

    /// Copies a value into a vector register, from wherever it is.
    pub(super) fn fetch(&mut self, id: Id, target: u8) {
        if let Some(register) = self.places[id as usize].register {
            self.copy(target, Source::Register(register));
        } else if let Some(memory) = self.memory(id, 0) {
            self.copy(target, Source::Memory(memory));
        }
    }

    /// A value has been stored to the register file.
    fn keep_home(&mut self, home: u8, id: Id) -> Result<(), Refusal> {
        let before = self.stored[usize::from(home)].replace(id);
        if let Some(before) = before.filter(|before| *before != id) {
            let place = &mut self.places[before as usize];
            place.home = None;
            if place.next != NEVER && place.register.is_none() && place.slot.is_none() {
                return Err(Refusal::Slots);
            }
        }
        self.places[id as usize].home = Some(home);
        Ok(())
    }

    /// Stores a value to its slot, once.
    pub(super) fn spill(&mut self, id: Id) -> Result<(), Refusal> {
        let place = self.places[id as usize];
        let (None, None, Some(register)) = (place.slot, place.home, place.register) else {
            return Ok(());
        };
        let class = self.class(id);
        let slot = self.bank(class).slot().ok_or(Refusal::Slots)?;
        self.places[id as usize].slot = Some(slot);
        self.asm.put(match class {
            Class::Vector => Instruction::with2(
                self.form().store(),
                self.in_slot(slot),
                self.form().vector(register),
            ),
            Class::Scalar => Instruction::with2(
                Code::Mov_rm32_r32,
                asm::mem(asm::FRAME, frame::SCALARS + 4 * i64::from(slot)),
                SCALAR_REGISTERS[usize::from(register)],
            ),
        });
        Ok(())
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
                Inst::Home(home) => next <= self.stale[usize::from(home)],
                Inst::Scalar(_) => next < self.replaced,
                _ => false,
            };
            // What is found again where it was needs no slot.
            if !found {
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

    /// Where the operand [`FOLDED`] is in memory, if the instruction takes it from
    /// there; and whether it is the other one that is there.
    fn fold(&self, inst: Inst, next: [u32; 4]) -> (Option<MemoryOperand>, bool) {
        let there = |id: Id, next: u32| {
            let place = self.places[id as usize];
            let (worth, until) = match next {
                NEVER => (true, self.now),
                next => (self.form() == Form::Avx2, next),
            };
            let memory = self.memory(id, until);
            memory.filter(|_| place.register.is_none() && worth)
        };
        if let Some((v, lane)) = inst.spread() {
            // In memory also where it is in a register: memory spreads it for nothing.
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
            Inst::Binary(op, a, b) if a != b => {
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

    /// One listed instruction: operands, registers, bytes.
    pub(super) fn inst(&mut self, position: usize, id: Id) -> Result<(), Refusal> {
        let mut inst = self.inst_of(id);
        let class = inst.class();
        let first = self.first[position];
        if class.is_some() && first == NEVER {
            return Ok(());
        }
        self.now = position as u32;
        if let Inst::Home(home) = inst {
            if first <= self.stale[usize::from(home)] {
                // Whoever needs it finds it where it is.
                self.places[id as usize].next = first;
                return Ok(());
            }
        }
        let (folded, swapped) = self.fold(inst, self.next[position]);
        let mut next = self.next[position];
        if swapped {
            if let Inst::Binary(op, a, b) = inst {
                inst = Inst::Binary(op, b, a);
                next.swap(0, 1);
            }
        }
        let uses = inst.uses();
        let mut registers = [0; 4];
        for (i, (register, used)) in registers.iter_mut().zip(uses).enumerate() {
            let there = folded.is_some() && (i == FOLDED || inst.spread().is_some());
            if let (Some(used), false) = (used, there) {
                *register = self.operand(used)?;
            }
        }
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
        // Whose slot is read by the instruction itself keeps it until then.
        let held = uses[FOLDED].filter(|_| folded.is_some());
        if !early {
            for used in uses
                .into_iter()
                .flatten()
                .filter(|used| Some(*used) != held)
            {
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
        match folded {
            Some(memory) => select::folded(self.asm, &inst, destination, registers[0], memory),
            None => select::encode(self.asm, &inst, destination, registers, &mut self.holes),
        }
        if let Inst::SetHome(home, v) = inst {
            self.keep_home(home, v)?;
        }
        let late = if early {
            uses
        } else {
            [held, None, None, None]
        };
        for used in late.into_iter().flatten() {
            self.release(used);
        }
        self.vectors.unlock_all();
        self.scalars.unlock_all();
        Ok(())
    }
}
