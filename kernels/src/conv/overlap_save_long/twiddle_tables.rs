//! Twiddles and transformed taps, in the order of overlap_save_long.s.

use super::shape::{BlockMatrix, LongBlockShape, PAGE};
use crate::conv::overlap_save::{Digits, digits, frequency, response};
use cp2_asm::cis;
use num_complex::Complex32;

/// Returns `i` with its octal digits, `digits` of them, in reverse order.
fn reversed(i: usize, digits: u32) -> usize {
    (0..digits).fold(0, |k, d| 8 * k + (i >> (3 * d)) % 8)
}

/// Returns exp(-2 pi i num/den), rounded once.
pub(in crate::conv) fn root(num: usize, den: usize) -> Complex32 {
    // Lengths are far below 2^63.
    let (re, im) = cis(-(num as i64), den as i64);
    Complex32::new(re as f32, im as f32)
}

/// Returns a record: w^2, w^4, w, w W8 for two columns, where w = exp(-2 pi i k/den) and W8 = exp(-2 pi i/8).
fn record(pair: [usize; 2], den: usize) -> [Complex32; 8] {
    let [a, b] = pair.map(|k| [2 * k, 4 * k, k, k + den / 8].map(|k| root(k, den)));
    std::array::from_fn(|i| if i % 2 == 0 { a[i / 2] } else { b[i / 2] })
}

/// Returns the factors and taps of the pages of rows.
pub(super) fn rows(taps: &[Complex32], shape: &LongBlockShape) -> Vec<Complex32> {
    let BlockMatrix { rows: height, row } = shape.cut;
    let together = PAGE / row;
    let response = response(taps, shape.numbers());
    // Frequency that a row begins with: its digits in reverse order.
    let prefix = |r: usize| reversed(r, shape.cut.passes());
    let first: Vec<usize> = (0..height).collect();
    let mut all = Vec::new();
    for rows in first.chunks(together) {
        let Digits { outer, middle } = digits(row);
        for pass in 0..outer {
            for &r in rows {
                for i in 0..1usize << (3 * pass) {
                    let k = prefix(r) + height * reversed(i, pass);
                    all.extend(record([k; 2], (8 * height) << (3 * pass)));
                }
            }
        }
        for &r in rows {
            for group in 0..row / middle {
                let k = prefix(r) + height * reversed(group, outer);
                all.extend(middle_factors(k, height << (3 * outer), middle));
            }
        }
        for &r in rows {
            let at = |place| response[prefix(r) + height * frequency(place, row)];
            all.extend((0..row).map(at));
        }
    }
    all
}

/// Returns the factors of the middle pass for the sub-transform that begins with frequency k of `den`, level
/// by level: exp(-2 pi i (k + den p) / (den 2^(level+1))), where p is the bit-reversed place.
pub(in crate::conv) fn middle_factors(
    k: usize,
    den: usize,
    middle: usize,
) -> impl Iterator<Item = Complex32> {
    (0..middle.ilog2()).flat_map(move |level| {
        (0..((1usize << level) / 2).max(1)).map(move |b| {
            let place = if level == 0 {
                0
            } else {
                (2 * b).reverse_bits() >> (usize::BITS - level)
            };
            root(k + den * place, den * (2 << level))
        })
    })
}

/// Bytes of the taps of a page of rows, the last part of its table.
pub(super) const TAP_BYTES: u64 = PAGE as u64 * 8;

/// Returns the bytes of the table of a page of rows.
pub(super) fn row_bytes(row: usize) -> u64 {
    let records = (0..digits(row).outer).map(|pass| (PAGE / row) << (3 * pass));
    (PAGE + 8 * records.sum::<usize>() + PAGE / 2) as u64 * 8
}

/// Returns the factors of the pages of columns back.
pub(super) fn columns(shape: &LongBlockShape) -> Vec<Complex32> {
    let mut all = Vec::new();
    let (row, own) = (shape.cut.row, shape.cut.columns());
    for page in 0..row / own {
        let columns = shape.columns(page / shape.sections, page % shape.sections);
        for pass in 0..shape.cut.passes() {
            for pair in 0..(own << (3 * pass)) / 2 {
                let k = |c: usize| columns[c % own] + row * (c / own);
                all.extend(record(
                    [2 * pair, 2 * pair + 1].map(k),
                    8 * (row << (3 * pass)),
                ));
            }
        }
    }
    all
}

/// Returns the bytes of the table of a page of columns back.
pub(super) fn column_bytes(cut: BlockMatrix) -> u64 {
    let records = (0..cut.passes()).map(|pass| (cut.columns() << (3 * pass)) / 2);
    64 * records.sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::overlap_save_long::shape::CUTS;

    #[test]
    fn tables_have_the_size_that_the_kernel_expects() {
        for cut in CUTS {
            let shape = LongBlockShape {
                cut,
                sections: 4,
                together: 1,
                overlap: cut.row,
            };
            let pages = (cut.numbers() / PAGE) as u64;
            let taps = [Complex32::ONE];
            let bytes = |table: Vec<Complex32>| table.len() as u64 * 8;
            assert_eq!(bytes(rows(&taps, &shape)), pages * row_bytes(cut.row));
            assert_eq!(bytes(columns(&shape)), pages * column_bytes(cut));
        }
    }

    #[test]
    fn rows_begin_with_reversed_digits() {
        assert_eq!([1, 8, 63].map(|r| reversed(r, 2)), [8, 1, 63]);
        assert_eq!([1, 8, 64].map(|r| reversed(r, 3)), [64, 8, 1]);
    }
}
