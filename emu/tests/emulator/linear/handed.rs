//! Tests that blocks of a chain hand scalar values on.

use super::{assembled, place, run};
use cp2_emu::{Cause, Engine};
use cp2_machine::Machine;
use std::fmt::Write;
use std::sync::Arc;

/// Number of nodes of the list.
const NODES: i64 = 11;
/// Place of the nodes.
const LIST: i64 = 0x100;
/// Place of what is found in them.
const FOUND: i64 = 0x400;
/// Place that the mark counts from.
const MARKS: i64 = 0x600;
/// Bytes that are compared.
const END: usize = 0x2000;

/// Returns a node: number of the next one, what it adds, two numbers.
fn node(number: i64) -> [i64; 4] {
    [
        (number * 4 + 3) % NODES,
        8 * (number % 5),
        100 + number,
        200 + number,
    ]
}

/// Writes a chain that follows the list: the first node in a straight block, `count` more in a loop, and a loop that
/// doubles the sum three times.
fn write_program(count: &str, iterations: i64) -> String {
    let mut text = format!(".dmem {LIST:#x}\n");
    for number in 0..NODES {
        let [next, adds, a, b] = node(number);
        let next = LIST + 32 * next;
        writeln!(text, "    .int {next}, 0, {adds}, 0, {a}, {b}, 0, 0").unwrap();
    }
    let first = LIST + 32;
    write!(
        text,
        ".program
    movi c4, {FOUND}
    movi c5, {first}
    movi c0, {iterations}
    .rept 20
    nop
    .endr
before:
    .chain
    .linear start
    .pointer p = c5 by 0
    .pointer to = c4 by 0
    .apart
    ldx second, [p]
    ldx adds, [p + 8]
    ldp v, [p + 16]
    stp v, [to]
    .endlinear
    .linear follow, {count}
    .pointer to = c4 + 8 by 8
    .apart
    .before next@1 = start.second, sum@1 = start.adds
    ldx next, [next@1]
    ldx adds, [next@1 + 8]
    add sum, sum@1, adds
    ldp v, [next@1 + 16]
    stp v, [to]
    .endlinear
    .linear double, 3
    .before sum@1 = follow.sum
    .after c9 = sum
    add sum, sum@1, sum@1
    .endlinear
    .endchain
behind:
    .rept 20
    nop
    .endr
    addi a5, c9, {MARKS}
    lif r1, 1.0
    .rept 20
    nop
    .endr
    stp r1, [a5]
last:
    stop
"
    )
    .unwrap();
    text
}

/// Returns what the program leaves, by its definition.
fn define(before: &[u8], iterations: i64) -> Vec<u8> {
    let mut bytes = before.to_vec();
    let (mut number, mut sum) = (1, 0);
    for place in 0..=iterations {
        let [next, adds, a, b] = node(number);
        let at = (FOUND + 8 * place) as usize;
        bytes[at..at + 4].copy_from_slice(&(a as u32).to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&(b as u32).to_le_bytes());
        (number, sum) = (next, sum + adds);
    }
    let at = (MARKS + 8 * sum) as usize;
    for lane in 0..2 {
        bytes[at + 4 * lane..at + 4 * lane + 4].copy_from_slice(&1.0f32.to_le_bytes());
    }
    bytes
}

/// Checks the program for a count.
fn check(machine: &Arc<Machine>, count: &str, iterations: i64) {
    let text = write_program(count, iterations);
    let assembly = assembled(&text, machine).unwrap_or_else(|flaw| panic!("{flaw}\n{text}"));
    let program = &assembly.program;
    let mut image = vec![0; END];
    for segment in &program.dmem {
        let at = segment.address as usize;
        image[at..at + segment.bytes.len()].copy_from_slice(&segment.bytes);
    }
    let expected = define(&image, iterations);
    let images = vec![image; machine.cp2.sections];
    for engine in [Engine::Reference, Engine::Fast] {
        let processor = run(machine, engine, &images, program);
        let processor = processor.unwrap_or_else(|flaw| panic!("{flaw}\n{text}"));
        for section in 0..machine.cp2.sections {
            let mut found = vec![0; END];
            processor.core().read_dmem(section, 0, &mut found).unwrap();
            let differs = (0..END).find(|&at| found[at] != expected[at]);
            assert_eq!(
                differs, None,
                "{}, {count}, {iterations}\n{text}",
                machine.name
            );
        }
        let (before, behind) = (place(program, "before"), place(program, "behind"));
        let own = (before..behind).chain(place(program, "last") + 1..program.words.len());
        let counters = processor.counters();
        let words = own.filter_map(|pc| Some((pc, counters.per_word.get(pc)?)));
        let mut cycles = 0;
        for (pc, word) in words {
            let causes = [Cause::Issue, Cause::Loop, Cause::Branch];
            let paid: u64 = causes.map(|cause| word.causes.get(cause)).iter().sum();
            assert_eq!(word.causes.total(), paid, "word {pc} waits\n{text}");
            cycles += paid;
        }
        let reports = assembly.blocks.iter().zip([1, iterations as u64, 3]);
        let reported: u64 = reports.map(|(own, n)| own.count_cycles(n)).sum();
        assert_eq!(cycles, reported, "{}, {count}, {iterations}", machine.name);
    }
}

#[test]
fn blocks_hand_scalars_on() {
    for name in ["vm7", "vm9"] {
        let machine = Arc::new(Machine::builtin(name).unwrap());
        for iterations in [0, 1, 2, 5, 9] {
            check(&machine, &iterations.to_string(), iterations);
        }
        for iterations in 0..10 {
            check(&machine, "c0", iterations);
        }
        check(&machine, "c0 at least 8 multiple of 4", 8);
    }
}
