//! Loops: what goes from one pass to the next, and what follows the last one.

use super::build::{Builder, changed};
use super::ir::{Half, Id, Inst};
use super::steps::{PAIRS, Value};
use super::vectors::Operand;

/// Quads that stay in host registers from pass to pass of a loop; the others
/// of 32 are left for what is computed.
const CARRIED: usize = 24;

/// A quad that a loop carries in a host register, or a value that stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    /// The quad, where the loop changes it.
    pub quad: Option<u8>,
    /// The value at the beginning of a pass.
    pub begin: Id,
    /// The value at its end: the same where the loop does not change it.
    pub end: Id,
}

impl Carried {
    const fn fixed(id: Id) -> Self {
        Self {
            quad: None,
            begin: id,
            end: id,
        }
    }
}

impl Builder {
    /// What a loop carries, and what follows its last pass.
    pub(super) fn end_of_loop(&mut self, last: &[Value; PAIRS]) -> (Vec<Id>, Vec<Carried>) {
        // A register whose first value ends in another one is seen as it is.
        for (r, value) in last.iter().enumerate() {
            if (*value as usize) < PAIRS && *value as usize != r {
                self.note(*value, true);
            }
        }
        let used = self.used;
        let quad_used = |q: usize| used[2 * q] || used[2 * q + 1];
        let (mut carried, mut invariant) = (Vec::new(), Vec::new());
        for q in (0..PAIRS / 2).filter(|q| quad_used(*q)) {
            if changed(last, 2 * q) {
                carried.push(q as u8);
            } else {
                invariant.push(q as u8);
            }
        }
        // What does not fit goes through memory in every pass.
        let overflow = carried.split_off(carried.len().min(CARRIED));
        let kept = carried.clone();
        let mut all: Vec<Carried> = Vec::new();
        for quad in carried {
            let first = 2 * usize::from(quad);
            let begin = self.s.emit(Inst::Home(quad));
            let end = self.carry([last[first], last[first + 1]], first);
            all.push(Carried {
                quad: Some(quad),
                begin,
                end,
            });
        }
        let through = self.homes(last, |q| overflow.contains(&q));
        self.s.body.extend(through);
        let same: Vec<Id> = invariant
            .into_iter()
            .map(|quad| self.s.emit(Inst::Home(quad)))
            .collect();
        self.keep(&mut all, &same);
        let begins: Vec<Id> = all.iter().map(|c| c.begin).collect();
        self.s.body.retain(|id| !begins.contains(id));
        let body = std::mem::take(&mut self.s.body);
        // From here on the list is what follows the loop.
        let mut homes = Vec::new();
        for c in &all {
            let Some(quad) = c.quad else { continue };
            let [lo, hi] = [false, true].map(|hi| Half { v: c.end, hi });
            let operand = self.s.observe(Operand::Two(lo, hi));
            let v = self.s.value(operand);
            homes.push(self.s.arena.add(Inst::SetHome(quad, v)).0);
        }
        let dead = self.homes(last, |q| !kept.contains(&q) && !overflow.contains(&q));
        homes.extend(dead);
        let mut exit = std::mem::replace(&mut self.s.body, body);
        exit.extend(homes);
        (exit, all)
    }

    /// Adds what no pass changes to what the loop carries, while there is room:
    /// lanes of the quads `same` and constants, then those quads themselves.
    fn keep(&mut self, all: &mut Vec<Carried>, same: &[Id]) {
        let fixed = |inst: Inst| match inst {
            Inst::Shuffle(a, b, _) => same.contains(&a) && same.contains(&b),
            Inst::Splat(_) => true,
            _ => false,
        };
        let arena = &self.s.arena;
        let (hoisted, rest): (Vec<Id>, Vec<Id>) =
            self.s.body.iter().partition(|id| fixed(arena.get(**id)));
        let needed = |home: &Id| {
            let uses = |id: &Id| arena.get(*id).uses().contains(&Some(*home));
            rest.iter().any(uses)
        };
        let quads: Vec<Id> = same.iter().copied().filter(needed).collect();
        let room = CARRIED.saturating_sub(all.len());
        if hoisted.len() + quads.len() > room {
            // Not all: the quads only, and what is made of them again in each pass.
            let quads = same.iter().copied().take(room);
            all.extend(quads.map(Carried::fixed));
            return;
        }
        all.extend(hoisted.into_iter().chain(quads).map(Carried::fixed));
        // A quad that nobody needs any more is not to be loaded either.
        self.s.body.retain(|id| !same.contains(id));
    }

    /// The end value of a carried quad: canonical only where the next pass looks at its bits.
    fn carry(&mut self, values: [Value; 2], first: usize) -> Id {
        let observed = self.observed[first] || self.observed[first + 1];
        let [lo, hi] = values.map(|value| self.half(value));
        let raw = self.s.is_raw(lo.v) && self.s.is_raw(hi.v);
        if observed || !raw {
            return self.packed(values);
        }
        self.s.pack(lo, hi)
    }
}
