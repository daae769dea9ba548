//! Tests that blocks in a hardware loop leave it only at its end.

use super::{assembled, run};
use cp2_asm::Problem;
use cp2_emu::Engine;
use cp2_machine::Machine;
use proptest::prelude::*;
use std::sync::Arc;

/// The places of counts, numbers and results.
const COUNTS: usize = 0x100;
const NUMBERS: usize = 0x200;
const RESULTS: usize = 0x2000;
/// Passes of the outer loop.
const PASSES: usize = 4;

/// Returns the program of a loop whose passes take their counts from memory: the numbers are doubled and increased.
/// Each pass of an inner loop does all of the work.
fn write_loop(nested: bool) -> String {
    let block = "
        ldx c0, [a9]
        addi a9, a9, 8
        .rept 12
        nop
        .endr
        .linear scale, c0
        .pointer from = c4 by 16
        .pointer to = c5 by 16
        .apart
        .const TWO = 2.0, HALF = 0.5
        ldq x, [from]
        madd y, x, TWO, HALF
        mul z, y, TWO
        stq z, [to]
        .endlinear
        shl c1, c0, 4
        add c4, c4, c1
        add c5, c5, c1
";
    let body = match nested {
        true => format!("    loop 2 {{\n{block}    }}\n{block}"),
        false => block.to_owned(),
    };
    let passes = if nested { PASSES / 3 } else { PASSES };
    format!(
        ".program\n    movi c4, {NUMBERS}\n    movi c5, {RESULTS}\n    movi a9, {COUNTS}\n    movi c7, {passes}\n\
         \x20   .rept 12\n    nop\n    .endr\n    loop c7 {{\n{body}    }}\n    stop\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Few iterations and remainders do not end the loop around a block.
    #[test]
    fn any_count_leaves_the_loop_at_its_end(
        counts in prop::array::uniform4(0usize..12),
        nested: bool,
        which in 0usize..2,
    ) {
        let machine = Arc::new(Machine::builtin(["vm7", "vm9"][which]).unwrap());
        let assembly = assembled(&write_loop(nested), &machine);
        let assembly = assembly.unwrap_or_else(|flaw| panic!("{flaw}"));
        let passes = if nested { PASSES / 3 * 3 } else { PASSES };
        let all: usize = counts.iter().take(passes).sum();
        let numbers: Vec<f32> = (0..4 * all).map(|i| i as f32 - 7.5).collect();
        let mut image = vec![0; RESULTS];
        for segment in &assembly.program.dmem {
            let start = segment.address as usize;
            image[start..start + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        for (place, count) in (COUNTS..).step_by(8).zip(counts) {
            image[place..place + 4].copy_from_slice(&(count as u32).to_le_bytes());
        }
        for (place, number) in (NUMBERS..).step_by(4).zip(&numbers) {
            image[place..place + 4].copy_from_slice(&number.to_le_bytes());
        }
        let images = vec![image; machine.cp2.sections];
        for engine in [Engine::Reference, Engine::Fast] {
            let processor = run(&machine, engine, &images, &assembly.program);
            let processor = processor.unwrap_or_else(|flaw| panic!("{flaw}"));
            // The quad behind the last result stays as it was.
            let mut bytes = vec![0; 16 * all + 16];
            processor.core().read_dmem(1, RESULTS as u32, &mut bytes).unwrap();
            let words = bytes.chunks_exact(4);
            let found: Vec<f32> = words.map(|own| f32::from_le_bytes(own.try_into().unwrap())).collect();
            let expected = numbers.iter().map(|x| (x * 2.0 + 0.5) * 2.0).chain([0.0; 4]);
            prop_assert_eq!(found, expected.collect::<Vec<f32>>());
        }
    }
}

/// A loop that ends at a label does not say where words of its blocks could stand.
#[test]
fn a_loop_without_braces_is_refused_where_a_branch_would_leave_it() {
    let machine = Machine::builtin("vm7").unwrap();
    let text = |count: &str| {
        format!(
            ".program\n    loop 3, last\n    .linear scale, {count}\n    .pointer p = a0 by 16\n    .pointer q = a1 by 16\n    .apart\n\
             \x20   ldq x, [p]\n    mul y, x, x\n    stq y, [q]\n    .endlinear\nlast:\n    nop\n    stop\n"
        )
    };
    assert!(assembled(&text("8"), &machine).is_ok());
    let refused = assembled(&text("c0"), &machine).unwrap_err();
    let expected = Problem::LoopLeft {
        name: "scale".to_owned(),
    }
    .to_string();
    assert!(refused.to_string().contains(&expected), "{refused}");
}
