//! `cp2 bench gpu`: measures the shaders of a graphics card beside a copy on it.

#[cfg(feature = "gpu")]
mod cards;
#[cfg(feature = "gpu")]
mod machines;
#[cfg(feature = "gpu")]
mod measured;
#[cfg(feature = "gpu")]
mod report;

#[cfg(feature = "gpu")]
pub(super) use measured::run;

use crate::backends::AdapterArg;
use crate::commands::MachinesArg;
#[cfg(not(feature = "gpu"))]
use crate::outcome::{CommandFailure, CommandOutcome};
use std::path::PathBuf;

/// Arguments of `bench gpu`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples: cp2 bench gpu --rows fft-1024,stencil-27 --json > h100.json\n          \
                  cp2 bench gpu --rows copy --matrix A.mtx --matrix B.mtx\n\
                  Times are those of the card's own clock. Before each run its output is overwritten, and the last \
                  output is compared with double precision: exit code 1 if one is wrong (docs/gpu.md)."
)]
pub(super) struct GpuArgs {
    /// Rows to measure, with a comma between: fft-1024, fft-4096, stencil-27, conv-1024, conv-4096, spmv-27,
    /// fft-1009, fft-10007, fft-1048576, fft-3d, fft-1000, stencil-7, himeno-l, himeno-xl, mg-c; copy for none
    /// of them [default: all of them]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    rows: Vec<String>,
    /// Measure the product with a matrix too, which is repeated along the diagonal until it has --entries: a file of
    /// the Matrix Market; give it again for each more [default: no matrix]
    #[arg(long = "matrix", value_name = "A.mtx")]
    matrices: Vec<PathBuf>,
    /// Entries that a repeated matrix has at least [default: 60000000 on a card, 100000 on a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    entries: Option<u32>,
    /// MiB of an array, at most half of what the adapter binds [default: 512 on a card, 1 on a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    mib: Option<u64>,
    /// Timed runs of each row, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Seed of the inputs
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Graphics cards: with more than one, rows of Himeno are measured on one and divided among all, the latter by the
    /// host's clock and compared to the bit with one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    adapters: u32,
    #[command(flatten)]
    adapter: AdapterArg,
    #[command(flatten)]
    machines: MachinesArg,
    /// Most entries of a matrix for whose product machines are planned: a million takes some seconds
    #[arg(long, value_name = "N", default_value_t = 8_000_000)]
    planned_entries: usize,
}

/// Says that graphics cards are missing.
#[cfg(not(feature = "gpu"))]
pub(super) fn run(_: &GpuArgs, _: bool) -> Result<CommandOutcome, CommandFailure> {
    Err(CommandFailure::input(
        "bench gpu: this program was built without graphics cards; build it with `--features gpu`",
    ))
}
