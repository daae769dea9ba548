//! A complex matrix times many vectors: beamforming.
//!
//! `y[t][b] = sum over e of w[b][e] x[t][e]`: one complex multiply-add for each element e, beam b and
//! snapshot t.

mod long;
mod short;

use super::error::DspError;
use super::plan::{KernelOperand, OutputArray, VectorPlan, padded_rows};
use super::tile::COMPLEX;
use crate::job::{Job, KernelInput, KernelRun};
use cp2_host::{Buffer, DeviceOptions, Paging, Stream};
use cp2_machine::{Class, Machine};
use cp2_reference::{Figures, MatrixTimesVectors};
use num_complex::Complex32;
use std::sync::Arc;

/// A planned product of a fixed matrix with vectors.
pub type Beamformer = VectorPlan<WeightLayout>;

/// Sides of a matrix, and the layout of its vectors.
#[derive(Debug)]
pub struct WeightLayout {
    /// Number of complex numbers of a snapshot.
    elements: usize,
    /// Number of complex numbers of a result.
    beams: usize,
    /// Number of complex numbers of a padded snapshot.
    wide: usize,
    /// Number of snapshots of a block.
    block: usize,
}

/// Returns the bytes of the weights' table, with even groups of beams, and of two pages of `tile` vectors in
/// and out.
fn memory(wide: usize, beams: usize, tile: usize) -> [u128; 2] {
    let [number, wide, beams, tile] = [COMPLEX, wide, beams, tile].map(|n| n as u128);
    [
        number * wide * (beams + beams / 4 + 1),
        2 * number * tile * (wide + beams),
    ]
}

impl Beamformer {
    /// Plans the product with a matrix of `weights`: `beams` rows of `elements`.
    ///
    /// # Errors
    /// The matrix is empty or ragged, or local memory cannot hold it together with vectors, or the machine
    /// has no schedule.
    pub fn new(
        weights: &[Complex32],
        elements: usize,
        machine: Arc<Machine>,
    ) -> Result<Self, DspError> {
        if elements == 0 || weights.is_empty() || !weights.len().is_multiple_of(elements) {
            return Err(DspError::Length {
                what: "the matrix",
                found: weights.len(),
                expected: format!("rows of {elements}, at least one"),
            });
        }
        let beams = weights.len() / elements;
        let (wide, tile) = if elements <= short::MOST {
            (elements, 2)
        } else {
            long::sides(elements, beams)
        };
        let dmem = u128::from(machine.cp2.dmem.0);
        // A smaller tile of vectors is used where local memory has no room for one that hides all latencies.
        let tile = (1..=tile / 2).rev().map(|half| 2 * half);
        let mut found = tile.map(|tile| (tile, memory(wide, beams, tile)));
        let Some((tile, [table, _])) = found.find(|(_, [table, pages])| table + pages <= dmem)
        else {
            // Table and pages both grow with `elements`; pages have a constant part besides.
            let each = memory(2, beams, 2).iter().sum::<u128>() - memory(0, beams, 2)[1];
            let most = 2 * (dmem.saturating_sub(memory(0, beams, 2)[1]) / each.max(1));
            return Err(DspError::Size {
                what: "the elements of a matrix",
                found: elements,
                expected: format!(
                    "at most {most} for {beams} beams: the matrix and two pages of two vectors in {dmem} bytes of local memory"
                ),
            });
        };
        let room = dmem - table;
        let (kernel, block) = if elements <= short::MOST {
            let cut = short::VectorCut::new(elements, beams, room as usize);
            (cut.build(weights, &machine)?, cut.block)
        } else {
            let padded = padded_rows(weights, elements, wide);
            (long::build(&padded, (wide, beams, tile), &machine)?, tile)
        };
        let shape = WeightLayout {
            elements,
            beams,
            wide,
            block,
        };
        Ok(Self::from_kernels(
            "beamformer",
            shape,
            machine,
            vec![kernel],
        ))
    }

    /// Returns the number of beams.
    #[must_use]
    pub fn beams(&self) -> usize {
        self.shape.beams
    }

    /// Returns the proved limit and the time of the best known program for `snapshots`.
    #[must_use]
    pub fn figures(&self, snapshots: usize) -> Figures {
        let (elements, beams) = (self.shape.elements, self.shape.beams);
        MatrixTimesVectors::new(elements, beams, snapshots).figures(self.machine())
    }

    /// Computes the beams of `snapshots` on a device with default options: rows of `elements` in, rows of
    /// `beams` out.
    ///
    /// # Errors
    /// The snapshots have another length, or do not fit the machine.
    pub fn process(&self, snapshots: &[Complex32]) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        self.process_with(snapshots, DeviceOptions::default())
    }

    /// Computes the beams of `snapshots` on a device with options.
    ///
    /// # Errors
    /// See [`Beamformer::process`].
    pub fn process_with(
        &self,
        snapshots: &[Complex32],
        options: DeviceOptions,
    ) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        let (job, y) = self.job(snapshots, options)?;
        let count = snapshots.len() / self.shape.elements;
        Ok(job.run(self.figures(count), |run| run.read(y))?)
    }

    /// Puts together the job of the product, and returns its result's array.
    pub(super) fn job(
        &self,
        snapshots: &[Complex32],
        options: DeviceOptions,
    ) -> Result<(Job, Buffer<Complex32>), DspError> {
        self.create_job(options, |job| self.append(job, snapshots.into()))
    }

    /// Adds the product to a job and returns the array of its result.
    ///
    /// # Errors
    /// See [`Beamformer::process`].
    pub fn append(
        &self,
        job: &mut Job,
        snapshots: KernelInput<'_, Complex32>,
    ) -> Result<Buffer<Complex32>, DspError> {
        let count = snapshots.len() / self.shape.elements;
        if count == 0 || !snapshots.len().is_multiple_of(self.shape.elements) {
            return Err(DspError::Length {
                what: "the snapshots",
                found: snapshots.len(),
                expected: format!("rows of {}, at least one", self.shape.elements),
            });
        }
        self.check(count)?;
        let WeightLayout {
            wide, beams, block, ..
        } = self.shape;
        let blocks = count.div_ceil(block);
        let (elements, room) = (self.shape.elements, blocks * block * wide);
        let shape = [count, elements];
        let x = KernelOperand::rows("x", snapshots, &shape, [elements, wide], room);
        let bytes = |numbers: usize| (block * numbers * COMPLEX) as u64;
        let output = OutputArray::new(&[count, beams], blocks * block * beams);
        self.passes(job, (&[x], &output), &[0], |_, x, y| {
            let x = Stream::contiguous("x", x[0], bytes(wide));
            let y = Stream::contiguous("y", y, bytes(beams));
            Paging::new(blocks as u64, vec![x], vec![y])
        })
    }

    /// Refuses arrays that do not fit system memory.
    pub(super) fn check(&self, snapshots: usize) -> Result<(), DspError> {
        let whole = snapshots as u128 + self.shape.block as u128;
        let numbers = self.shape.wide + self.shape.beams;
        self.fits(whole * (numbers * COMPLEX) as u128)
    }

    /// Returns the operations that the pass issues, for the model.
    pub(crate) fn operations(&self, snapshots: usize) -> Vec<Vec<(Class, u64)>> {
        vec![self.issued(0, snapshots.div_ceil(self.shape.block))]
    }
}
