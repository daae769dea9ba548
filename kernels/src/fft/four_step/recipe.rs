//! How a complex FFT beyond DMEM is cut into columns and rows.

use super::column_and_row_pages::{ColumnPages, RowPages};
use super::column_and_row_ring::{self, ColumnRingPages, RowRingPages};
use super::line_batch::{COMPLEX, LineBatch};
use crate::fft::TransformDirection;
use crate::fft::error::{FftError, NoDivision};
use cp2_host::paging::{PassEstimate, QUAD, Ring, RingPass, deals_quads};
use cp2_machine::Machine;
use std::fmt;

/// Range of log2 of the lengths.
pub(super) const LENGTH_BITS: std::ops::RangeInclusive<u32> = 10..=22;
/// Greatest log2 of a length whose lines are all shorter than 1024. A page of longer lines with long runs
/// leaves room for others only in parts (`docs/fft-large.md`).
const MAX_WHOLE_PAGE_BITS: u32 = 18;
/// Least log2 of a length for three passes: lines of 32 in each.
const MIN_THREE_PASS_BITS: u32 = 15;
/// Length of lines that have only pages in parts.
const LONGEST_LINE: usize = column_and_row_ring::PAGE / 2;

/// Least bytes of a run in system memory, wherever a page with such runs fits. Runs of 64 bytes take 20 to 25
/// % longer, for the channel pays for each (`docs/convolution.md`).
pub(super) const MIN_RUN_BYTES: u64 = 128;

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
    /// Length N0 of the pass before the two; 1 where there is none.
    outer: usize,
    columns: LineBatch,
    rows: LineBatch,
    /// Page buffers of the column pass and of the row pass.
    buffers: [usize; 2],
    sections: u64,
}

impl FourStepRecipe {
    /// Returns the lengths that there are recipes for.
    #[must_use]
    pub fn lengths() -> Vec<usize> {
        LENGTH_BITS.map(|bits| 1 << bits).collect()
    }

    /// Returns the division with the smallest expected time, alone and in a batch.
    ///
    /// # Errors
    /// A length without a division, or a machine whose DMEM or sections fit none.
    pub fn new(
        n: usize,
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Self, FftError> {
        let refused = || Self::make_refusal(n, machine);
        Self::candidates(n, direction, machine)
            .next()
            .ok_or_else(refused)
    }

    /// Makes the refusal of a length without a division on the machine.
    pub(super) fn make_refusal(n: usize, machine: &Machine) -> FftError {
        let length = n.is_power_of_two() && LENGTH_BITS.contains(&n.ilog2());
        FftError::Division {
            n,
            machine: machine.name.clone(),
            cause: NoDivision::explain_machine(length, machine),
        }
    }

    /// Lists all divisions whose pages fit. Divisions in two passes come first, since a third pass costs more
    /// than any difference between them, and the fastest of each kind is first. Divisions in three passes are
    /// computed only when the iterator has passed over the others.
    pub(super) fn candidates(
        n: usize,
        direction: TransformDirection,
        machine: &Machine,
    ) -> impl Iterator<Item = Self> {
        let sections = machine.cp2.sections;
        let granule_fits = deals_quads(machine) && sections.is_power_of_two();
        let has = n.is_power_of_two() && LENGTH_BITS.contains(&n.ilog2()) && granule_fits;
        let bits = n.checked_ilog2().unwrap_or(0);
        // Each of three passes takes about a third of the bits.
        let third = (bits >= MIN_THREE_PASS_BITS).then(|| 1 << (bits / 3));
        let outers = std::iter::once(1).chain(third).filter(move |_| has);
        outers.flat_map(move |outer| Self::divisions((n, outer), direction, machine))
    }

    /// Lists the divisions in two passes, or, unless `outer` is 1, with a pass of columns of `outer` before
    /// the two.
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
                    let tiles = !rows.is_in_parts() || column_and_row_ring::takes_tiles(n2, tile);
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
        // Divisions with short runs come last: they are for lines that leave no room for pages with long
        // runs.
        all.sort_by(|(a, one), (b, other)| {
            let runs = one.short_runs().cmp(&other.short_runs());
            runs.then(a.total_cmp(b))
        });
        all.into_iter().map(|(_, recipe)| recipe).collect()
    }

    /// True if both recipes have as many passes, and as many of them with short runs.
    pub(super) fn has_same_passes(&self, other: &Self) -> bool {
        (self.outer, self.short_runs()) == (other.outer, other.short_runs())
    }

    /// Returns the figure by which divisions are compared before programs are made: cycles of a transform
    /// alone, plus those of one in four.
    fn weight(&self, machine: &Machine) -> f64 {
        let each = |batch: u64| self.expect(machine, batch).cycles / batch as f64;
        each(1) + each(4)
    }

    /// Returns how many of the last two passes have runs shorter than [`MIN_RUN_BYTES`].
    fn short_runs(&self) -> usize {
        let short = |lines: &&LineBatch| {
            lines.per_section() as u64 * self.sections * COMPLEX < MIN_RUN_BYTES
        };
        [&self.columns, &self.rows]
            .into_iter()
            .filter(short)
            .count()
    }

    /// True if the lines of pass 0 (columns) or 1 (rows) go through DMEM in parts.
    pub(super) fn is_in_parts(&self, pass: usize) -> bool {
        [&self.columns, &self.rows][pass].is_in_parts()
    }

    /// Returns the bytes of DMEM for page buffers and factors, without the tables of the program.
    fn least_dmem(&self) -> u64 {
        self.ring_bytes(0).max(self.ring_bytes(1))
    }

    /// Returns the bytes of DMEM for the buffers of a pass.
    fn ring_bytes(&self, pass: usize) -> u64 {
        if self.is_in_parts(pass) {
            return column_and_row_ring::bytes([&self.columns, &self.rows][pass], pass == 1);
        }
        let each = match pass {
            0 => self.columns.page_bytes() + self.column_factor_bytes(),
            _ => self.rows.page_bytes() + self.rows.factor_bytes(),
        };
        self.buffers[pass] as u64 * each
    }

    /// Returns the bytes of the factors of a page of columns; 0 in two passes.
    pub(super) fn column_factor_bytes(&self) -> u64 {
        match self.outer {
            1 => 0,
            _ => self.columns.column_factor_bytes(),
        }
    }

    /// Returns the length of the columns of a pass before the two, if there is one.
    #[must_use]
    pub fn outer(&self) -> Option<usize> {
        Some(self.outer).filter(|&outer| outer > 1)
    }

    /// Returns the number of rows that have different shifts: N0 N1.
    pub(super) fn height(&self) -> usize {
        self.outer * self.columns.len()
    }

    /// Returns the length of the transform.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Returns false: a transform has at least 1024 numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Returns the direction of the transform.
    #[must_use]
    pub fn direction(&self) -> TransformDirection {
        self.direction
    }

    /// Returns the columns, the first of the two passes.
    #[must_use]
    pub fn columns(&self) -> &LineBatch {
        &self.columns
    }

    /// Returns the rows, the second of the two passes.
    #[must_use]
    pub fn rows(&self) -> &LineBatch {
        &self.rows
    }

    /// Returns the number of butterflies (x + yw, x - yw) of one transform: N/2 log2 N.
    #[must_use]
    pub fn butterflies(&self) -> u64 {
        (self.n / 2) as u64 * u64::from(self.n.trailing_zeros())
    }

    /// Places the argument blocks and the buffers of both passes behind their programs' data, which end at
    /// `ends` in DMEM; none if they do not fit in `dmem` bytes.
    pub(super) fn rings(&self, ends: [u64; 2], dmem: u64) -> Option<[Ring; 2]> {
        let ring = |pass: usize, page: u64, factors: u64| {
            let first = ends[pass].next_multiple_of(QUAD);
            let second = first + Ring::argument_bytes(self.buffers[0]);
            let pages = second + Ring::argument_bytes(self.buffers[1]);
            if self.is_in_parts(pass) {
                // A ring of blocks lies before the data.
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

    /// Describes the last two passes of `batch` transforms from address `x` over `tiles` to `y`.
    pub(super) fn passes(
        &self,
        [first, second]: [Ring; 2],
        batch: u64,
        [x, tiles, y]: [u64; 3],
        [shifts, factors]: [u64; 2],
    ) -> [RingPass; 2] {
        let columns = if self.columns.is_in_parts() {
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
        let rows = if self.rows.is_in_parts() {
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

    /// Prices the last two passes of `batch` transforms, without the load of the program.
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

/// Lists the lines of `length` that there are page kernels for, in a transform of `n` in two passes, or in
/// three after columns of `outer`.
fn lines(length: usize, (n, outer): (usize, usize)) -> Vec<LineBatch> {
    let parts = n.ilog2() > MAX_WHOLE_PAGE_BITS && outer == 1;
    let parts = LineBatch::new_ring_page(length).filter(|_| parts);
    let whole =
        [2, 4, 8, 16].map(|per| LineBatch::new(length, per).filter(|_| length < LONGEST_LINE));
    whole.into_iter().flatten().chain(parts).collect()
}

/// Lists the numbers of page buffers to consider for columns and rows.
fn buffers(columns: &LineBatch, rows: &LineBatch) -> Vec<[usize; 2]> {
    let counts = |lines: &LineBatch| match lines.is_in_parts() {
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
            let of = if lines.is_in_parts() {
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
