//! Division of the planes and rows of every level among processors.
//!
//! Each processor has a block of adjacent planes and rows of the levels above the *gathered* one, with ghosts: copies
//! of its neighbours' outermost planes and rows. From the gathered level down every processor has all of a level and
//! computes it as one processor does, which needs no messages. Columns are not cut: rows are lifted, so the neighbour
//! beyond the end of a row is in the lanes of another quad of the row, and ghosts would be single lanes.
//!
//! ```text
//! planes of a processor with ghosts   g g o o o o o o g g     o  own    g  ghosts, with the owner's bits
//! ```

use super::MultigridError;
use super::rows::{QUAD, numbers_of_quad, quad_bytes};
use cp2_problems::npb::Precision;
use cp2_problems::npb::mg::MgProblem;

/// Ghost planes, and ghost rows, on each side of a block.
pub(super) const GHOSTS: u64 = 2;

/// Least planes, and rows, of a block on levels that are divided: as many as a neighbour has ghosts.
pub(super) const LEAST_LINES: u64 = GHOSTS;

/// Names of the axes that may be cut, in the order of extents.
const AXES: [&str; 2] = ["planes", "rows"];

/// Division of planes and rows among processors, as a user asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultigridSplit {
    /// Number of parts that the planes are cut into, and the rows: powers of two. Their product is the number of
    /// processors.
    pub parts: [usize; 2],
    /// Points along a row of the finest level that every processor has whole.
    pub gather: usize,
}

/// Order in which the sums of squares of several processors are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NormSum {
    /// Each processor adds up its own, and these are added along a binomial tree: off by at most one rounding of
    /// double precision for each page, where pages have the rows that they have on one processor.
    #[default]
    Tree,
    /// The first processor adds up all in the order of one processor: norms have its bits.
    Ordered,
}

/// V-cycles, and the division of their levels.
#[derive(Clone, Debug)]
pub(super) struct DividedProblem {
    pub(super) problem: MgProblem,
    pub(super) division: Division,
}

/// Division of every level: extents are of planes, then rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    /// The finest level: rows have 2^finest points.
    finest: u32,
    /// The coarsest level: two planes, rows or columns.
    coarsest: u32,
    /// Format of the points.
    precision: Precision,
    /// Planes and rows of the finest level.
    whole: [u64; 2],
    /// Number of parts of both.
    parts: [u64; 2],
    /// Finest level that is not divided.
    gathered: u32,
    /// Coarsest level on which faces leave while the pass runs that makes them.
    early: u32,
}

/// An array of a level in the memory of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArrayExtents {
    /// Planes and rows in memory.
    pub(super) memory: [u64; 2],
    /// First plane and row that a pass works on.
    pub(super) origin: [u64; 2],
    /// Number of planes and rows that it works on.
    pub(super) own: [u64; 2],
}

/// Returns the number of points along an axis of a level.
pub(super) fn points(level: u32) -> u64 {
    1 << level
}

/// Returns the number of quads of numbers of a row of a level. Points of a row that does not fill a quad are stored
/// twice.
pub(super) fn quads(precision: Precision, level: u32) -> u64 {
    (points(level) / numbers_of_quad(precision)).max(1)
}

impl DividedProblem {
    /// Returns the problem on one processor.
    pub(super) fn whole(problem: MgProblem) -> Self {
        let division = Division::whole(&problem);
        Self { problem, division }
    }
}

impl Division {
    /// Returns the division among one processor.
    fn whole(problem: &MgProblem) -> Self {
        let [planes, rows, columns] = problem.shape().map(|n| n as u64);
        let finest = columns.trailing_zeros();
        let halvings = planes.min(rows).min(columns).trailing_zeros() - 1;
        Self {
            finest,
            coarsest: finest - halvings,
            precision: problem.precision(),
            whole: [planes, rows],
            parts: [1; 2],
            gathered: finest,
            early: finest + 1,
        }
    }

    /// Divides the levels above the gathered one.
    ///
    /// # Errors
    /// Parts are no powers of two, or blocks have too few planes or rows on a level that is divided.
    pub(super) fn split(self, split: MultigridSplit) -> Result<Self, MultigridError> {
        let parts = split.parts.map(|parts| parts as u64);
        let refuse = |reason: String| MultigridError::Split { reason };
        for (axis, parts) in AXES.into_iter().zip(parts) {
            if !parts.is_power_of_two() {
                return Err(refuse(format!(
                    "{parts} parts of {axis}; expected a power of two"
                )));
            }
        }
        if parts == [1; 2] {
            return Ok(self);
        }
        let gathered = split.gather.trailing_zeros();
        if !split.gather.is_power_of_two() || !(self.coarsest..self.finest).contains(&gathered) {
            return Err(refuse(format!(
                "the level of {} points is gathered; expected a power of two from {} to {}",
                split.gather,
                1u64 << self.coarsest,
                1u64 << (self.finest - 1)
            )));
        }
        let division = Self {
            parts,
            gathered,
            early: self.finest + 1,
            ..self
        };
        let lines = division.own(gathered + 1);
        for ((axis, parts), lines) in AXES.into_iter().zip(parts).zip(lines) {
            if parts > 1 && lines < LEAST_LINES {
                return Err(refuse(format!(
                    "{parts} parts of {axis} leave {lines} to a processor on the level of {} points; expected at least {LEAST_LINES}: take fewer parts, or gather a finer level than that of {} points",
                    2 * split.gather,
                    split.gather
                )));
            }
        }
        Ok(division)
    }

    /// Returns the finest level.
    pub(super) fn finest(&self) -> u32 {
        self.finest
    }

    /// Returns the coarsest level.
    pub(super) fn coarsest(&self) -> u32 {
        self.coarsest
    }

    /// Returns the format of the points.
    pub(super) fn precision(&self) -> Precision {
        self.precision
    }

    /// Returns the number of quads of memory of a row of a level.
    pub(super) fn quads(&self, level: u32) -> u64 {
        self.row_bytes(level) / QUAD as u64
    }

    /// Returns the bytes of a row of a level.
    pub(super) fn row_bytes(&self, level: u32) -> u64 {
        quads(self.precision, level) * quad_bytes(self.precision) as u64
    }

    /// Returns the finest level that is not divided.
    pub(super) fn gathered(&self) -> u32 {
        self.gathered
    }

    /// Returns the number of parts of planes and rows.
    pub(super) fn parts(&self) -> [u64; 2] {
        self.parts
    }

    /// Returns the number of processors.
    pub(super) fn processors(&self) -> u64 {
        self.parts.iter().product()
    }

    /// Lets faces of the levels from `level` on leave while the pass runs that makes them.
    pub(super) fn with_early_faces(self, level: u32) -> Self {
        Self {
            early: level,
            ..self
        }
    }

    /// Returns true if faces of a level leave while the pass runs that makes them.
    pub(super) fn has_early_faces(&self, level: u32) -> bool {
        self.is_divided(level) && level >= self.early
    }

    /// Returns true if each processor has a block of a level.
    pub(super) fn is_divided(&self, level: u32) -> bool {
        level > self.gathered
    }

    /// Returns the coordinates of a processor among the parts of planes and rows.
    pub(super) fn place(&self, processor: u64) -> [u64; 2] {
        let rows = self.parts[1].max(1);
        [processor / rows, processor % rows]
    }

    /// Returns the processor with these coordinates.
    pub(super) fn processor(&self, [plane, row]: [u64; 2]) -> u64 {
        plane * self.parts[1] + row
    }

    /// Returns the planes and rows of a level.
    pub(super) fn extents(&self, level: u32) -> [u64; 2] {
        self.whole
            .map(|lines| lines >> self.finest.saturating_sub(level))
    }

    /// Returns the planes and rows of a level that a pass on this level works on.
    pub(super) fn own(&self, level: u32) -> [u64; 2] {
        self.worked_on(level, level)
    }

    /// Returns the planes and rows of a level that a pass on another level works on.
    fn worked_on(&self, level: u32, pass: u32) -> [u64; 2] {
        let all = self.extents(level);
        match self.is_divided(pass) {
            true => [0, 1].map(|axis| all[axis] / self.parts[axis]),
            false => all,
        }
    }

    /// Returns the ghosts on each side of the blocks of a level, planes and rows.
    pub(super) fn ghosts(&self, level: u32) -> [u64; 2] {
        let divided = self.is_divided(level);
        self.parts
            .map(|parts| if divided && parts > 1 { GHOSTS } else { 0 })
    }

    /// Returns the planes and rows of an array of a level in memory, ghosts included.
    pub(super) fn memory(&self, level: u32) -> [u64; 2] {
        let (own, ghosts) = (self.own(level), self.ghosts(level));
        [0, 1].map(|axis| own[axis] + 2 * ghosts[axis])
    }

    /// Returns what a pass on level `pass` works on in an array of a level, for a processor at `place`.
    pub(super) fn array(&self, level: u32, pass: u32, place: [u64; 2]) -> ArrayExtents {
        let own = self.worked_on(level, pass);
        let origin = match (self.is_divided(level), self.is_divided(pass)) {
            (true, _) => self.ghosts(level),
            (false, true) => [0, 1].map(|axis| place[axis] * own[axis]),
            (false, false) => [0; 2],
        };
        ArrayExtents {
            memory: self.memory(level),
            origin,
            own,
        }
    }
}
