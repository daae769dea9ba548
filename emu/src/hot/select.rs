//! The host instructions of each instruction.

use super::asm::{self, Asm, DMEM, FILE, FRAME, Hole, TEMP, TEMP2, every, mem};
use super::frame;
use super::ir::{At, Compare, Convert, Inst};
use super::lower::SCALAR_REGISTERS;
use crate::semantics::scalar::Binary;
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

fn scalar(register: u8) -> Register {
    SCALAR_REGISTERS[usize::from(register) % SCALAR_REGISTERS.len()]
}

/// The 64-bit name of a 32-bit register.
fn wide(register: Register) -> Register {
    Register::RAX + (register as u32 - Register::EAX as u32)
}

/// DMEM at a checked address: four sections' words stand side by side.
fn dmem(at: At, base: u8) -> MemoryOperand {
    let displacement = 4 * i64::from(at.offset);
    MemoryOperand::with_base_index_scale_displ_size(DMEM, wide(scalar(base)), 4, displacement, 1)
}

fn quad(register: u8) -> MemoryOperand {
    mem(FILE, 64 * i64::from(register))
}

type Emitted = Result<Instruction, IcedError>;

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
        _ => scalars(asm, inst, d, r, failed),
    }
}

fn scalars(asm: &mut Asm, inst: &Inst, d: u8, r: [u8; 4], failed: &mut Vec<Hole>) {
    let [a, b, ..] = r;
    let x = scalar;
    match *inst {
        Inst::Scalar(i) => asm.put(Instruction::with2(
            Code::Mov_r32_rm32,
            x(d),
            mem(asm::SCALARS, 4 * i64::from(i)),
        )),
        Inst::SetScalar(i, _) => asm.put(Instruction::with2(
            Code::Mov_rm32_r32,
            mem(asm::SCALARS, 4 * i64::from(i)),
            x(a),
        )),
        Inst::Immediate(bits) => {
            asm.put(Instruction::with2(Code::Mov_r32_imm32, x(d), bits));
        }
        Inst::Offset(_, add) => asm.put(sum(x(d), x(a), add)),
        Inst::LoadWord(at) => asm.put(Instruction::with2(Code::Mov_r32_rm32, x(d), dmem(at, a))),
        Inst::Compute(function, ..) => {
            let code = match function {
                Binary::Add => Code::Add_r32_rm32,
                Binary::Sub => Code::Sub_r32_rm32,
                Binary::Mul => Code::Imul_r32_rm32,
                Binary::And => Code::And_r32_rm32,
                Binary::Or => Code::Or_r32_rm32,
                // The guest shifts by constants only.
                Binary::Shl | Binary::Shr | Binary::Sar => Code::INVALID,
            };
            asm.put(move_scalar(x(d), x(a)));
            asm.put(Instruction::with2(code, x(d), x(b)));
        }
        Inst::ComputeWith(function, _, bits) => {
            let code = match function {
                Binary::Add => Code::Add_rm32_imm32,
                Binary::Sub => Code::Sub_rm32_imm32,
                Binary::And => Code::And_rm32_imm32,
                Binary::Or => Code::Or_rm32_imm32,
                Binary::Mul => Code::Imul_r32_rm32_imm32,
                Binary::Shl => Code::Shl_rm32_imm8,
                Binary::Shr => Code::Shr_rm32_imm8,
                Binary::Sar => Code::Sar_rm32_imm8,
            };
            if function == Binary::Mul {
                asm.put(Instruction::with3(code, x(d), x(a), bits));
            } else {
                asm.put(move_scalar(x(d), x(a)));
                asm.put(Instruction::with2(code, x(d), bits));
            }
        }
        Inst::Modulo(..) => modulo(asm, d, r),
        Inst::Reverse(_, _, bytes) => reverse(asm, d, a, b, bytes),
        Inst::Check {
            low, align, last, ..
        } => {
            // Rotated, an unaligned address is a large number.
            let log = align.trailing_zeros();
            if low == 0 {
                let rotate = Code::VEX_Rorx_r32_rm32_imm8;
                asm.put(Instruction::with3(rotate, TEMP, x(a), log));
            } else {
                asm.put(sum(TEMP, x(a), low));
                asm.put(Instruction::with2(Code::Ror_rm32_imm8, TEMP, log));
            }
            asm.put(Instruction::with2(Code::Cmp_rm32_imm32, TEMP, last >> log));
            failed.push(asm.branch_later(Code::Ja_rel32_64));
        }
        Inst::Enter {
            low,
            align,
            size,
            last,
            ..
        } => enter(asm, r, (low, align), (size, last), failed),
        Inst::Walk(..) => walk(asm, d, r),
        // Vectors are encoded above.
        _ => asm.put(Ok(Instruction::default())),
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

fn move_scalar(d: Register, a: Register) -> Emitted {
    Instruction::with2(Code::Mov_r32_rm32, d, a)
}

fn sum(d: Register, a: Register, add: i32) -> Emitted {
    Instruction::with2(Code::Lea_r32_m, d, mem(wide(a), i64::from(add)))
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

/// [`crate::semantics::address::modulo`]: the case without a wrap first.
fn modulo(asm: &mut Asm, d: u8, [a, s, b, l]: [u8; 4]) {
    let x = scalar;
    let both = MemoryOperand::with_base_index(wide(x(a)), wide(x(s)));
    asm.put(Instruction::with2(Code::Lea_r32_m, x(d), both));
    asm.put(move_scalar(TEMP, x(d)));
    asm.put(Instruction::with2(Code::Sub_r32_rm32, TEMP, x(b)));
    asm.put(Instruction::with2(Code::Cmp_r32_rm32, TEMP, x(l)));
    let beyond = asm.branch_later(Code::Jae_rel32_64);
    asm.put(Instruction::with2(Code::Test_rm32_r32, TEMP, TEMP));
    let inside = asm.branch_later(Code::Jns_rel32_64);
    asm.land(beyond);
    asm.put(move_scalar(TEMP2, x(l)));
    asm.put(Instruction::with1(Code::Neg_rm32, TEMP2));
    asm.put(Instruction::with2(Code::Test_rm32_r32, TEMP, TEMP));
    asm.put(Instruction::with2(Code::Cmovs_r32_rm32, TEMP2, x(l)));
    asm.put(Instruction::with2(Code::Add_r32_rm32, x(d), TEMP2));
    asm.land(inside);
}

/// `a + s`, less `l` from the buffer's end on.
fn walk(asm: &mut Asm, d: u8, [a, s, end, l]: [u8; 4]) {
    let x = scalar;
    let both = MemoryOperand::with_base_index(wide(x(a)), wide(x(s)));
    asm.put(Instruction::with2(Code::Lea_r32_m, x(d), both));
    asm.put(Instruction::with2(Code::Cmp_r32_rm32, x(d), x(end)));
    let inside = asm.branch_later(Code::Jb_rel32_64);
    asm.put(Instruction::with2(Code::Sub_r32_rm32, x(d), x(l)));
    asm.land(inside);
}

/// [`Inst::Enter`].
fn enter(
    asm: &mut Asm,
    [a, s, b, l]: [u8; 4],
    (low, align): (i32, u32),
    (size, last): (u32, u32),
    failed: &mut Vec<Hole>,
) {
    let x = scalar;
    let put = |asm: &mut Asm, code, r, other| asm.put(Instruction::with2(code, r, other));
    // a - b < l
    put(asm, Code::Mov_r32_rm32, TEMP, x(a));
    put(asm, Code::Sub_r32_rm32, TEMP, x(b));
    put(asm, Code::Cmp_r32_rm32, TEMP, x(l));
    failed.push(asm.branch_later(Code::Jae_rel32_64));
    // s <= l
    put(asm, Code::Cmp_r32_rm32, x(s), x(l));
    failed.push(asm.branch_later(Code::Ja_rel32_64));
    // All aligned.
    put(asm, Code::Mov_r32_rm32, TEMP, x(a));
    for other in [s, b, l] {
        put(asm, Code::Or_r32_rm32, TEMP, x(other));
    }
    asm.put(Instruction::with2(Code::Test_rm32_imm32, TEMP, align - 1));
    failed.push(asm.branch_later(Code::Jne_rel32_64));
    // Nothing below wraps around.
    asm.put(Instruction::with2(Code::Cmp_rm32_imm32, x(l), size));
    failed.push(asm.branch_later(Code::Ja_rel32_64));
    asm.put(sum(TEMP, x(b), low));
    asm.put(Instruction::with2(Code::Cmp_rm32_imm32, TEMP, size));
    failed.push(asm.branch_later(Code::Ja_rel32_64));
    // The buffer's end.
    put(asm, Code::Add_r32_rm32, TEMP, x(l));
    asm.put(Instruction::with2(Code::Cmp_rm32_imm32, TEMP, last));
    failed.push(asm.branch_later(Code::Ja_rel32_64));
}

/// [`crate::semantics::address::reverse`].
fn reverse(asm: &mut Asm, d: u8, a: u8, s: u8, bytes: u32) {
    let index = !bytes.wrapping_sub(1);
    let and = |asm: &mut Asm, r: Register, bits: u32| {
        asm.put(Instruction::with2(Code::And_rm32_imm32, r, bits));
    };
    for (temp, source) in [(TEMP, a), (TEMP2, s)] {
        asm.put(move_scalar(temp, scalar(source)));
        and(asm, temp, index);
        reverse_bits(asm, temp, scalar(d));
    }
    asm.put(Instruction::with2(Code::Add_r32_rm32, TEMP, TEMP2));
    reverse_bits(asm, TEMP, scalar(d));
    and(asm, TEMP, index);
    asm.put(move_scalar(scalar(d), scalar(a)));
    and(asm, scalar(d), !index);
    asm.put(Instruction::with2(Code::Or_r32_rm32, scalar(d), TEMP));
}

/// Reverses the bits of `r`.
fn reverse_bits(asm: &mut Asm, r: Register, scratch: Register) {
    asm.put(Instruction::with1(Code::Bswap_r32, r));
    for (i, mask) in frame::BIT_REVERSAL.into_iter().enumerate() {
        let n = 1u32 << i;
        let mask = mem(FRAME, mask);
        // ((r >> n) & mask) + ((r & mask) << n)
        asm.put(move_scalar(scratch, r));
        asm.put(Instruction::with2(Code::Shr_rm32_imm8, scratch, n));
        asm.put(Instruction::with2(Code::And_r32_rm32, scratch, mask));
        asm.put(Instruction::with2(Code::And_r32_rm32, r, mask));
        asm.put(Instruction::with2(Code::Shl_rm32_imm8, r, n));
        asm.put(Instruction::with2(Code::Or_r32_rm32, r, scratch));
    }
}
