//! Generates the page kernel around the loops over a page's rows.

use super::MultigridError;
use super::rows::RowOperand;
use crate::assembly::assembly;
use crate::pipeline::Operations;
use cp2_asm::{Assembly, Options, Program, Source};
use cp2_machine::Machine;
use cp2_problems::npb::Precision;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
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
    pub(super) rows: LinearRows,
    pub(super) iterations: u64,
}

/// A loop over rows in linear assembly.
#[derive(Debug)]
pub(super) struct LinearRows {
    /// File that has the macro.
    pub(super) file: &'static str,
    /// Name of the macro, whose first parameter is the number of rows.
    pub(super) call: &'static str,
    /// The other parameters.
    pub(super) arguments: Vec<LoopArgument>,
    /// Planes of the window that the loop reads.
    pub(super) planes: Range<usize>,
    /// Names and values of the numbers that the file needs besides, the same ones for all loops of a page.
    pub(super) numbers: Vec<(&'static str, String)>,
    /// True if the loop adds squares to the sum of the page.
    pub(super) squares: bool,
}

/// A parameter of a loop's macro.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoopArgument {
    /// A number.
    Number(i64),
    /// A place in memory, two parameters: a register and the bytes from there.
    Place(RowOperand),
}

impl LinearRows {
    /// Writes the call of the macro.
    fn call(&self, rows: u64, frame: PageSetup) -> String {
        let mut text = format!("    {} {rows}", self.call);
        for argument in &self.arguments {
            let _ = match *argument {
                LoopArgument::Number(number) => write!(text, ", {number}"),
                LoopArgument::Place(place) => {
                    let (register, bytes) = frame.place(place);
                    write!(text, ", c{register}, {bytes}")
                }
            };
        }
        text + "\n"
    }
}

/// Files of linear assembly.
const FILES: [(&str, &str); 11] = [
    ("numbers.s", include_str!("numbers.s")),
    ("squares.s", include_str!("squares.s")),
    ("lifted_rows.s", include_str!("lifted_rows.s")),
    ("residual.s", include_str!("residual.s")),
    ("smoother.s", include_str!("smoother.s")),
    ("projection.s", include_str!("projection.s")),
    ("interpolation.s", include_str!("interpolation.s")),
    ("lifted_turn.s", include_str!("lifted_turn.s")),
    ("plane_residual.s", include_str!("plane_residual.s")),
    ("plane_smoother.s", include_str!("plane_smoother.s")),
    ("plane_projection.s", include_str!("plane_projection.s")),
];

/// Finds a file of linear assembly.
pub(super) fn find_file(name: &str, _from: &str) -> Result<Source, String> {
    let found = FILES.iter().find(|(file, _)| *file == name);
    found.map_or_else(
        || Err("no such file".to_owned()),
        |&(file, text)| Ok(Source::new(file, text)),
    )
}

/// Writes the lines that include the files of linear loops, with their parameters.
fn includes(parts: &[&PageLoop], precision: Precision) -> String {
    let linear = || parts.iter().map(|part| &part.rows);
    let number = match precision {
        Precision::Single => 0,
        Precision::Double => 1,
        Precision::DoubleSingle => 2,
    };
    let mut text = format!(".equ PRECISION, {number}\n");
    let numbers: BTreeMap<&str, &str> = linear()
        .flat_map(|rows| rows.numbers.iter().map(|(name, value)| (*name, &**value)))
        .collect();
    for (name, value) in numbers {
        let _ = writeln!(text, ".equ {name}, {value}");
    }
    text += ".include \"lifted_rows.s\"\n";
    let files: BTreeSet<&str> = linear().map(|rows| rows.file).collect();
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
    /// Lanes of the mask and the factor of the last loop, of two pages in turn.
    pub(super) switch: Option<SwitchValues>,
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

    /// Returns the control register of a place, and the bytes from there.
    fn place(self, place: RowOperand) -> (usize, i64) {
        match place {
            RowOperand::Input(0, bytes) => (WORDS, bytes),
            RowOperand::Input(i, bytes) => (WORDS + 3 + i, bytes),
            RowOperand::Output(i, bytes) => (self.output(i), bytes),
            RowOperand::Scratch(bytes) => (WORDS + 3, bytes),
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
        let assembly = assemble_page(name, (parts, opening), frame, machine)?;
        let (mut operations, mut more) = (Operations::default(), (Operations::default(), 0));
        // The loops of the opening stand behind the others.
        let (own, others) = assembly
            .blocks
            .split_at_checked(parts.len())
            .unwrap_or_default();
        for (part, block) in parts.iter().zip(own) {
            operations.add_block(block, part.iterations);
        }
        for (part, block) in opening.iter().zip(others) {
            more.0.add_block(block, part.iterations);
            more.1 += block.count_cycles(part.iterations) - block.constant_cycles;
        }
        Ok(Self {
            program: Arc::new(assembly.program),
            operations,
            opening: more,
        })
    }
}

/// Generates and assembles the program of pages that run the loops of the first list one after the other, and those of
/// the second before them where no rows were handed over.
pub(super) fn assemble_page(
    name: &str,
    (parts, opening): (&[PageLoop], &[PageLoop]),
    frame: PageSetup,
    machine: &Machine,
) -> Result<Assembly, MultigridError> {
    let mut text = format!("; {name}: generated.\n.include \"page.s\"\n");
    let all: Vec<&PageLoop> = parts.iter().chain(opening).collect();
    text += &includes(&all, frame.precision);
    text += ".program\n.entry start\nstart:\n";
    text += &begin(frame);
    text += "    page_begin\n";
    text += &arguments(parts, frame);
    if !opening.is_empty() {
        let [next, _] = OPENS;
        let _ = writeln!(text, "    ldx2 c{next}, [a15 - 16]");
    }
    for (number, part) in parts.iter().enumerate() {
        // The inputs of the opening are complete only before loop `opening.len() - 1`, the residual.
        if number + 1 == opening.len() {
            let [_, opens] = OPENS;
            let _ = writeln!(text, "    bz c{opens}, further\n    call opening\nfurther:");
        }
        if number + 1 == parts.len() {
            text += switch(frame);
        }
        text += &part.rows.call(part.iterations, frame);
        if part.rows.squares {
            let sums = frame.output(frame.sums);
            let _ = writeln!(
                text,
                "    fold_squares\n    mov a14, c{sums}\n    stq q0, [a14]"
            );
        }
    }
    text += "    page_end\n    stop\n";
    if !opening.is_empty() {
        text += "opening:\n";
        for part in opening {
            text += &part.rows.call(part.iterations, frame);
        }
        text += "    ret\n";
    }
    text += ".dmem 0\n";
    text += &switch_table(frame);
    let options = Options {
        machine: Some(machine),
        include: Some(&find_file),
        ..Options::default()
    };
    Ok(assembly(name, (&Source::new(name, text), ""), &options)?)
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
    let planes: BTreeSet<usize> = parts
        .iter()
        .flat_map(|part| part.rows.planes.clone())
        .collect();
    for plane in planes {
        // The table of planes begins 8 bytes lower for each further input.
        let lower = 8 * (plane + frame.inputs.saturating_sub(1));
        let _ = writeln!(
            text,
            "    ldx c{}, [a15 + PAGE_LINES - {lower}]",
            PLANES + plane
        );
    }
    if parts.iter().any(|part| part.rows.squares) {
        text += "    clear_squares\n";
    }
    text
}

/// Writes the words that load the switches of the last loop and toggle the address for the next page.
fn switch(frame: PageSetup) -> &'static str {
    match frame.switch {
        Some(_) => "    ldq MASK, [a13]\n    ldq FACTOR, [a13 + 16]\n    sub a13, s13, a13\n",
        None => "",
    }
}

/// Writes the table of the two values of each switch.
fn switch_table(frame: PageSetup) -> String {
    let Some(values) = frame.switch else {
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
