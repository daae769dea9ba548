//! Second pass: words become vector instructions, two operations on pairs in one where that is legal.
//!
//! Registers are values by now, so that a later operation may stand beside an
//! earlier one as soon as its operands exist: nothing that is overwritten in
//! between is lost, and within a segment nothing can fault any more.

use super::ir::{At, Half, Id, Inst};
use super::rounds::Carried;
use super::rows::Row;
use super::steps::{Access, Arith, PAIRS, Steps, Value};
use super::sums::Sum;
use super::vectors::{Operand, Vectors};
use std::collections::HashMap;

/// Words ahead in which a partner is looked for.
const AHEAD: usize = 24;
/// A segment ready for registers.
#[derive(Debug)]
pub(super) struct Segment {
    pub vectors: Vectors,
    /// Scalars and checks; has no effect before it is complete.
    pub top: Vec<Id>,
    pub body: Vec<Id>,
    /// What is asked once, before the first pass.
    pub enter: Vec<Id>,
    /// What follows the last pass.
    pub exit: Vec<Id>,
    pub carried: Vec<Carried>,
}

pub(super) struct Builder {
    pub s: Vectors,
    values: Vec<Option<Half>>,
    done: Vec<bool>,
    /// Whether a pair register's value at the beginning is seen bit by bit.
    pub observed: [bool; PAIRS],
    pub used: [bool; PAIRS],
}

/// Makes a segment of the steps; `looping` where it is a loop's whole body.
pub(super) fn build(mut steps: Steps, looping: bool) -> Segment {
    let mut b = Builder {
        s: Vectors::new(std::mem::take(&mut steps.arena)),
        values: vec![None; steps.values],
        done: vec![false; steps.steps.len()],
        observed: [false; PAIRS],
        used: [false; PAIRS],
    };
    for (i, step) in steps.steps.iter().enumerate() {
        if let Some(access @ (Access::StoreQuad(..) | Access::StorePair(..))) = step.access {
            b.access(access);
            if let (Access::StoreQuad(_, at), true) = (access, looping) {
                b.ask(&steps.next, at);
            }
        }
        if let (Some(arith), false) = (&step.arith, b.done[i]) {
            if arith.quad {
                b.quad(arith);
            } else {
                b.pair(&steps, i, arith);
            }
        }
        if let Some(
            access @ (Access::LoadQuad(..) | Access::LoadPair(..) | Access::LoadDuplicate(..)),
        ) = step.access
        {
            b.access(access);
        }
        b.s.body.extend(&step.late);
    }
    let (exit, carried) = if looping {
        b.end_of_loop(&steps.last)
    } else {
        let homes = b.homes(&steps.last, |_| true);
        b.s.body.extend(homes);
        (Vec::new(), Vec::new())
    };
    b.s.body.extend(&steps.scalars);
    Segment {
        body: std::mem::take(&mut b.s.body),
        vectors: b.s,
        top: steps.top,
        enter: steps.enter,
        exit,
        carried,
    }
}

impl Builder {
    pub(super) fn half(&mut self, value: Value) -> Half {
        let i = value as usize;
        if let Some(half) = self.values[i] {
            return half;
        }
        // Only what the segment finds has no value yet.
        let v = self.s.emit(Inst::Home((i / 2) as u8));
        let half = Half { v, hi: i % 2 == 1 };
        self.values[i] = Some(half);
        half
    }

    pub(super) fn note(&mut self, value: Value, observed: bool) {
        if let Some(used) = self.used.get_mut(value as usize) {
            *used = true;
            self.observed[value as usize] |= observed;
        }
    }

    fn set(&mut self, value: Value, v: Id, hi: bool) {
        self.values[value as usize] = Some(Half { v, hi });
    }

    fn access(&mut self, access: Access) {
        match access {
            Access::LoadQuad([lo, hi], at) => {
                let v = self.s.emit(Inst::LoadQuad(at));
                self.set(lo, v, false);
                self.set(hi, v, true);
            }
            Access::LoadPair(value, at) => {
                let v = self.s.emit(Inst::LoadPair(at));
                self.set(value, v, false);
            }
            Access::LoadDuplicate([lo, hi], at) => {
                let v = self.s.emit(Inst::LoadPair(at));
                self.set(lo, v, false);
                self.set(hi, v, true);
            }
            Access::StoreQuad(values, at) => {
                let v = self.packed(values);
                self.s.emit(Inst::StoreQuad(v, at));
            }
            Access::StorePair(value, at) => {
                self.note(value, true);
                let half = self.half(value);
                let half = self.s.observed(half);
                self.s.emit(Inst::StorePair(half, at));
            }
        }
    }

    /// The next pass will store to another quad: where that is known already, its
    /// cache line is asked for now. A store that has to fetch it would make all
    /// stores behind it wait.
    fn ask(&mut self, next: &HashMap<Id, Sum>, at: At) {
        if let Some(sum) = next.get(&at.base) {
            let offset = at.offset + sum.add;
            self.s.emit(Inst::Prefetch(At {
                base: sum.root,
                offset,
            }));
        }
    }

    /// Both halves side by side, as the guest sees them.
    pub(super) fn packed(&mut self, values: [Value; 2]) -> Id {
        let [lo, hi] = values.map(|value| {
            self.note(value, true);
            self.half(value)
        });
        let operand = self.s.observe(Operand::Two(lo, hi));
        self.s.value(operand)
    }

    fn quad(&mut self, arith: &Arith) {
        let operands: Vec<Operand> = arith
            .ins
            .iter()
            .map(|&[lo, hi]| {
                self.note(lo, arith.row.observes());
                self.note(hi, arith.row.observes());
                let lo = self.half(lo);
                Operand::Two(lo, self.half(hi))
            })
            .collect();
        let results = arith.row.emit(&mut self.s, &arith.inst, &operands);
        for (outs, v) in arith.outs.iter().zip(results.into_iter().flatten()) {
            self.set(outs[0], v, false);
            self.set(outs[1], v, true);
        }
    }

    fn ready(&self, value: Value) -> bool {
        (value as usize) < PAIRS || self.values[value as usize].is_some()
    }

    /// Shuffles that packing the operands takes.
    fn cost(&mut self, row: Row, first: &Arith, second: &Arith) -> usize {
        let in_place = match row {
            Row::Butterfly(..) => 2,
            Row::Complex(_) => 1,
            Row::Lanes(_) | Row::Immediate | Row::Mix(..) => 0,
            Row::ComplexThen(..) => 3,
            _ => 3,
        };
        let both = first.ins.iter().zip(&second.ins).take(in_place);
        both.filter(|(a, b)| {
            let (lo, hi) = (self.place(a[0]), self.place(b[0]));
            !(lo.0 == hi.0 && !lo.1 && hi.1)
        })
        .count()
    }

    /// Where a value is, without listing a load of what has not been used yet.
    fn place(&self, value: Value) -> (i64, bool) {
        match self.values[value as usize] {
            Some(half) => (i64::from(half.v), half.hi),
            None => (-1 - i64::from(value / 2), value % 2 == 1),
        }
    }

    fn pair(&mut self, steps: &Steps, i: usize, arith: &Arith) {
        let mut best: Option<(usize, usize, bool)> = None;
        let ahead = steps.steps.iter().enumerate().skip(i + 1).take(AHEAD);
        for (j, step) in ahead {
            let Some(other) = &step.arith else { continue };
            let alike = other.row == arith.row
                && !other.quad
                && (!matches!(arith.row, Row::Shift(_) | Row::Immediate)
                    || other.inst.imm == arith.inst.imm);
            if self.done[j] || !alike || !other.ins.iter().all(|v| self.ready(v[0])) {
                continue;
            }
            let (up, down) = (
                self.cost(arith.row, arith, other),
                self.cost(arith.row, other, arith),
            );
            let (cost, swapped) = if down < up { (down, true) } else { (up, false) };
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, j, swapped));
            }
            if cost == 0 {
                break;
            }
        }
        let partner = best.filter(|(cost, ..)| *cost < arith.row.price().max(1));
        self.done[i] = true;
        match partner.and_then(|(_, j, swapped)| Some((j, steps.steps[j].arith.as_ref()?, swapped)))
        {
            Some((j, other, swapped)) => {
                self.done[j] = true;
                let (lower, upper) = if swapped {
                    (other, arith)
                } else {
                    (arith, other)
                };
                self.two(lower, upper);
            }
            None => self.one(arith),
        }
    }

    fn two(&mut self, lower: &Arith, upper: &Arith) {
        let observes = lower.row.observes();
        let operands: Vec<Operand> = lower
            .ins
            .iter()
            .zip(&upper.ins)
            .map(|(a, b)| {
                self.note(a[0], observes);
                self.note(b[0], observes);
                let lo = self.half(a[0]);
                Operand::Two(lo, self.half(b[0]))
            })
            .collect();
        let results = lower.row.emit(&mut self.s, &lower.inst, &operands);
        let outs = lower.outs.iter().zip(&upper.outs);
        for ((a, b), v) in outs.zip(results.into_iter().flatten()) {
            self.set(a[0], v, false);
            self.set(b[0], v, true);
        }
    }

    /// An operation by itself, in the half where more of its operands are.
    fn one(&mut self, arith: &Arith) {
        let observes = arith.row.observes();
        let halves: Vec<Half> = arith
            .ins
            .iter()
            .map(|v| {
                self.note(v[0], observes);
                self.half(v[0])
            })
            .collect();
        let upper = 2 * halves.iter().filter(|h| h.hi).count() > halves.len();
        let operands: Vec<Operand> = halves.into_iter().map(|h| Operand::One(h, upper)).collect();
        let results = arith.row.emit(&mut self.s, &arith.inst, &operands);
        for (outs, v) in arith.outs.iter().zip(results.into_iter().flatten()) {
            self.set(outs[0], v, upper);
        }
    }

    /// Writes back the quads that changed and that `which` names.
    pub(super) fn homes(&mut self, last: &[Value; PAIRS], which: impl Fn(u8) -> bool) -> Vec<Id> {
        let mut all = Vec::new();
        for quad in (0..(PAIRS / 2) as u8).filter(|q| which(*q)) {
            let first = 2 * usize::from(quad);
            if !changed(last, first) {
                continue;
            }
            let v = self.packed([last[first], last[first + 1]]);
            all.push(self.s.arena.add(Inst::SetHome(quad, v)).0);
        }
        all
    }
}

/// Whether the quad that begins with pair `first` ends with other values.
pub(super) fn changed(last: &[Value; PAIRS], first: usize) -> bool {
    last[first] as usize != first || last[first + 1] as usize != first + 1
}
