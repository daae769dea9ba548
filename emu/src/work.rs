//! What an issue of a word amounts to, in operations, flops and bytes.

use crate::semantics::action::{Action, Data, action};
use cp2_asm::isa::{Op, Word};
use cp2_machine::ClassMap;
use serde::{Deserialize, Serialize};

/// Work done, all sections together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Operations other than no-operations, by latency class; one per slot, not per section.
    pub operations: ClassMap<u64>,
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes loaded from DMEM.
    pub dmem_read: u64,
    /// Bytes stored to DMEM.
    pub dmem_written: u64,
}

impl Work {
    /// The work of one issue of `word` on a machine of `sections` sections.
    #[must_use]
    pub fn of(word: &Word, sections: usize) -> Self {
        let mut work = Self::default();
        let sections = sections as u64;
        for inst in [&word.arith, &word.mem] {
            let row = inst.row();
            if !matches!(row.op, Op::Nop | Op::MemNop) {
                work.operations[row.class] += 1;
            }
            work.flops += (u64::from(row.muls) + u64::from(row.adds)) * sections;
        }
        if let Some(Action::Memory(op)) = action(&word.mem) {
            let bytes = u64::from(op.bytes);
            match op.data {
                Data::Load { .. } | Data::LoadDuplicate { .. } => work.dmem_read = bytes * sections,
                Data::LoadScalars { .. } => work.dmem_read = bytes,
                Data::Store { .. } => work.dmem_written = bytes * sections,
            }
        }
        work
    }

    /// Adds `times` times `other`.
    pub fn add(&mut self, other: &Self, times: u64) {
        for class in cp2_machine::Class::ALL {
            self.operations[class] += other.operations[class] * times;
        }
        self.flops += other.flops * times;
        self.dmem_read += other.dmem_read * times;
        self.dmem_written += other.dmem_written * times;
    }
}
