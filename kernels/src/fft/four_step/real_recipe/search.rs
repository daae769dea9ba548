//! Search for the divisions of a real FFT that fit, the fastest first.

use super::{
    FourStepRealRecipe, HalfSpectrumRingPages, HalfSpectrumRows, InverseRealRowRingPages,
    LineBatch, RealColumnRingPages, TransformDirection, column_and_row_ring,
};
use crate::fft::four_step::inverse_real_column_ring;
use cp2_host::paging::deals_quads;
use cp2_machine::Machine;

/// Columns of a section's page, forward and inverse.
const TRIED_PAGE_COLUMNS: [&[usize]; 2] = [&[2, 4, 8], &[4, 8, 16, 32]];
/// Rows of a section's page, forward and inverse.
const TRIED_PAGE_ROWS: [&[usize]; 2] = [&[2, 4, 6, 8, 10, 12, 14, 16], &[2, 4, 8, 16, 32]];
/// Page buffers, forward and inverse; the inverse has one more, for the numbers between the passes of a page.
const TRIED_PAGE_BUFFERS: [&[usize]; 2] = [&[3, 4], &[2, 3, 4]];

impl FourStepRealRecipe {
    /// Makes the lines of `length` numbers, `per` in a section's page: columns (pass 0) or rows.
    fn lines(
        direction: TransformDirection,
        pass: usize,
        length: usize,
        per: usize,
    ) -> Option<LineBatch> {
        match (direction, pass) {
            (TransformDirection::Forward, _) => LineBatch::new(length, per),
            (TransformDirection::Inverse, 0) => LineBatch::new_radix8_first(length, per, 4),
            (TransformDirection::Inverse, _) => LineBatch::new_radix8_first(length, per, 8),
        }
    }

    /// Lists all divisions that fit, the fastest for `batch` transforms first.
    pub(in crate::fft::four_step) fn all(
        n: usize,
        direction: TransformDirection,
        machine: &Machine,
        batch: u64,
    ) -> Vec<Self> {
        let dmem = machine.cp2.dmem.0;
        let sections = machine.cp2.sections;
        // A tile's rows have halves of four numbers, two for each section, so that the forward transform
        // needs two sections.
        let least = match direction {
            TransformDirection::Forward => 2,
            TransformDirection::Inverse => 1,
        };
        let shared = sections.is_power_of_two() && sections >= least;
        let fit = deals_quads(machine) && shared;
        if !n.is_power_of_two() || !fit {
            return Vec::new();
        }
        let way = usize::from(direction == TransformDirection::Inverse);
        let mut all = Vec::new();
        for bits in 5..n.ilog2() {
            // A pass has half as many lines as the matrix: pairs of real ones, or half a spectrum.
            let lengths = [1usize << bits, n >> bits];
            let [columns, rows] = [0, 1].map(|pass| {
                let [length, others] = [lengths[pass], lengths[1 - pass]];
                let pers = [TRIED_PAGE_COLUMNS[way], TRIED_PAGE_ROWS[way]][pass].iter();
                let fits = pers.filter(|&per| 2 * per * sections <= others);
                let lines = fits.filter_map(|&per| Self::lines(direction, pass, length, per));
                // Forward, the page that is not full must follow at least one full page.
                let full = |rows: &LineBatch| 4 * rows.per_section() * sections <= others;
                let parts = match (direction, pass) {
                    (TransformDirection::Forward, 0) => RealColumnRingPages::lines(length),
                    (TransformDirection::Forward, _) => {
                        HalfSpectrumRingPages::lines(length, sections as u64).filter(full)
                    }
                    (TransformDirection::Inverse, 0) => LineBatch::new_merging_ring_page(length),
                    (TransformDirection::Inverse, _) => InverseRealRowRingPages::lines(length),
                };
                // There must be at least one full page, and two of inverse columns, since a page uses numbers
                // that the one before has left.
                let pages = match (direction, pass) {
                    (TransformDirection::Inverse, 0) => 2,
                    _ => 1,
                };
                let least = |lines: &LineBatch| 2 * pages * lines.per_section() * sections;
                let parts = parts.filter(|lines| least(lines) <= others);
                lines.chain(parts).collect::<Vec<_>>()
            });
            let with = |columns: &LineBatch, rows: &LineBatch, buffers, (last, resident)| Self {
                direction,
                sections: sections as u64,
                columns: columns.clone(),
                rows: rows.clone(),
                last,
                buffers,
                resident,
            };
            let priced = |pass: usize, columns: &LineBatch, rows: &LineBatch| {
                let kinds: Vec<(usize, bool)> = match (direction, pass) {
                    (TransformDirection::Forward, 1) if !rows.is_in_parts() => {
                        let lasts = HalfSpectrumRows::last_page_rows(
                            columns.len() as u64,
                            sections as u64,
                            rows.per_section(),
                        );
                        lasts
                            .flat_map(|last| [(last, false), (last, true)])
                            .collect()
                    }
                    (TransformDirection::Inverse, 1) if !rows.is_in_parts() => {
                        vec![(2, false), (2, true)]
                    }
                    _ => vec![(2, false)],
                };
                let buffers = match ([columns, rows][pass].is_in_parts(), direction) {
                    (true, TransformDirection::Forward) if pass == 1 => {
                        &[HalfSpectrumRingPages::buffers(rows)]
                    }
                    (true, _) => &[column_and_row_ring::RING],
                    (false, _) => TRIED_PAGE_BUFFERS[way],
                };
                let of = |(&buffers, &kind)| {
                    let one = with(columns, rows, [buffers; 2], kind);
                    (one.ring_bytes(pass) <= dmem)
                        .then(|| (one.expect(pass, machine, batch).cycles, buffers, kind))
                };
                let ways = buffers.iter();
                let ways = ways.flat_map(|buffers| kinds.iter().map(move |kind| (buffers, kind)));
                ways.filter_map(of).collect::<Vec<_>>()
            };
            let Some(column) = columns.first() else {
                continue;
            };
            for row in &rows {
                // The price of rows depends on the pages of columns only if the rows go in parts.
                let mut second = priced(1, column, row);
                let fits = |column: &&LineBatch| {
                    way == 0
                        || !column.is_in_parts()
                        || inverse_real_column_ring::supports_rows(row)
                };
                for column in columns.iter().filter(fits) {
                    if row.is_in_parts() {
                        second = priced(1, column, row);
                    }
                    for (a, first, _) in priced(0, column, row) {
                        let one = |&(b, second, kind): &(f64, usize, (usize, bool))| {
                            let division = with(column, row, [first, second], kind);
                            (a + b - division.hidden_factor_cycles(machine), division)
                        };
                        all.extend(second.iter().map(one));
                    }
                }
            }
        }
        all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        all.into_iter().map(|(_, division)| division).collect()
    }
}
