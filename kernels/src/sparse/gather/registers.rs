//! The registers of a section.

use std::cell::Cell;
use std::ops::Range;

/// Quads that are used in turn for operands being built, and for values.
const OPERAND_QUADS: u8 = 3;
const VALUE_QUADS: u8 = 3;
/// Quads for results that wait for their store, and for the results that they are added to.
const RESULT_QUADS: u8 = 2;
/// Pairs into which the lanes of sums are transposed.
const TRANSPOSED_PAIRS: u8 = 4;
/// Least number of pairs that are loaded and not yet selected.
const MIN_LOADED_PAIRS: u8 = 8;

/// Quads of rounding errors of double-single products that are not yet added up.
const ERROR_QUADS: u8 = 2;

/// Sums of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSums {
    /// Quads of sums.
    pub(super) quads: usize,
    /// True in double-single precision: each quad of sums has another one for what belongs to the lower parts.
    pub(super) has_lower_parts: bool,
}

impl BlockSums {
    /// Returns the registers of a quad of sums, in quads.
    fn parts(self) -> u8 {
        if self.has_lower_parts { 2 } else { 1 }
    }

    /// Returns the quads of all sums of a block.
    fn all(self) -> u8 {
        let quads = u8::try_from(self.quads).unwrap_or(u8::MAX / 8);
        quads.saturating_mul(self.parts())
    }

    /// Returns the quads of errors.
    fn errors(self) -> u8 {
        if self.has_lower_parts { ERROR_QUADS } else { 0 }
    }
}

/// Registers of a kernel.
#[derive(Clone, Debug)]
pub(super) struct GatherRegisters {
    /// First quads of each kind.
    operands: u8,
    values: u8,
    accumulators: u8,
    results: u8,
    olds: u8,
    zero: u8,
    /// First quad of errors.
    errors: u8,
    sums: BlockSums,
    /// First quad of the extra sums, for slots that only one group of a quad has.
    extras: u8,
    /// First pairs of each kind.
    turned: u8,
    loaded: Range<u8>,
    masks: u8,
    next: [Cell<u8>; 4],
}

impl GatherRegisters {
    /// Returns the pairs that are taken by all but masks and loaded pairs, where blocks have these sums.
    fn fixed(sums: BlockSums) -> u8 {
        let quads = OPERAND_QUADS + VALUE_QUADS + 3 * sums.all() + 2 * RESULT_QUADS + sums.errors();
        2 * (quads + 1) + TRANSPOSED_PAIRS
    }

    /// Returns the number of masks that fit in so many registers.
    pub(super) fn room(registers: usize, sums: BlockSums) -> Option<usize> {
        let registers = registers.min(64);
        let fixed = usize::from(Self::fixed(sums) + MIN_LOADED_PAIRS);
        registers.checked_sub(fixed)
    }

    /// Returns the least number of registers for so many masks.
    pub(super) fn least(masks: usize, sums: BlockSums) -> usize {
        usize::from(Self::fixed(sums) + MIN_LOADED_PAIRS) + masks
    }

    /// Assigns the registers of a machine for so many masks, which must fit.
    pub(super) fn new(registers: usize, sums: BlockSums, masks: usize) -> Self {
        let registers = registers.min(64) as u8;
        let values = OPERAND_QUADS;
        let accumulators = values + VALUE_QUADS;
        let extras = accumulators + 2 * sums.all();
        let errors = extras + sums.all();
        let results = errors + sums.errors();
        let olds = results + RESULT_QUADS;
        let zero = olds + RESULT_QUADS;
        let turned = 2 * (zero + 1);
        let first = turned + TRANSPOSED_PAIRS;
        let end = registers.saturating_sub(masks as u8);
        Self {
            operands: 0,
            values,
            accumulators,
            results,
            olds,
            zero,
            errors,
            sums,
            extras,
            turned,
            loaded: first..end,
            masks: end,
            next: Default::default(),
        }
    }

    /// Returns the next of `count` registers that are used in turn.
    fn turn(&self, kind: usize, count: u8) -> u8 {
        let now = self.next[kind].get();
        self.next[kind].set((now + 1) % count.max(1));
        now
    }

    /// Returns the quad of the next operand.
    pub(super) fn next_operand(&self) -> u8 {
        self.operands + self.turn(0, OPERAND_QUADS)
    }

    /// Returns the quad of the next values.
    pub(super) fn next_value(&self) -> u8 {
        self.values + self.turn(1, VALUE_QUADS)
    }

    /// Returns the pair of the next load.
    pub(super) fn next_loaded(&self) -> u8 {
        self.loaded.start + self.turn(2, self.loaded.end.saturating_sub(self.loaded.start))
    }

    /// Returns the number of pairs that are loaded at a time: the next load replaces the oldest.
    pub(super) fn room_for_loaded(&self) -> usize {
        self.loaded.len()
    }

    /// Returns a quad of sums of a block.
    pub(super) fn accumulator(&self, block: usize, quad: usize) -> u8 {
        self.accumulators + (block % 2) as u8 * self.sums.all() + quad as u8 * self.sums.parts()
    }

    /// Returns a quad for sums of slots that only one group of a block's quad has.
    pub(super) fn extra(&self, quad: usize) -> u8 {
        self.extras + quad as u8 * self.sums.parts()
    }

    /// Returns the next quad for errors of double-single products.
    pub(super) fn next_error(&self) -> u8 {
        self.errors + self.turn(3, ERROR_QUADS)
    }

    /// Returns the quads of a double-single product and of the error of its sum. No lanes are transposed where sums
    /// have them.
    pub(super) fn product_and_error(&self) -> [u8; 2] {
        [self.turned / 2, self.turned / 2 + 1]
    }

    /// Returns the quad of a block's result.
    pub(super) fn result(&self, block: usize) -> u8 {
        self.results + (block % usize::from(RESULT_QUADS)) as u8
    }

    /// Returns the quad of the earlier result that a block's result is added to.
    pub(super) fn old(&self, block: usize) -> u8 {
        self.olds + (block % usize::from(RESULT_QUADS)) as u8
    }

    /// Returns two pairs for the lanes of two sums.
    pub(super) fn lane_pair_registers(&self, which: usize) -> [u8; 2] {
        let first = self.turned + 2 * (which % 2) as u8;
        [first, first + 1]
    }

    /// Returns the quad of zeros.
    pub(super) fn zero(&self) -> u8 {
        self.zero
    }

    /// Returns the pair of a mask.
    pub(super) fn mask(&self, number: usize) -> u8 {
        self.masks + number as u8
    }

    /// Returns the first pair of masks.
    pub(super) fn first_mask(&self) -> u8 {
        self.masks
    }

    /// Returns the quads whose values are not needed where a segment of the vector begins.
    pub(super) fn free(&self) -> Range<u8> {
        0..self.olds
    }
}
