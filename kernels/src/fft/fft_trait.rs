//! The trait of every planned FFT: lengths, batches, prices, jobs, runs.

use super::error::FftError;
use super::power_of_two::{FftRun, count_transforms};
use crate::fft::TransformDirection;
use crate::job::{self, Job, JobError, KernelInput, KernelRun, PreparedJob, count, load};
use cp2_asm::Program;
use cp2_host::{Buffer, DeviceOptions, MemoryElement, Paging, Reserved, ValueSource};
use cp2_machine::{Class, Cycles, Machine};
use cp2_reference::Figures;
use num_complex::Complex32;
use std::fmt;
use std::sync::Arc;

/// Distances from a row of a batch to the next, in complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowStrides {
    /// Distance in the input.
    pub input: usize,
    /// Distance in the output.
    pub output: usize,
}

impl RowStrides {
    /// Returns the strides of rows of `n` numbers that follow each other.
    #[must_use]
    pub fn contiguous(n: usize) -> Self {
        Self {
            input: n,
            output: n,
        }
    }

    /// Refuses rows that overlap.
    fn check(self, n: usize) -> Result<(), FftError> {
        let least = self.input.min(self.output);
        if least < n {
            return Err(FftError::Overlap { n, distance: least });
        }
        Ok(())
    }

    /// Returns the number of rows of `n` numbers in `found` numbers, and refuses more than `most`. Nothing
    /// need follow the last row.
    pub(super) fn count_rows(
        self,
        found: usize,
        n: usize,
        most: usize,
        machine: &Machine,
    ) -> Result<usize, FftError> {
        if self.input == n {
            return count_transforms(found, n, most, machine);
        }
        let whole = found.saturating_add(self.input.saturating_sub(n));
        count_transforms(
            whole - whole % self.input.max(1),
            self.input.max(1),
            most,
            machine,
        )
    }
}

/// A planned FFT: made once by a planner, used for any batch.
pub trait Fft: fmt::Debug + Send + Sync {
    /// Returns the length of the transform.
    fn len(&self) -> usize;

    /// Returns false: a transform has at least one number.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the direction of the transform.
    fn direction(&self) -> TransformDirection;

    /// Returns the planner's decisions in words: `fft 360 forward: mixed 8 x 5 x 3 x 3`.
    fn recipe(&self) -> String;

    /// Returns the machine that the transform is planned for.
    fn machine(&self) -> &Arc<Machine>;

    /// Returns the page kernel that transforms a batch; none where a job has several.
    ///
    /// # Errors
    /// The kernel does not assemble for the machine.
    fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError>;

    /// Returns the text of a kernel source by its file name in line tables.
    fn source(&self, file: &str) -> Option<String>;

    /// Returns the largest batch whose input and output fit the machine's system memory.
    fn max_batch(&self) -> usize;

    /// Returns the lower bound of any program and the time of the best known one for `batch` transforms,
    /// whatever the recipe.
    fn figures(&self, batch: usize) -> Figures {
        cp2_reference::Fft::new(self.len(), batch).figures(self.machine())
    }

    /// Returns the least cycles that the recipe itself can take, and their formula in words; none where the
    /// recipe by design costs nothing that others do not.
    fn recipe_floor(&self, _batch: usize) -> Option<(f64, &'static str)> {
        None
    }

    /// Estimates the cycles of a batch quickly; planners leave out recipes whose estimates are far from the
    /// cheapest.
    ///
    /// # Errors
    /// The batch cannot be paged on the machine.
    fn estimate(&self, batch: usize) -> Result<Cycles, FftError>;

    /// Returns the cycles of a batch whose input and output rows follow each other: the price of its job
    /// ([`Job::expected`]).
    ///
    /// # Errors
    /// See [`Fft::process_with`].
    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let mut job = Job::new(self.machine().clone(), DeviceOptions::default());
        let numbers = batch.saturating_mul(self.len()) as u64;
        let x = job.temporary::<Complex32>(numbers)?;
        self.append_rows(
            &mut job,
            x.into(),
            batch,
            RowStrides::contiguous(self.len()),
        )?;
        price_or_estimate(&job, || self.estimate(batch))
    }

    /// Returns the shape of the arrays that [`Fft::append`] reads and writes for a batch: the number of rows,
    /// and numbers from a row to the next. Rows beyond the batch, which fill it up to what the recipe takes
    /// at a time, come last.
    ///
    /// # Errors
    /// The batch cannot be paged on the machine.
    fn arrays(&self, batch: usize) -> Result<[usize; 2], FftError> {
        Ok([batch, self.len()])
    }

    /// Adds the passes over a batch to a job. Both addresses are of arrays in system memory with the shape
    /// [`Fft::arrays`].
    ///
    /// # Errors
    /// The batch cannot be paged on the machine.
    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError>;

    /// Returns the least arithmetic that each pass of [`Fft::append`] has to issue: class, and number of
    /// operations of one section, all sections together.
    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>>;

    /// Returns the number of transforms in an input of so many numbers.
    ///
    /// # Errors
    /// The input is empty, no whole number of transforms, or too large for the machine.
    fn batch_of(&self, found: usize) -> Result<usize, FftError> {
        count_transforms(found, self.len(), self.max_batch(), self.machine())
    }

    /// Returns the lengths of an array's axes.
    fn axes(&self) -> Vec<usize> {
        vec![self.len()]
    }

    /// Makes the job that transforms `input`, and returns the buffer of its output.
    ///
    /// # Errors
    /// See [`Fft::process_with`].
    fn job(
        &self,
        input: &[Complex32],
        options: DeviceOptions,
    ) -> Result<(Job, Buffer<Complex32>), FftError> {
        let batch = self.batch_of(input.len())?;
        let mut job = Job::new(self.machine().clone(), options);
        let y = self.append_rows(
            &mut job,
            input.into(),
            batch,
            RowStrides::contiguous(self.len()),
        )?;
        Ok((job, y))
    }

    /// Returns the shape under which a recording stores an array of `numbers` whose rows lie so far apart.
    fn shape_of(&self, batch: usize, apart: usize, numbers: usize) -> Vec<u64> {
        match apart == self.len() {
            true => std::iter::once(batch)
                .chain(self.axes())
                .map(|d| d as u64)
                .collect(),
            false => vec![numbers as u64],
        }
    }

    /// Adds the transforms of rows that may lie apart (see [`Fft::process_rows`]) to a job, and returns the
    /// new buffer of their results.
    ///
    /// # Errors
    /// See [`Fft::process_with`].
    fn append_rows(
        &self,
        job: &mut Job,
        input: KernelInput<'_, Complex32>,
        batch: usize,
        rows: RowStrides,
    ) -> Result<Buffer<Complex32>, FftError> {
        let n = self.len();
        let [filled, pitch] = self.arrays(batch)?;
        let kernel = self::rows(batch, [n, pitch], filled);
        let shape = |apart, numbers| self.shape_of(batch, apart, numbers);
        let own = cp2_host::ViewRows {
            total: (input.len() * Complex32::BYTES) as u64,
            ..self::rows(batch, [n, rows.input], batch)
        };
        let x = ("x", input, &shape(rows.input, input.len())[..]);
        let x = job.rows_in(x, own, kernel)?;
        let own = self::rows(batch, [n, rows.output], batch);
        let y = shape(rows.output, batch.saturating_mul(rows.output));
        let y = job.rows_out(("y", &y), own, kernel)?;
        self.append(job, batch, x, y.address)?;
        Ok(job.deliver(y)?)
    }

    /// Prepares a job that transforms batches as large as `input` repeatedly. `input` is the first batch and
    /// is called `x`, the output `y`; rows follow each other in both.
    ///
    /// # Errors
    /// See [`Fft::process_with`].
    fn prepare(
        &self,
        input: &[Complex32],
        options: DeviceOptions,
    ) -> Result<PreparedJob, FftError> {
        Ok(self.job(input, options)?.0.prepare())
    }

    /// Transforms `input`, a whole number of transforms, each `len` consecutive
    /// numbers, on a device with options; the output has the same shape.
    ///
    /// # Errors
    /// An input of the wrong shape or too large for the machine. A run that
    /// does not finish is no error: it has no output and a report that says why.
    fn process_with(
        &self,
        input: &[Complex32],
        options: DeviceOptions,
    ) -> Result<FftRun, FftError> {
        self.process_rows(input, RowStrides::contiguous(self.len()), options)
    }

    /// Transforms the rows of a batch that lie apart: what is between the rows
    /// of the input is not looked at, and between those of the output there is 0.
    /// Numbers of one row follow each other: the DMA moves two at least.
    ///
    /// Where rows are whole granules of the DMA, its transfers step over the gaps. Other rows are copied to
    /// consecutive addresses by a pass of their own, and the results to their distances by another.
    ///
    /// # Errors
    /// See [`Fft::process_with`]; distances shorter than a row.
    fn process_rows(
        &self,
        mut input: &[Complex32],
        rows: RowStrides,
        options: DeviceOptions,
    ) -> Result<FftRun, FftError> {
        let done = self.process_from(&mut input, rows, options)?;
        Ok(done.read().map_err(JobError::from)?)
    }

    /// Transforms rows as [`Fft::process_rows`] does, of numbers from a source that makes or reads them as
    /// they are put into system memory; the output stays there.
    ///
    /// # Errors
    /// See [`Fft::process_rows`], and those of the source.
    fn process_from(
        &self,
        input: &mut dyn ValueSource<Complex32>,
        rows: RowStrides,
        options: DeviceOptions,
    ) -> Result<KernelRun<Buffer<Complex32>>, FftError> {
        let n = self.len();
        rows.check(n)?;
        let found = count(input);
        let rows = RowStrides {
            // The stride of a single row does not matter.
            input: rows.input.min(found.max(n)),
            ..rows
        };
        let longest = rows.input.max(rows.output);
        let most = self.max_batch() / longest.div_ceil(n.max(1)).max(1);
        let batch = rows.count_rows(found, n, most, self.machine())?;
        let mut job = Job::new(self.machine().clone(), options);
        let x = job.input_of("x", input, &self.shape_of(batch, rows.input, found))?;
        let y = self.append_rows(&mut job, x.into(), batch, rows)?;
        Ok(job.run(self.figures(batch), |_| Ok(y))?)
    }

    /// Transforms `input` as [`Fft::process_with`] does, on a device with default options.
    ///
    /// # Errors
    /// See [`Fft::process_with`].
    fn process(&self, input: &[Complex32]) -> Result<FftRun, FftError> {
        self.process_with(input, DeviceOptions::default())
    }
}

/// Returns the price of a job whose kernels' cycles can be counted, else the estimate.
pub(super) fn price_or_estimate(
    job: &Job,
    estimate: impl FnOnce() -> Result<Cycles, FftError>,
) -> Result<Cycles, FftError> {
    job.expected().map_or_else(estimate, Ok)
}

/// Describes `batch` rows of `n` complex numbers, `pitch` numbers apart, in an array of `filled` rows.
pub(super) fn rows(batch: usize, [n, pitch]: [usize; 2], filled: usize) -> cp2_host::ViewRows {
    let bytes = |numbers: usize| (numbers * Complex32::BYTES) as u64;
    job::rows(batch, bytes(n), (filled, bytes(pitch)))
}

/// Estimates the cycles of one pass: the scheduler's estimate with `tables` bytes of DMEM taken, and the load
/// of the tables and of a program of `words`.
pub(super) fn pass_estimate(
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
    let plan = cp2_host::StreamPlan::new(paging, machine).map_err(crate::job::JobError::from)?;
    let load = load(8 * words + tables, machine);
    Ok(Cycles((plan.estimate().cycles + load).ceil() as u64))
}
