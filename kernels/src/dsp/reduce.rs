//! Reductions of rows: sum, dot product, norm, largest element and its place.

mod long;
mod short;

use super::error::DspError;
use super::plan::{KernelOperand, OutputArray, QUAD, QUAD_BYTES, VectorPlan, check_granules};
use crate::job::{Job, KernelRun};
use crate::relayout::SourceOfWord;
use cp2_host::{Buffer, DeviceOptions, Paging, Stream};
use cp2_machine::{Class, Machine};
use cp2_problems::vector::ReductionOp;
use cp2_reference::{Figures, ReductionOperation};
use std::sync::Arc;

/// A reduced row: value and place for [`ReductionOp::Max`], real and imaginary part for
/// [`ReductionOp::ComplexDot`], otherwise a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extreme {
    /// Value, or its real part.
    pub value: f32,
    /// Imaginary part of a complex value, else 0.
    pub imaginary: f32,
    /// Index of the largest element, else 0.
    pub place: u32,
}

/// Bytes of a long row's page besides the inputs: result, argument block and tables.
const ARGUMENTS: usize = 128;
/// Number of groups of short rows for each section up to which a block for each row may be faster.
const FEW: usize = 8;
/// Number of short rows that are reduced together.
const ROWS: usize = 4;
/// Number of floats of the longest row.
pub(super) const MAX_ROW: usize = 4096;

/// Returns the name of a reduction in the references.
fn operation(op: ReductionOp) -> ReductionOperation {
    match op {
        ReductionOp::Sum => ReductionOperation::Sum,
        ReductionOp::Dot | ReductionOp::Norm => ReductionOperation::Dot,
        ReductionOp::ComplexDot => ReductionOperation::ComplexDot,
        ReductionOp::Max => ReductionOperation::Max,
    }
}

/// Returns the number of floats, or places, that a row is reduced to.
fn width(op: ReductionOp) -> usize {
    match op {
        ReductionOp::Sum | ReductionOp::Dot | ReductionOp::Norm => 1,
        ReductionOp::ComplexDot | ReductionOp::Max => 2,
    }
}

/// Returns the lines that include the macros of a reduction.
fn macros(op: ReductionOp) -> &'static str {
    match op {
        ReductionOp::Sum => ".equ OPERATION, 0\n.include \"reductions.s\"\n",
        ReductionOp::Dot => ".equ OPERATION, 1\n.include \"reductions.s\"\n",
        ReductionOp::ComplexDot => ".equ OPERATION, 2\n.include \"reductions.s\"\n",
        ReductionOp::Norm => ".equ OPERATION, 3\n.include \"reductions.s\"\n",
        ReductionOp::Max => ".include \"largest.s\"\n",
    }
}

/// A planned reduction of rows of one length.
pub type ReductionPlan = VectorPlan<ReducedRows>;

/// A reduction, and the layout of its rows.
#[derive(Debug)]
pub struct ReducedRows {
    op: ReductionOp,
    /// Number of floats of a row.
    n: usize,
    /// Number of floats of a padded row.
    wide: usize,
    /// Number of rows of a block, which share quads of results; a long row is a block of its own.
    block: usize,
    /// Number of parts of a row; each is a block of its own, and another pass joins their sums.
    parts: usize,
    /// For each of the four short rows of a group, the lane of its result.
    lanes: [usize; ROWS],
}

impl ReducedRows {
    /// Returns the number of quads of the results of a block.
    fn quads(&self) -> usize {
        if self.block == 1 {
            return 1;
        }
        self.block / ROWS * width(self.op)
    }

    /// Returns the words of the results of the rows that share quads: in the kernel's array, and in the
    /// user's.
    fn words(&self) -> (u64, u64) {
        let results = width(self.op);
        let (from, to) = match self.block {
            1 => (QUAD, results),
            _ => (ROWS * results, ROWS * results),
        };
        (from as u64, to as u64)
    }

    /// Returns the kernel's word that word `at` of the results is.
    fn word(&self, at: u64) -> u64 {
        let results = width(self.op);
        let (row, which) = (at as usize / results, at as usize % results);
        let word = match (self.block, self.op) {
            (1, ReductionOp::Max) => 2 * which,
            (1, _) => which,
            (_, ReductionOp::ComplexDot) => 2 * self.lanes[row] + which,
            _ => QUAD * which + self.lanes[row],
        };
        word as u64
    }
}

/// Conversion of words of results, in the user's layout, to reduced rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReductionResults(ReductionOp);

impl ReductionResults {
    /// Iterates over the reduced rows.
    pub(super) fn read_extremes(self, words: &[u32]) -> impl Iterator<Item = Extreme> + '_ {
        let row = move |words: &[u32]| {
            let at = |i: usize| words.get(i).copied().unwrap_or_default();
            let of = |op: ReductionOp| if self.0 == op { at(1) } else { 0 };
            Extreme {
                value: f32::from_bits(at(0)),
                imaginary: f32::from_bits(of(ReductionOp::ComplexDot)),
                place: of(ReductionOp::Max),
            }
        };
        words.chunks(width(self.0)).map(row)
    }
}

impl ReductionPlan {
    /// Plans `op` for many rows of `n` floats (2 m floats for m complex numbers).
    ///
    /// # Errors
    /// The operation does not have the length, or the machine has no schedule for it.
    pub fn new(op: ReductionOp, n: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        Self::with_rows(op, n, usize::MAX, machine)
    }

    /// Plans `op` for a given number of rows.
    ///
    /// If there are few rows, blocks are no larger than the sections need, or there is one for each row,
    /// whichever should take less.
    ///
    /// # Errors
    /// See [`ReductionPlan::new`].
    pub fn with_rows(
        op: ReductionOp,
        n: usize,
        rows: usize,
        machine: Arc<Machine>,
    ) -> Result<Self, DspError> {
        let odd = op == ReductionOp::ComplexDot && !n.is_multiple_of(2);
        if n == 0 || n > MAX_ROW || odd {
            return Err(DspError::Size {
                what: "a row's length",
                found: n,
                expected: format!(
                    "1 to {MAX_ROW} floats, an even number for complex ones; split longer rows"
                ),
            });
        }
        if n > short::longest_row(op) {
            return Self::long(op, n, machine);
        }
        let each = rows.div_ceil(machine.cp2.sections.max(1));
        let short = short::build(op, n, each.div_ceil(ROWS), &machine)?;
        let shape = ReducedRows {
            op,
            n,
            wide: n,
            block: short.rows,
            parts: 1,
            lanes: short.lanes,
        };
        let short = Self::from_kernels(op.name(), shape, machine.clone(), vec![short.kernel]);
        if each > FEW * ROWS {
            return Ok(short);
        }
        // If the machine cannot move a single result, or has no schedule, the kernel of short rows remains.
        let long = Self::long(op, n, machine).ok();
        let long = long.filter(|long| long.time(rows) < short.time(rows));
        Ok(long.unwrap_or(short))
    }

    /// Plans a reduction with a block, or a few, for each row.
    fn long(op: ReductionOp, n: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        // As many parts that local memory holds two at a time.
        let two = |parts: &usize| {
            let part = long::wide(op, n.div_ceil(*parts)) * op.inputs() * 4;
            2 * (part + ARGUMENTS) as u64 <= machine.cp2.dmem.0
        };
        let sums = op.inputs() == 2;
        let parts = if sums { (1..8).find(two) } else { None }.unwrap_or(1);
        let part = long::wide(op, n.div_ceil(parts));
        check_granules("the result of a row", QUAD_BYTES, &machine)?;
        let mut kernels = vec![long::build(op, part, &machine)?];
        if parts > 1 {
            kernels.push(long::build_join(parts, &machine)?);
        }
        let shape = ReducedRows {
            op,
            n,
            wide: parts * part,
            block: 1,
            parts,
            lanes: [0; ROWS],
        };
        Ok(Self::from_kernels(op.name(), shape, machine, kernels))
    }

    /// Returns the cycles that few rows should take: programs, rows and blocks, which do not overlap.
    fn time(&self, rows: usize) -> u64 {
        let shape = &self.shape;
        let blocks = rows.div_ceil(shape.block).max(1);
        let inputs = shape.op.inputs();
        let numbers = blocks * shape.block * shape.wide * inputs + QUAD * shape.quads();
        // Rows of another length are made before.
        let padded = match shape.wide == shape.n {
            true => 0,
            false => rows * (shape.n + shape.wide) * inputs,
        };
        self.estimate_few_blocks(4 * (numbers + padded) as u64, blocks as u64)
    }

    /// Returns the proved limit and the time of the best known program for `rows`.
    #[must_use]
    pub fn figures(&self, rows: usize) -> Figures {
        let (op, n) = (self.shape.op, self.shape.n);
        let ends = [op.inputs(), width(op)];
        cp2_reference::Reduction::new(operation(op), ends, [n, rows]).figures(self.machine())
    }

    /// Reduces the rows of the inputs on a device with default options.
    ///
    /// # Errors
    /// The inputs are no rows of the length, of another number, or do not fit the machine.
    pub fn process(&self, inputs: &[&[f32]]) -> Result<KernelRun<Vec<Extreme>>, DspError> {
        self.process_with(inputs, DeviceOptions::default())
    }

    /// Reduces the rows of the inputs on a device with options.
    ///
    /// # Errors
    /// See [`ReductionPlan::process`].
    pub fn process_with(
        &self,
        inputs: &[&[f32]],
        options: DeviceOptions,
    ) -> Result<KernelRun<Vec<Extreme>>, DspError> {
        let (job, y) = self.job(inputs, options)?;
        let rows = inputs.first().map_or(0, |x| x.len() / self.shape.n);
        let results = self.results();
        Ok(job.run(self.figures(rows), |run| {
            Ok(results.read_extremes(&run.read(y)?).collect())
        })?)
    }

    /// Returns the conversion of its results.
    pub(super) fn results(&self) -> ReductionResults {
        ReductionResults(self.shape.op)
    }

    /// Puts together the job of the reduction, and returns the array of its results' words.
    pub(super) fn job(
        &self,
        inputs: &[&[f32]],
        options: DeviceOptions,
    ) -> Result<(Job, Buffer<u32>), DspError> {
        let len = inputs.first().map_or(0, |x| x.len());
        let same = inputs.iter().all(|x| x.len() == len);
        if inputs.len() != self.shape.op.inputs()
            || !same
            || len == 0
            || !len.is_multiple_of(self.shape.n)
        {
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
        let ReducedRows {
            wide, block, parts, ..
        } = self.shape;
        let blocks = rows.div_ceil(block);
        let (n, room) = (self.shape.n, blocks * block * wide);
        let names = ["x", "y"].iter().zip(inputs);
        let mut operands: Vec<KernelOperand<'_, f32>> = names
            .map(|(name, &x)| {
                let rows = KernelOperand::rows(name, x.into(), &[rows, n], [n, wide], room);
                // Padding must not be larger than the row's elements, so the last element is repeated.
                match self.shape.op {
                    ReductionOp::Max => rows.pad_with_last(),
                    _ => rows,
                }
            })
            .collect();
        if parts > 1 {
            // Array of the sums of the parts.
            let rows = rows.next_multiple_of(long::JOINED);
            operands.push(KernelOperand::room(rows * parts * QUAD));
        }
        let quads = self.shape.quads();
        let results = blocks * quads;
        let own = width(self.shape.op);
        let word = |at: u64| SourceOfWord::Of(0, self.shape.word(at));
        let room = QUAD * results.next_multiple_of(long::JOINED);
        let output = OutputArray::words(&[rows, own], self.shape.words(), &word, room);
        let passes = &[0, 1][..parts.min(2)];
        let paging = |pass, x: &[u64], y| {
            let stream = |name, at, bytes: usize| Stream::contiguous(name, at, bytes as u64);
            if pass == 1 {
                let sums = x.last().copied().unwrap_or_default();
                let sums = stream("sums", sums, 16 * parts * long::JOINED);
                let y = stream("y", y, 16 * long::JOINED);
                return Paging::new(rows.div_ceil(long::JOINED) as u64, vec![sums], vec![y]);
            }
            let inputs = x.iter().take(self.shape.op.inputs());
            let to = if parts > 1 { x.last().copied() } else { None };
            let x = inputs.map(|&at| stream("x", at, 4 * block * wide / parts));
            let y = stream("y", to.unwrap_or(y), 16 * quads);
            Paging::new((blocks * parts) as u64, x.collect(), vec![y])
        };
        self.create_job(options, |job| {
            self.passes(job, (&operands, &output), passes, paging)
        })
    }

    /// Refuses arrays that do not fit system memory.
    pub(super) fn check(&self, rows: usize) -> Result<(), DspError> {
        let shape = &self.shape;
        let row =
            4 * shape.wide as u128 * shape.op.inputs() as u128 + 16 * shape.parts as u128 + 16;
        let bytes = (rows as u128 + shape.block.max(long::JOINED) as u128) * row;
        self.fits(bytes)
    }

    /// Returns the operations that every pass issues, for the model: a pass over rows or their parts, and if
    /// there are parts one that joins their sums.
    pub(super) fn operations(&self, rows: usize) -> Vec<Vec<(Class, u64)>> {
        let (block, parts) = (self.shape.block, self.shape.parts);
        let mut passes = vec![self.issued(0, rows.div_ceil(block) * parts)];
        if parts > 1 {
            passes.push(self.issued(1, rows.div_ceil(long::JOINED)));
        }
        passes
    }
}
