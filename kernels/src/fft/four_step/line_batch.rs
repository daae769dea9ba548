//! The lines that a page holds, columns or rows, and their passes.

use super::column_and_row_ring;
pub(super) use super::twiddles::{root, set};
use cp2_dma::Descriptor;

/// Bytes of a complex number.
pub(super) const COMPLEX: u64 = 8;
/// The radix of the last pass, but of lines of two numbers.
pub(super) const LAST: usize = 8;
/// Most passes before the last that the source has room for.
const PASSES: usize = 3;

/// The radices of all passes, the last of them 8, fours first; none for a
/// length that has no kernel.
pub(super) fn radices(length: usize) -> Option<Vec<usize>> {
    let radices = factors_of(length).filter(|_| length >= 4 * LAST)?;
    (radices.len() <= PASSES + 1).then_some(radices)
}

/// Fours and then eights whose product is `length`; none for other numbers.
fn factors_of(length: usize) -> Option<Vec<usize>> {
    if !length.is_power_of_two() || length < 4 {
        return None;
    }
    let bits = length.ilog2();
    // Three bits for each 8; what is left are one or two fours.
    let fours = match bits % 3 {
        0 => 0,
        2 => 1,
        _ => 2,
    };
    let eights = (bits - 2 * fours) / 3;
    let mut radices = vec![4; fours as usize];
    radices.resize((fours + eights) as usize, 8);
    Some(radices)
}

/// The radices of all passes where the first has radix 8 and the last `last`, 4 or 8; none for a length that has none.
fn radices_with_eight_first(length: usize, last: usize) -> Option<Vec<usize>> {
    let between = length.checked_div(LAST * last).filter(|&n| n > 0)?;
    let mut bits = between.ilog2();
    let mut radices = vec![LAST];
    while bits > 0 {
        // Three bits for each 8; what is left are one or two fours.
        let radix: usize = if bits % 3 == 0 { 8 } else { 4 };
        bits = bits.checked_sub(radix.ilog2())?;
        radices.push(radix);
    }
    radices.push(last);
    (length.is_power_of_two() && radices.len() <= PASSES + 1).then_some(radices)
}

/// Lines that a page holds: columns or rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LineBatch {
    length: usize,
    /// Numbers of the axes in the order of their passes: of one all, and so of columns of two axes of which the second
    /// is eight numbers of the last pass alone.
    sides: Vec<usize>,
    /// Which of them is at shifted frequencies.
    shifted: usize,
    per_section: usize,
    radices: Vec<usize>,
    in_parts: bool,
    ends: LastPassKind,
}

/// The transfer of a row at all levels, the innermost first: bytes to the next in system memory, how many, and bytes in local
/// memory. It may have more levels than a machine's transfers.
pub(super) fn transfer(row: Descriptor, levels: &[(u64, u64, u64)]) -> Descriptor {
    levels.iter().fold(row, |all, &(system, count, place)| {
        all.level(count as u32, system as i64, place as i64)
    })
}

/// What the last pass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LastPassKind {
    /// It completes the lines, in order.
    InOrder,
    /// It is along a second axis of eight numbers.
    SecondAxis,
    /// There is none: results stay where the passes in place leave them.
    None,
    /// The same, and rows of three passes follow, which leave them in the output page.
    Rows,
}

impl LineBatch {
    /// `per_section` lines of `length` numbers; none where there is no kernel.
    pub(super) fn new(length: usize, per_section: usize) -> Option<Self> {
        Some(Self {
            length,
            sides: vec![length],
            shifted: 0,
            per_section,
            radices: radices(length)?,
            in_parts: false,
            ends: LastPassKind::InOrder,
        })
    }

    /// `per_section` arrays of two axes of `length` and of eight numbers; none where there is no kernel.
    pub(super) fn new_with_eight_axis(length: usize, per_section: usize) -> Option<Self> {
        let mut radices = factors_of(length)?;
        radices.push(LAST);
        (radices.len() <= PASSES + 1).then(|| Self {
            length: length * LAST,
            sides: vec![length * LAST],
            shifted: 0,
            per_section,
            radices,
            in_parts: false,
            ends: LastPassKind::SecondAxis,
        })
    }

    /// The same with a first pass of radix 8 and a last one of radix `last`, 4 or 8.
    pub(super) fn new_radix8_first(length: usize, per_section: usize, last: usize) -> Option<Self> {
        Some(Self {
            length,
            sides: vec![length],
            shifted: 0,
            per_section,
            radices: radices_with_eight_first(length, last)?,
            in_parts: false,
            ends: LastPassKind::InOrder,
        })
    }

    /// `per_section` lines of eight numbers.
    pub(super) fn new_length8(per_section: usize) -> Self {
        Self {
            length: LAST,
            sides: vec![LAST],
            shifted: 0,
            per_section,
            radices: vec![LAST],
            in_parts: false,
            ends: LastPassKind::InOrder,
        }
    }

    /// `per_section` lines of two numbers.
    pub(super) fn new_length2(per_section: usize) -> Self {
        Self {
            length: 2,
            sides: vec![2],
            radices: vec![2],
            ..Self::new_length8(per_section)
        }
    }

    /// `per_section` lines of 4, 8 or 16 numbers; none of other lengths.
    pub(super) fn new_short(length: usize, per_section: usize) -> Option<Self> {
        let radices = factors_of(length).filter(|_| length < 4 * LAST)?;
        let ends = match radices.as_slice() {
            [LAST] => LastPassKind::InOrder,
            _ => LastPassKind::None,
        };
        Some(Self {
            length,
            sides: vec![length],
            shifted: 0,
            per_section,
            radices,
            in_parts: false,
            ends,
        })
    }

    /// The same before rows of three passes.
    pub(super) fn new_short_then_rows(length: usize, per_section: usize) -> Option<Self> {
        let short = Self::new_short(length, per_section)?;
        Some(Self {
            ends: LastPassKind::Rows,
            ..short
        })
    }

    /// `per_section` arrays of axes of so many numbers, those of 1 left out, of which axis `shifted` is at shifted
    /// frequencies; none where there is no kernel.
    pub(super) fn new_over_axes(
        sides: &[usize],
        shifted: usize,
        per_section: usize,
    ) -> Option<Self> {
        let kept = |&&side: &&usize| side > 1;
        let before = sides.get(..shifted)?.iter().filter(kept).count();
        let sides: Vec<usize> = sides.iter().filter(kept).copied().collect();
        let mut radices = Vec::new();
        for &side in &sides {
            radices.extend(factors_of(side)?);
        }
        // A last pass puts results in order on their way; without one the store does. Of fours alone a fourth stays as well.
        let ends = match radices.last() {
            Some(&LAST) => LastPassKind::InOrder,
            _ => LastPassKind::None,
        };
        let most = match ends == LastPassKind::None && radices.contains(&LAST) {
            true => PASSES,
            false => PASSES + 1,
        };
        (radices.len() <= most).then(|| Self {
            length: sides.iter().product(),
            sides,
            shifted: before,
            per_section,
            radices,
            in_parts: false,
            ends,
        })
    }

    /// As many couples as fill a page that goes through DMEM in parts; none where there is no kernel.
    pub(super) fn new_ring_page(length: usize) -> Option<Self> {
        let couples = column_and_row_ring::PAGE / (2 * length);
        let has = (1..=column_and_row_ring::MOST_COUPLES).contains(&couples);
        has.then(|| Self::fill_ring_page(length, vec![4, 8, 8 / couples, 8]))
    }

    /// As many columns of half a spectrum as fill such a page, whose last pass joins neighbours; none where there is no kernel.
    pub(super) fn new_merging_ring_page(length: usize) -> Option<Self> {
        let third = [4, 8].into_iter().find(|third| 128 * third == length);
        third.map(|third| Self::fill_ring_page(length, vec![4, 8, third, 4]))
    }

    /// As many rows of half a spectrum as fill such a page; none where there is no kernel.
    pub(super) fn new_half_spectrum_ring_page(length: usize) -> Option<Self> {
        match length {
            512 => Some(Self::fill_ring_page(length, vec![LAST; 3])),
            1024 => Self::new_ring_page(length),
            _ => None,
        }
    }

    /// As many lines as fill such a page.
    fn fill_ring_page(length: usize, radices: Vec<usize>) -> Self {
        Self {
            length,
            sides: vec![length],
            shifted: 0,
            per_section: column_and_row_ring::PAGE / length,
            radices,
            in_parts: true,
            ends: LastPassKind::InOrder,
        }
    }

    /// So many lines of the same length.
    pub(super) fn with_per_section(&self, per_section: usize) -> Self {
        Self {
            per_section,
            ..self.clone()
        }
    }

    /// Numbers of a line.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Never: a line has at least two numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Lines of each section in a page.
    #[must_use]
    pub const fn per_section(&self) -> usize {
        self.per_section
    }

    /// The radices of the passes in order.
    #[must_use]
    pub fn radices(&self) -> &[usize] {
        &self.radices
    }

    /// The radices of the passes in place: all but the last, or all.
    pub(super) fn in_place_radices(&self) -> &[usize] {
        &self.radices[..self.radices.len() - usize::from(!self.leaves_out_of_order())]
    }

    /// Whether results stay where they are, out of order.
    pub(super) fn leaves_out_of_order(&self) -> bool {
        matches!(self.ends, LastPassKind::None | LastPassKind::Rows)
    }

    /// Whether a page's result lies where the page was.
    pub(super) fn in_place(&self) -> bool {
        self.ends == LastPassKind::None
    }

    /// Numbers of the axes, in the order of their passes.
    pub(super) fn sides(&self) -> &[usize] {
        &self.sides
    }

    /// Which axis is the one at shifted frequencies.
    pub(super) fn shifted(&self) -> usize {
        self.shifted
    }

    /// A transfer of the rows of a page as they come: rows along each axis are so many bytes apart in system memory, all in
    /// local memory.
    pub(super) fn spread(&self, row: Descriptor, apart: &[u64], local: u64) -> Descriptor {
        let mut place = local;
        let axes = self.sides.iter().zip(apart).rev();
        axes.fold(row, |all, (&side, &apart)| {
            let level = all.level(side as u32, apart as i64, place as i64);
            place *= side as u64;
            level
        })
    }

    /// The same of results: in order, the first axis the fastest, or where the passes leave them, so that a level for each
    /// digit puts them in order. Runs that meet in system memory follow each other.
    pub(super) fn results(&self, row: Descriptor, apart: &[u64], local: u64) -> Descriptor {
        let (mut side, mut done) = (0, 1);
        let mut place = self.length as u64;
        let digit = |&radix: &usize| {
            if self.sides.get(side) == Some(&done) {
                (side, done) = (side + 1, 1);
            }
            let system = apart.get(side).copied().unwrap_or(0) * done as u64;
            place /= radix as u64;
            done *= radix;
            (system, radix as u64, local * place)
        };
        let mut levels: Vec<(u64, u64, u64)> = match self.leaves_out_of_order() {
            true => self.radices.iter().map(digit).collect(),
            false => {
                let mut place = local;
                let axes = self.sides.iter().zip(apart);
                let axis = axes.map(|(&side, &apart)| {
                    let level = (apart, side as u64, place);
                    place *= side as u64;
                    level
                });
                axis.collect()
            }
        };
        levels.sort_unstable();
        transfer(row, &levels)
    }

    /// Radix of pass `i` but the last; 1 where there is none.
    pub(in crate::fft) fn radix(&self, i: usize) -> usize {
        self.in_place_radices().get(i).copied().unwrap_or(1)
    }

    /// Axes of a line.
    pub(in crate::fft) fn axes(&self) -> i64 {
        1 + i64::from(self.ends == LastPassKind::SecondAxis)
    }

    /// Radix of the last pass; 1 where there is none.
    pub(in crate::fft) fn last(&self) -> i64 {
        match (self.leaves_out_of_order(), self.radices.last()) {
            (false, Some(&radix)) => radix as i64,
            _ => 1,
        }
    }

    /// Bytes of a page in DMEM.
    pub(super) fn page_bytes(&self) -> u64 {
        (self.length * self.per_section) as u64 * COMPLEX
    }

    /// Butterflies of a section's page.
    pub(super) fn butterflies(&self) -> u64 {
        (self.length * self.per_section / 2) as u64 * u64::from(self.length.ilog2())
    }

    /// Arithmetic issues of a section's page as shifted rows: eight products for
    /// two columns of eight in the last pass.
    pub(super) fn shifted_issues(&self) -> u64 {
        self.butterflies() + (self.length * self.per_section / 2) as u64
    }

    /// Whether a page goes through DMEM in parts.
    pub(super) fn in_parts(&self) -> bool {
        self.in_parts
    }
}
