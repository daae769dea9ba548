//! Work of one issue of a word: operations, flops and bytes.

use crate::semantics::action::{Action, Data, action};
use cp2_asm::isa::{Op, Row, Word};
use cp2_machine::{Class, ClassMap};
use serde::{Deserialize, Serialize};

/// Work done, summed over all sections.
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

/// Work of one issue of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Latency classes of the operations in its two slots; `None` for a no-operation.
    classes: [Option<Class>; 2],
    flops: u64,
    dmem_read: u64,
    dmem_written: u64,
}

impl Amount {
    /// Computes the work of one issue of `word` on a machine of `sections` sections.
    pub(crate) fn count_word(word: &Word, sections: usize) -> Self {
        let sections = sections as u64;
        let rows = [word.arith.row(), word.mem.row()];
        let class = |row: &Row| (!matches!(row.op, Op::Nop | Op::MemNop)).then_some(row.class);
        let flops = rows.map(|row| (u64::from(row.muls) + u64::from(row.adds)) * sections);
        let mut amount = Self {
            classes: rows.map(class),
            flops: flops.iter().sum(),
            dmem_read: 0,
            dmem_written: 0,
        };
        if let Some(Action::Memory(op)) = action(&word.mem) {
            let bytes = u64::from(op.bytes);
            match op.data {
                Data::LoadScalars { .. } => amount.dmem_read = bytes,
                data if data.is_store() => amount.dmem_written = bytes * sections,
                _ => amount.dmem_read = bytes * sections,
            }
        }
        amount
    }
}

impl Work {
    /// Computes the work of one issue of `word` on a machine of `sections` sections.
    #[must_use]
    pub fn count_issue(word: &Word, sections: usize) -> Self {
        let mut work = Self::default();
        work.issued(&Amount::count_word(word, sections));
        work
    }

    /// Adds the work of one issue of a word.
    #[inline]
    pub(crate) fn issued(&mut self, amount: &Amount) {
        for class in amount.classes.into_iter().flatten() {
            self.operations[class] += 1;
        }
        self.flops += amount.flops;
        self.dmem_read += amount.dmem_read;
        self.dmem_written += amount.dmem_written;
    }

    /// Returns the work done since `before`, an earlier value of this sum.
    pub(crate) fn work_since(mut self, before: &Self) -> Self {
        for class in Class::ALL {
            self.operations[class] -= before.operations[class];
        }
        self.flops -= before.flops;
        self.dmem_read -= before.dmem_read;
        self.dmem_written -= before.dmem_written;
        self
    }

    /// Adds `times` times `other`.
    pub fn add(&mut self, other: &Self, times: u64) {
        for class in Class::ALL {
            self.operations[class] += other.operations[class] * times;
        }
        self.flops += other.flops * times;
        self.dmem_read += other.dmem_read * times;
        self.dmem_written += other.dmem_written * times;
    }
}
