//! Tests that a chain does what its blocks do one behind the other.
//!
//! The definition of every block is a program of its own, which begins with what the one before has left.

use super::block::{Block, Constant, Count, DATA, Final, Initial};
use super::draw::{Random, draw_block, draw_machine};
use super::write::{
    CONSTANTS, END, REGISTERS, RESULTS, SCALARS, list_scalars, write_definition, write_linear,
};
use super::{Flaw, assembled, is_refusal, place, run};
use cp2_emu::{Cause, Engine};
use cp2_machine::Machine;
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::Arc;

/// A word between two blocks.
#[derive(Clone, Copy, Debug)]
enum Between {
    /// The store of a quad.
    Store(u8, i64),
    /// The load of a quad.
    Load(u8, i64),
}

/// A block of a chain.
#[derive(Clone, Debug)]
struct Link {
    block: Block,
    /// Words before the block.
    before: Vec<Between>,
    /// The number of `.behind`.
    behind: Option<u32>,
}

/// A value of a block that a later one reads: its quad in the definitions, and its name in the chain.
#[derive(Clone, Debug)]
struct Handed {
    quad: u8,
    name: String,
}

/// A chain.
#[derive(Clone, Debug)]
struct Links {
    links: Vec<Link>,
    handed: Vec<Handed>,
}

/// An access: number of the iteration, place, bytes, and true if it stores.
type Access = (u32, i64, i64, bool);

fn accesses(block: &Block) -> Vec<Access> {
    let all = block.accesses();
    let each = all.len() / block.iterations.max(1) as usize;
    let numbered = all.iter().enumerate();
    numbered
        .map(|(n, own)| ((n / each) as u32, own.place, own.bytes, own.stores))
        .collect()
}

/// Returns the most iterations that `.behind` may say, if there is a limit.
fn most_behind(first: &Block, second: &Block) -> Option<u32> {
    let (stores, loads) = (accesses(first), accesses(second));
    let meet = |a: &Access, b: &Access| a.1 < b.1 + b.2 && b.1 < a.1 + a.2;
    let pairs = stores
        .iter()
        .flat_map(|a| loads.iter().map(move |b| (a, b)));
    let pairs = pairs.filter(|(a, b)| a.3 && !b.3 && meet(a, b));
    pairs.map(|(a, b)| first.iterations - 1 - a.0 + b.0).min()
}

fn draw_chain(random: &mut Random, machine: &Machine) -> Links {
    let mut chain = Links {
        links: Vec::new(),
        handed: Vec::new(),
    };
    for _ in 0..2 + random.below(3) {
        let mut block = draw_block(random, machine);
        block.marked = None;
        // Tables of steps have their places: those of one block.
        while block.pointers.iter().any(|own| own.table.is_some())
            || block.count_without_effect() == block.operations.len()
        {
            block = draw_block(random, machine);
            block.marked = None;
        }
        block.freed = None;
        // Constants of equal bits are drawn in several blocks.
        let links = chain.links.iter();
        let earlier: Vec<Constant> = links.flat_map(|own| own.block.constants.clone()).collect();
        for constant in &mut block.constants {
            let same = |own: &Constant| own.words[..2] == own.words[2..];
            let fits = |own: &&Constant| same(own) == same(constant);
            if let (Some(own), true) = (earlier.iter().find(fits), random.once_in(2)) {
                *constant = own.clone();
            }
        }
        let registers = chain.registers();
        let mut before = Vec::new();
        for _ in 0..random.below(3) {
            let at = 16 * random.below(DATA as usize / 16) as i64;
            if let Some(&quad) = registers.get(random.below(registers.len())) {
                before.push(match random.once_in(2) {
                    true => Between::Store(quad, at),
                    false => Between::Load(quad, at),
                });
            }
        }
        let last = chain.links.last();
        let known = |own: &&Link| !own.block.goes_through_scalars();
        let last = last.filter(known).filter(|_| !block.goes_through_scalars());
        let behind = last.and_then(|last| {
            let most = most_behind(&last.block, &block).unwrap_or(4);
            let behind = random.below(most as usize + 1) as u32;
            random.once_in(2).then_some(behind)
        });
        chain.links.push(Link {
            block,
            before,
            behind,
        });
    }
    let registers = chain.registers();
    let mut quads = (0..32).filter(|quad| !registers.contains(quad));
    for number in 1..chain.links.len() {
        for own in 0..chain.links[number].block.initial.len() {
            let block = &chain.links[number].block;
            let wanted = &block.values[block.initial[own].0];
            let quad = wanted.quad;
            if wanted.scalar {
                continue;
            }
            let from = random.below(number);
            let source = &mut chain.links[from].block;
            let found: Vec<usize> = (0..source.values.len())
                .filter(|&value| source.values[value].quad == quad && !source.values[value].scalar)
                .filter(|&value| source.iterations > 0 || source.furthest(value) > 0)
                .collect();
            if found.is_empty() || random.once_in(3) {
                continue;
            }
            let (read, Some(place)) = (found[random.below(found.len())], quads.next()) else {
                continue;
            };
            let half = (!quad).then_some(0);
            source.values[read].declared |= !quad;
            source.finals.push(Final {
                quad: place,
                half,
                value: read,
            });
            chain.handed.push(Handed {
                quad: place,
                name: format!("b{from}.{}", super::write::name(read)),
            });
            let initial = Initial::Register { quad: place, half };
            chain.links[number].block.initial[own].2 = initial;
        }
    }
    chain
}

impl Links {
    /// Returns the quads that are set before the chain.
    fn registers(&self) -> Vec<u8> {
        let drawn = self
            .links
            .iter()
            .flat_map(|own| own.block.registers.clone());
        let mut all: Vec<u8> = drawn.collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Writes a block as it stands in the chain.
    fn write_link(&self, number: usize) -> String {
        let link = &self.links[number];
        let mut text =
            write_linear(&link.block).replace(".linear block", &format!(".linear b{number}"));
        if let Some(behind) = link.behind {
            let end = "    .endlinear\n";
            text = text.replace(end, &format!("    .behind {behind}\n{end}"));
        }
        for own in &self.handed {
            let (quad, pair) = (own.quad, 2 * own.quad);
            for register in [format!("q{quad}"), format!("r{pair}")] {
                text = text.replace(&format!(" = {register}\n"), &format!(" = {}\n", own.name));
                let last = format!("    .after {register} = ");
                let lines = text.lines().filter(|line| !line.starts_with(&last));
                text = lines.map(|line| format!("{line}\n")).collect();
            }
        }
        text
    }

    /// Writes the program with the chain between the labels `before` and `behind`.
    fn write_program(&self) -> String {
        let mut text = format!(".dmem\n    .space {CONSTANTS}\n.program\n");
        text.push_str(SCALARS);
        for quad in self.registers() {
            let at = REGISTERS + 16 * i64::from(quad);
            writeln!(text, "    movi a14, {at}\n    ldq q{quad}, [a14]").unwrap();
        }
        text.push_str("    .rept 20\n    nop\n    .endr\nbefore:\n    .chain\n");
        for (number, link) in self.links.iter().enumerate() {
            for own in &link.before {
                let (word, quad, at) = match *own {
                    Between::Store(quad, at) => ("stq", quad, at),
                    Between::Load(quad, at) => ("ldq", quad, at),
                };
                writeln!(text, "    movi a14, {at}\n    {word} q{quad}, [a14]").unwrap();
            }
            for (name, at) in list_scalars(&link.block) {
                writeln!(text, "    movi {name}, {at}").unwrap();
            }
            if matches!(link.block.count, Count::Register { .. }) {
                writeln!(text, "    movi c15, {}", link.block.iterations).unwrap();
            }
            text.push_str(&self.write_link(number));
        }
        text.push_str("    .endchain\nbehind:\n");
        for quad in self.registers() {
            let at = RESULTS + 16 * i64::from(quad);
            writeln!(text, "    movi a14, {at}\n    stq q{quad}, [a14]").unwrap();
        }
        text.push_str("last:\n    stop\n");
        text
    }
}

/// Returns what DMEM holds at the beginning, up to the constants.
fn first_images(machine: &Machine, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let image = |_| {
        let words = (0..CONSTANTS / 4).map(|_| random.number());
        words.flat_map(u32::to_le_bytes).collect()
    };
    (0..machine.cp2.sections).map(image).collect()
}

/// Carries out the definitions; returns what they leave up to `END`, section by section.
fn define(chain: &Links, machine: &Arc<Machine>, seed: u64) -> Result<Vec<Vec<u8>>, Flaw> {
    let registers = chain.registers();
    let mut state = first_images(machine, seed);
    let copy = |bytes: &mut [u8], from: i64, to: i64| {
        let quad: Vec<u8> = bytes[from as usize..from as usize + 16].to_vec();
        bytes[to as usize..to as usize + 16].copy_from_slice(&quad);
    };
    for link in &chain.links {
        let mut block = link.block.clone();
        block.registers.clone_from(&registers);
        block
            .registers
            .extend(chain.handed.iter().map(|own| own.quad));
        let constants = block.constants.iter().map(|own| own.words);
        let initial = block.initial.iter().map(|(.., own)| match own {
            Initial::Numbers(constant) => constant.words,
            Initial::Register { .. } | Initial::Scalar(..) => [0; 4],
        });
        let words: Vec<u8> = constants
            .chain(initial)
            .flatten()
            .flat_map(u32::to_le_bytes)
            .collect();
        for bytes in &mut state {
            for own in &link.before {
                match *own {
                    Between::Store(quad, at) => copy(bytes, REGISTERS + 16 * i64::from(quad), at),
                    Between::Load(quad, at) => copy(bytes, at, REGISTERS + 16 * i64::from(quad)),
                }
            }
            bytes.truncate(CONSTANTS as usize);
            bytes.extend(&words);
        }
        let assembly = assembled(&write_definition(&block), machine)?;
        let processor = run(machine, Engine::Reference, &state, &assembly.program)?;
        for (section, bytes) in state.iter_mut().enumerate() {
            bytes.truncate(CONSTANTS as usize);
            processor.core().read_dmem(section, 0, bytes).unwrap();
            for &quad in &block.registers {
                let offset = 16 * i64::from(quad);
                copy(bytes, RESULTS + offset, REGISTERS + offset);
            }
        }
    }
    Ok(state)
}

/// Checks a chain; returns true if the assembler finds a schedule.
fn check_chain(chain: &Links, machine: &Arc<Machine>, seed: u64) -> Result<bool, Flaw> {
    let text = chain.write_program();
    let assembly = match assembled(&text, machine) {
        Err(Flaw::Refused(text)) if is_refusal(&text) => return Ok(false),
        other => other?,
    };
    let program = &assembly.program;
    let expected = define(chain, machine, seed)?;
    let mut images = first_images(machine, seed);
    for segment in &program.dmem {
        for bytes in &mut images {
            let (start, end) = (
                segment.address as usize,
                segment.address as usize + segment.bytes.len(),
            );
            bytes.resize(bytes.len().max(end), 0);
            let from = start.max(CONSTANTS as usize).min(end);
            bytes[from..end].copy_from_slice(&segment.bytes[from - start..]);
        }
    }
    let own = || {
        let pool = place(program, "last") + 1..program.words.len();
        (place(program, "before")..place(program, "behind")).chain(pool)
    };
    let words = assembly.blocks.iter().map(|own| own.words);
    if words.sum::<u64>() != own().count() as u64 {
        return Err(Flaw::Cycles("other words than reported".to_owned()));
    }
    for engine in [Engine::Reference, Engine::Fast] {
        let processor = run(machine, engine, &images, program)?;
        for (section, expected) in expected.iter().enumerate() {
            let mut found = vec![0; END as usize];
            processor.core().read_dmem(section, 0, &mut found).unwrap();
            let quads = chain.registers().into_iter();
            let results = quads.map(|quad| RESULTS as usize + 16 * usize::from(quad));
            let results = results.flat_map(|at| at..at + 16);
            let data = (0..REGISTERS as usize).chain(results);
            if let Some(at) = data
                .into_iter()
                .find(|&at: &usize| found[at] != expected[at])
            {
                let at = at / 4 * 4;
                let [found, expected] = [&found, expected].map(|own| &own[at..at + 4]);
                let text = format!(
                    "{engine:?}: {found:02x?} for {expected:02x?} at {at:#x} of section {section}"
                );
                return Err(Flaw::Differs(text));
            }
        }
        let counters = processor.counters();
        let words = || own().filter_map(|pc| Some((pc, counters.per_word.get(pc)?)));
        for (pc, word) in words() {
            let causes = [Cause::Issue, Cause::Loop, Cause::Branch];
            let paid = causes.map(|cause| word.causes.get(cause));
            if word.causes.total() != paid.iter().sum::<u64>() {
                return Err(Flaw::Warned(format!("word {pc} waits: {:?}", word.causes)));
            }
        }
        let cycles: u64 = words().map(|(_, word)| word.causes.total()).sum();
        let reports = assembly.blocks.iter().zip(&chain.links);
        let reported =
            reports.map(|(report, link)| report.count_cycles(link.block.iterations.into()));
        let reported: u64 = reported.sum();
        if cycles != reported {
            return Err(Flaw::Cycles(format!(
                "{cycles} cycles, {reported} reported"
            )));
        }
    }
    Ok(true)
}

/// Returns a chain that fails in the same way and has fewer blocks, words or operations.
fn shrink_chain(
    mut chain: Links,
    machine: &Arc<Machine>,
    seed: u64,
    mut flaw: Flaw,
) -> (Links, Flaw) {
    loop {
        let mut smaller: Vec<Links> = Vec::new();
        if chain.handed.is_empty() {
            for number in 0..chain.links.len() {
                let mut other = chain.clone();
                other.links.remove(number);
                smaller.push(other);
            }
        }
        for (number, link) in chain.links.iter().enumerate() {
            for word in 0..link.before.len() {
                let mut other = chain.clone();
                other.links[number].before.remove(word);
                smaller.push(other);
            }
            if link.behind.is_some() {
                let mut other = chain.clone();
                other.links[number].behind = None;
                smaller.push(other);
            }
            for block in link.block.smaller() {
                let mut other = chain.clone();
                let lacks = |own: &Handed| {
                    let given =
                        |block: &Block| block.finals.iter().any(|last| last.quad == own.quad);
                    given(&link.block) && !given(&block)
                };
                if !chain.handed.iter().any(lacks) {
                    other.links[number].block = block;
                    smaller.push(other);
                }
            }
        }
        let found = smaller.into_iter().find_map(|other| {
            let own = check_chain(&other, machine, seed).err()?;
            (own.kind() == flaw.kind()).then_some((other, own))
        });
        match found {
            Some(next) => (chain, flaw) = next,
            None => return (chain, flaw),
        }
    }
}

/// Checks the chain of a seed; returns true if the assembler finds a schedule.
fn check_seed(seed: u64) -> bool {
    let mut random = Random::new(seed);
    let machine = Arc::new(draw_machine(&mut random));
    let chain = draw_chain(&mut random, &machine);
    match check_chain(&chain, &machine, seed) {
        Ok(scheduled) => scheduled,
        Err(flaw) => {
            let (chain, flaw) = shrink_chain(chain, &machine, seed, flaw);
            let text = chain.write_program();
            let words = assembled(&text, &machine).map_or(String::new(), |assembly| {
                let words = assembly.program.decode().unwrap();
                words
                    .iter()
                    .enumerate()
                    .map(|(pc, word)| format!("{pc:5} {word}\n"))
                    .collect()
            });
            panic!("seed {seed}, {}: {flaw}\n{text}\n{words}", machine.name)
        }
    }
}

#[test]
fn chains_do_what_their_blocks_do() {
    let number = std::env::var("CP2_BLOCKS").ok();
    let number = number.map_or(500, |text| text.parse().unwrap());
    let first = std::env::var("CP2_FIRST").map_or(0, |text| text.parse().unwrap());
    let scheduled = (first..first + number)
        .filter(|&seed| check_seed(seed))
        .count() as u64;
    assert!(scheduled * 10 > number * 9, "{scheduled} of {number}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    })]

    /// Seeds are drawn here, so that a sweep draws new chains.
    #[test]
    fn any_chain_does_what_its_blocks_do(seed in 0..u64::MAX) {
        check_seed(seed);
    }
}
