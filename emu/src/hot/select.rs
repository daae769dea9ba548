//! The host instructions of each instruction.

use super::asm::{self, Asm, FRAME, Hole, TEMP, every, mem};
use super::form::{Form, SCRATCH};
use super::frame;
use super::ir::{Compare, Convert, Inst, Lanes};
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

pub(super) fn home(form: Form, home: u8) -> MemoryOperand {
    asm::pair(form.pairs() * usize::from(home))
}

pub(super) type Emitted = Result<Instruction, IcedError>;

/// Encodes an instruction whose second operand, or only one, is in memory.
pub(super) fn folded(asm: &mut Asm, inst: &Inst, d: u8, a: u8, memory: MemoryOperand) {
    let form = asm.form;
    let v = |register| form.vector(register);
    asm.put(match inst {
        Inst::Binary(op, ..) => Instruction::with3(asm::lanes(form, *op), v(d), v(a), memory),
        // One lane again and again.
        _ => Instruction::with2(spread(form), v(d), memory),
    });
}

/// Spreads a lane of memory.
fn spread(form: Form) -> Code {
    form.code([
        Code::EVEX_Vbroadcastf32x4_zmm_k1z_m128,
        Code::EVEX_Vbroadcastf32x4_ymm_k1z_m128,
        Code::VEX_Vbroadcastf128_ymm_m128,
    ])
}

/// Encodes one instruction; the holes are the branches of checks that fail.
pub(super) fn encode(asm: &mut Asm, inst: &Inst, d: u8, r: [u8; 4], failed: &mut Vec<Hole>) {
    let form = asm.form;
    let v = |register| form.vector(register);
    let [a, b, c, _] = r;
    match *inst {
        Inst::Home(q) => asm.put(Instruction::with2(form.load(), v(d), home(form, q))),
        Inst::LoadQuad(at) => asm.put(Instruction::with2(form.load(), v(d), dmem(at, a))),
        Inst::LoadPair(at) => asm.put(Instruction::with2(twice(form), v(d), dmem(at, a))),
        Inst::LoadLane(at) => asm.put(Instruction::with2(spread(form), v(d), dmem(at, a))),
        Inst::Binary(op, ..) => {
            asm.put(Instruction::with3(asm::lanes(form, op), v(d), v(a), v(b)));
        }
        Inst::With(op, _, constant) => asm.put(Instruction::with3(
            asm::lanes(form, op),
            v(d),
            v(a),
            asm::constant(form, constant),
        )),
        Inst::AddSub(..) => alternate(
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
        Inst::SubAdd(..) => alternate(
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
        Inst::Shuffle(_, _, imm) => asm.put(Instruction::with4(
            Code::EVEX_Vshuff32x4_zmm_k1z_zmm_zmmm512b32_imm8,
            v(d),
            v(a),
            v(b),
            u32::from(imm),
        )),
        Inst::Pick(_, _, imm) => pick(asm, [d, a, b], imm),
        Inst::Align(_, _, n) => asm.put(Instruction::with4(
            Code::EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8,
            v(d),
            v(b),
            v(a),
            2 * u32::from(n % 4),
        )),
        Inst::Shift(op, _, n) => {
            let code = asm::shift(form, op);
            asm.put(Instruction::with3(code, v(d), v(a), u32::from(n)));
        }
        Inst::Select(..) => select(asm, [d, a, b, c]),
        Inst::Min(..) => extreme(asm, d, a, b, false),
        Inst::Max(..) => extreme(asm, d, a, b, true),
        Inst::Compare(how, ..) => compare(asm, how, d, a, b),
        Inst::Convert(to, _) => convert(asm, to, d, a),
        Inst::Canonical(_) => canonical(asm, d, a),
        Inst::Splat(bits) => splat(asm, d, bits),
        Inst::Prefetch(at) => asm.put(Instruction::with1(Code::Prefetchw_m8, dmem(at, a))),
        Inst::StoreQuad(_, at) => asm.put(Instruction::with2(form.store(), dmem(at, b), v(a))),
        Inst::SetHome(q, _) => asm.put(Instruction::with2(form.store(), home(form, q), v(a))),
        Inst::StorePair(h, at) => {
            let to = dmem(at, b);
            asm.put(if h.hi {
                Instruction::with3(
                    Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8,
                    to,
                    v(a),
                    1u32,
                )
            } else if form.narrow() {
                Instruction::with2(form.store(), to, v(a))
            } else {
                let half = Form::Narrow;
                Instruction::with2(half.store(), to, half.vector(a))
            });
        }
        _ => scalars::encode(asm, inst, d, r, failed),
    }
}

/// Loads pairs of the register file to the halves of a vector.
pub(super) fn gather(asm: &mut Asm, d: u8, pairs: [Option<u8>; 2]) {
    let form = asm.form;
    let at = |pair: u8| asm::pair(usize::from(pair));
    let d = form.vector(d);
    match pairs {
        [Some(lo), Some(hi)] if lo % 2 == 0 && hi == lo + 1 => {
            asm.put(Instruction::with2(form.load(), d, at(lo)));
        }
        [lo, hi] => {
            if let Some(lo) = lo.or(hi) {
                asm.put(Instruction::with2(twice(form), d, at(lo)));
            }
            if let (Some(_), Some(hi)) = (lo, hi) {
                let code = Code::EVEX_Vinsertf64x4_zmm_k1z_zmm_ymmm256_imm8;
                asm.put(Instruction::with4(code, d, d, at(hi), 1u32));
            }
        }
    }
}

/// Loads a pair to each half.
fn twice(form: Form) -> Code {
    let load = form.load();
    form.code([Code::EVEX_Vbroadcastf64x4_zmm_k1z_m256, load, load])
}

fn copy(form: Form, d: u8, a: u8) -> Emitted {
    Instruction::with2(form.load(), form.vector(d), form.vector(a))
}

/// Lanes of two pairs.
fn pick(asm: &mut Asm, [d, a, b]: [u8; 3], imm: u8) {
    let form = asm.form;
    let [d, a, b] = [d, a, b].map(|r| form.vector(r));
    let (low, high) = (u32::from(imm & 1), u32::from(imm >> 1));
    asm.put(if form == Form::Avx2 {
        // The selector of the upper half counts the second operand's lanes from 2 on.
        let code = Code::VEX_Vperm2f128_ymm_ymm_ymmm256_imm8;
        Instruction::with4(code, d, a, b, low | (2 + high) << 4)
    } else {
        let code = Code::EVEX_Vshuff32x4_ymm_k1z_ymm_ymmm256b32_imm8;
        Instruction::with4(code, d, a, b, low | high << 1)
    });
}

fn splat(asm: &mut Asm, d: u8, bits: u32) {
    let form = asm.form;
    asm.put(Instruction::with2(Code::Mov_r32_imm32, TEMP, bits));
    if form == Form::Avx2 {
        let low = Register::XMM0 + u32::from(d);
        asm.put(Instruction::with2(Code::VEX_Vmovd_xmm_rm32, low, TEMP));
        let code = Code::VEX_Vpbroadcastd_ymm_xmmm32;
        asm.put(Instruction::with2(code, form.vector(d), low));
        return;
    }
    let code = form.code([
        Code::EVEX_Vpbroadcastd_zmm_k1z_r32,
        Code::EVEX_Vpbroadcastd_ymm_k1z_r32,
        Code::INVALID,
    ]);
    asm.put(Instruction::with2(code, form.vector(d), TEMP));
}

/// A constant of the frame, for the forms with masks.
fn splat_constant(form: Form, d: u8, displacement: i64) -> Emitted {
    let code = form.code([
        Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32,
        Code::EVEX_Vbroadcastss_ymm_k1z_xmmm32,
        Code::INVALID,
    ]);
    Instruction::with2(code, form.vector(d), mem(FRAME, displacement))
}

/// An instruction of AVX2 on three registers.
fn three(asm: &mut Asm, op: Lanes, d: Register, a: Register, b: Register) {
    let code = asm::lanes(Form::Avx2, op);
    asm.put(Instruction::with3(code, d, a, b));
}

/// A comparison of AVX2.
fn floats(asm: &mut Asm, d: Register, a: Register, b: Register, predicate: u32) {
    let code = Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
    asm.put(Instruction::with4(code, d, a, b, predicate));
}

/// Predicates of comparisons.
const UNORDERED: u32 = 3;
const ORDERED: u32 = 7;
const AT_LEAST: u32 = 0x1d;

fn canonical(asm: &mut Asm, d: u8, a: u8) {
    let form = asm.form;
    let (to, from) = (form.vector(d), form.vector(a));
    if form == Form::Avx2 {
        floats(asm, SCRATCH, from, from, UNORDERED);
        let code = Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm;
        let nan = every(form, frame::NAN_BITS);
        asm.put(Instruction::with4(code, to, from, nan, SCRATCH));
        return;
    }
    asm.put(splat_constant(form, d, frame::NAN_BITS));
    let code = form.code([
        Code::EVEX_Vfixupimmps_zmm_k1z_zmm_zmmm512b32_imm8_sae,
        Code::EVEX_Vfixupimmps_ymm_k1z_ymm_ymmm256b32_imm8,
        Code::INVALID,
    ]);
    let table = every(form, frame::FIXUP);
    asm.put(Instruction::with4(code, to, from, table, 0u32));
}

/// `b` where `a` has ones, else `c`.
fn select(asm: &mut Asm, r: [u8; 4]) {
    let form = asm.form;
    let [d, a, b, c] = r.map(|r| form.vector(r));
    if form == Form::Avx2 {
        three(asm, Lanes::And, SCRATCH, a, b);
        three(asm, Lanes::AndNot, d, a, c);
        three(asm, Lanes::Or, d, d, SCRATCH);
        return;
    }
    asm.put(Instruction::with2(form.load(), d, a));
    let code = form.code([
        Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
        Code::EVEX_Vpternlogd_ymm_k1z_ymm_ymmm256b32_imm8,
        Code::INVALID,
    ]);
    // 0xca: the second where the first has ones, else the third.
    asm.put(Instruction::with4(code, d, b, c, 0xcau32));
}

/// `a -+ b` lane by lane: a multiply-add whose product, `b` times one or minus
/// one, is exact, so that it rounds once as the sum does.
fn alternate(asm: &mut Asm, [d, a, b]: [u8; 3], into_a: [Code; 3], into_b: [Code; 3]) {
    let form = asm.form;
    let (into_a, into_b) = (form.code(into_a), form.code(into_b));
    let signs = mem(FRAME, frame::ALTERNATE);
    let v = |register| form.vector(register);
    if d == a && a != b {
        asm.put(Instruction::with3(into_a, v(d), v(b), signs));
    } else {
        if d != b {
            asm.put(copy(form, d, b));
        }
        asm.put(Instruction::with3(into_b, v(d), v(a), signs));
    }
}

fn compare(asm: &mut Asm, how: Compare, d: u8, a: u8, b: u8) {
    let form = asm.form;
    let [d, a, b] = [d, a, b].map(|r| form.vector(r));
    let predicate = match how {
        Compare::Eq | Compare::IEq => 0u32,
        Compare::Lt => 0x11,
        Compare::Le => 0x12,
        Compare::ILt => 1,
    };
    let integers = matches!(how, Compare::IEq | Compare::ILt);
    if form == Form::Avx2 {
        match how {
            Compare::IEq => {
                let code = Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256;
                asm.put(Instruction::with3(code, d, a, b));
            }
            Compare::ILt => {
                let code = Code::VEX_Vpcmpgtd_ymm_ymm_ymmm256;
                asm.put(Instruction::with3(code, d, b, a));
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
    asm.put(Instruction::with4(code, Register::K1, a, b, predicate));
    let code = form.code([
        Code::EVEX_Vpmovm2d_zmm_kr,
        Code::EVEX_Vpmovm2d_ymm_kr,
        Code::INVALID,
    ]);
    asm.put(Instruction::with2(code, d, Register::K1));
}

/// Comparisons of floats to a mask register.
const MASKS: [Code; 3] = [
    Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
    Code::EVEX_Vcmpps_kr_k1_ymm_ymmm256b32_imm8,
    Code::INVALID,
];

/// Minimum or maximum that orders zeros; NaN where an operand is.
fn extreme(asm: &mut Asm, to: u8, a: u8, b: u8, largest: bool) {
    let form = asm.form;
    let [d, a, b] = [to, a, b].map(|r| form.vector(r));
    if form == Form::Avx2 {
        // Of equal operands, or where one is a NaN, the host gives the second.
        let (code, both) = if largest {
            (Code::VEX_Vmaxps_ymm_ymm_ymmm256, Lanes::And)
        } else {
            (Code::VEX_Vminps_ymm_ymm_ymmm256, Lanes::Or)
        };
        asm.put(Instruction::with3(code, SCRATCH, a, b));
        asm.put(Instruction::with3(code, d, b, a));
        three(asm, both, d, d, SCRATCH);
        floats(asm, SCRATCH, a, b, UNORDERED);
        let blend = Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm;
        let nan = every(form, frame::NAN_BITS);
        asm.put(Instruction::with4(blend, d, d, nan, SCRATCH));
        return;
    }
    let unordered = form.code(MASKS);
    asm.put(Instruction::with4(unordered, Register::K1, a, b, UNORDERED));
    let code = form.code([
        Code::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae,
        Code::EVEX_Vrangeps_ymm_k1z_ymm_ymmm256b32_imm8,
        Code::INVALID,
    ]);
    let how = if largest { 0b0101u32 } else { 0b0100 };
    asm.put(Instruction::with4(code, d, a, b, how));
    asm.put_masked(splat_constant(form, to, frame::NAN_BITS), false);
}

fn convert(asm: &mut Asm, to: Convert, d: u8, a: u8) {
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
    asm.put(Instruction::with2(code, d, a));
    if to == Convert::Float {
        return;
    }
    // The host gives the smallest integer for all it cannot represent.
    let large = every(form, frame::TWO_31);
    if form == Form::Avx2 {
        let code = Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
        asm.put(Instruction::with4(code, SCRATCH, a, large, AT_LEAST));
        // Its complement is the largest one.
        three(asm, Lanes::Xor, d, d, SCRATCH);
        floats(asm, SCRATCH, a, a, ORDERED);
        three(asm, Lanes::And, d, d, SCRATCH);
        return;
    }
    let compare = form.code(MASKS);
    asm.put(Instruction::with4(
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
    let largest = mem(FRAME, frame::MAX);
    asm.put_masked(
        Instruction::with2(spread, form.vector(number), largest),
        false,
    );
    asm.put(Instruction::with4(compare, Register::K1, a, a, ORDERED));
    let code = form.code([
        Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512,
        Code::EVEX_Vmovdqa32_ymm_k1z_ymmm256,
        Code::INVALID,
    ]);
    asm.put_masked(Instruction::with2(code, d, d), true);
}
