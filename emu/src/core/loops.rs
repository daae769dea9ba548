//! Hardware loops: the next word at the end of a body, and loop set-up.

use crate::core::fault::FaultKind;
use crate::core::{Core, HardwareLoop};
use crate::timing::IssueOutcome;
use cp2_machine::Machine;

/// Moves the program counter from `pc` to the next word: to the start of a body where a pass ends
/// and passes are left.
#[inline(always)]
pub(crate) fn advance(core: &mut Core, pc: u32) -> IssueOutcome {
    core.pc = pc + 1;
    // A called function does not end the passes of its caller's loops.
    let outer = core.callers_loops();
    while let Some(top) = core.loops[outer..].last_mut() {
        if top.end != pc {
            break;
        }
        if top.left > 1 {
            top.left -= 1;
            core.pc = top.start;
            return IssueOutcome::LoopBack;
        }
        core.loops.pop();
    }
    IssueOutcome::Next
}

/// Sets up a hardware loop over the `length` words after `pc`.
#[inline(always)]
pub(crate) fn set_up_loop(
    core: &mut Core,
    machine: &Machine,
    count: u32,
    length: u32,
) -> Result<IssueOutcome, FaultKind> {
    let pc = core.pc;
    let end = pc + length;
    if count == 0 {
        // The skipped body's last word may also end the body of an outer loop.
        let _ = advance(core, end);
        return Ok(IssueOutcome::Taken);
    }
    let depth = machine.cp2.loop_depth;
    if core.loops.len() >= depth {
        return Err(FaultKind::LoopDepth { depth });
    }
    core.loops.push(HardwareLoop {
        start: pc + 1,
        end,
        left: count,
    });
    core.pc = pc + 1;
    Ok(IssueOutcome::LoopSetup)
}
