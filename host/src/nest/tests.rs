//! Tests of nests as values, without an emulator.

mod drawn;
mod kept;
mod last_store;
mod march;

use super::*;
use crate::schedule::BlocksPerSection;
use cp2_machine::Machine;

#[test]
fn kinds_stand_for_every_page() {
    let machine = Machine::builtin("vm7").unwrap();
    let shape = [9, 40, 200];
    let block = [1, 4, 16];
    let field = GridField::new("u", 1 << 20, 4, shape, block).halo([1, 1, 1], BoundaryRule::Zero);
    let sweep = GridPass {
        zeros: (0, 4096),
        size: BlocksPerSection::Fixed(2),
        ..GridPass::new(
            vec![field],
            vec![GridField::new("v", 2 << 20, 4, shape, block)],
        )
    };
    let nest = GridPlan::new(sweep, &machine).unwrap();
    // Every page belongs to exactly one kind.
    let pages: u64 = nest.kinds().iter().map(Kind::pages).sum();
    assert_eq!(pages, nest.len());
    // The transfers and words of a kind are those that are made for each page alone.
    let maker = nest.maker();
    let [_, rows, columns] = nest.digits();
    for k in 0..nest.len() {
        let own = maker
            .page([k / columns / rows, k / columns % rows, k % columns])
            .unwrap();
        let at = |d: &cp2_dma::Descriptor, index: usize| {
            let mut d = d.clone();
            d.local = d.local - nest.places[index][0]
                + nest.places[index][(k % nest.degree() as u64) as usize];
            d
        };
        let loads: Vec<_> = own
            .loads
            .iter()
            .map(|m| (m.stream, at(&m.descriptor, m.stream)))
            .collect();
        assert_eq!(
            nest.transfers(cp2_dma::Direction::Load, k),
            loads,
            "page {k}"
        );
        let stores: Vec<_> = own
            .stores
            .iter()
            .map(|m| (m.stream, at(&m.descriptor, 1 + m.stream)))
            .collect();
        assert_eq!(
            nest.transfers(cp2_dma::Direction::Store, k),
            stores,
            "page {k}"
        );
    }
    let json = serde_json::to_string(&nest).unwrap();
    assert_eq!(serde_json::from_str::<GridPlan>(&json).unwrap(), nest);
}

/// The whole result of a reduction is stored, row by row, from section 0; a result larger than its block is
/// refused.
#[test]
fn a_reduction_stores_every_row_of_its_result() {
    let machine = Machine::builtin("vm7").unwrap();
    let result = |shape, block| GridPass {
        zeros: (0, 4096),
        partials: Some(3 << 20),
        ..GridPass::new(
            vec![GridField::new("x", 1 << 20, 4, [1, 1, 100], [1, 1, 16])],
            vec![GridField::new("y", 2 << 20, 4, shape, block)],
        )
    };
    let nest = GridPlan::new(result([2, 3, 4], [2, 3, 8]), &machine).unwrap();
    let mut rows = Vec::new();
    for store in &nest.result {
        for run in store.runs(&machine) {
            assert_eq!(run.to, cp2_dma::Recipient::Section(0));
            let from = u64::from(run.local) - u64::from(nest.places[1][0]);
            let quads = run.bytes / 16;
            rows.extend(
                (0..quads).map(|quad| (run.system - (2 << 20) + 16 * quad, from + 16 * quad)),
            );
        }
    }
    let expected: Vec<(u64, u64)> = (0..6).map(|row| (16 * row, 32 * row)).collect();
    assert_eq!(rows, expected);
    let refused = GridPlan::new(result([2, 3, 4], [1, 3, 4]), &machine).unwrap_err();
    assert!(refused.to_string().contains("2x3x4"), "{refused}");
}

/// With shares for sections, a block is left the last rows that the block before has computed, which it would
/// otherwise load and compute itself. Only the first block of a share loads the rows that these take.
#[test]
fn blocks_hand_rows_over_to_the_next_ones_of_their_sections() {
    use cp2_dma::{Direction, Recipient};
    let machine = Machine::builtin("vm7").unwrap();
    let [planes, rows, row] = [5u64, 22, 16];
    let [from, to, kept] = [1u64 << 20, 2 << 20, 3 << 20];
    // Six blocks of four rows, the last one half empty, for four sections: shares of two blocks, of which the
    // last has none.
    let (block, halo, blocks, share) = (4u64, 1u64, 6u64, 2u64);
    let shape = [planes, rows, row];
    let input =
        GridField::new("v", from, 4, shape, [1, block, row]).halo([0, halo, 0], BoundaryRule::Zero);
    let handed = GridField::new("handed", kept, 4, [planes, 2 * blocks, row], [1, 2, row]);
    let inputs = vec![
        input.opening(FirstLoad::Further(2)),
        handed
            .clone()
            .offset([0, -2, 0])
            .place_in_input(0, [0, -1])
            .opening(FirstLoad::Nothing),
    ];
    let outputs = vec![
        GridField::new("r", to, 4, shape, [1, block, row]).place_in_input(0, [0, 0]),
        handed.place_in_input(0, [0, 3]),
    ];
    let sweep = GridPass {
        march: Some(March::Planes),
        grid: Some([planes, blocks, 1]),
        shares: true,
        zeros: (0, 4096),
        size: BlocksPerSection::Fixed(1),
        ..GridPass::new(inputs, outputs)
    };
    let nest = GridPlan::new(sweep.clone(), &machine).unwrap();
    assert_eq!(nest.digits(), [planes, share, 1]);
    let line = row * 4;
    let window = nest.places[0].clone();
    for k in 0..nest.len() {
        let (z, digit) = (k % planes, k / planes);
        let buffer = u64::from(window[(k % nest.degree() as u64) as usize]);
        assert_eq!(
            nest.arguments(k)[nest.layout().word(argument_words::OPENS)],
            u32::from(digit == 0)
        );
        // For each section, the rows of its window: `v` from the array, `h` from other blocks, `0` zeros.
        let mut filled = [[' '; 6]; 4];
        for (stream, load) in nest.transfers(Direction::Load, k) {
            for run in load.runs(&machine) {
                let Recipient::Section(section) = run.to else {
                    panic!("page {k}: {run:?}");
                };
                let section = section as usize;
                let first = (u64::from(run.local) - buffer) / line;
                for i in 0..run.bytes / line {
                    let own = section as u64 * share + digit;
                    let at = (first + i) as usize;
                    let row = (own * block + first + i) as i64 - halo as i64;
                    let lies = run.system + i * line;
                    if run.system < 4096 {
                        filled[section][at] = '0';
                        continue;
                    }
                    let (base, number) = match stream {
                        0 => (from + z * rows * line, row as u64),
                        _ => (kept + z * 2 * blocks * line, 2 * (own - 1) + first + i),
                    };
                    assert_eq!(lies, base + number * line, "page {k}, section {section}");
                    filled[section][at] = if stream == 0 { 'v' } else { 'h' };
                }
            }
        }
        for (section, rows) in filled.iter().enumerate() {
            let rows: String = rows.iter().collect();
            let expected = match (section, digit) {
                (0, 0) => "0vvvvv",
                (_, 0) if section < 3 => "vvvvvv",
                // The array ends in the block's window.
                (2, 1) => "hhv000",
                (3, _) => "000000",
                _ => "hhvvvv",
            };
            assert_eq!(rows, expected, "page {k}, section {section}");
        }
        for (stream, store) in nest.transfers(Direction::Store, k) {
            for run in store.runs(&machine) {
                let Recipient::Section(section) = run.to else {
                    panic!("page {k}: {run:?}");
                };
                let section = section as u64;
                let own = section * share + digit;
                let first = (u64::from(run.local) - buffer) / line;
                let (base, number, at) = match stream {
                    0 => (to + z * rows * line, own * block, halo),
                    _ => (kept + z * 2 * blocks * line, 2 * own, halo + 3),
                };
                assert_eq!((run.system, first), (base + number * line, at), "page {k}");
            }
        }
    }
    let refused = |change: &dyn Fn(&mut GridPass)| {
        let mut sweep = sweep.clone();
        change(&mut sweep);
        GridPlan::new(sweep, &machine).unwrap_err().to_string()
    };
    let apart = refused(&|sweep| sweep.shares = false);
    assert!(apart.contains("shares of their own"), "{apart}");
    let beyond =
        refused(&|sweep| sweep.outputs[1] = sweep.outputs[1].clone().place_in_input(0, [0, 4]));
    assert!(beyond.contains("`handed`"), "{beyond}");
    let later =
        refused(&|sweep| sweep.inputs[1] = sweep.inputs[1].clone().place_in_input(1, [0, 0]));
    assert!(later.contains("no room"), "{later}");
}

/// Pages begin before their arrays: the planes of an input wrap around its edge, and an output comes three
/// pages behind it. Every plane and row is loaded as often as pages ask for it, and stored once.
#[test]
fn streams_may_begin_before_their_arrays() {
    use cp2_dma::Direction;
    let machine = Machine::builtin("vm7").unwrap();
    let [planes, rows, row] = [5u64, 10, 16];
    let [from, to] = [1u64 << 20, 2 << 20];
    let shape = [planes, rows, row];
    let block = [1, 2, row];
    let input = GridField::new("u", from, 4, shape, block);
    let input = input
        .halo([0, 1, 0], BoundaryRule::Periodic)
        .offset([-2, 0, 0]);
    let output = GridField::new("v", to, 4, shape, block).offset([-3, 0, 0]);
    let sweep = GridPass {
        march: Some(March::Planes),
        grid: Some([planes + 3, 5, 1]),
        size: BlocksPerSection::Fixed(1),
        ..GridPass::new(vec![input], vec![output])
    };
    let nest = GridPlan::new(sweep, &machine).unwrap();
    assert_eq!(nest.digits(), [planes + 3, 2, 1]);
    let mut stored = vec![0; (planes * rows) as usize];
    for k in 0..nest.len() {
        let z = k % (planes + 3);
        for (_, load) in nest.transfers(Direction::Load, k) {
            for run in load.runs(&machine) {
                let plane = (run.system - from) / (rows * row * 4);
                assert_eq!(plane, (z + planes - 2) % planes, "page {k}");
            }
        }
        for (_, store) in nest.transfers(Direction::Store, k) {
            for run in store.runs(&machine) {
                let first = (run.system - to) / (row * 4);
                for line in first..first + run.bytes / (row * 4) {
                    assert_eq!(line / rows + 3, z, "page {k}");
                    stored[line as usize] += 1;
                }
            }
        }
    }
    assert!(stored.iter().all(|&times| times == 1), "{stored:?}");
}
