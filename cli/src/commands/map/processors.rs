//! `cp2 map --procs P`: blocks dealt to several processors.

use super::{Args, ExpectedResult, deliver};
use crate::io::display_path;
use crate::memory::check_memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::processors::{self, JobResults, JobSession, Ranks};
use crate::provenance::ReportProvenance;
use crate::simulation::{merge, operations_json, operations_text};
use crate::table::seconds;
use cp2_asm::Program;
use cp2_host::DeviceOptions;
use cp2_kernels::map::{ArrayJob, MapJob, map_job, share_blocks};
use cp2_kernels::{Pass, ProcessorRun};
use cp2_machine::{Cycles, Machine};
use cp2_network::Transport;
use cp2_reference::Figures;
use serde_json::json;
use std::sync::Arc;

/// Sends the arrays through the kernel on several processors, and writes the results on the first rank.
pub(super) fn run(
    args: &Args,
    machine: &Arc<Machine>,
    given: (&Arc<Program>, ArrayJob<'_>),
    results: &[ExpectedResult],
    (json, mut ranks): (bool, Ranks),
) -> Result<CommandOutcome, CommandFailure> {
    let outcome = compute(args, machine, given, results, (json, ranks.transport()))?;
    ranks.finish();
    Ok(outcome)
}

fn compute(
    args: &Args,
    machine: &Arc<Machine>,
    (program, job): (&Arc<Program>, ArrayJob<'_>),
    expected: &[ExpectedResult],
    (json, transport): (bool, &mut dyn Transport),
) -> Result<CommandOutcome, CommandFailure> {
    let mut session = JobSession::new(transport, machine, &args.simulation, args.procs, json)?;
    let title = format!("{} on {}", args.kernel.display(), machine.name);
    let fingerprint = fingerprint(machine, &title, args, program, &job);
    let shares = share_blocks(&job, program, session.processors());
    let shares = shares.map_err(|e| args.make_failure(e))?;
    // Bytes of each result on each processor.
    let lengths: Vec<Vec<u64>> = shares.iter().map(lengths).collect();
    check_memory(&title, session.memory_beside_arrays())?;
    let (jobs, made) = session.make_jobs(|processor, options| {
        let share = ArrayJob {
            options: DeviceOptions {
                stages: true,
                ..options
            },
            ..shares[processor].clone()
        };
        let made = map_job(program, machine.clone(), share).map_err(|e| args.make_failure(e))?;
        let MapJob { job, outputs, .. } = made;
        Ok((job, (outputs, made.figures, made.clamps)))
    })?;
    let clamps: usize = made.iter().map(|(_, _, clamps)| clamps).sum();
    // The first processor has most blocks.
    let known = made.first().map(|(_, figures, _)| figures.clone());
    let pages = jobs
        .first()
        .and_then(|job| job.passes().iter().find_map(Pass::nest))
        .cloned();
    let priced = session.price_jobs(&jobs, &fingerprint, None);
    let price = session.expected_cycles(priced.as_ref());
    let (ran, _) = session.run_jobs(jobs, &fingerprint, price)?;
    let mut values = Vec::new();
    for (ProcessorRun { run, .. }, (outputs, ..)) in ran.runs.iter().zip(made) {
        for output in outputs {
            values.extend(run.read(output).map_err(CommandFailure::input)?);
        }
    }
    let gathered = JobResults::gather(session.transport, &args.simulation, ran, values)?;
    let (Some(mut results), Some(known)) = (gathered, known) else {
        return Ok(CommandOutcome::default());
    };
    let mut outcome = report(args, machine, &results, (&known, price));
    outcome.json["clamped_edges"] = json!(clamps);
    if let Some(pages) = pages {
        outcome.json["buffering"] = json!(pages.degree());
        if args.plan {
            outcome.text += &format!("\npages of processor 0: {}\n", pages.to_string().trim_end());
            outcome.json["plan"] = serde_json::to_value(&pages).unwrap_or_default();
        }
    }
    let outputs = results
        .is_finished()
        .then(|| join(&lengths, &results.values));
    let finished = outputs.is_some();
    // Pages of one processor do not have all blocks.
    deliver(expected, outputs, &[], &mut outcome)?;
    if let Some(path) = args.outputs.first().filter(|_| finished) {
        outcome.json["output"] = json!(display_path(path));
    }
    let source = super::source_text;
    results.conclude(&args.simulation, &title, source, &mut outcome)?;
    Ok(outcome)
}

/// Returns the bytes of each result of a job.
fn lengths(job: &ArrayJob<'_>) -> Vec<u64> {
    let outputs = job.outputs.iter().map(|output| {
        let shape = output.shape.iter();
        shape.fold(output.element.bytes, |n, &d| n.saturating_mul(d))
    });
    outputs.collect()
}

/// Puts the parts of each result together, of which processors have left one behind the other.
fn join(lengths: &[Vec<u64>], values: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = values;
    let mut all: Vec<Vec<u8>> = vec![Vec::new(); lengths.first().map_or(0, Vec::len)];
    for own in lengths {
        for (whole, &bytes) in all.iter_mut().zip(own) {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(rest.len());
            let (part, behind) = rest.split_at(bytes);
            whole.extend(part);
            rest = behind;
        }
    }
    all
}

/// Returns bytes that differ between ranks with other kernels, arrays or options.
fn fingerprint(
    machine: &Machine,
    title: &str,
    args: &Args,
    program: &Program,
    job: &ArrayJob<'_>,
) -> Vec<u8> {
    let arrays = job.inputs.iter().map(|input| input.bytes);
    let tables = job.tables.iter().map(|(_, bytes)| *bytes);
    let object = program.to_elf();
    let how = format!(
        "{title} with {} processors, blocks of {}, {:?}, {}, {:?}",
        args.procs, args.block, job.words, job.scratch, job.outputs
    );
    let bytes = arrays.chain(tables).chain([&object[..]]);
    processors::fingerprint_of(machine, &how, bytes)
}

/// Reports the run of all processors.
fn report(
    args: &Args,
    machine: &Machine,
    results: &JobResults,
    (known, price): (&Figures, Option<u64>),
) -> CommandOutcome {
    let cycles = results.cycles();
    let base = machine.time_base();
    let simulated = base.seconds(base.cycles(Cycles(cycles)));
    let efficiency = results.is_finished().then(|| known.efficiency(cycles));
    let grid = |which: usize| -> u64 {
        let grids = results.processors.iter().map(|one| one.grid[which]);
        grids.sum()
    };
    let mut text = format!(
        "{} blocks of {} through {} on {} processors\ntime  {cycles} cycles  {}\n{}{}, {}\n",
        grid(0),
        args.block,
        args.kernel.display(),
        args.procs,
        seconds(simulated),
        results.table(),
        known.text(),
        efficiency.map_or_else(
            || "not finished".to_owned(),
            |efficiency| format!("efficiency {efficiency:.3}")
        )
    );
    text += &match price {
        Some(price) => format!("expected {price} cycles, the price of the plan\n"),
        None => "expected: not known, for data decide how long a kernel takes\n".to_owned(),
    };
    let operations = results.operations_bound();
    text += &operations_text(operations, cycles);
    let own = json!({
        "blocks": grid(0),
        "pages": grid(1),
        "kernel": display_path(&args.kernel),
        "input": args.inputs.first().map(|path| display_path(path)),
        "inputs": args.inputs.iter().map(|path| display_path(path)).collect::<Vec<_>>(),
        "expected_cycles": price,
        "efficiency": efficiency,
        "outside_time": [],
    });
    let own = merge(own, operations_json(operations, cycles));
    let figures = merge(json!(known), merge(results.fields(machine), own));
    CommandOutcome {
        text,
        json: ReportProvenance::new("cp2-map/1", machine, None)
            .engine(args.simulation.engine().resolve_engine(machine))
            .add_figures(figures),
        ..CommandOutcome::default()
    }
}
