//! The dataflow of a row of a block: its quads one after the other, each sum shared by the neighbours that need it.
//!
//! Neighbours along a row lie in other lanes, and a shift by one lane is an arithmetic issue. Of a row that is needed on both sides alike the sums
//! x(i-1) + x(i+1) take one shift: with T(j) = x(j) + x(j+2), whose second term two loads of aligned pairs bring, they are T(i-1). Other sums of rows
//! are shifted once for either side. Rows with the same coefficients are added up before they are multiplied.

use super::dataflow_inputs::DataflowBuilder;
use crate::pipeline::{Body, Pointer};
use cp2_problems::stencil::{Edge, StencilShape};
use std::collections::BTreeMap;

/// Bytes of a quad.
pub(super) const QUAD: i64 = 16;
/// Quads of a section's register file.
pub(super) const QUADS: u8 = 32;
/// Constants that have registers; more are loaded where they are needed.
const CONSTANTS: usize = 10;

/// How a row's dataflow is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowVariant {
    /// Rows of an iteration, which share the sums of planes.
    pub(super) together: usize,
    /// Sums of rows are shifted by two lanes on their way through memory, not by arithmetic.
    /// So many quads before they are needed.
    pub(super) through: Option<i64>,
    /// Constants have registers; else they are loaded where they are needed.
    pub(super) constants: bool,
    /// What is read is loaded once; else for each use.
    pub(super) once: bool,
    /// Of so many quads of x(i) + x(i+2) one is made by a shift of two lanes more, others by two loads more; 0 of none.
    pub(super) shifted: i64,
    /// Sums of planes are made once for each row and kept for the next two.
    pub(super) kept: bool,
}

impl RowVariant {
    /// The plainest that has registers for constants.
    pub(super) const PLAIN: Self = Self {
        together: 1,
        through: None,
        constants: true,
        once: true,
        shifted: 0,
        kept: false,
    };

    /// Constants that have registers.
    pub(super) fn count_held_constants(self) -> usize {
        if self.constants { CONSTANTS } else { 0 }
    }
}

/// Sums of a quad that do not wait for each other where every element has its coefficients.
pub(super) const PARTS: usize = 4;
/// Address registers of the table of constants, and of sums that go through memory.
pub(super) const TABLE: u8 = 5;
pub(super) const THROUGH: u8 = 6;

/// A row of a block.
#[derive(Clone, Debug)]
pub(super) struct BlockRow<'a> {
    pub(super) stencil: &'a StencilShape,
    /// Rows of neighbours with equal coefficients are added up before they are multiplied, wherever they lie; else only those that lie
    /// elsewhere along as many axes, so that their sums are shared.
    pub(super) merged: bool,
    /// Every element has coefficients of its own.
    pub(super) per_element: bool,
    pub(super) edge: Edge,
    /// Elements of the array's rows, and its rows.
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// Elements of the block's, a multiple of 4.
    pub(super) width: usize,
    /// The block is as wide as the array, and no neighbours lie beside it; else the window has some of them on either side.
    pub(super) whole: bool,
    /// Bytes of the neighbours that a window has on either side of a block that is a part of rows: a quad, or a granule of the DMA where that is larger.
    pub(super) margin: i64,
}

/// Rows of neighbours, by planes and rows.
pub(super) type NeighbourRows = Vec<(i8, i8)>;

/// Rows by their coefficient, and by the axes along which they lie elsewhere unless classes are merged.
pub(super) type Classes = Vec<(f32, NeighbourRows)>;

/// What a pointer walks along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PointerWalkKind {
    /// The plane before an element's, its own, the one behind.
    Plane(i8),
    /// The result.
    Result,
    /// Coefficients of elements.
    Own,
    /// Sums of planes that are kept, as they are loaded, and as they are stored.
    Kept,
    Keeping,
}

impl PointerWalkKind {
    /// Address registers of the earlier and the later half of an iteration: accesses through a pointer lie within an interval.
    pub(super) fn registers(self) -> [u8; 2] {
        match self {
            Self::Plane(plane) => [0, 10].map(|first: u8| first.saturating_add_signed(plane + 1)),
            Self::Result => [3, 13],
            // Where elements have coefficients of their own nothing is kept.
            Self::Own | Self::Kept => [4, 14],
            // What sets pointers up needs a9 no more.
            Self::Keeping => [7, 9],
        }
    }
}

/// A dataflow with what its text needs.
#[derive(Debug)]
pub(super) struct ScheduledRow {
    pub(super) body: Body,
    /// The pointers, each for the earlier or the later half of an iteration.
    pub(super) pointers: BTreeMap<(PointerWalkKind, bool), Pointer>,
    pub(super) table: Option<Pointer>,
    /// Four words each, the first ones in registers from `q31` downwards.
    pub(super) constants: Vec<[u32; 4]>,
    /// What a page makes of where it is, for fixed edges.
    pub(super) kept: Option<KeepMasks>,
    /// Bytes of the sums that go through memory, behind the constants.
    pub(super) sums: u64,
    pub(super) through: Option<Pointer>,
    pub(super) way: RowVariant,
}

/// Quad registers that say which elements keep their values: masks of the first and of the last column, a mask of all if the plane is
/// one of the outermost, and the number of the row, which counts up.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepMasks {
    pub(super) first: u8,
    pub(super) last: u8,
    pub(super) plane: u8,
    pub(super) row: u8,
}

impl KeepMasks {
    /// The highest registers.
    const TAKEN: u8 = 4;
    pub(super) const ALL: Self = Self {
        first: QUADS - 1,
        last: QUADS - 2,
        plane: QUADS - 3,
        row: QUADS - 4,
    };
}

impl ScheduledRow {
    /// The register of the first constant; others are below.
    pub(super) fn first_constant(&self) -> u8 {
        let kept = if self.kept.is_some() {
            KeepMasks::TAKEN
        } else {
            0
        };
        QUADS - 1 - kept
    }

    /// Constants that are in registers.
    pub(super) fn count_held_constants(&self) -> usize {
        self.constants.len().min(self.way.count_held_constants())
    }

    /// Pair registers that are free for values.
    pub(super) fn free(&self) -> u8 {
        2 * (self.first_constant() + 1 - self.count_held_constants() as u8)
    }
}

/// How many couples of rows lie in the planes before and behind.
fn pairs(rows: &NeighbourRows) -> usize {
    let before = rows.iter().filter(|(plane, _)| *plane == -1);
    before.filter(|(_, row)| rows.contains(&(1, *row))).count()
}

/// Which neighbours along a row a sum is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NeighbourSide {
    Both,
    West,
    East,
}

impl BlockRow<'_> {
    /// The row as it is, and with classes of equal coefficients kept apart where there are such: the fastest is not known before both are scheduled.
    pub(super) fn variants(&self) -> Vec<Self> {
        let separate = Self {
            merged: false,
            ..self.clone()
        };
        let differs =
            (0..3).any(|which| self.classes(which).len() != separate.classes(which).len());
        let all = [Some(self.clone()), differs.then_some(separate)];
        all.into_iter().flatten().collect()
    }

    /// Quads of the block's row.
    pub(super) fn quads(&self) -> i64 {
        (self.width / 4) as i64
    }

    /// The quad that has the array's last column, and its lane there.
    pub(super) fn last(&self) -> (i64, usize) {
        let last = (self.columns - 1) % self.width;
        ((last / 4) as i64, last % 4)
    }

    /// Bytes from row to row of the window and of the result.
    pub(super) fn pitch(&self) -> [i64; 2] {
        let own = QUAD * self.quads();
        match self.whole {
            true => [own, own],
            false => [own + 2 * self.margin, own],
        }
    }

    /// The ways to make it that may be the fastest.
    pub(super) fn ways(&self) -> Vec<RowVariant> {
        let mut ways = vec![RowVariant::PLAIN];
        if self.per_element {
            return ways;
        }
        let sides = self.sides();
        let both = |many: bool| {
            let of = |(side, classes): &(NeighbourSide, Classes)| {
                *side == NeighbourSide::Both && (classes.len() > 1) == many
            };
            sides.iter().any(of)
        };
        // Only what planes have in common is the same for several rows.
        let planes = self.classes(1).iter().any(|(_, rows)| pairs(rows) > 0);
        let several = planes && self.edge != Edge::Fixed && self.rows > 1;
        let mut way = |way: RowVariant| {
            if way.together == 1 || several {
                ways.push(way);
            }
        };
        if both(true) {
            let keeps = self.keeps();
            // Two rows that keep sums take registers that more classes need.
            let few = sides.iter().all(|(_, classes)| classes.len() < 3);
            for (together, through, kept, where_it_pays) in [
                (2, Some(1), false, true),
                (2, None, false, true),
                (1, Some(1), false, !keeps),
                (1, Some(2), false, !keeps),
                (1, Some(1), true, keeps),
                (1, Some(2), true, keeps),
                (1, None, true, keeps),
                (2, Some(1), true, keeps && few),
            ] {
                if where_it_pays {
                    way(RowVariant {
                        together,
                        through,
                        kept,
                        ..RowVariant::PLAIN
                    });
                }
            }
        } else if both(false) {
            // As many loads and stores as arithmetic, or more.
            way(RowVariant {
                shifted: 3,
                ..RowVariant::PLAIN
            });
            way(RowVariant {
                together: 2,
                ..RowVariant::PLAIN
            });
        }
        ways
    }

    /// Whether all rows need the sum of the planes before and behind, of their own row and of those beside it.
    fn keeps(&self) -> bool {
        let classes = self.classes(1);
        let needs = |row: i8| {
            let has =
                |rows: &NeighbourRows| [-1, 1].iter().all(|&plane| rows.contains(&(plane, row)));
            classes.iter().any(|(_, rows)| has(rows))
        };
        self.whole && [-1, 0, 1].into_iter().all(needs)
    }

    /// Those that take fewer registers, the faster first.
    pub(super) fn frugal_ways() -> [RowVariant; 2] {
        [true, false].map(|once| RowVariant {
            constants: false,
            once,
            ..RowVariant::PLAIN
        })
    }

    /// Its dataflow.
    pub(super) fn make(&self, way: RowVariant) -> ScheduledRow {
        DataflowBuilder::new(self, way).made()
    }

    /// For every row of neighbours its coefficients to the west, here and to the east.
    fn weights(&self) -> BTreeMap<(i8, i8), [f32; 3]> {
        let mut rows: BTreeMap<(i8, i8), [f32; 3]> = BTreeMap::new();
        for point in self.stencil.points() {
            let [z, y, x] = point.offset;
            rows.entry((z, y)).or_default()[(x + 1) as usize] = point.coefficient;
        }
        rows
    }

    /// Rows by one of their three coefficients, those with none left out.
    pub(super) fn classes(&self, which: usize) -> Classes {
        let axes = |(plane, row): (i8, i8)| [plane, row].iter().filter(|&&at| at != 0).count();
        let mut classes: Classes = Vec::new();
        for (row, weights) in self.weights() {
            let weight = weights[which];
            let joins = |(own, rows): &&mut (f32, NeighbourRows)| {
                let alike = |other: &(i8, i8)| axes(*other) == axes(row);
                *own == weight && (self.merged || rows.iter().all(alike))
            };
            match classes.iter_mut().find(joins) {
                _ if weight == 0.0 => {}
                Some((_, rows)) => rows.push(row),
                None => classes.push((weight, vec![row])),
            }
        }
        classes
    }

    /// The sums along rows: the same to either side where coefficients allow it.
    pub(super) fn sides(&self) -> Vec<(NeighbourSide, Classes)> {
        let [west, east] = [0, 2].map(|which| self.classes(which));
        let sides = match west == east {
            true => vec![(NeighbourSide::Both, west)],
            false => vec![(NeighbourSide::West, west), (NeighbourSide::East, east)],
        };
        let used = sides.into_iter();
        used.filter(|(_, classes)| !classes.is_empty()).collect()
    }
}
