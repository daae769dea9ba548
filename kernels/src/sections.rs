//! The choice of how many sections of a machine a plan uses.
//!
//! More sections are not always faster: blocks become smaller, rows are filled up, and masks take registers.
//! A plan may leave sections idle (\[A\] M18): it is then made for, and carried out on, a machine with fewer
//! sections and otherwise the same parameters.

use cp2_machine::Machine;
use std::sync::Arc;

/// Number of sections below which none are left idle.
const FEW: usize = 4;

/// Returns the machine itself, and copies with fewer sections, powers of two from [`FEW`] on.
fn candidates(machine: &Arc<Machine>) -> Vec<Arc<Machine>> {
    let all = machine.cp2.sections;
    let mut candidates = vec![machine.clone()];
    let mut sections = all.next_power_of_two() / 2;
    while sections >= FEW && sections < all {
        candidates.push(machine.with_sections(sections).into());
        sections /= 2;
    }
    candidates
}

/// Returns true if there is more than one number of sections to choose from.
pub(crate) fn has_choice(machine: &Arc<Machine>) -> bool {
    candidates(machine).len() > 1
}

/// Returns the plan that takes the fewest cycles, of one for all sections and ones for fewer.
///
/// Where there is only one number of sections, nothing is priced. If no plan has a price, the first is taken.
///
/// # Errors
/// There is no plan: the error is that of the candidate with the fewest sections, since there the number of
/// sections is not what lacks.
pub(crate) fn choose_sections<T, E>(
    machine: &Arc<Machine>,
    mut plan: impl FnMut(&Arc<Machine>) -> Result<T, E>,
    price: impl Fn(&T) -> Option<u64>,
) -> Result<T, E> {
    let mut best: Option<(Option<u64>, T)> = None;
    let mut refused = None;
    let candidates = candidates(machine);
    let alone = candidates.len() == 1;
    for used in &candidates {
        match plan(used) {
            Ok(plan) if alone => return Ok(plan),
            Ok(plan) => {
                let price = price(&plan);
                let better = match &best {
                    None => true,
                    Some((least, _)) => {
                        price.is_some_and(|price| least.is_none_or(|least| price < least))
                    }
                };
                if better {
                    best = Some((price, plan));
                }
            }
            Err(error) => refused = Some(error),
        }
    }
    match (best, refused) {
        (Some((_, plan)), _) => Ok(plan),
        (None, Some(error)) => Err(error),
        // Not reached, as there is at least one candidate; the error is that of the machine itself.
        (None, None) => plan(machine),
    }
}

/// Describes the sections that a plan leaves idle, if there are any: `4 of 8 sections`.
pub(crate) fn describe_idle(machine: &Machine, used: &Machine) -> Option<String> {
    let [all, used] = [machine, used].map(|machine| machine.cp2.sections);
    (used < all).then(|| format!("{used} of {all} sections"))
}
