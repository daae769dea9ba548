//! Row by row: sum, dot product, norm, largest element and its place.

use super::error::DspError;
use super::kernel::{Kernel, Recipe, pointer};
use super::ops::Ops;
use super::plan::{Planned, QUAD, padded_rows};
use crate::job::{Job, KernelRun, Least};
use crate::pipeline::{Pointer, Reg};
use cp2_host::{Buffer, Options, Paging, Stream};
use cp2_machine::{Class, Cycles, Machine};
use std::sync::Arc;

/// What a row is reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionOp {
    /// The sum of floats.
    Sum,
    /// The sum of x y of floats.
    Dot,
    /// The sum of x conj(y) of complex numbers.
    ComplexDot,
    /// The root of the sum of squares of floats; of complex numbers likewise.
    Norm,
    /// The largest float and its first place. No NaN.
    Max,
}

/// A reduced row: for [`ReductionOp::Max`] the value and its place, for
/// [`ReductionOp::ComplexDot`] real and imaginary part, else the value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extreme {
    /// The value, or its real part.
    pub value: f32,
    /// The imaginary part of a complex value, else 0.
    pub imaginary: f32,
    /// The place of the largest element, else 0.
    pub place: u32,
}

/// Floats of the longest row.
pub(super) const MAX_ROW: usize = 4096;
/// Accumulators side by side, each a quad: no one is needed again before it is there.
const SUMS: usize = 8;
/// The same for the largest element, which needs two quads each.
const MAXIMA: usize = 4;

impl ReductionOp {
    /// Arrays it reads.
    #[must_use]
    pub fn inputs(self) -> usize {
        match self {
            Self::Dot | Self::ComplexDot => 2,
            Self::Sum | Self::Norm | Self::Max => 1,
        }
    }

    /// Arithmetic issues for four floats: an add or multiply-add of a quad,
    /// two complex multiply-adds, or comparison and two selections.
    #[must_use]
    pub fn issues(self) -> u64 {
        match self {
            Self::Sum | Self::Dot | Self::Norm => 1,
            Self::ComplexDot => 2,
            Self::Max => 3,
        }
    }

    /// Name of the kernel.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Dot => "dot",
            Self::ComplexDot => "complex-dot",
            Self::Norm => "norm",
            Self::Max => "max",
        }
    }

    fn lanes(self) -> usize {
        QUAD * if self == Self::Max { MAXIMA } else { SUMS }
    }
}

/// A planned reduction of rows of one length.
pub type Reduction = Planned<Rows>;

/// What rows of which length are reduced to.
#[derive(Debug)]
pub struct Rows {
    op: ReductionOp,
    n: usize,
}

impl Reduction {
    /// Plans `op` for rows of `n` floats (2 m floats for m complex numbers).
    ///
    /// # Errors
    /// A length the operation does not have, or a machine without a schedule for it.
    pub fn new(op: ReductionOp, n: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        let odd = op == ReductionOp::ComplexDot && n % 2 != 0;
        if n == 0 || n > MAX_ROW || odd {
            return Err(DspError::Size {
                what: op.name(),
                found: n,
                expected: format!(
                    "rows of 1 to {MAX_ROW} floats, an even number for complex ones; split longer rows"
                ),
            });
        }
        let kernel = build(op, n.next_multiple_of(op.lanes()), &machine)?;
        Ok(Self::of(op.name(), Rows { op, n }, machine, vec![kernel]))
    }

    /// What any program must compute and move for `rows`.
    #[must_use]
    pub fn least(&self, rows: usize) -> Least {
        let floats = rows as u128 * self.shape.n as u128;
        Least {
            issues: floats * u128::from(self.shape.op.issues()) / QUAD as u128,
            bytes: 4 * floats * self.shape.op.inputs() as u128,
            ..Least::default()
        }
    }

    /// Lower bound of the time for `rows`.
    #[must_use]
    pub fn bound(&self, rows: usize) -> Cycles {
        self.least(rows).cycles(self.machine())
    }

    /// Reduces the rows of the inputs.
    ///
    /// # Errors
    /// Inputs that are no rows, of another number, or that do not fit the machine.
    pub fn process(&self, inputs: &[&[f32]]) -> Result<KernelRun<Vec<Extreme>>, DspError> {
        self.process_with(inputs, Options::default())
    }

    /// The same on a device with options.
    ///
    /// # Errors
    /// See [`Reduction::process`].
    pub fn process_with(
        &self,
        inputs: &[&[f32]],
        options: Options,
    ) -> Result<KernelRun<Vec<Extreme>>, DspError> {
        let (job, y) = self.job(inputs, options)?;
        let rows = inputs.first().map_or(0, |x| x.len() / self.shape.n);
        let op = self.shape.op;
        Ok(job.run(self.bound(rows), |run| {
            let rows = run.read(y)?;
            let extreme = |[value, second, place, _]: [u32; 4]| Extreme {
                value: f32::from_bits(value),
                imaginary: if op == ReductionOp::ComplexDot {
                    f32::from_bits(second)
                } else {
                    0.0
                },
                place: if op == ReductionOp::Max { place } else { 0 },
            };
            Ok(rows.into_iter().map(extreme).collect())
        })?)
    }

    pub(super) fn job(
        &self,
        inputs: &[&[f32]],
        options: Options,
    ) -> Result<(Job, Buffer<[u32; 4]>), DspError> {
        let len = inputs.first().map_or(0, |x| x.len());
        let same = inputs.iter().all(|x| x.len() == len);
        if inputs.len() != self.shape.op.inputs() || !same || len == 0 || len % self.shape.n != 0 {
            return Err(DspError::Length {
                what: "an input",
                found: len,
                expected: format!(
                    "{} arrays of rows of {}",
                    self.shape.op.inputs(),
                    self.shape.n
                ),
            });
        }
        let rows = len / self.shape.n;
        self.check(rows)?;
        let wide = self.shape.n.next_multiple_of(self.shape.op.lanes());
        // What fills a row up must not be the largest: its own last element is not.
        let fill = |x: &&[f32]| match self.shape.op {
            ReductionOp::Max => x
                .chunks(self.shape.n)
                .flat_map(|row| {
                    let last = row.last().copied().unwrap_or_default();
                    let rest = std::iter::repeat_n(last, wide - row.len());
                    row.iter().copied().chain(rest)
                })
                .collect(),
            _ => padded_rows(x, self.shape.n, wide),
        };
        let arrays: Vec<Vec<f32>> = inputs.iter().map(fill).collect();
        self.passes(options, (&arrays, &[rows as u64]), 1, |_, x, y| {
            let row = 4 * wide as u64;
            let x = x.iter().map(|&at| Stream::contiguous("x", at, row));
            let y = Stream::contiguous("y", y, 16);
            Paging::new(rows as u64, x.collect(), vec![y])
        })
    }

    /// Refuses arrays that do not fit system memory.
    pub(super) fn check(&self, rows: usize) -> Result<(), DspError> {
        let wide = self.shape.n.next_multiple_of(self.shape.op.lanes()) as u128;
        let bytes = rows as u128 * (4 * wide * self.shape.op.inputs() as u128 + 16);
        self.fits(bytes)
    }

    /// Least arithmetic of the pass for the model.
    pub(super) fn operations(&self, rows: usize) -> Vec<Vec<(Class, u64)>> {
        vec![vec![(Class::Add, self.least(rows).issues as u64)]]
    }
}

fn build(op: ReductionOp, n: usize, machine: &Machine) -> Result<Kernel, DspError> {
    if op == ReductionOp::Max {
        return build_max(n, machine);
    }
    // Zero; the smallest and the largest number whose root is a number.
    let mut ops = Ops::new(&[0, 1, f32::MAX.to_bits()]);
    let sums: Vec<u8> = (0..SUMS).map(|_| ops.carry()).collect();
    let step = (16 * SUMS) as i64;
    let x = pointer(&mut ops.body, 0, step);
    let y = (op.inputs() == 2).then(|| pointer(&mut ops.body, 2, step));
    let (first, second): (Vec<_>, Vec<_>) = (0..SUMS)
        .map(|i| {
            let mut load = |from| {
                let value = ops.body.quad();
                ops.body.load(Reg::Whole(value), from, 16 * i as i64);
                value
            };
            let first = load(x);
            (first, y.map_or(first, load))
        })
        .unzip();
    for (i, &sum) in sums.iter().enumerate() {
        let (a, b) = (first[i], second[i]);
        let (name, uses): (_, Vec<Reg>) = match op {
            ReductionOp::Sum => ("add", vec![Reg::Quad(sum), Reg::Whole(a)]),
            ReductionOp::ComplexDot => {
                let halves = [(Reg::Lo(a), Reg::Lo(b)), (Reg::Hi(a), Reg::Hi(b))];
                for ((a, b), pair) in halves.into_iter().zip([2 * sum, 2 * sum + 1]) {
                    let pair = Reg::Pair(pair);
                    ops.body.op("cmaddc", &[pair], &[a, b, pair]);
                }
                continue;
            }
            _ => ("madd", vec![Reg::Whole(a), Reg::Whole(b), Reg::Quad(sum)]),
        };
        ops.body.op(name, &[Reg::Quad(sum)], &uses);
    }
    let zero = sums
        .iter()
        .map(|s| format!("    mov q{s}, q31\n"))
        .collect();
    let mut after = String::new();
    // Pairs of accumulators, then the halves of the quad, then its lanes.
    let mut width = SUMS / 2;
    while width > 0 {
        for i in 0..width {
            after += &format!("    add q{0}, q{0}, q{1}\n", sums[i], sums[i + width]);
        }
        width /= 2;
    }
    let total = sums[0];
    after += &format!("    trnhi q0, q{total}, q{total}\n    add q0, q0, q{total}\n");
    if op != ReductionOp::ComplexDot {
        after += "    swap q1, q0\n    add q0, q0, q1\n";
    }
    if op == ReductionOp::Norm {
        after += "    max r2, r0, r60\n    min r2, r2, r58\n    rsqrt r2, r2\n    mul r0, r0, r2\n";
    }
    after += "    stq q0, [a1]+16\n";
    recipe(op, ops, x, y, n, zero, after).build(machine)
}

/// Four candidates side by side: comparison and two selections for each.
fn build_max(n: usize, machine: &Machine) -> Result<Kernel, DspError> {
    let mut ops = Ops::new(&[0, f32::NEG_INFINITY.to_bits()]);
    let best: Vec<(u8, u8)> = (0..MAXIMA).map(|_| (ops.carry(), ops.carry())).collect();
    let step = (16 * MAXIMA) as i64;
    let x = pointer(&mut ops.body, 0, step);
    let places = pointer(&mut ops.body, 2, 16);
    let place = ops.body.quad();
    ops.body.load(Reg::Whole(place), places, 0);
    for (i, &(value, at)) in best.iter().enumerate() {
        let found = ops.body.quad();
        ops.body.load(Reg::Whole(found), x, 16 * i as i64);
        let (value, at, found) = (Reg::Quad(value), Reg::Quad(at), Reg::Whole(found));
        // The first of equals stays.
        let larger = ops.q("cmplt", &[value, found]);
        ops.body.op("sel", &[value], &[found, value, larger]);
        ops.body.op("sel", &[at], &[Reg::Whole(place), at, larger]);
    }
    let start = best
        .iter()
        .map(|(value, at)| format!("    mov q{value}, q30\n    mov q{at}, q31\n"))
        .collect();
    // The place of candidate i is 16 times the iteration, plus 4 i plus the lane.
    let mut after = String::from("    movi a2, lanes\n    ldq q8, [a2]\n    ldq q9, [a2 + 16]\n");
    for (i, (_, at)) in best.iter().enumerate() {
        after += &format!("    iadd q{at}, q{at}, q8\n");
        if i + 1 < MAXIMA {
            after += "    iadd q8, q8, q9\n";
        }
    }
    // Of two candidates the larger; of equals the one whose place is less.
    let choose = |a: (u8, u8), b: (u8, u8)| {
        let ((v, p), (w, q)) = (a, b);
        format!(
            "    cmplt q0, q{v}, q{w}\n    cmpeq q1, q{v}, q{w}\n    icmplt q2, q{q}, q{p}\n    \
             and q1, q1, q2\n    or q0, q0, q1\n    sel q{v}, q{w}, q{v}, q0\n    sel q{p}, q{q}, q{p}, q0\n"
        )
    };
    after += &choose(best[0], best[1]);
    after += &choose(best[2], best[3]);
    after += &choose(best[0], best[2]);
    let ((v, p), (w, q)) = (best[0], best[1]);
    after += &format!("    trnhi q{w}, q{v}, q{v}\n    trnhi q{q}, q{p}, q{p}\n");
    after += &choose(best[0], best[1]);
    after += &format!("    swap q{w}, q{v}\n    swap q{q}, q{p}\n");
    after += &choose(best[0], best[1]);
    after += &format!("    trnlo q0, q{v}, q{p}\n    stq q0, [a1]+16\n");
    let iterations = n / ReductionOp::Max.lanes();
    let mut data =
        String::from("    .align 16\nlanes:\n    .int 0, 1, 2, 3\n    .int 4, 4, 4, 4\nplaces:\n");
    data += &format!("    .rept {iterations}, i\n    .int 16*i, 16*i, 16*i, 16*i\n    .endr\n");
    let mut recipe = recipe(ReductionOp::Max, ops, x, None, n, start, after);
    recipe.tables.push((places, "places"));
    recipe.data = data;
    recipe.build(machine)
}

fn recipe<'a>(
    op: ReductionOp,
    ops: Ops,
    x: Pointer,
    y: Option<Pointer>,
    n: usize,
    before: String,
    after: String,
) -> Recipe<'a> {
    let mut inputs = vec![(x, 0, 0)];
    inputs.extend(y.map(|y| (y, 1, 0)));
    Recipe {
        name: op.name(),
        ops,
        inputs,
        outputs: Vec::new(),
        results: Some(1),
        tables: Vec::new(),
        iterations: (n / op.lanes()) as u64,
        turns: 1,
        pages: (op.inputs(), 1),
        before,
        after,
        next: String::new(),
        data: String::new(),
    }
}
