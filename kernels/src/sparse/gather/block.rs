//! The operations of a block: for every section as many rows as a quad of the result holds.
//!
//! Rows of a group, one a section, are summed up in a register of their own. Two groups make a quad of operands, so that one
//! multiplication serves both. The sums of a block are added across lanes behind the first multiplications of the next one.

mod address;
mod multiplication;
mod result;

pub(super) use address::{VectorPlace, bases, reachable};

use super::group_pairs::{self, GroupPair, SumDestination};
use super::lane_masks::Masks;
use super::page_values::PageValues;
use super::registers::GatherRegisters;
use super::slot_assignment::{ColumnLanes, ColumnValues, LaneMask, MultiplicationSlot};
use super::word_packing::WordOperations;
use crate::sparse::work::PackingWork;
use address::split_address;
use cp2_asm::isa::{Address, Inst, Op};
use cp2_machine::{Class, Machine};
use std::collections::VecDeque;

/// The rows of a block, their entries dealt.
#[derive(Debug)]
pub(super) struct RowBlock {
    /// For each group the slots of its rows.
    pub(super) groups: Vec<Vec<MultiplicationSlot>>,
    /// The row of each section in each group.
    pub(super) rows: Vec<Vec<usize>>,
    /// Where its result lies.
    pub(super) result: u32,
    /// Whether there is a result of columns before, to which it is added.
    pub(super) adds: bool,
}

/// A multiplication: what was put off compared with what is due, the slots of both sides, the registers of their sums,
/// and whether the page is full.
const STEP: u64 = 40;

/// What is done a while later, so that nothing waits for it.
#[derive(Debug)]
struct DelayedOperation {
    ops: Vec<Inst>,
    /// When: the slot whose operations are counted, and how many.
    due: (usize, usize),
    /// The block that it is of.
    block: usize,
}

/// The operations of blocks, one behind the other.
#[derive(Debug)]
pub(super) struct BlockBuilder<'a> {
    pub(super) ops: WordOperations,
    pub(super) values: PageValues,
    registers: &'a GatherRegisters,
    masks: &'a mut Masks,
    numbers: ColumnValues,
    lanes: ColumnLanes,
    sections: usize,
    /// All places of a register.
    all: LaneMask,
    latency: [usize; 3],
    later: VecDeque<DelayedOperation>,
    blocks: usize,
    work: &'a PackingWork,
}

fn inst(op: Op, r: &[u8]) -> Inst {
    let mut inst = Inst::new(op);
    for (operand, &register) in inst.r.iter_mut().zip(r) {
        *operand = register;
    }
    inst
}

fn access(op: Op, register: u8, addr: Address) -> Inst {
    Inst {
        addr,
        ..inst(op, &[register])
    }
}

impl<'a> BlockBuilder<'a> {
    pub(super) fn new(
        registers: &'a GatherRegisters,
        masks: &'a mut Masks,
        (numbers, lanes): (ColumnValues, ColumnLanes),
        (machine, work): (&Machine, &'a PackingWork),
    ) -> Self {
        let latency = |class: Class| machine.cp2.latency[class].0 as usize;
        let sections = machine.cp2.sections;
        Self {
            ops: WordOperations::default(),
            values: PageValues::new(sections, None),
            registers,
            masks,
            numbers,
            lanes,
            sections,
            all: match 2 * sections {
                64.. => LaneMask::MAX,
                places => (1 << places) - 1,
            },
            latency: [Class::Madd, Class::Add, Class::Load].map(latency),
            later: VecDeque::new(),
            blocks: 0,
            work,
        }
    }

    /// Values that one section alone needs are loaded from here on.
    pub(super) fn load_single_section_values(&mut self, apart: Option<u32>) {
        self.values = PageValues::new(self.sections, apart);
    }

    /// What was put off and is due, or of blocks before `block`.
    fn catch_up(&mut self, block: usize) {
        while let Some(first) = self.later.front() {
            let (slot, count) = first.due;
            if self.ops.counts()[slot] < count && first.block >= block {
                return;
            }
            let Some(later) = self.later.pop_front() else {
                return;
            };
            for op in later.ops {
                self.ops.push(op);
            }
        }
    }

    /// Everything that was put off: the page ends here.
    pub(super) fn settle(&mut self) -> (WordOperations, PageValues) {
        self.catch_up(usize::MAX);
        (
            std::mem::take(&mut self.ops),
            std::mem::take(&mut self.values),
        )
    }

    fn put_off(&mut self, ops: Vec<Inst>, slot: usize, by: usize) {
        let due = (slot, self.ops.counts()[slot] + by);
        let block = self.blocks;
        self.later.push_back(DelayedOperation { ops, due, block });
    }

    /// The operations of a block; `page` ends a page where one is full.
    pub(super) fn block<E>(
        &mut self,
        block: &RowBlock,
        x: VectorPlace,
        mut page: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = self.blocks;
        let order = group_pairs::order(&block.groups, self.work);
        let quads: Vec<GroupPair> = order
            .chunks(2)
            .map(|groups| GroupPair::new(groups, |group| block.groups[group].len()))
            .collect();
        let most = quads.iter().map(GroupPair::steps).max();
        for step in 0..most.unwrap_or(0) {
            for (q, quad) in quads.iter().enumerate() {
                let Some((sides, into)) = quad.step(step) else {
                    continue;
                };
                // What a block before has in the registers of extra sums is added up first.
                self.catch_up(match into {
                    SumDestination::Extra => number,
                    SumDestination::Pair => number.saturating_sub(1),
                });
                let slot = |side: Option<(usize, usize)>| {
                    let (group, number) = side?;
                    Some((group, block.groups[group].get(number)?))
                };
                let slots = sides.map(slot);
                let (sum, first) = match (into, self.lanes) {
                    // Both sides of numbers that take both lanes are the same sum.
                    (SumDestination::Extra, ColumnLanes::Both) => {
                        let pair = 2 * self.registers.accumulator(number, q);
                        ([pair; 2], [step == 0, false])
                    }
                    (SumDestination::Extra, _) => {
                        let pair = 2 * self.registers.extra(q);
                        ([pair, pair + 1], [step == quad.paired; 2])
                    }
                    (SumDestination::Pair, _) => {
                        let pair = 2 * self.registers.accumulator(number, q);
                        ([pair, pair + 1], [step == 0; 2])
                    }
                };
                self.work.add(1, STEP);
                self.step(block, slots, (sum, first), x);
                page(self)?;
            }
        }
        if !self.is_empty(block) {
            self.result(block, &order, &quads);
        } else if !block.adds {
            let zero = self.registers.zero();
            self.ops
                .push(access(Op::StQ, zero, split_address(block.result)));
        }
        self.blocks += 1;
        Ok(())
    }

    fn is_empty(&self, block: &RowBlock) -> bool {
        block.groups.iter().all(Vec::is_empty)
    }
}
