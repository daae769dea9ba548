//! The planned FFT of arrays of two and more dimensions.

mod bound;
mod candidates;
mod shape;

use super::axis_pass::AxisPass;
use super::complex::RECIPE_FLOOR;
use super::divided_axis_planner::DividedAxisPasses;
use super::line_batch::COMPLEX;
use super::two_axis_pass::TwoAxisPass;
use crate::fft::TransformDirection;
use crate::fft::error::{FftError, NoShape};
use crate::fft::fft_trait::Fft;
use crate::fft::power_of_two::LocalFft;
use crate::fft::power_of_two_recipe::PowerOfTwoRecipe;
use crate::fft::program::source;
use crate::job::{self, Job};
use candidates::{NdCandidate, NdChoice};
use cp2_asm::Program;
use cp2_machine::{Class, Cycles, Machine};
use cp2_reference::Figures;
use shape::possible;
use std::sync::Arc;

/// A planned FFT over all axes of an array, the last axis contiguous.
///
/// By axes, the rows along the last axis are a batch of local transforms, and every other axis is a pass of
/// columns, in place in system memory. There are other methods. Small planes of the last axis and another, of
/// which a section's DMEM holds three, are transformed there, one in each section. The columns of narrow
/// planes of the last two axes, or the rows of low and wide ones, may be divided between two passes. Two
/// consecutive axes may share a pass of columns.
///
/// ```
/// use cp2_kernels::fft::{TransformDirection, Fft as _, FftNd};
/// use cp2_machine::Machine;
/// use num_complex::Complex32;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let fft = FftNd::new(&[32, 64], TransformDirection::Forward, vm7.into())?;
/// let done = fft.process(&[Complex32::new(1.0, 0.0); 32 * 64])?;
/// assert_eq!(done.output.unwrap()[0].re, 2048.0);
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FftNd {
    shape: Vec<usize>,
    direction: TransformDirection,
    machine: Arc<Machine>,
    rows: Arc<LocalFft>,
    /// Passes along each axis but the last, where there is a kernel for the axis alone.
    axes: Vec<Option<AxisPass>>,
    /// Passes over whole planes of an axis, whose index is given, and the last, where they fit.
    whole: Vec<(usize, AxisPass)>,
    /// Passes along an axis, whose index is given, and the next one, both before the last.
    pairs: Vec<(usize, TwoAxisPass)>,
    /// Pairs of passes over the last two or three axes, one of which is divided between them.
    splits: Vec<DividedAxisPasses>,
    /// Description of the one method that is taken, where the planner has decided.
    only: Option<String>,
}

impl FftNd {
    /// Plans the FFT of arrays of `shape`, at least two axes, on `machine`.
    ///
    /// # Errors
    /// An axis without a kernel (powers of two: the last from 16 to 4096, the others from 4 to 2048, or 4096
    /// where it can be divided), an array too narrow or too large for the machine, or a machine with other
    /// granules or sections than the kernels': [`NoShape`].
    pub fn new(
        shape: &[usize],
        direction: TransformDirection,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let refused = |cause| FftError::Shape {
            shape: shape.to_vec(),
            machine: machine.name.clone(),
            cause,
        };
        possible(shape, &machine).map_err(refused)?;
        let last = shape.len() - 1;
        let width = shape[last];
        let of = |axes: &[usize]| axes.iter().product::<usize>() as u64;
        let (mut axes, mut whole, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &length) in shape[..last].iter().enumerate() {
            let outer = of(&shape[..i]);
            let around = (outer, of(&shape[i + 1..]));
            axes.push(AxisPass::new(length, around, direction, &machine)?);
            let around = (outer, of(&shape[i + 1..last]));
            let ways = AxisPass::whole_array_options((length, width), around, direction, &machine)?;
            whole.extend(ways.into_iter().map(|way| (i, way)));
            if i + 1 < last {
                let around = (outer, of(&shape[i + 2..]));
                let pair = TwoAxisPass::new([length, shape[i + 1]], around, direction, &machine)?;
                pairs.extend(pair.map(|pair| (i, pair)));
            }
        }
        let splits = DividedAxisPasses::all(shape, direction, &machine)?;
        let fft = Self {
            shape: shape.to_vec(),
            direction,
            rows: LocalFft::new(PowerOfTwoRecipe::new(width, direction)?, machine.clone())?.into(),
            axes,
            whole,
            pairs,
            splits,
            only: None,
            machine: machine.clone(),
        };
        if fft.ways().is_empty() {
            return Err(refused(NoShape::Pages {
                sections: machine.cp2.sections,
            }));
        }
        Ok(fft)
    }

    /// Returns the shape of an array.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Adds the transforms of the arrays at `from` to a job; results lie at `to`, and intermediate arrays at
    /// `between` or in new memory.
    pub(in crate::fft) fn append_with(
        &self,
        job: &mut Job,
        batch: usize,
        [from, to]: [u64; 2],
        between: Option<u64>,
    ) -> Result<(), FftError> {
        let NdChoice {
            way,
            others,
            tables,
            ..
        } = self.way(batch)?;
        if let (NdCandidate::Whole(_, whole), [next], Some(tables)) = (&way, &others[..], tables) {
            return whole.add_prefetched(next, tables, job, batch as u64, [from, to]);
        }
        match way {
            NdCandidate::Rows | NdCandidate::Pair(..) => {
                let rows = batch * (self.len() / self.rows.len());
                self.rows.pass(job, rows, from, to)?;
                if let NdCandidate::Pair(_, pair) = way {
                    pair.add(job, batch as u64, to)?;
                }
            }
            NdCandidate::Whole(_, whole) => whole.add(job, batch as u64, [from, to])?,
            NdCandidate::Split(split) => {
                split.add(job, self.parts(batch, split), [from, to], between)?
            }
        }
        for axis in others {
            axis.add(job, batch as u64, [to; 2])?;
        }
        Ok(())
    }

    /// Returns how many arrays of its own last axes `split` transforms for `batch` arrays.
    fn parts(&self, batch: usize, split: &DividedAxisPasses) -> u64 {
        let outer = &self.shape[..self.shape.len() - split.axes()];
        batch.saturating_mul(outer.iter().product()) as u64
    }
}

impl Fft for FftNd {
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn direction(&self) -> TransformDirection {
        self.direction
    }

    fn recipe(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut ways = Vec::new();
        for (way, others) in self.ways() {
            // Methods that differ only in their pieces have one description.
            let words = self.describe_method(&way, &others);
            if ways.last() != Some(&words) {
                ways.push(words);
            }
        }
        format!("fft {}: {}", shape.join(" x "), ways.join("; or "))
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Returns none: every pass has a program of its own.
    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(None)
    }

    fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Counts input, output and intermediate arrays, beside the programs.
    fn max_batch(&self) -> usize {
        let whole = self.whole.iter().map(|(_, axis)| axis);
        let images = self.axes.iter().flatten().chain(whole);
        let images = images.map(AxisPass::image).sum::<u64>();
        let images = images
            + self
                .splits
                .iter()
                .map(DividedAxisPasses::image)
                .sum::<u64>();
        let images = images + self.pairs.iter().map(|(_, pair)| pair.image()).sum::<u64>();
        let free = job::room(&self.machine, self.rows.kernel()).saturating_sub(images);
        let arrays = 2 + u64::from(!self.splits.is_empty());
        usize::try_from(free / (arrays * self.len() as u64 * COMPLEX)).unwrap_or(usize::MAX)
    }

    fn figures(&self, batch: usize) -> Figures {
        cp2_reference::FftArray::new(&self.shape, batch).figures(&self.machine)
    }

    /// Includes what the problem's bound leaves out: programs and tables, set-ups and runs of the DMA, and in
    /// each pass the first load and the last store, which a pass over a few pages cannot hide.
    fn recipe_floor(&self, batch: usize) -> Option<(f64, &'static str)> {
        let fastest = self.way(batch).ok()?;
        Some((fastest.expected.least, RECIPE_FLOOR))
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let halves = (self.len() / 2 * batch) as u64;
        let of = |levels: u32| vec![(Class::Butterfly, halves * u64::from(levels))];
        let level = |i: usize| self.shape[i].ilog2();
        let last = self.axes.len();
        let (mut passes, taken) = match self.way(batch) {
            Ok(NdChoice { way, .. }) => {
                let passes = match &way {
                    NdCandidate::Split(split) => split.operations(halves),
                    NdCandidate::Whole(i, _) => vec![of(level(*i) + level(last))],
                    NdCandidate::Rows => vec![of(level(last))],
                    NdCandidate::Pair(i, _) => vec![of(level(last)), of(level(*i) + level(i + 1))],
                };
                (passes, self.transformed_axes(&way))
            }
            Err(_) => (vec![of(level(last))], last..last),
        };
        let others = (0..last).rev().filter(|i| !taken.contains(i));
        passes.extend(others.map(level).map(of));
        passes
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        self.append_with(job, batch, [from, to], None)
    }

    fn axes(&self) -> Vec<usize> {
        self.shape.clone()
    }

    fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        let fastest = self.way(batch)?;
        Ok(Cycles(fastest.expected.cycles.ceil() as u64))
    }
}
