//! Test that every mutant of the list can be made.
//!
//! `cargo run -p cp2-tests --example mutants` checks that tests catch the mutants.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../mutants/list.rs"]
mod mutant;

#[test]
fn every_mutant_can_be_made() {
    let all = mutant::all();
    assert!(all.len() >= 25, "{} mutants", all.len());
    for mutant in all {
        let text = std::fs::read_to_string(mutant::root().join(&mutant.file)).unwrap();
        let places = text.matches(&mutant.from).count();
        assert_eq!(
            places, 1,
            "{}: {:?} in {:?}",
            mutant.name, mutant.from, mutant.file
        );
        assert!(
            mutant.from != mutant.to && !mutant.test.is_empty(),
            "{}",
            mutant.name
        );
    }
}
