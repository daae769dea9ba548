//! `cp2 npb mg --procs P`: planes and rows on several processors.

use super::{Args, compare_results, mark_operators, plan, split};
use crate::backends::add_simulated_clock;
use crate::commands::npb::report::{
    are_verified, format_compared, format_operators, sum_operators,
};
use crate::commands::source_text;
use crate::memory::check_memory;
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use crate::processors::{self, JobResults, JobSession, Ranks, decode_values, encode_values};
use crate::provenance::ReportProvenance;
use crate::simulation::merge;
use crate::table::{percent, seconds};
use cp2_host::MemoryElement;
use cp2_kernels::ProcessorRun;
use cp2_kernels::npb::mg::{MultigridPlan, MultigridSplit, NormSum};
use cp2_machine::{Cycles, Machine};
use cp2_network::Transport;
use cp2_problems::npb::{NpbClass, Precision};
use cp2_problems::{Element, NamedArrays, Problem as _};
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns the bytes of host memory of a point, measured on 2 to 1,024 processors, with a margin: arrays of the
/// precision, and those of the reference, whose numbers are wider.
fn point_bytes(precision: Precision) -> u64 {
    match precision {
        Precision::Single => 64,
        Precision::DoubleSingle | Precision::Double => 160,
    }
}

/// Bytes of the norms behind a processor's values.
const NORMS: usize = 16;

/// Runs the benchmark on several processors, and verifies it on the first rank.
pub(super) fn run(
    args: &Args,
    machine: &Arc<Machine>,
    json: bool,
    mut ranks: Ranks,
) -> Result<CommandOutcome, CommandFailure> {
    let transport = ranks.transport();
    let outcome = match args.precision {
        Precision::Single => compute::<f32>(args, machine, json, transport)?,
        Precision::DoubleSingle => compute::<[f32; 2]>(args, machine, json, transport)?,
        Precision::Double => compute::<f64>(args, machine, json, transport)?,
    };
    ranks.finish();
    Ok(outcome)
}

/// Computes with numbers of a type.
fn compute<T: Element + MemoryElement>(
    args: &Args,
    machine: &Arc<Machine>,
    json: bool,
    transport: &mut dyn Transport,
) -> Result<CommandOutcome, CommandFailure> {
    let simulation = &args.common.simulation;
    let mut session = JobSession::new(transport, machine, simulation, args.procs, json)?;
    let count = session.processors();
    let subject = args.subject()?;
    let problem = &subject.problem;
    let bytes =
        session.memory_beside_arrays() + point_bytes(args.precision) * problem.count() as u64;
    check_memory(problem.title(), bytes)?;
    let request = args.split_request();
    MultigridPlan::check_splits(problem, count, &request).map_err(CommandFailure::input)?;
    let whole = plan(args, problem, machine, session.is_quiet())?;
    let plan = split(&whole, count, &request, session.is_quiet())?.0;
    let known = plan.figures();
    let input = subject.input();
    let v = input
        .get_sized::<T>("v", problem.count())
        .map_err(CommandFailure::input)?;
    let (jobs, outputs) = session.make_jobs(|processor, options| {
        let job = plan.processor_job(processor, v, options);
        job.map_err(CommandFailure::input)
    })?;
    let what = format!(
        "{} on {count} processors, {:?}, {:?}",
        subject.title(),
        plan.division(),
        args.sum
    );
    let fingerprint = processors::fingerprint_of(machine, &what, encode_values(v).into_iter());
    let about = Some(known.reference.get());
    let priced = session.price_jobs(&jobs, &fingerprint, about);
    let expected = session.expected_cycles(priced.as_ref());
    let (ran, host_seconds) = session.run_jobs(jobs, &fingerprint, expected.or(about))?;
    let each = T::BYTES * plan.own_elements() + NORMS;
    let mut values = Vec::with_capacity(each * outputs.len());
    for (ProcessorRun { run, .. }, output) in ran.runs.iter().zip(&outputs) {
        let own = output.read_own(run).map_err(CommandFailure::input)?;
        values.extend(encode_values(&own));
        let norms = output.read_norms(run).map_err(CommandFailure::input)?;
        values.extend(norms.iter().flat_map(|x| x.to_le_bytes()));
    }
    let operators = mark_operators(&plan);
    let first = ran.runs.first().map(|run| &run.run.report);
    let parts = first.map_or_else(Vec::new, |report| sum_operators(report, &operators));
    let gathered = JobResults::gather(session.transport, simulation, ran, values)?;
    let Some(mut results) = gathered else {
        return Ok(CommandOutcome::default());
    };
    let output = join_results::<T>(&plan, &results.values);
    let finished = results.is_finished();
    let norm = finished.then(|| norms(&output)[1]);
    let compared = match norm {
        Some(norm) => compare_results(&subject, &input, &output, norm)?,
        None => Vec::new(),
    };
    let passed = are_verified(&compared);
    let title = subject.title();
    let cycles = results.cycles();
    let base = machine.time_base();
    let simulated = base.seconds(base.cycles(Cycles(cycles)));
    let efficiency = finished.then(|| known.efficiency(cycles));
    let mops = finished.then(|| subject.operations() / simulated / 1e6);
    let waits = results
        .processors
        .iter()
        .map(|one| one.causes.get(cp2_emu::Cause::WaitMessage))
        .sum::<u64>();
    let all: u64 = results.processors.iter().map(|one| one.cycles).sum();
    let mut text = format!(
        "{title}\n{}{}\n{}\n{}time  {cycles} cycles  {}\n{}waits for messages  {} of all cycles\n{}, {}\n",
        format_compared(&compared),
        if passed { "verified" } else { "not verified" },
        describe_split(&plan, machine),
        format_operators(&parts, "operator of processor 0"),
        seconds(simulated),
        results.table(),
        percent(waits, all).trim_start(),
        known.text(),
        match efficiency.zip(mops) {
            Some((efficiency, mops)) => format!("efficiency {efficiency:.3}, {mops:.1} Mop/s"),
            None => "not finished".to_owned(),
        },
    );
    if let Some(expected) = expected {
        text += &format!("expected {expected} cycles, the price of the plan\n");
    }
    text += &format!(
        "simulated in {} by {} rank(s)\n",
        seconds(host_seconds),
        results.ranks
    );
    let first = compared.first();
    let own = json!({
        "benchmark": "MG",
        "class": subject.class().map(NpbClass::name),
        "value": norm,
        "official": subject.official(),
        "relative_difference": first.map(|number| number.difference),
        "tolerance": subject.tolerance(),
        "passed": passed,
        "expected_cycles": expected,
        "efficiency": efficiency,
        "mops": mops,
        "split": json_split(&plan),
        "sum": sum_name(args.sum),
        "operators": parts.iter().map(|part| part.json()).collect::<Vec<_>>(),
        "recipe": plan.recipe(),
        "host_seconds": host_seconds,
        "outside_time": super::OUTSIDE,
    });
    let own = merge(own, subject.json());
    let fields = merge(results.fields(machine), merge(json!(known), own));
    let mut outcome = CommandOutcome {
        text,
        json: ReportProvenance::new("cp2-npb/1", machine, None)
            .engine(simulation.engine().resolve_engine(machine))
            .add_figures(fields),
        ..CommandOutcome::default()
    };
    add_simulated_clock(&mut outcome);
    let title = format!("{title} on {count} x {}", machine.name);
    results.conclude(simulation, &title, source_text, &mut outcome)?;
    if !passed && finished {
        outcome.exit = outcome.exit.max(UNVERIFIED);
        outcome.notes += "error: the benchmark is not verified: see the table\n";
    }
    Ok(outcome)
}

/// Returns u and the norms from the values of all processors.
fn join_results<T: Element + MemoryElement>(plan: &MultigridPlan, values: &[u8]) -> NamedArrays {
    let problem = plan.problem();
    let mut u = vec![T::default(); problem.count()];
    let mut norms = vec![f64::NAN; 2];
    let own = T::BYTES * plan.own_elements();
    for (processor, bytes) in values.chunks(own + NORMS).enumerate() {
        let Some((values, sums)) = bytes.split_at_checked(own) else {
            continue;
        };
        plan.place_own(processor, &decode_values(values), &mut u);
        if processor == 0 {
            let sums = sums.as_chunks::<8>().0.iter();
            norms = sums.map(|bytes| f64::from_le_bytes(*bytes)).collect();
        }
    }
    NamedArrays::from_array("u", &problem.shape(), u).add_array("norms", &[2], norms)
}

/// Returns the norms of a result; numbers that are none where there are none.
fn norms(output: &NamedArrays) -> [f64; 2] {
    match output.get::<f64>("norms") {
        Ok(&[first, last]) => [first, last],
        _ => [f64::NAN; 2],
    }
}

/// Returns the parts of planes and rows, and the gathered level, as JSON.
fn json_split(plan: &MultigridPlan) -> Value {
    match plan.division() {
        None => Value::Null,
        Some(MultigridSplit {
            parts: [planes, rows],
            gather,
        }) => json!({ "planes": planes, "rows": rows, "gather": gather }),
    }
}

/// Says how planes and rows are divided.
fn describe_split(plan: &MultigridPlan, machine: &Machine) -> String {
    let [all_planes, all_rows, _] = plan.problem().shape();
    match plan.division() {
        None => "one processor".to_owned(),
        Some(MultigridSplit {
            parts: [planes, rows],
            gather,
        }) => format!(
            "{} processors, a {}: {rows} x {planes} parts of rows x planes, {} rows of {} planes each; levels of {gather} points and fewer on every processor",
            planes * rows,
            machine.network.topology.name(),
            all_rows / rows,
            all_planes / planes,
        ),
    }
}

/// Returns the name of an order in which sums are added up.
fn sum_name(sum: super::SumOrder) -> &'static str {
    match NormSum::from(sum) {
        NormSum::Tree => "tree",
        NormSum::Ordered => "ordered",
    }
}
