//! `cp2 pipeline radar`.

use super::{Common, Error, Found, on_all, title};
use crate::outcome::{Failure, Outcome};
use crate::picture::{Axis, Field};
use crate::table::{Align, Table};
use cp2_kernels::chain::{Detection, Radar, RadarSpec, Target};
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// Pulses that are processed together
    #[arg(long, value_name = "P", default_value_t = RadarSpec::default().pulses)]
    pulses: usize,
    /// Range cells; a pulse has so many samples and those of the chirp less one
    #[arg(long, value_name = "R", default_value_t = RadarSpec::default().ranges)]
    ranges: usize,
}

/// Runs the radar.
pub(super) fn run(args: &Args, json: bool) -> Result<Outcome, Failure> {
    let common = &args.common;
    common.check_outputs()?;
    let spec = RadarSpec {
        pulses: args.pulses,
        ranges: args.ranges,
        ..RadarSpec::default()
    };
    let mut machines = common.machines()?;
    let mut radars = Vec::new();
    for on in &machines {
        radars.push(Radar::new(spec.clone(), &on.machine).map_err(Failure::input)?);
    }
    let blocks = common.load(spec.pulses, spec.samples(), |seed| spec.echoes(seed))?;
    let progress = crate::progress::steps(blocks.len() as u64, json);
    let (mut error, mut spectra) = (Error::default(), Vec::new());
    let mut last = None;
    for block in &blocks {
        progress.begin("blocks");
        let mut planned = radars.iter();
        let map = on_all(&mut machines, |_| {
            let radar = planned
                .next()
                .ok_or_else(|| Failure::input("--machine: expected at least one machine"))?;
            let map = radar
                .process(block, &common.options())
                .map_err(Failure::input)?;
            let stages = map.stages.clone();
            Ok((map, stages))
        })?;
        if let Some(radar) = radars.first() {
            error.add(&map.spectra, &radar.reference(block));
            last = Some((radar.detections(&map), map.decibels));
        }
        spectra.extend(map.spectra);
        progress.done();
    }
    drop(progress);
    let (detections, decibels) = last.unwrap_or_default();
    let missed = if common.input.is_none() {
        judge(&spec, &detections)
    } else {
        Vec::new()
    };
    let found = Found {
        name: "radar",
        text: text(&detections, blocks.len(), &spec),
        json: json!({"blocks": blocks.len(), "spec": spec, "detections": detections}),
        signal_seconds: spec.seconds() * blocks.len() as f64,
        error,
        missed,
        shape: vec![blocks.len() * spec.ranges, spec.pulses],
        spectra,
        field: field(
            &spec,
            &decibels,
            title("Range and Doppler", common.input.as_deref()),
        ),
    };
    common.conclude(found, &machines)
}

/// Every target has its detection within a cell, and nothing else was detected.
fn judge(spec: &RadarSpec, detections: &[Detection]) -> Vec<String> {
    let near = |t: &Target, d: &Detection| {
        (t.range_m - d.range_m).abs() <= 1.5 * spec.range_cell()
            && (t.speed_m_s - d.speed_m_s).abs() <= 1.5 * spec.speed_cell()
    };
    let targets = spec.targets();
    let missed = targets
        .iter()
        .filter(|t| !detections.iter().any(|d| near(t, d)))
        .map(|t| {
            format!(
                "the target at {:.0} m, {:+.1} m/s was not found",
                t.range_m, t.speed_m_s
            )
        });
    let ghosts = detections
        .iter()
        .filter(|d| !targets.iter().any(|t| near(t, d)))
        .map(|d| format!("nothing is at {:.0} m, {:+.1} m/s", d.range_m, d.speed_m_s));
    missed.chain(ghosts).collect()
}

fn text(detections: &[Detection], blocks: usize, spec: &RadarSpec) -> String {
    let mut table = Table::new(&[Align::Right, Align::Right, Align::Right]);
    table.row(["range", "speed", "above the median"]);
    for d in detections.iter().take(20) {
        table.row([
            format!("{:.0} m", d.range_m),
            format!("{:+.1} m/s", d.speed_m_s),
            format!("{:.1} dB", d.above_db),
        ]);
    }
    format!(
        "{blocks} x {} pulses of {} samples; {} detections in the last block\n{table}\n",
        spec.pulses,
        spec.samples(),
        detections.len()
    )
}

/// Range to the right, speed upwards, 0 in the middle.
fn field(spec: &RadarSpec, decibels: &[f32], title: String) -> Field {
    let (pulses, ranges) = (spec.pulses, spec.ranges);
    let half = pulses as f64 / 2.0 * spec.speed_cell();
    let values = (0..pulses)
        .flat_map(|row| {
            let doppler = (row + pulses.div_ceil(2)) % pulses;
            (0..ranges).map(move |r| (r, doppler))
        })
        .map(|(r, doppler)| {
            decibels
                .get(r * pulses + doppler)
                .copied()
                .unwrap_or(f32::NAN)
        })
        .collect();
    Field {
        title,
        columns: ranges,
        rows: pulses,
        values,
        x: Axis::new("range", "m", 0.0, ranges as f64 * spec.range_cell()),
        y: Axis::new("speed", "m/s", -half, half),
        unit: "dB".to_owned(),
        range: 40.0,
    }
}
