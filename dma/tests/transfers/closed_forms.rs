//! The closed forms of descriptors agree with what follows from their runs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use crate::common;

use common::{Memories, any_machine, descriptor, word_descriptor, word_machine};
use cp2_dma::{
    Descriptor, DescriptorError, Direction, Field, Recipient, Run, Schedule, Transfer, copy,
    transfer_time, validate,
};
use cp2_machine::Machine;
use proptest::prelude::*;

/// A descriptor as a transfer that has only runs, and no closed forms.
#[derive(Clone, Debug)]
struct ByRuns(Descriptor);

impl Transfer for ByRuns {
    fn direction(&self) -> Direction {
        self.0.direction
    }

    fn event(&self) -> Option<u32> {
        self.0.event
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        self.0.runs(machine)
    }
}

/// A descriptor of which runs that touch in both memories are given as one.
#[derive(Clone, Debug)]
struct Joined(Descriptor);

impl Transfer for Joined {
    fn direction(&self) -> Direction {
        self.0.direction
    }

    fn event(&self) -> Option<u32> {
        self.0.event
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        let mut all: Vec<Run> = Vec::new();
        for run in self.0.runs(machine) {
            match all.last_mut() {
                Some(last)
                    if last.to == run.to
                        && run.to != Recipient::Deal
                        && last.system + last.bytes == run.system
                        && u64::from(last.local) + last.bytes == u64::from(run.local) =>
                {
                    last.bytes += run.bytes;
                }
                _ => all.push(run),
            }
        }
        all.into_iter()
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        max_global_rejects: 100_000,
        ..ProptestConfig::with_cases(512)
    }
}

/// Returns true if a refusal concerns what no run shows: strides of levels with one turn, the number of
/// levels, counts of 0.
fn of_the_form(d: &Descriptor, error: &DescriptorError) -> bool {
    match error.field {
        Field::Levels | Field::Count(_) => {
            error.field == Field::Levels || d.levels.iter().any(|l| l.count == 0)
        }
        Field::SystemStride(i) | Field::LocalStride(i) => d.levels[i].count == 1,
        Field::BlockStride | Field::Section | Field::Event => true,
        _ => d.levels.iter().any(|l| l.count == 0),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_rules_of_strides_are_those_of_runs(d in descriptor(), m in any_machine()) {
        let by_runs = validate(&ByRuns(d.clone()), &m);
        match validate(&d, &m) {
            Ok(()) => prop_assert_eq!(by_runs, Ok(())),
            Err(error) if !of_the_form(&d, &error) => prop_assert!(by_runs.is_err(), "{}: {}", d, error),
            Err(_) => {}
        }
    }

    #[test]
    fn bounds_places_and_times_are_those_of_the_runs(d in descriptor(), m in any_machine()) {
        prop_assume!(validate(&d, &m).is_ok());
        let runs = ByRuns(d.clone());
        prop_assert_eq!(d.bounds(&m), runs.bounds(&m));
        let bytes = |places: cp2_dma::Places| {
            let mut all = Vec::new();
            let _ = places.for_each(|at, len| {
                all.extend(at..at + len as u64);
                Ok::<(), ()>(())
            });
            (places.bytes(), all)
        };
        prop_assert_eq!(bytes(d.places(&m)), bytes(runs.places(&m)));
        prop_assert_eq!(transfer_time(&d, &m), transfer_time(&runs, &m));
        let (strided, listed) = (Schedule::new(&d, &m), Schedule::new(&runs, &m));
        prop_assert_eq!(strided.granules(), listed.granules());
        for i in 0..strided.granules() {
            prop_assert_eq!((strided.at(i), strided.to(i)), (listed.at(i), listed.to(i)), "granule {}", i);
        }
    }

    #[test]
    fn times_of_words_are_those_of_the_runs(d in word_descriptor(), m in word_machine()) {
        prop_assume!(validate(&d, &m).is_ok());
        prop_assert_eq!(transfer_time(&d, &m), transfer_time(&ByRuns(d.clone()), &m));
        // Joining the runs that touch in both memories changes no time.
        prop_assert_eq!(transfer_time(&d, &m), transfer_time(&Joined(d.clone()), &m));
    }

    #[test]
    fn packed_runs_follow_each_other(d in descriptor(), m in any_machine()) {
        prop_assume!(validate(&d, &m).is_ok() && d.direction == Direction::Store);
        let packed = d.packed(&m).unwrap();
        let mut at = 0;
        for (run, moved) in d.runs(&m).zip(packed.runs(&m)) {
            prop_assert_eq!(moved, Run { system: at, ..run });
            at += run.bytes;
        }
        prop_assert_eq!(at, d.places(&m).bytes());
    }

    #[test]
    fn copies_are_those_of_the_runs(d in descriptor(), m in any_machine()) {
        prop_assume!(validate(&d, &m).is_ok());
        let (mut one, mut other) = (Memories::filled(&m), Memories::filled(&m));
        copy(&d, &m, &mut one.local, &mut one.system).unwrap();
        copy(&ByRuns(d), &m, &mut other.local, &mut other.system).unwrap();
        prop_assert!(one == other);
    }
}
