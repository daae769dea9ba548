//! Emission of vector instructions: packed halves and deferred canonical NaN.
//!
//! Every float operation turns a NaN operand of any payload into a NaN, and comparisons, minimum
//! and maximum treat all NaN alike. The guest's single NaN is therefore put in place only where
//! bits are observed: before a store, a bit or integer operation, a move of lanes, and before a
//! register's value leaves the code. Until then a result of arithmetic is marked `raw`. A loaded
//! value is not raw: its payload, if it is a NaN, is the guest's.

use super::code_form::CodeForm;
use super::ir::{
    Arena, DmemAddress, FrameConstant, Id, IrInstruction, LaneOperation, VectorHalves,
};
use std::collections::HashMap;

/// A pair operand of one guest operation, or the operands of two of them. Of two operations the
/// first computes in the lower half, the second in the upper one.
#[derive(Clone, Copy, Debug)]
pub(super) enum PairOperand {
    /// One operation, in the upper half if the flag is set, else in the lower; the other half's
    /// content does not matter.
    One(VectorHalves, bool),
    Two(VectorHalves, VectorHalves),
}

/// Vector instructions of a segment, in order.
#[derive(Debug, Default)]
pub(super) struct SegmentVectors {
    pub form: CodeForm,
    pub arena: Arena,
    pub body: Vec<Id>,
    raw: Vec<bool>,
    /// Number of stores so far.
    stores: usize,
    /// Number of stores before each load.
    loaded: HashMap<Id, usize>,
    /// Spread lanes of loaded vectors that have been loaded again from DMEM.
    lanes: HashMap<(Id, u8), Id>,
}

/// Bytes of a lane in a section's DMEM.
const LANE_BYTES: i32 = 4;

impl SegmentVectors {
    pub(super) fn new(form: CodeForm, arena: Arena) -> Self {
        Self {
            form,
            arena,
            ..Self::default()
        }
    }

    /// Lists the instruction, unless an equal one has been listed.
    pub(super) fn emit(&mut self, inst: IrInstruction) -> Id {
        let (id, new) = self.arena.add(inst);
        if new {
            self.body.push(id);
        }
        match inst {
            IrInstruction::StoreQuad(..) | IrInstruction::StorePair(..) => self.stores += 1,
            IrInstruction::LoadPair(_) | IrInstruction::LoadQuad(_) => {
                self.loaded.insert(id, self.stores);
            }
            _ => {}
        }
        id
    }

    fn mark(&mut self, id: Id) -> Id {
        let i = id as usize;
        if self.raw.len() <= i {
            self.raw.resize(i + 1, false);
        }
        self.raw[i] = true;
        id
    }

    pub(super) fn is_raw(&self, id: Id) -> bool {
        self.raw.get(id as usize).is_some_and(|raw| *raw)
    }

    /// Emits a float operation, whose NaN may have any payload.
    pub(super) fn float(&mut self, op: LaneOperation, a: Id, b: Id) -> Id {
        let id = self.emit(IrInstruction::Binary(op, a, b));
        self.mark(id)
    }

    pub(super) fn bits(&mut self, op: LaneOperation, a: Id, b: Id) -> Id {
        self.emit(IrInstruction::Binary(op, a, b))
    }

    pub(super) fn emit_with_constant(
        &mut self,
        op: LaneOperation,
        a: Id,
        constant: FrameConstant,
    ) -> Id {
        self.emit(IrInstruction::With(op, a, constant))
    }

    /// Emits [`Self::emit_with_constant`] for an operand whose NaN may have any payload.
    pub(super) fn raw_with(&mut self, op: LaneOperation, a: Id, constant: FrameConstant) -> Id {
        let id = self.emit_with_constant(op, a, constant);
        self.mark(id)
    }

    pub(super) fn add_sub(&mut self, a: Id, b: Id) -> Id {
        let id = self.emit(IrInstruction::AddSub(a, b));
        self.mark(id)
    }

    pub(super) fn sub_add(&mut self, a: Id, b: Id) -> Id {
        let id = self.emit(IrInstruction::SubAdd(a, b));
        self.mark(id)
    }

    /// Returns the value with canonical NaN, as the guest sees them.
    pub(super) fn canonical(&mut self, v: Id) -> Id {
        if self.is_raw(v) {
            self.emit(IrInstruction::Canonical(v))
        } else {
            v
        }
    }

    /// Returns the half with canonical NaN, as the guest sees them.
    pub(super) fn observed(&mut self, half: VectorHalves) -> VectorHalves {
        let v = self.canonical(half.v);
        VectorHalves { v, ..half }
    }

    pub(super) fn observe(&mut self, operand: PairOperand) -> PairOperand {
        match operand {
            PairOperand::One(half, upper) => PairOperand::One(self.observed(half), upper),
            PairOperand::Two(lo, hi) => {
                let lo = self.observed(lo);
                PairOperand::Two(lo, self.observed(hi))
            }
        }
    }

    /// Returns a vector with `lo` as its lower and `hi` as its upper half.
    pub(super) fn pack(&mut self, lo: VectorHalves, hi: VectorHalves) -> Id {
        if lo.v == hi.v && !lo.hi && hi.hi {
            return lo.v;
        }
        self.lanes(lo, hi, [0, 1])
    }

    /// Returns a vector of lanes `select` of both halves, side by side.
    fn lanes(&mut self, lo: VectorHalves, hi: VectorHalves, select: [u8; 2]) -> Id {
        if self.form.narrow() {
            return self.pick(lo.v, lo.v, select);
        }
        let of = |half: VectorHalves, lane: u8| 2 * u8::from(half.hi) + lane;
        let [first, second] = select;
        if let (true, Some(lane)) = (lo == hi && first == second, self.lane(lo.v, of(lo, first))) {
            return lane;
        }
        let imm = of(lo, first) | of(lo, second) << 2 | of(hi, first) << 4 | of(hi, second) << 6;
        let raw = self.is_raw(lo.v) || self.is_raw(hi.v);
        let id = self.emit(IrInstruction::Shuffle(lo.v, hi.v, imm));
        if raw { self.mark(id) } else { id }
    }

    /// Loads a lane of a vector into all lanes, if the vector was loaded and DMEM still holds it.
    fn lane(&mut self, v: Id, lane: u8) -> Option<Id> {
        if let Some(known) = self.lanes.get(&(v, lane)) {
            return Some(*known);
        }
        let (at, from) = match self.arena.get(v) {
            IrInstruction::LoadPair(at) => (at, lane % 2),
            IrInstruction::LoadQuad(at) => (at, lane),
            _ => return None,
        };
        (self.loaded.get(&v) == Some(&self.stores)).then_some(())?;
        let offset = at.offset + LANE_BYTES * i32::from(from);
        let id = self.emit(IrInstruction::LoadLane(DmemAddress { offset, ..at }));
        self.lanes.insert((v, lane), id);
        Some(id)
    }

    /// Returns a vector of two lanes: lane `select[0]` of `a` and lane `select[1]` of `b`.
    pub(super) fn pick(&mut self, a: Id, b: Id, select: [u8; 2]) -> Id {
        if a == b && select == [0, 1] {
            return a;
        }
        if let (true, Some(lane)) = (a == b && select[0] == select[1], self.lane(a, select[0])) {
            return lane;
        }
        let raw = self.is_raw(a) || self.is_raw(b);
        let id = self.emit(IrInstruction::Pick(a, b, select[0] | select[1] << 1));
        if raw { self.mark(id) } else { id }
    }

    /// Returns the operand in the half or halves where its operations compute.
    pub(super) fn value(&mut self, operand: PairOperand) -> Id {
        match operand {
            PairOperand::One(half, upper) if half.hi == upper => half.v,
            PairOperand::One(half, _) => self.pack(half, half),
            PairOperand::Two(lo, hi) => self.pack(lo, hi),
        }
    }

    /// Returns lanes `select` of the operand in the halves where its operations compute.
    pub(super) fn select(&mut self, operand: PairOperand, select: [u8; 2]) -> Id {
        match operand {
            PairOperand::One(half, _) => self.lanes(half, half, select),
            PairOperand::Two(lo, hi) => self.lanes(lo, hi, select),
        }
    }

    /// Returns lane `i` of `a` and lane `j` of `b` in the halves where the operations compute.
    pub(super) fn mix(&mut self, a: PairOperand, i: u8, b: PairOperand, j: u8) -> Id {
        if self.form.narrow() {
            let (a, b) = (self.value(a), self.value(b));
            return self.pick(a, b, [i, j]);
        }
        // Lanes (i, i) of a and (j, j) of b, then one of each.
        let part = |s: &mut Self, a: VectorHalves, b: VectorHalves| {
            let lane = |half: VectorHalves, lane: u8| 2 * u8::from(half.hi) + lane;
            let (x, y) = (lane(a, i), lane(b, j));
            s.emit(IrInstruction::Shuffle(
                a.v,
                b.v,
                x | x << 2 | y << 4 | y << 6,
            ))
        };
        let two = |s: &mut Self, lo: Id, hi: Id| {
            // Lanes 0 and 2 of each.
            s.emit(IrInstruction::Shuffle(lo, hi, 0b10_00_10_00))
        };
        match (a, b) {
            (PairOperand::Two(al, ah), PairOperand::Two(bl, bh)) => {
                let lo = part(self, al, bl);
                let hi = part(self, ah, bh);
                two(self, lo, hi)
            }
            (
                PairOperand::One(a, _) | PairOperand::Two(a, _),
                PairOperand::One(b, _) | PairOperand::Two(b, _),
            ) => {
                let both = part(self, a, b);
                two(self, both, both)
            }
        }
    }
}
