//! How a transform of real numbers larger than DMEM is divided into pages.

use super::back_columns::BackColumnParts;
use super::back_parts::BackParts;
use super::lines::{COMPLEX, Lines};
use super::pages::rows_of;
use super::parts;
use super::real_back::{BackColumns, BackRows, Blocks};
use super::real_column_parts::RealColumnParts;
use super::real_pages::{HalfRows, RealColumns, Tiles};
use super::real_parts::RealParts;
use crate::fft::Direction;
use cp2_host::paging::{Expected, QUAD, Ring};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::fmt;

mod ends;
mod passes;
mod place;
mod search;
mod tail;

pub(super) use ends::Ends;

/// Rows N2 and columns N1 of a transform of N1 N2 real numbers, and the pages of both.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Division {
    pub direction: Direction,
    /// Sections of the machine: a power of two from 2 on.
    sections: u64,
    columns: Lines,
    rows: Lines,
    /// Rows of a section in the last page of a matrix, there.
    last: usize,
    buffers: [usize; 2],
    /// Whether the factors of all rows of a matrix stay in DMEM from matrix to matrix.
    resident: bool,
}

impl Division {
    pub(super) fn n(&self) -> u64 {
        (self.columns.len() * self.rows.len()) as u64
    }

    fn tiles(&self) -> Tiles {
        Tiles {
            height: self.columns.len() as u64,
            width: self.rows.len() as u64,
            sections: self.sections,
        }
    }

    /// Whether the pages of a pass go through DMEM in parts.
    pub(super) fn in_parts(&self, pass: usize) -> bool {
        [&self.columns, &self.rows][pass].in_parts()
    }

    /// Whether columns of half a spectrum do, whose last ones are a pass of their own.
    fn has_ends(&self) -> bool {
        self.in_parts(0) && self.direction == Direction::Inverse
    }

    /// DMEM for the buffers of a pass, and for its tables where these lie behind them.
    fn ring_bytes(&self, pass: usize) -> u64 {
        match (self.in_parts(pass), pass, self.direction) {
            (true, 0, Direction::Forward) => return RealColumnParts::bytes(),
            (true, 0, Direction::Inverse) => return BackColumnParts::bytes(&self.columns),
            (true, _, Direction::Forward) => return RealParts::bytes(&self.rows),
            (true, _, Direction::Inverse) => return BackParts::bytes(&self.rows),
            _ => {}
        }
        let (page, factors) = self.buffer(pass);
        self.buffers[pass] as u64 * (page + factors) + self.beside(pass)
    }

    /// Bytes of a page and of its factors.
    fn buffer(&self, pass: usize) -> (u64, u64) {
        let (columns, rows) = (&self.columns, &self.rows);
        match (self.direction, pass) {
            (Direction::Forward, 0) => (RealColumns::page_bytes(columns), 0),
            (Direction::Forward, _) => {
                let (rows, factors) = (self.half_rows(), u64::from(!self.resident));
                (
                    rows.most().page_bytes(),
                    factors * rows.most().factor_bytes(),
                )
            }
            (Direction::Inverse, 0) => {
                let factors = columns.per_section() as u64 * COMPLEX;
                (BackColumns::page_bytes(columns), factors)
            }
            (Direction::Inverse, _) => {
                let factors = u64::from(!self.resident);
                (BackRows::page_bytes(rows), factors * rows.factor_bytes())
            }
        }
    }

    /// Bytes of the factors that stay.
    fn staying(&self, pass: usize) -> u64 {
        match (self.direction, pass) {
            (Direction::Forward, 1) if self.resident => self.half_rows().sum(Lines::factor_bytes),
            (Direction::Inverse, 1) if self.resident => {
                self.blocks().pages() * self.rows.factor_bytes()
            }
            _ => 0,
        }
    }

    /// Bytes beside the buffers: of factors that stay, and of a page between its passes.
    fn beside(&self, pass: usize) -> u64 {
        let between = match (self.direction, pass) {
            (Direction::Forward, _) => 0,
            (Direction::Inverse, 0) => self.columns.page_bytes(),
            (Direction::Inverse, _) => self.rows.page_bytes(),
        };
        self.staying(pass) + between
    }

    /// The argument blocks and buffers of both passes, whose programs' data end at `ends` in
    /// DMEM; none if they do not fit in `dmem` bytes.
    fn rings(&self, ends: [u64; 2], dmem: u64) -> Option<[Ring; 2]> {
        let ends = ends.map(|end| end.next_multiple_of(QUAD));
        let buffers = |pass: usize| ends[pass] + Ring::argument_bytes(self.buffers[pass]);
        let fits = |pass: usize| match self.in_parts(pass) {
            true => buffers(pass),
            false => buffers(pass).saturating_add(self.ring_bytes(pass)),
        };
        if fits(0) > dmem || fits(1) > dmem {
            return None;
        }
        Some([0, 1].map(|pass| {
            // The ring lies before the data.
            match (self.in_parts(pass), pass, self.direction) {
                (true, 0, _) => return parts::ring(ends[pass]),
                (true, _, Direction::Forward) => return RealParts::ring(&self.rows, ends[pass]),
                (true, _, Direction::Inverse) => return BackParts::ring(ends[pass]),
                _ => {}
            }
            let (page, factors) = self.buffer(pass);
            let (count, beside) = (self.buffers[pass], buffers(pass));
            let pages = beside + self.beside(pass);
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
                Direction::Forward => ring,
                Direction::Inverse => Ring {
                    beside: at(beside + self.staying(pass)),
                    behind: 0,
                    ahead: count,
                    ..ring
                },
            }
        }))
    }

    /// Length of the rows, those of a page and, there, of the last, and whether their factors stay.
    #[cfg(test)]
    pub(super) fn rows_are(&self) -> [usize; 4] {
        let rows = &self.rows;
        let resident = usize::from(self.resident);
        [rows.len(), rows.per_section(), self.last, resident]
    }

    fn half_rows(&self) -> HalfRows {
        HalfRows::new(self.tiles().height, self.sections, &self.rows, self.last)
    }

    fn blocks(&self) -> Blocks {
        Blocks {
            height: self.columns.len() as u64,
            width: self.rows.len() as u64,
            rows: self.rows.per_section() as u64,
            group: match self.in_parts(1) {
                true => self.columns.per_section() as u64 / 2,
                false => 1,
            },
            sections: self.sections,
        }
    }

    /// Bytes of a transform between the passes.
    pub(super) fn between(&self) -> u64 {
        match self.direction {
            Direction::Forward => self.tiles().bytes(),
            Direction::Inverse => self.blocks().bytes(),
        }
    }

    /// Numbers from a half spectrum to the next: whole granules.
    pub(super) fn pitch(&self) -> u64 {
        self.n() / 2 + 2
    }

    /// The factors of all pages of columns and of rows, in the order of pages and sections.
    pub(super) fn factors(&self) -> [Vec<Complex32>; 2] {
        let (n, height) = (self.n() as usize, self.tiles().height);
        let per = self.rows.per_section();
        if self.direction == Direction::Inverse {
            let columns = BackColumns::factors(self.rows.len(), n).collect();
            if self.in_parts(1) {
                let sections = self.sections as usize;
                let rows = parts::all_factors(&self.rows, height as usize / 2, n / 2, sections);
                return [columns, rows];
            }
            let sections = self.sections as usize;
            let pages = 0..height as usize / (2 * per);
            let rows = pages.flat_map(|i| {
                let rows = rows_of(i / sections, i % sections, sections, per);
                self.rows.factors(&rows, n / 2)
            });
            return [columns, rows.collect()];
        }
        let rows = self.half_rows();
        if self.in_parts(1) {
            return [Vec::new(), RealParts::factors(&rows, n)];
        }
        let factors = rows.all().flat_map(|(lines, rows)| lines.factors(&rows, n));
        [Vec::new(), factors.collect()]
    }

    /// Arithmetic of both passes of `batch` transforms.
    pub(super) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let sections = self.sections;
        let batch = batch as u64 * sections;
        let (columns, rows) = (&self.columns, &self.rows);
        if self.direction == Direction::Inverse {
            let full = BackColumns::full(columns, rows.len() as u64, sections);
            let couples = (batch / sections).div_ceil(sections) * sections;
            let issues = batch * full * BackColumns::issues(columns);
            let ends = couples * BackColumns::issues(&columns.with(2));
            let butterflies = |issues| vec![(Class::Butterfly, issues)];
            // The last columns may be a pass of their own, before the others.
            let mut passes = match self.in_parts(0) {
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
        let [butterflies, products, conjugates] = match self.in_parts(1) {
            true => RealParts::operations(&rows),
            false => {
                let butterflies = rows.sum(Lines::butterflies);
                let products = rows.sum(Lines::shifted_issues) - butterflies;
                [butterflies, products, rows.sum(HalfRows::conjugates)]
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

    /// What a pass of `batch` transforms should take, without the load of the program.
    pub(super) fn expect(&self, pass: usize, machine: &Machine, batch: u64) -> Expected {
        let rings = self.rings([0; 2], u64::MAX);
        let passes = rings.map(|rings| self.passes(rings, batch, [0; 3], [0; 2]));
        let never = Expected {
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

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, direction) = (self.n(), self.direction);
        write!(f, "real fft {n} {direction}: {}", self.pages())
    }
}

impl Division {
    /// The pages of both passes, in words.
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
            Direction::Forward => ["couples of columns", "half of the rows"],
            Direction::Inverse => ["half of the columns", "couples of rows"],
        };
        let [a, b] = [0, 1].map(|pass| match (self.in_parts(pass), self.buffers[pass]) {
            (true, parts::RING) => format!("{} buffers of an eighth", parts::RING),
            (true, count) => format!("{count} buffers of a quarter"),
            (false, count) => format!("{count} buffers"),
        });
        let ends = match self.direction {
            Direction::Forward => format!(", {} in the last", self.last),
            Direction::Inverse => String::new(),
        };
        let stay = match self.resident {
            true => ", whose factors stay",
            false => "",
        };
        format!("{columns_are} of {columns}, {a}, {rows_are} of {rows}{ends}, {b}{stay}")
    }
}
