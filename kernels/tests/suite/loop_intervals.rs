//! Tests that the intervals of written loops are the emulator's cycles.
//!
//! These are the loops of the library, those of the documents, and those of `kernels/tests/loops`, whose operations
//! stand one on a line.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common::smallest_size;
use cp2_asm::analysis::{LoopAnalysis, LoopBody, LoopCloser, analyze_loops};
use cp2_asm::isa::{AddressOperand, Inst, Kind, Mode, Op, Word};
use cp2_asm::{Assembly, Options, Program, Source, assemble};
use cp2_host::{Device, DeviceOptions};
use cp2_kernels::registry;
use cp2_machine::Machine;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Iterations after which every loop is in its steady state.
const BEGIN: u64 = 300;

/// Returns a word that takes the time of `word` and stays at DMEM address 0 in any iteration: no step, offset or
/// number is left in it.
fn keep_in_place(word: &Word) -> Word {
    let still = |inst: &Inst| {
        let mut inst = *inst;
        let mut operands = inst.row().form.operands().iter();
        // A number of a floating-point operation, or a count of places, is no address.
        let is_scalar =
            matches!(inst.op, Op::Movi) || inst.row().class == cp2_machine::Class::Scalar;
        if is_scalar && operands.any(|operand| matches!(operand.kind, Kind::Imm { .. })) {
            inst.imm = 0;
        }
        if let AddressOperand::Shared(address) = &mut inst.place {
            address.mode = match address.mode {
                Mode::Offset(_) => Mode::Offset(0),
                Mode::Post(_) => Mode::Post(0),
                other => other,
            };
        }
        inst
    };
    Word {
        arith: still(&word.arith),
        mem: still(&word.mem),
    }
}

/// Returns a program that executes the body `trips` times. All scalars are 0, and so are all results.
fn repeat(body: &[Word], trips: u64, machine: &Machine) -> Program {
    let mut text = ".program\n".to_owned();
    for register in 0..16 {
        for file in ["a", "s", "c"] {
            text += &format!("movi {file}{register}, 0\n");
        }
    }
    for register in 0..8 {
        text += &format!("movi b{register}, 0\nmovi l{register}, 64\n");
    }
    text += &format!("loop {trips} {{\n");
    body.iter().for_each(|word| text += &format!("{word}\n"));
    text += "}\nstop\n";
    let options = Options {
        machine: Some(machine),
        ..Options::default()
    };
    let assembly = assemble(&Source::new("loop.s", text), &options);
    assembly.unwrap_or_else(|errors| panic!("{errors}")).program
}

/// Returns the cycles that the emulator takes for a program.
fn cycles(machine: &Arc<Machine>, program: Program) -> u64 {
    let mut device = Device::new(machine.clone());
    let placed = device.place("loop", Arc::new(program)).unwrap();
    let loaded = device.load(&placed, &[]).unwrap();
    device.launch("loop", 0, 0, &[loaded]).unwrap();
    let report = device.finish().unwrap().report;
    assert!(report.end.is_finished(), "{}", report.end);
    report.counters.causes.total()
}

/// Bodies of the steady hardware loops of a program, with their intervals.
type Bodies = BTreeMap<Vec<u64>, (String, LoopAnalysis)>;

fn collect(name: &str, program: &Program, machine: &Machine, bodies: &mut Bodies) {
    for found in analyze_loops(program, machine).unwrap_or_default() {
        let is_hardware = matches!(found.closer, LoopCloser::Hardware { .. });
        if is_hardware && matches!(found.body, LoopBody::Steady(_)) {
            let place = program.describe_place(found.pc).unwrap_or_default();
            let body = program.words[found.words.clone()].to_vec();
            bodies
                .entry(body)
                .or_insert((format!("{name}: {place}"), found));
        }
    }
}

/// Compares the cycles of more iterations with the interval.
fn check(bodies: Bodies, machine: &Arc<Machine>) {
    for (words, (place, found)) in bodies {
        let LoopBody::Steady(steady) = &found.body else {
            continue;
        };
        let body: Vec<_> = words
            .iter()
            .map(|&bits| keep_in_place(&Word::decode(bits).unwrap()))
            .collect();
        let begin = cycles(machine, repeat(&body, BEGIN, machine));
        let more = cycles(machine, repeat(&body, BEGIN + 2 * steady.period, machine)) - begin;
        let expected = 2 * steady.period / steady.interval.iterations() * steady.interval.cycles();
        assert_eq!(more, expected, "{place} on {}", machine.name);
        assert!(
            steady.bound.cycles <= steady.interval,
            "{place} on {}: {steady:?}",
            machine.name
        );
    }
}

fn machines() -> [Arc<Machine>; 2] {
    ["vm7", "vm9"].map(|name| Arc::new(Machine::builtin(name).unwrap()))
}

#[test]
fn loops_of_the_library_take_their_intervals() {
    for machine in machines() {
        let mut bodies = Bodies::new();
        for kernel in registry::all() {
            let size = &smallest_size(kernel);
            let Ok(prepared) = kernel.prepare(size, &machine, DeviceOptions::default()) else {
                continue;
            };
            let run = prepared.run().unwrap().run;
            for placed in run.programs() {
                collect(kernel.name(), &placed.program, &machine, &mut bodies);
            }
        }
        assert!(bodies.len() >= 40, "{} on {}", bodies.len(), machine.name);
        check(bodies, &machine);
    }
}

/// Returns the kernels that a document writes to files.
fn kernels_of(document: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(Path::new("..").join(document)).unwrap();
    let mut kernels = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, behind)) = rest.split_once("cat > ") {
        let Some((name, behind)) = behind.split_once(" <<'END'\n") else {
            break;
        };
        let (kernel, behind) = behind.split_once("END\n").unwrap();
        if name.ends_with(".s") {
            kernels.push((name.to_owned(), kernel.to_owned()));
        }
        rest = behind;
    }
    kernels
}

#[test]
fn loops_of_the_documents_take_their_intervals() {
    for machine in machines() {
        let mut bodies = Bodies::new();
        let mut read = 0;
        for document in [
            "README.md",
            "docs/arrays.md",
            "docs/cookbook.md",
            "docs/tuning.md",
        ] {
            for (name, text) in kernels_of(document) {
                let options = Options {
                    machine: Some(&machine),
                    ..Options::default()
                };
                let assembly = assemble(&Source::new(&name, text), &options);
                let assembly = assembly.unwrap_or_else(|errors| panic!("{document}: {errors}"));
                collect(document, &assembly.program, &machine, &mut bodies);
                read += 1;
            }
        }
        assert!(
            read >= 15 && bodies.len() >= 15,
            "{read} kernels, {} loops",
            bodies.len()
        );
        check(bodies, &machine);
    }
}

#[test]
fn loops_of_one_operation_a_line_take_their_intervals() {
    for machine in machines() {
        let mut bodies = Bodies::new();
        for entry in std::fs::read_dir("tests/loops").unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.display().to_string();
            let options = Options {
                machine: Some(&machine),
                ..Options::default()
            };
            let program = assemble(&Source::new(&name, text), &options)
                .unwrap()
                .program;
            collect(&name, &program, &machine, &mut bodies);
        }
        assert!(bodies.len() >= 5, "{}", bodies.len());
        check(bodies, &machine);
    }
}

/// Kernels to start from say beside each innermost loop how far it is from its bound on vm7.
#[test]
fn loops_of_the_cookbook_say_their_intervals() {
    let [vm7, _] = machines();
    let mut said = 0;
    for document in ["docs/arrays.md", "docs/cookbook.md"] {
        for (name, text) in kernels_of(document) {
            let lines: Vec<_> = text.lines().collect();
            let options = Options {
                machine: Some(&vm7),
                ..Options::default()
            };
            let source = Source::new(&name, text.as_str());
            let Assembly {
                program, blocks, ..
            } = assemble(&source, &options).unwrap();
            for found in analyze_loops(&program, &vm7).unwrap() {
                let line = program.lines[found.pc];
                // A linear block's loop stands beside one of its operations: it says its interval where it begins.
                let mut blocks = blocks.iter();
                let own = blocks.find(|own| {
                    (own.first_word..own.first_word + own.words as usize).contains(&found.pc)
                });
                let LoopBody::Steady(steady) = &found.body else {
                    continue;
                };
                if program.files[line.file as usize] != name {
                    continue;
                }
                let expected = format!(
                    "; interval {}, bound {}",
                    steady.interval, steady.bound.cycles
                );
                let line = own.map_or(line.line, |own| own.place.1);
                let line = lines[line as usize - 1];
                assert!(
                    line.contains(&expected),
                    "{document}, {name}: {line}: {expected}"
                );
                said += 1;
            }
        }
    }
    assert!(said >= 15, "{said}");
}
