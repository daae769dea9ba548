//! Finds operations on pairs that can share a vector, before they are built.
//!
//! Two operations of one kind fill a vector without moving lanes if their operands are the halves
//! of the same vectors: the halves of a quad that was loaded, or results of two operations that
//! share a vector themselves. Programmers put the columns of a transform into the halves of quads,
//! and then let one column follow the other by half an iteration, so that the partner of an
//! operation often stands in a loop's next pass. A few passes are followed here, one after the
//! other, with nothing but the vector half of each value.

use super::segment_steps::{DmemAccess, PairValue, REGISTERS, SegmentSteps};

/// Number of following steps in which a partner is sought.
pub(super) const AHEAD: usize = 24;

/// Number of passes that are followed. All later passes repeat what pass [`STEADY`] does.
const PASSES: usize = 5;
const STEADY: usize = 2;

/// A vector by number, and true if the value is its upper half.
pub(super) type VectorHalf = (u32, bool);

/// The partner of a step's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partner {
    None,
    /// This step of the same pass.
    Same(usize),
    /// This step of the next pass.
    Next(usize),
}

/// Partners that were found, and where values lie.
#[derive(Debug)]
pub(super) struct Partners {
    pub of: Vec<Partner>,
    /// Vector half of each value of a pass.
    places: Vec<Option<VectorHalf>>,
}

/// A pass and a step of it.
type Spot = (usize, usize);

struct Follow<'a> {
    steps: &'a SegmentSteps,
    /// Vector half of each value, by pass and value.
    places: Vec<Vec<Option<VectorHalf>>>,
    /// Partner of each operation, by pass and step.
    partner: Vec<Vec<Option<Spot>>>,
    vectors: u32,
    /// `[value]`: true if it is loaded from DMEM.
    loads: Vec<bool>,
}

/// Finds partners among the steps, which are a loop's whole body or run once.
pub(super) fn find(steps: &SegmentSteps, looping: bool) -> Partners {
    let passes = if looping { PASSES } else { 1 };
    let n = steps.steps.len();
    let mut loads = vec![false; steps.values];
    let accesses = steps.steps.iter().filter_map(|step| step.access.as_ref());
    for value in accesses.filter_map(DmemAccess::loads).flatten() {
        loads[value as usize] = true;
    }
    let mut follow = Follow {
        steps,
        places: vec![vec![None; steps.values]; passes],
        partner: vec![vec![None; n]; passes],
        vectors: REGISTERS as u32 / 2,
        loads,
    };
    for pass in 0..passes {
        for i in 0..n {
            follow.step((pass, i), passes);
        }
    }
    let steady = if looping { STEADY } else { 0 };
    let of = (0..n).map(|i| follow.steady_partner(steady, i)).collect();
    let places = (0..steps.values)
        .map(|value| follow.place(steady, value as PairValue))
        .collect();
    Partners { of, places }
}

impl Partners {
    /// Returns the vector half of a value once its pass has been built.
    pub(super) fn place(&self, value: PairValue) -> Option<VectorHalf> {
        self.places.get(value as usize).copied().flatten()
    }
}

impl Follow<'_> {
    /// Returns the pass that makes a value, or the first one, and the value's number there.
    fn maker(&self, pass: usize, value: PairValue) -> (usize, PairValue) {
        match self.steps.last.get(value as usize) {
            Some(&last) if pass > 0 => self.maker(pass - 1, last),
            _ => (pass, value),
        }
    }

    /// Returns the vector half in which a pass finds or makes a value; `None` before it does.
    fn place(&self, pass: usize, value: PairValue) -> Option<VectorHalf> {
        let (pass, value) = self.maker(pass, value);
        if (value as usize) < REGISTERS {
            return Some((value / 2, value % 2 == 1));
        }
        self.places[pass][value as usize]
    }

    /// True if a value is loaded from DMEM.
    fn loaded(&self, pass: usize, value: PairValue) -> bool {
        self.loads[self.maker(pass, value).1 as usize]
    }

    fn set_place(&mut self, pass: usize, value: PairValue, place: VectorHalf) {
        self.places[pass][value as usize] = Some(place);
    }

    fn vector(&mut self) -> u32 {
        self.vectors += 1;
        self.vectors
    }

    fn step(&mut self, (pass, i): Spot, passes: usize) {
        let steps = self.steps;
        let step = &steps.steps[i];
        if let Some(arith) = &step.arith {
            if arith.quad {
                for outs in &arith.outs {
                    let v = self.vector();
                    self.set_place(pass, outs[0], (v, false));
                    self.set_place(pass, outs[1], (v, true));
                }
            } else if self.partner[pass][i].is_none() {
                self.pair((pass, i), passes);
            }
        }
        if let Some(access) = &step.access
            && let Some([lo, hi]) = access.loads()
        {
            let v = self.vector();
            self.set_place(pass, lo, (v, false));
            if hi != lo {
                self.set_place(pass, hi, (v, true));
            }
        }
    }

    /// Finds the partner of an operation on pairs, and places the results.
    fn pair(&mut self, at: Spot, passes: usize) {
        let n = self.steps.steps.len();
        let ahead = at.0 * n + at.1 + 1..passes * n;
        let found = ahead
            .take(AHEAD)
            .map(|t| (t / n, t % n))
            .take_while(|spot| spot.0 <= at.0 + 1)
            .find_map(|spot| Some((spot, self.can_pair(at, spot)?)));
        let Some(arith) = &self.steps.steps[at.1].arith else {
            return;
        };
        let vectors: Vec<u32> = arith.outs.iter().map(|_| self.vector()).collect();
        let upper = found.is_some_and(|(_, swapped)| swapped);
        for (outs, v) in arith.outs.iter().zip(&vectors) {
            self.set_place(at.0, outs[0], (*v, upper));
        }
        let Some((other, _)) = found else { return };
        self.partner[at.0][at.1] = Some(other);
        self.partner[other.0][other.1] = Some(at);
        if let Some(arith) = &self.steps.steps[other.1].arith {
            for (outs, v) in arith.outs.iter().zip(&vectors) {
                self.set_place(other.0, outs[0], (*v, !upper));
            }
        }
    }

    /// Returns `Some` if two operations can share a vector with their operands as they lie: true if
    /// the first takes the upper half.
    fn can_pair(&self, at: Spot, other: Spot) -> Option<bool> {
        let (first, second) = (
            self.steps.steps[at.1].arith.as_ref()?,
            self.steps.steps[other.1].arith.as_ref()?,
        );
        if !first.is_pairable_with(second) || self.partner[other.0][other.1].is_some() {
            return None;
        }
        let mut swapped = None;
        for (i, (a, b)) in first.ins.iter().zip(&second.ins).enumerate() {
            if i >= first.row.shared_operand_count() {
                // Such an operand is packed in any case. One that is loaded later is waited for.
                let known = self.place(other.0, b[0]).is_some() || self.loaded(other.0, b[0]);
                known.then_some(())?;
                continue;
            }
            let (x, y) = (self.place(at.0, a[0])?, self.place(other.0, b[0])?);
            if x.0 != y.0 || x.1 == y.1 || swapped.is_some_and(|swapped| swapped != x.1) {
                return None;
            }
            swapped = Some(x.1);
        }
        swapped
    }

    /// Returns the partner of a step in the steady pass, if the neighbouring passes agree.
    fn steady_partner(&self, pass: usize, i: usize) -> Partner {
        let Some(other) = self.partner[pass][i] else {
            return Partner::None;
        };
        if other.0 == pass {
            return Partner::Same(other.1);
        }
        // The two must be partners in the passes before and after too.
        let shifted = |pass: usize, i: usize| self.partner[pass][i];
        if other.0 == pass + 1 && shifted(pass, other.1) == Some((pass - 1, i)) {
            Partner::Next(other.1)
        } else {
            Partner::None
        }
    }
}
