//! The FFTs in the registry of kernels.

use super::large::{FftNd, LargeFft};
use super::mixed::{BluesteinFft, BluesteinRecipe, LongBluestein};
use super::planner::mixed;
use super::{Direction, Fft, FftError, FftPlanner};
use crate::registry::{Entry, KernelError, Parameter, Prepared, Request};
use num_complex::Complex32;
use std::sync::Arc;

const BATCH: Parameter = Parameter::new("batch", 1024, "number of transforms");
const ONE: Parameter = Parameter::new("batch", 1, "number of transforms");

/// Real numbers of a transform, and sizes of the tables. A short transform's first load and
/// last store weigh less in a long batch.
const REAL: &[Parameter] = &[
    Parameter::new("n", 1024, "real numbers of a transform: any"),
    BATCH,
];
const REAL_SIZES: &[&[u64]] = &[
    &[128, 4096],
    &[256, 4096],
    &[512, 1024],
    &[1024, 1024],
    &[2048, 1024],
    &[4096, 1024],
    &[8192, 128],
    &[16_384, 64],
    &[65_536, 16],
    &[262_144, 1],
    &[1_048_576, 1],
    &[2_097_152, 1],
];

/// The longest transforms whose convolution is done in local memory on every machine.
const LOCAL_BLUESTEIN: usize = 500;

/// All FFTs.
pub(crate) const KERNELS: [Entry; 7] = [
    Entry {
        name: "fft",
        summary: "complex FFTs of one length in batches, by the recipe that the planner takes",
        sources: &[
            "fft/fft.s",
            "fft/stockham.s",
            "fft/frame4.s",
            "fft/frame8.s",
            "fft/fft4096.s",
            "fft/hooks4096.s",
        ],
        parameters: &[
            Parameter::new("n", 1024, "length of a transform: any"),
            BATCH,
        ],
        sizes: &[
            &[16, 1024],
            &[32, 1024],
            &[64, 1024],
            &[128, 1024],
            &[256, 1024],
            &[512, 1024],
            &[1024, 1024],
            &[2048, 1024],
            &[4096, 1024],
        ],
        prepare: |request| {
            batch(request, |n, batch| {
                let mut planner = FftPlanner::for_batch(request.machine.clone(), batch);
                planner.plan(n, Direction::Forward)
            })
        },
    },
    Entry {
        name: "fft-large",
        summary: "complex FFTs of 2^10 to 2^22 numbers in two or three passes over system memory",
        sources: &[
            "fft/large.s",
            "fft/lines.s",
            "fft/blocks.s",
            "fft/pass8.s",
            "fft/shifted8.s",
            "fft/parts.s",
            "fft/parts_rows.s",
        ],
        parameters: &[Parameter::new("n", 65_536, "length of a transform"), ONE],
        sizes: &[
            &[1 << 13, 4],
            &[1 << 14, 4],
            &[1 << 16, 4],
            &[1 << 18, 1],
            &[1 << 20, 1],
            &[1 << 21, 1],
            &[1 << 22, 1],
        ],
        prepare: |request| {
            batch(request, |n, _| {
                let fft = LargeFft::new(n, Direction::Forward, request.machine.clone())?;
                Ok(Arc::new(fft))
            })
        },
    },
    Entry {
        name: "fft-nd",
        summary: "complex FFTs of two and three dimensions, in passes over system memory",
        sources: &[
            "fft/large.s",
            "fft/array.s",
            "fft/lines.s",
            "fft/stockham.s",
        ],
        parameters: &[
            Parameter::new(
                "planes",
                1,
                "length of the first of three axes; 1 for two dimensions",
            ),
            Parameter::new("rows", 256, "length of the last axis but one"),
            Parameter::new("columns", 256, "length of the last axis"),
            Parameter::new("batch", 1, "number of arrays"),
        ],
        sizes: &[
            &[1, 256, 256, 1],
            &[1, 512, 512, 1],
            &[1, 1024, 1024, 1],
            &[1, 512, 16, 1],
            &[1, 1024, 16, 1],
            &[1, 32, 2048, 1],
            &[1, 32, 32, 256],
            &[1, 64, 32, 256],
            &[64, 64, 64, 1],
        ],
        prepare: |request| {
            let [planes, rows, columns, batch] =
                request.positive(["planes", "rows", "columns", "batch"])?;
            let shape = [planes, rows, columns];
            let shape = if planes == 1 { &shape[1..] } else { &shape };
            let machine = request.machine.clone();
            let fft = FftNd::new(shape, Direction::Forward, machine);
            let fft = fft.and_then(|fft| Ok(fft.plans(batch)?.into_iter().next().unwrap_or(fft)));
            fft.and_then(|fft| prepared(&fft, batch, request))
                .map_err(|e| request.refused(e))
        },
    },
    Entry {
        name: "fft-mixed",
        summary: "complex FFTs of mixed radix: 2, 4, 8 and the odd prime numbers to 31, in batches",
        sources: &[],
        parameters: &[
            Parameter::new("n", 1000, "length of a transform: prime factors to 31"),
            BATCH,
        ],
        sizes: &[
            &[143, 1024],
            &[343, 1024],
            &[625, 1024],
            &[840, 1024],
            &[961, 1024],
            &[1000, 1024],
            &[1536, 1024],
            &[2000, 1024],
            &[10_000, 16],
            &[4095, 16],
            &[100_000, 1],
        ],
        prepare: |request| {
            batch(request, |n, batch| {
                let made = mixed(n, Direction::Forward, request.machine, false).into_iter();
                let priced = made.filter_map(|fft| {
                    let fft = fft.ok()?;
                    Some((fft.expected(batch).ok()?, fft))
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
            Parameter::new("n", 251, "length of a transform: any"),
            BATCH,
        ],
        sizes: &[
            &[127, 1024],
            &[251, 1024],
            &[1009, 64],
            &[10_007, 4],
            &[100_003, 1],
        ],
        prepare: |request| {
            batch(request, |n, batch| {
                let machine = request.machine;
                Ok(match BluesteinRecipe::new(n, Direction::Forward) {
                    Some(recipe) if n <= LOCAL_BLUESTEIN => {
                        Arc::new(BluesteinFft::new(recipe, machine.clone())?)
                    }
                    _ => Arc::new(LongBluestein::new(n, Direction::Forward, machine, batch)?),
                })
            })
        },
    },
    Entry {
        name: "fft-real",
        summary: "FFTs of real numbers to half spectra, in batches",
        sources: &[
            "fft/fft4096.s",
            "fft/large.s",
            "fft/real.s",
            "fft/real_columns.s",
            "fft/parts_columns.s",
            "fft/real_parts.s",
            "fft/real_couples.s",
            "fft/lines.s",
            "fft/blocks.s",
            "fft/pass8.s",
            "fft/shifted8.s",
        ],
        parameters: REAL,
        sizes: REAL_SIZES,
        prepare: |request| real(request, Direction::Forward),
    },
    Entry {
        name: "fft-real-inverse",
        summary: "inverse FFTs of half spectra to real numbers, in batches",
        sources: &["fft/real_back.s", "fft/back_columns.s", "fft/parts_rows.s"],
        parameters: REAL,
        sizes: REAL_SIZES,
        prepare: |request| real(request, Direction::Inverse),
    },
];

/// A batch of the complex transform that `plan` makes for a length and a batch.
fn batch(
    request: &Request<'_>,
    plan: impl FnOnce(usize, usize) -> Result<Arc<dyn Fft>, FftError>,
) -> Result<Prepared, KernelError> {
    let [n, batch] = request.positive(["n", "batch"])?;
    plan(n, batch)
        .and_then(|fft| prepared(&*fft, batch, request))
        .map_err(|e| request.refused(e))
}

fn prepared(fft: &dyn Fft, batch: usize, request: &Request<'_>) -> Result<Prepared, FftError> {
    let count = fft.len().saturating_mul(batch);
    fft.batch_of(count)?;
    let (job, _) = fft.job(&request.complexes(count), request.options.clone())?;
    Ok(Prepared {
        job,
        recipe: Some(fft.recipe()),
        figures: fft.figures(batch),
        operations: fft.operations(batch),
    })
}

/// A batch of real transforms, there or back.
fn real(request: &Request<'_>, direction: Direction) -> Result<Prepared, KernelError> {
    let [n, batch] = request.positive(["n", "batch"])?;
    let planner = FftPlanner::for_batch(request.machine.clone(), batch);
    let options = request.options.clone();
    let forward = || {
        let fft = planner.plan_real_forward(n)?;
        let count = n.saturating_mul(batch);
        fft.batch_of(count)?;
        let input = request.array(|random| random.uniforms(count));
        let (job, _) = fft.job(&input, options.clone())?;
        Ok(Prepared {
            job,
            recipe: Some(fft.recipe_for(batch)),
            figures: fft.figures(batch),
            operations: fft.operations(batch),
        })
    };
    let inverse = || {
        let fft = planner.plan_real_inverse(n)?;
        let count = (n / 2 + 1).saturating_mul(batch);
        fft.batch_of(count)?;
        let (job, _) = fft.job(&spectra(request, [n, batch]), options.clone())?;
        Ok(Prepared {
            job,
            recipe: Some(fft.recipe_for(batch)),
            figures: fft.figures(batch),
            operations: fft.operations(batch),
        })
    };
    let made = match direction {
        Direction::Forward => forward(),
        Direction::Inverse => inverse(),
    };
    made.map_err(|e: FftError| request.refused(e))
}

/// Random half spectra of real numbers: the imaginary parts that are 0 by definition are.
fn spectra(request: &Request<'_>, [n, batch]: [usize; 2]) -> Vec<Complex32> {
    let row = n / 2 + 1;
    request.array(|random| {
        let mut spectra = random.complexes(row * batch);
        for row in spectra.chunks_mut(row) {
            row[0].im = 0.0;
            if n.is_multiple_of(2) {
                row[n / 2].im = 0.0;
            }
        }
        spectra
    })
}
