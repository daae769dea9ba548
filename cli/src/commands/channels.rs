//! Channels, taps and output files of the filter commands.

use super::MachineArg;
use crate::io::{
    FileError, FileValues, Kind, Npy, Outputs, check_extension, display_path, read_rows,
    write_array,
};
use crate::outcome::CommandFailure;
use cp2_host::{Buffer, FinishedRun, SourceError, ValueSource};
use cp2_kernels::Random;
use cp2_kernels::conv::{ChannelExtent, ConvolutionMode, FilterSample, OutputRate};
use cp2_machine::Machine;
use num_complex::Complex32;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Number of samples in a generated channel without `--samples`.
const DEFAULT_SAMPLES: usize = 65_536;
/// Number of generated taps without `--length`.
const DEFAULT_TAPS: usize = 129;
/// Most numbers that are generated: no machine's memory holds more.
const MOST: usize = 1 << 32;

/// Options for signal, taps and output.
#[derive(Debug, clap::Args)]
pub(crate) struct ChannelArgs {
    /// Signal, one channel or a channel in every row: .npy (complex64 or float32) [default: random numbers]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Taps: .npy (complex64 or float32, one dimension) [default: random numbers]
    #[arg(long, value_name = "FILE")]
    pub(crate) taps: Option<PathBuf>,
    /// Write the filtered channels in the type of the signal: .npy [default: not written]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Channels to generate [default: 1]
    #[arg(long, value_name = "C", conflicts_with = "input")]
    channels: Option<usize>,
    /// Samples of a generated channel [default: 65536]
    #[arg(long, value_name = "N", conflicts_with = "input")]
    samples: Option<usize>,
    /// Taps to generate [default: 129]
    #[arg(long, value_name = "L", conflicts_with = "taps")]
    length: Option<usize>,
    /// Generate real numbers [default: complex ones]
    #[arg(long)]
    real: bool,
    /// Print the kernels considered and their expected times, and filter nothing [default: filter]
    #[arg(long, conflicts_with = "output", conflicts_with_all = crate::simulation::SIMULATED)]
    pub(crate) plan: bool,
    /// Seed of generated numbers, uniform in [-1, 1) [default: 1]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// Signal whose channels are produced in order on demand, and the taps to filter it with.
#[derive(Debug)]
pub(crate) struct Channels {
    /// Shape of the input.
    pub(crate) shape: Vec<usize>,
    /// Number of channels.
    pub(crate) channels: usize,
    /// True if both samples and taps are real.
    pub(crate) real: bool,
    /// Source of the samples.
    values: FileValues,
    /// Number of samples not yet produced.
    left: usize,
    /// The taps.
    pub(crate) taps: Vec<Complex32>,
    /// Seed of the generated numbers, if anything was generated.
    pub(crate) seed: Option<u64>,
}

impl ValueSource<f32> for Channels {
    fn count(&self) -> u64 {
        self.left as u64
    }

    fn fill_values(&mut self, values: &mut [f32]) -> Result<(), SourceError> {
        self.left -= values.len();
        Ok(self.values.read_real(values)?)
    }
}

impl ValueSource<Complex32> for Channels {
    fn count(&self) -> u64 {
        self.left as u64
    }

    fn fill_values(&mut self, values: &mut [Complex32]) -> Result<(), SourceError> {
        self.left -= values.len();
        Ok(self.values.fill_values(values)?)
    }
}

impl Channels {
    /// True if real samples of a file are converted to complex ones because the taps are complex.
    pub(crate) fn is_widened(&self) -> bool {
        let array = match &self.values {
            FileValues::Array(array) => Some(array),
            _ => None,
        };
        !self.real && array.is_some_and(|array| array.kind != Kind::Complex64)
    }
}

impl ChannelArgs {
    /// Reads or generates signal and taps.
    pub(crate) fn load(
        &self,
        machine: &Machine,
        (mode, rate): (ConvolutionMode, OutputRate),
    ) -> Result<Channels, CommandFailure> {
        let limit = machine.host.memory.0;
        let generated = self.taps.is_none() || self.input.is_none();
        let unused = [("--real", self.real), ("--seed", self.seed.is_some())];
        if let Some((option, _)) = unused.iter().find(|(_, given)| *given && !generated) {
            return Err(CommandFailure::input(format!(
                "{option} is about generated numbers, and both --input and --taps are files; leave it out"
            )));
        }
        let seed = self.seed.unwrap_or(1);
        let mut random = Random::new(seed);
        let taps = match &self.taps {
            Some(path) => taps(path, limit)?,
            None => self.random_taps(&mut random, limit)?,
        };
        let (shape, real, values) = match &self.input {
            Some(path) => signal(path, limit)?,
            None => {
                let extent = self.extent(taps.len(), (mode, rate), limit)?;
                extent.check(machine).map_err(CommandFailure::input)?;
                let values = match self.real {
                    true => FileValues::Real(random),
                    false => FileValues::Complex(random),
                };
                (vec![extent.channels, extent.samples], self.real, values)
            }
        };
        Ok(Channels {
            channels: if let [rows, _] = *shape.as_slice() {
                rows
            } else {
                1
            },
            left: shape.iter().product(),
            shape,
            // Real samples with real taps stay real; complex taps make the samples complex.
            real: real && taps.iter().all(|h| h.im == 0.0),
            values,
            taps,
            seed: generated.then_some(seed),
        })
    }

    fn random_taps(
        &self,
        random: &mut Random,
        limit: u64,
    ) -> Result<Vec<Complex32>, CommandFailure> {
        let length = self.length.unwrap_or(DEFAULT_TAPS);
        sized("--length", length, limit)?;
        Ok(match self.real {
            true => (0..length).map(|_| random.uniform().into()).collect(),
            false => (0..length).map(|_| random.complex()).collect(),
        })
    }

    /// Checks the sizes of a generated signal and returns them.
    fn extent(
        &self,
        taps: usize,
        (mode, rate): (ConvolutionMode, OutputRate),
        limit: u64,
    ) -> Result<ChannelExtent, CommandFailure> {
        let channels = self.channels.unwrap_or(1);
        let samples = self.samples.unwrap_or(DEFAULT_SAMPLES);
        sized("--channels", channels, limit)?;
        sized("--samples", samples, limit)?;
        let all = channels.saturating_mul(samples);
        sized("--channels times --samples", all, limit)?;
        let number = if self.real { 4 } else { 8 };
        Ok(ChannelExtent {
            taps,
            channels,
            samples,
            mode,
            rate,
            number,
        })
    }

    /// Checks the outputs before the work starts.
    pub(crate) fn check_outputs(&self, machine: &MachineArg) -> Result<Outputs, CommandFailure> {
        for (option, path) in [("--input", &self.input), ("--taps", &self.taps)] {
            if let Some(path) = path {
                check_extension(path, "npy", ".npy")
                    .map_err(|e| CommandFailure::input(format!("{option}: {e}")))?;
            }
        }
        let mut outputs = Outputs::from_inputs(
            self.input
                .iter()
                .chain(&self.taps)
                .map(PathBuf::as_path)
                .chain(machine.file()),
        );
        if let Some(path) = &self.output {
            check_extension(path, "npy", ".npy")?;
            outputs.check(path)?;
        }
        Ok(outputs)
    }

    /// Writes the result of a run as an array: the shape of the signal, with the given number of outputs per
    /// channel.
    pub(crate) fn write<T: FilterSample>(
        &self,
        channels: &Channels,
        (run, result): (&FinishedRun, Buffer<T>),
        text: &mut String,
        json: &mut Value,
    ) -> Result<(), CommandFailure> {
        let Some(path) = &self.output else {
            return Ok(());
        };
        let mut shape = channels.shape.clone();
        if let Some(last) = shape.last_mut() {
            let outputs = usize::try_from(result.len()).unwrap_or(usize::MAX);
            *last = outputs / channels.channels.max(1);
        }
        let kind = match T::REAL {
            true => Kind::Float32,
            false => Kind::Complex64,
        };
        write_array(
            path,
            (kind, &shape),
            run,
            (result.address(), result.bytes()),
        )?;
        *text += &format!("output: {}\n", path.display());
        json["output"] = json!(display_path(path));
        Ok(())
    }
}

fn sized(option: &str, n: usize, limit: u64) -> Result<(), CommandFailure> {
    let most = usize::try_from(limit / 16).unwrap_or(MOST).min(MOST);
    if (1..=most).contains(&n) {
        return Ok(());
    }
    Err(CommandFailure::input(format!(
        "{option} {n}: expected 1 to {most}, what the machine's memory holds"
    )))
}

/// Reads the taps, which must be an array of one row.
pub(crate) fn taps(path: &Path, limit: u64) -> Result<Vec<Complex32>, CommandFailure> {
    let array = read_rows(path, Kind::SIGNAL, limit)?;
    let rows = if let [rows, _] = *array.shape.as_slice() {
        rows
    } else {
        1
    };
    if rows != 1 || array.bytes.is_empty() {
        let found = format!("an array of shape {:?}", array.shape);
        return Err(FileError::format(path, found, "one row of at least one tap").into());
    }
    Ok(array.to_complex())
}

/// Opens a signal file; returns the shape of its samples, whether they are real, and their source.
fn signal(path: &Path, limit: u64) -> Result<(Vec<usize>, bool, FileValues), CommandFailure> {
    let array = Npy::rows(path, Kind::SIGNAL, limit)?;
    if array.elements() == 0 {
        return Err(
            FileError::format(path, "an array without elements", "at least one sample").into(),
        );
    }
    let real = array.kind != Kind::Complex64;
    Ok((array.shape.clone(), real, FileValues::Array(array)))
}
