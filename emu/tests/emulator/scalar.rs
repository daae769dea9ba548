//! Tests of the memory-and-control slot: shared scalars and actions.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use cp2_asm::isa::{Inst, Kind, Op, SCALARS, Scalar, Slot};
use cp2_emu::alu::{PlainAlu, Tracked, TrackedBits};
use cp2_emu::semantics::action::{Action, Condition, ControlOp, Data, Source, action};
use cp2_emu::semantics::scalar::execute;
use proptest::prelude::*;

fn run(inst: &Inst, scalars: &[u32; SCALARS]) -> [u32; SCALARS] {
    let Some(Action::Scalar(op)) = action(inst) else {
        panic!("{inst:?}")
    };
    let mut after = *scalars;
    execute(&mut PlainAlu, op, &mut after);
    after
}

fn scalar_rows() -> impl Iterator<Item = Op> {
    Op::ALL
        .iter()
        .copied()
        .filter(|&op| matches!(action(&Inst::new(op)), Some(Action::Scalar(_))))
}

/// Computes the result by mnemonic, on wide integers.
fn oracle(inst: &Inst, scalars: &[u32; SCALARS]) -> u32 {
    let at = |i: usize| scalars[inst.r[i] as usize];
    let (y, imm) = (at(1), inst.imm);
    let sum = |a: i64, b: i64| (a + b) as u32;
    match inst.row().mnemonic {
        "mov" => y,
        "add" => sum(y.into(), at(2).into()),
        "addi" => sum(y.into(), imm.into()),
        "sub" => sum(y.into(), -i64::from(at(2))),
        "mul" => (u64::from(y) * u64::from(at(2))) as u32,
        "and" => y & at(2),
        "or" => y | at(2),
        "shl" => (u64::from(y) << imm) as u32,
        "shr" => (u64::from(y) >> imm) as u32,
        "sar" => (i64::from(y as i32) >> imm) as u32,
        "movi" => imm as u32,
        "movhi" => (at(0) % 0x1_0000) + ((imm as u32) << 16),
        name => panic!("no oracle for `{name}`"),
    }
}

fn immediate(op: Op, bits: u32) -> i32 {
    for operand in op.row().form.operands() {
        if let Kind::Imm { signed, .. } = operand.kind {
            let unused = 32 - operand.field.bits;
            return if signed {
                (bits << unused) as i32 >> unused
            } else {
                (bits << unused >> unused) as i32
            };
        }
    }
    0
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_scalar_row_agrees_with_the_oracle(
        values in prop::collection::vec(any::<u32>(), SCALARS), r in prop::array::uniform3(0u8..4), bits in any::<u32>()
    ) {
        every_row_agrees(&values.try_into().unwrap(), r, bits);
    }
}

fn every_row_agrees(scalars: &[u32; SCALARS], r: [u8; 3], bits: u32) {
    for op in scalar_rows() {
        let mut inst = Inst::new(op);
        inst.r[..3].copy_from_slice(&r);
        inst.imm = immediate(op, bits);
        let mut expected = *scalars;
        expected[r[0] as usize] = oracle(&inst, scalars);
        assert_eq!(run(&inst, scalars), expected, "{inst:?}");
    }
}

/// All scalars that are read are zero, and the immediate has its upper half set.
#[test]
fn rows_agree_on_zeros_and_a_large_immediate() {
    let scalars = std::array::from_fn(|i| if i < 32 { 0 } else { i as u32 * 0x0404_0405 });
    every_row_agrees(&scalars, [1, 2, 1], 3_115_328_988);
}

#[test]
fn the_upper_half_of_an_unset_scalar_leaves_it_unset() {
    let mut scalars = [TrackedBits::default(); SCALARS];
    for (op, initialised) in [(Op::Movhi, false), (Op::Movi, true), (Op::Movhi, true)] {
        let Some(Action::Scalar(op)) = action(&Inst::new(op)) else {
            panic!("{op:?}")
        };
        execute(&mut Tracked, op, &mut scalars);
        assert_eq!(scalars[0].initialised, initialised);
    }
}

#[test]
fn the_action_exists_for_the_memory_slot_and_for_no_other() {
    for &op in Op::ALL {
        assert_eq!(
            action(&Inst::new(op)).is_some(),
            op.row().slot() == Slot::Mem,
            "{op:?}"
        );
    }
}

/// Data moved by an access agrees with the registers that the table says it reads and writes.
#[test]
fn accesses_agree_with_the_table() {
    for &op in Op::ALL {
        let mut inst = Inst::new(op);
        inst.r[0] = 6;
        let Some(Action::Memory(memory)) = action(&inst) else {
            assert!(!inst.has_address(), "{op:?}");
            continue;
        };
        let (set, first, count, bytes) = match memory.data {
            Data::Load { first, count }
            | Data::LoadUnaligned { first, count }
            | Data::LoadNeighbour { first, count, .. } => {
                (inst.writes(), first, count, 8 * u32::from(count))
            }
            Data::LoadWord { first } => (inst.writes(), first, 1, 4),
            Data::StoreWord { first } => (inst.reads(), first, 1, 4),
            Data::LoadDuplicate { first } => (inst.writes(), first, 2, 8),
            Data::Store { first, count } | Data::StoreUnaligned { first, count } => {
                (inst.reads(), first, count, 8 * u32::from(count))
            }
            Data::LoadScalars { first, count } => (inst.writes(), 64 + first.0, count, 8),
        };
        let registers: Vec<u8> = set
            .iter()
            .map(|r| r.0)
            // The address is formed with a0 and, where sections do that, r0.
            .filter(|&r| r != Scalar::address(0).reg().0 && r != 0)
            .collect();
        assert_eq!(
            registers,
            (first..first + count).collect::<Vec<_>>(),
            "{op:?}"
        );
        assert_eq!(memory.bytes, bytes, "{op:?}");
        assert_eq!(memory.data.is_store(), inst.writes().is_empty(), "{op:?}");
    }
}

#[test]
fn conditions_are_complements() {
    for x in [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        assert_eq!(Condition::Zero.holds(x), x == 0);
        assert_eq!(Condition::NotZero.holds(x), x != 0);
        assert_eq!(Condition::Negative.holds(x), x > 0x7fff_ffff);
        assert_eq!(Condition::NotNegative.holds(x), x <= 0x7fff_ffff);
    }
}

#[test]
fn control_operations_carry_their_operands() {
    let control = |op, edit: fn(&mut Inst)| {
        let mut inst = Inst::new(op);
        edit(&mut inst);
        match action(&inst) {
            Some(Action::Control(control)) => control,
            other => panic!("{op:?}: {other:?}"),
        }
    };
    let set = |inst: &mut Inst| {
        inst.r[0] = 33;
        inst.imm = 5;
        inst.target = 700;
    };
    let x = Scalar::control(1);
    let branch = |condition| ControlOp::Branch {
        condition,
        x,
        target: 700,
    };
    assert_eq!(control(Op::Stop, set), ControlOp::Stop);
    assert_eq!(control(Op::Ret, set), ControlOp::Return);
    assert_eq!(control(Op::Jmp, set), ControlOp::Jump { target: 700 });
    assert_eq!(control(Op::Call, set), ControlOp::Call { target: 700 });
    assert_eq!(control(Op::Bz, set), branch(Condition::Zero));
    assert_eq!(control(Op::Bnz, set), branch(Condition::NotZero));
    assert_eq!(control(Op::Bneg, set), branch(Condition::Negative));
    assert_eq!(control(Op::Bpos, set), branch(Condition::NotNegative));
    assert_eq!(
        control(Op::LoopI, set),
        ControlOp::Loop {
            count: Source::Constant(5),
            words: 700
        }
    );
    assert_eq!(
        control(Op::LoopX, set),
        ControlOp::Loop {
            count: Source::Register(x),
            words: 700
        }
    );
    assert_eq!(control(Op::Wait, set), ControlOp::Wait { event: 5 });
    assert_eq!(control(Op::Signal, set), ControlOp::Signal { event: 5 });
}
