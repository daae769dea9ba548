//! Tests of multigrid on several processors: bits, times and refusals.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::DeviceOptions;
use cp2_kernels::npb::mg::{MultigridPlan, MultigridSplit, NormSum, SplitRequest};
use cp2_kernels::{Job, price_jobs, run_jobs};
use cp2_machine::Machine;
use cp2_network::{InProcess, NetworkReport};
use cp2_problems::npb::mg::{MgProblem, Smoother};
use cp2_problems::{Case, Problem};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

fn right_hand_side(problem: &MgProblem, seed: u64) -> Vec<f32> {
    let input = problem.input(Case::Random, seed);
    input.get::<f32>("v").unwrap().to_vec()
}

/// The result of all processors, the norms, and what happened on the network.
fn on_processors(
    plan: &MultigridPlan,
    machine: &Arc<Machine>,
    v: &[f32],
) -> (Vec<f32>, Vec<f64>, NetworkReport) {
    let options = DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    };
    let jobs = (0..plan.processors()).map(|processor| {
        let job = plan.processor_job(processor, v, options.clone());
        job.unwrap()
    });
    let (jobs, outputs): (Vec<Job>, Vec<_>) = jobs.unzip();
    let mut transport = InProcess;
    let count = jobs.len();
    let priced = price_jobs(&mut transport, machine, count, &jobs, 1, b"").unwrap();
    let (report, runs) = run_jobs(&mut transport, machine, count, jobs, 2, b"").unwrap();
    for (priced, ended) in priced.ends.iter().zip(&report.ends) {
        let ratio = priced.get() as f64 / ended.get() as f64;
        assert!(
            (0.99..=1.01).contains(&ratio),
            "{priced} priced, {ended} taken"
        );
    }
    let mut u = vec![f32::NAN; v.len()];
    for (processor, (output, run)) in outputs.iter().zip(&runs).enumerate() {
        let own = output.read_own(&run.run).unwrap();
        assert_eq!(own.len(), plan.own_elements());
        plan.place_own(processor, &own, &mut u);
        let report = &run.run.report;
        assert!(report.end.is_finished(), "{}", report.end);
        assert_eq!(report.findings, []);
        assert_eq!(report.causes.total(), report.cycles);
    }
    let norms = outputs[0].read_norms(&runs[0].run).unwrap();
    (u, norms, report)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

fn split(parts: [usize; 2], gather: usize) -> MultigridSplit {
    MultigridSplit { parts, gather }
}

/// Bits of u are those of one processor, and so are norms that are added up in its order.
#[test]
fn processors_have_the_bits_of_one() {
    for (name, n, cycles, splits) in [
        (
            "vm7",
            32,
            2,
            &[([2, 1], 16), ([4, 1], 8), ([2, 2], 8), ([1, 4], 16)][..],
        ),
        (
            "vm9",
            32,
            2,
            &[([2, 1], 4), ([2, 4], 8), ([8, 1], 16), ([4, 4], 8)],
        ),
    ] {
        let machine = machine(name);
        let problem = MgProblem::new(n, cycles, Smoother::A).unwrap();
        let v = right_hand_side(&problem, 5);
        let one = MultigridPlan::new(problem.clone(), &machine).unwrap();
        let (u, norms, report) = on_processors(&one, &machine, &v);
        assert_eq!(report.messages, 0);
        for &(parts, gather) in splits {
            let plan = one.split(split(parts, gather), NormSum::Tree).unwrap();
            let (found, norms_found, _) = on_processors(&plan, &machine, &v);
            assert!(bits(&found) == bits(&u), "{name} {parts:?} {gather}");
            for (a, b) in norms.iter().zip(&norms_found) {
                assert!((a / b - 1.0).abs() < 1e-7, "{name} {parts:?}: {a} {b}");
            }
            let ordered = one.split(split(parts, gather), NormSum::Ordered);
            let Ok(plan) = ordered else {
                assert!(parts[1] > 1, "{name} {parts:?}");
                continue;
            };
            let (found, norms_found, _) = on_processors(&plan, &machine, &v);
            assert!(bits(&found) == bits(&u), "{name} {parts:?} {gather}");
            assert_eq!(norms, norms_found, "{name} {parts:?}");
        }
    }
}

/// Each refusal names what is wrong, and what was expected.
#[test]
fn splits_that_do_not_fit_are_refused() {
    let machine = machine("vm7");
    let problem = MgProblem::new(16, 1, Smoother::A).unwrap();
    let one = MultigridPlan::new(problem, &machine).unwrap();
    for (parts, gather, words) in [
        ([3, 1], 4, "3 parts of planes; expected a power of two"),
        ([2, 1], 16, "expected a power of two from 2 to 8"),
        ([2, 1], 1, "expected a power of two from 2 to 8"),
        ([1, 16], 8, "leave 1 to a processor"),
        ([8, 1], 4, "take fewer parts, or gather a finer level"),
    ] {
        let error = one.split(split(parts, gather), NormSum::Tree).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(words), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Any split, any gathered level, machines with few sections or little memory, and networks so slow that faces
    /// leave while passes run.
    #[test]
    fn any_split_has_the_bits_of_one_processor(
        small in any::<bool>(),
        cycles in 1usize..3,
        planes in 0u32..4,
        rows in 0u32..4,
        gather in 1u32..5,
        sections in prop::sample::select(vec![1u64, 3, 4]),
        dmem in prop::sample::select(vec![16384u64, 65536]),
        vm9 in any::<bool>(),
        slow in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let base = if vm9 { "vm9" } else { "vm7" };
        let text = format!(
            "name = \"drawn\"\nbase = \"{base}\"\n[cp2]\nsections = {{ value = {sections}, unit = \"sections\" }}\ndmem = {{ value = {dmem}, unit = \"B\" }}\n"
        );
        let text = match slow {
            true => text + "[network]\nlane-rate = { value = 100, unit = \"Mbaud\" }\n",
            false => text,
        };
        let machine = Arc::new(Machine::parse("drawn", &text).unwrap());
        let level = if small { 4 } else { 5 };
        let problem = MgProblem::new(1 << level, cycles, Smoother::B).unwrap();
        let v = right_hand_side(&problem, seed);
        let one = MultigridPlan::new(problem, &machine).unwrap();
        let (u, ..) = on_processors(&one, &machine, &v);
        // Blocks of the coarsest level that is divided have two planes and rows at least.
        let gather = gather.max(planes).max(rows).min(level - 1);
        let parts = [1 << planes.min(gather), 1 << rows.min(gather)];
        let plan = one.split(split(parts, 1 << gather), NormSum::Tree).unwrap();
        let (found, _, report) = on_processors(&plan, &machine, &v);
        prop_assert!(bits(&found) == bits(&u));
        prop_assert_eq!(report.messages > 0, parts != [1, 1]);
    }
}

/// A search plans kernels once for many splits: each price is that of the split by itself.
#[test]
fn prices_of_a_search_are_those_of_single_splits() {
    for name in ["vm7", "vm9"] {
        let machine = machine(name);
        let problem = MgProblem::with_shape([32, 16, 16], 2, Smoother::A).unwrap();
        let one = MultigridPlan::new(problem, &machine).unwrap();
        for sum in [NormSum::Tree, NormSum::Ordered] {
            let request = SplitRequest {
                sum,
                every_price: true,
                ..SplitRequest::default()
            };
            let search = |request: &SplitRequest| {
                let found = one.split_by_price(4, request, |_| ControlFlow::Continue(()));
                found.unwrap().unwrap().1
            };
            let all = search(&request);
            assert!(all.len() > 4);
            let some = SplitRequest {
                every_price: false,
                ..request
            };
            assert_eq!(search(&some)[0], all[0]);
            for price in all {
                let fixed = SplitRequest {
                    parts: Some(price.split.parts),
                    gather: Some(price.split.gather),
                    ..request
                };
                assert_eq!(search(&fixed), [price]);
            }
        }
    }
}
