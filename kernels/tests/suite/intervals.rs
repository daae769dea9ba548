//! Tests machines whose units do not take an operation every cycle.
//!
//! The operations that the model counts are issued; no run beats a reference, and no reference a bound.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::{DeviceOptions, OperationsBound};
use cp2_kernels::registry::{self, Kernel, PreparedRow, Size};
use cp2_machine::{Class, Machine};
use cp2_model::{Demand, System, cp2};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns small sizes of every kernel, among them those of several recipes, in the order of its parameters.
fn sizes(kernel: &str) -> &'static [&'static [u64]] {
    match kernel {
        "fft" => &[&[16, 64], &[64, 64], &[1024, 16], &[24, 60]],
        "fft-large" => &[&[1 << 13, 1]],
        "fft-nd" => &[&[1, 64, 16, 8], &[16, 16, 16, 4]],
        "fft-mixed" => &[&[15, 64], &[343, 16]],
        "fft-bluestein" => &[&[37, 16]],
        "fft-real" | "fft-real-inverse" => &[&[16, 64], &[30, 64], &[256, 64], &[1 << 14, 1]],
        "conv" | "conv-real" => &[&[5, 9000, 1], &[60, 9000, 1], &[600, 9000, 2]],
        // Real taps and complex ones, all rates, many taps and few.
        "fir" => &[
            &[3, 8000, 1, 1, 1, 1],
            &[16, 8000, 1, 1, 1, 1],
            &[16, 4000, 1, 1, 1, 0],
            &[16, 8000, 1, 4, 1, 1],
            &[300, 20_000, 1, 50, 1, 1],
            &[60, 8000, 1, 7, 1, 1],
            &[16, 4000, 1, 1, 8, 1],
            &[8, 4000, 1, 1, 8, 0],
            &[32, 511, 1, 1, 26, 1],
            &[700, 4000, 1, 1, 1, 1],
        ],
        "sum" | "dot" | "norm" | "max" => &[
            &[5, 1000],
            &[15, 1000],
            &[16, 1000],
            &[255, 100],
            &[1024, 50],
            &[4096, 20],
        ],
        "complex-dot" => &[&[6, 1000], &[16, 1000], &[254, 100], &[4096, 20]],
        "beamformer" => &[&[4, 4, 500], &[33, 7, 100], &[100, 5, 100]],
        "small-products" => &[&[2, 2, 2, 500], &[3, 3, 3, 300], &[8, 8, 1, 200]],
        "transpose" => &[&[5, 5, 200], &[64, 64, 1], &[97, 31, 1]],
        // Operations on every element.
        "scale" | "axpy" | "add" | "subtract" | "multiply" | "complex-multiply" | "power"
        | "magnitude" | "phase" | "decibels" => &[&[16_000]],
        "window" => &[&[16_384]],
        "stencil" => &[&[1, 20, 40, 9, 1], &[5, 9, 20, 7, 2], &[4, 8, 33, 27, 1]],
        "spmv" => &[&[400, 0, 5, 1, 1]],
        "radar" => &[&[16, 64, 16], &[4, 30, 5]],
        "sonar" => &[&[8, 8, 512, 4, 64, 64]],
        "npb-cg" => &[&[300, 3, 1, 10]],
        "npb-ft" => &[&[32, 32, 32, 1]],
        "npb-mg" => &[&[16, 2]],
        other => panic!("{other}: no small size is known"),
    }
}

/// Counts the operations that a job's phases demand: of the arithmetic slot by class, of the memory slot in
/// all.
fn counted(prepared: &PreparedRow) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for phase in prepared.procedure("counted").phases {
        for demand in phase.branches.iter().flatten().chain(&phase.alone) {
            let Demand::Operations { unit, class, count } = demand else {
                continue;
            };
            let name = match unit.as_str() {
                cp2::ARITHMETIC => class,
                cp2::MEMORY_SLOT => unit,
                _ => continue,
            };
            *counts.entry(name.clone()).or_default() += count * phase.times;
        }
    }
    counts
}

/// Describes the errors of the model for a size on a machine; none if the size does not fit.
fn wrong(kernel: &dyn Kernel, size: &Size, machine: &Arc<Machine>) -> Option<Vec<String>> {
    let prepared = kernel
        .prepare(size, machine, DeviceOptions::default())
        .ok()?;
    let counts = counted(&prepared);
    let system = System::from_machine(machine);
    let expected = system.cycles(prepared.estimate(kernel.name()).unwrap().seconds);
    let run = prepared.run().unwrap();
    let report = &run.run.report;
    assert!(report.end.is_finished(), "{} {size}", kernel.name());
    let issued =
        |class: Class| report.counters.work.operations[class] * machine.cp2.sections as u64;
    let memory = [
        Class::Load,
        Class::ScalarLoad,
        Class::Scalar,
        Class::Control,
    ];
    let mut found = Vec::new();
    let mut check = |what: &str, model: f64, most: f64| {
        if model > most {
            let (kernel, machine) = (kernel.name(), &machine.name);
            found.push(format!(
                "{kernel} {size}, {machine}: {what} {model} > {most}"
            ));
        }
    };
    for (name, &count) in &counts {
        let class = Class::ALL.into_iter().find(|c| c.name() == name);
        let most = class.map_or_else(|| memory.into_iter().map(issued).sum(), issued);
        check(name, count as f64, most as f64);
    }
    check("expected cycles", expected, report.cycles as f64 + 1e-6);
    let (bound, reference) = (run.figures.bound.0 as f64, run.figures.reference.0 as f64);
    check("reference", reference, report.cycles as f64);
    check("bound", bound, reference);
    let operations = OperationsBound::new(&run.run).unwrap();
    check(
        "bound of the operations",
        operations.cycles() as f64,
        report.cycles as f64,
    );
    // Words that the DMA takes at a shared port are priced as an average.
    let share = if machine.cp2.dmem_ports == 1 {
        0.15
    } else {
        0.03
    };
    let (price, took) = (run.expected.unwrap().0, report.cycles);
    let most = share * took as f64;
    check("price", price as f64, took as f64 + most);
    check("cycles beyond the price", took as f64, price as f64 + most);
    Some(found)
}

/// Returns vm7 with other numbers in the CP2 section of its file.
fn changed(numbers: &[(&str, u64, &str)]) -> Arc<Machine> {
    let line = |(name, value, unit): &(&str, u64, &str)| {
        format!("{name} = {{ value = {value}, unit = \"{unit}\" }}\n")
    };
    let lines: String = numbers.iter().map(line).collect();
    let name: Vec<_> = numbers.iter().map(|n| format!("{}-{}", n.0, n.1)).collect();
    let name = name.join("_");
    let text = format!("name = \"vm7_{name}\"\nbase = \"vm7\"\n[cp2]\n{lines}");
    Arc::new(Machine::parse("changed", &text).unwrap())
}

fn interval(name: &str, cycles: u64) -> Arc<Machine> {
    changed(&[(&format!("interval.{name}"), cycles, "cycles")])
}

/// Checks the model on machines, for all sizes that fit.
fn survey(machines: &[Arc<Machine>]) {
    let (mut ran, mut found) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for machine in machines {
        for kernel in registry::all() {
            let numbers = kernel.parameters().iter();
            let numbers = numbers.filter(|p| p.default.number().is_some());
            let names = numbers.map(|p| p.name);
            for values in sizes(kernel.name()) {
                // Parameters that are words keep their defaults.
                let named: Vec<String> = names
                    .clone()
                    .zip(values.iter())
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                let size = Size::parse(kernel.parameters(), &named.join(" ")).unwrap();
                let problems = wrong(kernel, &size, machine);
                *ran.entry(kernel.name()).or_default() += usize::from(problems.is_some());
                found.extend(problems.unwrap_or_default());
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    // A kernel may lack room on one machine, but not on most.
    for kernel in registry::all() {
        let all = machines.len() * sizes(kernel.name()).len();
        let ran = ran.get(kernel.name()).copied().unwrap_or(0);
        assert!(2 * ran >= all, "{}: {ran} of {all}", kernel.name());
    }
}

#[test]
fn what_the_model_counts_is_issued_in_its_class() {
    survey(&[changed(&[]), Arc::new(Machine::builtin("vm9").unwrap())]);
}

#[test]
fn units_that_take_an_operation_every_third_cycle() {
    let units = [
        "integer",
        "add",
        "madd",
        "butterfly",
        "elementary",
        "load",
        "scalar-load",
        "scalar",
    ];
    survey(&units.map(|unit| interval(unit, 3)));
}

#[test]
fn units_that_take_an_operation_every_tenth_cycle() {
    survey(&["integer", "add", "madd", "load"].map(|unit| interval(unit, 10)));
}

#[test]
fn long_latencies_and_a_single_port() {
    survey(&[
        changed(&[
            ("latency.butterfly", 20, "cycles"),
            ("latency.load", 15, "cycles"),
        ]),
        changed(&[("dmem-ports", 1, "ports")]),
    ]);
}

/// Butterflies occupy the multiply-adders too, and these may be slow as well: the references know other
/// algorithms, but no kernel is faster.
#[test]
fn several_slow_units_at_a_time() {
    let intervals = |units: &[(&str, u64)]| {
        let named: Vec<_> = units
            .iter()
            .map(|(unit, cycles)| (format!("interval.{unit}"), *cycles))
            .collect();
        let numbers: Vec<_> = named
            .iter()
            .map(|(name, cycles)| (name.as_str(), *cycles, "cycles"))
            .collect();
        changed(&numbers)
    };
    survey(&[
        intervals(&[("butterfly", 2)]),
        intervals(&[("butterfly", 10)]),
        intervals(&[("butterfly", 4), ("madd", 3)]),
        intervals(&[("butterfly", 4), ("madd", 3), ("add", 2)]),
    ]);
}
