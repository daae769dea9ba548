//! Which stream an address comes from: what runs past the end of its blocks lies in those of another stream, where reading it is no other error.

use crate::check::results::Results;
use crate::semantics::action::{Action, Data, MemoryOp, ScalarOp, Source};
use cp2_asm::isa::{SCALARS, Scalar};
use serde::{Deserialize, Serialize};

/// Streams, a bit each; those behind the last bit are in none.
type Set = u64;

/// Of each shared scalar the streams that it was computed from the addresses of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origins {
    of: Vec<Set>,
    /// Those of the access that is made.
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

    fn set(&mut self, register: Scalar, streams: Set) {
        self.of[usize::from(register.0) % SCALARS] = streams;
    }

    fn source(&self, source: Source) -> Set {
        match source {
            Source::Register(register) => self.get(register),
            Source::Constant(_) => 0,
        }
    }

    /// The memory slot of a word is about to act.
    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Scalar(ScalarOp::Move { x, y }) => self.set(x, self.source(y)),
            // The lower half stays what it was.
            Action::Scalar(ScalarOp::High { .. }) | Action::Control(_) | Action::Nop => {}
            Action::Scalar(ScalarOp::Binary { x, y, z, .. }) => {
                self.set(x, self.source(y) | self.source(z));
            }
            Action::Memory(op) => self.access(op),
        }
    }

    fn access(&mut self, op: MemoryOp) {
        let registers = op.address.reads().iter();
        let registers = registers.map(|reg| Scalar(reg.0 % SCALARS as u8));
        self.access = registers.fold(0, |set, register| set | self.get(register));
        if op.address.mode.updates() {
            self.set(Scalar::address(op.address.base), self.access);
        }
        if let Data::LoadScalars { first, count } = op.data {
            for i in 0..count {
                self.set(Scalar(first.0 + i), 0);
            }
        }
    }

    /// A scalar gets a word of an argument block, so many bytes from its beginning.
    pub(crate) fn argument(
        &mut self,
        results: &Results,
        register: Scalar,
        offset: u32,
        value: u32,
    ) {
        let stream = results.stream(value).filter(|_| results.is_address(offset));
        let bit = stream.map_or(0, |stream| 1u64.checked_shl(stream as u32).unwrap_or(0));
        self.set(register, bit);
    }

    /// Whether the access that is made has its address from one stream alone, and that is another one than `stream`.
    pub(crate) fn strays(&self, stream: usize) -> bool {
        let own = 1u64.checked_shl(stream as u32).unwrap_or(0);
        self.access.is_power_of_two() && self.access != own
    }
}
