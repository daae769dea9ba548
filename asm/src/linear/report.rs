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
    /// The least interval that slots and units have room for, in cycles.
    pub bound: u64,
    /// Number of iterations.
    pub iterations: u64,
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
    /// Number of words.
    pub words: u64,
    /// Number of words before the loop that load the constants.
    pub constant_words: u64,
    /// Cycles of the loop with its fill and drain and the words that set pointers up, without those that load constants.
    pub cycles: u64,
}
