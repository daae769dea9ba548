//! Vectors of iterative methods: updates by factors, and inner products.

use super::UPDATE;
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, read, write};
use crate::session::Session;
use crate::vector::reductions::PartialSums;
use std::sync::Arc;

/// Threads of a workgroup.
const THREADS: usize = 256;

/// An update of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VectorUpdate {
    /// y += factor x.
    Add,
    /// y = x + factor y.
    Direct,
    /// y = factor x.
    Scale,
    /// y = x.
    Copy,
    /// y = 0.
    Clear,
}

/// Steps of updates with a factor of their own.
#[derive(Debug)]
pub(crate) struct Updater {
    device: Arc<GpuDevice>,
    count: usize,
    nothing: GpuBuffer<f32>,
}

/// An update with the memory of its factor.
#[derive(Debug)]
pub(crate) struct FactorStep {
    factor: GpuBuffer<f32>,
    pub(crate) step: Dispatch,
}

impl FactorStep {
    /// Sets the factor of the update, before it is carried out.
    pub(crate) fn set(&self, factor: f64) -> Result<&Dispatch, GpuError> {
        self.factor.write(&[factor as f32])?;
        Ok(&self.step)
    }
}

impl Updater {
    /// Returns updates of vectors of so many numbers.
    pub(crate) fn new(device: &Arc<GpuDevice>, count: usize) -> Result<Self, GpuError> {
        Ok(Self {
            device: device.clone(),
            count,
            nothing: GpuBuffer::new(device, "no diagonal", 0)?,
        })
    }

    /// Allocates a vector.
    pub(crate) fn vector(&self, what: &'static str) -> Result<GpuBuffer<f32>, GpuError> {
        GpuBuffer::new(&self.device, what, self.count)
    }

    fn dispatch(
        &self,
        operation: f64,
        [x, y]: [&GpuBuffer<f32>; 2],
        [factor, diagonal]: [&GpuBuffer<f32>; 2],
    ) -> Result<Dispatch, GpuError> {
        let constants = [("COUNT", self.count as f64), ("OPERATION", operation)];
        let arrays = [read(x), write(y), read(factor), read(diagonal)];
        self.device
            .step(&UPDATE, &constants, &arrays, self.count.div_ceil(THREADS))
    }

    /// Makes an update of y by x, which are two vectors.
    pub(crate) fn update(
        &self,
        update: VectorUpdate,
        x: &GpuBuffer<f32>,
        y: &GpuBuffer<f32>,
    ) -> Result<FactorStep, GpuError> {
        let factor = self.scalar()?;
        let step = self.update_by(update, x, y, &factor)?;
        Ok(FactorStep { factor, step })
    }

    /// Allocates a factor.
    pub(crate) fn scalar(&self) -> Result<GpuBuffer<f32>, GpuError> {
        GpuBuffer::new(&self.device, "a factor", 1)
    }

    /// Makes an update of y by x, with a factor that a step writes.
    pub(crate) fn update_by(
        &self,
        update: VectorUpdate,
        x: &GpuBuffer<f32>,
        y: &GpuBuffer<f32>,
        factor: &GpuBuffer<f32>,
    ) -> Result<Dispatch, GpuError> {
        let number = match update {
            VectorUpdate::Add => 0.0,
            VectorUpdate::Direct => 1.0,
            VectorUpdate::Scale => 2.0,
            VectorUpdate::Copy => 4.0,
            VectorUpdate::Clear => 5.0,
        };
        self.dispatch(number, [x, y], [factor, &self.nothing])
    }

    /// Makes the product with a diagonal, or a copy where there is none.
    pub(crate) fn divide(
        &self,
        diagonal: Option<&GpuBuffer<f32>>,
        x: &GpuBuffer<f32>,
        y: &GpuBuffer<f32>,
    ) -> Result<Dispatch, GpuError> {
        let nothing = &self.nothing;
        match diagonal {
            Some(diagonal) => self.dispatch(3.0, [x, y], [nothing, diagonal]),
            None => self.dispatch(4.0, [x, y], [nothing, nothing]),
        }
    }

    /// Makes the inner product of two vectors.
    pub(crate) fn dot(
        &self,
        x: &GpuBuffer<f32>,
        y: &GpuBuffer<f32>,
    ) -> Result<PartialSums, GpuError> {
        PartialSums::new(&self.device, x, y)
    }
}

/// Carries out steps, then computes inner products and reads them back together.
pub(crate) fn dots<const N: usize>(
    session: &mut Session,
    steps: &[&Dispatch],
    sums: [&PartialSums; N],
) -> Result<[f64; N], GpuError> {
    let products = sums.iter().map(|sum| sum.step());
    session.execute(steps.iter().copied().chain(products))?;
    let parts = session.read_all(&sums.map(PartialSums::parts))?;
    let mut all = [0.0; N];
    for (sum, parts) in all.iter_mut().zip(parts) {
        *sum = parts.iter().map(|part| f64::from(part.re)).sum();
    }
    Ok(all)
}
