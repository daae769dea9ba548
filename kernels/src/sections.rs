//! How many sections of a machine a plan uses.
//!
//! More sections are not always faster: blocks become smaller, rows are filled up, and masks take registers. A plan may
//! leave sections idle (\[A\] M18): it is then made for, and carried out on, the same machine with fewer sections.

use cp2_machine::Machine;
use std::sync::Arc;

/// Sections below which none are left idle.
const FEW: usize = 4;

/// The machine itself, and the same with fewer sections where there are more than [`FEW`]: a power of two each.
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

/// Whether there is anything to choose.
pub(crate) fn has_choice(machine: &Arc<Machine>) -> bool {
    candidates(machine).len() > 1
}

/// The plan that takes the fewest cycles, of those for all sections and for fewer of them. Where nothing is left to
/// choose from, nothing is priced; of plans without a price the first is taken.
///
/// # Errors
/// There is no plan: the error of the one that uses the fewest sections, where their number is not what lacks.
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
        // There is a candidate at least, so this is not reached; the machine itself says why.
        (None, None) => plan(machine),
    }
}

/// What a plan says of the sections that it leaves idle, if it does.
pub(crate) fn describe_idle(machine: &Machine, used: &Machine) -> Option<String> {
    let [all, used] = [machine, used].map(|machine| machine.cp2.sections);
    (used < all).then(|| format!("{used} of {all} sections"))
}
