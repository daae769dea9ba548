//! Checks a program against a machine: missing features, memory that is too small.

use super::state::Assembler;
use crate::MachineMismatch;
use crate::diag::{Chain, Fail, Problem};
use crate::isa::Word;
use crate::object::{dmem_fits, lacks, program_fits};
use crate::source::Span;
use cp2_machine::{Extensions, Machine};

/// Reports everything in the program that `machine` cannot run.
pub(super) fn check(asm: &mut Assembler<'_>, machine: &Machine, words: &[Option<Word>]) {
    if let Err(lack) = program_fits(words.len(), machine) {
        let most = machine.cp2.program.0 / size_of::<u64>() as u64;
        let (at, chain) = asm.place_of(usize::try_from(most).unwrap_or(usize::MAX));
        asm.error(Fail::new(problem(lack), at), chain);
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
        }
        for lack in lacks(pc, word, machine) {
            asm.error(Fail::new(problem(lack), at), chain);
        }
    }
}

/// Reports data beyond the machine's DMEM.
pub(super) fn check_dmem(
    asm: &mut Assembler<'_>,
    machine: &Machine,
    end: u64,
    at: Span,
    chain: Chain,
) {
    if let Err(lack) = dmem_fits(0, end, machine) {
        asm.error(Fail::new(problem(lack), at), chain);
    }
}

/// Converts a mismatch to a problem whose message stands beside a source line.
fn problem(lack: MachineMismatch) -> Problem {
    let has = |machine: String| format!("machine {machine} has");
    let words = |bytes: u64| (bytes / size_of::<u64>() as u64) as usize;
    match lack {
        MachineMismatch::Program {
            bytes,
            size,
            machine,
        } => Problem::ProgramFull {
            words: words(bytes),
            most: words(size),
            whose: has(machine),
        },
        MachineMismatch::Dmem {
            end, size, machine, ..
        } => Problem::DmemFull {
            end,
            most: size,
            whose: has(machine),
        },
        MachineMismatch::Register {
            register,
            count,
            machine,
            ..
        } => Problem::Absent {
            what: "register",
            index: register.into(),
            count,
            machine,
        },
        MachineMismatch::Event {
            event,
            count,
            machine,
            ..
        } => Problem::Absent {
            what: "event",
            index: usize::try_from(event).unwrap_or(0),
            count,
            machine,
        },
        MachineMismatch::LoopDepth {
            depth,
            most,
            machine,
            ..
        } => Problem::LoopDepth {
            depth,
            most,
            machine,
        },
        // These are reported word by word in [`check`], or cannot be: rows come from the machine itself.
        MachineMismatch::Extensions { .. }
        | MachineMismatch::Word { .. }
        | MachineMismatch::Row { .. } => Problem::UserError {
            text: lack.to_string(),
        },
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
