//! Reports of crosschecks: rows of pairs, summaries, failures.

use super::class::{ArithmeticClass, EqualBits};
use super::compare::{ComparedCase, ComparedPair};
use crate::backends::{BackendName, OpenBackend};
use crate::digits::decimal;
use crate::outcome::{CommandOutcome, UNVERIFIED};
use crate::picture::distribution::ErrorDistribution;
use crate::provenance::ReportProvenance;
use crate::table::{Align, TextTable};
use cp2_machine::Machine;
use cp2_problems::{Case, Problem, ProblemKind, Size};
use serde_json::{Map, Value, json};

/// Most failures that are told one by one.
const TOLD: usize = 20;

/// A problem that a backend does not compute.
#[derive(Debug)]
pub(super) struct RefusedProblem {
    pub(super) kind: &'static str,
    pub(super) size: Size,
    pub(super) backend: BackendName,
    pub(super) reason: String,
}

/// A pair of results from one input of a problem.
#[derive(Debug)]
struct CrosscheckRow {
    kind: &'static str,
    size: Size,
    case: Case,
    pair: ComparedPair,
    class: ArithmeticClass,
}

/// All that a crosscheck has found.
#[derive(Debug)]
pub(super) struct Crosscheck {
    /// Seed of the inputs.
    pub(super) seed: u64,
    /// Backends that should compute.
    backends: Vec<BackendName>,
    /// Problems that backends do not compute.
    pub(super) refused: Vec<RefusedProblem>,
    /// Errors of each backend.
    pub(super) distributions: Vec<ErrorDistribution>,
    rows: Vec<CrosscheckRow>,
    /// Kinds with the derivation of their tolerance.
    bounds: Vec<(&'static str, &'static str)>,
}

impl Crosscheck {
    /// Returns a crosscheck of backends that has found nothing yet.
    pub(super) fn new(seed: u64, backends: impl Iterator<Item = BackendName>) -> Self {
        let backends: Vec<_> = backends.collect();
        Self {
            seed,
            refused: Vec::new(),
            distributions: backends
                .iter()
                .map(|backend| ErrorDistribution::new(backend.name()))
                .collect(),
            backends,
            rows: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// Adds the comparisons of a problem's cases.
    pub(super) fn add(
        &mut self,
        kind: &ProblemKind,
        size: &Size,
        problem: &dyn Problem,
        cases: Vec<ComparedCase>,
    ) {
        if self.bounds.iter().all(|(name, _)| *name != kind.name) {
            self.bounds.push((kind.name, problem.tolerance_in_words()));
        }
        let all = |a, b| {
            let pairs = cases.iter().flat_map(|case| &case.pairs);
            let pairs = pairs.filter(|pair| (pair.a, pair.b) == (a, b) && pair.pass.is_some());
            pairs.fold(EqualBits::BOTH, |all, pair| all.and(pair.equal))
        };
        let mut rows = Vec::new();
        for ComparedCase { case, pairs } in &cases {
            for pair in pairs {
                let mut pair = pair.clone();
                let ratios = std::mem::take(&mut pair.ratios);
                if pair.b.is_none() && pair.pass.is_some() {
                    let mut all = self.distributions.iter_mut();
                    if let Some(own) = all.find(|one| one.name() == pair.a.name()) {
                        own.add(&ratios);
                    }
                }
                rows.push(CrosscheckRow {
                    kind: kind.name,
                    size: size.clone(),
                    case: *case,
                    class: pair.equal.and(all(pair.a, pair.b)).class(),
                    pair,
                });
            }
        }
        self.rows.extend(rows);
    }

    /// True if every result that is judged is right, and there is one of each backend.
    fn has_passed(&self) -> bool {
        let mut judged = self.rows.iter().filter_map(|row| row.pair.pass);
        self.rows.iter().any(|row| row.pair.pass.is_some())
            && self.idle().next().is_none()
            && judged.all(|pass| pass)
    }

    /// True for a backend that refuses all that is asked for by its list of kinds without a kernel: nobody expects a
    /// result of it.
    fn has_no_kernels(&self, backend: BackendName) -> bool {
        let is_listed = |kind: &str| {
            let mut listed = cp2_kernels::REFUSED_KINDS.iter();
            listed.any(|(name, _)| *name == kind)
        };
        let mut own = self
            .refused
            .iter()
            .filter(|r| r.backend == backend)
            .peekable();
        backend == BackendName::Cp2 && own.peek().is_some() && own.all(|r| is_listed(r.kind))
    }

    /// Returns the backends of which no result is judged, though there could be one.
    fn idle(&self) -> impl Iterator<Item = BackendName> {
        let has_rows = |backend: &BackendName| {
            let mut judged = self.rows.iter().filter(|row| row.pair.pass.is_some());
            judged.any(|row| row.pair.a == *backend)
        };
        let backends = self.backends.iter().copied();
        backends.filter(move |backend| !has_rows(backend) && !self.has_no_kernels(*backend))
    }

    /// Returns the pairs of backends, in the order of their first rows.
    fn pairs(&self) -> Vec<(BackendName, Option<BackendName>)> {
        let mut pairs = Vec::new();
        for row in &self.rows {
            let pair = (row.pair.a, row.pair.b);
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs.sort_by_key(|(a, b)| (b.is_some(), *a, *b));
        pairs
    }
}

impl CrosscheckRow {
    fn b(&self) -> &'static str {
        name_other(self.pair.b)
    }

    /// Returns the values of the size, as `--size` takes them.
    fn size_row(&self) -> String {
        let values: Vec<String> = self
            .size
            .iter()
            .map(|(_, value)| value.to_string())
            .collect();
        values.join(" ")
    }

    fn result(&self) -> String {
        let result = match (&self.pair.failure, self.pair.pass) {
            (_, Some(true)) => "pass",
            (Some(_), Some(false)) => "FAIL: no result",
            (None, Some(false)) => "FAIL",
            (Some(_), None) => "no result, not judged",
            (None, None) => "not judged",
        };
        match self.pair.open {
            Some(reason) => format!("{result}: {reason}"),
            None => result.to_owned(),
        }
    }

    fn cells(&self) -> [String; 9] {
        let pair = &self.pair;
        [
            self.kind.to_owned(),
            self.size_row(),
            self.case.to_string(),
            format!("{} - {}", pair.a, self.b()),
            format!("{:.2e}", pair.largest),
            format!("{:.2e}", pair.bound),
            decimal(pair.ratio, 3, 1.0),
            format!("{:.1e}", pair.rms),
            format!("{:<13}  {}", self.class.name(), self.result()),
        ]
    }

    fn json(&self, seed: u64) -> Value {
        let pair = &self.pair;
        json!({
            "kind": self.kind,
            "size": self.size.to_string(),
            "case": self.case.name(),
            "seed": seed,
            "a": pair.a.name(),
            "b": self.b(),
            "largest": pair.largest,
            "rms": pair.rms,
            "bound": pair.bound,
            "class": self.class,
            "pass": pair.pass,
            "not_judged": pair.open,
            "failure": pair.failure,
        })
    }

    /// Says what is wrong.
    fn explain_failure(&self) -> String {
        let pair = &self.pair;
        let place = format!("{} {}, {}", self.kind, self.size, self.case);
        match &pair.failure {
            Some(reason) => format!("error: {place}: {} has no result: {reason}\n", pair.a),
            None => format!(
                "error: {place}: {} and {} differ by {} of what is allowed; this is a fault of {}\n",
                pair.a,
                match pair.b {
                    None => "the reference",
                    Some(b) => b.name(),
                },
                decimal(pair.ratio, 3, 1.0),
                match pair.b {
                    None => pair.a.to_string(),
                    Some(b) => format!("{} or {b}", pair.a),
                },
            ),
        }
    }
}

fn name_other(b: Option<BackendName>) -> &'static str {
    b.map_or("reference", BackendName::name)
}

/// Reports what was found.
pub(super) fn outcome(
    machine: &Machine,
    backends: &[OpenBackend],
    found: &Crosscheck,
) -> CommandOutcome {
    let figures = json!({
        "seed": found.seed,
        "backends": backends.iter().map(OpenBackend::json).collect::<Vec<_>>(),
        "bounds": bounds(found),
        "rows": found.rows.iter().map(|row| row.json(found.seed)).collect::<Vec<_>>(),
        "refused": found.refused.iter().map(refusal).collect::<Vec<_>>(),
        "passed": found.has_passed(),
    });
    let provenance = ReportProvenance::new("cp2-crosscheck/1", machine, Some(found.seed));
    CommandOutcome {
        text: text(backends, found),
        json: provenance.add_figures(figures),
        notes: notes(found),
        exit: if found.has_passed() { 0 } else { UNVERIFIED },
    }
}

fn bounds(found: &Crosscheck) -> Value {
    let bounds = found.bounds.iter();
    let bounds: Map<String, Value> = bounds
        .map(|(kind, words)| ((*kind).to_owned(), json!(words)))
        .collect();
    Value::Object(bounds)
}

fn refusal(refused: &RefusedProblem) -> Value {
    json!({
        "kind": refused.kind,
        "size": refused.size.to_string(),
        "backend": refused.backend.name(),
        "reason": refused.reason,
    })
}

fn notes(found: &Crosscheck) -> String {
    let failed = found.rows.iter().filter(|row| row.pair.pass == Some(false));
    let failed: Vec<_> = failed.collect();
    let mut notes: String = failed
        .iter()
        .take(TOLD)
        .map(|row| row.explain_failure())
        .collect();
    if failed.len() > TOLD {
        notes += &format!("error: {} more rows fail\n", failed.len() - TOLD);
    }
    if found.rows.iter().all(|row| row.pair.pass.is_none()) {
        notes += "error: no backend computes any of these problems, so that nothing is judged\n";
    } else {
        for backend in found.idle() {
            notes += &format!(
                "error: {backend} computes none of these problems; take sizes that it computes, or leave it out of --backend\n"
            );
        }
    }
    notes
}

fn text(backends: &[OpenBackend], found: &Crosscheck) -> String {
    use Align::{Left, Right};
    let mut text = String::new();
    for backend in backends {
        text += &format!(
            "{}: {}, times {}\n",
            backend.name, backend.description, backend.clock
        );
    }
    let mut table = TextTable::new(&[Left, Left, Left, Left, Right, Right, Right, Right, Left]);
    table.row([
        "kind",
        "size",
        "case",
        "pair",
        "largest",
        "bound",
        "ratio",
        "rms",
        "class          result",
    ]);
    for row in &found.rows {
        table.row(row.cells());
    }
    text += &table.to_string();
    text += "largest: the difference that is nearest to its bound; of two backends the bound is twice that of each\n";
    for (kind, words) in &found.bounds {
        text += &format!("bound of {kind}: {words}\n");
    }
    for refused in &found.refused {
        text += &format!(
            "refused by {}: {} {}: {}\n",
            refused.backend, refused.kind, refused.size, refused.reason
        );
    }
    for (a, b) in found.pairs() {
        text += &summary(found, a, b);
    }
    text
}

/// Sums up the rows of a pair.
fn summary(found: &Crosscheck, a: BackendName, b: Option<BackendName>) -> String {
    let rows = found
        .rows
        .iter()
        .filter(|row| (row.pair.a, row.pair.b) == (a, b));
    let (judged, others): (Vec<_>, Vec<_>) = rows.partition(|row| row.pair.pass.is_some());
    let passed = judged
        .iter()
        .filter(|row| row.pair.pass == Some(true))
        .count();
    let worst = judged.iter().map(|row| row.pair.ratio);
    let worst = worst.fold(0.0, |worst, ratio| {
        match ratio > worst || f64::is_nan(ratio) {
            true => ratio,
            false => worst,
        }
    });
    let classes = [
        ArithmeticClass::Fused,
        ArithmeticClass::RoundedTwice,
        ArithmeticClass::Bounded,
    ];
    let classes = classes.map(|class| {
        let count = judged.iter().filter(|row| row.class == class).count();
        format!("{count} {class}")
    });
    format!(
        "{a} - {}: {passed} of {} pass, largest difference {} of its bound; {}; {} not judged\n",
        name_other(b),
        judged.len(),
        decimal(worst, 3, 1.0),
        classes.join(", "),
        others.len()
    )
}

#[cfg(test)]
mod tests {
    use super::super::compare::{BackendOutput, compare};
    use super::*;
    use cp2_native::Native;
    use cp2_problems::{Backend as _, KINDS, NamedArrays};

    /// Compares two outputs for the first size of `axpy`, the second one with an element that is `off`.
    fn crosscheck(off: f32) -> Crosscheck {
        let kind = KINDS.iter().find(|kind| kind.name == "axpy").unwrap();
        let size = kind.small_sizes()[0].clone();
        let problem = kind.make_problem(&size).unwrap();
        let input = problem.input(Case::Random, 1);
        let output = Native
            .prepare(&*problem)
            .unwrap()
            .run(&input)
            .unwrap()
            .output;
        let mut z = output.get::<f32>("z").unwrap().to_vec();
        z[5] += off;
        let outputs = [
            BackendOutput {
                backend: BackendName::Cp2,
                output: Ok(output),
            },
            BackendOutput {
                backend: BackendName::Native,
                output: Ok(NamedArrays::from_array("z", &[z.len()], z)),
            },
        ];
        let mut found = Crosscheck::new(1, [BackendName::Cp2, BackendName::Native].into_iter());
        let compared = compare(&*problem, Case::Random, &input, &outputs).unwrap();
        found.add(kind, &size, &*problem, vec![compared]);
        found
    }

    /// A wrong element is said, and the exit code is 1.
    #[test]
    fn a_wrong_element_is_a_failure() {
        let machine = Machine::builtin("vm7").unwrap();
        let right = outcome(&machine, &[], &crosscheck(0.0));
        assert_eq!((right.exit, &right.json["passed"]), (0, &json!(true)));
        assert!(right.notes.is_empty(), "{}", right.notes);
        assert!(
            right.text.contains("cp2 - native: 1 of 1 pass"),
            "{}",
            right.text
        );
        let wrong = outcome(&machine, &[], &crosscheck(1e-3));
        assert_eq!((wrong.exit, &wrong.json["passed"]), (1, &json!(false)));
        for words in [
            "axpy n=1024, random: native and the reference",
            "a fault of cp2 or native",
        ] {
            assert!(wrong.notes.contains(words), "{}", wrong.notes);
        }
        assert!(wrong.text.contains("FAIL"), "{}", wrong.text);
        let pass: Vec<_> = wrong.json["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| &row["pass"])
            .collect();
        assert_eq!(pass, [&json!(true), &json!(false), &json!(false)]);
        assert_eq!(wrong.json["rows"][0]["class"], "rounded-twice");
        assert_eq!(wrong.json["rows"][1]["class"], "bounded");
    }

    /// Nothing that is judged is no success.
    #[test]
    fn nothing_is_no_success() {
        let machine = Machine::builtin("vm7").unwrap();
        let nothing = outcome(&machine, &[], &Crosscheck::new(1, std::iter::empty()));
        assert_eq!(nothing.exit, 1);
        assert!(nothing.notes.contains("nothing is judged"));
    }
}
