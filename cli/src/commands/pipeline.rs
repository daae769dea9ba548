//! `cp2 pipeline`: whole receivers.

mod radar;
mod receive;
mod report;
mod sonar;

use super::MachinesArg;
use crate::backends::BackendArg;
use crate::io::{Outputs, check_extension, read_rows};
use crate::outcome::{BAD_INPUT, CommandFailure, CommandOutcome, GUEST_FAULT, UNVERIFIED};
use crate::picture::{self, PlotAxis};
use crate::simulation::HostArgs;
use cp2_host::{DeviceOptions, Trace, emit};
use cp2_kernels::chain::ChainError;
use num_complex::Complex32;
use std::path::{Path, PathBuf};

/// Largest array read.
const LIMIT: u64 = 1 << 32;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    chain: ChainCommand,
}

/// The chains.
#[derive(Debug, clap::Subcommand)]
enum ChainCommand {
    /// Pulse-Doppler radar: pulse compression and Doppler processing, a range-Doppler map
    Radar(radar::Args),
    /// Passive sonar: filters, beamforming and spectra of a line of hydrophones
    Sonar(sonar::Args),
}

/// Runs `cp2 pipeline`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    match &args.chain {
        ChainCommand::Radar(args) => radar::run(args, json),
        ChainCommand::Sonar(args) => sonar::run(args, json),
    }
}

/// Frequencies that are accepted: beyond this range double precision does not hold the phase of a scene.
const HERTZ: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

/// Parses a frequency in Hz.
fn hertz(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|f| HERTZ.contains(f));
    number.ok_or_else(|| format!("expected {} to {:e} Hz", HERTZ.start(), HERTZ.end()))
}

/// Options of every chain.
#[derive(Debug, clap::Args)]
struct ChainOptions {
    /// Samples as complex64 or float32, a channel or pulse in every row: .npy [default: a generated scene]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Blocks to generate
    #[arg(long, value_name = "K", default_value_t = 1, conflicts_with = "input", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// Seed of the generated noise
    #[arg(long, value_name = "S", default_value_t = 1, conflicts_with = "input")]
    seed: u64,
    /// Write the spectra as complex64: .npy [default: not written]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the result as a picture: .png or .svg [default: not written]
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Write program, arrays and command list of the first block to a directory, for `cp2 run DIR` [default:
    /// not written]
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
    #[command(flatten)]
    backend: BackendArg,
    // --output and --picture write the result of the first machine, and --emit writes its job.
    #[command(flatten)]
    machines: MachinesArg,
    /// Let the checkers watch every kernel; slower [default: not checked]
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    host: HostArgs,
}

impl ChainOptions {
    fn options(&self, record: bool) -> DeviceOptions {
        DeviceOptions {
            check: self.check,
            trace: Trace::none(),
            record,
            ..self.host.options()
        }
    }

    /// Checks the outputs of a chain that also reads `pulse` and writes `spectrogram`.
    fn check_outputs(
        &self,
        pulse: Option<&Path>,
        spectrogram: Option<&Path>,
    ) -> Result<(), CommandFailure> {
        let inputs = self.input.as_deref().into_iter().chain(pulse);
        let mut outputs = Outputs::from_inputs(inputs.chain(self.machines.files()));
        if let Some(path) = &self.output {
            check_extension(path, "npy", ".npy")?;
            outputs.check(path)?;
        }
        for path in self.picture.as_deref().into_iter().chain(spectrogram) {
            picture::check_name(path)?;
            outputs.check(path)?;
        }
        let emit = self.emit.as_deref();
        emit.map_or(Ok(()), |path| outputs.check_emit(path, emit::check))
    }

    /// Reads whole blocks of `rows` x `columns` samples from the file, if there is one.
    fn load(
        &self,
        [rows, columns]: [usize; 2],
        options: [&str; 2],
    ) -> Result<Option<Vec<Complex32>>, CommandFailure> {
        let Some(path) = &self.input else {
            return Ok(None);
        };
        let array = read_rows(path, crate::io::Kind::SIGNAL, LIMIT)?;
        let data = array.to_complex();
        let whole = array.shape.last() == Some(&columns) && data.len() % (rows * columns) == 0;
        if whole && !data.is_empty() {
            return Ok(Some(data));
        }
        let [of_rows, of_columns] = options;
        let message = format!(
            "has the shape {:?}; expected rows of {columns} samples ({of_columns}), {rows} rows ({of_rows}) for every block",
            array.shape
        );
        Err(CommandFailure::in_file(path, message))
    }

    /// Returns the title of a picture: its contents, and the file that it was made from.
    fn title(&self, what: &str) -> String {
        match &self.input {
            Some(path) => format!("{what}: {}", path.display()),
            None => what.to_owned(),
        }
    }
}

impl From<ChainError> for CommandFailure {
    fn from(error: ChainError) -> Self {
        let exit = match error {
            ChainError::Unfinished { .. } => GUEST_FAULT,
            ChainError::Findings { .. } => UNVERIFIED,
            _ => BAD_INPUT,
        };
        Self {
            exit,
            ..Self::input(error)
        }
    }
}

/// Makes an axis of `count` cells. Each cell is centred at its value, the first at `first`.
fn cells(name: &str, unit: &str, first: f64, cell: f64, count: usize) -> PlotAxis {
    let from = first - cell / 2.0;
    PlotAxis::new(name, unit, from, from + cell * count as f64)
}
