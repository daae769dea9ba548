//! Transforms on backends whose times are measured.

use super::{Args, AxisLengths, check_batch_memory};
use crate::backends::{MeasuredBackend, MeasuredRun, SIMULATED_KEYS, error_text};
use crate::commands::signal::{Signal, SignalOrigin};
use crate::io::display_path;
use crate::memory::check_memory;
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::picture;
use cp2_host::ValueSource as _;
use cp2_kernels::fft::{FftProblem, TransformDirection, hermitian};
use cp2_problems::fft::RealFftProblem;
use cp2_problems::{NamedArrays, Problem, Values, Verdict};
use num_complex::Complex32;
use serde_json::json;
use std::borrow::Cow;

/// Bytes of memory for a number: input, output, and reference.
const NUMBER: u64 = 80;

/// Keys of figures of plans.
const PLANNED: [&str; 6] = [
    "pages",
    "stages",
    "buffering",
    "recipe_floor_cycles",
    "recipe_floor_formula",
    "recipe_floor_efficiency",
];

/// Transforms of one length.
#[derive(Clone, Debug)]
struct MeasuredTransforms {
    /// Axes of a transform; one axis where it is real.
    axes: Vec<usize>,
    /// Numbers of a row of the input.
    row: usize,
    direction: TransformDirection,
    real: bool,
}

impl MeasuredTransforms {
    fn len(&self) -> usize {
        self.axes.iter().product()
    }

    fn problem(&self, batch: usize) -> Result<Box<dyn Problem>, CommandFailure> {
        let problem = match self.real {
            true => RealFftProblem::new(self.len(), self.direction, batch)
                .map(|problem| Box::new(problem) as Box<dyn Problem>),
            false => FftProblem::from_axes(&self.axes, self.direction, batch)
                .map(|problem| Box::new(problem) as Box<dyn Problem>),
        };
        problem.map_err(CommandFailure::input)
    }

    /// Returns the input of the problem.
    fn input(&self, problem: &dyn Problem, mut x: Vec<Complex32>) -> NamedArrays {
        let forms = problem.inputs();
        let shape = forms.first().map_or(&[][..], |form| form.shape.as_slice());
        match (self.real, self.direction) {
            (false, _) => NamedArrays::from_array("x", shape, x),
            (true, TransformDirection::Forward) => {
                let x: Vec<f32> = x.iter().map(|z| z.re).collect();
                NamedArrays::from_array("x", shape, x)
            }
            (true, TransformDirection::Inverse) => {
                // The spectrum of real numbers has no imaginary parts there.
                for row in x.chunks_exact_mut(self.row) {
                    let last = if self.len().is_multiple_of(2) {
                        self.row - 1
                    } else {
                        0
                    };
                    for k in [0, last] {
                        if let Some(z) = row.get_mut(k) {
                            z.im = 0.0;
                        }
                    }
                }
                NamedArrays::from_array("x", shape, x)
            }
        }
    }
}

/// Transforms the signal on a backend, and reports measured times.
pub(super) fn run(
    args: &Args,
    backend: &MeasuredBackend<'_>,
) -> Result<CommandOutcome, CommandFailure> {
    let machine = MeasuredBackend::unlimited_machine()?;
    let direction = match args.inverse {
        true => TransformDirection::Inverse,
        false => TransformDirection::Forward,
    };
    let axes = args.shape.as_ref().map(|AxisLengths(axes)| axes.as_slice());
    let half = args.real && args.inverse && args.signal.input.is_some();
    let plan = |row: usize, batch: usize| {
        let n = match half {
            true => args.signal.n.unwrap_or(2 * row.saturating_sub(1)),
            false => row,
        };
        let axes = axes.map_or(vec![n], <[usize]>::to_vec);
        check_batch_memory(&machine, &axes, batch)?;
        let numbers = axes.iter().fold(batch, |n, &axis| n.saturating_mul(axis));
        let what = format!("{batch} transforms");
        check_memory(what, NUMBER.saturating_mul(numbers as u64))?;
        Ok(MeasuredTransforms {
            row: match args.real && args.inverse {
                true => n / 2 + 1,
                false => axes.iter().product(),
            },
            axes,
            direction,
            real: args.real,
        })
    };
    let (transforms, mut signal) = args.signal.load(&machine, axes, half, plan, |transforms| {
        (transforms.row, usize::MAX)
    })?;
    signal.close_row_gaps();
    let given = args.signal.input.is_some();
    match (args.real && given, args.inverse) {
        (true, false) => signal.expect_real(),
        (true, true) => signal.watch_ends(transforms.len()),
        (false, _) => {}
    }
    let x = read_rows(&mut signal, transforms.row)?;
    let batch = x.len() / transforms.row.max(1);
    let problem = transforms.problem(batch)?;
    let input = transforms.input(&*problem, x);
    let run = MeasuredRun::new(backend, &*problem, &input)?;
    let verdict = run.judge(&*problem, &input)?;
    let mut outcome = report(&transforms, batch, &*problem, &signal, (&run, verdict));
    write_results(args, &transforms, &signal, &run, &mut outcome)?;
    outcome.report_verdict(
        true,
        verdict,
        WrongResult {
            whose: "a transform's",
            tolerance: "the tolerance 2^-24 (2 + 3 log2 N)",
            cause: "the input is so large or small that f32 overflows or underflows",
        },
    );
    Ok(outcome)
}

/// Reads all rows; the frames of a recording are weighted.
fn read_rows(signal: &mut Signal, row: usize) -> Result<Vec<Complex32>, CommandFailure> {
    let count = signal.batch().saturating_mul(row);
    let mut x = vec![Complex32::default(); count];
    match signal.recording() {
        Some(recording) => {
            for (frame, values) in x.chunks_exact_mut(row).enumerate() {
                recording.row(frame, values);
            }
        }
        None => signal.fill_values(&mut x).map_err(CommandFailure::input)?,
    }
    Ok(x)
}

fn report(
    transforms: &MeasuredTransforms,
    batch: usize,
    problem: &dyn Problem,
    signal: &Signal,
    (run, verdict): (&MeasuredRun, Option<Verdict>),
) -> CommandOutcome {
    let nominal = if transforms.real { 2.5 } else { 5.0 };
    let n = transforms.len() as f64;
    let gflops = nominal * n * libm::log2(n) * batch as f64 / run.seconds / 1e9;
    let unit = format!("GFLOPS ({nominal} N log2 N)");
    let outside: &[&str] = match signal.origin {
        SignalOrigin::Sound { .. } => &["the frames of the recording are cut and weighted before"],
        _ => &[],
    };
    let figures = json!({
        "n": transforms.len(),
        "batch": batch,
        "inverse": transforms.direction == TransformDirection::Inverse,
        "real": transforms.real,
        "gflops": gflops.is_finite().then_some(gflops),
        "rel_error_vs_rustfft": verdict.map(|v| v.rms),
        "verified": verdict.map(|v| v.is_within_tolerance()),
        "worst_error_over_tolerance": verdict.map(|v| v.worst),
        "input": signal.origin.path().map(display_path),
        "stride": signal.stride,
        "outside_time": outside,
    });
    CommandOutcome {
        text: run.text(&problem.title(), Some((gflops, &unit)))
            + &error_text(verdict, "rustfft in f64", "transform")
            + &crate::simulation::outside_time(outside),
        json: run.json(
            "cp2-fft/1",
            signal.origin.seed(),
            &[&SIMULATED_KEYS, &PLANNED],
            figures,
        ),
        notes: signal.warnings(),
        ..CommandOutcome::default()
    }
}

/// Writes the transforms in the shape of the input, and the picture.
fn write_results(
    args: &Args,
    transforms: &MeasuredTransforms,
    signal: &Signal,
    run: &MeasuredRun,
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    let y = run.output.array("y").map_err(CommandFailure::input)?;
    let output_row = match (transforms.real, transforms.direction) {
        (true, TransformDirection::Forward) => transforms.len() / 2 + 1,
        _ => transforms.len(),
    };
    let mut shape = signal.shape.clone();
    if let Some(last) = shape.last_mut().filter(|_| transforms.row != output_row) {
        *last = *last / transforms.row * output_row;
    }
    run.write(args.output.as_deref(), ("y", &shape), outcome)?;
    if let Some(path) = &args.spectrogram {
        let numbers: Cow<'_, [Complex32]> = match &y.values {
            Values::Complex64(y) => y.into(),
            Values::F32(y) => y.iter().map(|&re| re.into()).collect::<Vec<_>>().into(),
            _ => Cow::default(),
        };
        let field = signal.picture(|b| {
            let row = numbers.get(b * output_row..(b + 1) * output_row);
            let row = row.unwrap_or_default();
            match output_row == transforms.len() {
                true => row.to_vec(),
                false => hermitian(row, transforms.len()),
            }
        });
        picture::write(path, &field)?;
        outcome.text += &format!("spectrogram: {}\n", path.display());
        outcome.json["spectrogram"] = json!(display_path(path));
    }
    if let SignalOrigin::Sound {
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
