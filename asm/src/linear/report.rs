//! Reports of scheduled linear blocks.

use crate::analysis::CycleRatio;
use crate::schedule::{Dataflow, RefusedInterval, ScheduleLimit, ScheduleReport};
use cp2_machine::{Class, ClassMap, Machine};

/// A linear block as it was scheduled.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockReport {
    /// Name of the block.
    pub name: String,
    /// Index of the file in which it begins, and the line, counted from 1.
    pub place: (u32, u32),
    /// Cycles from an iteration to the next.
    pub interval: u64,
    /// The least interval that slots, units and dependences have room for, in cycles.
    pub bound: u64,
    /// The terms of the bound, the largest first. A block whose operations keep the order of a hint has those of slots
    /// and units only.
    pub terms: Vec<BoundTerm>,
    /// Intervals that were tried in vain. A block whose operations keep the order of a hint has none.
    pub refused: Vec<RefusedInterval>,
    /// Source positions of the operations that are dropped since they have no effect: index of the file, and line, for
    /// each of them.
    pub dropped: Vec<(u32, u32)>,
    /// Address of the first word.
    pub first_word: usize,
    /// Number of iterations; none where a register holds it.
    pub iterations: Option<u64>,
    /// Operations of an iteration in the arithmetic slot, by class.
    pub classes: ClassMap<u64>,
    /// Number of operations of an iteration in the arithmetic slot.
    pub arithmetic: u64,
    /// Number of operations of an iteration in the memory slot.
    pub memory: u64,
    /// Cycles of an iteration in the busiest unit that does not take an operation every cycle.
    pub busiest_unit: u64,
    /// Iterations after which registers repeat: the number of copies of the loop's words.
    pub copies: u64,
    /// Pair registers that the values of the block take.
    pub registers: u64,
    /// Number of words, those of the loop for few iterations included.
    pub words: u64,
    /// Cycles of the words before the loop that load the constants.
    pub constant_cycles: u64,
    /// The overlap of a block of a chain with those before it.
    pub overlap: Option<ChainOverlap>,
    /// Cycles of the block by the number of iterations, from its first word to the word behind its last; the ranges
    /// follow one another. A block that begins with results pending may wait for them besides. In a
    /// chain they are those from the end of the block before, and the last block has those of words behind it.
    pub cycles: Vec<CycleFormula>,
}

/// How a block of a chain overlaps the blocks before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainOverlap {
    /// Cycles by which the blocks are shorter than one behind the other.
    pub cycles: u64,
    /// Cycles by which they would be shorter still if loads did not wait for stores.
    pub memory: u64,
    /// Cycles by which they would be shorter still if they had no register in common.
    pub registers: u64,
    /// Operations between two loops that stay as they are written: more than
    /// [`MOST_OPERATIONS`](Self::MOST_OPERATIONS), or some of one word that exchange registers.
    pub unmoved: u64,
}

impl ChainOverlap {
    /// Most operations between two loops that change their places.
    pub const MOST_OPERATIONS: usize = 4096;

    /// Adds the overlap in another place.
    pub(crate) fn add(&mut self, other: Self) {
        self.cycles += other.cycles;
        self.memory += other.memory;
        self.registers += other.registers;
        self.unmoved += other.unmoved;
    }
}

/// A reason why an iteration of a block takes so many cycles at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundTerm {
    /// The reason.
    pub limit: ScheduleLimit,
    /// The cycles.
    pub cycles: CycleRatio,
    /// Source positions of the operations of a recurrence, in rising order: index of the file, and line.
    pub places: Vec<(u32, u32)>,
}

impl BoundTerm {
    /// Lists the terms that a search reports; `place_of` returns the source position of an operation.
    pub(crate) fn list(
        report: &ScheduleReport,
        place_of: impl Fn(usize) -> Option<(u32, u32)>,
    ) -> Vec<Self> {
        let terms = report.bound.terms.iter().map(|(limit, cycles)| {
            let mut places: Vec<(u32, u32)> = match limit {
                ScheduleLimit::Recurrence(operations) => operations
                    .iter()
                    .filter_map(|&operation| place_of(operation))
                    .collect(),
                _ => Vec::new(),
            };
            places.sort_unstable();
            places.dedup();
            Self {
                limit: limit.clone(),
                cycles: *cycles,
                places,
            }
        });
        terms.collect()
    }

    /// Lists the terms of slots and units.
    pub(crate) fn list_slots(dataflow: &Dataflow, machine: &Machine) -> Vec<Self> {
        let term = |limit, cycles: u64| Self {
            limit,
            cycles: CycleRatio::whole(cycles),
            places: Vec::new(),
        };
        let mut terms = vec![
            term(ScheduleLimit::Arithmetic, dataflow.arithmetic() as u64),
            term(ScheduleLimit::Memory, dataflow.memory() as u64),
        ];
        let classes = dataflow.all_classes();
        for class in Class::ALL {
            let busy = machine.cp2.interval[class].0;
            if busy > 1 && classes[class] > 0 {
                let cycles = classes[class].saturating_mul(busy);
                terms.push(term(ScheduleLimit::Unit(class), cycles));
            }
        }
        terms.sort_by_key(|term| std::cmp::Reverse(term.cycles));
        terms
    }
}

/// Cycles of a block for some numbers of iterations n: `base + slope (n - from) / per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleFormula {
    /// The least number of iterations that the formula holds for; it holds for those that are a multiple of `per` more.
    pub from: u64,
    /// The number of iterations from which on it does not hold, if there is one.
    pub until: Option<u64>,
    /// Cycles of so many iterations.
    pub base: u64,
    /// Cycles of `per` iterations more.
    pub slope: u64,
    /// Number of iterations by which counts differ.
    pub per: u64,
}

impl CycleFormula {
    /// Makes the formula of a block whose count is known.
    pub(crate) const fn constant(base: u64) -> Self {
        Self {
            from: 0,
            until: None,
            base,
            slope: 0,
            per: 1,
        }
    }
}

impl BlockReport {
    /// Adds words behind the block, of a cycle each.
    pub(crate) fn add_words(&mut self, words: u64) {
        self.words += words;
        for formula in &mut self.cycles {
            formula.base += words;
        }
    }

    /// Returns the cycles of so many iterations.
    #[must_use]
    pub fn count_cycles(&self, iterations: u64) -> u64 {
        let mut formulas = self.cycles.iter();
        let holds = |formula: &&CycleFormula| {
            let more = iterations.checked_sub(formula.from);
            more.is_some_and(|more| more.is_multiple_of(formula.per.max(1)))
                && formula.until.is_none_or(|until| iterations < until)
        };
        formulas.find(holds).map_or(0, |formula| {
            let more = (iterations - formula.from) / formula.per.max(1);
            formula
                .base
                .saturating_add(formula.slope.saturating_mul(more))
        })
    }
}
