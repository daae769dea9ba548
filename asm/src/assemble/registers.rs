//! Warnings about the use of registers.

use super::state::Assembler;
use crate::analysis::{RegisterFlaw, find_flaws};
use crate::diag::{Fail, Problem};
use crate::flow::Flow;
use crate::isa::Word;

/// Warns of every flaw that is not allowed on its line. A program whose control flow is flawed gets no warnings:
/// the error says what is wrong there.
pub(super) fn warn(asm: &mut Assembler<'_>, entry: u16, words: &[Word]) {
    let Ok(flow) = Flow::of(words, &[entry.into()]) else {
        return;
    };
    for found in find_flaws(words, &flow) {
        let Some(pending) = asm.words.get(found.pc).filter(|w| !w.allowed.register) else {
            continue;
        };
        // In fill and drain of a block some results of operations are not read that others read in the loop; values
        // that nothing reads are reported by their names.
        let scheduled = pending.insts.iter().any(|own| own.scheduled.is_some());
        if scheduled && found.flaw == RegisterFlaw::Unread {
            continue;
        }
        let problem = Problem::RegisterUse {
            register: found.register.to_string(),
            flaw: found.flaw,
        };
        let mut fail = Fail::new(problem, pending.at);
        let chain = pending.chain;
        if let RegisterFlaw::ChangedByPage { by } = found.flaw
            && let Some(changed) = asm.words.get(by)
        {
            fail = fail.related(changed.at, "changed here");
        }
        asm.sink.warn(fail, chain);
    }
}
