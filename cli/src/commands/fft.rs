//! `cp2 fft`.

mod planned;
mod show;

pub(crate) use planned::Planned;

use super::MachineArg;
use super::signal::{Origin, Signal, SignalArgs};
use crate::io::{Array, Outputs, shown, write_whole};
use crate::outcome::{Failure, Outcome, UNVERIFIED};
use crate::picture;
use crate::progress;
use crate::provenance::Provenance;
use crate::simulation::{SimulationArgs, conclude, figures, merge, outside_time, table};
use crate::table::seconds;
use cp2_host::Options;
use cp2_kernels::Verdict;
use cp2_kernels::fft::{Direction, FftProblem, FftRun};
use cp2_kernels::job::Pass;
use cp2_machine::Machine;
use cp2_problems::Problem as _;
use num_complex::Complex32;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    signal: SignalArgs,
    /// Write the transforms in the shape of the input, with --stride a row each: .npy, complex64, float32 where real [default: not written]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a picture of the spectra: .png or .svg [default: not written]
    #[arg(long, value_name = "FILE")]
    spectrogram: Option<PathBuf>,
    /// The inverse transform, exp(+2 pi i jk/N), not scaled [default: forward]
    #[arg(long)]
    inverse: bool,
    /// Real numbers to the N/2 + 1 numbers of their spectrum, or with --inverse back, where imaginary parts of numbers 0 and N/2 count as 0 [default: complex]
    #[arg(long)]
    real: bool,
    /// Transform arrays over all their axes: lengths with an x between, the last contiguous [default: rows]
    #[arg(long, value_name = "AxB", conflicts_with_all = ["n", "real", "spectrogram", "stride"], value_parser = shape)]
    shape: Option<Shape>,
    /// List the recipes for the length with their expected cycles, and run nothing [default: run]
    #[arg(long, conflicts_with_all = ["input", "output", "spectrogram", "emit", "trace", "profile", "check", "max_cycles", "hop", "window", "channel", "stride"])]
    plan: bool,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// The lengths of an array's axes.
#[derive(Clone, Debug)]
struct Shape(Vec<usize>);

fn shape(text: &str) -> Result<Shape, String> {
    let axes = text.split('x').map(str::parse).collect::<Result<_, _>>();
    axes.map(Shape)
        .map_err(|_| "expected lengths with an x between, as in 256x256".to_owned())
}

/// A batch that was transformed and compared with the reference.
pub(crate) struct Measured {
    /// Problem.
    pub(crate) problem: FftProblem,
    /// Whether input or output are real numbers.
    pub(crate) real: bool,
    /// The least cycles of the recipe itself, and the formula.
    pub(crate) own: Option<(f64, &'static str)>,
    /// Run.
    pub(crate) run: FftRun,
    /// Comparison; none where there is no result or no finite input.
    pub(crate) verdict: Option<Verdict>,
    /// Seconds of real time for the simulation.
    pub(crate) host_seconds: f64,
}

/// Transforms a batch, a row every `stride` numbers, on a plan and judges the result.
pub(crate) fn measure(
    fft: &Planned,
    input: &[Complex32],
    stride: usize,
    options: Options,
) -> Result<Measured, Failure> {
    let problem = FftProblem::new(
        fft.len(),
        fft.direction(),
        input.len().div_ceil(stride.max(1)),
    )
    .map_err(Failure::input)?;
    let started = Instant::now();
    let run = fft
        .process(input, stride, options)
        .map_err(Failure::input)?;
    let host_seconds = started.elapsed().as_secs_f64();
    let rows = input.chunks(stride.max(1));
    let input: Vec<Complex32> = rows
        .flat_map(|row| row.iter().take(fft.row()))
        .copied()
        .collect();
    let finite = input.iter().all(|z| z.re.is_finite() && z.im.is_finite());
    let output = run.output.as_ref().filter(|_| finite);
    let verdict = output.map(|output| fft.judge(&problem, &input, output));
    Ok(Measured {
        real: fft.is_real(),
        own: fft.recipe_floor(problem.batch()),
        problem,
        run,
        verdict,
        host_seconds,
    })
}

impl Measured {
    /// One line that says what was computed.
    pub(crate) fn title(&self) -> String {
        if !self.real {
            return self.problem.title();
        }
        let (n, batch) = (self.problem.len(), self.problem.batch());
        let plural = if batch == 1 { "" } else { "s" };
        match self.problem.direction() {
            Direction::Forward => {
                format!(
                    "{batch} forward FFT{plural} of {n} float32 to {} complex64",
                    n / 2 + 1
                )
            }
            Direction::Inverse => {
                format!(
                    "{batch} inverse FFT{plural} of {} complex64 to {n} float32",
                    n / 2 + 1
                )
            }
        }
    }

    /// Nominal operations of a transform in units of N log2 N.
    fn nominal(&self) -> f64 {
        if self.real { 2.5 } else { 5.0 }
    }

    /// Nominal operations per second of simulated time, 5 N log2 N per transform
    /// (half of that if real), in 10^9.
    ///
    /// None where the run did not finish: what it did is unknown.
    pub(crate) fn gflops(&self) -> Option<f64> {
        let n = self.problem.len() as f64;
        let operations = self.nominal() * n * libm::log2(n) * self.problem.batch() as f64;
        let seconds = self.run.run.report.seconds_simulated;
        self.finished().then(|| operations / seconds / 1e9)
    }

    /// Reference by measured cycles, where the run finished.
    fn efficiency(&self) -> Option<f64> {
        self.finished().then(|| self.run.efficiency())
    }

    /// The recipe's floor by measured cycles, where it has one.
    fn recipe_floor_efficiency(&self) -> Option<f64> {
        let cycles = self.run.run.report.cycles.max(1) as f64;
        self.own
            .filter(|_| self.finished())
            .map(|own| own.0 / cycles)
    }

    fn finished(&self) -> bool {
        self.run.run.report.end.is_finished()
    }

    /// The figures as JSON fields.
    pub(crate) fn figures(&self) -> serde_json::Value {
        let report = &self.run.run.report;
        let own = json!({
            "n": self.problem.len(),
            "batch": self.problem.batch(),
            "inverse": self.problem.direction() == Direction::Inverse,
            "real": self.real,
            "efficiency": self.efficiency(),
            "recipe_floor_cycles": self.own.map(|own| own.0),
            "recipe_floor_formula": self.own.map(|own| own.1),
            "recipe_floor_efficiency": self.recipe_floor_efficiency(),
            "gflops": self.gflops(),
            "rel_error_vs_rustfft": self.verdict.map(|v| v.rms),
            "worst_error_over_tolerance": self.verdict.map(|v| v.worst),
            "verified": self.verdict.map(|v| v.holds()),
            "buffering": self.run.passes[0].buffers(),
            "pages": self.run.passes.iter().map(Pass::pages).sum::<u64>(),
            "host_seconds": self.host_seconds,
        });
        merge(figures(report), merge(own, json!(self.run.figures)))
    }

    /// The figures as text.
    pub(crate) fn text(&self) -> String {
        let report = &self.run.run.report;
        let mut text = format!("{}\n{}", self.title(), table(report));
        text += &self.run.figures.text();
        text += &match self.efficiency().zip(self.gflops()) {
            Some((efficiency, gflops)) => {
                format!(
                    ", efficiency {efficiency:.3}, {gflops:.2} GFLOPS ({} N log2 N)\n",
                    self.nominal()
                )
            }
            None => ", not finished\n".to_owned(),
        };
        if let Some(((cycles, formula), efficiency)) = self.own.zip(self.recipe_floor_efficiency())
        {
            text += &format!(
                "the recipe takes {cycles:.0} cycles at least, {efficiency:.3} of what it took: {formula}\n"
            );
        }
        text += &match &self.verdict {
            Some(v) => format!(
                "error against rustfft in f64: {:.2e} relative RMS, worst transform {:.2} of the tolerance\n",
                v.rms, v.worst
            ),
            None => {
                "error against rustfft: not known (no result, or an input that is not finite)\n"
                    .to_owned()
            }
        };
        text + &format!("simulated in {}\n", seconds(self.host_seconds))
    }

    /// Exit code and note for a result that is wrong.
    pub(crate) fn judge(&self, outcome: &mut Outcome) {
        if let Some(v) = self.verdict.filter(|v| !v.holds()) {
            outcome.exit = outcome.exit.max(UNVERIFIED);
            outcome.notes += &format!(
                "error: a transform's error is {:.3} of the tolerance 2^-24 (2 + 3 log2 N); either the input is so large or small that f32 overflows or underflows, or this is a fault of cp2\n",
                v.worst
            );
        }
    }
}

/// Runs a batch of FFTs.
pub(crate) fn run(args: &Args, json: bool) -> Result<Outcome, Failure> {
    check_outputs(args)?;
    let machine: Arc<Machine> = Arc::new(args.machine.load()?);
    let direction = if args.inverse {
        Direction::Inverse
    } else {
        Direction::Forward
    };
    if args.plan {
        let asked = show::Asked {
            n: args.signal.length(),
            axes: args.shape.as_ref().map(|Shape(axes)| axes.as_slice()),
            direction,
            real: args.real,
        };
        let batch = args.signal.batch(asked.numbers())?;
        let _planning = progress::planning(json);
        return show::show(&machine, &asked, batch);
    }
    let half = args.real && args.inverse && args.signal.input.is_some();
    let plan = |row: usize, batch: usize| {
        let _planning = progress::planning(json);
        if let Some(Shape(shape)) = &args.shape {
            return Planned::array(&machine, shape, direction, batch);
        }
        // A row of half spectra tells the length, an even one, unless --n does.
        let n = match half {
            true => args.signal.n.unwrap_or(2 * row.saturating_sub(1)),
            false => row,
        };
        Planned::new(&machine, n, direction, args.real, batch)
    };
    let axes = args.shape.as_ref().map(|Shape(axes)| axes.as_slice());
    let (fft, mut signal) = args.signal.load(&machine, axes, half, plan, |fft| {
        (fft.row(), fft.max_batch())
    })?;
    if args.real {
        signal.close_up();
    }
    let given = args.signal.input.is_some();
    let mut notes = String::new();
    match (args.real, args.inverse) {
        (true, false) => signal.check_real(given)?,
        (true, true) => notes.extend(signal.real_ends(fft.len(), given)),
        (false, _) => {}
    }
    let (options, watch) = args
        .simulation
        .begin(Some(fft.figures(signal.batch()).reference.get()), json);
    let measured = measure(&fft, &signal.data, signal.stride, options)?;
    drop(watch);

    let outside: &[&str] = match signal.origin {
        Origin::Sound { .. } => &["framing, overlap and window of the recording"],
        _ => &[],
    };
    let figures = merge(
        measured.figures(),
        json!({
            "input": signal.origin.path().map(shown),
            "stride": signal.stride,
            "recipe": fft.recipe(signal.batch()),
            "outside_time": outside,
        }),
    );
    let mut outcome = Outcome {
        text: measured.text() + &outside_time(outside),
        notes,
        json: Provenance::new("cp2-fft/1", &machine, signal.origin.seed())
            .engine(args.simulation.engine().on(&machine))
            .with(figures),
        ..Outcome::default()
    };
    if let Some(output) = &measured.run.output {
        write_results(args, &fft, &signal, output, &mut outcome)?;
    }
    args.simulation.emit(&measured.run.run, &mut outcome)?;
    let title = format!("{} on {}", measured.title(), machine.name);
    let report = &measured.run.run.report;
    let program = fft.program(signal.batch())?;
    conclude(
        &args.simulation,
        report,
        program.as_deref(),
        &title,
        |file| fft.source(file).or_else(|| super::source_text(file)),
        &mut outcome,
    )?;
    measured.judge(&mut outcome);
    Ok(outcome)
}

fn check_outputs(args: &Args) -> Result<(), Failure> {
    let mut outputs = Outputs::beside(
        args.signal
            .input
            .as_deref()
            .into_iter()
            .chain(args.machine.file()),
    );
    if let Some(path) = &args.output {
        crate::io::check_extension(path, "npy", ".npy")?;
        outputs.check(path)?;
    }
    if let Some(path) = &args.spectrogram {
        picture::check_name(path)?;
        outputs.check(path)?;
    }
    args.simulation.check_outputs(&mut outputs)
}

fn write_results(
    args: &Args,
    fft: &Planned,
    signal: &Signal,
    output: &[Complex32],
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        let mut shape = signal.shape.clone();
        if let Some(last) = shape.last_mut().filter(|_| fft.row() != fft.output_row()) {
            // A row may be part of a one-dimensional input.
            *last = *last / fft.row() * fft.output_row();
        }
        let array = if matches!(fft, Planned::Inverse(_)) {
            Array::of_real(&shape, output)
        } else {
            Array::of_complex(&shape, output)
        };
        write_whole(path, &array.to_npy())?;
        outcome.text += &format!("output: {}\n", path.display());
        outcome.json["output"] = json!(shown(path));
    }
    if let Some(path) = &args.spectrogram {
        picture::write(path, &signal.picture(&fft.whole(output, fft.output_row())))?;
        outcome.text += &format!("spectrogram: {}\n", path.display());
        outcome.json["spectrogram"] = json!(shown(path));
    }
    if let Origin::Sound {
        rate,
        frames_padded,
        ..
    } = &signal.origin
    {
        outcome.json["sample_rate"] = json!(rate);
        outcome.json["samples_padded"] = json!(frames_padded);
    }
    Ok(())
}
