//! `cp2 fft`: transforms an array, a recording or random numbers.

mod elsewhere;
mod measured;
mod planned;
mod show;

use measured::measure_recording;
pub(crate) use measured::{MeasuredBatch, measure};
pub(crate) use planned::{FftPlan, NumberArray};

use super::MachineArg;
use super::signal::{Signal, SignalArgs, SignalOrigin};
use crate::backends::{BackendArg, add_simulated_clock};
use crate::io::{Outputs, display_path, write_array};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::picture;
use crate::progress;
use crate::provenance::ReportProvenance;
use crate::simulation::{SimulationArgs, conclude, merge, outside_time};
use cp2_kernels::fft::TransformDirection;
use cp2_machine::Machine;
use num_complex::Complex32;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    signal: SignalArgs,
    /// Write the transforms in the shape of the input, with --stride a row each: .npy, complex64, float32
    /// where real [default: not written]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a picture of the spectra: .png or .svg [default: not written]
    #[arg(long, value_name = "FILE")]
    spectrogram: Option<PathBuf>,
    /// The inverse transform, exp(+2 pi i jk/N), not scaled [default: forward]
    #[arg(long)]
    inverse: bool,
    /// Real numbers to the N/2 + 1 numbers of their spectrum, or with --inverse back, where imaginary parts
    /// of numbers 0 and N/2 count as 0 [default: complex]
    #[arg(long)]
    real: bool,
    /// Transform arrays over all their axes: lengths with an x between, the last contiguous [default: rows]
    #[arg(long, value_name = "AxB", conflicts_with_all = ["n", "real", "spectrogram", "stride"], value_parser = shape)]
    shape: Option<AxisLengths>,
    /// List the recipes for the length with their expected cycles, and run nothing [default: run]
    #[arg(long, conflicts_with_all = ["input", "output", "spectrogram", "hop", "window", "channel", "stride"], conflicts_with_all = crate::simulation::SIMULATED)]
    plan: bool,
    #[command(flatten)]
    backend: BackendArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// Lengths of an array's axes, the last contiguous.
#[derive(Clone, Debug)]
struct AxisLengths(Vec<usize>);

fn shape(text: &str) -> Result<AxisLengths, String> {
    let axes = text.split('x').map(str::parse).collect::<Result<_, _>>();
    axes.map(AxisLengths)
        .map_err(|_| "expected lengths with an x between, as in 256x256".to_owned())
}

/// Runs `cp2 fft`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    check_outputs(args)?;
    if let Some(backend) = args.backend.measured()? {
        return elsewhere::run(args, &backend);
    }
    let machine: Arc<Machine> = Arc::new(args.machine.load()?);
    let direction = if args.inverse {
        TransformDirection::Inverse
    } else {
        TransformDirection::Forward
    };
    if args.plan {
        let asked = show::RequestedTransform {
            n: args.signal.length(),
            axes: args.shape.as_ref().map(|AxisLengths(axes)| axes.as_slice()),
            direction,
            real: args.real,
        };
        let batch = args.signal.batch(asked.numbers())?;
        check_batch_memory(&machine, asked.axes.unwrap_or(&[asked.n]), 1)?;
        let _planning = progress::planning(json);
        let mut outcome = show::show(&machine, &asked, batch)?;
        add_simulated_clock(&mut outcome);
        return Ok(outcome);
    }
    let half = args.real && args.inverse && args.signal.input.is_some();
    let plan = |row: usize, batch: usize| {
        let _planning = progress::planning(json);
        let axes = args.shape.as_ref().map(|AxisLengths(axes)| axes.as_slice());
        check_batch_memory(&machine, axes.unwrap_or(&[row]), batch)?;
        if let Some(AxisLengths(shape)) = &args.shape {
            return FftPlan::array(&machine, shape, direction, batch);
        }
        // The length of a row of half spectra implies an even transform length, unless `--n` is given.
        let n = match half {
            true => args.signal.n.unwrap_or(2 * row.saturating_sub(1)),
            false => row,
        };
        FftPlan::new(&machine, n, direction, args.real, batch)
    };
    let axes = args.shape.as_ref().map(|AxisLengths(axes)| axes.as_slice());
    let (fft, mut signal) = args.signal.load(&machine, axes, half, plan, |fft| {
        (fft.row(), fft.max_batch())
    })?;
    if args.real {
        signal.close_row_gaps();
    }
    let given = args.signal.input.is_some();
    match (args.real && given, args.inverse) {
        (true, false) => signal.expect_real(),
        (true, true) => signal.watch_ends(fft.len()),
        (false, _) => {}
    }
    let (options, watch) = args
        .simulation
        .begin(Some(fft.figures(signal.batch()).reference.get()), json);
    let stride = signal.stride;
    let measured = match signal.recording() {
        Some(recording) => measure_recording(&fft, recording, options)?,
        None => measure(&fft, &mut signal, stride, options)?,
    };
    drop(watch);
    let notes = signal.warnings();

    let outside: &[&str] = match signal.origin {
        SignalOrigin::Array(_) if signal.is_widened() && !args.real => {
            &["the real numbers of the file become complex ones as they are read"]
        }
        _ => &[],
    };
    let figures = merge(
        measured.figures(),
        json!({
            "input": signal.origin.path().map(display_path),
            "stride": signal.stride,
            "recipe": fft.recipe(signal.batch()),
            "outside_time": outside,
        }),
    );
    let mut outcome = CommandOutcome {
        text: measured.text() + &outside_time(outside),
        notes,
        json: ReportProvenance::new("cp2-fft/1", &machine, signal.origin.seed())
            .engine(args.simulation.engine().resolve_engine(&machine))
            .add_figures(figures),
        ..CommandOutcome::default()
    };
    add_simulated_clock(&mut outcome);
    if let Some(output) = measured.run.output {
        write_results(args, &fft, &signal, (&measured, output), &mut outcome)?;
    }
    args.simulation.emit(&measured.run.run, &mut outcome)?;
    let title = format!("{} on {}", measured.title(), machine.name);
    conclude(
        &args.simulation,
        &measured.run.run,
        &title,
        |file| fft.source(file).or_else(|| super::source_text(file)),
        &mut outcome,
    )?;
    measured.judge(&mut outcome);
    Ok(outcome)
}

/// Checks that this computer has the memory for a batch of transforms. A batch that exceeds the machine's
/// memory is refused later, with a message that says how many fit.
fn check_batch_memory(
    machine: &Machine,
    axes: &[usize],
    batch: usize,
) -> Result<(), CommandFailure> {
    let length = axes
        .iter()
        .fold(1, |n: usize, &axis| n.saturating_mul(axis));
    let numbers = length.saturating_mul(batch);
    let held = machine.host.memory.0 / std::mem::size_of::<Complex32>() as u64;
    if numbers as u64 > held {
        return Ok(());
    }
    let what = format!("{batch} transforms of {length} numbers");
    Ok(memory::check_memory(
        what,
        memory::transform_bytes(axes, numbers),
    )?)
}

fn check_outputs(args: &Args) -> Result<(), CommandFailure> {
    let mut outputs = Outputs::from_inputs(
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
    fft: &FftPlan,
    signal: &Signal,
    (measured, output): (&MeasuredBatch, NumberArray),
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    if let Some(path) = &args.output {
        let mut shape = signal.shape.clone();
        if let Some(last) = shape.last_mut().filter(|_| fft.row() != fft.output_row()) {
            // A row may be a part of a one-dimensional input, so that lengths are converted by ratio.
            *last = *last / fft.row() * fft.output_row();
        }
        let run = &measured.run.run;
        write_array(path, (output.kind(), &shape), run, output.place())?;
        outcome.text += &format!("output: {}\n", path.display());
        outcome.json["output"] = json!(display_path(path));
    }
    if let Some(path) = &args.spectrogram {
        let row = fft.output_row();
        let mut failed = Ok(());
        let field = signal.picture(|b| match measured.row(b, row) {
            Ok(numbers) => fft.expand_rows(&numbers, row).into_owned(),
            Err(error) => {
                failed = Err(error);
                Vec::new()
            }
        });
        failed?;
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
