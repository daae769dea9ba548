//! Selects host instructions for each vector instruction.

use super::asm::{self, Asm, Hole};
use super::code_form::CodeForm;
use super::instruction_sequences::{
    alternate, canonical, compare, convert, extreme, select, splat,
};
use super::ir::IrInstruction;
use super::scalars::{self, dmem};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand};

/// Rule for a destination register that is also an operand's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DestinationRule {
    /// The operands are read before the destination is written: any register will do.
    Any,
    /// The destination is written before all operands are read.
    Early,
    /// A single instruction overwrites one of its first two operands.
    Overwrites,
}

pub(super) fn order(inst: &IrInstruction) -> DestinationRule {
    match inst {
        IrInstruction::AddSub(..) | IrInstruction::SubAdd(..) => DestinationRule::Overwrites,
        IrInstruction::Select(..)
        | IrInstruction::Min(..)
        | IrInstruction::Max(..)
        | IrInstruction::Convert(..)
        | IrInstruction::Canonical(_)
        | IrInstruction::Compute(..)
        | IrInstruction::Modulo(..)
        | IrInstruction::Walk(..)
        | IrInstruction::Reverse(..) => DestinationRule::Early,
        _ => DestinationRule::Any,
    }
}

pub(super) fn home(form: CodeForm, home: u8) -> MemoryOperand {
    asm::pair(form.pairs() * usize::from(home))
}

pub(super) type EncodedInstruction = Result<Instruction, IcedError>;

/// Encodes an instruction whose second or only operand is in memory.
pub(super) fn folded(asm: &mut Asm, inst: &IrInstruction, d: u8, a: u8, memory: MemoryOperand) {
    let form = asm.form;
    let v = |register| form.vector(register);
    asm.encode_instruction(match inst {
        IrInstruction::Binary(op, ..) => {
            Instruction::with3(asm::lanes(form, *op), v(d), v(a), memory)
        }
        // One lane, spread over the vector.
        _ => Instruction::with2(spread(form), v(d), memory),
    });
}

/// Returns the code that spreads a lane of memory over a vector.
fn spread(form: CodeForm) -> Code {
    form.code([
        Code::EVEX_Vbroadcastf32x4_zmm_k1z_m128,
        Code::EVEX_Vbroadcastf32x4_ymm_k1z_m128,
        Code::VEX_Vbroadcastf128_ymm_m128,
    ])
}

/// Encodes one instruction; adds the branches of failing checks to `failed`.
pub(super) fn encode(
    asm: &mut Asm,
    inst: &IrInstruction,
    d: u8,
    r: [u8; 4],
    failed: &mut Vec<Hole>,
) {
    let form = asm.form;
    let v = |register| form.vector(register);
    let [a, b, c, _] = r;
    match *inst {
        IrInstruction::Home(q) => {
            asm.encode_instruction(Instruction::with2(form.load(), v(d), home(form, q)))
        }
        IrInstruction::LoadQuad(at) => {
            asm.encode_instruction(Instruction::with2(form.load(), v(d), dmem(at, a)))
        }
        IrInstruction::LoadPair(at) => {
            asm.encode_instruction(Instruction::with2(broadcast_code(form), v(d), dmem(at, a)))
        }
        IrInstruction::LoadLane(at) => {
            asm.encode_instruction(Instruction::with2(spread(form), v(d), dmem(at, a)))
        }
        IrInstruction::Binary(op, ..) => {
            asm.encode_instruction(Instruction::with3(asm::lanes(form, op), v(d), v(a), v(b)));
        }
        IrInstruction::With(op, _, constant) => asm.encode_instruction(Instruction::with3(
            asm::lanes(form, op),
            v(d),
            v(a),
            asm::constant(form, constant),
        )),
        IrInstruction::AddSub(..) => alternate(
            asm,
            [d, a, b],
            [
                Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
                Code::EVEX_Vfmadd231ps_ymm_k1z_ymm_ymmm256b32,
                Code::VEX_Vfmadd231ps_ymm_ymm_ymmm256,
            ],
            [
                Code::EVEX_Vfmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
                Code::EVEX_Vfmadd132ps_ymm_k1z_ymm_ymmm256b32,
                Code::VEX_Vfmadd132ps_ymm_ymm_ymmm256,
            ],
        ),
        IrInstruction::SubAdd(..) => alternate(
            asm,
            [d, a, b],
            [
                Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
                Code::EVEX_Vfnmadd231ps_ymm_k1z_ymm_ymmm256b32,
                Code::VEX_Vfnmadd231ps_ymm_ymm_ymmm256,
            ],
            [
                Code::EVEX_Vfnmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
                Code::EVEX_Vfnmadd132ps_ymm_k1z_ymm_ymmm256b32,
                Code::VEX_Vfnmadd132ps_ymm_ymm_ymmm256,
            ],
        ),
        IrInstruction::Shuffle(_, _, imm) => asm.encode_instruction(Instruction::with4(
            Code::EVEX_Vshuff32x4_zmm_k1z_zmm_zmmm512b32_imm8,
            v(d),
            v(a),
            v(b),
            u32::from(imm),
        )),
        IrInstruction::Pick(_, _, imm) => pick(asm, [d, a, b], imm),
        IrInstruction::Align(_, _, n) => asm.encode_instruction(Instruction::with4(
            Code::EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8,
            v(d),
            v(b),
            v(a),
            2 * u32::from(n % 4),
        )),
        IrInstruction::Shift(op, _, n) => {
            let code = asm::shift(form, op);
            asm.encode_instruction(Instruction::with3(code, v(d), v(a), u32::from(n)));
        }
        IrInstruction::Select(..) => select(asm, [d, a, b, c]),
        IrInstruction::Min(..) => extreme(asm, d, a, b, false),
        IrInstruction::Max(..) => extreme(asm, d, a, b, true),
        IrInstruction::Compare(how, ..) => compare(asm, how, d, a, b),
        IrInstruction::Convert(to, _) => convert(asm, to, d, a),
        IrInstruction::Canonical(_) => canonical(asm, d, a),
        IrInstruction::Splat(bits) => splat(asm, d, bits),
        IrInstruction::Prefetch(at) => {
            asm.encode_instruction(Instruction::with1(Code::Prefetchw_m8, dmem(at, a)))
        }
        IrInstruction::StoreQuad(_, at) => {
            asm.encode_instruction(Instruction::with2(form.store(), dmem(at, b), v(a)))
        }
        IrInstruction::SetHome(q, _) => {
            asm.encode_instruction(Instruction::with2(form.store(), home(form, q), v(a)))
        }
        IrInstruction::StorePair(h, at) => {
            let to = dmem(at, b);
            asm.encode_instruction(if h.hi {
                Instruction::with3(
                    Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8,
                    to,
                    v(a),
                    1u32,
                )
            } else if form.narrow() {
                Instruction::with2(form.store(), to, v(a))
            } else {
                let half = CodeForm::Narrow;
                Instruction::with2(half.store(), to, half.vector(a))
            });
        }
        _ => scalars::encode(asm, inst, d, r, failed),
    }
}

/// Loads pairs of the register file into the halves of a vector.
pub(super) fn gather(asm: &mut Asm, d: u8, pairs: [Option<u8>; 2]) {
    let form = asm.form;
    let at = |pair: u8| asm::pair(usize::from(pair));
    let d = form.vector(d);
    match pairs {
        [Some(lo), Some(hi)] if lo % 2 == 0 && hi == lo + 1 => {
            asm.encode_instruction(Instruction::with2(form.load(), d, at(lo)));
        }
        [lo, hi] => {
            if let Some(lo) = lo.or(hi) {
                asm.encode_instruction(Instruction::with2(broadcast_code(form), d, at(lo)));
            }
            if let (Some(_), Some(hi)) = (lo, hi) {
                let code = Code::EVEX_Vinsertf64x4_zmm_k1z_zmm_ymmm256_imm8;
                asm.encode_instruction(Instruction::with4(code, d, d, at(hi), 1u32));
            }
        }
    }
}

/// Returns the code that loads a pair into each half.
fn broadcast_code(form: CodeForm) -> Code {
    let load = form.load();
    form.code([Code::EVEX_Vbroadcastf64x4_zmm_k1z_m256, load, load])
}

pub(super) fn copy(form: CodeForm, d: u8, a: u8) -> EncodedInstruction {
    Instruction::with2(form.load(), form.vector(d), form.vector(a))
}

/// Encodes a vector of one lane of `a` and one lane of `b`.
fn pick(asm: &mut Asm, [d, a, b]: [u8; 3], imm: u8) {
    let form = asm.form;
    let [d, a, b] = [d, a, b].map(|r| form.vector(r));
    let (low, high) = (u32::from(imm & 1), u32::from(imm >> 1));
    asm.encode_instruction(if form == CodeForm::Avx2 {
        // The selector of the upper half counts the second operand's lanes from 2 on.
        let code = Code::VEX_Vperm2f128_ymm_ymm_ymmm256_imm8;
        Instruction::with4(code, d, a, b, low | (2 + high) << 4)
    } else {
        let code = Code::EVEX_Vshuff32x4_ymm_k1z_ymm_ymmm256b32_imm8;
        Instruction::with4(code, d, a, b, low | high << 1)
    });
}
