//! Checks targets and hardware loops, with places in the source.

use super::state::Assembler;
use crate::diag::{Fail, Problem};
use crate::isa::Word;
use crate::structure::{Structure, StructureError};

/// Checks the structure of the program and reports each violation at its word.
pub(super) fn check(asm: &mut Assembler<'_>, words: &[Option<Word>]) {
    let found = Structure::of(words);
    for error in found.errors {
        report(asm, &error);
    }
    for (name, from, to) in std::mem::take(&mut asm.pooled) {
        let left = |&&(pc, end): &&(usize, usize)| {
            (pc + 1..=end).contains(&from) && !(pc + 1..=end).contains(&to)
        };
        if let Some(&(pc, _)) = found.loops.iter().find(left) {
            let (at, chain) = asm.place_of(pc);
            let problem = Problem::LoopLeft {
                name: name.to_string(),
            };
            let fail = Fail::new(problem, at);
            let block = asm.place_of(from).0;
            asm.error(fail.related(block, "the block is here"), chain);
        }
    }
    let Some(m) = asm.options.machine else { return };
    let most = m.cp2.loop_depth;
    for (pc, depth) in found.depths.into_iter().filter(|&(_, depth)| depth > most) {
        let (at, chain) = asm.place_of(pc);
        let machine = m.name.clone();
        let problem = Problem::LoopDepth {
            depth,
            most,
            machine,
        };
        asm.error(Fail::new(problem, at), chain);
    }
}

fn report(asm: &mut Assembler<'_>, error: &StructureError) {
    match *error {
        StructureError::Target { pc, target, words } => {
            let (word_at, chain) = asm.place_of(pc);
            let at = asm
                .words
                .get(pc)
                .and_then(|w| w.insts.iter().find_map(|i| i.target.as_ref()))
                .map_or(word_at, |t| t.1);
            let target = target as i64;
            asm.error(Fail::new(Problem::Target { target, words }, at), chain);
        }
        StructureError::LoopLast { pc, end, mnemonic } => {
            let (at, chain) = asm.place_of(end);
            let fail = Fail::new(Problem::LoopLast { mnemonic }, at);
            let begin = asm.place_of(pc).0;
            asm.error(fail.related(begin, "the loop begins here"), chain);
        }
        StructureError::LoopShared { pc, outer } => {
            let (at, chain) = asm.place_of(pc);
            let outer = asm.place_of(outer).0;
            let fail = Fail::new(Problem::LoopShared, at);
            asm.error(fail.related(outer, "the other loop begins here"), chain);
        }
        StructureError::LoopOverlap {
            pc,
            end,
            outer,
            outer_end,
        } => {
            let (at, chain) = asm.place_of(pc);
            let around = asm.place_of(outer).0;
            let outer = outer_end;
            let fail = Fail::new(Problem::LoopOverlap { end, outer }, at);
            asm.error(
                fail.related(around, "the loop around it begins here"),
                chain,
            );
        }
    }
}
