//! The planner of arrays of which one axis is divided between two passes: the parts of it with another axis,
//! then the transforms across each part, and along a third axis where there is one.

use super::axis::rings;
use super::joint::{Joint, JointPages};
use super::lines::{LAST, Lines};
use super::pages::{ColumnPages, RowPages, rows_of};
use crate::fft::error::FftError;
use crate::fft::program::{large_program, large_program_at};
use crate::fft::recipe::Direction;
use crate::job::{Job, data_end, image, load};
use crate::ring::{Expected, Ring, RingPass, expect_all, follow};
use cp2_asm::{Assembly, Program};
use cp2_dma::{Descriptor, Target};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// How many ways to make both passes, the fastest one after the other, are looked at with the program of the second
/// loaded beside the first.
const CLOSE: usize = 6;
/// Words of a granule.
const WORDS: usize = 2;

/// Two passes over arrays. With n = N/8 n1 + n2 and k = k1 + 8 k2 along the divided axis of N numbers the
/// first makes k1 of n1 and transforms another axis, the second makes k2 of n2, for each k1 at
/// frequencies shifted by k1/8. (Or 4 instead of 8.)
#[derive(Debug)]
pub(super) struct Split {
    divided: Divided,
    direction: Direction,
    sections: u64,
    /// The ways to make each pass: which of them is the fastest depends on the batch.
    first: Vec<Visit>,
    second: Vec<Visit>,
}

/// Which axis is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Divided {
    /// One before the last: for each k1 the first pass leaves a matrix of rows n2, which the second transforms
    /// along another axis as well, if there is one.
    Columns(Joint),
    /// The rows of arrays of so many rows and numbers of a row: it leaves tiles of which rows (row, k1) have numbers n2.
    Rows([usize; 2]),
}

/// A pass over memory.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub lines: Lines,
    pub ring: Ring,
    program: Arc<Program>,
}

/// Ways to make the two passes, and what they should take.
struct Plan<'a> {
    visits: [&'a Visit; 2],
    /// Where the tables of the second are in DMEM if its program comes while the first runs.
    behind: Option<u64>,
    expected: Expected,
}

impl Split {
    /// The ways through the last axes of arrays of this shape: the last two, or the last three.
    pub(super) fn all(
        shape: &[usize],
        direction: Direction,
        machine: &Machine,
    ) -> Result<Vec<Self>, FftError> {
        let (&[.., length, width], 16) = (shape, machine.dma.granule.0) else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        let mut add = |divided, [first, second]: [Vec<Visit>; 2]| {
            if !first.is_empty() && !second.is_empty() {
                all.push(Self {
                    divided,
                    direction,
                    sections: machine.cp2.sections as u64,
                    first,
                    second,
                });
            }
        };
        for joint in Joint::all(shape) {
            add(Divided::Columns(joint), joint.ways(direction, machine)?);
        }
        let rows = by_rows([length, width], direction, machine)?;
        add(Divided::Rows([length, width]), rows);
        Ok(all)
    }

    /// How many axes there are in it.
    pub(super) fn axes(&self) -> usize {
        match self.divided {
            Divided::Columns(joint) if joint.joined > 1 => 3,
            _ => 2,
        }
    }

    /// Length of the lines of the second pass.
    fn across(&self) -> usize {
        self.second.first().map_or(0, |visit| visit.lines.len())
    }

    /// Bytes of programs, tables and factors.
    pub(super) fn image(&self) -> u64 {
        let all = self.first.iter().chain(&self.second);
        let most = all.map(|visit| image(&visit.program)).max().unwrap_or(0);
        let factors = self.second.iter().map(|visit| match self.divided {
            Divided::Columns(Joint { parts, .. }) => parts * visit.lines.column_factor_bytes(),
            Divided::Rows(_) => self.sections * visit.lines.factor_bytes(),
        });
        2 * most + factors.max().unwrap_or(0)
    }

    /// What the passes over `batch` arrays should take, the loads of their programs included.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> Option<Expected> {
        Some(self.fastest(machine, batch)?.expected)
    }

    /// The fastest way to make the passes.
    fn fastest(&self, machine: &Machine, batch: u64) -> Option<Plan<'_>> {
        let price = |visit: &Visit, pass: RingPass| {
            let image = load(image(&visit.program), machine);
            pass.expect(machine).and(Expected {
                cycles: image,
                least: image,
            })
        };
        let mut plans = Vec::new();
        // Second passes by the tiles that they find.
        let mut after: Vec<(u64, Vec<Expected>)> = Vec::new();
        for first in &self.first {
            let tile = self.tile(first);
            if !after.iter().any(|(of, _)| *of == tile) {
                let seconds = self.second.iter();
                let priced =
                    seconds.map(|visit| price(visit, self.second_pass(visit, tile, batch, [0; 3])));
                after.push((tile, priced.collect()));
            }
            let own = price(first, self.first_pass(first, batch, [0; 2]));
            let seconds = after.iter().find(|(of, _)| *of == tile);
            let seconds = seconds.into_iter().flat_map(|(_, priced)| priced);
            plans.extend(seconds.zip(&self.second).map(|(rest, second)| Plan {
                visits: [first, second],
                behind: None,
                expected: own.and(*rest),
            }));
        }
        let by_time = |a: &Plan<'_>, b: &Plan<'_>| a.expected.cycles.total_cmp(&b.expected.cycles);
        plans.sort_by(by_time);
        plans.truncate(CLOSE);
        let followed = plans
            .iter()
            .filter_map(|plan| self.followed(machine, plan.visits, batch));
        let followed: Vec<Plan<'_>> = followed.collect();
        followed.into_iter().chain(plans).min_by(by_time)
    }

    /// The same where the program of the second pass comes while the first runs; none where DMEM has no room for both.
    fn followed<'a>(
        &self,
        machine: &Machine,
        visits: [&'a Visit; 2],
        batch: u64,
    ) -> Option<Plan<'a>> {
        let addresses = [0; 4];
        let [mut first, mut second] = self.passes(visits, None, batch, addresses);
        let tables = first.end()?;
        if tables + second.end()? > machine.cp2.dmem.0 {
            return None;
        }
        [first, second] = self.passes(visits, Some(tables), batch, addresses);
        let program = &visits[1].program;
        let words = 8 * program.words.len() as u64;
        let parts = [
            Descriptor::load(Target::Program, 0, 0, words),
            Descriptor::load(Target::Broadcast, 0, 0, image(program) - words),
        ];
        if !follow(&mut first, &mut second, &parts, machine) {
            return None;
        }
        let own = load(image(&visits[0].program), machine);
        let least = [&first, &second].map(|pass| pass.expect(machine).least);
        Some(Plan {
            visits,
            behind: Some(tables),
            expected: Expected {
                cycles: own + expect_all([&first, &second], machine),
                least: own + least[0] + least[1] - first.early(machine),
            },
        })
    }

    /// Both passes over arrays at the first address, with what is between them at the second, results at the third and
    /// factors at the last; the local memory of the second is so many bytes behind.
    fn passes(
        &self,
        [first, second]: [&Visit; 2],
        behind: Option<u64>,
        batch: u64,
        [from, between, to, factors]: [u64; 4],
    ) -> [RingPass; 2] {
        let second = Visit {
            ring: second.ring.clone().moved(behind.unwrap_or(0)),
            ..second.clone()
        };
        let addresses = [between, to, factors];
        [
            self.first_pass(first, batch, [from, between]),
            self.second_pass(&second, self.tile(first), batch, addresses),
        ]
    }

    /// The program of both passes, where that of the second comes while the first runs, and from which word and byte of DMEM
    /// on the second one's is.
    fn linked(
        &self,
        [first, second]: [&Visit; 2],
        tables: u64,
        machine: &Machine,
    ) -> Result<(Arc<Program>, [u64; 2]), FftError> {
        let (lines, direction) = (&second.lines, self.direction);
        let other = match self.divided {
            Divided::Columns(_) => {
                large_program_at(tables, Some(lines), None, true, direction, machine)
            }
            Divided::Rows(_) => {
                large_program_at(tables, None, Some(lines), false, direction, machine)
            }
        }?;
        let both = first.program.linked(&other.program, WORDS)?;
        let origin = both.words.len() - other.program.words.len();
        Ok((Arc::new(both), [origin as u64, tables]))
    }

    /// Columns of a tile that the first pass leaves to rows.
    fn tile(&self, first: &Visit) -> u64 {
        match self.divided {
            Divided::Columns(_) => 0,
            Divided::Rows(_) => first.lines.per_section() as u64 * self.sections,
        }
    }

    /// Adds the passes over `batch` arrays to a job.
    pub(super) fn add(
        &self,
        job: &mut Job,
        batch: u64,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let machine = job.machine().clone();
        let Some(Plan { visits, behind, .. }) = self.fastest(&machine, batch) else {
            return Ok(());
        };
        let numbers = batch.saturating_mul(self.numbers());
        let between = job.temporary::<Complex32>(numbers)?.address();
        let factors = job.input(&self.factors(&visits[1].lines))?.address();
        let (names, entries) = match self.divided {
            Divided::Columns(joint) => (joint.names(), ["arrays", "columns"]),
            Divided::Rows([length, _]) => (
                [
                    format!("{length} x {LAST}"),
                    format!("rows of {}", self.across()),
                ],
                ["columns", "rows"],
            ),
        };
        let addresses = [from, between, to, factors];
        let passes = self.passes(visits, behind, batch, addresses);
        if let Some(tables) = behind {
            let (program, second) = self.linked(visits, tables, &machine)?;
            let program = job.program(&names.join(" and "), &program)?;
            return Ok(job.followed(&program, entries, passes, second)?);
        }
        for (((pass, visit), name), entry) in passes.into_iter().zip(visits).zip(names).zip(entries)
        {
            let program = job.program(&name, &visit.program)?;
            job.ring(&program, entry, pass)?;
        }
        Ok(())
    }

    /// The factors of the second pass: of each k1, or of the rows of each section.
    fn factors(&self, lines: &Lines) -> Vec<Complex32> {
        let sections = self.sections as usize;
        match self.divided {
            Divided::Columns(Joint { parts, .. }) => (0..parts as usize)
                .flat_map(|k1| lines.column_factors(k1, parts as usize))
                .collect(),
            Divided::Rows([_, width]) => (0..sections)
                .map(|section| rows_of(0, section, sections, lines.per_section()))
                .flat_map(|rows| lines.factors(&rows, width))
                .collect(),
        }
    }

    fn first_pass(&self, visit: &Visit, batch: u64, [from, to]: [u64; 2]) -> RingPass {
        let (lines, sections) = (visit.lines.clone(), self.sections);
        let ring = visit.ring.clone();
        match self.divided {
            Divided::Columns(joint) => {
                RingPass::new(ring, joint.first(lines, (sections, batch), [from, to]))
            }
            Divided::Rows([_, width]) => {
                let pages = ColumnPages {
                    lines,
                    sections,
                    matrices: batch,
                    width: (width / LAST) as u64,
                    from,
                    to,
                    tiled: Some(1),
                    factors: None,
                };
                RingPass::new(ring, pages)
            }
        }
    }

    /// The second pass, over tiles of so many columns.
    fn second_pass(
        &self,
        visit: &Visit,
        tile: u64,
        batch: u64,
        [from, to, factors]: [u64; 3],
    ) -> RingPass {
        let (lines, sections) = (visit.lines.clone(), self.sections);
        let ring = visit.ring.clone();
        match self.divided {
            Divided::Columns(arrays) => {
                let pages = JointPages {
                    arrays,
                    lines,
                    sections,
                    batch,
                    from,
                    to,
                    factors,
                };
                RingPass::new(ring, pages)
            }
            Divided::Rows([length, _]) => {
                let length = length as u64;
                let pages = RowPages {
                    lines,
                    sections,
                    matrices: length * batch,
                    height: LAST as u64,
                    sharing: length,
                    tile,
                    from,
                    to,
                    factors,
                };
                RingPass::new(ring, pages)
            }
        }
    }

    /// Numbers of an array.
    fn numbers(&self) -> u64 {
        match self.divided {
            Divided::Columns(joint) => joint.numbers(),
            Divided::Rows([length, width]) => (length * width) as u64,
        }
    }

    /// What each pass computes for arrays of twice `halves` numbers in all.
    pub(super) fn operations(&self, halves: u64) -> Vec<Vec<(Class, u64)>> {
        let of = |levels: u32| (Class::Butterfly, halves * u64::from(levels));
        let (all, second) = (self.numbers().ilog2(), self.across().max(1).ilog2());
        let rows = matches!(self.divided, Divided::Rows(_));
        let products = rows.then_some((Class::Madd, halves));
        let second_pass = std::iter::once(of(second)).chain(products);
        vec![vec![of(all - second)], second_pass.collect()]
    }

    /// What the passes are, for a recipe.
    pub(super) fn recipe(&self) -> String {
        match self.divided {
            Divided::Columns(joint) => joint.recipe(),
            Divided::Rows(_) => format!(
                "columns and eighths of rows, then rows of {}",
                self.across()
            ),
        }
    }
}

/// The ways through arrays whose rows are divided; none where the eight parts of a row do not come
/// to the sections in couples.
fn by_rows(
    [length, width]: [usize; 2],
    direction: Direction,
    machine: &Machine,
) -> Result<[Vec<Visit>; 2], FftError> {
    let (sections, dmem) = (machine.cp2.sections, machine.cp2.dmem.0);
    let (per, numbers) = (LAST / sections, width / LAST);
    let rows = Lines::new(numbers, per).filter(|_| per % 2 == 0 && LAST % sections == 0);
    let Some(rows) = rows.filter(|_| width % LAST == 0) else {
        return Ok([Vec::new(), Vec::new()]);
    };
    let mut first = Vec::new();
    // Runs of 128 bytes, or of 256.
    for per in [16 / sections, 32 / sections] {
        let tiles = per % 2 == 0 && numbers % (per * sections) == 0;
        let Some(lines) = Lines::by_eight(length, per).filter(|_| tiles) else {
            continue;
        };
        if 3 * lines.page_bytes() <= dmem {
            let assembled = large_program(Some(&lines), None, false, direction, machine);
            first.extend(visits(lines, (0, dmem), assembled)?);
        }
    }
    if first.is_empty() {
        return Ok([Vec::new(), Vec::new()]);
    }
    let assembled = large_program(None, Some(&rows), false, direction, machine);
    let factors = rows.factor_bytes();
    Ok([first, visits(rows, (factors, dmem), assembled)?])
}

/// The ways through pages of `lines` with so many bytes of factors, where DMEM, of which so much is free, has room.
pub(super) fn visits(
    lines: Lines,
    (factors, free): (u64, u64),
    assembled: Result<Assembly, FftError>,
) -> Result<Vec<Visit>, FftError> {
    let program = match assembled {
        Ok(assembly) => Arc::new(assembly.program),
        Err(FftError::Unfit(e)) if e.is_size() => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let first = data_end(&program).next_multiple_of(16);
    let rings = rings(&lines, factors, first, free).into_iter();
    let visit = |ring| Visit {
        lines: lines.clone(),
        ring,
        program: program.clone(),
    };
    Ok(rings.map(visit).collect())
}
