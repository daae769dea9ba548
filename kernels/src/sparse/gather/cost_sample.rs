//! The cost of a division, by some of its blocks.

use super::block::DOUBLE_SINGLE_ISSUES;
use super::group_pairs::{self, GroupPair};
use super::lane_masks::Masks;
use super::layout::{self, BlockGrid, LayoutOption};
use super::packing::block;
use super::slot_assignment::{ColumnLanes, ColumnValues, LaneMask, MultiplicationSlot};
use crate::sparse::work::PackingWork;
use cp2_machine::Machine;
use cp2_problems::sparse::SparseMatrix;
use smallvec::SmallVec;
use std::collections::HashMap;

/// Approximate number of entries that are looked at.
const SAMPLED_ENTRIES: usize = 200_000;

/// Cycles of a page between two segments in addition to the load: the way to the control CPU and back, and
/// its words.
const SEGMENT_TURN_CYCLES: f64 = 120.0;

/// Operations for a load of a slot: its places are joined twice to those of the others, and counted as asked
/// for.
const LOAD_OPERATIONS: u64 = 7;
/// Operations for a slot: its filled places are compared with all places, and with those of one section.
const SLOT_OPERATIONS: u64 = 8;
/// Operations for a column of a multiplication: it is put into a list, and compared with the one before.
const COLUMN_OPERATIONS: u64 = 5;

/// Sample of the blocks of a product.
#[derive(Debug)]
pub(super) struct BlockSample {
    /// Number of times that each set of places was asked for.
    asked: HashMap<LaneMask, u64>,
    /// Expected cycles of all blocks.
    pub(super) cycles: f64,
    /// Operations of both slots of the blocks, and bytes of their values.
    operations: [f64; 2],
    bytes: f64,
    /// Bytes that the channel moves in a cycle.
    bandwidth: f64,
}

impl BlockSample {
    /// Samples the blocks of a division at even distances.
    pub(super) fn new(
        matrix: &SparseMatrix,
        numbers: ColumnValues,
        division: &LayoutOption,
        machine: &Machine,
        work: &PackingWork,
    ) -> Self {
        let LayoutOption {
            lanes,
            tiles,
            layout,
        } = division;
        let apart = layout::exclusive_value_bytes(matrix, layout, machine, work) > 0;
        let grid = BlockGrid::new(matrix.rows(), *lanes, machine);
        let step = matrix.nnz().div_ceil(SAMPLED_ENTRIES).max(1);
        let mut sample = Self {
            asked: HashMap::new(),
            cycles: 0.0,
            operations: [0.0; 2],
            bytes: 0.0,
            bandwidth: machine.dma.bandwidth.as_f64(),
        };
        let blocks = tiles
            .iter()
            .flat_map(|tile| tile.blocks.clone().map(move |number| (tile, number)));
        let bandwidth = machine.dma.bandwidth.as_f64();
        for (tile, number) in blocks.step_by(step) {
            let (groups, _) = block(matrix, *lanes, (grid, tile, number), work);
            let shape = (grid.sections, apart, !tile.first);
            let cost = sample.block(&groups, numbers, shape, work);
            let [arithmetic, memory, bytes] = cost;
            let words = arithmetic.max(memory);
            let moved = (8.0 * words + bytes) / bandwidth;
            sample.operations[0] += arithmetic;
            sample.operations[1] += memory;
            sample.bytes += bytes;
            sample.cycles += words.max(moved) * step as f64;
        }
        for tile in tiles.iter().filter(|tile| !tile.loaded) {
            let bytes = grid.bytes(tile.columns.len()) as f64;
            sample.cycles += bytes / bandwidth + SEGMENT_TURN_CYCLES;
            if *lanes == ColumnLanes::Either {
                sample.cycles += bytes / 8.0;
            }
        }
        sample
    }

    /// Returns the arithmetic operations, the operations of the memory slot, and the bytes of values of a
    /// block.
    fn block(
        &mut self,
        groups: &[Vec<MultiplicationSlot>],
        numbers: ColumnValues,
        (sections, apart, adds): (usize, bool, bool),
        work: &PackingWork,
    ) -> [f64; 3] {
        let all: LaneMask = match 2 * sections {
            64.. => LaneMask::MAX,
            places => (1 << places) - 1,
        };
        let (mut arithmetic, mut memory) = (0, 0);
        for slot in groups.iter().flatten() {
            work.add(1, SLOT_OPERATIONS);
            work.add(slot.loads.len(), LOAD_OPERATIONS);
            work.count_lookups(slot.loads.len());
            for load in &slot.loads {
                *self.asked.entry(load.places).or_default() += 1;
            }
            arithmetic += slot.loads.len() - usize::from(slot.filled() == all);
        }
        let order = group_pairs::order(groups, work);
        let quads = order
            .chunks(2)
            .map(|own| GroupPair::new(own, |group| groups[group].len()));
        let mut steps = 0;
        for quad in quads {
            steps += quad.steps();
            for (sides, _) in (0..quad.steps()).filter_map(|step| quad.step(step)) {
                // A pair that both sides take is loaded once.
                let slots = sides.into_iter().flatten();
                let slots = slots.filter_map(|(group, slot)| groups[group].get(slot));
                let mut columns: SmallVec<[u32; 16]> = slots
                    .flat_map(|slot| slot.loads.iter().map(|load| load.column))
                    .collect();
                work.add(columns.len(), COLUMN_OPERATIONS);
                work.count_sort(columns.len(), 1);
                columns.sort_unstable();
                columns.dedup();
                memory += columns.len();
            }
        }
        // Values of one section alone are not loaded for the others, if they lie apart.
        let alone = |slot: &&MultiplicationSlot| {
            let places = slot.filled();
            places & !(0b11 << (places.trailing_zeros() / 2 * 2)) == 0
        };
        let slots = groups.iter().flatten();
        let alone = slots.clone().filter(alone).count() as f64 / slots.count().max(1) as f64;
        let alone = if apart { alone } else { 0.0 };
        let multiplications = match numbers {
            ColumnValues::Complex => groups.iter().map(Vec::len).sum(),
            ColumnValues::DoubleSingle => DOUBLE_SINGLE_ISSUES * steps,
            _ => steps,
        };
        arithmetic += multiplications;
        memory += steps;
        if steps > 0 {
            arithmetic += groups.len() * 3 / 2 + usize::from(adds);
            memory += 1 + usize::from(adds);
        }
        let each = alone + (1.0 - alone) * sections as f64;
        [arithmetic as f64, memory as f64, 16.0 * steps as f64 * each]
    }

    /// Returns the ratio of the cycles that words take to those of their transfer with the values.
    pub(super) fn balance(&self) -> f64 {
        let [arithmetic, memory] = self.operations;
        let words = arithmetic.max(memory);
        let moved = (8.0 * words + self.bytes) / self.bandwidth;
        words / moved.max(1.0)
    }

    /// Returns the masks that select best for these blocks.
    pub(super) fn masks(
        &self,
        lanes: ColumnLanes,
        [sections, room]: [usize; 2],
        work: &PackingWork,
    ) -> Masks {
        Masks::chosen(sections, lanes, (&self.asked, work), room)
    }
}
