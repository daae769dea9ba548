//! Element by element: scale, axpy, sums and products, windows, power,
//! magnitude, phase, decibels.

use super::error::DspError;
use super::kernel::{Kernel, Recipe, pointer};
use super::ops::{Ops, operations};
use super::plan::{Planned, QUAD, padded, padded_rows};
use crate::job::{Job, KernelRun, Least};
use crate::pipeline::{Pointer, Reg, Value};
use cp2_host::{Buffer, Options, Paging, Piece, Stream};
use cp2_machine::{Class, Cycles, Machine};
use std::fmt::Write as _;
use std::sync::Arc;

operations! {
    /// What is done with every element. Complex numbers are two consecutive
    /// floats, real part first.
    #[derive(Clone, Debug, PartialEq)]
    pub enum MapOp {
        /// a x.
        Scale(f32 = 1.5),
        /// a x + y, the product rounded first.
        Axpy(f32 = 1.5),
        /// x + y.
        Add,
        /// x - y.
        Subtract,
        /// x y.
        Multiply,
        /// x y of complex numbers.
        ComplexMultiply,
        /// Every row of x times these coefficients, one for each float of a row.
        Window(Vec<f32> = super::Window::Hann.coefficients(1024)),
        /// |z|^2 of complex z.
        Power,
        /// |z| of complex z; |z|^2 has to be representable.
        Magnitude,
        /// arg z of complex z in radians, -pi to pi; finite z only.
        Phase,
        /// 10 log10 |z|^2 of complex z.
        Decibels,
    }
}

/// Odd minimax-like polynomial for atan on [0, 1] in t^2, without its leading
/// 1: interpolation of atan(sqrt s) / sqrt s at nine Chebyshev nodes, error 1.9e-8.
const ATAN: [f32; 8] = [
    -0.333_330_36,
    0.199_918_72,
    -0.141_977_98,
    0.106_183_71,
    -0.074_568_55,
    0.042_137_623,
    -0.015_731_25,
    0.002_766_283_5,
];
/// Numbers of a table that one pointer loads, and the labels of the groups.
const GROUP: usize = 4;
const TABLES: [&str; 4] = ["table0", "table1", "table2", "table3"];
/// Floats of a large array's block.
const BLOCK: usize = 1024;
/// Most floats of a row that are in local memory at a time, with as many of its window.
const PART: usize = 2048;
/// Floats of the smallest block.
const SMALL: usize = 64;

impl MapOp {
    /// Arrays it reads.
    #[must_use]
    pub fn inputs(&self) -> usize {
        match self {
            Self::Axpy(_) | Self::Add | Self::Subtract | Self::Multiply | Self::ComplexMultiply => {
                2
            }
            _ => 1,
        }
    }

    /// Floats of each input that make one float of the output.
    fn ratio(&self) -> usize {
        match self {
            Self::Power | Self::Magnitude | Self::Phase | Self::Decibels => 2,
            _ => 1,
        }
    }

    /// Arithmetic issues for four floats of the output: the formulas below,
    /// each operation on the widest operands there are (a quad; a pair for
    /// the elementary unit and for complex products).
    #[must_use]
    pub fn issues(&self) -> u64 {
        match self {
            Self::Scale(_)
            | Self::Axpy(_)
            | Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Window(_) => 1,
            Self::ComplexMultiply => 2,
            // Four transposes of pairs bring re and im apart; re re + im im.
            Self::Power => 6,
            // p rsqrt(p), p kept off 0 and infinity in the root.
            Self::Magnitude => 6 + 2 + 2 + 1,
            // atan of the smaller over the larger: 2 abs, max, min, max, 2 rcp,
            // product, t^2, t^3, t^4, t^8, 7 + 1 madd; three reflections of 3, 3 and 2.
            Self::Phase => 4 + 2 + 3 + 2 + 3 + 2 + 8 + 8,
            Self::Decibels => 6 + 2 + 1,
        }
    }

    /// What every iteration loads, each number in the four lanes of a quad.
    fn table(&self) -> Vec<u32> {
        if *self != Self::Phase {
            return Vec::new();
        }
        let (half, pi) = (std::f32::consts::FRAC_PI_2, std::f32::consts::PI);
        let floats = ATAN.into_iter().chain([f32::MIN_POSITIVE, half, pi]);
        floats.map(f32::to_bits).chain([31, 1 << 31]).collect()
    }

    /// Name of the kernel.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scale(_) => "scale",
            Self::Axpy(_) => "axpy",
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::ComplexMultiply => "complex-multiply",
            Self::Window(_) => "window",
            Self::Power => "power",
            Self::Magnitude => "magnitude",
            Self::Phase => "phase",
            Self::Decibels => "decibels",
        }
    }

    fn constants(&self) -> Vec<u32> {
        let floats = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect();
        match self {
            Self::Scale(a) | Self::Axpy(a) => floats(&[*a]),
            // The smallest and the largest number whose root is a number.
            Self::Magnitude => vec![1, f32::MAX.to_bits()],
            Self::Decibels => floats(&[(10.0 * std::f64::consts::LOG10_2) as f32]),
            _ => Vec::new(),
        }
    }

    /// The result of four floats, from the quads of each input and of a table
    /// that every iteration loads anew: registers are for what computes.
    fn formula(&self, ops: &mut Ops, x: &[Value], y: Option<Value>, table: &[Value]) -> Reg {
        let first = Reg::Whole(x[0]);
        let second = y.map_or(first, Reg::Whole);
        let a = ops.constant(0);
        match self {
            Self::Scale(_) => ops.q("mul", &[first, a]),
            Self::Axpy(_) => ops.q("madd", &[first, a, second]),
            Self::Add => ops.q("add", &[first, second]),
            Self::Subtract => ops.q("sub", &[first, second]),
            Self::Multiply | Self::Window(_) => ops.q("mul", &[first, second]),
            Self::ComplexMultiply => ops.pairs("cmul", &[first, second]),
            Self::Power => power(ops, x).0,
            Self::Magnitude => {
                let (p, _) = power(ops, x);
                let most = ops.constant(1);
                ops.root(p, (a, most))
            }
            Self::Decibels => {
                let (p, _) = power(ops, x);
                let log = ops.pairs("log2", &[p]);
                ops.q("mul", &[log, a])
            }
            Self::Phase => phase(ops, x, table),
        }
    }
}

fn power(ops: &mut Ops, x: &[Value]) -> (Reg, Reg) {
    let (re, im) = ops.split(Reg::Whole(x[0]), Reg::Whole(x[1]));
    let square = ops.q("mul", &[re, re]);
    (ops.q("madd", &[im, im, square]), re)
}

/// atan2(im, re).
fn phase(ops: &mut Ops, x: &[Value], table: &[Value]) -> Reg {
    let (coefficients, others) = table.split_at(ATAN.len());
    let [tiny, half_pi, pi, shift, sign] = [0, 1, 2, 3, 4].map(|i| Reg::Whole(others[i]));
    let (re, im) = ops.split(Reg::Whole(x[0]), Reg::Whole(x[1]));
    let (ax, ay) = (ops.q("abs", &[re]), ops.q("abs", &[im]));
    let larger = ops.q("max", &[ax, ay]);
    let smaller = ops.q("min", &[ax, ay]);
    let divisor = ops.q("max", &[larger, tiny]);
    let inverse = ops.pairs("rcp", &[divisor]);
    let t = ops.q("mul", &[smaller, inverse]);
    let square = ops.q("mul", &[t, t]);
    let cube = ops.q("mul", &[t, square]);
    // Estrin's scheme: two operations more than Horner's, half as long a chain.
    let fourth = ops.q("mul", &[square, square]);
    let eighth = ops.q("mul", &[fourth, fourth]);
    let mut terms: Vec<Reg> = coefficients.iter().map(|&c| Reg::Whole(c)).collect();
    for power in [square, fourth, eighth] {
        terms = terms
            .chunks_exact(2)
            .map(|pair| ops.q("madd", &[pair[1], power, pair[0]]))
            .collect();
    }
    let p = terms.first().copied().unwrap_or(square);
    let angle = ops.q("madd", &[cube, p, t]);
    // Steeper than the diagonal; left of the imaginary axis; below the real one.
    let steep = ops.q("cmplt", &[ax, ay]);
    let other = ops.q("sub", &[half_pi, angle]);
    let angle = ops.q("sel", &[other, angle, steep]);
    let left = ops.q("sar", &[re, shift]);
    let other = ops.q("sub", &[pi, angle]);
    let angle = ops.q("sel", &[other, angle, left]);
    let below = ops.q("and", &[im, sign]);
    ops.q("or", &[angle, below])
}

/// A planned operation on arrays of one length.
pub type Map = Planned<Elements>;

/// An operation, and how arrays are cut for it.
#[derive(Debug)]
pub struct Elements {
    op: MapOp,
    /// Floats of each input.
    len: usize,
    /// Floats of each input in a block; a block of a window is a row, or a part of it.
    block: usize,
    /// Floats of a row, where rows matter.
    row: Option<usize>,
    /// Parts of a row, each a pass.
    parts: usize,
}

impl Map {
    /// Plans `op` for arrays of `len` floats.
    ///
    /// # Errors
    /// A length the operation does not have, or a machine without a schedule for it.
    pub fn new(op: MapOp, len: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        let wrong = |expected: String| DspError::Size {
            what: op.name(),
            found: len,
            expected,
        };
        let whole = op.ratio() * if op == MapOp::ComplexMultiply { 2 } else { 1 };
        if len == 0 || len % whole != 0 {
            return Err(wrong(format!("a positive multiple of {whole} floats")));
        }
        let row = match &op {
            MapOp::Window(w) if w.is_empty() || len % w.len() != 0 => {
                return Err(wrong("whole rows of the window's length".to_owned()));
            }
            MapOp::Window(w) => Some(w.len()),
            _ => None,
        };
        let parts = row.unwrap_or(1).div_ceil(PART);
        let block = match row {
            Some(n) => n.div_ceil(parts).next_multiple_of(QUAD),
            None => (len / 16).clamp(SMALL, BLOCK).next_multiple_of(SMALL),
        };
        let kernels = match &op {
            MapOp::Window(w) => w
                .chunks(block)
                .map(|part| build(&MapOp::Window(part.to_vec()), block, &machine))
                .collect::<Result<_, _>>()?,
            op => vec![build(op, block, &machine)?],
        };
        let name = op.name();
        let shape = Elements {
            op,
            len,
            block,
            row,
            parts: kernels.len(),
        };
        Ok(Self::of(name, shape, machine, kernels))
    }

    fn blocks(&self) -> usize {
        self.shape
            .len
            .div_ceil(self.shape.row.unwrap_or(self.shape.block))
    }

    /// Floats of a row in system memory, or of a block where there are no rows.
    fn wide(&self) -> usize {
        self.shape.parts * self.shape.block
    }

    /// What any program must compute and move.
    #[must_use]
    pub fn least(&self) -> Least {
        let outputs = self.shape.len as u128 / self.shape.op.ratio() as u128;
        Least {
            issues: outputs * u128::from(self.shape.op.issues()) / QUAD as u128,
            bytes: 4 * (self.shape.len as u128 * self.shape.op.inputs() as u128 + outputs),
            ..Least::default()
        }
    }

    /// Lower bound of the time.
    #[must_use]
    pub fn bound(&self) -> Cycles {
        self.least().cycles(self.machine())
    }

    /// Applies the operation: `inputs` are as many arrays as it reads.
    ///
    /// # Errors
    /// Arrays of another number or length, or that do not fit the machine.
    pub fn process(&self, inputs: &[&[f32]]) -> Result<KernelRun<Vec<f32>>, DspError> {
        self.process_with(inputs, Options::default())
    }

    /// The same on a device with options.
    ///
    /// # Errors
    /// See [`Map::process`].
    pub fn process_with(
        &self,
        inputs: &[&[f32]],
        options: Options,
    ) -> Result<KernelRun<Vec<f32>>, DspError> {
        let (job, y) = self.job(inputs, options)?;
        let (len, row) = (self.shape.len / self.shape.op.ratio(), self.shape.row);
        let wide = self.wide() / self.shape.op.ratio();
        Ok(job.run(self.bound(), move |run| {
            let mut all = run.read(y)?;
            if let Some(n) = row.filter(|n| *n != wide) {
                all = all.chunks(wide).flat_map(|r| &r[..n]).copied().collect();
            }
            all.truncate(len);
            Ok(all)
        })?)
    }

    pub(super) fn job(
        &self,
        inputs: &[&[f32]],
        options: Options,
    ) -> Result<(Job, Buffer<f32>), DspError> {
        if inputs.len() != self.shape.op.inputs()
            || inputs.iter().any(|x| x.len() != self.shape.len)
        {
            return Err(DspError::Length {
                what: "an input",
                found: inputs
                    .iter()
                    .map(|x| x.len())
                    .find(|n| *n != self.shape.len)
                    .unwrap_or(0),
                expected: format!("{} arrays of {}", self.shape.op.inputs(), self.shape.len),
            });
        }
        self.check()?;
        let total = self.blocks() * self.wide();
        let arrays: Vec<Vec<f32>> = inputs
            .iter()
            .map(|x| match self.shape.row {
                Some(n) => padded_rows(x, n, self.wide()),
                None => padded(x, total),
            })
            .collect();
        let (ratio, parts) = (self.shape.op.ratio() as u64, self.shape.parts);
        let (block, wide) = (self.shape.block as u64 * 4, self.wide() as u64 * 4);
        // Part `i` of every row, `1 / by` as many bytes as the inputs have.
        let part = |name, at, i: usize, by: u64| {
            let bytes = block / by;
            let piece = Piece::new(bytes, Vec::new());
            Stream::strided(name, at + i as u64 * bytes, wide / by, bytes, vec![piece])
        };
        self.passes(
            options,
            (&arrays, &[total as u64 / ratio]),
            parts,
            |i, x, y| {
                let x = x.iter().map(|&at| part("x", at, i, 1)).collect();
                Paging::new(self.blocks() as u64, x, vec![part("y", y, i, ratio)])
            },
        )
    }

    /// Refuses arrays that do not fit system memory.
    pub(super) fn check(&self) -> Result<(), DspError> {
        let padded = self.blocks() as u128 * self.wide() as u128;
        let arrays = self.shape.op.inputs() as u128 + 1;
        self.fits(4 * padded * arrays)
    }

    /// Least arithmetic of the pass for the model.
    pub(super) fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let parts = self.shape.parts;
        vec![vec![(Class::Integer, self.least().issues as u64 / parts as u64)]; parts]
    }
}

/// Output quads an iteration makes: enough to hide what is not pipelined.
fn quads(op: &MapOp, block: usize) -> usize {
    let whole = block / op.ratio() / QUAD;
    match op {
        MapOp::Power | MapOp::Magnitude | MapOp::Phase | MapOp::Decibels => 1,
        _ => [4, 2].into_iter().find(|q| whole % q == 0).unwrap_or(1),
    }
}

fn build(op: &MapOp, block: usize, machine: &Machine) -> Result<Kernel, DspError> {
    let mut ops = Ops::new(&op.constants());
    let (quads, ratio) = (quads(op, block), op.ratio());
    let step = (16 * quads) as i64;
    let x = pointer(&mut ops.body, 0, step * ratio as i64);
    let out = pointer(&mut ops.body, 1, step);
    let windowed = matches!(op, MapOp::Window(_));
    let two = windowed || op.inputs() == 2;
    let y = two.then(|| pointer(&mut ops.body, 2, step));
    // A pointer's accesses lie within an interval: few of them for each.
    let groups = op.table().len().div_ceil(GROUP);
    let coefficients: Vec<Pointer> = (0..groups)
        .map(|i| pointer(&mut ops.body, 3 + i, 0))
        .collect();
    let mut results = Vec::new();
    for q in 0..quads {
        let load = |ops: &mut Ops, from, index: usize| {
            let value = ops.body.quad();
            ops.body.load(Reg::Whole(value), from, 16 * index as i64);
            value
        };
        let values: Vec<Value> = (0..ratio)
            .map(|i| load(&mut ops, x, q * ratio + i))
            .collect();
        let second = y.map(|y| load(&mut ops, y, q));
        let table: Vec<Value> = (0..op.table().len())
            .map(|i| load(&mut ops, coefficients[i / GROUP], i % GROUP))
            .collect();
        results.push(op.formula(&mut ops, &values, second, &table));
    }
    for (q, result) in results.into_iter().enumerate() {
        ops.body.store(result, out, 16 * q as i64);
    }
    let mut data = String::new();
    if let MapOp::Window(w) = op {
        data += "    .align 16\nwindow:\n";
        for x in padded(w, block) {
            let _ = writeln!(data, "    .int {}", x.to_bits() as i32);
        }
    }
    let mut inputs = vec![(x, 0, 0)];
    let mut tables = Vec::new();
    for (i, (&from, group)) in coefficients
        .iter()
        .zip(op.table().chunks(GROUP))
        .enumerate()
    {
        let label = TABLES[i % TABLES.len()];
        let _ = writeln!(data, "    .align 16\n{label}:");
        for &bits in group {
            let bits = bits as i32;
            let _ = writeln!(data, "    .int {bits}, {bits}, {bits}, {bits}");
        }
        tables.push((from, label));
    }
    match y {
        Some(y) if windowed => tables.push((y, "window")),
        Some(y) => inputs.push((y, 1, 0)),
        None => {}
    }
    let pages = (inputs, vec![(out, 0, 0)]);
    Recipe {
        tables,
        data,
        ..Recipe::streaming(op.name(), ops, pages, block / ratio / QUAD / quads)
    }
    .build(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_issue_what_the_bound_counts() {
        let window = MapOp::Window(vec![1.0; 64]);
        for op in [
            MapOp::Scale(2.0),
            MapOp::Axpy(2.0),
            MapOp::ComplexMultiply,
            window,
            MapOp::Power,
            MapOp::Magnitude,
            MapOp::Phase,
            MapOp::Decibels,
        ] {
            let mut ops = Ops::new(&op.constants());
            let (a, b) = (ops.body.quad(), ops.body.quad());
            let table: Vec<Value> = op.table().iter().map(|_| ops.body.quad()).collect();
            op.formula(&mut ops, &[a, b], Some(b), &table);
            assert_eq!(ops.body.arithmetic() as u64, op.issues(), "{}", op.name());
        }
    }
}
