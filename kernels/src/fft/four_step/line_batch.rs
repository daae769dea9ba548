//! A batch of lines (columns or rows) in a page: lengths and radices.

use super::column_and_row_ring;
pub(super) use super::twiddles::{root, twiddle_set};
use cp2_dma::Descriptor;

/// Bytes of a complex number.
pub(super) const COMPLEX: u64 = 8;
/// Usual radix of the last pass.
pub(super) const LAST: usize = 8;
/// Greatest number of passes before the last that the assembly source provides.
const PASSES: usize = 3;

/// Returns the radices of all passes, fours first and the last of them 8; none for a length that has no
/// kernel.
pub(super) fn radices(length: usize) -> Option<Vec<usize>> {
    let radices = factorize(length).filter(|_| length >= 4 * LAST)?;
    (radices.len() <= PASSES + 1).then_some(radices)
}

/// Returns fours and then eights whose product is `length`; none for other numbers.
fn factorize(length: usize) -> Option<Vec<usize>> {
    if !length.is_power_of_two() || length < 4 {
        return None;
    }
    let bits = length.ilog2();
    // Each 8 takes three bits; one or two fours take the rest.
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

/// Returns the radices of all passes where the first has radix 8 and the last `last`, 4 or 8; none for a
/// length without such radices.
fn radices_with_eight_first(length: usize, last: usize) -> Option<Vec<usize>> {
    let between = length.checked_div(LAST * last).filter(|&n| n > 0)?;
    let mut bits = between.ilog2();
    let mut radices = vec![LAST];
    while bits > 0 {
        // Each 8 takes three bits; one or two fours take the rest.
        let radix: usize = if bits % 3 == 0 { 8 } else { 4 };
        bits = bits.checked_sub(radix.ilog2())?;
        radices.push(radix);
    }
    radices.push(last);
    (length.is_power_of_two() && radices.len() <= PASSES + 1).then_some(radices)
}

/// The lines, columns or rows, of a section's page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LineBatch {
    length: usize,
    /// Lengths of the axes in the order of their passes. Lines along one axis have one entry, and so have
    /// columns whose second axis has only eight numbers, those of the last pass.
    sides: Vec<usize>,
    /// Index of the axis at shifted frequencies.
    shifted: usize,
    per_section: usize,
    radices: Vec<usize>,
    in_parts: bool,
    ends: LastPassKind,
}

/// Extends the transfer of a row by levels, the innermost first: each has the bytes to the next in system
/// memory, their number, and the bytes in local memory. The result may have more levels than a machine's
/// descriptors.
pub(super) fn transfer(row: Descriptor, levels: &[(u64, u64, u64)]) -> Descriptor {
    levels.iter().fold(row, |all, &(system, count, place)| {
        all.level(count as u32, system as i64, place as i64)
    })
}

/// Kind of the last pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LastPassKind {
    /// The last pass completes the lines, in order.
    InOrder,
    /// The last pass is along a second axis of eight numbers.
    SecondAxis,
    /// There is no last pass: results stay where the passes in place leave them.
    None,
    /// There is no last pass, and rows of three passes follow, which leave the results in the output page.
    Rows,
}

impl LineBatch {
    /// Makes `per_section` lines of `length` numbers; none where there is no kernel.
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

    /// Makes `per_section` arrays of two axes, of `length` and of eight numbers; none where there is no
    /// kernel.
    pub(super) fn new_with_eight_axis(length: usize, per_section: usize) -> Option<Self> {
        let mut radices = factorize(length)?;
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

    /// Makes `per_section` lines of `length` numbers with a first pass of radix 8 and a last one of radix
    /// `last`, 4 or 8.
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

    /// Makes `per_section` lines of eight numbers.
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

    /// Makes `per_section` lines of two numbers.
    pub(super) fn new_length2(per_section: usize) -> Self {
        Self {
            length: 2,
            sides: vec![2],
            radices: vec![2],
            ..Self::new_length8(per_section)
        }
    }

    /// Makes `per_section` lines of 4, 8 or 16 numbers; none of other lengths.
    pub(super) fn new_short(length: usize, per_section: usize) -> Option<Self> {
        let radices = factorize(length).filter(|_| length < 4 * LAST)?;
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

    /// Makes `per_section` lines of 4, 8 or 16 numbers that precede rows of three passes; none of other
    /// lengths.
    pub(super) fn new_short_then_rows(length: usize, per_section: usize) -> Option<Self> {
        let short = Self::new_short(length, per_section)?;
        Some(Self {
            ends: LastPassKind::Rows,
            ..short
        })
    }

    /// Makes `per_section` arrays with axes of `sides` numbers, those of length 1 left out. Axis `shifted` of
    /// `sides` is at shifted frequencies. None where there is no kernel.
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
            radices.extend(factorize(side)?);
        }
        // A last pass of radix 8 puts the results in order; without one the store does. With radices of 4
        // alone, a fourth pass may stay in place too.
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

    /// Makes as many pairs of lines as fill a page that goes through DMEM in parts; none where there is no
    /// kernel.
    pub(super) fn new_ring_page(length: usize) -> Option<Self> {
        let couples = column_and_row_ring::PAGE / (2 * length);
        let has = (1..=column_and_row_ring::MOST_COUPLES).contains(&couples);
        has.then(|| Self::fill_ring_page(length, vec![4, 8, 8 / couples, 8]))
    }

    /// Makes as many half-spectrum columns as fill a page that goes through DMEM in parts, with a last pass
    /// that joins adjacent ones; none where there is no kernel.
    pub(super) fn new_merging_ring_page(length: usize) -> Option<Self> {
        let third = [4, 8].into_iter().find(|third| 128 * third == length);
        third.map(|third| Self::fill_ring_page(length, vec![4, 8, third, 4]))
    }

    /// Makes as many half-spectrum rows as fill a page that goes through DMEM in parts; none where there is
    /// no kernel.
    pub(super) fn new_half_spectrum_ring_page(length: usize) -> Option<Self> {
        match length {
            512 => Some(Self::fill_ring_page(length, vec![LAST; 3])),
            1024 => Self::new_ring_page(length),
            _ => None,
        }
    }

    /// Makes as many lines as fill a page that goes through DMEM in parts.
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

    /// Returns `per_section` lines of the same length and passes.
    pub(super) fn with_per_section(&self, per_section: usize) -> Self {
        Self {
            per_section,
            ..self.clone()
        }
    }

    /// Returns the numbers of a line.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns false: a line has at least two numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the lines of each section in a page.
    #[must_use]
    pub const fn per_section(&self) -> usize {
        self.per_section
    }

    /// Returns the radices of the passes in order.
    #[must_use]
    pub fn radices(&self) -> &[usize] {
        &self.radices
    }

    /// Returns the radices of the passes in place: all, or all but the last.
    pub(super) fn in_place_radices(&self) -> &[usize] {
        &self.radices[..self.radices.len() - usize::from(!self.leaves_out_of_order())]
    }

    /// True if the passes leave the results out of order, so that the store has to reorder them.
    pub(super) fn leaves_out_of_order(&self) -> bool {
        matches!(self.ends, LastPassKind::None | LastPassKind::Rows)
    }

    /// True if a page's result lies where the page was.
    pub(super) fn is_in_place(&self) -> bool {
        self.ends == LastPassKind::None
    }

    /// Returns the lengths of the axes, in the order of their passes.
    pub(super) fn sides(&self) -> &[usize] {
        &self.sides
    }

    /// Returns the index of the axis at shifted frequencies.
    pub(super) fn shifted(&self) -> usize {
        self.shifted
    }

    /// Extends the transfer of a row to all rows of a page in their order: rows along each axis are `apart`
    /// bytes apart in system memory, and consecutive rows `local` bytes in DMEM.
    pub(super) fn spread(&self, row: Descriptor, apart: &[u64], local: u64) -> Descriptor {
        let mut place = local;
        let axes = self.sides.iter().zip(apart).rev();
        axes.fold(row, |all, (&side, &apart)| {
            let level = all.level(side as u32, apart as i64, place as i64);
            place *= side as u64;
            level
        })
    }

    /// Extends the transfer of a row to all results of a page. The results lie in order, the first axis the
    /// fastest, or where the passes leave them, so that a level for each digit puts them in order. Runs that
    /// meet in system memory follow each other.
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

    /// Returns the radix of pass `i` in place; 1 where there is none.
    pub(in crate::fft) fn radix(&self, i: usize) -> usize {
        self.in_place_radices().get(i).copied().unwrap_or(1)
    }

    /// Returns the number of axes for the kernel: 2 if the last pass is along an axis of its own, else 1.
    pub(in crate::fft) fn axes(&self) -> i64 {
        1 + i64::from(self.ends == LastPassKind::SecondAxis)
    }

    /// Returns the radix of the last pass; 1 where there is none.
    pub(in crate::fft) fn last(&self) -> i64 {
        match (self.leaves_out_of_order(), self.radices.last()) {
            (false, Some(&radix)) => radix as i64,
            _ => 1,
        }
    }

    /// Returns the bytes of a section's page in DMEM.
    pub(super) fn page_bytes(&self) -> u64 {
        (self.length * self.per_section) as u64 * COMPLEX
    }

    /// Returns the butterflies of a section's page: half its numbers times log2 of the length.
    pub(super) fn butterflies(&self) -> u64 {
        (self.length * self.per_section / 2) as u64 * u64::from(self.length.ilog2())
    }

    /// Returns the arithmetic issues of a section's page as shifted rows: beside the butterflies, eight
    /// products for two columns of eight numbers in the last pass.
    pub(super) fn shifted_issues(&self) -> u64 {
        self.butterflies() + (self.length * self.per_section / 2) as u64
    }

    /// True if a page goes through DMEM in parts.
    pub(super) fn is_in_parts(&self) -> bool {
        self.in_parts
    }
}
