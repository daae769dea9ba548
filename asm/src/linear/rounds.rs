//! Registers of pointers that go round, and the places where these meet.

use super::block::{BlockExtent, BlockPointer, BlockStep, LinearBlock, TableAddress};
use super::lower::{LackingRegisters, LoweredBlock};
use super::memory::MemoryAccess;
use super::widths::ChosenRow;
use crate::diag::{Fail, Problem};
use crate::isa::Address;
use crate::schedule::PointerStep;

/// The largest number that `movi` holds.
const MOST_MOVED: i64 = (1 << 17) - 1;

/// Registers that pointers which go round take besides address registers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundRegisters {
    /// Address registers whose registers of begin and length are free: bit n for `a{n}`.
    pub(crate) ranges: u16,
    /// Step registers: bit n for `s{n}`.
    pub(crate) steps: u16,
    /// Address registers that others take last: those of `ranges`, where a pointer goes round.
    pub(crate) kept: u16,
}

impl LoweredBlock {
    /// Takes an address register.
    pub(super) fn take_plain(&mut self) -> Result<u8, LackingRegisters> {
        self.free.take_address().ok_or(LackingRegisters::Addresses)
    }

    /// Takes an address register in which a pointer with a number goes round; returns it with the step in its
    /// register.
    pub(super) fn take_round(
        &mut self,
        (pointer, step): (usize, BlockStep),
    ) -> Result<(u8, PointerStep), LackingRegisters> {
        let address = self.free.take_address_of(self.free.rounds.ranges);
        let address = address.ok_or(LackingRegisters::Rounds)?;
        let step = match step {
            BlockStep::Register(register) => PointerStep::Modulo(register),
            BlockStep::Bytes(bytes) => PointerStep::Modulo(self.take_step(bytes)?),
            BlockStep::Table(..) => self.take_table(pointer, true)?,
        };
        Ok((address, step))
    }

    /// Takes the registers of the steps of a pointer with a number that are loaded from a table: one that goes round
    /// the table, and one for the step. `modulo` says whether the pointer itself goes round.
    pub(super) fn take_table(
        &mut self,
        pointer: usize,
        modulo: bool,
    ) -> Result<PointerStep, LackingRegisters> {
        /// Bytes from a step to the next.
        const ENTRY: i64 = 8;
        let table = self.free.take_address_of(self.free.rounds.ranges);
        let table = table.ok_or(LackingRegisters::Rounds)?;
        self.tables.push((table, pointer));
        Ok(PointerStep::Table {
            step: self.take_free_step()?,
            table,
            by: self.take_step(ENTRY)?,
            modulo,
        })
    }

    /// Returns the step register that holds a number, which is taken where none does.
    pub(super) fn take_step(&mut self, bytes: i64) -> Result<u8, LackingRegisters> {
        if let Some(&(register, _)) = self.steps.iter().find(|(_, number)| *number == bytes) {
            return Ok(register);
        }
        let register = self.take_free_step()?;
        self.steps.push((register, bytes));
        Ok(register)
    }

    /// Takes a step register.
    fn take_free_step(&mut self) -> Result<u8, LackingRegisters> {
        let lowest = self.free.rounds.steps.trailing_zeros();
        if lowest >= u16::BITS {
            return Err(LackingRegisters::Steps);
        }
        self.free.rounds.steps &= !(1 << lowest);
        Ok(lowest as u8)
    }
}

impl BlockPointer {
    /// Returns true if it goes round, or its table of steps.
    pub(super) fn takes_range(&self) -> bool {
        self.extents().next().is_some()
    }

    /// Lists the extents of its table of steps and of its range, as far as it has them.
    pub(crate) fn extents(&self) -> impl Iterator<Item = BlockExtent> {
        let table = match self.step {
            BlockStep::Table(_, extent) => Some(extent),
            BlockStep::Bytes(_) | BlockStep::Register(_) => None,
        };
        table.into_iter().chain(self.round)
    }

    /// Refuses a table of steps that the machine cannot go through.
    fn check_table(&self) -> Result<(), Fail> {
        /// Bytes from a step to the next.
        const ENTRY: i64 = 8;
        let BlockStep::Table(address, extent) = self.step else {
            return Ok(());
        };
        let bytes = match extent {
            BlockExtent::Bytes(bytes) => bytes,
            BlockExtent::Register(..) => ENTRY,
        };
        // A label that comes later is checked when it is known.
        let address = match address {
            TableAddress::Known(address) => address,
            TableAddress::Label(_) => 0,
        };
        for (what, value) in [("the table", address), ("the extent of the table", bytes)] {
            if value % ENTRY != 0 {
                let problem = Problem::Misaligned {
                    what: format!("{what} of `{}`", self.name),
                    value,
                    multiple: ENTRY,
                };
                return Err(Fail::new(problem, self.at));
            }
        }
        if !(ENTRY..=MOST_MOVED).contains(&bytes) {
            let problem = Problem::RoundRange {
                name: self.name.to_string(),
                what: "the extent of the table",
                value: bytes,
                least: ENTRY,
                most: MOST_MOVED,
                help: "a table has an integer every 8 bytes, for one iteration each",
            };
            return Err(Fail::new(problem, self.at));
        }
        Ok(())
    }
}

impl LinearBlock {
    /// Returns true if a pointer goes round, or its table.
    pub(crate) fn goes_round(&self) -> bool {
        self.pointers.iter().any(BlockPointer::takes_range)
    }

    /// Refuses extents, steps and places by which the machine does not go round.
    pub(crate) fn check_rounds(&self, rows: &[ChosenRow]) -> Result<(), Fail> {
        for own in &self.pointers {
            own.check_table()?;
            let Some(BlockExtent::Bytes(extent)) = own.round else {
                continue;
            };
            let range = |what: &'static str, value: i64, (least, most): (i64, i64), help| {
                let problem = Problem::RoundRange {
                    name: own.name.to_string(),
                    what,
                    value,
                    least,
                    most,
                    help,
                };
                (!(least..=most).contains(&value)).then(|| Fail::new(problem, own.at))
            };
            let help = "a ring has some bytes; without `round` a pointer goes on and on";
            let refused = range("the extent", extent, (1, MOST_MOVED), help).or_else(|| {
                let step = match own.step {
                    BlockStep::Bytes(step) => step,
                    BlockStep::Register(_) | BlockStep::Table(..) => 0,
                };
                let help = "the machine goes round once a step: take the remainder by the extent";
                let step_range = range("the step", step, (-extent, extent), help);
                let least = (-extent).max(-extent - step);
                let help = "a pointer begins in its range, or an extent below it: offsets of accesses move the range";
                step_range.or_else(|| range("the first place", own.bytes, (least, extent - 1), help))
            });
            if let Some(fail) = refused {
                return Err(fail);
            }
        }
        for access in self.list_accesses(rows) {
            let Some(own) = self.pointer_of(&access) else {
                continue;
            };
            let numbers = [
                (
                    "the step",
                    match own.step {
                        BlockStep::Bytes(step) => step,
                        BlockStep::Register(_) | BlockStep::Table(..) => 0,
                    },
                ),
                (
                    "the extent",
                    match own.round {
                        Some(BlockExtent::Bytes(extent)) => extent,
                        _ => 0,
                    },
                ),
            ];
            for (what, value) in numbers {
                if own.round.is_some() && value % access.align != 0 {
                    let problem = Problem::Misaligned {
                        what: format!("{what} of `{}`", own.name),
                        value,
                        multiple: access.align,
                    };
                    let fail = Fail::new(problem, own.at);
                    return Err(fail.related(access.at, "an access is here"));
                }
            }
        }
        Ok(())
    }
}

/// Address registers in which a pointer may go round: bit n for `a{n}`.
pub(crate) const ROUND_ADDRESSES: u16 = (1 << Address::MODULO_REGISTERS) - 1;

/// Returns the least number of iterations, `least` at least, after which the second access may reach what the first
/// one has reached, where both go through one pointer that goes round, or through pointers that never part.
pub(super) fn meeting_in_round(
    pointer: &BlockPointer,
    [first, second]: [&MemoryAccess; 2],
    least: u32,
) -> Option<u32> {
    // They meet if the pointer has moved by more than `low` and by less than `high`.
    let apart = first.offset.saturating_sub(second.offset);
    let (low, high) = (
        apart.saturating_sub(second.bytes),
        apart.saturating_add(first.bytes),
    );
    if least == 0 && low < 0 && 0 < high {
        return Some(0);
    }
    let (Some(BlockExtent::Bytes(extent)), BlockStep::Bytes(step)) = (pointer.round, pointer.step)
    else {
        // Any later iteration may be anywhere.
        return Some(1);
    };
    // Two places of the pointer are less than this apart.
    let reach = extent.saturating_add((-pointer.bytes).max(0));
    let meets = |moved: i64| {
        let nearest = low + 1 + (moved - low - 1).rem_euclid(extent);
        let mut all = std::iter::successors(Some(nearest), |at| at.checked_add(extent));
        all.by_ref()
            .take_while(|&at| at < high)
            .any(|at| -reach < at && at < reach)
    };
    // Places repeat when the moves have gone through all multiples.
    let mut moved = 0;
    for iterations in 1..=u32::try_from(extent).unwrap_or(u32::MAX) {
        moved = (moved + step).rem_euclid(extent);
        if meets(moved) {
            return Some(iterations);
        }
        if moved == 0 {
            break;
        }
    }
    None
}
