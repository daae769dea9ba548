//! `cp2 demo`: finds targets in the echoes of a chirp radar with FFTs.

use super::MachineArg;
use super::fft::{FftPlan, measure};
use crate::io::{FileError, NpyArray, Outputs, display_path, write_array, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use crate::picture::{self, HeatMap, PlotAxis};
use crate::provenance::ReportProvenance;
use crate::radar::{self, Detections};
use crate::simulation::{HostArgs, SimulationArgs, conclude, merge, outside_time, write_trace};
use crate::table::{Align, TextTable};
use cp2_host::Trace;
use cp2_kernels::fft::TransformDirection;
use cp2_problems::Problem as _;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory for the results; made if it is missing
    #[arg(long, value_name = "DIR", default_value = "cp2-demo")]
    output: PathBuf,
    /// Seed of the noise
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Write program, arrays and command list to a directory, for `cp2 run DIR` [default: not written]
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    machine: MachineArg,
}

/// Runs `cp2 demo`. If it fails before anything is written, the folders that it made are removed.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let folder = &args.output;
    let missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
    let made: Vec<&Path> = folder.ancestors().take_while(missing).collect();
    let ended = write(args, json);
    if ended.is_err() {
        // Inner folders are removed first; a folder that is not empty stays, and so do its parents.
        let _ = made.into_iter().try_for_each(std::fs::remove_dir);
    }
    ended
}

fn write(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let machine = Arc::new(args.machine.load()?);
    let folder = &args.output;
    std::fs::create_dir_all(folder).map_err(|e| FileError::system(folder, "create", e))?;
    let mut outputs = Outputs::default();
    outputs.check(&folder.join("echoes.npy"))?;
    let fft = FftPlan::new(
        &machine,
        radar::N,
        TransformDirection::Forward,
        false,
        radar::SWEEPS,
    )?;
    let echoes = radar::echoes(args.seed);
    let simulation = SimulationArgs {
        trace: None,
        profile: None,
        check: true,
        host: args.host,
        max_cycles: None,
        emit: args.emit.clone(),
    };
    simulation.check_outputs(&mut outputs)?;
    let (mut options, progress) =
        simulation.begin(Some(fft.figures(radar::SWEEPS).reference.get()), json);
    options.trace = Trace::default();
    let measured = measure(&fft, &mut &echoes[..], fft.len(), options)?;
    drop(progress);

    let report = &measured.run.run.report;
    let intro = format!(
        "A radar sends chirps; the echoes of {} targets, weaker than the noise, become tones.\n\
         {} sweeps of {} samples go through a hand-written FFT on the emulated {}.\n\n",
        radar::TARGETS.len(),
        radar::SWEEPS,
        radar::N,
        machine.name
    );
    let mut outcome = CommandOutcome {
        text: intro,
        ..CommandOutcome::default()
    };
    let mut files: Vec<(&str, PathBuf)> = Vec::new();
    let mut save =
        |name: &str, what: &'static str, write: &dyn Fn(&Path) -> Result<(), CommandFailure>| {
            let path = folder.join(name);
            write(&path)?;
            files.push((what, path));
            Ok::<(), CommandFailure>(())
        };
    let shape = [radar::SWEEPS, radar::N];
    save("echoes.npy", "input", &|p| {
        Ok(write_whole(
            p,
            &NpyArray::from_complex(&shape, &echoes).to_npy(),
        )?)
    })?;
    let title = format!("{} on {}", measured.problem.title(), machine.name);
    save("timeline.json", "timeline for ui.perfetto.dev", &|p| {
        write_trace(p, report, &title)
    })?;
    save("timeline.svg", "timeline as a picture", &|p| {
        write_trace(p, report, &title)
    })?;
    let mut figures = measured.figures();
    if let Some(output) = measured.run.output {
        save("spectra.npy", "result", &|p| {
            let run = &measured.run.run;
            Ok(write_array(
                p,
                (output.kind(), &shape),
                run,
                output.place(),
            )?)
        })?;
        let spectra = &measured.row(0, radar::SWEEPS * radar::N)?;
        let field = range_over_time(spectra);
        save("range-time.png", "range over time", &|p| {
            Ok(picture::write(p, &field)?)
        })?;
        save("range-time.svg", "the same as SVG", &|p| {
            Ok(picture::write(p, &field)?)
        })?;
        let detections = radar::detect(spectra);
        outcome.text += &detected(&detections);
        if !detections.is_convincing() {
            outcome.exit = UNVERIFIED;
            outcome.notes += "error: the targets were not found where they are\n";
        }
        figures = merge(figures, json!({ "detections": detections }));
    }
    let outside = ["the window of the sweeps, and the search for targets in their spectra"];
    outcome.text += &format!("\n{}{}\n", measured.text(), outside_time(&outside));
    for (what, path) in &files {
        outcome.text += &format!("{}  ({what})\n", path.display());
    }
    let paths: Vec<_> = files.iter().map(|(_, path)| display_path(path)).collect();
    outcome.json = ReportProvenance::new("cp2-demo/1", &machine, Some(args.seed))
        .engine(simulation.engine().resolve_engine(&machine))
        .add_figures(merge(
            figures,
            json!({ "files": paths, "outside_time": outside }),
        ));
    simulation.emit(&measured.run.run, &mut outcome)?;
    conclude(
        &simulation,
        &measured.run.run,
        &title,
        |_| None,
        &mut outcome,
    )?;
    measured.judge(&mut outcome);
    Ok(outcome)
}

fn range_over_time(spectra: &[num_complex::Complex32]) -> HeatMap {
    let time = PlotAxis::new("time", "s", 0.0, radar::SWEEPS as f64 / radar::SWEEP_RATE);
    let range = PlotAxis::new("range", "m", 0.0, radar::N as f64 * radar::RESOLUTION);
    let mut field = HeatMap::spectra(
        |sweep| spectra[sweep * radar::N..][..radar::N].to_vec(),
        [radar::SWEEPS, radar::N],
        "Radar echoes: range over time".to_owned(),
        time,
        range,
    );
    // The noise floor lies about 25 dB below the echoes: a range of 40 dB shows it in the dark half of the
    // scale.
    field.range = 40.0;
    field
}

fn detected(detections: &Detections) -> String {
    let mut table = TextTable::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    table.row([
        "target",
        "range at 0 s",
        "speed",
        "detected in",
        "range error (RMS)",
    ]);
    for sighting in &detections.targets {
        let t = &sighting.target;
        table.row([
            t.name.to_owned(),
            format!("{:.0} m", t.range_m),
            format!("{:+.0} m/s", t.speed_m_s),
            format!("{} of {}", sighting.detected, detections.sweeps),
            format!("{:.2} m", sighting.error_m),
        ]);
    }
    format!(
        "{table}false alarms: {} in {} sweeps\n",
        detections.false_alarms, detections.sweeps
    )
}
