//! The text around a loop over rows: tables, pointers, edges.

use super::row_dataflow::{BlockRow, KeepMasks, PointerWalkKind, QUAD, RowBlock};
use super::row_schedules::Scheduled;
use crate::pipeline::BlockWriter;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A loop over rows of a page.
#[derive(Debug)]
pub(super) struct RowLoop<'a> {
    pub(super) row: &'a BlockRow<'a>,
    pub(super) scheduled: &'a Scheduled,
    /// Number of rows that the loop goes over.
    pub(super) rows: usize,
    /// Planes of an array of three axes.
    pub(super) planes: Option<usize>,
    /// Names of what belongs to it: pages may have several loops.
    pub(super) names: LoopNames,
    /// Planes and rows from the page's block to the first row of the loop.
    pub(super) from: [i64; 2],
}

/// Names of the blocks and tables of a loop.
#[derive(Clone, Debug)]
pub(super) struct LoopNames {
    /// Block of the loop.
    pub(super) rows: String,
    /// Block of the sums kept for the first row.
    pub(super) first: String,
    /// Constants that have no registers.
    table: String,
    /// Sums that go through memory.
    sums: String,
    /// Numbers that a section's place is compared with.
    places: String,
}

impl LoopNames {
    /// Makes names that end alike.
    pub(super) fn new(label: &str) -> Self {
        let name = |what: &str| format!("{what}{label}");
        Self {
            rows: name("rows"),
            first: name("first_sums"),
            table: name("table"),
            sums: name("sums"),
            places: name("places"),
        }
    }
}

/// Begin of a pointer, to which the loop adds its own offset.
#[derive(Clone, Debug)]
pub(super) struct RowPointerBase {
    /// Words that compute the register.
    pub(super) words: String,
    /// Scalar register that then holds the address.
    pub(super) register: String,
    pub(super) bytes: i64,
}

impl RowBlock {
    /// Returns the text of the loop.
    pub(super) fn text(
        &self,
        row: &BlockRow<'_>,
        names: &LoopNames,
        iterations: u64,
        base: &dyn Fn(PointerWalkKind) -> RowPointerBase,
    ) -> String {
        let mut block = self.block.clone();
        block.declare("free_registers");
        let [input, output] = row.pitch();
        let points = row.stencil.points().len() as i64;
        for &(stream, late) in &self.pointers {
            let label = match stream {
                PointerWalkKind::Table => Some(&names.table),
                PointerWalkKind::Sums | PointerWalkKind::SumWords => Some(&names.sums),
                _ => None,
            };
            let (place, bytes) = match label {
                Some(label) => (label.clone(), 0),
                None => {
                    let begin = base(stream);
                    (begin.register, begin.bytes)
                }
            };
            let pitch = match stream {
                PointerWalkKind::Plane(_) | PointerWalkKind::Words(_) => input,
                PointerWalkKind::Own => points * output,
                _ if stream.steps() => output,
                _ => 0,
            };
            let step = self.way.together as i64 * pitch;
            block.pointer(&stream.name(late), (&place, bytes), step);
        }
        let held = self.count_held_constants();
        for (index, &words) in self.constants.iter().take(held).enumerate() {
            block.declare(&format!(".const C{index} = {}", four_words(words)));
        }
        block.text(&names.rows, iterations)
    }

    /// Returns the text of the loop's tables; `places` are the numbers that a section's place is compared with.
    pub(super) fn data(&self, names: &LoopNames, places: Option<[[u32; 4]; 5]>) -> String {
        let mut text = String::new();
        let others = self.constants.iter().skip(self.count_held_constants());
        let tables: [(&str, Vec<[u32; 4]>); 2] = [
            (&names.table, others.copied().collect()),
            (&names.places, places.into_iter().flatten().collect()),
        ];
        for (name, lines) in tables.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            let _ = writeln!(text, "    .align 16\n{name}:");
            for line in lines {
                let [a, b, c, d] = line.map(|word| word as i32);
                let _ = writeln!(text, "    .int {a}, {b}, {c}, {d}");
            }
        }
        if self.sums > 0 {
            let _ = writeln!(
                text,
                "    .align 16\n{}:\n    .space {}",
                names.sums, self.sums
            );
        }
        text
    }
}

impl RowLoop<'_> {
    /// Returns the words that make the masks of elements that keep their values, each section's own, and the
    /// number of the first row.
    pub(super) fn place(&self) -> String {
        let mut text = String::new();
        if !self.scheduled.made.keeps_edges {
            return text;
        }
        let KeepMasks {
            first,
            last,
            plane,
            row,
        } = KeepMasks::ALL;
        let _ = writeln!(
            text,
            "    ldq q0, [a15 + SECTION_ORIGIN]\n    movi a14, {}",
            self.names.places
        );
        for i in 0..5 {
            let _ = writeln!(text, "    ldq q{}, [a14 + {}]", 1 + i, 16 * i);
        }
        let _ = write!(
            text,
            "    perm q6, q0, 0\n    perm q7, q0, 85\n    perm q8, q0, 170\n    icmpeq q{first}, q6, q1\n\
             \x20   icmpeq q{last}, q6, q2\n    icmpeq q3, q8, q3\n    icmpeq q4, q8, q4\n    or q{plane}, q3, q4\n\
             \x20   iadd q{row}, q7, q5\n",
        );
        text
    }

    /// Returns the numbers that a section's place is compared with: by lanes the first and the last column;
    /// the first and the last plane; and the number that is added to the block's first row.
    fn places(&self) -> Option<[[u32; 4]; 5]> {
        let lanes = |of: &dyn Fn(i64) -> i64| [0, 1, 2, 3].map(|lane| of(lane) as i32 as u32);
        let quad = self.row.last().0;
        let columns = self.row.columns as i64;
        let [plane, row] = self.from;
        // With two axes no plane is an outermost one.
        let [first, last] = match self.planes {
            Some(planes) => [-plane, planes as i64 - 1 - plane],
            None => [-1, -1],
        };
        self.scheduled.made.keeps_edges.then(|| {
            [
                lanes(&|lane| -lane),
                lanes(&|lane| columns - 1 - 4 * quad - lane),
                lanes(&|_| first),
                lanes(&|_| last),
                lanes(&|_| row),
            ]
        })
    }

    /// Returns the text that goes over the rows.
    pub(super) fn words(&self, from: &dyn Fn(PointerWalkKind) -> RowPointerBase) -> String {
        let made = &self.scheduled.made;
        let streams = made.pointers.iter().map(|&(stream, _)| stream);
        let streams = streams.filter(|stream| stream.steps());
        let streams: BTreeSet<PointerWalkKind> = streams.collect();
        let bases: BTreeMap<PointerWalkKind, RowPointerBase> = streams
            .into_iter()
            .map(|stream| (stream, from(stream)))
            .collect();
        let mut text: String = bases.values().map(|base| base.words.as_str()).collect();
        if made.way.kept {
            // The rows of the planes begin with the one before the first.
            let before = -self.row.pitch()[0];
            let bases = [
                (PointerWalkKind::Plane(-1), before),
                (PointerWalkKind::Plane(1), before),
                (PointerWalkKind::Kept, 0),
            ];
            let bases = bases.map(|(stream, bytes)| {
                let mut base = from(stream);
                base.bytes += bytes;
                base
            });
            text += &sum_first_planes(&self.names.first, &bases, self.scheduled.kept_first());
        }
        text + &made.text(self.row, &self.names, self.iterations(), from)
    }

    /// Returns the iterations of its rows.
    pub(super) fn iterations(&self) -> u64 {
        (self.rows / self.scheduled.rows_per_iteration()) as u64
    }

    /// Returns the text of its tables.
    pub(super) fn data(&self) -> String {
        self.scheduled.made.data(&self.names, self.places())
    }
}

/// Returns the loop that adds two planes for the sums that are kept, a quad at a time: u(z-1) + u(z+1).
pub(super) fn sum_first_planes(
    name: &str,
    [before, behind, to]: &[RowPointerBase; 3],
    quads: u64,
) -> String {
    let mut block = BlockWriter::default();
    for (pointer, base) in [("before", before), ("behind", behind), ("to", to)] {
        block.pointer(pointer, (&base.register, base.bytes), QUAD);
    }
    block.declare(".apart");
    block.declare("free_registers");
    block.operation("ldq", &["before", "[before]"]);
    block.operation("ldq", &["behind", "[behind]"]);
    block.operation("add", &["sum", "before", "behind"]);
    block.operation("stq", &["sum", "[to]"]);
    block.text(name, quads)
}

/// Returns the four words of a constant: as one number where they are alike.
fn four_words(words: [u32; 4]) -> String {
    let word = |word: u32| {
        let number = f32::from_bits(word);
        match number.is_normal() {
            true => format!("{:?}", f64::from(number)),
            false => format!("int({})", word as i32),
        }
    };
    match words {
        [a, b, c, d] if [b, c, d] == [a; 3] => word(a),
        words => words.map(word).join(" "),
    }
}
