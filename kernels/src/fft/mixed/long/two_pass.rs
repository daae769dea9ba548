//! Transforms of mixed radix in two passes over system memory.
//!
//! N = N1 N2, number n1 N2 + n2, result k1 + N1 k2: N2 transforms of length N1 down the
//! columns, products with exp(-2 pi i k1 n2/N), N1 transforms of length N2 along the
//! rows. The DMA deals granules to the sections in turn, so that the halves of a quad
//! are neighbouring columns, and of the results neighbouring rows.

use super::stage::{Buffers, FACTORS, REACH, Stage};
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::mixed::plan::COMPLEX;
use crate::fft::mixed::program::in_place;
use crate::fft::mixed::radix::least_issues;
use crate::fft::mixed::recipe::{best_order, factors, least_slots};
use crate::fft::transform::Fft;
use crate::job::{Job, Least};
use crate::ring::Pages;
use cp2_asm::{Program, cis};
use cp2_dma::{Descriptor, Target};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Transforms of a granule of the DMA and of a quad.
const COUPLE: usize = 2;
/// Couples of lines that a section's page may have.
const COUPLES: [usize; 4] = [1, 2, 4, 8];
/// Page buffers: one computes, one is stored, one is loaded.
const BUFFERS: usize = 3;
/// DMEM for tables and arguments, at a guess; more is refused when it is known.
const TABLES: usize = 12_288;
/// Cycles of a pass over a page beside its slots, and of a page, at a guess.
const PASS: usize = 60;
const PAGE: usize = 30;

/// Lines of one pass: columns or rows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lines {
    length: usize,
    /// How many there are.
    count: usize,
    radices: Vec<usize>,
    /// Couples of them in a section's page.
    couples: usize,
    /// Whether they are columns, whose results are multiplied.
    columns: bool,
}

impl Lines {
    /// The lines of `length` numbers by the couples in a page that should take
    /// the least time, and that time in cycles.
    fn best(
        (length, count): (usize, usize),
        columns: bool,
        machine: &Machine,
    ) -> Option<(u64, Self)> {
        let sections = machine.cp2.sections;
        let radices = best_order(factors(length)?, (!columns, false));
        if radices.len() < 2 || length % COUPLE != 0 {
            return None;
        }
        let of = |couples| Self {
            length,
            count,
            radices: radices.clone(),
            couples,
            columns,
        };
        let fits = |lines: &Self| {
            let buffers = if columns { 2 * BUFFERS } else { BUFFERS } + 1;
            lines.page_lines(sections) <= count
                && buffers * lines.page_bytes() + TABLES <= machine.cp2.dmem.0.min(REACH) as usize
        };
        let all = COUPLES.into_iter().map(of).filter(fits);
        let priced = all.map(|lines| (lines.cost(machine), lines));
        priced.min_by_key(|(cost, _)| *cost)
    }

    /// Lines of a page of all sections.
    fn page_lines(&self, sections: usize) -> usize {
        COUPLE * self.couples * sections
    }

    /// Bytes of a section's page.
    fn page_bytes(&self) -> usize {
        COUPLE * self.couples * self.length * COMPLEX as usize
    }

    /// The least slots of a section's page.
    fn slots(&self) -> usize {
        let ends = (!self.columns, false);
        let couple = least_slots(self.length, 1, &self.radices, ends) as usize;
        self.couples * (couple + self.products())
    }

    /// Products of a couple of lines.
    fn products(&self) -> usize {
        if self.columns {
            COUPLE * self.length
        } else {
            0
        }
    }

    fn pages(&self, sections: usize) -> usize {
        self.count.div_ceil(self.page_lines(sections))
    }

    /// Cycles of the pass: arithmetic or DMA, whichever is more.
    fn cost(&self, machine: &Machine) -> u64 {
        let sections = machine.cp2.sections;
        let rate = machine.dma.bandwidth;
        let arrays = if self.columns { 3 } else { 2 };
        let bytes = (sections * self.page_bytes() * arrays) as u64;
        let runs = if self.columns {
            3 * self.length
        } else {
            self.length
        };
        let dma = bytes * rate.den / rate.num.max(1) + runs as u64;
        let compute = self.slots() + PASS * self.radices.len() + PAGE;
        self.pages(sections) as u64 * dma.max(compute as u64)
    }

    /// The page kernel.
    fn stage(&self, direction: Direction, machine: &Machine) -> Result<Stage, FftError> {
        let (length, page) = (self.length, self.page_bytes() as u64);
        let buffers = Buffers {
            page,
            factors: if self.columns { page } else { 0 },
            scratch: page,
            count: BUFFERS,
            in_place: true,
        };
        let kind = if self.columns { "columns" } else { "rows" };
        let name = format!("{kind} of {length}, {} at a time", COUPLE * self.couples);
        Stage::new(name, machine, buffers, |text| {
            let factors = self.columns.then_some(FACTORS);
            let radices = (&self.radices[..], direction);
            *text = in_place(length, radices, self.couples, factors, machine)?;
            Ok(())
        })
    }
}

/// A planned transform of mixed radix that does not fit local memory.
#[derive(Debug)]
pub struct TwoPassFft {
    direction: Direction,
    machine: Arc<Machine>,
    columns: Lines,
    rows: Lines,
    stages: [Stage; 2],
}

impl TwoPassFft {
    /// The transform of length `n`: a product of two even numbers, each a product
    /// of the radices of which pages fit local memory.
    ///
    /// # Errors
    /// Another length, or the machine has no room for it.
    pub fn new(n: usize, direction: Direction, machine: &Arc<Machine>) -> Result<Self, FftError> {
        let sections = machine.cp2.sections;
        let least = COUPLE * sections;
        let most = machine.cp2.dmem.0 as usize / (COUPLE * COMPLEX as usize);
        let lengths = (least..=most.min(n)).step_by(COUPLE);
        let divisions = lengths.filter(|n1| n % n1 == 0 && n / n1 <= most);
        let priced = divisions.filter_map(|n1| {
            let columns = Lines::best((n1, n / n1), true, machine)?;
            let rows = Lines::best((n / n1, n1), false, machine)?;
            Some((columns.0 + rows.0, columns.1, rows.1))
        });
        let best = priced.min_by_key(|(cost, ..)| *cost);
        let Some((_, columns, rows)) = best.filter(|_| machine.dma.granule.0 == 16) else {
            return Err(FftError::NoRoom {
                transform: format!("fft {n} {direction} in two passes"),
                machine: machine.name.clone(),
            });
        };
        let stages = [
            columns.stage(direction, machine)?,
            rows.stage(direction, machine)?,
        ];
        Ok(Self {
            direction,
            machine: machine.clone(),
            columns,
            rows,
            stages,
        })
    }

    /// exp(-2 pi i k1 n2/N), row after row.
    fn turns(&self) -> Vec<Complex32> {
        let n = self.len();
        let turn = |i: usize| {
            let (k1, n2) = (i / self.rows.length, i % self.rows.length);
            let (re, im) = cis(-((k1 * n2) as i64), n as i64);
            Complex32::new(re as f32, im as f32)
        };
        (0..n).map(turn).collect()
    }

    fn passes(&self, batch: usize, [x, between, y]: [u64; 3], turns: u64) -> [MatrixPages; 2] {
        let pass = |index: usize, lines: &Lines, from, to| {
            let issues = lines.slots() as u64;
            MatrixPages {
                lines: lines.clone(),
                sections: self.machine.cp2.sections,
                matrices: batch,
                from,
                to,
                turns,
                issues,
                overhead: self.stages[index].overhead(issues),
            }
        };
        [
            pass(0, &self.columns, x, between),
            pass(1, &self.rows, between, y),
        ]
    }
}

impl Fft for TwoPassFft {
    fn len(&self) -> usize {
        self.columns.length * self.rows.length
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn recipe(&self) -> String {
        let lines = |lines: &Lines| {
            let radices: Vec<String> = lines.radices.iter().map(usize::to_string).collect();
            let per = COUPLE * lines.couples;
            format!(
                "{} ({}), {per} a section and page",
                lines.length,
                radices.join(" x ")
            )
        };
        format!(
            "fft {} {}: mixed columns of {}, rows of {}",
            self.len(),
            self.direction,
            lines(&self.columns),
            lines(&self.rows)
        )
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// None: every pass has its own.
    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(None)
    }

    fn source(&self, _file: &str) -> Option<String> {
        None
    }

    /// Input, what is between the passes, and output; the factors, programs.
    fn max_batch(&self) -> usize {
        let bytes = self.len() as u64 * COMPLEX;
        let free = self.machine.host.memory.0.saturating_sub(bytes + (1 << 20));
        usize::try_from(free / (3 * bytes)).unwrap_or(usize::MAX)
    }

    /// The arithmetic of the radices, one pass without factors, and every number over the DMA
    /// channel four times.
    fn least(&self, batch: usize) -> Least {
        let n = self.len();
        let radices = [&self.columns.radices[..], &self.rows.radices].concat();
        Least {
            issues: batch as u128 * u128::from(least_issues(&radices)),
            bytes: batch as u128 * 4 * n as u128 * u128::from(COMPLEX),
            ..Least::default()
        }
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let pages = self.passes(batch, [0; 3], 0);
        let stages = self.stages.iter().zip(pages);
        stages
            .map(|(stage, pages)| stage.operations(pages.count()))
            .collect()
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        let between = job.temporary::<Complex32>((batch * self.len()) as u64)?;
        let turns = job.input(&self.turns())?.address();
        let passes = self.passes(batch, [from, between.address(), to], turns);
        for (stage, pages) in self.stages.iter().zip(passes) {
            stage.append(job, pages)?;
        }
        Ok(())
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let passes = self.passes(batch, [0; 3], 0);
        let stages = self.stages.iter().zip(passes);
        let cycles: f64 = stages.map(|(s, p)| s.expected(p, &self.machine)).sum();
        Ok(Cycles(cycles.ceil() as u64))
    }
}

/// Pages of columns of matrices, or of their rows, whose results are columns.
#[derive(Clone, Debug)]
struct MatrixPages {
    lines: Lines,
    sections: usize,
    matrices: usize,
    from: u64,
    to: u64,
    /// Address of the columns' factors.
    turns: u64,
    issues: u64,
    overhead: u64,
}

impl MatrixPages {
    /// Bytes from a matrix to the one of a page, and its first line: the last page
    /// begins earlier where it would not be full, and computes some once more.
    fn first(&self, page: u64) -> (u64, u64) {
        let pages = self.lines.pages(self.sections) as u64;
        let lines = self.lines.page_lines(self.sections) as u64;
        let last = self.lines.count as u64 - lines;
        let matrix = (self.lines.count * self.lines.length) as u64 * COMPLEX;
        (page / pages * matrix, (page % pages * lines).min(last))
    }

    /// The page's lines as columns of the matrix at `system`, granules dealt in turn.
    fn dealt(
        &self,
        system: u64,
        page: u64,
        local: u32,
        transfer: fn(Target, u64, u32, u64) -> Descriptor,
    ) -> Descriptor {
        let (_, first) = self.first(page);
        let run = self.lines.page_lines(self.sections) as u64 * COMPLEX;
        let couples = (COUPLE * self.lines.couples) as i64 * COMPLEX as i64;
        let row = (self.lines.count as u64 * COMPLEX) as i64;
        transfer(Target::Deal, system + first * COMPLEX, local, run).level(
            self.lines.length as u32,
            row,
            couples,
        )
    }
}

impl Pages for MatrixPages {
    fn count(&self) -> u64 {
        (self.matrices * self.lines.pages(self.sections)) as u64
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (matrix, first) = self.first(page);
        let system = self.from + matrix;
        if self.lines.columns {
            return vec![
                self.dealt(self.turns, page, factors, Descriptor::load),
                self.dealt(system, page, local, Descriptor::load),
            ];
        }
        // Couples of rows, dealt to the sections in turn.
        let couple = (COUPLE * self.lines.length) as u64 * COMPLEX;
        let target = Target::Blocks {
            stride: couple as i64,
        };
        let at = system + first / COUPLE as u64 * couple;
        let load = Descriptor::load(target, at, local, couple);
        let next = (self.sections as u64 * couple) as i64;
        vec![load.level(self.lines.couples as u32, next, couple as i64)]
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (matrix, _) = self.first(page);
        vec![self.dealt(self.to + matrix, page, local, Descriptor::store)]
    }

    fn issues(&self, _page: u64) -> u64 {
        self.issues
    }

    fn overhead(&self, _page: u64) -> u64 {
        self.overhead
    }
}
