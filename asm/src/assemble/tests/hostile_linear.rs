//! Tests that hostile linear blocks give errors or words, and no panic.

use crate::{Options, Source, assemble};
use cp2_machine::Machine;
use proptest::prelude::*;

/// Pieces of linear blocks that together reach most of their grammar.
const PIECES: [&str; 84] = [
    ".linear b, 8\n",
    ".linear b\n",
    ".linear b, c0\n",
    ".endlinear\n",
    ".const K = 1.0\n",
    ".pointer p = c4 by 16\n",
    ".pointer p[3] = c4 + 8 by -8\n",
    ".before x@1 = q20\n",
    ".before x@1 = 0.0\n",
    ".after q20 = x\n",
    ".apart\n",
    ".pointer p = c4 by 16 round 64\n",
    ".pointer p = c4 by s1 round c5 - 8\n",
    ".pointer p = c4 by table 64 round 16\n",
    ".apart p, q\n",
    "ldx n, [p]\n",
    "ldx2 n, m, [p]\n",
    "addi n, n@1, 8\n",
    "ldq x, [n]\n",
    "stq x, [n@1 + 8]\n",
    ".before n@1 = c4\n",
    ".after c5 = n\n",
    "shl n, m, 3\n",
    ".order\n",
    ".spread\n",
    ".phase 1, 2\n",
    ".interval 9\n",
    ".free r0, q3\n",
    ".pair x\n",
    ".rept 3, i\n",
    ".endr\n",
    ".dmem\n",
    ".program\n",
    " at least 3",
    " multiple of 4",
    "ldq x, [p]\n",
    "ldp x, [p + 8]\n",
    "ldd y, [p]\n",
    "stq x, [p]\n",
    "stp x, [p]\n",
    "add x, y, z\n",
    "add y, x, x@1\n",
    "bfly x, y, x@1, y@2, K\n",
    "ftod x, y\n",
    "perm x, y, 27\n",
    "lif x, 0.5\n",
    "mov",
    "mul",
    "madd",
    "sel",
    "stop\n",
    "x",
    "y",
    "z",
    "K",
    "p",
    "q20",
    "r40",
    "a3",
    "c0",
    ".lo",
    ".hi",
    ".{1}",
    "@1",
    "@0",
    "@4000000000",
    "@-1",
    "[p[0]]",
    "[1]",
    "[",
    "]",
    "{",
    "}",
    ",",
    " = ",
    " by ",
    "||",
    " + ",
    " - ",
    "0",
    "1e308",
    "0x7fffffffffffffff",
    "-0x8000000000000000",
    "4294967295",
];

const GOOD: &str = ".program
movi c4, 64
.linear b, 8
.pointer p = c4 by 16
.pointer s[2] = c4 + 512 by 16
.const K = 2.0, L = cis(1, 8)
.before x@1 = q20, m@2 = 0.5, m@1 = 0.0
.after q20 = x
ldq x, [p]
cmul m, x, L
madd y.lo, m.lo, K, x.hi@1
neg y.hi, m.hi@2
stq y, [s[0]]
stp m.hi, [s[1] + 8]
.endlinear
stq q20, [a14]
.linear line
.pointer p = c4 by 0
ldd w, [p]
stq w, [p + 32]
.endlinear
.linear counted, c0 at least 2 multiple of 2
.pointer p = c4 by -16
ldq w, [p]
stq w, [p + 32]
.endlinear
stop
";

fn assemble_all(text: &str) -> bool {
    let machine = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&machine),
        check_registers: true,
        ..Options::default()
    };
    assemble(&Source::new("hostile.s", text), &options).is_ok()
}

/// Strategy for pieces in any order, inside a block.
pub(super) fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec((0..PIECES.len(), 0..4usize), 0..40).prop_map(|pieces| {
        let text = |(piece, gap): (usize, usize)| [PIECES[piece], ["", " ", "\n", ", "][gap]];
        let text: Vec<&str> = pieces.into_iter().flat_map(text).collect();
        format!(".linear b, 8\n.pointer p = c4 by 16\n{}", text.concat())
    })
}

/// Strategy for a valid source with pieces cut out, doubled or replaced.
pub(super) fn mutated() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0..PIECES.len(), 0..12usize);
    prop::collection::vec(edit, 1..5).prop_map(|edits| {
        let mut text: Vec<char> = GOOD.chars().collect();
        for (place, piece, cut) in edits {
            let at = place.index(text.len().max(1)).min(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, PIECES[piece].chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_pieces_of_blocks(text in pieces()) {
        assemble_all(&text);
    }

    #[test]
    fn mutated_blocks(text in mutated()) {
        assemble_all(&text);
    }
}

#[test]
fn the_good_blocks_are_good() {
    assert!(assemble_all(GOOD));
}
