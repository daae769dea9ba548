//! Products, vector passes and scalars of iterative methods.

use super::vector_passes::{PlacedVectors, VectorKernel, VectorPasses};
use super::{PackedFormat, PackedMatrix, Packing, PackingWork, PlacedProduct, SparseError};
use crate::job::{Job, JobError};
use crate::sections::{choose_sections, describe_idle};
use cp2_host::{HostError, HostStep, StepScalar};
use cp2_machine::Machine;
use cp2_problems::sparse::SparseMatrix;
use std::sync::Arc;

/// Kind of an operation of an iterative method; marks and steps of its job are named by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// A sparse matrix times a vector.
    Product,
    /// A pass over vectors.
    Vectors,
    /// A step of the control CPU.
    Scalars,
}

impl Operator {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Product, Self::Vectors, Self::Scalars];

    /// Returns the name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Product => "product",
            Self::Vectors => "vectors",
            Self::Scalars => "scalars",
        }
    }
}

/// Returns a quotient, or 0 if the divisor is 0: the method has nothing left to do then.
pub(crate) fn quotient(step: &mut HostStep, of: StepScalar, by: StepScalar) -> StepScalar {
    let (none, quotient) = (step.constant(0.0), step.divide(of, by));
    step.select(by, quotient, none)
}

/// Plan of an iterative method: a packed matrix, kernels of vectors, and the sections for which both are
/// made.
#[derive(Debug)]
pub(crate) struct IterationPlan {
    /// Machine with the sections that take part.
    pub(crate) used: Arc<Machine>,
    pub(crate) product: PackedMatrix,
    pub(crate) vectors: VectorPasses,
    /// Operations that it took to pack the matrix, in all formats and for all numbers of sections that were
    /// tried.
    packed_by: u64,
}

impl IterationPlan {
    /// Packs a matrix, in a given format or in the fastest one, for iterations of a product and a pass by
    /// each of `kernels`.
    ///
    /// # Errors
    /// The machine has too little of something for a product or for a pass over vectors.
    pub(crate) fn new(
        matrix: &SparseMatrix,
        kernels: &[VectorKernel],
        machine: &Arc<Machine>,
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        let work = PackingWork::default();
        let plan = |used: &Arc<Machine>| -> Result<Self, SparseError> {
            Ok(Self {
                product: PackedMatrix::new(matrix, (used, &work), format)?,
                vectors: VectorPasses::new((matrix.rows(), matrix.precision()), kernels, used)?,
                used: used.clone(),
                packed_by: 0,
            })
        };
        let price = |plan: &Self| {
            let vectors = plan.vectors.price(kernels, &plan.used)?;
            Some(plan.product.expected().0 + vectors)
        };
        let mut plan = choose_sections(machine, plan, price)?;
        plan.packed_by = work.operations();
        Ok(plan)
    }

    /// Returns the cost of packing the matrix on a machine, and of products without it.
    pub(crate) fn packing(&self, matrix: &SparseMatrix, machine: &Machine) -> Packing {
        Packing::new(matrix, [self.product.bytes(), self.packed_by], machine)
    }

    /// Says how the matrix is packed, and which sections of a machine are left idle.
    pub(crate) fn recipe(&self, machine: &Machine) -> String {
        super::product::recipe(&[&self.product], describe_idle(machine, &self.used))
    }
}

/// Operators of a job: the packed matrix, and the kernels of vectors.
#[derive(Clone, Debug)]
pub(crate) struct Operators<'a> {
    pub(crate) product: PlacedProduct,
    pub(crate) vectors: PlacedVectors<'a>,
}

impl Operators<'_> {
    /// Adds a product, `to = A from`, of vectors at these addresses.
    pub(crate) fn product(&self, job: &mut Job, from: u64, to: u64) {
        self.product.pass(job, from, to);
        job.mark(Operator::Product.name());
    }

    /// Adds a pass over vectors at these addresses.
    ///
    /// # Errors
    /// It does not fit the machine.
    pub(crate) fn pass(
        &self,
        job: &mut Job,
        kernel: VectorKernel,
        reads: &[u64],
        writes: &[u64],
    ) -> Result<(), JobError> {
        self.vectors.pass(job, kernel, reads, writes)?;
        job.mark(Operator::Vectors.name());
        Ok(())
    }

    /// Adds a step of the control CPU that computes with the sums of the pass before it.
    ///
    /// # Errors
    /// Those of `compute`.
    pub(crate) fn scalars(
        &self,
        job: &mut Job,
        kernel: VectorKernel,
        compute: impl FnOnce(&mut HostStep, [StepScalar; 3]) -> Result<(), HostError>,
    ) -> Result<(), JobError> {
        let name = Operator::Scalars.name();
        self.vectors.step(job, name, kernel, compute)?;
        job.mark(name);
        Ok(())
    }

    /// Makes a step leave scalars for the following kernels.
    ///
    /// # Errors
    /// More than two of them.
    pub(crate) fn fill(
        &self,
        step: &mut HostStep,
        scalars: &[StepScalar],
    ) -> Result<(), HostError> {
        self.vectors.fill(step, scalars)
    }

    /// Adds a step that leaves the scalar 1, with which [`VectorKernel::SCALED`] copies a vector.
    ///
    /// # Errors
    /// The step has no room for it.
    pub(crate) fn fill_one(&self, job: &mut Job) -> Result<(), HostError> {
        let mut step = HostStep::new();
        let one = step.constant(1.0);
        self.fill(&mut step, &[one])?;
        self.add_host_step(job, step);
        Ok(())
    }

    /// Adds a step that computes without the sums of a pass.
    pub(crate) fn add_host_step(&self, job: &mut Job, step: HostStep) {
        let name = Operator::Scalars.name();
        job.host_step(name, step);
        job.mark(name);
    }
}
