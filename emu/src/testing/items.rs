//! Items that random programs are made of.
//!
//! An item is meaningful wherever it stands, so that any list of items is a program, and any part
//! of the list a smaller one.

use crate::semantics::action::{Action, action};
use cp2_asm::isa::{AddressOperand, Inst, Op, Slot, Word};
use cp2_asm::testing::{any_extension_inst, any_inst_on, any_operands};
use cp2_machine::Extensions;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

/// A piece of a program.
#[derive(Clone, Debug)]
pub(super) enum ProgramItem {
    /// A word that the next word follows.
    Plain {
        word: Word,
        /// True if the word stays as drawn: it may fault, or overwrite registers that other items
        /// rely on.
        unruly: bool,
    },
    /// Gives an address register a good address.
    Point { register: u8, via: Via, value: u16 },
    /// A hardware loop over the next `items` items.
    Loop {
        arith: Inst,
        count: LoopCount,
        passes: u8,
        items: u8,
    },
    /// A loop by branches over the next `items` items: the counter goes up or down.
    Again { up: bool, passes: u8, items: u8 },
    /// Many hardware loops around the next word.
    Nest { depth: u8 },
    /// A branch over the next words.
    Skip {
        arith: Inst,
        op: Op,
        scalar: u8,
        words: u8,
    },
    /// A call of a function.
    Call { arith: Inst, function: u8 },
    /// A mask of lanes for the next `items` items, on machines with the extension `conditional`.
    Mask { arith: Inst, quad: u8, items: u8 },
    /// `wait` or `signal`.
    Event { arith: Inst, op: Op, event: u8 },
}

/// Way in which an address register gets its value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Via {
    /// `movi`.
    Immediate,
    /// `ldx` from the table of addresses in section 0's DMEM.
    Load,
    /// `ldx2` from that table, which sets the register's neighbour too.
    LoadCouple,
    /// `add` of a step register.
    Step,
    /// `movi` of the step register of that number.
    NewStep,
}

/// Way in which a hardware loop gets its count.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoopCount {
    /// A constant.
    Immediate,
    /// `movi` and a register.
    Register,
    /// `ldx` and a register; 0 is possible.
    Load,
}

/// Returns a strategy for any item, where few plain words are unruly.
pub(super) fn any_item() -> BoxedStrategy<ProgramItem> {
    let arith = any_arith;
    let plain =
        (arith(), any_plain(), prop::bool::weighted(0.02)).prop_map(|(arith, mem, unruly)| {
            let word = Word { arith, mem };
            ProgramItem::Plain { word, unruly }
        });
    let via = select(vec![
        Via::Immediate,
        Via::Load,
        Via::LoadCouple,
        Via::Step,
        Via::NewStep,
    ]);
    let count = select(vec![
        LoopCount::Immediate,
        LoopCount::Register,
        LoopCount::Load,
    ]);
    let branches = select(vec![Op::Jmp, Op::Bz, Op::Bnz, Op::Bneg, Op::Bpos]);
    let distance = prop_oneof![4 => 0u8..6, 1 => 0u8..60];
    prop_oneof![
        60 => plain,
        6 => (any::<u8>(), via, any::<u16>())
            .prop_map(|(register, via, value)| ProgramItem::Point { register, via, value }),
        4 => (arith(), count, 1u8..9, 1u8..40)
            .prop_map(|(arith, count, passes, items)| ProgramItem::Loop { arith, count, passes, items }),
        1 => (any::<bool>(), 1u8..7, 1u8..30)
            .prop_map(|(up, passes, items)| ProgramItem::Again { up, passes, items }),
        1 => (1u8..6).prop_map(|depth| ProgramItem::Nest { depth }),
        4 => (arith(), branches, 0u8..64, distance)
            .prop_map(|(arith, op, scalar, words)| ProgramItem::Skip { arith, op, scalar, words }),
        2 => (arith(), any::<u8>()).prop_map(|(arith, function)| ProgramItem::Call { arith, function }),
        1 => (arith(), any::<u8>(), 1u8..6)
            .prop_map(|(arith, quad, items)| ProgramItem::Mask { arith, quad, items }),
        1 => (arith(), select(vec![Op::Wait, Op::Signal]), 0u8..4)
            .prop_map(|(arith, op, event)| ProgramItem::Event { arith, op, event }),
    ]
    .boxed()
}

/// One of so many operations of a slot is a row of an extension, at which emitted code ends.
const EXTENSION_SHARE: u32 = 10;

/// Returns a strategy for arithmetic operations: base rows, and few of extensions.
fn any_arith() -> BoxedStrategy<Inst> {
    prop_oneof![
        EXTENSION_SHARE - 1 => any_inst_on(Slot::Arith, Extensions::empty()),
        1 => any_extension_inst(Slot::Arith),
    ]
    .boxed()
}

/// Returns a strategy for memory and scalar operations that the next word follows: base rows, and few of
/// extensions. Each addressing mode of a memory row is about as frequent as a scalar row.
fn any_plain() -> BoxedStrategy<Inst> {
    let rows = |extension: bool| {
        let rows = Op::ALL.iter().filter(move |op| {
            let row = op.row();
            row.slot() == Slot::Mem && row.requires.is_empty() != extension
        });
        let weighted = rows.filter_map(|&op| {
            let weight = match action(&Inst::new(op))? {
                Action::Nop => 5,
                Action::Scalar(_) | Action::Exchange(_) | Action::Vote(_) => 1,
                Action::Memory(op) if matches!(op.place, AddressOperand::Own(_)) => 1,
                Action::Memory(_) => 4,
                // Masks are items of their own, which end.
                Action::Control(_) | Action::Mask(_) => return None,
            };
            Some((weight, any_operands(op)))
        });
        Union::new_weighted(weighted.collect())
    };
    prop_oneof![
        EXTENSION_SHARE - 1 => rows(false),
        1 => rows(true),
    ]
    .boxed()
}
