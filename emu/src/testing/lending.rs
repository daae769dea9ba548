//! Runs several cases side by side, whose processors are lent translations in turn.

use super::case::LockstepCase;
use super::lockstep::{Lockstep, Mismatch, Summary};
use crate::{Engine, Processor, Translations};

/// Runs cases in turns. Each has one processor with its own translations and one with an engine that is lent
/// those of one of `threads` host threads for every turn: both must be equal as a whole at every comparison.
///
/// # Errors
/// Where and how the processors of a case differ.
pub fn lockstep_lent(
    cases: &[LockstepCase],
    engine: Engine,
    threads: usize,
) -> Result<Vec<Summary>, Mismatch> {
    let processor = |case: &LockstepCase| Processor::new(case.machine.clone()).with_engine(engine);
    let runs = cases
        .iter()
        .map(|case| Lockstep::new(case, processor(case), processor(case)));
    let mut runs: Vec<(Lockstep<'_>, bool)> = runs
        .map(|run| run.map(|run| (run, true)))
        .collect::<Result<_, _>>()?;
    let mut lent: Vec<Translations> = Vec::new();
    lent.resize_with(threads.max(1), Translations::default);
    let mut turns = 0;
    while runs.iter().any(|(_, goes_on)| *goes_on) {
        for (run, goes_on) in runs.iter_mut().filter(|(_, goes_on)| *goes_on) {
            let thread = turns / 3 % lent.len();
            *goes_on = run.turn(lent.get_mut(thread))?;
            turns += 1;
        }
    }
    runs.into_iter().map(|(run, _)| run.finish()).collect()
}
