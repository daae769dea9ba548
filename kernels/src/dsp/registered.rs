//! The signal processing set in the registry of kernels.

use super::{
    Beamformer, DspError, Map, MapOp, Reduction, ReductionOp, SmallProducts, Transposition,
};
use crate::random::Random;
use crate::registry::{Entry, KernelError, Parameter, Prepared, Request};

/// An operation on every element.
const fn map(name: &'static str, summary: &'static str) -> Entry {
    Entry {
        name,
        summary,
        sources: &[],
        parameters: const { &[Parameter::new("n", 1 << 20, "floats of each input")] },
        sizes: &[&[1 << 18]],
        prepare: prepare_map,
    }
}

/// Lengths and numbers of rows.
const ROWS: &[&[u64]] = &[
    &[4, 65536],
    &[5, 65536],
    &[7, 32768],
    &[8, 32768],
    &[16, 16384],
    &[33, 8192],
    &[64, 4096],
    &[100, 4096],
    &[255, 1024],
    &[256, 1024],
    &[1024, 256],
    &[4096, 128],
];

/// The same of complex numbers.
const EVEN_ROWS: &[&[u64]] = &[
    &[4, 65536],
    &[6, 32768],
    &[16, 16384],
    &[34, 8192],
    &[64, 4096],
    &[100, 4096],
    &[254, 1024],
    &[256, 1024],
    &[1024, 256],
    &[4096, 128],
];

/// A reduction of rows.
const fn reduction(op: ReductionOp, summary: &'static str) -> Entry {
    Entry {
        name: op.name(),
        summary,
        sources: &[],
        parameters: const {
            &[
                Parameter::new("n", 1024, "floats of a row"),
                Parameter::new("rows", 1024, "rows"),
            ]
        },
        sizes: match op {
            // Complex numbers are two floats.
            ReductionOp::ComplexDot => EVEN_ROWS,
            _ => ROWS,
        },
        prepare: prepare_reduction,
    }
}

/// All of the set.
pub(crate) const KERNELS: [Entry; 19] = [
    map("scale", "a x of floats"),
    map("axpy", "a x + y of floats"),
    map("add", "x + y of floats"),
    map("subtract", "x - y of floats"),
    map("multiply", "x y of floats"),
    map("complex-multiply", "x y of complex numbers"),
    map("window", "rows of 1024 floats times a window"),
    map("power", "squared magnitude of complex numbers"),
    map("magnitude", "magnitude of complex numbers"),
    map("phase", "argument of complex numbers in radians"),
    map(
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
            Parameter::new("elements", 64, "complex numbers of a snapshot"),
            Parameter::new("beams", 16, "complex numbers of its result"),
            Parameter::new("snapshots", 4096, "vectors"),
        ],
        sizes: &[
            &[4, 4, 16384],
            &[8, 8, 8192],
            &[16, 1, 16384],
            &[16, 16, 4096],
            &[33, 7, 4096],
            &[32, 32, 1024],
            &[64, 16, 1024],
            &[100, 5, 2048],
            &[128, 32, 256],
        ],
        prepare: prepare_beamformer,
    },
    Entry {
        name: "small-products",
        summary: "products of many pairs of small complex matrices, m x k by k x n",
        sources: &[],
        parameters: &[
            Parameter::new("m", 4, "rows of the first factor"),
            Parameter::new("k", 4, "its columns"),
            Parameter::new("n", 4, "columns of the second factor"),
            Parameter::new("count", 4096, "products"),
        ],
        sizes: &[
            &[2, 2, 2, 16384],
            &[3, 3, 3, 8192],
            &[4, 4, 4, 4096],
            &[5, 5, 5, 2048],
            &[8, 8, 1, 4096],
            &[8, 8, 8, 512],
        ],
        prepare: prepare_products,
    },
    Entry {
        name: "transpose",
        summary: "the transposes of complex matrices",
        sources: &[],
        parameters: &[
            Parameter::new("rows", 1024, "rows"),
            Parameter::new("columns", 1024, "columns"),
            Parameter::new("count", 1, "matrices"),
        ],
        sizes: &[
            &[4, 4, 4096],
            &[5, 5, 4096],
            &[16, 16, 256],
            &[31, 33, 64],
            &[64, 64, 1],
            &[64, 64, 64],
            &[97, 97, 31],
            &[256, 256, 1],
            &[4096, 128, 1],
            &[1000, 300, 1],
            &[3, 30000, 1],
        ],
        prepare: prepare_transposition,
    },
];

impl Request<'_> {
    fn planned<T>(&self, plan: Result<T, DspError>) -> Result<T, KernelError> {
        plan.map_err(|e| self.refused(e))
    }

    /// The operation whose name the kernel has.
    fn operation<T>(
        &self,
        all: Vec<T>,
        name: impl Fn(&T) -> &'static str,
    ) -> Result<T, KernelError> {
        let found = all.into_iter().find(|op| name(op) == self.kernel);
        found.ok_or_else(|| self.refused("no operation has this name"))
    }

    /// Arrays of random floats.
    fn floats(&self, count: usize, len: usize) -> Vec<Vec<f32>> {
        let arrays = 0..count;
        arrays
            .map(|_| self.array(|random| random.uniforms(len)))
            .collect()
    }
}

fn slices(arrays: &[Vec<f32>]) -> Vec<&[f32]> {
    arrays.iter().map(Vec::as_slice).collect()
}

fn prepare_map(request: &Request<'_>) -> Result<Prepared, KernelError> {
    let op = request.operation(MapOp::all(), MapOp::name)?;
    let [n] = request.positive(["n"])?;
    let n = request.elements(&[n])?;
    let count = op.inputs();
    let map = request.planned(Map::new(op, n, request.machine.clone()))?;
    request.planned(map.check())?;
    let inputs = request.floats(count, n);
    let job = map.job(&slices(&inputs), request.options.clone());
    Ok(Prepared {
        job: request.planned(job)?.0,
        recipe: None,
        figures: map.figures(),
        operations: map.operations(),
    })
}

fn prepare_reduction(request: &Request<'_>) -> Result<Prepared, KernelError> {
    let op = request.operation(ReductionOp::all(), |op| op.name())?;
    let [n, rows] = request.positive(["n", "rows"])?;
    let plan = request.planned(Reduction::of_rows(op, n, rows, request.machine.clone()))?;
    let len = request.elements(&[n, rows])?;
    request.planned(plan.check(rows))?;
    let inputs = request.floats(op.inputs(), len);
    let job = plan.job(&slices(&inputs), request.options.clone());
    Ok(Prepared {
        job: request.planned(job)?.0,
        recipe: None,
        figures: plan.figures(rows),
        operations: plan.operations(rows),
    })
}

fn prepare_beamformer(request: &Request<'_>) -> Result<Prepared, KernelError> {
    let [elements, beams, snapshots] = request.positive(["elements", "beams", "snapshots"])?;
    let machine = request.machine;
    // What local memory cannot hold is refused before it is made.
    let weights = request.elements(&[elements, beams])?;
    if weights as u64 > machine.cp2.dmem.0 {
        return Err(request.refused("the matrix does not fit local memory"));
    }
    let weights = Random::new(1).complexes(weights);
    let plan = request.planned(Beamformer::new(&weights, elements, machine.clone()))?;
    let len = request.elements(&[elements, snapshots])?;
    request.planned(plan.check(snapshots))?;
    let job = plan.job(&request.complexes(len), request.options.clone());
    Ok(Prepared {
        job: request.planned(job)?.0,
        recipe: None,
        figures: plan.figures(snapshots),
        operations: plan.operations(snapshots),
    })
}

fn prepare_products(request: &Request<'_>) -> Result<Prepared, KernelError> {
    let [m, k, n, count] = request.positive(["m", "k", "n", "count"])?;
    let plan = request.planned(SmallProducts::new(m, k, n, request.machine.clone()))?;
    let (a, b) = (
        request.elements(&[m, k, count])?,
        request.elements(&[k, n, count])?,
    );
    request.planned(plan.check(count))?;
    let (a, b) = (request.complexes(a), request.complexes(b));
    let job = plan.job(&a, &b, request.options.clone());
    Ok(Prepared {
        job: request.planned(job)?.0,
        recipe: None,
        figures: plan.figures(count),
        operations: plan.operations(count),
    })
}

fn prepare_transposition(request: &Request<'_>) -> Result<Prepared, KernelError> {
    let [rows, columns, count] = request.positive(["rows", "columns", "count"])?;
    let len = request.elements(&[rows, columns, count])?;
    let machine = request.machine.clone();
    let plan = request.planned(Transposition::batch(count, rows, columns, machine))?;
    request.planned(plan.check())?;
    let x = request.complexes(len);
    Ok(Prepared {
        job: request.planned(plan.job(&x, request.options.clone()))?.0,
        recipe: None,
        figures: plan.figures(),
        operations: plan.operations(),
    })
}
