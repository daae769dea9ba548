//! Property tests of folding: the same program as without it, or errors.

use crate::assemble::attempt;
use crate::{Options, Source, shipped};
use cp2_machine::Machine;
use proptest::prelude::*;

/// Assembles a text with and without folding and checks that both give one program.
///
/// Returns `None` if the folded reading gives errors.
fn folds(text: &str) -> Option<bool> {
    let include = |name: &str, _from: &str| {
        let text = shipped(name).ok_or("no such file")?;
        Ok(Source::new(name, text))
    };
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        include: Some(&include),
        machine: Some(&machine),
        ..Options::default()
    };
    let source = Source::new("test.s", text);
    let [folded, written] = [true, false].map(|folds| attempt(&source, &options, folds));
    let same = folded
        .as_ref()
        .ok()
        .map(|folded| Some(folded) == written.as_ref().ok());
    assert_ne!(same, Some(false), "{text}\n{folded:#?}\n{written:#?}");
    same
}

/// Makes a program with a macro of these lines, called with these arguments.
fn program(lines: &[&str], arguments: [&str; 2]) -> String {
    let [p, q] = arguments;
    format!(
        ".equ K, 5\n.equ K3, 7\n.equ K5, 11\n\
         .macro leaf x, y=2\n.int \\x, \\y\n.int 2*\\x - \\y\n.int \\x ? \\y : 3\n.endm\n\
         .macro two p, q\n{}\n.endm\n\
         .macro pair p, q\ntwo \\p, \\q\ntwo \\q + 1, \\p\n.endm\n\
         .program\nstart: stop\nlate1: nop\nstop\n.dmem\nhere4:\n.rept 3, i\npair {p}, {q}\n.endr\n.equ LATE, 9\n",
        lines.join("\n")
    )
}

/// Lines of a macro with parameters p and q.
const LINES: [&str; 24] = [
    ".int \\p",
    ".int \\p, \\q",
    ".int 2*\\p",
    ".int -\\p",
    ".int \\p - \\q",
    ".int \\p*\\q % 7",
    ".int \\p ? \\q : 1",
    ".int 1 ? \\p : \\q",
    ".int 1 + (\\p || \\q)",
    ".int K\\p",
    ".int K{\\p}",
    ".int (\\p) + [\\q]",
    ".int \\p \\q",
    ".int defined(\\p)",
    ".int max(\\p, \\q)",
    ".if \\p == \\q\n.int 1\n.elif \\q > 3\n.int 2\n.else\n.int 3\n.endif",
    ".if \\p ? 0 : 1\n.int 4\n.endif",
    ".rept 2, j\nleaf \\p + j, \\q*j\n.endr",
    "leaf \\p",
    "leaf \\q, \\p",
    "leaf (\\p, \\q)",
    "leaf 2*\\p + \\q, (\\p ? 1 : 2)",
    "leaf \\p\\q",
    "leaf K\\p, \\q",
];

/// Arguments of the macro calls.
const ARGUMENTS: [&str; 27] = [
    "3",
    "1 + 2",
    "2 - 5",
    "-1",
    "i",
    "i + 1",
    "K",
    "K - 2",
    "K{3}",
    "K{i + 3}",
    "1 ? 3 : 4",
    "K == 5 ? 3 : 4",
    "(K == 5 ? 3 : 4)",
    "0 || 1",
    "K && i",
    "LATE",
    "LATE - 6",
    "late{1}",
    "start + 1",
    "here4 + 4",
    "here{4}",
    ". + 4",
    "(3",
    "3)",
    "max(K, 3)",
    "defined(LATE) + 1",
    "\"3\"",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn values_are_what_they_are_of(text in sources()) {
        folds(&text);
    }
}

/// Strategy for programs whose macros combine some of the lines and arguments.
pub(super) fn sources() -> impl Strategy<Value = String> {
    let argument = || prop::sample::select(&ARGUMENTS[..]);
    let lines = prop::collection::vec(prop::sample::select(&LINES[..]), 1..4);
    (lines, argument(), argument()).prop_map(|(lines, p, q)| program(&lines, [p, q]))
}

#[test]
fn every_line_folds_with_every_argument() {
    let mut same = 0;
    for line in LINES {
        for p in ARGUMENTS {
            for q in ARGUMENTS {
                same += usize::from(folds(&program(&[line], [p, q])).is_some());
            }
        }
    }
    // The others are no programs, or are read as written.
    assert!(same > 7000, "{same}");
}

/// Iterations that give identical words are repeated, others are expanded; loads and sums wait in both.
#[test]
fn iterations_repeat_their_words() {
    let bodies = [
        "ldp r1, [a0]+8\nadd r2, r1, r1",
        "wait_for 1, 2",
        "wait_for 3, 4\n.rept 3\nwait_for 1, 2\nnop\n.endr",
        ".rept 2, j\nwait_for j, 2\n.endr",
        "jmp . + 1",
        "loop 3 {\nnop\nwait_for 1, 2\n}",
        "local 1",
        ".if defined(NEW)\nnop\n.else\nstop\n.endif\n.if ! defined(NEW)\n.equ NEW, 1\n.endif",
        ".alias x, r5\nadd x, r5, r5\n.unalias x",
        "add t, r5, r5\n.unalias t\n.alias t, r7",
        "jmp end",
        "movi a1, LATE + 1",
        "",
    ];
    for body in bodies {
        let text = format!(
            ".macro wait_for x, y\nldp r{{\\x}}, [a0]+8\nadd r{{\\y}}, r{{\\x}}, r{{\\x}}\n.endm\n\
             .macro local n\n.here: bz c1, .here\n.endm\n\
             .alias t, r6\n.program\n.rept 4\n{body}\n.endr\n.rept 2, i\n.rept 3\n{body}\n.endr\n.endr\n\
             end: stop\n.equ LATE, 6\n"
        );
        assert_eq!(folds(&text), Some(true), "{body}");
    }
}
