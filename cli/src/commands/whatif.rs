//! `cp2 whatif`: gain, cost and limit of proposals to change the machine.

mod cost;
pub(super) mod measured;
mod proposals;
pub(super) mod show;
mod verdict;

use crate::io::{Outputs, check_extension, read_small, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use cost::{Cost, CostWeights};
use cp2_machine::Machine;
use measured::{KeptResults, RowCase, RowName, RowResult, measure_cases, rounded, select_rows};
use proposals::{Proposal, select_proposals};
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
    /// Write a page with all tables and, with --weights, gain over cost: .html [default: not written]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// A proposal on a machine, with what it costs and does.
struct Trial {
    proposal: Proposal,
    base: Arc<Machine>,
    machine: Arc<Machine>,
    costs: Vec<Cost>,
    /// Parameters that differ and have no formula of costs.
    uncounted: Vec<&'static str>,
    lines: Vec<Line>,
}

/// A row with and without a proposal.
struct Line {
    row: RowName,
    before: RowResult,
    after: RowResult,
    judgement: Judgement,
    /// Speed-up of a combination / the product of its parts' speed-ups.
    interaction: Option<f64>,
}

/// Machines, proposals and changed machines of a run.
type Changed = Vec<(Arc<Machine>, Proposal, Result<Arc<Machine>, String>)>;

/// Runs `cp2 whatif`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    if args.csv && json {
        return Err(CommandFailure::input(
            "--csv and --json are two formats of the same; choose one",
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
    let load = |name: &String| Ok::<_, CommandFailure>(Arc::new(Machine::load(name)?));
    let machines: Vec<Arc<Machine>> = args.machines.iter().map(load).collect::<Result<_, _>>()?;
    let changed = change_machines(&machines, &proposals)?;
    let keep = args.keep.as_deref().map(KeptResults::open).transpose()?;
    let (trials, exit, notes) = try_proposals(&rows, changed, keep.as_ref(), json)?;
    let report = show::Report {
        trials: &trials,
        weights: weights.as_ref(),
    };
    if let Some(path) = &args.html {
        write_whole(path, show::html(&report).as_bytes())?;
    }
    let text = match args.csv {
        true => show::csv(&report),
        false => show::text(&report),
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
            let result = result.map_err(|e| e.to_string().lines().next().unwrap_or("").to_owned());
            all.push((machine.clone(), proposal.clone(), result));
        }
    }
    Ok(all)
}

/// Measures all rows on all machines, each once, and judges the proposals.
fn try_proposals(
    rows: &[RowName],
    changed: Changed,
    keep: Option<&KeptResults>,
    quiet: bool,
) -> Result<(Vec<Trial>, u8, String), CommandFailure> {
    let (mut cases, mut index) = (Vec::new(), BTreeMap::new());
    let after = changed
        .iter()
        .filter_map(|(_, _, after)| after.as_ref().ok());
    let before = changed.iter().map(|(before, ..)| before);
    let machines: Vec<&Arc<Machine>> = before.chain(after).collect();
    for row in rows {
        for &machine in &machines {
            index
                .entry((row.to_string(), machine.hash.clone()))
                .or_insert_with(|| {
                    cases.push(RowCase {
                        row: row.clone(),
                        machine: machine.clone(),
                    });
                    cases.len() - 1
                });
        }
    }
    let results = measure_cases(&cases, keep, quiet)?;
    let (mut exit, mut notes) = (0, String::new());
    for (case, result) in cases.iter().zip(&results) {
        if let Err(refusal) = result
            && refusal.exit > 0
        {
            exit = exit.max(refusal.exit);
            notes += &format!(
                "error: {} on {}: {}\n",
                case.row, case.machine.name, refusal.reason
            );
        }
    }
    let find = |row: &RowName, machine: &Machine| {
        let at = index.get(&(row.to_string(), machine.hash.clone()));
        at.and_then(|&at| results.get(at)).cloned()
    };
    let mut trials = Vec::new();
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
            let (before, after) = (find(row, &base)?, find(row, &machine)?);
            Some(Line {
                row: row.clone(),
                judgement: judge(&before, &after),
                before,
                after,
                interaction: None,
            })
        };
        trials.push(Trial {
            lines: rows.iter().filter_map(line).collect(),
            proposal,
            base,
            machine,
            costs,
            uncounted,
        });
    }
    interact(&mut trials);
    Ok((trials, exit, notes))
}

/// Computes the interaction of combinations whose parts are measured too.
fn interact(trials: &mut [Trial]) {
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
