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
/// axis is a pass of columns, in place in system memory. The last two axes have other ways: small planes, of
/// which a section holds three, are transformed there, one in each section, where there are enough of them;
/// of narrow ones the columns, of low and wide ones the rows may be divided between the two passes.
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
    /// The last axis but one.
    columns: Option<Axis>,
    /// The ways to take planes of the last two axes as wholes, where they fit.
    whole: Vec<Axis>,
    /// Planes of which one axis is divided, where they are narrow, or low and wide.
    splits: Vec<Split>,
    /// The axes before these.
    outer: Vec<Axis>,
}

/// How the last two axes are transformed.
#[derive(Debug)]
enum Way<'a> {
    /// A pass for each.
    Axes(&'a Axis),
    /// Planes as wholes.
    Whole(&'a Axis),
    /// One axis divided between two passes.
    Split(&'a Split),
}

impl FftNd {
    /// The FFT of arrays of `shape`, at least two axes, on `machine`.
    ///
    /// # Errors
    /// An axis without a kernel (powers of two: the last from 16 to 4096, the others from 4 to 2048), or an array too narrow or too large for the machine.
    pub fn new(
        shape: &[usize],
        direction: Direction,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let refused = || FftError::Shape {
            shape: shape.to_vec(),
            machine: machine.name.clone(),
        };
        let [before @ .., length, width] = shape else {
            return Err(refused());
        };
        let numbers = shape
            .iter()
            .try_fold(COMPLEX as usize, |n, &d| n.checked_mul(d));
        if numbers.is_none_or(|bytes| bytes == 0 || isize::try_from(bytes).is_err()) {
            return Err(refused());
        }
        let rows = Recipe::new(*width, direction).map_err(|_| refused())?;
        let axis = |i: usize| {
            let of = |axes: &[usize]| axes.iter().product::<usize>() as u64;
            let around = (of(&shape[..i]), of(&shape[i + 1..]));
            Axis::new(shape[i], around, direction, &machine)
        };
        let mut outer = Vec::new();
        for i in 0..before.len() {
            outer.push(axis(i)?.ok_or_else(refused)?);
        }
        let columns = axis(before.len())?;
        let whole = Axis::whole((*length, *width), direction, &machine)?;
        let splits = Split::all([*length, *width], direction, &machine)?;
        if columns.is_none() && splits.is_empty() {
            return Err(refused());
        }
        Ok(Self {
            shape: shape.to_vec(),
            direction,
            rows: LocalFft::new(rows, machine.clone())?,
            columns,
            whole,
            splits,
            outer,
            machine,
        })
    }

    /// The shape of an array.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Planes of the last two axes in so many arrays.
    fn planes(&self, batch: usize) -> usize {
        let outer = &self.shape[..self.outer.len()];
        batch.saturating_mul(outer.iter().product())
    }

    /// The fastest way for the planes of a batch, and what it should take. Fewer planes than
    /// there are sections would leave some idle if they were taken as wholes.
    fn way(&self, batch: usize) -> Result<(Way<'_>, f64), FftError> {
        let planes = self.planes(batch);
        let mut ways = Vec::new();
        if planes >= self.machine.cp2.sections {
            for whole in &self.whole {
                let cycles = whole.expect(&self.machine, planes as u64).cycles;
                ways.push((Way::Whole(whole), cycles));
            }
        }
        if let Some(columns) = &self.columns {
            let rows = planes.saturating_mul(self.shape[self.outer.len()]);
            let cycles = columns.expect(&self.machine, batch as u64).cycles;
            let cycles = cycles + self.rows.expected(rows)?.0 as f64;
            ways.push((Way::Axes(columns), cycles));
        }
        for split in &self.splits {
            let cycles = split.expect(&self.machine, planes as u64);
            ways.extend(cycles.map(|cycles| (Way::Split(split), cycles)));
        }
        let fastest = ways.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
        fastest.ok_or_else(|| FftError::Shape {
            shape: self.shape.clone(),
            machine: self.machine.name.clone(),
        })
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
        let columns = |axis: &Axis| {
            let (length, per) = (axis.lines().len(), axis.lines().per_section());
            format!("columns of {length}, {per} a section and page")
        };
        let by_axes = |axis| format!("rows by {}, {}", self.rows.recipe(), columns(axis));
        let mut ways: Vec<String> = self.columns.iter().map(by_axes).collect();
        ways.extend(self.splits.iter().map(Split::recipe));
        if !self.whole.is_empty() {
            let sections = self.machine.cp2.sections;
            let what = match self.outer.is_empty() {
                true => "of many arrays",
                false => "planes",
            };
            ways.push(format!(
                "{what} {sections} at a time, one a section and page"
            ));
        }
        let outer = self
            .outer
            .iter()
            .map(|axis| format!(", then {}", columns(axis)));
        let outer: String = outer.collect();
        format!("fft {}: {}{outer}", shape.join(" x "), ways.join("; or "))
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
        let axes = self.columns.iter().chain(&self.whole).chain(&self.outer);
        let images = axes.map(Axis::image).sum::<u64>();
        let images = images + self.splits.iter().map(Split::image).sum::<u64>();
        let free = job::room(&self.machine, self.rows.kernel()).saturating_sub(images);
        let arrays = 2 + u64::from(!self.splits.is_empty());
        usize::try_from(free / (arrays * self.len() as u64 * COMPLEX)).unwrap_or(usize::MAX)
    }

    /// What one pass for every axis must compute and move: all butterflies, and
    /// every number in and out of DMEM once for each axis, or once for both of planes as wholes.
    fn least(&self, batch: usize) -> Least {
        let numbers = batch as u128 * self.len() as u128;
        let whole = matches!(self.way(batch), Ok((Way::Whole(_), _)));
        let visits = self.shape.len() as u128 - u128::from(whole);
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
        let (outer, plane) = self.shape.split_at(self.outer.len());
        let levels = |&length: &usize| length.ilog2();
        let mut passes = match self.way(batch) {
            Ok((Way::Split(split), _)) => split.operations(halves),
            Ok((Way::Whole(_), _)) => vec![of(plane.iter().map(levels).sum())],
            // The last axis is the first pass.
            _ => plane.iter().rev().map(levels).map(of).collect(),
        };
        passes.extend(outer.iter().map(levels).map(of));
        passes
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        let planes = self.planes(batch) as u64;
        match self.way(batch)?.0 {
            Way::Whole(whole) => whole.add(job, planes, [from, to])?,
            Way::Split(split) => split.add(job, planes, [from, to])?,
            Way::Axes(columns) => {
                let rows = batch * (self.len() / self.rows.len());
                self.rows.pass(job, rows, from, to)?;
                columns.add(job, batch as u64, [to; 2])?;
            }
        }
        for axis in &self.outer {
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
        let (_, planes) = self.way(batch)?;
        let outer = self.outer.iter();
        let outer = outer.map(|axis| axis.expect(&self.machine, batch as u64).cycles);
        Ok(Cycles((planes + outer.sum::<f64>()).ceil() as u64))
    }
}
