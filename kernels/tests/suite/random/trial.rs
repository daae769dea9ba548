//! One run that a seed stands for: drawn, carried out, judged.

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

/// Cycles after which a run counts as one that does not end.
const ENDLESS: u64 = 400_000_000;

/// Numbers of the input up to which the checkers watch: they take the reference engine.
const WATCHED: usize = 1 << 13;

/// What a seed stands for.
pub(crate) struct Trial {
    /// The machine as a file.
    pub(crate) text: String,
    pub(crate) machine: Arc<Machine>,
    pub(crate) subject: Subject,
    pub(crate) size: Size,
    pub(crate) case: Case,
    pub(crate) seed: u64,
}

/// How it ended.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    /// The result is right, and whatever else is asserted holds.
    Right,
    /// The machine has no place for it, and this is why.
    Refused(String),
    /// What is wrong.
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

/// What holds of every run: says what is wrong.
type Assertion = fn(&Ran<'_>) -> Result<(), String>;

/// To assert more, add a row.
const ASSERTIONS: &[Assertion] = &[
    is_right,
    is_clean,
    is_accounted_for,
    is_bounded,
    is_priced,
    is_the_fastest,
];

/// The result is within the problem's tolerance.
fn is_right(ran: &Ran<'_>) -> Result<(), String> {
    let output = ran.run.output.as_ref().ok_or("there is no output")?;
    let verdict = ran.problem.judge(ran.input, output);
    let wrong = || format!("the result is wrong: {verdict:?}");
    verdict
        .is_within_tolerance()
        .then_some(())
        .ok_or_else(wrong)
}

/// The checkers have nothing to say.
fn is_clean(ran: &Ran<'_>) -> Result<(), String> {
    let findings = &ran.run.run.report.findings;
    let all: Vec<_> = findings.iter().take(3).map(ToString::to_string).collect();
    all.is_empty().then_some(()).ok_or_else(|| all.join("; "))
}

/// Every cycle has one cause.
fn is_accounted_for(ran: &Ran<'_>) -> Result<(), String> {
    let report = &ran.run.run.report;
    let (causes, cycles) = (report.causes.total(), report.cycles);
    let wrong = || format!("causes add up to {causes} of {cycles} cycles");
    (causes == cycles).then_some(()).ok_or_else(wrong)
}

/// No run takes less than its bound and the least of the known algorithms.
fn is_bounded(ran: &Ran<'_>) -> Result<(), String> {
    let figures = &ran.run.figures;
    let (bound, reference) = (figures.bound.0, figures.reference.0);
    let cycles = ran.run.run.report.cycles;
    let wrong = || format!("bound {bound}, reference {reference}, took {cycles} cycles");
    (bound <= reference && reference <= cycles)
        .then_some(())
        .ok_or_else(wrong)
}

/// The price is what the run takes, but for 3 %; where sections share one port of their memory with the DMA, which is priced
/// in the long run and not word by word, for 20 %.
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

/// How far a price may be from what is measured, as a part of that.
const PRICE: f64 = 0.03;

impl Trial {
    /// What the seed stands for.
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

    /// In one line.
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

    /// Carries it out.
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
        // The tolerance of a problem is not meant for what it does not name.
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

/// A refusal says what lacks in one line, in words that need no knowledge of the sources.
fn refusal(why: &(dyn std::error::Error + Send + Sync + 'static)) -> End {
    let said = why.to_string();
    let inner = ["-->", ".s:", "no program", "command ", "\n"];
    match inner.iter().find(|word| said.contains(**word)) {
        Some(word) => End::Wrong(format!("a refusal with {word:?}: {said}")),
        None => End::Refused(said),
    }
}
