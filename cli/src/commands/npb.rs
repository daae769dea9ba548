//! `cp2 npb`: the NAS Parallel Benchmarks.

mod cg;
mod ft;
pub(crate) mod mg;
mod report;
pub(crate) mod tuned;

use super::MachineArg;
use crate::backends::BackendArg;
use crate::io::Outputs;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::simulation::SimulationArgs;
use cp2_kernels::{KernelRun, Method};
use cp2_machine::Machine;
use cp2_problems::NamedArrays;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: BenchmarkCommand,
}

/// The benchmarks.
#[derive(Debug, clap::Subcommand)]
enum BenchmarkCommand {
    /// CG: the eigenvalue of a sparse matrix by inverse iterations of conjugate gradients
    Cg(cg::Args),
    /// FT: the diffusion equation by Fourier transforms over three axes
    Ft(ft::Args),
    /// MG: V-cycles of multigrid for the Poisson equation on a periodic cube
    #[command(after_help = "Example: cp2 npb mg --class A --procs 8")]
    Mg(mg::Args),
}

/// Runs a benchmark.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    match &args.benchmark {
        BenchmarkCommand::Cg(args) => cg::run(args, json),
        BenchmarkCommand::Ft(args) => ft::run(args, json),
        BenchmarkCommand::Mg(args) => mg::run(args, json),
    }
}

/// Options of every benchmark.
#[derive(Debug, clap::Args)]
struct BenchmarkOptions {
    #[command(flatten)]
    backend: BackendArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

impl BenchmarkOptions {
    /// Checks the outputs of so many processors against the files that are read, then loads the machine.
    fn begin(&self, read: Option<&Path>, procs: u16) -> Result<Arc<Machine>, CommandFailure> {
        let mut outputs = Outputs::from_inputs(self.machine.file().into_iter().chain(read));
        crate::processors::check_outputs(&self.simulation, procs, &mut outputs)?;
        Ok(Arc::new(self.machine.load()?))
    }

    /// Runs a method on an input; returns the run and the seconds of host time that it took.
    fn run(
        &self,
        method: &Method,
        input: &NamedArrays,
        json: bool,
    ) -> Result<(KernelRun<NamedArrays>, f64), CommandFailure> {
        let reference = method.figures.reference.get();
        let (options, _watch) = self.simulation.begin(Some(reference), json);
        let started = Instant::now();
        let task = method.task(input, options).map_err(CommandFailure::input)?;
        let run = task
            .run(method.figures.clone())
            .map_err(CommandFailure::input)?;
        Ok((run, started.elapsed().as_secs_f64()))
    }
}
