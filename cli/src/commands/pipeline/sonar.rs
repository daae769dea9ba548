//! `cp2 pipeline sonar`: a passive sonar with a line of hydrophones.

use super::receive::{Keep, receive};
use super::report::{ChainFindings, conclude, listed, scene};
use super::{ChainOptions, cells, hertz};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::picture::{HeatMap, PlotAxis};
use crate::table::frequency;
use cp2_kernels::chain::{Contact, SonarPlan, SonarProblem, SonarSpec};
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: ChainOptions,
    /// Hydrophones, half a wavelength of the centre frequency apart: rows of a block
    #[arg(long, value_name = "H", default_value_t = SonarSpec::default().hydrophones)]
    hydrophones: usize,
    /// Beams, evenly spaced in the sine of the bearing
    #[arg(long, value_name = "B", default_value_t = SonarSpec::default().beams)]
    beams: usize,
    /// Samples of each hydrophone in a block
    #[arg(long, value_name = "N", default_value_t = SonarSpec::default().samples)]
    samples: usize,
    /// Complex samples per second, around the centre frequency
    #[arg(long, value_name = "HZ", value_parser = hertz, default_value_t = SonarSpec::default().sample_rate)]
    sample_rate: f64,
    /// Keep one of so many samples behind the filter
    #[arg(long, value_name = "D", default_value_t = SonarSpec::default().decimate)]
    decimate: usize,
    /// Taps of the filter, a low pass of 0.45 of the rate it leaves
    #[arg(long, value_name = "T", default_value_t = SonarSpec::default().taps)]
    taps: usize,
    /// Points of a spectrum
    #[arg(long, value_name = "N", default_value_t = SonarSpec::default().points)]
    points: usize,
    /// Write the spectrogram of the loudest beam: .png or .svg [default: not written]
    #[arg(long, value_name = "FILE")]
    spectrogram: Option<PathBuf>,
}

/// Runs `cp2 pipeline sonar`.
pub(super) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let common = &args.common;
    common.check_outputs(None, args.spectrogram.as_deref())?;
    let spec = SonarSpec {
        hydrophones: args.hydrophones,
        beams: args.beams,
        samples: args.samples,
        sample_rate: args.sample_rate,
        decimate: args.decimate,
        taps: args.taps,
        points: args.points,
    };
    let problem = SonarProblem::new(spec.clone()).map_err(CommandFailure::input)?;
    let results = receive(
        common,
        &problem,
        |machine| SonarPlan::new(problem.clone(), machine),
        ["--hydrophones", "--samples"],
        Keep {
            spectra: common.output.is_some(),
            decibels: args.spectrogram.is_some(),
        },
        json,
    )?;
    let contacts = problem.contacts(&results.last.spectra);
    let bearings = problem.bearings(&results.last.spectra);
    let (scene, note) = scene(common, json!(spec.sources()), spec.resolves_sources());
    let missed = if scene["judged"] == true {
        problem.faults(&contacts)
    } else {
        Vec::new()
    };
    let mut pictures = Vec::new();
    if let Some(path) = &common.picture {
        let title = common.title("Bearing and frequency");
        let sine = |degrees: f64| libm::sin(degrees.to_radians());
        let found = contacts
            .iter()
            .map(|c| [c.frequency_hz, sine(c.bearing_deg)]);
        let field = field(&spec, &bearings, title);
        pictures.push(("picture", path.as_path(), field.marked(found)));
    }
    if let Some(path) = &args.spectrogram {
        let field = spectrogram(&spec, &results.decibels, &bearings, results.blocks);
        pictures.push(("spectrogram", path.as_path(), field));
    }
    let found = ChainFindings {
        name: "sonar",
        text: text(&spec, results.blocks, &contacts) + note,
        json: json!({
            "spec": spec,
            "frequency_cell_hz": spec.frequency_cell(),
            "scene": scene,
            "contacts": contacts,
        }),
        seconds: spec.seconds(),
        missed,
        shape: vec![spec.beams, spec.frames(), spec.points],
        pictures,
    };
    conclude(common, &results, found)
}

fn text(spec: &SonarSpec, blocks: usize, contacts: &[Contact]) -> String {
    let rows = contacts.iter().map(|c| {
        [
            format!("{:+.1} degrees", c.bearing_deg),
            format!("{:+.1} Hz", c.frequency_hz),
            format!("{:.1} dB", c.above_db),
        ]
    });
    format!(
        "{} hydrophones half a wavelength apart, {} samples of each at {}, {} beams\n\
         one of {} samples behind {} taps; {} spectra of {} points a beam, {:.3} Hz apart\n\
         {blocks} x {} samples; {} contacts in the last block\n{}",
        spec.hydrophones,
        spec.samples,
        frequency(spec.sample_rate),
        spec.beams,
        spec.decimate,
        spec.taps,
        spec.frames(),
        spec.points,
        spec.frequency_cell(),
        spec.samples,
        contacts.len(),
        listed(["bearing", "frequency", "above the median"], rows)
    )
}

fn frequencies(spec: &SonarSpec) -> PlotAxis {
    let (cell, points) = (spec.frequency_cell(), spec.points);
    cells(
        "frequency from the centre",
        "Hz",
        spec.frequency(0),
        cell,
        points,
    )
}

/// Makes the bearing map: frequency to the right, beams upwards.
fn field(spec: &SonarSpec, bearings: &[f32], title: String) -> HeatMap {
    let (points, beams) = (spec.points, spec.beams);
    let value = |i: usize, beam: usize| {
        let cell = bearings.get(beam * points + i);
        cell.copied().unwrap_or(f32::NAN)
    };
    let apart = spec.sine(1) - spec.sine(0);
    let sines = cells("sine of the bearing", "", spec.sine(0), apart, beams);
    HeatMap::new(
        title,
        [points, beams],
        value,
        frequencies(spec),
        sines,
        30.0,
    )
}

/// Makes the spectrogram of the beam with the loudest cell: time to the right, frequency upwards.
fn spectrogram(spec: &SonarSpec, decibels: &[f32], bearings: &[f32], blocks: usize) -> HeatMap {
    let (points, frames) = (spec.points, spec.frames());
    let loudest = bearings
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or(0, |(i, _)| i / points);
    let order: Vec<usize> = spec.list_by_frequency().collect();
    let value = |column: usize, i: usize| {
        let (block, frame) = (column / frames, column % frames);
        let row = (block * spec.beams + loudest) * frames + frame;
        let cell = order.get(i).map(|point| row * points + point);
        cell.and_then(|cell| decibels.get(cell))
            .copied()
            .unwrap_or(f32::NAN)
    };
    HeatMap::new(
        format!("Beam at sine {:+.3}", spec.sine(loudest)),
        [frames * blocks, points],
        value,
        PlotAxis::new("time", "s", 0.0, spec.seconds() * blocks as f64),
        frequencies(spec),
        80.0,
    )
}
