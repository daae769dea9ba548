//! How a real FFT beyond DMEM is divided into columns, rows and pages.

use super::column_and_row_pages::section_rows;
use super::column_and_row_ring;
use super::inverse_real_column_ring::InverseRealColumnRingPages;
use super::inverse_real_pages::{
    InverseRealBlockLayout, InverseRealColumnPages, InverseRealRowPages,
};
use super::inverse_real_row_ring::InverseRealRowRingPages;
use super::line_batch::{COMPLEX, LineBatch};
use super::real_column_ring::RealColumnRingPages;
use super::real_pages::{HalfSpectrumRows, RealColumnPages, RealTileLayout};
use super::real_row_ring::HalfSpectrumRingPages;
use crate::fft::TransformDirection;
use cp2_host::paging::{PassEstimate, QUAD, Ring};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::fmt;

mod last_columns;
mod passes;
mod placement;
mod row_prefetch;
mod search;

pub(super) use last_columns::LastColumns;

/// Division of a transform of N1 N2 real numbers into columns of length N1 and rows of length N2, with the
/// pages of both.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FourStepRealRecipe {
    pub direction: TransformDirection,
    /// Sections of the machine: a power of two from 2 on.
    sections: u64,
    columns: LineBatch,
    rows: LineBatch,
    /// Rows of a section in the last page of a matrix (forward).
    last: usize,
    buffers: [usize; 2],
    /// True if the factors of all rows of a matrix stay in DMEM from matrix to matrix.
    resident: bool,
}

impl FourStepRealRecipe {
    pub(super) fn n(&self) -> u64 {
        (self.columns.len() * self.rows.len()) as u64
    }

    fn tiles(&self) -> RealTileLayout {
        RealTileLayout {
            height: self.columns.len() as u64,
            width: self.rows.len() as u64,
            sections: self.sections,
        }
    }

    /// True if the pages of a pass go through DMEM in parts.
    pub(super) fn is_in_parts(&self, pass: usize) -> bool {
        [&self.columns, &self.rows][pass].is_in_parts()
    }

    /// True for inverse columns in parts, of which the last ones have a pass of their own.
    fn has_ends(&self) -> bool {
        self.is_in_parts(0) && self.direction == TransformDirection::Inverse
    }

    /// Returns the bytes of DMEM for the buffers of a pass; for pages in parts, with its tables.
    fn ring_bytes(&self, pass: usize) -> u64 {
        match (self.is_in_parts(pass), pass, self.direction) {
            (true, 0, TransformDirection::Forward) => return RealColumnRingPages::bytes(),
            (true, 0, TransformDirection::Inverse) => {
                return InverseRealColumnRingPages::bytes(&self.columns);
            }
            (true, _, TransformDirection::Forward) => {
                return HalfSpectrumRingPages::bytes(&self.rows);
            }
            (true, _, TransformDirection::Inverse) => {
                return InverseRealRowRingPages::bytes(&self.rows);
            }
            _ => {}
        }
        let (page, factors) = self.buffer(pass);
        self.buffers[pass] as u64 * (page + factors) + self.extra_bytes(pass)
    }

    /// Returns the bytes of a page and of its factors, 0 where these are resident.
    fn buffer(&self, pass: usize) -> (u64, u64) {
        let (columns, rows) = (&self.columns, &self.rows);
        match (self.direction, pass) {
            (TransformDirection::Forward, 0) => (RealColumnPages::page_bytes(columns), 0),
            (TransformDirection::Forward, _) => {
                let (rows, factors) = (self.half_rows(), u64::from(!self.resident));
                (
                    rows.largest_page().page_bytes(),
                    factors * rows.largest_page().factor_bytes(),
                )
            }
            (TransformDirection::Inverse, 0) => {
                let factors = columns.per_section() as u64 * COMPLEX;
                (InverseRealColumnPages::page_bytes(columns), factors)
            }
            (TransformDirection::Inverse, _) => {
                let factors = u64::from(!self.resident);
                (
                    InverseRealRowPages::page_bytes(rows),
                    factors * rows.factor_bytes(),
                )
            }
        }
    }

    /// Returns the bytes of resident factors.
    fn resident_factor_bytes(&self, pass: usize) -> u64 {
        match (self.direction, pass) {
            (TransformDirection::Forward, 1) if self.resident => {
                self.half_rows().sum(LineBatch::factor_bytes)
            }
            (TransformDirection::Inverse, 1) if self.resident => {
                self.blocks().pages() * self.rows.factor_bytes()
            }
            _ => 0,
        }
    }

    /// Returns the bytes beside the buffers: of resident factors, and of the numbers between the passes of a
    /// page.
    fn extra_bytes(&self, pass: usize) -> u64 {
        let between = match (self.direction, pass) {
            (TransformDirection::Forward, _) => 0,
            (TransformDirection::Inverse, 0) => self.columns.page_bytes(),
            (TransformDirection::Inverse, _) => self.rows.page_bytes(),
        };
        self.resident_factor_bytes(pass) + between
    }

    /// Places the argument blocks and buffers of both passes behind their programs' data, which end at `ends`
    /// in DMEM; none if they do not fit in `dmem` bytes.
    fn rings(&self, ends: [u64; 2], dmem: u64) -> Option<[Ring; 2]> {
        let ends = ends.map(|end| end.next_multiple_of(QUAD));
        let buffers = |pass: usize| ends[pass] + Ring::argument_bytes(self.buffers[pass]);
        let fits = |pass: usize| match self.is_in_parts(pass) {
            true => buffers(pass),
            false => buffers(pass).saturating_add(self.ring_bytes(pass)),
        };
        if fits(0) > dmem || fits(1) > dmem {
            return None;
        }
        Some([0, 1].map(|pass| {
            // A ring of blocks lies before the data.
            match (self.is_in_parts(pass), pass, self.direction) {
                (true, 0, _) => return column_and_row_ring::ring(ends[pass]),
                (true, _, TransformDirection::Forward) => {
                    return HalfSpectrumRingPages::ring(&self.rows, ends[pass]);
                }
                (true, _, TransformDirection::Inverse) => {
                    return InverseRealRowRingPages::ring(ends[pass]);
                }
                _ => {}
            }
            let (page, factors) = self.buffer(pass);
            let (count, beside) = (self.buffers[pass], buffers(pass));
            let pages = beside + self.extra_bytes(pass);
            let ring = Ring::new(ends[pass], pages, count, page, factors);
            let at = |address: u64| vec![u32::try_from(address).unwrap_or(u32::MAX); count];
            let ring = match self.resident && pass == 1 {
                true => Ring {
                    factors: at(beside),
                    ..ring
                },
                false => ring,
            };
            match self.direction {
                TransformDirection::Forward => ring,
                TransformDirection::Inverse => Ring {
                    beside: at(beside + self.resident_factor_bytes(pass)),
                    behind: 0,
                    ahead: count,
                    ..ring
                },
            }
        }))
    }

    /// Returns the length of the rows, rows of a page, rows of the last page (forward), and 1 if factors are
    /// resident.
    #[cfg(test)]
    pub(super) fn describe_rows(&self) -> [usize; 4] {
        let rows = &self.rows;
        let resident = usize::from(self.resident);
        [rows.len(), rows.per_section(), self.last, resident]
    }

    fn half_rows(&self) -> HalfSpectrumRows {
        HalfSpectrumRows::new(self.tiles().height, self.sections, &self.rows, self.last)
    }

    fn blocks(&self) -> InverseRealBlockLayout {
        InverseRealBlockLayout {
            height: self.columns.len() as u64,
            width: self.rows.len() as u64,
            rows: self.rows.per_section() as u64,
            group: match self.is_in_parts(1) {
                true => self.columns.per_section() as u64 / 2,
                false => 1,
            },
            sections: self.sections,
        }
    }

    /// Returns the bytes of a transform between the passes.
    pub(super) fn intermediate_bytes(&self) -> u64 {
        match self.direction {
            TransformDirection::Forward => self.tiles().bytes(),
            TransformDirection::Inverse => self.blocks().bytes(),
        }
    }

    /// Returns the numbers from a half spectrum to the next: N/2 + 1, rounded up to whole granules.
    pub(super) fn pitch(&self) -> u64 {
        self.n() / 2 + 2
    }

    /// Computes the factors of all pages of columns and of rows, in the order of pages and sections.
    pub(super) fn factors(&self) -> [Vec<Complex32>; 2] {
        let (n, height) = (self.n() as usize, self.tiles().height);
        let per = self.rows.per_section();
        if self.direction == TransformDirection::Inverse {
            let columns = InverseRealColumnPages::factors(self.rows.len(), n).collect();
            if self.is_in_parts(1) {
                let sections = self.sections as usize;
                let rows = column_and_row_ring::all_factors(
                    &self.rows,
                    height as usize / 2,
                    n / 2,
                    sections,
                );
                return [columns, rows];
            }
            let sections = self.sections as usize;
            let pages = 0..height as usize / (2 * per);
            let rows = pages.flat_map(|i| {
                let rows = section_rows(i / sections, i % sections, sections, per);
                self.rows.factors(&rows, n / 2)
            });
            return [columns, rows.collect()];
        }
        let rows = self.half_rows();
        if self.is_in_parts(1) {
            return [Vec::new(), HalfSpectrumRingPages::factors(&rows, n)];
        }
        let factors = rows.all().flat_map(|(lines, rows)| lines.factors(&rows, n));
        [Vec::new(), factors.collect()]
    }

    /// Returns the operations of the passes of `batch` transforms.
    pub(super) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let sections = self.sections;
        let batch = batch as u64 * sections;
        let (columns, rows) = (&self.columns, &self.rows);
        if self.direction == TransformDirection::Inverse {
            let full = InverseRealColumnPages::full(columns, rows.len() as u64, sections);
            let couples = (batch / sections).div_ceil(sections) * sections;
            let issues = batch * full * InverseRealColumnPages::issues(columns);
            let ends = couples * InverseRealColumnPages::issues(&columns.with_per_section(2));
            let butterflies = |issues| vec![(Class::Butterfly, issues)];
            // The last columns may have a pass of their own, before the others.
            let mut passes = match self.is_in_parts(0) {
                true => vec![butterflies(ends), butterflies(issues)],
                false => vec![butterflies(issues + ends)],
            };
            let pages = batch * self.blocks().pages();
            let butterflies = rows.butterflies();
            passes.push(vec![
                (Class::Butterfly, pages * butterflies),
                (Class::Madd, pages * (rows.shifted_issues() - butterflies)),
            ]);
            return passes;
        }
        let pages = batch * rows.len() as u64 / (2 * sections * columns.per_section() as u64);
        let halves = columns.separate_halves();
        let issues = columns.butterflies() + columns.separate_issues() - halves;
        let rows = self.half_rows();
        let [butterflies, products, conjugates] = match self.is_in_parts(1) {
            true => HalfSpectrumRingPages::operations(&rows),
            false => {
                let butterflies = rows.sum(LineBatch::butterflies);
                let products = rows.sum(LineBatch::shifted_issues) - butterflies;
                [
                    butterflies,
                    products,
                    rows.sum(HalfSpectrumRows::conjugates),
                ]
            }
        };
        vec![
            vec![
                (Class::Butterfly, pages * issues),
                (Class::Add, pages * halves),
            ],
            vec![
                (Class::Butterfly, batch * butterflies),
                (Class::Madd, batch * products),
                (Class::Integer, batch * conjugates),
            ],
        ]
    }

    /// Prices a pass of `batch` transforms, without the load of the program.
    pub(super) fn expect(&self, pass: usize, machine: &Machine, batch: u64) -> PassEstimate {
        let rings = self.rings([0; 2], u64::MAX);
        let passes = rings.map(|rings| self.passes(rings, batch, [0; 3], [0; 2]));
        let never = PassEstimate {
            cycles: f64::INFINITY,
            least: f64::INFINITY,
        };
        let expected = passes.map_or(never, |passes| passes[pass].expect(machine));
        match (self.has_ends(), pass) {
            (true, 0) => expected.and(self.ends_expected(machine, batch)),
            _ => expected,
        }
    }
}

impl fmt::Display for FourStepRealRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, direction) = (self.n(), self.direction);
        write!(f, "real fft {n} {direction}: {}", self.pages())
    }
}

impl FourStepRealRecipe {
    /// Describes the pages of both passes in words.
    pub(super) fn pages(&self) -> String {
        let [columns, rows] = [&self.columns, &self.rows].map(|lines| {
            let radices: Vec<String> = lines.radices().iter().map(ToString::to_string).collect();
            let (length, per) = (lines.len(), lines.per_section());
            format!(
                "{length} ({}), {per} a section and page",
                radices.join(" x ")
            )
        });
        let [columns_are, rows_are] = match self.direction {
            TransformDirection::Forward => ["couples of columns", "half of the rows"],
            TransformDirection::Inverse => ["half of the columns", "couples of rows"],
        };
        let [a, b] = [0, 1].map(|pass| match (self.is_in_parts(pass), self.buffers[pass]) {
            (true, column_and_row_ring::RING) => {
                format!("{} buffers of an eighth", column_and_row_ring::RING)
            }
            (true, count) => format!("{count} buffers of a quarter"),
            (false, count) => format!("{count} buffers"),
        });
        let ends = match self.direction {
            TransformDirection::Forward => format!(", {} in the last", self.last),
            TransformDirection::Inverse => String::new(),
        };
        let stay = match self.resident {
            true => ", whose factors stay",
            false => "",
        };
        format!("{columns_are} of {columns}, {a}, {rows_are} of {rows}{ends}, {b}{stay}")
    }
}
