//! Proves in tests that emitted code keeps the contract of `executable`.
//!
//! The contract is that of [`super::executable`]. The bytes are decoded again, by a decoder that
//! shares nothing with the emitter, and interpreted on abstract values ([`state`]) until a fixed
//! point is reached. The proof covers every path through the function:
//!
//! * every branch goes to an instruction of the block, and none into the middle of one;
//! * the pointers to file, DMEM, scalars and frame keep their values;
//! * every access to file, scalars and frame has a constant place inside them, and
//!   none writes the frame's constants;
//! * every access to DMEM is inside it, by a check that every path to it has passed, or because its
//!   pointer walks a buffer that was checked before ([`walk`]);
//! * the stack is balanced, saved registers are restored, the upper halves of the
//!   vectors are clean, and nothing leaves the function but its return.

mod state;
mod step;
mod walk;

use iced_x86::{
    Decoder, DecoderOptions, FastFormatter, FlowControl, Instruction, InstructionInfoFactory,
};
use state::AbstractState;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Largest DMEM in bytes for which four times an address and its offset stay below 2^31.
pub(super) const LARGEST: u32 = 1 << 26;

/// Maximum number of rounds of the fixed point at a leader; functions take a few.
const ROUNDS: usize = 64;

/// Memory that a function may access.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessibleMemory {
    /// Bytes of a section's DMEM.
    pub dmem: u32,
}

/// An instruction, and why it is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedInstruction {
    pub at: u64,
    pub why: String,
}

impl RefusedInstruction {
    pub(super) fn new(at: u64, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { at, why }
    }
}

/// Verifies the functions that begin at `entries` of `code`, compiled for a DMEM of `dmem_bytes`.
pub(super) fn verify(
    code: &[u8],
    entries: &[usize],
    dmem_bytes: u32,
) -> Result<(), RefusedInstruction> {
    if dmem_bytes > LARGEST {
        return Err(RefusedInstruction::new(
            0,
            "a DMEM for which addresses may wrap around",
        ));
    }
    entries.iter().try_for_each(|entry| {
        let function = ReachableCode::decode(code, *entry as u64)?;
        function.interpret(AccessibleMemory { dmem: dmem_bytes })
    })
}

/// Instructions that a function can reach.
pub(super) struct ReachableCode {
    entry: u64,
    code: BTreeMap<u64, Instruction>,
    /// Targets of branches, the entry, and instructions behind conditional branches.
    leaders: BTreeSet<u64>,
}

impl ReachableCode {
    fn decode(bytes: &[u8], entry: u64) -> Result<Self, RefusedInstruction> {
        let mut function = Self {
            entry,
            code: BTreeMap::new(),
            leaders: BTreeSet::from([entry]),
        };
        let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
        let mut open = vec![entry];
        while let Some(mut at) = open.pop() {
            while !function.code.contains_key(&at) {
                let place = usize::try_from(at).ok().filter(|at| *at < bytes.len());
                let Some(place) = place else {
                    return Err(RefusedInstruction::new(at, "runs out of the block"));
                };
                decoder.set_ip(at);
                decoder
                    .set_position(place)
                    .map_err(|error| RefusedInstruction::new(at, error.to_string()))?;
                let instruction = decoder.decode();
                if instruction.is_invalid() {
                    return Err(RefusedInstruction::new(at, "no instruction"));
                }
                function.code.insert(at, instruction);
                match instruction.flow_control() {
                    FlowControl::Next => at = instruction.next_ip(),
                    FlowControl::Return => break,
                    FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                        let target = instruction.near_branch_target();
                        function.leaders.insert(target);
                        open.push(target);
                        if instruction.flow_control() == FlowControl::UnconditionalBranch {
                            break;
                        }
                        at = instruction.next_ip();
                        function.leaders.insert(at);
                    }
                    other => return Err(RefusedInstruction::new(at, format!("{other:?}"))),
                }
            }
        }
        let mut end = 0;
        for (at, instruction) in &function.code {
            if *at < end {
                return Err(RefusedInstruction::new(*at, "inside another instruction"));
            }
            end = instruction.next_ip();
        }
        Ok(function)
    }

    /// Returns the instruction at `at`, which decoding has reached.
    fn find_instruction(&self, at: u64) -> Result<&Instruction, RefusedInstruction> {
        let found = self.code.get(&at);
        found.ok_or_else(|| RefusedInstruction::new(at, "not reached by decoding"))
    }

    /// Returns the instructions from `at` on, in order of address.
    fn instructions_from(&self, at: u64) -> impl Iterator<Item = &Instruction> {
        self.code.range(at..).map(|(_, instruction)| instruction)
    }

    /// Interprets the function from its entry until the states at its leaders do not change any
    /// more.
    fn interpret(&self, memory: AccessibleMemory) -> Result<(), RefusedInstruction> {
        let mut states = BTreeMap::from([(self.entry, AbstractState::begin())]);
        let mut open = BTreeSet::from([self.entry]);
        let mut infos = InstructionInfoFactory::new();
        let mut rounds: BTreeMap<u64, usize> = BTreeMap::new();
        while let Some(leader) = open.pop_first() {
            let round = rounds.entry(leader).or_default();
            *round += 1;
            if *round > ROUNDS {
                return Err(RefusedInstruction::new(leader, "no fixed point"));
            }
            let Some(state) = states.get(&leader) else {
                continue;
            };
            for (target, state) in self.block(leader, state.clone(), memory, &mut infos)? {
                let changed = match states.get_mut(&target) {
                    Some(before) => before.join(&state, target),
                    None => {
                        states.insert(target, state);
                        true
                    }
                };
                if changed {
                    open.insert(target);
                }
            }
        }
        Ok(())
    }

    /// Interprets from a leader to the next ones. Returns the addresses that control goes to, each
    /// with its state.
    fn block(
        &self,
        leader: u64,
        mut state: AbstractState,
        memory: AccessibleMemory,
        infos: &mut InstructionInfoFactory,
    ) -> Result<Vec<(u64, AbstractState)>, RefusedInstruction> {
        let mut out = Vec::new();
        let mut at = leader;
        loop {
            if let Some(walked) = walk::pattern(self, at, &mut state, memory) {
                out.extend(walked.left.into_iter().map(|to| (to, state.failed())));
                at = walked.next;
                if let Some(fact) = walked.fact {
                    state.record_judgement(fact);
                }
            } else {
                let instruction = self.find_instruction(at)?;
                match instruction.flow_control() {
                    FlowControl::Return => {
                        state.leaves(at)?;
                        return Ok(out);
                    }
                    FlowControl::UnconditionalBranch => {
                        out.push((instruction.near_branch_target(), state));
                        return Ok(out);
                    }
                    FlowControl::ConditionalBranch => {
                        let sides = [
                            (instruction.near_branch_target(), true),
                            (instruction.next_ip(), false),
                        ];
                        for (target, taken) in sides {
                            out.extend(Some(target).zip(state.branch(instruction, taken)));
                        }
                        return Ok(out);
                    }
                    _ => step::step(instruction, &mut state, memory, infos)?,
                }
                at = instruction.next_ip();
            }
            if self.leaders.contains(&at) {
                out.push((at, state));
                return Ok(out);
            }
        }
    }
}

/// Panics if emitted code does not keep the contract.
#[allow(
    clippy::panic,
    reason = "an emitter that is wrong must stop every test"
)]
pub(super) fn assert(code: &[u8], entries: &[usize], dmem_bytes: u32) {
    if let Err(RefusedInstruction { at, why }) = verify(code, entries, dmem_bytes) {
        let mut text = String::new();
        let mut formatter = FastFormatter::new();
        for instruction in Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter() {
            let mark = if instruction.ip() == at { '>' } else { ' ' };
            let _ = write!(text, "{mark} {:5x} ", instruction.ip());
            formatter.format(&instruction, &mut text);
            text.push('\n');
        }
        panic!("emitted code, {at:#x}: {why}\n{text}");
    }
}

#[cfg(test)]
mod tests;
