//! The planned filter of a user: taps, channels, modes and rates.

use super::ConvolutionMode;
use super::OutputRate;
use super::block_filter::{BlockFilter, FilterSample};
use super::candidates::ConvChoice;
use super::channel_arrays::ChannelArrays;
use super::channel_layout::ChannelLayout;
use super::error::ConvError;
use super::request::{AllowedMethods, FilterMethod, FilterRequest};
use super::search_order::search_filters;
use crate::job::{self, JobError, KernelRun, count};
use cp2_asm::Program;
use cp2_host::{Buffer, DeviceOptions, ValueSource};
use cp2_machine::{Class, Machine};
use cp2_problems::ProblemError;
use cp2_reference::Figures;
use num_complex::Complex32;
use std::ops::Range;
use std::sync::Arc;

/// Outputs of a run, channel after channel, with its report.
pub type ConvRun<T> = KernelRun<Vec<T>>;

/// A filter with taps for channels of one length. It is planned once and used for any number of channels.
///
/// ```
/// use cp2_kernels::conv::{Convolver, ConvolutionMode};
/// use cp2_machine::Machine;
/// use num_complex::Complex32;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let taps = [1.0, 2.0, 3.0].map(Complex32::from);
/// // Two channels of four samples.
/// let x = [1.0f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0];
/// let filter = Convolver::new::<f32>(&vm7.into(), &taps, 2, 4, ConvolutionMode::Full)?;
/// let y = filter.process(&x)?.output.unwrap();
/// let rounded: Vec<f32> = y.iter().map(|y| y.round()).collect();
/// assert_eq!(rounded, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 4.0, 6.0]);
/// # Ok::<(), cp2_kernels::conv::ConvError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Convolver {
    taps: Vec<Complex32>,
    samples: usize,
    mode: ConvolutionMode,
    rate: OutputRate,
    filter: BlockFilter,
    choice: ConvChoice,
}

impl Convolver {
    /// Plans a filter on `machine` for channels of `samples` numbers, with the
    /// kernel that is expected to be fastest for `channels` of them.
    ///
    /// # Errors
    /// No taps, or more than fit; nothing to filter; complex taps for real
    /// numbers; no valid output.
    pub fn new<T: FilterSample>(
        machine: &Arc<Machine>,
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        mode: ConvolutionMode,
    ) -> Result<Self, ConvError> {
        let what = (mode, OutputRate::SAME);
        Self::with_methods::<T>(
            machine,
            (taps, channels, samples),
            what,
            AllowedMethods::All,
        )
    }

    /// Plans the filter with every kernel that can compute it, the one expected to be fastest first, for
    /// comparisons.
    ///
    /// # Errors
    /// See [`Convolver::new`].
    pub fn plan_all<T: FilterSample>(
        machine: &Arc<Machine>,
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        mode: ConvolutionMode,
    ) -> Result<Vec<Self>, ConvError> {
        let what = ((mode, OutputRate::SAME), AllowedMethods::All);
        let (first, others) = Self::plans::<T>(machine, (taps, channels, samples), what)?;
        let others: Vec<Self> = others
            .into_iter()
            .map(|filter| Self {
                filter,
                ..first.clone()
            })
            .collect();
        Ok([first].into_iter().chain(others).collect())
    }

    /// Plans a decimating or interpolating FIR filter that computes all outputs.
    ///
    /// # Errors
    /// See [`Convolver::new`]; a rate of 0.
    pub fn resampler<T: FilterSample>(
        machine: &Arc<Machine>,
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        rate: OutputRate,
    ) -> Result<Self, ConvError> {
        let what = (ConvolutionMode::Full, rate);
        Self::with_methods::<T>(
            machine,
            (taps, channels, samples),
            what,
            AllowedMethods::All,
        )
    }

    /// Plans a filter by one of the `ways` given. At a rate other than that of the samples all outputs are
    /// wanted, whatever the mode.
    ///
    /// # Errors
    /// See [`Convolver::new`] and [`Convolver::resampler`]; none of these ways fits the machine.
    pub fn with_methods<T: FilterSample>(
        machine: &Arc<Machine>,
        (taps, channels, samples): (&[Complex32], usize, usize),
        what: (ConvolutionMode, OutputRate),
        ways: AllowedMethods,
    ) -> Result<Self, ConvError> {
        Ok(Self::plans::<T>(machine, (taps, channels, samples), (what, ways))?.0)
    }

    /// Returns the plan with the fastest kernel, and other kernels for it.
    fn plans<T: FilterSample>(
        machine: &Arc<Machine>,
        (taps, channels, samples): (&[Complex32], usize, usize),
        ((mode, rate), ways): ((ConvolutionMode, OutputRate), AllowedMethods),
    ) -> Result<(Self, Vec<BlockFilter>), ConvError> {
        let wanted = FilterRequest::new(taps, (channels, samples), (mode, rate))?;
        if T::REAL && taps.iter().any(|h| h.im != 0.0) {
            return Err(ProblemError::ComplexTaps.into());
        }
        wanted.extent::<T>().check(machine)?;
        let (found, choice) = search_filters::<T>(wanted, ways, machine)?;
        let first = Self {
            taps: taps.to_vec(),
            samples,
            mode,
            rate,
            filter: found.first,
            choice,
        };
        Ok((first, found.others))
    }

    /// Returns the kernels considered, the one taken first.
    #[must_use]
    pub fn choice(&self) -> &ConvChoice {
        &self.choice
    }

    /// Returns the name of the kernel taken.
    #[must_use]
    pub fn kernel(&self) -> &str {
        &self.filter.title
    }

    /// Returns the method of the kernel: direct or overlap-save.
    #[must_use]
    pub fn method(&self) -> FilterMethod {
        match self.filter.mixes {
            Some(_) => FilterMethod::OverlapSave,
            None => FilterMethod::Direct,
        }
    }

    /// Returns whether a NaN or an infinity in a sample reaches exactly the outputs whose definition it is
    /// in. This holds for direct filters whose products are those of the definition. A tap that is not finite
    /// is multiplied with the zeros before and behind every channel too.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.filter.exact
    }

    /// Returns the taps.
    #[must_use]
    pub fn taps(&self) -> &[Complex32] {
        &self.taps
    }

    /// Returns the assembled page kernel with its data.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.filter.program
    }

    /// Returns the machine that the filter is planned for.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        &self.filter.machine
    }

    /// Returns the number of outputs of a channel.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.range().len()
    }

    fn range(&self) -> Range<usize> {
        self.make_request(1).outputs()
    }

    fn make_request(&self, channels: usize) -> FilterRequest<'_> {
        FilterRequest {
            taps: &self.taps,
            channels,
            samples: self.samples,
            mode: self.mode,
            rate: self.rate,
        }
    }

    /// Returns the bound of any program and the time of the best known one for `channels` channels of this
    /// type.
    #[must_use]
    pub fn figures<T: FilterSample>(&self, channels: usize) -> Figures {
        let outputs = self.range();
        let rate = match (self.rate.decimate(), self.rate.interpolate()) {
            (1, 1) => cp2_reference::Rate::Same {
                from: outputs.start,
                count: outputs.len(),
            },
            (every, 1) => cp2_reference::Rate::Decimate {
                every,
                count: outputs.len(),
            },
            (_, i) => cp2_reference::Rate::Interpolate(i),
        };
        let filter = cp2_reference::Filter {
            taps: self.taps.len(),
            real_taps: self.taps.iter().all(|h| h.im == 0.0),
            samples: self.samples,
            channels,
            real: T::REAL,
            rate,
        };
        filter.figures(self.machine())
    }

    /// Filters the channels of `x`, which lie one behind the other.
    ///
    /// # Errors
    /// An input of the wrong shape or too large for the machine. A run that
    /// does not finish is no error: it has no output and a report that says why.
    pub fn process<T: FilterSample>(&self, x: &[T]) -> Result<ConvRun<T>, ConvError> {
        self.process_with(x, DeviceOptions::default())
    }

    /// Filters the channels of `x` on a device with options.
    ///
    /// # Errors
    /// See [`Convolver::process`].
    pub fn process_with<T: FilterSample>(
        &self,
        mut x: &[T],
        options: DeviceOptions,
    ) -> Result<ConvRun<T>, ConvError> {
        let done = self.process_from(&mut x, options)?;
        Ok(done.read().map_err(JobError::from)?)
    }

    /// Filters channels whose samples are made or read while they are put into system memory. The outputs
    /// stay there.
    ///
    /// # Errors
    /// See [`Convolver::process`], and those of the source.
    pub fn process_from<T: FilterSample>(
        &self,
        x: &mut dyn ValueSource<T>,
        options: DeviceOptions,
    ) -> Result<KernelRun<Buffer<T>>, ConvError> {
        let channels = self.layout::<T>(count(x))?.channels;
        let mut job = job::Job::new(self.machine().clone(), options);
        let shape = [channels, self.samples].map(|n| n as u64);
        let x = job.input_of("x", x, &shape)?;
        let y = self.append_channels(&mut job, x.into(), 0..self.outputs())?;
        let figures = self.figures::<T>(channels);
        Ok(job.run(figures, |_| Ok(y))?)
    }

    /// Returns the job that filters `x`, not yet run, and the array of its outputs.
    ///
    /// # Errors
    /// See [`Convolver::process`].
    pub fn job<T: FilterSample>(
        &self,
        x: &[T],
        options: DeviceOptions,
    ) -> Result<(job::Job, Buffer<T>), ConvError> {
        let mut job = job::Job::new(self.machine().clone(), options);
        let y = self.append_channels(&mut job, x.into(), 0..self.outputs())?;
        Ok((job, y))
    }

    /// Adds the filter to a job and returns the array of the channels' `outputs`. The channels `x` are used
    /// as they lie.
    ///
    /// # Errors
    /// See [`Convolver::process`]; outputs that there are not.
    pub fn append_channels<T: FilterSample>(
        &self,
        job: &mut job::Job,
        x: job::KernelInput<'_, T>,
        outputs: Range<usize>,
    ) -> Result<Buffer<T>, ConvError> {
        let layout = self.layout::<T>(x.len())?;
        let all = self.range();
        let Range { start, end } = outputs;
        if start >= end || end > all.len() {
            let outputs = all.len();
            return Err(ConvError::Outputs {
                start,
                end,
                outputs,
            });
        }
        let wanted = all.start + start..all.start + end;
        Ok(self.filter.channels(job, x, layout, wanted)?)
    }

    /// Returns the positions of complex channels in the arrays of [`Convolver::append`].
    #[must_use]
    pub fn places(&self, channels: usize) -> ChannelArrays {
        let layout = self.filter.layout::<Complex32>(channels, self.samples);
        let (filter, range) = (&self.filter, self.range());
        ChannelArrays {
            input: filter.input_len(layout.total),
            input_start: filter.lead,
            input_stride: layout.blocks * filter.hop,
            output: layout.total * filter.out,
            output_start: range.start - filter.first,
            output_stride: layout.blocks * filter.out,
            output_step: filter.keep,
        }
    }

    /// Adds the filter to a job that has other passes too. Numbers of `x` outside the channels must be zero.
    ///
    /// # Errors
    /// Arrays shorter than [`Convolver::places`] says, or a refusal of the device.
    pub fn append(
        &self,
        job: &mut job::Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        channels: usize,
    ) -> Result<(), ConvError> {
        let places = self.places(channels);
        for (array, needed) in [(x, places.input), (y, places.output)] {
            let found = usize::try_from(array.bytes()).unwrap_or(0) / size_of::<Complex32>();
            if channels == 0 || found < needed {
                return Err(ConvError::ShortArray { needed, found });
            }
        }
        let layout = self.filter.layout::<Complex32>(channels, self.samples);
        Ok(self.filter.append(job, x, y, layout.total)?)
    }

    /// Checks that `found` numbers are whole channels of this filter and fit the machine's memory.
    ///
    /// # Errors
    /// See [`Convolver::process`].
    pub fn fits<T: FilterSample>(&self, found: usize) -> Result<(), ConvError> {
        self.layout::<T>(found).map(|_| ())
    }

    /// Returns the arithmetic of the kernel for `channels` channels, pass by pass: class, and number of
    /// operations of one section, by formula.
    #[must_use]
    pub fn operations<T: FilterSample>(&self, channels: usize) -> Vec<Vec<(Class, u64)>> {
        let blocks = self.filter.layout::<T>(channels, self.samples).total;
        self.filter.operations(blocks)
    }

    fn layout<T: FilterSample>(&self, found: usize) -> Result<ChannelLayout, ConvError> {
        if T::REAL && self.taps.iter().any(|h| h.im != 0.0) {
            return Err(ProblemError::ComplexTaps.into());
        }
        let samples = self.samples;
        let channels = found / samples;
        if found == 0 {
            return Err(ProblemError::Empty.into());
        }
        if !found.is_multiple_of(samples) {
            return Err(ConvError::Ragged { samples, found });
        }
        let extent = self.make_request(channels).extent::<T>();
        self.filter.check_room::<T>(&extent, self.machine())?;
        Ok(self.filter.layout::<T>(channels, samples))
    }
}
