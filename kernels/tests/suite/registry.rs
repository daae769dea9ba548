//! Tests that the registry has every kernel, and the model explains each.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../../examples/performance/page.rs"]
mod page;

use crate::common::smallest_size;
use cp2_asm::analysis::{RegisterFlaw, check_registers};
use cp2_host::DeviceOptions;
use cp2_kernels::dsp::{MapOp, ReductionOp};
use cp2_kernels::fft::FftPlanner;
use cp2_kernels::registry::{self, PerformanceRow, Size};
use cp2_machine::{Extensions, Machine};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

fn assembly(folder: &Path, found: &mut BTreeSet<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assembly(&path, found);
        } else if path.extension().is_some_and(|e| e == "s") {
            let name = path.strip_prefix(&root).unwrap();
            found.insert(name.to_str().unwrap().replace('\\', "/"));
        }
    }
}

#[test]
fn every_assembly_file_belongs_to_a_registered_kernel() {
    let mut files = BTreeSet::new();
    assembly(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let registered: BTreeSet<String> = registry::all()
        .iter()
        .flat_map(|k| k.sources())
        .map(|&s| s.to_owned())
        .collect();
    assert_eq!(
        files, registered,
        "files of kernels/src and `sources` of the registry"
    );
}

/// Operations without an assembly file are listed by their enumerations.
#[test]
fn every_operation_of_the_signal_processing_set_is_registered() {
    let maps = MapOp::all();
    let names = maps.iter().map(MapOp::name);
    for name in names.chain(ReductionOp::all().iter().map(|op| op.name())) {
        let kernel = registry::find(name);
        let kernel = kernel.unwrap_or_else(|| panic!("{name} is not in the registry"));
        assert!(!kernel.sizes().is_empty(), "{name}");
    }
}

#[test]
fn names_are_unique_and_sizes_have_the_parameters() {
    let mut names = BTreeSet::new();
    for kernel in registry::all() {
        assert!(names.insert(kernel.name()), "{} twice", kernel.name());
        assert!(registry::find(kernel.name()).is_some());
        assert!(!kernel.sizes().is_empty(), "{}", kernel.name());
        for size in kernel.sizes() {
            for parameter in kernel.parameters() {
                let value = size.find(parameter.name);
                assert!(
                    value.is_some() || parameter.optional,
                    "{} {size}",
                    kernel.name()
                );
            }
        }
    }
}

/// Low rows of the document have a reason; no run is needed, since another test keeps the document up to
/// date.
#[test]
fn low_rows_of_the_document_say_why() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
    let document = std::fs::read_to_string(document).unwrap();
    for part in document.split("\n### ").skip(1) {
        let name = part.lines().next().unwrap();
        let efficiencies = part.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            cells.get(6)?.parse::<f64>().ok()
        });
        let low = efficiencies
            .clone()
            .any(|efficiency| efficiency < registry::LOW);
        assert!(efficiencies.count() > 0, "{name}");
        assert_eq!(low, part.contains("\nBelow 0.3: "), "{name}");
    }
}

/// Each kernel at the sizes of its tables on both machines: the model explains at least 0.90 of the measured
/// time.
///
/// Neither the model nor the reference exceeds the measured time, nor the bound the reference; and the
/// document has what was measured.
#[test]
fn the_model_explains_every_kernel_and_the_document_has_it() {
    let (mut wrong, mut low) = (Vec::new(), BTreeSet::new());
    let mut check = |row: PerformanceRow| {
        let explained = (0.90..=1.0).contains(&row.ratio);
        let beaten = row.efficiency > 1.0 || row.figures.bound > row.figures.reference;
        low.extend((row.efficiency < registry::LOW).then_some(row.kernel));
        wrong.extend((!explained || beaten).then_some(row));
    };
    let page = page::page(&mut check).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // A kernel gives a reason for low rows of its table if and only if there are any.
    let all = registry::all();
    let say = all
        .iter()
        .filter(|kernel| kernel.explain_low_efficiency().is_some());
    let say: BTreeSet<&str> = say.map(|kernel| kernel.name()).collect();
    assert_eq!(
        low,
        say,
        "kernels with rows below {}, and those with a `below`",
        registry::LOW
    );
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
    let document = std::fs::read_to_string(document).unwrap();
    let differ = document.lines().zip(page.lines()).find(|(a, b)| a != b);
    assert!(
        differ.is_none() && document == page,
        "docs/performance.md says otherwise: {differ:#?}; generate it again with \
         `cargo run --release -p cp2-kernels --example performance > docs/performance.md`"
    );
}

/// All accesses of a kernel are to its pages, scratch, arguments or program data, and reads come after
/// writes.
#[test]
fn kernels_keep_to_what_is_theirs() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    let mut wrong = Vec::new();
    for kernel in registry::all() {
        let size = &smallest_size(kernel);
        let options = DeviceOptions {
            check: true,
            ..DeviceOptions::default()
        };
        let run = kernel
            .prepare(size, &vm7, options)
            .unwrap()
            .run()
            .unwrap()
            .run;
        assert!(run.report.end.is_finished(), "{} {size}", kernel.name());
        for finding in &run.report.findings {
            let place = finding.pc.and_then(|pc| {
                let programs = run.programs().iter();
                programs
                    .filter_map(|p| p.program.location(pc as usize))
                    .next()
            });
            wrong.push(format!("{} {size}: {finding} at {place:?}", kernel.name()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Kernels read no register that nothing has written, and none that an earlier page has changed. Results without a
/// reader are left out: macros that serve many shapes compute what some of these shapes have no use for.
#[test]
fn kernels_read_what_they_have_written() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    let mut wrong = BTreeSet::new();
    for kernel in registry::all() {
        let size = &smallest_size(kernel);
        let prepared = kernel.prepare(size, &vm7, DeviceOptions::default());
        let run = prepared.unwrap().run().unwrap().run;
        for placed in run.programs() {
            let flaws = check_registers(&placed.program).unwrap().into_iter();
            for found in flaws.filter(|found| found.flaw != RegisterFlaw::Unread) {
                let place = placed.program.describe_place(found.pc);
                let place = place.unwrap_or_else(|| format!("word {:#06x}", found.pc));
                let (register, flaw) = (found.register, found.flaw);
                wrong.insert(format!("{}: {place}: {register} {flaw}", placed.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

/// A kernel that says that its plans make no use of an extension costs the same with it.
#[test]
fn extensions_that_a_kernel_does_not_name_change_no_price() {
    for name in ["vm7", "vm9"] {
        let base = Machine::builtin(name).unwrap();
        for kernel in registry::all() {
            let others = Extensions::all() - kernel.extensions();
            let others: Vec<String> = others.names().collect();
            let changed = base.with_changes(&others.join("+")).unwrap();
            // An extension's parameters leave with it.
            let stripped = changed.without_extensions(changed.cp2.extensions);
            assert_eq!(stripped.hash, base.hash);
            let size = smallest_size(kernel);
            let price = |machine: &Machine| {
                let price = registry::price(kernel, &size, &Arc::new(machine.clone()));
                let price = price.unwrap_or_else(|e| panic!("{}: {e}", kernel.name()));
                price.map(|row| (row.cycles, row.figures.reference, row.limit))
            };
            assert_eq!(price(&base), price(&changed), "{}", kernel.name());
        }
    }
}

/// Generated kernels count their operations by class: where a unit does not take one every cycle, less than
/// the whole time may be explained, but never more.
#[test]
fn slow_units_are_not_priced_twice() {
    for class in ["butterfly", "add", "madd"] {
        let text = format!(
            "base = \"vm7\"\n[cp2]\ninterval.{class} = {{ value = 4, unit = \"cycles\" }}\n"
        );
        let machine = Arc::new(Machine::parse(class, &text).unwrap());
        for (name, n) in [
            ("fft-mixed", 343u64),
            ("fft-mixed", 360),
            ("fft-bluestein", 127),
            ("fft-real", 256),
            ("fft-real-inverse", 128),
        ] {
            let size = Size::new(&[("n", n), ("batch", 128)]);
            let kernel = registry::find(name).unwrap();
            let row = registry::measure(kernel, &size, &machine, DeviceOptions::default()).unwrap();
            assert!((0.5..=1.0).contains(&row.ratio), "{class}: {row:#?}");
            assert!(row.efficiency <= 1.0, "{class}: {row:#?}");
        }
    }
}

/// However long a channel takes to start, the model expects no more than the run takes.
#[test]
fn a_channel_that_starts_slowly_is_not_started_more_often_than_it_is() {
    for cycles in [300, 1000, 3000, 10_000] {
        let text = format!(
            "base = \"vm7\"\n[dma]\nsetup-idle = {{ value = {cycles}, unit = \"cycles\" }}\n"
        );
        let machine = Arc::new(Machine::parse("slow", &text).unwrap());
        for (name, values) in [
            ("fft", &[("n", 64u64), ("batch", 64)][..]),
            ("fft-large", &[("n", 8192), ("batch", 1)]),
            (
                "fft-nd",
                &[("planes", 1), ("rows", 512), ("columns", 16), ("batch", 1)],
            ),
            (
                "conv",
                &[("taps", 129), ("samples", 32_768), ("channels", 1)],
            ),
        ] {
            let kernel = registry::find(name).unwrap();
            let row = registry::measure(
                kernel,
                &Size::new(values),
                &machine,
                DeviceOptions::default(),
            );
            let row = row.unwrap();
            assert!((0.5..=1.0).contains(&row.ratio), "{cycles}: {row:#?}");
        }
    }
}

/// `fft`, `fft-real` and `fft-real-inverse` are the planner's choice for the batch, at any length.
#[test]
fn transforms_are_those_that_the_planner_takes() {
    let vm9 = Arc::new(Machine::builtin("vm9").unwrap());
    for (n, batch) in [(37u64, 8u64), (1000, 8), (4096, 1), (8192, 1), (8192, 16)] {
        let size = Size::new(&[("n", n), ("batch", batch)]);
        let prepare = |name| {
            let kernel = registry::find(name).unwrap();
            let made = kernel.prepare(&size, &vm9, DeviceOptions::default());
            made.unwrap().recipe.unwrap()
        };
        let mut planner = FftPlanner::with_batch(vm9.clone(), batch as usize);
        let forward = planner.plan_forward(n as usize).unwrap();
        assert_eq!(prepare("fft"), forward.recipe());
        let real = planner.plan_real_forward(n as usize).unwrap();
        assert_eq!(prepare("fft-real"), real.recipe_for(batch as usize));
        let back = planner.plan_real_inverse(n as usize).unwrap();
        assert_eq!(prepare("fft-real-inverse"), back.recipe_for(batch as usize));
    }
}

#[test]
fn a_size_that_is_none_is_refused() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    for kernel in registry::all() {
        for value in [0, u64::MAX, u64::MAX / 8 + 1] {
            let values: Vec<_> = kernel
                .parameters()
                .iter()
                .map(|p| (p.name, value))
                .collect();
            let refused = kernel.prepare(&Size::new(&values), &vm7, DeviceOptions::default());
            assert!(refused.is_err(), "{} of {value}", kernel.name());
        }
    }
}

/// Numbers of a machine are in its file only: neither kernels nor the host compare with literals or name
/// them.
#[test]
fn no_number_of_a_machine_is_a_literal() {
    let parameters = [
        "sections",
        "granule",
        "deal",
        "levels",
        "queue",
        "loop_setup",
        "loop_back",
        "loop_depth",
        "branch_penalty",
        "dmem_ports",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut files, mut found) = (Vec::new(), Vec::new());
    for folder in ["src", "../host/src"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 200, "{} files", files.len());
    for (path, text) in files {
        // Tests may name the machines that they are about.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("//"))
        {
            let named = parameters
                .iter()
                .any(|parameter| is_literal(line, parameter));
            let file = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .display()
                .to_string();
            let file = file.trim_start_matches("src/").replace('\\', "/");
            let found_here = format!("{file}: {line}");
            // Kernels that are written for four sections: rows that lie apart, and columns across sections.
            let written_for_four = [
                "fft/four_step/real_row_ring.rs: 1 => sections == 4,",
                "fft/four_step/cross_section.rs: const SECTIONS: usize = 4;",
            ];
            if named && !written_for_four.contains(&&*found_here) {
                found.push(found_here);
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    // The check itself finds literals.
    assert!(is_literal("const GRANULE: u64 = 16;", "granule"));
    assert!(is_literal("if machine.cp2.sections != 4 {", "sections"));
    assert!(is_literal("} else if dma.granule.0 == 16 {", "granule"));
    assert!(!is_literal("if machine.cp2.sections > 1 {", "sections"));
    assert!(!is_literal(
        "let sections = machine.cp2.sections as u64;",
        "sections"
    ));
}

/// Returns true if a line gives a parameter a number of its own, or compares it with one beyond 1.
fn is_literal(line: &str, parameter: &str) -> bool {
    let constant = format!("const {}: ", parameter.to_uppercase());
    let number = |text: &str| {
        let digits: String = text
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        let product = text.trim_start()[digits.len()..].starts_with(" *");
        digits
            .parse::<u64>()
            .is_ok_and(|number| number > 1 && !product)
    };
    if let Some((_, value)) = line.split_once(&constant) {
        return value
            .split_once('=')
            .is_some_and(|(_, value)| number(value));
    }
    line.match_indices(parameter).any(|(at, _)| {
        let behind = line[at + parameter.len()..]
            .trim_start_matches(".0")
            .trim_start();
        let compared = ["== ", "!= ", "<= ", ">= ", "< ", "> "];
        compared
            .iter()
            .any(|sign| behind.strip_prefix(sign).is_some_and(number))
    })
}

fn sources(folder: &Path, found: &mut Vec<(std::path::PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let tests = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !tests {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && !tests {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}
