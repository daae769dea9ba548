//! Operations that some form needs several host instructions for.

use super::asm::{self, Asm, FRAME, TEMP, every, mem};
use super::code_form::{CodeForm, SCRATCH};
use super::code_frame;
use super::ir::{Compare, Convert, LaneOperation};
use super::select::{EncodedInstruction, copy};
use iced_x86::{Code, Instruction, Register};

pub(super) fn splat(asm: &mut Asm, d: u8, bits: u32) {
    let form = asm.form;
    asm.encode_instruction(Instruction::with2(Code::Mov_r32_imm32, TEMP, bits));
    if form == CodeForm::Avx2 {
        let low = Register::XMM0 + u32::from(d);
        asm.encode_instruction(Instruction::with2(Code::VEX_Vmovd_xmm_rm32, low, TEMP));
        let code = Code::VEX_Vpbroadcastd_ymm_xmmm32;
        asm.encode_instruction(Instruction::with2(code, form.vector(d), low));
        return;
    }
    let code = form.code([
        Code::EVEX_Vpbroadcastd_zmm_k1z_r32,
        Code::EVEX_Vpbroadcastd_ymm_k1z_r32,
        Code::INVALID,
    ]);
    asm.encode_instruction(Instruction::with2(code, form.vector(d), TEMP));
}

/// Broadcasts a constant of the frame, in the forms with masks.
fn splat_constant(form: CodeForm, d: u8, displacement: i64) -> EncodedInstruction {
    let code = form.code([
        Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32,
        Code::EVEX_Vbroadcastss_ymm_k1z_xmmm32,
        Code::INVALID,
    ]);
    Instruction::with2(code, form.vector(d), mem(FRAME, displacement))
}

/// Encodes an AVX2 operation on three registers.
fn three(asm: &mut Asm, op: LaneOperation, d: Register, a: Register, b: Register) {
    let code = asm::lanes(CodeForm::Avx2, op);
    asm.encode_instruction(Instruction::with3(code, d, a, b));
}

/// Encodes an AVX2 comparison of floats.
fn floats(asm: &mut Asm, d: Register, a: Register, b: Register, predicate: u32) {
    let code = Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
    asm.encode_instruction(Instruction::with4(code, d, a, b, predicate));
}

/// Predicates of `vcmpps`: unordered, ordered, greater or equal without exceptions.
const UNORDERED: u32 = 3;
const ORDERED: u32 = 7;
const AT_LEAST: u32 = 0x1d;

pub(super) fn canonical(asm: &mut Asm, d: u8, a: u8) {
    let form = asm.form;
    let (to, from) = (form.vector(d), form.vector(a));
    if form == CodeForm::Avx2 {
        floats(asm, SCRATCH, from, from, UNORDERED);
        let code = Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm;
        let nan = every(form, code_frame::NAN_BITS);
        asm.encode_instruction(Instruction::with4(code, to, from, nan, SCRATCH));
        return;
    }
    asm.encode_instruction(splat_constant(form, d, code_frame::NAN_BITS));
    let code = form.code([
        Code::EVEX_Vfixupimmps_zmm_k1z_zmm_zmmm512b32_imm8_sae,
        Code::EVEX_Vfixupimmps_ymm_k1z_ymm_ymmm256b32_imm8,
        Code::INVALID,
    ]);
    let table = every(form, code_frame::FIXUP);
    asm.encode_instruction(Instruction::with4(code, to, from, table, 0u32));
}

/// Encodes `b` where `a` has ones, else `c`.
pub(super) fn select(asm: &mut Asm, r: [u8; 4]) {
    let form = asm.form;
    let [d, a, b, c] = r.map(|r| form.vector(r));
    if form == CodeForm::Avx2 {
        three(asm, LaneOperation::And, SCRATCH, a, b);
        three(asm, LaneOperation::AndNot, d, a, c);
        three(asm, LaneOperation::Or, d, d, SCRATCH);
        return;
    }
    asm.encode_instruction(Instruction::with2(form.load(), d, a));
    let code = form.code([
        Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
        Code::EVEX_Vpternlogd_ymm_k1z_ymm_ymmm256b32_imm8,
        Code::INVALID,
    ]);
    // Truth table 0xca: the second operand where the first has ones, else the third.
    asm.encode_instruction(Instruction::with4(code, d, b, c, 0xcau32));
}

/// Encodes `a -+ b` in alternating lanes as a multiply-add. Its product, `b` times -1 or 1, is
/// exact, so that it rounds once, as the sum does.
pub(super) fn alternate(asm: &mut Asm, [d, a, b]: [u8; 3], into_a: [Code; 3], into_b: [Code; 3]) {
    let form = asm.form;
    let (into_a, into_b) = (form.code(into_a), form.code(into_b));
    let signs = mem(FRAME, code_frame::ALTERNATE);
    let v = |register| form.vector(register);
    if d == a && a != b {
        asm.encode_instruction(Instruction::with3(into_a, v(d), v(b), signs));
    } else {
        if d != b {
            asm.encode_instruction(copy(form, d, b));
        }
        asm.encode_instruction(Instruction::with3(into_b, v(d), v(a), signs));
    }
}

pub(super) fn compare(asm: &mut Asm, how: Compare, d: u8, a: u8, b: u8) {
    let form = asm.form;
    let [d, a, b] = [d, a, b].map(|r| form.vector(r));
    let predicate = match how {
        Compare::Eq | Compare::IEq => 0u32,
        Compare::Lt => 0x11,
        Compare::Le => 0x12,
        Compare::ILt => 1,
    };
    let integers = matches!(how, Compare::IEq | Compare::ILt);
    if form == CodeForm::Avx2 {
        match how {
            Compare::IEq => {
                let code = Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256;
                asm.encode_instruction(Instruction::with3(code, d, a, b));
            }
            Compare::ILt => {
                let code = Code::VEX_Vpcmpgtd_ymm_ymm_ymmm256;
                asm.encode_instruction(Instruction::with3(code, d, b, a));
            }
            _ => floats(asm, d, a, b, predicate),
        }
        return;
    }
    let code = form.code(if integers {
        [
            Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8,
            Code::EVEX_Vpcmpd_kr_k1_ymm_ymmm256b32_imm8,
            Code::INVALID,
        ]
    } else {
        MASKS
    });
    asm.encode_instruction(Instruction::with4(code, Register::K1, a, b, predicate));
    let code = form.code([
        Code::EVEX_Vpmovm2d_zmm_kr,
        Code::EVEX_Vpmovm2d_ymm_kr,
        Code::INVALID,
    ]);
    asm.encode_instruction(Instruction::with2(code, d, Register::K1));
}

/// Comparisons of floats into a mask register.
const MASKS: [Code; 3] = [
    Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
    Code::EVEX_Vcmpps_kr_k1_ymm_ymmm256b32_imm8,
    Code::INVALID,
];

/// Encodes a minimum or maximum with `-0 < +0`; NaN if an operand is NaN.
pub(super) fn extreme(asm: &mut Asm, to: u8, a: u8, b: u8, largest: bool) {
    let form = asm.form;
    let [d, a, b] = [to, a, b].map(|r| form.vector(r));
    if form == CodeForm::Avx2 {
        // The host returns the second operand if both are equal or one is a NaN. The results for
        // both orders, combined by AND or OR, have the right sign of zero.
        let (code, both) = if largest {
            (Code::VEX_Vmaxps_ymm_ymm_ymmm256, LaneOperation::And)
        } else {
            (Code::VEX_Vminps_ymm_ymm_ymmm256, LaneOperation::Or)
        };
        asm.encode_instruction(Instruction::with3(code, SCRATCH, a, b));
        asm.encode_instruction(Instruction::with3(code, d, b, a));
        three(asm, both, d, d, SCRATCH);
        floats(asm, SCRATCH, a, b, UNORDERED);
        let blend = Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm;
        let nan = every(form, code_frame::NAN_BITS);
        asm.encode_instruction(Instruction::with4(blend, d, d, nan, SCRATCH));
        return;
    }
    let unordered = form.code(MASKS);
    asm.encode_instruction(Instruction::with4(unordered, Register::K1, a, b, UNORDERED));
    let code = form.code([
        Code::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae,
        Code::EVEX_Vrangeps_ymm_k1z_ymm_ymmm256b32_imm8,
        Code::INVALID,
    ]);
    let how = if largest { 0b0101u32 } else { 0b0100 };
    asm.encode_instruction(Instruction::with4(code, d, a, b, how));
    asm.put_masked(splat_constant(form, to, code_frame::NAN_BITS), false);
}

pub(super) fn convert(asm: &mut Asm, to: Convert, d: u8, a: u8) {
    let form = asm.form;
    let number = d;
    let (d, a) = (form.vector(d), form.vector(a));
    let code = form.code(match to {
        Convert::Truncate => [
            Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae,
            Code::EVEX_Vcvttps2dq_ymm_k1z_ymmm256b32,
            Code::VEX_Vcvttps2dq_ymm_ymmm256,
        ],
        Convert::Nearest => [
            Code::EVEX_Vcvtps2dq_zmm_k1z_zmmm512b32_er,
            Code::EVEX_Vcvtps2dq_ymm_k1z_ymmm256b32,
            Code::VEX_Vcvtps2dq_ymm_ymmm256,
        ],
        Convert::Float => [
            Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er,
            Code::EVEX_Vcvtdq2ps_ymm_k1z_ymmm256b32,
            Code::VEX_Vcvtdq2ps_ymm_ymmm256,
        ],
    });
    asm.encode_instruction(Instruction::with2(code, d, a));
    if to == Convert::Float {
        return;
    }
    // The host gives the smallest integer for every value that it cannot represent.
    let large = every(form, code_frame::TWO_31);
    if form == CodeForm::Avx2 {
        let code = Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
        asm.encode_instruction(Instruction::with4(code, SCRATCH, a, large, AT_LEAST));
        // The complement of the smallest integer is the largest one.
        three(asm, LaneOperation::Xor, d, d, SCRATCH);
        floats(asm, SCRATCH, a, a, ORDERED);
        three(asm, LaneOperation::And, d, d, SCRATCH);
        return;
    }
    let compare = form.code(MASKS);
    asm.encode_instruction(Instruction::with4(
        compare,
        Register::K1,
        a,
        large,
        AT_LEAST,
    ));
    let spread = form.code([
        Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
        Code::EVEX_Vpbroadcastd_ymm_k1z_xmmm32,
        Code::INVALID,
    ]);
    let largest = mem(FRAME, code_frame::MAX);
    asm.put_masked(
        Instruction::with2(spread, form.vector(number), largest),
        false,
    );
    asm.encode_instruction(Instruction::with4(compare, Register::K1, a, a, ORDERED));
    let code = form.code([
        Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512,
        Code::EVEX_Vmovdqa32_ymm_k1z_ymmm256,
        Code::INVALID,
    ]);
    asm.put_masked(Instruction::with2(code, d, d), true);
}
