//! `cp2 conv`: convolves or correlates channels with taps.

use super::MachineArg;
use super::channels::ChannelArgs;
use super::filtering::{FilterTask, run as filter};
use super::ways::WaysArgs;
use crate::backends::BackendArg;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::simulation::SimulationArgs;
use cp2_kernels::conv::{ConvolutionMode, OutputRate, matched};

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    channels: ChannelArgs,
    /// Outputs: all N + L - 1, the N in their middle, or the N - L + 1 that see every tap
    #[arg(long, value_enum, default_value_t = ConvolutionModeArg::Full)]
    mode: ConvolutionModeArg,
    /// Correlate with the taps: a matched filter [default: convolve]
    #[arg(long)]
    correlate: bool,
    #[command(flatten)]
    ways: WaysArgs,
    #[command(flatten)]
    backend: BackendArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ConvolutionModeArg {
    Full,
    Same,
    Valid,
}

impl From<ConvolutionModeArg> for ConvolutionMode {
    fn from(mode: ConvolutionModeArg) -> Self {
        match mode {
            ConvolutionModeArg::Full => Self::Full,
            ConvolutionModeArg::Same => Self::Same,
            ConvolutionModeArg::Valid => Self::Valid,
        }
    }
}

/// Runs `cp2 conv`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let task = FilterTask {
        schema: "cp2-conv/1",
        channels: &args.channels,
        backend: &args.backend,
        machine: &args.machine,
        simulation: &args.simulation,
        mode: args.mode.into(),
        rate: OutputRate::SAME,
        ways: args.ways.ways()?,
    };
    let taps = |taps: Vec<_>| {
        if args.correlate { matched(&taps) } else { taps }
    };
    filter(&task, taps, json)
}
