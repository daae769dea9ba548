//! Tests of encoding: each 64-bit value decodes exactly or gives an error.

use crate::isa::{Address, AddressOperand, DecodeError, Inst, Kind, Op, OwnAddress, Slot, Word};
use crate::testing::{any_operands, any_word};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Decodes a value and, if that succeeds, checks that it encodes to the same bits.
fn exact(bits: u64) -> Result<(), String> {
    match Word::decode(bits) {
        Ok(word) if word.encode() == bits => Ok(()),
        Ok(word) => Err(format!("{bits:016x} -> {word} -> {:016x}", word.encode())),
        Err(error) if error.to_string().is_empty() => Err(format!("{bits:016x}: no message")),
        Err(_) => Ok(()),
    }
}

/// Returns the bits of a slot that are used: opcode and operand fields, from the form alone.
fn used(op: Op) -> u64 {
    let row = op.row();
    let slot = row.slot();
    let major = 0b11111 << (slot.bits() - 5);
    let fields = row
        .form
        .operands()
        .iter()
        .map(|operand| match operand.kind {
            Kind::Mem { .. } => Address::BASE.mask() | Address::MODE.mask() | Address::IMM.mask(),
            Kind::OwnMem { .. } => OwnAddress::mask(),
            _ => operand.field.mask(),
        });
    fields.fold(
        major | row.form.minor().map_or(0, |m| m.mask()),
        |all, field| all | field,
    )
}

/// True if the table has a row with these opcode bits; searched without the decoder's index.
fn row_exists(slot: Slot, major: u64, minor: u64) -> bool {
    Op::ALL.iter().map(|op| op.row()).any(|row| {
        row.slot() == slot
            && u64::from(row.major) == major
            && (row.form.minor().is_none() || u64::from(row.minor) == minor)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn words_come_back(word in any_word()) {
        prop_assert_eq!(Word::decode(word.encode()), Ok(word));
    }

    #[test]
    fn one_flipped_bit_is_exact_or_an_error(word in any_word()) {
        for bit in 0..64 {
            let bits = word.encode() ^ 1 << bit;
            prop_assert_eq!(exact(bits), Ok(()));
            prop_assert_ne!(Word::decode(bits), Ok(word));
        }
    }

    #[test]
    fn random_bits_are_exact_or_an_error(bits in any::<u64>()) {
        prop_assert_eq!(exact(bits), Ok(()));
    }
}

/// Tests each row with its operand fields all zero, all one, and alternating.
#[test]
fn every_opcode_corner_is_exact_or_an_error() {
    let fills = [0, !0, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa];
    for major_arith in 0..32u64 {
        for minor_arith in 0..64 {
            for major_mem in 0..32 {
                for fill in fills {
                    let arith = major_arith << 30 | fill & 0x3fff_ffc0 | minor_arith;
                    let mem = major_mem << 24 | fill & 0x00ff_ffff;
                    let bits = arith << 29 | mem;
                    exact(bits).unwrap();
                    let known = row_exists(Slot::Arith, major_arith, minor_arith)
                        && row_exists(Slot::Mem, major_mem, fill & 63);
                    let opcode = matches!(Word::decode(bits), Err(DecodeError::Opcode { .. }));
                    // Operand errors of the arithmetic slot are reported before the memory slot's opcode.
                    assert!(!(known && opcode), "{bits:016x}");
                    if !row_exists(Slot::Arith, major_arith, minor_arith) {
                        assert!(opcode, "{bits:016x}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_unused_bit_of_every_row_is_reserved() {
    let mut runner = TestRunner::deterministic();
    for &op in Op::ALL {
        let slot = op.row().slot();
        let inst = any_operands(op).new_tree(&mut runner).unwrap().current();
        for bit in (0..slot.bits()).filter(|bit| used(op) >> bit & 1 == 0) {
            let bits = inst.encode() | 1 << bit;
            let expected = DecodeError::Reserved {
                slot,
                bits,
                reserved: 1 << bit,
                op,
            };
            assert_eq!(Inst::decode(slot, bits), Err(expected), "{op:?} bit {bit}");
        }
    }
}

#[test]
fn every_used_bit_of_every_row_means_something() {
    let mut runner = TestRunner::deterministic();
    for &op in Op::ALL {
        let slot = op.row().slot();
        for _ in 0..8 {
            let inst = any_operands(op).new_tree(&mut runner).unwrap().current();
            for bit in (0..slot.bits()).filter(|bit| used(op) >> bit & 1 == 1) {
                let bits = inst.encode() ^ 1 << bit;
                match Inst::decode(slot, bits) {
                    Ok(other) => assert_ne!(other, inst, "{op:?} bit {bit}"),
                    // Some address modes reserve the remaining bits of the composite address.
                    Err(error) => assert_ne!(error.to_string(), ""),
                }
            }
        }
    }
}

#[test]
fn one_register_is_written_once() {
    let butterfly = Inst {
        r: [7, 7, 1, 2, 3],
        ..Inst::new(Op::Bfly)
    };
    let load = |r| Inst {
        r: [r, 0, 0, 0, 0],
        ..Inst::new(Op::LdQ)
    };
    let twice = |arith, mem| Word::decode(Word { arith, mem }.encode());
    let reg = crate::isa::Reg::pair(7);
    assert_eq!(
        twice(butterfly, Inst::new(Op::MemNop)),
        Err(DecodeError::WrittenTwice { reg })
    );
    let add = Inst {
        r: [7, 0, 0, 0, 0],
        ..Inst::new(Op::AddP)
    };
    assert_eq!(
        twice(add, load(3)),
        Err(DecodeError::WrittenTwice { reg }),
        "q3 holds r7"
    );
    assert!(twice(add, load(4)).is_ok());
}

/// Field values that the field can hold and the operand does not allow.
#[test]
fn operand_limits() {
    let refused = |inst: Inst, operand: &str| {
        let slot = inst.row().slot();
        let error = Inst::decode(slot, inst.encode()).expect_err(operand);
        assert!(
            matches!(error, DecodeError::Operand { operand: found, .. } if found == operand),
            "{error}"
        );
    };
    refused(
        Inst {
            r: [32, 0, 0, 0, 0],
            ..Inst::new(Op::AddQ)
        },
        "d",
    );
    refused(
        Inst {
            r: [0, 0, 63, 0, 0],
            ..Inst::new(Op::AddQ)
        },
        "b",
    );
    refused(
        Inst {
            r: [1, 0, 0, 0, 0],
            ..Inst::new(Op::LdX2)
        },
        "x",
    );
    refused(
        Inst {
            target: 1,
            ..Inst::new(Op::LoopI)
        },
        "count",
    );
    refused(
        Inst {
            imm: 1,
            ..Inst::new(Op::LoopI)
        },
        "end",
    );
    refused(Inst::new(Op::ExtQ), "n");
    let modulo = Address {
        base: 8,
        mode: crate::isa::Mode::Modulo(0),
    };
    refused(
        Inst {
            place: AddressOperand::Shared(modulo),
            ..Inst::new(Op::LdQ)
        },
        "addr",
    );
}
