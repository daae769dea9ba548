//! Program words decoded once, with everything the engine asks per issue.

use crate::fault::FaultKind;
use crate::semantics::action::{Action, action};
use crate::timing::WordTiming;
use cp2_asm::isa::{Op, RegSet, Word};
use cp2_machine::{Class, Machine};

/// A program word ready to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub word: Word,
    /// What the memory slot asks for.
    pub action: Action,
    pub timing: WordTiming,
    pub reads: RegSet,
    pub writes: RegSet,
    /// Latency class of each slot that does something.
    pub classes: [Option<Class>; 2],
    /// Floating-point operations per section.
    pub flops: u64,
}

/// Decodes a word for a machine.
///
/// # Errors
/// The word is invalid or asks for what the machine lacks.
pub(crate) fn decode(bits: u64, machine: &Machine) -> Result<Decoded, FaultKind> {
    let word = Word::decode(bits)?;
    let missing = word.requires() - machine.cp2.extensions;
    if !missing.is_empty() {
        return Err(FaultKind::Extension {
            missing: missing.names().collect::<Vec<_>>().join(", "),
        });
    }
    let insts = [&word.arith, &word.mem];
    let reads = insts.iter().fold(RegSet::EMPTY, |set, i| set | i.reads());
    let writes = insts
        .iter()
        .fold(RegSet::EMPTY, |set, i| set | i.writes() | i.address_write());
    let registers = machine.cp2.registers;
    let section = |r: &cp2_asm::isa::Reg| {
        usize::from(r.0) < SECTION_REGISTERS && usize::from(r.0) >= registers
    };
    if let Some(reg) = (reads | writes).iter().find(section) {
        return Err(FaultKind::Register {
            register: reg.to_string(),
            registers,
        });
    }
    let idle = |op| matches!(op, Op::Nop | Op::MemNop);
    Ok(Decoded {
        action: action(&word.mem).unwrap_or(Action::Nop),
        timing: WordTiming::new(&word, &machine.cp2),
        reads,
        writes,
        classes: insts.map(|i| (!idle(i.op)).then(|| i.row().class)),
        flops: insts
            .iter()
            .map(|i| u64::from(i.row().muls) + u64::from(i.row().adds))
            .sum(),
        word,
    })
}

/// Section registers the encoding can name; a machine may have fewer.
const SECTION_REGISTERS: usize = 64;
