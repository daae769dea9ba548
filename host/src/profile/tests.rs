//! Tests of profiles: every cycle is charged once, beside its line.

use super::*;
use crate::Device;
use cp2_asm::{Options, Source, assemble};
use std::sync::Arc;

const TEXT: &str = "    ldp r0, [a15]\n    ; waits for the load\n    add r1, r0, r0\n    stop\n";

fn profiled(text: &str, strip: bool) -> (Program, Counters) {
    let mut program = assemble(&Source::new("k.s", text), &Options::default())
        .unwrap()
        .program;
    if strip {
        program.lines.clear();
    }
    let mut device = Device::new(Arc::new(crate::test_machine()));
    let placed = device.place("k", Arc::new(program.clone())).unwrap();
    let loaded = device.load(&placed, &[]).unwrap();
    device.launch("k", 0, 0, &[loaded]).unwrap();
    let run = device.finish().unwrap();
    (program, run.report.counters)
}

#[test]
fn cycles_are_conserved_and_stand_beside_their_line() {
    let (program, counters) = profiled(TEXT, false);
    let profile = Profile::new(&program, &counters, ProfileBy::Line);
    assert_eq!(profile.cycles(), counters.causes.total());
    let Profile::Lines(lines) = &profile else {
        panic!("{profile:?}")
    };
    let mut work = Work::default();
    lines.iter().for_each(|l| work.add(&l.cost.work, 1));
    assert_eq!(work, counters.work);
    let issued: u64 = lines.iter().map(|l| l.cost.issued).sum();
    assert_eq!(issued, counters.words);
    let listing = profile.listing(&program, |name| (name == "k.s").then(|| TEXT.to_owned()));
    let line = listing.lines().find(|l| l.contains("add r1")).unwrap();
    assert!(line.contains("operand-load 2"), "{listing}");
    assert!(listing.contains("; waits for the load"));
}

#[test]
fn without_a_line_table_the_words_are_shown() {
    let (program, counters) = profiled(TEXT, true);
    let profile = Profile::new(&program, &counters, ProfileBy::Line);
    assert_eq!(profile.cycles(), counters.causes.total());
    let listing = profile.listing(&program, |_| None);
    assert!(
        listing.contains("add r1, r0, r0") && listing.contains("operand-load 2"),
        "{listing}"
    );
}

/// A macro twice in a loop, and once in a function.
const CALLS: &str = ".macro twice r\nadd \\r, \\r, \\r\nadd \\r, \\r, \\r\n.endm
    lif r0, 1.0
    lif r1, 1.0
    loop 5 {
    twice r0
    twice r1
    loop 3 {
    .rept 4, i
    mul r{2 + i}, r0, r1
    .endr
    }
    nop
    }
    call more
    stop
more: twice r0
    ret
";

#[test]
fn every_kind_charges_each_cycle_once() {
    let (program, counters) = profiled(CALLS, false);
    for by in [
        ProfileBy::Line,
        ProfileBy::Call,
        ProfileBy::Loop,
        ProfileBy::Word,
    ] {
        let profile = Profile::new(&program, &counters, by);
        assert_eq!(profile.cycles(), counters.causes.total(), "{by:?}");
        let listing = profile.listing(&program, |_| Some(CALLS.to_owned()));
        assert!(listing.lines().count() > 3, "{listing}");
    }
}

#[test]
fn calls_add_up_what_lies_inside() {
    let (program, counters) = profiled(CALLS, false);
    let profile = Profile::new(&program, &counters, ProfileBy::Call);
    let Profile::Calls(calls) = &profile else {
        panic!("{profile:?}")
    };
    let shown: Vec<_> = calls
        .iter()
        .map(|c| {
            (
                c.depth,
                c.what.as_str(),
                c.place.as_str(),
                c.cost.words,
                c.cost.issued,
            )
        })
        .collect();
    let expected = [
        (0, "", "", 15 - 3, 0),
        (1, "macro `twice`", "k.s:8", 2, 10),
        (1, "macro `twice`", "k.s:9", 2, 10),
        // Four words of the repetition, 15 times each.
        (1, "`.rept`", "k.s:11", 4, 60),
        (0, "function `more`", "", 3, 3),
        (1, "macro `twice`", "k.s:19", 2, 2),
    ];
    assert_eq!(shown[1..], expected[1..]);
    assert_eq!(shown[0].3, program.words.len() as u64 - 3);
    // The parts of a call and what is its own are its whole.
    let inside: u64 = calls[1..4].iter().map(|c| c.cost.cycles).sum();
    assert_eq!(calls[0].own_cycles + inside, calls[0].cost.cycles);
}

#[test]
fn loops_count_their_iterations() {
    let (program, counters) = profiled(CALLS, false);
    let profile = Profile::new(&program, &counters, ProfileBy::Loop);
    let Profile::Loops(loops) = &profile else {
        panic!("{profile:?}")
    };
    let [outside, outer, inner] = &loops[..] else {
        panic!("{loops:?}")
    };
    assert_eq!((outer.depth, outer.iterations), (0, 5));
    assert_eq!((inner.depth, inner.iterations), (1, 15));
    assert_eq!(outer.own_cycles + inner.cost.cycles, outer.cost.cycles);
    assert_eq!(
        outside.own_cycles + outer.cost.cycles,
        counters.causes.total()
    );
    assert_eq!(outer.place, "k.s:7");
}

/// A branch backwards to the first word of a hardware loop is no iteration of that loop.
#[test]
fn loops_with_one_first_word_count_apart() {
    let text = "    movi c0, 3\n    loop 4 {\nagain:\n    addi c0, c0, -1\n    bpos c0, again\n    movi c0, 2\n    nop\n    }\n    stop\n";
    let (program, counters) = profiled(text, false);
    let Profile::Loops(loops) = Profile::new(&program, &counters, ProfileBy::Loop) else {
        panic!("no loops")
    };
    let counts: Vec<_> = loops
        .iter()
        .map(|l| (l.place.as_str(), l.iterations))
        .collect();
    let branches = counters.per_word[3].words;
    assert_eq!(counts, [("", 0), ("k.s:2", 4), ("k.s:5", branches)]);
    assert!(branches > 4);
}
