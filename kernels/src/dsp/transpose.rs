//! Transposes of complex matrices: runs of rows in, runs of columns out.
//!
//! A block is a band of rows times a few columns, or several small matrices. The load brings runs of its
//! rows; CP2 moves every number from its row to its column; the store writes a run for each column. There is
//! no arithmetic: the bound is the DMA's.

mod page_kernels;
mod partition;

use super::error::DspError;
use super::plan::{KernelOperand, OutputArray, RowGroups, VectorPlan};
use crate::job::{Job, KernelInput, KernelRun};
use cp2_dma::Level;
use cp2_host::{BlockPiece, Buffer, DeviceOptions, Paging, Stream};
use cp2_machine::{Class, Machine};
use cp2_reference::Figures;
use num_complex::Complex32;
use partition::{MatrixPartition, TransposeBlock};
use std::sync::Arc;

/// Bytes of a complex number.
const COMPLEX: u64 = 8;

/// Number of numbers that no memory holds.
const MOST_NUMBERS: usize = usize::MAX >> 16;

/// A planned transposition.
pub type TransposePlan = VectorPlan<MatrixTiles>;

/// Sides of the matrices, and their division into blocks.
#[derive(Debug)]
pub struct MatrixTiles {
    /// Number of matrices.
    count: usize,
    /// Rows and columns of a matrix, without padding.
    sides: [usize; 2],
    cut: MatrixPartition,
}

impl TransposePlan {
    /// Plans the transposition of a matrix of `rows` x `columns`, stored row by row.
    ///
    /// # Errors
    /// A side is zero.
    pub fn new(rows: usize, columns: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        Self::batch(1, rows, columns, machine)
    }

    /// Plans the transposition of `count` contiguous matrices of `rows` x `columns`, stored row by row.
    ///
    /// # Errors
    /// A side or the number is zero.
    pub fn batch(
        count: usize,
        rows: usize,
        columns: usize,
        machine: Arc<Machine>,
    ) -> Result<Self, DspError> {
        let numbers = rows.checked_mul(columns).and_then(|n| n.checked_mul(count));
        if !numbers.is_some_and(|n| (1..MOST_NUMBERS).contains(&n)) {
            let found = if numbers == Some(0) {
                0
            } else {
                rows.max(columns).max(count)
            };
            return Err(DspError::Size {
                what: "a side or number of matrices",
                found,
                expected: "positive ones, and matrices that memory can hold".to_owned(),
            });
        }
        let sides = [rows, columns];
        let cut = MatrixPartition::best(count, sides, &machine);
        let kinds = cut.kinds().into_iter();
        let kernels = kinds.map(|kind| page_kernels::kernel(&kind.block, &machine));
        let kernels = kernels.collect::<Result<_, _>>()?;
        let shape = MatrixTiles { count, sides, cut };
        Ok(Self::from_kernels("transpose", shape, machine, kernels))
    }

    /// Returns figures of the bytes that any program must move.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let [rows, columns] = self.shape.sides;
        cp2_reference::Transposition::new(rows, columns, self.shape.count).figures(self.machine())
    }

    /// Transposes `matrices` on a device with default options.
    ///
    /// # Errors
    /// The matrices have another size, or do not fit the machine.
    pub fn process(&self, matrices: &[Complex32]) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        self.process_with(matrices, DeviceOptions::default())
    }

    /// Transposes `matrices` on a device with options.
    ///
    /// # Errors
    /// See [`TransposePlan::process`].
    pub fn process_with(
        &self,
        matrices: &[Complex32],
        options: DeviceOptions,
    ) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        let (job, y) = self.job(matrices, options)?;
        Ok(job.run(self.figures(), |run| run.read(y))?)
    }

    /// Puts together the job of the transposition, and returns its result's array.
    pub(super) fn job(
        &self,
        matrices: &[Complex32],
        options: DeviceOptions,
    ) -> Result<(Job, Buffer<Complex32>), DspError> {
        self.create_job(options, |job| self.append(job, matrices.into()))
    }

    /// Adds the transposition to a job and returns the array of its result.
    ///
    /// # Errors
    /// See [`TransposePlan::process`].
    pub fn append(
        &self,
        job: &mut Job,
        matrices: KernelInput<'_, Complex32>,
    ) -> Result<Buffer<Complex32>, DspError> {
        let ([rows, columns], count, cut) = (self.shape.sides, self.shape.count, &self.shape.cut);
        let one = rows.checked_mul(columns);
        if Some(matrices.len()) != one.and_then(|one| one.checked_mul(count)) {
            return Err(DspError::Length {
                what: "the matrices",
                found: matrices.len(),
                expected: format!("{count} of {rows} x {columns}"),
            });
        }
        self.check()?;
        let [filled, wide] = cut.sides;
        let groups = |rows: usize, pitch: usize| RowGroups {
            count,
            bytes: rows * pitch * COMPLEX as usize,
            pitch: cut.numbers() * COMPLEX as usize,
            room: cut.matrices * cut.numbers() * COMPLEX as usize,
        };
        let (shape, all) = ([count, rows, columns], count * rows * wide);
        let x = KernelOperand::rows("x", matrices, &shape, [columns, wide], all);
        let x = x.grouped(groups(rows, wide));
        let (shape, all) = ([count, columns, rows], count * columns * filled);
        let output =
            OutputArray::rows(&shape, [rows, filled], all).grouped(groups(columns, filled));
        // Passes whose blocks have the same size follow one another and share a kernel.
        let kinds: Vec<TransposeBlock> = cut.kinds().iter().map(|kind| kind.block).collect();
        let kernel = |pass| {
            let block = cut.steps(pass).block;
            kinds.iter().position(|kind| *kind == block).unwrap_or(0)
        };
        let kernels: Vec<usize> = (0..cut.passes()).map(kernel).collect();
        self.passes(job, (&[x], &output), &kernels, |pass, x, y| {
            self.paging(pass, x[0], y)
        })
    }

    /// Returns the paging of a pass, whose blocks are equally spaced.
    fn paging(&self, pass: usize, x: u64, y: u64) -> Paging {
        let cut = &self.shape.cut;
        let steps = cut.steps(pass);
        let TransposeBlock { band, strip, each } = steps.block;
        let block = (band * strip * each) as u64 * COMPLEX;
        let [rows, columns] = cut.sides;
        let level = |count: usize, system: usize, local: usize| Level {
            count: count as u32,
            system_stride: (system as u64 * COMPLEX) as i64,
            local_stride: (local as u64 * COMPLEX) as i64,
        };
        let stream = |name, at: u64, i: usize, side: Option<BlockPiece>| {
            let [first, next] = [steps.start[i], steps.next[i]].map(|n| n as u64 * COMPLEX);
            // Without a side to step along, a block is one run.
            let piece = side.unwrap_or_else(|| BlockPiece::new(block, Vec::new()));
            Stream::strided(name, at + first, next, block, vec![piece])
        };
        let side = |run: usize, level| BlockPiece::new(run as u64 * COMPLEX, vec![level]);
        let load = level(band, columns, strip);
        let load = (cut.strips() > 1).then(|| side(strip, load));
        let store = level(strip, rows, band);
        let store = (cut.bands() > 1).then(|| side(band, store));
        let x = stream("x", x, 0, load);
        let y = stream("y", y, 1, store);
        Paging::new(steps.blocks as u64, vec![x], vec![y])
    }

    /// Refuses matrices that do not fit system memory.
    pub(super) fn check(&self) -> Result<(), DspError> {
        let cut = &self.shape.cut;
        let [rows, columns] = cut.sides.map(|side| side as u128);
        let numbers = rows
            .saturating_mul(columns)
            .saturating_mul(cut.matrices as u128);
        self.fits(numbers.saturating_mul(2 * u128::from(COMPLEX)))
    }

    /// Returns the operations of every pass for the model: none, as there is no arithmetic.
    pub(crate) fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        vec![Vec::new(); self.shape.cut.passes()]
    }
}
