//! Tests of the last page that stores a part of an output.

use super::*;
use cp2_dma::Direction;
use proptest::prelude::*;

const ELEMENT: u64 = 4;
const OUTPUT: u64 = 1 << 28;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Behind the page that is found no page stores a byte of the box, and that page does.
    #[test]
    fn no_later_page_stores_a_part_of_the_box(
        planes in 2u64..8,
        rows in 2u64..24,
        height in 1u64..5,
        late in 0u64..4,
        shares in any::<bool>(),
        sections in 1usize..5,
        first in (0u64..8, 0u64..24),
        count in (1u64..4, 1u64..6),
    ) {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.cp2.sections = sections;
        let (shape, block) = ([planes, rows, 8], [1, height, 8]);
        let input = GridField::new("u", 1 << 20, ELEMENT, shape, block);
        let output = GridField::new("v", OUTPUT, ELEMENT, shape, block);
        let sweep = GridPass {
            march: Some(March::Planes),
            shares,
            grid: Some([planes + late, rows.div_ceil(height), 1]),
            size: BlocksPerSection::Fixed(1),
            ..GridPass::new(vec![input], vec![output.offset([-(late as i64), 0, 0])])
        };
        let nest = GridPlan::new(sweep, &machine).unwrap();
        let (first, count) = ([first.0, first.1], [count.0, count.1]);
        let lines = [0, 1].map(|axis| first[axis]..first[axis] + count[axis]);
        let stores = |page: u64| {
            nest.transfers(Direction::Store, page).iter().any(|(_, transfer)| {
                transfer.runs(&machine).into_iter().any(|run| {
                    (0..run.bytes).step_by(4).any(|at| {
                        let element = (run.system + at - OUTPUT) / ELEMENT;
                        let row = element / 8;
                        lines[0].contains(&(row / rows)) && lines[1].contains(&(row % rows))
                    })
                })
            })
        };
        let expected = (0..nest.len()).rev().find(|&page| stores(page));
        prop_assert_eq!(nest.find_last_store(0, lines.clone()), expected);
    }
}
