//! Refusals of transfers: their messages, and that suggestions are legal.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use crate::common;

use common::{any_machine, descriptor, machine};
use cp2_dma::{
    Descriptor, DescriptorError, Field, FieldValue, Level, Rule, Schedule, Target, validate,
};
use cp2_machine::Machine;
use proptest::prelude::*;

/// Returns the refusal with another suggestion, to test other candidates.
fn suggest(e: &DescriptorError, n: i128) -> DescriptorError {
    DescriptorError {
        nearest: Some(FieldValue::Number(n)),
        ..*e
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn following_the_suggestions_ends_at_a_legal_descriptor(d in descriptor(), m in any_machine()) {
        let mut d = d;
        for _ in 0..24 {
            let Err(e) = validate(&d, &m) else { return Ok(()) };
            match e.fix(&d) {
                Some(fixed) => d = fixed,
                None => prop_assert!(false, "no suggestion: {}", e),
            }
        }
        prop_assert!(false, "still illegal: {}", d);
    }

    #[test]
    fn the_suggestion_obeys_the_rule_and_nothing_nearer_does(d in descriptor(), m in any_machine()) {
        let Err(e) = validate(&d, &m) else { return Ok(()) };
        let fixed = e.fix(&d).unwrap();
        if let Err(again) = validate(&fixed, &m) {
            prop_assert!((again.field, again.rule) != (e.field, e.rule), "{} then {}", e, again);
        }
        if let (FieldValue::Number(value), Some(FieldValue::Number(nearest))) = (e.value, e.nearest) {
            let distance = (nearest - value).abs();
            prop_assert!(distance < 10_000);
            for delta in 0..distance {
                for candidate in [value - delta, value + delta] {
                    if let Some(nearer) = suggest(&e, candidate).fix(&d) {
                        prop_assert!(validate(&nearer, &m).is_err(), "{}: {} is nearer", e, candidate);
                    }
                }
            }
        }
    }

    #[test]
    fn hostile_numbers_are_refused_at_once(
        run in prop_oneof![Just(16u64), any::<u64>(), Just(!15u64)],
        system in prop_oneof![Just(0u64), any::<u64>(), Just(!15u64)],
        local in prop_oneof![Just(0u32), any::<u32>()],
        levels in prop::collection::vec(
            (prop_oneof![Just(u32::MAX), any::<u32>(), Just(1)],
             prop_oneof![Just(0i64), Just(16), Just(i64::MIN), Just(i64::MAX & !15), any::<i64>()],
             prop_oneof![Just(0i64), Just(16), Just(i64::MIN), any::<i64>()]), 0..5),
        stride in prop_oneof![Just(0i64), Just(i64::MIN), any::<i64>()],
        pick in 0usize..5,
        store: bool,
    ) {
        let target = [Target::Program, Target::Section(0), Target::Blocks { stride }, Target::Broadcast, Target::Deal][pick];
        let mut d = Descriptor::load(target, system, local, run);
        if store {
            d = Descriptor::store(target, system, local, run);
        }
        d.levels = levels.into_iter().map(|(count, system_stride, local_stride)| Level { count, system_stride, local_stride }).collect();
        for name in Machine::names() {
            let m = Machine::builtin(name).unwrap();
            if let Err(e) = validate(&d, &m) {
                let _ = (e.to_string(), e.fix(&d));
            }
            // Nothing may panic, refused or not.
            let _ = cp2_dma::transfer_time(&d, &m);
            let _ = d.runs(&m).take(3).count();
            // The schedule is a closed form: a list of so many runs would not fit here.
            let known = format!("{:?}", Schedule::new(&d, &m));
            prop_assert!(known.len() < 1000, "{}", known);
        }
    }
}

/// Checks the whole message of a refused descriptor, and that following its suggestion makes it legal.
fn refused(d: &Descriptor, message: &str) {
    let m = machine(4, 16);
    let e = validate(d, &m).unwrap_err();
    assert_eq!(e.to_string(), message);
    let fixed = e.fix(d).unwrap();
    assert_eq!(validate(&fixed, &m), Ok(()), "after following: {message}");
}

#[test]
fn every_rule_has_its_message_and_a_suggestion_that_works() {
    let load = |t| Descriptor::load(t, 64, 32, 64);
    let section = load(Target::Section(1));
    refused(
        &Descriptor {
            system: 72,
            ..section.clone()
        },
        "DMA system address is 72: it must be a multiple of the DMA granule, 16 bytes; the nearest legal value is 64",
    );
    refused(
        &Descriptor {
            local: 41,
            ..section.clone()
        },
        "DMA local address is 41: it must be a multiple of the DMA granule, 16 bytes; the nearest legal value is 48",
    );
    refused(
        &Descriptor {
            run: 4,
            ..section.clone()
        },
        "DMA run is 4: it must be a multiple of the DMA granule, 16 bytes; the nearest legal value is 16",
    );
    refused(
        &Descriptor {
            run: 0,
            ..section.clone()
        },
        "DMA run is 0: it must be at least 16; the nearest legal value is 16",
    );
    refused(
        &section.clone().level(2, -4, 64),
        "DMA system stride of level 0 is -4: it must be a multiple of the DMA granule, 16 bytes; the nearest legal value is 0",
    );
    refused(
        &section.clone().level(1, 0, 0).level(2, 64, 60),
        "DMA local stride of level 1 is 60: it must be a multiple of the DMA granule, 16 bytes; the nearest legal value is 64",
    );
    refused(
        &load(Target::Blocks { stride: 100 }),
        "DMA block stride is 100: it must be a multiple of the DMA granule, 16 bytes; the nearest legal value is 96",
    );
    refused(
        &section.clone().level(0, 64, 64),
        "DMA count of level 0 is 0: it must be at least 1; the nearest legal value is 1",
    );
    refused(
        &(0..5).fold(section.clone(), |d, _| d.level(1, 0, 0)),
        "DMA number of levels is 5: it must be at most 3 on this machine; the nearest legal value is 3",
    );
    refused(
        &load(Target::Section(4)),
        "DMA target section is 4: it must be at most 3 on this machine; the nearest legal value is 3",
    );
    refused(
        &section.clone().event(32),
        "DMA event is 32: it must be at most 31 on this machine; the nearest legal value is 31",
    );
    refused(
        &Descriptor::store(Target::Broadcast, 0, 0, 16),
        "DMA direction is store: it must be load: nothing can be stored from this target; the nearest legal value is load",
    );
    refused(
        &Descriptor {
            system: 4064,
            ..section.clone()
        },
        "DMA system address is 4064: it must keep the transfer inside system memory, 4096 bytes; the nearest legal value is 4032",
    );
    refused(
        &section.clone().level(2, -128, 64),
        "DMA system address is 64: it must keep the transfer inside system memory, 4096 bytes; the nearest legal value is 128",
    );
    refused(
        &Descriptor {
            local: 208,
            ..section.clone()
        },
        "DMA local address is 208: it must keep the transfer inside DMEM, 256 bytes; the nearest legal value is 192",
    );
    refused(
        &Descriptor::store(Target::Section(1), 64, 32, 64).level(u32::MAX, 64, 0),
        "DMA count of level 0 is 4294967295: it must keep the transfer inside system memory, 4096 bytes; the nearest legal value is 63",
    );
    refused(
        &section.clone().level(2, 1 << 40, 64),
        "DMA system stride of level 0 is 1099511627776: it must keep the transfer inside system memory, 4096 bytes; the nearest legal value is 3968",
    );
    refused(
        &section.clone().level(u32::MAX, 0, 0),
        "DMA count of level 0 is 4294967295: it must not move more than DMEM holds, 256 bytes; the nearest legal value is 4",
    );
    refused(
        &Descriptor {
            local: 0,
            run: 1 << 60,
            ..load(Target::Program)
        },
        "DMA run is 1152921504606846976: it must keep the transfer inside system memory, 4096 bytes; the nearest legal value is 1024",
    );
}

#[test]
fn a_memory_too_small_for_one_granule_per_section_has_no_suggestion() {
    let mut m = machine(4, 16);
    m.host.memory = cp2_machine::Bytes(48);
    let d = Descriptor::store(Target::Blocks { stride: 0 }, 0, 0, 16);
    let e = validate(&d, &m).unwrap_err();
    assert_eq!((e.field, e.nearest, e.fix(&d)), (Field::Run, None, None));
    assert!(matches!(e.rule, Rule::Capacity { .. }));
    assert!(e.to_string().ends_with("; no value is legal here"));
}
