//! FFTs of complex binary64 numbers along one axis of an array.
//!
//! A pass takes lines along the axis to DMEM, several side by side in each section, whichever axis it is, and
//! runs `double_lines.s`. A number is a granule of the DMA, so no pass puts an array into another layout.

use super::error::{FftError, NoShape};
use super::program::double_program;
use crate::assembly::moves;
use crate::fft::TransformDirection;
use crate::job::{Job, data_end};
use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
use cp2_host::Buffer;
use cp2_host::paging::{QUAD, Ring, RingPages, RingPass, deals_quads};
use cp2_machine::{Class, Machine};
use std::fmt::Write as _;
use std::sync::Arc;

/// Label of the kernel.
const ENTRY: &str = "lines";
/// Bytes of a complex number.
const COMPLEX: u64 = 16;
/// Numbers of lines of a section's page that there are kernels for.
const LINES: [u64; 5] = [16, 8, 4, 2, 1];
/// Most lines of a section's page for whose weights there are registers.
const MOST_WEIGHED: u64 = 8;
/// Most lines of two numbers, all of which are in registers at a time.
const MOST_PAIRS: u64 = 8;
/// Numbers of page buffers that are tried.
const BUFFERS: [usize; 3] = [4, 3, 2];

/// Returns the radices of the passes of a transform of a power of two from 2 to 1024, the smallest first.
///
/// A last pass of radix 4 takes four lines of a section at least, one of radix 8 only one.
pub(super) fn radices(length: u64) -> Vec<u64> {
    match length.ilog2() {
        1 => vec![2],
        levels => {
            let fours = [0, 2, 1][(levels % 3) as usize];
            let eights = (levels as usize - 2 * fours) / 3;
            [vec![4; fours], vec![8; eights]].concat()
        }
    }
}

/// Returns true if there is a kernel for so many lines side by side.
fn has_kernel(length: u64, lines: u64) -> bool {
    let passes = radices(length);
    match passes.as_slice() {
        [2] => lines <= MOST_PAIRS,
        [.., 4] => lines >= 4,
        // Four turns of a pass of radix 4 over a single line share their factors.
        _ => lines > 1 || length >= 256,
    }
}

/// Writes the twiddle factors of all passes as assembly text, those of the highest k first.
pub(super) fn factors(length: u64) -> String {
    let mut text = String::new();
    let mut done = 1;
    for (number, radix) in radices(length).into_iter().enumerate() {
        let circle = radix * done;
        // Writing to a string does not fail.
        let _ = writeln!(text, ".align 16\nfactors{}:", number + 1);
        for k in (0..done).rev() {
            let turns = match radix {
                8 => vec![4 * k, 2 * k, k, k + circle / 8],
                4 => vec![2 * k, k],
                _ => vec![0],
            };
            for turn in turns {
                let [re, im] = root(turn, circle).map(f64::to_bits);
                let halves = [re, re >> 32, im, im >> 32].map(|bits| bits as u32);
                let [a, b, c, d] = halves;
                let _ = writeln!(text, ".int 0x{a:x}, 0x{b:x}, 0x{c:x}, 0x{d:x}");
            }
        }
        done = circle;
    }
    text
}

/// Returns the real and imaginary part of exp(-2 pi i turn/circle), where `circle` is a power of two.
fn root(turn: u64, circle: u64) -> [f64; 2] {
    let quarters = 4 * turn / circle;
    let rest = 4 * turn % circle;
    let angle = std::f64::consts::FRAC_PI_2 * rest as f64 / circle as f64;
    let [cos, sin] = [libm::cos(angle), libm::sin(angle)];
    match quarters % 4 {
        0 => [cos, -sin],
        1 => [-sin, -cos],
        2 => [-cos, sin],
        _ => [sin, cos],
    }
}

/// Weights of a field in system memory: number (z, y, x) is multiplied by `wz[z] wy[y] wx[x]`. Each weight is
/// there twice, as a quad has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubleWeights {
    z: Buffer<f64>,
    y: Buffer<f64>,
    x: Buffer<f64>,
}

impl DoubleWeights {
    /// Puts the weights along the axes z, y and x into system memory.
    pub(crate) fn new(job: &mut Job, [z, y, x]: &[Vec<f64>; 3]) -> Result<Self, FftError> {
        let twice = |weights: &[f64]| -> Vec<f64> {
            let each = weights.iter().flat_map(|&weight| [weight; 2]);
            each.collect()
        };
        Ok(Self {
            z: job.table(&twice(z))?,
            y: job.table(&twice(y))?,
            x: job.table(&twice(x))?,
        })
    }
}

/// The planned transforms along one axis of an array.
#[derive(Clone, Debug)]
pub(crate) struct DoubleAxisPass {
    pages: LinePages,
    ring: Ring,
    program: Arc<Program>,
}

impl DoubleAxisPass {
    /// Plans the fastest pass along axis `axis` of an array of three axes. With `weighed` its numbers are first
    /// multiplied by weights; the axis is then the first.
    ///
    /// # Errors
    /// No pages fit the machine.
    pub(crate) fn new(
        shape: [usize; 3],
        axis: usize,
        direction: TransformDirection,
        weighed: bool,
        machine: &Machine,
    ) -> Result<Self, FftError> {
        let [planes, rows, columns] = shape.map(|n| n as u64);
        let (matrices, length, width) = match axis {
            0 => (1, planes, rows * columns),
            1 => (planes, rows, columns),
            _ => (planes * rows, columns, 1),
        };
        let sections = machine.cp2.sections as u64;
        let mut best: Option<(f64, Self)> = None;
        for lines in LINES {
            if !has_kernel(length, lines) || (weighed && lines > MOST_WEIGHED) {
                continue;
            }
            let pages = LinePages {
                matrices,
                length,
                width,
                lines,
                sections,
                addresses: [0; 2],
                weights: weighed.then_some([0, 0, columns]),
                dealt: true,
                intervals: [Class::DoubleComplex, Class::DoubleAdd]
                    .map(|class| machine.cp2.interval[class].0),
            };
            let ways = [
                pages.clone(),
                LinePages {
                    dealt: false,
                    ..pages
                },
            ];
            let Some(pages) = ways.into_iter().find(|pages| pages.fit(machine)) else {
                continue;
            };
            let program = match double_program(length, lines, direction, weighed, machine) {
                Ok(assembly) => Arc::new(assembly.program),
                Err(FftError::Unfit(e)) if e.is_size() => continue,
                Err(e) => return Err(e),
            };
            for ring in pages.rings(data_end(&program).next_multiple_of(QUAD), machine) {
                let (pages, program) = (pages.clone(), program.clone());
                let axis = Self {
                    pages,
                    ring,
                    program,
                };
                let pass = axis.pass([0; 2], None);
                if moves(&axis.name(), &pass, machine).is_ok() {
                    let price = pass.expect(machine).cycles;
                    if best.as_ref().is_none_or(|(least, _)| price < *least) {
                        best = Some((price, axis));
                    }
                }
            }
        }
        let refused = || FftError::Shape {
            shape: shape.to_vec(),
            machine: machine.name.clone(),
            cause: match NoShape::explain_field(machine) {
                NoShape::Field { sections, dmem } => NoShape::Lines {
                    axis: axis + 1,
                    sections,
                    dmem,
                },
                cause => cause,
            },
        };
        best.map(|(_, axis)| axis).ok_or_else(refused)
    }

    /// Returns the price of the pass without the load of its program.
    pub(crate) fn price(&self, machine: &Machine) -> f64 {
        self.pass([0; 2], None).expect(machine).cycles
    }

    /// Returns the operations of the pass.
    pub(crate) fn operations(&self) -> Vec<(Class, u64)> {
        let LinePages {
            matrices,
            length,
            width,
            ..
        } = self.pages;
        let numbers = matrices * length * width;
        let mut operations = vec![(
            Class::DoubleComplex,
            numbers / 2 * u64::from(length.ilog2()),
        )];
        if self.pages.weights.is_some() {
            operations.push((Class::DoubleAdd, 2 * numbers));
        }
        operations
    }

    /// Describes the pass in words.
    pub(crate) fn recipe(&self) -> String {
        let passes: Vec<String> = radices(self.pages.length)
            .iter()
            .map(u64::to_string)
            .collect();
        let (length, lines) = (self.pages.length, self.pages.lines);
        format!(
            "{length} by {}, {lines} a section and page",
            passes.join(" x ")
        )
    }

    /// Adds the pass from one address to another, or in place, to a job.
    pub(crate) fn add(
        &self,
        job: &mut Job,
        addresses: [u64; 2],
        weights: Option<&DoubleWeights>,
    ) -> Result<(), FftError> {
        let program = job.program(&self.name(), &self.program)?;
        job.ring(&program, ENTRY, self.pass(addresses, weights))?;
        if let Some(weights) = weights {
            job.fill("weights", weights.z)?;
        }
        Ok(())
    }

    /// Returns the name of the pass on a timeline.
    fn name(&self) -> String {
        let length = self.pages.length;
        match self.pages.weights {
            Some(_) => format!("lines of {length} binary64 with weights"),
            None => format!("lines of {length} binary64"),
        }
    }

    fn pass(&self, addresses: [u64; 2], weights: Option<&DoubleWeights>) -> RingPass {
        let mut pages = LinePages {
            addresses,
            ..self.pages.clone()
        };
        if let (Some([y, x, _]), Some(weights)) = (&mut pages.weights, weights) {
            [*y, *x] = [weights.y.address(), weights.x.address()];
        }
        RingPass::new(self.ring.clone(), pages).price_by_kernel(&self.program, ENTRY)
    }
}

/// Pages of lines along the middle axis of `matrices` x `length` x `width` numbers.
#[derive(Clone, Debug)]
struct LinePages {
    matrices: u64,
    length: u64,
    width: u64,
    /// Lines of a section's page.
    lines: u64,
    sections: u64,
    /// Addresses of the array and of the results.
    addresses: [u64; 2],
    /// Addresses of the weights of y and x, and the numbers of a row x.
    weights: Option<[u64; 3]>,
    /// True if the lines of a page are adjacent and dealt to the sections, false if each section has lines of
    /// matrices of its own.
    dealt: bool,
    /// Cycles between two butterflies, and between two products with weights.
    intervals: [u64; 2],
}

impl LinePages {
    /// Returns the columns of a matrix in a section's page.
    fn columns(&self) -> u64 {
        self.lines.min(self.width)
    }

    /// Returns the matrices in a section's page.
    fn own_matrices(&self) -> u64 {
        self.lines / self.columns()
    }

    /// Returns true if the array has whole pages, and the machine's DMA can deal them.
    fn fit(&self, machine: &Machine) -> bool {
        if self.dealt {
            let row = self.weights.map_or(self.width, |[.., row]| row);
            return deals_quads(machine) && row.is_multiple_of(self.lines * self.sections);
        }
        let matrices = self.own_matrices() * self.sections;
        self.weights.is_none()
            && self.lines.is_multiple_of(self.columns())
            && self.width.is_multiple_of(self.columns())
            && self.matrices.is_multiple_of(matrices)
    }

    fn page_bytes(&self) -> u64 {
        self.lines * self.length * COMPLEX
    }

    /// Returns the bytes of the weights of a section's page: x of each line, and y.
    fn weight_bytes(&self) -> u64 {
        self.weights.map_or(0, |_| (self.lines + 1) * COMPLEX)
    }

    /// Returns the bytes of the buffer beside the pages, which an even number of passes alternates with.
    fn beside_bytes(&self) -> u64 {
        match radices(self.length).len() % 2 {
            0 => self.page_bytes(),
            _ => 0,
        }
    }

    /// Lists the rings of buffers that fit in DMEM from `first` on.
    fn rings(&self, first: u64, machine: &Machine) -> Vec<Ring> {
        let (page, weights, beside) = (self.page_bytes(), self.weight_bytes(), self.beside_bytes());
        let ring = |buffers: usize| {
            let n = buffers as u64;
            let pages = first + Ring::argument_bytes(buffers);
            let scratch = pages + n * (page + weights);
            let ring = Ring::new(first, pages, buffers, page, weights);
            let fits = scratch + beside <= machine.cp2.dmem.0;
            match beside {
                0 => (fits && buffers > 2).then_some(ring),
                _ => fits.then(|| ring.store_in_place().with_extra_address(scratch)),
            }
        };
        BUFFERS.into_iter().filter_map(ring).collect()
    }

    /// Makes the transfer of a page.
    fn transfer(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        (array, local): (u64, u32),
        page: u64,
    ) -> Descriptor {
        let row = self.width * COMPLEX;
        let matrix = self.length * row;
        let own = (self.lines * COMPLEX) as i64;
        let (length, row_stride) = (self.length as u32, row as i64);
        if self.dealt {
            let run = self.lines * self.sections * COMPLEX;
            let tiles = row / run;
            let at = array + page / tiles * matrix + page % tiles * run;
            return make(Target::Deal, at, local, run).level(length, row_stride, own);
        }
        let (run, matrices) = (self.columns() * COMPLEX, self.own_matrices());
        let tiles = row / run;
        let each = matrices * matrix;
        let at = array + page / tiles * self.sections * each + page % tiles * run;
        let target = Target::Blocks {
            stride: each as i64,
        };
        let lines = make(target, at, local, run).level(length, row_stride, own);
        match matrices {
            1 => lines,
            _ => lines.level(matrices as u32, matrix as i64, run as i64),
        }
    }
}

impl RingPages for LinePages {
    fn count(&self) -> u64 {
        self.matrices * self.width / (self.lines * self.sections)
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let mut loads = Vec::new();
        if let Some([y, x, row]) = self.weights {
            let lines = self.lines * self.sections;
            let first = page * lines;
            let (y, x) = (y + first / row * QUAD, x + first % row * QUAD);
            let own = u32::try_from(self.lines * QUAD).unwrap_or(u32::MAX);
            let behind = factors.saturating_add(own);
            loads.push(Descriptor::load(Target::Deal, x, factors, lines * QUAD));
            loads.push(Descriptor::load(Target::Broadcast, y, behind, QUAD));
        }
        loads.push(self.transfer(Descriptor::load, (self.addresses[0], local), page));
        loads
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        vec![self.transfer(Descriptor::store, (self.addresses[1], local), page)]
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        Some([self.page_bytes(), self.weight_bytes(), self.beside_bytes()])
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        let numbers = self.lines * self.length;
        let products = self.weights.map_or(0, |_| 2 * numbers);
        let butterflies = numbers / 2 * u64::from(self.length.ilog2());
        let [butterfly, product] = self.intervals;
        butterflies * butterfly + products * product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radices_are_factors() {
        for levels in 1..=10 {
            let length = 1 << levels;
            assert_eq!(radices(length).iter().product::<u64>(), length);
        }
        assert_eq!(radices(128), [4, 4, 8]);
    }

    #[test]
    fn roots_are_those_of_unity() {
        assert_eq!(root(0, 8), [1.0, -0.0]);
        assert_eq!(root(2, 8)[1], -1.0);
        let [re, im] = root(5, 16);
        let angle = -std::f64::consts::TAU * 5.0 / 16.0;
        assert!((re - libm::cos(angle)).abs() + (im - libm::sin(angle)).abs() < 1e-15);
    }
}
