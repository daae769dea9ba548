//! Registry entries of signal processing, and planners for the backend.

use super::reduce::ReductionResults;
use super::{
    Beamformer, DspError, ElementwisePlan, Extreme, ReductionOp, ReductionPlan, SmallProducts,
    TransposePlan,
};
use crate::backend::{Failure, Method, Task};
use crate::catalogue::KernelFolder;
use crate::registry::{Entry, SizeParameter};
use cp2_machine::{Extensions, Machine};
use cp2_problems::vector::{
    BeamProblem, MapProblem, ProductProblem, ReduceProblem, TransposeProblem,
};
use cp2_problems::{ArrayForm, DataError, Kind, NamedArrays, Problem};
use num_complex::Complex32;
use std::sync::Arc;

/// Makes the entry of an operation on every element.
const fn element_wise(name: &'static str, summary: &'static str) -> Entry {
    Entry {
        name,
        summary,
        sources: &["dsp/map.s"],
        parameters: const { &[SizeParameter::new("n", 1 << 20, "floats of each input")] },
        sizes: &["262144"],
        below: None,
        extensions: Extensions::empty(),
        problem: |name, size| Ok(Arc::new(MapProblem::from_size(name, size)?)),
        plan: map,
    }
}

/// Sizes of reductions: floats of a row, and number of rows.
const ROWS: &[&str] = &[
    "4 65536", "5 65536", "7 32768", "8 32768", "16 16384", "33 8192", "64 4096", "100 4096",
    "255 1024", "256 1024", "1024 256", "4096 128",
];

/// Sizes of reductions of complex numbers: an even number of floats of a row, and number of rows.
const EVEN_ROWS: &[&str] = &[
    "4 65536", "6 32768", "16 16384", "34 8192", "64 4096", "100 4096", "254 1024", "256 1024",
    "1024 256", "4096 128",
];

/// Makes the entry of a reduction of rows.
const fn reduction(op: ReductionOp, summary: &'static str) -> Entry {
    Entry {
        name: op.name(),
        summary,
        sources: match op {
            ReductionOp::Max => &["dsp/rows.s", "dsp/largest.s"],
            _ => &["dsp/rows.s", "dsp/reductions.s"],
        },
        parameters: const {
            &[
                SizeParameter::new("n", 1024, "floats of a row"),
                SizeParameter::new("rows", 1024, "rows"),
            ]
        },
        sizes: match op {
            // Rows of complex numbers have an even number of floats.
            ReductionOp::ComplexDot => EVEN_ROWS,
            _ => ROWS,
        },
        below: None,
        extensions: Extensions::empty(),
        problem: |name, size| Ok(Arc::new(ReduceProblem::from_size(name, size)?)),
        plan: reduce,
    }
}

/// Planners and registry entries of this folder.
pub(crate) const ENTRIES: KernelFolder = KernelFolder {
    planners: &[map, reduce, beams, products, transpose],
    entries: &KERNELS,
};

/// Registry entries of all operations.
const KERNELS: [Entry; 19] = [
    element_wise("scale", "a x of floats"),
    element_wise("axpy", "a x + y of floats"),
    element_wise("add", "x + y of floats"),
    element_wise("subtract", "x - y of floats"),
    element_wise("multiply", "x y of floats"),
    element_wise("complex-multiply", "x y of complex numbers"),
    element_wise("window", "rows of 1024 floats times a window"),
    element_wise("power", "squared magnitude of complex numbers"),
    element_wise("magnitude", "magnitude of complex numbers"),
    element_wise("phase", "argument of complex numbers in radians"),
    element_wise(
        "decibels",
        "10 log10 of the squared magnitude of complex numbers",
    ),
    reduction(ReductionOp::Sum, "sums of rows of floats"),
    reduction(ReductionOp::Dot, "dot products of rows of floats"),
    reduction(
        ReductionOp::ComplexDot,
        "sums of x conj(y) of rows of complex numbers",
    ),
    reduction(ReductionOp::Norm, "Euclidean norms of rows of floats"),
    reduction(
        ReductionOp::Max,
        "largest element of rows of floats, and its place",
    ),
    Entry {
        name: "beamformer",
        summary: "a complex matrix times many vectors",
        sources: &[],
        parameters: &[
            SizeParameter::new("elements", 64, "complex numbers of a snapshot"),
            SizeParameter::new("beams", 16, "complex numbers of its result"),
            SizeParameter::new("snapshots", 4096, "vectors"),
        ],
        sizes: &[
            "4 4 16384",
            "8 8 8192",
            "16 1 16384",
            "16 16 4096",
            "33 7 4096",
            "32 32 1024",
            "64 16 1024",
            "100 5 2048",
            "128 32 256",
        ],
        below: None,
        extensions: Extensions::empty(),
        problem: |_, size| Ok(Arc::new(BeamProblem::from_size(size)?)),
        plan: beams,
    },
    Entry {
        name: "small-products",
        summary: "products of many pairs of small complex matrices, m x k by k x n",
        sources: &[],
        parameters: &[
            SizeParameter::new("m", 4, "rows of the first factor"),
            SizeParameter::new("k", 4, "its columns"),
            SizeParameter::new("n", 4, "columns of the second factor"),
            SizeParameter::new("count", 4096, "products"),
        ],
        sizes: &[
            "2 2 2 16384",
            "3 3 3 8192",
            "4 4 4 4096",
            "5 5 5 2048",
            "8 8 1 4096",
            "8 8 8 512",
        ],
        below: None,
        extensions: Extensions::empty(),
        problem: |_, size| Ok(Arc::new(ProductProblem::from_size(size)?)),
        plan: products,
    },
    Entry {
        name: "transpose",
        summary: "the transposes of complex matrices",
        sources: &["dsp/transpose.s"],
        parameters: &[
            SizeParameter::new("rows", 1024, "rows"),
            SizeParameter::new("columns", 1024, "columns"),
            SizeParameter::new("count", 1, "matrices"),
        ],
        sizes: &[
            "4 4 4096",
            "5 5 4096",
            "16 16 256",
            "31 33 64",
            "64 64 1",
            "64 64 64",
            "97 97 31",
            "256 256 1",
            "4096 128 1",
            "1000 300 1",
            "3 30000 1",
        ],
        below: None,
        extensions: Extensions::empty(),
        problem: |_, size| Ok(Arc::new(TransposeProblem::from_size(size)?)),
        plan: transpose,
    },
];

/// Plans operations on every element.
pub(crate) fn map(machine: &Arc<Machine>, problem: &dyn Problem) -> VectorMethod {
    let problem = problem.downcast_ref::<MapProblem>()?;
    let plan = ElementwisePlan::new(problem.op().clone(), problem.len(), machine.clone());
    Some(checked(plan, ElementwisePlan::check, |plan| {
        let (len, inputs) = (problem.len(), problem.op().inputs());
        let costs = (plan.figures(), plan.operations());
        let form = output(problem);
        Method::new(machine, None, costs, move |input, options| {
            let arrays = floats(input, inputs, len)?;
            Ok(Task::new(plan.job(&arrays, options)?, form.clone()))
        })
    }))
}

/// Plans reductions of rows.
pub(crate) fn reduce(machine: &Arc<Machine>, problem: &dyn Problem) -> VectorMethod {
    let problem = problem.downcast_ref::<ReduceProblem>()?;
    let (op, rows) = (problem.op(), problem.rows());
    let plan = ReductionPlan::with_rows(op, problem.row(), rows, machine.clone());
    Some(checked(
        plan,
        |plan| plan.check(rows),
        |plan| {
            let count = problem.row() * rows;
            let costs = (plan.figures(rows), plan.operations(rows));
            Method::new(machine, None, costs, move |input, options| {
                let arrays = floats(input, op.inputs(), count)?;
                let (job, words) = plan.job(&arrays, options)?;
                let results = plan.results();
                Ok(Task::reading(job, move |run| {
                    Ok(results.data(op, &run.read(words)?))
                }))
            })
        },
    ))
}

/// Plans a matrix times vectors.
pub(crate) fn beams(machine: &Arc<Machine>, problem: &dyn Problem) -> VectorMethod {
    let problem = problem.downcast_ref::<BeamProblem>()?;
    let (weights, snapshots) = (problem.weights(), problem.snapshots());
    // A matrix that local memory cannot hold is refused before its kernel is made.
    if weights.len() as u64 > machine.cp2.dmem.0 {
        let beams = problem.beams();
        return Some(Err(Box::new(DspError::Size {
            what: "the elements of a matrix",
            found: problem.vector(),
            expected: format!("fewer for {beams} beams: the matrix does not fit local memory"),
        })));
    }
    let plan = Beamformer::new(weights, problem.vector(), machine.clone());
    Some(checked(
        plan,
        |plan| plan.check(snapshots),
        |plan| {
            let count = problem.vector() * snapshots;
            let costs = (plan.figures(snapshots), plan.operations(snapshots));
            let form = output(problem);
            Method::new(machine, None, costs, move |input, options| {
                let job = plan.job(input.get_sized("x", count)?, options)?;
                Ok(Task::new(job, form.clone()))
            })
        },
    ))
}

/// Plans products of small matrices.
pub(crate) fn products(machine: &Arc<Machine>, problem: &dyn Problem) -> VectorMethod {
    let problem = problem.downcast_ref::<ProductProblem>()?;
    let ([m, k, n], count) = (problem.sides(), problem.count());
    let plan = SmallProducts::new(m, k, n, machine.clone());
    Some(checked(
        plan,
        |plan| plan.check(count),
        |plan| {
            let costs = (plan.figures(count), plan.operations(count));
            let form = output(problem);
            Method::new(machine, None, costs, move |input, options| {
                let (a, b) = (
                    input.get_sized("a", count * m * k)?,
                    input.get_sized("b", count * k * n)?,
                );
                Ok(Task::new(plan.job(a, b, options)?, form.clone()))
            })
        },
    ))
}

/// Plans transposes.
pub(crate) fn transpose(machine: &Arc<Machine>, problem: &dyn Problem) -> VectorMethod {
    let problem = problem.downcast_ref::<TransposeProblem>()?;
    let [count, rows, columns] = problem.shape();
    let plan = TransposePlan::batch(count, rows, columns, machine.clone());
    Some(checked(plan, TransposePlan::check, |plan| {
        let costs = (plan.figures(), plan.operations());
        let form = output(problem);
        Method::new(machine, None, costs, move |input, options| {
            let x = input.get_sized("x", count * rows * columns)?;
            Ok(Task::new(plan.job(x, options)?, form.clone()))
        })
    }))
}

/// A planned problem; none if the problem is not of the planner's type.
type VectorMethod = Option<Result<Method, Failure>>;

/// Makes the method of a plan whose arrays fit system memory.
fn checked<P>(
    plan: Result<P, DspError>,
    check: impl FnOnce(&P) -> Result<(), DspError>,
    method: impl FnOnce(P) -> Method,
) -> Result<Method, Failure> {
    let plan = plan?;
    check(&plan)?;
    Ok(method(plan))
}

/// Returns name and shape of the problem's only output.
fn output(problem: &dyn Problem) -> ArrayForm {
    let form = problem.outputs().into_iter().next();
    form.unwrap_or_else(|| ArrayForm::new("y", Kind::F32, &[]))
}

/// Returns the arrays x and y of floats, or x alone.
fn floats(input: &NamedArrays, arrays: usize, len: usize) -> Result<Vec<&[f32]>, DataError> {
    let names = ["x", "y"].into_iter().take(arrays);
    names.map(|name| input.get_sized(name, len)).collect()
}

impl ReductionResults {
    /// Converts the words of results into the arrays of the problem.
    fn data(&self, op: ReductionOp, words: &[u32]) -> NamedArrays {
        let found: Vec<Extreme> = self.read_extremes(words).collect();
        let shape = [found.len()];
        let values = || found.iter().map(|found| found.value);
        match op {
            ReductionOp::ComplexDot => {
                let number = |found: &Extreme| Complex32::new(found.value, found.imaginary);
                NamedArrays::from_array("value", &shape, found.iter().map(number).collect())
            }
            ReductionOp::Max => {
                NamedArrays::from_array("value", &shape, values().collect::<Vec<f32>>())
                    .add_array::<u32>(
                        "place",
                        &shape,
                        found.iter().map(|found| found.place).collect(),
                    )
            }
            _ => NamedArrays::from_array("value", &shape, values().collect::<Vec<f32>>()),
        }
    }
}
