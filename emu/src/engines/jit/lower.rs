//! Lowering: one pass over a list assigns host registers and encodes.
//!
//! A value that no longer fits in a register is spilled, the one needed last first. Values that the
//! segment found in the guest's registers are read again from there instead.

use super::asm::{Asm, Hole};
use super::build::BuiltSegment;
use super::code_form::CodeForm;
use super::code_frame;
use super::ir::{Id, IrInstruction, RegisterClass};
use super::loop_passes::CarriedVector;
use super::registers::{Bank, NEVER, ValueLocation};
use super::select;
use iced_x86::{IcedError, Register};

/// Host registers that hold scalar values; those that a function need not save come first.
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

/// Reason why there is no code.
#[derive(Debug)]
pub(super) enum LoweringRefusal {
    /// Too many values are live at once.
    Slots,
    /// The encoder refused an instruction.
    Encode,
}

impl From<IcedError> for LoweringRefusal {
    fn from(_: IcedError) -> Self {
        Self::Encode
    }
}

pub(super) struct Lower<'a> {
    pub asm: &'a mut Asm,
    segment: &'a BuiltSegment,
    pub places: Vec<ValueLocation>,
    pub vectors: Bank,
    pub scalars: Bank,
    /// Register that each value should be in at the end of a pass.
    pub hints: Vec<Option<u8>>,
    /// Position from which on the guest's scalars are being overwritten.
    pub replaced: u32,
    /// Position from which on each vector of the register file is overwritten.
    pub stale: Vec<u32>,
    /// Value last stored to each vector of the register file.
    pub stored: Vec<Option<Id>>,
    /// Position of the current instruction.
    pub now: u32,
    pub holes: Vec<Hole>,
    /// Next use of each operand of each listed instruction.
    next: Vec<[u32; 4]>,
    /// First use of the value of each listed instruction.
    first: Vec<u32>,
    /// First use of each carried value after the end of the pass.
    pub end_next: Vec<u32>,
    /// Scalar registers that have held something, as bits.
    pub scalars_used: u32,
}

/// Index of the operand that an instruction may take from memory.
pub(super) const FOLDED: usize = 1;

/// Listed instructions, those after the last pass included.
pub(super) struct InstructionOrder {
    pub insts: Vec<Id>,
    /// Position of the end of a pass.
    pub end: usize,
}

impl<'a> Lower<'a> {
    pub(super) fn new(
        asm: &'a mut Asm,
        segment: &'a BuiltSegment,
        order: &InstructionOrder,
        carried: &[CarriedVector],
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
            .position(|id| matches!(arena.get(*id), IrInstruction::SetScalar(..)))
            .unwrap_or(order.insts.len()) as u32;
        let form = segment.vectors.form;
        let mut stale = vec![NEVER; form.homes()];
        for (position, id) in order.insts.iter().enumerate().rev() {
            if let IrInstruction::SetHome(home, _) = arena.get(*id) {
                stale[usize::from(home)] = position as u32;
            }
        }
        let mut places = vec![ValueLocation::default(); n];
        for (place, next) in places.iter_mut().zip(&upcoming) {
            place.next = *next;
        }
        Self {
            asm,
            segment,
            places,
            vectors: Bank::new(
                form.registers(),
                code_frame::VECTOR_BYTES / form.bytes() as usize,
            ),
            scalars: Bank::new(SCALAR_REGISTERS.len(), code_frame::SCALAR_SLOTS),
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

    pub(super) fn bank(&mut self, class: RegisterClass) -> &mut Bank {
        match class {
            RegisterClass::Vector => &mut self.vectors,
            RegisterClass::Scalar => &mut self.scalars,
        }
    }

    pub(super) fn find_instruction(&self, id: Id) -> IrInstruction {
        self.segment.vectors.arena.get(id)
    }

    pub(super) fn class(&self, id: Id) -> RegisterClass {
        self.find_instruction(id)
            .class()
            .unwrap_or(RegisterClass::Scalar)
    }

    pub(super) fn form(&self) -> CodeForm {
        self.segment.vectors.form
    }

    /// Emits one listed instruction: operands, registers, bytes.
    pub(super) fn inst(&mut self, position: usize, id: Id) -> Result<(), LoweringRefusal> {
        let mut inst = self.find_instruction(id);
        let class = inst.class();
        let first = self.first[position];
        if class.is_some() && first == NEVER {
            return Ok(());
        }
        self.now = position as u32;
        if let IrInstruction::Home(home) = inst
            && first <= self.stale[usize::from(home)]
        {
            // Its users read it from the register file.
            self.places[id as usize].next = first;
            return Ok(());
        }
        let (folded, swapped) = self.fold(inst, self.next[position]);
        let mut next = self.next[position];
        if swapped && let IrInstruction::Binary(op, a, b) = inst {
            inst = IrInstruction::Binary(op, b, a);
            next.swap(0, 1);
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
        if let select::DestinationRule::Overwrites = order {
            // The destination overwrites an operand: it takes the register of one that is not used
            // any more.
            if let Some(i) = (0..2).find(|i| dies(self, *i)) {
                hint = Some(registers[i]);
            }
        }
        let early = order == select::DestinationRule::Early;
        // An operand that the instruction reads from its slot keeps the slot until then.
        let held = uses[FOLDED].filter(|_| folded.is_some());
        if !early {
            for used in uses
                .into_iter()
                .flatten()
                .filter(|used| Some(*used) != held)
            {
                self.release(used);
            }
            // Operands that were released need no protection any more.
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
        if let IrInstruction::SetHome(home, v) = inst {
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
