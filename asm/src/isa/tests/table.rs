//! Tests of the instruction table against the machine's limits.

use crate::isa::{Address, AddressOperand, Form, Inst, Kind, Op, OwnAddress, Row, Scalar, Slot};
use cp2_machine::{Class, Extensions};
use std::collections::BTreeMap;

fn rows() -> impl Iterator<Item = &'static Row> {
    Op::ALL.iter().map(|op| op.row())
}

fn base_rows() -> impl Iterator<Item = &'static Row> {
    rows().filter(|row| row.requires.is_empty())
}

/// Returns the bytes of section registers that an operand covers.
fn section_bytes(kind: Kind) -> u32 {
    match kind {
        Kind::Pair => 8,
        Kind::Quad => 16,
        _ => 0,
    }
}

/// The peak rate of a class equals that of its row with the most operations.
#[test]
fn classes_have_the_operations_of_their_fullest_row() {
    for class in [
        Class::Butterfly,
        Class::Madd,
        Class::Add,
        Class::DoubleAdd,
        Class::DoubleMadd,
        Class::DoubleComplex,
        Class::Error,
    ] {
        let rows = rows().filter(|row| row.class == class);
        let most = rows.map(|row| u64::from(row.muls) + u64::from(row.adds));
        assert_eq!(most.max(), Some(class.flops()), "{class}");
    }
}

/// Limits of M12: 4 multiplies and 6 adds, three register reads at the operand width, two 64-bit writes or
/// one quad, one DMEM access of at most 128 bits.
#[test]
fn no_base_row_exceeds_the_section() {
    for row in base_rows() {
        let operands = row.form.operands();
        assert!(row.muls <= 4 && row.adds <= 6, "{row:?}");
        let reads = operands
            .iter()
            .filter(|o| o.role.reads() && section_bytes(o.kind) > 0)
            .count();
        assert!(reads <= 3, "{row:?} reads {reads} registers");
        let written: u32 = operands
            .iter()
            .filter(|o| o.role.writes())
            .map(|o| section_bytes(o.kind))
            .sum();
        assert!(written <= 16, "{row:?} writes {written} bytes");
        let accesses: Vec<u32> = operands
            .iter()
            .filter_map(|o| match o.kind {
                Kind::Mem { bytes, .. } => Some(bytes),
                _ => None,
            })
            .collect();
        assert!(
            accesses.len() <= 1 && accesses.iter().all(|&bytes| bytes <= 16),
            "{row:?}"
        );
    }
}

/// The butterfly reaches all limits of a section.
#[test]
fn the_butterfly_uses_the_whole_section() {
    let row = Op::Bfly.row();
    assert_eq!((row.muls, row.adds, row.class), (4, 6, Class::Butterfly));
}

/// M4 to M7: DMEM is addressed in pairs and quads, by shared scalars; nothing
/// in a section reaches the shared scalars but a load from section 0; control
/// depends on scalars alone.
#[test]
fn sections_and_shared_scalars_meet_in_loads_only() {
    for row in base_rows() {
        let operands = row.form.operands();
        let section = operands.iter().any(|o| section_bytes(o.kind) > 0);
        let scalar = operands
            .iter()
            .any(|o| matches!(o.kind, Kind::Scalar | Kind::ScalarCouple));
        assert!(!(section && scalar), "{row:?}");
        match row.slot() {
            Slot::Arith => assert!(
                !scalar && !operands.iter().any(|o| matches!(o.kind, Kind::Mem { .. })),
                "{row:?}"
            ),
            Slot::Mem => assert_eq!(
                section,
                section && row.form.operands().len() == 2,
                "{row:?}"
            ),
        }
        for operand in operands {
            if let Kind::Mem { bytes, align } = operand.kind {
                assert!(matches!(bytes, 8 | 16) && align == bytes, "{row:?}");
            }
        }
    }
}

#[test]
fn every_row_is_documented() {
    for row in rows() {
        assert!(
            row.doc.len() >= 6 && row.doc.ends_with('.') && !row.doc.contains('\n'),
            "{row:?}"
        );
        assert_eq!(row.doc, row.doc.trim(), "{row:?}");
    }
}

#[test]
fn opcodes_fit_their_fields() {
    for row in rows() {
        assert!(row.major < 32, "{row:?}");
        match row.form.minor() {
            Some(field) => assert_eq!(
                field.get(field.put(row.minor.into())),
                u64::from(row.minor),
                "{row:?}"
            ),
            None => assert_eq!(row.minor, 0, "{row:?}"),
        }
    }
}

#[test]
fn fields_of_a_form_are_disjoint() {
    for form in Form::ALL {
        let major = 0b11111u64 << (form.slot().bits() - 5);
        let mut taken = major | form.minor().map_or(0, |m| m.mask());
        for operand in form.operands() {
            let mask = match operand.kind {
                Kind::Mem { .. } => {
                    Address::BASE.mask() | Address::MODE.mask() | Address::IMM.mask()
                }
                Kind::OwnMem { .. } => OwnAddress::mask(),
                _ => operand.field.mask(),
            };
            assert_eq!(taken & mask, 0, "{form:?} {}", operand.name);
            assert_eq!(mask >> form.slot().bits(), 0, "{form:?} {}", operand.name);
            taken |= mask;
        }
        assert!(
            form.operands()
                .iter()
                .filter(|o| o.kind.is_register())
                .count()
                <= 5,
            "{form:?}"
        );
    }
}

/// Returns the class of an operand as far as its text tells. Names and numbers look alike where both may be
/// written: in targets and immediates.
fn class(kind: Kind) -> char {
    match kind {
        Kind::Pair => 'r',
        Kind::Quad => 'q',
        Kind::Scalar | Kind::ScalarCouple => 'x',
        Kind::Imm { .. } | Kind::Float24 | Kind::Target | Kind::LoopEnd => 'n',
        Kind::Mem { .. } => 'm',
        Kind::OwnMem { .. } => 'o',
    }
}

#[test]
fn rows_of_one_mnemonic_differ_in_operand_classes() {
    let mut seen: BTreeMap<(&str, String), Op> = BTreeMap::new();
    for row in rows() {
        let signature = row.form.operands().iter().map(|o| class(o.kind)).collect();
        if let Some(other) = seen.insert((row.mnemonic, signature), row.op) {
            panic!("{:?} and {other:?} look the same", row.op);
        }
    }
}

#[test]
fn mnemonics_are_lower_case_names_and_no_registers() {
    for row in rows() {
        let name = row.mnemonic;
        assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
        assert!(
            name.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()),
            "{name}"
        );
        assert!(Scalar::by_name(name).is_none(), "{name}");
    }
}

/// The quad form of a mnemonic is its pair form on twice the lanes.
#[test]
fn quad_rows_mirror_pair_rows() {
    let twins = [
        (Form::P2, Form::Q2),
        (Form::P3, Form::Q3),
        (Form::P4, Form::Q4),
        (Form::PShift, Form::QShift),
    ];
    let mut pairs = 0;
    for (pair_form, quad_form) in twins {
        // A quad of binary64 numbers is one complex number: its products have no pair form.
        let quads = rows().filter(|row| row.form == quad_form);
        for quad in quads.filter(|row| row.class != Class::DoubleComplex) {
            let pair = rows().find(|row| row.form == pair_form && row.mnemonic == quad.mnemonic);
            let pair = pair.unwrap_or_else(|| panic!("{quad:?} has no pair form"));
            assert_eq!(quad.class, pair.class, "{quad:?}");
            assert_eq!(
                (quad.muls, quad.adds),
                (2 * pair.muls, 2 * pair.adds),
                "{quad:?}"
            );
            if quad_form != Form::QShift && quad.requires.is_empty() {
                assert_eq!(quad.minor, pair.minor, "{quad:?}");
            }
            pairs += 1;
        }
    }
    assert!(pairs > 30, "{pairs}");
}

/// Rules of M15: the shape of a row determines its unit.
#[test]
fn classes_follow_the_unit() {
    for row in rows() {
        let expected = match (row.form, row.muls, row.adds) {
            _ if row.requires == Extensions::DOUBLE_SINGLE => Class::Error,
            (Form::QuadButterfly, ..) | (_, 4.., 1..) if row.requires == Extensions::DOUBLE => {
                Class::DoubleComplex
            }
            (_, 1.., 1..) if row.requires == Extensions::DOUBLE => Class::DoubleMadd,
            (_, 1.., 0) | (_, 0, 1..) if row.requires == Extensions::DOUBLE => Class::DoubleAdd,
            (Form::Butterfly, ..) => Class::Butterfly,
            (_, 1.., 1..) => Class::Madd,
            (_, 1.., 0) | (_, 0, 1..) => Class::Add,
            (Form::LoadPair | Form::LoadQuad, ..) if row.requires == Extensions::EXCHANGE => {
                Class::Neighbour
            }
            (Form::LoadPair | Form::LoadQuad | Form::LoadDup, ..) => Class::Load,
            (Form::GatherPair | Form::GatherQuad | Form::GatherDup | Form::GatherWord, ..) => {
                Class::Gather
            }
            (Form::RotatePair | Form::RotateQuad | Form::ExchangePair | Form::ExchangeQuad, ..) => {
                Class::Exchange
            }
            (Form::VoteQuad, ..) => Class::Vote,
            (Form::LoadWord | Form::LoadPairUnaligned | Form::LoadQuadUnaligned, ..) => {
                Class::Unaligned
            }
            (Form::LoadScalar | Form::LoadScalar2, ..) => Class::ScalarLoad,
            (form, ..) if form.operands().iter().all(|o| !o.role.writes()) => Class::Control,
            (form, ..) if form.slot() == Slot::Mem => Class::Scalar,
            // Elementary functions and conversions count no adds or multiplies.
            _ => {
                assert!(
                    matches!(
                        row.class,
                        Class::Integer | Class::Add | Class::DoubleAdd | Class::Elementary
                    ),
                    "{row:?}"
                );
                row.class
            }
        };
        assert_eq!(row.class, expected, "{row:?}");
    }
}

/// A new operation has an address of the kind that its form asks for.
#[test]
fn new_operations_have_the_place_of_their_form() {
    for &op in Op::ALL {
        let operands = op.row().form.operands();
        let own = operands
            .iter()
            .any(|o| matches!(o.kind, Kind::OwnMem { .. }));
        let place = Inst::new(op).place;
        assert_eq!(matches!(place, AddressOperand::Own(_)), own, "{op:?}");
    }
}

/// Minimum, maximum and compare occupy one adder per lane.
#[test]
fn compares_use_an_adder_per_lane() {
    for row in
        rows().filter(|row| matches!(row.mnemonic, "min" | "max" | "cmpeq" | "cmplt" | "cmple"))
    {
        let lanes = if row.form == Form::Q3 { 4 } else { 2 };
        assert_eq!(
            (row.class, row.muls, row.adds),
            (Class::Add, 0, lanes),
            "{row:?}"
        );
    }
}
