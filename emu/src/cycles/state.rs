//! Partly known state of a kernel while the counter follows it.

use super::Uncounted;
use super::code::{BasicBlock, Effect};
use super::decided::ArgumentDecisions;
use super::partial::{KnownNumber, Partial, PartialLane, fixed};
use super::passes::is_linear;
use crate::core::execute::{check_control, control};
use crate::core::fault::FaultKind;
use crate::core::loops::advance;
use crate::core::{ARGUMENTS, Call, Core, HardwareLoop};
use crate::semantics::action::{Condition, ControlOp, Data, MemoryOp, Source};
use crate::semantics::address::{Generated, generate};
use crate::semantics::scalar;
use crate::timing::penalty;
use cp2_asm::isa::{Address, AddressOperand, Mode, SCALARS, Scalar};
use cp2_machine::{LANE_BYTES, Machine};
use std::ops::Range;

/// End of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Wait(u32),
    Signal(u32),
    Stop,
}

/// A block that was followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FollowedBlock {
    pub kind: Kind,
    /// Cycles lost after its last word.
    pub lost: u64,
}

/// A branch that asked for a number that moves from turn to turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct BranchQuestion {
    pub condition: Condition,
    pub number: KnownNumber,
}

/// Registers and DMEM as far as they are known, and the program counter with its stacks.
#[derive(Debug)]
pub(super) struct KnownState {
    core: Core,
    /// Index in `dmem` of the first argument word.
    first: usize,
    pub lanes: [PartialLane; SCALARS],
    dmem: Vec<Option<u32>>,
    /// Number of DMEM words known at launch.
    known: u64,
    /// Number of known DMEM words lost to stores. A lost word never becomes known again.
    pub lost: u64,
    pub alu: Partial,
    pub asked: Vec<BranchQuestion>,
}

impl KnownState {
    pub(super) fn new(
        machine: &Machine,
        entry: u32,
        data: &[(u32, Vec<u32>)],
        arguments: u32,
        (address, words): (u32, &[u32]),
    ) -> Self {
        let mut core = Core::without_dmem(machine);
        core.launch(entry, arguments);
        let mut lanes = [None; SCALARS];
        if let Some(lane) = lanes.get_mut(usize::from(ARGUMENTS.0)) {
            *lane = fixed(arguments);
        }
        let mut dmem = vec![None; machine.cp2.dmem.0 as usize / LANE_BYTES];
        let data = data.iter().map(|(address, words)| (*address, &words[..]));
        for (address, words) in data.chain([(address, words)]) {
            let first = address as usize / LANE_BYTES;
            for (place, word) in dmem.iter_mut().skip(first).zip(words.iter()) {
                *place = Some(*word);
            }
        }
        Self {
            core,
            first: address as usize / LANE_BYTES,
            lanes,
            known: dmem.iter().flatten().count() as u64,
            dmem,
            lost: 0,
            alu: Partial {
                decided: ArgumentDecisions::new(words),
                ..Partial::default()
            },
            asked: Vec::new(),
        }
    }

    pub(super) fn pc(&self) -> u32 {
        self.core.pc
    }

    pub(super) fn loops(&self) -> &[HardwareLoop] {
        &self.core.loops
    }

    pub(super) fn calls(&self) -> &[Call] {
        &self.core.calls
    }

    /// Returns the passes left of the outermost loop.
    pub(super) fn outermost_passes_left(&mut self) -> Option<&mut u32> {
        self.core.loops.first_mut().map(|outer| &mut outer.left)
    }

    /// Executes a block on the known state.
    pub(super) fn run(
        &mut self,
        block: &BasicBlock,
        machine: &Machine,
    ) -> Result<FollowedBlock, Uncounted> {
        for effect in &block.effects {
            match effect {
                Effect::Scalar(op) => scalar::execute(&mut self.alu, *op, &mut self.lanes),
                Effect::Memory(op) => self.access(op),
                Effect::Vote(op) => self.set_lane(op.x, None),
            }
        }
        self.core.pc = block.last;
        let Some(op) = block.control else {
            let outcome = advance(&mut self.core, block.last);
            return Ok(FollowedBlock {
                kind: Kind::Plain,
                lost: penalty(outcome, &machine.cp2).cycles,
            });
        };
        self.ask(op, block.last)?;
        let fault = |kind: FaultKind| Uncounted::Fault {
            pc: block.last,
            kind,
        };
        check_control(&self.core, machine, op).map_err(fault)?;
        let outcome = control(&mut self.core, machine, op).map_err(fault)?;
        let kind = match op {
            ControlOp::Wait { event } => Kind::Wait(event),
            ControlOp::Signal { event } => Kind::Signal(event),
            ControlOp::Stop => Kind::Stop,
            ControlOp::Return
            | ControlOp::Call { .. }
            | ControlOp::Jump { .. }
            | ControlOp::Branch { .. }
            | ControlOp::Loop { .. } => Kind::Plain,
        };
        Ok(FollowedBlock {
            kind,
            lost: penalty(outcome, &machine.cp2).cycles,
        })
    }

    /// Gives the core the register that a branch or loop reads; fails if its value is unknown.
    fn ask(&mut self, op: ControlOp, pc: u32) -> Result<(), Uncounted> {
        let (register, condition) = match op {
            ControlOp::Branch { condition, x, .. } => (x, Some(condition)),
            ControlOp::Loop {
                count: Source::Register(x),
                ..
            } => (x, None),
            _ => return Ok(()),
        };
        let number = self.lane(register);
        let number = number.ok_or(Uncounted::Data { pc, register })?;
        if number.moves.is_some() {
            match condition {
                Some(condition) => self.asked.push(BranchQuestion { condition, number }),
                None => self.alu.odd = true,
            }
        }
        self.alu.decided.exactly(number);
        self.core.set_scalar(register, number.bits);
        Ok(())
    }

    fn lane(&self, register: Scalar) -> PartialLane {
        self.lanes[usize::from(register.0) % SCALARS]
    }

    fn set_lane(&mut self, register: Scalar, lane: PartialLane) {
        self.lanes[usize::from(register.0) % SCALARS] = lane;
    }

    /// Applies a DMEM access to the scalars and to the known words.
    pub(super) fn access(&mut self, op: &MemoryOp) {
        let found = match op.place {
            AddressOperand::Shared(address) => self.find_address(address, op.bytes),
            // Registers of sections are not known.
            AddressOperand::Own(_) => None,
        };
        if op.place.updates() {
            let next = found.and_then(|(generated, own)| {
                let bits = generated.next?;
                Some(KnownNumber { bits, ..own })
            });
            self.set_lane(Scalar::address(op.place.base()), next);
        }
        match op.data {
            Data::Load { .. }
            | Data::LoadDuplicate { .. }
            | Data::LoadWord { .. }
            | Data::LoadUnaligned { .. }
            | Data::LoadNeighbour { .. } => {}
            Data::Store { .. } | Data::StoreWord { .. } | Data::StoreUnaligned { .. } => {
                match found {
                    Some((generated, own)) => self.store(own, generated.address, op.bytes),
                    // The store may go anywhere. Once all known words are lost there is nothing
                    // more to lose.
                    None if self.lost == self.known => {}
                    None => self.lose_words(0..self.dmem.len()),
                }
            }
            Data::LoadScalars { first, count } => {
                for i in 0..count {
                    let number = found.and_then(|(generated, own)| {
                        self.alu.odd |= own.moves.is_some();
                        self.alu.decided.exactly(own);
                        let at = generated.address as usize / LANE_BYTES + usize::from(i);
                        let bits = self.dmem.get(at).copied().flatten()?;
                        let word = at.checked_sub(self.first);
                        Some(KnownNumber {
                            bits,
                            moves: None,
                            word: word.and_then(|word| self.alu.decided.named(word)),
                        })
                    });
                    self.set_lane(Scalar(first.0 + i), number);
                }
            }
        }
    }

    /// Carries out a store of so many bytes at an address. If its address register, which held `own`, derives
    /// from an argument, other arguments move the store to other words.
    pub(super) fn store(&mut self, own: KnownNumber, address: u32, bytes: u32) {
        self.alu.odd |= own.moves.is_some();
        let first = address as usize / LANE_BYTES;
        let words = first..first + bytes as usize / LANE_BYTES;
        if self.knows_any(words.clone()) {
            self.alu.decided.exactly(own);
            self.lose_words(words);
        } else if let Some(word) = own.word {
            let bytes = words.len() * LANE_BYTES;
            self.alu.decided.stores(word, address, bytes);
        }
    }

    /// Counts the words of DMEM.
    pub(super) fn count_words(&self) -> usize {
        self.dmem.len()
    }

    /// Describes all but the registers: what is known of DMEM, what was lost, and what decided the flow.
    #[cfg(test)]
    pub(super) fn describe(&self) -> String {
        let decided = self.alu.decided.describe();
        format!(
            "{:?}, {} lost, odd {}, {:?}, {decided}",
            self.dmem, self.lost, self.alu.odd, self.core.loops
        )
    }

    /// Returns true if any of some words of DMEM is known.
    pub(super) fn knows_any(&self, words: Range<usize>) -> bool {
        let end = words.end.min(self.dmem.len());
        let mut found = self.dmem.get(words.start..end).into_iter().flatten();
        found.any(Option::is_some)
    }

    /// Makes words of DMEM unknown.
    fn lose_words(&mut self, words: Range<usize>) {
        let end = words.end.min(self.dmem.len());
        for place in self.dmem.get_mut(words.start..end).into_iter().flatten() {
            self.lost += u64::from(place.take().is_some());
        }
    }

    /// Returns the passes of a hardware loop that are left behind the one that begins, if the loop's body is the words
    /// from the program counter to `last`.
    pub(super) fn count_passes_left(&self, last: u32) -> Option<u32> {
        let own = self.core.callers_loops();
        let top = self.core.loops.get(own..)?.last()?;
        ((top.start, top.end) == (self.core.pc, last)).then(|| top.left - 1)
    }

    /// Takes passes from those that are left of the innermost loop.
    pub(super) fn skip_passes(&mut self, passes: u32) {
        if let Some(top) = self.core.loops.last_mut() {
            top.left = top.left.saturating_sub(passes);
        }
    }

    /// Returns the address of an access with the next value of its address register, if they are
    /// known, and the number that the register held.
    pub(super) fn find_address(
        &mut self,
        address: Address,
        bytes: u32,
    ) -> Option<(Generated, KnownNumber)> {
        let own = Scalar::address(address.base);
        let number = self.lane(own)?;
        let moves = number.moves;
        self.alu.odd |= moves.is_some() && !is_linear(address);
        let round = address.base % Address::MODULO_REGISTERS;
        let (step, ring) = match address.mode {
            Mode::Offset(_) | Mode::Post(_) => (None, None),
            Mode::Step(s) | Mode::Reverse(s) => (Some(s), None),
            Mode::Modulo(s) => (Some(s), Some([Scalar::base(round), Scalar::length(round)])),
        };
        let ring = ring.into_iter().flatten();
        for scalar in step.map(Scalar::step).into_iter().chain(ring) {
            let other = self.lane(scalar)?;
            self.alu.odd |= other.moves.is_some();
            let begins = matches!(address.mode, Mode::Modulo(_)) && scalar == Scalar::base(round);
            match (number.word, other.word) {
                // The distance from the ring's begin decides whether the address wraps around.
                (Some(at), Some(begin)) if begins => {
                    self.alu.decided.distance(at, begin);
                }
                _ => {
                    self.alu.decided.exactly(other);
                    if begins {
                        self.alu.decided.exactly(number);
                    }
                }
            }
        }
        if matches!(address.mode, Mode::Reverse(_)) {
            self.alu.decided.exactly(number);
        }
        let read = |scalar| self.lane(scalar).map_or(0, |number| number.bits);
        Some((generate(address, bytes, read), number))
    }
}
