//! The operations of a block of rows.
//!
//! A block has as many rows of every section as a quad of the result holds.
//!
//! The rows of a group, one for each section, are summed up in a register of their own. Two groups make a
//! quad of operands, so that one multiplication serves both. The sums of a block are added across lanes
//! behind the first multiplications of the next block.

mod address;
mod double_single;
mod multiplication;
mod result;

pub(super) use address::{VectorPlace, bases, reachable};
pub(super) use double_single::DOUBLE_SINGLE_ISSUES;

use super::group_pairs::{self, GroupPair, SumDestination};
use super::lane_masks::Masks;
use super::page_values::PageValues;
use super::registers::GatherRegisters;
use super::slot_assignment::{ColumnLanes, ColumnValues, LaneMask, MultiplicationSlot};
use super::word_packing::WordOperations;
use crate::sparse::work::PackingWork;
use address::split_address;
use cp2_asm::isa::{Address, AddressOperand, Inst, Op};
use cp2_machine::{Class, Machine};
use double_single::UnfinishedProduct;
use std::collections::VecDeque;

/// Rows of a block, with their entries assigned to slots.
#[derive(Debug)]
pub(super) struct RowBlock {
    /// Slots of the rows of each group.
    pub(super) groups: Vec<Vec<MultiplicationSlot>>,
    /// Row of each section in each group.
    pub(super) rows: Vec<Vec<usize>>,
    /// DMEM address of its result.
    pub(super) result: u32,
    /// True if the block adds to a result of earlier columns.
    pub(super) adds: bool,
}

/// Operations for a multiplication: delayed operations are compared with those due; the slots of both sides,
/// the registers of their sums, and whether the page is full.
const STEP_OPERATIONS: u64 = 40;

/// Operations that are issued some time later, so that nothing waits for their operands.
#[derive(Debug)]
struct DelayedOperation {
    ops: Vec<Inst>,
    /// Due time: the slot whose operations are counted, and the count.
    due: (usize, usize),
    /// Number of the block that the operations belong to.
    block: usize,
}

/// Builds the operations of blocks, one behind the other.
#[derive(Debug)]
pub(super) struct BlockBuilder<'a> {
    pub(super) ops: WordOperations,
    pub(super) values: PageValues,
    registers: &'a GatherRegisters,
    masks: &'a mut Masks,
    numbers: ColumnValues,
    lanes: ColumnLanes,
    sections: usize,
    /// Mask of all places of a register.
    all: LaneMask,
    latency: [usize; 3],
    later: VecDeque<DelayedOperation>,
    /// Multiplications in double-single precision that are not yet added up: the last one, and the one before.
    products: [Option<UnfinishedProduct>; 2],
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

fn access(op: Op, register: u8, address: Address) -> Inst {
    Inst {
        place: AddressOperand::Shared(address),
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
            latency: match numbers {
                ColumnValues::Double => [Class::DoubleMadd, Class::DoubleAdd, Class::Load],
                _ => [Class::Madd, Class::Add, Class::Load],
            }
            .map(latency),
            later: VecDeque::new(),
            products: [None; 2],
            blocks: 0,
            work,
        }
    }

    /// Makes the values that one section alone needs be loaded from address `apart` on.
    pub(super) fn load_single_section_values(&mut self, apart: Option<u32>) {
        self.values = PageValues::new(self.sections, apart);
    }

    /// Issues the delayed operations that are due, and those of blocks before `block`.
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

    /// Issues all delayed operations and returns the operations and values: the page ends here.
    pub(super) fn finish_page(&mut self) -> (WordOperations, PageValues) {
        self.finish_products();
        self.catch_up(usize::MAX);
        (
            std::mem::take(&mut self.ops),
            std::mem::take(&mut self.values),
        )
    }

    /// Delays operations until `by` more operations of a slot have been issued.
    fn delay_operations(&mut self, ops: Vec<Inst>, slot: usize, by: usize) {
        let due = (slot, self.ops.counts()[slot] + by);
        let block = self.blocks;
        self.later.push_back(DelayedOperation { ops, due, block });
    }

    /// Issues the operations of a block; `page` ends a page where one is full.
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
                // Sums that an earlier block has left in the registers of extra sums are added up first.
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
                    // If a number takes both lanes, both sides belong to the same sum.
                    (SumDestination::Extra, ColumnLanes::Both) if !self.has_lower_parts() => {
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
                self.work.add(1, STEP_OPERATIONS);
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

    /// Returns true if sums have registers for their lower parts.
    fn has_lower_parts(&self) -> bool {
        self.numbers == ColumnValues::DoubleSingle
    }

    fn is_empty(&self, block: &RowBlock) -> bool {
        block.groups.iter().all(Vec::is_empty)
    }
}
