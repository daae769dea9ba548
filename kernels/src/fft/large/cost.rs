//! What the page kernels of `large.s` take beside their arithmetic.

use super::lines::{LAST, Lines};

/// Cycles of a page beside its arithmetic, words counted in `large.s` and what it includes:
/// the loop around a page,
const PAGE: u64 = 9;
/// of which this comes when the page is done, the next one's addresses among it,
pub(super) const AFTER: u64 = 6;
/// what finds a page's factors where all stay,
pub(super) const FIND: u64 = 2;
/// a pass of radix 8 in place: pointers, first loads, last stores,
const EIGHT: u64 = 50;
/// one without factors,
const WHOLE: u64 = 39;
/// the last pass of columns, and of rows,
const LAST_OF_COLUMNS: u64 = 55;
const LAST_OF_ROWS: u64 = 56;
/// where there are more couples of rows than one, and for each of these,
const COUPLES: u64 = 4;
const COUPLE: u64 = 11;
/// a pass of radix 2, whose butterflies take two cycles each,
const TWO: u64 = 18;
/// a pass of radix 4,
const FOUR: u64 = 29;
/// of which two in a row save so much, less what two long pointers take,
const JOINED: [u64; 2] = [28, 26];
/// a loop over its blocks or over the iterations of one of more than 1 KiB,
const LOOP: u64 = 3;
/// and the factors of each block, where it has 256 bytes and more.
const BLOCK: [u64; 2] = [1, 2];
/// Words of the last pass of couples of real columns (`real_columns.s`) beside arithmetic.
const SEPARATE: u64 = 23;
/// Words of the last pass of rows of half a spectrum (`real.s`) beside its iterations.
const HALF: u64 = 52;
/// Words of the first and the last pass of columns of `real_back.s` beside their iterations: pointers, first loads, last stores,
const BACK_FIRST: u64 = 44;
const BACK_LAST: u64 = 54;
/// of the first pass of rows, whose pointer to factors `LAST_OF_ROWS` does not lack, and what each further row takes.
const BACK_ROWS: u64 = 44;
const BACK_ROW: u64 = 5;

impl Lines {
    /// What a page takes beside its arithmetic but for the last pass, whose first pass is over `blocks` blocks.
    fn overhead(&self, blocks: u64) -> u64 {
        PAGE + self.passes(self.early(), blocks)
    }

    /// What passes in place take beside their arithmetic, of which the first is over `blocks` blocks.
    fn passes(&self, radices: &[usize], mut blocks: u64) -> u64 {
        let (mut cycles, mut before) = (0, 0);
        for &radix in radices {
            let bytes = self.page_bytes() / blocks;
            // Of a single short block nothing has been written when the second pass begins.
            let joined = radix == 4 && before == 4 && (blocks > 4 || bytes >= 384);
            cycles += match radix {
                8 if blocks == 1 => WHOLE,
                8 => EIGHT,
                _ => {
                    let block = BLOCK[usize::from(bytes > 256)];
                    let more = LOOP * u64::from(blocks > 1) + block * blocks;
                    let long = bytes > 1024;
                    let saved = JOINED[usize::from(bytes > 2048)] * u64::from(joined);
                    FOUR + more + LOOP * blocks * u64::from(long) - saved
                }
            };
            blocks *= radix as u64;
            before = if joined { 0 } else { radix };
        }
        cycles
    }

    /// The same for a page of columns.
    pub(super) fn column_overhead(&self) -> u64 {
        let last = match self.last() {
            1 => 0,
            2 => TWO + self.butterflies(),
            _ => LAST_OF_COLUMNS,
        };
        self.overhead(1) + last
    }

    /// The same for a page of shifted rows.
    pub(super) fn row_overhead(&self) -> u64 {
        let more = self.per_section() as u64 / 2 - 1;
        let couples = COUPLES * u64::from(more > 0) + COUPLE * more;
        self.overhead(self.per_section() as u64) + LAST_OF_ROWS + couples
    }

    /// The iterations of the last pass of couples of real columns, but for the columns that are their own partners.
    fn frames(&self) -> u64 {
        (self.len() as u64 / 16 - 1) * self.per_section() as u64 / 2
    }

    /// Arithmetic issues of a page's separation: 16 of an iteration, 18 of the first of a couple, and two halves.
    pub(super) fn separate_issues(&self) -> u64 {
        18 * self.frames() + 20 * self.per_section() as u64 / 2
    }

    /// Of these the products by 1/2, two of an iteration and of the first of a couple; the others are butterflies.
    pub(super) fn separate_halves(&self) -> u64 {
        2 * self.frames() + self.per_section() as u64
    }

    /// What a page of couples of real columns takes beside its arithmetic: the last pass and the separation are one.
    pub(super) fn separate_overhead(&self) -> u64 {
        let loops = u64::from(self.per_section() > 4) + u64::from(self.frames() > 2);
        self.overhead(1) + SEPARATE + LOOP * loops
    }

    /// The same for a page of columns of half a spectrum.
    pub(super) fn back_column_overhead(&self) -> u64 {
        PAGE + BACK_FIRST + LOOP + self.passes(&self.early()[1..], LAST as u64) + BACK_LAST
    }

    /// The same for a page of rows from half a spectrum.
    pub(super) fn back_row_overhead(&self) -> u64 {
        let rows = self.per_section() as u64;
        let first = BACK_ROWS + LOOP + (BACK_ROW + LOOP) * (rows - 1) + LOOP;
        let more = rows / 2 - 1;
        let couples = COUPLES * u64::from(more > 0) + COUPLE * more;
        PAGE + first + self.passes(&self.early()[1..], LAST as u64 * rows) + LAST_OF_ROWS + couples
    }

    /// What a page of rows of half a spectrum takes beside its arithmetic, the conjugates among it.
    pub(super) fn half_overhead(&self) -> u64 {
        self.overhead(self.per_section() as u64) + HALF
    }
}
