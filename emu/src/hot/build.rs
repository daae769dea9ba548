//! Second pass: words become vector instructions, two operations on pairs in one where that is legal.
//!
//! Registers are values by now, so that a later operation may stand beside an
//! earlier one as soon as its operands exist: nothing that is overwritten in
//! between is lost, and within a segment nothing can fault any more.

use super::form::Form;
use super::ir::{At, Half, Id, Inst};
use super::rounds::{Carried, Layout};
use super::rows::Row;
use super::steps::{Access, Arith, PAIRS, Steps, Value};
use super::sums::Sum;
use super::vectors::{Operand, Vectors};
use std::collections::HashMap;

/// Words ahead in which a partner is looked for.
const AHEAD: usize = 24;

/// Bytes of a pair in a section's DMEM.
const PAIR_BYTES: i32 = 8;

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
    pub values: Vec<Option<Half>>,
    done: Vec<bool>,
    /// Whether a pair register's value at the beginning is seen bit by bit.
    pub observed: [bool; PAIRS],
    pub used: [bool; PAIRS],
}

/// Makes a segment of the steps. `layout`: where they are a loop's whole body, how
/// the loop carries its registers; and the layout in which a pass leaves them.
fn build(mut steps: Steps, layout: Option<&Layout>, form: Form) -> (Segment, Layout) {
    let looping = layout.is_some();
    let mut b = Builder {
        s: Vectors::new(form, std::mem::take(&mut steps.arena)),
        values: vec![None; steps.values],
        done: vec![false; steps.steps.len()],
        observed: [false; PAIRS],
        used: [false; PAIRS],
    };
    if let Some(layout) = layout {
        b.begin_loop(layout);
    }
    for (i, step) in steps.steps.iter().enumerate() {
        if let Some(access @ (Access::StoreQuad(..) | Access::StorePair(..))) = step.access {
            b.access(access);
            if let (Access::StoreQuad(_, at), true) = (access, looping) {
                b.ask(&steps.next, at);
            }
        }
        if let (Some(arith), false) = (&step.arith, b.done[i]) {
            if form.narrow() {
                b.each(arith);
            } else if arith.quad {
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
    let mut left = Layout::default();
    let (exit, carried) = if let Some(layout) = layout {
        left = b.left(&steps.last, layout);
        b.end_of_loop(&steps.last, layout)
    } else {
        let homes = b.homes(&steps.last, |_| true);
        b.s.body.extend(homes);
        (Vec::new(), Vec::new())
    };
    b.s.body.extend(&steps.scalars);
    let segment = Segment {
        body: std::mem::take(&mut b.s.body),
        vectors: b.s,
        top: steps.top,
        enter: steps.enter,
        exit,
        carried,
    };
    (segment, left)
}

/// Layouts to try for a loop, each the one that a pass in the one before leaves.
const LAYOUTS: usize = 3;

/// The segments that the steps may become, any of which will do; `looping` where
/// they are a loop's whole body. What runs once per call has the first form.
pub(super) fn candidates(steps: &Steps, looping: bool, forms: &[Form]) -> Vec<Segment> {
    let mut all = Vec::new();
    let forms = if looping {
        forms
    } else {
        forms.get(..1).unwrap_or(&[])
    };
    for &form in forms {
        let mut layout = looping.then(|| Layout::natural(steps, form));
        for _ in 0..LAYOUTS {
            let (segment, left) = build(steps.clone(), layout.as_ref(), form);
            all.push(segment);
            let better =
                layout.filter(|layout| *layout != left && left.carried.len() <= form.carried());
            if better.is_none() {
                break;
            }
            layout = Some(left);
        }
    }
    all
}

impl Builder {
    pub(super) fn half(&mut self, value: Value) -> Half {
        let i = value as usize;
        if let Some(half) = self.values[i] {
            return half;
        }
        // Only what the segment finds has no value yet.
        let pairs = self.s.form.pairs();
        let v = self.s.emit(Inst::Home((i / pairs) as u8));
        let hi = i % pairs == 1;
        let half = Half { v, hi };
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
        let narrow = self.s.form.narrow();
        // The second pair of a quad in DMEM.
        let second = |at: At| At {
            offset: at.offset + PAIR_BYTES,
            ..at
        };
        match access {
            Access::LoadQuad([lo, hi], at) if narrow => {
                self.access(Access::LoadPair(lo, at));
                self.access(Access::LoadPair(hi, second(at)));
            }
            Access::StoreQuad([lo, hi], at) if narrow => {
                self.access(Access::StorePair(lo, at));
                self.access(Access::StorePair(hi, second(at)));
            }
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
                self.set(hi, v, !narrow);
            }
            Access::StoreQuad(values, at) => {
                let [lo, hi] = values.map(|value| {
                    self.note(value, true);
                    let half = self.half(value);
                    self.s.observed(half)
                });
                if lo.v == hi.v && !lo.hi && hi.hi {
                    self.s.emit(Inst::StoreQuad(lo.v, at));
                } else {
                    // Two stores of halves spare a move of lanes.
                    self.s.emit(Inst::StorePair(lo, at));
                    self.s.emit(Inst::StorePair(hi, second(at)));
                }
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

    /// An operation pair by pair, where a vector holds one.
    fn each(&mut self, arith: &Arith) {
        for half in 0..1 + usize::from(arith.quad) {
            let results = match arith.row {
                Row::Permute | Row::Extract => [Some(self.moved(arith, half)), None],
                row => {
                    let operands: Vec<Operand> = arith
                        .ins
                        .iter()
                        .map(|values| {
                            self.note(values[half], row.observes());
                            Operand::One(self.half(values[half]), false)
                        })
                        .collect();
                    row.emit(&mut self.s, &arith.inst, &operands)
                }
            };
            for (outs, v) in arith.outs.iter().zip(results.into_iter().flatten()) {
                self.set(outs[half], v, false);
            }
        }
    }

    /// A half of what moves lanes between the pairs of quads.
    fn moved(&mut self, arith: &Arith, half: usize) -> Id {
        let imm = arith.inst.imm as usize;
        let lanes = [2 * half, 2 * half + 1].map(|lane| match arith.row {
            Row::Permute => imm >> (2 * lane) & 3,
            _ => imm % 4 + lane,
        });
        let [a, b] = lanes.map(|lane| {
            let value = arith.ins[lane / 4][lane / 2 % 2];
            self.note(value, true);
            let found = self.half(value);
            self.s.observed(found).v
        });
        self.s.pick(a, b, lanes.map(|lane| (lane % 2) as u8))
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
        let both = first.ins.iter().zip(&second.ins);
        let factors = row
            .factor()
            .map(|i| usize::from(first.ins[i] != second.ins[i]));
        let moves = both.take(in_place).filter(|(a, b)| {
            let (lo, hi) = (self.place(a[0]), self.place(b[0]));
            !(lo.0 == hi.0 && !lo.1 && hi.1)
        });
        moves.count() + factors.unwrap_or(0)
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

    /// What a vector of the register file ends as.
    pub(super) fn at_home(&mut self, last: &[Value; PAIRS], home: usize) -> Id {
        match ends(self.s.form, last, home) {
            &[lo, hi] => self.packed([lo, hi]),
            values => {
                let value = values.first().copied().unwrap_or_default();
                self.note(value, true);
                let half = self.half(value);
                self.s.observed(half).v
            }
        }
    }

    /// Writes back the vectors of the register file that changed and that `which` names.
    pub(super) fn homes(&mut self, last: &[Value; PAIRS], which: impl Fn(u8) -> bool) -> Vec<Id> {
        let form = self.s.form;
        let mut all = Vec::new();
        for home in (0..form.homes()).filter(|home| which(*home as u8)) {
            if changed(form, last, home) {
                let v = self.at_home(last, home);
                all.push(self.s.arena.add(Inst::SetHome(home as u8, v)).0);
            }
        }
        all
    }
}

/// The values that a vector of the register file ends with.
pub(super) fn ends(form: Form, last: &[Value; PAIRS], home: usize) -> &[Value] {
    let pairs = form.pairs();
    &last[pairs * home..pairs * (home + 1)]
}

/// Whether these are others than those it began with.
pub(super) fn changed(form: Form, last: &[Value; PAIRS], home: usize) -> bool {
    let values = (form.pairs() * home..).zip(ends(form, last, home));
    values
        .into_iter()
        .any(|(first, value)| *value as usize != first)
}
