//! Program words decoded once, with everything that engines need per issue.

use crate::account::work::Amount;
use crate::core::fault::FaultKind;
use crate::semantics::action::{Action, action};
use crate::timing::WordTiming;
use cp2_asm::isa::{Isa, Kind, Op, RegSet, Word};
use cp2_machine::Machine;

/// A program word ready to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub word: Word,
    /// Action of the memory slot.
    pub action: Action,
    pub timing: WordTiming,
    pub reads: RegSet,
    pub writes: RegSet,
    /// True if the arithmetic slot is not a no-operation.
    pub computes: bool,
    /// Work of one issue.
    pub amount: Amount,
    /// Direction of a branch that a block continues behind: true if the block expects it to be
    /// taken. Where the branch goes the other way no tier runs the word, but the engine's reference
    /// step does.
    pub expect: Option<bool>,
}

/// Decodes a word for a machine.
///
/// # Errors
/// The word is invalid or asks for what the machine lacks.
pub(crate) fn decode(bits: u64, machine: &Machine) -> Result<Decoded, FaultKind> {
    let word = Isa::of(machine).decode(bits)?;
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
    let section =
        |r: &cp2_asm::isa::Reg| r.0 < Kind::Pair.registers() && usize::from(r.0) >= registers;
    if let Some(reg) = (reads | writes).iter().find(section) {
        return Err(FaultKind::Register {
            register: reg.to_string(),
            registers,
        });
    }
    Ok(Decoded {
        action: action(&word.mem).unwrap_or(Action::Nop),
        timing: WordTiming::new(&word, &machine.cp2),
        reads,
        writes,
        computes: word.arith.op != Op::Nop,
        amount: Amount::count_word(&word, machine.cp2.sections),
        expect: None,
        word,
    })
}
