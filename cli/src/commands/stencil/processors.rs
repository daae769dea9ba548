//! `cp2 stencil --procs P`: slabs on several processors.

use super::{Args, StencilInput, decimal, described, merge};
use crate::backends::add_simulated_clock;
use crate::interrupt;
use crate::io::{Kind, display_path, header, write_whole};
use crate::memory::check_memory;
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::processors::{
    self, JobResults, JobSession, Ranks, decode_values, encode_values, expected_cycles,
};
use crate::progress;
use crate::provenance::ReportProvenance;
use crate::table::{Align, TextTable, seconds};
use cp2_kernels::stencil::{StencilSlab, StencilSlabs};
use cp2_kernels::{ProcessorRun, Verdict};
use cp2_machine::{Cycles, Machine};
use cp2_network::{NetworkReport, Transport};
use cp2_problems::{NamedArrays, Problem as _};
use serde_json::{Value, json};
use std::sync::Arc;

/// Bytes of host memory of an element of the array beside those of one processor.
const SLAB_ELEMENT: u64 = 40;

/// Most slabs that a plan has a line for.
const LISTED: usize = 16;

/// Computes the array on several processors, and judges the result on the first rank.
pub(super) fn run(
    args: &Args,
    machine: &Arc<Machine>,
    given: &StencilInput,
    json: bool,
    mut ranks: Ranks,
) -> Result<CommandOutcome, CommandFailure> {
    let mut outcome = compute(args, machine, given, json, ranks.transport())?;
    ranks.finish();
    if crate::processors::is_first() {
        let mut head = ReportProvenance::new("cp2-stencil/1", machine, given.seed);
        if !args.plan {
            head = head.engine(args.simulation.engine().resolve_engine(machine));
        }
        outcome.json = head.add_figures(outcome.json);
        outcome.json["input"] = json!(args.input.as_deref().map(display_path));
        if !args.plan {
            add_simulated_clock(&mut outcome);
        }
    }
    Ok(outcome)
}

fn compute(
    args: &Args,
    machine: &Arc<Machine>,
    given: &StencilInput,
    json: bool,
    transport: &mut dyn Transport,
) -> Result<CommandOutcome, CommandFailure> {
    let mut session = JobSession::new(transport, machine, &args.simulation, args.procs, json)?;
    let count = session.processors();
    let problem = &given.problem;
    let planning = progress::planning(session.is_quiet());
    let slabs = interrupt::plan_interruptible(|| StencilSlabs::new(problem, machine, count))?;
    let slabs = slabs.map_err(CommandFailure::input)?;
    drop(planning);
    let bytes = session.memory_beside_arrays() + SLAB_ELEMENT * problem.elements() as u64;
    check_memory(problem.title(), bytes)?;
    let known = slabs.figures();
    let (jobs, results) = session.make_jobs(|processor, options| {
        let slab = &slabs.slabs()[processor];
        let job = slab.job(&given.u, given.c.as_deref(), options);
        let (job, v) = job.map_err(CommandFailure::input)?;
        Ok((job, (v, slab.own_elements())))
    })?;
    let fingerprint = fingerprint(machine, count, given);
    let about = Some(known.reference.get());
    let priced = session.price_jobs(&jobs, &fingerprint, about);
    if args.plan {
        interrupt::check()?;
        return Ok(planned(&slabs, machine, priced.as_ref()));
    }
    let expected = session.expected_cycles(priced.as_ref());
    let (ran, host_seconds) = session.run_jobs(jobs, &fingerprint, expected.or(about))?;
    let elements = results.iter().map(|(_, own)| own.len());
    let mut values = Vec::with_capacity(4 * elements.sum::<usize>());
    for (ProcessorRun { run, .. }, (v, elements)) in ran.runs.iter().zip(results) {
        let own = run.read(v).map_err(CommandFailure::input)?;
        values.extend(encode_values(own.get(elements).unwrap_or_default()));
    }
    let gathered = JobResults::gather(session.transport, &args.simulation, ran, values)?;
    let Some(mut results) = gathered else {
        return Ok(CommandOutcome::default());
    };
    let found =
        NamedArrays::from_array("v", problem.shape(), decode_values::<f32>(&results.values));
    let verdict = match results.is_finished() && given.is_finite() {
        true => Some(interrupt::run_interruptible(|| {
            problem.judge(&given.data(), &found)
        })?),
        false => None,
    };
    let mut outcome = report(&slabs, machine, &results, (expected, verdict, host_seconds));
    let title = problem.title();
    let source = slabs.slabs().first().map(|slab| slab.plan().source());
    results.conclude(
        &args.simulation,
        &title,
        |file| {
            let source = source.filter(|_| file == "stencil.s");
            source.map(str::to_owned)
        },
        &mut outcome,
    )?;
    let wrong = WrongResult {
        whose: "the result's",
        tolerance: "the tolerance",
        cause: "numbers are so large that f32 overflows",
    };
    outcome.report_verdict(true, verdict, wrong);
    if let Some(path) = args.output.as_ref().filter(|_| results.is_finished()) {
        let values = found.get::<f32>("v").map_err(CommandFailure::input)?;
        let mut bytes = header(Kind::Float32, problem.shape());
        bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        write_whole(path, &bytes)?;
        outcome.text += &format!("output: {}\n", path.display());
        outcome.json["output"] = json!(display_path(path));
    }
    Ok(outcome)
}

/// Returns bytes that differ between ranks with other problems. Coefficients and offsets too: a title has not all of a
/// problem.
fn fingerprint(machine: &Machine, count: usize, given: &StencilInput) -> Vec<u8> {
    let inputs: Vec<&[f32]> = [Some(&given.u[..]), given.c.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    let problem = &given.problem;
    let whole = format!(
        "{} on {count} processors, {:?}",
        problem.title(),
        problem.stencil()
    );
    processors::fingerprint(machine, &whole, &inputs)
}

/// Reports the run of all slabs.
fn report(
    slabs: &StencilSlabs,
    machine: &Machine,
    results: &JobResults,
    (expected, verdict, host_seconds): (Option<u64>, Option<Verdict>, f64),
) -> CommandOutcome {
    let (problem, known) = (slabs.problem(), slabs.figures());
    let cycles = results.cycles();
    let base = machine.time_base();
    let simulated = base.seconds(base.cycles(Cycles(cycles)));
    let efficiency = results.is_finished().then(|| known.efficiency(cycles));
    let mut text = format!(
        "{}\n{}\ntime  {cycles} cycles  {}\n{}{}, {}\n",
        problem.title(),
        split(slabs, machine),
        seconds(simulated),
        results.table(),
        known.text(),
        efficiency.map_or_else(
            || "not finished".to_owned(),
            |efficiency| format!("efficiency {efficiency:.3}")
        )
    );
    if let Some(expected) = expected {
        text += &format!("expected {expected} cycles, the price of the plan\n");
    }
    text += &match verdict {
        Some(v) => format!(
            "error against f64: {:.2e} relative RMS, worst element {} of the tolerance\n",
            v.rms,
            decimal(v.worst, 2, 1.0)
        ),
        None => "error: not known (no result, or numbers that are not finite)\n".to_owned(),
    };
    text += &format!(
        "simulated in {} by {} rank(s)\n",
        seconds(host_seconds),
        results.ranks
    );
    let updates = problem.elements() as f64 * problem.steps() as f64;
    let rate = updates / simulated / 1e6;
    let own = json!({
        "efficiency": efficiency,
        "million_updates_per_second": results.is_finished().then_some(rate),
        "expected_cycles": expected,
        "rel_error": verdict.map(|v| v.rms),
        "worst_error_over_tolerance": verdict.map(|v| v.worst),
        "verified": verdict.map(|v| v.is_within_tolerance()),
        "host_seconds": host_seconds,
    });
    CommandOutcome {
        text,
        json: merge(
            merge(described_slabs(slabs), json!(known)),
            merge(results.fields(machine), own),
        ),
        ..CommandOutcome::default()
    }
}

/// Reports how the array would be computed, and the price of it.
fn planned(
    slabs: &StencilSlabs,
    machine: &Machine,
    priced: Option<&NetworkReport>,
) -> CommandOutcome {
    let known = slabs.figures();
    let hertz = machine.cp2.clock_hz;
    let expected = priced.and_then(|report| expected_cycles(report, machine));
    let each: Vec<Option<u64>> = (0..slabs.slabs().len())
        .map(|number| {
            let end = priced.and_then(|report| report.ends.get(number))?;
            Some(end.to_cycles(hertz))
        })
        .collect();
    let mut table = TextTable::new(&[Align::Left, Align::Left, Align::Right, Align::Right]);
    let unit = unit(slabs);
    table.row(["slab", unit, "ghosts", "cycles"]);
    for (number, (slab, cycles)) in slabs.slabs().iter().zip(&each).enumerate().take(LISTED) {
        let planes = slab.planes();
        table.row([
            format!("processor {number}"),
            format!("{}-{}", planes.start, planes.end.saturating_sub(1)),
            slab.ghosts().iter().sum::<usize>().to_string(),
            cycles.map_or_else(|| "-".to_owned(), |cycles| cycles.to_string()),
        ]);
    }
    let mut text = format!(
        "{}\n{}\n{}\n",
        slabs.problem().title(),
        split(slabs, machine),
        known.text()
    );
    if let Some(cycles) = expected {
        text += &format!("expected {cycles} cycles\n");
    }
    let passes = slabs.slabs().first();
    let passes = passes.map_or_else(Vec::new, |slab| slab.plan().steps_of_passes());
    text += &format!(
        "{} exchanges, one before each pass",
        passes.iter().filter(|_| slabs.slabs().len() > 1).count()
    );
    if let Some(report) = priced {
        text += &format!(": {} messages, {} B", report.messages, report.message_bytes);
    }
    text += &format!("\n\n{table}");
    if slabs.slabs().len() > LISTED {
        text += &format!("and {} slabs more\n", slabs.slabs().len() - LISTED);
    }
    let passes: Vec<Value> = passes
        .iter()
        .map(|steps| json!({ "steps": steps, "exchanged_planes": steps }))
        .collect();
    CommandOutcome {
        text,
        json: merge(
            merge(described_slabs(slabs), json!(known)),
            json!({
                "procs": slabs.slabs().len(),
                "topology": machine.network.topology.name(),
                "expected_cycles": expected,
                "passes": passes,
                "messages": priced.map(|report| report.messages),
                "message_bytes": priced.map(|report| report.message_bytes),
                "processors": each.iter().map(|cycles| json!({ "expected_cycles": cycles })).collect::<Vec<_>>(),
            }),
        ),
        ..CommandOutcome::default()
    }
}

/// Returns the problem and its slabs as JSON.
fn described_slabs(slabs: &StencilSlabs) -> Value {
    let planes = slabs.slabs().iter().map(|slab| slab.planes().len());
    let planes: Vec<usize> = planes.collect();
    let ghosts = slabs.slabs().iter().map(StencilSlab::ghosts);
    let ghosts: Vec<[usize; 2]> = ghosts.collect();
    let plan = slabs.slabs().first().map(|slab| described(slab.plan()));
    merge(
        plan.unwrap_or_else(|| json!({})),
        json!({
            "shape": slabs.problem().shape(),
            "split": { "planes": planes, "ghosts": ghosts },
        }),
    )
}

/// Returns the name of a part of the outermost axis.
fn unit(slabs: &StencilSlabs) -> &'static str {
    match slabs.problem().shape().len() {
        3 => "planes",
        _ => "rows",
    }
}

/// Says how the array is cut.
fn split(slabs: &StencilSlabs, machine: &Machine) -> String {
    let sizes = slabs.slabs().iter().map(|slab| slab.planes().len());
    let (least, most) = (sizes.clone().min(), sizes.max());
    let sizes = match (least.unwrap_or(0), most.unwrap_or(0)) {
        (least, most) if least == most => format!("{most}"),
        (least, most) => format!("{least} or {most}"),
    };
    let recipe = slabs.slabs().first();
    format!(
        "slabs of {sizes} {} on {} processors, a {}; {}",
        unit(slabs),
        slabs.slabs().len(),
        machine.network.topology.name(),
        recipe.map_or_else(String::new, |slab| slab.plan().recipe())
    )
}
