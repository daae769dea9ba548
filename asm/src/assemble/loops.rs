//! Hardware loops: they end with a plain word, nest, and do not share ends.

use super::state::Assembler;
use crate::diag::{Fail, Problem};
use crate::isa::{Inst, Op, Word};

/// Whether execution does not go on behind the operation.
pub(super) fn ends_flow(inst: &Inst) -> bool {
    matches!(inst.op, Op::Stop | Op::Ret | Op::Jmp)
}

/// Whether the operation may not be the last of a loop.
fn no_last(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Stop
            | Op::Ret
            | Op::Jmp
            | Op::Call
            | Op::Bz
            | Op::Bnz
            | Op::Bneg
            | Op::Bpos
            | Op::LoopI
            | Op::LoopX
            | Op::Wait
    )
}

/// Whether the operation begins a loop.
pub(super) fn is_loop(inst: &Inst) -> bool {
    matches!(inst.op, Op::LoopI | Op::LoopX)
}

/// Checks all loops of the program.
pub(super) fn check(asm: &mut Assembler<'_>, words: &[Option<Word>]) {
    // First and last word of the loops that are open, outermost first.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (pc, word) in words.iter().enumerate() {
        open.retain(|&(_, end)| end >= pc);
        let Some(word) = word.as_ref().filter(|w| is_loop(&w.mem)) else {
            continue;
        };
        let end = pc + usize::from(word.mem.target);
        let (at, chain) = asm.place_of(pc);
        let (end_at, end_chain) = asm.place_of(end);
        match words.get(end) {
            None => {
                let problem = Problem::Target {
                    target: end as i64,
                    words: words.len(),
                };
                asm.error(Fail::new(problem, at), chain);
                continue;
            }
            Some(Some(last)) if no_last(&last.mem) => {
                let fail = Fail::new(
                    Problem::LoopLast {
                        mnemonic: last.mem.row().mnemonic,
                    },
                    end_at,
                );
                asm.error(fail.related(at, "the loop begins here"), end_chain);
            }
            _ => {}
        }
        if let Some(&(outer, outer_end)) = open.last() {
            let outer_at = asm.place_of(outer).0;
            if end == outer_end {
                asm.error(
                    Fail::new(Problem::LoopShared, at)
                        .related(outer_at, "the other loop begins here"),
                    chain,
                );
            } else if end > outer_end {
                let fail = Fail::new(
                    Problem::LoopOverlap {
                        end,
                        outer: outer_end,
                    },
                    at,
                );
                asm.error(
                    fail.related(outer_at, "the loop around it begins here"),
                    chain,
                );
            }
        }
        open.push((pc, end));
        if let Some(m) = asm.options.machine {
            let (depth, most) = (open.len(), m.cp2.loop_depth);
            if depth > most {
                asm.error(
                    Fail::new(
                        Problem::LoopDepth {
                            depth,
                            most,
                            machine: m.name.clone(),
                        },
                        at,
                    ),
                    chain,
                );
            }
        }
    }
}
