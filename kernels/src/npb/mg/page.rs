//! Generates the page kernel around the loops over a page's rows.

use super::MultigridError;
use super::rows::{RowDataflow, RowOperand};
use crate::assembly::assembly;
use crate::pipeline::Operations;
use cp2_asm::schedule::{ModuloSchedule, PointerSetup};
use cp2_asm::{BlockReport, Options, Program, Source};
use cp2_machine::Machine;
use cp2_problems::npb::Precision;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// A page kernel, assembled.
#[derive(Clone, Debug)]
pub(super) struct MultigridPageKernel {
    pub(super) program: Arc<Program>,
    /// Operations that a page issues.
    pub(super) operations: Operations,
    /// Operations that a page issues besides if no rows were handed over to it, and the cycles of these.
    pub(super) opening: (Operations, u64),
}

/// A loop of a page: an iteration, and the number of iterations.
#[derive(Debug)]
pub(super) struct PageLoop {
    pub(super) rows: LoopRows,
    pub(super) iterations: u64,
}

/// An iteration of a loop.
#[derive(Debug)]
pub(super) enum LoopRows {
    /// Its dataflow.
    Dataflow(RowDataflow),
    /// A macro of linear assembly.
    Linear(LinearRows),
}

/// A loop over rows in linear assembly.
#[derive(Debug)]
pub(super) struct LinearRows {
    /// File that has the macro.
    pub(super) file: &'static str,
    /// Name of the macro, whose parameters are the number of rows and of the quads of a row.
    pub(super) call: &'static str,
    /// Number of quads of a row.
    pub(super) quads: usize,
    /// Number of planes of the window.
    pub(super) planes: usize,
    /// Names and values of the weights that the file needs.
    pub(super) weights: Vec<(&'static str, f64)>,
}

impl LoopRows {
    /// Returns the planes of the window that the loop reads.
    fn planes(&self) -> Vec<usize> {
        match self {
            Self::Dataflow(rows) => rows.pointers.iter().filter_map(|p| plane(p.1)).collect(),
            Self::Linear(rows) => (0..rows.planes).collect(),
        }
    }

    /// Returns the quad registers of the sum that is carried through all iterations.
    fn sum(&self) -> &[u8] {
        match self {
            Self::Dataflow(rows) => &rows.sum,
            Self::Linear(_) => &[],
        }
    }
}

/// Files of linear assembly.
const FILES: [(&str, &str); 3] = [
    ("numbers.s", include_str!("numbers.s")),
    ("lifted_rows.s", include_str!("lifted_rows.s")),
    ("residual.s", include_str!("residual.s")),
];

/// Finds a file of linear assembly.
fn find_file(name: &str, _from: &str) -> Result<Source, String> {
    let found = FILES.iter().find(|(file, _)| *file == name);
    found.map_or_else(
        || Err("no such file".to_owned()),
        |&(file, text)| Ok(Source::new(file, text)),
    )
}

/// Writes the lines that include the files of linear loops, with their parameters.
fn includes(parts: &[&PageLoop], precision: Precision) -> String {
    let linear: Vec<&LinearRows> = parts
        .iter()
        .filter_map(|part| match &part.rows {
            LoopRows::Dataflow(_) => None,
            LoopRows::Linear(rows) => Some(rows),
        })
        .collect();
    if linear.is_empty() {
        return String::new();
    }
    let number = match precision {
        Precision::Single => 0,
        Precision::Double => 1,
        Precision::DoubleSingle => 2,
    };
    let mut text = format!(".equ PRECISION, {number}\n");
    let weights: BTreeMap<&str, f64> = linear
        .iter()
        .flat_map(|rows| rows.weights.iter().copied())
        .collect();
    for (name, value) in weights {
        let _ = writeln!(text, ".equ {name}, {value:?}");
    }
    let files: BTreeSet<&str> = linear.iter().map(|rows| rows.file).collect();
    for file in files {
        let _ = writeln!(text, ".include \"{file}\"");
    }
    text
}

/// Lanes of both quads of a switch, in pages that take turns.
pub(super) type SwitchValues = [[[u32; 4]; 2]; 2];

/// Arguments, working space and switches of a page besides its loops.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageSetup {
    /// Number of arrays that are loaded.
    pub(super) inputs: usize,
    /// Number of arrays that are stored.
    pub(super) outputs: usize,
    /// Index of the output that the carried sums are stored to.
    pub(super) sums: usize,
    /// Bytes of working space, which is zero before the first page.
    pub(super) scratch: i64,
    /// Format of the sums.
    pub(super) precision: Precision,
    /// Two quad registers of the last loop, and the lanes of the two pairs of values that they have in turn, page by
    /// page.
    pub(super) switch: Option<([u8; 2], SwitchValues)>,
}

/// First control register of the argument words.
const WORDS: usize = 4;
/// First control register of the addresses of the window's planes.
const PLANES: usize = 10;

/// Control registers of the page's next block, and of the flag that it is the first block of its section's
/// share.
const OPENS: [usize; 2] = [12, 13];

impl PageSetup {
    /// Returns the register of the address of an output.
    fn output(self, index: usize) -> usize {
        match index {
            0 => WORDS + 1,
            _ => WORDS + 2 + self.inputs + index,
        }
    }
}

impl MultigridPageKernel {
    /// Generates the kernel of pages that run the loops `parts` one after the other.
    ///
    /// A page to which no rows were handed over runs the loops `opening` before them. The output of rows, if
    /// there is one, is output 0.
    pub(super) fn new(
        name: &str,
        parts: &[PageLoop],
        opening: &[PageLoop],
        frame: PageSetup,
        machine: &Machine,
    ) -> Result<Self, MultigridError> {
        let mut text = format!("; {name}: generated.\n.include \"page.s\"\n");
        let all: Vec<&PageLoop> = parts.iter().chain(opening).collect();
        text += &includes(&all, frame.precision);
        text += ".program\n.entry start\nstart:\n";
        text += &begin(frame);
        text += "    page_begin\n";
        text += &arguments(parts, frame);
        let mut data = String::new();
        if !opening.is_empty() {
            let [next, _] = OPENS;
            let _ = writeln!(text, "    ldx2 c{next}, [a15 - 16]");
        }
        let mut operations = Operations::default();
        for (number, part) in parts.iter().enumerate() {
            // The inputs of the opening are complete only before loop `opening.len() - 1`, the residual.
            if number + 1 == opening.len() {
                let [_, opens] = OPENS;
                let _ = writeln!(text, "    bz c{opens}, further\n    call opening\nfurther:");
            }
            let looped = Looped::new(part, &format!("constants{number}"), frame, machine)?;
            data += &looped.constants;
            text += &looped.begin;
            if number + 1 == parts.len() {
                text += &switch(frame);
            }
            text += &looped.text;
            if !part.rows.sum().is_empty() {
                let sums = frame.output(frame.sums);
                text += &folded(frame.precision, part.rows.sum());
                let _ = writeln!(text, "    mov a14, c{sums}\n    stq q0, [a14]");
            }
        }
        // A hardware loop may not end at the same word as another loop.
        if text.ends_with("}\n") {
            text += "    nop\n";
        }
        text += "    page_end\n    stop\n";
        let mut more = (Operations::default(), 0);
        if !opening.is_empty() {
            text += "opening:\n";
            for (number, part) in opening.iter().enumerate() {
                let looped = Looped::new(part, &format!("opening{number}"), frame, machine)?;
                data += &looped.constants;
                text += &looped.begin;
                text += &looped.text;
                more.1 += looped.cycles;
            }
            text += "    ret\n";
        }
        text += ".dmem 0\n";
        text += &data;
        text += &switch_table(frame);
        let options = Options {
            machine: Some(machine),
            include: Some(&find_file),
            ..Options::default()
        };
        let assembly = assembly(name, (&Source::new(name, text), ""), &options)?;
        let mut blocks = assembly.blocks.iter();
        for part in parts {
            part.count(&mut blocks, &mut operations, machine);
        }
        for part in opening {
            let cycles = part.count(&mut blocks, &mut more.0, machine);
            more.1 += cycles.unwrap_or(0);
        }
        Ok(Self {
            program: Arc::new(assembly.program),
            operations,
            opening: more,
        })
    }
}

impl PageLoop {
    /// Adds the operations of the loop, of which a linear one is the next of the scheduled `blocks`. Returns the cycles
    /// of a linear one.
    fn count<'a>(
        &self,
        blocks: &mut impl Iterator<Item = &'a BlockReport>,
        operations: &mut Operations,
        machine: &Machine,
    ) -> Option<u64> {
        match &self.rows {
            LoopRows::Dataflow(rows) => {
                operations.add(&rows.ops.body, self.iterations, machine);
                None
            }
            LoopRows::Linear(_) => {
                let block = blocks.next()?;
                operations.add_block(block, self.iterations);
                Some(block.count_cycles(self.iterations) - block.constant_cycles)
            }
        }
    }
}

/// A loop as assembly.
#[derive(Default)]
struct Looped {
    /// Words before the loop that load its constants.
    begin: String,
    /// The loop, with the words that set its pointers up.
    text: String,
    /// Table of the constants, at a label.
    constants: String,
    /// Cycles of the loop.
    cycles: u64,
}

impl Looped {
    /// Schedules and writes a loop whose constants are at `label`.
    fn new(
        part: &PageLoop,
        label: &str,
        frame: PageSetup,
        machine: &Machine,
    ) -> Result<Self, MultigridError> {
        let rows = match &part.rows {
            LoopRows::Dataflow(rows) => rows,
            LoopRows::Linear(rows) => {
                let text = format!("    {} {}, {}\n", rows.call, part.iterations, rows.quads);
                return Ok(Self {
                    text,
                    ..Self::default()
                });
            }
        };
        let schedule = rows.ops.schedule_or_stretch(machine)?;
        let setups = pointers(rows, &schedule, frame);
        let emitted = schedule.emit(part.iterations).set_up(setups);
        // Each loop has constants of its own, at its own label.
        let own = |text: String| text.replace("constants", label);
        Ok(Self {
            begin: own(rows.ops.load_constants()),
            constants: own(rows.ops.constant_table()),
            cycles: emitted.cycles,
            text: emitted.text(),
        })
    }
}

/// Lane permutations that exchange the halves of a quad, and the neighbours in each.
const FOLDS: [u8; 2] = [0b01_00_11_10, 0b10_11_00_01];

/// Writes words that leave the sum of a quad's numbers in all of `q0`, so that the control CPU has one number of a page
/// to add. In double-single precision `quads` are upper and lower parts, and `r0` gets both parts of the sum.
fn folded(precision: Precision, quads: &[u8]) -> String {
    let [halves, neighbours] = FOLDS;
    match (precision, quads) {
        (Precision::DoubleSingle, &[high, low]) => {
            let mut text = format!("    mov q0, q{high}\n    mov q1, q{low}\n");
            for lanes in FOLDS {
                let _ = write!(
                    text,
                    "    perm q2, q0, {lanes}\n    perm q3, q1, {lanes}\n    add q4, q0, q2\n    adde q5, q0, q2\n    add q3, q1, q3\n    add q3, q3, q5\n    add q0, q4, q3\n    adde q1, q4, q3\n"
                );
            }
            text + "    trnlo r0, r0, r2\n"
        }
        (Precision::Double, &[quad]) => {
            format!("    perm q1, q{quad}, {halves}\n    dadd q0, q{quad}, q1\n")
        }
        (_, quads) => {
            let quad = quads.first().copied().unwrap_or(0);
            format!(
                "    perm q1, q{quad}, {halves}\n    add q0, q{quad}, q1\n    perm q1, q0, {neighbours}\n    add q0, q0, q1\n"
            )
        }
    }
}

/// Writes the words before the first page: they clear the working space and set the address of the first
/// switch values.
fn begin(frame: PageSetup) -> String {
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
        // `a13 = s13 - a13` alternates between two addresses, as `s13` is their sum.
        text += "    movi a13, switch\n    movi s13, switch + switch + 32\n";
    }
    text
}

/// Writes the words of a page before its first loop: they load arguments and clear sums.
fn arguments(parts: &[PageLoop], frame: PageSetup) -> String {
    let mut text = String::new();
    let words = 2 + frame.inputs + frame.outputs;
    for pair in 0..words.div_ceil(2) {
        let _ = writeln!(text, "    ldx2 c{}, [a15 + {}]", WORDS + 2 * pair, 8 * pair);
    }
    let mut planes: Vec<usize> = parts.iter().flat_map(|part| part.rows.planes()).collect();
    planes.sort_unstable();
    planes.dedup();
    for plane in planes {
        // The table of planes begins 8 bytes lower for each further input.
        let lower = 8 * (plane + frame.inputs.saturating_sub(1));
        let _ = writeln!(
            text,
            "    ldx c{}, [a15 + PAGE_LINES - {lower}]",
            PLANES + plane
        );
    }
    for sum in parts.iter().flat_map(|part| part.rows.sum()) {
        let _ = writeln!(
            text,
            "    lif r{}, 0.0\n    lif r{}, 0.0",
            2 * sum,
            2 * sum + 1
        );
    }
    text
}

/// Writes the words that load the switches of the last loop and toggle the address for the next page.
fn switch(frame: PageSetup) -> String {
    let mut text = String::new();
    if let Some((quads, _)) = frame.switch {
        for (i, quad) in quads.iter().enumerate() {
            let _ = writeln!(text, "    ldq q{quad}, [a13 + {}]", 16 * i);
        }
        text += "    sub a13, s13, a13\n";
    }
    text
}

/// Returns the words that set the pointers of a loop up.
fn pointers(rows: &RowDataflow, schedule: &ModuloSchedule, frame: PageSetup) -> Vec<PointerSetup> {
    let pointers = rows.pointers.iter().map(|&(pointer, place)| {
        let (register, bytes) = match place {
            RowOperand::Plane(plane, bytes) => (PLANES + plane, bytes),
            RowOperand::Input(0, bytes) => (WORDS, bytes),
            RowOperand::Input(i, bytes) => (WORDS + 3 + i, bytes),
            RowOperand::Output(i, bytes) => (frame.output(i), bytes),
            RowOperand::Scratch(bytes) => (WORDS + 3, bytes),
        };
        let bias = schedule.bias(pointer) + bytes;
        let a = schedule.pointer_register(pointer);
        let words = match (-2048..2048).contains(&bias) {
            true => vec![format!("addi a{a}, c{register}, {bias}")],
            false => vec![
                format!("movi a{a}, {bias}"),
                format!("add a{a}, a{a}, c{register}"),
            ],
        };
        let registers = vec![a];
        PointerSetup { words, registers }
    });
    pointers.collect()
}

/// Writes the table of the two values of each switch.
fn switch_table(frame: PageSetup) -> String {
    let Some((_, values)) = frame.switch else {
        return String::new();
    };
    let mut text = "    .align 16\nswitch:\n".to_owned();
    for turn in values {
        for lanes in turn {
            let [a, b, c, d] = lanes.map(|bits| bits as i32);
            let _ = writeln!(text, "    .int {a}, {b}, {c}, {d}");
        }
    }
    text
}

/// Returns the number of the plane of the window, if the place is in one.
fn plane(place: RowOperand) -> Option<usize> {
    match place {
        RowOperand::Plane(plane, _) => Some(plane),
        RowOperand::Input(..) | RowOperand::Output(..) | RowOperand::Scratch(_) => None,
    }
}
