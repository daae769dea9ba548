//! Small loops reach their bounds.

use super::super::{Iterations, ScheduleRequest};
use super::bodies;
use super::replay::{assert_no_wait, define, replay};
use cp2_machine::Machine;

#[test]
fn small_loops_reach_their_bounds() {
    for machine in ["vm7", "vm9"].map(|name| Machine::builtin(name).unwrap()) {
        for body in bodies::all() {
            let request = ScheduleRequest::new(body.free, Iterations::Known(1000));
            let (found, report) = body.flow.schedule_best(&machine, &request);
            let found = found.unwrap();
            assert_eq!(report.bound.cycles, body.bound, "{}", body.name);
            assert_eq!(found.interval, body.bound, "{}", body.name);
            for count in [1, 2, 7, 30] {
                assert_eq!(
                    replay(&found, count),
                    define(&body.flow, count),
                    "{}",
                    body.name
                );
                assert_no_wait(&found, &machine, count as u64);
            }
        }
    }
}

/// Rows of results that share operands come within a hundredth of their bound where height alone would hold more
/// registers than there are; carried out once they are not much longer.
#[test]
fn long_rows_hold_few_registers() {
    for machine in ["vm7", "vm9"].map(|name| Machine::builtin(name).unwrap()) {
        for results in [8, 24] {
            let body = bodies::row(results);
            let request = ScheduleRequest::new(body.free, Iterations::Known(1000));
            let (found, report) = body.flow.schedule_best(&machine, &request);
            let found = found.unwrap();
            assert_eq!(report.bound.cycles, body.bound);
            let most = body.bound + body.bound.div_ceil(50);
            assert!(
                found.interval <= most,
                "{} of {}",
                found.interval,
                body.bound
            );
            assert_eq!(replay(&found, 5), define(&body.flow, 5));
            assert_no_wait(&found, &machine, 5);
            let (once, _) = body.flow.schedule_straight(&machine, body.free);
            let once = once.unwrap();
            assert!(
                once.length() <= body.bound * 3 / 2,
                "{} of {}",
                once.length(),
                body.bound
            );
            assert_eq!(replay(&once, 1), define(&body.flow, 1));
            assert_no_wait(&once, &machine, 1);
        }
    }
}

/// Values of a loop of a count in a register have copies by powers of two: axpy, whose loads and sum live for longer
/// than its three cycles, has two.
#[test]
fn unknown_counts_have_copies_by_powers_of_two() {
    let machine = Machine::builtin("vm7").unwrap();
    let body = bodies::axpy();
    let request = ScheduleRequest::new(body.free, Iterations::Unknown);
    let found = body.flow.schedule_best(&machine, &request).0.unwrap();
    assert_eq!((found.copies(), found.interval()), (2, 3));
    let request = ScheduleRequest {
        most_copies: 1,
        ..request
    };
    let alone = body.flow.schedule_best(&machine, &request).0.unwrap();
    assert_eq!((alone.copies(), alone.interval()), (1, 5));
}

/// Two operations that wait for each other within an iteration have no order.
#[test]
fn contradictions_are_refused() {
    let machine = Machine::builtin("vm7").unwrap();
    let mut body = bodies::axpy();
    body.flow.order(3, 0, 0);
    let request = ScheduleRequest::new(body.free, Iterations::Known(10));
    let (found, report) = body.flow.schedule_best(&machine, &request);
    assert!(found.is_err());
    let mut circle = report.contradiction.unwrap();
    circle.sort_unstable();
    assert_eq!(circle, [0, 2, 3]);
    assert!(body.flow.schedule_straight(&machine, body.free).0.is_err());
    assert!(body.flow.schedule(&machine, 60).is_err());
}
