//! Generates the kernel that makes blocks of one shape.

use super::block::{BlockShape, ResultQuad, Take};
use super::pages::Copies;
use super::run::{QuadRun, Reached, longest};
use super::{QUAD, WORD};
use crate::assembly::{assembly, moves};
use crate::job::{JobError, data_end};
use cp2_asm::schedule::{DataOperand, DataPointer, Dataflow, PointerStep};
use cp2_asm::{Program, Source};
use cp2_host::paging::{Ring, RingPass, aligned};
use cp2_machine::Machine;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a quad.
const BYTES: i64 = (QUAD * WORD) as i64;
/// Page buffers: one is computed, one stored, one loaded.
const BUFFERS: usize = 3;
/// Address register of a page's input.
const INPUT: u8 = 8;
/// Address register of a page's output.
const OUTPUT: u8 = 9;
/// Address register of the pointer that a loop stores by.
const STORE: u8 = 12;
/// Address registers of the pointers that a loop loads by.
pub(super) const POINTERS: Range<u8> = 0..7;
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
        text.shape(&of.shape, machine)?;
        let masks = text.load_masks();
        let source = format!(
            "; {name}: generated, see docs/host.md.\n\
             .program\n\
             .entry start\n\
             start:\n    \
             ldx2 c14, [a15]\n    \
             addi a7, a15, 16\n    \
             mov b7, a7\n    \
             movi s7, 8\n\
             {masks}    \
             nop\n    nop\n    \
             mov l7, c15\n\
             page:\n    \
             ldx2 a{INPUT}, [a7]+s7%\n    \
             ldx2 a10, [a7]+s7%\n    \
             wait 0\n\
             {}    \
             addi c14, c14, -1\n    \
             signal 1\n    \
             bnz c14, page\n    \
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

    /// Returns the register of a mask.
    fn mask(&self, mask: [u32; 4]) -> DataOperand {
        let index = self.masks.iter().position(|m| *m == mask).unwrap_or(0);
        DataOperand::Quad(self.first() + index as u8)
    }

    /// Returns the number of the first quad register that holds a mask.
    fn first(&self) -> u8 {
        32 - self.masks.len() as u8
    }

    /// Returns the words that load the masks into their registers.
    fn load_masks(&self) -> String {
        let mut words = String::from("    movi a0, masks\n");
        for i in 0..self.masks.len() {
            let _ = writeln!(words, "    ldq q{}, [a0]+16", usize::from(self.first()) + i);
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

    /// Appends words for `a{to} = a{from} + offset`.
    fn address(&mut self, to: u8, from: u8, offset: i64) {
        match offset {
            0 => self.word(&format!("mov a{to}, a{from}")),
            -2048..=2047 => self.word(&format!("addi a{to}, a{from}, {offset}")),
            _ => {
                self.word(&format!("movi s15, {offset}"));
                self.word(&format!("add a{to}, a{from}, s15"));
            }
        }
    }

    /// Appends the loops that make all quads of a block.
    fn shape(&mut self, shape: &BlockShape, machine: &Machine) -> Result<(), JobError> {
        let quads = &shape.quads;
        if quads.len() <= WHOLE && shape.times > 1 {
            let takes = quads.iter().map(|quad| quad.takes.len()).sum();
            let run = QuadRun {
                unit: quads,
                steps: vec![shape.input as i64 / BYTES; takes],
                iterations: shape.times,
            };
            return self.run(0, &run, machine);
        }
        let before = std::mem::take(&mut self.words);
        let mut at = 0;
        while at < quads.len() {
            let run = longest(&quads[at..]);
            self.run(at, &run, machine)?;
            at += run.unit.len() * run.iterations as usize;
        }
        let own = std::mem::replace(&mut self.words, before);
        if shape.times == 1 {
            self.words += &own;
            return Ok(());
        }
        let _ = write!(self.words, "    loop {} {{\n{own}", shape.times);
        for (register, bytes) in [(INPUT, shape.input), (OUTPUT, shape.output)] {
            self.word(&format!("movi s15, {bytes}"));
            self.word(&format!("add a{register}, a{register}, s15"));
        }
        self.words += "    }\n";
        Ok(())
    }

    /// Appends the loop over a run whose first quad is quad `at` of the result.
    fn run(&mut self, at: usize, run: &QuadRun<'_>, machine: &Machine) -> Result<(), JobError> {
        let mut body = Dataflow::default();
        let mut pointers: Vec<(DataPointer, Reached)> = Vec::new();
        let unit = run.unit.len() as i64;
        let store = body.pointer(STORE, PointerStep::Bytes(unit * BYTES));
        let mut steps = run.steps.iter();
        let mut loaded: Vec<(i64, i64, DataOperand)> = Vec::new();
        for (i, quad) in run.unit.iter().enumerate() {
            let mut parts = Vec::new();
            for take in &quad.takes {
                let step = steps.next().copied().unwrap_or(0);
                let known = loaded.iter().find(|l| (l.0, l.1) == (take.quad, step));
                let from = match known {
                    Some(&(_, _, reg)) => reg,
                    None => {
                        let from = pointer(&mut body, &mut pointers, take.quad, step);
                        let reg = DataOperand::Whole(body.quad());
                        body.load(reg, from.0, (take.quad - from.1) * BYTES);
                        loaded.push((take.quad, step, reg));
                        reg
                    }
                };
                parts.push((take, from));
            }
            let made = self.quad(&mut body, quad, &parts);
            body.store(made, store, i as i64 * BYTES);
        }
        let schedule = body.schedule_or_stretch(machine, 2 * self.first())?;
        self.address(STORE, OUTPUT, at as i64 * BYTES + schedule.bias(store));
        for (pointer, own) in &pointers {
            let register = schedule.pointer_register(*pointer);
            let first = own.quad * BYTES + schedule.bias(*pointer);
            self.address(register, INPUT, first);
        }
        let made = schedule.emit(run.iterations);
        self.words += &made.text();
        Ok(())
    }

    /// Makes a quad of the result of those it takes lanes of: `perm`, then `sel` to merge, `and` for zeros,
    /// `xor` for signs.
    fn quad(
        &self,
        body: &mut Dataflow,
        quad: &ResultQuad,
        parts: &[(&Take, DataOperand)],
    ) -> DataOperand {
        let mut made: Option<(DataOperand, [bool; 4])> = None;
        for (take, from) in parts {
            let mut own = *from;
            if take.lanes != IN_ORDER {
                let lanes = take.lanes.iter().rev();
                let lanes = lanes.fold(0, |all, &lane| all << 2 | i64::from(lane));
                own = DataOperand::Whole(body.quad_immediate("perm", &[own], lanes));
            }
            made = Some(match made {
                None => (own, take.taken),
                Some((before, taken)) => {
                    let mask = self.mask(keep_mask(take.taken));
                    let both = body.quad_op("sel", &[own, before, mask]);
                    let all = std::array::from_fn(|lane| taken[lane] || take.taken[lane]);
                    (DataOperand::Whole(both), all)
                }
            });
        }
        let Some((mut own, taken)) = made else {
            return self.mask([0; 4]);
        };
        if taken != [true; 4] {
            own = DataOperand::Whole(body.quad_op("and", &[own, self.mask(keep_mask(taken))]));
        }
        if quad.minus != [false; 4] {
            own = DataOperand::Whole(body.quad_op("xor", &[own, self.mask(signs(quad.minus))]));
        }
        own
    }
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

/// Returns a pointer that steps by `step` quads and reaches `quad`, and the quad at which it begins.
fn pointer(
    body: &mut Dataflow,
    all: &mut Vec<(DataPointer, Reached)>,
    quad: i64,
    step: i64,
) -> (DataPointer, i64) {
    if let Some(&(pointer, own)) = all.iter().find(|(_, own)| own.reaches(quad, step)) {
        return (pointer, own.quad);
    }
    // `longest` admits no run with more pointers than there are registers; a bug in it would make the
    // assembler refuse this.
    let register = POINTERS.clone().nth(all.len()).unwrap_or(u8::MAX);
    let pointer = body.pointer(register, PointerStep::Bytes(step * BYTES));
    all.push((pointer, Reached { quad, step }));
    (pointer, quad)
}
