//! `cp2 pipeline radar`: a pulse-Doppler radar.

use super::receive::{Keep, receive};
use super::report::{ChainFindings, conclude, listed, scene};
use super::{ChainOptions, LIMIT, cells, hertz};
use crate::commands::channels::taps;
use crate::io::display_path;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::picture::HeatMap;
use crate::table::frequency;
use cp2_kernels::chain::{Detection, RadarPlan, RadarProblem, RadarSpec};
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: ChainOptions,
    /// Pulses that are processed together: rows of a block
    #[arg(long, value_name = "P", default_value_t = RadarSpec::default().pulses)]
    pulses: usize,
    /// Range cells; a pulse has so many samples and those of the chirp less one
    #[arg(long, value_name = "R", default_value_t = RadarSpec::default().ranges)]
    ranges: usize,
    /// Samples of the chirp that is sent; sample i of n has the phase pi (i - n/2)^2 / n
    #[arg(long, value_name = "N", default_value_t = RadarSpec::default().chirp)]
    chirp: usize,
    /// Pulse that is sent instead of a chirp, as complex64 or float32: .npy [default: the chirp]
    #[arg(
        long,
        value_name = "FILE",
        requires = "input",
        conflicts_with = "chirp"
    )]
    pulse: Option<PathBuf>,
    /// Complex samples per second
    #[arg(long, value_name = "HZ", value_parser = hertz, default_value_t = RadarSpec::default().sample_rate)]
    sample_rate: f64,
    /// Pulses per second [default: 1500, fewer where the samples of a pulse take longer]
    #[arg(long, value_name = "HZ", value_parser = hertz)]
    pulse_rate: Option<f64>,
    /// Carrier frequency
    #[arg(long, value_name = "HZ", value_parser = hertz, default_value_t = RadarSpec::default().carrier)]
    carrier: f64,
}

impl Args {
    fn spec(&self, chirp: usize) -> RadarSpec {
        let mut spec = RadarSpec {
            pulses: self.pulses,
            ranges: self.ranges,
            chirp,
            sample_rate: self.sample_rate,
            carrier: self.carrier,
            ..RadarSpec::default()
        };
        let usual = spec.pulse_rate.min(spec.fastest());
        spec.pulse_rate = self.pulse_rate.unwrap_or(usual);
        spec
    }
}

/// Runs `cp2 pipeline radar`.
pub(super) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let common = &args.common;
    common.check_outputs(args.pulse.as_deref(), None)?;
    let own = args
        .pulse
        .as_deref()
        .map(|path| taps(path, LIMIT))
        .transpose()?;
    let spec = args.spec(own.as_ref().map_or(args.chirp, Vec::len));
    let problem = match own {
        Some(pulse) => RadarProblem::with_pulse(spec.clone(), pulse),
        None => RadarProblem::new(spec.clone()),
    };
    let problem = problem.map_err(CommandFailure::input)?;
    let results = receive(
        common,
        &problem,
        |machine| RadarPlan::new(problem.clone(), machine),
        ["--pulses", "--ranges + --chirp - 1"],
        Keep {
            spectra: common.output.is_some(),
            decibels: false,
        },
        json,
    )?;
    let detections = problem.detections(&results.last.decibels);
    let (scene, note) = scene(common, json!(spec.targets()), spec.resolves_targets());
    let missed = if scene["judged"] == true {
        problem.faults(&detections)
    } else {
        Vec::new()
    };
    let picture = |path| {
        let title = common.title("Range and Doppler");
        let found = detections.iter().map(|d| [d.range_m, d.speed_m_s]);
        let field = field(&spec, &results.last.decibels, title);
        ("picture", path, field.marked(found))
    };
    let found = ChainFindings {
        name: "radar",
        text: text(&spec, results.blocks, &detections) + note,
        json: json!({
            "spec": spec,
            "pulse": args.pulse.as_deref().map(display_path),
            "range_cell_m": spec.range_cell(),
            "speed_cell_m_s": spec.speed_cell(),
            "scene": scene,
            "detections": detections,
        }),
        seconds: spec.seconds(),
        missed,
        shape: vec![spec.ranges, spec.pulses],
        pictures: common.picture.as_deref().map(picture).into_iter().collect(),
    };
    conclude(common, &results, found)
}

fn text(spec: &RadarSpec, blocks: usize, detections: &[Detection]) -> String {
    let highest = (spec.pulses / 2) as f64 * spec.speed_cell();
    let rows = detections.iter().map(|d| {
        [
            format!("{:.0} m", d.range_m),
            format!("{:+.1} m/s", d.speed_m_s),
            format!("{:.1} dB", d.above_db),
        ]
    });
    format!(
        "carrier {}, pulses at {}, {} samples of each at {}, {} of them the pulse\n\
         cells of {:.3} m and {:.3} m/s, up to {:.0} m and {highest:.1} m/s; positive speeds move away\n\
         {blocks} x {} pulses; {} detections in the last block\n{}",
        frequency(spec.carrier),
        frequency(spec.pulse_rate),
        spec.samples(),
        frequency(spec.sample_rate),
        spec.chirp,
        spec.range_cell(),
        spec.speed_cell(),
        (spec.ranges - 1) as f64 * spec.range_cell(),
        spec.pulses,
        detections.len(),
        listed(["range", "speed", "above the median"], rows)
    )
}

/// Makes the range-Doppler map: range to the right, speed upwards, 0 in the middle.
fn field(spec: &RadarSpec, decibels: &[f32], title: String) -> HeatMap {
    let (pulses, ranges) = (spec.pulses, spec.ranges);
    let points: Vec<usize> = spec.list_by_speed().collect();
    let value = |range: usize, row: usize| {
        let cell = points.get(row).map(|point| range * pulses + point);
        cell.and_then(|cell| decibels.get(cell))
            .copied()
            .unwrap_or(f32::NAN)
    };
    let lowest = points.first().map_or(0.0, |point| spec.speed(*point));
    HeatMap::new(
        title,
        [ranges, pulses],
        value,
        cells("range", "m", 0.0, spec.range_cell(), ranges),
        cells("speed", "m/s", lowest, spec.speed_cell(), pulses),
        40.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_drawn_at_its_speed() {
        let spec = RadarSpec {
            pulses: 8,
            ranges: 4,
            ..RadarSpec::default()
        };
        let mut decibels = vec![0.0; 32];
        // Point 2 of range 3 lies two cells from zero, moving towards the radar.
        decibels[3 * 8 + 2] = 9.0;
        let field = field(&spec, &decibels, String::new());
        assert_eq!(field.values[2 * 4 + 3], 9.0, "two below the middle row, 4");
        // The cell of 0 m/s extends half a cell to either side of 0.
        let axis = cells("speed", "m/s", -4.0, 1.0, 8);
        let zero = axis.ticks(4).into_iter().find(|t| t.1 == "0").unwrap();
        assert!((zero.0 - 4.5 / 8.0).abs() < 1e-12, "{}", zero.0);
    }
}
