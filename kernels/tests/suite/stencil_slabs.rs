//! Tests of stencils on several processors: bits, times and refusals.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::DeviceOptions;
use cp2_kernels::stencil::{StencilSlabs, Stencils};
use cp2_kernels::{ExchangeError, Job, price_jobs, run_jobs};
use cp2_machine::Machine;
use cp2_network::{InProcess, NetworkError, NetworkReport};
use cp2_problems::stencil::{Edge, StencilPoint, StencilProblem, StencilShape};
use cp2_problems::{Case, Problem};
use proptest::prelude::*;
use std::sync::Arc;

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

/// The result of all slabs, what happened on the network, and the cycles of each processor.
fn on_processors(
    problem: &StencilProblem,
    machine: &Arc<Machine>,
    processors: usize,
    (u, c): (&[f32], Option<&[f32]>),
) -> (Vec<f32>, NetworkReport, Vec<u64>) {
    let slabs = StencilSlabs::new(problem, machine, processors).unwrap();
    let options = DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    };
    let jobs = slabs
        .slabs()
        .iter()
        .map(|slab| slab.job(u, c, options.clone()).unwrap());
    let (jobs, results): (Vec<Job>, Vec<_>) = jobs.unzip();
    let mut transport = InProcess;
    let priced = price_jobs(&mut transport, machine, processors, &jobs, 1, b"").unwrap();
    let (report, runs) = run_jobs(&mut transport, machine, processors, jobs, 1, b"").unwrap();
    // Prices of passes that put rows into another layout may differ by some cycles.
    let exact = problem.shape().last().is_some_and(|n| n.is_multiple_of(4));
    if exact {
        assert_eq!(priced, report);
    }
    for (priced, ended) in priced.ends.iter().zip(&report.ends) {
        let ratio = priced.get() as f64 / ended.get() as f64;
        assert!(
            (0.90..=1.01).contains(&ratio),
            "{priced} priced, {ended} taken"
        );
    }
    let mut all = Vec::new();
    let mut cycles = Vec::new();
    for ((slab, v), processor) in slabs.slabs().iter().zip(results).zip(&runs) {
        let own = processor.run.read(v).unwrap();
        all.extend(&own[slab.own_elements()]);
        let report = &processor.run.report;
        assert!(report.end.is_finished(), "{}", report.end);
        assert_eq!(report.findings, []);
        assert_eq!(report.causes.total(), report.cycles);
        cycles.push(report.cycles);
    }
    (all, report, cycles)
}

fn problem(shape: &[usize], points: usize, steps: usize) -> StencilProblem {
    let stencil = StencilShape::from_classes(points, None).unwrap();
    StencilProblem::new(shape, stencil, Edge::Fixed, steps).unwrap()
}

fn inputs(problem: &StencilProblem, seed: u64) -> (Vec<f32>, Option<Vec<f32>>) {
    let data = problem.input(Case::Random, seed);
    let get = |name| data.get::<f32>(name).map(<[f32]>::to_vec).ok();
    (get("u").unwrap(), get("c"))
}

#[test]
fn two_processors_give_the_bits_of_one() {
    for (name, shape, points, steps) in [
        ("vm7", vec![12, 16, 20], 7, 3),
        ("vm9", vec![9, 10, 33], 27, 2),
        ("vm7", vec![40, 64], 5, 2),
    ] {
        let (machine, problem) = (machine(name), problem(&shape, points, steps));
        let (u, _) = inputs(&problem, 1);
        let one = Stencils::new(&problem, machine.clone()).unwrap();
        let one = one.process(&u, None).unwrap();
        let (two, report, cycles) = on_processors(&problem, &machine, 2, (&u, None));
        assert_eq!(
            two.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            one.output
                .unwrap()
                .iter()
                .map(|x| x.to_bits())
                .collect::<Vec<_>>(),
            "{name} {shape:?}"
        );
        // A message each way before each step.
        assert_eq!(report.messages, 2 * steps as u64);
        // Rows of the first exchange are the user's, those of later ones are filled up to whole quads.
        let columns = shape[shape.len() - 1];
        let rows: usize = shape[1..shape.len() - 1].iter().product();
        let bytes = |columns: usize| 2 * 4 * (rows * columns) as u64;
        let later = bytes(columns.next_multiple_of(4)) * (steps as u64 - 1);
        assert_eq!(report.message_bytes, bytes(columns) + later);
        assert_eq!(cycles.len(), 2);
    }
}

/// Slabs fuse two steps where one processor does: one exchange of two planes a pass, and of one plane before a single
/// last step.
#[test]
fn fused_passes_exchange_once() {
    for (points, steps, exchanged) in [(7, 2, vec![2]), (19, 4, vec![2, 2]), (27, 3, vec![2, 1])] {
        let (machine, problem) = (narrow(), problem(&[24, 48, 64], points, steps));
        let one = Stencils::new(&problem, machine.clone()).unwrap();
        assert_eq!(one.steps_of_passes(), exchanged, "{points}");
        let (u, _) = inputs(&problem, 7);
        let one = one.process(&u, None).unwrap().output.unwrap();
        let (all, report, _) = on_processors(&problem, &machine, 3, (&u, None));
        assert!(same_bits(&all, &one), "{points}");
        assert_eq!(report.messages, 2 * 2 * exchanged.len() as u64);
        let planes: usize = exchanged.iter().sum();
        assert_eq!(report.message_bytes, (2 * 2 * planes * 4 * 48 * 64) as u64);
    }
}

/// A machine whose channel is so slow that two steps a pass pay for all stencils.
fn narrow() -> Arc<Machine> {
    let mut machine = Machine::builtin("vm9").unwrap();
    machine.dma.bandwidth.den *= 4;
    Arc::new(machine)
}

/// The price decides: planes that neighbours compute too cost more than exchanges where slabs are thin. A slab of one
/// plane has no two for its neighbour.
#[test]
fn thin_slabs_take_single_steps() {
    let steps = |machine: &Arc<Machine>, shape: &[usize], processors| {
        let slabs = StencilSlabs::new(&problem(shape, 7, 2), machine, processors).unwrap();
        let slabs = slabs.slabs().iter();
        let mut all: Vec<_> = slabs.map(|slab| slab.plan().steps_of_passes()).collect();
        all.dedup();
        all
    };
    let vm9 = machine("vm9");
    assert_eq!(steps(&vm9, &[128, 128, 128], 2), [vec![2]]);
    assert_eq!(steps(&vm9, &[128, 128, 128], 16), [vec![1, 1]]);
    assert_eq!(steps(&narrow(), &[24, 48, 64], 8), [vec![2]]);
    assert_eq!(steps(&narrow(), &[24, 48, 64], 24), [vec![1, 1]]);
}

fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.iter()
        .map(|x| x.to_bits())
        .eq(b.iter().map(|x| x.to_bits()))
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let machine = machine("vm7");
    let periodic = StencilProblem::new(
        &[8, 8, 8],
        StencilShape::from_classes(7, None).unwrap(),
        Edge::Periodic,
        1,
    );
    let error = StencilSlabs::new(&periodic.unwrap(), &machine, 2).unwrap_err();
    assert!(
        error.to_string().contains("expected fixed edges"),
        "{error}"
    );
    let error = StencilSlabs::new(&problem(&[3, 8, 8], 7, 1), &machine, 4).unwrap_err();
    assert!(
        error.to_string().contains("expected 1 to 3 processors"),
        "{error}"
    );
}

/// A receive that nobody sends to: each processor says what it waits for, and no job hangs.
#[test]
fn processors_that_wait_for_each_other_are_told() {
    let machine = machine("vm7");
    let jobs = (0..2u64).map(|own| {
        let mut job = Job::new(machine.clone(), DeviceOptions::default());
        let x = job.output::<f32>("x", &[4]).unwrap();
        let region = cp2_host::MessageRegion::contiguous(x.address(), x.bytes());
        let request = job.receive("x", Some(1 - own), None, region);
        job.wait_messages(&[request]);
        job
    });
    let error = run_jobs(&mut InProcess, &machine, 2, jobs.collect(), 1, b"").unwrap_err();
    assert!(matches!(error, ExchangeError::Ended(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains('0') && text.contains('1'), "{text}");
}

/// A command that the device refuses is no fault of the guest: another exit code tells it from one.
#[test]
fn refused_commands_are_told_from_faults() {
    let machine = machine("vm7");
    let jobs = (0..2u64).map(|own| {
        let mut job = Job::new(machine.clone(), DeviceOptions::default());
        let region = cp2_host::MessageRegion::contiguous(machine.host.memory.0, 16);
        let request = job.send("x", 1 - own, 0, region);
        job.wait_messages(&[request]);
        job
    });
    let error = run_jobs(&mut InProcess, &machine, 2, jobs.collect(), 1, b"").unwrap_err();
    let ExchangeError::Network(NetworkError::Failed { failures }) = &error else {
        panic!("{error}");
    };
    assert!(failures.iter().all(|failure| failure.of_host), "{error}");
    assert_eq!(failures.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Any fixed array, any number of processors, coefficients of classes or of elements, points of one's own.
    #[test]
    fn slabs_give_the_bits_of_one_processor(
        planes in 3usize..10,
        rows in 3usize..12,
        columns in 4usize..40,
        points in prop::sample::select(vec![0usize, 7, 19, 27]),
        steps in 1usize..4,
        processors in 1usize..6,
        per_element in any::<bool>(),
        vm9 in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let machine = machine(if vm9 { "vm9" } else { "vm7" });
        let mut problem = drawn_problem(&[planes, rows, columns], points, steps, seed);
        if per_element {
            problem = problem.per_element();
        }
        let processors = processors.min(planes);
        let (u, c) = inputs(&problem, seed);
        let one = Stencils::new(&problem, machine.clone()).unwrap();
        let one = one.process(&u, c.as_deref()).unwrap().output.unwrap();
        let (all, report, _) = on_processors(&problem, &machine, processors, (&u, c.as_deref()));
        prop_assert!(same_bits(&all, &one));
        let exchanges = exchanges(&problem, &machine, processors);
        prop_assert_eq!(report.messages, 2 * (processors as u64 - 1) * exchanges);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Arrays that one processor computes in passes of two steps: in slabs of any height, whose passes take two steps
    /// or one.
    #[test]
    fn slabs_give_the_bits_of_fused_passes(
        planes in 4usize..20,
        rows in 24usize..40,
        columns in prop::sample::select(vec![32usize, 45, 48]),
        points in prop::sample::select(vec![0usize, 7, 19, 27]),
        steps in 2usize..6,
        processors in 2usize..6,
        seed in 0u64..1000,
    ) {
        let machine = narrow();
        let problem = drawn_problem(&[planes, rows, columns], points, steps, seed);
        let processors = processors.min(planes);
        let (u, _) = inputs(&problem, seed);
        let one = Stencils::new(&problem, machine.clone()).unwrap();
        let one = one.process(&u, None).unwrap().output.unwrap();
        let (all, report, _) = on_processors(&problem, &machine, processors, (&u, None));
        prop_assert!(same_bits(&all, &one));
        let exchanges = exchanges(&problem, &machine, processors);
        prop_assert_eq!(report.messages, 2 * (processors as u64 - 1) * exchanges);
    }
}

/// A problem with so many points of the usual coefficients, or with points of one's own without any.
fn drawn_problem(shape: &[usize], points: usize, steps: usize, seed: u64) -> StencilProblem {
    if points > 0 {
        return problem(shape, points, steps);
    }
    let ahead = (seed % 3) as i8 - 1;
    let offsets = [[0, 0, 0], [-1, 0, ahead], [1, 0, 0], [1, -1, 1], [0, 1, 0]];
    let own = offsets.into_iter().zip([0.5, 0.125, -0.25, 0.25, 0.0625]);
    let own = own.map(|(offset, coefficient)| StencilPoint {
        offset,
        coefficient,
    });
    let stencil = StencilShape::new(3, own.collect()).unwrap();
    StencilProblem::new(shape, stencil, Edge::Fixed, steps).unwrap()
}

/// Passes of each slab, which has an exchange before every one.
fn exchanges(problem: &StencilProblem, machine: &Arc<Machine>, processors: usize) -> u64 {
    let slabs = StencilSlabs::new(problem, machine, processors).unwrap();
    slabs.slabs()[0].plan().steps_of_passes().len() as u64
}
