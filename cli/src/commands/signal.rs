//! The input of `cp2 fft`: an array, a recording, or generated numbers.

mod rows;

pub(crate) use rows::{Signal, SignalOrigin};

use crate::io::{
    FileError, FileValues, FramedRecording, Kind, Npy, WindowArg, extension, read_wav,
};
use crate::outcome::CommandFailure;
use cp2_kernels::Random;
use cp2_machine::Machine;
use std::path::{Path, PathBuf};

/// Points of a transform without an input or `--n`.
const DEFAULT_N: usize = 1024;
/// Number of generated transforms without `--batch`; fewer if they are long.
const DEFAULT_BATCH: usize = 256;
/// Most numbers that are generated without `--batch`.
const DEFAULT_NUMBERS: usize = 1 << 20;

/// Options for the input.
#[derive(Debug, clap::Args)]
pub(crate) struct SignalArgs {
    /// Signal: .npy (complex64 or float32, transformed along the last axis) or .wav [default: random numbers]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Points of a transform [default: what the rows of a 2-D input tell, else 1024]
    #[arg(long, value_name = "N")]
    pub(crate) n: Option<usize>,
    /// Transforms to generate [default: 256, of long ones as many as have 2^20 numbers, at least 1]
    #[arg(long, value_name = "B", conflicts_with = "input")]
    batch: Option<usize>,
    /// Seed of the generated numbers, uniform in [-1, 1)
    #[arg(long, value_name = "S", default_value_t = 1, conflicts_with = "input")]
    seed: u64,
    /// Samples from a frame of a recording to the next [default: half of N, at least 1]
    #[arg(long, value_name = "SAMPLES")]
    hop: Option<usize>,
    /// Window on the frames of a recording [default: hann]
    #[arg(long, value_name = "WINDOW")]
    window: Option<WindowArg>,
    /// Channel of a recording, from 0 [default: 0]
    #[arg(long, value_name = "C")]
    channel: Option<u16>,
    /// Numbers from the beginning of a transform of --n to the next in an .npy, whose rows follow each other
    /// as one; what lies between is left out [default: N]
    #[arg(long, value_name = "NUMBERS", requires = "n", requires = "input")]
    stride: Option<usize>,
}

impl SignalArgs {
    /// Returns the length that is requested when there is no input.
    pub(crate) fn length(&self) -> usize {
        self.n.unwrap_or(DEFAULT_N)
    }

    /// Returns the number of transforms of `n` numbers to generate.
    pub(crate) fn batch(&self, n: usize) -> Result<usize, CommandFailure> {
        let most = DEFAULT_NUMBERS / n.max(1);
        match self.batch.unwrap_or(DEFAULT_BATCH.min(most).max(1)) {
            0 => Err(CommandFailure::input(
                "--batch 0: nothing to transform; expected at least 1",
            )),
            batch => Ok(batch),
        }
    }

    /// Loads a signal for `machine`. Sizes are checked before numbers are made.
    ///
    /// `plan` makes a plan for a number of transforms of a length. `axes` are the axes of a transform if
    /// neither `--n` nor the array gives them. `half` says that the rows of a file hold half spectra of N / 2
    /// + 1 numbers. `limits` returns a plan's length and the most transforms it can take.
    pub(crate) fn load<T>(
        &self,
        machine: &Machine,
        axes: Option<&[usize]>,
        half: bool,
        plan: impl Fn(usize, usize) -> Result<T, CommandFailure>,
        limits: impl Fn(&T) -> (usize, usize),
    ) -> Result<(T, Signal), CommandFailure> {
        let Some(path) = &self.input else {
            self.only_for_sound(None)?;
            if self.stride.is_some() {
                return Err(CommandFailure::input(
                    "--stride applies to .npy inputs, not to no input; leave it out",
                ));
            }
            let n = axes.map_or(self.length(), numbers);
            let plan = plan(self.length(), self.batch(n)?)?;
            let signal = self.generate(limits(&plan))?;
            return Ok((plan, signal));
        };
        let signal = match extension(path).as_str() {
            "npy" => {
                self.only_for_sound(Some(path))?;
                self.array(path, axes, half, machine.host.memory.0)?
            }
            "wav" if half || axes.is_some() || self.stride.is_some() => {
                let option = match (self.stride, half) {
                    (Some(_), _) => "--stride",
                    (_, true) => "--real --inverse",
                    _ => "--shape",
                };
                return Err(CommandFailure::input(format!(
                    "{}: {option} takes an .npy, not a recording; leave it out",
                    path.display()
                )));
            }
            "wav" => self.sound(path, |n| Ok(limits(&plan(n, DEFAULT_BATCH)?).1))?,
            _ => {
                return Err(FileError::Extension {
                    path: path.clone(),
                    expected: ".npy, .wav",
                }
                .into());
            }
        };
        let plan = plan(signal.n, signal.batch())?;
        let (_, most) = limits(&plan);
        if signal.batch() > most {
            return Err(too_many(signal.n, signal.batch(), most));
        }
        Ok((plan, signal))
    }

    /// Refuses a length that no transform has.
    fn check_length(&self) -> Result<(), CommandFailure> {
        match self.n {
            Some(0) => Err(CommandFailure::input(
                "--n 0: expected at least 1, the points of a transform",
            )),
            _ => Ok(()),
        }
    }

    fn only_for_sound(&self, path: Option<&Path>) -> Result<(), CommandFailure> {
        let given = [
            ("--hop", self.hop.is_some()),
            ("--window", self.window.is_some()),
            ("--channel", self.channel.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => {
                let input = path.map_or("no input".to_owned(), |p| p.display().to_string());
                Err(CommandFailure::input(format!(
                    "{option} applies to .wav inputs, not to {input}; leave it out"
                )))
            }
            None => Ok(()),
        }
    }

    fn generate(&self, (n, most): (usize, usize)) -> Result<Signal, CommandFailure> {
        let batch = self.batch(n)?;
        if batch > most {
            return Err(too_many(n, batch, most));
        }
        let values = FileValues::Complex(Random::new(self.seed));
        let origin = SignalOrigin::Seed(self.seed);
        Ok(Signal::new(origin, vec![batch, n], n, values))
    }

    fn array(
        &self,
        path: &Path,
        axes: Option<&[usize]>,
        half: bool,
        limit: u64,
    ) -> Result<Signal, CommandFailure> {
        self.check_length()?;
        let array = Npy::open(path, Kind::SIGNAL, limit)?;
        if let Some(axes) =
            axes.filter(|axes| array.shape.len() > 1 && !array.shape.ends_with(axes))
        {
            let found = format!(
                "axes {} and --shape {}",
                lengths(&array.shape),
                lengths(axes)
            );
            return Err(FileError::format(
                path,
                found,
                "an array whose last axes are those of --shape, or a one-dimensional one",
            )
            .into());
        }
        let row = |n: usize| if half { n / 2 + 1 } else { n };
        if let Some(stride) = self.stride {
            return Signal::read_spectra(path, row(self.length()), stride, array);
        }
        let n = match (axes, array.shape.as_slice()) {
            (Some(axes), _) => numbers(axes),
            (None, &[.., _, columns]) => columns,
            _ => row(self.length()),
        };
        if let Some(wanted) = self.n.filter(|&wanted| row(wanted) != n) {
            let found = format!("rows of {n} numbers and --n {wanted}");
            let expected = if half {
                format!(
                    "rows of {}, the half spectrum of {wanted} real numbers: leave --n out, or reshape the array",
                    row(wanted)
                )
            } else {
                "rows of as many numbers: leave --n out, or reshape the array".to_owned()
            };
            return Err(FileError::format(path, found, expected).into());
        }
        let numbers = array.elements();
        if numbers == 0 || n == 0 {
            return Err(FileError::format(
                path,
                "an array without elements",
                "at least one transform",
            )
            .into());
        }
        if numbers % n != 0 {
            let found = format!("{numbers} numbers, no multiple of N = {n}");
            return Err(FileError::format(
                path,
                found,
                "whole transforms: choose another --n, or pad the array",
            )
            .into());
        }
        let origin = SignalOrigin::Array(path.to_owned());
        let shape = array.shape.clone();
        Ok(Signal::new(origin, shape, n, FileValues::Array(array)))
    }

    /// Loads a recording; `most` is the number of transforms of the length that the machine can take.
    fn sound(
        &self,
        path: &Path,
        most: impl Fn(usize) -> Result<usize, CommandFailure>,
    ) -> Result<Signal, CommandFailure> {
        self.check_length()?;
        let n = self.n.unwrap_or(DEFAULT_N);
        let most = most(n)?;
        let hop = self.hop.unwrap_or((n / 2).max(1));
        if hop == 0 || hop > n {
            return Err(CommandFailure::input(format!(
                "--hop {hop}: expected 1 to N = {n}, so that every sample is in a frame"
            )));
        }
        // Frames overlap, so that few samples can make many of them.
        let limit = match most {
            0 => 0,
            _ => (most - 1).saturating_mul(hop).saturating_add(n),
        };
        let sound = read_wav(path, self.channel.unwrap_or(0), limit)?;
        if sound.samples.is_empty() {
            return Err(FileError::format(path, "no samples", "at least one").into());
        }
        let samples = sound.samples.len();
        let window = self.window.unwrap_or(WindowArg::Hann);
        let recording = FramedRecording::new(sound.samples, n, hop, window);
        let count = recording.frames.count();
        let frames_padded = ((count - 1) * hop + n).saturating_sub(samples);
        let origin = SignalOrigin::Sound {
            path: path.to_owned(),
            rate: sound.rate,
            hop,
            frames_padded,
            warning: sound.warning,
        };
        let values = FileValues::Recording(recording);
        Ok(Signal::new(origin, vec![count, n], n, values))
    }
}

/// Returns the count of numbers in an array.
fn numbers(axes: &[usize]) -> usize {
    axes.iter().fold(1, |n, &d| n.saturating_mul(d))
}

/// Formats lengths of axes in the syntax of `--shape`.
fn lengths(axes: &[usize]) -> String {
    let lengths: Vec<String> = axes.iter().map(usize::to_string).collect();
    lengths.join("x")
}

pub(crate) fn too_many(n: usize, batch: usize, most: usize) -> CommandFailure {
    CommandFailure::input(match most {
        0 => format!(
            "a transform of {n} points does not fit the machine's system memory; expected a shorter one, or a machine with more memory"
        ),
        _ => format!(
            "{batch} transforms of {n} points do not fit the machine's system memory; expected at most {most}, or a machine with more memory"
        ),
    })
}
