//! Finds turns of a kernel that must equal the turn before, so as to skip them.
//!
//! At a `wait` the state of a kernel consists of its word address with the stacks, the pending
//! results, the scalars and the known DMEM. Where it equals the state at an earlier `wait`,
//! everything that follows is equal too. Where some registers differ, they are followed through the
//! next turn. If each then differs from its value at the turn's beginning by a constant, and
//! meanwhile only branches asked for it, these branches tell how many turns must be alike.

use super::partial::PartialLane;
use super::state::{BranchQuestion, KnownState};
use crate::core::{Call, HardwareLoop};
use crate::semantics::action::Condition;
use cp2_asm::isa::SCALARS;
use std::collections::VecDeque;

/// Number of states remembered: turns with more waits are not found.
const REMEMBERED: usize = 96;
/// Maximum number of registers that may move in a turn.
const MOST_MOVING: usize = 12;
/// Number of turns of a kernel that never ends.
pub(super) const ENDLESS: u64 = u64::MAX;

/// Turns that need not be followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SkippedTurns {
    /// Index of the first step of the turn that they equal.
    pub from: usize,
    /// Number of turns.
    pub times: u64,
}

/// State at a `wait`, without the numbers that may move.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WaitState {
    pc: u32,
    pending: u32,
    loops: Vec<HardwareLoop>,
    calls: Vec<Call>,
    lost: u64,
}

#[derive(Clone, Debug)]
struct ObservedState {
    place: WaitState,
    lanes: [PartialLane; SCALARS],
    /// Passes left of the outermost loop.
    left: u32,
}

/// A turn that is being followed.
#[derive(Debug)]
struct TurnTrial {
    begin: ObservedState,
    /// Waits until the turn ends.
    waits: usize,
    /// Index of its first step.
    from: usize,
}

/// States at the waits so far.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    seen: VecDeque<ObservedState>,
    trial: Option<TurnTrial>,
    waits: u64,
    /// Number of waits before which no turn is tried again.
    patience: u64,
}

impl Repeats {
    /// Observes the kernel at a `wait`, after `steps` steps. Moves the state over the turns that
    /// must equal the last one, if there are any.
    pub(super) fn wait(
        &mut self,
        state: &mut KnownState,
        pending: u32,
        steps: usize,
    ) -> Option<SkippedTurns> {
        self.waits += 1;
        let now = ObservedState::capture(state, pending);
        if let Some(trial) = &mut self.trial {
            trial.waits -= 1;
            if trial.waits > 0 {
                return None;
            }
            let trial = self.trial.take()?;
            let times = trial.turns(&now, state);
            state.clear_moving();
            if times == 0 {
                self.patience = self.waits.saturating_mul(2);
                self.seen.clear();
                return None;
            }
            self.seen.clear();
            return Some(SkippedTurns {
                from: trial.from,
                times,
            });
        }
        if self.waits >= self.patience {
            let candidates = self.seen.iter().rev().enumerate();
            let moving = candidates
                .filter_map(|(back, seen)| Some((seen.count_moved_registers(&now)?, back + 1)));
            if let Some((_, waits)) = moving.min() {
                let before = &self.seen[self.seen.len() - waits];
                state.mark_moving(&before.lanes);
                self.trial = Some(TurnTrial {
                    begin: now,
                    waits,
                    from: steps,
                });
                return None;
            }
        }
        if self.seen.len() == REMEMBERED {
            self.seen.pop_front();
        }
        self.seen.push_back(now);
        None
    }
}

impl ObservedState {
    fn capture(state: &mut KnownState, pending: u32) -> Self {
        let left = state.outermost_passes_left().map_or(0, |left| *left);
        let mut loops = state.loops().to_vec();
        if let Some(outer) = loops.first_mut() {
            outer.left = 0;
        }
        Self {
            place: WaitState {
                pc: state.pc(),
                pending,
                loops,
                calls: state.calls().to_vec(),
                lost: state.lost,
            },
            lanes: state.lanes,
            left,
        }
    }

    /// Returns how many registers differ between two states at the same place; `None` if the place
    /// differs, a register is known in one of them only, or more than [`MOST_MOVING`] differ.
    fn count_moved_registers(&self, now: &Self) -> Option<usize> {
        if self.place != now.place {
            return None;
        }
        let mut moved = 0;
        for (then, now) in self.lanes.iter().zip(&now.lanes) {
            match (then, now) {
                (Some(then), Some(now)) => moved += usize::from(then.bits != now.bits),
                (None, None) => {}
                _ => return None,
            }
        }
        (moved <= MOST_MOVING).then_some(moved)
    }
}

impl KnownState {
    /// Marks the registers that differ from `before` as moving, so that they are followed.
    fn mark_moving(&mut self, before: &[PartialLane; SCALARS]) {
        self.asked.clear();
        self.alu.odd = false;
        for (register, (lane, then)) in self.lanes.iter_mut().zip(before).enumerate() {
            if let (Some(now), Some(then)) = (lane, then)
                && now.bits != then.bits
            {
                now.moves = Some(register as u8);
            }
        }
    }

    /// Marks no register as moving.
    fn clear_moving(&mut self) {
        self.asked.clear();
        self.alu.odd = false;
        for number in self.lanes.iter_mut().flatten() {
            number.moves = None;
        }
    }
}

impl TurnTrial {
    /// Returns how many turns must equal the one that ends now, and moves the state over them.
    fn turns(&self, now: &ObservedState, state: &mut KnownState) -> u64 {
        if state.alu.odd || self.begin.place != now.place {
            return 0;
        }
        let Some(by) = self.strides(now) else {
            return 0;
        };
        let passes = self.begin.left.wrapping_sub(now.left);
        let left = now.left.saturating_sub(1).checked_div(passes);
        let mut times = left.map_or(ENDLESS, u64::from);
        for asked in &state.asked {
            times = times.min(count_same_turns(asked, &by));
        }
        // Neither a branch nor a loop limits the turns.
        if times == ENDLESS {
            return ENDLESS;
        }
        let turns = times as u32;
        for (lane, by) in state.lanes.iter_mut().zip(by) {
            if let Some(number) = lane {
                number.bits = number.bits.wrapping_add(by.wrapping_mul(turns));
            }
        }
        if let Some(left) = state.outermost_passes_left() {
            *left = left.wrapping_sub(passes.wrapping_mul(turns));
        }
        times
    }

    /// Returns by how much each register moves in a turn; `None` if the next turn may move it by
    /// another amount.
    fn strides(&self, now: &ObservedState) -> Option<[u32; SCALARS]> {
        let mut by = [0; SCALARS];
        let moved = |register: usize| {
            let (then, now) = (self.begin.lanes[register]?, now.lanes[register]?);
            // For other arguments they might differ by something else.
            (then.word == now.word).then_some(())?;
            Some((now.bits.wrapping_sub(then.bits), now.moves))
        };
        for (register, (then, now)) in self.begin.lanes.iter().zip(&now.lanes).enumerate() {
            if then.is_none() && now.is_none() {
                continue;
            }
            let (own, moves) = moved(register)?;
            by[register] = own;
            let expected = match moves {
                None => 0,
                Some(origin) => {
                    let (theirs, root) = moved(usize::from(origin))?;
                    // The register that it derives from must derive from its own old value.
                    (root == moves).then_some(theirs)?
                }
            };
            if own != expected {
                return None;
            }
        }
        Some(by)
    }
}

/// Returns in how many more turns a branch goes the way it went, where registers move by `by` a
/// turn: the distance of the number from the value that changes the decision, divided by the
/// stride.
fn count_same_turns(asked: &BranchQuestion, by: &[u32; SCALARS]) -> u64 {
    let origin = asked.number.moves.map_or(SCALARS, usize::from);
    let by = i64::from(by.get(origin).copied().unwrap_or_default() as i32);
    let (unsigned, signed) = (
        i64::from(asked.number.bits),
        i64::from(asked.number.bits as i32),
    );
    let room = match asked.condition {
        _ if by == 0 => return ENDLESS,
        Condition::Zero | Condition::NotZero if unsigned == 0 => 0,
        // A falling number goes down to 1, a rising one up to the largest.
        Condition::Zero | Condition::NotZero if by < 0 => unsigned - 1,
        Condition::Zero | Condition::NotZero => i64::from(u32::MAX) - unsigned,
        Condition::Negative | Condition::NotNegative => match (signed < 0, by < 0) {
            (false, true) => signed,
            (false, false) => i64::from(i32::MAX) - signed,
            (true, true) => signed - i64::from(i32::MIN),
            (true, false) => -1 - signed,
        },
    };
    room.unsigned_abs() / by.unsigned_abs()
}
