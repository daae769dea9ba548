//! The program of a recipe: assembly sources and the constants they are
//! specialised by.

use super::error::FftError;
use super::recipe::{Direction, Layout, Recipe};
use cp2_asm::{Options, Program, Source, Value, assemble};
use cp2_machine::Machine;

const FFT: (&str, &str) = ("fft.s", include_str!("fft.s"));
const FFT4096: (&str, &str) = ("fft4096.s", include_str!("fft4096.s"));
const INCLUDED: [(&str, &str); 2] = [
    ("radix4.s", include_str!("radix4.s")),
    ("radix8.s", include_str!("radix8.s")),
];

/// Where the sources are in this repository, for messages and line tables.
const FOLDER: &str = "kernels/src/fft/";

fn include(name: &str, _from: &str) -> Result<Source, String> {
    INCLUDED
        .iter()
        .find(|(file, _)| *file == name)
        .map(|(file, text)| Source::new(format!("{FOLDER}{file}"), *text))
        .ok_or_else(|| "no such kernel source".to_owned())
}

/// Constants that the sources expect.
fn defines(recipe: &Recipe) -> Vec<(String, Value)> {
    let mut defines = vec![
        ("N".to_owned(), recipe.len() as i64),
        (
            "INVERSE".to_owned(),
            i64::from(recipe.direction() == Direction::Inverse),
        ),
    ];
    for i in 0..4 {
        let radix = recipe.passes().get(i).map_or(0, |p| p.radix);
        defines.push((format!("R{}", i + 1), radix as i64));
    }
    defines
        .into_iter()
        .map(|(name, value)| (name, Value::Int(value)))
        .collect()
}

/// Assembles the kernel of `recipe` for `machine`.
pub(super) fn program(recipe: &Recipe, machine: &Machine) -> Result<Program, FftError> {
    let (name, text) = match recipe.layout() {
        Layout::Stockham => FFT,
        Layout::InPlace => FFT4096,
    };
    let options = Options {
        defines: defines(recipe),
        machine: Some(machine),
        include: Some(&include),
    };
    let assembly = assemble(&Source::new(format!("{FOLDER}{name}"), text), &options)?;
    Ok(assembly.program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Problem;
    use crate::fft::FftProblem;
    use cp2_dma::{Descriptor, Direction as Way, Target};
    use cp2_emu::{Notice, Processor};
    use cp2_machine::Ticks;
    use num_complex::Complex32;
    use std::sync::Arc;

    /// Runs one page of `p` transforms, alone, in DMEM; the same data in every section.
    fn page(n: usize, direction: Direction, p: usize) {
        let machine = Arc::new(Machine::builtin("vm7").unwrap());
        let recipe = Recipe::new(n, direction).unwrap();
        let program = match program(&recipe, &machine) {
            Ok(program) => program,
            Err(error) => panic!("{error}"),
        };
        let mut processor = Processor::new(machine.clone()).with_checks();
        let mut words: Vec<u8> = program.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        words.resize(words.len().next_multiple_of(16), 0);
        processor.memory_mut().write(0, &words).unwrap();
        let load = Descriptor {
            direction: Way::Load,
            target: Target::Program,
            system: 0,
            local: 0,
            run: words.len() as u64,
            levels: vec![],
            event: None,
        };
        processor.submit(load, 0).unwrap();
        assert!(matches!(
            processor.run_until(Ticks(u64::MAX)),
            Notice::TransferDone(_)
        ));

        let problem = FftProblem::new(n, direction, p).unwrap();
        let x = problem.random(7);
        let bytes: Vec<u8> = x
            .iter()
            .flat_map(|z| [z.re.to_le_bytes(), z.im.to_le_bytes()].concat())
            .collect();
        let tables = program
            .dmem
            .iter()
            .map(|s| s.address as usize + s.bytes.len())
            .max()
            .unwrap();
        let args = tables.next_multiple_of(16);
        let pitch = if n == 4096 { 33280 } else { 8 * n };
        let input = args + 16;
        let other = input + p * pitch;
        let output = if recipe.in_place() { input } else { other };
        for s in 0..4 {
            for segment in &program.dmem {
                processor
                    .poke_dmem(s, segment.address, &segment.bytes)
                    .unwrap();
            }
            let words = [input as u32, output as u32, p as u32, other as u32];
            let words: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            processor.poke_dmem(s, args as u32, &words).unwrap();
            if n == 4096 {
                for row in 0..8 {
                    processor
                        .poke_dmem(
                            s,
                            (input + 64 + 4160 * row) as u32,
                            &bytes[4096 * row..][..4096],
                        )
                        .unwrap();
                }
            } else {
                processor.poke_dmem(s, input as u32, &bytes).unwrap();
            }
        }
        processor
            .launch(u32::from(program.entry), args as u32)
            .unwrap();
        let notice = processor.run_until(Ticks(u64::MAX));
        assert!(matches!(notice, Notice::KernelStopped), "{n}: {notice:?}");
        let mut y = Vec::new();
        for i in 0..p * n {
            let at = if n == 4096 {
                4160 * (i >> 9) + 64 * (i >> 6 & 7) + 512 * (i >> 3 & 7) + 8 * (i & 7)
            } else {
                8 * i
            };
            let mut word = [0; 8];
            processor
                .core()
                .read_dmem(3, (output + at) as u32, &mut word)
                .unwrap();
            let part = |i: usize| f32::from_le_bytes(word[i..i + 4].try_into().unwrap());
            y.push(Complex32::new(part(0), part(4)));
        }
        let verdict = problem.judge(&x, &y);
        let counters = processor.counters();
        println!(
            "{recipe} x {p}: words {} {verdict:?} ideal {} {:?} {}",
            program.words.len(),
            recipe.butterflies() * p as u64,
            counters.causes.total(),
            counters
                .causes
                .to_map()
                .into_iter()
                .filter(|c| c.1 > 0)
                .map(|c| format!("{} {}", c.0, c.1))
                .collect::<Vec<_>>()
                .join(", ")
        );
        for finding in processor.findings() {
            println!(
                "   {finding} at {:?}",
                finding.pc.and_then(|pc| program.location(pc as usize))
            );
        }
        assert!(verdict.holds(), "{recipe}: {verdict:?}");
        assert!(processor.findings().is_empty());
    }

    #[test]
    fn a_page_alone() {
        for b in 4..=12 {
            for p in [1, 2, 3].into_iter().filter(|p| *p == 1 || p << b <= 2048) {
                page(1 << b, Direction::Forward, p);
            }
            page(1 << b, Direction::Inverse, 1);
        }
    }
}
