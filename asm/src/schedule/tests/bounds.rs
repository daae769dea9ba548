//! Small loops reach their bounds.

use super::super::{Iterations, ScheduleRequest};
use super::bodies;
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
        }
    }
}

#[test]
fn large_bodies_reach_their_bounds_in_time() {
    let machine = Machine::builtin("vm9").unwrap();
    for results in [4, 8, 12, 16, 20, 24, 40, 60] {
        let body = bodies::row(results);
        let request = ScheduleRequest::new(body.free, Iterations::Known(1000));
        let begin = std::time::Instant::now();
        let old = body.flow.schedule(&machine, 60);
        let middle = std::time::Instant::now();
        let (found, report) = body.flow.schedule_best(&machine, &request);
        println!(
            "ROW {} ops {} bound {:?} old {:?} {:?} refused {:?} {:?} old {:?}",
            results,
            body.flow.ops.len(),
            report.bound.cycles,
            old.ok()
                .map(|f| (f.interval, f.registers.unroll, f.length())),
            found
                .ok()
                .map(|f| (f.interval, f.registers.unroll, f.length())),
            report
                .refused
                .iter()
                .map(|r| (r.interval, r.copies, r.refusal))
                .collect::<Vec<_>>(),
            middle.elapsed(),
            middle - begin
        );
        let begin = std::time::Instant::now();
        let (found, report) = body.flow.schedule_straight(&machine, body.free);
        println!(
            "STRAIGHT {:?} {:?} {:?}",
            found
                .ok()
                .map(|f| (f.interval, f.registers.unroll, f.length())),
            report.refused,
            begin.elapsed()
        );
    }
    for body in bodies::all() {
        let begin = std::time::Instant::now();
        let (found, report) = body.flow.schedule_straight(&machine, body.free);
        println!(
            "STRAIGHT {} {:?} {:?} {:?}",
            body.name,
            found
                .ok()
                .map(|f| (f.interval, f.registers.unroll, f.length())),
            report.refused,
            begin.elapsed()
        );
    }
}
