//! Windows that slide: pages that march along an axis load what is new of their windows, and the rest lies in DMEM already.

use super::field::{AXES, GridField};
use super::grid_pass::GridPass;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// The axis that pages march along: those that follow each other are neighbours along it.
///
/// The kernel reads the addresses of its window's planes, or rows, from its arguments (`PAGE_LINES` in `docs/abi.md`): they are not at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum March {
    /// From plane to plane.
    Planes,
    /// From row to row.
    Rows,
}

impl March {
    /// Its axis, of planes, rows and columns.
    #[must_use]
    pub fn axis(self) -> usize {
        match self {
            Self::Planes => 0,
            Self::Rows => 1,
        }
    }
}

impl fmt::Display for March {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planes => "planes",
            Self::Rows => "rows",
        })
    }
}

/// The axes in the order in which pages go through them, the slowest first.
pub(super) fn order(march: Option<March>) -> [usize; AXES] {
    match march {
        None => [0, 1, 2],
        Some(March::Planes) => [1, 2, 0],
        Some(March::Rows) => [0, 2, 1],
    }
}

/// The lines, planes or rows, that an input has in DMEM where pages march: a circular buffer.
///
/// All lines that are ever loaded have *positions*, in the order of their loads; the line at position *p* is in slot *p* mod [`lines`](Self::lines).
/// A window is a range of positions. The next one along the march begins `block` positions behind it, so that it has
/// all but its last `block` lines in common with it; the first window of a march has none in common with the last one of the march before.
///
/// A page is loaded while the kernel may still be at work on the one that is `degree - 1` pages before it: the ring has as many lines as there are
/// positions from the begin of that page's window to the end of this one's, so what a load overwrites is in no window that is still needed.
/// Where marches are apart ([`GridPass::marches_apart`]) nothing of the next one is loaded before this one is done, and the steps are those of one march.
/// What a page loads may end in the first slots again: it is moved in two parts then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LineRing {
    /// Lines that it holds.
    pub(super) lines: u64,
    /// Lines of a window.
    pub(super) window: u64,
    /// Lines of a block.
    pub(super) block: u64,
    /// Pages of a march.
    pub(super) pages: u64,
    /// Bytes from a slot to the next.
    pub(super) pitch: u64,
}

impl LineRing {
    /// That of an input for pages of which `degree` are in DMEM at a time, `digits` of them along each axis; none where nothing of a window is in the next one.
    pub(super) fn new(
        sweep: &GridPass,
        field: &GridField,
        digits: [u64; AXES],
        degree: usize,
    ) -> Option<Self> {
        let axis = sweep.march?.axis();
        let (block, halo) = (field.block[axis].max(1), field.halo[axis]);
        if halo == 0 {
            return None;
        }
        let pages = digits[axis].max(1);
        let marches = digits.iter().product::<u64>() / pages;
        let mut ring = Self {
            lines: 0,
            window: block + 2 * halo,
            block,
            pages,
            pitch: 0,
        };
        let steps = (degree as u64).saturating_sub(1);
        // Each march that begins meanwhile brings a whole window.
        let begun = match sweep.marches_apart {
            true => 0,
            false => steps.div_ceil(pages).min(marches.saturating_sub(1)),
        };
        ring.lines = steps * block + begun * ring.common() + ring.window;
        Some(ring)
    }

    /// Lines that a window has in common with the one before it.
    pub(super) fn common(&self) -> u64 {
        self.window - self.block
    }

    /// Position of the first line of page `k`'s window.
    pub(super) fn begin(&self, k: u64) -> u64 {
        let march = self.pages * self.block + self.common();
        k / self.pages * march + k % self.pages * self.block
    }

    /// Where a line of page `k`'s window is.
    pub(super) fn slot(&self, k: u64, line: u64) -> u64 {
        (self.begin(k) + line) % self.lines
    }

    /// The lines of its window that a page loads, the first of a march or another.
    pub(super) fn loaded(&self, first: bool) -> Range<u64> {
        (if first { 0 } else { self.common() })..self.window
    }

    /// The same of page `k` in two parts, of which the second begins in the first slot; none where they lie together.
    pub(super) fn wrapped(&self, k: u64) -> Option<[Range<u64>; 2]> {
        let Range { start, end } = self.loaded(k.is_multiple_of(self.pages));
        let turn = start + self.lines - self.slot(k, start);
        (turn < end).then_some([start..turn, turn..end])
    }

    /// Pages after which windows are where they were, within a march.
    pub(super) fn period(&self) -> u64 {
        common(self.lines, self.block) / self.block
    }
}

/// The least common multiple of two numbers from 1 on.
pub(super) fn common(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a.max(1) / x).saturating_mul(b.max(1))
}
