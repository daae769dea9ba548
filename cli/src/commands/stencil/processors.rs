//! `cp2 stencil --procs P`: slabs on several processors.

use super::{Args, StencilInput, decimal, described, merge};
use crate::interrupt;
use crate::io::{Kind, display_path, header, write_whole};
use crate::memory::check_memory;
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED, WrongResult};
use crate::processors::{self, ProcessorReport, Ranks};
use crate::provenance::ReportProvenance;
use crate::table::seconds;
use cp2_kernels::stencil::StencilSlabs;
use cp2_kernels::{Job, ProcessorRun, price_jobs, run_jobs};
use cp2_machine::Machine;
use cp2_network::{Transport, gather, share_of};
use cp2_problems::{NamedArrays, Problem as _};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

/// Results of a rank's processors, as the first rank gets them: reports as JSON behind their length, then values.
struct RankResult {
    reports: Vec<ProcessorReport>,
    values: Vec<u8>,
}

impl RankResult {
    fn encode(&self) -> Vec<u8> {
        let reports = serde_json::to_vec(&self.reports).unwrap_or_default();
        let mut bytes = (reports.len() as u64).to_le_bytes().to_vec();
        bytes.extend(reports);
        bytes.extend(&self.values);
        bytes
    }

    /// Reads what [`RankResult::encode`] gave; none if it is something else.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (reports, values) = rest.split_at_checked(length)?;
        Some(Self {
            reports: serde_json::from_slice(reports).ok()?,
            values: values.to_vec(),
        })
    }
}

/// Computes the array on several processors, and judges the result on the first rank.
pub(super) fn run(
    args: &Args,
    machine: &Arc<Machine>,
    given: &StencilInput,
    json: bool,
    mut ranks: Ranks,
) -> Result<CommandOutcome, CommandFailure> {
    let outcome = compute(args, machine, given, json, ranks.transport())?;
    ranks.finish();
    Ok(outcome)
}

fn compute(
    args: &Args,
    machine: &Arc<Machine>,
    given: &StencilInput,
    json: bool,
    transport: &mut dyn Transport,
) -> Result<CommandOutcome, CommandFailure> {
    let count = usize::from(args.procs);
    if transport.ranks() > count {
        return Err(CommandFailure::input(format!(
            "--procs {count}: {} ranks were started; expected at most as many as processors",
            transport.ranks()
        )));
    }
    let problem = &given.problem;
    let slabs = StencilSlabs::new(problem, machine, count).map_err(CommandFailure::input)?;
    let own = share_of(count, transport.ranks(), transport.rank());
    let bytes = PROCESSOR * own.len() as u64 + SLAB_ELEMENT * problem.elements() as u64;
    check_memory(problem.title(), bytes)?;
    let known = slabs.figures();
    let first = transport.rank() == 0;
    let (options, progress) = args
        .simulation
        .begin(Some(known.reference.get()), json || !first);
    let started = Instant::now();
    let (mut jobs, mut results) = (Vec::new(), Vec::new());
    for (at, slab) in slabs.slabs()[own.clone()].iter().enumerate() {
        let mut options = options.clone();
        if at > 0 {
            options.progress = None;
        }
        let job = slab.job(&given.u, given.c.as_deref(), options);
        let (job, v) = job.map_err(CommandFailure::input)?;
        jobs.push(job);
        results.push((v, slab.own_elements()));
    }
    let inputs: Vec<&[f32]> = [Some(&given.u[..]), given.c.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    // Coefficients and offsets too: a title has not all of a problem.
    let whole = format!(
        "{} on {count} processors, {:?}",
        problem.title(),
        problem.stencil()
    );
    let fingerprint = processors::fingerprint(machine, &whole, &inputs);
    let expected = price(transport, machine, count, &jobs, &fingerprint);
    let ran = run_jobs(transport, machine, count, jobs, &fingerprint);
    let (network, runs) = ran.map_err(processors::failure)?;
    let host_seconds = started.elapsed().as_secs_f64();
    drop(progress);
    let mut mine = RankResult {
        reports: Vec::new(),
        values: Vec::new(),
    };
    for (ProcessorRun { run, .. }, (v, elements)) in runs.iter().zip(results) {
        let values = run.read(v).map_err(CommandFailure::input)?;
        let values = values.get(elements).unwrap_or_default();
        mine.values
            .extend(values.iter().flat_map(|x| x.to_le_bytes()));
        mine.reports.push(ProcessorReport {
            cycles: run.report.cycles,
            causes: run.report.causes.clone(),
            words: run.report.counters.words,
            flops: run.report.counters.work.flops,
            findings: run
                .report
                .findings
                .iter()
                .map(ToString::to_string)
                .collect(),
        });
    }
    let name = (transport.name(), transport.ranks());
    let Some(ranks) = gather(transport, mine.encode()).map_err(CommandFailure::input)? else {
        return Ok(CommandOutcome::default());
    };
    let (mut reports, mut values) = (Vec::new(), Vec::new());
    for (rank, bytes) in ranks.iter().enumerate() {
        let part = RankResult::decode(bytes).ok_or_else(|| {
            CommandFailure::input(format!("rank {rank} sent something else than its results"))
        })?;
        reports.extend(part.reports);
        let words = part.values.chunks_exact(4);
        values.extend(words.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    }
    let cycles = reports
        .iter()
        .map(|report| report.cycles)
        .max()
        .unwrap_or(0);
    let slowest = reports.iter().max_by_key(|report| report.cycles);
    let base = machine.time_base();
    let simulated = base.seconds(base.cycles(cp2_machine::Cycles(cycles)));
    let efficiency = known.efficiency(cycles);
    let found = NamedArrays::from_array("v", problem.shape(), values);
    let verdict = match given.is_finite() {
        true => Some(interrupt::run_interruptible(|| {
            problem.judge(&given.data(), &found)
        })?),
        false => None,
    };
    let recipe = slabs
        .slabs()
        .first()
        .map_or_else(String::new, |slab| slab.plan().recipe());
    let planes: Vec<usize> = slabs
        .slabs()
        .iter()
        .map(|slab| slab.planes().len())
        .collect();
    let mut outcome = CommandOutcome {
        text: format!(
            "{}\nslabs of {} planes on {count} processors, a {}; {recipe}\ntime  {cycles} cycles  {}\n{}{}, efficiency {efficiency:.3}\n",
            problem.title(),
            planes.first().unwrap_or(&0),
            machine.network.topology.name(),
            seconds(simulated),
            processors::table(&network, &reports),
            known.text(),
        ),
        json: merge(
            merge(described(slabs.slabs()[0].plan()), json!(known)),
            merge(
                processors::fields(name, machine, &network, &reports),
                json!({
                    "end": "finished",
                    "cycles": cycles,
                    "seconds_simulated": simulated,
                    "causes": slowest.map(|report| report.causes.to_map()),
                    "words": reports.iter().map(|report| report.words).sum::<u64>(),
                    "flops": reports.iter().map(|report| report.flops).sum::<u64>(),
                    "efficiency": efficiency,
                    "expected_cycles": expected,
                    "shape": problem.shape(),
                    "split": { "planes": planes },
                    "rel_error": verdict.map(|v| v.rms),
                    "worst_error_over_tolerance": verdict.map(|v| v.worst),
                    "verified": verdict.map(|v| v.is_within_tolerance()),
                    "host_seconds": host_seconds,
                }),
            ),
        ),
        ..CommandOutcome::default()
    };
    if let Some(expected) = expected {
        outcome.text += &format!("expected {expected} cycles, the price of the plan\n");
    }
    outcome.text += &match verdict {
        Some(v) => format!(
            "error against f64: {:.2e} relative RMS, worst element {} of the tolerance\n",
            v.rms,
            decimal(v.worst, 2, 1.0)
        ),
        None => "error: not known (numbers that are not finite)\n".to_owned(),
    };
    outcome.text += &format!(
        "simulated in {} by {} rank(s)\n",
        seconds(host_seconds),
        name.1
    );
    for (number, report) in reports.iter().enumerate() {
        for finding in &report.findings {
            outcome.notes += &format!("processor {number}: {finding}\n");
            outcome.exit = outcome.exit.max(UNVERIFIED);
        }
    }
    let wrong = WrongResult {
        whose: "the result's",
        tolerance: "the tolerance",
        cause: "numbers are so large that f32 overflows",
    };
    outcome.report_verdict(true, verdict, wrong);
    if let Some(path) = &args.output {
        let values = found.get::<f32>("v").map_err(CommandFailure::input)?;
        let mut bytes = header(Kind::Float32, problem.shape());
        bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        write_whole(path, &bytes)?;
        outcome.text += &format!("output: {}\n", path.display());
        outcome.json["output"] = json!(display_path(path));
    }
    let head = ReportProvenance::new("cp2-stencil/1", machine, given.seed)
        .engine(args.simulation.engine().resolve_engine(machine));
    outcome.json = head.add_figures(outcome.json);
    outcome.json["input"] = json!(args.input.as_deref().map(display_path));
    Ok(outcome)
}

/// Returns the cycles that the run should take: those of the processor that ends last.
fn price(
    transport: &mut dyn Transport,
    machine: &Machine,
    count: usize,
    jobs: &[Job],
    fingerprint: &[u8],
) -> Option<u64> {
    let report = price_jobs(transport, machine, count, jobs, fingerprint).ok()?;
    let last = report.ends.iter().max()?;
    // Times beyond the range of instants are no price.
    (last.get() < u64::MAX).then(|| last.to_cycles(machine.cp2.clock_hz))
}

/// Bytes of host memory of a processor beside its arrays, and of an element of the array beside those of one processor.
const PROCESSOR: u64 = 12 << 20;
const SLAB_ELEMENT: u64 = 40;

/// Refuses what one processor alone reports.
pub(super) fn check(args: &Args) -> Result<(), CommandFailure> {
    let simulation = &args.simulation;
    let refused = [
        ("--trace", simulation.trace.is_some()),
        ("--profile", simulation.profile),
        ("--emit", simulation.emit.is_some()),
        ("--plan", args.plan),
    ];
    match refused.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(CommandFailure::input(format!(
            "{option}: several processors have no report of this kind; expected --procs 1, or a run without {option}"
        ))),
        None => Ok(()),
    }
}
