//! The words around a scheduled loop over rows: its constants, what fixed edges keep, its pointers.

use super::row_dataflow::{BlockRow, KeepMasks, PointerWalkKind};
use super::row_schedules::{SUMMED, Scheduled};
use crate::pipeline::Pointer;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Bytes that an immediate of the scalar unit adds at most.
const NEAR: i64 = 2048;

/// A loop over rows of a page.
#[derive(Debug)]
pub(super) struct RowLoop<'a> {
    pub(super) row: &'a BlockRow<'a>,
    pub(super) scheduled: &'a Scheduled,
    /// How often it goes over its rows' iterations.
    pub(super) rows: usize,
    /// The array's planes, of three axes.
    pub(super) planes: Option<usize>,
    /// What its tables are called behind their names: pages may have two loops.
    pub(super) label: &'static str,
    /// Planes and rows from the page's block to the first row that it makes.
    pub(super) from: [i64; 2],
}

/// Where a pointer begins, but for what its loop adds.
#[derive(Clone, Debug)]
pub(super) struct RowPointerBase {
    /// Words that make it.
    pub(super) words: String,
    /// The scalar that has it then.
    pub(super) register: String,
    pub(super) bytes: i64,
}

impl RowLoop<'_> {
    /// Words that load what constants have registers.
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

    /// Masks of what keeps its value, each section's own, and the number of its first row.
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

    /// What a section's place is compared with: by lanes the column that is the first, and the last; the first plane, and the last; and what is
    /// added to the block's first row.
    fn places(&self) -> [[u32; 4]; 5] {
        let lanes = |of: &dyn Fn(i64) -> i64| [0, 1, 2, 3].map(|lane| of(lane) as i32 as u32);
        let quad = self.row.last().0;
        let columns = self.row.columns as i64;
        let [plane, row] = self.from;
        // Of two axes no plane is the outermost.
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

    /// Sets the pointers up and goes over the rows.
    pub(super) fn words(&self, from: &dyn Fn(PointerWalkKind) -> RowPointerBase) -> String {
        let Scheduled { made, schedule, .. } = self.scheduled;
        let mut text = String::new();
        let add = |text: &mut String, pointer: Pointer, from: &str, bytes: i64| {
            let register = schedule.register_of(pointer);
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
            // The planes' rows begin with the one before the first.
            let before = [-self.row.pitch()[0], -self.row.pitch()[0], 0];
            for ((stream, before), register) in streams.into_iter().zip(before).zip(SUMMED) {
                if let Some(base) = bases.get(&stream) {
                    further(&mut text, register, &base.register, base.bytes + before);
                }
            }
            text += &first.emit(self.scheduled.kept_first()).text;
        }
        // The later half's pointer comes last: what both begin at may be in its register.
        for (&(stream, _), &pointer) in &made.pointers {
            if let Some(base) = bases.get(&stream) {
                add(&mut text, pointer, &base.register, base.bytes);
            }
        }
        for (pointer, name) in [(made.table, "constants"), (made.through, "sums")] {
            if let Some(pointer) = pointer {
                let (register, bias) = (schedule.register_of(pointer), schedule.bias(pointer));
                let _ = writeln!(text, "    movi a{register}, {name}{} + {bias}", self.label);
            }
        }
        text + &schedule.emit(self.iterations()).text
    }

    /// Iterations of its rows.
    pub(super) fn iterations(&self) -> u64 {
        (self.rows / self.scheduled.rows_per_iteration()) as u64
    }

    /// Its tables.
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

/// Sets a pointer up so many bytes from what a scalar has.
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
