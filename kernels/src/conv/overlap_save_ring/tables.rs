//! Tables streamed during a block, in the order of overlap_save_ring.s.

use super::{MIDDLE, N};
use crate::conv::overlap_save::response;
use crate::conv::overlap_save_long::{middle_factors, root};
use num_complex::Complex32;

/// Product of the radices of the three passes on each side of the middle pass.
const OUTER: usize = N / MIDDLE;

/// Returns the tables of the middle pass: for each 16 numbers their factors, then their transformed taps.
pub(super) fn middle(taps: &[Complex32]) -> Vec<Complex32> {
    let response = response(taps, N);
    // Frequency that eight numbers begin with: p0 + 8 p1 + 64 p2 for part p1, row p0, and p2 in the row.
    let frequency = |eight: usize| eight / 64 * 8 + eight / 8 % 8 + eight % 8 * 64;
    let reversed = |place: usize| [0, 4, 2, 6, 1, 5, 3, 7][place];
    (0..OUTER)
        .step_by(2)
        .flat_map(|eight| {
            let both = [eight, eight + 1].map(frequency);
            let factors = both.map(|k| middle_factors(k, OUTER, MIDDLE));
            let of = |k| (0..MIDDLE).map(move |place| k + OUTER * reversed(place));
            let taps: Vec<Complex32> = both.into_iter().flat_map(of).map(|k| response[k]).collect();
            factors.into_iter().flatten().chain(taps)
        })
        .collect()
}

/// Returns the factors of the last pass: for each pair of columns k and k + 1, w^2 of both and w^4 of columns
/// k + 2 and k + 1; behind all pairs w of every column, with w = exp(-2 pi i k/4096).
pub(super) fn last() -> Vec<Complex32> {
    let pairs = (0..OUTER).step_by(2).flat_map(|k| {
        let turns = [2 * k, 2 * (k + 1), 4 * (k + 2), 4 * (k + 1)];
        turns.map(|turn| root(turn, N))
    });
    pairs.chain((0..OUTER).map(|k| root(k, N))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::pages::{EIGHTH, EIGHTHS};
    use super::*;
    use crate::conv::block_filter::COMPLEX;

    #[test]
    fn tables_have_the_size_that_the_kernel_expects() {
        let bytes = |table: Vec<Complex32>| table.len() as u64 * COMPLEX;
        assert_eq!(bytes(middle(&[Complex32::ONE])), EIGHTHS * EIGHTH);
        assert_eq!(bytes(last()), 2 * EIGHTH);
    }
}
