//! Transposes rows to lines, and lines to rows, on hosts with AVX2.
//!
//! The code uses that host's own instructions, because compilers transpose a square of words with
//! twice as many. Besides, a row fills a quarter of a cache line of the host, and four rows at a
//! time fill a whole one.
//!
//! # Safety argument
//!
//! The functions for AVX2 are private to this module and are called after the host has been asked
//! for it. Before each call [`are_rows_inside`] has compared the extreme places of all rows and of all lines
//! with the slices. All other places lie between, for places are sums of steps.

use crate::core::layout::{COLUMNS, DmemLine, LINE_BYTES};
use crate::memory::interleave::InterleavedRows;

/// True if all rows, section 0's first at `at`, lie in `span` bytes, and their lines, the first at
/// `line`, among `lines`.
fn are_rows_inside(
    rows: InterleavedRows,
    (at, span): (usize, usize),
    (line, lines): (usize, usize),
) -> bool {
    let fits = |first: usize, size: usize, steps: [(usize, isize); 3], bytes: usize| {
        let (mut low, mut high) = (first as i128, first as i128 + bytes as i128);
        for (count, step) in steps {
            let far = (count as i128 - 1) * step as i128;
            low += far.min(0);
            high += far.max(0);
        }
        low >= 0 && high <= size as i128
    };
    let (Ok(byte), Ok(step)) = (isize::try_from(rows.byte), isize::try_from(rows.line)) else {
        return false;
    };
    let turns = |step| (rows.turns, step);
    let sections = (COLUMNS, rows.section);
    rows.count > 0
        && rows.turns > 0
        && fits(
            at,
            span,
            [(rows.count, byte), turns(rows.turn_byte), sections],
            LINE_BYTES,
        )
        && fits(
            line,
            lines,
            [(rows.count, step), turns(rows.turn_line), (1, 0)],
            1,
        )
}

#[cfg(all(target_arch = "x86_64", target_endian = "little"))]
pub(crate) use x86::{load, store};

#[cfg(not(all(target_arch = "x86_64", target_endian = "little")))]
pub(crate) use absent::{load, store};

#[cfg(all(target_arch = "x86_64", target_endian = "little"))]
mod x86 {
    #![allow(unsafe_code, reason = "see the module's safety argument")]

    use super::COLUMNS;
    use super::DmemLine;
    use super::InterleavedRows;
    use super::LINE_BYTES;
    use super::are_rows_inside;
    use std::arch::x86_64 as x;

    /// Lines stored together: each section's rows in them fill a cache line of the host.
    const TOGETHER: usize = 4;

    fn has_avx2() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
    }

    /// Fills lines from `line` on with rows, section 0's from `at` on. Returns false, and does
    /// nothing, if the host lacks AVX2 or something lies outside.
    pub(crate) fn load(
        span: &[u8],
        at: usize,
        rows: InterleavedRows,
        lines: &mut [DmemLine],
        line: usize,
    ) -> bool {
        let can = has_avx2() && are_rows_inside(rows, (at, span.len()), (line, lines.len()));
        if can {
            // SAFETY: the host has AVX2, and all rows and lines lie inside.
            unsafe { load_lines(span.as_ptr(), at, rows, lines.as_mut_ptr(), line) };
        }
        can
    }

    /// Fills rows with lines, see [`load`].
    pub(crate) fn store(
        span: &mut [u8],
        at: usize,
        rows: InterleavedRows,
        lines: &[DmemLine],
        line: usize,
    ) -> bool {
        let can = has_avx2() && are_rows_inside(rows, (at, span.len()), (line, lines.len()));
        if can {
            // SAFETY: the host has AVX2, and all rows and lines lie inside.
            unsafe { store_lines(span.as_mut_ptr(), at, rows, lines.as_ptr(), line) };
        }
        can
    }

    /// Returns the first row and line of a turn.
    #[inline(always)]
    fn turn(rows: InterleavedRows, at: usize, line: usize, turn: usize) -> (usize, usize) {
        let (byte, step) = (
            turn as isize * rows.turn_byte,
            turn as isize * rows.turn_line,
        );
        (at.wrapping_add_signed(byte), line.wrapping_add_signed(step))
    }

    /// Copies rows to lines, see [`load`].
    ///
    /// # Safety
    /// The host has AVX2, and all rows and lines lie in what `span` and `lines` point to.
    #[target_feature(enable = "avx2")]
    unsafe fn load_lines(
        span: *const u8,
        at: usize,
        rows: InterleavedRows,
        lines: *mut DmemLine,
        line: usize,
    ) {
        for i in 0..rows.turns {
            let (at, line) = turn(rows, at, line, i);
            // SAFETY: the caller guarantees places and AVX2; a line is two vectors, aligned as a
            // line is.
            unsafe {
                let order = x::_mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7);
                let from: [*const u8; COLUMNS] =
                    std::array::from_fn(|s| span.add(rows.section_offset(at, s)));
                let mut to = lines.add(line);
                for j in 0..rows.count {
                    let row = |s: usize| x::_mm_loadu_si128(from[s].add(j * rows.byte).cast());
                    let ab = x::_mm256_set_m128i(row(1), row(0));
                    let cd = x::_mm256_set_m128i(row(3), row(2));
                    // a0 b0 a2 b2 a1 b1 a3 b3, likewise c and d.
                    let ab = x::_mm256_permutevar8x32_epi32(ab, order);
                    let cd = x::_mm256_permutevar8x32_epi32(cd, order);
                    let halves = to.cast::<x::__m256i>();
                    x::_mm256_store_si256(halves, x::_mm256_unpacklo_epi64(ab, cd));
                    x::_mm256_store_si256(halves.add(1), x::_mm256_unpackhi_epi64(ab, cd));
                    to = to.wrapping_add(rows.line);
                }
            }
        }
    }

    /// Copies lines to rows, see [`store`].
    ///
    /// # Safety
    /// The host has AVX2, and all rows and lines lie in what `span` and `lines` point to.
    #[target_feature(enable = "avx2")]
    unsafe fn store_lines(
        span: *mut u8,
        at: usize,
        rows: InterleavedRows,
        lines: *const DmemLine,
        line: usize,
    ) {
        // Number of lines that are stored together, where the rows of a section lie one behind the
        // other.
        let together = if rows.byte == LINE_BYTES {
            rows.count - rows.count % TOGETHER
        } else {
            0
        };
        for i in 0..rows.turns {
            let (at, line) = turn(rows, at, line, i);
            // SAFETY: the caller guarantees places and AVX2; a line is two vectors, aligned as a
            // line is.
            unsafe {
                let order = x::_mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7);
                // The rows of sections a and b, and those of c and d.
                let turned = |j: usize| {
                    let from = lines.add(line + j * rows.line).cast::<x::__m256i>();
                    let (first, second) = (
                        x::_mm256_load_si256(from),
                        x::_mm256_load_si256(from.add(1)),
                    );
                    let ab = x::_mm256_unpacklo_epi64(first, second);
                    let cd = x::_mm256_unpackhi_epi64(first, second);
                    [
                        x::_mm256_permutevar8x32_epi32(ab, order),
                        x::_mm256_permutevar8x32_epi32(cd, order),
                    ]
                };
                let to: [*mut u8; COLUMNS] =
                    std::array::from_fn(|s| span.add(rows.section_offset(at, s)));
                for j in (0..together).step_by(TOGETHER) {
                    let four = [turned(j), turned(j + 1), turned(j + 2), turned(j + 3)];
                    for half in 0..2 {
                        let [p, q, r, s] = four.map(|pair| pair[half]);
                        let to = |second: usize| to[2 * half + second].add(j * LINE_BYTES);
                        let one = to(0).cast::<x::__m256i>();
                        x::_mm256_storeu_si256(one, x::_mm256_permute2x128_si256::<0x20>(p, q));
                        let on = x::_mm256_permute2x128_si256::<0x20>(r, s);
                        x::_mm256_storeu_si256(one.add(1), on);
                        let other = to(1).cast::<x::__m256i>();
                        x::_mm256_storeu_si256(other, x::_mm256_permute2x128_si256::<0x31>(p, q));
                        let on = x::_mm256_permute2x128_si256::<0x31>(r, s);
                        x::_mm256_storeu_si256(other.add(1), on);
                    }
                }
                for j in together..rows.count {
                    for (half, pair) in turned(j).into_iter().enumerate() {
                        let to = |second: usize| to[2 * half + second].add(j * rows.byte);
                        x::_mm_storeu_si128(to(0).cast(), x::_mm256_castsi256_si128(pair));
                        let other = x::_mm256_extracti128_si256::<1>(pair);
                        x::_mm_storeu_si128(to(1).cast(), other);
                    }
                }
            }
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_endian = "little")))]
mod absent {
    use super::{DmemLine, InterleavedRows};

    pub(crate) fn load(
        _: &[u8],
        _: usize,
        _: InterleavedRows,
        _: &mut [DmemLine],
        _: usize,
    ) -> bool {
        false
    }

    pub(crate) fn store(
        _: &mut [u8],
        _: usize,
        _: InterleavedRows,
        _: &[DmemLine],
        _: usize,
    ) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_inside_is_where_every_row_and_line_is(
            (count, byte, line) in (1usize..4, 0usize..40, 0usize..4),
            (turns, turn_byte, turn_line) in (1usize..4, -60isize..60, -5isize..5),
            section in -50isize..50,
            (at, first) in (0usize..200, 0usize..20),
        ) {
            let rows = InterleavedRows { count, byte, line, section, turns, turn_byte, turn_line };
            let (span, lines) = (256, 16);
            let mut all = true;
            for turn in 0..turns as isize {
                for i in 0..count as isize {
                    for s in 0..COLUMNS as isize {
                        let row = at as isize + turn * turn_byte + i * byte as isize + s * section;
                        let place = first as isize + turn * turn_line + i * line as isize;
                        all &= row >= 0 && row + LINE_BYTES as isize <= span;
                        all &= (0..lines).contains(&place);
                    }
                }
            }
            prop_assert_eq!(are_rows_inside(rows, (at, span as usize), (first, lines as usize)), all);
        }
    }
}
