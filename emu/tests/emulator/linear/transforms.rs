//! Tests that passes in a chain are a transform.

use super::draw::Random;
use super::{assembled_with, run};
use cp2_asm::{Value, cis};
use cp2_emu::{Cause, Engine};
use cp2_machine::Machine;
use std::sync::Arc;

/// Passes of transforms: the radix of each, for every length.
const LENGTHS: [(usize, [i64; 4]); 8] = [
    (16, [4, 4, 0, 0]),
    (32, [4, 8, 0, 0]),
    (64, [8, 8, 0, 0]),
    (128, [4, 4, 8, 0]),
    (256, [4, 8, 8, 0]),
    (512, [8, 8, 8, 0]),
    (1024, [4, 4, 8, 8]),
    (2048, [4, 8, 8, 8]),
];
/// The place of the transforms; tables and constants are below.
const PLACE: usize = 0x4000;
/// Most bytes of all transforms, of which there are three copies.
const MOST_BYTES: usize = 0x4000;
/// The place of weights of numbers, and of factors of results behind them, for short transforms.
const WEIGHTS: usize = 0x3800;

type Complex = (f64, f64);

/// Returns the transform of numbers by its definition.
fn transform(x: &[Complex], inverse: bool) -> Vec<Complex> {
    let n = x.len();
    let sign = if inverse { 1 } else { -1 };
    let factors: Vec<Complex> = (0..n as i64).map(|k| cis(sign * k, n as i64)).collect();
    (0..n)
        .map(|k| {
            x.iter().enumerate().fold((0.0, 0.0), |sum, (i, x)| {
                let w = factors[i * k % n];
                (sum.0 + x.0 * w.0 - x.1 * w.1, sum.1 + x.0 * w.1 + x.1 * w.0)
            })
        })
        .collect()
}

fn numbers(bytes: &[u8]) -> Vec<Complex> {
    let floats = bytes.chunks_exact(4);
    let floats: Vec<f64> = floats
        .map(|word| f32::from_le_bytes(word.try_into().unwrap()).into())
        .collect();
    floats.chunks_exact(2).map(|x| (x[0], x[1])).collect()
}

fn multiply(x: Complex, y: Complex) -> Complex {
    (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0)
}

/// Runs `count` transforms, of numbers and to results that are multiplied if `weighed`; no word waits, and the cycles
/// are those that the blocks report.
fn check(
    machine: &Arc<Machine>,
    (n, radices): (usize, [i64; 4]),
    count: usize,
    (inverse, weighed): (bool, bool),
) {
    let bytes = 8 * n * count;
    let places = (0..3).map(|copy| PLACE + copy * bytes);
    let places = places.chain([WEIGHTS, WEIGHTS + 8 * n]);
    let set = [8, 9, 11, 12, 13].into_iter().zip(places);
    let set: String = set
        .map(|(a, place)| format!("    movi a{a}, {place}\n"))
        .collect();
    let text = include_str!("../../../../asm/tests/assembler/linear/fft.s");
    let passes = include_str!("../../../../kernels/src/fft/stockham.s");
    let text = text.replace(".include \"stockham.s\"", passes);
    let begin = format!(".program\n{set}    movi a10, {count}\n    .rept 20\n    nop\n    .endr\n");
    let text = text.replace(".program\n", &begin);
    let names = ["R1", "R2", "R3", "R4"].into_iter().zip(radices);
    let mut defines: Vec<(String, Value)> = names
        .map(|(name, radix)| (name.to_owned(), Value::Int(radix)))
        .collect();
    defines.push(("N".to_owned(), Value::Int(n as i64)));
    defines.push(("INVERSE".to_owned(), Value::Int(inverse.into())));
    defines.push(("WEIGHED".to_owned(), Value::Int(weighed.into())));
    let assembly = assembled_with(&text, machine, defines).unwrap_or_else(|flaw| panic!("{flaw}"));
    let program = &assembly.program;
    let mut random = Random::new(n as u64);
    let mut images: Vec<Vec<u8>> = Vec::new();
    for _ in 0..machine.cp2.sections {
        let mut image = vec![0; PLACE];
        for segment in &program.dmem {
            let start = segment.address as usize;
            image[start..start + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        let number = |random: &mut Random| (random.below(2001) as f32 / 1000.0 - 1.0).to_le_bytes();
        image.extend((0..bytes / 4).flat_map(|_| number(&mut random)));
        if weighed {
            let own: Vec<u8> = (0..4 * n).flat_map(|_| number(&mut random)).collect();
            image[WEIGHTS..WEIGHTS + own.len()].copy_from_slice(&own);
        }
        images.push(image);
    }
    let processor = run(machine, Engine::Reference, &images, program);
    let processor = processor.unwrap_or_else(|flaw| panic!("{flaw}"));
    let last = machine.cp2.sections - 1;
    let mut found = vec![0; bytes];
    // An even number of passes ends where it began, and goes by way of the page behind.
    let odd = radices.iter().filter(|&&radix| radix > 0).count() % 2;
    let place = PLACE + odd * bytes;
    processor
        .core()
        .read_dmem(last, place as u32, &mut found)
        .unwrap();
    let given = numbers(&images[last][PLACE..PLACE + bytes]);
    let factors = match weighed {
        true => numbers(&images[last][WEIGHTS..WEIGHTS + 16 * n]),
        false => vec![(1.0, 0.0); 2 * n],
    };
    let (weights, factors) = factors.split_at(n);
    let (mut error, mut power) = (0.0, 0.0);
    for (x, y) in given.chunks_exact(n).zip(numbers(&found).chunks_exact(n)) {
        let x: Vec<Complex> = x
            .iter()
            .zip(weights)
            .map(|(&x, &w)| multiply(x, w))
            .collect();
        let expected = transform(&x, inverse).into_iter().zip(factors);
        let expected = expected.map(|(y, &factor)| multiply(y, factor));
        for (expected, found) in expected.zip(y) {
            error += (expected.0 - found.0).powi(2) + (expected.1 - found.1).powi(2);
            power += expected.0.powi(2) + expected.1.powi(2);
        }
    }
    let title = format!(
        "{}, n = {n}, {count} transforms, inverse {inverse}, weighed {weighed}",
        machine.name
    );
    assert!(
        error.sqrt() < 1e-6 * power.sqrt(),
        "{title}: {error} of {power}"
    );
    let first = assembly.blocks[0].first_word;
    let counters = processor.counters();
    // Words for few iterations stand behind the last one.
    let stop = super::place(program, "last");
    let words = (first..program.words.len()).filter(|&pc| pc != stop);
    let words = words.filter_map(|pc| Some((pc, counters.per_word.get(pc)?)));
    let mut cycles = 0;
    for (pc, word) in words {
        let paid = [Cause::Issue, Cause::Loop, Cause::Branch].map(|cause| word.causes.get(cause));
        assert_eq!(
            word.causes.total(),
            paid.iter().sum::<u64>(),
            "{title}: word {pc} waits"
        );
        cycles += word.causes.total();
    }
    let iterations = (n / 16 * count) as u64;
    let reported = assembly
        .blocks
        .iter()
        .map(|own| own.count_cycles(iterations));
    assert_eq!(cycles, reported.sum::<u64>(), "{title}");
}

#[test]
fn passes_in_a_chain_are_a_transform() {
    for name in ["vm7", "vm9"] {
        let machine = Arc::new(Machine::builtin(name).unwrap());
        for (n, radices) in LENGTHS {
            for count in [1, 2, 7]
                .into_iter()
                .filter(|count| 8 * n * count <= MOST_BYTES)
            {
                check(&machine, (n, radices), count, (false, false));
                check(&machine, (n, radices), count, (true, false));
                // A pass whose loads or stores are macros with operations of their own.
                if radices[0] == 8 && n == 64 {
                    check(&machine, (n, radices), count, (false, true));
                }
            }
        }
    }
}
