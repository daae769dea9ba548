//! Generates page kernels: all passes of an FFT over a page's blocks.

use super::assembly_text::AssemblyText;
use super::block_kernels::GeneratedKernel;
use super::chirp::Chirp;
use super::column_loop::{COMPLEX, QUAD};
use super::real_split::RealPass;
use super::repitch::Repitch;
use super::stockham_pass::{LaneAssignment, ResultFactors, StockhamPass};
use crate::assembly::assembly;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use cp2_asm::{Assembly, Source};
use cp2_machine::Machine;
use std::sync::Arc;

/// Address register of a block's input.
const INPUT: u8 = 8;
/// Address register of a block's output.
const OUTPUT: u8 = 9;
/// Address register of a block's scratch.
const SCRATCH: u8 = 11;
/// Address register of the second scratch block of kernels in place.
const SECOND: u8 = 9;

/// Cycles of a page beside its blocks: page loop, arguments, loop over blocks.
const PAGE_OVERHEAD_CYCLES: u64 = 15;

/// A kernel under construction: where its passes read and write, and the text so far.
struct KernelWriter<'a> {
    machine: &'a Machine,
    text: AssemblyText,
    /// Address registers that the passes to come read from and write to.
    route: std::vec::IntoIter<(u8, u8)>,
    /// Number of passes written.
    done: usize,
    /// Bytes of a block in the input.
    input: u64,
    /// Bytes of a block in the output.
    output: u64,
    /// Bytes of the largest block between the passes.
    between: u64,
    in_place: bool,
    /// Blocks of working space.
    scratch: u64,
}

impl<'a> KernelWriter<'a> {
    /// Begins a kernel. An even number of passes works in place with a scratch block; an odd one alternates
    /// between input and output page.
    fn new(machine: &'a Machine, passes: usize, bytes: [u64; 3]) -> Self {
        let in_place = passes.is_multiple_of(2);
        let other = if in_place { SCRATCH } else { OUTPUT };
        let there_and_back = [(INPUT, other), (other, INPUT)];
        let route: Vec<_> = there_and_back.into_iter().cycle().take(passes).collect();
        Self::with_route(machine, route, bytes, in_place, u64::from(in_place))
    }

    /// Begins a kernel whose passes follow a route of address registers.
    fn with_route(
        machine: &'a Machine,
        route: Vec<(u8, u8)>,
        bytes: [u64; 3],
        in_place: bool,
        scratch: u64,
    ) -> Self {
        let [input, between, output] = bytes;
        Self {
            machine,
            text: AssemblyText::default(),
            route: route.into_iter(),
            done: 0,
            input,
            output,
            between,
            in_place,
            scratch,
        }
    }

    /// Writes the next pass: `write` gets the pass's number as a name, and the registers that it reads from
    /// and writes to.
    fn pass(&mut self, write: impl FnOnce(&mut AssemblyText, &str, u8, u8)) {
        // A pass too many is a bug, which the assembler finds: there is no such register.
        let (from, to) = self.route.next().unwrap_or((u8::MAX, u8::MAX));
        self.done += 1;
        write(&mut self.text, &self.done.to_string(), from, to);
    }

    fn finish(mut self, title: &str) -> Result<GeneratedKernel, FftError> {
        let largest = self.between.max(self.input).max(self.output);
        let pitch = if self.in_place {
            // The numbers in the page between two passes are no more than input or output.
            let pitch = self.input.max(self.output);
            (pitch, pitch)
        } else {
            (self.input, largest)
        };
        let scratch = self.scratch * self.between;
        self.text.address(INPUT, INPUT, pitch.0 as i64);
        let mut start = String::new();
        if !self.in_place {
            self.text.address(OUTPUT, OUTPUT, pitch.1 as i64);
        } else if self.scratch == 2 {
            // A kernel in place needs no register for the output page.
            start = format!(
                "    movi s15, {}\n    add a{SECOND}, a{SCRATCH}, s15\n",
                self.between
            );
        }
        let text = format!(
            "; {title}: generated, see docs/fft-mixed.md.\n\
             .include \"page.s\"\n\
             .dmem 0\n\
             {}.program\n\
             .entry start\n\
             start:\n    \
             page_begin\n    \
             ldx2 a8, [a15]\n    \
             ldx2 a10, [a15 + 8]\n    \
             nop\n    nop\n    nop\n    nop\n    nop\n    \
             mov c0, a10\n\
             {start}    \
             loop c0 {{\n{}    }}\n    \
             page_end\n    \
             stop\n",
            self.text.data, self.text.words,
        );
        let options = cp2_asm::Options {
            machine: Some(self.machine),
            ..cp2_asm::Options::default()
        };
        let file = format!("{title}.s");
        let source = Source::new(file.as_str(), text.clone());
        let Assembly {
            program, blocks, ..
        } = assembly(title, (&source, ""), &options)?;
        let (cycles, operations) = self.text.price_blocks(&blocks);
        Ok(GeneratedKernel {
            block_cycles: self.text.cycles + cycles,
            operations,
            page_cycles: PAGE_OVERHEAD_CYCLES,
            pitch,
            in_place: self.in_place,
            scratch,
            file,
            text,
            program: Arc::new(program),
        })
    }
}

/// Returns the bytes of `numbers` complex numbers of each of 2 `pairs` transforms.
fn block(numbers: usize, pairs: usize) -> u64 {
    QUAD as u64 * numbers as u64 * pairs as u64
}

/// Transforms of `n` complex numbers by passes of `radices`, whose product with `done` is `n`. `ends` says
/// whether the first pass loads and the last stores consecutive transforms.
struct ComplexPasses<'a> {
    n: usize,
    /// Numbers from a transform to the next where transforms are consecutive.
    pitch: usize,
    pairs: usize,
    lanes: LaneAssignment,
    direction: TransformDirection,
    radices: &'a [usize],
    done: usize,
    ends: (bool, bool),
    /// Factor of all results, 1 or 1/2.
    scale: f64,
    /// Factors of each result, if any.
    product: ResultFactors<'a>,
}

impl ComplexPasses<'_> {
    fn write(&self, making: &mut KernelWriter<'_>) {
        let mut done = self.done;
        for (i, &radix) in self.radices.iter().enumerate() {
            making.pass(|text, name, from, to| {
                let pass = StockhamPass {
                    n: self.n,
                    pitch: self.pitch,
                    pairs: self.pairs,
                    lanes: self.lanes,
                    radix,
                    done,
                    direction: self.direction,
                    loads_apart: self.ends.0 && i == 0,
                    stores_apart: self.ends.1 && i + 1 == self.radices.len(),
                    scale: if i == 0 { self.scale } else { 1.0 },
                    product: if i + 1 == self.radices.len() {
                        self.product
                    } else {
                        ResultFactors::None
                    },
                    from,
                    to,
                };
                pass.write(text, name);
            });
            done *= radix;
        }
    }
}

/// Returns a route for `passes` passes from block to scratch and back, which ends in the block.
fn round_trip_route(passes: usize) -> Vec<(u8, u8)> {
    let both = [(INPUT, SCRATCH), (SCRATCH, INPUT)];
    let mut route: Vec<_> = both.into_iter().cycle().take(passes).collect();
    if passes % 2 == 1 {
        // The last pass, of quads, can overwrite a column that it has read.
        route.pop();
        route.push((INPUT, INPUT));
    }
    route
}

/// Writes the passes of `couples` pairs of transforms of `n` numbers, from a page to the same page. In the
/// end number j of pair p is the quad j V + p. With `factors` the numbers begin in that order too, and the
/// results are multiplied by quads that lie in that order at the register; without, the transforms begin
/// consecutive, `pitch` numbers apart.
pub(super) fn write_in_place_passes(
    (n, pitch): (usize, usize),
    (radices, direction): (&[usize], TransformDirection),
    couples: usize,
    factors: Option<u8>,
    machine: &Machine,
) -> AssemblyText {
    let route = round_trip_route(radices.len());
    let mut making = KernelWriter::with_route(machine, route, [0; 3], true, 0);
    let passes = ComplexPasses {
        n,
        pitch,
        pairs: couples,
        lanes: LaneAssignment::Transforms,
        direction,
        radices,
        done: 1,
        ends: (factors.is_none(), false),
        scale: 1.0,
        product: factors.map_or(ResultFactors::None, ResultFactors::Quads),
    };
    passes.write(&mut making);
    making.text
}

/// Generates the kernel that copies pairs of rows to another distance.
pub(super) fn repitch(rows: Repitch, machine: &Machine) -> Result<GeneratedKernel, FftError> {
    let [from, to] = rows.bytes();
    let route = vec![(INPUT, OUTPUT)];
    let mut making = KernelWriter::with_route(machine, route, [from, 0, to], false, 0);
    making.pass(|text, name, from, to| rows.write((from, to), text, name));
    making.finish(&rows.to_string())
}

/// Generates the kernel of one transform of `n` numbers by the radices in order, in place with a scratch
/// block. The first radix is even, and `n` a multiple of twice that.
pub(super) fn columns(
    n: usize,
    radices: &[usize],
    direction: TransformDirection,
    machine: &Machine,
) -> Result<GeneratedKernel, FftError> {
    let route = round_trip_route(radices.len());
    let bytes = (n * COMPLEX as usize) as u64;
    let mut making = KernelWriter::with_route(machine, route, [bytes; 3], true, 1);
    let passes = ComplexPasses {
        n,
        pitch: n,
        pairs: 1,
        lanes: LaneAssignment::Columns,
        direction,
        radices,
        done: 1,
        ends: (false, false),
        scale: 1.0,
        product: ResultFactors::None,
    };
    passes.write(&mut making);
    making.finish(&format!("FFT of {n} by {radices:?}, {direction}"))
}

/// Generates the kernel of 2 `pairs` transforms of `n` numbers by the radices in order.
pub(super) fn mixed(
    n: usize,
    radices: &[usize],
    direction: TransformDirection,
    pairs: usize,
    machine: &Machine,
) -> Result<GeneratedKernel, FftError> {
    let mut making = KernelWriter::new(machine, radices.len(), [block(n, pairs); 3]);
    let passes = ComplexPasses {
        n,
        pitch: n,
        pairs,
        lanes: LaneAssignment::Transforms,
        direction,
        radices,
        done: 1,
        ends: (true, true),
        scale: 1.0,
        product: ResultFactors::None,
    };
    passes.write(&mut making);
    let count = 2 * pairs;
    making.finish(&format!("{count} FFTs of {n} by {radices:?}, {direction}"))
}

/// Generates the kernel of 2 `pairs` transforms, or of one by columns, of 2 `m` real numbers to `m` + 1
/// complex ones, or the inverse. `radices` are those of the complex transform without `joint`, the radix of
/// the pass that also splits (the last) or merges (the first).
pub(super) fn real(
    m: usize,
    radices: &[usize],
    joint: usize,
    direction: TransformDirection,
    (lanes, pairs): (LaneAssignment, usize),
    machine: &Machine,
) -> Result<GeneratedKernel, FftError> {
    let real = |from, to| RealPass {
        m,
        pairs,
        lanes,
        radix: joint,
        from,
        to,
    };
    let (time, spectrum) = match lanes {
        LaneAssignment::Transforms => (block(m, pairs), block(m + 1, pairs)),
        LaneAssignment::Columns => (block(m, pairs) / 2, block(m + 2, pairs) / 2),
    };
    let mut bytes = [time, time, spectrum];
    let forward = direction == TransformDirection::Forward;
    if !forward {
        bytes = [spectrum, time, time];
    }
    let count = radices.len() + 1;
    let mut making = match lanes {
        LaneAssignment::Transforms => KernelWriter::new(machine, count, bytes),
        LaneAssignment::Columns => {
            KernelWriter::with_route(machine, round_trip_route(count), bytes, true, 1)
        }
    };
    let passes = ComplexPasses {
        n: m,
        pitch: m,
        pairs,
        lanes,
        direction,
        radices,
        done: if forward { 1 } else { joint },
        ends: match lanes {
            LaneAssignment::Transforms => (forward, !forward),
            LaneAssignment::Columns => (false, false),
        },
        // The split expects Z/2.
        scale: if forward { 0.5 } else { 1.0 },
        product: ResultFactors::None,
    };
    if forward {
        passes.write(&mut making);
        making.pass(|text, name, from, to| real(from, to).split(text, name));
    } else {
        making.pass(|text, name, from, to| real(from, to).merge(text, name));
        passes.write(&mut making);
    }
    let (count, n) = (2 * pairs / lanes.width(), 2 * m);
    making.finish(&format!(
        "{count} real FFTs of {n} by {radices:?} and {joint}, {direction}"
    ))
}

/// Generates the kernel of 2 `pairs` transforms of `n` numbers by Bluestein's algorithm: a convolution by
/// transforms of length `m` with the radices. `chirp` and `filter` are the factors b and H as directives.
pub(super) fn bluestein(
    n: usize,
    (m, radices): (usize, &[usize]),
    direction: TransformDirection,
    (chirp, filter): (&[String], &[String]),
    pairs: usize,
    machine: &Machine,
) -> Result<GeneratedKernel, FftError> {
    let mut route = vec![(INPUT, SCRATCH), (SCRATCH, SCRATCH)];
    for _ in radices {
        // Both transforms have a pass for each radix.
        route.extend([(SCRATCH, SECOND), (SECOND, SCRATCH)]);
    }
    route.push((SCRATCH, INPUT));
    let bytes = [block(n, pairs), block(m, pairs), block(n, pairs)];
    let mut making = KernelWriter::with_route(machine, route, bytes, true, 2);
    let ends = |from, to| Chirp {
        n,
        m,
        pairs,
        direction,
        factors: chirp,
        from,
        to,
    };
    making.pass(|text, name, from, to| ends(from, to).begin(text, name));
    making.pass(|text, name, from, to| ends(from, to).fill(text, name));
    let filters = [
        (direction, ResultFactors::Table(filter)),
        (direction.reverse(), ResultFactors::None),
    ];
    for (direction, product) in filters {
        let passes = ComplexPasses {
            n: m,
            pitch: m,
            pairs,
            lanes: LaneAssignment::Transforms,
            direction,
            radices,
            done: 1,
            ends: (false, false),
            scale: 1.0,
            product,
        };
        passes.write(&mut making);
    }
    making.pass(|text, name, from, to| ends(from, to).end(text, name));
    let count = 2 * pairs;
    making.finish(&format!(
        "{count} FFTs of {n} by convolutions of {m}, {direction}"
    ))
}
