//! Tests the NAS benchmarks: official values, other shapes, and efficiency.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::DeviceOptions;
use cp2_kernels::Cp2Backend;
use cp2_kernels::npb::mg::MultigridPlan;
use cp2_machine::Machine;
use cp2_problems::npb::ft::{CHECKSUM_TOLERANCE, FIELD_TOLERANCE, official};
use cp2_problems::npb::mg::{MgClass, MgProblem, Smoother, charges};
use cp2_problems::npb::{FtProblem, NpbClass, Precision};
use cp2_problems::{Backend as _, Case, NamedArrays, Problem as _, Reference, run_judged};
use num_complex::Complex32;
use std::sync::Arc;

fn vm(name: &str) -> Arc<Machine> {
    Machine::builtin(name).unwrap().into()
}

/// Classes S and W give every official checksum and the right field on both machines, S under the checkers
/// too.
#[test]
fn ft_gives_the_official_checksums() {
    for (class, machine, check, efficiency) in [
        (NpbClass::S, "vm7", true, 0.76),
        (NpbClass::S, "vm9", false, 0.66),
        (NpbClass::W, "vm7", false, 0.81),
    ] {
        let problem = FtProblem::from_class(class);
        let method = Cp2Backend::new(vm(machine)).method(&problem).unwrap();
        let input = problem.initial();
        let options = DeviceOptions {
            check,
            ..DeviceOptions::default()
        };
        let task = method.task(&input, options).unwrap();
        let expected = task.job.expected();
        let done = task.run(method.figures.clone()).unwrap();
        assert_eq!(done.run.report.findings, []);
        assert!(done.keeps_inputs().unwrap());
        let output = done.output.as_ref().unwrap();
        let sums = output.get::<f64>("checksums").unwrap();
        for (ours, [re, im]) in sums.chunks_exact(2).zip(official(class)) {
            let apart = libm::hypot(ours[0] - re, ours[1] - im) / libm::hypot(*re, *im);
            assert!(apart < CHECKSUM_TOLERANCE, "{class}: {apart}");
        }
        assert_eq!(sums.len(), 2 * official(class).len());
        let mut field = problem.reference(&input).unwrap();
        assert!(field.judge(output).is_within_tolerance());
        field.arrays.retain(|array| array.name == "w");
        let error = Reference::judge(&field, output).rms;
        assert!(error < FIELD_TOLERANCE, "{class}: {error}");
        // The price is that of the run except for a few cycles a pass, where a waiting page finds results
        // that have arrived; these classes keep the goal of the larger ones.
        let (expected, cycles) = (expected.unwrap().0, done.run.report.cycles);
        assert!(
            expected.abs_diff(cycles) < cycles / 50_000,
            "{expected} {cycles}"
        );
        assert!(
            done.efficiency() > efficiency,
            "{class} {machine}: {}",
            done.efficiency()
        );
    }
}

/// Class A is efficient by the price of its job.
#[test]
fn ft_of_class_a_is_efficient_by_its_price() {
    let problem = FtProblem::from_class(NpbClass::A);
    let zeros = vec![Complex32::default(); problem.len()];
    let input = NamedArrays::from_array("x", &problem.shape(), zeros);
    for (machine, least) in [("vm7", 0.9), ("vm9", 0.75)] {
        let method = Cp2Backend::new(vm(machine)).method(&problem).unwrap();
        let task = method.task(&input, DeviceOptions::default()).unwrap();
        let price = task.job.expected().unwrap();
        let efficiency = method.figures.efficiency(price.0);
        assert!(
            (least..1.0).contains(&efficiency),
            "{machine}: {efficiency}"
        );
    }
}

/// Factors along z whose quotients single precision holds are multiplied in the first pass, smaller ones
/// before it.
#[test]
fn ft_of_many_steps_keeps_to_single_precision() {
    let vm7 = Cp2Backend::new(vm("vm7"));
    for (steps, way) in [(60, "in the first"), (70, "before the first")] {
        let problem = FtProblem::new([256, 8, 32], steps).unwrap();
        let mut prepared = vm7.prepare(&problem).unwrap();
        let recipe = prepared.recipe().unwrap();
        assert!(recipe.contains(way), "{recipe}");
        let input = problem.input(Case::Random, 5);
        run_judged(&mut *prepared, &problem, &input).unwrap();
    }
}

/// Shapes have all numbers of columns and levels in a pass, and weights that differ along each axis.
#[test]
fn ft_of_any_shape_is_what_double_precision_says() {
    let mut ran = 0;
    for shape in [
        [32, 4, 64],
        [32, 8, 32],
        [32, 16, 64],
        [32, 32, 8],
        [64, 128, 16],
        [128, 32, 32],
        [256, 16, 32],
        [512, 8, 64],
        [32, 256, 32],
        [32, 8, 1024],
    ] {
        let problem = FtProblem::new(shape, 3).unwrap();
        for machine in ["vm7", "vm9"] {
            let vm = Cp2Backend::new(vm(machine));
            let Ok(mut prepared) = vm.prepare(&problem) else {
                // The shape is narrower than the sections, or has a short axis of few columns.
                assert!(shape[2] < 16 || shape[1] < 32, "{shape:?}");
                continue;
            };
            let input = problem.input(Case::Random, 11);
            let judged = run_judged(&mut *prepared, &problem, &input).unwrap();
            assert!(judged.verdict.rms < 4e-7, "{shape:?}: {:?}", judged.verdict);
            ran += 1;
        }
    }
    assert!(ran >= 14, "{ran}");
}

/// Classes S and W give the official norm and the right u on both machines, S under the checkers too; the
/// price is the time.
#[test]
fn mg_gives_the_official_norms() {
    for (class, machine, check, least) in [
        (NpbClass::S, "vm7", true, 0.52),
        (NpbClass::S, "vm9", false, 0.49),
        (NpbClass::W, "vm7", false, 0.76),
    ] {
        let benchmark = MgClass::from_class(class);
        let problem = benchmark.problem();
        let method = Cp2Backend::new(vm(machine)).method(&problem).unwrap();
        let shape = problem.shape();
        let input = NamedArrays::from_array("v", &shape, charges(shape, 1));
        let options = DeviceOptions {
            check,
            ..DeviceOptions::default()
        };
        let task = method.task(&input, options).unwrap();
        let expected = task.job.expected().unwrap();
        let done = task.run(method.figures.clone()).unwrap();
        assert_eq!(done.run.report.findings, []);
        let output = done.output.as_ref().unwrap();
        let norms = output.get::<f64>("norms").unwrap();
        let off = (norms[1] / benchmark.official - 1.0).abs();
        assert!(
            off < MgClass::tolerance(Precision::Single),
            "{class}: {off}"
        );
        assert!(problem.judge(&input, output).is_within_tolerance());
        let cycles = done.run.report.cycles;
        let apart = expected.0.abs_diff(cycles);
        assert!(apart < cycles / 100, "{expected:?} {cycles}");
        let parts = done.run.report.parts.iter().map(|part| part.cycles);
        assert!(parts.sum::<u64>() <= cycles);
        assert!(
            (least..1.0).contains(&done.efficiency()),
            "{class} {machine}: {}",
            done.efficiency()
        );
    }
}

/// Larger classes are efficient by the price of their jobs.
#[test]
fn mg_of_larger_classes_is_efficient_by_its_price() {
    for (class, machine, least) in [(NpbClass::W, "vm9", 0.73), (NpbClass::A, "vm9", 0.69)] {
        let problem = MgClass::from_class(class).problem();
        let method = Cp2Backend::new(vm(machine)).method(&problem).unwrap();
        let input = vec![0f32; problem.count()];
        let input = NamedArrays::from_array("v", &problem.shape(), input);
        let task = method.task(&input, DeviceOptions::default()).unwrap();
        let efficiency = method.figures.efficiency(task.job.expected().unwrap().0);
        assert!(
            (least..1.0).contains(&efficiency),
            "{class} {machine}: {efficiency}"
        );
    }
}

/// Rows of the residual that a block hands over to the next one of its section have the bits that the next
/// one would compute, for all blocks.
#[test]
fn rows_handed_over_are_those_computed_again() {
    let problem = MgProblem::new(32, 3, Smoother::A).unwrap();
    let input = problem.input(Case::Random, 8);
    let options = DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    };
    let run = |plan: MultigridPlan| {
        let method = plan.into_method();
        let task = method.task(&input, options.clone()).unwrap();
        let expected = task.job.expected().unwrap().0;
        let done = task.run(method.figures.clone()).unwrap();
        assert_eq!(done.run.report.findings, []);
        assert_eq!(done.run.report.cycles, expected);
        let output = done.output.unwrap();
        let u = output.get::<f32>("u").unwrap();
        let bits: Vec<u32> = u.iter().map(|x| x.to_bits()).collect();
        (bits, expected)
    };
    let machines = [
        vm("vm7"),
        Arc::new(
            Machine::parse(
                "three",
                "name = \"three\"\nbase = \"vm9\"\n[cp2]\nsections = { value = 3, unit = \"sections\" }\n",
            )
            .unwrap(),
        ),
    ];
    for machine in machines {
        let plan = MultigridPlan::new(problem.clone(), &machine).unwrap();
        let passes = plan.passes().unwrap();
        let (bits, least) = run(plan);
        for (rows, handed) in [(2, true), (4, true), (6, true), (4, false)] {
            let mut changed = 0;
            let shapes = passes.iter().map(|pass| {
                let mut shape = pass.shape.clone();
                let fused = ["correction, residual, smoother", "residual, projection"];
                if shape.points == 32 && fused.contains(&shape.operator.as_str()) {
                    (shape.rows, shape.handed) = (rows, handed);
                    changed += 1;
                }
                shape
            });
            let shapes: Vec<_> = shapes.collect();
            let plan = MultigridPlan::tuned(problem.clone(), &shapes, &machine).unwrap();
            assert_eq!(changed, 3);
            let (others, cycles) = run(plan);
            assert!(bits == others, "{rows} {handed}");
            assert!(cycles >= least, "{rows} {handed}: {cycles} {least}");
        }
    }
}

/// A single section with little memory has one buffer and one argument block. The kernel's questions about
/// them can be answered, so the price is the time of the run.
#[test]
fn mg_is_priced_to_the_cycle_with_one_buffer() {
    let text = "name = \"alone\"\nbase = \"vm9\"\n[cp2]\nsections = { value = 1, unit = \"sections\" }\ndmem = { value = 16384, unit = \"B\" }\n";
    let machine = Arc::new(Machine::parse("alone", text).unwrap());
    let problem = MgProblem::new(32, 2, Smoother::A).unwrap();
    let method = Cp2Backend::new(machine).method(&problem).unwrap();
    let input = problem.input(Case::Random, 2);
    let task = method.task(&input, DeviceOptions::default()).unwrap();
    let expected = task.job.expected().unwrap();
    let done = task.run(method.figures.clone()).unwrap();
    assert_eq!(done.run.report.cycles, expected.0);
}

/// Passes that keep planes and others, with blocks that divide planes and others, give the same result on
/// machines with little memory, more sections, or few registers.
#[test]
fn multigrid_is_the_same_on_any_machine() {
    for (n, text) in [
        (16, "[cp2]\nsections = { value = 1, unit = \"sections\" }\n"),
        (32, "[cp2]\nsections = { value = 3, unit = \"sections\" }\n"),
        (
            32,
            "[cp2]\nsections = { value = 16, unit = \"sections\" }\n",
        ),
        (32, "[cp2]\ndmem = { value = 8192, unit = \"B\" }\n"),
        (64, "[cp2]\ndmem = { value = 24576, unit = \"B\" }\n"),
        // More values wait for others than there are registers, unless loops are stretched.
        (
            16,
            "[cp2]\nlatency.add = { value = 30, unit = \"cycles\" }\nlatency.load = { value = 30, unit = \"cycles\" }\n",
        ),
    ] {
        let text = format!("name = \"drawn\"\nbase = \"vm7\"\n{text}");
        let machine = Machine::parse("drawn", &text).unwrap();
        let problem = MgProblem::new(n, 2, Smoother::B).unwrap();
        let mut prepared = Cp2Backend::new(machine.into()).prepare(&problem).unwrap();
        for case in [Case::Random, Case::Outlier] {
            let judged = run_judged(&mut *prepared, &problem, &problem.input(case, 3));
            assert!(judged.is_ok(), "{n}, {text}: {judged:?}");
        }
    }
}

/// A refusal names what is lacking in words for users of a benchmark, not for authors of its pages.
#[test]
fn benchmarks_say_what_a_machine_lacks() {
    let said = |problem: &dyn cp2_problems::Problem, change: &dyn Fn(&mut Machine)| {
        let mut machine = (*vm("vm7")).clone();
        change(&mut machine);
        let refused = Cp2Backend::new(machine.into()).prepare(problem);
        refused.err().unwrap().to_string()
    };
    let mg = MgProblem::new(16, 2, Smoother::A).unwrap();
    let ft = FtProblem::new([64, 64, 64], 1).unwrap();
    let granule = |m: &mut Machine| m.dma.granule = cp2_machine::Bytes(32);
    let memory = |m: &mut Machine| m.cp2.dmem = cp2_machine::Bytes(1024);
    let sections = |m: &mut Machine| m.cp2.sections = 3;
    for (said, words) in [
        (said(&mg, &granule), "granule of at most 16 bytes"),
        (said(&mg, &memory), "1024 bytes of DMEM"),
        (said(&ft, &granule), "deals 32 bytes"),
        (said(&ft, &sections), "expected a power of two"),
        (said(&ft, &memory), "DMEM"),
    ] {
        assert!(said.contains(words), "`{words}` is missing in: {said}");
        for word in ["another layout", "smaller blocks", "another order"] {
            assert!(!said.contains(word), "{said}");
        }
    }
}
