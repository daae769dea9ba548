//! Nests as values, without an emulator.

mod march;

use super::*;
use crate::schedule::BlocksPerSection;
use cp2_machine::Machine;

#[test]
fn kinds_stand_for_every_page() {
    let machine = Machine::builtin("vm7").unwrap();
    let shape = [9, 40, 200];
    let block = [1, 4, 16];
    let field = Field::new("u", 1 << 20, 4, shape, block).halo([1, 1, 1], Edge::Zero);
    let sweep = Sweep {
        zeros: (0, 4096),
        size: BlocksPerSection::Fixed(2),
        ..Sweep::new(vec![field], vec![Field::new("v", 2 << 20, 4, shape, block)])
    };
    let nest = Nest::new(sweep, &machine).unwrap();
    // Every page is of one kind.
    let pages: u64 = nest.kinds().iter().map(Kind::pages).sum();
    assert_eq!(pages, nest.len());
    // What a kind says of a page is what is made for that page alone.
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
    assert_eq!(serde_json::from_str::<Nest>(&json).unwrap(), nest);
}

/// Pages that begin before their arrays: an input whose planes go round its edge, and an output that comes three pages behind it. Every plane and row is
/// loaded as often as pages ask for it, and stored once.
#[test]
fn streams_may_begin_before_their_arrays() {
    use cp2_dma::Direction;
    let machine = Machine::builtin("vm7").unwrap();
    let [planes, rows, row] = [5u64, 10, 16];
    let [from, to] = [1u64 << 20, 2 << 20];
    let shape = [planes, rows, row];
    let block = [1, 2, row];
    let input = Field::new("u", from, 4, shape, block);
    let input = input.halo([0, 1, 0], Edge::Periodic).offset([-2, 0, 0]);
    let output = Field::new("v", to, 4, shape, block).offset([-3, 0, 0]);
    let sweep = Sweep {
        march: Some(March::Planes),
        grid: Some([planes + 3, 5, 1]),
        size: BlocksPerSection::Fixed(1),
        ..Sweep::new(vec![input], vec![output])
    };
    let nest = Nest::new(sweep, &machine).unwrap();
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
