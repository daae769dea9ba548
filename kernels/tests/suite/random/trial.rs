//! Draws, carries out and judges the run that a seed stands for.

use super::machines::{self, pick};
use super::plans::is_the_fastest;
use super::subjects::{self, BENCHMARKS, Subject};
use cp2_emu::Engine;
use cp2_host::{DeviceOptions, Trace};
use cp2_kernels::registry::Size;
use cp2_kernels::{KernelRun, Method, Random};
use cp2_machine::Machine;
use cp2_problems::{Case, NamedArrays, Problem};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Cycles after which a run counts as endless.
const ENDLESS: u64 = 400_000_000;

/// Most numbers of the input for which checkers are on: they need the reference engine.
const WATCHED: usize = 1 << 13;

/// The run that a seed stands for.
pub(crate) struct Trial {
    /// Machine file.
    pub(crate) text: String,
    pub(crate) machine: Arc<Machine>,
    pub(crate) subject: Subject,
    pub(crate) size: Size,
    pub(crate) case: Case,
    pub(crate) seed: u64,
}

/// The ways in which a run may end.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    /// The result is right, and all assertions hold.
    Right,
    /// The machine has no room for the size, with the reason.
    Refused(String),
    /// A result or an assertion is wrong, with the error.
    Wrong(String),
}

/// A run that finished, for assertions.
#[allow(dead_code, reason = "what assertions to come may look at")]
pub(crate) struct Ran<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) problem: &'a dyn Problem,
    pub(crate) input: &'a NamedArrays,
    pub(crate) method: &'a Method,
    pub(crate) run: &'a KernelRun<NamedArrays>,
}

/// An assertion that must hold for every run; it returns the error.
type Assertion = fn(&Ran<'_>) -> Result<(), String>;

/// All assertions; a new one needs a row here.
const ASSERTIONS: &[Assertion] = &[
    is_right,
    is_clean,
    is_accounted_for,
    is_bounded,
    is_priced,
    is_the_fastest,
];

/// Checks that the result is within the problem's tolerance.
fn is_right(ran: &Ran<'_>) -> Result<(), String> {
    let output = ran.run.output.as_ref().ok_or("there is no output")?;
    let verdict = ran.problem.judge(ran.input, output);
    let wrong = || format!("the result is wrong: {verdict:?}");
    verdict
        .is_within_tolerance()
        .then_some(())
        .ok_or_else(wrong)
}

/// Checks that the checkers find nothing.
fn is_clean(ran: &Ran<'_>) -> Result<(), String> {
    let findings = &ran.run.run.report.findings;
    let all: Vec<_> = findings.iter().take(3).map(ToString::to_string).collect();
    all.is_empty().then_some(()).ok_or_else(|| all.join("; "))
}

/// Checks that every cycle has one cause.
fn is_accounted_for(ran: &Ran<'_>) -> Result<(), String> {
    let report = &ran.run.run.report;
    let (causes, cycles) = (report.causes.total(), report.cycles);
    let wrong = || format!("causes add up to {causes} of {cycles} cycles");
    (causes == cycles).then_some(()).ok_or_else(wrong)
}

/// Checks that the run takes no less than its bound and the least of the known algorithms.
fn is_bounded(ran: &Ran<'_>) -> Result<(), String> {
    let figures = &ran.run.figures;
    let (bound, reference) = (figures.bound.0, figures.reference.0);
    let cycles = ran.run.run.report.cycles;
    let wrong = || format!("bound {bound}, reference {reference}, took {cycles} cycles");
    (bound <= reference && reference <= cycles)
        .then_some(())
        .ok_or_else(wrong)
}

/// Checks that the price is the time of the run within 3 %, or 20 % where sections share one port of their
/// memory with the DMA, which is priced as an average and not word by word.
fn is_priced(ran: &Ran<'_>) -> Result<(), String> {
    let cycles = ran.run.run.report.cycles as f64;
    let price = ran.run.expected.ok_or("there is no price")?.0 as f64;
    let wrong = || {
        let percent = 100.0 * (price / cycles - 1.0);
        format!("priced at {price} cycles, took {cycles}: {percent:+.1} %")
    };
    let share = match ran.trial.machine.cp2.dmem_ports {
        1 => 0.2,
        _ => PRICE,
    };
    ((price - cycles).abs() <= share * cycles)
        .then_some(())
        .ok_or_else(wrong)
}

/// Fraction by which a price may differ from the measured time.
const PRICE: f64 = 0.03;

impl Trial {
    /// Draws the run of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        // Numbers that do not go together are drawn again.
        let machine = (0..).find_map(|_| machines::draw(&mut random));
        let (text, machine) = machine.unwrap();
        let (subject, size) = subjects::draw(&mut random, seed >= BENCHMARKS);
        let case = pick(&mut random, &Case::FINITE);
        Self {
            text,
            machine: Arc::new(machine),
            subject,
            size,
            case,
            seed,
        }
    }

    /// Describes the run in one line.
    pub(crate) fn title(&self) -> String {
        let mut title = format!("{} {}, {}", self.subject, self.size, self.case);
        for line in self.text.lines().skip(1) {
            let shown = line.split_once(" = {").map(|(key, rest)| {
                let value = rest.trim_start_matches(" value = ").trim_end_matches(" }");
                format!(
                    "{key} {}",
                    value.replace("\", ", "").replace(", unit = ", " ")
                )
            });
            let _ = write!(title, ", {}", shown.unwrap_or_else(|| line.to_owned()));
        }
        title
    }

    /// Carries the run out.
    pub(crate) fn run(&self) -> End {
        let ended = catch_unwind(AssertUnwindSafe(|| self.carry_out()));
        ended.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            End::Wrong(format!("panic: {}", text.unwrap_or("in other words")))
        })
    }

    fn carry_out(&self) -> End {
        let problem = match self.subject.problem(&self.size) {
            Ok(problem) => problem,
            Err(why) => return refusal(&*why),
        };
        let method = match self.subject.method(&*problem, &self.machine) {
            Ok(method) => method,
            Err(why) => return refusal(&*why),
        };
        // Only cases that the problem names are within its tolerance.
        let case = match problem.cases().contains(&self.case) {
            true => self.case,
            false => Case::Random,
        };
        let input = problem.input(case, self.seed);
        let numbers: usize = input.arrays().iter().map(|a| a.values.len()).sum();
        let options = DeviceOptions {
            engine: Engine::Fast,
            check: numbers <= WATCHED,
            max_cycles: Some(ENDLESS),
            trace: Trace {
                limit: 0,
                ..Trace::default()
            },
            ..DeviceOptions::default()
        };
        let task = match method.task(&input, options) {
            Ok(task) => task,
            Err(why) => return refusal(&*why),
        };
        let run = match task.run(method.figures.clone()) {
            Ok(run) => run,
            Err(why) => return End::Wrong(format!("the device refuses: {why}")),
        };
        if !run.run.report.end.is_finished() {
            return End::Wrong(format!("the run did not finish: {}", run.run.report.end));
        }
        let ran = Ran {
            trial: self,
            problem: &*problem,
            input: &input,
            method: &method,
            run: &run,
        };
        let wrong = ASSERTIONS.iter().find_map(|holds| holds(&ran).err());
        wrong.map_or(End::Right, End::Wrong)
    }
}

/// Checks that a refusal says in one line what is lacking, in words that need no knowledge of the sources.
fn refusal(why: &(dyn std::error::Error + Send + Sync + 'static)) -> End {
    let said = why.to_string();
    let inner = ["-->", ".s:", "no program", "command ", "\n"];
    match inner.iter().find(|word| said.contains(**word)) {
        Some(word) => End::Wrong(format!("a refusal with {word:?}: {said}")),
        None => End::Refused(said),
    }
}
