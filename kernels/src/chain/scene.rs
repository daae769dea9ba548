//! Reproducible scenes and what is found in them.

use crate::random::Random;
use num_complex::{Complex32, Complex64};
use std::f64::consts::TAU;

/// exp(2 pi i `turns`), the same on every host.
pub(super) fn turn(turns: f64) -> Complex64 {
    Complex64::new(libm::cos(TAU * turns), libm::sin(TAU * turns))
}

/// Rounded once.
pub(super) fn narrow(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

/// `len` complex numbers of variance 1 in each part.
pub(super) fn noise(random: &mut Random, len: usize) -> Vec<Complex64> {
    (0..len)
        .map(|_| {
            let re = f64::from(random.normal());
            Complex64::new(re, f64::from(random.normal()))
        })
        .collect()
}

/// Local maxima (within `reach` cells; columns wrap where `wrap`) at least
/// `margin` above the median, strongest first: row, column, height above it.
pub(super) fn peaks(
    map: &[f32],
    columns: usize,
    margin: f32,
    reach: usize,
    wrap: bool,
) -> Vec<(usize, usize, f32)> {
    let rows = map.len() / columns.max(1);
    let mut sorted: Vec<f32> = map.to_vec();
    sorted.sort_by(f32::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let highest = |row: usize, column: usize| {
        let value = map[row * columns + column];
        let near = (row.saturating_sub(reach)..(row + reach + 1).min(rows)).flat_map(|r| {
            let across = 0..2 * reach + 1;
            across.filter_map(move |c| {
                let c = column + c + columns - reach;
                (wrap || (columns..2 * columns).contains(&c)).then_some(r * columns + c % columns)
            })
        });
        near.into_iter().all(|i| map[i] <= value)
    };
    let mut found = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let above = map[row * columns + column] - median;
            if above >= margin && highest(row, column) {
                found.push((row, column, above));
            }
        }
    }
    found.sort_by(|a, b| b.2.total_cmp(&a.2));
    found
}
