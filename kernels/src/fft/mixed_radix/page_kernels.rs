//! The page kernels: passes in a row over every block of a page.

use super::assembly_text::AssemblyText;
use super::block_kernels::GeneratedKernel;
use super::chirp::Chirp;
use super::column_loop::{COMPLEX, QUAD};
use super::real_split::RealPass;
use super::repitch::Repitch;
use super::stockham_pass::{LaneAssignment, ResultFactors, StockhamPass};
use crate::fft::TransformDirection;
use crate::pipeline::Unschedulable;
use cp2_machine::Machine;

/// Address registers of a block's input, output and scratch.
const INPUT: u8 = 8;
const OUTPUT: u8 = 9;
const SCRATCH: u8 = 11;
/// The second block of scratch, of kernels in place.
const SECOND: u8 = 9;

/// Cycles of a page beside its blocks: the page loop, arguments, the loop over blocks.
const PAGE: u64 = 15;

/// A kernel in the making: where its passes read and write, and the text so far.
struct KernelWriter<'a> {
    machine: &'a Machine,
    text: AssemblyText,
    /// The registers that the passes to come read and write by.
    route: std::vec::IntoIter<(u8, u8)>,
    /// Passes written.
    done: usize,
    /// Bytes of a block where it is read and where it is written, and of the largest in between.
    input: u64,
    output: u64,
    between: u64,
    in_place: bool,
    /// Blocks of working space.
    scratch: u64,
}

impl<'a> KernelWriter<'a> {
    /// An even number of passes works in place with a scratch block; an odd one
    /// goes to the output page and back and forth.
    fn new(machine: &'a Machine, passes: usize, bytes: [u64; 3]) -> Self {
        let in_place = passes.is_multiple_of(2);
        let other = if in_place { SCRATCH } else { OUTPUT };
        let there_and_back = [(INPUT, other), (other, INPUT)];
        let route: Vec<_> = there_and_back.into_iter().cycle().take(passes).collect();
        Self::with_route(machine, route, bytes, in_place, u64::from(in_place))
    }

    /// Passes along a route.
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

    /// The next pass: the registers it reads and writes by, and its number as a name.
    fn pass(
        &mut self,
        write: impl FnOnce(&mut AssemblyText, &Machine, &str, u8, u8) -> Result<(), Unschedulable>,
    ) -> Result<(), Unschedulable> {
        // A pass too many would be a bug that the assembler finds.
        let (from, to) = self.route.next().unwrap_or((u8::MAX, u8::MAX));
        self.done += 1;
        write(
            &mut self.text,
            self.machine,
            &self.done.to_string(),
            from,
            to,
        )
    }

    fn finish(mut self, title: &str) -> GeneratedKernel {
        let largest = self.between.max(self.input).max(self.output);
        let pitch = if self.in_place {
            // What lies in the page between two passes is no larger than input or output.
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
            // In place the output page needs no register.
            start = format!(
                "    movi s15, {}\n    add a{SECOND}, a{SCRATCH}, s15\n",
                self.between
            );
        }
        let text = format!(
            "; {title}: generated, see docs/fft-mixed.md.\n\
             .include \"page.s\"\n\
             .program\n\
             .entry start\n\
             start:\n    \
             page_begin\n    \
             ldx2 a8, [a15]\n    \
             ldx2 a10, [a15 + 8]\n    \
             movi s{}, 8\n    \
             nop\n    nop\n    nop\n    nop\n    \
             mov c0, a10\n\
             {start}    \
             loop c0 {{\n{}    }}\n    \
             page_end\n    \
             stop\n\
             .dmem 0\n{}",
            AssemblyText::EIGHT,
            self.text.words,
            self.text.data
        );
        GeneratedKernel {
            words: self.text.words.lines().count() as u64,
            tables: self.text.bytes,
            block_cycles: self.text.cycles,
            operations: self.text.operations,
            page_cycles: PAGE,
            pitch,
            in_place: self.in_place,
            scratch,
            text,
        }
    }
}

/// Bytes of `numbers` complex numbers of each of 2 `pairs` transforms.
fn block(numbers: usize, pairs: usize) -> u64 {
    QUAD as u64 * numbers as u64 * pairs as u64
}

/// Transforms of `n` complex numbers by passes of `radices`, the product of
/// which with `done` is `n`. `ends`: whether the first pass loads and the last
/// stores transforms that lie one behind the other.
struct ComplexPasses<'a> {
    n: usize,
    /// Numbers from a transform to the next where they lie one behind the other.
    pitch: usize,
    pairs: usize,
    lanes: LaneAssignment,
    direction: TransformDirection,
    radices: &'a [usize],
    done: usize,
    ends: (bool, bool),
    /// What the results are multiplied by: all of them, 1 or 1/2, and each, if anything.
    scale: f64,
    product: ResultFactors<'a>,
}

impl ComplexPasses<'_> {
    fn write(&self, making: &mut KernelWriter<'_>) -> Result<(), Unschedulable> {
        let mut done = self.done;
        for (i, &radix) in self.radices.iter().enumerate() {
            making.pass(|text, machine, name, from, to| {
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
                pass.write(text, machine, name)
            })?;
            done *= radix;
        }
        Ok(())
    }
}

/// A route for so many passes from block to scratch and back, which ends where it began.
fn there_and_back(passes: usize) -> Vec<(u8, u8)> {
    let both = [(INPUT, SCRATCH), (SCRATCH, INPUT)];
    let mut route: Vec<_> = both.into_iter().cycle().take(passes).collect();
    if passes % 2 == 1 {
        // The last pass, of quads, can write a column where it has read it.
        route.pop();
        route.push((INPUT, INPUT));
    }
    route
}

/// The passes of `couples` couples of transforms of `n` numbers, from a page to the same
/// page, where in the end number j of couple p is the quad j V + p. In the beginning it
/// is there too, and the results are multiplied by quads that lie as they do at the
/// register `factors`; or, without factors, the transforms lie one behind the other, `pitch` numbers apart.
pub(super) fn in_place(
    (n, pitch): (usize, usize),
    (radices, direction): (&[usize], TransformDirection),
    couples: usize,
    factors: Option<u8>,
    machine: &Machine,
) -> Result<AssemblyText, Unschedulable> {
    let route = there_and_back(radices.len());
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
    passes.write(&mut making)?;
    Ok(making.text)
}

/// The kernel that copies couples of rows of `length` numbers to another distance.
pub(super) fn repitch(rows: Repitch, machine: &Machine) -> Result<GeneratedKernel, Unschedulable> {
    let [from, to] = rows.bytes();
    let route = vec![(INPUT, OUTPUT)];
    let mut making = KernelWriter::with_route(machine, route, [from, 0, to], false, 0);
    making.pass(|text, machine, name, from, to| rows.write((from, to), text, machine, name))?;
    Ok(making.finish(&rows.to_string()))
}

/// The kernel of one transform of `n` numbers by the radices in order, the first of
/// them even and `n` a multiple of twice that: in place, with a scratch block.
pub(super) fn columns(
    n: usize,
    radices: &[usize],
    direction: TransformDirection,
    machine: &Machine,
) -> Result<GeneratedKernel, Unschedulable> {
    let route = there_and_back(radices.len());
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
    passes.write(&mut making)?;
    Ok(making.finish(&format!("FFT of {n} by {radices:?}, {direction}")))
}

/// The kernel of 2 `pairs` transforms of `n` numbers by the radices in order.
pub(super) fn mixed(
    n: usize,
    radices: &[usize],
    direction: TransformDirection,
    pairs: usize,
    machine: &Machine,
) -> Result<GeneratedKernel, Unschedulable> {
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
    passes.write(&mut making)?;
    let count = 2 * pairs;
    Ok(making.finish(&format!("{count} FFTs of {n} by {radices:?}, {direction}")))
}

/// The kernel of 2 `pairs` transforms, or of one by columns, of 2 `m` real numbers to `m` + 1 complex
/// ones, or back: the radices of the complex transform, and that of the pass
/// which is done together with the split (the last) or the merge (the first).
pub(super) fn real(
    m: usize,
    radices: &[usize],
    joint: usize,
    direction: TransformDirection,
    (lanes, pairs): (LaneAssignment, usize),
    machine: &Machine,
) -> Result<GeneratedKernel, Unschedulable> {
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
            KernelWriter::with_route(machine, there_and_back(count), bytes, true, 1)
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
        // The split expects halves.
        scale: if forward { 0.5 } else { 1.0 },
        product: ResultFactors::None,
    };
    if forward {
        passes.write(&mut making)?;
        making.pass(|text, machine, name, from, to| real(from, to).split(text, machine, name))?;
    } else {
        making.pass(|text, machine, name, from, to| real(from, to).merge(text, machine, name))?;
        passes.write(&mut making)?;
    }
    let (count, n) = (2 * pairs / lanes.width(), 2 * m);
    Ok(making.finish(&format!(
        "{count} real FFTs of {n} by {radices:?} and {joint}, {direction}"
    )))
}

/// The kernel of 2 `pairs` transforms of `n` numbers by Bluestein's algorithm:
/// a convolution by transforms of length `m` with the radices. `chirp` and
/// `filter` are the factors b and H as directives.
pub(super) fn bluestein(
    n: usize,
    (m, radices): (usize, &[usize]),
    direction: TransformDirection,
    (chirp, filter): (&[String], &[String]),
    pairs: usize,
    machine: &Machine,
) -> Result<GeneratedKernel, Unschedulable> {
    let mut route = vec![(INPUT, SCRATCH), (SCRATCH, SCRATCH)];
    for _ in radices {
        // Twice as many passes as radices.
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
    making.pass(|text, machine, name, from, to| ends(from, to).begin(text, machine, name))?;
    making.pass(|text, machine, name, from, to| ends(from, to).fill(text, machine, name))?;
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
        passes.write(&mut making)?;
    }
    making.pass(|text, machine, name, from, to| ends(from, to).end(text, machine, name))?;
    let count = 2 * pairs;
    Ok(making.finish(&format!(
        "{count} FFTs of {n} by convolutions of {m}, {direction}"
    )))
}
