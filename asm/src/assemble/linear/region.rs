//! Schedules the words between the loops of a chain.

use super::block_words::{AccessIteration, ParsedWord};
use super::placed_block::IssueState;
use crate::assemble::select::Selected;
use crate::diag::Chain;
use crate::isa::{Inst, Op, Slot, Word};
use crate::issue::{REGISTERS, WordTiming};
use crate::linear::ChainOverlap;
use crate::source::Span;
use crate::syntax::AllowedWarnings;
use cp2_machine::{Class, ClassMap, Cp2};
use std::collections::BTreeSet;

/// The way in which an operation uses local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryUse {
    Load,
    Store,
    /// It loads from the table of constants, which nothing stores to.
    Constant,
}

/// An operation between two loops.
#[derive(Clone, Debug)]
pub(super) struct RegionOperation {
    inst: Selected,
    place: (Span, Chain),
    /// Number of the item of the chain that it belongs to.
    pub(super) item: usize,
    timing: WordTiming,
    memory: Option<MemoryUse>,
    iteration: Option<AccessIteration>,
    /// Warnings that its line allows.
    allowed: AllowedWarnings,
    /// Number of its word among those of its own item in the region.
    cycle: usize,
}

/// A rule that keeps two operations in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderRule {
    /// One reads what the other computes.
    Value,
    /// One leaves a register that the other reads before, or both write it.
    Reuse,
    /// Both go to local memory, and one stores.
    Memory,
}

/// Two operations in order: the cycles between them, at least.
#[derive(Clone, Copy, Debug)]
struct RegionOrder {
    before: usize,
    after: usize,
    cycles: u64,
    rule: OrderRule,
}

/// The promise of `.behind`: the first iteration of a block loads what a block before stores so many iterations before
/// its end, or earlier.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadsBehind {
    /// Item of the block that loads.
    pub(super) item: usize,
    /// Item of the block that stores.
    pub(super) before: usize,
    pub(super) iterations: u64,
}

/// The words between two loops of a chain, or between a loop and a branch.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    pub(super) operations: Vec<RegionOperation>,
    behind: Vec<LoadsBehind>,
    /// True if a word reads with one operation what the other writes, and the other way round.
    exchanges: bool,
}

/// The surroundings of a region.
#[derive(Clone, Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) cp2: &'a Cp2,
    /// State of the machine before the region.
    pub(super) state: &'a IssueState,
    /// Words behind it, each with the cycles from the end of the region to it.
    pub(super) next: &'a [(u64, WordTiming)],
}

/// Cycles of the operations of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RegionSchedule {
    cycles: Vec<u64>,
    /// Cycles from the first word to the first word behind the region.
    pub(super) length: u64,
}

/// The order in which operations that may be issued are preferred.
#[derive(Clone, Copy, Debug)]
enum Preference {
    /// Those that the longest chain of results waits for.
    Longest,
    /// As they stand in their own words: what ends a block goes along with what begins the next.
    Written,
    /// The end of a block first.
    ItemByItem,
}

const PREFERENCES: [Preference; 3] = [
    Preference::Longest,
    Preference::Written,
    Preference::ItemByItem,
];

impl RegionOperation {
    /// Returns true if neither this operation nor a set of words reads or writes what the other one writes.
    pub(super) fn is_apart_from<'a>(
        &self,
        mut words: impl Iterator<Item = &'a WordTiming>,
    ) -> bool {
        words.all(|word| {
            word.distance_to(&self.timing).is_none() && self.timing.distance_to(word).is_none()
        })
    }

    pub(super) fn timing(&self) -> &WordTiming {
        &self.timing
    }

    /// Returns true if the operation may change its place with any access to memory.
    pub(super) fn leaves_memory(&self) -> bool {
        matches!(self.memory, None | Some(MemoryUse::Constant))
    }
}

/// Returns the timing of an operation that stands alone in a word.
fn time_alone(inst: Inst, cp2: &Cp2) -> WordTiming {
    let mut word = Word::NOP;
    match inst.row().slot() {
        Slot::Arith => word.arith = inst,
        Slot::Mem => word.mem = inst,
    }
    WordTiming::new(&word, cp2)
}

impl Region {
    pub(super) fn new(behind: Vec<LoadsBehind>) -> Self {
        Self {
            behind,
            ..Self::default()
        }
    }

    /// Appends the operations of a word of an item, of which it is word number `cycle` in the region.
    ///
    /// Both operations of a word read before either writes: the one that reads what the other writes comes first.
    pub(super) fn push_word(
        &mut self,
        word: &ParsedWord,
        (item, cycle): (usize, usize),
        cp2: &Cp2,
    ) {
        let first = self.operations.len();
        let operations = word.insts.iter();
        // Words that let time pass are made again where they are needed.
        let operations = operations.filter(|own| !matches!(own.inst.op, Op::Nop | Op::MemNop));
        for inst in operations {
            let own = inst.inst;
            let memory = own.has_address().then(|| match own.writes().is_empty() {
                true => MemoryUse::Store,
                false if word.constant => MemoryUse::Constant,
                false => MemoryUse::Load,
            });
            self.operations.push(RegionOperation {
                inst: inst.clone(),
                place: word.place,
                item,
                timing: time_alone(own, cp2),
                memory,
                iteration: word.iteration,
                allowed: word.allowed,
                cycle,
            });
        }
        if let Some([one, other]) = self.operations.get_mut(first..)
            && other.timing.reads_of(&one.timing)
        {
            self.exchanges |= one.timing.reads_of(&other.timing);
            std::mem::swap(one, other);
        }
    }

    /// Lists the orders of the operations: those with the operations that last wrote or read a register, from which all
    /// others follow, and those of accesses to memory.
    fn list_orders(&self) -> Vec<RegionOrder> {
        let mut orders = Vec::new();
        // The last operation that writes every register, and those that have read it since.
        let mut writers: [Option<usize>; REGISTERS] = [None; REGISTERS];
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); REGISTERS];
        let mut accesses: Vec<usize> = Vec::new();
        for (after, later) in self.operations.iter().enumerate() {
            let (reads, writes) = (later.timing.reads(), later.timing.written());
            let mut before: Vec<usize> = Vec::new();
            for register in (reads | writes).iter() {
                before.extend(writers.get(usize::from(register.0)).copied().flatten());
            }
            for register in writes.iter() {
                before.extend(readers.get(usize::from(register.0)).into_iter().flatten());
            }
            before.sort_unstable();
            before.dedup();
            for before in before {
                let own = self.operations.get(before).map(|own| &own.timing);
                if let Some((own, cycles)) =
                    own.zip(own.and_then(|own| own.distance_to(&later.timing)))
                {
                    let rule = match later.timing.reads_of(own) {
                        true => OrderRule::Value,
                        false => OrderRule::Reuse,
                    };
                    orders.push(RegionOrder {
                        before,
                        after,
                        cycles,
                        rule,
                    });
                }
            }
            for register in reads.iter() {
                if let Some(own) = readers.get_mut(usize::from(register.0)) {
                    own.push(after);
                }
            }
            for register in writes.iter() {
                if let (Some(writer), Some(readers)) = (
                    writers.get_mut(usize::from(register.0)),
                    readers.get_mut(usize::from(register.0)),
                ) {
                    *writer = Some(after);
                    readers.clear();
                }
            }
            if later.memory.is_none() {
                continue;
            }
            for &before in &accesses {
                let own = self.operations.get(before);
                if own.is_some_and(|own| self.meet_in_memory(own, later)) {
                    orders.push(RegionOrder {
                        before,
                        after,
                        cycles: 1,
                        rule: OrderRule::Memory,
                    });
                }
            }
            accesses.push(after);
        }
        orders
    }

    /// Returns true if two accesses to memory may have to keep their order.
    fn meet_in_memory(&self, before: &RegionOperation, after: &RegionOperation) -> bool {
        let Some(memory) = before.memory.zip(after.memory) else {
            return false;
        };
        let constant = [memory.0, memory.1].contains(&MemoryUse::Constant);
        let stores = [memory.0, memory.1].contains(&MemoryUse::Store);
        if constant || !stores {
            return false;
        }
        let says = |own: &&LoadsBehind| (own.before, own.item) == (before.item, after.item);
        let said = self.behind.iter().find(says);
        match (said, before.iteration, after.iteration) {
            (Some(said), Some(last), Some(first))
                if memory == (MemoryUse::Store, MemoryUse::Load) =>
            {
                last.behind.saturating_add(first.before) >= said.iterations
            }
            _ => true,
        }
    }

    /// Finds a schedule, the shortest of several.
    pub(super) fn schedule(&self, around: &Surroundings<'_>) -> Option<RegionSchedule> {
        self.schedule_without(around, None)
    }

    /// Finds a schedule that may break a rule, which says what the rule costs.
    fn schedule_without(
        &self,
        around: &Surroundings<'_>,
        broken: Option<OrderRule>,
    ) -> Option<RegionSchedule> {
        if self.exchanges || self.operations.len() > ChainOverlap::MOST_OPERATIONS {
            return None;
        }
        let mut orders = self.list_orders();
        orders.retain(|order| Some(order.rule) != broken);
        let search = RegionSearch::new(self, orders, around);
        let found = PREFERENCES.map(|preference| search.place(preference));
        found.into_iter().min_by_key(|own| own.length)
    }

    /// Returns the cycles of the region if its words follow one another as they are written.
    pub(super) fn count_in_order<'w>(
        &self,
        words: impl Iterator<Item = &'w ParsedWord>,
        around: &Surroundings<'_>,
    ) -> u64 {
        let mut board = around.state.board.clone();
        let first = around.state.now;
        let mut now = first;
        for word in words {
            let timing = word.timing(around.cp2);
            let (at, _) = board.earliest(&timing, now);
            board.issue(&timing, at);
            now = at + 1;
        }
        let mut length = now - first;
        for &(cycles, ref word) in around.next {
            let (at, _) = board.earliest(word, now + cycles);
            length = length.max(at - cycles - first);
        }
        length
    }

    /// Returns the cycles by which the region would be shorter without the orders of memory, and if no register were
    /// used twice.
    pub(super) fn count_prevented(&self, around: &Surroundings<'_>, length: u64) -> [u64; 2] {
        [OrderRule::Memory, OrderRule::Reuse].map(|rule| {
            let without = self.schedule_without(around, Some(rule));
            without.map_or(0, |own| length.saturating_sub(own.length))
        })
    }

    /// Returns the words of a schedule, each with the first item of its operations.
    pub(super) fn compose(&self, schedule: &RegionSchedule) -> Vec<(ParsedWord, usize)> {
        let mut order: Vec<usize> = (0..self.operations.len()).collect();
        order.sort_by_key(|&index| schedule.cycles.get(index));
        let mut words: Vec<(ParsedWord, usize)> = Vec::new();
        let mut latest = None;
        for index in order {
            let (Some(own), Some(&cycle)) =
                (self.operations.get(index), schedule.cycles.get(index))
            else {
                continue;
            };
            let constant = own.memory == Some(MemoryUse::Constant);
            let arithmetic = own.inst.inst.row().slot() == Slot::Arith;
            match words.last_mut().filter(|_| latest == Some(cycle)) {
                Some((word, item)) => {
                    // A word has the source position of its arithmetic operation.
                    match arithmetic {
                        true => {
                            word.place = own.place;
                            word.insts.insert(0, own.inst.clone());
                        }
                        false => word.insts.push(own.inst.clone()),
                    }
                    word.constant |= constant;
                    word.allowed.stall |= own.allowed.stall;
                    word.allowed.register |= own.allowed.register;
                    *item = own.item.min(*item);
                }
                None => {
                    let mut word = ParsedWord::plain(vec![own.inst.clone()], own.place);
                    word.constant = constant;
                    word.allowed = own.allowed;
                    words.push((word, own.item));
                }
            }
            latest = Some(cycle);
        }
        words
    }
}

/// A region as it is searched.
struct RegionSearch<'a> {
    region: &'a Region,
    /// Orders by the operation that comes before: the later one, and the cycles between them.
    after: Vec<Vec<(usize, u64)>>,
    /// Number of orders by the operation that comes after.
    waits: Vec<usize>,
    /// First cycle in which every operation may be issued, by what is pending before the region.
    earliest: Vec<u64>,
    /// Cycles from every operation to the end of the region, at least.
    height: Vec<u64>,
}

impl<'a> RegionSearch<'a> {
    fn new(region: &'a Region, orders: Vec<RegionOrder>, around: &Surroundings<'_>) -> Self {
        let count = region.operations.len();
        let mut waits = vec![0; count];
        let mut after = vec![Vec::new(); count];
        for order in orders {
            if let (Some(waits), Some(own)) =
                (waits.get_mut(order.after), after.get_mut(order.before))
            {
                *waits += 1;
                own.push((order.after, order.cycles));
            }
        }
        let state = around.state;
        let earliest = region.operations.iter().map(|own| {
            let (at, _) = state.board.earliest(&own.timing, state.now);
            at - state.now
        });
        let earliest = earliest.collect();
        let mut height = vec![0; count];
        for index in (0..count).rev() {
            let own = region.operations.get(index).map(|own| &own.timing);
            let next = around
                .next
                .iter()
                .filter_map(|(cycles, word)| Some(own?.distance_to(word)?.saturating_sub(*cycles)));
            let later = after.get(index).into_iter().flatten();
            let later = later.map(|&(to, cycles)| cycles + height.get(to).copied().unwrap_or(0));
            let least = next.chain(later).max().unwrap_or(0).max(1);
            if let Some(own) = height.get_mut(index) {
                *own = least;
            }
        }
        Self {
            region,
            after,
            waits,
            earliest,
            height,
        }
    }

    /// Returns the operations in the order in which they are preferred.
    fn rank(&self, preference: Preference) -> Vec<usize> {
        let operations = &self.region.operations;
        let mut ranked: Vec<usize> = (0..operations.len()).collect();
        ranked.sort_by_key(|&index| {
            let height = self.height.get(index).copied().unwrap_or(0);
            let (item, cycle) = operations
                .get(index)
                .map_or((0, 0), |own| (own.item, own.cycle));
            let longest = u64::MAX - height;
            match preference {
                Preference::Longest => (longest, cycle as u64, item, index),
                Preference::Written => (cycle as u64, longest, item, index),
                Preference::ItemByItem => (item as u64, cycle as u64, 0, index),
            }
        });
        ranked
    }

    /// Places the operations cycle by cycle: of those that may be issued, the one that is preferred.
    fn place(&self, preference: Preference) -> RegionSchedule {
        let operations = &self.region.operations;
        let mut rank = vec![0; operations.len()];
        for (place, index) in self.rank(preference).into_iter().enumerate() {
            if let Some(own) = rank.get_mut(index) {
                *own = place;
            }
        }
        let (mut waits, mut ready_at) = (self.waits.clone(), self.earliest.clone());
        let rank_of = |index: usize| rank.get(index).copied().unwrap_or(0);
        // Operations whose predecessors are placed, the preferred one first.
        let mut ready: BTreeSet<(usize, usize)> = (0..operations.len())
            .filter(|&index| waits.get(index) == Some(&0))
            .map(|index| (rank_of(index), index))
            .collect();
        let mut cycles = vec![0; operations.len()];
        let mut busy: ClassMap<u64> = ClassMap::default();
        let (mut now, mut length) = (0, 0);
        while !ready.is_empty() {
            let mut taken: Vec<Slot> = Vec::with_capacity(2);
            loop {
                let issues = |&&(_, index): &&(usize, usize)| {
                    let own = operations.get(index);
                    let passed = ready_at.get(index).is_some_and(|&at| at <= now);
                    passed && own.is_some_and(|own| own.may_issue(now, &busy, &taken))
                };
                let Some(&(place, index)) = ready.iter().find(issues) else {
                    break;
                };
                ready.remove(&(place, index));
                let Some(own) = operations.get(index) else {
                    continue;
                };
                taken.push(own.inst.inst.row().slot());
                for (class, cycles) in own.timing.units() {
                    busy[class] = now + cycles;
                }
                if let Some(entry) = cycles.get_mut(index) {
                    *entry = now;
                }
                length = length.max(now + self.height.get(index).copied().unwrap_or(1));
                for &(later, cycles) in self.after.get(index).into_iter().flatten() {
                    if let (Some(waits), Some(at)) = (waits.get_mut(later), ready_at.get_mut(later))
                    {
                        *at = now.saturating_add(cycles).max(*at);
                        *waits -= 1;
                        if *waits == 0 {
                            ready.insert((rank_of(later), later));
                        }
                    }
                }
            }
            now += 1;
        }
        RegionSchedule { cycles, length }
    }
}

impl RegionOperation {
    /// Returns true if the operation finds its slot and its unit free in a cycle.
    fn may_issue(&self, now: u64, busy: &ClassMap<u64>, taken: &[Slot]) -> bool {
        let free = |(class, _): (Class, u64)| busy[class] <= now;
        !taken.contains(&self.inst.inst.row().slot()) && self.timing.units().all(free)
    }
}
