//! The host instructions of each instruction.

use super::asm::{self, Asm, FILE, FRAME, Hole, TEMP, every, mem};
use super::frame;
use super::ir::{Compare, Convert, Inst};
use super::scalars::{self, dmem};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

/// How a destination's register may relate to those of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Any: operands are read before it is written.
    Any,
    /// It is written before all operands are read.
    Early,
    /// One instruction that overwrites one of its first two operands.
    Overwrites,
}

pub(super) fn order(inst: &Inst) -> Order {
    match inst {
        Inst::AddSub(..) | Inst::SubAdd(..) => Order::Overwrites,
        Inst::Select(..)
        | Inst::Min(..)
        | Inst::Max(..)
        | Inst::Convert(..)
        | Inst::Canonical(_)
        | Inst::Compute(..)
        | Inst::Modulo(..)
        | Inst::Walk(..)
        | Inst::Reverse(..) => Order::Early,
        _ => Order::Any,
    }
}

/// A vector register by number.
pub(super) fn vector(register: u8) -> Register {
    Register::ZMM0 + u32::from(register)
}

fn half(register: u8) -> Register {
    Register::YMM0 + u32::from(register)
}

fn quad(register: u8) -> MemoryOperand {
    mem(FILE, 64 * i64::from(register))
}

pub(super) type Emitted = Result<Instruction, IcedError>;

/// Encodes one instruction; the holes are the branches of checks that fail.
pub(super) fn encode(asm: &mut Asm, inst: &Inst, d: u8, r: [u8; 4], failed: &mut Vec<Hole>) {
    let v = vector;
    let [a, b, c, _] = r;
    match *inst {
        Inst::Home(q) => asm.put(load(d, quad(q))),
        Inst::LoadQuad(at) => asm.put(load(d, dmem(at, a))),
        Inst::LoadPair(at) => asm.put(Instruction::with2(
            Code::EVEX_Vbroadcastf64x4_zmm_k1z_m256,
            v(d),
            dmem(at, a),
        )),
        Inst::Binary(op, ..) => asm.put(Instruction::with3(asm::lanes(op), v(d), v(a), v(b))),
        Inst::With(op, _, constant) => asm.put(Instruction::with3(
            asm::lanes(op),
            v(d),
            v(a),
            asm::constant(constant),
        )),
        Inst::AddSub(..) => alternate(
            asm,
            [d, a, b],
            Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vfmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
        ),
        Inst::SubAdd(..) => alternate(
            asm,
            [d, a, b],
            Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vfnmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
        ),
        Inst::Shuffle(_, _, imm) => asm.put(Instruction::with4(
            Code::EVEX_Vshuff32x4_zmm_k1z_zmm_zmmm512b32_imm8,
            v(d),
            v(a),
            v(b),
            u32::from(imm),
        )),
        Inst::Align(_, _, n) => asm.put(Instruction::with4(
            Code::EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8,
            v(d),
            v(b),
            v(a),
            2 * u32::from(n % 4),
        )),
        Inst::Shift(op, _, n) => {
            asm.put(Instruction::with3(asm::shift(op), v(d), v(a), u32::from(n)));
        }
        Inst::Select(..) => {
            // 0xca: the second where the first has ones, else the third.
            asm.put(copy(d, a));
            asm.put(Instruction::with4(
                Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
                v(d),
                v(b),
                v(c),
                0xcau32,
            ));
        }
        Inst::Min(..) => extreme(asm, d, a, b, 0b0100),
        Inst::Max(..) => extreme(asm, d, a, b, 0b0101),
        Inst::Compare(how, ..) => compare(asm, how, d, a, b),
        Inst::Convert(to, _) => convert(asm, to, d, a),
        Inst::Canonical(_) => {
            asm.put(splat_constant(d, frame::NAN_BITS));
            asm.put(Instruction::with4(
                Code::EVEX_Vfixupimmps_zmm_k1z_zmm_zmmm512b32_imm8_sae,
                v(d),
                v(a),
                every(frame::FIXUP),
                0u32,
            ));
        }
        Inst::Splat(bits) => {
            asm.put(Instruction::with2(Code::Mov_r32_imm32, TEMP, bits));
            asm.put(Instruction::with2(
                Code::EVEX_Vpbroadcastd_zmm_k1z_r32,
                v(d),
                TEMP,
            ));
        }
        Inst::Prefetch(at) => asm.put(Instruction::with1(Code::Prefetchw_m8, dmem(at, a))),
        Inst::StoreQuad(_, at) => asm.put(store(dmem(at, b), a)),
        Inst::SetHome(q, _) => asm.put(store(quad(q), a)),
        Inst::StorePair(h, at) => {
            let to = dmem(at, b);
            asm.put(if h.hi {
                Instruction::with3(
                    Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8,
                    to,
                    v(a),
                    1u32,
                )
            } else {
                Instruction::with2(Code::EVEX_Vmovups_ymmm256_k1z_ymm, to, half(a))
            });
        }
        _ => scalars::encode(asm, inst, d, r, failed),
    }
}

fn load(d: u8, from: MemoryOperand) -> Emitted {
    Instruction::with2(Code::EVEX_Vmovups_zmm_k1z_zmmm512, vector(d), from)
}

fn store(to: MemoryOperand, a: u8) -> Emitted {
    Instruction::with2(Code::EVEX_Vmovups_zmmm512_k1z_zmm, to, vector(a))
}

fn copy(d: u8, a: u8) -> Emitted {
    Instruction::with2(Code::EVEX_Vmovaps_zmm_k1z_zmmm512, vector(d), vector(a))
}

fn splat_constant(d: u8, displacement: i64) -> Emitted {
    Instruction::with2(
        Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32,
        vector(d),
        mem(FRAME, displacement),
    )
}

/// `a -+ b` lane by lane: a multiply-add whose product, `b` times one or minus
/// one, is exact, so that it rounds once as the sum does.
fn alternate(asm: &mut Asm, [d, a, b]: [u8; 3], into_a: Code, into_b: Code) {
    let signs = mem(FRAME, frame::ALTERNATE);
    if d == a && a != b {
        asm.put(Instruction::with3(into_a, vector(d), vector(b), signs));
    } else {
        if d != b {
            asm.put(copy(d, b));
        }
        asm.put(Instruction::with3(into_b, vector(d), vector(a), signs));
    }
}

fn compare(asm: &mut Asm, how: Compare, d: u8, a: u8, b: u8) {
    let float = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
    let integer = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
    let (code, predicate) = match how {
        Compare::Eq => (float, 0u32),
        Compare::Lt => (float, 0x11),
        Compare::Le => (float, 0x12),
        Compare::IEq => (integer, 0),
        Compare::ILt => (integer, 1),
    };
    asm.put(Instruction::with4(
        code,
        Register::K1,
        vector(a),
        vector(b),
        predicate,
    ));
    asm.put(Instruction::with2(
        Code::EVEX_Vpmovm2d_zmm_kr,
        vector(d),
        Register::K1,
    ));
}

/// Minimum or maximum that orders zeros; NaN where an operand is.
fn extreme(asm: &mut Asm, d: u8, a: u8, b: u8, how: u32) {
    let (d, a, b) = (vector(d), vector(a), vector(b));
    let unordered = 3u32;
    asm.put(Instruction::with4(
        Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
        Register::K1,
        a,
        b,
        unordered,
    ));
    asm.put(Instruction::with4(
        Code::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae,
        d,
        a,
        b,
        how,
    ));
    asm.put_masked(
        Instruction::with2(
            Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32,
            d,
            mem(FRAME, frame::NAN_BITS),
        ),
        false,
    );
}

fn convert(asm: &mut Asm, to: Convert, d: u8, a: u8) {
    let (d, a) = (vector(d), vector(a));
    let code = match to {
        Convert::Truncate => Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae,
        Convert::Nearest => Code::EVEX_Vcvtps2dq_zmm_k1z_zmmm512b32_er,
        Convert::Float => Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er,
    };
    asm.put(Instruction::with2(code, d, a));
    if to == Convert::Float {
        return;
    }
    // The host gives the smallest integer for all it cannot represent.
    let compare = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
    let at_least = 0x1du32;
    asm.put(Instruction::with4(
        compare,
        Register::K1,
        a,
        every(frame::TWO_31),
        at_least,
    ));
    asm.put_masked(
        Instruction::with2(
            Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
            d,
            mem(FRAME, frame::MAX),
        ),
        false,
    );
    let ordered = 7u32;
    asm.put(Instruction::with4(compare, Register::K1, a, a, ordered));
    asm.put_masked(
        Instruction::with2(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, d, d),
        true,
    );
}
