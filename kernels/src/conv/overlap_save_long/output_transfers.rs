//! The transfers that store the outputs of inverse columns.

use super::pages::{LongPage, LongPhase};
use super::shape::LongBlockShape;
use crate::conv::block_filter::COMPLEX;
use cp2_dma::{Descriptor, Target};

impl LongPhase {
    /// Returns the stores of the outputs of a page of columns: whole rows, and where the overlap ends in the
    /// middle of a row, the rest of that row.
    pub(super) fn outputs(&self, place: &LongPage, local: u32) -> Vec<Descriptor> {
        let (b, store) = (&self.blocks, Descriptor::store);
        let LongBlockShape { cut, overlap, .. } = b.shape;
        let wide = cut.columns() * b.shape.sections;
        let (row, column) = (overlap / cut.row, overlap % cut.row);
        let columns = place.number as usize * wide..(place.number as usize + 1) * wide;
        // Address of output 0 of the block, and of number `at` of the block.
        let first = self.array_block_address(b.at.y, place);
        let behind = |at: usize| first + (at - overlap) as u64 * COMPLEX;
        let tile = |row: usize| {
            let at = row * cut.row + columns.start;
            b.tile(store, behind(at), local, row)
        };
        if column <= columns.start {
            return vec![tile(row)];
        }
        let rest = columns.end.saturating_sub(column);
        let part = (rest > 0).then(|| {
            let own = (row * wide + column - columns.start) / b.shape.sections;
            let local = local + (own as u64 * COMPLEX) as u32;
            store(Target::Deal, behind(overlap), local, rest as u64 * COMPLEX)
        });
        part.into_iter().chain([tile(row + 1)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::{LongAddresses, LongBlocks, LongPageKind};
    use super::super::phase_buffers::PrefetchRoom;
    use super::super::schedule::{BlockGroup, PhaseShare};
    use super::super::shape::{CUTS, PAGE};
    use super::*;
    use cp2_machine::Machine;

    /// For every end of the overlap, the pages of a block store each output once, from where inverse columns
    /// leave it.
    #[test]
    fn pages_of_columns_cover_the_outputs() {
        let machine = Machine::builtin("vm7").unwrap();
        let sections = machine.cp2.sections;
        let n = 8;
        for cut in CUTS {
            let wide = cut.columns() * sections;
            let ends = [n, wide - n, wide, wide + n, 2 * wide + n, cut.row - n, 0];
            for overlap in ends.into_iter().flat_map(|end| [end, 3 * cut.row + end]) {
                let shape = LongBlockShape {
                    cut,
                    sections,
                    together: 1,
                    overlap,
                };
                let pages = shape.pages().unwrap() as u64;
                let unit = BlockGroup {
                    first: 2,
                    blocks: 1,
                };
                let share = PhaseShare {
                    kind: LongPageKind::Back,
                    number: 0,
                    unit,
                    start: 0,
                    nth: (0, 1),
                    rotated: 0,
                };
                let phase = LongPhase {
                    blocks: LongBlocks {
                        shape,
                        pages,
                        at: LongAddresses::NOWHERE,
                    },
                    kinds: vec![share],
                    steps: pages,
                    room: PrefetchRoom::One,
                    taps: [0; 2],
                };
                let mut from = vec![None; shape.outputs()];
                for page in 0..pages {
                    let place = phase.place(page);
                    let stores = phase.outputs(&place, 64);
                    let runs = stores.iter().flat_map(|store| store.runs(&machine));
                    for run in runs {
                        // Two numbers go to each section in turn.
                        for i in 0..run.bytes as usize / 8 {
                            let first = phase.blocks.at.y + 16 * shape.outputs() as u64;
                            let output = (run.system - first) as usize / 8 + i;
                            let local = (run.local as usize - 64) / 8 + i / n * 2 + i % 2;
                            let place = (page as usize, i / 2 % sections, local);
                            assert_eq!(from[output].replace(place), None, "{cut:?} {overlap}");
                        }
                    }
                }
                for (output, from) in from.into_iter().enumerate() {
                    let (row, column) =
                        ((overlap + output) / cut.row, (overlap + output) % cut.row);
                    let (page, section, local) = from.unwrap();
                    assert!(local < PAGE, "{cut:?} {overlap}");
                    assert_eq!(row, local / cut.columns(), "{cut:?} {overlap}");
                    let own = shape.columns(page, section)[local % cut.columns()];
                    assert_eq!(column, own, "{cut:?} {overlap}: output {output}");
                }
            }
        }
    }
}
