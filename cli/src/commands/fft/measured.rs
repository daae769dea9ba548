//! A batch of transforms that has been run and judged, with its figures.

use super::{FftPlan, NumberArray};
use crate::digits::decimal;
use crate::interrupt;
use crate::io::{FramedRecording, TimedSource};
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::simulation::{figures, merge, table};
use crate::table::seconds;
use cp2_host::{DeviceOptions, RunPart, ValueSource};
use cp2_kernels::fft::{FftProblem, TransformDirection};
use cp2_kernels::job::Pass;
use cp2_kernels::{KernelRun, Verdict};
use cp2_problems::Problem as _;
use num_complex::Complex32;
use serde_json::json;
use std::time::Instant;

/// Batch that was transformed and compared with the reference.
pub(crate) struct MeasuredBatch {
    /// Problem that was computed.
    pub(crate) problem: FftProblem,
    /// True if the input or the output is real.
    pub(crate) real: bool,
    /// Lower bound of the recipe itself in cycles, with its formula.
    pub(crate) own: Option<(f64, &'static str)>,
    /// True if the input is still in system memory, where the result is judged by it.
    kept: bool,
    /// The run.
    pub(crate) run: KernelRun<NumberArray>,
    /// Comparison with the reference; `None` without a result or without finite input.
    pub(crate) verdict: Option<Verdict>,
    /// Seconds of host time for the simulation.
    pub(crate) host_seconds: f64,
}

/// Transforms a batch with a row every `stride` numbers, and judges the result.
pub(crate) fn measure(
    fft: &FftPlan,
    input: &mut dyn ValueSource<Complex32>,
    stride: usize,
    options: DeviceOptions,
) -> Result<MeasuredBatch, CommandFailure> {
    let numbers = usize::try_from(input.count()).unwrap_or(usize::MAX);
    let batch = numbers.div_ceil(stride.max(1));
    let problem =
        FftProblem::new(fft.len(), fft.direction(), batch).map_err(CommandFailure::input)?;
    let threads = options.threads;
    let mut input = TimedSource::new(input);
    let run = fft
        .process(&mut input, stride, options)
        .map_err(CommandFailure::input)?;
    let host_seconds = input.seconds();
    let kept = run.keeps_inputs().map_err(CommandFailure::input)?;
    let verdict = match (run.output, fft.input(&run)) {
        (Some(output), Some(input)) if kept => {
            let row = |b: usize, x: &mut [Complex32]| input.fetch(&run.run, b * stride, x);
            interrupt::run_interruptible(|| fft.judge(&problem, (&run, output), row, threads))??
        }
        _ => None,
    };
    Ok(MeasuredBatch {
        real: fft.is_real(),
        own: fft.recipe_floor(problem.batch()),
        problem,
        kept,
        run,
        verdict,
        host_seconds,
    })
}

/// Transforms the frames of a recording, which the same job cuts and weights, and judges the result.
pub(crate) fn measure_recording(
    fft: &FftPlan,
    recording: &FramedRecording,
    options: DeviceOptions,
) -> Result<MeasuredBatch, CommandFailure> {
    let count = recording.frames.count();
    let problem =
        FftProblem::new(fft.len(), fft.direction(), count).map_err(CommandFailure::input)?;
    let threads = options.threads;
    let started = Instant::now();
    let run = fft.process_recording(recording, options)?;
    let host_seconds = started.elapsed().as_secs_f64();
    let kept = run.keeps_inputs().map_err(CommandFailure::input)?;
    let verdict = match run.output {
        Some(output) if kept => {
            let row = |b: usize, x: &mut [Complex32]| {
                recording.row(b, x);
                Ok(())
            };
            interrupt::run_interruptible(|| fft.judge(&problem, (&run, output), row, threads))??
        }
        _ => None,
    };
    Ok(MeasuredBatch {
        real: fft.is_real(),
        own: fft.recipe_floor(count),
        problem,
        kept,
        run,
        verdict,
        host_seconds,
    })
}

impl MeasuredBatch {
    /// Returns one line that says what was computed.
    pub(crate) fn title(&self) -> String {
        if !self.real {
            return self.problem.title();
        }
        let (n, batch) = (self.problem.len(), self.problem.batch());
        let plural = if batch == 1 { "" } else { "s" };
        match self.problem.direction() {
            TransformDirection::Forward => {
                format!(
                    "{batch} forward FFT{plural} of {n} float32 to {} complex64",
                    n / 2 + 1
                )
            }
            TransformDirection::Inverse => {
                format!(
                    "{batch} inverse FFT{plural} of {} complex64 to {n} float32",
                    n / 2 + 1
                )
            }
        }
    }

    /// Returns the nominal operations of a transform in units of N log2 N.
    fn nominal(&self) -> f64 {
        if self.real { 2.5 } else { 5.0 }
    }

    /// Returns the nominal operations per second of simulated time in 10^9: 5 N log2 N per transform, half of
    /// that if real.
    ///
    /// Returns `None` for a run that did not finish, since the number of its transforms is unknown.
    pub(crate) fn gflops(&self) -> Option<f64> {
        let n = self.problem.len() as f64;
        let operations = self.nominal() * n * libm::log2(n) * self.problem.batch() as f64;
        let seconds = self.run.run.report.seconds_simulated;
        self.finished().then(|| operations / seconds / 1e9)
    }

    /// Returns the reference cycles divided by the measured cycles, if the run finished.
    fn efficiency(&self) -> Option<f64> {
        self.finished().then(|| self.run.efficiency())
    }

    /// Returns the recipe's lower bound divided by the measured cycles, if there is a bound.
    fn recipe_floor_efficiency(&self) -> Option<f64> {
        let cycles = self.run.run.report.cycles.max(1) as f64;
        self.own
            .filter(|_| self.finished())
            .map(|own| own.0 / cycles)
    }

    fn finished(&self) -> bool {
        self.run.run.report.end.is_finished()
    }

    /// Returns the figures as JSON fields.
    pub(crate) fn figures(&self) -> serde_json::Value {
        let report = &self.run.run.report;
        let own = json!({
            "n": self.problem.len(),
            "batch": self.problem.batch(),
            "inverse": self.problem.direction() == TransformDirection::Inverse,
            "real": self.real,
            "efficiency": self.efficiency(),
            "expected_cycles": self.run.expected.map(|price| price.0),
            "recipe_floor_cycles": self.own.map(|own| own.0),
            "recipe_floor_formula": self.own.map(|own| own.1),
            "recipe_floor_efficiency": self.recipe_floor_efficiency(),
            "gflops": self.gflops(),
            "rel_error_vs_rustfft": self.verdict.map(|v| v.rms),
            "worst_error_over_tolerance": self.verdict.map(|v| v.worst),
            "verified": self.verdict.map(|v| v.is_within_tolerance()),
            "buffering": self.run.passes[0].buffers(),
            "pages": self.run.passes.iter().map(Pass::pages).sum::<u64>(),
            "host_seconds": self.host_seconds,
            "stages": report.parts.iter().map(|part| json!({
                "name": part.name,
                "cycles": part.cycles,
                "causes": part.causes.to_map(),
            })).collect::<Vec<_>>(),
        });
        merge(figures(report), merge(own, json!(self.run.figures)))
    }

    /// Returns the figures as text.
    pub(crate) fn text(&self) -> String {
        let report = &self.run.run.report;
        let mut text = format!("{}\n{}", self.title(), table(report));
        if !report.parts.is_empty() {
            let stage = |part: &RunPart| format!("{} {} cycles", part.name, part.cycles);
            let stages: Vec<String> = report.parts.iter().map(stage).collect();
            text += &format!("stages: {}\n", stages.join(", "));
        }
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
                "error against rustfft in f64: {:.2e} relative RMS, worst transform {} of the tolerance\n",
                v.rms,
                decimal(v.worst, 2, 1.0)
            ),
            None => {
                "error against rustfft: not known (no result, or an input that is not finite)\n"
                    .to_owned()
            }
        };
        text + &format!("simulated in {}\n", seconds(self.host_seconds))
    }

    /// Reads row `b` of the result, with `row` numbers.
    pub(crate) fn row(&self, b: usize, row: usize) -> Result<Vec<Complex32>, CommandFailure> {
        let mut numbers = vec![Complex32::default(); row];
        if let Some(output) = self.run.output {
            let fetched = output.fetch(&self.run.run, b * row, &mut numbers);
            fetched.map_err(CommandFailure::input)?;
        }
        Ok(numbers)
    }

    /// Sets exit code and note of `outcome` if the result is wrong.
    pub(crate) fn judge(&self, outcome: &mut CommandOutcome) {
        let wrong = WrongResult {
            whose: "a transform's",
            tolerance: "the tolerance 2^-24 (2 + 3 log2 N)",
            cause: "the input is so large or small that f32 overflows or underflows",
        };
        outcome.report_verdict(self.kept, self.verdict, wrong);
    }
}
