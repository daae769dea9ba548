//! The filter rows of the kernel registry and the backend's methods.

use super::block_filter::FilterSample;
use super::{AllowedMethods, ConvError, Convolver};
use crate::backend::{Failure, Method, Task};
use crate::catalogue::KernelFolder;
use crate::registry::{Entry, SizeParameter};
use cp2_machine::{Extensions, Machine};
use cp2_problems::conv::ConvProblem;
use cp2_problems::{ArrayForm, Problem};
use num_complex::Complex32;
use std::sync::Arc;

const SAMPLES: SizeParameter = SizeParameter::new("samples", 131_072, "samples of a channel");
const CHANNELS: SizeParameter = SizeParameter::new("channels", 1, "channels");

/// Planner of this folder, and its kernels.
pub(crate) const ENTRIES: KernelFolder = KernelFolder {
    planners: &[filter],
    entries: &KERNELS,
};

/// Kernels of the registry: convolutions, whatever their method, and FIR filters at a rate.
const KERNELS: [Entry; 3] = [
    Entry {
        name: "conv",
        summary: "convolution of complex channels: overlap-save or direct",
        sources: &[
            "conv/overlap_save.s",
            "conv/overlap_save_ring.s",
            "conv/spectrum_product.s",
            "conv/overlap_save_long.s",
            "fft/radix8_iteration.s",
            "fft/radix8_pass.s",
            "fft/hooks4096.s",
        ],
        parameters: &[
            SizeParameter::new("taps", 129, "taps of the filter"),
            SAMPLES,
            CHANNELS,
        ],
        sizes: &[
            "5 131072 1",
            "17 131072 1",
            "65 262144 1",
            "129 262144 1",
            "300 250000 1",
            "600 128000 1",
            "600 1000000 1",
            "941 25380 1",
            "1025 1000000 1",
            "4097 225000 1",
            "4097 1900000 1",
            "16385 1900000 1",
            "64 960 256",
            "129 1140 64",
        ],
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: |_, size| Ok(Arc::new(ConvProblem::from_size(size, false)?)),
        plan: filter,
    },
    Entry {
        name: "conv-real",
        summary: "convolution of real channels with real taps: two numbers in one complex one",
        sources: &[],
        parameters: &[
            SizeParameter::new("taps", 129, "taps of the filter"),
            SAMPLES,
            CHANNELS,
        ],
        sizes: &[
            "5 131072 1",
            "129 262144 1",
            "1025 1000000 1",
            "129 1140 64",
        ],
        below: Some(
            "of 5 taps the channel is all there is to wait for, and numbers cross it six times where the reference has two: a pass before puts real samples two by two as complex ones, and one behind takes the outputs apart; a direct kernel that loads real samples as they lie would do without both",
        ),
        extensions: Extensions::EXCHANGE,
        problem: |_, size| Ok(Arc::new(ConvProblem::from_size(size, true)?)),
        plan: filter,
    },
    Entry {
        name: "fir",
        summary: "FIR filters of complex samples, also decimating or interpolating: direct, or overlap-save where that is faster",
        sources: &["conv/direct.s", "conv/transposed_form.s"],
        parameters: &[
            SizeParameter::new("taps", 64, "taps of the filter"),
            SAMPLES,
            CHANNELS,
            SizeParameter::new("decimate", 1, "samples for an output"),
            SizeParameter::new(
                "interpolate",
                1,
                "outputs for a sample; one of the two factors is 1",
            ),
            SizeParameter::new("real", 1, "1 for real taps, 0 for complex ones"),
        ],
        sizes: &[
            "16 131072 1 1 1 1",
            "64 65536 1 1 1 1",
            "16 65536 1 1 1 0",
            "64 131072 1 4 1 1",
            "64 131072 1 4 1 0",
            "64 32768 1 1 4 1",
            "16 65536 1 1 3 1",
            "32 32768 1 1 8 1",
            "512 32768 1 1 1 1",
            "300 16384 1 1 1 0",
            "256 131072 1 8 1 1",
            "100 524288 1 151 1 1",
            "300 524288 1 100 1 1",
            "2000 524288 1 200 1 1",
            "1000 262144 1 151 1 0",
            "500 4096 1 1 100 1",
        ],
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: |_, size| Ok(Arc::new(ConvProblem::from_size(size, false)?)),
        plan: filter,
    },
];

/// Returns the method that filters a problem by the kernel expected to be fastest; none for other problems.
pub(crate) fn filter(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<ConvProblem>()?;
    let method = match problem.is_real() {
        true => method::<f32>(machine, problem),
        false => method::<Complex32>(machine, problem),
    };
    Some(method.map_err(Into::into))
}

fn method<T: FilterSample>(
    machine: &Arc<Machine>,
    problem: &ConvProblem,
) -> Result<Method, ConvError> {
    let (taps, channels, samples) = (problem.taps(), problem.channels(), problem.samples());
    let (size, what) = ((taps, channels, samples), (problem.mode(), problem.rate()));
    let filter = Convolver::with_methods::<T>(machine, size, what, AllowedMethods::All)?;
    let count = channels * samples;
    filter.fits::<T>(count)?;
    let recipe = Some(filter.kernel().to_owned());
    let costs = (
        filter.figures::<T>(channels),
        filter.operations::<T>(channels),
    );
    let shape = [channels, filter.outputs()];
    let form = ArrayForm::new("y", T::KIND, &shape);
    Ok(Method::new(
        machine,
        recipe,
        costs,
        move |input, options| {
            let job = filter.job::<T>(input.get_sized("x", count)?, options)?;
            Ok(Task::new(job, form.clone()))
        },
    ))
}
