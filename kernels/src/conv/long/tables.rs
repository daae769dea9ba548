//! Factors and taps of the passes of a long block, in the order in which
//! `long.s` meets them.

use super::shape::{COLUMNS, PAGE, PASSES, ROWS, Shape};
use crate::conv::overlap::{Digits, digits, frequency, response};
use cp2_asm::cis;
use num_complex::Complex32;

/// The frequency that row r begins with: its digits in reverse order.
fn prefix(r: usize) -> usize {
    reversed(r, PASSES)
}

fn reversed(i: usize, digits: u32) -> usize {
    (0..digits).fold(0, |k, d| 8 * k + (i >> (3 * d)) % 8)
}

/// exp(-2 pi i num/den), rounded once.
fn root(num: usize, den: usize) -> Complex32 {
    // Lengths are far below 2^63.
    let (re, im) = cis(-(num as i64), den as i64);
    Complex32::new(re as f32, im as f32)
}

/// A record: w^2, w^4, w, w W8 for two columns, where w is exp(-2 pi i k/den).
fn record(pair: [usize; 2], den: usize) -> [Complex32; 8] {
    let [a, b] = pair.map(|k| [2 * k, 4 * k, k, k + den / 8].map(|k| root(k, den)));
    std::array::from_fn(|i| if i % 2 == 0 { a[i / 2] } else { b[i / 2] })
}

/// Factors and taps of the pages of rows.
pub(super) fn rows(taps: &[Complex32], shape: &Shape) -> Vec<Complex32> {
    let (row, together) = (shape.row, PAGE / shape.row);
    let response = response(taps, shape.numbers());
    let first: Vec<usize> = (0..ROWS).collect();
    let mut all = Vec::new();
    for rows in first.chunks(together) {
        let Digits { outer, middle } = digits(row);
        for pass in 0..outer {
            for &r in rows {
                for i in 0..1usize << (3 * pass) {
                    let k = prefix(r) + ROWS * reversed(i, pass);
                    all.extend(record([k; 2], (8 * ROWS) << (3 * pass)));
                }
            }
        }
        for &r in rows {
            for group in 0..row / middle {
                let k = prefix(r) + ROWS * reversed(group, outer);
                all.extend(middle_factors(k, ROWS << (3 * outer), middle));
            }
        }
        for &r in rows {
            let at = |place| response[prefix(r) + ROWS * frequency(place, row)];
            all.extend((0..row).map(at));
        }
    }
    all
}

/// Of the middle pass, for one of its sub-transforms, which begins with frequency k of `den`.
fn middle_factors(k: usize, den: usize, middle: usize) -> impl Iterator<Item = Complex32> {
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

/// Bytes of the table of a page of rows.
pub(super) fn row_bytes(row: usize) -> u64 {
    let records = (0..digits(row).outer).map(|pass| (PAGE / row) << (3 * pass));
    (PAGE + 8 * records.sum::<usize>() + PAGE / 2) as u64 * 8
}

/// Factors of the pages of columns back.
pub(super) fn columns(shape: &Shape) -> Vec<Complex32> {
    let mut all = Vec::new();
    for page in 0..shape.row / COLUMNS {
        let columns = shape.columns(page / shape.sections, page % shape.sections);
        for pass in 0..PASSES {
            for pair in 0..(COLUMNS << (3 * pass)) / 2 {
                let k = |c: usize| columns[c % COLUMNS] + shape.row * (c / COLUMNS);
                all.extend(record(
                    [2 * pair, 2 * pair + 1].map(k),
                    8 * (shape.row << (3 * pass)),
                ));
            }
        }
    }
    all
}

/// Bytes of the table of a page of columns back.
pub(super) const COLUMN_BYTES: u64 = 64 * (8 + 64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::long::shape::ROW_LENGTHS;

    #[test]
    fn tables_have_the_size_that_the_kernel_expects() {
        for row in ROW_LENGTHS {
            let shape = Shape {
                row,
                sections: 4,
                together: 1,
                skip: 1,
            };
            let pages = (row / COLUMNS) as u64;
            let taps = [Complex32::ONE];
            assert_eq!(rows(&taps, &shape).len() as u64 * 8, pages * row_bytes(row));
            assert_eq!(columns(&shape).len() as u64 * 8, pages * COLUMN_BYTES);
        }
    }

    #[test]
    fn rows_begin_with_reversed_digits() {
        assert_eq!((prefix(1), prefix(8), prefix(63)), (8, 1, 63));
    }
}
