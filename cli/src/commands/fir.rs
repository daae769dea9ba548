//! `cp2 fir`: filters channels, also with decimation or interpolation.

use super::MachineArg;
use super::channels::ChannelArgs;
use super::filtering::{FilterTask, run as filter};
use super::ways::WaysArgs;
use crate::backends::BackendArg;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::simulation::SimulationArgs;
use cp2_kernels::conv::{ConvolutionMode, OutputRate};

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    channels: ChannelArgs,
    /// Keep every M-th of the N + L - 1 outputs, from the first on [default: all]
    #[arg(long, value_name = "M", conflicts_with = "interpolate")]
    decimate: Option<usize>,
    /// Put I - 1 zeros between samples: (N - 1) I + L outputs [default: none]
    #[arg(long, value_name = "I")]
    interpolate: Option<usize>,
    #[command(flatten)]
    ways: WaysArgs,
    #[command(flatten)]
    backend: BackendArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// Runs `cp2 fir`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let rate = match (args.decimate, args.interpolate) {
        (Some(m), _) => OutputRate::decimate_by(m),
        (_, Some(i)) => OutputRate::interpolate_by(i),
        _ => OutputRate::SAME,
    };
    let task = FilterTask {
        schema: "cp2-fir/1",
        channels: &args.channels,
        backend: &args.backend,
        machine: &args.machine,
        simulation: &args.simulation,
        mode: ConvolutionMode::Full,
        rate,
        ways: args.ways.ways()?,
    };
    filter(&task, |taps| taps, json)
}
