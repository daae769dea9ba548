//! The choice of filter methods, and warnings about NaNs and infinities.

use crate::io::NonFinite;
use crate::outcome::CommandFailure;
use cp2_kernels::conv::{AllowedMethods, ConvProblem, ConvolutionMode, Convolver, FilterMethod};

/// Options for the kind of filter.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct WaysArgs {
    /// Filters that may be taken; of several the one that should be fastest
    #[arg(id = "filter_method", long = "method", value_enum, value_name = "METHOD", default_value_t = MethodArg::Auto)]
    method: MethodArg,
    /// Take a filter that keeps NaNs and infinities in their places: one in a sample reaches exactly the
    /// outputs whose definition it is in [default: the fastest filter]
    #[arg(long)]
    exact_nonfinite: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum MethodArg {
    /// All
    Auto,
    /// Sums of products, which keep NaNs and infinities in their places wherever one that fits does
    Direct,
    /// Transforms of blocks, which make all outputs of a block NaN where one number in it is not finite
    OverlapSave,
}

impl WaysArgs {
    pub(crate) fn ways(self) -> Result<AllowedMethods, CommandFailure> {
        Ok(match (self.exact_nonfinite, self.method) {
            (true, MethodArg::OverlapSave) => {
                return Err(CommandFailure::input(
                    "--exact-nonfinite with --method overlap-save: overlap-save makes all outputs of a block NaN where one number in it is not finite; expected --method direct, or none",
                ));
            }
            (true, _) => AllowedMethods::Exact,
            (false, MethodArg::Auto) => AllowedMethods::All,
            (false, MethodArg::Direct) => AllowedMethods::Direct,
            (false, MethodArg::OverlapSave) => AllowedMethods::OverlapSave,
        })
    }
}

/// Samples and taps in the input of a filter that are not finite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoiled {
    pub(crate) samples: NonFinite,
    pub(crate) taps: NonFinite,
}

impl Spoiled {
    /// True if a NaN or an infinity reaches outputs whose definition does not contain it.
    pub(crate) fn spreads(&self, problem: &ConvProblem, filter: &Convolver) -> bool {
        let ends = problem.mode() != ConvolutionMode::Valid;
        let taps = self.taps.count > 0 && (ends || !filter.is_exact());
        taps || (self.samples.count > 0 && !filter.is_exact())
    }

    /// Refuses non-finite taps that no filter keeps in their places, if `ways` requires that.
    pub(crate) fn check(
        taps: NonFinite,
        (mode, ways): (ConvolutionMode, AllowedMethods),
    ) -> Result<(), CommandFailure> {
        match taps
            .first()
            .filter(|_| ways == AllowedMethods::Exact && mode != ConvolutionMode::Valid)
        {
            None => Ok(()),
            Some(first) => Err(CommandFailure::input(format!(
                "--exact-nonfinite: {}, the first is tap {first}; every filter multiplies it with the zeros before and behind a channel too: expected finite taps, or `cp2 conv --mode valid`, whose outputs see samples alone",
                taps.text("taps")
            ))),
        }
    }

    /// Returns the warnings about values that the filter spreads.
    pub(crate) fn warnings(&self, problem: &ConvProblem, filter: &Convolver) -> String {
        let mut text = String::new();
        if !self.spreads(problem, filter) {
            return text;
        }
        let method = filter.method();
        if let Some(first) = self.samples.first().filter(|_| !filter.is_exact()) {
            let samples = problem.samples().max(1) as u64;
            let spread = match method {
                FilterMethod::OverlapSave => "which makes all outputs of their blocks NaN",
                FilterMethod::Direct => {
                    "some of whose taps are zeros that were filled in, so that outputs beside those whose definition they are in become NaN"
                }
            };
            text += &format!(
                "warning: {}, the first is sample {} of channel {}; the filter taken is {method}, {spread}; --exact-nonfinite takes a direct filter that keeps them in their places\n",
                self.samples.text("samples"),
                first % samples,
                first / samples,
            );
        }
        if let Some(first) = self.taps.first() {
            let spread = match method {
                FilterMethod::OverlapSave => {
                    "overlap-save, which makes all outputs NaN; --method direct multiplies them with samples alone, and with zeros before and behind a channel"
                }
                FilterMethod::Direct => {
                    "direct, which multiplies them with zeros before and behind a channel too, so that its first and last outputs become NaN; outputs that see every tap, of `cp2 conv --method direct --mode valid`, are as defined"
                }
            };
            text += &format!(
                "warning: {}, the first is tap {first}; the filter taken is {spread}\n",
                self.taps.text("taps"),
            );
        }
        text
    }
}
