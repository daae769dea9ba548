//! What the registers of a section hold.

use std::cell::Cell;
use std::ops::Range;

/// Quads in turn: operands being put together, and values.
const OPERANDS: u8 = 3;
const VALUES: u8 = 3;
/// Results that wait for their store, and what they are added to.
const RESULTS: u8 = 2;
/// Pairs into which lanes of sums are turned.
const TURNED: u8 = 4;
/// Pairs that are loaded and not yet selected, at least.
const LOADED: u8 = 8;

/// The registers of a kernel.
#[derive(Clone, Debug)]
pub(super) struct GatherRegisters {
    /// The first quad of each kind.
    operands: u8,
    values: u8,
    accumulators: u8,
    results: u8,
    olds: u8,
    zero: u8,
    /// Accumulators of a block, in quads.
    quads: u8,
    /// Sums of slots that only one group of a quad has.
    extras: u8,
    /// First pairs.
    turned: u8,
    loaded: Range<u8>,
    masks: u8,
    next: [Cell<u8>; 3],
}

impl GatherRegisters {
    /// The pairs that are taken beside masks and what is loaded, where a block has so many quads of sums.
    fn fixed(quads: u8) -> u8 {
        2 * (OPERANDS + VALUES + 3 * quads + 2 * RESULTS + 1) + TURNED
    }

    /// How many masks there is room for in so many registers.
    pub(super) fn room(registers: usize, quads: usize) -> Option<usize> {
        let registers = registers.min(64);
        let fixed = usize::from(Self::fixed(u8::try_from(quads).ok()?) + LOADED);
        registers.checked_sub(fixed)
    }

    /// The least number of registers for so many masks.
    pub(super) fn least(masks: usize, quads: usize) -> usize {
        usize::from(Self::fixed(u8::try_from(quads).unwrap_or(u8::MAX / 8)) + LOADED) + masks
    }

    /// Those of a machine with so many registers, for so many masks; there is room for them.
    pub(super) fn new(registers: usize, quads: usize, masks: usize) -> Self {
        let registers = registers.min(64) as u8;
        let quads = quads as u8;
        let values = OPERANDS;
        let accumulators = values + VALUES;
        let extras = accumulators + 2 * quads;
        let results = extras + quads;
        let olds = results + RESULTS;
        let zero = olds + RESULTS;
        let turned = 2 * (zero + 1);
        let first = turned + TURNED;
        let end = registers.saturating_sub(masks as u8);
        Self {
            operands: 0,
            values,
            accumulators,
            results,
            olds,
            zero,
            quads,
            extras,
            turned,
            loaded: first..end,
            masks: end,
            next: Default::default(),
        }
    }

    fn turn(&self, kind: usize, count: u8) -> u8 {
        let now = self.next[kind].get();
        self.next[kind].set((now + 1) % count.max(1));
        now
    }

    /// The quad of the next operand.
    pub(super) fn next_operand(&self) -> u8 {
        self.operands + self.turn(0, OPERANDS)
    }

    /// The quad of the next values.
    pub(super) fn next_value(&self) -> u8 {
        self.values + self.turn(1, VALUES)
    }

    /// The pair of the next load.
    pub(super) fn next_loaded(&self) -> u8 {
        self.loaded.start + self.turn(2, self.loaded.end.saturating_sub(self.loaded.start))
    }

    /// Pairs that are loaded at a time: the next one takes the place of that so many before.
    pub(super) fn room_for_loaded(&self) -> usize {
        self.loaded.len()
    }

    /// A quad of sums of a block.
    pub(super) fn accumulator(&self, block: usize, quad: usize) -> u8 {
        self.accumulators + (block % 2) as u8 * self.quads + quad as u8
    }

    /// A quad for sums of slots that only one group of a block's quad has.
    pub(super) fn extra(&self, quad: usize) -> u8 {
        self.extras + quad as u8
    }

    /// The quad of a block's result.
    pub(super) fn result(&self, block: usize) -> u8 {
        self.results + (block % usize::from(RESULTS)) as u8
    }

    /// The quad of what it is added to.
    pub(super) fn old(&self, block: usize) -> u8 {
        self.olds + (block % usize::from(RESULTS)) as u8
    }

    /// Two pairs for the lanes of two sums.
    pub(super) fn turned(&self, which: usize) -> [u8; 2] {
        let first = self.turned + 2 * (which % 2) as u8;
        [first, first + 1]
    }

    /// The quad of zeros.
    pub(super) fn zero(&self) -> u8 {
        self.zero
    }

    /// The pair of a mask.
    pub(super) fn mask(&self, number: usize) -> u8 {
        self.masks + number as u8
    }

    /// The first pair of masks.
    pub(super) fn first_mask(&self) -> u8 {
        self.masks
    }

    /// Quads of which nothing is needed where a segment of the vector begins.
    pub(super) fn free(&self) -> Range<u8> {
        0..self.olds
    }
}
