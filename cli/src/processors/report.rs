//! Reports of several processors: gathered by the first rank, summed up.

use super::profile::{ProgramSum, add_sum, report_programs, sum_programs};
use super::recordings::{WrittenRecordings, write_recordings};
use super::timeline::join_timelines;
use crate::io::{FileError, display_path, extension, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome, GUEST_FAULT, UNVERIFIED};
use crate::simulation::{FINDINGS, SimulationArgs, early_end, figures, findings_of, merge};
use crate::table::{Align, TextTable, percent};
use cp2_emu::Causes;
use cp2_host::OperationsBound;
use cp2_host::timeline::Timeline;
use cp2_kernels::{EndedJobs, ExchangeError, Pass, ProcessorRun};
use cp2_machine::Machine;
use cp2_network::{NetworkError, NetworkReport, Transport, gather, share_of};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// Most processors that the table has a line for.
const LISTED: usize = 16;

/// Report of a processor's run, as the first rank gets it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProcessorReport {
    pub(crate) cycles: u64,
    pub(crate) causes: Causes,
    /// Figures of the run as one processor's JSON has them.
    figures: Value,
    passes: usize,
    relayouts: usize,
    /// Blocks and pages of the first pass over a grid of blocks.
    pub(crate) grid: [u64; 2],
    operations: Option<OperationsBound>,
    /// Findings of checkers, as people read them and as JSON.
    findings: Vec<(String, Value)>,
    /// Message and place of an early end.
    early: Option<(String, Value)>,
    timeline: Option<Timeline>,
}

impl ProcessorReport {
    fn new(processor: &ProcessorRun, args: &SimulationArgs) -> Self {
        let ProcessorRun { run, passes, .. } = processor;
        let report = &run.report;
        Self {
            cycles: report.cycles,
            causes: report.causes.clone(),
            figures: figures(report),
            passes: passes.len(),
            relayouts: passes.iter().filter(|pass| pass.is_relayout()).count(),
            grid: passes
                .iter()
                .find_map(Pass::nest)
                .map_or([0; 2], |nest| [nest.blocks(), nest.len()]),
            operations: OperationsBound::new(run),
            findings: findings_of(run),
            early: early_end(args.check, run).map(|early| (early.notes, early.place)),
            timeline: args.trace.is_some().then(|| report.timeline.clone()),
        }
    }
}

/// Returns the cycles of the processor that ends last in a priced run; none where time ends before it does.
pub(crate) fn expected_cycles(priced: &NetworkReport, machine: &Machine) -> Option<u64> {
    let last = priced.ends.iter().max()?;
    (last.get() < u64::MAX).then(|| last.to_cycles(machine.cp2.clock_hz))
}

/// Reports of a rank's processors and the values of their results, between ranks: JSON behind its length, then bytes.
struct RankResults {
    reports: Vec<ProcessorReport>,
    programs: Vec<ProgramSum>,
    values: Vec<u8>,
}

impl RankResults {
    fn encode(&self) -> Vec<u8> {
        let reports = serde_json::to_vec(&(&self.reports, &self.programs)).unwrap_or_default();
        let mut bytes = (reports.len() as u64).to_le_bytes().to_vec();
        bytes.extend(reports);
        bytes.extend(&self.values);
        bytes
    }

    /// Reads what [`RankResults::encode`] gave; none if it is something else.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (reports, values) = rest.split_at_checked(length)?;
        let (reports, programs) = serde_json::from_slice(reports).ok()?;
        Some(Self {
            reports,
            programs,
            values: values.to_vec(),
        })
    }
}

/// Results of all processors, on the first rank.
pub(crate) struct JobResults {
    network: NetworkReport,
    pub(crate) processors: Vec<ProcessorReport>,
    /// Bytes of the results of all processors, in their order.
    pub(crate) values: Vec<u8>,
    programs: Vec<ProgramSum>,
    transport: &'static str,
    pub(crate) ranks: usize,
    /// Reason of an early end.
    early: Option<NetworkError>,
    recordings: WrittenRecordings,
}

impl JobResults {
    /// Gathers the reports of all processors, and their results, on the first rank; none on others. Records the runs,
    /// and frees their memory: what judges results needs much itself.
    ///
    /// # Errors
    /// The transport fails, a rank sends something else, or the runs cannot be recorded.
    pub(crate) fn gather(
        transport: &mut dyn Transport,
        args: &SimulationArgs,
        jobs: JobRuns,
        values: Vec<u8>,
    ) -> Result<Option<Self>, CommandFailure> {
        let reports = jobs.runs.iter().map(|run| ProcessorReport::new(run, args));
        let (rank, count) = (transport.rank(), jobs.network.ends.len());
        let first = share_of(count, transport.ranks(), rank).start;
        let mine = RankResults {
            reports: reports.collect(),
            programs: sum_programs(&jobs.runs, first, args.profile.is_some()),
            values,
        };
        let recordings = write_recordings(args, &jobs)?;
        let JobRuns { network, early, .. } = jobs;
        let (name, ranks) = (transport.name(), transport.ranks());
        let parts = match ranks {
            1 => vec![mine],
            _ => {
                let gathered = gather(transport, mine.encode()).map_err(CommandFailure::input)?;
                let Some(gathered) = gathered else {
                    return Ok(None);
                };
                let parts = gathered.iter().enumerate().map(|(rank, bytes)| {
                    RankResults::decode(bytes).ok_or_else(|| {
                        CommandFailure::input(format!(
                            "rank {rank} sent something else than its results"
                        ))
                    })
                });
                parts.collect::<Result<_, _>>()?
            }
        };
        let (mut processors, mut values) = (Vec::new(), Vec::new());
        let mut programs = Vec::new();
        for part in parts {
            for sum in part.programs {
                add_sum(&mut programs, sum);
            }
            processors.extend(part.reports);
            match values.is_empty() {
                true => values = part.values,
                false => values.extend(part.values),
            }
        }
        Ok(Some(Self {
            network,
            processors,
            values,
            programs,
            transport: name,
            ranks,
            early,
            recordings,
        }))
    }

    /// Returns whether all processors came to their ends.
    pub(crate) fn is_finished(&self) -> bool {
        self.early.is_none()
    }

    /// Returns the cycles of the processor that ends last.
    pub(crate) fn cycles(&self) -> u64 {
        let cycles = self.processors.iter().map(|report| report.cycles);
        cycles.max().unwrap_or(0)
    }

    /// Returns the bound of the operations of the processor whose bound is the largest: the job takes no less. There
    /// is none where a processor did not finish.
    pub(crate) fn operations_bound(&self) -> Option<&OperationsBound> {
        let bounds = self.processors.iter().map(|one| one.operations.as_ref());
        let bounds: Option<Vec<_>> = bounds.collect();
        let bounds = bounds.filter(|_| self.is_finished())?;
        bounds.into_iter().max_by_key(|bound| bound.cycles())
    }

    /// Returns the JSON fields of the run. Cycles and causes are those of the processor that ends last, counts are
    /// sums over processors.
    pub(crate) fn fields(&self, machine: &Machine) -> Value {
        let links = self.network.links.iter().filter(|link| link.bytes > 0);
        let links = links.map(|link| {
            json!({
                "from": link.from.to_string(),
                "to": link.to.to_string(),
                "busy_cycles": link.busy.to_cycles(machine.cp2.clock_hz),
                "bytes": link.bytes,
            })
        });
        let each = self.processors.iter().map(
            |processor| json!({ "cycles": processor.cycles, "causes": processor.causes.to_map() }),
        );
        // The first of those that end last.
        let cycles = self.cycles();
        let last = self.processors.iter().find(|one| one.cycles == cycles);
        let mut fields = last.map_or_else(|| json!({}), |last| last.figures.clone());
        for field in SUMS {
            let mut sum = Value::Null;
            for processor in &self.processors {
                add_numbers(&mut sum, &processor.figures[field]);
            }
            fields[field] = sum;
        }
        let passes: usize = self.processors.iter().map(|one| one.passes).sum();
        let relayouts: usize = self.processors.iter().map(|one| one.relayouts).sum();
        if let Some(error) = &self.early {
            let failed = self.processors.iter().find(|one| one.early.is_some());
            for field in ["end", "end_details"] {
                let own = failed.map(|one| one.figures[field].clone());
                fields[field] = own.unwrap_or_else(|| json!(kind(error)));
            }
        }
        let mut single: Vec<&Value> = Vec::new();
        for pass in self.processors.iter().flat_map(|one| {
            let single = one.figures["single_buffered"].as_array();
            single.into_iter().flatten()
        }) {
            if !single.contains(&pass) {
                single.push(pass);
            }
        }
        let own = json!({
            "single_buffered": single,
            "passes": passes,
            "relayouts": relayouts,
            "procs": self.processors.len(),
            "ranks": self.ranks,
            "transport": self.transport,
            "topology": machine.network.topology.name(),
            "processors": each.collect::<Vec<_>>(),
            "messages": self.network.messages,
            "message_bytes": self.network.message_bytes,
            "links": links.collect::<Vec<_>>(),
        });
        merge(fields, own)
    }

    /// Formats cycles of each processor as a table, and what the network carried.
    pub(crate) fn table(&self) -> String {
        let align = [
            Align::Left,
            Align::Right,
            Align::Left,
            Align::Right,
            Align::Left,
        ];
        let mut table = TextTable::new(&align);
        for (number, processor) in self.processors.iter().enumerate().take(LISTED) {
            let waits = processor.causes.get(cp2_emu::Cause::WaitMessage);
            table.row([
                &format!("processor {number}"),
                &processor.cycles.to_string(),
                "cycles",
                &waits.to_string(),
                &format!(
                    "wait-message, {}",
                    percent(waits, processor.cycles).trim_start()
                ),
            ]);
        }
        let mut text = table.to_string();
        if self.processors.len() > LISTED {
            text += &format!("and {} processors more\n", self.processors.len() - LISTED);
        }
        text += &format!(
            "{} messages, {} B\n",
            self.network.messages, self.network.message_bytes
        );
        text
    }

    /// Adds the recordings, the reason of an early end, findings of checkers, profiles and the trace to a command's
    /// outcome.
    ///
    /// # Errors
    /// The trace cannot be written.
    pub(crate) fn conclude(
        &mut self,
        args: &SimulationArgs,
        title: &str,
        source: impl FnMut(&str) -> Option<String>,
        outcome: &mut CommandOutcome,
    ) -> Result<(), CommandFailure> {
        self.recordings.report(outcome);
        if let Some(error) = &self.early {
            outcome.exit = GUEST_FAULT;
            outcome.notes += &format!("error: {error}\n");
            // The state of one processor is enough to read.
            let mut early = self.processors.iter().enumerate();
            let early = early.find_map(|(number, one)| Some((number, one.early.as_ref()?)));
            if let Some((number, (notes, place))) = early {
                outcome.notes += &format!("processor {number}: {notes}");
                let own = json!({ "processor": number });
                outcome.json["place"] = merge(place.clone(), own);
            }
        }
        outcome.notes += args.host.engine.note(args.check);
        self.findings(outcome);
        let programs = std::mem::take(&mut self.programs);
        report_programs(args.profile, programs, source, outcome);
        if let Some(path) = &args.trace {
            self.write_trace(path, title)?;
            outcome.text += &format!("timeline: {}\n", path.display());
            outcome.json["trace"] = json!(display_path(path));
        }
        Ok(())
    }

    fn findings(&self, outcome: &mut CommandOutcome) {
        let mut all = Vec::new();
        for (number, processor) in self.processors.iter().enumerate() {
            for (text, finding) in &processor.findings {
                if all.len() < FINDINGS {
                    outcome.notes += &format!("check: processor {number}: {text}\n");
                }
                let own = json!({ "processor": number });
                all.push(merge(finding.clone(), own));
            }
        }
        if all.len() > FINDINGS {
            outcome.notes += &format!("check: and {} more findings\n", all.len() - FINDINGS);
        }
        if !all.is_empty() {
            outcome.exit = outcome.exit.max(UNVERIFIED);
        }
        outcome.json["findings"] = json!(all);
    }

    /// Writes the timeline of the whole job in the format that its name asks for.
    fn write_trace(&mut self, path: &Path, title: &str) -> Result<(), CommandFailure> {
        let timelines = self.processors.iter_mut().map(|one| one.timeline.take());
        let timelines = timelines.flatten().collect();
        let job = join_timelines(timelines, &self.network);
        let mut bytes = Vec::new();
        if extension(path) == "svg" {
            bytes = job.to_svg(title).into_bytes();
        } else {
            let written = job.write_perfetto(&mut bytes, title);
            written.map_err(|e| FileError::system(path, "write", e))?;
        }
        Ok(write_whole(path, &bytes)?)
    }
}

/// Runs of this rank's processors, and the network.
pub(crate) struct JobRuns {
    pub(crate) network: NetworkReport,
    pub(crate) runs: Vec<ProcessorRun>,
    /// Reason of an early end.
    early: Option<NetworkError>,
}

impl JobRuns {
    /// Returns whether all processors came to their ends.
    pub(super) fn is_finished(&self) -> bool {
        self.early.is_none()
    }

    /// Takes what [`cp2_kernels::run_jobs`] gave. A run that ended early has figures too.
    ///
    /// # Errors
    /// There are none.
    pub(crate) fn new(
        ran: Result<(NetworkReport, Vec<ProcessorRun>), ExchangeError>,
    ) -> Result<Self, CommandFailure> {
        match ran {
            Ok((network, runs)) => Ok(Self {
                network,
                runs,
                early: None,
            }),
            Err(ExchangeError::Ended(ended)) => {
                let EndedJobs {
                    error,
                    network,
                    runs,
                } = *ended;
                Ok(Self {
                    network,
                    runs,
                    early: Some(error),
                })
            }
            Err(error) => Err(CommandFailure::input(error)),
        }
    }
}

/// Returns the name of an early end of which no processor has a name.
fn kind(error: &NetworkError) -> &'static str {
    match error {
        NetworkError::Deadlock { .. } => "deadlock",
        NetworkError::Truncated { .. } => "truncated",
        NetworkError::NeverReceived { .. } => "never-received",
        _ => "failed",
    }
}

/// Fields of a run's figures that count something, so that several runs have a sum.
const SUMS: [&str; 8] = [
    "words",
    "operations",
    "flops",
    "dmem_bytes_read",
    "dmem_bytes_written",
    "kernels",
    "dma",
    "host",
];

/// Adds numbers, and all numbers of objects.
fn add_numbers(sum: &mut Value, more: &Value) {
    *sum = match (&mut *sum, more) {
        (Value::Object(sum), Value::Object(more)) => {
            for (name, number) in more {
                add_numbers(sum.entry(name.as_str()).or_insert(Value::Null), number);
            }
            return;
        }
        (Value::Number(a), Value::Number(b)) => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) => json!(a.saturating_add(b)),
            (_, _) => json!(a.as_f64().unwrap_or(0.0) + b.as_f64().unwrap_or(0.0)),
        },
        (_, more) => more.clone(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_at_every_depth() {
        let mut sum = Value::Null;
        add_numbers(&mut sum, &json!({ "a": 1, "b": { "c": 0.5 } }));
        add_numbers(&mut sum, &json!({ "a": 2, "b": { "c": 1, "d": 7 } }));
        assert_eq!(sum, json!({ "a": 3, "b": { "c": 1.5, "d": 7 } }));
    }
}
