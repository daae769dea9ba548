//! `cp2 job`: runs passes of kernels over arrays, as a job file describes.

mod arrays;
mod file;
mod passes;
mod read;
mod report;
mod text;

use super::analyze::report_loops;
use super::map::{RooflineArg, deliver};
use super::{AssemblerArgs, MachineArg, read_text, source_text};
use crate::io::Outputs;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::provenance::ReportProvenance;
use crate::simulation::{SimulationArgs, conclude};
use cp2_host::DeviceOptions;
use cp2_kernels::map::Arrays;
use file::JobFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use text::JobText;
use toml::Spanned;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: JobCommand,
}

/// Action on a job file.
#[derive(Debug, clap::Subcommand)]
enum JobCommand {
    /// Carry its passes out, one behind the other on one machine
    Run(RunArgs),
}

/// Arguments of `cp2 job run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: cp2 job run sweeps.toml --analyze --roofline sweeps.svg")]
struct RunArgs {
    /// Job file (TOML): arrays, and passes of kernels over them; paths in it are relative to its folder
    job: PathBuf,
    /// Print how each pass is paged [default: not printed]
    #[arg(long)]
    plan: bool,
    /// Print the loops that ran, as `cp2 analyze` reports them, with the cycles that each took and would gain
    /// [default: not printed]
    #[arg(long)]
    analyze: bool,
    #[command(flatten)]
    roofline: RooflineArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    assembler: AssemblerArgs,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// Runs `cp2 job`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    match &args.command {
        JobCommand::Run(args) => args.run(json),
    }
}

/// Job file that has been read.
struct LoadedJob<'a> {
    text: JobText<'a>,
    file: JobFile,
    folder: &'a Path,
}

impl RunArgs {
    fn run(&self, json: bool) -> Result<CommandOutcome, CommandFailure> {
        let source = read_text(&self.job)?;
        let text = JobText {
            path: &self.job,
            text: &source,
        };
        let job = LoadedJob {
            file: JobFile::read(&text)?,
            folder: self.job.parent().unwrap_or(Path::new("")),
            text,
        };
        job.check_outputs(self)?;
        let machine = Arc::new(self.machine.load()?);
        let (options, progress) = self.simulation.begin(None, json);
        let options = DeviceOptions {
            stages: true,
            ..options
        };
        let mut arrays = Arrays::new(machine.clone(), options);
        let (known, results) = job.arrays(&mut arrays, machine.host.memory.0)?;
        let notes = job.passes(self, &machine, &mut arrays, &known)?;
        let mut done = arrays
            .run()
            .map_err(|e| CommandFailure::in_file(&self.job, e))?;
        drop(progress);
        let mut outcome = CommandOutcome {
            text: report::text(self, &done),
            json: ReportProvenance::new("cp2-job/1", &machine, None)
                .engine(self.simulation.engine().resolve_engine(&machine))
                .add_figures(report::fields(self, &done)),
            notes,
            exit: 0,
        };
        let outputs = done.outputs.take();
        deliver(&results, outputs, &done.passes, &mut outcome)?;
        self.simulation.emit(&done.run, &mut outcome)?;
        let title = format!("{} on {}", self.job.display(), machine.name);
        conclude(
            &self.simulation,
            &done.run,
            &title,
            source_text,
            &mut outcome,
        )?;
        let stem = self.job.file_stem().unwrap_or_default().to_string_lossy();
        self.roofline.write(&done, &stem, &mut outcome)?;
        if self.analyze {
            report_loops(&done.run, &mut outcome);
        }
        Ok(outcome)
    }
}

impl LoadedJob<'_> {
    fn resolve_path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Checks that no output replaces an input.
    fn check_outputs(&self, args: &RunArgs) -> Result<(), CommandFailure> {
        let arrays = || self.file.arrays.values().map(Spanned::get_ref);
        let read = arrays()
            .flat_map(|array| [&array.input, &array.expect])
            .flatten();
        let kernels = self.file.passes.iter().map(|pass| &pass.get_ref().kernel);
        let read: Vec<PathBuf> = read
            .chain(kernels)
            .map(|path| self.resolve_path(path.get_ref()))
            .collect();
        let read = read
            .iter()
            .map(PathBuf::as_path)
            .chain([args.job.as_path()]);
        let mut outputs = Outputs::from_inputs(read.chain(args.machine.file()));
        for output in arrays().filter_map(|array| array.output.as_ref()) {
            let path = self.resolve_path(output.get_ref());
            let checked = crate::io::check_extension(&path, "npy", ".npy");
            checked
                .and_then(|()| outputs.check(&path))
                .map_err(|e| self.fail(output, &e.to_string(), ""))?;
        }
        args.roofline.check(&mut outputs)?;
        args.simulation.check_outputs(&mut outputs)
    }

    fn fail<T>(&self, at: &Spanned<T>, message: &str, help: &str) -> CommandFailure {
        self.text.fail(at.span(), message, help)
    }
}
