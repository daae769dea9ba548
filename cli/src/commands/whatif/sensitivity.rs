//! Sensitivity of verdicts: which assumed number changes one, by what factor.

use super::measured::{RowName, rounded};
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

fn pair(trial: &ProposalTrial, changes: &str) -> Option<MachinePair> {
    let base = trial.base.with_changes(changes).ok()?;
    let machine = base.with_changes(&trial.proposal.changes).ok()?;
    Some([Arc::new(base), Arc::new(machine)])
}

/// Returns the change that multiplies a parameter, and the factor that is reached: whole numbers are rounded.
fn multiply(machine: &Machine, key: &str, factor: f64) -> Option<(String, f64)> {
    let parameter = machine.parameters().find(|p| p.row.key == key)?;
    match parameter.value {
        Value::Integer(value) if value > 0 => {
            let base = parameter
                .row
                .quantity
                .units()
                .first()
                .map_or("", |unit| unit.0);
            let new = (value as f64 * factor).round();
            let reached = new / value as f64;
            (new != value as f64).then(|| (format!("{key}={new}{base}"), reached))
        }
        Value::Ratio(_) => Some((format!("{key}=x{factor:.3}"), factor)),
        _ => None,
    }
}

/// Returns the assumed numbers that ease or hinder, in both directions.
fn directions(trial: &ProposalTrial) -> Vec<FlipDirection> {
    let assumed = trial
        .base
        .parameters()
        .filter(|p| p.origin.source == Source::Assumed && More::of(p.row.key) != More::Changes);
    let steps = OCTAVE * MOST.log2() as u32;
    let mut all = Vec::new();
    for parameter in assumed {
        for sign in [1.0, -1.0] {
            let mut pairs: Vec<(f64, MachinePair)> = Vec::new();
            for step in 1..=steps {
                let factor = libm::exp2(sign * f64::from(step) / f64::from(OCTAVE));
                let made = multiply(&trial.base, parameter.row.key, factor);
                let made =
                    made.and_then(|(changes, reached)| Some((reached, pair(trial, &changes)?)));
                // Rounded values repeat, and values that the machine cannot have are left out.
                pairs.extend(
                    made.filter(|(_, [base, _])| pairs.iter().all(|(_, p)| p[0].hash != base.hash)),
                );
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

/// Returns class and speed-up of a row on a pair of machines that are measured.
fn observe(
    results: &MeasuredRows<'_>,
    row: &RowName,
    [base, machine]: &MachinePair,
) -> Option<(VerdictClass, f64)> {
    let judged = judge(&results.find(row, base)?, &results.find(row, machine)?);
    Some((class_of(&judged)?, judged.speedup?))
}

/// Finds the flips of all lines that have a verdict.
///
/// The ends of both directions are measured first; where the class differs there, bisection finds the first value
/// of the grid at which it does, presuming that it changes once.
pub(super) fn find_flips(
    trials: &mut [ProposalTrial],
    results: &mut MeasuredRows<'_>,
) -> Result<(), CommandFailure> {
    for trial in trials {
        let directions = directions(trial);
        let rows: Vec<RowName> = trial.lines.iter().map(|line| line.row.clone()).collect();
        let ends = directions.iter().filter_map(|d| d.pairs.last());
        let cases = rows.iter().flat_map(|row| {
            ends.clone()
                .flat_map(move |(_, pair)| pair.iter().map(move |machine| (row, machine)))
        });
        results.measure(cases)?;
        for at in 0..trial.lines.len() {
            let row = &rows[at];
            let judged = &trial.lines[at].judgement;
            let (Some(class), Some(speedup)) = (class_of(judged), judged.speedup) else {
                continue;
            };
            let mut flip = Flip::default();
            let mut turned = Vec::new();
            for direction in &directions {
                let Some((_, end)) = direction.pairs.last() else {
                    continue;
                };
                let Some((then, gain)) = observe(results, row, end) else {
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
                if then == class {
                    continue;
                }
                let (mut same, mut other) = (0, direction.pairs.len());
                // `other` counts the values up to the nearest one known to differ, `same` those known not to.
                while same + 1 < other {
                    let middle = usize::midpoint(same, other);
                    let pair = &direction.pairs[middle - 1].1;
                    results.measure(pair.iter().map(|machine| (row, machine)))?;
                    match observe(results, row, pair) {
                        Some((then, _)) if then != class => other = middle,
                        _ => same = middle,
                    }
                }
                let factor = direction.pairs[other - 1].0;
                let nearer = |old: f64| libm::log(factor).abs() < libm::log(old).abs();
                if flip.factor.is_none_or(nearer) {
                    (flip.parameter, flip.factor) = (Some(direction.key), Some(rounded(factor)));
                }
            }
            flip.all = turn_all(trial, row, class, &turned, results)?;
            trial.lines[at].flip = Some(flip);
        }
    }
    Ok(())
}

/// Turns all numbers against a verdict at once, and returns true if its class changes.
fn turn_all(
    trial: &ProposalTrial,
    row: &RowName,
    class: VerdictClass,
    turned: &[(&'static str, bool)],
    results: &mut MeasuredRows<'_>,
) -> Result<Option<bool>, CommandFailure> {
    let changes = turned.iter().filter_map(|&(key, up)| {
        let factor = if up { ALL } else { 1.0 / ALL };
        let (change, _) = multiply(&trial.base, key, factor)?;
        // A value that the machine cannot have alone is left as it is.
        trial.base.with_changes(&change).ok().map(|_| change)
    });
    let changes: Vec<String> = changes.collect();
    let Some(pair) = (!changes.is_empty())
        .then(|| pair(trial, &changes.join("+")))
        .flatten()
    else {
        return Ok(None);
    };
    results.measure(pair.iter().map(|machine| (row, machine)))?;
    Ok(observe(results, row, &pair).map(|(then, _)| then != class))
}
