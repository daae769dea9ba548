//! Canonical text of an instruction and of a word.

use crate::isa::{Address, AddressOperand, Inst, Kind, Mode, Op, OwnAddress, Scalar, Word};
use std::fmt::{self, Display, Write};

/// Spelling of targets and loop ends: by a listing's labels or as numbers.
pub(super) trait Targets {
    /// Writes the target of a branch.
    fn target(&self, f: &mut dyn Write, address: u16) -> fmt::Result;
    /// Writes the last word of a loop whose body has `length` words.
    fn loop_end(&self, f: &mut dyn Write, length: u16) -> fmt::Result;
}

/// Targets as absolute numbers, for a word at a known word address.
struct At(u32);

impl Targets for At {
    fn target(&self, f: &mut dyn Write, address: u16) -> fmt::Result {
        Plain.target(f, address)
    }

    fn loop_end(&self, f: &mut dyn Write, length: u16) -> fmt::Result {
        write!(f, "{:#06x}", self.0 + u32::from(length))
    }
}

/// Returns the text of a word at word address `pc`; assembled there, it gives the same word.
#[must_use]
pub fn word_at(word: &Word, pc: u16) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_word(&mut text, word, &At(pc.into()));
    text
}

/// Targets as numbers without a known address: loop ends are relative.
struct Plain;

impl Targets for Plain {
    fn target(&self, f: &mut dyn Write, address: u16) -> fmt::Result {
        write!(f, "{address:#06x}")
    }

    fn loop_end(&self, f: &mut dyn Write, length: u16) -> fmt::Result {
        write!(f, ".+{length}")
    }
}

impl Display for Inst {
    /// Writes the text that the assembler reads, except that the end of a loop is relative: `.+3` is the
    /// third word after this one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_inst(f, self, &Plain)
    }
}

impl Display for Word {
    /// Writes `arith || mem`. A slot with a no-operation is left out; a word of two no-operations is `nop`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_word(f, self, &Plain)
    }
}

pub(super) fn write_word(f: &mut dyn Write, word: &Word, targets: &dyn Targets) -> fmt::Result {
    match (word.arith.op, word.mem.op) {
        (_, Op::MemNop) => write_inst(f, &word.arith, targets),
        (Op::Nop, _) => write_inst(f, &word.mem, targets),
        _ => {
            write_inst(f, &word.arith, targets)?;
            f.write_str(" || ")?;
            write_inst(f, &word.mem, targets)
        }
    }
}

fn write_inst(f: &mut dyn Write, inst: &Inst, targets: &dyn Targets) -> fmt::Result {
    let row = inst.row();
    f.write_str(row.mnemonic)?;
    let mut registers = inst.r.iter();
    for (i, operand) in row.form.operands().iter().enumerate() {
        f.write_str(if i == 0 { " " } else { ", " })?;
        let mut register = || registers.next().copied().unwrap_or_default();
        match operand.kind {
            Kind::Pair => write!(f, "r{}", register())?,
            Kind::Quad => write!(f, "q{}", register())?,
            Kind::Scalar | Kind::ScalarCouple => write!(f, "{}", Scalar(register()))?,
            Kind::Imm { .. } => write!(f, "{}", inst.imm)?,
            Kind::Float24 => write_float(f, f32::from_bits(inst.imm as u32))?,
            Kind::Target => targets.target(f, inst.target)?,
            Kind::LoopEnd => targets.loop_end(f, inst.target)?,
            Kind::Mem { .. } | Kind::OwnMem { .. } => write_place(f, inst.place)?,
        }
    }
    Ok(())
}

fn write_place(f: &mut dyn Write, place: AddressOperand) -> fmt::Result {
    match place {
        AddressOperand::Shared(address) => write_address(f, address),
        AddressOperand::Own(OwnAddress {
            base,
            register,
            half,
        }) => write!(f, "[{} + r{register}.h{half}]", Scalar::address(base)),
    }
}

fn write_address(f: &mut dyn Write, address: Address) -> fmt::Result {
    let a = Scalar::address(address.base);
    let step = Scalar::step;
    match address.mode {
        Mode::Offset(0) => write!(f, "[{a}]"),
        Mode::Offset(v) => write!(f, "[{a} {} {}]", sign(v), v.unsigned_abs()),
        Mode::Post(v) => write!(f, "[{a}]{}{}", sign(v), v.unsigned_abs()),
        Mode::Step(s) => write!(f, "[{a}]+{}", step(s)),
        Mode::Modulo(s) => write!(f, "[{a}]+{}%", step(s)),
        Mode::Reverse(s) => write!(f, "[{a}]+{}!", step(s)),
    }
}

const fn sign(value: i32) -> char {
    if value < 0 { '-' } else { '+' }
}

/// Writes a decimal that reads back, through `f64`, as the same binary32. Infinities and NaNs, which have no
/// decimal, are written by their bits.
fn write_float(f: &mut dyn Write, value: f32) -> fmt::Result {
    if !value.is_finite() {
        return write!(f, "bits({:#010x})", value.to_bits());
    }
    let short = format!("{value:?}");
    let reads_back = short
        .parse::<f64>()
        .is_ok_and(|v| (v as f32).to_bits() == value.to_bits());
    if reads_back {
        f.write_str(&short)
    } else {
        write!(f, "{:?}", f64::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Op;

    fn text(op: Op, edit: impl FnOnce(&mut Inst)) -> String {
        let mut inst = Inst::new(op);
        edit(&mut inst);
        inst.to_string()
    }

    #[test]
    fn operands_of_every_kind() {
        assert_eq!(
            text(Op::Bfly, |i| i.r = [0, 1, 2, 3, 63]),
            "bfly r0, r1, r2, r3, r63"
        );
        assert_eq!(
            text(Op::MaddQ, |i| i.r = [31, 1, 2, 3, 0]),
            "madd q31, q1, q2, q3"
        );
        assert_eq!(
            text(Op::AddX, |i| i.r = [0, 16, 33, 0, 0]),
            "add a0, s0, c1"
        );
        assert_eq!(
            text(Op::Movi, |i| (i.r[0], i.imm) = (56, -7)),
            "movi l0, -7"
        );
        assert_eq!(text(Op::Jmp, |i| i.target = 18), "jmp 0x0012");
        assert_eq!(
            text(Op::LoopI, |i| (i.imm, i.target) = (8, 3)),
            "loop 8, .+3"
        );
        assert_eq!(text(Op::LdX2, |i| i.r[0] = 34), "ldx2 c2, [a0]");
        assert_eq!(
            text(Op::Lif, |i| i.imm = 1.5f32.to_bits() as i32),
            "lif r0, 1.5"
        );
        assert_eq!(
            text(Op::Lif, |i| i.imm = (-0.0f32).to_bits() as i32),
            "lif r0, -0.0"
        );
        assert_eq!(
            text(Op::Lif, |i| i.imm = 0x7fc0_0000),
            "lif r0, bits(0x7fc00000)"
        );
    }

    #[test]
    fn addresses_of_every_mode() {
        let address = |base, mode| {
            text(Op::LdQ, |i| {
                i.place = AddressOperand::Shared(Address { base, mode })
            })
        };
        assert_eq!(address(0, Mode::Offset(0)), "ldq q0, [a0]");
        assert_eq!(address(1, Mode::Offset(16)), "ldq q0, [a1 + 16]");
        assert_eq!(address(2, Mode::Offset(-32)), "ldq q0, [a2 - 32]");
        assert_eq!(address(3, Mode::Post(16)), "ldq q0, [a3]+16");
        assert_eq!(address(4, Mode::Post(-16)), "ldq q0, [a4]-16");
        assert_eq!(address(5, Mode::Post(0)), "ldq q0, [a5]+0");
        assert_eq!(address(15, Mode::Step(1)), "ldq q0, [a15]+s1");
        assert_eq!(address(7, Mode::Modulo(2)), "ldq q0, [a7]+s2%");
        assert_eq!(address(8, Mode::Reverse(3)), "ldq q0, [a8]+s3!");
        let own = OwnAddress {
            base: 9,
            register: 63,
            half: 2,
        };
        assert_eq!(
            text(Op::LdOwnDup, |i| i.place = AddressOperand::Own(own)),
            "ldd q0, [a9 + r63.h2]"
        );
    }

    #[test]
    fn words_omit_no_operations() {
        let arith = Inst {
            r: [1, 2, 3, 0, 0],
            ..Inst::new(Op::AddP)
        };
        let mem = Inst::new(Op::Stop);
        assert_eq!(Word { arith, mem }.to_string(), "add r1, r2, r3 || stop");
        assert_eq!(Word { arith, ..Word::NOP }.to_string(), "add r1, r2, r3");
        assert_eq!(Word { mem, ..Word::NOP }.to_string(), "stop");
        assert_eq!(Word::NOP.to_string(), "nop");
    }
}
