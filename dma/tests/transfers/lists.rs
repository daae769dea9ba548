//! List transfers, compared with their elements one by one.

use crate::common::{Granule, Memories, machine, moving};
use cp2_dma::{
    Descriptor, Direction, ListTarget, ListTransfer, Movement, Target, Transfer, copy,
    transfer_time, validate,
};
use cp2_machine::Machine;
use proptest::prelude::*;

/// Draws a small machine with lists, of granules as large as the elements or smaller.
fn listing(element: u32) -> impl Strategy<Value = Machine> {
    let granules: Vec<u32> = [4u32, 8, 16]
        .into_iter()
        .filter(|g| *g <= element)
        .collect();
    let lines = (1u32..=3, prop::sample::select(vec![4u32, 16, 64]));
    (
        prop::sample::select(granules),
        1u32..=5,
        0u32..=3,
        0u32..=2,
        lines,
    )
        .prop_map(|(granule, sections, entry, run, (lines, beat))| {
            let mut changes = format!("list-transfers+dma.entry={entry}+dma.run={run}");
            if granule < 16 {
                changes += &format!("+dma.lines={lines}+dma.beat={beat}B");
            }
            machine(sections, granule).with_changes(&changes).unwrap()
        })
}

fn list() -> impl Strategy<Value = (ListTransfer, Machine)> {
    let element = prop::sample::select(vec![4u32, 8, 16]);
    element.prop_flat_map(|element| {
        let place = (0u32..100, 0u32..240 / element);
        let entries = prop::collection::vec(place, 1..15);
        let target = prop_oneof![
            Just(ListTarget::Deal),
            (0u32..3).prop_map(ListTarget::Section)
        ];
        let all = (any::<bool>(), target, 0u64..20, entries, listing(element));
        all.prop_map(move |(store, target, system, entries, machine)| {
            let entries = entries
                .into_iter()
                .map(|(from, to)| (element * from, element * to));
            let list = ListTransfer::load(target, 64 * system, element, entries);
            let direction = if store {
                Direction::Store
            } else {
                Direction::Load
            };
            (ListTransfer { direction, ..list }, machine)
        })
    })
}

/// Returns every granule of a list, by a plain loop over its entries.
fn granules(list: &ListTransfer, m: &Machine) -> Vec<Granule> {
    let g = m.dma.granule.0 as usize;
    let mut all = Vec::new();
    for (k, &(system, local)) in list.entries.iter().enumerate() {
        let section = match list.target {
            ListTarget::Section(section) => section,
            ListTarget::Deal => k as u32 % m.cp2.sections as u32,
        };
        for at in (0..i128::from(list.element)).step_by(g) {
            all.push(Granule {
                system: i128::from(list.system) + i128::from(system) + at,
                local: i128::from(local) + at,
                sections: Some(vec![section]),
            });
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn elements_land_at_their_places((list, m) in list()) {
        prop_assume!(validate(&list, &m).is_ok());
        let (mut fast, mut naive) = (Memories::filled(&m), Memories::filled(&m));
        copy(&Movement::from(list.clone()), &m, &mut fast.local, &mut fast.system).unwrap();
        let g = m.dma.granule.0 as usize;
        for Granule { system, local, sections } in granules(&list, &m) {
            let dmem = &mut naive.local.dmem[sections.unwrap()[0] as usize];
            let (system, local) = (system as usize..system as usize + g, local as usize..local as usize + g);
            match list.direction {
                Direction::Load => dmem[local].copy_from_slice(&naive.system.0[system]),
                Direction::Store => naive.system.0[system].copy_from_slice(&dmem[local]),
            }
        }
        prop_assert!(fast == naive);
    }

    #[test]
    fn a_list_takes_its_entries_and_elements((list, m) in list()) {
        prop_assume!(validate(&list, &m).is_ok());
        let (base, all) = (m.time_base(), granules(&list, &m));
        let g = m.dma.granule.0 as i128;
        let gaps = all.windows(2).filter(|w| w[1].system != w[0].system + g).count() as u64;
        // The beats without the lines, then everything with them.
        let unlimited = Machine { dma: cp2_machine::Dma { lines: 1 << 20, ..m.dma.clone() }, ..m.clone() };
        let (beats, both) = (moving(&all, &unlimited), moving(&all, &m));
        let entries = list.entries.len() as u64;
        let read = entries * 8 * base.ticks_per_granule / m.dma.granule.0;
        let found = entries * m.dma.entry.0 * base.ticks_per_cycle;
        let expected = (beats + read).max(both).max(found) + gaps * m.dma.run.0 * base.ticks_per_cycle;
        let time = transfer_time(&Movement::from(list.clone()), &m);
        // Half a granule may be a fraction of a tick.
        prop_assert!(time.body.0.abs_diff(expected) <= 1, "{list}: {} and {expected}", time.body.0);
        prop_assert_eq!((time.granules, time.runs), (all.len() as u64, gaps + 1));
    }
}

#[test]
fn lists_are_refused_by_name() {
    let lists = Machine::load("vm7+list-transfers").unwrap();
    let refused = |list: &ListTransfer, m: &Machine| validate(list, m).unwrap_err().to_string();
    let good = ListTransfer::load(ListTarget::Section(3), 0, 16, [(32, 0), (0, 16)]);
    assert_eq!(validate(&good, &lists), Ok(()));
    assert_eq!(
        refused(&good, &Machine::load("vm7").unwrap()),
        "DMA kind is list: it must be strided: this machine does not have the extension `list-transfers`"
    );
    let words = ListTransfer {
        element: 4,
        ..good.clone()
    };
    assert_eq!(
        refused(&words, &lists),
        "DMA length of run 0 is 4: it must be a multiple of the DMA granule, 16 bytes"
    );
    let fine = Machine::load("vm7+list-transfers+dma.granule=4B").unwrap();
    assert_eq!(validate(&words, &fine), Ok(()));
    let odd = ListTransfer {
        element: 12,
        ..good.clone()
    };
    assert_eq!(
        refused(&odd, &fine),
        "DMA list element is 12: it must be 4, 8 or 16 bytes"
    );
    let none = ListTransfer {
        entries: [].into(),
        ..good.clone()
    };
    assert_eq!(
        refused(&none, &fine),
        "DMA number of list entries is 0: it must be at least 1"
    );
    let far = ListTransfer {
        entries: [(0, 0), (0, 1 << 16)].into(),
        ..good.clone()
    };
    assert_eq!(
        refused(&far, &lists),
        "DMA local address of run 1 is 65536: it must keep the transfer inside DMEM, 65536 bytes"
    );
    let nobody = ListTransfer {
        target: ListTarget::Section(4),
        ..good
    };
    assert_eq!(
        refused(&nobody, &lists),
        "DMA target section is 4: it must be at most 3 on this machine; the nearest legal value is 3"
    );
}

#[test]
fn movements_are_written_as_their_kinds() {
    let d = Descriptor::load(Target::Section(0), 64, 0, 32).level(2, 64, 32);
    let list = ListTransfer::store(ListTarget::Deal, 4096, 16, [(0, 0), (64, 16)]).event(3);
    assert_eq!(
        list.to_string(),
        "store list 0x1000 <- deal: 16 B x 2, event 3"
    );
    assert_eq!(Movement::from(list.clone()).to_string(), list.to_string());
    assert_eq!(Movement::from(d.clone()).to_string(), d.to_string());
    assert_eq!(Movement::from(d.clone()).event(), None);
    let mut posted = Movement::from(d.clone());
    posted.post(5);
    assert_eq!(posted.as_strided(), Some(&d.event(5)));
}
