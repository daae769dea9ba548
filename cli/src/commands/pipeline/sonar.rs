//! `cp2 pipeline sonar`.

use super::{Common, Error, Found, on_all, title};
use crate::outcome::{Failure, Outcome};
use crate::picture::{Axis, Field};
use crate::table::{Align, Table};
use cp2_kernels::chain::{Contact, Sonar, SonarSpec};
use num_complex::Complex32;
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// Hydrophones, half a wavelength apart: rows of the input
    #[arg(long, value_name = "H", default_value_t = SonarSpec::default().hydrophones)]
    hydrophones: usize,
    /// Beams
    #[arg(long, value_name = "B", default_value_t = SonarSpec::default().beams)]
    beams: usize,
    /// Samples of each hydrophone in a block
    #[arg(long, value_name = "N", default_value_t = SonarSpec::default().samples)]
    samples: usize,
    /// Write the spectrogram of the loudest beam: .png or .svg [default: not written]
    #[arg(long, value_name = "FILE")]
    spectrogram: Option<PathBuf>,
}

/// Runs the sonar.
pub(super) fn run(args: &Args, json: bool) -> Result<Outcome, Failure> {
    let common = &args.common;
    common.check_outputs()?;
    if let Some(path) = &args.spectrogram {
        crate::picture::check_name(path)?;
        let mut outputs = crate::io::Outputs::beside(common.input.as_deref());
        for other in common.output.iter().chain(&common.picture) {
            outputs.check(other)?;
        }
        outputs.check(path)?;
    }
    let spec = SonarSpec {
        hydrophones: args.hydrophones,
        beams: args.beams,
        samples: args.samples,
        ..SonarSpec::default()
    };
    let mut machines = common.machines()?;
    let mut sonars = Vec::new();
    for on in &machines {
        sonars.push(Sonar::new(spec.clone(), &on.machine).map_err(Failure::input)?);
    }
    let blocks = common.load(spec.hydrophones, spec.samples, |seed| spec.sound(seed))?;
    let progress = crate::progress::steps(blocks.len() as u64, json);
    let (mut error, mut spectra) = (Error::default(), Vec::new());
    let (mut contacts, mut bearings): (Vec<Contact>, Vec<f32>) = (Vec::new(), Vec::new());
    for block in &blocks {
        progress.begin("blocks");
        let mut planned = sonars.iter();
        let picture = on_all(&mut machines, |_| {
            let sonar = planned
                .next()
                .ok_or_else(|| Failure::input("--machine: expected at least one machine"))?;
            let picture = sonar
                .process(block, &common.options())
                .map_err(Failure::input)?;
            let stages = picture.stages.clone();
            Ok((picture, stages))
        })?;
        if let Some(sonar) = sonars.first() {
            error.add(&picture.spectra, &sonar.reference(block));
            contacts = sonar.contacts(&picture);
            bearings = sonar.bearings(&picture);
        }
        spectra.extend(picture.spectra);
        progress.done();
    }
    drop(progress);
    let missed = if common.input.is_none() {
        judge(&spec, &contacts)
    } else {
        Vec::new()
    };
    let mut json = json!({"blocks": blocks.len(), "spec": spec, "contacts": contacts});
    let mut more = String::new();
    if let Some(path) = &args.spectrogram {
        crate::picture::write(path, &spectrogram(&spec, &spectra, &bearings, blocks.len()))?;
        json["spectrogram"] = json!(crate::io::shown(path));
        more = format!("spectrogram: {}\n", path.display());
    }
    let found = Found {
        name: "sonar",
        text: text(&contacts, blocks.len(), &spec) + &more,
        json,
        signal_seconds: spec.seconds() * blocks.len() as f64,
        error,
        missed,
        shape: vec![blocks.len() * spec.beams, spec.frames(), spec.points],
        spectra,
        field: field(
            &spec,
            bearings,
            title("Bearing and frequency", common.input.as_deref()),
        ),
    };
    common.conclude(found, &machines)
}

/// Every source has its contact within a beam and two points, and there are no others.
fn judge(spec: &SonarSpec, contacts: &[Contact]) -> Vec<String> {
    let beam = 2.0 / spec.beams as f64;
    let near = |a: &Contact, b: &Contact| {
        let sines = [a, b].map(|c| c.bearing_deg.to_radians().sin());
        (sines[0] - sines[1]).abs() <= 1.1 * beam
            && (a.frequency_hz - b.frequency_hz).abs() <= 2.1 * spec.frequency_cell()
    };
    let sources = spec.contacts();
    let missed = sources
        .iter()
        .filter(|s| !contacts.iter().any(|c| near(s, c)))
        .map(|s| {
            format!(
                "the source at {:+.1} degrees, {:+.1} Hz was not found",
                s.bearing_deg, s.frequency_hz
            )
        });
    let ghosts = contacts
        .iter()
        .filter(|c| !sources.iter().any(|s| near(s, c)))
        .map(|c| {
            format!(
                "nothing is at {:+.1} degrees, {:+.1} Hz",
                c.bearing_deg, c.frequency_hz
            )
        });
    missed.chain(ghosts).collect()
}

fn text(contacts: &[Contact], blocks: usize, spec: &SonarSpec) -> String {
    let mut table = Table::new(&[Align::Right, Align::Right, Align::Right]);
    table.row(["bearing", "frequency", "above the median"]);
    for c in contacts.iter().take(20) {
        table.row([
            format!("{:+.1} degrees", c.bearing_deg),
            format!("{:+.1} Hz", c.frequency_hz),
            format!("{:.1} dB", c.level),
        ]);
    }
    format!(
        "{blocks} x {} samples of {} hydrophones, {} beams; {} contacts in the last block\n{table}\n",
        spec.samples,
        spec.hydrophones,
        spec.beams,
        contacts.len()
    )
}

/// Frequency to the right, beams upwards.
fn field(spec: &SonarSpec, bearings: Vec<f32>, title: String) -> Field {
    let half = spec.points as f64 / 2.0 * spec.frequency_cell();
    Field {
        title,
        columns: spec.points,
        rows: spec.beams,
        values: bearings,
        x: Axis::new("frequency from the centre", "Hz", -half, half),
        y: Axis::new(
            "sine of the bearing",
            "",
            spec.sine(0),
            spec.sine(spec.beams),
        ),
        unit: "dB".to_owned(),
        range: 30.0,
    }
}

/// Time to the right, frequency upwards, for the beam with the loudest cell.
fn spectrogram(spec: &SonarSpec, spectra: &[Complex32], bearings: &[f32], blocks: usize) -> Field {
    let loudest = bearings
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or(0, |(i, _)| i / spec.points);
    let beam = spec.frames() * spec.points;
    let mut rows = Vec::new();
    for block in spectra.chunks(beam * spec.beams) {
        for frame in block
            .chunks(beam)
            .nth(loudest)
            .unwrap_or_default()
            .chunks(spec.points)
        {
            let (above, below) = frame.split_at(spec.points.div_ceil(2));
            rows.extend(below.iter().chain(above).copied());
        }
    }
    let half = spec.points as f64 / 2.0 * spec.frequency_cell();
    Field::spectra(
        &rows,
        spec.points,
        spec.points,
        format!("Beam at sine {:+.3}", spec.sine(loudest)),
        Axis::new("time", "s", 0.0, spec.seconds() * blocks as f64),
        Axis::new("frequency from the centre", "Hz", -half, half),
    )
}
