//! The engines against each other, and whether the programs are any good.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use super::{Coverage, Summary, cases, lockstep};
use crate::{Engine, Notice, Processor};
use cp2_machine::{Class, Machine};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What all cases together amounted to.
#[derive(Default)]
struct Total {
    words: u64,
    cases: u64,
    long: u64,
    comparisons: u64,
    /// Faults, by kind, and other notices.
    notices: BTreeMap<String, u64>,
    coverage: Coverage,
}

impl Total {
    fn add(&mut self, summary: &Summary) {
        self.cases += 1;
        self.words += summary.words;
        self.comparisons += summary.comparisons;
        self.long += u64::from(summary.words >= 500);
        self.coverage.merge(&summary.coverage);
        for notice in &summary.notices {
            let name = match notice {
                Notice::Fault(fault) => format!("{:?}", fault.kind),
                other => format!("{other:?}"),
            };
            let end = name.find(|c: char| !c.is_alphanumeric());
            let name = &name[..end.unwrap_or(name.len())];
            *self.notices.entry(name.to_owned()).or_default() += 1;
        }
    }
}

fn reference(machine: Arc<Machine>) -> Processor {
    Processor::new(machine).with_engine(Engine::Reference)
}

/// Runs `cases_of` cases; the smallest failing one, if any, as text.
fn agree(
    cases_of: u32,
    items: Range<usize>,
    right: impl Fn(Arc<Machine>) -> Processor,
    total: &RefCell<Total>,
) -> Result<(), String> {
    let config = Config {
        cases: cases_of,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let outcome = TestRunner::new_with_rng(config, rng).run(&cases(items), |case| {
        let summary = lockstep(&case, reference, &right)
            .map_err(|m| TestCaseError::fail(m.brief().to_owned()))?;
        total.borrow_mut().add(&summary);
        Ok(())
    });
    outcome.map_err(|e| match e {
        TestError::Fail(_, case) => match lockstep(&case, reference, &right) {
            Ok(_) => format!("does not fail again:\n{case:?}"),
            Err(mismatch) => format!("{mismatch}\n{case:?}"),
        },
        TestError::Abort(reason) => reason.to_string(),
    })
}

/// The engines; the fast one, with each kind of host code and without, is suspended more often.
#[test]
fn any_program_runs_alike_however_it_is_suspended() {
    let total = RefCell::new(Total::default());
    for (engine, cases, items) in [
        (Engine::Fast, 90, 1..60),
        (Engine::Avx2, 60, 1..60),
        (Engine::Portable, 60, 1..60),
        (Engine::Fast, 160, 200..900),
        (Engine::Avx2, 120, 200..900),
        (Engine::Portable, 100, 200..900),
    ] {
        let fast = |machine| Processor::new(machine).with_engine(engine);
        agree(cases, items, fast, &total).unwrap_or_else(|e| panic!("{e}"));
    }
    let total = total.into_inner();
    println!(
        "{} programs, {} long, {} words, {} comparisons, {:?}",
        total.cases, total.long, total.words, total.comparisons, total.notices
    );
    assert!(total.words >= 1_000_000, "{} words", total.words);
    assert!(
        2 * total.long >= total.cases,
        "only {} of {} programs run 500 words",
        total.long,
        total.cases
    );
    let rare = total.coverage.below(1000);
    let rare: Vec<String> = rare.iter().map(|(row, n)| format!("{row}: {n}")).collect();
    assert!(rare.is_empty(), "executed too rarely:\n{}", rare.join("\n"));
    for fault in [
        "NoProgram",
        "InvalidWord",
        "Register",
        "Unaligned",
        "OutOfRange",
        "LoopDepth",
        "CallDepth",
        "NoCall",
        "Event",
    ] {
        assert!(total.notices.contains_key(fault), "no {fault} happened");
    }
}

/// The comparison can fail, and what fails becomes small.
#[test]
fn a_processor_that_is_a_little_different_is_found_out() {
    let slower = |machine: Arc<Machine>| {
        let mut machine = Machine::clone(&machine);
        machine.cp2.latency[Class::Elementary].0 += 1;
        Processor::new(Arc::new(machine))
    };
    let total = RefCell::new(Total::default());
    let found = agree(100, 1..60, slower, &total).unwrap_err();
    // An elementary function, and little else.
    let words = found.lines().filter(|l| l.starts_with("    "));
    assert!(words.count() <= 4, "{found}");
}
