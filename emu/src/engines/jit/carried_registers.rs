//! Values that a loop keeps in host registers from pass to pass.

use super::ir::{Id, IrInstruction};
use super::loop_passes::CarriedVector;
use super::lower::{Lower, LoweringRefusal};
use super::registers::NEVER;
use super::select;

impl Lower<'_> {
    /// Loads the carried values before the first pass.
    pub(super) fn enter(&mut self, carried: &[CarriedVector]) {
        for (register, c) in carried.iter().enumerate() {
            let register = register as u8;
            self.begin(c, register);
            self.vectors.set_owner(register, Some(c.begin));
            self.places[c.begin as usize].register = Some(register);
            self.hints[c.end as usize] = Some(register);
        }
    }

    /// Computes a carried value before the first pass: a vector of the register file, one gathered
    /// from pair registers, or the result of an instruction whose operands no pass changes.
    fn begin(&mut self, c: &CarriedVector, register: u8) {
        let inst = self.find_instruction(c.begin);
        match inst {
            IrInstruction::Home(home) => return self.load_home(register, home),
            IrInstruction::Begin(_) => return select::gather(self.asm, register, c.pairs),
            _ => {}
        }
        let mut registers = [0; 4];
        // Only carried values are in registers yet, so that the last four are free.
        let spare = (self.form().registers() as u8 - 4)..;
        for ((operand, used), spare) in registers.iter_mut().zip(inst.uses()).zip(spare) {
            let Some(used) = used else { continue };
            if let IrInstruction::Home(quad) = self.find_instruction(used) {
                self.load_home(spare, quad);
            }
            *operand = spare;
        }
        select::encode(self.asm, &inst, register, registers, &mut self.holes);
    }

    /// Moves the carried values to the registers where the next pass expects them.
    pub(super) fn close(&mut self, carried: &[CarriedVector]) -> Result<(), LoweringRefusal> {
        // First, values that are in the way and are needed after the loop are spilled.
        for (target, c) in carried.iter().enumerate() {
            if let Some(owner) = self.vectors.owner(target as u8) {
                let moves = carried.iter().any(|other| other.end == owner);
                if owner != c.end && !moves && self.places[owner as usize].next != NEVER {
                    self.spill(owner)?;
                }
            }
        }
        // Then values move to targets that hold nothing another move needs, until no move is left.
        let mut pending: Vec<(u8, Id)> = (0u8..)
            .zip(carried)
            .filter(|(target, c)| self.places[c.end as usize].register != Some(*target))
            .map(|(target, c)| (target, c.end))
            .collect();
        while !pending.is_empty() {
            let blocked = |s: &Self, target: u8| {
                s.vectors
                    .owner(target)
                    .is_some_and(|owner| pending.iter().any(|(_, id)| *id == owner))
            };
            let Some(i) = pending
                .iter()
                .position(|(target, _)| !blocked(self, *target))
            else {
                // The moves form a cycle: one of its values goes through memory.
                let (target, _) = pending[0];
                if let Some(owner) = self.vectors.owner(target) {
                    self.spill(owner)?;
                    self.vectors.set_owner(target, None);
                    self.places[owner as usize].register = None;
                }
                continue;
            };
            let (target, id) = pending.swap_remove(i);
            if let Some(owner) = self.vectors.owner(target) {
                self.places[owner as usize].register = None;
            }
            self.vectors.set_owner(target, None);
            self.fetch(id, target);
            // From now on the target alone counts as the value's place; a second target copies it
            // from there.
            if let Some(old) = self.places[id as usize].register {
                self.vectors.set_owner(old, None);
            }
            self.vectors.set_owner(target, Some(id));
            self.places[id as usize].register = Some(target);
        }
        for (c, next) in carried.iter().zip(self.end_next.clone()) {
            self.places[c.end as usize].next = next;
        }
        Ok(())
    }
}
