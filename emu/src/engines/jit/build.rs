//! Second pass: words become vector instructions, where legal two in one.
//!
//! Registers are values by now, so that a later operation may share a vector with an earlier one as
//! soon as its operands exist: no value that is overwritten in between is lost, and within a
//! segment nothing can fault any more.

use super::arithmetic_rows::OperandPacking;
use super::code_form::CodeForm;
use super::ir::{DmemAddress, Id, IrInstruction, VectorHalves};
use super::loop_passes::{CarriedVector, LoopRegisters};
use super::scalar_sums::Sum;
use super::segment_steps::{Arith, DmemAccess, PairValue, PairValues, REGISTERS, SegmentSteps};
use super::vectors::{PairOperand, SegmentVectors};
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes of a pair in a section's DMEM.
const PAIR_BYTES: i32 = 8;

/// A segment as lists of vector instructions, before host registers are assigned.
#[derive(Debug)]
pub(super) struct BuiltSegment {
    pub vectors: SegmentVectors,
    /// Scalars and checks; has no effect before it is complete.
    pub top: Vec<Id>,
    pub body: Vec<Id>,
    /// Checks made once, before the first pass.
    pub enter: Vec<Id>,
    /// Instructions that follow the last pass.
    pub exit: Vec<Id>,
    pub carried: Vec<CarriedVector>,
    /// First and last pass of a loop whose passes overlap.
    pub ends: Option<Box<LoopEnds>>,
}

/// Code before and after a loop whose passes overlap, see [`super::retime`].
#[derive(Debug)]
pub(super) struct LoopEnds {
    pub first: BuiltSegment,
    pub last: BuiltSegment,
}

pub(super) struct SegmentBuilder {
    pub s: SegmentVectors,
    pub values: Vec<Option<VectorHalves>>,
    /// Arithmetic operations by step.
    pub ops: Rc<[Option<Arith>]>,
    /// `[step]`: true once the operation has been built.
    pub done: Vec<bool>,
    /// `[value]`: step that makes it.
    makers: Vec<Option<usize>>,
    /// Steps whose operations wait until their partners can be built.
    pub waiting: Vec<usize>,
    /// `[step]`: step whose operation shares a vector with this one.
    pub partners: Vec<Option<usize>>,
    /// True if a pair register's value at the segment's beginning is used bit by bit, so that its
    /// NaN must be canonical.
    pub observed: [bool; REGISTERS],
    /// True if that value is used at all.
    pub used: [bool; REGISTERS],
}

/// Builds a segment from the steps, with the partners that are known. If the steps are a loop's
/// whole body, `layout` says how the loop carries its registers. Also returns the layout in which a
/// pass leaves them.
pub(super) fn build(
    mut steps: SegmentSteps,
    partners: &[Option<usize>],
    layout: Option<&LoopRegisters>,
    form: CodeForm,
) -> (BuiltSegment, LoopRegisters) {
    let looping = layout.is_some();
    let ops: Rc<[Option<Arith>]> = steps.steps.iter_mut().map(|s| s.arith.take()).collect();
    let mut makers = vec![None; steps.values];
    for (i, op) in ops.iter().enumerate() {
        for out in op.iter().flat_map(|op| op.outs.iter().flatten()) {
            makers[*out as usize] = Some(i);
        }
    }
    let mut b = SegmentBuilder {
        s: SegmentVectors::new(form, std::mem::take(&mut steps.arena)),
        values: vec![None; steps.values],
        done: vec![false; ops.len()],
        ops,
        makers,
        waiting: Vec::new(),
        partners: partners.to_vec(),
        observed: [false; REGISTERS],
        used: [false; REGISTERS],
    };
    if let Some(layout) = layout {
        b.begin_loop(layout);
    }
    for (i, step) in steps.steps.iter().enumerate() {
        if let Some(access @ (DmemAccess::StoreQuad(..) | DmemAccess::StorePair(..))) = step.access
        {
            b.access(access);
            if let (DmemAccess::StoreQuad(_, at), true) = (access, looping) {
                b.ask(&steps.next, at);
            }
        }
        if !b.may_wait(i) {
            b.operation(i);
        }
        if let Some(
            access @ (DmemAccess::LoadQuad(..)
            | DmemAccess::LoadPair(..)
            | DmemAccess::LoadDuplicate(..)),
        ) = step.access
        {
            b.access(access);
        }
        b.s.body.extend(&step.late);
        b.meet();
    }
    for i in std::mem::take(&mut b.waiting) {
        b.operation(i);
    }
    let mut left = LoopRegisters::default();
    let (exit, carried) = if let Some(layout) = layout {
        left = b.leaving_layout(&steps.last, layout);
        b.end_of_loop(&steps.last, layout)
    } else {
        let homes = b.homes(&steps.last, |_| true);
        b.s.body.extend(homes);
        (Vec::new(), Vec::new())
    };
    b.s.body.extend(&steps.scalars);
    let segment = BuiltSegment {
        body: std::mem::take(&mut b.s.body),
        vectors: b.s,
        top: steps.top,
        enter: steps.enter,
        exit,
        carried,
        ends: None,
    };
    (segment, left)
}

impl SegmentBuilder {
    pub(super) fn half(&mut self, value: PairValue) -> VectorHalves {
        let i = value as usize;
        if let Some(half) = self.values[i] {
            return half;
        }
        self.build_value(value);
        if let Some(half) = self.values[i] {
            return half;
        }
        // A register's value at the segment's beginning.
        let pairs = self.s.form.pairs();
        let v = self.s.emit(IrInstruction::Home((i / pairs) as u8));
        let hi = i % pairs == 1;
        let half = VectorHalves { v, hi };
        self.values[i] = Some(half);
        half
    }

    /// Builds the operation that makes a value, if it is still waiting.
    pub(super) fn build_value(&mut self, value: PairValue) {
        if let Some(maker) = self.makers[value as usize] {
            self.operation(maker);
        }
    }

    pub(super) fn note(&mut self, value: PairValue, observed: bool) {
        if let Some(used) = self.used.get_mut(value as usize) {
            *used = true;
            self.observed[value as usize] |= observed;
        }
    }

    pub(super) fn set_value(&mut self, value: PairValue, v: Id, hi: bool) {
        self.values[value as usize] = Some(VectorHalves { v, hi });
    }

    fn access(&mut self, access: DmemAccess) {
        let narrow = self.s.form.narrow();
        // Address of the second pair of a quad in DMEM.
        let second = |at: DmemAddress| DmemAddress {
            offset: at.offset + PAIR_BYTES,
            ..at
        };
        match access {
            DmemAccess::LoadQuad([lo, hi], at) if narrow => {
                self.access(DmemAccess::LoadPair(lo, at));
                self.access(DmemAccess::LoadPair(hi, second(at)));
            }
            DmemAccess::StoreQuad([lo, hi], at) if narrow => {
                self.access(DmemAccess::StorePair(lo, at));
                self.access(DmemAccess::StorePair(hi, second(at)));
            }
            DmemAccess::LoadQuad([lo, hi], at) => {
                let v = self.s.emit(IrInstruction::LoadQuad(at));
                self.set_value(lo, v, false);
                self.set_value(hi, v, true);
            }
            DmemAccess::LoadPair(value, at) => {
                let v = self.s.emit(IrInstruction::LoadPair(at));
                self.set_value(value, v, false);
            }
            DmemAccess::LoadDuplicate([lo, hi], at) => {
                let v = self.s.emit(IrInstruction::LoadPair(at));
                self.set_value(lo, v, false);
                self.set_value(hi, v, !narrow);
            }
            DmemAccess::StoreQuad(values, at) => {
                let [lo, hi] = values.map(|value| {
                    self.note(value, true);
                    let half = self.half(value);
                    self.s.observed(half)
                });
                if lo.v == hi.v && !lo.hi && hi.hi {
                    self.s.emit(IrInstruction::StoreQuad(lo.v, at));
                } else {
                    // Two stores of halves save a move of lanes.
                    self.s.emit(IrInstruction::StorePair(lo, at));
                    self.s.emit(IrInstruction::StorePair(hi, second(at)));
                }
            }
            DmemAccess::StorePair(value, at) => {
                self.note(value, true);
                let half = self.half(value);
                let half = self.s.observed(half);
                self.s.emit(IrInstruction::StorePair(half, at));
            }
        }
    }

    /// Prefetches the cache line of the quad that the next pass will store to, if its address is
    /// already known. A store that has to fetch its line would delay all stores behind it.
    fn ask(&mut self, next: &HashMap<Id, Sum>, at: DmemAddress) {
        if let Some(sum) = next.get(&at.base) {
            let offset = at.offset + sum.add;
            self.s.emit(IrInstruction::Prefetch(DmemAddress {
                base: sum.root,
                offset,
            }));
        }
    }

    /// Returns a vector of both halves side by side, with canonical NaN as the guest sees them.
    pub(super) fn packed(&mut self, values: [PairValue; 2]) -> Id {
        let [lo, hi] = values.map(|value| {
            self.note(value, true);
            self.half(value)
        });
        let operand = self.s.observe(PairOperand::Two(lo, hi));
        self.s.value(operand)
    }

    /// Builds the operation of a step, unless that has been done.
    pub(super) fn operation(&mut self, i: usize) {
        let ops = self.ops.clone();
        let (Some(arith), false) = (&ops[i], self.done[i]) else {
            return;
        };
        self.done[i] = true;
        if self.s.form.narrow() {
            self.build_pairwise(arith);
        } else if arith.quad {
            self.quad(arith);
        } else {
            self.pair(i, arith);
        }
    }

    fn quad(&mut self, arith: &Arith) {
        let operands: Vec<PairOperand> = arith
            .ins
            .iter()
            .map(|&[lo, hi]| {
                self.note(lo, arith.row.observes());
                self.note(hi, arith.row.observes());
                let lo = self.half(lo);
                PairOperand::Two(lo, self.half(hi))
            })
            .collect();
        let results = arith.row.emit(&mut self.s, &arith.inst, &operands);
        for (outs, v) in arith.outs.iter().zip(results.into_iter().flatten()) {
            self.set_value(outs[0], v, false);
            self.set_value(outs[1], v, true);
        }
    }

    /// Builds an operation pair by pair, for forms in which a vector holds one pair.
    fn build_pairwise(&mut self, arith: &Arith) {
        for half in 0..1 + usize::from(arith.quad) {
            let results = match arith.row {
                OperandPacking::Permute | OperandPacking::Extract => {
                    [Some(self.build_lane_move(arith, half)), None]
                }
                row => {
                    let operands: Vec<PairOperand> = arith
                        .ins
                        .iter()
                        .map(|values| {
                            self.note(values[half], row.observes());
                            PairOperand::One(self.half(values[half]), false)
                        })
                        .collect();
                    row.emit(&mut self.s, &arith.inst, &operands)
                }
            };
            for (outs, v) in arith.outs.iter().zip(results.into_iter().flatten()) {
                self.set_value(outs[half], v, false);
            }
        }
    }

    /// Builds one half of the result of an operation that moves lanes between the pairs of quads.
    fn build_lane_move(&mut self, arith: &Arith, half: usize) -> Id {
        let imm = arith.inst.imm as usize;
        let lanes = [2 * half, 2 * half + 1].map(|lane| match arith.row {
            OperandPacking::Permute => imm >> (2 * lane) & 3,
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

    /// Returns the final value of a vector of the register file.
    pub(super) fn final_value(&mut self, last: &PairValues, home: usize) -> Id {
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
    pub(super) fn homes(&mut self, last: &PairValues, which: impl Fn(u8) -> bool) -> Vec<Id> {
        let form = self.s.form;
        let mut all = Vec::new();
        for home in (0..form.homes()).filter(|home| which(*home as u8)) {
            if changed(form, last, home) {
                let v = self.final_value(last, home);
                all.push(self.s.arena.add(IrInstruction::SetHome(home as u8, v)).0);
            }
        }
        all
    }
}

/// Returns the final values of the pair registers in a vector of the register file.
pub(super) fn ends(form: CodeForm, last: &PairValues, home: usize) -> &[PairValue] {
    let pairs = form.pairs();
    &last[pairs * home..pairs * (home + 1)]
}

/// True if a vector of the register file ends with other values than it began with.
pub(super) fn changed(form: CodeForm, last: &PairValues, home: usize) -> bool {
    let values = (form.pairs() * home..).zip(ends(form, last, home));
    values
        .into_iter()
        .any(|(first, value)| *value as usize != first)
}
