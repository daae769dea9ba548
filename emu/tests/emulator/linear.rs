//! Tests that a scheduled block does what its definition says.
//!
//! The definition is the block carried out one operation after the other.

mod block;
mod chains;
mod draw;
mod handed;
mod loops;
mod transforms;
mod write;

use crate::common;

use block::{Block, Count, Initial};
use common::load;
use cp2_asm::{Assembly, Options, Problem, Program, Source, Value, assemble};
use cp2_emu::{Cause, Engine, Notice, Processor};
use cp2_machine::{Machine, Ticks};
use draw::{Random, draw_block, draw_machine};
use proptest::prelude::*;
use std::fmt;
use std::sync::Arc;
use write::{CONSTANTS, END, table_of, write_definition, write_program};

/// A flaw of a block.
#[derive(Debug)]
enum Flaw {
    /// The assembler refuses it.
    Refused(String),
    /// It waits, or the use of registers is flawed.
    Warned(String),
    /// It leaves something else than its definition.
    Differs(String),
    /// It takes other cycles than its report says.
    Cycles(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) => write!(f, "refused: {text}"),
            Self::Warned(text) => write!(f, "warned: {text}"),
            Self::Differs(text) => write!(f, "differs: {text}"),
            Self::Cycles(text) => write!(f, "cycles: {text}"),
        }
    }
}

impl Flaw {
    /// Returns what tells kinds of flaws apart: how messages begin.
    fn kind(&self) -> String {
        const LENGTH: usize = 24;
        let text = self.to_string();
        let letters = text.chars().filter(|c| !c.is_ascii_digit());
        letters.take(LENGTH).collect()
    }
}

/// Counts of drawn blocks.
#[derive(Debug, Default)]
struct Drawn {
    blocks: usize,
    unschedulable: usize,
    operations: usize,
    iterations: u64,
    looped: usize,
    meeting: usize,
    counted: usize,
    carried: usize,
    round: usize,
    scalar: usize,
    table: usize,
    named_apart: usize,
    dropped: usize,
}

fn assembled(text: &str, machine: &Machine) -> Result<Assembly, Flaw> {
    assembled_with(text, machine, Vec::new())
}

/// Assembles a program, of which some constants have other values.
fn assembled_with(
    text: &str,
    machine: &Machine,
    defines: Vec<(String, Value)>,
) -> Result<Assembly, Flaw> {
    let options = Options {
        machine: Some(machine),
        check_registers: true,
        defines,
        ..Options::default()
    };
    assemble(&Source::new("block.s", text), &options)
        .map_err(|errors| Flaw::Refused(errors.to_string()))
}

/// Returns the contents of DMEM at the beginning, the same for both programs but for the constants.
fn images(block: &Block, machine: &Machine, program: &Program, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let sections = 0..machine.cp2.sections;
    let image = |_| {
        let words = (0..CONSTANTS / 4).map(|_| random.number());
        let initial = block.initial.iter().map(|(.., own)| match own {
            Initial::Numbers(constant) => constant.words,
            Initial::Register { .. } | Initial::Scalar(..) => [0; 4],
        });
        let constants = block.constants.iter().map(|own| own.words);
        let constants = constants.chain(initial).flatten();
        let words = words.chain(constants);
        let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        for (index, pointer) in block.pointers.iter().enumerate() {
            let steps = pointer.table.iter().flat_map(|(steps, _)| steps);
            for (place, &step) in (table_of(index) as usize..).step_by(8).zip(steps) {
                bytes[place..place + 4].copy_from_slice(&(step as i32).to_le_bytes());
            }
        }
        for segment in &program.dmem {
            let end = segment.address as usize + segment.bytes.len();
            bytes.resize(bytes.len().max(end), 0);
            let from = (CONSTANTS as usize).max(segment.address as usize);
            let own = &segment.bytes[from - segment.address as usize..];
            bytes[from..end].copy_from_slice(own);
        }
        bytes
    };
    sections.map(image).collect()
}

/// Runs a program until it stops; the error is what else it does.
fn run(
    machine: &Arc<Machine>,
    engine: Engine,
    images: &[Vec<u8>],
    program: &Program,
) -> Result<Processor, Flaw> {
    let mut processor = Processor::new(machine.clone()).with_engine(engine);
    load(&mut processor, &program.decode().unwrap());
    for (section, bytes) in images.iter().enumerate() {
        processor.poke_dmem(section, 0, bytes).unwrap();
    }
    processor.launch(0, 0).unwrap();
    match processor.run_until(Ticks(u64::MAX)) {
        Notice::KernelStopped => Ok(processor),
        notice => Err(Flaw::Differs(format!("{engine:?}: {notice:?}"))),
    }
}

/// Returns what a program leaves, word by word of all sections.
fn left(processor: &Processor, machine: &Machine) -> Vec<u32> {
    let sections = 0..machine.cp2.sections;
    let words = sections.flat_map(|section| {
        let mut bytes = vec![0; END as usize];
        processor.core().read_dmem(section, 0, &mut bytes).unwrap();
        let words = bytes.chunks_exact(4);
        words
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect::<Vec<_>>()
    });
    words.collect()
}

fn place(program: &Program, label: &str) -> usize {
    let mut symbols = program.symbols.iter();
    symbols.find(|symbol| symbol.name == label).unwrap().value as usize
}

/// True if a block needs more registers than there are.
fn is_refusal(text: &str) -> bool {
    text.contains("no software pipeline") || text.contains("finds too few")
}

/// True if a block is refused since it has no effect.
fn is_idle(text: &str) -> bool {
    text.contains("has no effect")
}

/// Checks a block on a machine.
fn check(block: &Block, machine: &Arc<Machine>, seed: u64) -> Result<Drawn, Flaw> {
    let checked = std::panic::catch_unwind(|| try_block(block, machine, seed));
    checked.unwrap_or_else(|_| Err(Flaw::Refused("it panics".to_owned())))
}

fn try_block(block: &Block, machine: &Arc<Machine>, seed: u64) -> Result<Drawn, Flaw> {
    let mut drawn = Drawn {
        blocks: 1,
        operations: block.operations.len(),
        iterations: block.iterations.into(),
        ..Drawn::default()
    };
    let written = write_program(block);
    let dropped = block.count_without_effect();
    let assembly = match assembled(&written, machine) {
        Err(Flaw::Refused(text)) if dropped == block.operations.len() && is_idle(&text) => {
            drawn.dropped = 1;
            return Ok(drawn);
        }
        Err(Flaw::Refused(text)) if is_refusal(&text) => {
            drawn.unschedulable = 1;
            return Ok(drawn);
        }
        other => other?,
    };
    let defined = assembled(&write_definition(block), machine)?;
    let program = &assembly.program;
    let report = &assembly.blocks[0];
    if report.dropped.len() != dropped {
        let text = format!("{:?} dropped, {dropped} without effect", report.dropped);
        return Err(Flaw::Differs(text));
    }
    let (before, behind) = (place(program, "before"), place(program, "behind"));
    // Loops for few iterations stand behind the program.
    let pool = place(program, "last") + 1;
    let own = || (before..behind).chain(pool..program.words.len());
    if report.words != own().count() as u64 {
        let found = own().count();
        let text = format!("{found} words, {} reported", report.words);
        return Err(Flaw::Cycles(text));
    }
    let unread = block.reads_all();
    for warning in assembly.warnings.iter() {
        let text = warning.to_string();
        let line = |label: &str| written.lines().position(|line| line == label).unwrap();
        let own = line("before:")..line("behind:");
        let inside = own.contains(&(warning.at.line as usize - 1));
        let dead = matches!(warning.problem, Problem::UnreadValue { .. });
        if inside && (unread || !dead) {
            return Err(Flaw::Warned(text));
        }
    }
    let expected = run(
        machine,
        Engine::Reference,
        &images(block, machine, &defined.program, seed),
        &defined.program,
    );
    let expected = expected.unwrap_or_else(|flaw| panic!("the definition: {flaw}"));
    let expected = left(&expected, machine);
    for engine in [Engine::Reference, Engine::Fast] {
        let processor = run(
            machine,
            engine,
            &images(block, machine, program, seed),
            program,
        )?;
        let found = left(&processor, machine);
        if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
            let words = END as usize / 4;
            let (section, address) = (at / words, 4 * (at % words));
            return Err(Flaw::Differs(format!(
                "{engine:?}: {:08x} for {:08x} at {address:#x} of section {section}",
                found[at], expected[at]
            )));
        }
        let counters = processor.counters();
        let words = || own().filter_map(|pc| Some((pc, counters.per_word.get(pc)?)));
        for (pc, word) in words() {
            let causes = [Cause::Issue, Cause::Loop, Cause::Branch];
            let paid = causes.map(|cause| word.causes.get(cause));
            if word.causes.total() != paid.iter().sum::<u64>() {
                let text = format!("word {pc} of {before}..{behind} waits: {:?}", word.causes);
                return Err(Flaw::Warned(text));
            }
        }
        let cycles: u64 = words().map(|(_, word)| word.causes.total()).sum();
        let reported = report.count_cycles(block.iterations.into());
        if cycles != reported {
            let text = format!("{cycles} cycles, {reported} reported: {:?}", report.cycles);
            return Err(Flaw::Cycles(text));
        }
    }
    let counted = matches!(block.count, Count::Register { .. });
    drawn.counted += usize::from(counted);
    drawn.looped += usize::from(report.iterations != Some(1) && program.words.len() > 60);
    drawn.meeting += usize::from(!block.meetings().is_empty());
    drawn.carried += usize::from(!block.initial.is_empty());
    drawn.table += usize::from(block.pointers.iter().any(|own| own.table.is_some()));
    drawn.named_apart += usize::from(!block.named_apart.is_empty());
    drawn.scalar += usize::from(block.values.iter().any(|own| own.scalar));
    drawn.dropped += usize::from(dropped > 0);
    drawn.round += usize::from(block.pointers.iter().any(|own| own.round.is_some()));
    Ok(drawn)
}

impl Drawn {
    fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.unschedulable += other.unschedulable;
        self.operations += other.operations;
        self.iterations += other.iterations;
        self.looped += other.looped;
        self.meeting += other.meeting;
        self.counted += other.counted;
        self.carried += other.carried;
        self.round += other.round;
        self.scalar += other.scalar;
        self.table += other.table;
        self.named_apart += other.named_apart;
        self.dropped += other.dropped;
    }
}

/// Draws the block of a seed, and its machine.
fn draw(seed: u64) -> (Block, Machine) {
    let mut random = Random::new(seed);
    let machine = draw_machine(&mut random);
    let block = draw_block(&mut random, &machine);
    (block, machine)
}

/// Leaves out what a flaw does not need.
fn shrink(mut block: Block, machine: &Arc<Machine>, seed: u64, flaw: Flaw) -> (Block, Flaw) {
    let mut found = flaw;
    loop {
        let smaller = block.smaller().into_iter().find_map(|block| {
            let apart = (!block.apart || block.is_apart()) && block.are_named_apart();
            let flaw = apart.then(|| check(&block, machine, seed).err());
            let flaw = flaw.flatten().filter(|flaw| flaw.kind() == found.kind());
            Some((block, flaw?))
        });
        match smaller {
            Some((next, flaw)) => (block, found) = (next, flaw),
            None => return (block, found),
        }
    }
}

/// Writes the words of a block that the assembler takes.
fn write_words(block: &Block, machine: &Machine) -> String {
    let Ok(assembly) = assembled(&write_program(block), machine) else {
        return String::new();
    };
    let program = &assembly.program;
    let words = program.decode().unwrap();
    let own = place(program, "before")..place(program, "behind");
    let pool = place(program, "last") + 1..words.len();
    let lines = own.chain(pool).map(|pc| format!("{pc:5} {}\n", words[pc]));
    lines.collect()
}

/// Checks the blocks of some seeds.
fn check_blocks(seeds: std::ops::Range<u64>) -> Drawn {
    let (mut drawn, mut failed) = (Drawn::default(), 0);
    let mut kinds: Vec<(String, String)> = Vec::new();
    for seed in seeds {
        let (block, machine) = draw(seed);
        let machine = Arc::new(machine);
        let flaw = match check(&block, &machine, seed) {
            Ok(own) => {
                drawn.add(&own);
                continue;
            }
            Err(flaw) => flaw,
        };
        failed += 1;
        // One of each kind is shown.
        if kinds.iter().all(|(kind, _)| *kind != flaw.kind()) {
            let kind = flaw.kind();
            let (block, flaw) = shrink(block, &machine, seed, flaw);
            let text = [
                write_program(&block),
                write_words(&block, &machine),
                write_definition(&block),
            ]
            .join("\n; Which is:\n");
            kinds.push((
                kind,
                format!("seed {seed}, {}: {flaw}\n{text}", machine.name),
            ));
        }
    }
    let texts: Vec<String> = kinds.into_iter().map(|(_, text)| text).collect();
    assert!(failed == 0, "{failed} blocks fail.\n{}", texts.join("\n"));
    drawn
}

/// Checks a thousand blocks from a seed on, or as many as `CP2_BLOCKS` says.
fn check_from(first: u64) {
    let number = std::env::var("CP2_BLOCKS").ok();
    let number = number.map_or(1000, |text| text.parse().unwrap());
    let drawn = check_blocks(first..first + number);
    println!("{drawn:?}");
    // Few need too many registers, and all that blocks can say is drawn often.
    assert!(drawn.unschedulable * 100 <= drawn.blocks, "{drawn:?}");
    for often in [
        drawn.looped,
        drawn.meeting,
        drawn.counted,
        drawn.carried,
        drawn.round,
        drawn.scalar,
        drawn.table,
        drawn.named_apart,
        drawn.dropped,
    ] {
        assert!(often * 8 > drawn.blocks, "{drawn:?}");
    }
}

#[test]
fn blocks_do_what_their_definition_says() {
    check_from(0);
}

#[test]
fn other_blocks_do_what_their_definition_says() {
    check_from(1_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    })]

    /// Seeds are drawn here, so that a sweep draws new blocks.
    #[test]
    fn any_block_does_what_its_definition_says(seed in 0..u64::MAX) {
        check_blocks(seed..seed + 1);
    }
}
