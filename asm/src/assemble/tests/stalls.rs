//! Tests of stall warnings: which lines, how many cycles, which cause.

use crate::{Options, Problem, Source, assemble};
use cp2_machine::{Class, Machine};

/// Assembles a text and returns line, cycles and cause of each warning.
fn warnings(text: &str) -> Vec<(u32, u64, &'static str)> {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    let assembly = assemble(&Source::new("t.s", text), &options).unwrap_or_else(|e| panic!("{e}"));
    let found = assembly.warnings.iter().map(|d| match &d.problem {
        Problem::Stall { cycles, back, .. } => (d.at.line, *cycles, *back),
        Problem::UnitBusy { cycles, .. } => (d.at.line, *cycles, "busy"),
        other => panic!("{other}"),
    });
    found.collect()
}

/// Returns the latency of a class, in cycles, on the machine of these tests.
fn latency(class: Class) -> u64 {
    Machine::builtin("vm7").unwrap().cp2.latency[class].0
}

#[test]
fn a_result_used_at_once() {
    let (add, load) = (latency(Class::Add), latency(Class::Load));
    assert_eq!(
        warnings("add r0, r1, r2\nadd r3, r0, r0\nstop"),
        [(2, add - 1, "")]
    );
    assert_eq!(
        warnings("add r0, r1, r2\nnop\nadd r3, r0, r0\nstop"),
        [(3, add - 2, "")]
    );
    assert_eq!(
        warnings("ldp r0, [a0]\nstp r0, [a0]\nstop"),
        [(2, load - 1, "")]
    );
    assert_eq!(
        warnings("add r0, r1, r2\nadd r3, r0, r0 .allow stall\nstop"),
        []
    );
}

/// The line that opens a loop may end with `.allow` too.
#[test]
fn the_wait_of_a_loop_is_allowed_on_its_line() {
    let text = |allow: &str| format!("ldx c0, [a15]\nloop c0 {{ {allow}\nnop\n}}\nstop");
    assert_eq!(warnings(&text("")).len(), 1);
    assert_eq!(warnings(&text(".allow stall")), []);
    assert_eq!(warnings(&text(".allow register .allow stall")), []);
}

#[test]
fn nothing_to_wait_for() {
    assert_eq!(
        warnings("add r0, r1, r2 || ldp r3, [a0]+8\nadd r4, r1, r2 || ldp r5, [a0]+8\nstop"),
        []
    );
}

#[test]
fn the_elementary_unit_is_busy() {
    assert_eq!(warnings("rcp r0, r1\nrcp r2, r3\nstop"), [(2, 1, "busy")]);
}

#[test]
fn a_loop_reads_what_its_last_iteration_wrote() {
    let add = latency(Class::Add);
    let text = "loop 4 {\nadd r1, r0, r2\nadd r0, r3, r2\n}\nstop";
    assert_eq!(warnings(text), [(2, add - 1, "in the iteration before")]);
}

#[test]
fn without_a_machine_there_are_no_warnings() {
    let text = Source::new("t.s", "add r0, r1, r2\nadd r3, r0, r0\nstop");
    assert!(
        assemble(&text, &Options::default())
            .unwrap()
            .warnings
            .is_empty()
    );
}
