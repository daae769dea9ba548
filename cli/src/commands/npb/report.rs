//! The report of a benchmark, as text and as JSON, for all benchmarks.

use super::BenchmarkOptions;
use crate::backends::{MeasuredRun, SIMULATED_KEYS, add_simulated_clock};
use crate::digits::scientific;
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use crate::provenance::ReportProvenance;
use crate::simulation::{conclude, figures, merge, outside_time, table};
use crate::table::{Align, TextTable, seconds};
use cp2_host::RunReport;
use cp2_kernels::KernelRun;
use cp2_machine::{Cycles, Machine};
use cp2_problems::npb::NpbClass;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Number of the benchmark with the one that it is compared with.
pub(super) struct ComparedFigure {
    /// Name of the number: a step, a norm.
    pub(super) name: String,
    /// Official or exact number, as text.
    pub(super) official: String,
    /// Number of the run, as text.
    pub(super) ours: String,
    /// Difference relative to the official number.
    pub(super) difference: f64,
    /// Largest difference that is accepted.
    pub(super) tolerance: f64,
}

impl ComparedFigure {
    /// True if the difference is within the tolerance; a NaN is not.
    fn is_within_tolerance(&self) -> bool {
        self.difference <= self.tolerance
    }
}

/// Part of the run that recurs, named by the marks of its job.
#[derive(Clone, Debug)]
pub(super) struct MarkedOperator {
    /// Name of the mark.
    pub(super) name: String,
    /// Cycles of one occurrence by the best known algorithm; `None` if not known.
    pub(super) reference: Option<Cycles>,
}

/// Results of a benchmark, whatever computed it.
pub(super) struct BenchmarkResult {
    /// Name of the benchmark: FT, MG.
    pub(super) benchmark: &'static str,
    /// Class, if the size is one of the benchmark's.
    pub(super) class: Option<NpbClass>,
    /// One line that says what was computed.
    pub(super) title: String,
    /// Comparisons that decide whether the benchmark passed.
    pub(super) compared: Vec<ComparedFigure>,
    /// Result of the run, and the official one.
    pub(super) values: [Value; 2],
    /// Largest difference between the two, and its tolerance.
    pub(super) difference: [f64; 2],
    /// Operations as the benchmark counts them.
    pub(super) operations: f64,
    /// JSON fields that only this benchmark has.
    pub(super) more: Value,
}

impl BenchmarkResult {
    /// Returns the result as JSON, with the operations per second of its time.
    fn json(&self, passed: bool, seconds: Option<f64>) -> Value {
        let own = json!({
            "benchmark": self.benchmark,
            "class": self.class.map(NpbClass::name),
            "value": self.values[0],
            "official": self.values[1],
            "relative_difference": self.difference[0],
            "tolerance": self.difference[1],
            "passed": passed,
            "mops": seconds.map(|seconds| self.operations / seconds / 1e6),
        });
        merge(own, self.more.clone())
    }

    /// Returns title, comparisons, and whether all of them hold as text.
    fn text(&self, passed: bool) -> String {
        let verified = if passed { "verified" } else { "not verified" };
        format!("{}{verified}\n", format_compared(&self.compared))
    }

    /// Makes the outcome of a run on a backend whose times are measured; `nulls` are keys of plans of this benchmark.
    pub(super) fn conclude_measured(self, run: &MeasuredRun, nulls: &[&str]) -> CommandOutcome {
        let passed = are_verified(&self.compared);
        let rate = self.operations / run.seconds / 1e6;
        let mut outcome = CommandOutcome {
            text: run.text(&self.title, Some((rate, "Mop/s"))) + &self.text(passed),
            json: run.json(
                SCHEMA,
                None,
                &[&SIMULATED_KEYS, &["operators"], nulls],
                self.json(passed, Some(run.seconds)),
            ),
            ..CommandOutcome::default()
        };
        if !passed {
            report_unverified(&mut outcome);
        }
        outcome
    }
}

/// Name and version of the JSON object's layout.
const SCHEMA: &str = "cp2-npb/1";

/// Reports a benchmark that is not verified.
fn report_unverified(outcome: &mut CommandOutcome) {
    outcome.exit = outcome.exit.max(UNVERIFIED);
    outcome.notes += "error: the benchmark is not verified: see the table\n";
}

/// Benchmark that has been run on a machine.
pub(super) struct BenchmarkReport<'a, O> {
    pub(super) result: BenchmarkResult,
    pub(super) machine: &'a Machine,
    pub(super) operators: Vec<MarkedOperator>,
    pub(super) run: &'a KernelRun<O>,
    /// Work of the host outside of simulated time.
    pub(super) outside: &'a [&'a str],
    /// Lines about the plan that only this benchmark reports.
    pub(super) said: String,
    /// Seconds of host time for the simulation.
    pub(super) host_seconds: f64,
}

impl<O> BenchmarkReport<'_, O> {
    /// True if the run finished, kept its input, and every number is within its tolerance.
    fn passed(&self, kept: bool) -> bool {
        let finished = self.run.run.report.end.is_finished();
        finished && kept && are_verified(&self.result.compared)
    }

    /// Makes the outcome of the command.
    pub(super) fn conclude(
        &self,
        common: &BenchmarkOptions,
    ) -> Result<CommandOutcome, CommandFailure> {
        let report = &self.run.run.report;
        let kept = self.run.keeps_inputs().map_err(CommandFailure::input)?;
        let passed = self.passed(kept);
        let finished = report.end.is_finished();
        let efficiency = finished.then(|| self.run.efficiency());
        let simulated = finished.then_some(report.seconds_simulated);
        let operators = sum_operators(report, &self.operators);
        let own = json!({
            "expected_cycles": self.run.expected.map(|price| price.0),
            "efficiency": efficiency,
            "operators": operators.iter().map(Summed::json).collect::<Vec<_>>(),
            "host_seconds": self.host_seconds,
            "outside_time": self.outside,
        });
        let own = merge(own, json!(self.run.figures));
        let own = merge(
            merge(figures(report), own),
            self.result.json(passed, simulated),
        );
        let mops = simulated.map(|seconds| self.result.operations / seconds / 1e6);
        let mut outcome = CommandOutcome {
            text: self.text(passed, efficiency.zip(mops), &operators) + &outside_time(self.outside),
            json: ReportProvenance::new(SCHEMA, self.machine, None)
                .engine(common.simulation.engine().resolve_engine(self.machine))
                .add_figures(own),
            ..CommandOutcome::default()
        };
        add_simulated_clock(&mut outcome);
        common.simulation.emit(&self.run.run, &mut outcome)?;
        let title = format!("{} on {}", self.result.title, self.machine.name);
        let source = super::super::source_text;
        conclude(
            &common.simulation,
            &self.run.run,
            &title,
            source,
            &mut outcome,
        )?;
        outcome.inputs(kept);
        if !passed && finished {
            report_unverified(&mut outcome);
        }
        Ok(outcome)
    }

    fn text(&self, passed: bool, rates: Option<(f64, f64)>, operators: &[Summed]) -> String {
        let parts = format_operators(operators, "operator");
        let rates = match rates {
            Some((efficiency, mops)) => {
                format!(", efficiency {efficiency:.3}, {mops:.1} Mop/s\n")
            }
            None => ", not finished\n".to_owned(),
        };
        format!(
            "{}\n{}{parts}{}{}{rates}{}simulated in {}\n",
            self.result.title,
            self.result.text(passed),
            table(&self.run.run.report),
            self.run.figures.text(),
            self.said,
            seconds(self.host_seconds)
        )
    }
}

/// Returns true if there are figures, and all are within their tolerances.
pub(super) fn are_verified(compared: &[ComparedFigure]) -> bool {
    !compared.is_empty() && compared.iter().all(ComparedFigure::is_within_tolerance)
}

/// Formats figures beside the official ones.
pub(super) fn format_compared(compared: &[ComparedFigure]) -> TextTable {
    use Align::{Left, Right};
    let mut table = TextTable::new(&[Left, Right, Right, Right, Right, Left]);
    table.row(["", "reference", "ours", "difference", "tolerance", ""]);
    for number in compared {
        table.row([
            number.name.clone(),
            number.official.clone(),
            number.ours.clone(),
            scientific(number.difference, 1, number.tolerance),
            format!("{:.0e}", number.tolerance),
            if number.is_within_tolerance() {
                ""
            } else {
                "wrong"
            }
            .to_owned(),
        ]);
    }
    table
}

/// Formats the operators of a run, under a heading.
pub(super) fn format_operators(operators: &[Summed], heading: &str) -> TextTable {
    use Align::{Left, Right};
    let mut table = TextTable::new(&[Left, Right, Right, Right, Right]);
    table.row([heading, "times", "cycles", "reference", "efficiency"]);
    for operator in operators {
        let reference = operator.reference;
        table.row([
            operator.name.clone(),
            operator.times.to_string(),
            operator.cycles.to_string(),
            reference.map_or_else(String::new, |cycles| cycles.to_string()),
            operator
                .efficiency()
                .map_or_else(String::new, |efficiency| format!("{efficiency:.3}")),
        ]);
    }
    table
}

/// Sum over all parts with one name.
pub(super) struct Summed {
    name: String,
    times: u64,
    cycles: u64,
    causes: BTreeMap<String, u64>,
    /// Reference cycles of all of them together.
    reference: Option<u64>,
}

impl Summed {
    fn efficiency(&self) -> Option<f64> {
        let cycles = self.cycles.max(1) as f64;
        self.reference.map(|reference| reference as f64 / cycles)
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "times": self.times,
            "cycles": self.cycles,
            "reference_cycles": self.reference,
            "efficiency": self.efficiency(),
            "causes": self.causes,
        })
    }
}

/// Sums the parts of a run by name, in the order of their first occurrence.
pub(super) fn sum_operators(report: &RunReport, known: &[MarkedOperator]) -> Vec<Summed> {
    let mut all: Vec<Summed> = Vec::new();
    for part in &report.parts {
        let at = all.iter().position(|sum| sum.name == part.name);
        let at = at.unwrap_or_else(|| {
            all.push(Summed {
                name: part.name.clone(),
                times: 0,
                cycles: 0,
                causes: BTreeMap::new(),
                reference: None,
            });
            all.len() - 1
        });
        let Some(sum) = all.get_mut(at) else {
            continue;
        };
        sum.times += 1;
        sum.cycles += part.cycles;
        for (cause, cycles) in part.causes.to_map() {
            *sum.causes.entry(cause.to_string()).or_default() += cycles;
        }
    }
    for sum in &mut all {
        let operator = known.iter().find(|operator| operator.name == sum.name);
        let each = operator.and_then(|operator| operator.reference);
        sum.reference = each.map(|each| each.get().saturating_mul(sum.times));
    }
    all
}
