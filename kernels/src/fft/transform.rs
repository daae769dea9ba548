//! What every FFT of the library can do, whatever its recipe.

use super::definition::FftProblem;
use super::error::FftError;
use super::plan::{FftRun, batch_of};
use super::recipe::Direction;
use crate::backend::Plan;
use cp2_asm::Program;
use cp2_host::{Options, Paging, Reserved};
use cp2_machine::{Cycles, Machine};
use num_complex::Complex32;
use std::fmt;
use std::sync::Arc;

/// Distances from a row of a batch to the next, in complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// In the input.
    pub input: usize,
    /// In the output.
    pub output: usize,
}

impl Rows {
    /// The number of rows of `n` numbers in `found` numbers, at most `most`:
    /// behind the last row nothing need follow.
    pub(super) fn batch_of(
        self,
        found: usize,
        n: usize,
        most: usize,
        machine: &Machine,
    ) -> Result<usize, FftError> {
        if self.input == n {
            return batch_of(found, n, most, machine);
        }
        let whole = found.saturating_add(self.input.saturating_sub(n));
        batch_of(
            whole - whole % self.input.max(1),
            self.input.max(1),
            most,
            machine,
        )
    }
}

/// A planned FFT: made once by a planner, used for any batch.
pub trait Fft: fmt::Debug + Send + Sync {
    /// Length of the transform.
    fn len(&self) -> usize;

    /// Never: a transform has at least one number.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Direction.
    fn direction(&self) -> Direction;

    /// What the planner has decided, in words: `fft 360 forward: mixed 8 x 5 x 3 x 3`.
    fn recipe(&self) -> String;

    /// The machine.
    fn machine(&self) -> &Arc<Machine>;

    /// The page kernel that a batch is transformed by, and how its source is
    /// called in line tables; none where a job has several.
    ///
    /// # Errors
    /// It does not assemble for the machine.
    fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError>;

    /// The source of a kernel by the name that line tables call it.
    fn source(&self, file: &str) -> Option<String>;

    /// The largest batch whose input and output fit the machine's system memory.
    fn max_batch(&self) -> usize;

    /// Lower bound of the time for `batch` transforms: the least arithmetic of
    /// the recipe at the machine's peak rate, or every input and output byte
    /// over the DMA channel once.
    fn bound(&self, batch: usize) -> Cycles;

    /// The time that a batch should take, from formulas alone.
    ///
    /// # Errors
    /// The batch cannot be paged on the machine.
    fn expected(&self, batch: usize) -> Result<Cycles, FftError>;

    /// Transforms `input`, a whole number of transforms, each `len` consecutive
    /// numbers, on a device with options; the output has the same shape.
    ///
    /// # Errors
    /// An input of the wrong shape or too large for the machine. A run that
    /// does not finish is no error: it has no output and a report that says why.
    fn process_with(&self, input: &[Complex32], options: Options) -> Result<FftRun, FftError>;

    /// Transforms the rows of a batch that lie apart: what is between the rows
    /// of the input is not read, and between those of the output there is 0.
    /// Numbers of one row follow each other: the DMA moves two at least.
    ///
    /// # Errors
    /// See [`Fft::process_with`]; distances that the DMA cannot step by, or a
    /// recipe that takes only rows one behind the other.
    fn process_rows(
        &self,
        input: &[Complex32],
        rows: Rows,
        options: Options,
    ) -> Result<FftRun, FftError> {
        if rows.input == self.len() && rows.output == self.len() {
            return self.process_with(input, options);
        }
        Err(FftError::OnlyRows {
            recipe: self.recipe(),
        })
    }

    /// The same on a device with default options.
    ///
    /// # Errors
    /// See [`Fft::process_with`].
    fn process(&self, input: &[Complex32]) -> Result<FftRun, FftError> {
        self.process_with(input, Options::default())
    }
}

impl Plan<FftProblem> for dyn Fft {
    type Run = FftRun;
    type Error = FftError;

    fn run(&self, problem: &FftProblem, input: &[Complex32]) -> Result<FftRun, FftError> {
        if (problem.len(), problem.direction()) != (self.len(), self.direction()) {
            return Err(FftError::OtherProblem {
                plan: self.recipe(),
            });
        }
        self.process(input)
    }

    fn output(run: &FftRun) -> Option<&[Complex32]> {
        run.output.as_deref()
    }
}

/// The expected time of one pass: the scheduler's estimate with `tables` bytes
/// of DMEM taken, and the load of a program of `words`.
pub(super) fn expected(
    mut paging: Paging,
    words: u64,
    tables: u64,
    machine: &Machine,
) -> Result<Cycles, FftError> {
    paging.reserved.push(Reserved {
        name: "tables".to_owned(),
        address: 0,
        bytes: tables,
    });
    let plan = cp2_host::Plan::new(paging, machine).map_err(crate::job::JobError::from)?;
    let load = load(8 * words + tables, machine);
    Ok(Cycles((plan.estimate().cycles + load).ceil() as u64))
}

/// Cycles that the DMA needs for so many bytes, those of a program and its tables.
pub(super) fn load(bytes: u64, machine: &Machine) -> f64 {
    let bandwidth = machine.dma.bandwidth;
    bytes as f64 * bandwidth.den as f64 / bandwidth.num.max(1) as f64
}
