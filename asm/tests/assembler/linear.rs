//! Tests of linear blocks: known loops reach their bounds.

use cp2_asm::{ChainOverlap, Options, Source, Value, assemble};
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

/// Returns the interval of a copy of quads 32 bytes on, each doubled six times, with a hint.
fn doubling_interval(count: u64, hint: &str) -> u64 {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    let text = format!(
        ".program\n    movi c4, 0\n    .linear double, {count}\n    .pointer p = c4 by 16\n    .pointer q = c4 + 32 by 16\n    .apart\n{hint}    ldq x[0], [p]\n    .rept 6, i\n    add x[i + 1], x[i], x[i]\n    .endr\n    stq x[6], [q]\n    .endlinear\n    stop\n"
    );
    let assembly = assemble(&Source::new("k.s", text), &options).unwrap();
    assembly.blocks[0].interval
}

/// An interval is as many cycles longer than the least as a block asks for.
#[test]
fn intervals_are_longer_on_demand() {
    assert_eq!(doubling_interval(2, ""), 6);
    assert_eq!(doubling_interval(2, "    .interval + 3\n"), 9);
    // With a hint the interval of the fewest cycles in all is taken, which may be longer.
    assert!(doubling_interval(2, "    .spread\n    .interval + 3\n") >= 9);
}

/// A store for an iteration beyond the count holds none up; here the third iteration loads what the first has stored.
#[test]
fn iterations_beyond_the_count_order_nothing() {
    assert_eq!(doubling_interval(2, ""), 6);
    assert!(doubling_interval(3, "") > 6);
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
/// Returns the cycles of a body with a count, or of one that is carried out once.
fn body_cycles(count: &str) -> u64 {
    let text = format!(
        ".program\n.linear own{count}\n.pointer p = a14 by 16\nldp x, [p]\nldp y, [p + 16384]\n\
         add s, x, y\nmul z, s, y\nmul w, z, s\nstp w, [p - 16]\n.endlinear\nstop\n"
    );
    let reports = reports(&text);
    reports[0].count_cycles(1)
}

/// An only iteration is scheduled as a line, and reaches as far on both sides as its pointer can stand between.
#[test]
fn an_only_iteration_is_a_line() {
    let line = body_cycles("");
    assert_eq!(line, body_cycles(", 1"));
}

#[test]
fn passes_of_a_transform_overlap() {
    let text = include_str!("linear/fft.s");
    let passes = include_str!("../../../kernels/src/fft/stockham.s");
    let include = |_: &str, _: &str| Ok(Source::new("stockham.s", passes));
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
                include: Some(&include),
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

/// Returns the reports of a program for a machine.
fn reports(text: &str) -> Vec<cp2_asm::BlockReport> {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    match assemble(&Source::new("k.s", text), &options) {
        Ok(assembly) => assembly.blocks,
        Err(errors) => panic!("{errors}"),
    }
}

/// Operations without effect cost nothing, over iterations and halves too, and the report says where they stand.
#[test]
fn operations_without_effect_are_dropped() {
    let text = |idle: &str| {
        format!(
            ".program\n.linear row, 64\n.pointer p = c4 by 16\n.pointer o = c5 by 16\n.apart\n\
            ldq x, [p]\n{idle}add y, x, x\nstq y, [o]\n.endlinear\nstop\n"
        )
    };
    let idle = ".before s@1 = 0.0\nldq z, [p + 16]\nmul u, z, x\nadd s, s@1, u\ncmul v.lo, x.lo, x.hi\nneg v.hi, x.lo\n";
    let lean = reports(&text("")).remove(0);
    let full = reports(&text(idle)).remove(0);
    let lines: Vec<u32> = full.dropped.iter().map(|&(_, line)| line).collect();
    assert_eq!(lines, [8, 9, 10, 11, 12]);
    assert!(lean.dropped.is_empty());
    assert_eq!(
        (full.interval, full.words, full.cycles),
        (lean.interval, lean.words, lean.cycles)
    );
    // A half that is stored keeps what computes it, and nothing else.
    let half = format!("{idle}stp v.hi, [o + 8]\n");
    let dropped = reports(&text(&half)).remove(0).dropped;
    let lines: Vec<u32> = dropped.iter().map(|&(_, line)| line).collect();
    assert_eq!(lines, [8, 9, 10, 11]);
}

/// Few iterations, one after the other, keep the half of a value that is computed: the other one is nowhere.
#[test]
fn halves_without_effect_are_not_kept() {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        check_registers: true,
        ..Options::default()
    };
    // The operations that compute `v.lo` are read by themselves only, an iteration later. All registers but those of
    // `v` are written.
    let text = ".program\nmovi c4, 512\nmovi c5, 4096\nmovi c6, 4\nmovi a0, 0\nldq q4, [a0]\n.linear half, c6\n\
        .pointer p = c4 by 16\n.pointer o = c5 by 16\n.pointer past = c5 + 2048 by 16\n.apart\n.before g@1 = q4\n\
        .before v@1 = q4\n.before v@2 = q4\n.before v@3 = double(3.0)\n.before w@1 = double(1.0)\nldq x, [p]\n\
        mov g, x\nexp2 v.hi, g.hi\nmul u, v.hi@3, v.hi@1\nmov v.lo, w.lo@1\nsel w, g, v, x\nstq g@1, [past]\n\
        sub t, u, v.hi\nstp u, [o]\nstp t, [o + 8]\n.endlinear\nstop\n";
    let assembly = match assemble(&Source::new("half.s", text), &options) {
        Ok(assembly) => assembly,
        Err(errors) => panic!("{errors}"),
    };
    assert_eq!(assembly.blocks[0].dropped.len(), 2);
    assert!(assembly.warnings.is_empty(), "{}", assembly.warnings);
}

/// A value has an effect if a later block of the chain begins with it, and that has one.
#[test]
fn values_for_later_blocks_have_an_effect() {
    let text = |last: &str| {
        format!(
            ".program\n.chain\n.linear first\n.pointer p = c4 by 0\nldq x, [p]\nldq w, [p + 16]\nadd y, x, x\n\
            stq w, [p + 32]\n.endlinear\n.linear second, 8\n.pointer p = c5 by 16\n.before t@1 = first.y\n\
            ldq t, [p]\nadd u, t, t@1\nstq {last}, [p]\n.endlinear\n.endchain\nstop\n"
        )
    };
    let dropped = |last: &str| -> Vec<usize> {
        let blocks = reports(&text(last));
        blocks.iter().map(|own| own.dropped.len()).collect()
    };
    assert_eq!(dropped("u"), [0, 0]);
    assert_eq!(dropped("t"), [2, 1]);
}

/// More words between two loops than a chain moves are reported.
#[test]
fn long_regions_are_reported() {
    let text = |words: usize| {
        format!(
            ".program\n.chain\n.linear first, 8\n.pointer p = c4 by 16\nldq x, [p]\nstq x, [p]\n.endlinear\n\
            .rept {words}\nadd q20, q21, q21\n.endr\n.linear second, 8\n.pointer p = c5 by 16\nldq x, [p]\n\
            stq x, [p]\n.endlinear\n.endchain\nstop\n"
        )
    };
    let unmoved = |words: usize| {
        let blocks = reports(&text(words));
        blocks[1].overlap.unwrap_or_default().unmoved
    };
    assert_eq!(unmoved(100), 0);
    let most = ChainOverlap::MOST_OPERATIONS;
    assert!(unmoved(most) > most as u64);
}

/// A block begins with a value of another one only if both have one width; the error names both places.
#[test]
fn widths_of_handed_values_are_compared() {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    let refused = |first: &str, name: &str, second: &str| {
        let text = format!(
            ".program\n.chain\n.linear start\n.pointer p = c4 by 0\n{first}\n.endlinear\n.linear next, 4\n\
            .pointer p = c5 by 16\n.before y@1 = start.{name}\n{second}\n.endlinear\n.endchain\nstop\n"
        );
        assemble(&Source::new("k.s", text), &options)
            .map_or_else(|e| e.to_string(), |_| String::new())
    };
    let quads = "ldq y, [p]\nadd z, y@1, y\nstq z, [p]";
    let pairs = "ldp y, [p]\nadd z, y@1, y\nstp z, [p]";
    let pair = "ldp h, [p]\nstp h, [p + 8]";
    let quad = "ldq x, [p]\nstq x, [p + 16]";
    let scalar = "ldx s, [p]\nldq x, [s]\nstq x, [p]";
    assert_eq!(refused(quad, "x", quads), "");
    assert_eq!(refused(pair, "h", pairs), "");
    for (first, name, second, widths) in [
        (pair, "h", quads, ["a quad", "a pair"]),
        (quad, "x", pairs, ["a pair", "a quad"]),
        (scalar, "s", quads, ["a quad", "a scalar"]),
        (
            quad,
            "x",
            "ldx y, [p]\nldq z, [y@1]\nstq z, [p]",
            ["a scalar", "a quad"],
        ),
        (
            quad,
            "x",
            ".pair y\nldp y, [p]\nadd z, y@1, y\nstp z, [p]",
            ["a pair", "a quad"],
        ),
    ] {
        let error = refused(first, name, second);
        let [own, other] = widths;
        let said =
            format!("`y` is {own}, and the block begins with `start.{name}`, which is {other}");
        assert!(error.contains(&said), "{error}");
        for width in widths {
            assert!(
                error.contains(&format!("{width} is computed here")),
                "{error}"
            );
        }
    }
}

/// A table of steps may stand behind the block that goes through it: the words are the same.
#[test]
fn tables_may_come_later() {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        ..Options::default()
    };
    let block = ".program\n.linear gathered, 16\n.pointer in = c4 by table jumps round 32\n\
        .pointer back = c6 by table jumps round 32\n.pointer out = c5 by 16\n.apart\n\
        ldq x, [in]\nldq y, [back]\nadd z, x, y\nstq z, [out]\n.endlinear\nstop\n";
    let table = |at: usize| format!(".dmem {at}\njumps:  .int 16, 0, 16, 0, 16, 0, 80, 0\n");
    let words = |text: &str| {
        let assembly = assemble(&Source::new("k.s", text), &options).unwrap();
        assembly.program.words.clone()
    };
    let before = words(&format!("{}{block}", table(0x200)));
    assert_eq!(words(&format!("{block}{}", table(0x200))), before);
    assert_ne!(words(&format!("{block}{}", table(0x400))), before);
    let error = |text: &str| {
        assemble(&Source::new("k.s", text), &options)
            .unwrap_err()
            .to_string()
    };
    let misplaced = error(&format!("{block}{}", table(0x204)));
    assert!(misplaced.contains("the table of `in`"), "{misplaced}");
    let unknown = error(block);
    assert_eq!(
        unknown.matches("error: unknown name `jumps`").count(),
        1,
        "{unknown}"
    );
}

/// A loop begins beside the word before it if an iteration leaves a memory slot free.
#[test]
fn loops_begin_beside_a_word() {
    for name in ["vm7", "vm9"] {
        let machine = Machine::builtin(name).unwrap();
        let options = Options {
            machine: Some(&machine),
            ..Options::default()
        };
        let mut beside = 0;
        for (file, text, _) in LOOPS {
            let assembly = assemble(&Source::new(file, text), &options).unwrap();
            let block = &assembly.blocks[0];
            let words = assembly.program.decode().unwrap();
            let mut words = words.iter().skip(block.first_word).map(ToString::to_string);
            let word = words.find(|word| word.contains("loop ")).unwrap();
            let alone = !word.contains("||");
            beside += usize::from(!alone);
            assert!(
                !alone || block.memory == block.interval,
                "{file}, {name}: {word}"
            );
        }
        assert!(beside + 4 > LOOPS.len(), "{beside}");
    }
}
