//! Estimated cost of a segment on hosts that have its form.

use super::build::BuiltSegment;
use super::ir::{Id, IrInstruction};
use std::collections::HashSet;

/// Resources that the instructions of a segment use.
#[derive(Default)]
struct ResourceUse {
    /// Vector operations.
    vectors: u32,
    /// Vector operations that move lanes across a vector; a single port executes them.
    moves: u32,
    loads: u32,
    stores: u32,
    /// Host instructions beyond one for each instruction of the list.
    more: u32,
}

/// Estimates the time of `passes` passes of a segment in sixths of a cycle.
pub(super) fn total(segment: &BuiltSegment, passes: u64) -> u64 {
    let pass = u64::from(cost(segment));
    match &segment.ends {
        None => passes.saturating_mul(pass),
        Some(ends) => {
            let once = u64::from(cost(&ends.first) + cost(&ends.last));
            (passes.saturating_sub(1))
                .saturating_mul(pass)
                .saturating_add(once)
        }
    }
}

/// Estimates the time of a pass of the segment in sixths of a cycle, to compare forms: the time of
/// the busiest of its resources.
///
/// Six instructions go in a cycle. Two ports compute on 512 bits, three on 256; one of them moves
/// lanes. Two loads of 512 bits or three of 256 go in a cycle, one store or two (Intel's
/// optimization manual, Golden Cove; its predecessors differ in the third load and the second
/// store).
fn cost(segment: &BuiltSegment) -> u32 {
    let mut all = ResourceUse::default();
    let arena = &segment.vectors.arena;
    let stored: HashSet<Id> = segment
        .body
        .iter()
        .filter_map(|id| match arena.get(*id) {
            IrInstruction::SetHome(_, v) => Some(v),
            _ => None,
        })
        .collect();
    for id in &segment.body {
        let inst = arena.get(*id);
        // A lane of a vector that is in the register file, or will be stored there, is spread by a
        // load.
        let kept = |id| stored.contains(&id) || matches!(arena.get(id), IrInstruction::Home(_));
        if inst.spread().is_some_and(|(v, _)| kept(v)) {
            all.loads += 1;
            continue;
        }
        match inst {
            IrInstruction::Shuffle(..)
            | IrInstruction::Align(..)
            | IrInstruction::Pick(..)
            | IrInstruction::Splat(_) => {
                all.vectors += 1;
                all.moves += 1;
            }
            IrInstruction::Home(_)
            | IrInstruction::LoadQuad(_)
            | IrInstruction::LoadPair(_)
            | IrInstruction::LoadLane(_) => {
                all.loads += 1;
            }
            IrInstruction::StoreQuad(..)
            | IrInstruction::StorePair(..)
            | IrInstruction::SetHome(..) => all.stores += 1,
            IrInstruction::Min(..)
            | IrInstruction::Max(..)
            | IrInstruction::Compare(..)
            | IrInstruction::Convert(..) => {
                all.vectors += 3;
                all.more += 2;
            }
            IrInstruction::Select(..) => {
                all.vectors += 2;
                all.more += 1;
            }
            IrInstruction::Canonical(_) => {
                all.vectors += 1;
                all.more += 1;
            }
            IrInstruction::Binary(..)
            | IrInstruction::With(..)
            | IrInstruction::AddSub(..)
            | IrInstruction::SubAdd(..)
            | IrInstruction::Shift(..) => all.vectors += 1,
            // Scalar instructions use ports that vectors do not use.
            _ => {}
        }
    }
    let instructions = (segment.top.len() + segment.body.len()) as u32 + all.more;
    let (vectors, loads, stores, instructions) = if segment.vectors.form.narrow() {
        // Vectors are twice as many, and a good part of them is spilled.
        (2, 2, 3, instructions + instructions / 4)
    } else {
        (3, 3, 6, instructions)
    };
    [
        vectors * all.vectors,
        6 * all.moves,
        loads * all.loads,
        stores * all.stores,
        instructions,
    ]
    .into_iter()
    .fold(0, u32::max)
}
