//! First pass: registers become values, addresses a root and an offset.
//!
//! A segment is the longest run of words whose addresses are all known when it
//! begins (they do not depend on a scalar that the segment itself loads). All
//! checks of its addresses can then stand before its first word.

use super::address_checks::{AccessGroups, CircularWalk};
use super::arithmetic_rows::{OperandPacking, row};
use super::ir::{Arena, DmemAddress, Id, IrInstruction};
use super::scalar_sums::{FAR, Sum};
use crate::core::decoded::Decoded;
use crate::core::layout::Shared;
use crate::semantics::action::{Action, ControlOp, Data};
use cp2_asm::isa::{Address, AddressOperand, Kind, Mode, Op, SCALARS, Scalar};
use std::collections::HashMap;

/// Number of pair registers of a section.
pub(super) const PAIRS: usize = 64;

/// Number of pair registers that a segment knows: the guest's, and more in the frame, in which a
/// pass of a loop keeps operands for the next one (see [`super::retime`]).
pub(super) const REGISTERS: usize = PAIRS + 32;

/// A value of a pair register. The first [`REGISTERS`] values are those at the segment's beginning.
pub(super) type PairValue = u32;

/// A value for each pair register.
pub(super) type PairValues = [PairValue; REGISTERS];

/// An arithmetic operation on values.
#[derive(Clone, Debug)]
pub(super) struct Arith {
    pub row: OperandPacking,
    /// Guest operation, needed for its immediate.
    pub inst: cp2_asm::isa::Inst,
    /// True if the operation is on quads.
    pub quad: bool,
    /// Operands as lower and upper half; the halves are equal in an operation on pairs.
    pub ins: Vec<[PairValue; 2]>,
    /// Results, as halves like the operands.
    pub outs: Vec<[PairValue; 2]>,
}

/// A DMEM access of section registers.
#[derive(Clone, Copy, Debug)]
pub(super) enum DmemAccess {
    LoadQuad([PairValue; 2], DmemAddress),
    LoadPair(PairValue, DmemAddress),
    LoadDuplicate([PairValue; 2], DmemAddress),
    StoreQuad([PairValue; 2], DmemAddress),
    StorePair(PairValue, DmemAddress),
}

impl Arith {
    /// True if two operations on pairs can become one on a vector.
    pub(super) fn is_pairable_with(&self, other: &Self) -> bool {
        let immediate = matches!(
            self.row,
            OperandPacking::Shift(_) | OperandPacking::Immediate
        );
        self.row == other.row
            && !self.quad
            && !other.quad
            && (!immediate || self.inst.imm == other.inst.imm)
    }
}

impl DmemAccess {
    /// Returns the values loaded to the lower and to the upper half of a vector.
    pub(super) fn loads(&self) -> Option<[PairValue; 2]> {
        match *self {
            Self::LoadQuad(values, _) | Self::LoadDuplicate(values, _) => Some(values),
            Self::LoadPair(value, _) => Some([value; 2]),
            Self::StoreQuad(..) | Self::StorePair(..) => None,
        }
    }

    /// Returns the values that are stored.
    pub(super) fn stores(&self) -> Option<[PairValue; 2]> {
        match *self {
            Self::StoreQuad(values, _) => Some(values),
            Self::StorePair(value, _) => Some([value; 2]),
            _ => None,
        }
    }

    /// Returns the access with the stored values replaced by `map`.
    pub(super) fn storing(self, map: impl Fn(PairValue) -> PairValue) -> Self {
        match self {
            Self::StoreQuad(values, at) => Self::StoreQuad(values.map(map), at),
            Self::StorePair(value, at) => Self::StorePair(map(value), at),
            load => load,
        }
    }
}

/// A word of a segment.
#[derive(Clone, Debug, Default)]
pub(super) struct SegmentWord {
    pub arith: Option<Arith>,
    pub access: Option<DmemAccess>,
    /// Scalar instructions of the word that depend on a load of the segment.
    pub late: Vec<Id>,
}

/// Result of the first pass.
#[derive(Clone, Debug)]
pub(super) struct SegmentSteps {
    pub arena: Arena,
    /// Scalar instructions and checks before the first word.
    pub top: Vec<Id>,
    /// Checks made once, before the first pass of a loop.
    pub enter: Vec<Id>,
    pub steps: Vec<SegmentWord>,
    /// Number of values.
    pub values: usize,
    /// Values that the pair registers hold at the end.
    pub last: PairValues,
    /// Instructions that write scalars back.
    pub scalars: Vec<Id>,
    /// Next value, in a loop's next pass, of each scalar whose first value is an address root.
    pub next: HashMap<Id, Sum>,
}

pub(super) struct FirstPass {
    pub out: SegmentSteps,
    /// `[value]`: true if it depends on a load of the segment.
    pub late: Vec<bool>,
    /// Current value of each scalar; `None` before its first use.
    pub scalars: [Option<Sum>; SCALARS],
    groups: AccessGroups,
    /// Instructions of the current word.
    pub pending: Vec<Id>,
}

/// Takes words as long as they belong to one segment; returns `None` if even the first does not.
///
/// If all of them are a loop's body, walks round circular buffers that are regular with the scalars
/// `assume` are checked once, before the first pass (see [`super::address_checks`]).
pub(super) fn steps(
    words: &[Decoded],
    dmem_bytes: u32,
    assume: Option<&Shared>,
) -> Option<SegmentSteps> {
    let mut pass = FirstPass {
        out: SegmentSteps {
            arena: Arena::default(),
            top: Vec::new(),
            enter: Vec::new(),
            steps: Vec::new(),
            values: REGISTERS,
            last: std::array::from_fn(|i| i as PairValue),
            scalars: Vec::new(),
            next: HashMap::new(),
        },
        late: Vec::new(),
        scalars: [None; SCALARS],
        groups: AccessGroups::default(),
        pending: Vec::new(),
    };
    for decoded in words {
        if !pass.word(decoded) {
            break;
        }
    }
    (!pass.out.steps.is_empty()).then_some(())?;
    if let (Some(now), true) = (assume, pass.out.steps.len() == words.len()) {
        pass.walks(dmem_bytes, now);
    }
    pass.finish(dmem_bytes)
}

impl FirstPass {
    fn word(&mut self, decoded: &Decoded) -> bool {
        // Emitted code has the base rows only: one address for all sections, aligned vectors, sections side by side.
        let base_row = |inst: &cp2_asm::isa::Inst| inst.row().requires.is_empty();
        if !base_row(&decoded.word.arith) || !base_row(&decoded.word.mem) {
            return false;
        }
        if let Action::Memory(op) = decoded.action {
            let AddressOperand::Shared(address) = op.place else {
                return false;
            };
            let base = self.scalar(Scalar::address(address.base));
            if self.is_late(base.root) || base.add.abs() > FAR {
                return false;
            }
        }
        // The engine executes control operations at the end; a branch that the block continues
        // behind was tested before the segment.
        let leaves = matches!(
            decoded.action,
            Action::Control(ControlOp::Wait { .. } | ControlOp::Signal { .. } | ControlOp::Stop)
        );
        if leaves || decoded.expect.is_some() && !self.out.steps.is_empty() {
            return false;
        }
        let before = self.out.last;
        let mut step = SegmentWord::default();
        if decoded.computes {
            match self.arith(&decoded.word.arith, &before) {
                Some(arith) => step.arith = arith,
                None => return false,
            }
        }
        match decoded.action {
            Action::Memory(op) => {
                let Some(access) = self.memory(op, &before) else {
                    return false;
                };
                step.access = access;
            }
            Action::Scalar(op) => self.compute(op),
            Action::Control(_)
            | Action::Exchange(_)
            | Action::Mask(_)
            | Action::Vote(_)
            | Action::Nop => {}
        }
        step.late = std::mem::take(&mut self.pending);
        self.out.steps.push(step);
        true
    }

    fn fresh(&mut self, register: u8) -> PairValue {
        let value = self.out.values as PairValue;
        self.out.values += 1;
        self.out.last[usize::from(register) % PAIRS] = value;
        value
    }

    /// Returns `None` for a row that is not emitted, `Some(None)` for one that only renames
    /// registers.
    fn arith(&mut self, inst: &cp2_asm::isa::Inst, before: &PairValues) -> Option<Option<Arith>> {
        let mut registers = Vec::new();
        let mut quad = false;
        let operands = inst.row().form.operands();
        let kinds = operands
            .iter()
            .filter(|o| matches!(o.kind, Kind::Pair | Kind::Quad));
        for (operand, &r) in kinds.zip(&inst.r) {
            let couple = match operand.kind {
                Kind::Quad => {
                    quad = true;
                    [2 * r, 2 * r + 1]
                }
                _ => [r, r],
            };
            registers.push((operand.role.writes(), couple));
        }
        let read = |r: u8| before[usize::from(r) % PAIRS];
        let ins: Vec<[PairValue; 2]> = registers
            .iter()
            .filter(|(writes, _)| !writes)
            .map(|(_, r)| r.map(read))
            .collect();
        let written: Vec<[u8; 2]> = registers
            .iter()
            .filter(|(writes, _)| *writes)
            .map(|(_, r)| *r)
            .collect();
        let renamed = match (inst.op, ins.as_slice()) {
            (Op::MovP | Op::MovQ, [a]) => Some(*a),
            (Op::TrnloQ, [a, b]) => Some([a[0], b[0]]),
            (Op::TrnhiQ, [a, b]) => Some([a[1], b[1]]),
            (Op::ExtQ, [a, b]) if inst.imm == 2 => Some([a[1], b[0]]),
            _ => None,
        };
        if let (Some(values), [d]) = (renamed, written.as_slice()) {
            for (&r, value) in d.iter().zip(values) {
                self.out.last[usize::from(r) % PAIRS] = value;
            }
            return Some(None);
        }
        let row = row(inst.op)?;
        let outs = written
            .iter()
            .map(|&[lo, hi]| {
                let first = self.fresh(lo);
                [first, if hi == lo { first } else { self.fresh(hi) }]
            })
            .collect();
        Some(Some(Arith {
            row,
            inst: *inst,
            quad,
            ins,
            outs,
        }))
    }

    fn memory(
        &mut self,
        op: crate::semantics::action::MemoryOp,
        before: &PairValues,
    ) -> Option<Option<DmemAccess>> {
        let AddressOperand::Shared(address) = op.place else {
            return None;
        };
        let base = self.scalar(Scalar::address(address.base));
        let offset = match address.mode {
            Mode::Offset(offset) => offset,
            _ => 0,
        };
        let at = DmemAddress {
            base: base.root,
            offset: base.add + offset,
        };
        self.groups.note(at, op.bytes);
        let read = |r: u8| before[usize::from(r) % PAIRS];
        let access = match op.data {
            Data::Load { first, count: 1 } => Some(DmemAccess::LoadPair(self.fresh(first), at)),
            Data::Load { first, count: 2 } => {
                let lo = self.fresh(first);
                Some(DmemAccess::LoadQuad([lo, self.fresh(first + 1)], at))
            }
            Data::LoadDuplicate { first } => {
                let lo = self.fresh(first);
                Some(DmemAccess::LoadDuplicate([lo, self.fresh(first + 1)], at))
            }
            Data::Store { first, count: 1 } => Some(DmemAccess::StorePair(read(first), at)),
            Data::Store { first, count: 2 } => {
                Some(DmemAccess::StoreQuad([read(first), read(first + 1)], at))
            }
            Data::LoadScalars { first, count } => {
                // The address update comes last, as in the reference engine.
                let next = self.next(address, base, op.bytes);
                for i in 0..count {
                    let word = DmemAddress {
                        offset: at.offset + 4 * i32::from(i),
                        ..at
                    };
                    let id = self.list(IrInstruction::LoadWord(word), true);
                    self.set_sum(Scalar(first.0 + i), Sum { root: id, add: 0 });
                }
                if let Some(next) = next {
                    self.set_sum(Scalar::address(address.base), next);
                }
                return Some(None);
            }
            _ => return None,
        };
        if let Some(next) = self.next(address, base, op.bytes) {
            self.set_sum(Scalar::address(address.base), next);
        }
        Some(access)
    }

    /// Finds the pointers that only walk round a buffer, and replaces their checks by one before
    /// the first pass.
    fn walks(&mut self, dmem_bytes: u32, now: &Shared) {
        let unchanged = |pass: &Self, id: Id| match pass.out.arena.get(id) {
            IrInstruction::Scalar(i) => {
                let found = Sum { root: id, add: 0 };
                pass.scalars[usize::from(i) % SCALARS].is_none_or(|last| last == found)
            }
            _ => false,
        };
        for register in 0..Address::MODULO_REGISTERS {
            let Some(Sum { root, add: 0 }) = self.scalars[usize::from(register)] else {
                continue;
            };
            let arena = &self.out.arena;
            let Some(walk) = CircularWalk::find(arena, register, root, |id| unchanged(self, id))
            else {
                continue;
            };
            let entered = self.groups.enter(&walk, arena, dmem_bytes, now);
            let Some(entered) = entered else {
                continue;
            };
            for inst in entered {
                self.out.enter.push(self.out.arena.add(inst).0);
            }
            walk.simplify(&mut self.out.arena, &mut self.out.top);
        }
    }

    fn finish(mut self, dmem_bytes: u32) -> Option<SegmentSteps> {
        for check in self.groups.checks(dmem_bytes)? {
            let (id, _) = self.out.arena.add(check);
            self.out.top.push(id);
        }
        for i in 0..SCALARS {
            let Some(sum) = self.scalars[i] else { continue };
            if self.out.arena.get(sum.root) == IrInstruction::Scalar(i as u8) && sum.add == 0 {
                continue;
            }
            if !self.is_late(sum.root) && sum.add.abs() <= FAR {
                let begin = self.root(IrInstruction::Scalar(i as u8)).root;
                self.out.next.insert(begin, sum);
            }
            // Writing back may already have overwritten a scalar that the segment found, so a copy
            // is made.
            let value = if matches!(self.out.arena.get(sum.root), IrInstruction::Scalar(_)) {
                self.root(IrInstruction::Offset(sum.root, sum.add)).root
            } else {
                self.value(sum)
            };
            let (id, _) = self.out.arena.add(IrInstruction::SetScalar(i as u8, value));
            self.out.scalars.push(id);
        }
        // Sums of loaded scalars that are only needed to write scalars back.
        let rest = std::mem::take(&mut self.pending);
        if let Some(step) = self.out.steps.last_mut() {
            step.late.extend(rest);
        }
        Some(self.out)
    }
}
