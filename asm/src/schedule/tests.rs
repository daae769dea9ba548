//! Tests of schedules: shortest intervals, registers, latencies and steps.

mod bodies;
mod bounds;
mod random;
mod replay;

use super::{DataOperand, Dataflow, PointerStep};
use crate::{Options, Source, assemble};
use cp2_machine::Machine;

/// Makes the body of y[i] = x[i] * w + x[i], complex, two numbers in an iteration.
fn body() -> Dataflow {
    let mut body = Dataflow::default();
    let (read, write) = (
        body.pointer(0, PointerStep::Bytes(16)),
        body.pointer(1, PointerStep::Bytes(16)),
    );
    let (x, y) = (body.quad(), body.quad());
    body.load(DataOperand::Whole(x), read, 0);
    for lane in [DataOperand::Lo, DataOperand::Hi] {
        body.op(
            "cmadd",
            &[lane(y)],
            &[lane(x), DataOperand::Pair(63), lane(x)],
        );
    }
    body.store(DataOperand::Whole(y), write, 0);
    body
}

#[test]
fn the_interval_is_the_least_and_no_word_waits() {
    for name in ["vm7", "vm9"] {
        let machine = Machine::builtin(name).unwrap();
        let body = body();
        assert_eq!((body.arithmetic(), body.memory()), (2, 2));
        let schedule = body.schedule(&machine, 63).unwrap();
        assert_eq!(schedule.interval, 2);
        for iterations in [1, 2, 3, 4, 5, 100, 101, 102, 103] {
            let made = schedule.emit(iterations);
            assert_eq!(schedule.count_cycles(iterations), made.cycles);
            let text = format!(
                ".program\n movi a0, 0\n movi a1, 4096\n lif r63, 1.0\n{} stop\n",
                made.text()
            );
            let options = Options {
                machine: Some(&machine),
                ..Options::default()
            };
            let assembly = assemble(&Source::new("test.s", text), &options).unwrap();
            assert!(assembly.warnings.is_empty(), "{}", assembly.warnings);
            // Two cycles an iteration, and the latencies of one: load, then product; the store needs the last
            // word.
            let latency = machine.cp2.latency;
            let path = latency[cp2_machine::Class::Load].0 + latency[cp2_machine::Class::Madd].0;
            let straight = 2 * (iterations - 1) + path + 2;
            assert!(
                (straight..=straight + 5).contains(&made.cycles),
                "{iterations}: {} cycles, {straight} at least",
                made.cycles
            );
        }
    }
}

#[test]
fn too_few_registers_are_an_error() {
    let machine = Machine::builtin("vm7").unwrap();
    let error = body().schedule(&machine, 2).unwrap_err();
    assert!(error.to_string().contains("registers"), "{error}");
}

/// Twenty numbers are needed at once; short latencies need few registers. With long latencies the interval is
/// stretched, and no word waits then either.
#[test]
fn long_latencies_are_stretched() {
    let mut machine = Machine::builtin("vm7").unwrap();
    let mut body = Dataflow::default();
    let (read, write) = (
        body.pointer(0, PointerStep::Bytes(320)),
        body.pointer(1, PointerStep::Bytes(16)),
    );
    let loaded: Vec<_> = (0..20).map(|i| (i, body.quad())).collect();
    for &(i, x) in &loaded {
        body.load(DataOperand::Whole(x), read, 16 * i);
    }
    let mut sum = DataOperand::Whole(loaded[0].1);
    for &(_, x) in &loaded[1..] {
        sum = DataOperand::Whole(body.quad_op("add", &[sum, DataOperand::Whole(x)]));
    }
    body.store(sum, write, 0);
    let registers = 12;
    let short = body.schedule_or_stretch(&machine, registers).unwrap();
    let usual = body.schedule(&machine, registers).unwrap();
    assert_eq!(short.interval, usual.interval);
    machine.cp2.latency[cp2_machine::Class::Add] = cp2_machine::Cycles(50);
    machine.cp2.latency[cp2_machine::Class::Load] = cp2_machine::Cycles(50);
    assert!(body.schedule(&machine, registers).is_err());
    let schedule = body.schedule_or_stretch(&machine, registers).unwrap();
    // Nineteen sums follow one another; the interval is at most about twice that.
    assert!(
        (84..2000).contains(&schedule.interval),
        "{}",
        schedule.interval
    );
    let made = schedule.emit(3);
    let text = format!(
        ".program\n movi a0, 0\n movi a1, 4096\n{} stop\n",
        made.text()
    );
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    let assembly = assemble(&Source::new("test.s", text), &options).unwrap();
    assert!(assembly.warnings.is_empty(), "{}", assembly.warnings);
    // Too few registers end the search at some interval.
    let error = body.schedule_or_stretch(&machine, 2).unwrap_err();
    assert!(error.interval > 84, "{error}");
}

/// A step in a table is loaded before it is made, in the fill too, where words come as late as they can.
#[test]
fn steps_are_loaded_before_the_first_arithmetic() {
    let machine = Machine::builtin("vm7").unwrap();
    let mut body = Dataflow::in_order();
    let table = PointerStep::Table {
        step: 0,
        table: 1,
        by: 14,
        modulo: false,
    };
    let (read, write) = (
        body.pointer(12, table),
        body.pointer(13, PointerStep::Bytes(16)),
    );
    let loaded: Vec<_> = (0..6)
        .map(|i| {
            let x = body.quad();
            body.load(DataOperand::Whole(x), read, 16 * i);
            x
        })
        .collect();
    let mut sum = loaded[0];
    for &x in &loaded[1..] {
        sum = body.quad_op("add", &[DataOperand::Whole(sum), DataOperand::Whole(x)]);
    }
    body.store(DataOperand::Whole(sum), write, 0);
    let schedule = body.schedule(&machine, 64).unwrap();
    for iterations in [1, 2, 3, 50] {
        let made = schedule.emit(iterations);
        let step = made.text().find("[a12]+s0").unwrap();
        let load = made.text().find("ldx s0").unwrap();
        assert!(load < step, "{}", made.text());
    }
}
