//! `cp2 pipeline`: whole receivers on the emulated machine.

mod radar;
mod sonar;

use crate::io::{Array, Outputs, check_extension, read_npy, shown, write_whole};
use crate::outcome::{Failure, Outcome, UNVERIFIED};
use crate::picture::{self, Field};
use crate::simulation::EngineArg;
use crate::table::{Align, Table, seconds};
use cp2_host::{Options, Trace};
use cp2_kernels::chain::{Stage, add_stages};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Relative RMS error from which on a chain is wrong: f32 leaves a few 1e-7.
const TOLERANCE: f64 = 5e-6;
/// Largest array read.
const LIMIT: u64 = 1 << 32;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    chain: Chain,
}

/// The chains.
#[derive(Debug, clap::Subcommand)]
enum Chain {
    /// Pulse-Doppler radar: pulse compression and Doppler processing, a range-Doppler map
    Radar(radar::Args),
    /// Passive sonar: filters, beamforming and spectra of a line of hydrophones
    Sonar(sonar::Args),
}

/// Runs a chain.
pub(crate) fn run(args: &Args, json: bool) -> Result<Outcome, Failure> {
    match &args.chain {
        Chain::Radar(args) => radar::run(args, json),
        Chain::Sonar(args) => sonar::run(args, json),
    }
}

/// Options of every chain.
#[derive(Debug, clap::Args)]
struct Common {
    /// Samples as complex64 or float32, a channel or pulse in every row: .npy [default: a generated scene]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Blocks to generate
    #[arg(long, value_name = "K", default_value_t = 1, conflicts_with = "input", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// Seed of the generated noise
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Write the spectra as complex64: .npy [default: not written]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the result as a picture: .png or .svg [default: not written]
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Machines, by name or file
    #[arg(long = "machine", value_name = "NAME|FILE", value_delimiter = ',', default_values_t = ["vm7".to_owned(), "vm9".to_owned()])]
    machines: Vec<String>,
    /// Let the checkers watch every kernel; slower [default: not checked]
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    engine: EngineArg,
}

/// What a chain needs of one machine.
struct OnMachine {
    machine: Arc<Machine>,
    stages: Vec<Stage>,
}

impl Common {
    fn machines(&self) -> Result<Vec<OnMachine>, Failure> {
        let load = |name: &String| {
            Ok(OnMachine {
                machine: Arc::new(Machine::load(name)?),
                stages: Vec::new(),
            })
        };
        self.machines.iter().map(load).collect()
    }

    fn options(&self) -> Options {
        Options {
            check: self.check,
            engine: self.engine.into(),
            interrupt: Some(crate::interrupt::flag()),
            trace: Trace::none(),
            ..Options::default()
        }
    }

    fn check_outputs(&self) -> Result<(), Failure> {
        let mut outputs = Outputs::beside(self.input.as_deref());
        if let Some(path) = &self.output {
            check_extension(path, "npy", ".npy")?;
            outputs.check(path)?;
        }
        if let Some(path) = &self.picture {
            picture::check_name(path)?;
            outputs.check(path)?;
        }
        Ok(())
    }

    /// Blocks of `rows` x `columns` samples: of the file, or as many as asked for of the scene.
    fn load(
        &self,
        rows: usize,
        columns: usize,
        scene: impl Fn(u64) -> Vec<Complex32>,
    ) -> Result<Vec<Vec<Complex32>>, Failure> {
        let Some(path) = &self.input else {
            let seeds = (0..u64::from(self.blocks)).map(|k| self.seed.wrapping_add(k));
            return Ok(seeds.map(scene).collect());
        };
        let array = read_npy(path, crate::io::Kind::SIGNAL, LIMIT)?;
        let data = array.to_complex();
        let block = rows * columns;
        let fits =
            array.shape.last() == Some(&columns) && !data.is_empty() && data.len() % block == 0;
        if !fits {
            return Err(Failure::in_file(
                path,
                format!(
                    "has the shape {:?}; expected rows of {columns} samples, {rows} rows for every block",
                    array.shape
                ),
            ));
        }
        Ok(data.chunks(block).map(<[Complex32]>::to_vec).collect())
    }

    /// Puts the report together and writes the files.
    fn conclude(&self, found: Found, machines: &[OnMachine]) -> Result<Outcome, Failure> {
        let mut outcome = Outcome {
            text: found.text,
            ..Outcome::default()
        };
        let rel_error = found.error.relative();
        let mut rows = Vec::new();
        for on in machines {
            let (row, text) = figures(on, found.signal_seconds);
            outcome.text += &text;
            rows.push(row);
        }
        outcome.text += &format!("error against double precision: {rel_error:.2e} relative RMS\n");
        let mut json = json!({
            "schema": "cp2-pipeline/1",
            "tool_version": env!("CARGO_PKG_VERSION"),
            "pipeline": found.name,
            "input": self.input.as_deref().map(shown),
            "seed": self.input.is_none().then_some(self.seed),
            "signal_seconds": found.signal_seconds,
            "rel_error": rel_error,
            "verified": rel_error <= TOLERANCE && found.missed.is_empty(),
            "machines": rows,
        });
        // The first machine's figures, for who asks for one only.
        if let Some(first) = rows.first() {
            for key in ["cycles", "bound_cycles", "efficiency", "real_time_factor"] {
                json[key] = first[key].clone();
            }
        }
        json = crate::simulation::merge(json, found.json);
        if let Some(path) = &self.output {
            write_whole(
                path,
                &Array::of_complex(&found.shape, &found.spectra).to_npy(),
            )?;
            outcome.text += &format!("spectra: {}\n", path.display());
            json["output"] = json!(shown(path));
        }
        if let Some(path) = &self.picture {
            picture::write(path, &found.field)?;
            outcome.text += &format!("picture: {}\n", path.display());
            json["picture"] = json!(shown(path));
        }
        if rel_error.is_nan() || rel_error > TOLERANCE {
            outcome.exit = UNVERIFIED;
            outcome.notes += &format!(
                "error: the relative error is {rel_error:.2e}; expected at most {TOLERANCE:.0e}\n"
            );
        }
        for missed in &found.missed {
            outcome.exit = UNVERIFIED;
            outcome.notes += &format!("error: {missed}\n");
        }
        outcome.json = json;
        Ok(outcome)
    }
}

/// What a chain found, on whatever machine: they agree bit by bit.
struct Found {
    name: &'static str,
    text: String,
    json: Value,
    signal_seconds: f64,
    error: Error,
    /// What of a generated scene was not found, or found without being there.
    missed: Vec<String>,
    shape: Vec<usize>,
    spectra: Vec<Complex32>,
    field: Field,
}

/// Error against the reference so far.
#[derive(Default)]
struct Error {
    squares: f64,
    reference: f64,
}

impl Error {
    fn add(&mut self, found: &[Complex32], reference: &[Complex64]) {
        for (z, r) in found.iter().zip(reference) {
            let z = Complex64::new(z.re.into(), z.im.into());
            self.squares += (z - r).norm_sqr();
            self.reference += r.norm_sqr();
        }
    }

    fn relative(&self) -> f64 {
        if self.squares == 0.0 {
            0.0
        } else {
            (self.squares / self.reference).sqrt()
        }
    }
}

/// Runs the blocks on a machine and books the stages; all machines agree on the result.
fn on_all<T>(
    machines: &mut [OnMachine],
    mut each: impl FnMut(&Arc<Machine>) -> Result<(T, Vec<Stage>), Failure>,
) -> Result<T, Failure> {
    let mut result = None;
    for on in machines {
        crate::interrupt::check()?;
        let (value, stages) = each(&on.machine)?;
        add_stages(&mut on.stages, &stages);
        result.get_or_insert(value);
    }
    result.ok_or_else(|| Failure::input("--machine: expected at least one machine"))
}

/// What a machine took for the signal.
fn figures(on: &OnMachine, signal_seconds: f64) -> (Value, String) {
    let sum = |f: fn(&Stage) -> u64| on.stages.iter().map(f).sum::<u64>();
    let (cycles, bound) = (sum(|s| s.cycles), sum(|s| s.bound_cycles));
    let simulated = cycles as f64 / on.machine.cp2.clock_hz as f64;
    let factor = signal_seconds / simulated;
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
    table.row(["stage", "cycles", "efficiency"]);
    for stage in &on.stages {
        let efficiency = stage.bound_cycles as f64 / stage.cycles.max(1) as f64;
        table.row([
            stage.name.to_owned(),
            stage.cycles.to_string(),
            format!("{efficiency:.3}"),
        ]);
    }
    let text = format!(
        "{}: {} of signal in {cycles} cycles = {} simulated: {factor:.1} times real time\n{table}\n",
        on.machine.name,
        seconds(signal_seconds),
        seconds(simulated)
    );
    let row = json!({
        "machine": on.machine.name,
        "machine_hash": on.machine.hash,
        "cycles": cycles,
        "bound_cycles": bound,
        "efficiency": bound as f64 / cycles.max(1) as f64,
        "seconds_simulated": simulated,
        "real_time_factor": factor,
        "stages": on.stages,
    });
    (row, text)
}

/// The path of an input as the pictures' titles show it.
fn title(what: &str, input: Option<&Path>) -> String {
    match input {
        Some(path) => format!("{what}: {}", path.display()),
        None => what.to_owned(),
    }
}
