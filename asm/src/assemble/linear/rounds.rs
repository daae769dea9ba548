//! Words that set up pointers that go round: begin, length, step.

use crate::isa::{RegSet, Scalar};
use crate::linear::{
    BlockExtent, BlockPointer, BlockRegisters, LoweredBlock, PointerOrigin, ROUND_ADDRESSES,
};
use crate::schedule::{ModuloSchedule, PointerSetup, PointerStep};

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
    let Some(extent) = own.round else {
        return Vec::new();
    };
    let mut words = set_register_to(Scalar::base(address), own.base, bias);
    let (from, bytes) = match extent {
        BlockExtent::Bytes(bytes) => (PointerOrigin::Address(0), bytes),
        BlockExtent::Register(register, bytes) => (PointerOrigin::Register(register), bytes),
    };
    words.extend(set_register_to(Scalar::length(address), from, bytes));
    words
}

/// Returns the words that set the step registers of a block.
pub(super) fn set_up_steps(lowered: &LoweredBlock, schedule: &ModuloSchedule) -> Vec<PointerSetup> {
    let setups = lowered.steps.iter().map(|&(register, bytes)| {
        let users = lowered.pointers.iter().map(|&(pointer, _)| pointer);
        let users = users.filter(|&pointer| {
            lowered.dataflow.pointer_step(pointer) == PointerStep::Modulo(register)
        });
        PointerSetup {
            words: vec![format!("movi {}, {bytes}", Scalar::step(register))],
            registers: users.map(|own| schedule.pointer_register(own)).collect(),
        }
    });
    setups.collect()
}
