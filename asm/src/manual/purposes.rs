//! The operations by purpose: what a writer of kernels looks for.

/// Purpose, mnemonics, and a hint for those who look for another word. Every mnemonic of the table has one purpose.
const PURPOSES: [(&str, &[&str], &str); 31] = [
    (
        "add, subtract, multiply",
        &["add", "sub", "mul", "addsub"],
        "sum and difference at once: `addsub`",
    ),
    (
        "multiply and add",
        &["madd", "msub", "nmadd", "nmsub"],
        "the product is rounded first",
    ),
    (
        "complex products",
        &["cmul", "cmulc", "cmadd", "cmaddc", "cmsub", "cmsubc"],
        "`c` at the end conjugates the second factor",
    ),
    (
        "FFT butterflies",
        &[
            "bfly", "bflyc", "bflyi", "bflyci", "bflyn", "bflycn", "bflyy", "bflyyi", "bflyyn",
            "bflyyc",
        ],
        "x + y w and x - y w; `i`, `n` turn by a quarter, `c`, `y` conjugate w, y",
    ),
    (
        "double precision",
        &["dadd", "dsub", "dmul", "dmin", "dmax", "dneg", "dabs"],
        "of the extension `double`: a pair is one binary64 number, lane 0 its lower half; a quad two, or one complex",
    ),
    (
        "double precision: compare, convert",
        &["dcmpeq", "dcmplt", "dcmple", "dtof", "ftod"],
        "masks of 64 ones, for `sel`",
    ),
    (
        "double precision: multiply and add",
        &["dmadd", "dmsub", "dnmadd", "dnmsub"],
        "the product is rounded first",
    ),
    (
        "double precision: complex",
        &[
            "dcmul", "dcmulc", "dcmadd", "dcmsub", "dbfly", "dbflyc", "dbflyi", "dbflyci",
            "dbflyn", "dbflycn",
        ],
        "on quads",
    ),
    (
        "rounding errors",
        &["adde", "mule"],
        "of the extension `double-single`: an unrounded sum or product is two floats",
    ),
    (
        "sign, conjugate",
        &["abs", "neg", "conj"],
        "bits of signs, without arithmetic",
    ),
    (
        "smaller, larger",
        &["min", "max", "imin", "imax"],
        "clamp: `min`, then `max`",
    ),
    (
        "compare",
        &["cmpeq", "cmplt", "cmple", "icmpeq", "icmplt"],
        "gives a mask of all ones or zeros; a > b: operands exchanged",
    ),
    (
        "select by a mask",
        &["sel"],
        "no branch is taken: both values are computed",
    ),
    (
        "elementary functions",
        &["rcp", "rsqrt", "exp2", "log2", "sin", "cos"],
        "a / b: `rcp` of b, then `mul`; angles are turns",
    ),
    (
        "convert float and integer",
        &["ftoi", "ftoin", "itof"],
        "`ftoi` towards zero, `ftoin` to nearest even",
    ),
    (
        "integer arithmetic in lanes",
        &["iadd", "isub", "imul"],
        "wrapping, 32 bits",
    ),
    (
        "bits",
        &["and", "or", "xor", "andn", "not"],
        "`and`, `or` of shared scalars have the same names",
    ),
    (
        "shift bits",
        &["shl", "shr", "sar", "shli", "shri", "sari"],
        "`i` at the end: the count is in the word",
    ),
    (
        "shift lanes across registers",
        &["ext"],
        "the neighbour of each element of a row: quads `ext d, a, b, 1`",
    ),
    (
        "exchange, broadcast lanes",
        &["swap", "dup0", "dup1", "perm"],
        "any order of four lanes: `perm`",
    ),
    (
        "transpose",
        &["trnlo", "trnhi"],
        "2 x 2 of lanes or pairs; interleave two registers",
    ),
    (
        "move, constants",
        &["mov", "lif", "lii", "movi", "movhi", "addi"],
        "`lif`, `lii` into lanes, `movi`, `movhi` into shared scalars",
    ),
    (
        "load from DMEM",
        &["ldp", "ldq", "ldd", "ldx", "ldx2"],
        "`ldx` into shared scalars, from section 0",
    ),
    ("store to DMEM", &["stp", "stq"], "whole pairs and quads"),
    (
        "exchange between sections",
        &["rot", "xchg"],
        "of the extension `exchange`; four `xchg` transpose 4 x 4 quads of four sections",
    ),
    (
        "load from the section beside",
        &["ldpnext", "ldqnext", "ldpprev", "ldqprev"],
        "of the extension `exchange`; sections form a ring",
    ),
    (
        "load, store at word addresses",
        &["ldw", "ldpu", "ldqu", "stw", "stpu", "stqu"],
        "of the extension `word-addressing`; `ldw` fills both lanes",
    ),
    (
        "write some lanes only",
        &["msk", "mskall"],
        "of the extension `conditional`; masked lanes of registers and of DMEM stay as they are",
    ),
    (
        "ask all sections",
        &["any", "all"],
        "of the extension `conditional`; a branch then tests the shared scalar",
    ),
    (
        "control",
        &[
            "loop", "jmp", "call", "ret", "bz", "bnz", "bneg", "bpos", "stop",
        ],
        "branches test shared scalars",
    ),
    (
        "wait, nothing",
        &["wait", "signal", "nop", "mnop"],
        "events of the DMA and of the control CPU",
    ),
];

/// The table of purposes.
pub(super) fn list_purposes() -> String {
    let mut text = "| to | operations | note |\n|---|---|---|\n".to_owned();
    for (purpose, mnemonics, note) in PURPOSES {
        let list: Vec<String> = mnemonics.iter().map(|name| format!("`{name}`")).collect();
        text += &format!("| {purpose} | {} | {note} |\n", list.join(" "));
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Op;
    use std::collections::BTreeSet;

    #[test]
    fn every_mnemonic_has_one_purpose() {
        let listed = PURPOSES.iter().flat_map(|(_, names, _)| names.iter());
        let listed: Vec<&str> = listed.copied().collect();
        let own: BTreeSet<&str> = Op::ALL.iter().map(|op| op.row().mnemonic).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), own);
        assert_eq!(listed.len(), own.len(), "a mnemonic has two purposes");
    }
}
