//! What was found about a linear block.

use cp2_machine::ClassMap;

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
    /// Cycles of the block by the number of iterations, from its first word to the word behind its last; the ranges
    /// follow one another. A block that begins with results pending may wait for them besides.
    pub cycles: Vec<CycleFormula>,
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
