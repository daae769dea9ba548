//! Sliding windows: marching pages load only the new lines of a window.

use super::field::{AXES, GridField};
use super::grid_pass::GridPass;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// Axis along which pages march: consecutive pages are adjacent along it.
///
/// The kernel reads the addresses of its window's planes, or rows, from its arguments (`PAGE_LINES` in
/// `docs/abi.md`), because they are not at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum March {
    /// From plane to plane.
    Planes,
    /// From row to row.
    Rows,
}

impl March {
    /// Returns the index of the axis, of planes, rows and columns.
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

/// Returns the axes in the order in which pages go through them, the slowest first.
pub(super) fn order(march: Option<March>) -> [usize; AXES] {
    match march {
        None => [0, 1, 2],
        Some(March::Planes) => [1, 2, 0],
        Some(March::Rows) => [0, 2, 1],
    }
}

/// Circular buffer in DMEM for the lines, planes or rows, of an input where pages march.
///
/// All lines that are ever loaded have *positions*, in the order of their loads; the line at position *p* is
/// in slot *p* mod [`lines`](Self::lines). A window is a range of positions. The next window along the march
/// begins `block` positions further on, so all but its last `block` lines are in the window before. The first
/// window of a march has no line in common with the last one of the march before.
///
/// A page is loaded while the kernel may still work on the page `degree - 1` pages before it. The ring has as
/// many lines as there are positions from the beginning of that page's window to the end of this one's, so a
/// load overwrites no line of a window that is still needed. If marches are apart
/// ([`GridPass::marches_apart`]), nothing of the next march is loaded before this one is done, and positions
/// of one march suffice. A load that runs past the last slot continues in the first one: it is made in two
/// parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LineRing {
    /// Number of lines that the ring holds.
    pub(super) lines: u64,
    /// Number of lines of a window.
    pub(super) window: u64,
    /// Number of lines of a block.
    pub(super) block: u64,
    /// Number of pages of a march.
    pub(super) pages: u64,
    /// Bytes from a slot to the next.
    pub(super) pitch: u64,
}

impl LineRing {
    /// Creates the ring of an input for `degree` pages in DMEM at a time and `digits` pages along each axis,
    /// or nothing if windows have no line in common.
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
        // Each march that begins in the meantime loads a whole window.
        let begun = match sweep.marches_apart {
            true => 0,
            false => steps.div_ceil(pages).min(marches.saturating_sub(1)),
        };
        ring.lines = steps * block + begun * ring.common() + ring.window;
        Some(ring)
    }

    /// Returns the number of lines that a window has in common with the one before it.
    pub(super) fn common(&self) -> u64 {
        self.window - self.block
    }

    /// Returns the position of the first line of page `k`'s window: whole marches of `pages * block + common`
    /// positions, then `block` for each page.
    pub(super) fn begin(&self, k: u64) -> u64 {
        let march = self.pages * self.block + self.common();
        k / self.pages * march + k % self.pages * self.block
    }

    /// Returns the slot of a line of page `k`'s window.
    pub(super) fn slot(&self, k: u64, line: u64) -> u64 {
        (self.begin(k) + line) % self.lines
    }

    /// Returns the lines of its window that a page loads, `first` if it is the first of a march.
    pub(super) fn loaded(&self, first: bool) -> Range<u64> {
        (if first { 0 } else { self.common() })..self.window
    }

    /// Returns the lines that page `k` loads in two parts, the second of which begins in the first slot, or
    /// nothing if they do not wrap around.
    pub(super) fn wrapped_lines(&self, k: u64) -> Option<[Range<u64>; 2]> {
        let Range { start, end } = self.loaded(k.is_multiple_of(self.pages));
        let turn = start + self.lines - self.slot(k, start);
        (turn < end).then_some([start..turn, turn..end])
    }

    /// Returns the number of pages after which windows are in the same slots, within a march.
    pub(super) fn period(&self) -> u64 {
        common(self.lines, self.block) / self.block
    }
}

/// Returns the least common multiple of two numbers from 1 on.
pub(super) fn common(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a.max(1) / x).saturating_mul(b.max(1))
}
