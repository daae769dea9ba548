//! Tests of the arithmetic slot against an independent oracle.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

#[path = "support/arith.rs"]
mod oracle;

use cp2_asm::isa::{Inst, Kind, Op};
use cp2_emu::alu::{Alu, PlainAlu, Tracked, TrackedBits};
use cp2_emu::semantics::arith::{Registers, execute};
use oracle::{File, NAN, expected, rows};
use proptest::prelude::*;

/// Number of registers in the tests: few, so that operands coincide.
const REGISTERS: usize = 8;

struct Section<L>(Vec<[L; 2]>);

impl<L: Copy> Registers<L> for Section<L> {
    fn read(&self, reg: u8, lane: u8) -> L {
        self.0[reg as usize][lane as usize]
    }

    fn write(&mut self, reg: u8, lane: u8, value: L) {
        self.0[reg as usize][lane as usize] = value;
    }
}

fn run(inst: &Inst, file: &File) -> File {
    let mut section = Section(file.clone());
    execute(&mut PlainAlu, inst, &mut section);
    section.0
}

#[track_caller]
fn agree(inst: &Inst, file: &File) {
    assert_eq!(
        run(inst, file),
        expected(inst, file),
        "{inst:?} on {file:08x?}"
    );
}

/// Values at which float and integer operations change their behaviour.
const CORNERS: [u32; 34] = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x8000_0000,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x807f_ffff,
    0x8080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0xbf00_0000,
    0x3f7f_ffff,
    0x3f80_0001,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0000,
    0x7f80_0001,
    0xffff_ffff,
    0x7fff_ffff,
    0x4eff_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0xcf00_0001,
    0x4b80_0001,
];

fn lane() -> impl Strategy<Value = u32> {
    prop_oneof![
        2 => any::<u32>(),
        2 => prop::sample::select(&CORNERS[..]),
        // Exponents near one another, so that sums cancel and products stay in range.
        3 => (any::<bool>(), 120u32..136, 0u32..1 << 23).prop_map(|(s, e, m)| u32::from(s) << 31 | e << 23 | m),
        1 => (any::<bool>(), 0u32..30, 0u32..1 << 23).prop_map(|(s, e, m)| u32::from(s) << 31 | e << 23 | m),
    ]
}

fn file() -> impl Strategy<Value = File> {
    prop::collection::vec([lane(), lane()], REGISTERS)
}

/// Fills the operands of `op`: registers from `r` below [`REGISTERS`], where two destinations are
/// made to differ, and the immediate from as many bits of `imm` as the field has.
fn instruction(op: Op, r: [u8; 5], imm: u32) -> Inst {
    let mut inst = Inst::new(op);
    let mut next = 0;
    for operand in op.row().form.operands() {
        match operand.kind {
            Kind::Pair | Kind::Quad => {
                let count = if operand.kind == Kind::Quad {
                    REGISTERS / 2
                } else {
                    REGISTERS
                } as u8;
                inst.r[next] = r[next] % count;
                if next == 1 && operand.role.writes() && inst.r[1] == inst.r[0] {
                    inst.r[1] = (inst.r[0] + 1) % count;
                }
                next += 1;
            }
            Kind::Imm { min, .. } => {
                inst.imm = min.max((imm & ((1 << operand.field.bits) - 1)) as i32)
            }
            Kind::Float24 => inst.imm = (imm & !0xff) as i32,
            kind => panic!("{op:?}: arithmetic operand {kind:?}"),
        }
    }
    inst
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_row_agrees_with_the_oracle(file in file(), r in any::<[u8; 5]>(), imm in any::<u32>()) {
        for op in rows() {
            let inst = instruction(op, r, imm);
            prop_assert_eq!(run(&inst, &file), expected(&inst, &file), "{:?} on {:08x?}", inst, file);
        }
    }

    #[test]
    fn tracking_changes_no_bits_and_loses_no_mark(file in file(), r in any::<[u8; 5]>(), imm in any::<u32>(), unset in 0..REGISTERS) {
        for op in rows() {
            let inst = instruction(op, r, imm);
            let tracked = |initialised: bool| {
                let lanes = file.iter().enumerate().map(|(i, lanes)| {
                    lanes.map(|bits| TrackedBits { bits, initialised: initialised || i != unset })
                });
                let mut section = Section(lanes.collect());
                execute(&mut Tracked, &inst, &mut section);
                section.0
            };
            let plain = run(&inst, &file);
            for (reg, lanes) in tracked(true).iter().enumerate() {
                prop_assert_eq!(lanes.map(|l| l.bits), plain[reg], "{:?}", inst);
                prop_assert!(lanes.iter().all(|l| l.initialised), "{:?}", inst);
            }
            // A written register is set unless the operation reads the unset one; any other
            // register is set unless it is that one.
            let (reads, writes) = (inst.reads(), inst.writes());
            let holds = |set: cp2_asm::isa::RegSet, i| set.contains(cp2_asm::isa::Reg::pair(i as u8));
            for (reg, lanes) in tracked(false).iter().enumerate() {
                let clean = if holds(writes, reg) { !holds(reads, unset) } else { reg != unset };
                prop_assert!(!clean || lanes.iter().all(|l| l.initialised), "{:?}", inst);
                let untouched = reg == unset && !holds(writes, reg);
                prop_assert!(!untouched || lanes.iter().all(|l| !l.initialised), "{:?}", inst);
            }
        }
    }
}

/// All operands are one register; where two results are written, each in turn is also the source.
#[test]
fn operands_may_all_be_the_same_register() {
    for op in rows() {
        for (i, &corner) in CORNERS.iter().enumerate() {
            let file: File = (0..REGISTERS)
                .map(|k| [corner, CORNERS[(i + k) % CORNERS.len()]])
                .collect();
            for source in 0..2 {
                let two = op
                    .row()
                    .form
                    .operands()
                    .get(1)
                    .is_some_and(|o| o.role.writes());
                let r = if two {
                    [0, 1, source, source, source]
                } else {
                    [source; 5]
                };
                agree(&instruction(op, r, 0x1b), &file);
            }
        }
    }
}

/// Signs of zeros reveal exchanged operands, a sum for a difference, and a conjugate of the wrong
/// factor.
#[test]
fn all_combinations_of_zeros_and_ones() {
    const LANES: [u32; 4] = [0, 0x8000_0000, 0x3f80_0000, 0xbf80_0000];
    for code in 0..1usize << 12 {
        let source = |i: usize| [LANES[code >> (4 * i) & 3], LANES[code >> (4 * i + 2) & 3]];
        // The sources are registers 1, 2, 3, or 2, 3, 4 if there are two results.
        let file: File = (0..REGISTERS).map(|r| source(r % 3)).collect();
        for op in rows() {
            agree(&instruction(op, [0, 1, 2, 3, 4], 1), &file);
        }
    }
}

#[test]
fn sums_and_products_at_every_pair_of_exponents() {
    const MANTISSAS: [u32; 4] = [0, 1, 0x40_0000, 0x7f_ffff];
    let lanes = |e: u32| MANTISSAS.map(|m| e << 23 | m);
    for (ea, eb) in (0..256).flat_map(|ea| (0..256).map(move |eb| (ea, eb))) {
        for (a, b) in lanes(ea)
            .into_iter()
            .flat_map(|a| lanes(eb).map(|b| (a, b)))
        {
            let (x, y) = (f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b)));
            let bits = |v: f64| {
                if v.is_nan() {
                    NAN
                } else {
                    (v as f32).to_bits()
                }
            };
            assert_eq!(PlainAlu.fmul(a, b), bits(x * y), "{a:08x} * {b:08x}");
            assert_eq!(
                PlainAlu.fmul(a | 1 << 31, b),
                bits(-x * y),
                "-{a:08x} * {b:08x}"
            );
            assert_eq!(PlainAlu.fadd(a, b), bits(x + y), "{a:08x} + {b:08x}");
            assert_eq!(PlainAlu.fsub(a, b), bits(x - y), "{a:08x} - {b:08x}");
        }
    }
}

/// NaN of any payload in every operand: float results are the canonical NaN, bit operations keep
/// the payload.
#[test]
fn nan_results_are_canonical() {
    for payload in [
        0x7f80_0001,
        0x7fff_ffff,
        0xff80_0001,
        0xffc0_0000,
        0xffff_ffff,
    ] {
        for op in rows() {
            let inst = instruction(op, [0, 1, 2, 3, 4], 0);
            let after = run(&inst, &vec![[payload; 2]; REGISTERS]);
            let expected = match op.row().mnemonic {
                "add" | "sub" | "mul" | "min" | "max" | "madd" | "msub" | "nmadd" | "nmsub"
                | "addsub" => NAN,
                "rcp" | "rsqrt" | "exp2" | "log2" | "sin" | "cos" => NAN,
                name if name.starts_with("cm") && !name.starts_with("cmp")
                    || name.starts_with("bfly") =>
                {
                    NAN
                }
                "cmpeq" | "cmplt" | "cmple" | "ftoi" | "ftoin" => 0,
                "neg" => payload ^ 0x8000_0000,
                "abs" => payload & 0x7fff_ffff,
                "mov" | "sel" | "swap" | "dup0" | "dup1" | "trnlo" | "trnhi" | "ext" | "perm" => {
                    payload
                }
                _ => continue, // integer and immediate operations
            };
            let written = inst.writes();
            assert!(!written.is_empty(), "{op:?}");
            for reg in written.iter() {
                assert_eq!(
                    after[reg.0 as usize], [expected; 2],
                    "{op:?} of {payload:08x}"
                );
            }
        }
    }
}

#[test]
fn a_product_is_rounded_before_it_is_added() {
    // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24; fused, subtracting 1 + 2^-11 would leave 2^-24.
    let (a, c) = (0x3f80_0800, 0x3f80_1000);
    let file: File = vec![
        [0; 2], [a; 2], [a; 2], [c; 2], [0; 2], [0; 2], [0; 2], [0; 2],
    ];
    assert_eq!(
        run(&instruction(Op::MsubP, [0, 1, 2, 3, 0], 0), &file)[0],
        [0; 2]
    );
    assert_eq!(
        run(&instruction(Op::NmsubP, [0, 1, 2, 3, 0], 0), &file)[0],
        [0; 2]
    );
}

#[test]
fn signed_zeros_order() {
    let (plus, minus) = (0, 0x8000_0000);
    assert_eq!(
        (PlainAlu.fmin(plus, minus), PlainAlu.fmin(minus, plus)),
        (minus, minus)
    );
    assert_eq!(
        (PlainAlu.fmax(plus, minus), PlainAlu.fmax(minus, plus)),
        (plus, plus)
    );
}

#[test]
fn an_unset_operand_marks_the_lanes_it_reaches() {
    let lanes = |op| {
        let file = (0..REGISTERS)
            .map(|r| {
                [TrackedBits {
                    bits: 0,
                    initialised: r != 1,
                }; 2]
            })
            .collect();
        let mut section = Section(file);
        execute(
            &mut Tracked,
            &instruction(op, [0, 1, 2, 3, 4], 0),
            &mut section,
        );
        section.0[0].map(|lane| lane.initialised)
    };
    assert_eq!(lanes(Op::AddP), [false, false]);
    assert_eq!(lanes(Op::TrnloP), [false, true]);
    assert_eq!(lanes(Op::ExtP), [false, true]);
    assert_eq!(lanes(Op::Lif), [true, true]);
}
