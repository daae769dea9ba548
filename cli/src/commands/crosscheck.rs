//! `cp2 crosscheck`: one problem on several backends and in double precision.

mod class;
mod compare;
mod report;

use super::MachineArg;
use crate::backends::{AdapterArg, BackendName, OpenBackend, is_fault};
use crate::interrupt;
use crate::io::{Outputs, check_extension, display_path, write_whole};
use crate::memory::check_memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::picture::distribution::ErrorDistribution;
use crate::progress;
use compare::{BackendOutput, ComparedCase, compare};
use cp2_problems::{Case, KINDS, Prepared, Problem, ProblemKind, Size};
use report::{Crosscheck, RefusedProblem};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: cp2 crosscheck fft,stencil --backend cp2,native --picture errors.svg\n\
                  Exit code 1: a backend is further from the reference, or two backends from each other, than the \
                  problem allows (docs/crosscheck.md)."
)]
pub(crate) struct Args {
    /// Kinds of problems, with a comma between; all of them otherwise
    #[arg(value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Backends that compute, with a comma between
    #[arg(long = "backend", value_enum, value_name = "NAME,..", value_delimiter = ',', default_value = BackendName::BUILT)]
    backends: Vec<BackendName>,
    #[command(flatten)]
    adapter: AdapterArg,
    /// Size of one kind: a value for each parameter in order, as in "1024 2 forward"; give it again for each more
    /// [default: the kind's small sizes]
    #[arg(long, value_name = "ROW")]
    size: Vec<String>,
    /// Seed of the inputs
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Graphics cards among which a problem is divided; more than one compute himeno
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    adapters: u32,
    /// Write the distribution of the errors of each backend as a picture: .svg [default: not written]
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArg,
}

/// Bytes of memory for an element of an input or output: references, errors of parts, results of backends.
const ELEMENT: u64 = 300;

/// Runs `cp2 crosscheck`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    crate::processors::refuse_ranks()?;
    let mut outputs = Outputs::from_inputs(args.machine.file());
    if let Some(path) = &args.picture {
        check_extension(path, "svg", ".svg")?;
        outputs.check(path)?;
    }
    if args.adapters > 1 && !args.backends.contains(&BackendName::Gpu) {
        return Err(CommandFailure::input(
            "--adapters divides a problem among graphics cards: it needs --backend gpu",
        ));
    }
    let kinds = find_kinds(&args.kinds)?;
    let work = list_problems(&kinds, &args.size)?;
    let machine = Arc::new(args.machine.load()?);
    let mut names = args.backends.clone();
    names.sort_unstable();
    names.dedup();
    args.adapter.check(names.contains(&BackendName::Gpu))?;
    let (adapter, adapters) = (&args.adapter, args.adapters as usize);
    let open = |name: &BackendName| OpenBackend::open_adapters(*name, &machine, adapter, adapters);
    let backends = names.iter().map(open);
    let backends: Vec<OpenBackend> = backends.collect::<Result<_, _>>()?;
    let mut found = Crosscheck::new(args.seed, backends.iter().map(|backend| backend.name));
    let steps = progress::steps(work.len() as u64, json);
    for (kind, size) in &work {
        interrupt::check()?;
        steps.begin(&format!("{} {size}", kind.name));
        let problem = kind.make_problem(size).map_err(CommandFailure::input)?;
        check_problem_memory(&*problem)?;
        check_problem(kind, size, (&*problem, &backends), &mut found)?;
        steps.count_step();
    }
    drop(steps);
    let mut outcome = report::outcome(&machine, &backends, &found);
    if let Some(path) = &args.picture {
        let title = "Errors in units of those that are allowed".to_owned();
        write_whole(
            path,
            ErrorDistribution::svg(&title, &found.distributions).as_bytes(),
        )?;
        outcome.text += &format!("picture: {}\n", path.display());
        outcome.json["picture"] = json!(display_path(path));
    }
    Ok(outcome)
}

/// Finds kinds by their names; all of them for none, or for `all`.
fn find_kinds(names: &[String]) -> Result<Vec<&'static ProblemKind>, CommandFailure> {
    let mut kinds: Vec<&ProblemKind> = Vec::new();
    for name in names {
        match KINDS.iter().find(|kind| kind.name == name) {
            Some(kind) if kinds.iter().any(|other| other.name == kind.name) => {}
            Some(kind) => kinds.push(kind),
            None if name == "all" => return Ok(KINDS.iter().collect()),
            None if name.is_empty() => {
                return Err(CommandFailure::input(
                    "a name of a kind is empty: two commas stand side by side, or one at an end; expected names with \
                     one comma between",
                ));
            }
            None => return Err(CommandFailure::input(explain_unknown(name))),
        }
    }
    match kinds.is_empty() {
        true => Ok(KINDS.iter().collect()),
        false => Ok(kinds),
    }
}

/// Most characters of a name that are compared, as the comparison takes the product of both lengths.
const COMPARED: usize = 64;
/// Similarity from which on a name is suggested.
const SIMILAR: f64 = 0.7;

/// Says that there is no such kind, with the nearest one or all of them.
fn explain_unknown(name: &str) -> String {
    let known = || KINDS.iter().map(|kind| kind.name);
    let lower: String = name
        .chars()
        .take(COMPARED)
        .collect::<String>()
        .to_lowercase();
    let near = known()
        .map(|known| (strsim::jaro_winkler(&lower, known), known))
        .filter(|(similar, _)| *similar > SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let near = near.map(|(_, near)| format!("did you mean `{near}`? "));
    format!(
        "there is no kind of problem `{name}`; {}expected all, or some of {}",
        near.unwrap_or_default(),
        known().collect::<Vec<_>>().join(", ")
    )
}

/// Lists the problems to check: the given sizes of one kind, or the small sizes of all.
fn list_problems(
    kinds: &[&'static ProblemKind],
    sizes: &[String],
) -> Result<Vec<(&'static ProblemKind, Size)>, CommandFailure> {
    if sizes.is_empty() {
        let all = kinds.iter().flat_map(|kind| {
            let sizes = kind.small_sizes().into_iter();
            sizes.map(move |size| (*kind, size))
        });
        return Ok(all.collect());
    }
    let [kind] = kinds else {
        return Err(CommandFailure::input(
            "--size belongs to one kind of problem; name it, as in `cp2 crosscheck fft --size \"1024 2 forward\"`",
        ));
    };
    let read = |text: &String| {
        let size = match text.contains('=') {
            true => Size::parse(kind.parameters, text),
            false => Size::from_row(kind.parameters, text),
        };
        let names = kind.parameters.iter().map(|parameter| parameter.name);
        let size = size.map_err(|e| {
            let names = names.collect::<Vec<_>>().join(" ");
            CommandFailure::input(format!(
                "--size: {e}; the values of {} are {names}",
                kind.name
            ))
        })?;
        Ok::<_, CommandFailure>((*kind, size))
    };
    let mut work: Vec<(&ProblemKind, Size)> = Vec::new();
    for text in sizes {
        let (kind, size) = read(text)?;
        // Two ways of writing one size are one size.
        if work.iter().all(|(_, other)| *other != size) {
            work.push((kind, size));
        }
    }
    Ok(work)
}

/// Checks that this computer has the memory for a problem, its reference and the results of all backends.
fn check_problem_memory(problem: &dyn Problem) -> Result<(), CommandFailure> {
    let forms = [problem.inputs(), problem.outputs()].concat();
    let elements = forms.iter().map(|form| {
        let sides = form.shape.iter().map(|side| *side as u64);
        sides.fold(1, u64::saturating_mul)
    });
    let bytes = elements
        .fold(0, u64::saturating_add)
        .saturating_mul(ELEMENT);
    Ok(check_memory(problem.title(), bytes)?)
}

/// A prepared problem, or the fault that is the result of every case instead.
type PreparedOrFault = Result<Box<dyn Prepared>, String>;

/// Computes a problem on all backends, from an input of each case, and adds what is found.
fn check_problem(
    kind: &'static ProblemKind,
    size: &Size,
    (problem, backends): (&dyn Problem, &[OpenBackend]),
    found: &mut Crosscheck,
) -> Result<(), CommandFailure> {
    let mut prepared: Vec<(BackendName, PreparedOrFault)> = Vec::new();
    for open in backends {
        let ready = interrupt::crosscheck_interruptible(|| open.backend.prepare(problem))?;
        match ready {
            Ok(ready) => prepared.push((open.name, Ok(ready))),
            Err(fault) if is_fault(&fault) => prepared.push((open.name, Err(fault.to_string()))),
            Err(refusal) => found.refused.push(RefusedProblem {
                kind: kind.name,
                size: size.clone(),
                backend: open.name,
                reason: refusal.to_string(),
            }),
        }
    }
    let mut cases: Vec<ComparedCase> = Vec::new();
    for case in Case::ALL {
        interrupt::check()?;
        let input = problem.input(case, found.seed);
        let mut outputs = Vec::new();
        for (backend, prepared) in &mut prepared {
            let run = |prepared: &mut Box<dyn Prepared>| {
                let outcome = match backend {
                    // A simulation ends by itself.
                    BackendName::Cp2 => prepared.run(&input),
                    _ => interrupt::crosscheck_interruptible(|| prepared.run(&input))?,
                };
                let output = outcome.map(|outcome| outcome.output);
                Ok::<_, CommandFailure>(output.map_err(|error| error.to_string()))
            };
            let output = match prepared {
                Ok(prepared) => run(prepared)?,
                Err(reason) => Err(reason.clone()),
            };
            interrupt::check()?;
            outputs.push(BackendOutput {
                backend: *backend,
                output,
            });
        }
        let compared =
            interrupt::crosscheck_interruptible(|| compare(problem, case, &input, &outputs))?;
        cases.push(compared.map_err(CommandFailure::input)?);
    }
    found.add(kind, size, problem, cases);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_once_and_misspelt_ones_explained() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            find_kinds(&names).map(|kinds| kinds.iter().map(|kind| kind.name).collect::<Vec<_>>())
        };
        assert_eq!(
            names(&["fft", "stencil", "fft"]).unwrap(),
            ["fft", "stencil"]
        );
        assert_eq!(names(&[]).unwrap().len(), KINDS.len());
        assert_eq!(names(&["all"]).unwrap().len(), KINDS.len());
        for (wrong, near) in [
            ("fftnd", "`fft-nd`"),
            ("Stencils", "`stencil`"),
            ("dots", "`dot`"),
        ] {
            let said = names(&[wrong]).unwrap_err();
            assert!(
                said.message.contains(&format!("did you mean {near}?")),
                "{}",
                said.message
            );
        }
        let said = names(&["fft", "", "dot"]).unwrap_err();
        assert!(said.message.contains("is empty"), "{}", said.message);
        let said = names(&["qqqq"]).unwrap_err();
        assert!(!said.message.contains("did you mean"), "{}", said.message);
        assert_eq!(said.exit, crate::outcome::BAD_INPUT);
    }

    #[test]
    fn sizes_are_rows_or_named_values() {
        let fft = find_kinds(&["fft".to_owned()]).unwrap();
        for text in ["60 7 inverse", "n=60 batch=7 direction=inverse"] {
            let work = list_problems(&fft, &[text.to_owned()]).unwrap();
            assert_eq!(work[0].1.to_string(), "n=60 batch=7 direction=inverse");
        }
        let said = list_problems(&fft, &["60".to_owned()]).unwrap_err().message;
        assert!(said.contains("`batch` should be a value") && said.ends_with("n batch direction"));
        let twice = ["60 7 inverse", "n=60 batch=7 direction=inverse"].map(str::to_owned);
        assert_eq!(list_problems(&fft, &twice).unwrap().len(), 1);
        let all = find_kinds(&[]).unwrap();
        assert!(list_problems(&all, &["60 7 inverse".to_owned()]).is_err());
    }
}
