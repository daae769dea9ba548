//! Twiddle factors of columns and of rows at shifted frequencies.

use super::column_and_row_ring;
use super::line_batch::{COMPLEX, LAST, LineBatch};
use cp2_asm::cis;
use num_complex::Complex32;

impl LineBatch {
    /// Returns the bytes of the factors for a section's page of shifted rows.
    pub(super) fn factor_bytes(&self) -> u64 {
        if self.is_in_parts() {
            return column_and_row_ring::factor_bytes(self);
        }
        let mut sets = 1;
        let mut numbers = 3;
        for &radix in self.in_place_radices() {
            numbers += sets * (radix / 2);
            sets *= radix;
        }
        (numbers * self.per_section()) as u64 * COMPLEX
    }

    /// Returns the bytes of the factors for a page of columns at a shifted frequency.
    pub(super) fn column_factor_bytes(&self) -> u64 {
        // The last pass of rows has three numbers a row instead of sets.
        let early = self.factor_bytes() / self.per_section() as u64 - 3 * COMPLEX;
        let last = if self.leaves_out_of_order() {
            0
        } else {
            self.len() / 2
        };
        early + last as u64 * COMPLEX
    }

    /// Computes the factors for the rows `rows` of a section's page. The transform has `turns` numbers, and
    /// row `r` is shifted by `r length / turns`.
    pub(super) fn factors(&self, rows: &[usize], turns: usize) -> Vec<Complex32> {
        let mut factors = self.early_factors(rows, turns / self.len());
        for couple in rows.chunks(2) {
            for power in [4, 2, 1] {
                factors.extend(couple.iter().map(|row| root(power * row, turns)));
            }
        }
        factors
    }

    /// Computes the factors for columns that are all shifted by `row / matrix`.
    pub(super) fn column_factors(&self, row: usize, matrix: usize) -> Vec<Complex32> {
        let mut factors = self.early_factors(&[row], matrix);
        if self.leaves_out_of_order() {
            return factors;
        }
        // The last pass completes the last axis.
        let last = self.sides().last().copied().unwrap_or(1);
        let before = self.len() / last;
        let shifted = self.shifted() + 1 == self.sides().len();
        for k in (0..self.len() / LAST).map(|k| k / before) {
            match shifted {
                true => factors.extend(twiddle_set(LAST, k * matrix + row, last * matrix)),
                false => factors.extend(twiddle_set(LAST, k, last)),
            }
        }
        factors
    }

    /// Computes the factors of all passes but the last for rows shifted by `row / matrix`.
    fn early_factors(&self, rows: &[usize], matrix: usize) -> Vec<Complex32> {
        let mut factors = Vec::new();
        // Number of blocks, those along the present axis (`done`), the first pass along it (`from`), and the
        // axis (`side`).
        let (mut blocks, mut done, mut from, mut side) = (1, 1, 0, 0);
        for (i, &radix) in self.in_place_radices().iter().enumerate() {
            if self.sides().get(side) == Some(&done) {
                (done, from, side) = (1, i, side + 1);
            }
            for &row in rows {
                for block in 0..blocks {
                    let k = frequency(block % done, &self.radices()[from..i]);
                    match side == self.shifted() {
                        // w = exp(-2 pi i (frequency + row/matrix)/(radix done))
                        true => factors.extend(twiddle_set(
                            radix,
                            k * matrix + row,
                            radix * done * matrix,
                        )),
                        false => factors.extend(twiddle_set(radix, k, radix * done)),
                    }
                }
            }
            done *= radix;
            blocks *= radix;
        }
        factors
    }
}

/// Returns exp(-2 pi i num/den).
pub(super) fn root(num: usize, den: usize) -> Complex32 {
    // Lengths are far below 2^63.
    let (re, im) = cis(-(num as i64), den as i64);
    Complex32::new(re as f32, im as f32)
}

/// Returns the twiddle set of a block with w = exp(-2 pi i k/den): w^4, w^2, w and w' = w exp(-2 pi i/8) for
/// radix 8, w^2 and w for radix 4, w for radix 2.
pub(super) fn twiddle_set(radix: usize, k: usize, den: usize) -> impl Iterator<Item = Complex32> {
    let powers = (0..radix.ilog2()).rev().map(move |i| root(k << i, den));
    powers.chain((radix == 8).then(|| root(k + den / 8, den)))
}

/// Returns the frequency of a block after passes of these radices: the block number's digits in reverse
/// order. The first radix has the most significant digit of the block number.
fn frequency(mut block: usize, radices: &[usize]) -> usize {
    let (mut k, mut weight) = (0, radices.iter().product::<usize>());
    for &radix in radices.iter().rev() {
        weight /= radix;
        k += block % radix * weight;
        block /= radix;
    }
    k
}
