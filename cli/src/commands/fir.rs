//! `cp2 fir`.

use super::MachineArg;
use super::channels::ChannelArgs;
use super::filtering::{Task, run as filter};
use super::ways::WaysArgs;
use crate::outcome::{Failure, Outcome};
use crate::simulation::SimulationArgs;
use cp2_kernels::conv::{Mode, Rate};

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
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// Filters.
pub(crate) fn run(args: &Args, json: bool) -> Result<Outcome, Failure> {
    let rate = match (args.decimate, args.interpolate) {
        (Some(m), _) => Rate::decimate_by(m),
        (_, Some(i)) => Rate::interpolate_by(i),
        _ => Rate::SAME,
    };
    let task = Task {
        schema: "cp2-fir/1",
        channels: &args.channels,
        machine: &args.machine,
        simulation: &args.simulation,
        mode: Mode::Full,
        rate,
        ways: args.ways.ways()?,
    };
    filter(&task, |taps| taps, json)
}
