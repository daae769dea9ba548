//! Random programs: all time stamps are those of the sequential simulation.

use crate::cases::{Case, draw_case, expected, run_case};
use crate::oracle::{End, Outcome};
use crate::program::Step;

const CASES: u64 = 5_000;

/// How often something was drawn that is easily got wrong.
#[derive(Debug, Default)]
struct Tally {
    finished: u32,
    deadlocks: u32,
    never_received: u32,
    messages: u64,
    from_any: u32,
    long: u32,
    own: u32,
    tests_empty: u32,
    tests_full: u32,
}

impl Tally {
    fn add(&mut self, case: &Case, outcome: &Outcome) {
        match outcome.end {
            End::Finished => self.finished += 1,
            End::NeverReceived(_) => self.never_received += 1,
            End::Deadlock(_) => self.deadlocks += 1,
        }
        self.messages += outcome.messages;
        for program in &case.programs {
            for step in &program.steps {
                self.from_any += u32::from(matches!(step, Step::Receive { from: None, .. }));
            }
        }
        for (program, trace) in case.programs.iter().zip(&outcome.traces) {
            let done = trace.iter().flat_map(|(_, done)| done);
            for one in done.filter(|one| one.receive) {
                self.long += u32::from(one.bytes > case.parameters.eager.0);
                self.own += u32::from(one.source == one.destination);
            }
            let tests = program.steps.iter();
            if tests.clone().any(|step| matches!(step, Step::Test(_))) {
                let wakes = trace.iter().skip(1);
                let empty = wakes.filter(|(_, done)| done.is_empty()).count();
                self.tests_empty += u32::from(empty > 0);
                self.tests_full += u32::from(empty + 1 < trace.len());
            }
        }
    }
}

/// `CP2_NETWORK_SEED` runs one seed alone.
#[test]
fn random_programs_take_the_times_of_a_sequential_simulation() {
    let seeds = match std::env::var("CP2_NETWORK_SEED") {
        Ok(seed) => {
            let seed = seed.parse().unwrap();
            seed..seed + 1
        }
        Err(_) => 0..CASES,
    };
    let all = seeds.end - seeds.start == CASES;
    let mut tally = Tally::default();
    for seed in seeds {
        let case = draw_case(seed);
        let (expected, found) = (expected(&case), run_case(&case));
        if expected != found {
            panic!(
                "seed {seed}: expected {expected:#?}\nfound {found:#?}\n{case:#?}\n\
                 CP2_NETWORK_SEED={seed} cargo test -p cp2-network --test network random_programs"
            );
        }
        tally.add(&case, &expected);
    }
    println!("{tally:?}");
    if all {
        let least = [
            tally.finished,
            tally.never_received,
            tally.deadlocks,
            tally.from_any,
            tally.long,
            tally.own,
            tally.tests_empty,
            tally.tests_full,
        ];
        assert!(least.into_iter().all(|count| count > 100), "{tally:?}");
    }
}
