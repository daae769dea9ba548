//! The signal processing set in the registry of kernels.

use super::{Beamformer, Map, MapOp, Reduction, ReductionOp, SmallProducts, Transposition, Window};
use crate::random::Random;
use crate::registry::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::Machine;
use num_complex::Complex32;
use std::sync::Arc;

const fn parameter(name: &'static str, default: u64, help: &'static str) -> Parameter {
    Parameter {
        name,
        default,
        help,
    }
}

/// `rows` of `n` as a length, or an error where that is no number of this machine.
fn product(name: &'static str, factors: &[usize]) -> Result<usize, KernelError> {
    let all = factors.iter().try_fold(1usize, |p, &f| p.checked_mul(f));
    let all = all.filter(|&p| p < usize::MAX / 64);
    all.ok_or_else(|| KernelError::of(name, "the arrays are larger than any memory"))
}

fn floats(random: &mut Random, len: usize) -> Vec<f32> {
    (0..len).map(|_| random.uniform()).collect()
}

fn complex(random: &mut Random, len: usize) -> Vec<Complex32> {
    (0..len).map(|_| random.complex()).collect()
}

/// Element-wise operations: every one is a kernel of its own.
#[derive(Clone, Copy, Debug)]
pub struct MapKernel(&'static str, &'static str);

impl MapKernel {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self("scale", "a x of floats"),
        Self("axpy", "a x + y of floats"),
        Self("add", "x + y of floats"),
        Self("subtract", "x - y of floats"),
        Self("multiply", "x y of floats"),
        Self("complex-multiply", "x y of complex numbers"),
        Self("window", "rows of 1024 floats times a window"),
        Self("power", "squared magnitude of complex numbers"),
        Self("magnitude", "magnitude of complex numbers"),
        Self("phase", "argument of complex numbers in radians"),
        Self(
            "decibels",
            "10 log10 of the squared magnitude of complex numbers",
        ),
    ];

    fn op(self) -> MapOp {
        match self.0 {
            "scale" => MapOp::Scale(1.5),
            "axpy" => MapOp::Axpy(1.5),
            "add" => MapOp::Add,
            "subtract" => MapOp::Subtract,
            "multiply" => MapOp::Multiply,
            "complex-multiply" => MapOp::ComplexMultiply,
            "window" => MapOp::Window(Window::Hann.coefficients(1024)),
            "power" => MapOp::Power,
            "magnitude" => MapOp::Magnitude,
            "phase" => MapOp::Phase,
            _ => MapOp::Decibels,
        }
    }
}

impl Kernel for MapKernel {
    fn name(&self) -> &'static str {
        self.0
    }

    fn summary(&self) -> &'static str {
        self.1
    }

    fn sources(&self) -> &'static [&'static str] {
        &[]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const { &[parameter("n", 1 << 20, "floats of each input")] }
    }

    fn sizes(&self) -> Vec<Size> {
        vec![Size::new(&[("n", 1 << 18)])]
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let wrong = |e| KernelError::of(self.0, e);
        let n = product(self.0, &[size.positive("n")?])?;
        let map = Map::new(self.op(), n, machine.clone()).map_err(wrong)?;
        map.check().map_err(wrong)?;
        let mut random = Random::new(1);
        let inputs: Vec<_> = (0..self.op().inputs())
            .map(|_| floats(&mut random, n))
            .collect();
        let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
        Ok(Prepared {
            job: map.job(&inputs, options).map_err(wrong)?.0,
            least: map.least(),
            operations: map.operations(),
        })
    }
}

/// Reductions of rows.
#[derive(Clone, Copy, Debug)]
pub struct ReductionKernel(ReductionOp, &'static str);

impl ReductionKernel {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self(ReductionOp::Sum, "sums of rows of floats"),
        Self(ReductionOp::Dot, "dot products of rows of floats"),
        Self(
            ReductionOp::ComplexDot,
            "sums of x conj(y) of rows of complex numbers",
        ),
        Self(ReductionOp::Norm, "Euclidean norms of rows of floats"),
        Self(
            ReductionOp::Max,
            "largest element of rows of floats, and its place",
        ),
    ];
}

impl Kernel for ReductionKernel {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn summary(&self) -> &'static str {
        self.1
    }

    fn sources(&self) -> &'static [&'static str] {
        &[]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                parameter("n", 1024, "floats of a row"),
                parameter("rows", 1024, "rows"),
            ]
        }
    }

    fn sizes(&self) -> Vec<Size> {
        vec![Size::new(&[("n", 1024), ("rows", 256)])]
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let wrong = |e| KernelError::of(self.name(), e);
        let (n, rows) = (size.positive("n")?, size.positive("rows")?);
        let reduction = Reduction::new(self.0, n, machine.clone()).map_err(wrong)?;
        let len = product(self.name(), &[n, rows])?;
        reduction.check(rows).map_err(wrong)?;
        let mut random = Random::new(1);
        let inputs: Vec<_> = (0..self.0.inputs())
            .map(|_| floats(&mut random, len))
            .collect();
        let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
        Ok(Prepared {
            job: reduction.job(&inputs, options).map_err(wrong)?.0,
            least: reduction.least(rows),
            operations: reduction.operations(rows),
        })
    }
}

/// A complex matrix times snapshots.
#[derive(Clone, Copy, Debug)]
pub struct BeamformerKernel;

impl Kernel for BeamformerKernel {
    fn name(&self) -> &'static str {
        "beamformer"
    }

    fn summary(&self) -> &'static str {
        "a complex matrix times many vectors"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                parameter("elements", 64, "complex numbers of a snapshot"),
                parameter("beams", 16, "complex numbers of its result"),
                parameter("snapshots", 4096, "vectors"),
            ]
        }
    }

    fn sizes(&self) -> Vec<Size> {
        let sizes = [(64, 16, 1024), (128, 32, 256)];
        let size = |(e, b, t)| Size::new(&[("elements", e), ("beams", b), ("snapshots", t)]);
        sizes.into_iter().map(size).collect()
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let wrong = |e| KernelError::of(self.name(), e);
        let (elements, beams) = (size.positive("elements")?, size.positive("beams")?);
        let snapshots = size.positive("snapshots")?;
        // What local memory cannot hold is refused before it is made.
        let weights = product(self.name(), &[elements, beams])?;
        if weights as u64 > machine.cp2.dmem.0 {
            return Err(KernelError::of(
                self.name(),
                "the matrix does not fit local memory",
            ));
        }
        let mut random = Random::new(1);
        let weights = complex(&mut random, weights);
        let plan = Beamformer::new(&weights, elements, machine.clone()).map_err(wrong)?;
        let len = product(self.name(), &[elements, snapshots])?;
        plan.check(snapshots).map_err(wrong)?;
        let x = complex(&mut random, len);
        Ok(Prepared {
            job: plan.job(&x, options).map_err(wrong)?.0,
            least: plan.least(snapshots),
            operations: plan.operations(snapshots),
        })
    }
}

/// Products of small matrices.
#[derive(Clone, Copy, Debug)]
pub struct ProductKernel;

impl Kernel for ProductKernel {
    fn name(&self) -> &'static str {
        "small-products"
    }

    fn summary(&self) -> &'static str {
        "products of many pairs of small complex matrices, m x k by k x n"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                parameter("m", 4, "rows of the first factor"),
                parameter("k", 4, "its columns"),
                parameter("n", 4, "columns of the second factor"),
                parameter("count", 4096, "products"),
            ]
        }
    }

    fn sizes(&self) -> Vec<Size> {
        let size = |s, count| Size::new(&[("m", s), ("k", s), ("n", s), ("count", count)]);
        vec![size(2, 16384), size(4, 4096)]
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let wrong = |e| KernelError::of(self.name(), e);
        let [m, k, n] = ["m", "k", "n"].map(|side| size.positive(side));
        let (m, k, n) = (m?, k?, n?);
        let count = size.positive("count")?;
        let plan = SmallProducts::new(m, k, n, machine.clone()).map_err(wrong)?;
        let (a, b) = (
            product(self.name(), &[m, k, count])?,
            product(self.name(), &[k, n, count])?,
        );
        plan.check(count).map_err(wrong)?;
        let mut random = Random::new(1);
        let (a, b) = (complex(&mut random, a), complex(&mut random, b));
        Ok(Prepared {
            job: plan.job(&a, &b, options).map_err(wrong)?.0,
            least: plan.least(count),
            operations: plan.operations(count),
        })
    }
}

/// The transposition of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct TransposeKernel;

impl Kernel for TransposeKernel {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn summary(&self) -> &'static str {
        "the transpose of a complex matrix"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                parameter("rows", 1024, "rows"),
                parameter("columns", 1024, "columns"),
            ]
        }
    }

    fn sizes(&self) -> Vec<Size> {
        vec![Size::new(&[("rows", 4096), ("columns", 128)])]
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let wrong = |e| KernelError::of(self.name(), e);
        let (rows, columns) = (size.positive("rows")?, size.positive("columns")?);
        let len = product(self.name(), &[rows, columns])?;
        let plan = Transposition::new(rows, columns, machine.clone()).map_err(wrong)?;
        plan.check().map_err(wrong)?;
        let x = complex(&mut Random::new(1), len);
        Ok(Prepared {
            job: plan.job(&x, options).map_err(wrong)?.0,
            least: plan.least(),
            operations: plan.operations(),
        })
    }
}
