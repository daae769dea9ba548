//! Words that set up pointers that go round: begin, length, step.

use crate::isa::{RegSet, Scalar};
use crate::linear::{
    BlockExtent, BlockPointer, BlockRegisters, BlockStep, LinearBlock, LoweredBlock, PointerOrigin,
    ROUND_ADDRESSES, TableAddress,
};
use crate::schedule::{ModuloSchedule, PointerSetup, PointerStep};
use std::rc::Rc;

impl BlockRegisters {
    /// Finds the registers that scalar values and pointers which go round may take, among those that are not taken.
    pub(super) fn find_rounds(&mut self, taken: RegSet, goes_round: bool) {
        let free = |scalar: Scalar| !taken.contains(scalar.reg());
        self.rounds.ranges = 0;
        for a in (0..16u8).filter(|a| ROUND_ADDRESSES >> a & 1 == 1) {
            let both = free(Scalar::base(a)) && free(Scalar::length(a));
            if both && self.addresses >> a & 1 == 1 {
                self.rounds.ranges |= 1 << a;
            }
        }
        for s in (0..16u8).filter(|&s| free(Scalar::step(s))) {
            self.rounds.steps |= 1 << s;
        }
        for c in (0..16u8).filter(|&c| free(Scalar::control(c))) {
            self.controls |= 1 << c;
        }
        self.rounds.kept = if goes_round { self.rounds.ranges } else { 0 };
    }
}

/// Returns the words that set a register to so many bytes behind a place.
pub(super) fn set_register_to(to: Scalar, place: PointerOrigin, bytes: i64) -> Vec<String> {
    /// Bytes that `addi` adds at most and at least.
    const ADDED: std::ops::Range<i64> = -2048..2048;
    match place {
        PointerOrigin::Address(address) => {
            vec![format!("movi {to}, {}", address.saturating_add(bytes))]
        }
        PointerOrigin::Register(scalar) if ADDED.contains(&bytes) => {
            vec![format!("addi {to}, {scalar}, {bytes}")]
        }
        PointerOrigin::Register(scalar) => vec![
            format!("movi {to}, {bytes}"),
            format!("add {to}, {to}, {scalar}"),
        ],
    }
}

/// Returns the words that set up begin and length of a pointer that goes round in `a{address}`.
///
/// The register is biased by the offset of the access that steps, and so is its range.
pub(super) fn set_up_round(own: &BlockPointer, address: u8, bias: i64) -> Vec<String> {
    match own.round {
        Some(extent) => set_up_range(address, (own.base, bias), extent),
        None => Vec::new(),
    }
}

/// Returns the words that set up the range of an address register, which begins so many bytes behind a place.
fn set_up_range(
    address: u8,
    (place, bytes): (PointerOrigin, i64),
    extent: BlockExtent,
) -> Vec<String> {
    let mut words = set_register_to(Scalar::base(address), place, bytes);
    words.extend(set_length(address, extent));
    words
}

/// Returns the words that set the length of the range of an address register.
fn set_length(address: u8, extent: BlockExtent) -> Vec<String> {
    let (from, bytes) = match extent {
        BlockExtent::Bytes(bytes) => (PointerOrigin::Address(0), bytes),
        BlockExtent::Register(register, bytes) => (PointerOrigin::Register(register), bytes),
    };
    set_register_to(Scalar::length(address), from, bytes)
}

/// Begins what stands in a word for the address of a table whose label is not known yet.
const TABLE_LABEL: &str = "table@";

/// Returns what stands in a word for the address of a table with a label of this number.
fn mark_table_label(number: usize) -> String {
    format!("{TABLE_LABEL}{number}")
}

/// Finds the label of a table that stands in the last operation of a word; returns the word with 0 in its place, and
/// the label.
pub(super) fn take_table_label(text: &str, block: &LinearBlock) -> Option<(String, Rc<str>)> {
    let (word, number) = text.rsplit_once(TABLE_LABEL)?;
    let label = block.table_labels.get(number.parse::<usize>().ok()?)?;
    Some((format!("{word}0"), label.key.clone()))
}

/// Returns the words that set up the registers that go through tables of steps.
pub(super) fn set_up_tables(block: &LinearBlock, lowered: &LoweredBlock) -> Vec<PointerSetup> {
    let setups = lowered.tables.iter().filter_map(|&(register, pointer)| {
        let own = block.pointers.get(pointer)?;
        let BlockStep::Table(address, extent) = own.step else {
            return None;
        };
        let registers = [Scalar::address(register), Scalar::base(register)];
        let mut words: Vec<String> = match address {
            TableAddress::Known(address) => registers
                .map(|to| set_register_to(to, PointerOrigin::Address(address), 0))
                .concat(),
            TableAddress::Label(number) => registers
                .map(|to| format!("movi {to}, {}", mark_table_label(number)))
                .to_vec(),
        };
        words.extend(set_length(register, extent));
        Some(PointerSetup {
            words,
            registers: vec![register],
        })
    });
    setups.collect()
}

/// Returns the words that set the step registers of a block.
pub(super) fn set_up_steps(lowered: &LoweredBlock, schedule: &ModuloSchedule) -> Vec<PointerSetup> {
    let setups = lowered.steps.iter().map(|&(register, bytes)| {
        let users = lowered.pointers.iter().filter_map(|&(pointer, _)| {
            match lowered.dataflow.pointer_step(pointer) {
                PointerStep::Modulo(step) if step == register => {
                    Some(schedule.pointer_register(pointer))
                }
                PointerStep::Table { table, by, .. } if by == register => Some(table),
                _ => None,
            }
        });
        PointerSetup {
            words: vec![format!("movi {}, {bytes}", Scalar::step(register))],
            registers: users.collect(),
        }
    });
    setups.collect()
}
