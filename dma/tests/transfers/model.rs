//! Runs, validation, copy and timing agree with a naive per-granule model.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use crate::common;

use common::{
    Granule, Memories, any_machine, descriptor, granules, is_legal, machine, moving,
    word_descriptor, word_machine,
};
use cp2_dma::{
    CopyError, Descriptor, Direction, Recipient, Schedule, Target, copy, transfer_time, validate,
};
use cp2_machine::{Bytes, Cycles, Machine, Ratio, Ticks};
use proptest::prelude::*;
use std::collections::HashSet;

fn naive_copy(d: &Descriptor, m: &Machine, memories: &mut Memories) {
    let g = m.dma.granule.0 as usize;
    for Granule {
        system,
        local,
        sections,
    } in granules(d, m)
    {
        let (system, local) = (
            system as usize..system as usize + g,
            local as usize..local as usize + g,
        );
        let bytes = memories.system.0[system.clone()].to_vec();
        match (d.direction, sections) {
            (Direction::Load, None) => memories.local.program[local].copy_from_slice(&bytes),
            (Direction::Load, Some(sections)) => {
                for s in sections {
                    memories.local.dmem[s as usize][local.clone()].copy_from_slice(&bytes);
                }
            }
            (Direction::Store, sections) => {
                let s = sections.unwrap()[0] as usize;
                let bytes = memories.local.dmem[s][local].to_vec();
                memories.system.0[system].copy_from_slice(&bytes);
            }
        }
    }
}

/// Counts contiguous runs in system memory, granule by granule.
fn naive_runs(d: &Descriptor, m: &Machine) -> u64 {
    let all = granules(d, m);
    let g = m.dma.granule.0 as i128;
    1 + all
        .windows(2)
        .filter(|w| w[1].system != w[0].system + g)
        .count() as u64
}

fn legal_only(d: &Descriptor, m: &Machine) -> Result<(), TestCaseError> {
    if validate(d, m).is_err() {
        return Err(TestCaseError::reject("illegal"));
    }
    Ok(())
}

fn config() -> ProptestConfig {
    ProptestConfig {
        max_global_rejects: 100_000,
        ..ProptestConfig::with_cases(512)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn validation_accepts_exactly_what_the_naive_checker_accepts(d in descriptor(), m in any_machine()) {
        prop_assert_eq!(validate(&d, &m).is_ok(), is_legal(&d, &m), "{}: {:?}", d, validate(&d, &m));
    }

    #[test]
    fn transfers_within_fewer_levels_move_the_same(d in descriptor(), m in any_machine(), levels in 0usize..4) {
        legal_only(&d, &m)?;
        let parts: Vec<_> = d.within(levels).collect();
        let mut moved = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            prop_assert!(part.levels.len() <= levels && is_legal(part, &m), "{}", part);
            prop_assert_eq!(part.event, d.event.filter(|_| i + 1 == parts.len()));
            moved.extend(granules(part, &m));
        }
        let all = granules(&d, &m);
        // The granules of blocks come in another order: sections alternate from each partial transfer to the
        // next.
        prop_assert!(moved.len() == all.len() && all.iter().all(|granule| moved.contains(granule)));
        if !matches!(d.target, Target::Blocks { .. }) {
            prop_assert_eq!(moved, all);
        }
    }

    #[test]
    fn runs_are_the_naive_granules(d in descriptor(), m in any_machine()) {
        legal_only(&d, &m)?;
        let (g, n) = (m.dma.granule.0, m.cp2.sections as u64);
        let u = m.dma.deal.0.max(g) / g;
        let mut seen = Vec::new();
        for run in d.runs(&m) {
            for w in 0..run.bytes / g {
                let (at, sections) = match run.to {
                    Recipient::Program => (w, None),
                    Recipient::Section(s) => (w, Some(vec![s])),
                    Recipient::All => (w, Some((0..n as u32).collect())),
                    Recipient::Deal => (w / u / n * u + w % u, Some(vec![(w / u % n) as u32])),
                };
                let (system, local) = ((run.system + w * g).into(), (u64::from(run.local) + at * g).into());
                seen.push(Granule { system, local, sections });
            }
        }
        let naive = granules(&d, &m);
        for s in 0..n as u32 {
            let bytes: u64 = d.runs(&m).map(|run| run.bytes_in(s, &m)).sum();
            let mine = naive.iter().filter(|x| x.sections.as_ref().is_some_and(|all| all.contains(&s)));
            prop_assert_eq!(bytes, mine.count() as u64 * g);
        }
        prop_assert_eq!(seen, naive);
    }

    #[test]
    fn copy_moves_what_the_naive_copy_moves(d in descriptor(), m in any_machine()) {
        let (mut fast, mut naive) = (Memories::filled(&m), Memories::filled(&m));
        let before = fast.clone();
        match copy(&d, &m, &mut fast.local, &mut fast.system) {
            Ok(()) => naive_copy(&d, &m, &mut naive),
            Err(CopyError::Descriptor(_)) => prop_assert_eq!(&fast, &before, "a refused transfer moved"),
            Err(CopyError::Access(e)) => prop_assert!(false, "validated, then {}", e),
        }
        prop_assert!(fast == naive);
    }

    #[test]
    fn load_then_store_restores_system_memory(d in descriptor(), m in any_machine()) {
        let load = Descriptor { direction: Direction::Load, ..d };
        let store = Descriptor { direction: Direction::Store, ..load.clone() };
        legal_only(&load, &m)?;
        legal_only(&store, &m)?;
        let all = granules(&load, &m);
        let places: HashSet<_> = all.iter().map(|x| (x.local, x.sections.clone())).collect();
        prop_assume!(places.len() == all.len());
        let mut memories = Memories::filled(&m);
        let before = memories.system.clone();
        copy(&load, &m, &mut memories.local, &mut memories.system).unwrap();
        let g = m.dma.granule.0 as usize;
        for x in &all {
            memories.system.0[x.system as usize..][..g].fill(0);
        }
        copy(&store, &m, &mut memories.local, &mut memories.system).unwrap();
        prop_assert!(memories.system == before);
    }

    #[test]
    fn timing_equals_the_naive_count(d in descriptor(), m in any_machine()) {
        legal_only(&d, &m)?;
        let time = transfer_time(&d, &m);
        prop_assert_eq!(time.granules, granules(&d, &m).len() as u64);
        prop_assert_eq!(time.runs, naive_runs(&d, &m));
        let base = m.time_base();
        let gaps = (time.runs - 1) * m.dma.run.0 * base.ticks_per_cycle;
        prop_assert_eq!(time.body.0, moving(&granules(&d, &m), &m) + gaps);
    }

    #[test]
    fn the_schedule_is_the_naive_granules_one_by_one(d in descriptor(), m in any_machine()) {
        legal_only(&d, &m)?;
        let (schedule, base) = (Schedule::new(&d, &m), m.time_base());
        let (g, all) = (m.dma.granule.0 as i128, granules(&d, &m));
        prop_assert_eq!(schedule.granules(), all.len() as u64);
        let (mut gaps, mut now, moving) = (Ticks::ZERO, Ticks::ZERO, moving(&all, &m));
        for (i, x) in all.iter().enumerate() {
            if i > 0 && all[i - 1].system + g != x.system {
                gaps += base.cycles(m.dma.run);
            }
            now = gaps + Ticks(moving * (i as u64 + 1) / all.len() as u64);
            prop_assert_eq!(schedule.at(i as u64), now);
            let to: Option<Vec<u32>> = match schedule.to(i as u64) {
                Recipient::Program => None,
                Recipient::Section(s) => Some(vec![s]),
                Recipient::All | Recipient::Deal => Some((0..m.cp2.sections as u32).collect()),
            };
            prop_assert_eq!(&to, &x.sections);
        }
        prop_assert_eq!(transfer_time(&d, &m).body, now);
    }

    #[test]
    fn words_take_the_beats_and_lines_that_they_touch(d in word_descriptor(), m in word_machine()) {
        legal_only(&d, &m)?;
        let (time, base, all) = (transfer_time(&d, &m), m.time_base(), granules(&d, &m));
        let gaps = (naive_runs(&d, &m) - 1) * m.dma.run.0 * base.ticks_per_cycle;
        prop_assert_eq!(time.granules, all.len() as u64);
        prop_assert_eq!(time.body.0, moving(&all, &m) + gaps, "{}", d);
    }

    #[test]
    fn more_work_and_a_slower_machine_never_take_less(d in descriptor(), m in any_machine(), extra in 1u64..50) {
        legal_only(&d, &m)?;
        let seconds = |d: &Descriptor, m: &Machine| m.time_base().seconds(transfer_time(d, m).body);
        let now = seconds(&d, &m);
        let mut longer = d.clone();
        if let Some(outer) = longer.levels.last_mut() {
            outer.count += extra as u32;
            // With blocks the sections are outermost, and more turns may make blocks adjacent.
            if !matches!(d.target, Target::Blocks { .. }) {
                // A word that joins the last beat and the last line takes no time.
                let fine = m.dma.granule.0 < 16;
                prop_assert!(seconds(&longer, &m) > now || fine && seconds(&longer, &m) == now);
            }
        }
        let mut slower = m.clone();
        slower.dma.run = Cycles(m.dma.run.0 + extra);
        prop_assert!(seconds(&d, &slower) >= now);
        slower.dma.bandwidth = Ratio::new(128, 10 + extra).unwrap();
        // A transfer of many lines may take as long.
        let fine = m.dma.granule.0 < 16;
        prop_assert!(seconds(&d, &slower) > now || fine && seconds(&d, &slower) >= now);
    }
}

#[test]
fn broadcast_crosses_the_channel_once_and_blocks_once_each() {
    let m = Machine::builtin("vm7").unwrap();
    let broadcast = Descriptor::load(Target::Broadcast, 0, 0, 4096);
    assert_eq!(transfer_time(&broadcast, &m).granules, 256);
    let blocks = Descriptor::load(Target::Blocks { stride: 4096 }, 0, 0, 4096);
    let time = transfer_time(&blocks, &m);
    assert_eq!(
        (time.granules, time.runs),
        (1024, 1),
        "blocks that touch are one run"
    );
    let apart = Descriptor::load(Target::Blocks { stride: 8192 }, 0, 0, 4096);
    assert_eq!(transfer_time(&apart, &m).runs, 4);
}

#[test]
fn long_runs_move_in_pieces() {
    // A run longer than the copy's buffer that is, with three sections, no whole number of rounds.
    let mut m = machine(3, 16);
    m.cp2.dmem = Bytes(1 << 20);
    m.host.memory = Bytes(1 << 22);
    for target in [Target::Deal, Target::Section(2), Target::Broadcast] {
        let d = Descriptor::load(target, 16, 32, (1 << 19) + 16);
        let (mut fast, mut naive) = (Memories::filled(&m), Memories::filled(&m));
        copy(&d, &m, &mut fast.local, &mut fast.system).unwrap();
        naive_copy(&d, &m, &mut naive);
        assert!(fast == naive, "{d}");
    }
}

#[test]
fn vm9_granules_take_an_exact_cycle_and_a_quarter() {
    let m = Machine::builtin("vm9").unwrap();
    let time = transfer_time(&Descriptor::load(Target::Section(0), 0, 0, 16 * 1000), &m);
    assert_eq!(m.time_base().ceil_cycles(time.body), Cycles(1250));
}

#[test]
fn display_names_everything() {
    let d = Descriptor::load(Target::Blocks { stride: 4096 }, 0x1000, 0x40, 64).level(8, 256, 64);
    assert_eq!(
        d.event(3).to_string(),
        "load 0x1000 -> blocks(+4096) 0x40: 64 B x 8 (+256, +64), event 3"
    );
    let d = Descriptor::store(Target::Deal, 16, 0, 16);
    assert_eq!(d.to_string(), "store 0x10 <- deal 0x0: 16 B");
}

#[test]
fn a_deal_of_short_runs_fills_section_0_first() {
    // Each run is one granule and starts with section 0, whose 256 bytes hold 16 of them.
    let m = machine(4, 16);
    let deal = |count| Descriptor::load(Target::Deal, 0, 0, 16).level(count, 16, 0);
    assert_eq!(validate(&deal(16), &m), Ok(()));
    let e = validate(&deal(17), &m).unwrap_err();
    assert_eq!(e.fix(&deal(17)), Some(deal(16)), "{e}");
}

#[test]
fn program_memory_has_no_half_words() {
    let m = machine(4, 4);
    for d in [
        Descriptor::load(Target::Program, 4, 8, 12),
        Descriptor::load(Target::Program, 4, 4, 8),
        Descriptor::load(Target::Program, 4, 8, 8).level(2, 8, 12),
    ] {
        let e = validate(&d, &m).unwrap_err();
        assert!(
            e.to_string()
                .contains("a multiple of a program word, 8 bytes"),
            "{e}"
        );
        assert_eq!(validate(&e.fix(&d).unwrap(), &m), Ok(()));
    }
    assert_eq!(
        validate(&Descriptor::load(Target::Program, 4, 8, 8), &m),
        Ok(())
    );
}
