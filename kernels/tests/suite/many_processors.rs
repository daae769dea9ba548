//! Tests of many processors: threads and shared translations change nothing.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_emu::Engine;
use cp2_host::{DeviceOptions, RunReport};
use cp2_kernels::bench::ScaleLoad;
use cp2_kernels::npb::mg::MultigridPlan;
use cp2_kernels::stencil::StencilSlabs;
use cp2_kernels::{Job, Pass, price_jobs, run_jobs};
use cp2_machine::Machine;
use cp2_network::{InProcess, NetworkReport};
use cp2_problems::npb::mg::{MgProblem, Smoother};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use std::sync::Arc;

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

fn options(engine: Engine) -> DeviceOptions {
    DeviceOptions {
        engine,
        // Devices do not use them: processors share the threads of the run.
        threads: 3,
        stages: true,
        ..DeviceOptions::default()
    }
}

/// Everything that a run of slabs simulates: network, price, reports and values of each processor.
type Simulated = (NetworkReport, NetworkReport, Vec<(RunReport, Vec<u32>)>);

fn slabs(
    machine: &Arc<Machine>,
    shape: &[usize],
    processors: usize,
    (engine, threads): (Engine, usize),
) -> Simulated {
    let stencil = StencilShape::from_classes(7, None).unwrap();
    let problem = StencilProblem::new(shape, stencil, Edge::Fixed, 4).unwrap();
    let slabs = StencilSlabs::new(&problem, machine, processors).unwrap();
    let u: Vec<f32> = (0..shape.iter().product::<usize>())
        .map(|i| (i * i % 97) as f32)
        .collect();
    let all = slabs.slabs().iter();
    let jobs = all.map(|slab| slab.job(&u, None, options(engine)).unwrap());
    let (jobs, results): (Vec<Job>, Vec<_>) = jobs.unzip();
    let priced = price_jobs(&mut InProcess, machine, processors, &jobs, threads, b"").unwrap();
    let (network, runs) =
        run_jobs(&mut InProcess, machine, processors, jobs, threads, b"").unwrap();
    let each = runs.into_iter().zip(results).map(|(own, v)| {
        let values = own.run.read(v).unwrap();
        let bits = values.into_iter().map(f32::to_bits).collect();
        (own.run.report, bits)
    });
    (network, priced, each.collect())
}

#[test]
fn threads_and_engines_change_nothing_simulated() {
    for (name, shape, processors) in [("vm7", [11, 12, 20], 5), ("vm9", [16, 16, 16], 3)] {
        let machine = machine(name);
        let expected = slabs(&machine, &shape, processors, (Engine::Reference, 1));
        for threads in [1, 2, 4] {
            let found = slabs(&machine, &shape, processors, (Engine::Fast, threads));
            assert!(found == expected, "{name}, {threads} threads");
        }
    }
}

/// Independent jobs of one plan share the pages of their sweeps, and each has the report of a job that runs alone.
#[test]
fn jobs_of_one_plan_share_sweeps_and_translations() {
    let machine = machine("vm7");
    let problem = MgProblem::new(16, 2, Smoother::A).unwrap();
    let plan = MultigridPlan::new(problem, &machine).unwrap();
    let input = |number: usize| {
        let mut v = vec![0f32; 16 * 16 * 16];
        v[17 * number + 3] = 1.0;
        v
    };
    let make = |number| plan.task(&input(number), options(Engine::Fast)).unwrap();
    let (first, second) = (make(0).job, make(1).job);
    let mut shared = 0;
    for (one, other) in first.passes().iter().zip(second.passes()) {
        if let (Some(one), Some(other)) = (Pass::nest(one), Pass::nest(other)) {
            assert!(std::ptr::eq(one, other));
            shared += 1;
        }
    }
    assert!(shared > 10, "{shared}");
    let jobs = vec![first, second, make(2).job, make(3).job];
    let (_, runs) = run_jobs(&mut InProcess, &machine, 4, jobs, 2, b"").unwrap();
    for (number, own) in runs.into_iter().enumerate() {
        let alone = make(number).run(plan.figures()).unwrap();
        assert!(own.run.report == alone.run.report, "{number}");
    }
}

#[test]
fn loads_of_the_benchmark_run_on_any_number_of_threads() {
    for load in [ScaleLoad::Stencil, ScaleLoad::Multigrid] {
        let run = |threads| {
            let measured = load.measure(&machine("vm7"), Engine::Fast, (3, threads), None);
            let figures = measured.unwrap();
            (figures.cycles, figures.network)
        };
        assert_eq!(run(1), run(2), "{}", load.name());
    }
}
