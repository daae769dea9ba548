//! Compares the engines on random programs, and judges the programs' coverage.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

mod drawn;

use super::{CoverageRow, ExecutedWords, Summary, cases, lockstep, lockstep_lent};
use crate::Cause;
use crate::Causes;
use crate::Engine;
use crate::Notice;
use crate::Processor;
use crate::core::simd::Simd;
use cp2_asm::isa::Op;
use cp2_machine::{Class, Machine};
use proptest::proptest;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// Summary of all cases on the engine under test. Cases on machines that the engine leaves to the
/// reference engine do not count.
#[derive(Default)]
struct Total {
    cases: u64,
    /// Number of cases with at least 500 words in blocks.
    long: u64,
    comparisons: u64,
    ran: ExecutedWords,
    /// Words in blocks on machines with one port (no transfer runs beside them) and with two.
    ports: [u64; 2],
    beside_transfers: u64,
    causes: Causes,
    waits: u64,
    posts: u64,
    completed: u64,
    /// Number of notices by kind, and of faults by their kind.
    notices: BTreeMap<String, u64>,
}

impl Total {
    fn add(&mut self, machine: &Machine, summary: &Summary) {
        if Engine::default().resolve_engine(machine) == Engine::Reference {
            return;
        }
        let words = summary.ran.blocks();
        let two = usize::from(machine.cp2.dmem_ports == 2);
        self.cases += 1;
        self.long += u64::from(words >= 500);
        self.comparisons += summary.comparisons;
        self.ran.merge(&summary.ran);
        self.ports[two] += words;
        self.beside_transfers += summary.beside_transfers;
        self.causes.merge(&summary.counters.causes);
        self.waits += summary.waits;
        self.posts += summary.posts;
        self.completed += summary.completed;
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

/// Runs `cases_of` cases, different ones for each seed. Returns the smallest failing case as text.
fn agree(
    seed: u8,
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
    let rng = TestRng::from_seed(config.rng_algorithm, &[seed; 32]);
    let outcome = TestRunner::new_with_rng(config, rng).run(&cases(items), |case| {
        let summary = lockstep(&case, reference, &right)
            .map_err(|m| TestCaseError::fail(m.brief().to_owned()))?;
        total.borrow_mut().add(&case.machine, &summary);
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

/// Compares one engine with the reference on many short and long random programs.
fn engine_agrees(engine: Engine, short: u32, long: u32) {
    let total = RefCell::new(Total::default());
    for (cases, items) in [(short, 1..60), (long, 200..900)] {
        let right = |machine| Processor::new(machine).with_engine(engine);
        agree(engine as u8, cases, items, right, &total).unwrap_or_else(|e| panic!("{e}"));
    }
    let total = total.into_inner();
    println!("{engine:?}: {total}");
    total.is_enough(tier_here(engine));
}

/// Returns the host code that `engine` emits here. A missing instruction set is reported even if
/// the harness hides the output of tests.
fn tier_here(engine: Engine) -> Simd {
    let (made_for, here) = match engine {
        Engine::Fast => (Simd::Avx512, engine.simd()),
        Engine::Avx2 => (Simd::Avx2, engine.simd()),
        Engine::Portable | Engine::Reference => (Simd::None, Simd::None),
    };
    if here != made_for {
        let (name, lacks) = (here.name(), made_for.name());
        let text =
            format!("note: this host has no {lacks}: {engine:?} was tested with {name} code\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    here
}

impl Total {
    /// Asserts that the cases exercise the engine enough.
    fn is_enough(&self, tier: Simd) {
        let ran = &self.ran;
        assert!(ran.blocks() >= 1_000_000, "{} words", ran.blocks());
        assert!(
            2 * self.long >= self.cases,
            "only {} of {} programs run 500 words",
            self.long,
            self.cases
        );
        let rare = |times: &dyn Fn(CoverageRow) -> u64| {
            let all = CoverageRow::all().map(|row| (row, times(row)));
            let enough = |row: &CoverageRow| match row.op {
                Op::Stop => STOPS,
                Op::Call | Op::Ret => CALLS,
                op if !op.row().requires.is_empty() => SELDOM,
                _ => OFTEN,
            };
            all.filter(|(row, n)| *n < enough(row))
                .map(|(row, n)| format!("{row}: {n}\n"))
                .collect::<String>()
        };
        let blocks = rare(&|row| {
            let stepped = if STEPPED.contains(&row.op) {
                ran.step.count_executed(row)
            } else {
                0
            };
            ran.portable.count_executed(row) + ran.emitted.count_executed(row) + stepped
        });
        assert!(blocks.is_empty(), "run too rarely:\n{blocks}");
        if tier != Simd::None {
            let emitted = rare(&|row| match row.op {
                op if STEPPED.contains(&op) || CALLED.contains(&op) => OFTEN,
                // Emitted code ends at the rows of extensions.
                op if !op.row().requires.is_empty() => OFTEN,
                _ => ran.emitted.count_executed(row),
            });
            assert!(emitted.is_empty(), "emitted too rarely:\n{emitted}");
        }
        let [_, once, twice, deeper] = ran.nested;
        let enough = [
            ("in a loop", once, 100_000),
            ("in two loops", twice, 100_000),
            ("in three loops and more", deeper, 100_000),
            ("with one port", self.ports[0], 300_000),
            ("with two ports", self.ports[1], 300_000),
            ("of blocks beside transfers", self.beside_transfers, 10_000),
            ("of posts", self.posts, 1000),
            ("of waits that found nothing posted", self.waits, 1000),
            (
                "of transfers that ended beside a kernel",
                self.completed,
                300,
            ),
        ];
        for (what, n, least) in enough {
            assert!(n >= least, "{what}: {n}, expected {least}");
        }
        for (cause, least) in [
            (Cause::WaitLoad, 1000),
            (Cause::WaitStore, 1000),
            (Cause::WaitHost, 1000),
            (Cause::MemoryPort, 1000),
        ] {
            let cycles = self.causes.get(cause);
            assert!(
                cycles >= least,
                "{cause}: {cycles} cycles, expected {least}"
            );
        }
        let missing: Vec<_> = FAULTS
            .iter()
            .filter(|fault| !self.notices.contains_key(**fault))
            .collect();
        assert!(
            missing.len() <= FAULTS_MISSED,
            "none of {missing:?} happened"
        );
    }
}

/// Times that each row must run in each addressing mode.
const OFTEN: u64 = 1000;
/// Times that each row of an extension must: half of the machines have it, and few words are drawn from extensions.
const SELDOM: u64 = 20;
/// Processors of equal and of different programs and machines, some of which rewrite their programs, use one
/// translation after the other.
#[test]
fn lent_translations_change_no_state_time_or_count() {
    let mut blocks = 0;
    for (engine, count, items) in [
        (Engine::Fast, 30, 1..60),
        (Engine::Fast, 6, 200..900),
        (Engine::Portable, 15, 1..60),
        (Engine::Reference, 10, 1..60),
    ] {
        let config = Config {
            cases: count,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::from_seed(config.rng_algorithm, &[engine as u8 + 41; 32]);
        let two = (cases(items.clone()), cases(items), 1usize..4);
        let total = RefCell::new(0);
        let tried = TestRunner::new_with_rng(config, rng).run(&two, |(one, other, threads)| {
            let cases = [one.clone(), other.clone(), one, other];
            let summaries = lockstep_lent(&cases, engine, threads)
                .map_err(|mismatch| TestCaseError::fail(mismatch.to_string()))?;
            *total.borrow_mut() += summaries.iter().map(|s| s.ran.blocks()).sum::<u64>();
            Ok(())
        });
        tried.unwrap_or_else(|error| panic!("{engine:?}: {error}"));
        blocks += total.into_inner();
    }
    assert!(blocks >= 200_000, "only {blocks} words in blocks");
}

/// Times that `stop` must run. It ends a launch; each of the 250 programs has several launches, and
/// how many of them end depends on all rows that are drawn.
const STOPS: u64 = 500;
/// Times that a call and a return must run: each runs once where other rows run in loops.
const CALLS: u64 = 300;
/// Operations that are never in a block: the reference engine's step runs them for every engine.
const STEPPED: [Op; 7] = [
    Op::Stop,
    Op::Wait,
    Op::Signal,
    Op::Msk,
    Op::MskAll,
    Op::AnyX,
    Op::AllX,
];
/// Functions that emitted code leaves to the portable tier.
const CALLED: [Op; 5] = [Op::Rsqrt, Op::Exp2, Op::Log2, Op::Sin, Op::Cos];
/// Kinds of faults that may not happen with one of the engines: some happen in a few of the programs only.
const FAULTS_MISSED: usize = 2;
/// All kinds of faults but those of missing extensions.
const FAULTS: [&str; 9] = [
    "NoProgram",
    "InvalidWord",
    "Register",
    "Unaligned",
    "OutOfRange",
    "LoopDepth",
    "CallDepth",
    "NoCall",
    "Event",
];

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExecutedWords {
            step,
            portable,
            emitted,
            nested,
        } = &self.ran;
        let (step, portable, emitted) = (step.words(), portable.words(), emitted.words());
        writeln!(
            f,
            "{} programs, {} long; words: {emitted} emitted, {portable} portable, {step} by steps;",
            self.cases, self.long
        )?;
        writeln!(
            f,
            "of blocks: {nested:?} inside 0, 1, 2, more loops, {:?} with one port, two, {} beside transfers;",
            self.ports, self.beside_transfers
        )?;
        writeln!(
            f,
            "{} waits, {} posts, {} transfers ended beside a kernel, {} comparisons, {:?}",
            self.waits, self.posts, self.completed, self.comparisons, self.notices
        )?;
        write!(f, "{:?}", self.causes.to_map())
    }
}

#[test]
fn any_program_runs_alike_on_the_fast_engine() {
    engine_agrees(Engine::Fast, 100, 150);
}

#[test]
fn any_program_runs_alike_with_avx2_code() {
    engine_agrees(Engine::Avx2, 100, 150);
}

#[test]
fn any_program_runs_alike_on_the_portable_tier() {
    engine_agrees(Engine::Portable, 100, 150);
}

proptest! {
    #![proptest_config(Config::with_cases(16))]

    /// The programs of the tests above are equal in every run; with another seed, these are others.
    #[test]
    fn any_case_runs_alike_on_every_engine(case in cases(1..60)) {
        for engine in [Engine::Fast, Engine::Avx2, Engine::Portable] {
            let right = |machine| Processor::new(machine).with_engine(engine);
            if let Err(mismatch) = lockstep(&case, reference, right) {
                return Err(TestCaseError::fail(format!("{engine:?}: {}", mismatch.brief())));
            }
        }
    }
}

/// Tests that the comparison can fail, and that a failing case becomes small.
#[test]
fn a_processor_that_is_a_little_different_is_found_out() {
    let slower = |machine: Arc<Machine>| {
        let mut machine = Machine::clone(&machine);
        machine.cp2.latency[Class::Elementary].0 += 1;
        Processor::new(Arc::new(machine))
    };
    let total = RefCell::new(Total::default());
    let found = agree(0, 100, 1..60, slower, &total).unwrap_err();
    // The program contains an elementary function and little else.
    let words = found.lines().filter(|l| l.starts_with("    "));
    assert!(words.count() <= 8, "{found}");
}
