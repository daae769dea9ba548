//! Tests of the event queue: order of ties, suspension anywhere, checkpoints.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]
use crate::common;

use common::{a, both, descriptor, load, m, machine, mem, set, stop};
use cp2_asm::isa::{Mode, Op, Scalar, Word};
use cp2_dma::{Direction, Target};
use cp2_emu::{Notice, Objection, Processor, Quiet};
use cp2_machine::{Cycles, Machine, Ticks};
use proptest::prelude::*;
use std::sync::Arc;

const FOREVER: Ticks = Ticks(u64::MAX);

/// Returns a kernel that adds 1 to every word of a page that arrives by DMA, signals, and stops.
fn worker() -> Vec<Word> {
    vec![
        m(Op::Wait, &[], 3, 0),
        set(Scalar::address(0), 0x100),
        both(a(Op::Lii, &[0], 1), m(Op::LoopI, &[], 8, 5)),
        mem(Op::LdP, 2, 0, Mode::Offset(0)),
        a(Op::IaddP, &[2, 2, 0], 0),
        mem(Op::StP, 2, 0, Mode::Post(8)),
        a(Op::Rcp, &[5, 0], 0),
        a(Op::Rcp, &[6, 0], 0),
        m(Op::Signal, &[], 4, 0),
        stop(),
    ]
}

fn start(machine: &Arc<Machine>) -> Processor {
    let mut processor = Processor::new(machine.clone()).with_checks();
    load(&mut processor, &worker());
    let input: Vec<u8> = (0..4 * 64u32).map(|i| i as u8).collect();
    processor.memory_mut().write(0x1000, &input).unwrap();
    processor.launch(0, 0).unwrap();
    let mut page = descriptor(
        Direction::Load,
        Target::Blocks { stride: 64 },
        0x1000,
        0x100,
        64,
    );
    page.event = Some(3);
    processor.submit(page, 7).unwrap();
    processor
}

/// Runs to the end of the kernel in slices of the given numbers of ticks, and returns all notices.
fn finish(
    processor: &mut Processor,
    mut slices: impl Iterator<Item = u64>,
) -> Vec<(Ticks, String)> {
    let mut notices = Vec::new();
    while processor.quiet().is_none() {
        let limit = slices
            .next()
            .map_or(FOREVER, |s| processor.now() + Ticks(s));
        let notice = processor.run_until(limit);
        if notice != Notice::Limit {
            notices.push((processor.now(), format!("{notice:?}")));
        }
    }
    notices
}

#[test]
fn a_kernel_waits_for_its_page_and_works_on_it() {
    for name in ["vm7", "vm9"] {
        let mut processor = start(&machine(name));
        let notices = finish(&mut processor, std::iter::empty());
        assert_eq!(notices.len(), 3, "{notices:?}");
        let mut page = [0; 64];
        processor.core().read_dmem(2, 0x100, &mut page).unwrap();
        // The words of section 2, which each pass of the loop has increased.
        for (i, word) in page.chunks_exact(4).enumerate() {
            let bytes = [0, 1, 2, 3].map(|byte| 128 + 4 * i as u8 + byte);
            let expected = u32::from_le_bytes(bytes) + 1;
            assert_eq!(word, expected.to_le_bytes(), "word {i}");
        }
        assert_eq!(processor.findings(), []);
        assert!(
            processor
                .counters()
                .causes
                .to_map()
                .contains_key("wait-load")
        );
    }
}

#[test]
fn cp2_sees_a_transfer_from_the_next_issue_cycle() {
    // On vm7 a page of 256 bytes is 16 granules and the set-up takes 32 cycles, so that the
    // transfer completes 48 cycles after submission. The wait could issue 40 cycles after its
    // launch, at the same instant; it issues in cycle 49, 9 later.
    let mut processor = start(&machine("vm7"));
    finish(&mut processor, std::iter::empty());
    assert_eq!(processor.counters().causes.to_map()["wait-load"], 9);
}

#[test]
fn a_wait_nobody_can_end_is_noticed() {
    let mut processor = Processor::new(machine("vm7"));
    load(&mut processor, &worker());
    processor.launch(0, 0).unwrap();
    let limit = processor.now() + Ticks(1000);
    assert_eq!(processor.run_until(limit), Notice::Limit);
    assert_eq!(processor.quiet(), Some(Quiet::Waiting { event: 3, pc: 0 }));
    processor.post(3).unwrap();
    assert_eq!(processor.quiet(), None);
}

#[test]
fn races_with_transfers_and_unwritten_reads_are_found() {
    let machine = machine("vm7");
    let mut processor = Processor::new(machine.clone()).with_checks();
    load(&mut processor, &worker()[1..]);
    processor.launch(0, 0).unwrap();
    let now = processor.now();
    // The set-up ends as the kernel begins, so that the kernel reads data on its way.
    processor.run_until(now + machine.time_base().cycles(Cycles(20)));
    processor
        .submit(
            descriptor(Direction::Load, Target::Broadcast, 0x1000, 0x100, 64),
            9,
        )
        .unwrap();
    finish(&mut processor, std::iter::empty());
    let kinds: Vec<_> = processor.findings().iter().map(|f| f.objection).collect();
    assert!(
        kinds.iter().any(|k| matches!(
            k,
            Objection::Race {
                tag: 9,
                write: false,
                ..
            }
        )),
        "{kinds:?}"
    );
    assert!(
        kinds
            .iter()
            .any(|k| matches!(k, Objection::UnwrittenDmem { address: 0x100, .. })),
        "{kinds:?}"
    );
}

/// While a transfer stores from local memory, a kernel may read there but not write.
#[test]
fn a_kernel_may_read_and_not_write_what_is_stored() {
    let at = |op, offset| mem(op, 2, 0, Mode::Offset(offset));
    for (access, writes) in [(Op::LdP, false), (Op::StP, true)] {
        let machine = machine("vm7");
        let mut processor = Processor::new(machine.clone()).with_checks();
        let words = [
            set(Scalar::address(0), 0x100),
            a(Op::Lii, &[2], 1),
            at(Op::StP, 0),
            at(Op::StP, 8),
            m(Op::LoopI, &[], 90, 1),
            at(access, 0),
            stop(),
        ];
        load(&mut processor, &words);
        processor.launch(0, 0).unwrap();
        // The loop has begun when the transfer starts.
        processor.run_until(processor.now() + machine.time_base().cycles(Cycles(60)));
        let store = descriptor(Direction::Store, Target::Section(0), 0x1000, 0x100, 16);
        processor.submit(store, 9).unwrap();
        finish(&mut processor, std::iter::empty());
        let kinds: Vec<_> = processor.findings().iter().map(|f| f.objection).collect();
        let race = |k: &Objection| {
            matches!(
                k,
                Objection::Race {
                    tag: 9,
                    write: true,
                    ..
                }
            )
        };
        assert_eq!(kinds.len(), usize::from(writes), "{kinds:?}");
        assert!(kinds.iter().all(race), "{kinds:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn suspension_anywhere_changes_nothing(slices in prop::collection::vec(1u64..60, 0..200), vm9: bool, ports in 1u32..=2) {
        let mut machine = Machine::clone(&machine(if vm9 { "vm9" } else { "vm7" }));
        machine.cp2.dmem_ports = ports;
        let machine = Arc::new(machine);
        let mut whole = start(&machine);
        let expected = finish(&mut whole, std::iter::empty());
        let mut sliced = start(&machine);
        let seen = finish(&mut sliced, slices.into_iter());
        prop_assert_eq!(expected, seen);
        prop_assert_eq!(whole, sliced);
    }

    #[test]
    fn a_checkpoint_restored_from_text_goes_on_alike(at in 0u64..200) {
        let machine = machine("vm9");
        let mut whole = start(&machine);
        let limit = whole.now() + Ticks(at);
        whole.run_until(limit);
        let text = serde_json::to_string(&whole).unwrap();
        let mut restored: Processor = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&whole, &restored);
        finish(&mut whole, std::iter::empty());
        finish(&mut restored, std::iter::empty());
        prop_assert_eq!(whole, restored);
    }
}

/// A checkpoint carries the version of its layout, and other versions are refused with a message.
#[test]
fn a_checkpoint_of_another_version_is_refused() {
    let text = serde_json::to_string(&start(&machine("vm7"))).unwrap();
    let rest = text.strip_prefix("{\"version\":4,").unwrap();
    for other in ["{\"version\":0,", "{\"version\":3,"] {
        let error = serde_json::from_str::<Processor>(&format!("{other}{rest}")).unwrap_err();
        let found = other
            .trim_start_matches("{\"version\":")
            .trim_end_matches(',');
        let words = format!("the checkpoint has version {found}, expected 4");
        assert!(error.to_string().contains(&words), "{error}");
    }
    let error = serde_json::from_str::<Processor>(&format!("{{{rest}")).unwrap_err();
    assert!(
        error.to_string().contains("missing field `version`"),
        "{error}"
    );
}
