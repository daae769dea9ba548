//! The page kernel of a block: its rows by a pipelined loop, and what fixed edges keep.

use super::error::StencilError;
use super::row::{Kept, Made, Row, Stream, Way};
use crate::assembly::assembly;
use crate::pipeline::{Operations, Pointer, Schedule};
use cp2_asm::{Program, Source};
use cp2_machine::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// Issues of an iteration at most: the loop, with what fills and empties it, has to fit the page loop.
const ISSUES: usize = 1024;
/// Rows of a block that ways are compared by.
const ROWS: usize = 16;
/// Bytes that an immediate of the scalar unit adds at most.
const NEAR: i64 = 2048;
/// Address register of a page's first input; the next one is of its output.
const FIRST: u8 = 8;

/// A block that is cut out of an array of so many axes.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    pub(super) row: Row<'a>,
    /// Rows.
    pub(super) rows: usize,
    /// The array's planes, of three axes.
    pub(super) planes: Option<usize>,
}

/// A row's dataflow with its schedule, which the number of rows does not matter for.
#[derive(Debug)]
pub(super) struct Scheduled {
    made: Made,
    schedule: Schedule,
}

impl Row<'_> {
    /// Schedules it for a machine.
    pub(super) fn scheduled(&self, machine: &Machine) -> Result<Scheduled, StencilError> {
        let mut refused = None;
        let mut of = |way: Way, stretched: bool| {
            let made = self.make(way);
            if made.body.arithmetic().max(made.body.memory()) > ISSUES {
                return None;
            }
            let schedule = match stretched {
                true => made.body.stretch(machine, made.free()),
                false => made.body.schedule(machine, made.free()),
            };
            match schedule {
                Ok(schedule) => Some(Scheduled { made, schedule }),
                Err(e) => {
                    refused = Some(StencilError::from(e));
                    None
                }
            }
        };
        let mut fastest = |ways: &[Way], stretched: bool| {
            let all = ways.iter().filter_map(|&way| of(way, stretched));
            all.min_by_key(|made| made.cycles(ROWS))
        };
        let (ways, frugal) = (self.ways(), Self::frugal_ways());
        let best = fastest(&ways, false).or_else(|| {
            let [first, second] = frugal;
            fastest(&[first], false).or_else(|| fastest(&[second], false))
        });
        // Long latencies keep more values waiting than there are registers.
        let best = best.or_else(|| fastest(&[&ways[..], &frugal].concat(), true));
        best.ok_or_else(|| {
            refused.unwrap_or_else(|| StencilError::NoBlock {
                points: self.stencil.points().len(),
                machine: machine.name.clone(),
                dmem: machine.cp2.dmem.0,
            })
        })
    }
}

impl Scheduled {
    /// Cycles of so many rows, a multiple of those [together](Self::together).
    pub(super) fn cycles(&self, rows: usize) -> u64 {
        let iterations = rows / self.together();
        self.schedule.emit(iterations as u64).cycles
    }

    /// Bytes of the program's data.
    pub(super) fn data(&self) -> u64 {
        let kept = if self.made.kept.is_some() { 4 } else { 0 };
        16 * (self.made.constants.len() as u64 + kept) + self.made.sums
    }

    /// Rows of an iteration.
    pub(super) fn together(&self) -> usize {
        self.made.way.together.max(1)
    }
}

/// A page kernel, assembled.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) program: Arc<Program>,
    pub(super) source: String,
    /// Operations of a block.
    pub(super) operations: Operations,
}

impl Block<'_> {
    /// Assembles it for a machine.
    pub(super) fn kernel(
        &self,
        scheduled: &Scheduled,
        machine: &Machine,
    ) -> Result<Kernel, StencilError> {
        let Scheduled { made, schedule } = scheduled;
        let source = self.text(made, schedule);
        let options = cp2_asm::Options {
            machine: Some(machine),
            ..cp2_asm::Options::default()
        };
        let assembled = assembly(
            "stencil",
            (&Source::new("stencil.s", source.clone()), ""),
            &options,
        )?;
        let mut operations = Operations::default();
        let iterations = (self.rows / scheduled.together()) as u64;
        operations.add(&made.body, iterations, machine);
        Ok(Kernel {
            program: Arc::new(assembled.program),
            source,
            operations,
        })
    }

    fn text(&self, made: &Made, schedule: &Schedule) -> String {
        let points = self.row.stencil.points().len();
        let mut text = format!(
            "; Stencil of {points} points, blocks of {} rows of {}: generated, see docs/stencil.md.\n\
             .include \"page.s\"\n.program\n.entry start\nstart:\n",
            self.rows, self.row.width
        );
        let mut lines = made.constants.clone();
        if !lines.is_empty() {
            text += "    movi a8, constants\n";
        }
        for i in 0..made.held() {
            let register = usize::from(made.first_constant()) - i;
            let _ = writeln!(text, "    ldq q{register}, [a8 + {}]", 16 * i);
        }
        text += "    page_begin\n";
        if let Some(kept) = made.kept {
            self.place(&mut text, kept, lines.len());
            lines.extend(self.places());
        }
        self.point(&mut text, made, schedule);
        let iterations = self.rows / made.way.together.max(1);
        text += &schedule.emit(iterations as u64).text;
        text += "    page_end\n    stop\n.dmem 0\n";
        if !lines.is_empty() {
            text += "    .align 16\nconstants:\n";
        }
        for line in lines {
            let [a, b, c, d] = line.map(|word| word as i32);
            let _ = writeln!(text, "    .int {a}, {b}, {c}, {d}");
        }
        if made.sums > 0 {
            let _ = writeln!(text, "    .align 16\nsums:\n    .space {}", made.sums);
        }
        text
    }

    /// Sets the pointers up.
    fn point(&self, text: &mut String, made: &Made, schedule: &Schedule) {
        let add = |text: &mut String, pointer: Pointer, from: &str| {
            let (register, bias) = (schedule.register_of(pointer), schedule.bias(pointer));
            let _ = if (-NEAR..NEAR).contains(&bias) {
                writeln!(text, "    addi a{register}, {from}, {bias}")
            } else {
                writeln!(text, "    movi s0, {bias}\n    add a{register}, {from}, s0")
            };
        };
        let _ = writeln!(text, "    ldx2 a{FIRST}, [a15]");
        let streams: BTreeSet<Stream> = made.pointers.keys().map(|(stream, _)| *stream).collect();
        let mut from = BTreeMap::new();
        for stream in streams {
            let place = match stream {
                Stream::Plane(plane) if self.planes.is_some() => self.line(plane),
                // The first input's one plane, and the first output, are there.
                Stream::Plane(_) => {
                    from.insert(stream, FIRST);
                    continue;
                }
                Stream::Result => {
                    from.insert(stream, FIRST + 1);
                    continue;
                }
                Stream::Own => "16".to_owned(),
            };
            let [_, register] = stream.registers();
            let _ = writeln!(text, "    ldx a{register}, [a15 + {place}]");
            from.insert(stream, register);
        }
        // The later half's pointer comes last: what both begin at may be in its register.
        for (&(stream, _), &pointer) in &made.pointers {
            if let Some(from) = from.get(&stream) {
                add(text, pointer, &format!("a{from}"));
            }
        }
        let labels = [(made.table, "constants"), (made.through, "sums")];
        for (pointer, label) in labels {
            if let Some(pointer) = pointer {
                let (register, bias) = (schedule.register_of(pointer), schedule.bias(pointer));
                let _ = writeln!(text, "    movi a{register}, {label} + {bias}");
            }
        }
    }

    /// Where the arguments have the address of a plane of the window.
    fn line(&self, plane: i8) -> String {
        // The table begins lower for a second input.
        let further = i64::from(self.row.per_element);
        format!("PAGE_LINES - {}", 8 * (further + i64::from(plane + 1)))
    }

    /// What a section's place is compared with: by lanes the column that is the first, and the last; the first plane, and the last.
    fn places(&self) -> [[u32; 4]; 4] {
        let lanes = |of: &dyn Fn(i64) -> i64| [0, 1, 2, 3].map(|lane| of(lane) as i32 as u32);
        let quad = self.row.last().0;
        let columns = self.row.columns as i64;
        // Of two axes no plane is the outermost.
        let [first, last] = match self.planes {
            Some(planes) => [0, planes as i64 - 1],
            None => [-1, -1],
        };
        [
            lanes(&|lane| -lane),
            lanes(&|lane| columns - 1 - 4 * quad - lane),
            lanes(&|_| first),
            lanes(&|_| last),
        ]
    }

    /// Masks of what keeps its value, each section's own, and the number of its first row.
    fn place(&self, text: &mut String, kept: Kept, constants: usize) {
        *text += "    ldq q0, [a15 + SECTION_ORIGIN]\n    movi a8, constants\n";
        for i in 0..4 {
            let _ = writeln!(text, "    ldq q{}, [a8 + {}]", 1 + i, 16 * (constants + i));
        }
        let Kept {
            first,
            last,
            plane,
            row,
        } = kept;
        let _ = write!(
            text,
            "    perm q5, q0, 0\n    perm q{row}, q0, 85\n    perm q6, q0, 170\n    icmpeq q{first}, q5, q1\n\
             \x20   icmpeq q{last}, q5, q2\n    icmpeq q3, q6, q3\n    icmpeq q4, q6, q4\n    or q{plane}, q3, q4\n",
        );
    }
}
