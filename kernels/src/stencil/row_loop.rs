//! The words around a loop over rows: constants, pointers, edges.

use super::row_dataflow::{BlockRow, KeepMasks, PointerWalkKind};
use super::row_schedules::{SUMMED, Scheduled};
use cp2_asm::schedule::DataPointer;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Most bytes that an immediate of the scalar unit adds.
const NEAR: i64 = 2048;

/// A loop over rows of a page.
#[derive(Debug)]
pub(super) struct RowLoop<'a> {
    pub(super) row: &'a BlockRow<'a>,
    pub(super) scheduled: &'a Scheduled,
    /// Number of rows that the loop goes over.
    pub(super) rows: usize,
    /// Planes of an array of three axes.
    pub(super) planes: Option<usize>,
    /// Suffix of the names of its tables: pages may have several loops.
    pub(super) label: &'static str,
    /// Planes and rows from the page's block to the first row of the loop.
    pub(super) from: [i64; 2],
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

impl RowLoop<'_> {
    /// Returns the words that load the constants that have registers.
    pub(super) fn constants(&self) -> String {
        let made = &self.scheduled.made;
        let mut text = String::new();
        if !made.constants.is_empty() {
            let _ = writeln!(text, "    movi a8, constants{}", self.label);
        }
        for i in 0..made.count_held_constants() {
            let register = usize::from(made.first_constant()) - i;
            let _ = writeln!(text, "    ldq q{register}, [a8 + {}]", 16 * i);
        }
        text
    }

    /// Returns the words that make the masks of elements that keep their values, each section's own, and the
    /// number of the first row.
    pub(super) fn place(&self) -> String {
        let made = &self.scheduled.made;
        let mut text = String::new();
        let Some(KeepMasks {
            first,
            last,
            plane,
            row,
        }) = made.kept
        else {
            return text;
        };
        let lines = made.constants.len();
        let _ = writeln!(
            text,
            "    ldq q0, [a15 + SECTION_ORIGIN]\n    movi a8, constants{}",
            self.label
        );
        for i in 0..5 {
            let _ = writeln!(text, "    ldq q{}, [a8 + {}]", 1 + i, 16 * (lines + i));
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
    fn places(&self) -> [[u32; 4]; 5] {
        let lanes = |of: &dyn Fn(i64) -> i64| [0, 1, 2, 3].map(|lane| of(lane) as i32 as u32);
        let quad = self.row.last().0;
        let columns = self.row.columns as i64;
        let [plane, row] = self.from;
        // With two axes no plane is an outermost one.
        let [first, last] = match self.planes {
            Some(planes) => [-plane, planes as i64 - 1 - plane],
            None => [-1, -1],
        };
        [
            lanes(&|lane| -lane),
            lanes(&|lane| columns - 1 - 4 * quad - lane),
            lanes(&|_| first),
            lanes(&|_| last),
            lanes(&|_| row),
        ]
    }

    /// Returns the words that set up the pointers and go over the rows.
    pub(super) fn words(&self, from: &dyn Fn(PointerWalkKind) -> RowPointerBase) -> String {
        let Scheduled { made, schedule, .. } = self.scheduled;
        let mut text = String::new();
        let add = |text: &mut String, pointer: DataPointer, from: &str, bytes: i64| {
            let register = schedule.pointer_register(pointer);
            further(text, register, from, bytes + schedule.bias(pointer));
        };
        let streams: BTreeSet<PointerWalkKind> =
            made.pointers.keys().map(|(stream, _)| *stream).collect();
        let bases: BTreeMap<PointerWalkKind, RowPointerBase> = streams
            .into_iter()
            .map(|stream| (stream, from(stream)))
            .collect();
        for base in bases.values() {
            text += &base.words;
        }
        if let Some((_, first)) = &self.scheduled.first {
            let streams = [
                PointerWalkKind::Plane(-1),
                PointerWalkKind::Plane(1),
                PointerWalkKind::Kept,
            ];
            // The rows of the planes begin with the one before the first.
            let before = [-self.row.pitch()[0], -self.row.pitch()[0], 0];
            for ((stream, before), register) in streams.into_iter().zip(before).zip(SUMMED) {
                if let Some(base) = bases.get(&stream) {
                    further(&mut text, register, &base.register, base.bytes + before);
                }
            }
            text += &first.emit(self.scheduled.kept_first()).text();
        }
        // The later half's pointer is set last: its register may hold the address that both begin at.
        for (&(stream, _), &pointer) in &made.pointers {
            if let Some(base) = bases.get(&stream) {
                add(&mut text, pointer, &base.register, base.bytes);
            }
        }
        for (pointer, name) in [
            (made.table, "constants"),
            (made.through, "sums"),
            (made.sum_words, "sums"),
        ] {
            if let Some(pointer) = pointer {
                let (register, bias) = (schedule.pointer_register(pointer), schedule.bias(pointer));
                let _ = writeln!(text, "    movi a{register}, {name}{} + {bias}", self.label);
            }
        }
        text + &schedule.emit(self.iterations()).text()
    }

    /// Returns the iterations of its rows.
    pub(super) fn iterations(&self) -> u64 {
        (self.rows / self.scheduled.rows_per_iteration()) as u64
    }

    /// Returns the text of its tables.
    pub(super) fn data(&self) -> String {
        let made = &self.scheduled.made;
        let mut lines = made.constants.clone();
        if made.kept.is_some() {
            lines.extend(self.places());
        }
        let mut text = String::new();
        if !lines.is_empty() {
            let _ = writeln!(text, "    .align 16\nconstants{}:", self.label);
        }
        for line in lines {
            let [a, b, c, d] = line.map(|word| word as i32);
            let _ = writeln!(text, "    .int {a}, {b}, {c}, {d}");
        }
        if made.sums > 0 {
            let _ = writeln!(
                text,
                "    .align 16\nsums{}:\n    .space {}",
                self.label, made.sums
            );
        }
        text
    }
}

/// Adds words that set a pointer `bytes` bytes from a scalar.
fn further(text: &mut String, register: u8, from: &str, bytes: i64) {
    let _ = if (-NEAR..NEAR).contains(&bytes) {
        writeln!(text, "    addi a{register}, {from}, {bytes}")
    } else {
        writeln!(
            text,
            "    movi s0, {bytes}\n    add a{register}, {from}, s0"
        )
    };
}
