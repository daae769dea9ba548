//! Measures words per second of each engine on four programs, warm.
//!
//! The figures are in `docs/engine.md`:
//! `cargo run --release -p cp2-emu --example engine_speed [NAME ..]`. The least time of many runs
//! counts, so that a busy host disturbs little.
#![allow(clippy::unwrap_used, reason = "an example")]

use cp2_asm::{Options, Source, assemble};
use cp2_dma::{Descriptor, Target};
use cp2_emu::{Engine, Notice, Processor};
use cp2_machine::{Machine, Ticks};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Programs by name: arithmetic alone, arithmetic beside memory accesses, branches and calls, and
/// branches that are hard to predict.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "butterflies",
        "
.program
    loop 4000 {
    .rept 8, i
    bfly r{4*i}, r{4*i+1}, r{4*i+2}, r{4*i+3}, r62
    .endr
    }
    stop
",
    ),
    (
        "mixed",
        "
.program
    movi s0, 16
    loop 2000 {
    movi a0, 4096
    movi a1, 8192
    loop 16 {
    .rept 4, i
    madd q{i}, q{i+4}, q8, q9 || ldq q{4+i}, [a0]+s0
    add q{i+10}, q{i}, q8 || stq q{i}, [a1]+s0
    mul q12, q13, q14
    mul r40, r41, r42 || ldp r43, [a0+8]
    cmul r44, r45, r46
    .endr
    }
    nop
    }
    stop
",
    ),
    (
        "control",
        "
.program
    loop 1000 {
    movi c1, 0
    loop 50 {
    and c2, c1, c6
    bnz c2, odd
    addi c0, c0, 3
    jmp join
odd:
    addi c0, c0, 1
    call sub
join:
    addi c1, c1, 1
    nop
    }
    nop
    }
    stop
sub:
    addi c3, c3, 1
    ret
",
    ),
    (
        "steps",
        "
.program
    movi a0, 4096
    movi s0, 8
    movi b0, 4096
    movi l0, 1024
    movi c9, 1
    movi c8, 27
    loop 400 {
    mov  c0, c8
step:
    and  c1, c0, c9
    bz   c1, even
    call odd
    jmp  next
even:
    shr  c0, c0, 1
next:
    lii  r0, 7 || addi c2, c0, -1
    iadd r1, r1, r0 || stp r1, [a0]+s0%
    bnz  c2, step
    addi c8, c8, 2
    }
    stop
odd:
    add  c3, c0, c0
    add  c0, c0, c3
    addi c0, c0, 1
    ret
",
    ),
];

/// Returns a processor with the program loaded, and the program's entry.
fn loaded(machine: &Arc<Machine>, name: &str, text: &str, engine: Engine) -> (Processor, u32) {
    let options = Options {
        machine: Some(machine),
        ..Options::default()
    };
    let assembly = assemble(&Source::new(name, text), &options);
    let program = assembly.map_err(|e| e.to_string()).unwrap().program;
    let words = program.words.iter().flat_map(|w| w.to_le_bytes());
    let mut image: Vec<u8> = words.collect();
    image.resize(image.len().next_multiple_of(16), 0);
    let mut processor = Processor::new(machine.clone()).with_engine(engine);
    processor.memory_mut().write(0, &image).unwrap();
    let load = Descriptor::load(Target::Program, 0, 0, image.len() as u64);
    processor.submit(load, 0).unwrap();
    processor.run_until(Ticks(u64::MAX));
    (processor, program.entry.into())
}

/// Returns the highest words per second among the runs that fit into a second.
fn speed(mut processor: Processor, entry: u32) -> f64 {
    let mut best = 0.0f64;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        let before = processor.counters().words;
        processor.launch(entry, 0).unwrap();
        let start = Instant::now();
        assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
        let seconds = start.elapsed().as_secs_f64();
        best = best.max((processor.counters().words - before) as f64 / seconds);
    }
    best
}

fn main() {
    let machine = Arc::new(Machine::builtin("vm7").unwrap());
    println!(
        "{:12} {:>10} {:>10} {:>10}  M words/s",
        "", "reference", "portable", "fast"
    );
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    for (name, text) in PROGRAMS {
        if !chosen.is_empty() && !chosen.iter().any(|n| n == name) {
            continue;
        }
        let speeds = [Engine::Reference, Engine::Portable, Engine::Fast].map(|engine| {
            let (processor, entry) = loaded(&machine, name, text, engine);
            speed(processor, entry) / 1e6
        });
        let [reference, portable, fast] = speeds;
        println!("{name:12} {reference:10.1} {portable:10.1} {fast:10.1}");
    }
}
