//! Generates the kernel that makes blocks of one shape.

use super::block::{BlockShape, ResultQuad, Take};
use super::pages::Copies;
use super::run::{QuadRun, Reached, longest};
use super::{QUAD, WORD};
use crate::assembly::{assembly, moves};
use crate::job::{JobError, data_end};
use crate::pipeline::{BlockWriter, address};
use cp2_asm::{Program, Source};
use cp2_host::paging::{Ring, RingPass, aligned};
use cp2_machine::Machine;
use std::fmt::Write as _;
use std::sync::Arc;

/// Bytes of a quad.
const BYTES: i64 = (QUAD * WORD) as i64;
/// Page buffers: one is computed, one stored, one loaded.
const BUFFERS: usize = 3;
/// Registers of the addresses of a page's input and output.
const INPUT: &str = "c8";
const OUTPUT: &str = "c9";
/// Most pointers that a loop loads by.
pub(super) const POINTERS: usize = 7;
/// Most quads of a repeated part for which one iteration makes a whole part.
const WHOLE: usize = 8;
/// Lanes of a quad in their order, as `perm` names them.
const IN_ORDER: [u8; 4] = [0, 1, 2, 3];

/// A page kernel, assembled.
#[derive(Debug)]
pub(super) struct RelayoutPageKernel {
    pub(super) program: Arc<Program>,
    page: u64,
    /// Alignment of buffers and arguments in bytes.
    aligned: u64,
}

impl RelayoutPageKernel {
    /// Generates and assembles the kernel of blocks of one shape; `name` says what they are for.
    pub(super) fn new(name: &str, of: &Copies, machine: &Machine) -> Result<Self, JobError> {
        let mut text = PageWords::new(&of.shape);
        text.shape(&of.shape);
        let masks = text.load_masks();
        let source = format!(
            "; {name}: generated, see docs/host.md.\n\
             .include \"page.s\"\n\
             .program\n\
             .entry start\n\
             start:\n\
             {masks}    \
             ring_begin\n\
             page:\n    \
             ring_page {INPUT}, c10\n\
             {}    \
             ring_end page\n    \
             stop\n\
             .dmem 0\n{}",
            text.words,
            text.data()
        );
        let options = cp2_asm::Options {
            machine: Some(machine),
            ..cp2_asm::Options::default()
        };
        let source = Source::new(format!("{name}.s"), source);
        let program = assembly(name, (&source, ""), &options)?.program;
        let made = Self {
            program: Arc::new(program),
            page: of.shape.bytes(),
            aligned: aligned(machine),
        };
        crate::assembly::check_dmem_end(name, made.ring().end([made.page, 0, 0]), machine)?;
        moves(name, &RingPass::new(made.ring(), of.clone()), machine)?;
        Ok(made)
    }

    /// Returns the ring of page buffers, which lies behind the masks.
    pub(super) fn ring(&self) -> Ring {
        let arguments = data_end(&self.program).next_multiple_of(self.aligned);
        let first = arguments + Ring::argument_bytes(BUFFERS).next_multiple_of(self.aligned);
        Ring::new(arguments, first, BUFFERS, self.page, 0)
    }

    /// Makes the pass over the blocks.
    pub(super) fn pass(&self, of: Copies) -> RingPass {
        RingPass::new(self.ring(), of).price_by_kernel(&self.program, "start")
    }

    /// Returns the bytes of the program and its masks.
    pub(super) fn image(&self) -> u64 {
        8 * self.program.words.len() as u64 + data_end(&self.program)
    }
}

/// Builds the assembly text of a page kernel.
struct PageWords {
    words: String,
    /// Masks, which are kept in the highest quad registers.
    masks: Vec<[u32; 4]>,
}

/// Returns the mask of the lanes to keep, as bits.
fn keep_mask(lanes: [bool; 4]) -> [u32; 4] {
    lanes.map(|lane| if lane { u32::MAX } else { 0 })
}

/// Returns the mask that changes the signs of lanes, as bits.
fn signs(lanes: [bool; 4]) -> [u32; 4] {
    lanes.map(|lane| if lane { 1 << 31 } else { 0 })
}

impl PageWords {
    /// Collects the masks that a shape needs.
    fn new(shape: &BlockShape) -> Self {
        let mut masks: Vec<[u32; 4]> = Vec::new();
        let mut need = |mask: [u32; 4]| {
            if !masks.contains(&mask) {
                masks.push(mask);
            }
        };
        for quad in &shape.quads {
            for mask in quad_masks(quad) {
                need(mask);
            }
        }
        Self {
            words: String::new(),
            masks,
        }
    }

    /// Returns the words that load the masks into their registers.
    fn load_masks(&self) -> String {
        let mut words = String::from("    movi a0, masks\n");
        let first = 32 - self.masks.len();
        for (i, &mask) in self.masks.iter().enumerate() {
            let (name, register) = (mask_name(mask), first + i);
            let _ = writeln!(
                words,
                "    .alias {name}, q{register}\n    ldq {name}, [a0]+16"
            );
        }
        words
    }

    /// Returns the data of the masks.
    fn data(&self) -> String {
        let mut data = String::from("masks:\n");
        for mask in &self.masks {
            let [a, b, c, d] = mask.map(|bits| bits as i32);
            let _ = writeln!(data, "    .int {a}, {b}, {c}, {d}");
        }
        data + "    .space 16\n"
    }

    /// Appends a word.
    fn word(&mut self, word: &str) {
        let _ = writeln!(self.words, "    {word}");
    }

    /// Appends the loops that make all quads of a block.
    fn shape(&mut self, shape: &BlockShape) {
        let quads = &shape.quads;
        if quads.len() <= WHOLE && shape.times > 1 {
            let takes = quads.iter().map(|quad| quad.takes.len()).sum();
            let run = QuadRun {
                unit: quads,
                steps: vec![shape.input as i64 / BYTES; takes],
                iterations: shape.times,
            };
            self.run(0, &run);
            return;
        }
        let before = std::mem::take(&mut self.words);
        let mut at = 0;
        while at < quads.len() {
            let run = longest(&quads[at..]);
            self.run(at, &run);
            at += run.unit.len() * run.iterations as usize;
        }
        let own = std::mem::replace(&mut self.words, before);
        if shape.times == 1 {
            self.words += &own;
            return;
        }
        let _ = write!(self.words, "    loop {} {{\n{own}", shape.times);
        for (register, bytes) in [(INPUT, shape.input), (OUTPUT, shape.output)] {
            self.word(&format!("movi s15, {bytes}"));
            self.word(&format!("add {register}, {register}, s15"));
        }
        self.words += "    }\n";
    }

    /// Appends the loop over a run whose first quad is quad `at` of the result.
    fn run(&mut self, at: usize, run: &QuadRun<'_>) {
        let mut block = BlockWriter::default();
        let mut pointers: Vec<Reached> = Vec::new();
        block.pointer(
            "out",
            (OUTPUT, at as i64 * BYTES),
            run.unit.len() as i64 * BYTES,
        );
        block.declare(".apart");
        let mut steps = run.steps.iter();
        let mut loaded: Vec<(i64, i64, String)> = Vec::new();
        for (i, quad) in run.unit.iter().enumerate() {
            let mut parts = Vec::new();
            for take in &quad.takes {
                let step = steps.next().copied().unwrap_or(0);
                let known = loaded.iter().find(|l| (l.0, l.1) == (take.quad, step));
                let from = match known {
                    Some((_, _, from)) => from.clone(),
                    None => {
                        let from = load(&mut block, &mut pointers, (take.quad, step));
                        loaded.push((take.quad, step, from.clone()));
                        from
                    }
                };
                parts.push((take, from));
            }
            let made = make_quad(&mut block, (i, quad), parts);
            block.operation("stq", &[&made, &address("out", i as i64 * BYTES)]);
        }
        self.words += &block.text("quads", run.iterations);
    }
}

/// Loads a quad of the input that advances by `step` quads, and returns its name.
fn load(block: &mut BlockWriter, pointers: &mut Vec<Reached>, (quad, step): (i64, i64)) -> String {
    let known = pointers.iter().position(|own| own.reaches(quad, step));
    let index = known.unwrap_or_else(|| {
        let name = format!("in{}", pointers.len());
        block.pointer(&name, (INPUT, quad * BYTES), step * BYTES);
        pointers.push(Reached { quad, step });
        pointers.len() - 1
    });
    let first = pointers.get(index).map_or(quad, |own| own.quad);
    let from = address(&format!("in{index}"), (quad - first) * BYTES);
    block.compute(&format!("x[{quad}]"), "ldq", &[&from])
}

/// Makes quad `i` of the result of those it takes lanes of: `perm`, then `sel` to merge, `and` for zeros, `xor` for
/// signs.
fn make_quad(
    block: &mut BlockWriter,
    (i, quad): (usize, &ResultQuad),
    parts: Vec<(&Take, String)>,
) -> String {
    let mut made: Option<(String, [bool; 4])> = None;
    for (take, mut own) in parts {
        if take.lanes != IN_ORDER {
            let lanes = take.lanes.map(|lane| format!("{lane:02b}"));
            let [a, b, c, d] = &lanes;
            let lanes = format!("0b{d}_{c}_{b}_{a}");
            own = block.compute(&format!("moved[{i}]"), "perm", &[&own, &lanes]);
        }
        made = Some(match made {
            None => (own, take.taken),
            Some((before, taken)) => {
                let mask = mask_name(keep_mask(take.taken));
                let both = block.compute(&format!("merged[{i}]"), "sel", &[&own, &before, &mask]);
                let all = std::array::from_fn(|lane| taken[lane] || take.taken[lane]);
                (both, all)
            }
        });
    }
    let Some((mut own, taken)) = made else {
        return mask_name([0; 4]);
    };
    if taken != [true; 4] {
        let mask = mask_name(keep_mask(taken));
        own = block.compute(&format!("kept[{i}]"), "and", &[&own, &mask]);
    }
    if quad.minus != [false; 4] {
        let mask = mask_name(signs(quad.minus));
        own = block.compute(&format!("turned[{i}]"), "xor", &[&own, &mask]);
    }
    own
}

/// Returns the name of a mask: lane by lane 1 where it keeps a number, or where it changes the sign.
fn mask_name(mask: [u32; 4]) -> String {
    let what = match mask.contains(&(1 << 31)) {
        true => "MINUS",
        false => "KEEP",
    };
    let [a, b, c, d] = mask.map(|lane| u32::from(lane != 0));
    format!("{what}_{a}{b}{c}{d}")
}

/// Returns the masks that a quad needs.
fn quad_masks(quad: &ResultQuad) -> Vec<[u32; 4]> {
    let mut masks = Vec::new();
    let mut taken = [false; 4];
    for (i, take) in quad.takes.iter().enumerate() {
        if i > 0 {
            masks.push(keep_mask(take.taken));
        }
        taken = std::array::from_fn(|lane| taken[lane] || take.taken[lane]);
    }
    if taken != [true; 4] {
        masks.push(keep_mask(taken));
    }
    if quad.minus != [false; 4] {
        masks.push(signs(quad.minus));
    }
    masks
}
