//! Page kernels that stream blocks through a pipelined body.

use super::error::DspError;
use crate::assembly::assembly;
use crate::pipeline::{Operations, Ops};
use cp2_asm::schedule::{DataPointer, Dataflow, ModuloSchedule};
use cp2_asm::{Program, Source};
use cp2_machine::Machine;
use std::fmt::Write as _;
use std::sync::Arc;

/// Description of a page kernel: the loop over a block, and the words around it.
#[derive(Debug)]
pub(super) struct VectorRecipe<'a> {
    /// Name of the source in line tables.
    pub(super) name: &'a str,
    /// Dataflow of the loop, and its constant and carried registers.
    pub(super) ops: Ops,
    /// Pointers into input pages: pointer, number of the input, and bytes from the block's start.
    pub(super) inputs: Vec<InPage>,
    /// Pointers into output pages: pointer, number of the output, and bytes from the block's start.
    pub(super) outputs: Vec<InPage>,
    /// Iterations of the loop in a turn.
    pub(super) iterations: u64,
    /// Turns of a block: each runs the loop and `after`.
    pub(super) turns: u64,
    /// Number of input pages and of output pages.
    pub(super) pages: (usize, usize),
    /// Words after the loop, which may use the registers below the carried ones.
    pub(super) after: String,
    /// Words after the last turn of a block.
    pub(super) next: String,
}

/// A page kernel, assembled.
#[derive(Debug)]
pub(super) struct VectorPageKernel {
    pub(super) program: Arc<Program>,
    pub(super) source: String,
    /// Cycles of a block by its schedule.
    pub(super) cycles: u64,
    /// Operations of a block by the dataflow of its loops; none for kernels that no dataflow was made for.
    pub(super) operations: Operations,
}

/// Files of linear assembly.
const FILES: [(&str, &str); 4] = [
    ("map.s", include_str!("map.s")),
    ("rows.s", include_str!("rows.s")),
    ("reductions.s", include_str!("reductions.s")),
    ("largest.s", include_str!("largest.s")),
];

/// Finds a file of linear assembly.
fn find_file(name: &str, _from: &str) -> Result<Source, String> {
    let found = FILES.iter().find(|(file, _)| *file == name);
    found.map_or_else(
        || Err("no such file".to_owned()),
        |&(file, text)| Ok(Source::new(file, text)),
    )
}

impl VectorPageKernel {
    /// Assembles the text of a kernel whose linear blocks run so many iterations for a block of a page, and that
    /// issues so many words beside them.
    pub(super) fn from_blocks(
        name: &str,
        text: String,
        (iterations, beside): (&[usize], usize),
        machine: &Machine,
    ) -> Result<Self, DspError> {
        let options = cp2_asm::Options {
            machine: Some(machine),
            include: Some(&find_file),
            ..cp2_asm::Options::default()
        };
        let source = Source::new(name, text.clone());
        let assembly = assembly(name, (&source, ""), &options)?;
        let mut operations = Operations::default();
        let mut cycles = beside as u64;
        for (block, &iterations) in assembly.blocks.iter().zip(iterations) {
            operations.add_block(block, iterations as u64);
            cycles += block.count_cycles(iterations as u64);
        }
        Ok(Self {
            program: Arc::new(assembly.program),
            source: text,
            cycles,
            operations,
        })
    }

    /// Assembles the text of a kernel that takes `cycles` cycles a block.
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

/// Returns the address register of pointer `i` of a body; pointers must be made in this order.
pub(super) fn address(i: usize) -> u8 {
    i as u8
}

/// Adds a pointer to `body` that steps by `bytes` an iteration.
pub(super) fn pointer(body: &mut Dataflow, index: usize, bytes: i64) -> DataPointer {
    body.pointer(address(index), cp2_asm::schedule::PointerStep::Bytes(bytes))
}

/// A pointer into a page: the pointer, the number of the input or output, and the byte of a block at which it
/// begins.
pub(super) type InPage = (DataPointer, usize, i64);

impl<'a> VectorRecipe<'a> {
    /// Describes a kernel that streams blocks of so many iterations from input pages to an output page.
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
            iterations: iterations as u64,
            turns: 1,
            after: String::new(),
            next: String::new(),
        }
    }

    /// Schedules the loop and assembles the kernel.
    pub(super) fn build(self, machine: &Machine) -> Result<VectorPageKernel, DspError> {
        let schedule = self.ops.schedule(machine)?;
        let emitted = schedule.emit(self.iterations);
        let beside = self.after.lines().count();
        let text = self.text(&schedule, &emitted.text());
        let cycles = (emitted.cycles + beside as u64) * self.turns;
        let mut operations = Operations::default();
        operations.add(&self.ops.body, self.iterations * self.turns, machine);
        Ok(VectorPageKernel {
            operations,
            ..VectorPageKernel::assemble(self.name, text, cycles, machine)?
        })
    }

    /// Returns the index of the argument word with the page of input or output `i`.
    fn word(&self, input: bool, i: usize) -> usize {
        match (input, i) {
            (true, 0) => 0,
            (false, 0) => 1,
            (true, i) => 3 + i,
            (false, i) => 3 + self.pages.0.saturating_sub(1) + i,
        }
    }

    /// Writes the assembly of the kernel around the scheduled loop `inner`.
    fn text(&self, schedule: &ModuloSchedule, inner: &str) -> String {
        let mut text = format!(
            "; {}: generated.\n.include \"page.s\"\n.macro body\n",
            self.name
        );
        // Argument words are loaded in pairs into c4, c5 and so on.
        let words = 3 + self.pages.0.max(1) + self.pages.1.max(1) - 1;
        for pair in 0..words.div_ceil(2) {
            let _ = writeln!(text, "    ldx2 c{}, [a15 + {}]", 4 + 2 * pair, 8 * pair);
        }
        let mut point = |pointer: DataPointer, page: usize, offset: i64| {
            let bias = schedule.bias(pointer) + offset;
            let register = schedule.pointer_register(pointer);
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
        text += "    loop c6 {\n";
        if self.turns > 1 {
            let _ = writeln!(text, "    loop {} {{", self.turns);
        }
        text += inner;
        text += &self.after;
        if self.turns > 1 {
            text += "    nop\n    }\n";
        }
        text += &self.next;
        // A hardware loop may not end at the same word as another loop.
        text += "    nop\n    }\n.endm\n";
        let _ = write!(
            text,
            ".program\n.entry start\nstart:\n{}    page_begin\n    body\n    page_end\n    stop\n.dmem 0\n{}",
            self.ops.load_constants(),
            self.ops.constant_table()
        );
        text
    }
}
