//! `cp2 whatif`: gain, cost and limit of proposals to change the machine.

mod cost;
mod document;
pub(super) mod measured;
mod proposals;
mod sensitivity;
pub(super) mod show;
mod verdict;

use crate::commands::load_machine;
use crate::io::{Outputs, check_extension, read_small, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use cost::{Cost, CostWeights};
use cp2_machine::Machine;
use measured::{
    CycleSource, KeptRows, RowCase, RowName, RowResult, measure_cases, rounded, select_rows,
    shorten_reason, strip_machine,
};
use proposals::{Proposal, select_proposals};
use sensitivity::Flip;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verdict::{Judgement, judge};

/// Largest file of weights accepted.
const LIMIT: u64 = 1 << 20;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: cp2 whatif --proposals granule-4,dmem-x2+dma.bandwidth=x2 --kernels fft-large:n=8192:batch=8 --machine vm9"
)]
pub(crate) struct Args {
    /// Proposals: all of the catalogue, a file (TOML), or names and changes of a machine with commas between them;
    /// + combines [default: all]
    #[arg(
        long,
        value_name = "all|NAME+NAME,..|FILE",
        default_value = "all",
        hide_default_value = true
    )]
    proposals: String,
    /// Rows: kernels with all sizes of their tables, single ones as KERNEL:NAME=VALUE:.., or all [default: 22 rows
    /// of all kinds]
    #[arg(long, value_name = "all|KERNEL,..")]
    kernels: Option<String>,
    /// Machine that is changed, by name (see `cp2 machines`) or file; give it again for each more [default: vm7]
    #[arg(
        long = "machine",
        value_name = "NAME|FILE",
        default_value = "vm7",
        hide_default_value = true
    )]
    machines: Vec<String>,
    /// Folder that keeps results, so that a run that was ended goes on; those of another build or machine are not
    /// taken [default: none]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Weights of the costs (TOML: `multiplexer_bits = 1.5`), assumed, for a sum of costs [default: no sum]
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Print comma-separated values instead of text [default: text]
    #[arg(long)]
    csv: bool,
    /// Print the page docs/proposals.md, with these proposals and rows, instead of text [default: text]
    #[arg(long, conflicts_with = "csv")]
    markdown: bool,
    /// Find for every verdict the assumed number of the machine that changes its class with the least factor in 1/4
    /// to 4, and whether all turned against it by 1.25 do: a hundred prices and some runs each; of one machine alone
    /// if it is named [default: not found]
    #[arg(long, value_name = "MACHINE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    sensitivity: Option<String>,
    /// Write a page with all tables and, with --weights, gain over cost: .html [default: not written]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// A proposal on a machine, with what it costs and does.
struct ProposalTrial {
    proposal: Proposal,
    base: Arc<Machine>,
    machine: Arc<Machine>,
    costs: Vec<Cost>,
    /// Parameters that differ and have no formula of costs.
    uncounted: Vec<&'static str>,
    lines: Vec<TrialRow>,
}

/// A row with and without a proposal.
struct TrialRow {
    row: RowName,
    /// The row as it is with the proposal; none if no kernel has it.
    changed: Option<RowName>,
    before: RowResult,
    after: RowResult,
    judgement: Judgement,
    /// Speed-up of a combination / the product of its parts' speed-ups.
    interaction: Option<f64>,
    /// Nearest change of an assumed number that changes the verdict's class, with `--sensitivity`.
    flip: Option<Flip>,
}

/// Machines, proposals and changed machines of a run.
type Changed = Vec<(Arc<Machine>, Proposal, Result<Arc<Machine>, String>)>;

/// Runs `cp2 whatif`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    if (args.csv || args.markdown) && json {
        return Err(CommandFailure::input(
            "--csv, --markdown and --json are formats of the same; choose one",
        ));
    }
    let files = args.machines.iter().filter_map(|m| super::machine_file(m));
    let mut outputs = Outputs::from_inputs(files.chain(args.weights.as_deref()));
    if let Some(path) = &args.html {
        check_extension(path, "html", ".html")?;
        outputs.check(path)?;
    }
    let weights = args.weights.as_deref().map(read_weights).transpose()?;
    let proposals = select_proposals(&args.proposals)?;
    let rows = select_rows(args.kernels.as_deref())?;
    let load = |name: &String| Ok::<_, CommandFailure>(Arc::new(load_machine(name)?));
    let machines: Vec<Arc<Machine>> = args.machines.iter().map(load).collect::<Result<_, _>>()?;
    if let Some(only) = args.sensitivity.as_ref().filter(|only| !only.is_empty())
        && machines.iter().all(|machine| machine.name != *only)
    {
        let names: Vec<&str> = machines.iter().map(|m| m.name.as_str()).collect();
        return Err(CommandFailure::input(format!(
            "--sensitivity={only}: expected one of the machines of --machine: {}",
            names.join(", ")
        )));
    }
    let changed = change_machines(&machines, &proposals)?;
    let keep = args.keep.as_deref().map(KeptRows::open).transpose()?;
    let mut results = MeasuredRows::new(keep.as_ref(), json);
    let (mut trials, refused) = try_proposals(&rows, changed, &mut results)?;
    if let Some(only) = &args.sensitivity {
        let is_named = |trial: &&mut ProposalTrial| only.is_empty() || trial.base.name == *only;
        sensitivity::find_flips(trials.iter_mut().filter(is_named), &mut results)?;
    }
    let (exit, faults) = results.faults();
    let notes = refused + &faults;
    let report = show::WhatifReport {
        trials: &trials,
        weights: weights.as_ref(),
    };
    if let Some(path) = &args.html {
        write_whole(path, show::html(&report).as_bytes())?;
    }
    let text = match (args.csv, args.markdown) {
        (true, _) => show::csv(&report),
        (_, true) => document::markdown(&report),
        _ => show::text(&report),
    };
    Ok(CommandOutcome {
        text,
        json: show::object(&report),
        notes,
        exit,
    })
}

fn read_weights(path: &Path) -> Result<CostWeights, CommandFailure> {
    let source = super::text(path, read_small(path, LIMIT)?)?;
    CostWeights::parse(&source).map_err(|e| CommandFailure::in_file(path, e.message))
}

/// Applies every proposal to every machine. A machine may refuse one; if all do, it is not understood.
fn change_machines(
    machines: &[Arc<Machine>],
    proposals: &[Proposal],
) -> Result<Changed, CommandFailure> {
    let mut all = Vec::new();
    for proposal in proposals {
        let results: Vec<_> = machines
            .iter()
            .map(|machine| machine.with_changes(&proposal.changes))
            .collect();
        if let (false, Some(Err(first))) = (results.iter().any(Result::is_ok), results.first()) {
            let names: Vec<String> = proposals::catalogue()?
                .into_iter()
                .map(|p| p.name)
                .collect();
            return Err(CommandFailure::input(format!(
                "--proposals: `{}` is no change of a machine, and none of {}\n{first}",
                proposal.name,
                names.join(", ")
            )));
        }
        for (machine, result) in machines.iter().zip(results) {
            let result = result.map(Arc::new);
            let result = result.map_err(|e| shorten_reason(&e.to_string()));
            all.push((machine.clone(), proposal.clone(), result));
        }
    }
    Ok(all)
}

/// Results by source, row and machine, each found once.
struct MeasuredRows<'a> {
    keep: Option<&'a KeptRows>,
    quiet: bool,
    cases: Vec<RowCase>,
    results: Vec<RowResult>,
    index: BTreeMap<(CycleSource, String, String), usize>,
}

impl<'a> MeasuredRows<'a> {
    fn new(keep: Option<&'a KeptRows>, quiet: bool) -> Self {
        Self {
            keep,
            quiet,
            cases: Vec::new(),
            results: Vec::new(),
            index: BTreeMap::new(),
        }
    }

    /// Runs or prices what is not known yet.
    fn measure<'b>(
        &mut self,
        source: CycleSource,
        cases: impl Iterator<Item = (&'b RowName, &'b Arc<Machine>)>,
    ) -> Result<(), CommandFailure> {
        let known = self.cases.len();
        for (row, machine) in cases {
            let machine = strip_machine(source, row, machine);
            let key = (source, row.to_string(), machine.hash.clone());
            self.index.entry(key).or_insert_with(|| {
                self.cases.push(RowCase {
                    row: row.clone(),
                    machine,
                    source,
                });
                self.cases.len() - 1
            });
        }
        let more = measure_cases(&self.cases[known..], self.keep, self.quiet)?;
        self.results.extend(more);
        Ok(())
    }

    fn find(
        &self,
        source: CycleSource,
        row: &RowName,
        machine: &Arc<Machine>,
    ) -> Option<RowResult> {
        let machine = strip_machine(source, row, machine);
        let key = (source, row.to_string(), machine.hash.clone());
        let at = self.index.get(&key);
        at.and_then(|&at| self.results.get(at)).cloned()
    }

    /// Returns the exit code and the messages of rows that ended badly: a fault of this tool.
    fn faults(&self) -> (u8, String) {
        let (mut exit, mut notes) = (0, String::new());
        for (case, result) in self.cases.iter().zip(&self.results) {
            if let Err(refusal) = result
                && refusal.exit > 0
            {
                exit = exit.max(refusal.exit);
                let (row, machine) = (&case.row, &case.machine.name);
                notes += &format!("error: {row} on {machine}: {}\n", refusal.reason);
            }
        }
        (exit, notes)
    }
}

/// Measures all rows on all machines and judges the proposals; also returns those that a machine refuses.
fn try_proposals(
    rows: &[RowName],
    changed: Changed,
    results: &mut MeasuredRows<'_>,
) -> Result<(Vec<ProposalTrial>, String), CommandFailure> {
    let mut cases: Vec<(RowName, &Arc<Machine>)> = Vec::new();
    for row in rows {
        cases.extend(changed.iter().map(|(before, ..)| (row.clone(), before)));
        cases.extend(changed.iter().filter_map(|(_, proposal, after)| {
            let row = row.with_precision(proposal.precision).ok()?;
            Some((row, after.as_ref().ok()?))
        }));
    }
    let run = CycleSource::Run;
    results.measure(run, cases.iter().map(|(row, machine)| (row, *machine)))?;
    let (mut trials, mut notes) = (Vec::new(), String::new());
    for (base, proposal, machine) in changed {
        let machine = match machine {
            Ok(machine) => machine,
            Err(reason) => {
                notes += &format!("not tried: {} on {}: {reason}\n", proposal.name, base.name);
                continue;
            }
        };
        let (costs, uncounted) = cost::costs(&base, &machine);
        let line = |row: &RowName| {
            let before = results.find(run, row, &base)?;
            let changed = row.with_precision(proposal.precision);
            let after = match &changed {
                Ok(changed) => results.find(run, changed, &machine)?,
                Err(refusal) => Err(refusal.clone()),
            };
            Some(TrialRow {
                row: row.clone(),
                changed: changed.ok(),
                judgement: judge(&before, &after),
                before,
                after,
                interaction: None,
                flip: None,
            })
        };
        trials.push(ProposalTrial {
            lines: rows.iter().filter_map(line).collect(),
            proposal,
            base,
            machine,
            costs,
            uncounted,
        });
    }
    interact(&mut trials);
    Ok((trials, notes))
}

/// Computes the interaction of combinations whose parts are measured too.
fn interact(trials: &mut [ProposalTrial]) {
    let mut alone = BTreeMap::new();
    for trial in trials.iter() {
        for line in &trial.lines {
            if let (Ok(before), Ok(after)) = (&line.before, &line.after) {
                let key = (
                    trial.base.hash.clone(),
                    trial.proposal.name.clone(),
                    line.row.to_string(),
                );
                alone.insert(key, before.cycles as f64 / after.cycles.max(1) as f64);
            }
        }
    }
    let gain = |base: &str, name: &str, row: &RowName| {
        let key = (base.to_owned(), name.to_owned(), row.to_string());
        alone.get(&key).copied()
    };
    for trial in trials
        .iter_mut()
        .filter(|trial| !trial.proposal.parts.is_empty())
    {
        for line in &mut trial.lines {
            let parts = trial.proposal.parts.iter();
            let parts = parts.map(|part| gain(&trial.base.hash, part, &line.row));
            let product: Option<f64> = parts.product();
            let whole = gain(&trial.base.hash, &trial.proposal.name, &line.row);
            line.interaction = whole
                .zip(product)
                .map(|(whole, product)| rounded(whole / product));
        }
    }
}
