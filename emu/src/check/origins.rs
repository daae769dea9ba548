//! Streams that scalars' addresses come from: finds accesses that stray.
//!
//! An access that runs past the end of its own stream's blocks lies in the blocks of another
//! stream, where a read violates no other rule.

use crate::check::results::Results;
use crate::semantics::action::{Action, Data, MemoryOp, ScalarOp, Source};
use cp2_asm::isa::{AddressOperand, SCALARS, Scalar};
use serde::{Deserialize, Serialize};

/// Set of streams, one bit each; streams beyond the last bit are in no set.
type Set = u64;

/// Streams from whose addresses each shared scalar was computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origins {
    of: Vec<Set>,
    /// Streams that the address of the current access was computed from.
    access: Set,
}

impl Default for Origins {
    fn default() -> Self {
        Self {
            of: vec![0; SCALARS],
            access: 0,
        }
    }
}

impl Origins {
    fn get(&self, register: Scalar) -> Set {
        self.of[usize::from(register.0) % SCALARS]
    }

    fn set_streams(&mut self, register: Scalar, streams: Set) {
        self.of[usize::from(register.0) % SCALARS] = streams;
    }

    fn source(&self, source: Source) -> Set {
        match source {
            Source::Register(register) => self.get(register),
            Source::Constant(_) => 0,
        }
    }

    /// Updates the sets for the action that the memory slot of a word is about to take.
    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Scalar(ScalarOp::Move { x, y }) => self.set_streams(x, self.source(y)),
            // `High` replaces the upper half only, so that the address still comes from the same
            // streams.
            Action::Scalar(ScalarOp::High { .. })
            | Action::Control(_)
            | Action::Exchange(_)
            | Action::Mask(_)
            | Action::Nop => {}
            Action::Vote(op) => self.set_streams(op.x, 0),
            Action::Scalar(ScalarOp::Binary { x, y, z, .. }) => {
                self.set_streams(x, self.source(y) | self.source(z));
            }
            Action::Memory(op) => self.access(op),
        }
    }

    fn access(&mut self, op: MemoryOp) {
        let base = Scalar::address(op.place.base());
        self.access = match op.place {
            AddressOperand::Shared(address) => {
                let registers = address.reads().iter();
                let registers = registers.map(|reg| Scalar(reg.0 % SCALARS as u8));
                registers.fold(0, |set, register| set | self.get(register))
            }
            // The half-words count within the stream that the address register points to.
            AddressOperand::Own(_) => self.get(base),
        };
        if op.place.updates() {
            self.set_streams(base, self.access);
        }
        if let Data::LoadScalars { first, count } = op.data {
            for i in 0..count {
                self.set_streams(Scalar(first.0 + i), 0);
            }
        }
    }

    /// Sets the origin of a scalar that is loaded with the argument word `offset` bytes behind the
    /// beginning of an argument block.
    pub(crate) fn argument(
        &mut self,
        results: &Results,
        register: Scalar,
        offset: u32,
        value: u32,
    ) {
        let stream = results.stream(value).filter(|_| results.is_address(offset));
        let bit = stream.map_or(0, |stream| 1u64.checked_shl(stream as u32).unwrap_or(0));
        self.set_streams(register, bit);
    }

    /// True if the address of the current access comes from exactly one stream, and that is not
    /// `stream`.
    pub(crate) fn is_stray(&self, stream: usize) -> bool {
        let own = 1u64.checked_shl(stream as u32).unwrap_or(0);
        self.access.is_power_of_two() && self.access != own
    }
}
