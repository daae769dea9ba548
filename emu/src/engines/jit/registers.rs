//! Assignment of host registers: owners, locks, spill victims and spill slots.

use super::ir::Id;

/// Position of the next use of a value that is never used again.
pub(super) const NEVER: u32 = u32::MAX;

/// Location of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ValueLocation {
    pub register: Option<u8>,
    /// Spill slot, once the value has been stored there.
    pub slot: Option<u16>,
    /// Vector of the register file that holds the value, once it has been stored there.
    pub home: Option<u8>,
    /// Position of the value's next use.
    pub next: u32,
}

/// Host registers of one class, and their spill slots.
#[derive(Debug)]
pub(super) struct Bank {
    owners: Vec<Option<Id>>,
    locked: u64,
    slots: u16,
    limit: usize,
    free_slots: Vec<u16>,
}

impl Bank {
    pub(super) fn new(registers: usize, slots: usize) -> Self {
        Self {
            owners: vec![None; registers],
            locked: 0,
            slots: 0,
            limit: slots,
            free_slots: Vec::new(),
        }
    }

    pub(super) fn lock(&mut self, register: u8) {
        self.locked |= 1 << register;
    }

    pub(super) fn unlock_all(&mut self) {
        self.locked = 0;
    }

    pub(super) fn owner(&self, register: u8) -> Option<Id> {
        self.owners[usize::from(register)]
    }

    pub(super) fn set_owner(&mut self, register: u8, owner: Option<Id>) {
        self.owners[usize::from(register)] = owner;
    }

    /// Returns a free register, `hint` if possible.
    pub(super) fn free(&self, hint: Option<u8>) -> Option<u8> {
        let free = |r: u8| self.owner(r).is_none() && self.locked >> r & 1 == 0;
        hint.filter(|r| free(*r))
            .or_else(|| (0..self.owners.len() as u8).find(|r| free(*r)))
    }

    /// Returns the unlocked register whose value is needed last.
    pub(super) fn victim(&self, next: impl Fn(Id) -> u32) -> Option<u8> {
        (0..self.owners.len() as u8)
            .filter(|r| self.locked >> r & 1 == 0)
            .filter_map(|r| Some((next(self.owner(r)?), r)))
            .max()
            .map(|(_, r)| r)
    }

    /// Returns a spill slot; `None` if they are used up.
    pub(super) fn slot(&mut self) -> Option<u16> {
        if let Some(slot) = self.free_slots.pop() {
            return Some(slot);
        }
        let slot = self.slots;
        self.slots += 1;
        (usize::from(slot) < self.limit).then_some(slot)
    }

    pub(super) fn release_slot(&mut self, slot: u16) {
        self.free_slots.push(slot);
    }
}
