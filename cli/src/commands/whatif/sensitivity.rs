//! Sensitivity of verdicts: which assumed number changes one, by what factor.

use super::measured::{CycleSource, RowName, rounded};
use super::verdict::{VerdictClass, class_of, judge};
use super::{MeasuredRows, ProposalTrial};
use crate::outcome::CommandFailure;
use cp2_machine::{Machine, More, Source, Value};
use serde::Serialize;
use std::sync::Arc;

/// Largest factor that is tried, in both directions.
const MOST: f64 = 4.0;
/// Factors of the grid in an octave.
const OCTAVE: u32 = 4;
/// Factor by which all numbers are turned at once.
const ALL: f64 = 1.25;

/// The nearest change of an assumed number that changes the class of a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Flip {
    /// Key of the parameter; none if no number alone changes the class.
    pub(super) parameter: Option<&'static str>,
    /// Value with the change / value without it.
    pub(super) factor: Option<f64>,
    /// True if all assumed numbers, each turned by 1.25 in the direction that speaks more against the verdict,
    /// change the class together; none if no number speaks against it.
    pub(super) all: Option<bool>,
}

/// A machine with one number changed, and the same with the proposal.
type MachinePair = [Arc<Machine>; 2];

/// A number of the machine with values of a grid above or below it, nearest first.
struct FlipDirection {
    key: &'static str,
    pairs: Vec<(f64, MachinePair)>,
}

/// Returns both machines with changes of numbers. A number of an extension that only the proposal brings is
/// changed where it exists.
fn pair(trial: &ProposalTrial, changes: &[NumberChange]) -> Option<MachinePair> {
    let join = |own: bool| {
        let some = changes.iter().filter(|change| change.own == own);
        some.map(|change| change.text.as_str())
            .collect::<Vec<_>>()
            .join("+")
    };
    let (shared, own) = (join(false), join(true));
    let change = |machine: &Machine, text: &str| match text {
        "" => Some(machine.clone()),
        text => machine.with_changes(text).ok(),
    };
    let base = change(&trial.base, &shared)?;
    let machine = base.with_changes(&trial.proposal.changes).ok()?;
    let machine = change(&machine, &own)?;
    Some([Arc::new(base), Arc::new(machine)])
}

/// A number of a machine with another value.
struct NumberChange {
    /// Text of the change, as it stands behind a machine's name.
    text: String,
    /// Value with the change / value without it: whole numbers are rounded.
    factor: f64,
    /// True if only the machine with the proposal has the number.
    own: bool,
}

/// Returns the change that multiplies a number by about a factor.
fn multiply(trial: &ProposalTrial, key: &str, factor: f64) -> Option<NumberChange> {
    let find = |machine: &Machine| {
        let mut parameters = machine.parameters();
        parameters
            .find(|p| p.row.key == key)
            .map(|p| (p.row, p.value))
    };
    let (shared, own) = (find(&trial.base), find(&trial.machine));
    let (row, value) = shared.or(own)?;
    let (text, factor) = match value {
        Value::Integer(value) if value > 0 => {
            let base = row.quantity.units().first().map_or("", |unit| unit.0);
            let new = (value as f64 * factor).round();
            if new == value as f64 {
                return None;
            }
            (format!("{key}={new}{base}"), new / value as f64)
        }
        Value::Ratio(_) => (format!("{key}=x{factor:.3}"), factor),
        _ => return None,
    };
    Some(NumberChange {
        text,
        factor,
        own: shared.is_none(),
    })
}

/// Returns the assumed numbers that ease or hinder, in both directions: those of the base, and those that the
/// proposal brings.
fn directions(trial: &ProposalTrial) -> Vec<FlipDirection> {
    let base: Vec<_> = trial.base.parameters().collect();
    let brought = trial.machine.parameters();
    let brought: Vec<_> = brought
        .filter(|p| base.iter().all(|known| known.row.key != p.row.key))
        .collect();
    let assumed = base
        .iter()
        .chain(&brought)
        .filter(|p| p.origin.source == Source::Assumed && More::of(p.row.key) != More::Changes);
    let steps = OCTAVE * libm::log2(MOST) as u32;
    let mut all = Vec::new();
    for parameter in assumed {
        for sign in [1.0, -1.0] {
            let mut pairs: Vec<(f64, MachinePair)> = Vec::new();
            for step in 1..=steps {
                let factor = libm::exp2(sign * f64::from(step) / f64::from(OCTAVE));
                let made = multiply(trial, parameter.row.key, factor);
                let made = made.and_then(|change| {
                    let reached = change.factor;
                    Some((reached, pair(trial, &[change])?))
                });
                // Rounded values repeat, and values that the machine cannot have are left out.
                let hashes = |[a, b]: &MachinePair| (a.hash.clone(), b.hash.clone());
                let is_new = |(_, made): &(f64, MachinePair)| {
                    pairs.iter().all(|(_, old)| hashes(old) != hashes(made))
                };
                let made = made.filter(is_new);
                pairs.extend(made);
            }
            if !pairs.is_empty() {
                all.push(FlipDirection {
                    key: parameter.row.key,
                    pairs,
                });
            }
        }
    }
    all
}

/// A row without and with a proposal.
type RowPair = [RowName; 2];

/// Returns a row with each machine of a pair.
fn cases<'a>(
    rows: &'a RowPair,
    machines: &'a MachinePair,
) -> impl Iterator<Item = (&'a RowName, &'a Arc<Machine>)> {
    rows.iter().zip(machines)
}

/// Returns class and speed-up of a row on a pair of machines, if both are known.
fn observe(
    results: &MeasuredRows<'_>,
    source: CycleSource,
    [row, changed]: &RowPair,
    [base, machine]: &MachinePair,
) -> Option<(VerdictClass, f64)> {
    let before = results.find(source, row, base)?;
    let judged = judge(&before, &results.find(source, changed, machine)?);
    Some((class_of(&judged)?, judged.speedup?))
}

/// A value of a number's grid at which a verdict has another class by price.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    direction: &'a FlipDirection,
    /// Place of the value in the grid.
    at: usize,
}

impl Candidate<'_> {
    /// Returns the factor by which the number is multiplied.
    fn factor(&self) -> f64 {
        self.direction.pairs[self.at].0
    }

    /// Returns how far the factor is from 1.
    fn distance(&self) -> f64 {
        libm::log(self.factor()).abs()
    }
}

/// Finds the flips of all lines that have a verdict.
///
/// Searches go by price: the ends of both directions of every number first; where the class differs there, bisection
/// finds the first value of the grid at which it does, presuming that it changes once. The nearest flip is then run.
pub(super) fn find_flips<'a>(
    trials: impl Iterator<Item = &'a mut ProposalTrial>,
    results: &mut MeasuredRows<'_>,
) -> Result<(), CommandFailure> {
    for trial in trials {
        let directions = directions(trial);
        let rows = trial.lines.iter().map(|line| {
            let changed = line.changed.as_ref().unwrap_or(&line.row);
            [line.row.clone(), changed.clone()]
        });
        let rows: Vec<RowPair> = rows.collect();
        let ends = directions.iter().filter_map(|d| d.pairs.last());
        let has_verdict = |at: usize| class_of(&trial.lines[at].judgement).is_some();
        let judged = rows.iter().enumerate().filter(|(at, _)| has_verdict(*at));
        let all =
            judged.flat_map(|(_, row)| ends.clone().flat_map(move |(_, pair)| cases(row, pair)));
        results.measure(CycleSource::Price, all)?;
        for (at, row) in rows.iter().enumerate() {
            let judged = &trial.lines[at].judgement;
            let (Some(class), Some(speedup)) = (class_of(judged), judged.speedup) else {
                continue;
            };
            let mut candidates = Vec::new();
            let mut turned = Vec::new();
            for direction in &directions {
                let Some((_, end)) = direction.pairs.last() else {
                    continue;
                };
                let Some((then, gain)) = observe(results, CycleSource::Price, row, end) else {
                    continue;
                };
                let against = match class {
                    VerdictClass::Gains | VerdictClass::Software => gain < speedup,
                    VerdictClass::NoGain | VerdictClass::NotUsed => gain > speedup,
                };
                let up = direction
                    .pairs
                    .first()
                    .is_some_and(|(factor, _)| *factor > 1.0);
                if against && turned.iter().all(|&(key, _)| key != direction.key) {
                    turned.push((direction.key, up));
                }
                if then != class {
                    let at = bisect(direction, row, class, results)?;
                    candidates.push(Candidate { direction, at });
                }
            }
            let mut flip = run_nearest(candidates, row, class, results)?;
            flip.all = turn_all(trial, row, class, &turned, results)?;
            trial.lines[at].flip = Some(flip);
        }
    }
    Ok(())
}

/// Returns the place of the first value of a grid at which a verdict has another class by price, given that it has at
/// the last one.
fn bisect(
    direction: &FlipDirection,
    row: &RowPair,
    class: VerdictClass,
    results: &mut MeasuredRows<'_>,
) -> Result<usize, CommandFailure> {
    let (mut same, mut other) = (0, direction.pairs.len());
    // `other` counts the values up to the nearest one known to differ, `same` those known not to.
    while same + 1 < other {
        let middle = usize::midpoint(same, other);
        let pair = &direction.pairs[middle - 1].1;
        results.measure(CycleSource::Price, cases(row, pair))?;
        match observe(results, CycleSource::Price, row, pair) {
            Some((then, _)) if then != class => other = middle,
            _ => same = middle,
        }
    }
    Ok(other - 1)
}

/// Runs the nearest candidate; where runs keep the class that prices change, the next value of its grid takes its
/// place.
fn run_nearest(
    mut candidates: Vec<Candidate<'_>>,
    row: &RowPair,
    class: VerdictClass,
    results: &mut MeasuredRows<'_>,
) -> Result<Flip, CommandFailure> {
    loop {
        // Among equal distances the first number of the listing is taken.
        let distances = candidates.iter().map(Candidate::distance).enumerate();
        let nearest = distances.min_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((at, _)) = nearest else {
            return Ok(Flip::default());
        };
        let candidate = candidates[at];
        let pair = &candidate.direction.pairs[candidate.at].1;
        results.measure(CycleSource::Run, cases(row, pair))?;
        match observe(results, CycleSource::Run, row, pair) {
            Some((then, _)) if then != class => {
                return Ok(Flip {
                    parameter: Some(candidate.direction.key),
                    factor: Some(rounded(candidate.factor())),
                    all: None,
                });
            }
            _ if candidate.at + 1 < candidate.direction.pairs.len() => candidates[at].at += 1,
            _ => {
                candidates.remove(at);
            }
        }
    }
}

/// Turns all numbers against a verdict at once, and returns true if its class changes by price.
fn turn_all(
    trial: &ProposalTrial,
    row: &RowPair,
    class: VerdictClass,
    turned: &[(&'static str, bool)],
    results: &mut MeasuredRows<'_>,
) -> Result<Option<bool>, CommandFailure> {
    let changes = turned.iter().filter_map(|&(key, up)| {
        let factor = if up { ALL } else { 1.0 / ALL };
        let change = multiply(trial, key, factor)?;
        // A value that the machine cannot have alone is left as it is.
        pair(trial, std::slice::from_ref(&change)).map(|_| change)
    });
    let changes: Vec<NumberChange> = changes.collect();
    let Some(pair) = (!changes.is_empty())
        .then(|| pair(trial, &changes))
        .flatten()
    else {
        return Ok(None);
    };
    results.measure(CycleSource::Price, cases(row, &pair))?;
    let observed = observe(results, CycleSource::Price, row, &pair);
    Ok(observed.map(|(then, _)| then != class))
}

#[cfg(test)]
mod tests {
    use super::super::proposals::select_proposals;
    use super::*;

    /// Both machines have a number of the base; a number of an extension is the changed machine's alone.
    #[test]
    fn numbers_that_a_proposal_brings_are_turned_too() {
        let proposal = select_proposals("section-addressing")
            .unwrap_or_default()
            .remove(0);
        let base = Machine::builtin("vm7").unwrap_or_else(|| panic!("no vm7"));
        let machine = base.with_changes(&proposal.changes);
        let machine = machine.unwrap_or_else(|e| panic!("{e}"));
        let trial = ProposalTrial {
            proposal,
            base: Arc::new(base),
            machine: Arc::new(machine),
            costs: Vec::new(),
            uncounted: Vec::new(),
            lines: Vec::new(),
        };
        let directions = directions(&trial);
        let find = |key: &str| directions.iter().find(|d| d.key == key);
        let [base, machine] = &find("cp2.latency.gather")
            .map(|d| &d.pairs[0].1)
            .unwrap_or_else(|| panic!("gather"));
        assert_eq!(base.hash, trial.base.hash);
        assert_ne!(machine.hash, trial.machine.hash);
        assert!(find("cp2.latency.load").is_some_and(|d| d.pairs[0].1[0].hash != trial.base.hash));
        assert!(find("cp2.sections").is_none(), "a fact is not turned");
    }
}
