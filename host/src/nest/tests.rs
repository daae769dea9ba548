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
