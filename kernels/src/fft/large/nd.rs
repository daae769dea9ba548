//! Transforms of two and more dimensions: a pass over memory for every axis.

use super::axis::Axis;
use super::lines::COMPLEX;
use super::split::Split;
use crate::fft::error::FftError;
use crate::fft::plan::LocalFft;
use crate::fft::program::source;
use crate::fft::recipe::{Direction, Recipe};
use crate::fft::transform::Fft;
use crate::job::{self, Job, Least};
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// A planned FFT over all axes of an array, the last axis contiguous.
///
/// The rows along the last axis are a batch of local transforms; every other
/// axis is a pass of columns, in place in system memory. Arrays of two axes of which a section
/// holds three are transformed there, one in each section, where a batch has enough of them. The
/// columns of narrow ones may be divided between the two passes.
///
/// ```
/// use cp2_kernels::fft::{Direction, Fft as _, FftNd};
/// use cp2_machine::Machine;
/// use num_complex::Complex32;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let fft = FftNd::new(&[32, 64], Direction::Forward, vm7.into())?;
/// let done = fft.process(&[Complex32::new(1.0, 0.0); 32 * 64])?;
/// assert_eq!(done.output.unwrap()[0].re, 2048.0);
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
#[derive(Debug)]
pub struct FftNd {
    shape: Vec<usize>,
    direction: Direction,
    machine: Arc<Machine>,
    rows: LocalFft,
    columns: Vec<Axis>,
    /// Arrays as wholes, where they fit.
    whole: Option<Axis>,
    /// Arrays whose columns are divided, where they are narrow.
    split: Option<Split>,
}

/// How a batch is transformed.
#[derive(Debug)]
enum Way<'a> {
    /// A pass for every axis.
    Axes,
    /// Arrays as wholes.
    Whole(&'a Axis),
    /// Columns divided between two passes.
    Split(&'a Split),
}

impl FftNd {
    /// The FFT of arrays of `shape`, at least two axes, on `machine`.
    ///
    /// # Errors
    /// An axis without a kernel (powers of two: the last from 16 to 4096, the
    /// others from 32 to 2048), or an array too narrow or too large for the machine.
    pub fn new(
        shape: &[usize],
        direction: Direction,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let refused = || FftError::Shape {
            shape: shape.to_vec(),
            machine: machine.name.clone(),
        };
        let (Some((&last, axes)), true) = (shape.split_last(), shape.len() >= 2) else {
            return Err(refused());
        };
        let numbers = shape
            .iter()
            .try_fold(COMPLEX as usize, |n, &d| n.checked_mul(d));
        if numbers.is_none_or(|bytes| bytes == 0 || isize::try_from(bytes).is_err()) {
            return Err(refused());
        }
        let rows = Recipe::new(last, direction).map_err(|_| refused())?;
        let mut columns = Vec::new();
        for (i, &length) in axes.iter().enumerate() {
            let matrices: usize = axes[..i].iter().product();
            let width: usize = shape[i + 1..].iter().product();
            let axis = Axis::new(length, (matrices as u64, width as u64), direction, &machine)?;
            columns.push(axis.ok_or_else(refused)?);
        }
        let (whole, split) = match shape {
            &[length, width] => (
                Axis::whole((length, width), direction, &machine)?,
                Split::new((length, width), direction, &machine)?,
            ),
            _ => (None, None),
        };
        Ok(Self {
            shape: shape.to_vec(),
            direction,
            whole,
            split,
            rows: LocalFft::new(rows, machine.clone())?,
            columns,
            machine,
        })
    }

    /// The shape of an array.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The fastest way for a batch, and what it should take. Fewer arrays than there are
    /// sections would leave some idle if they were taken as wholes.
    fn way(&self, batch: usize) -> Result<(Way<'_>, f64), FftError> {
        let arrays = batch as u64;
        let mut best = (Way::Axes, self.expected_by_axes(batch)?);
        if let Some(split) = &self.split {
            if let Some(cycles) = split.expect(&self.machine, arrays) {
                if cycles < best.1 {
                    best = (Way::Split(split), cycles);
                }
            }
        }
        let enough = batch >= self.machine.cp2.sections;
        if let Some(whole) = self.whole.as_ref().filter(|_| enough) {
            let cycles = whole.expect(&self.machine, arrays).cycles;
            if cycles <= best.1 {
                best = (Way::Whole(whole), cycles);
            }
        }
        Ok(best)
    }

    /// The same where no batch is refused.
    fn taken(&self, batch: usize) -> Way<'_> {
        self.way(batch).map_or(Way::Axes, |(way, _)| way)
    }

    /// What a pass for every axis should take.
    fn expected_by_axes(&self, batch: usize) -> Result<f64, FftError> {
        let rows = batch.saturating_mul(self.len() / self.rows.len());
        let mut cycles = self.rows.expected(rows)?.0 as f64;
        for axis in &self.columns {
            cycles += axis.expect(&self.machine, batch as u64).cycles;
        }
        Ok(cycles)
    }
}

impl Fft for FftNd {
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn recipe(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut text = format!("fft {}: rows by {}", shape.join(" x "), self.rows.recipe());
        for axis in self.columns.iter() {
            let lines = axis.lines();
            text += &format!(
                ", columns of {}, {} a section and page",
                lines.len(),
                lines.per_section()
            );
        }
        if let Some(split) = &self.split {
            text += &format!(
                "; or rows and eighths of columns, then columns of {}",
                split.columns()
            );
        }
        if self.whole.is_some() {
            let sections = self.machine.cp2.sections;
            text += &format!("; of many arrays {sections} at a time, one a section and page");
        }
        text
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// None: every pass has its own.
    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(None)
    }

    fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Input and output, and what lies between passes.
    fn max_batch(&self) -> usize {
        let images = self.columns.iter().chain(&self.whole).map(Axis::image);
        let images = images.sum::<u64>() + self.split.as_ref().map_or(0, Split::image);
        let free = job::room(&self.machine, self.rows.kernel()).saturating_sub(images);
        let arrays = 2 + u64::from(self.split.is_some());
        usize::try_from(free / (arrays * self.len() as u64 * COMPLEX)).unwrap_or(usize::MAX)
    }

    /// What one pass for every axis must compute and move: all butterflies, and
    /// every number in and out of DMEM once for each axis, or once for arrays as wholes.
    fn least(&self, batch: usize) -> Least {
        let numbers = batch as u128 * self.len() as u128;
        let visits = match self.taken(batch) {
            Way::Whole(_) => 1,
            Way::Axes | Way::Split(_) => self.shape.len() as u128,
        };
        let levels: u32 = self.shape.iter().map(|d| d.ilog2()).sum();
        Least {
            butterflies: numbers / 2 * u128::from(levels),
            bytes: visits * 2 * u128::from(COMPLEX) * numbers,
            ..Least::default()
        }
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let halves = (self.len() / 2 * batch) as u64;
        let of = |levels: u32| vec![(Class::Butterfly, halves * u64::from(levels))];
        let (way, levels) = (self.taken(batch), self.len().ilog2());
        if let Way::Split(split) = way {
            let second = split.columns().ilog2();
            return vec![of(levels - second), of(second)];
        }
        if let Way::Whole(_) = way {
            return vec![of(levels)];
        }
        // The last axis is the first pass.
        let last = self.shape.last().into_iter();
        let axes = last.chain(&self.shape[..self.columns.len()]);
        axes.map(|length| of(length.ilog2())).collect()
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        match self.taken(batch) {
            Way::Whole(whole) => return whole.add(job, batch as u64, [from, to]),
            Way::Split(split) => return split.add(job, batch as u64, [from, to]),
            Way::Axes => (),
        }
        let rows = batch * (self.len() / self.rows.len());
        self.rows.pass(job, rows, from, to)?;
        for axis in &self.columns {
            axis.add(job, batch as u64, [to; 2])?;
        }
        Ok(())
    }

    fn job(
        &self,
        input: &[Complex32],
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>), FftError> {
        let batch = self.batch_of(input.len())?;
        let mut job = Job::new(self.machine.clone(), options);
        let x = job.input(input)?;
        let shape: Vec<u64> = self.shape.iter().map(|&d| d as u64).collect();
        let y = job.output("y", &[&[batch as u64], shape.as_slice()].concat())?;
        self.append(&mut job, batch, x.address(), y.address())?;
        Ok((job, y))
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let (_, cycles) = self.way(batch)?;
        Ok(Cycles(cycles.ceil() as u64))
    }
}
