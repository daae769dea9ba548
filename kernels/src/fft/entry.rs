//! The FFT rows of the kernel registry and the backend's methods for them.

use super::four_step::FftNd;
use super::mixed_radix::{BluesteinFft, BluesteinRecipe, LongBluestein};
use super::planner::{mixed, plan_shared};
use super::{Fft, FftError, FftPlanner, TransformDirection};
use crate::backend::{Failure, Method, Task};
use crate::catalogue::KernelFolder;
use crate::registry::{Entry, Size, SizeParameter};
use cp2_machine::{Extensions, Machine};
use cp2_problems::fft::{FftProblem, RealFftProblem};
use cp2_problems::{ArrayForm, Problem, ProblemError};
use std::sync::Arc;

const BATCH: SizeParameter = SizeParameter::new("batch", 1024, "number of transforms");
const ONE: SizeParameter = SizeParameter::new("batch", 1, "number of transforms");

/// Parameters of the real FFTs. Short transforms come in longer batches, where the first load and the last
/// store weigh less.
const REAL: &[SizeParameter] = &[
    SizeParameter::new("n", 1024, "real numbers of a transform: any"),
    BATCH,
];
const REAL_SIZES: &[&str] = &[
    "128 4096",
    "256 4096",
    "512 1024",
    "1024 1024",
    "2048 1024",
    "4096 1024",
    "8192 128",
    "16384 64",
    "65536 16",
    "262144 1",
    "1048576 1",
    "2097152 1",
];

/// Greatest length, in numbers, whose Bluestein convolution fits local memory on every machine.
const MAX_LOCAL_BLUESTEIN_LENGTH: usize = 500;

/// Planners and registry rows of the FFT folder.
pub(crate) const ENTRIES: KernelFolder = KernelFolder {
    planners: &[complex, real],
    entries: &KERNELS,
};

/// Registry rows of all FFT kernels.
const KERNELS: [Entry; 7] = [
    Entry {
        name: "fft",
        summary: "complex FFTs of one length in batches, by the recipe that the planner takes",
        sources: &[
            "fft/fft.s",
            "fft/stockham.s",
            "fft/radix8_iteration.s",
            "fft/fft4096.s",
            "fft/hooks4096.s",
        ],
        parameters: &[
            SizeParameter::new("n", 1024, "length of a transform: any"),
            BATCH,
        ],
        sizes: &[
            "16 1024",
            "32 1024",
            "64 1024",
            "128 1024",
            "256 1024",
            "512 1024",
            "1024 1024",
            "2048 1024",
            "4096 1024",
        ],
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: lines,
        plan: complex,
    },
    Entry {
        name: "fft-large",
        summary: "complex FFTs of 2^10 to 2^22 numbers that all sections share, mostly over system memory",
        sources: &[
            "fft/four_step.s",
            "fft/column_passes.s",
            "fft/in_place_passes.s",
            "fft/radix4_iteration.s",
            "fft/radix8_pass.s",
            "fft/radix8_twiddle_transpose.s",
            "fft/four_step_ring.s",
            "fft/four_step_row_ring.s",
            "fft/cross_section.s",
        ],
        parameters: &[
            SizeParameter::new("n", 65_536, "length of a transform"),
            ONE,
        ],
        sizes: &[
            "8192 4",
            "16384 4",
            "65536 4",
            "262144 1",
            "1048576 1",
            "2097152 1",
            "4194304 1",
        ],
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: lines,
        plan: |machine, problem| {
            make_batch_method(problem, |fft| {
                plan_shared(fft.len(), fft.direction(), machine, fft.batch())
            })
        },
    },
    Entry {
        name: "fft-nd",
        summary: "complex FFTs of two and three dimensions, in passes over system memory",
        sources: &[
            "fft/four_step.s",
            "fft/array.s",
            "fft/column_passes.s",
            "fft/stockham.s",
        ],
        parameters: &[
            SizeParameter::new(
                "planes",
                1,
                "length of the first of three axes; 1 for two dimensions",
            ),
            SizeParameter::new("rows", 256, "length of the last axis but one"),
            SizeParameter::new("columns", 256, "length of the last axis"),
            SizeParameter::new("batch", 1, "number of arrays"),
        ],
        sizes: &[
            "1 256 256 1",
            "1 512 512 1",
            "1 1024 1024 1",
            "1 512 16 1",
            "1 1024 16 1",
            "1 32 2048 1",
            "1 32 32 256",
            "1 64 32 256",
            "64 64 64 1",
        ],
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: lines,
        plan: |machine, problem| make_batch_method(problem, |fft| array(machine, fft)),
    },
    Entry {
        name: "fft-mixed",
        summary: "complex FFTs of mixed radix: 2, 4, 8 and the odd prime numbers to 31, in batches",
        sources: &[],
        parameters: &[
            SizeParameter::new("n", 1000, "length of a transform: prime factors to 31"),
            BATCH,
        ],
        sizes: &[
            "143 1024",
            "343 1024",
            "625 1024",
            "840 1024",
            "961 1024",
            "1000 1024",
            "1536 1024",
            "2000 1024",
            "10000 16",
            "4095 16",
            "100000 1",
        ],
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: lines,
        plan: |machine, problem| {
            make_batch_method(problem, |fft| {
                let (n, batch) = (fft.len(), fft.batch());
                let made = mixed(n, fft.direction(), machine, false).into_iter();
                let priced = made.filter_map(|fft| {
                    let fft = fft.ok()?;
                    Some((fft.estimate(batch).ok()?, fft))
                });
                let best = priced.min_by_key(|(cycles, _)| cycles.0);
                best.map(|(_, fft)| fft).ok_or(FftError::Radices { n })
            })
        },
    },
    Entry {
        name: "fft-bluestein",
        summary: "complex FFTs of any length by convolutions, in batches",
        sources: &[],
        parameters: &[
            SizeParameter::new("n", 251, "length of a transform: any"),
            BATCH,
        ],
        sizes: &["127 1024", "251 1024", "1009 64", "10007 4", "100003 1"],
        below: Some(
            "1009 numbers go through two transforms of 2048 in five or more passes over system memory, with relayouts around them because rows of an odd number of complex numbers begin inside a granule of the DMA; the reference is Rader's algorithm over 1008 = 16 x 9 x 7, for which there is no kernel",
        ),
        extensions: Extensions::EXCHANGE,
        problem: lines,
        plan: |machine, problem| {
            make_batch_method(problem, |fft| {
                let (n, direction) = (fft.len(), fft.direction());
                Ok(match BluesteinRecipe::new(n, direction) {
                    Some(recipe) if n <= MAX_LOCAL_BLUESTEIN_LENGTH => {
                        Arc::new(BluesteinFft::new(recipe, machine.clone())?)
                    }
                    _ => Arc::new(LongBluestein::new(n, direction, machine, fft.batch())?),
                })
            })
        },
    },
    Entry {
        name: "fft-real",
        summary: "FFTs of real numbers to half spectra, in batches",
        sources: &[
            "fft/fft4096.s",
            "fft/four_step.s",
            "fft/half_spectrum_rows.s",
            "fft/real_columns.s",
            "fft/real_column_ring.s",
            "fft/half_spectrum_row_ring.s",
            "fft/half_spectrum_row_pairs.s",
            "fft/column_passes.s",
            "fft/in_place_passes.s",
            "fft/radix8_pass.s",
            "fft/radix8_twiddle_transpose.s",
        ],
        parameters: REAL,
        sizes: REAL_SIZES,
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: |_, size| reals(size, TransformDirection::Forward),
        plan: real,
    },
    Entry {
        name: "fft-real-inverse",
        summary: "inverse FFTs of half spectra to real numbers, in batches",
        sources: &[
            "fft/inverse_real_pages.s",
            "fft/inverse_real_column_ring.s",
            "fft/four_step_row_ring.s",
        ],
        parameters: REAL,
        sizes: REAL_SIZES,
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: |_, size| reals(size, TransformDirection::Inverse),
        plan: real,
    },
];

/// Makes the problem of complex transforms of a size.
fn lines(_: &str, size: &Size) -> Result<Arc<dyn Problem>, ProblemError> {
    Ok(Arc::new(FftProblem::from_size(size)?))
}

/// Makes the problem of real transforms of a size, in a direction.
fn reals(size: &Size, direction: TransformDirection) -> Result<Arc<dyn Problem>, ProblemError> {
    let [n, batch] = size.all_positive(["n", "batch"])?;
    Ok(Arc::new(RealFftProblem::new(n, direction, batch)?))
}

/// Plans complex transforms by the recipe that the planner takes.
pub(crate) fn complex(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    make_batch_method(problem, |fft| match fft.axes() {
        [n] => {
            let mut planner = FftPlanner::with_batch(machine.clone(), fft.batch());
            planner.plan(*n, fft.direction())
        }
        _ => array(machine, fft),
    })
}

/// Plans arrays of several axes by the recipe with the smallest expected time.
fn array(machine: &Arc<Machine>, problem: &FftProblem) -> Result<Arc<dyn Fft>, FftError> {
    let fft = FftNd::new(problem.axes(), problem.direction(), machine.clone())?;
    let best = fft.plans(problem.batch())?.into_iter().next();
    Ok(Arc::new(best.unwrap_or(fft)))
}

/// Makes the method of a batch with the complex transform that `plan` makes for it.
fn make_batch_method(
    problem: &dyn Problem,
    plan: impl FnOnce(&FftProblem) -> Result<Arc<dyn Fft>, FftError>,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<FftProblem>()?;
    Some(
        plan(problem)
            .and_then(|fft| method(fft, problem))
            .map_err(Into::into),
    )
}

fn method(fft: Arc<dyn Fft>, problem: &FftProblem) -> Result<Method, FftError> {
    let (batch, form) = (problem.batch(), output(problem));
    fft.batch_of(fft.len().saturating_mul(batch))?;
    let costs = (fft.figures(batch), fft.operations(batch));
    let (machine, recipe) = (fft.machine().clone(), Some(fft.recipe()));
    let count = fft.len() * batch;
    Ok(Method::new(
        &machine,
        recipe,
        costs,
        move |input, options| {
            let job = fft.job(input.get_sized("x", count)?, options)?;
            Ok(Task::new(job, form.clone()))
        },
    ))
}

/// Returns the form of the problem's only output.
fn output(problem: &dyn Problem) -> ArrayForm {
    let form = problem.outputs().into_iter().next();
    form.unwrap_or_else(|| ArrayForm::new("y", cp2_problems::Kind::Complex64, &[]))
}

/// Plans transforms of real numbers by the recipe that the planner takes.
pub(crate) fn real(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<RealFftProblem>()?;
    Some(real_method(machine, problem).map_err(Into::into))
}

fn real_method(machine: &Arc<Machine>, problem: &RealFftProblem) -> Result<Method, FftError> {
    /// Makes the method of a planned transform. A macro, since the plans of the two directions have different
    /// types.
    macro_rules! method {
        ($fft:expr, $row:expr) => {{
            let (fft, batch, form) = ($fft, problem.batch(), output(problem));
            let count = usize::saturating_mul($row, batch);
            fft.count_batch(count)?;
            let costs = (fft.figures(batch), fft.operations(batch));
            let recipe = Some(fft.recipe_for(batch));
            Method::new(machine, recipe, costs, move |input, options| {
                let job = fft.job(input.get_sized("x", count)?, options)?;
                Ok(Task::new(job, form.clone()))
            })
        }};
    }
    let (n, planner) = (
        problem.len(),
        FftPlanner::with_batch(machine.clone(), problem.batch()),
    );
    Ok(match problem.direction() {
        TransformDirection::Forward => method!(planner.plan_real_forward(n)?, n),
        TransformDirection::Inverse => method!(planner.plan_real_inverse(n)?, n / 2 + 1),
    })
}
