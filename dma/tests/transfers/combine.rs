//! Transfers that add, compared with sums of words one by one.

use crate::common::{
    Granule, Memories, any_machine, descriptor, granules, word_descriptor, word_machine,
};
use cp2_dma::{
    Combine, Descriptor, Direction, Run, Target, Transfer, copy, transfer_time, validate,
};
use cp2_machine::Machine;
use proptest::prelude::*;

/// A descriptor whose numbers are added to those of the destination.
#[derive(Clone, Debug)]
struct Adding(Descriptor);

impl Transfer for Adding {
    fn direction(&self) -> Direction {
        self.0.direction
    }

    fn event(&self) -> Option<u32> {
        self.0.event
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        self.0.runs(machine)
    }

    fn combine(&self) -> Combine {
        Combine::Add
    }
}

/// Adds a word to another one. A sum of two binary32 is rounded once by way of binary64, which has more than
/// twice their digits.
fn add(kept: &mut [u8], moved: &[u8]) {
    let number = |word: &[u8]| f64::from(f32::from_le_bytes(word.try_into().unwrap()));
    let sum = (number(kept) + number(moved)) as f32;
    let bits = if sum.is_nan() {
        0x7fc0_0000
    } else {
        sum.to_bits()
    };
    kept.copy_from_slice(&bits.to_le_bytes());
}

/// Adds granule by granule, word by word.
fn naive_sum(d: &Descriptor, m: &Machine, memories: &mut Memories) {
    let g = m.dma.granule.0 as usize;
    for Granule {
        system,
        local,
        sections,
    } in granules(d, m)
    {
        for word in (0..g).step_by(4) {
            let system = system as usize + word..system as usize + word + 4;
            let local = local as usize + word..local as usize + word + 4;
            for section in sections.iter().flatten() {
                let dmem = &mut memories.local.dmem[*section as usize];
                match d.direction {
                    Direction::Load => {
                        add(&mut dmem[local.clone()], &memories.system.0[system.clone()])
                    }
                    Direction::Store => {
                        add(&mut memories.system.0[system.clone()], &dmem[local.clone()])
                    }
                }
            }
        }
    }
}

fn check(d: Descriptor, m: &Machine) -> Result<(), TestCaseError> {
    prop_assume!(validate(&d, m).is_ok());
    let adding = Adding(d.clone());
    if d.target == Target::Program {
        let e = validate(&adding, m).unwrap_err().to_string();
        let text =
            "DMA combination is add: it must be replace: program memory holds no numbers to add to";
        prop_assert_eq!(e, text);
        return Ok(());
    }
    let (mut one, mut other) = (Memories::filled(m), Memories::filled(m));
    copy(&adding, m, &mut one.local, &mut one.system).unwrap();
    naive_sum(&d, m, &mut other);
    prop_assert!(one == other);
    prop_assert_eq!(transfer_time(&adding, m), transfer_time(&d, m));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn sums_are_those_of_words(d in descriptor(), m in any_machine()) {
        check(d, &m)?;
    }

    #[test]
    fn sums_of_short_runs_are_those_of_words(d in word_descriptor(), m in word_machine()) {
        check(d, &m)?;
    }
}

#[test]
fn sums_are_rounded_and_have_one_nan() {
    let sum = |a: f32, b: f32| {
        let mut kept = a.to_le_bytes();
        Combine::Add.apply(&mut kept, &b.to_le_bytes());
        u32::from_le_bytes(kept)
    };
    // Half a unit in the last place goes to the even neighbour.
    assert_eq!(sum(1.0, f32::EPSILON / 2.0), 1.0f32.to_bits());
    assert_eq!(
        sum(1.0 + f32::EPSILON, f32::EPSILON / 2.0),
        (1.0 + 2.0 * f32::EPSILON).to_bits()
    );
    assert_eq!(sum(f32::from_bits(1), f32::from_bits(2)), 3);
    assert_eq!(sum(-0.0, -0.0), (-0.0f32).to_bits());
    assert_eq!(sum(f32::INFINITY, f32::NEG_INFINITY), 0x7fc0_0000);
    assert_eq!(sum(f32::from_bits(0xffa0_0001), 1.0), 0x7fc0_0000);
}
