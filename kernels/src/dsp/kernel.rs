//! Page kernels that stream blocks through a pipelined body.

use super::error::DspError;
use crate::assembly::assembly;
use crate::pipeline::Ops;
use crate::pipeline::{Body, Operations, Pointer, Schedule};
use cp2_asm::{Program, Source};
use cp2_machine::Machine;
use std::fmt::Write as _;
use std::sync::Arc;

/// What a page kernel does with a block.
#[derive(Debug)]
pub(super) struct VectorRecipe<'a> {
    /// Name of the source in line tables.
    pub(super) name: &'a str,
    /// Body and registers.
    pub(super) ops: Ops,
    /// Pointers that walk through the input pages, one for each pointer of a
    /// page, with the input and bytes from the block's start.
    pub(super) inputs: Vec<InPage>,
    /// The same for output pages.
    pub(super) outputs: Vec<InPage>,
    /// Address register in which the words after the loop find the output page.
    pub(super) results: Option<u8>,
    /// Pointers into tables, which start anew in every block: label.
    pub(super) tables: Vec<(Pointer, &'a str)>,
    /// Iterations of a turn.
    pub(super) iterations: u64,
    /// Turns of a block: each runs the loop and the words around it.
    pub(super) turns: u64,
    /// Pages of inputs and of outputs.
    pub(super) pages: (usize, usize),
    /// Words before the loop of a block.
    pub(super) before: String,
    /// Words after it; may use the registers below the carried ones and the
    /// pointers of `tail_pages`.
    pub(super) after: String,
    /// Words after the last turn of a block.
    pub(super) next: String,
    /// Data: tables.
    pub(super) data: String,
}

/// A page kernel, assembled.
#[derive(Debug)]
pub(super) struct VectorPageKernel {
    pub(super) program: Arc<Program>,
    pub(super) source: String,
    /// Cycles of a block, from its schedule.
    pub(super) cycles: u64,
    /// Operations of a block, from the dataflow of its loops; none where no dataflow made them.
    pub(super) operations: Operations,
}

impl VectorPageKernel {
    /// Assembles its text; `cycles` are those of a block.
    pub(super) fn assemble(
        name: &str,
        text: String,
        cycles: u64,
        machine: &Machine,
    ) -> Result<Self, DspError> {
        let options = cp2_asm::Options {
            machine: Some(machine),
            ..cp2_asm::Options::default()
        };
        let source = Source::new(name, text.clone());
        Ok(Self {
            program: Arc::new(assembly(name, (&source, ""), &options)?.program),
            source: text,
            cycles,
            operations: Operations::default(),
        })
    }
}

/// Address register of pointer `i` of a body: pointers are made in this order.
pub(super) fn address(i: usize) -> u8 {
    i as u8
}

/// A pointer of `body` that steps by `bytes` an iteration.
pub(super) fn pointer(body: &mut Body, index: usize, bytes: i64) -> Pointer {
    body.pointer(address(index), crate::pipeline::Step::Bytes(bytes))
}

/// A pointer into the page of an input or output, and where in a block it begins.
pub(super) type InPage = (Pointer, usize, i64);

impl<'a> VectorRecipe<'a> {
    /// A body that streams blocks of so many iterations from pages of inputs to an output's.
    pub(super) fn streaming(
        name: &'a str,
        ops: Ops,
        (inputs, outputs): (Vec<InPage>, Vec<InPage>),
        iterations: usize,
    ) -> Self {
        let pages = |of: &[InPage]| of.iter().map(|&(_, page, _)| page + 1).max();
        Self {
            name,
            pages: (pages(&inputs).unwrap_or(1), 1),
            ops,
            inputs,
            outputs,
            results: None,
            tables: Vec::new(),
            iterations: iterations as u64,
            turns: 1,
            before: String::new(),
            after: String::new(),
            next: String::new(),
            data: String::new(),
        }
    }

    /// Schedules and assembles it.
    pub(super) fn build(self, machine: &Machine) -> Result<VectorPageKernel, DspError> {
        let schedule = self.ops.schedule(machine)?;
        let emitted = schedule.emit(self.iterations);
        let beside = self.before.lines().count() + self.after.lines().count() + self.tables.len();
        let text = self.text(&schedule, &emitted.text);
        let cycles = (emitted.cycles + beside as u64) * self.turns;
        let mut operations = Operations::default();
        operations.add(&self.ops.body, self.iterations * self.turns, machine);
        Ok(VectorPageKernel {
            operations,
            ..VectorPageKernel::assemble(self.name, text, cycles, machine)?
        })
    }

    /// The argument block's word of input or output `i`.
    fn word(&self, input: bool, i: usize) -> usize {
        match (input, i) {
            (true, 0) => 0,
            (false, 0) => 1,
            (true, i) => 3 + i,
            (false, i) => 3 + self.pages.0.saturating_sub(1) + i,
        }
    }

    fn text(&self, schedule: &Schedule, inner: &str) -> String {
        let mut text = format!(
            "; {}: generated.\n.include \"page.s\"\n.macro body\n",
            self.name
        );
        // The words of the argument block, in pairs, into c4 and on.
        let words = 3 + self.pages.0.max(1) + self.pages.1.max(1) - 1;
        for pair in 0..words.div_ceil(2) {
            let _ = writeln!(text, "    ldx2 c{}, [a15 + {}]", 4 + 2 * pair, 8 * pair);
        }
        let mut point = |pointer: Pointer, page: usize, offset: i64| {
            let bias = schedule.bias(pointer) + offset;
            let register = schedule.register_of(pointer);
            let page = 4 + page;
            let _ = if (-2048..2048).contains(&bias) {
                writeln!(text, "    addi a{register}, c{page}, {bias}")
            } else {
                writeln!(
                    text,
                    "    movi a{register}, {bias}\n    add a{register}, a{register}, c{page}"
                )
            };
        };
        for &(pointer, page, offset) in &self.inputs {
            point(pointer, self.word(true, page), offset);
        }
        for &(pointer, page, offset) in &self.outputs {
            point(pointer, self.word(false, page), offset);
        }
        if let Some(register) = self.results {
            let _ = writeln!(text, "    mov a{register}, c{}", 4 + self.word(false, 0));
        }
        text += "    loop c6 {\n";
        for &(pointer, label) in &self.tables {
            let register = schedule.register_of(pointer);
            let _ = writeln!(
                text,
                "    movi a{register}, {label} + {}",
                schedule.bias(pointer)
            );
        }
        if self.turns > 1 {
            let _ = writeln!(text, "    loop {} {{", self.turns);
        }
        for part in [&self.before, inner, &self.after] {
            text += part;
        }
        if self.turns > 1 {
            text += "    nop\n    }\n";
        }
        text += &self.next;
        // A hardware loop may not end where another does.
        text += "    nop\n    }\n.endm\n";
        let _ = write!(
            text,
            ".program\n.entry start\nstart:\n{}    page_begin\n    body\n    page_end\n    stop\n.dmem 0\n{}{}",
            self.ops.load_constants(),
            self.ops.constant_table(),
            self.data
        );
        text
    }
}
