//! Makes words neither fault nor overwrite registers that a program relies on.

use super::case::ProgramShape;
use crate::semantics::action::{Action, Data, action};
use cp2_asm::isa::{AddressOperand, Inst, Kind, Mode, Op, Scalar, Word};
use cp2_machine::Machine;

/// Returns the word with operations and registers that exist. Unless `unruly`, its accesses are
/// aligned and stay near their start, and scalar results go to harmless registers.
pub(super) fn tame(mut word: Word, machine: &Machine, shape: &ProgramShape, unruly: bool) -> Word {
    if !unruly {
        replace_missing(&mut word.arith, machine, Op::Nop);
        replace_missing(&mut word.mem, machine, Op::MemNop);
        let most = machine.cp2.registers.min(shape.registers.into()) as u8;
        limit(&mut word.arith, most);
        limit(&mut word.mem, most);
        memory(&mut word.mem);
        scalars(&mut word.mem);
    }
    // Restricted registers may coincide: then a word writes one of them twice.
    if word.written_twice().is_some() {
        word.mem = Inst::new(Op::MemNop);
    }
    if word.written_twice().is_some() {
        word.arith = Inst::new(Op::Nop);
    }
    word
}

/// Replaces an operation of an extension that the machine lacks by `none`.
fn replace_missing(inst: &mut Inst, machine: &Machine, none: Op) {
    if !machine.cp2.extensions.contains(inst.row().requires) {
        *inst = Inst::new(none);
    }
}

/// Keeps section registers below `most`.
fn limit(inst: &mut Inst, most: u8) {
    let registers = inst.row().form.operands().iter();
    let registers = registers.filter(|o| o.kind.is_register());
    for (operand, r) in registers.zip(&mut inst.r) {
        match operand.kind {
            Kind::Pair => *r %= most,
            Kind::Quad => *r %= most / 2,
            _ => {}
        }
    }
    if let AddressOperand::Own(own) = &mut inst.place {
        own.register %= most;
    }
}

/// Keeps addresses aligned and near their start.
fn memory(inst: &mut Inst) {
    let Some(Action::Memory(op)) = action(inst) else {
        return;
    };
    let quad = op.align == 16;
    let addr = match &mut inst.place {
        AddressOperand::Shared(address) => address,
        // The words before it make the half-words small.
        AddressOperand::Own(own) => {
            own.base = match own.base {
                14 | 15 => 12,
                base if quad => base & !1,
                base => base,
            };
            return;
        }
    };
    let near = |imm: i32, unit: i32| imm / unit % 5 * unit;
    match &mut addr.mode {
        // Any register of even number will do: it stays a multiple of 16.
        // A word address needs no more than that.
        Mode::Offset(imm) if op.align < op.bytes => *imm = near(*imm, 4) * 3,
        Mode::Offset(imm) => *imm = near(*imm, op.bytes as i32) * 4,
        Mode::Post(imm) if quad => *imm = near(*imm, 16),
        Mode::Post(imm) => *imm = near(*imm, 8),
        Mode::Step(s) | Mode::Modulo(s) if quad => *s %= 8,
        Mode::Step(_) | Mode::Modulo(_) => {}
        Mode::Reverse(s) if quad => *s = (*s % 8) & !1,
        Mode::Reverse(s) => *s &= !1,
    }
    if quad {
        addr.base &= !1;
    } else if addr.mode.updates() {
        addr.base |= 1;
    }
    // The register that points to the table must not be changed.
    if addr.base == 15 {
        addr.base = 13;
    }
}

/// Sends scalar results to `c0..c11`.
fn scalars(inst: &mut Inst) {
    let safe = |r: u8| Scalar::control(r % 12).0;
    match action(inst) {
        Some(Action::Scalar(_) | Action::Vote(_)) => inst.r[0] = safe(inst.r[0]),
        Some(Action::Memory(op)) => {
            if let Data::LoadScalars { count, .. } = op.data {
                inst.r[0] = safe(inst.r[0]) & !(count - 1);
            }
        }
        _ => {}
    }
}
