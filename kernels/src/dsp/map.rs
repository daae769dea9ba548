//! Elementwise operations: arithmetic, windows, power, magnitude and phase.

mod build;
mod op;

use super::error::DspError;
use super::plan::{KernelOperand, OutputArray, QUAD, VectorPlan};
use crate::job::{Job, KernelInput, KernelRun};
use build::build;
use cp2_host::{BlockPiece, Buffer, DeviceOptions, Paging, Stream};
use cp2_machine::{Class, Machine};
use cp2_problems::vector::MapOp;
use cp2_reference::Figures;
use op::Formula as _;
use std::sync::Arc;

/// Floats of a block of a large array.
const BLOCK: usize = 1024;
/// Most floats of a row that are in local memory at a time, together with as many of its window.
const PART: usize = 2048;
/// Floats of the smallest block.
const SMALL: usize = 64;

/// A planned elementwise operation on arrays of one length.
pub type ElementwisePlan = VectorPlan<Elements>;

/// An operation, and the blocks that arrays are cut into.
#[derive(Debug)]
pub struct Elements {
    op: MapOp,
    /// Number of floats of each input.
    len: usize,
    /// Number of floats of each input in a block; with a window, a block is a row or a part of it.
    block: usize,
    /// Number of floats of a row, for windows.
    row: Option<usize>,
    /// Number of parts of a row; each part has a pass.
    parts: usize,
}

impl ElementwisePlan {
    /// Plans `op` for arrays of `len` floats.
    ///
    /// # Errors
    /// The operation does not have the length, or the machine has no schedule for it.
    pub fn new(op: MapOp, len: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        let wrong = |expected: String| DspError::Size {
            what: "the number of floats",
            found: len,
            expected,
        };
        let whole = op.ratio() * if op == MapOp::ComplexMultiply { 2 } else { 1 };
        if len == 0 || !len.is_multiple_of(whole) {
            return Err(wrong(format!("a positive multiple of {whole} floats")));
        }
        let row = match &op {
            MapOp::Window(w) if w.is_empty() || !len.is_multiple_of(w.len()) => {
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
        Ok(Self::from_kernels(name, shape, machine, kernels))
    }

    /// Returns the number of blocks of a pass.
    fn blocks(&self) -> usize {
        self.shape
            .len
            .div_ceil(self.shape.row.unwrap_or(self.shape.block))
    }

    /// Returns the number of floats of a padded row, or of a block where there are no rows.
    fn wide(&self) -> usize {
        self.shape.parts * self.shape.block
    }

    /// Returns the proved limit and the time of the best known program.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let (op, len) = (&self.shape.op, self.shape.len);
        cp2_reference::Map::new(op.operation(), op.inputs(), len).figures(self.machine())
    }

    /// Applies the operation on a device with default options: `inputs` are as many arrays as it reads.
    ///
    /// # Errors
    /// There are arrays of another number or length, or they do not fit the machine.
    pub fn process(&self, inputs: &[&[f32]]) -> Result<KernelRun<Vec<f32>>, DspError> {
        self.process_with(inputs, DeviceOptions::default())
    }

    /// Applies the operation on a device with options.
    ///
    /// # Errors
    /// See [`ElementwisePlan::process`].
    pub fn process_with(
        &self,
        inputs: &[&[f32]],
        options: DeviceOptions,
    ) -> Result<KernelRun<Vec<f32>>, DspError> {
        let (job, y) = self.job(inputs, options)?;
        Ok(job.run(self.figures(), |run| run.read(y))?)
    }

    /// Puts together the job that applies the operation, and returns its result's array; nothing runs yet.
    ///
    /// Inputs are called `x` and `y`, the output `y`.
    ///
    /// # Errors
    /// See [`ElementwisePlan::process`].
    pub fn job(
        &self,
        inputs: &[&[f32]],
        options: DeviceOptions,
    ) -> Result<(Job, Buffer<f32>), DspError> {
        let inputs: Vec<KernelInput<'_, f32>> = inputs.iter().map(|&x| x.into()).collect();
        self.create_job(options, |job| self.append(job, &inputs))
    }

    /// Adds the operation to a job and returns the array of its result.
    ///
    /// # Errors
    /// See [`ElementwisePlan::process`].
    pub fn append(
        &self,
        job: &mut Job,
        inputs: &[KernelInput<'_, f32>],
    ) -> Result<Buffer<f32>, DspError> {
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
        let ratio = self.shape.op.ratio();
        let (len, wide) = (self.shape.len, self.wide());
        let names = ["x", "y"].iter().zip(inputs);
        let operands: Vec<KernelOperand<'_, f32>> = names
            .map(|(name, &x)| match self.shape.row {
                Some(n) => KernelOperand::rows(name, x, &[len / n, n], [n, wide], total),
                None => KernelOperand::new(name, x, &[len], total),
            })
            .collect();
        let output = match self.shape.row {
            Some(n) => {
                let rows = [n / ratio, wide / ratio];
                OutputArray::rows(&[len / n, n / ratio], rows, total / ratio)
            }
            None => OutputArray::new(&[len / ratio], total / ratio),
        };
        let (ratio, parts) = (self.shape.op.ratio() as u64, self.shape.parts);
        let (block, wide) = (self.shape.block as u64 * 4, self.wide() as u64 * 4);
        // The stream of part `i` of every row, with `1 / by` as many bytes as the inputs have.
        let part = |name, at, i: usize, by: u64| {
            let bytes = block / by;
            let piece = BlockPiece::new(bytes, Vec::new());
            Stream::strided(name, at + i as u64 * bytes, wide / by, bytes, vec![piece])
        };
        let kernels: Vec<usize> = (0..parts).collect();
        self.passes(job, (&operands, &output), &kernels, |i, x, y| {
            let x = x.iter().map(|&at| part("x", at, i, 1)).collect();
            Paging::new(self.blocks() as u64, x, vec![part("y", y, i, ratio)])
        })
    }

    /// Refuses arrays that do not fit system memory.
    pub(super) fn check(&self) -> Result<(), DspError> {
        let padded = self.blocks() as u128 * self.wide() as u128;
        let arrays = self.shape.op.inputs() as u128 + 1;
        self.fits(4 * padded * arrays)
    }

    /// Returns the operations that every pass issues, for the model.
    pub(crate) fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let parts = 0..self.shape.parts;
        parts.map(|part| self.issued(part, self.blocks())).collect()
    }
}
