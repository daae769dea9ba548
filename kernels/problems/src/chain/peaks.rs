//! Detection of peaks in a map of decibels.

/// Probability that noise alone shows a peak anywhere in a map.
const FALSE_ALARM: f64 = 1e-4;
/// Smallest height of a peak above the median, in dB.
const LEAST: f64 = 3.0;
/// Largest depth of a peak below the strongest cell, in dB: deeper ones may be products of sidelobes.
const DYNAMIC: f32 = 40.0;
/// Largest depth of the median below the strongest cell, in dB: below, f32 has only rounding errors.
const DEEPEST: f32 = 150.0;

/// Shape of peaks along one side of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct LobeRule {
    /// True if the last cell is adjacent to the first.
    pub(super) wraps: bool,
    /// Cells on each side of a peak that belong to it.
    pub(super) lobe: usize,
    /// Cells on each side of a peak that may hold its sidelobes.
    pub(super) reach: usize,
    /// Distance of the sidelobes below the peak, in dB.
    pub(super) below: f32,
}

/// A cell of the map that stands out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peak {
    pub(super) row: usize,
    pub(super) column: usize,
    /// Decibels above the median.
    pub(super) above: f32,
}

/// Returns the height above the median, in dB, that noise exceeds with probability [`FALSE_ALARM`] anywhere
/// in a map of `cells`, if a cell is the mean of `looks` independent powers.
///
/// The mean of n exponential variates is gamma distributed. Its cube root is nearly normal with a variance of
/// 1/9n (Wilson and Hilferty 1931).
pub(super) fn margin(cells: usize, looks: usize) -> f32 {
    let deviation = (1.0 / (9.0 * looks.max(1) as f64)).sqrt();
    let z = normal_quantile(FALSE_ALARM / cells.max(1) as f64);
    let root = 1.0 + z * deviation / (1.0 - deviation * deviation);
    (30.0 * libm::log10(root)).max(LEAST) as f32
}

/// Returns the value that a standard normal variate exceeds with a small probability `p` (Abramowitz and
/// Stegun 26.2.23, error below 4.5e-4).
fn normal_quantile(p: f64) -> f64 {
    let t = (-2.0 * libm::log(p)).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

/// Returns the cells that are the largest of their lobe, no sidelobes of others, and at least `margin` above
/// the median; strongest first.
pub(super) fn peaks(map: &[f32], columns: usize, margin: f32, sides: [LobeRule; 2]) -> Vec<Peak> {
    let columns = columns.max(1);
    let rows = map.len() / columns;
    let finite = map.iter().copied().filter(|x| x.is_finite());
    let top = finite.fold(f32::NEG_INFINITY, f32::max);
    let mut sorted = map.to_vec();
    sorted.sort_by(f32::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    // `max` would drop a NaN, which must stay.
    let median = if median < top - DEEPEST {
        top - DEEPEST
    } else {
        median
    };
    let [down, across] = sides;
    let stands = |row: usize, column: usize| {
        let own = row * columns + column;
        let value = map[own];
        // The first of equal cells is the highest.
        let highest = || {
            down.neighbouring_cells(row, down.lobe, rows).all(|r| {
                let mut near = across.neighbouring_cells(column, across.lobe, columns);
                near.all(|c| {
                    let other = r * columns + c;
                    map[other] < value || (map[other] == value && other >= own)
                })
            })
        };
        let free = || {
            let mut column_cells = down.neighbouring_cells(row, down.reach, rows);
            let mut row_cells = across.neighbouring_cells(column, across.reach, columns);
            column_cells.all(|r| map[r * columns + column] - down.below <= value)
                && row_cells.all(|c| map[row * columns + c] - across.below <= value)
        };
        value.is_finite()
            && value - median >= margin
            && value >= top - DYNAMIC
            && highest()
            && free()
    };
    let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let mut found: Vec<Peak> = cells
        .filter(|&(row, column)| stands(row, column))
        .map(|(row, column)| Peak {
            row,
            column,
            above: map[row * columns + column] - median,
        })
        .collect();
    found.sort_by(|a, b| b.above.total_cmp(&a.above));
    found
}

impl LobeRule {
    /// Iterates over the cells at most `reach` from `at`.
    fn neighbouring_cells(
        self,
        at: usize,
        reach: usize,
        len: usize,
    ) -> impl Iterator<Item = usize> {
        let reach = reach.min(len);
        let (from, count) = if self.wraps {
            (at + len - reach, (2 * reach + 1).min(len))
        } else {
            let from = at.saturating_sub(reach);
            (from, (at + reach + 1).min(len) - from)
        };
        (from..from + count).map(move |i| i % len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: LobeRule = LobeRule {
        wraps: false,
        lobe: 1,
        reach: 4,
        below: 20.0,
    };
    const RING: LobeRule = LobeRule {
        wraps: true,
        ..SIDE
    };

    fn find_peak_places(map: &[f32], columns: usize, sides: [LobeRule; 2]) -> Vec<(usize, usize)> {
        let peaks = peaks(map, columns, 10.0, sides);
        peaks.into_iter().map(|p| (p.row, p.column)).collect()
    }

    #[test]
    fn lobes_sidelobes_and_products_are_no_peaks() {
        let mut map = vec![0.0; 20 * 30];
        map[5 * 30 + 29] = 55.0;
        assert_eq!(find_peak_places(&map, 30, [SIDE, RING]), [(5, 29)]);
        map[5 * 30] = 44.0; // its lobe, around the edge
        map[5 * 30 + 3] = 34.0; // its sidelobe, around the edge
        map[9 * 30 + 29] = 34.5; // the same down the column
        map[12 * 30 + 10] = 12.0; // deeper than the dynamic range
        assert_eq!(find_peak_places(&map, 30, [SIDE, RING]), [(5, 29)]);
        map[10 * 30 + 29] = 34.6; // beyond the reach
        map[15 * 30 + 15] = 30.0;
        let three = [(5, 29), (10, 29), (15, 15)];
        assert_eq!(find_peak_places(&map, 30, [SIDE, RING]), three);
        // Without the ring the right edge is not adjacent to the left one.
        let none = find_peak_places(&map, 30, [SIDE, SIDE]);
        assert_eq!(none[..2], [(5, 29), (5, 0)]);
    }

    #[test]
    fn maps_of_nothing_have_no_peaks() {
        for value in [0.0, f32::NEG_INFINITY, f32::INFINITY, f32::NAN] {
            assert!(
                find_peak_places(&[value; 64], 8, [SIDE, RING]).is_empty(),
                "{value}"
            );
        }
        assert!(find_peak_places(&[], 8, [SIDE, RING]).is_empty());
        let mut one = [f32::NEG_INFINITY; 64];
        one[20] = -3.0;
        let peaks = peaks(&one, 8, 10.0, [SIDE, RING]);
        assert_eq!((peaks.len(), peaks[0].above), (1, DEEPEST));
        // The first of equal cells is the peak.
        assert_eq!(
            find_peak_places(&[&[0.0; 60][..], &[30.0; 4]].concat(), 8, [SIDE, SIDE]),
            [(7, 4)]
        );
    }

    #[test]
    fn the_margin_is_that_of_the_distribution() {
        // With one look, P(x > t median) = 2^-t exactly.
        let cells = 131_072;
        let exact = 10.0 * libm::log10(libm::log2(cells as f64 / FALSE_ALARM));
        let found = f64::from(margin(cells, 1));
        assert!(
            (found - exact).abs() < 0.8 && found > exact,
            "{found} {exact}"
        );
        assert!((normal_quantile(1e-3) - 3.0902).abs() < 1e-3);
        assert!(margin(8192, 16) < 6.0 && margin(8192, 1 << 20) == LEAST as f32);
    }
}
