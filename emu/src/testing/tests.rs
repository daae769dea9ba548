//! The engines against each other, and whether the programs are any good.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

mod drawn;

use super::{CoverageRow, ExecutedWords, Summary, cases, lockstep};
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

/// What all cases together amounted to, on the engine under test: cases on
/// machines that it leaves to the reference engine do not count.
#[derive(Default)]
struct Total {
    cases: u64,
    /// Cases with 500 words of blocks and more.
    long: u64,
    comparisons: u64,
    ran: ExecutedWords,
    /// Words of blocks with one port, where none is beside a transfer, and with two.
    ports: [u64; 2],
    beside_transfers: u64,
    causes: Causes,
    waits: u64,
    posts: u64,
    completed: u64,
    /// Faults, by kind, and other notices.
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

/// Runs `cases_of` cases, others for each seed; the smallest failing one, if any, as text.
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

/// Kernels of one engine on random programs, as many short ones and long ones.
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

/// The host code that `engine` emits here; what the host lacks is said whether
/// or not the harness shows the output of tests.
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
    /// Whether the cases say much about the engine.
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
            let enough = |row: &CoverageRow| if row.op == Op::Stop { STOPS } else { OFTEN };
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
        for fault in FAULTS {
            assert!(self.notices.contains_key(fault), "no {fault} happened");
        }
    }
}

/// Times that each row and addressing mode has to run.
const OFTEN: u64 = 1000;
/// Times that `stop` has to run: it ends a launch, of which there are several of each of the 250 programs, and how many
/// come so far depends on all rows that are drawn.
const STOPS: u64 = 500;
/// What a block never holds: the reference engine's step runs it for every engine.
const STEPPED: [Op; 3] = [Op::Stop, Op::Wait, Op::Signal];
/// Functions that emitted code leaves to the portable tier.
const CALLED: [Op; 5] = [Op::Rsqrt, Op::Exp2, Op::Log2, Op::Sin, Op::Cos];
/// All kinds of faults, but for extensions, which no row asks for.
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

    /// The programs above are always the same; with another seed, these are others.
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

/// The comparison can fail, and what fails becomes small.
#[test]
fn a_processor_that_is_a_little_different_is_found_out() {
    let slower = |machine: Arc<Machine>| {
        let mut machine = Machine::clone(&machine);
        machine.cp2.latency[Class::Elementary].0 += 1;
        Processor::new(Arc::new(machine))
    };
    let total = RefCell::new(Total::default());
    let found = agree(0, 100, 1..60, slower, &total).unwrap_err();
    // An elementary function, and little else.
    let words = found.lines().filter(|l| l.starts_with("    "));
    assert!(words.count() <= 4, "{found}");
}
