//! The operations of a row as a linear block, with sums that neighbours share.
//!
//! The quads of a row are computed one after the other. Neighbours along a row lie in other lanes, and a
//! shift by one lane is an arithmetic issue. For a row that is needed on both sides alike, the sums x(i-1) +
//! x(i+1) take one shift: with T(j) = x(j) + x(j+2), whose second term two loads of aligned pairs bring, they
//! are T(i-1). Other sums of rows are shifted once for either side. Rows with the same coefficients are added
//! up before they are multiplied.
//!
//! On machines with word addresses loads take neighbours along a row from where they lie, and nothing is shifted:
//! x(i-1) and x(i+1) are two loads, of the row or of sums that go through memory.

use super::dataflow_inputs::DataflowBuilder;
use crate::pipeline::BlockWriter;
use cp2_machine::{Extensions, Machine};
use cp2_problems::stencil::{Edge, StencilShape};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a quad.
pub(super) const QUAD: i64 = 16;
/// Number of quads of a section's register file.
pub(super) const QUADS: u8 = 32;
/// Most constants in registers; more are loaded where they are needed.
const CONSTANTS: usize = 10;

/// Variant of a row's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowVariant {
    /// Rows of an iteration, which share the sums of planes.
    pub(super) together: usize,
    /// If set, sums of rows are shifted by two lanes on their way through memory instead of by arithmetic, so
    /// many quads before they are needed.
    pub(super) through: Option<i64>,
    /// True if constants have registers; else they are loaded where they are needed.
    pub(super) constants: bool,
    /// True if inputs are loaded once; else for each use.
    pub(super) once: bool,
    /// One in so many quads of x(i) + x(i+2) is made by one more shift of two lanes, the others by two more
    /// loads; 0 for none by a shift. With loads at word addresses one in so many quads of x(i-1) is shifted.
    pub(super) shifted: i64,
    /// True if sums of planes are made once for each row and kept for the next two.
    pub(super) kept: bool,
    /// True if neighbours along a row are loaded at word addresses.
    pub(super) words: bool,
}

impl RowVariant {
    /// The simplest variant with registers for constants.
    pub(super) const PLAIN: Self = Self {
        together: 1,
        through: None,
        constants: true,
        once: true,
        shifted: 0,
        kept: false,
        words: false,
    };

    /// Returns the most constants that have registers.
    pub(super) fn count_held_constants(self) -> usize {
        if self.constants { CONSTANTS } else { 0 }
    }
}

/// Number of partial sums of a quad that do not wait for each other, where every element has its own
/// coefficients.
pub(super) const PARTS: usize = 4;

/// A row of a block.
#[derive(Clone, Debug)]
pub(super) struct BlockRow<'a> {
    pub(super) stencil: &'a StencilShape,
    /// True if rows of neighbours with equal coefficients are added up before they are multiplied, wherever
    /// they are; else only those whose offsets are nonzero along as many axes, so that their sums are shared.
    pub(super) merged: bool,
    /// True if every element has its own coefficients.
    pub(super) per_element: bool,
    pub(super) edge: Edge,
    /// Elements of the array's rows.
    pub(super) columns: usize,
    /// Rows of the array.
    pub(super) rows: usize,
    /// Elements of the block's rows, a multiple of 4.
    pub(super) width: usize,
    /// True if the block is as wide as the array and has no neighbours on either side; else the window has
    /// some of them on either side.
    pub(super) whole: bool,
    /// Bytes of the neighbours that a window has on either side of a block that is a part of rows: a quad, or
    /// a granule of the DMA if that is larger.
    pub(super) margin: i64,
}

/// Rows of neighbours, by the offsets of their plane and row.
pub(super) type NeighbourRows = Vec<(i8, i8)>;

/// Rows by their coefficient and, unless classes are merged, by the number of axes along which they are
/// offset.
pub(super) type Classes = Vec<(f32, NeighbourRows)>;

/// Array that a pointer walks along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PointerWalkKind {
    /// The plane before an element's (-1), its own (0), or the one behind (1).
    Plane(i8),
    /// One of these planes, for loads at word addresses.
    Words(i8),
    /// The result.
    Result,
    /// Coefficients of elements.
    Own,
    /// Sums of planes that were kept, for loads.
    Kept,
    /// Sums of planes that are kept, for stores.
    Keeping,
    /// Constants that have no registers.
    Table,
    /// Sums that go through memory.
    Sums,
    /// Sums that go through memory and are loaded at word addresses.
    SumWords,
}

impl PointerWalkKind {
    /// Returns true if the array goes on from row to row: accesses through one pointer must lie within an interval
    /// then, so that an iteration's halves have pointers of their own.
    pub(super) fn steps(self) -> bool {
        !matches!(self, Self::Table | Self::Sums | Self::SumWords)
    }

    /// Returns the scalar register that a page loads the array's address into.
    pub(super) fn register(self) -> &'static str {
        match self {
            Self::Plane(-1) | Self::Words(-1) => "c11",
            Self::Plane(0) | Self::Words(0) => "c12",
            Self::Plane(_) | Self::Words(_) => "c13",
            Self::Result => "c9",
            Self::Own => "c10",
            _ => "c7",
        }
    }

    /// Returns the name of the pointer of the earlier or the later half of an iteration.
    pub(super) fn name(self, late: bool) -> String {
        let plane = |plane: i8| match plane {
            -1 => "before",
            0 => "own",
            _ => "behind",
        };
        let name = match self {
            Self::Plane(at) => plane(at).to_owned(),
            Self::Words(at) => format!("{}_words", plane(at)),
            Self::Result => "out".to_owned(),
            Self::Own => "weights".to_owned(),
            Self::Kept => "kept".to_owned(),
            Self::Keeping => "keeping".to_owned(),
            Self::Table => "table".to_owned(),
            Self::Sums => "sums".to_owned(),
            Self::SumWords => "sum_words".to_owned(),
        };
        match late {
            true => name + "_late",
            false => name,
        }
    }
}

/// The linear block of a row, without pointers and constants: where they begin depends on the page.
#[derive(Clone, Debug)]
pub(super) struct RowBlock {
    pub(super) block: BlockWriter,
    /// Pointers, each for the earlier or the later half of an iteration.
    pub(super) pointers: BTreeSet<(PointerWalkKind, bool)>,
    /// Constants of four words; the first ones have registers.
    pub(super) constants: Vec<[u32; 4]>,
    /// True if elements at the edges keep their values: a page makes the masks from its place in the array.
    pub(super) keeps_edges: bool,
    /// Bytes of the sums that go through memory.
    pub(super) sums: u64,
    pub(super) way: RowVariant,
}

/// Quad registers that say which elements keep their values: masks of the first and of the last column, a
/// mask that is all ones if the plane is an outermost one, and the number of the row, which counts up.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepMasks {
    pub(super) first: u8,
    pub(super) last: u8,
    pub(super) plane: u8,
    pub(super) row: u8,
}

impl KeepMasks {
    /// The highest registers.
    pub(super) const ALL: Self = Self {
        first: QUADS - 1,
        last: QUADS - 2,
        plane: QUADS - 3,
        row: QUADS - 4,
    };
}

impl RowBlock {
    /// Returns the number of constants that are in registers.
    pub(super) fn count_held_constants(&self) -> usize {
        self.constants.len().min(self.way.count_held_constants())
    }
}

/// Returns the number of pairs of rows that lie in the planes before and behind.
fn pairs(rows: &NeighbourRows) -> usize {
    let before = rows.iter().filter(|(plane, _)| *plane == -1);
    before.filter(|(_, row)| rows.contains(&(1, *row))).count()
}

/// Side of the neighbours along a row that a sum is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NeighbourSide {
    Both,
    West,
    East,
}

impl BlockRow<'_> {
    /// Returns the row as it is, and, if that differs, with classes of equal coefficients kept apart. Both
    /// must be scheduled to find the faster one.
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

    /// Returns the quads of the block's row.
    pub(super) fn quads(&self) -> i64 {
        (self.width / 4) as i64
    }

    /// Returns the quad that has the array's last column, and the lane of that column.
    pub(super) fn last(&self) -> (i64, usize) {
        let last = (self.columns - 1) % self.width;
        ((last / 4) as i64, last % 4)
    }

    /// Returns the bytes from row to row of the window and of the result.
    pub(super) fn pitch(&self) -> [i64; 2] {
        let own = QUAD * self.quads();
        match self.whole {
            true => [own, own],
            false => [own + 2 * self.margin, own],
        }
    }

    /// Returns the variants that may be the fastest on a machine.
    pub(super) fn ways(&self, machine: &Machine) -> Vec<RowVariant> {
        let mut ways = self.aligned_ways();
        let extensions = machine.cp2.extensions;
        if !self.per_element && extensions.contains(Extensions::WORD_ADDRESSING) {
            ways.extend(self.word_ways(&ways));
        }
        ways
    }

    /// Returns the variants with loads at word addresses, for those without. They take fewer issues and registers,
    /// and as many memory slots.
    fn word_ways(&self, ways: &[RowVariant]) -> Vec<RowVariant> {
        let sides = self.sides();
        // One pointer walks along rows for loads at word addresses.
        let mut planes = sides.iter().filter_map(|(_, classes)| match &classes[..] {
            [(_, rows)] => match rows[..] {
                [(plane, _)] => Some(plane),
                _ => None,
            },
            _ => None,
        });
        let single = planes
            .next()
            .is_some_and(|one| planes.all(|plane| plane == one));
        let most = ways.iter().map(|way| way.together).max().unwrap_or(1);
        let mut words: Vec<RowVariant> = Vec::new();
        for way in ways.iter().filter(|way| single || way.through.is_some()) {
            for (together, shifted) in [(way.together, 0), (way.together, 2), (most, 0)] {
                let way = RowVariant {
                    together,
                    shifted,
                    words: true,
                    ..*way
                };
                if !words.contains(&way) {
                    words.push(way);
                }
            }
        }
        words
    }

    /// Returns the variants without loads at word addresses that may be the fastest.
    fn aligned_ways(&self) -> Vec<RowVariant> {
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
        // Only sums of planes can be shared by several rows.
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
            // Without sums of several classes: at least as many loads and stores as arithmetic.
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

    /// Returns whether all rows need the sum of the planes before and behind: for the row itself and for both
    /// adjacent rows.
    fn keeps(&self) -> bool {
        let classes = self.classes(1);
        let needs = |row: i8| {
            let has =
                |rows: &NeighbourRows| [-1, 1].iter().all(|&plane| rows.contains(&(plane, row)));
            classes.iter().any(|(_, rows)| has(rows))
        };
        self.whole && [-1, 0, 1].into_iter().all(needs)
    }

    /// Returns the variants that take fewer registers, the faster first.
    pub(super) fn frugal_ways() -> [RowVariant; 2] {
        [true, false].map(|once| RowVariant {
            constants: false,
            once,
            ..RowVariant::PLAIN
        })
    }

    /// Writes the operations of a variant.
    pub(super) fn make(&self, way: RowVariant) -> RowBlock {
        DataflowBuilder::new(self, way).made()
    }

    /// Returns for every row of neighbours its coefficients to the west, at the element and to the east.
    fn weights(&self) -> BTreeMap<(i8, i8), [f32; 3]> {
        let mut rows: BTreeMap<(i8, i8), [f32; 3]> = BTreeMap::new();
        for point in self.stencil.points() {
            let [z, y, x] = point.offset;
            rows.entry((z, y)).or_default()[(x + 1) as usize] = point.coefficient;
        }
        rows
    }

    /// Returns the rows by one of their three coefficients, without those whose coefficient is 0.
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

    /// Returns the sums along rows: one for both sides if the coefficients are the same to either side.
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
