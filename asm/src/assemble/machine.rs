//! Checks against a machine: what it lacks, what it has no room for.

use super::state::Assembler;
use crate::diag::{Fail, Problem};
use crate::isa::{Kind, Op, Word};
use crate::source::Span;
use cp2_machine::{Extensions, Machine};

/// Reports what `machine` cannot run.
pub(super) fn check(asm: &mut Assembler<'_>, machine: &Machine, words: &[Option<Word>]) {
    let cp2 = &machine.cp2;
    let whose = format!("machine {} has", machine.name);
    let bytes = size_of::<u64>() as u64;
    let most = usize::try_from(cp2.program.0 / bytes).unwrap_or(usize::MAX);
    if words.len() > most {
        let (at, chain) = asm.place_of(most);
        asm.error(
            Fail::new(
                Problem::ProgramFull {
                    words: words.len(),
                    most,
                    whose: whose.clone(),
                },
                at,
            ),
            chain,
        );
    }
    for (flag, at, chain) in std::mem::take(&mut asm.required_at) {
        if let Some(problem) = missing(".require", flag, machine) {
            asm.error(Fail::new(problem, at), chain);
        }
    }
    for (pc, word) in words.iter().enumerate() {
        let Some(word) = word else { continue };
        let (at, chain) = asm.place_of(pc);
        for inst in [&word.arith, &word.mem] {
            if let Some(problem) = missing(inst.row().mnemonic, inst.row().requires, machine) {
                asm.error(Fail::new(problem, at), chain);
            }
            if matches!(inst.op, Op::Wait | Op::Signal) && inst.imm as usize >= cp2.events {
                asm.error(
                    Fail::new(absent("event", inst.imm as usize, cp2.events, machine), at),
                    chain,
                );
            }
            let operands = inst
                .row()
                .form
                .operands()
                .iter()
                .filter(|o| o.kind.is_register());
            for (operand, &r) in operands.zip(&inst.r) {
                let last = match operand.kind {
                    Kind::Pair => usize::from(r),
                    Kind::Quad => 2 * usize::from(r) + 1,
                    _ => continue,
                };
                if last >= cp2.registers {
                    asm.error(
                        Fail::new(absent("register", last, cp2.registers, machine), at),
                        chain,
                    );
                }
            }
        }
    }
}

/// Reports DMEM used beyond the machine's.
pub(super) fn check_dmem(
    asm: &mut Assembler<'_>,
    machine: &Machine,
    end: u64,
    at: Span,
    chain: crate::diag::Chain,
) {
    let most = machine.cp2.dmem.0;
    if end > most {
        let whose = format!("machine {} has", machine.name);
        asm.error(Fail::new(Problem::DmemFull { end, most, whose }, at), chain);
    }
}

fn missing(what: &str, needs: Extensions, machine: &Machine) -> Option<Problem> {
    let lacking = needs - machine.cp2.extensions;
    (!lacking.is_empty()).then(|| Problem::Extension {
        what: what.to_owned(),
        names: lacking.names().collect::<Vec<_>>().join(", "),
        machine: machine.name.clone(),
    })
}

fn absent(what: &'static str, index: usize, count: usize, machine: &Machine) -> Problem {
    Problem::Absent {
        what,
        index,
        count,
        machine: machine.name.clone(),
    }
}
