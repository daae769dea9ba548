//! A transform of real numbers larger than DMEM, in two passes over system memory.

use super::lines::{COMPLEX, ColumnPages, Lines};
use super::plan::{give, image, loaded, place, unless_large};
use super::real_pages::{RealColumns, RealRows, SECTIONS, Tiles};
use crate::assembly::moves;
use crate::fft::error::FftError;
use crate::fft::program::{real_program, source};
use crate::fft::transform::load;
use crate::job::{self, Job, Least, data_end};
use crate::ring::{Ring, RingPass};
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::fmt;
use std::sync::Arc;

/// Bits of the lengths: shorter ones have their complex numbers in local memory, lines of longer ones do not fit.
const BITS: std::ops::RangeInclusive<u32> = 14..=19;
/// Columns of a section's page.
const COLUMNS: [usize; 3] = [2, 4, 8];
/// Rows of a section's page.
const ROWS: [usize; 3] = [4, 8, 16];
/// Page buffers.
const BUFFERS: [usize; 2] = [3, 4];
/// Batches for which divisions are looked for: small pages suit a transform alone, large ones many.
const BATCHES: [u64; 3] = [1, 4, 32];

/// Rows N2 and columns N1 of a transform of N1 N2 real numbers, and the pages of both.
#[derive(Clone, Debug, PartialEq)]
struct Division {
    columns: Lines,
    rows: Lines,
    buffers: [usize; 2],
}

/// Forward transforms of N real numbers: columns two at a time, then rows 0 to N1/2.
#[derive(Debug)]
pub(in crate::fft) struct LargeReal {
    machine: Arc<Machine>,
    /// By the batch that each suits, the smallest first.
    plans: Vec<Plan>,
}

/// A division that has been placed.
#[derive(Debug)]
struct Plan {
    /// The batch that it was looked for.
    batch: u64,
    division: Division,
    programs: [Arc<Program>; 2],
    rings: [Ring; 2],
}

/// Programs of columns and rows, and their buffers.
type Fitted = ([Arc<Program>; 2], [Ring; 2]);

impl Division {
    fn n(&self) -> u64 {
        (self.columns.len() * self.rows.len()) as u64
    }

    fn tiles(&self) -> Tiles {
        Tiles {
            height: self.columns.len() as u64,
            width: self.rows.len() as u64,
        }
    }

    /// All that fit, the fastest of `batch` transforms first.
    fn all(n: usize, machine: &Machine, batch: u64) -> Vec<Self> {
        let dmem = machine.cp2.dmem.0;
        let fit = machine.dma.granule.0 == 16 && machine.cp2.sections as u64 == SECTIONS;
        if !n.is_power_of_two() || !fit {
            return Vec::new();
        }
        let mut all = Vec::new();
        for bits in 5..n.ilog2() {
            let (n1, n2) = (1usize << bits, n >> bits);
            let columns = COLUMNS.map(|per| {
                let fits = per * SECTIONS as usize * 2 <= n2;
                Lines::new(n1, per).filter(|_| fits)
            });
            let rows = ROWS.map(|per| {
                let fits = 2 * per * SECTIONS as usize <= n1;
                Lines::new(n2, per).filter(|_| fits)
            });
            let [columns, rows] = [columns, rows].map(|lines| {
                let lines = lines.into_iter().flatten();
                let each = lines.flat_map(|lines| BUFFERS.map(|buffers| (lines.clone(), buffers)));
                each.collect::<Vec<_>>()
            });
            let (Some(column), Some(row)) = (columns.first(), rows.first()) else {
                continue;
            };
            // What a pass takes does not depend on the pages of the other.
            let priced = |pass: usize, lines: &[(Lines, usize)]| {
                let of = |(lines, buffers): &(Lines, usize)| {
                    let mut one = Self {
                        columns: column.0.clone(),
                        rows: row.0.clone(),
                        buffers: [*buffers; 2],
                    };
                    *[&mut one.columns, &mut one.rows][pass] = lines.clone();
                    (one.ring_bytes(pass) <= dmem).then(|| (one.expect(pass, machine, batch), one))
                };
                lines.iter().filter_map(of).collect::<Vec<_>>()
            };
            let rows = priced(1, &rows);
            for (a, one) in priced(0, &columns) {
                all.extend(rows.iter().map(|(b, other)| {
                    let division = Self {
                        columns: one.columns.clone(),
                        rows: other.rows.clone(),
                        buffers: [one.buffers[0], other.buffers[1]],
                    };
                    (a + b, division)
                }));
            }
        }
        all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        all.into_iter().map(|(_, division)| division).collect()
    }

    /// DMEM for the buffers of a pass.
    fn ring_bytes(&self, pass: usize) -> u64 {
        let buffers = self.buffers[pass] as u64;
        match pass {
            0 => buffers * RealColumns::page_bytes(&self.columns),
            _ => buffers * (self.rows.page_bytes() + self.rows.factor_bytes()),
        }
    }

    /// The argument blocks and buffers of both passes, whose programs' data end at `ends` in
    /// DMEM; none if they do not fit in `dmem` bytes.
    fn rings(&self, ends: [u64; 2], dmem: u64) -> Option<[Ring; 2]> {
        let arguments = Ring::argument_bytes(self.buffers[0].max(self.buffers[1]));
        let [first, second] = ends.map(|end| end.next_multiple_of(16));
        let pages = [first, second].map(|at| at + arguments);
        let fits = |at: u64, pass: usize| at.saturating_add(self.ring_bytes(pass)) <= dmem;
        if !fits(pages[0], 0) || !fits(pages[1], 1) {
            return None;
        }
        let columns = RealColumns::page_bytes(&self.columns);
        let columns = Ring::new(first, pages[0], self.buffers[0], columns, 0);
        let (page, factors) = (self.rows.page_bytes(), self.rows.factor_bytes());
        let rows = Ring::new(second, pages[1], self.buffers[1], page, factors);
        Some([columns, rows])
    }

    /// The passes of `batch` transforms from `x` over `tiles` to `y`.
    fn passes(
        &self,
        [first, second]: [Ring; 2],
        batch: u64,
        [x, tiles, y]: [u64; 3],
        factors: u64,
    ) -> [RingPass; 2] {
        let columns = RealColumns {
            columns: ColumnPages {
                lines: self.columns.clone(),
                sections: SECTIONS,
                matrices: batch,
                width: self.rows.len() as u64 / 2,
                from: x,
                to: tiles,
                tiled: None,
                factors: None,
            },
            tiles: self.tiles(),
        };
        let rows = RealRows {
            lines: self.rows.clone(),
            matrices: batch,
            tiles: self.tiles(),
            from: tiles,
            to: y,
            pitch: self.pitch() * COMPLEX,
            factors,
        };
        [RingPass::new(first, columns), RingPass::new(second, rows)]
    }

    /// Numbers from a half spectrum to the next: whole granules.
    fn pitch(&self) -> u64 {
        self.n() / 2 + 2
    }

    /// The factors of all pages of rows, in the order of pages and sections.
    fn factors(&self) -> Vec<Complex32> {
        let height = self.tiles().height;
        let firsts = RealRows::firsts(&self.rows, height);
        let each = firsts.flat_map(|first| {
            let first = first as usize;
            let rows: Vec<usize> = (first..first + self.rows.per_section()).collect();
            self.rows.factors(&rows, self.n() as usize)
        });
        each.collect()
    }

    /// What a pass of `batch` transforms should take, without the load of the program.
    fn expect(&self, pass: usize, machine: &Machine, batch: u64) -> f64 {
        let rings = self.rings([0; 2], u64::MAX);
        let passes = rings.map(|rings| self.passes(rings, batch, [0; 3], 0));
        passes.map_or(f64::INFINITY, |passes| passes[pass].expect(machine).cycles)
    }

    /// The programs of columns and rows, one for both or, where its tables leave too little room, two, and
    /// the buffers beside them; none if there is no room for these.
    fn place(&self, machine: &Machine) -> Result<Option<Fitted>, FftError> {
        let (columns, rows) = (Some(&self.columns), Some(&self.rows));
        let full = RealRows::full(&self.rows, self.tiles().height);
        let program = |columns, rows| {
            let assembly = real_program(columns, rows, full, machine)?;
            Ok::<_, FftError>(Arc::new(assembly.program))
        };
        let both = program(columns, rows)?;
        let rings = |programs: &[Arc<Program>; 2]| {
            let ends = [data_end(&programs[0]), data_end(&programs[1])];
            self.rings(ends, machine.cp2.dmem.0)
        };
        let one = [both.clone(), both];
        if let Some(rings) = rings(&one) {
            return Ok(Some((one, rings)));
        }
        let two = [program(columns, None)?, program(None, rows)?];
        Ok(rings(&two).map(|rings| (two, rings)))
    }
}

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "real fft {} forward: {}", self.n(), self.pages())
    }
}

impl Division {
    /// The pages of both passes, in words.
    fn pages(&self) -> String {
        let [columns, rows] = [&self.columns, &self.rows].map(|lines| {
            let radices: Vec<String> = lines.radices().iter().map(ToString::to_string).collect();
            let (length, per) = (lines.len(), lines.per_section());
            format!(
                "{length} ({}), {per} a section and page",
                radices.join(" x ")
            )
        });
        let [a, b] = self.buffers;
        format!(
            "couples of columns of {columns}, {a} buffers, half of the rows of {rows}, {b} buffers"
        )
    }
}

impl LargeReal {
    /// Whether there may be a plan for a length: a power of two beyond local memory.
    pub(in crate::fft) fn has(n: usize) -> bool {
        n.is_power_of_two() && BITS.contains(&n.ilog2())
    }

    /// The transform of `n` real numbers.
    ///
    /// # Errors
    /// No division into pages fits the machine.
    pub(in crate::fft) fn new(n: usize, machine: Arc<Machine>) -> Result<Self, FftError> {
        let mut plans: Vec<Plan> = Vec::new();
        for batch in BATCHES {
            let mut unfit = None;
            let mut found = None;
            for division in Division::all(n, &machine, batch) {
                found = plans.iter().position(|plan| plan.division == division);
                if found.is_some() {
                    break;
                }
                let placed = unless_large(division.place(&machine), &mut unfit)?;
                let Some((programs, rings)) = placed.flatten() else {
                    continue;
                };
                for pass in division.passes(rings.clone(), 1, [0; 3], 0) {
                    moves(&division.to_string(), &pass, &machine)?;
                }
                found = Some(plans.len());
                plans.push(Plan {
                    batch,
                    division,
                    programs,
                    rings,
                });
                break;
            }
            if found.is_none() {
                return Err(unfit.map_or(FftError::RealLength { n }, FftError::Unfit));
            }
        }
        Ok(Self { machine, plans })
    }

    /// The plan that takes the least time for `batch` transforms.
    fn plan(&self, batch: usize) -> &Plan {
        let of = |plan: &&Plan| plan.expected(&self.machine, batch);
        let best = self.plans.iter().min_by_key(of);
        // There is one at least.
        best.unwrap_or(&self.plans[0])
    }

    pub(in crate::fft) fn len(&self) -> usize {
        self.plans[0].division.n() as usize
    }

    /// What the planner has decided for a transform alone and, where that is another, for many.
    pub(in crate::fft) fn recipe(&self) -> String {
        let many = self.plans[1..].iter();
        let many =
            many.map(|plan| format!("; for batches of {}: {}", plan.batch, plan.division.pages()));
        self.plans[0].division.to_string() + &many.collect::<String>()
    }

    pub(in crate::fft) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// The program of the columns.
    pub(in crate::fft) fn program(&self, batch: usize) -> &Arc<Program> {
        &self.plan(batch).programs[0]
    }

    pub(in crate::fft) fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Input, tiles and half spectra.
    pub(in crate::fft) fn max_batch(&self) -> usize {
        let room = |plan: &Plan| plan.max_batch(&self.machine);
        self.plans.iter().map(room).min().unwrap_or(0)
    }

    /// N/4 (log2 N + 1) issues, and every byte over the channel: in and out once where a section's
    /// DMEM could hold the transform, twice where none could.
    pub(in crate::fft) fn least(&self, batch: usize) -> Least {
        let (batch, n) = (batch as u128, self.len() as u128);
        let passes = if 4 * n < u128::from(self.machine.cp2.dmem.0) {
            1
        } else {
            2
        };
        Least {
            butterflies: batch * (n / 4) * u128::from(n.ilog2()),
            issues: batch * (n / 4),
            bytes: batch * 8 * passes * n,
        }
    }

    pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let division = &self.plan(batch).division;
        let batch = batch as u64 * SECTIONS;
        let lines = &division.columns;
        let pages =
            batch * division.rows.len() as u64 / (2 * SECTIONS * lines.per_section() as u64);
        let columns = vec![(
            Class::Butterfly,
            pages * (lines.butterflies() + lines.separate_issues()),
        )];
        let lines = &division.rows;
        let full = RealRows::full(lines, division.tiles().height);
        let couple = lines.with(2);
        let sum = |of: fn(&Lines) -> u64| batch * (full * of(lines) + of(&couple));
        let butterflies = sum(Lines::butterflies);
        let rows = vec![
            (Class::Butterfly, butterflies),
            (Class::Madd, sum(Lines::shifted_issues) - butterflies),
            (Class::Integer, sum(RealRows::conjugates)),
        ];
        vec![columns, rows]
    }

    /// The job that transforms real numbers, where the half spectra will be, and numbers from one to the next.
    pub(in crate::fft) fn forward(
        &self,
        input: &[f32],
        batch: usize,
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>, usize), FftError> {
        let plan = self.plan(batch);
        let division = &plan.division;
        let mut job = Job::new(self.machine.clone(), options);
        let x = job.input(input)?;
        let tiles = division.tiles().bytes() * batch as u64;
        let tiles = job.temporary::<Complex32>(tiles / COMPLEX)?;
        let y = job.output("y", &[batch as u64, division.pitch()])?;
        let factors = job.input(&division.factors())?;
        let placed = place(&mut job, &division.to_string(), &plan.programs)?;
        let passes = division.passes(
            plan.rings.clone(),
            batch as u64,
            [x.address(), tiles.address(), y.address()],
            factors.address(),
        );
        give(&mut job, &placed, passes)?;
        Ok((job, y, division.pitch() as usize))
    }

    pub(in crate::fft) fn expected(&self, batch: usize) -> Cycles {
        self.plan(batch).expected(&self.machine, batch)
    }
}

impl Plan {
    /// Bytes of the programs in the order in which they are loaded.
    fn images(&self) -> impl Iterator<Item = u64> {
        loaded(&self.programs).map(|program| image(program) as u64)
    }

    fn max_batch(&self, machine: &Machine) -> usize {
        let division = &self.division;
        let each = 4 * division.n() + division.tiles().bytes() + division.pitch() * COMPLEX;
        let factors = division.factors().len() as u64 * COMPLEX;
        let beside = factors + self.images().skip(1).sum::<u64>();
        let free = job::room(machine, &self.programs[0]).saturating_sub(beside);
        usize::try_from(free / each).unwrap_or(usize::MAX)
    }

    fn expected(&self, machine: &Machine, batch: usize) -> Cycles {
        let pass = |pass| self.division.expect(pass, machine, batch as u64);
        let image = load(self.images().sum(), machine);
        Cycles((pass(0) + pass(1) + image).ceil() as u64)
    }
}
