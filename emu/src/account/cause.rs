//! Causes that cycles are charged to; they add up to the total.

use cp2_machine::Class;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::fmt;

/// The one reason a cycle of CP2 is charged to.
///
/// When several registers and units hold a word back at once, the whole stall
/// is charged to the one that lets go last; between equals the order of
/// declaration decides. What a `wait` or the port adds after that is charged
/// to it. A stall before a word is charged to that word; cycles lost after
/// a branch or a loop set-up to the branch or `loop` word itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A word issued.
    Issue,
    /// Waiting for a result of this class of unit.
    Operand(Class),
    /// The unit of this word takes no new operation yet.
    UnitBusy,
    /// The DMA used the only DMEM port.
    MemoryPort,
    /// Setting up a hardware loop, or its back edge where the machine charges it.
    Loop,
    /// Refilling after a taken branch, call or return.
    Branch,
    /// `stop` waits until every result is written.
    Drain,
    /// Waiting for data a DMA load brings.
    WaitLoad,
    /// Waiting for a DMA store to free a buffer or to end the run.
    WaitStore,
    /// Waiting for the control CPU.
    WaitHost,
    /// Waiting for a message of another processor.
    WaitMessage,
    /// Launch of a kernel, or its completion on the way to the control CPU.
    Launch,
}

impl Cause {
    /// Returns every cause, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        use Cause::{
            Branch, Drain, Issue, Launch, Loop, MemoryPort, Operand, UnitBusy, WaitHost, WaitLoad,
            WaitMessage, WaitStore,
        };
        std::iter::once(Issue)
            .chain(
                Class::ALL
                    .into_iter()
                    .filter(|c| *c != Class::Control)
                    .map(Operand),
            )
            .chain([
                UnitBusy,
                MemoryPort,
                Loop,
                Branch,
                Drain,
                WaitLoad,
                WaitStore,
                WaitHost,
                WaitMessage,
                Launch,
            ])
    }

    /// Returns the position in the dense numbering of all causes, which [`Causes`] is serialised by.
    const fn index(self) -> usize {
        let classes = Class::ALL.len();
        match self {
            Self::Issue => 0,
            Self::Operand(class) => 1 + class as usize,
            Self::UnitBusy => classes + 1,
            Self::MemoryPort => classes + 2,
            Self::Loop => classes + 3,
            Self::Branch => classes + 4,
            Self::Drain => classes + 5,
            Self::WaitLoad => classes + 6,
            Self::WaitStore => classes + 7,
            Self::WaitHost => classes + 8,
            Self::Launch => classes + 9,
            Self::WaitMessage => classes + 10,
        }
    }
}

/// Number of distinct causes, for dense tables.
const CAUSES: usize = Class::ALL.len() + 11;

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issue => f.write_str("issue"),
            Self::Operand(class) => write!(f, "operand-{class}"),
            Self::UnitBusy => f.write_str("unit-busy"),
            Self::MemoryPort => f.write_str("memory-port"),
            Self::Loop => f.write_str("loop"),
            Self::Branch => f.write_str("branch"),
            Self::Drain => f.write_str("drain"),
            Self::WaitLoad => f.write_str("wait-load"),
            Self::WaitStore => f.write_str("wait-store"),
            Self::WaitHost => f.write_str("wait-host"),
            Self::WaitMessage => f.write_str("wait-message"),
            Self::Launch => f.write_str("launch"),
        }
    }
}

/// Cycles by cause. Only causes with any cycles are kept, for most words have few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub struct Causes(SmallVec<[(Cause, u64); 2]>);

impl From<Vec<u64>> for Causes {
    fn from(cycles: Vec<u64>) -> Self {
        let mut causes = Self::default();
        for cause in Cause::all() {
            causes.add(cause, cycles.get(cause.index()).copied().unwrap_or(0));
        }
        causes
    }
}

impl From<Causes> for Vec<u64> {
    fn from(causes: Causes) -> Self {
        let mut cycles = vec![0; CAUSES];
        for (cause, n) in causes.0 {
            cycles[cause.index()] = n;
        }
        cycles
    }
}

impl Causes {
    /// Charges `cycles` to `cause`.
    #[inline]
    pub fn add(&mut self, cause: Cause, cycles: u64) {
        if cycles == 0 {
            return;
        }
        // The most frequent case: the first cause again.
        match self.0.first_mut() {
            Some((first, sum)) if *first == cause => return *sum += cycles,
            _ => {}
        }
        let at = self.0.iter().position(|(other, _)| *other >= cause);
        match at {
            Some(at) if self.0[at].0 == cause => self.0[at].1 += cycles,
            at => self.0.insert(at.unwrap_or(self.0.len()), (cause, cycles)),
        }
    }

    /// Returns the cycles charged to `cause`.
    #[must_use]
    pub fn get(&self, cause: Cause) -> u64 {
        let of = self.0.iter().find(|(other, _)| *other == cause);
        of.map_or(0, |(_, cycles)| *cycles)
    }

    /// Returns the sum over all causes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, cycles)| cycles).sum()
    }

    /// Adds another account to this one.
    pub fn merge(&mut self, other: &Self) {
        for (cause, cycles) in &other.0 {
            self.add(*cause, *cycles);
        }
    }

    /// Returns the causes with any cycles, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Returns cycles by the cause's name, for reports.
    #[must_use]
    pub fn to_map(&self) -> BTreeMap<String, u64> {
        self.iter().map(|(c, n)| (c.to_string(), n)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_own_slot_and_name() {
        let mut causes = Causes::default();
        for cause in Cause::all() {
            causes.add(cause, 1);
        }
        assert_eq!(causes.total(), Cause::all().count() as u64);
        assert!(Cause::all().all(|c| causes.get(c) == 1));
        assert_eq!(causes.to_map().len(), Cause::all().count());
        let order: Vec<Cause> = causes.iter().map(|(cause, _)| cause).collect();
        assert_eq!(order, Cause::all().collect::<Vec<_>>());
        causes.add(Cause::Launch, 4);
        let all = Vec::from(causes.clone());
        assert_eq!((all.len(), all[Cause::Launch.index()]), (CAUSES, 5));
        assert_eq!(Causes::from(all), causes);
    }
}
