//! The page kernel around the loops over a page's rows.

use super::MultigridError;
use super::rows::{Place, Rows};
use crate::assembly::assembly;
use crate::pipeline::{Operations, Schedule};
use cp2_asm::{Options, Program, Source};
use cp2_machine::Machine;
use std::fmt::Write as _;
use std::sync::Arc;

/// A page kernel, assembled.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) program: Arc<Program>,
    /// What a page issues.
    pub(super) operations: Operations,
}

/// A loop of a page: what an iteration does, and how often.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) rows: Rows,
    pub(super) iterations: u64,
}

/// What pages have beside their loops.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    /// Arrays that are loaded.
    pub(super) inputs: usize,
    /// Whether what is carried is an output beside that of the rows.
    pub(super) beside: bool,
    /// Bytes of working space, which is 0 when the first page comes.
    pub(super) scratch: i64,
    /// Two quads of the last loop that have one of two values in turn, page by page, for each of them.
    pub(super) switch: Option<([u8; 2], [[u32; 2]; 2])>,
}

/// Registers of the argument words and of the window's planes.
const WORDS: usize = 4;
const PLANES: usize = 10;

impl Kernel {
    /// The kernel of pages that do these loops one after the other; the output of rows, if there is one, is the first.
    pub(super) fn new(
        name: &str,
        parts: &[Part],
        frame: Frame,
        machine: &Machine,
    ) -> Result<Self, MultigridError> {
        let mut text =
            format!("; {name}: generated.\n.include \"page.s\"\n.program\n.entry start\nstart:\n");
        text += &begin(frame);
        text += "    page_begin\n";
        text += &arguments(parts, frame);
        let mut data = String::new();
        let mut operations = Operations::default();
        for (number, part) in parts.iter().enumerate() {
            let schedule = part.rows.ops.schedule_or_stretch(machine)?;
            let emitted = schedule.emit(part.iterations);
            // Each loop has constants of its own.
            let label = format!("constants{number}");
            let own = |text: String| text.replace("constants", &label);
            text += &own(part.rows.ops.load_constants());
            data += &own(part.rows.ops.constant_table());
            if number + 1 == parts.len() {
                text += &switch(frame);
            }
            text += &pointers(&part.rows, &schedule);
            text += &emitted.text;
            if let Some(sum) = part.rows.sum {
                let sums = match frame.beside {
                    true => WORDS + 3 + frame.inputs,
                    false => WORDS + 1,
                };
                let _ = writeln!(text, "    mov a14, c{sums}\n    stq q{sum}, [a14]");
            }
            operations.add(&part.rows.ops.body, part.iterations, machine);
        }
        // A hardware loop may not end where another does.
        text += "    nop\n    page_end\n    stop\n.dmem 0\n";
        text += &data;
        text += &switch_table(frame);
        let options = Options {
            machine: Some(machine),
            ..Options::default()
        };
        Ok(Self {
            program: Arc::new(assembly(name, (&Source::new(name, text), ""), &options)?.program),
            operations,
        })
    }
}

/// Before the first page: the working space, and where the first values of switches are.
fn begin(frame: Frame) -> String {
    let mut text = String::new();
    if frame.scratch > 0 {
        let _ = writeln!(
            text,
            "    ldx2 c{WORDS}, [a15 + 8]\n    lif r0, 0.0\n    lif r1, 0.0"
        );
        let _ = writeln!(text, "    mov a0, c{}", WORDS + 1);
        let mut quads = frame.scratch / 16;
        while quads > 0 {
            let now = quads.min(4095);
            let _ = writeln!(text, "    loop {now} {{\n    stq q0, [a0]+16\n    }}");
            quads -= now;
        }
        text += "    nop\n";
    }
    if frame.switch.is_some() {
        // The one address is what the other lacks of their sum.
        text += "    movi a13, switch\n    movi s13, switch + switch + 32\n";
    }
    text
}

/// Words of a page before its first loop.
fn arguments(parts: &[Part], frame: Frame) -> String {
    let mut text = String::new();
    let words = 3 + frame.inputs + usize::from(frame.beside);
    for pair in 0..words.div_ceil(2) {
        let _ = writeln!(text, "    ldx2 c{}, [a15 + {}]", WORDS + 2 * pair, 8 * pair);
    }
    let pointers = parts.iter().flat_map(|part| &part.rows.pointers);
    let mut planes: Vec<usize> = pointers.filter_map(|p| plane(p.1)).collect();
    planes.sort_unstable();
    planes.dedup();
    for plane in planes {
        // The table begins lower for each further input.
        let lower = 8 * (plane + frame.inputs.saturating_sub(1));
        let _ = writeln!(
            text,
            "    ldx c{}, [a15 + PAGE_LINES - {lower}]",
            PLANES + plane
        );
    }
    for sum in parts.iter().filter_map(|part| part.rows.sum) {
        let _ = writeln!(
            text,
            "    lif r{}, 0.0\n    lif r{}, 0.0",
            2 * sum,
            2 * sum + 1
        );
    }
    text
}

/// Words that load the switches of the last loop, and see to it that the next page has their other values.
fn switch(frame: Frame) -> String {
    let mut text = String::new();
    if let Some((quads, _)) = frame.switch {
        for (i, quad) in quads.iter().enumerate() {
            let _ = writeln!(text, "    ldq q{quad}, [a13 + {}]", 16 * i);
        }
        text += "    sub a13, s13, a13\n";
    }
    text
}

/// Words that set the pointers of a loop up.
fn pointers(rows: &Rows, schedule: &Schedule) -> String {
    let mut text = String::new();
    for &(pointer, place) in &rows.pointers {
        let (register, bytes) = match place {
            Place::Plane(plane, bytes) => (PLANES + plane, bytes),
            Place::Input(0, bytes) => (WORDS, bytes),
            Place::Input(i, bytes) => (WORDS + 3 + i, bytes),
            Place::Output(bytes) => (WORDS + 1, bytes),
            Place::Scratch(bytes) => (WORDS + 3, bytes),
        };
        let bias = schedule.bias(pointer) + bytes;
        let a = schedule.register_of(pointer);
        let _ = match (-2048..2048).contains(&bias) {
            true => writeln!(text, "    addi a{a}, c{register}, {bias}"),
            false => writeln!(
                text,
                "    movi a{a}, {bias}\n    add a{a}, a{a}, c{register}"
            ),
        };
    }
    text
}

/// The two values of each switch.
fn switch_table(frame: Frame) -> String {
    let Some((_, values)) = frame.switch else {
        return String::new();
    };
    let mut text = "    .align 16\nswitch:\n".to_owned();
    for turn in values {
        for bits in turn {
            let word = bits as i32;
            let _ = writeln!(text, "    .int {word}, {word}, {word}, {word}");
        }
    }
    text
}

fn plane(place: Place) -> Option<usize> {
    match place {
        Place::Plane(plane, _) => Some(plane),
        Place::Input(..) | Place::Output(_) | Place::Scratch(_) => None,
    }
}
