//! How a transform larger than DMEM is cut into columns and rows.

use super::column_and_row_pages::{ColumnPages, RowPages};
use super::column_and_row_ring::{self, ColumnRingPages, RowRingPages};
use super::line_batch::{COMPLEX, LineBatch};
use crate::fft::TransformDirection;
use crate::fft::error::{FftError, NoDivision};
use cp2_host::paging::{PassEstimate, QUAD, Ring, RingPass, deals_quads};
use cp2_machine::Machine;
use std::fmt;

/// The smallest number of bits of a length, and the largest.
pub(super) const BITS: std::ops::RangeInclusive<u32> = 10..=22;
/// The largest number of bits of a length whose lines are all shorter than 1024. A page
/// of those, with long runs, leaves no room for others but in parts (`docs/fft-large.md`).
const WHOLE_PAGES: u32 = 18;
/// The smallest number of bits of a length that three passes divide: columns of 32 and, twice, lines of 32.
const THREE_PASSES: u32 = 15;
/// Length of the lines that have no other pages.
const LONGEST: usize = column_and_row_ring::PAGE / 2;

/// Bytes of a run that pages of columns and rows have wherever one of that width fits.
pub(super) const RUN: u64 = 128;

/// A transform of N = N1 N2 numbers as columns of length N1 and rows of length N2,
/// or of N = N0 N1 N2 with another pass of columns of length N0 before them.
///
/// ```
/// use cp2_kernels::fft::{TransformDirection, FourStepRecipe};
/// use cp2_machine::Machine;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let recipe = FourStepRecipe::new(1 << 16, TransformDirection::Forward, &vm7)?;
/// assert_eq!(recipe.columns().len() * recipe.rows().len(), 65536);
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FourStepRecipe {
    n: usize,
    direction: TransformDirection,
    /// N0, 1 where there is no such pass.
    outer: usize,
    columns: LineBatch,
    rows: LineBatch,
    /// Page buffers of the column pass and of the row pass.
    buffers: [usize; 2],
    sections: u64,
}

impl FourStepRecipe {
    /// The lengths that there are recipes for.
    #[must_use]
    pub fn lengths() -> Vec<usize> {
        BITS.map(|bits| 1 << bits).collect()
    }

    /// The division that should be fastest, alone and in a batch.
    ///
    /// # Errors
    /// A length without a division, or a machine whose DMEM or sections fit none.
    pub fn new(
        n: usize,
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Self, FftError> {
        let refused = || Self::refused(n, machine);
        Self::candidates(n, direction, machine)
            .next()
            .ok_or_else(refused)
    }

    /// The refusal of a length without a division on the machine.
    pub(super) fn refused(n: usize, machine: &Machine) -> FftError {
        let length = n.is_power_of_two() && BITS.contains(&n.ilog2());
        FftError::Division {
            n,
            machine: machine.name.clone(),
            cause: NoDivision::explain_machine(length, machine),
        }
    }

    /// All divisions whose pages fit: first those in two passes, for a third costs more than any, and of each kind
    /// the fastest first. Those in three are made where the others have been passed over.
    pub(super) fn candidates(
        n: usize,
        direction: TransformDirection,
        machine: &Machine,
    ) -> impl Iterator<Item = Self> {
        let sections = machine.cp2.sections;
        let granule_fits = deals_quads(machine) && sections.is_power_of_two();
        let has = n.is_power_of_two() && BITS.contains(&n.ilog2()) && granule_fits;
        let bits = n.checked_ilog2().unwrap_or(0);
        // Of three passes each takes about a third of the bits.
        let third = (bits >= THREE_PASSES).then(|| 1 << (bits / 3));
        let outers = std::iter::once(1).chain(third).filter(move |_| has);
        outers.flat_map(move |outer| Self::divisions((n, outer), direction, machine))
    }

    /// Those with a pass of columns of `outer` before the two, if it is not 1.
    fn divisions(
        (n, outer): (usize, usize),
        direction: TransformDirection,
        machine: &Machine,
    ) -> Vec<Self> {
        let sections = machine.cp2.sections;
        let mut all: Vec<(f64, Self)> = Vec::new();
        let inner = n / outer;
        for bits in 5..inner.ilog2() {
            let (n1, n2) = (1usize << bits, inner >> bits);
            for columns in lines(n1, (n, outer)) {
                for rows in lines(n2, (n, outer)) {
                    let tile = columns.per_section() * sections;
                    let tiles = !rows.in_parts() || column_and_row_ring::takes_tiles(n2, tile);
                    let fits = tiles && tile <= n2 && rows.per_section() * sections <= n1;
                    for buffers in buffers(&columns, &rows) {
                        let recipe = Self {
                            n,
                            direction,
                            outer,
                            columns: columns.clone(),
                            rows: rows.clone(),
                            buffers,
                            sections: sections as u64,
                        };
                        if fits && recipe.least_dmem() <= machine.cp2.dmem.0 {
                            all.push((recipe.weight(machine), recipe));
                        }
                    }
                }
            }
        }
        // Short runs are for lines that leave no room for a page with long ones.
        all.sort_by(|(a, one), (b, other)| {
            let runs = one.short_runs().cmp(&other.short_runs());
            runs.then(a.total_cmp(b))
        });
        all.into_iter().map(|(_, recipe)| recipe).collect()
    }

    /// Whether it has as many passes and as long runs as another.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.outer, self.short_runs()) == (other.outer, other.short_runs())
    }

    /// About what plans are compared by, before programs are made: a transform alone counts as much as one of several.
    fn weight(&self, machine: &Machine) -> f64 {
        let each = |batch: u64| self.expect(machine, batch).cycles / batch as f64;
        each(1) + each(4)
    }

    /// How many of the last two passes have runs shorter than [`RUN`].
    fn short_runs(&self) -> usize {
        let short = |lines: &&LineBatch| lines.per_section() as u64 * self.sections * COMPLEX < RUN;
        [&self.columns, &self.rows]
            .into_iter()
            .filter(short)
            .count()
    }

    /// Whether the lines of pass 0 (columns) or 1 (rows) go through DMEM in parts.
    pub(super) fn in_parts(&self, pass: usize) -> bool {
        [&self.columns, &self.rows][pass].in_parts()
    }

    /// DMEM for page buffers and factors, without the tables of the program.
    fn least_dmem(&self) -> u64 {
        self.ring_bytes(0).max(self.ring_bytes(1))
    }

    /// DMEM for the buffers of a pass.
    fn ring_bytes(&self, pass: usize) -> u64 {
        if self.in_parts(pass) {
            return column_and_row_ring::bytes([&self.columns, &self.rows][pass], pass == 1);
        }
        let each = match pass {
            0 => self.columns.page_bytes() + self.column_factor_bytes(),
            _ => self.rows.page_bytes() + self.rows.factor_bytes(),
        };
        self.buffers[pass] as u64 * each
    }

    /// Bytes of the factors of a page of columns.
    pub(super) fn column_factor_bytes(&self) -> u64 {
        match self.outer {
            1 => 0,
            _ => self.columns.column_factor_bytes(),
        }
    }

    /// Length of the columns of a pass before the two, if there is one.
    #[must_use]
    pub fn outer(&self) -> Option<usize> {
        Some(self.outer).filter(|&outer| outer > 1)
    }

    /// All rows: those that a shift distinguishes.
    pub(super) fn height(&self) -> usize {
        self.outer * self.columns.len()
    }

    /// Length of the transform.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Never: a transform has at least 1024 numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Direction.
    #[must_use]
    pub fn direction(&self) -> TransformDirection {
        self.direction
    }

    /// The columns, first pass over memory.
    #[must_use]
    pub fn columns(&self) -> &LineBatch {
        &self.columns
    }

    /// The rows, second pass.
    #[must_use]
    pub fn rows(&self) -> &LineBatch {
        &self.rows
    }

    /// Butterflies x + yw, x - yw of one transform: N/2 log2 N.
    #[must_use]
    pub fn butterflies(&self) -> u64 {
        (self.n / 2) as u64 * u64::from(self.n.trailing_zeros())
    }

    /// The argument blocks and the buffers of both passes, whose programs' data end at
    /// `ends` in DMEM; none if they do not fit in `dmem` bytes.
    pub(super) fn rings(&self, ends: [u64; 2], dmem: u64) -> Option<[Ring; 2]> {
        let ring = |pass: usize, page: u64, factors: u64| {
            let first = ends[pass].next_multiple_of(QUAD);
            let second = first + Ring::argument_bytes(self.buffers[0]);
            let pages = second + Ring::argument_bytes(self.buffers[1]);
            if self.in_parts(pass) {
                // The ring lies before the data.
                let fits = first + Ring::argument_bytes(column_and_row_ring::RING) <= dmem;
                return fits.then(|| column_and_row_ring::ring(first));
            }
            let fits = pages + self.ring_bytes(pass) <= dmem;
            let arguments = [first, second][pass];
            fits.then(|| Ring::new(arguments, pages, self.buffers[pass], page, factors))
        };
        Some([
            ring(0, self.columns.page_bytes(), self.column_factor_bytes())?,
            ring(1, self.rows.page_bytes(), self.rows.factor_bytes())?,
        ])
    }

    /// The last two passes of `batch` transforms from `x` over `tiles` to `y`.
    pub(super) fn passes(
        &self,
        [first, second]: [Ring; 2],
        batch: u64,
        [x, tiles, y]: [u64; 3],
        [shifts, factors]: [u64; 2],
    ) -> [RingPass; 2] {
        let columns = if self.columns.in_parts() {
            let columns = ColumnRingPages {
                lines: self.columns.clone(),
                sections: self.sections,
                matrices: batch,
                width: self.rows.len() as u64,
                from: x,
                to: tiles,
                tiled: true,
            };
            RingPass::new(first, columns)
        } else {
            let columns = ColumnPages {
                lines: self.columns.clone(),
                sections: self.sections,
                matrices: batch * self.outer as u64,
                width: self.rows.len() as u64,
                from: x,
                to: tiles,
                tiled: Some(self.outer as u64),
                factors: self.outer().map(|_| shifts),
            };
            RingPass::new(first, columns)
        };
        let tile = self.columns.per_section() as u64 * self.sections;
        let rows = if self.rows.in_parts() {
            let rows = RowRingPages {
                lines: self.rows.clone(),
                sections: self.sections,
                matrices: batch,
                height: self.height() as u64,
                tile,
                from: tiles,
                to: y,
                factors,
            };
            RingPass::new(second, rows)
        } else {
            let rows = RowPages {
                resident: 0,
                lines: self.rows.clone(),
                sections: self.sections,
                matrices: batch,
                height: self.height() as u64,
                sharing: 1,
                tile,
                from: tiles,
                to: y,
                factors,
            };
            RingPass::new(second, rows)
        };
        [columns, rows]
    }

    /// What the last two passes of `batch` transforms should take, without the load of the program.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> PassEstimate {
        let Some(rings) = self.rings([0; 2], u64::MAX) else {
            return PassEstimate::default();
        };
        let [a, b] = self
            .passes(rings, batch, [0; 3], [0; 2])
            .map(|pass| pass.expect(machine));
        PassEstimate {
            cycles: a.cycles + b.cycles,
            least: a.least + b.least,
        }
    }
}

/// Lines of `length` that there are page kernels for, in a transform of `n` in two
/// passes, or in more after one of columns of `outer`.
fn lines(length: usize, (n, outer): (usize, usize)) -> Vec<LineBatch> {
    let parts = n.ilog2() > WHOLE_PAGES && outer == 1;
    let parts = LineBatch::new_ring_page(length).filter(|_| parts);
    let whole = [2, 4, 8, 16].map(|per| LineBatch::new(length, per).filter(|_| length < LONGEST));
    whole.into_iter().flatten().chain(parts).collect()
}

/// The numbers of page buffers to consider for columns and rows.
fn buffers(columns: &LineBatch, rows: &LineBatch) -> Vec<[usize; 2]> {
    let counts = |lines: &LineBatch| match lines.in_parts() {
        true => vec![column_and_row_ring::RING],
        false => vec![3, 4],
    };
    let of = |columns: usize| counts(rows).into_iter().map(move |rows| [columns, rows]);
    counts(columns).into_iter().flat_map(of).collect()
}

impl fmt::Display for FourStepRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fft {} {}:", self.n, self.direction)?;
        if let Some(outer) = self.outer() {
            write!(f, " columns of {outer}, then")?;
        }
        for (i, (name, lines)) in [("columns", &self.columns), ("rows", &self.rows)]
            .into_iter()
            .enumerate()
        {
            let radices: Vec<String> = lines.radices().iter().map(ToString::to_string).collect();
            let (comma, per, buffers) = (
                if i == 0 { "" } else { "," },
                lines.per_section(),
                self.buffers[i],
            );
            let of = if lines.in_parts() {
                " of an eighth"
            } else {
                ""
            };
            write!(
                f,
                "{comma} {name} of {} ({}), {per} a section and page, {buffers} buffers{of}",
                lines.len(),
                radices.join(" x ")
            )?;
        }
        Ok(())
    }
}
