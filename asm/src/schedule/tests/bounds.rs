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
