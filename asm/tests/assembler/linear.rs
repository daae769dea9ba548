//! Tests of linear blocks: known loops reach their bounds.

use cp2_asm::{Options, Source, Value, assemble};
use cp2_machine::Machine;

/// Loops with the cycles of an iteration that their operations take at least, on either machine.
const LOOPS: [(&str, &str, u64); 18] = [
    ("argmax.s", include_str!("linear/argmax.s"), 13),
    ("axpy.s", include_str!("linear/axpy.s"), 3),
    ("biquad.s", include_str!("linear/biquad.s"), 20),
    ("biquad_lines.s", include_str!("linear/biquad_lines.s"), 20),
    ("cfar.s", include_str!("linear/cfar.s"), 11),
    ("covariance.s", include_str!("linear/covariance.s"), 32),
    ("diagonal.s", include_str!("linear/diagonal.s"), 14),
    ("dot.s", include_str!("linear/dot.s"), 8),
    ("erf.s", include_str!("linear/erf.s"), 16),
    ("gradient.s", include_str!("linear/gradient.s"), 12),
    ("heat.s", include_str!("linear/heat.s"), 7),
    ("jacobi.s", include_str!("linear/jacobi.s"), 6),
    ("power.s", include_str!("linear/power.s"), 6),
    ("radix4.s", include_str!("linear/radix4.s"), 16),
    ("radix4_round.s", include_str!("linear/radix4_round.s"), 16),
    ("radix8.s", include_str!("linear/radix8.s"), 24),
    (
        "radix8_tables.s",
        include_str!("linear/radix8_tables.s"),
        24,
    ),
    ("star.s", include_str!("linear/star.s"), 32),
];

#[test]
fn loops_reach_their_bounds() {
    for name in ["vm7", "vm9"] {
        let machine = Machine::builtin(name).unwrap();
        let options = Options {
            machine: Some(&machine),
            check_registers: true,
            ..Options::default()
        };
        for (file, text, cycles) in LOOPS {
            let assembly = match assemble(&Source::new(file, text), &options) {
                Ok(assembly) => assembly,
                Err(errors) => panic!("{name}: {errors}"),
            };
            let [block] = &assembly.blocks[..] else {
                panic!("{file}: {} blocks", assembly.blocks.len());
            };
            assert_eq!(
                (block.interval, block.bound),
                (cycles, cycles),
                "{file}, {name}"
            );
            // Iterations that follow one another at that distance take that many cycles each.
            let copies = block.copies;
            let of = |n: u64| block.count_cycles(n);
            assert_eq!(
                of(1000 + 8 * copies) - of(1000),
                8 * copies * cycles,
                "{file}, {name}"
            );
        }
    }
}

/// A block writes no register that a word behind it needs: such a program is refused, and the same with the register
/// named before is not.
#[test]
fn registers_behind_a_block_are_safe() {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    let program = |before: &str| {
        let text = format!(
            ".program\n    movi c4, 0\n{before}    .linear copy, 4\n    .pointer p = c4 by 16\n    .pointer q = c4 + 64 by 16\n    .apart\n    ldq x, [p]\n    stq x, [q]\n    .endlinear\n    movi a5, 0\n    stq q0, [a5]\n    stop\n"
        );
        assemble(&Source::new("k.s", text), &options)
    };
    let error = program("").unwrap_err().to_string();
    assert!(error.contains("reads what r0 had before"), "{error}");
    let named = program("    lif r0, 1.0\n    lif r1, 1.0\n").unwrap();
    assert_eq!(named.blocks.len(), 1);
}

/// Returns the interval of a copy of quads 16 bytes on, each doubled six times, with a hint.
fn doubling_interval(count: u64, hint: &str) -> u64 {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    let text = format!(
        ".program\n    movi c4, 0\n    .linear double, {count}\n    .pointer p = c4 by 16\n    .pointer q = c4 + 16 by 16\n    .apart\n{hint}    ldq x[0], [p]\n    .rept 6, i\n    add x[i + 1], x[i], x[i]\n    .endr\n    stq x[6], [q]\n    .endlinear\n    stop\n"
    );
    let assembly = assemble(&Source::new("k.s", text), &options).unwrap();
    assembly.blocks[0].interval
}

/// An interval is as many cycles longer than the least as a block asks for.
#[test]
fn intervals_are_longer_on_demand() {
    assert_eq!(doubling_interval(1, ""), 6);
    assert_eq!(doubling_interval(1, "    .interval + 3\n"), 9);
    assert_eq!(doubling_interval(1, "    .spread\n    .interval + 3\n"), 9);
}

/// A store for an iteration beyond the count holds none up; here the second iteration loads what the first has stored.
#[test]
fn iterations_beyond_the_count_order_nothing() {
    assert_eq!(doubling_interval(1, ""), 6);
    assert!(doubling_interval(2, "") > 6);
}

/// Returns the cycles of sums of eight quads in the order of the text, stored at a place, with a hint.
fn sum_cycles(count: u64, to: &str, hint: &str) -> u64 {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    let text = format!(
        ".program\n    movi c4, 0\n    movi c5, 0x8000\n    .linear sums, {count}\n    .pointer x = c4 + 128 by 128\n    .pointer y = {to} by 128\n    .apart\n    .order\n{hint}    .rept 8, i\n    ldq x[i + 8], [x + 16*i]\n    .endr\n    .rept 7, i\n    add x[7 - i], x[14 - 2*i], x[15 - 2*i]\n    .endr\n    stq x[1], [y]\n    .endlinear\n    stop\n"
    );
    let assembly = assemble(&Source::new("k.s", text), &options).unwrap();
    assembly.blocks[0].count_cycles(count)
}

/// First loads are as close to the first arithmetic where other iterations store to their places: here each one stores
/// where the one before has loaded.
#[test]
fn loops_in_place_are_as_short() {
    let apart = sum_cycles(16, "c5", "");
    assert_eq!(sum_cycles(16, "c4", ""), apart);
}

/// A longer interval is taken where it makes a loop of few iterations shorter.
#[test]
fn few_turns_take_the_fewest_cycles() {
    let cycles = |count, hint: &str| sum_cycles(count, "c5", hint);
    assert!(cycles(2, "    .turns 2\n") < cycles(2, ""));
    assert!(cycles(64, "    .turns 64\n") < cycles(64, "    .turns 1\n"));
}

/// Passes of a transform in a chain reach their bounds in every length, and overlap: cycles of all passes beside their
/// butterflies for two transforms.
#[test]
fn passes_of_a_transform_overlap() {
    let text = include_str!("linear/fft.s");
    let lengths = [
        (128, [4, 4, 8, 0], [60, 84]),
        (256, [4, 8, 8, 0], [58, 80]),
        (512, [8, 8, 8, 0], [62, 97]),
        (1024, [4, 4, 8, 8], [81, 106]),
        (2048, [4, 8, 8, 8], [80, 109]),
    ];
    for (machine, name) in ["vm7", "vm9"].into_iter().enumerate() {
        let own = Machine::builtin(name).unwrap();
        for (n, radices, beside) in lengths {
            let names = ["R1", "R2", "R3", "R4"].into_iter().zip(radices);
            let names = names.chain([("N", n as i64)]);
            let options = Options {
                machine: Some(&own),
                defines: names
                    .map(|(name, value)| (name.to_owned(), Value::Int(value)))
                    .collect(),
                ..Options::default()
            };
            let assembly = match assemble(&Source::new("fft.s", text), &options) {
                Ok(assembly) => assembly,
                Err(errors) => panic!("{name}: {errors}"),
            };
            let iterations = n / 16 * 2;
            let mut cycles = 0;
            for (block, radix) in assembly.blocks.iter().zip(radices) {
                let bound = if radix == 4 { 16 } else { 24 };
                assert_eq!((block.interval, block.bound), (bound, bound), "{name}, {n}");
                cycles += block.count_cycles(iterations) - bound * iterations;
            }
            assert!(cycles <= beside[machine], "{name}, {n}: {cycles}");
        }
    }
}
