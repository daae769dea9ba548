//! Loops whose passes overlap: operations that are delayed to the next pass.
//!
//! ```text
//! first    the first pass, without the delayed operations
//! steps    the delayed operations of the pass before, then a pass without them; repeated
//! last     the delayed operations of the last pass
//! ```
//!
//! The operands of delayed operations stay where they are, or are kept in pair registers beyond the
//! guest's. Only arithmetic is delayed, and only if all operations of its pass that need its
//! results are delayed too. Stores are not: memory is accessed as before, and all checks still
//! stand before a pass begins.

use super::segment_steps::{
    Arith, DmemAccess, PAIRS, PairValue, PairValues, REGISTERS, SegmentSteps, SegmentWord,
};
use super::vector_sharing::{Partner, Partners};
use std::collections::HashMap;

/// Steps of a loop, rearranged so that passes overlap.
pub(super) struct Retimed {
    pub first: SegmentSteps,
    pub steps: SegmentSteps,
    /// Partners of the operations in `steps`.
    pub partners: Vec<Option<usize>>,
    pub last: SegmentSteps,
}

/// Rearranges a loop's body; returns `None` if no operation is to be delayed.
pub(super) fn retime(steps: &SegmentSteps, partners: &Partners) -> Option<Retimed> {
    let waits = waiting(steps, partners);
    let late: Vec<usize> = (0..waits.len()).filter(|i| waits[*i]).collect();
    if late.is_empty() {
        return None;
    }
    let is_late = late_values(steps, &waits);
    // A register's value at the beginning of a pass, once the delayed operations of the pass before
    // are done.
    let found = |value: PairValue| match steps.last.get(value as usize) {
        Some(&last) if is_late[last as usize] => last,
        _ => value,
    };
    let mut last: PairValues = steps.last.map(found);
    for (r, value) in last.iter_mut().enumerate() {
        // Registers that delayed operations write are written after the last pass.
        if is_late[steps.last[r] as usize] {
            *value = r as PairValue;
        }
    }
    let pending = |r: usize| is_late[steps.last[r] as usize];
    // Registers that hold the operands of delayed operations when the next pass begins.
    let mut kept: HashMap<PairValue, PairValue> = HashMap::new();
    let mut first_last = steps.last;
    for r in (0..PAIRS).filter(|r| pending(*r)) {
        first_last[r] = r as PairValue;
    }
    let mut next = PAIRS;
    for &i in &late {
        for value in operands(&steps.steps[i]) {
            if is_late[value as usize] || kept.contains_key(&value) {
                continue;
            }
            let held = (0..PAIRS).find(|r| steps.last[*r] == value && !pending(*r));
            let register = match held {
                Some(r) => r,
                None => {
                    (next < REGISTERS).then_some(())?;
                    last[next] = found(value);
                    first_last[next] = value;
                    next += 1;
                    next - 1
                }
            };
            kept.insert(value, register as PairValue);
        }
    }
    let moved = |value: PairValue| kept.get(&value).copied().unwrap_or(value);
    let delayed: Vec<SegmentWord> = late
        .iter()
        .filter_map(|i| renamed(&steps.steps[*i], moved))
        .collect();
    let rest = |map: &dyn Fn(PairValue) -> PairValue| -> Vec<SegmentWord> {
        let all = steps.steps.iter().zip(&waits);
        all.map(|(step, waits)| rename_operands(step, *waits, map))
            .collect()
    };
    let body = SegmentSteps {
        steps: [delayed.clone(), rest(&found)].concat(),
        last,
        ..steps.clone()
    };
    let mut of = vec![None; body.steps.len()];
    for (i, partner) in partners.of.iter().enumerate() {
        let (at, j) = match (*partner, late.binary_search(&i)) {
            (Partner::Same(j), _) => (late.len() + i, j),
            (Partner::Next(j), Ok(k)) => (k, j),
            _ => continue,
        };
        of[at] = Some(late.len() + j);
        of[late.len() + j] = Some(at);
    }
    let first = SegmentSteps {
        steps: rest(&|value| value),
        last: first_last,
        next: HashMap::new(),
        ..steps.clone()
    };
    let mut after = std::array::from_fn(|r| r as PairValue);
    for (r, value) in steps.last.iter().enumerate().filter(|(r, _)| pending(*r)) {
        after[r] = *value;
    }
    let last = SegmentSteps {
        steps: delayed,
        last: after,
        top: Vec::new(),
        enter: Vec::new(),
        scalars: Vec::new(),
        next: HashMap::new(),
        ..steps.clone()
    };
    Some(Retimed {
        first,
        steps: body,
        partners: of,
        last,
    })
}

/// Finds the operations to delay: those with a partner in the next pass whose results are needed by
/// delayed operations only.
fn waiting(steps: &SegmentSteps, partners: &Partners) -> Vec<bool> {
    let mut waits: Vec<bool> = partners
        .of
        .iter()
        .map(|partner| matches!(partner, Partner::Next(_)))
        .collect();
    loop {
        let late = late_values(steps, &waits);
        let needs = |values: &mut dyn Iterator<Item = PairValue>| -> Vec<PairValue> {
            values.filter(|value| late[*value as usize]).collect()
        };
        let mut needed = Vec::new();
        for (step, waits) in steps.steps.iter().zip(&waits) {
            if !waits {
                needed.extend(needs(&mut operands(step)));
            }
            needed.extend(needs(
                &mut step.access.iter().filter_map(DmemAccess::stores).flatten(),
            ));
        }
        if needed.is_empty() {
            return waits;
        }
        for (step, waits) in steps.steps.iter().zip(&mut waits) {
            let outs = step
                .arith
                .iter()
                .flat_map(|arith| arith.outs.iter().flatten());
            if outs.into_iter().any(|out| needed.contains(out)) {
                *waits = false;
            }
        }
    }
}

/// Marks the results of the delayed operations.
fn late_values(steps: &SegmentSteps, waits: &[bool]) -> Vec<bool> {
    let mut late = vec![false; steps.values];
    for (step, _) in steps.steps.iter().zip(waits).filter(|(_, waits)| **waits) {
        for out in step
            .arith
            .iter()
            .flat_map(|arith| arith.outs.iter().flatten())
        {
            late[*out as usize] = true;
        }
    }
    late
}

fn operands(step: &SegmentWord) -> impl Iterator<Item = PairValue> {
    let ins = step.arith.iter().flat_map(|arith| arith.ins.iter());
    ins.flatten().copied()
}

fn with_operands(arith: &Arith, map: impl Fn(PairValue) -> PairValue) -> Arith {
    Arith {
        ins: arith.ins.iter().map(|values| values.map(&map)).collect(),
        ..arith.clone()
    }
}

/// Returns a step with the arithmetic alone, its operands renamed.
fn renamed(step: &SegmentWord, map: impl Fn(PairValue) -> PairValue) -> Option<SegmentWord> {
    Some(SegmentWord {
        arith: Some(with_operands(step.arith.as_ref()?, map)),
        ..SegmentWord::default()
    })
}

/// Returns a step with renamed operands, without its arithmetic if that is delayed.
fn rename_operands(
    step: &SegmentWord,
    waits: bool,
    map: &dyn Fn(PairValue) -> PairValue,
) -> SegmentWord {
    let arith = step.arith.as_ref().filter(|_| !waits);
    SegmentWord {
        arith: arith.map(|arith| with_operands(arith, map)),
        access: step.access.map(|access| access.storing(map)),
        late: step.late.clone(),
    }
}
