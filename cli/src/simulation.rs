//! Simulation options, and reports of runs, shared by all commands that simulate.

mod ending;
mod operations;

pub(crate) use ending::{conclude, early_end, findings_of, heading, name};
pub(crate) use operations::{operations_json, operations_text};

use crate::io::{FileError, Outputs, display_path, extension, write_whole};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::progress::{CycleBar, watch};
use crate::table::{Align, TextTable, percent, seconds};
use cp2_emu::Engine;
use cp2_host::emit::EmitError;
use cp2_host::profile::ProfileBy;
use cp2_host::{DeviceOptions, FinishedRun, OperationsBound, RunReport, Trace, emit};
use cp2_machine::Cycles;
use cp2_reference::Figures;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Most bytes of memory per slice of the timeline, as kept and as in a file.
const SLICE: u64 = 700;

/// Number of checker findings shown in full.
pub(crate) const FINDINGS: usize = 20;

/// The `--engine` option.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct EngineArg {
    /// Engine that executes kernels: the same bits, cycles and faults, quickly or word by word; --check takes
    /// the reference [default: fast]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineName>,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum EngineName {
    /// Word by word from the definitions
    Reference,
    /// Block by block, the same code on every host
    Portable,
    /// As fast, with AVX2 at most
    Avx2,
    /// Block by block, host code for what runs often
    #[default]
    Fast,
}

impl EngineArg {
    /// Returns the engine that runs: with checkers always the reference engine.
    pub(crate) fn runs(self, check: bool) -> Engine {
        if check {
            Engine::Reference
        } else {
            self.into()
        }
    }

    /// Returns the note for a user whose choice of engine is not the one that runs.
    pub(crate) fn note(self, check: bool) -> &'static str {
        match self.engine {
            Some(name) if check && !matches!(name, EngineName::Reference) => {
                "note: --check runs on the reference engine, not on the one of --engine\n"
            }
            _ => "",
        }
    }
}

impl From<EngineArg> for Engine {
    fn from(arg: EngineArg) -> Self {
        match arg.engine.unwrap_or_default() {
            EngineName::Reference => Self::Reference,
            EngineName::Portable => Self::Portable,
            EngineName::Avx2 => Self::Avx2,
            EngineName::Fast => Self::Fast,
        }
    }
}

/// Options of the host for a simulation, which do not affect the simulated machine.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct HostArgs {
    #[command(flatten)]
    pub(crate) engine: EngineArg,
    /// Host threads for pages that repeat each other, or for processors, 1 to 64: the same bits, cycles and reports
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
}

impl HostArgs {
    /// Returns the number of host threads.
    pub(crate) fn threads(self) -> usize {
        self.threads.into()
    }

    /// Returns the device's options, with the flag that an interrupt sets.
    pub(crate) fn options(self) -> DeviceOptions {
        DeviceOptions {
            engine: self.engine.into(),
            threads: self.threads(),
            interrupt: Some(crate::interrupt::flag()),
            ..DeviceOptions::default()
        }
    }
}

/// Names of the options of a simulation, which commands refuse when they simulate nothing.
pub(crate) const SIMULATED: [&str; 7] = [
    "trace",
    "profile",
    "check",
    "engine",
    "threads",
    "max_cycles",
    "emit",
];

/// Parts of a program that a profile charges.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum ProfileArg {
    Line,
    Call,
    Loop,
    Word,
}

impl From<ProfileArg> for ProfileBy {
    fn from(by: ProfileArg) -> Self {
        match by {
            ProfileArg::Line => Self::Line,
            ProfileArg::Call => Self::Call,
            ProfileArg::Loop => Self::Loop,
            ProfileArg::Word => Self::Word,
        }
    }
}

/// Options of every command that simulates.
#[derive(Debug, clap::Args)]
pub(crate) struct SimulationArgs {
    /// Write a timeline of CP2, DMA and host: .json for Perfetto, .svg as a picture [default: none]
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print words, cycles and causes of each program and pass: by source line, beside the source; by call of
    /// functions, macros and repetitions; by loop; or by word [default: not printed; without a value: line]
    #[arg(long, value_name = "BY", num_args = 0..=1, require_equals = true, default_missing_value = "line")]
    pub(crate) profile: Option<ProfileArg>,
    /// Report reads of what was never written and races with the DMA; slower [default: not checked]
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    /// Stop at this many simulated cycles, after the word or the launch under way [default: no limit]
    #[arg(long, value_name = "CYCLES")]
    pub(crate) max_cycles: Option<u64>,
    /// Write programs, arrays and command list to a directory, for `cp2 run DIR` [default: not written]
    #[arg(long, value_name = "DIR")]
    pub(crate) emit: Option<PathBuf>,
}

impl SimulationArgs {
    /// Returns the engine that runs.
    pub(crate) fn engine(&self) -> Engine {
        self.host.engine.runs(self.check)
    }

    /// Checks the outputs of the simulation before the work starts; the command has already checked its own.
    pub(crate) fn check_outputs(&self, outputs: &mut Outputs) -> Result<(), CommandFailure> {
        self.check_outputs_with(outputs, emit::check)
    }

    /// Checks the outputs of a simulation whose recording is another directory than that of one run.
    pub(crate) fn check_outputs_with(
        &self,
        outputs: &mut Outputs,
        check_emit: impl FnOnce(&Path) -> Result<(), EmitError>,
    ) -> Result<(), CommandFailure> {
        if let Some(path) = &self.trace {
            if !["json", "svg"].contains(&extension(path).as_str()) {
                return Err(FileError::Extension {
                    path: path.clone(),
                    expected: ".json (Perfetto), .svg",
                }
                .into());
            }
            outputs.check(path)?;
            let slices = Trace::default().limit as u64;
            memory::check_memory("the timeline", SLICE * slices)?;
        }
        let emit = self.emit.as_deref();
        emit.map_or(Ok(()), |path| outputs.check_emit(path, check_emit))
    }

    /// Writes the run that [`SimulationArgs::begin`] recorded if it has finished; otherwise notes that it did
    /// not.
    pub(crate) fn emit(
        &self,
        run: &FinishedRun,
        outcome: &mut CommandOutcome,
    ) -> Result<(), CommandFailure> {
        let Some(folder) = &self.emit else {
            return Ok(());
        };
        if run.report.end.is_finished() {
            run.emit(folder).map_err(CommandFailure::input)?;
            outcome.text += &format!("emitted: {}\n", folder.display());
            outcome.json["emit"] = json!(display_path(folder));
        } else {
            outcome.notes += &format!(
                "warning: --emit {}: nothing was written, for the run has not finished\n",
                folder.display()
            );
        }
        Ok(())
    }

    /// Returns the device's options, and a progress bar for the duration of the run.
    pub(crate) fn begin(&self, expected: Option<u64>, quiet: bool) -> (DeviceOptions, CycleBar) {
        let cycles = Arc::new(AtomicU64::new(0));
        let options = self.options(cycles.clone());
        (options, watch("simulating", cycles, expected, quiet))
    }

    /// Returns the device's options; `cycles` follows the run.
    pub(crate) fn options(&self, cycles: Arc<AtomicU64>) -> DeviceOptions {
        DeviceOptions {
            max_cycles: self.max_cycles,
            check: self.check,
            trace: if self.trace.is_some() {
                Trace::default()
            } else {
                Trace::none()
            },
            progress: Some(cycles),
            record: self.emit.is_some(),
            stages: self.profile.is_some() || self.check,
            ..self.host.options()
        }
    }
}

/// Writes a timeline in the format that its name asks for.
pub(crate) fn write_trace(
    path: &Path,
    report: &RunReport,
    title: &str,
) -> Result<(), CommandFailure> {
    let mut bytes = Vec::new();
    if extension(path) == "svg" {
        bytes = report.timeline.to_svg(title).into_bytes();
    } else {
        report
            .timeline
            .write_perfetto(&mut bytes, title)
            .map_err(|e| FileError::system(path, "write", e))?;
    }
    Ok(write_whole(path, &bytes)?)
}

/// Returns a line about the host's work outside of simulated time; empty without such work.
pub(crate) fn outside_time(work: &[&str]) -> String {
    match work {
        [] => String::new(),
        work => format!("not in the time: {}\n", work.join("; ")),
    }
}

/// Returns the JSON fields of a run without a known problem (a program or a list of commands), which has no
/// bounds.
pub(crate) fn unknown_limits(outside: &[&str]) -> Value {
    json!({
        "bound_cycles": null,
        "reference_cycles": null,
        "efficiency": null,
        "outside_time": outside,
    })
}

/// Bounds and efficiency of a run, as text and as JSON fields.
pub(crate) struct RunLimits {
    pub(crate) text: String,
    pub(crate) json: Value,
}

/// Reports bound, reference and price of a run, its efficiency if it finished, and the bound of its operations.
pub(crate) fn limits(figures: &Figures, expected: Option<Cycles>, run: &FinishedRun) -> RunLimits {
    let (report, operations) = (&run.report, OperationsBound::new(run));
    let efficiency = report
        .end
        .is_finished()
        .then(|| figures.efficiency(report.cycles));
    let mut text = figures.text();
    text += &match efficiency {
        Some(efficiency) => format!(", efficiency {efficiency:.3}\n"),
        None => ", not finished\n".to_owned(),
    };
    text += &match expected {
        Some(expected) => format!("expected {} cycles, the price of the plan\n", expected.0),
        None => "expected: not known, for data decide how long a kernel takes\n".to_owned(),
    };
    text += &operations_text(operations.as_ref(), report.cycles);
    // All work of the run is a pass, a transfer or a step of the job.
    let own = json!({
        "expected_cycles": expected.map(|price| price.0),
        "efficiency": efficiency,
        "outside_time": [],
    });
    let own = merge(own, operations_json(operations.as_ref(), report.cycles));
    RunLimits {
        text,
        json: merge(json!(figures), own),
    }
}

/// Formats the figures of a run as a table.
pub(crate) fn table(report: &RunReport) -> String {
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Left, Align::Left]);
    table.row([
        "time",
        &report.cycles.to_string(),
        "cycles",
        &seconds(report.seconds_simulated),
    ]);
    for (cause, cycles) in report.causes.iter() {
        table.row([
            "",
            &cycles.to_string(),
            &percent(cycles, report.cycles),
            &cause.to_string(),
        ]);
    }
    table.row(["words", &report.counters.words.to_string(), "issued"]);
    table.row([
        "flops",
        &report.counters.work.flops.to_string(),
        "all sections",
    ]);
    let dma = &report.dma;
    table.row([
        "dma",
        &dma.transfers.to_string(),
        "transfers",
        &format!("{} B in, {} B out", dma.loaded, dma.stored),
    ]);
    let busy = format!(
        "busy, {}",
        percent(report.dma_busy_cycles as u64, report.cycles).trim_start()
    );
    table.row([
        "",
        &format!("{:.0}", report.dma_busy_cycles),
        "cycles",
        &busy,
    ]);
    let mut text = table.to_string();
    for single in &report.single_buffered {
        text += &format!(
            "{}: one page at a time, so nothing is moved while the kernel works: two of the least size need {} B more of DMEM than there is\n",
            single.pass, single.bytes_short
        );
    }
    text
}

/// Returns the figures of a run as JSON fields.
pub(crate) fn figures(report: &RunReport) -> Value {
    let counters = &report.counters;
    let operations: serde_json::Map<String, Value> = counters
        .work
        .operations
        .iter()
        .map(|(class, n)| (class.to_string(), json!(n)))
        .collect();
    // The kind of end alone: its details are in the notes and in `end_details`.
    let end = serde_json::to_value(&report.end).unwrap_or_default();
    json!({
        "end": end["end"],
        "end_details": end,
        "cycles": report.cycles,
        "seconds_simulated": report.seconds_simulated,
        "causes": report.causes.to_map(),
        "words": counters.words,
        "operations": operations,
        "flops": counters.work.flops,
        "dmem_bytes_read": counters.work.dmem_read,
        "dmem_bytes_written": counters.work.dmem_written,
        "kernels": counters.kernels,
        "dma": {
            "transfers": report.dma.transfers,
            "bytes_loaded": report.dma.loaded,
            "bytes_stored": report.dma.stored,
            "busy_cycles": report.dma_busy_cycles,
        },
        "host": { "commands": report.host.commands, "busy_cycles": report.host.busy },
        "single_buffered": report.single_buffered,
    })
}

/// Adds the fields of one object to another.
pub(crate) fn merge(mut a: Value, b: Value) -> Value {
    if let (Some(a), Value::Object(b)) = (a.as_object_mut(), b) {
        a.extend(b);
    }
    a
}
