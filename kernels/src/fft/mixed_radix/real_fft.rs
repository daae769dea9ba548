//! Planned real FFTs: real to complex and complex to real.

use super::real_plans::{RealFftJob, RealFftPlan};
use crate::fft::error::FftError;
use crate::fft::power_of_two::count_transforms;
use crate::job::{Job, JobError, KernelInput, KernelRun, count};
use cp2_asm::Program;
use cp2_host::{Buffer, DeviceOptions, ValueSource};
use cp2_machine::{Class, Cycles, Machine};
use cp2_reference::{Figures, RealFft};
use num_complex::Complex32;
use std::sync::Arc;

/// A batch of real transforms that has been run.
pub type RealRun<T> = KernelRun<Vec<T>>;

macro_rules! real_transform {
    ($(#[$doc:meta])* $name:ident, $job:ident, $inverse:expr, $input:ty, $output:ty, $in_len:expr, $out_len:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            way: RealFftPlan,
        }

        impl $name {
            pub(in crate::fft) fn new(way: RealFftPlan) -> Self {
                Self { way }
            }

            /// Returns the real numbers of a transform.
            #[must_use]
            pub fn len(&self) -> usize {
                self.way.len()
            }

            /// Returns false: a transform has at least one number.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Describes the plan in words.
            #[must_use]
            pub fn recipe(&self) -> String {
                self.way.recipe()
            }

            /// Describes the plan of a batch, where those of small and of large batches differ.
            #[must_use]
            pub fn recipe_for(&self, batch: usize) -> String {
                self.way.recipe_for(batch)
            }

            /// Returns the least arithmetic of each pass, see
            /// [`Fft::operations`](crate::fft::Fft::operations).
            pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
                self.way.operations(batch)
            }

            /// Returns the machine that the transform is planned for.
            #[must_use]
            pub fn machine(&self) -> &Arc<Machine> {
                self.way.machine()
            }

            /// Returns the page kernel that transforms a batch; none where a job has several.
            ///
            /// # Errors
            /// The kernel does not assemble for the machine.
            pub fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
                self.way.program(batch)
            }

            /// Returns the text of a kernel source by its file name in line tables.
            #[must_use]
            pub fn source(&self, file: &str) -> Option<String> {
                self.way.source(file)
            }

            /// Returns the largest batch that fits the machine's system memory.
            #[must_use]
            pub fn max_batch(&self) -> usize {
                self.way.max_batch()
            }

            /// Returns the lower bound of any program and the time of the best known one for `batch`
            /// transforms, whatever the recipe.
            #[must_use]
            pub fn figures(&self, batch: usize) -> Figures {
                RealFft::new(self.len(), batch, $inverse).figures(self.machine())
            }

            /// Makes the job that transforms `input`, whole rows, and returns the buffer of its output.
            pub(in crate::fft) fn job(
                &self,
                mut input: &[$input],
                options: DeviceOptions,
            ) -> Result<RealFftJob<$output>, FftError> {
                let (batch, _) = self.count_batch(input.len())?;
                self.way.$job(&mut input, batch, options)
            }

            /// Returns the batch that `found` numbers make, and the numbers of a result row.
            pub(in crate::fft) fn count_batch(&self, found: usize) -> Result<(usize, usize), FftError> {
                let row: fn(usize) -> usize = $in_len;
                let out: fn(usize) -> usize = $out_len;
                let batch = count_transforms(found, row(self.len()), self.max_batch(), self.machine())?;
                Ok((batch, out(self.len())))
            }

            /// Returns the least cycles that the recipe itself can take, and their formula in words; none
            /// where the recipe by design costs nothing that others do not.
            #[must_use]
            pub fn recipe_floor(&self, batch: usize) -> Option<(f64, &'static str)> {
                self.way.recipe_floor(batch)
            }

            /// Returns the cycles of a batch: the price of its job.
            ///
            /// # Errors
            /// See `process_with`.
            pub fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
                self.way.expected($inverse, batch)
            }

            /// Transforms whole rows on a device with options.
            ///
            /// # Errors
            /// An input of the wrong shape or too large for the machine.
            pub fn process_with(
                &self,
                mut input: &[$input],
                options: DeviceOptions,
            ) -> Result<RealRun<$output>, FftError> {
                let done = self.process_from(&mut input, options)?;
                Ok(done.read().map_err(JobError::from)?)
            }

            /// Transforms numbers from a source that makes or reads them as they are put into system memory;
            /// the output stays there.
            ///
            /// # Errors
            /// See `process_with`, and those of the source.
            pub fn process_from(
                &self,
                input: &mut dyn ValueSource<$input>,
                options: DeviceOptions,
            ) -> Result<KernelRun<Buffer<$output>>, FftError> {
                let (batch, _) = self.count_batch(count(input))?;
                let (job, y) = self.way.$job(input, batch, options)?;
                Ok(job.run(self.figures(batch), |_| Ok(y))?)
            }

            /// Transforms whole rows on a device with default options.
            ///
            /// # Errors
            /// See `process_with`.
            pub fn process(&self, input: &[$input]) -> Result<RealRun<$output>, FftError> {
                self.process_with(input, DeviceOptions::default())
            }
        }
    };
}

real_transform!(
    /// Transforms N real numbers to the N/2 + 1 numbers of their spectrum that are not conjugates of others,
    /// with exp(-2 pi i jk/N), not scaled.
    RealToComplex,
    forward,
    false,
    f32,
    Complex32,
    |n| n,
    |n| n / 2 + 1
);
real_transform!(
    /// Transforms the N/2 + 1 numbers of a half spectrum to N real numbers, with exp(+2 pi i jk/N), not
    /// scaled: the result is N times the input of [`RealToComplex`]. The imaginary parts of the first number
    /// and, for even N, of the last count as 0.
    ComplexToReal,
    inverse,
    true,
    Complex32,
    f32,
    |n| n / 2 + 1,
    |n| n
);

impl RealToComplex {
    /// Adds the transforms of whole rows to a job.
    ///
    /// # Errors
    /// See [`RealToComplex::process_with`].
    pub(crate) fn append(
        &self,
        job: &mut Job,
        input: KernelInput<'_, f32>,
    ) -> Result<Buffer<Complex32>, FftError> {
        let (batch, _) = self.count_batch(input.len())?;
        self.way.append_forward(job, input, batch)
    }
}
