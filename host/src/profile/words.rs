//! Cycles of each word.

use super::{CodeCost, head, write_row};
use cp2_asm::{Program, disassemble};
use cp2_emu::Counters;
use serde::Serialize;

/// Cost of one program word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WordProfile {
    /// Program address.
    pub pc: usize,
    /// Both operations.
    pub text: String,
    /// `file:line` with the macros and counters that the word came from; empty where it is not known.
    pub place: String,
    /// Its cost.
    #[serde(flatten)]
    pub cost: CodeCost,
}

pub(super) fn profile(program: &Program, counters: &Counters) -> Vec<WordProfile> {
    let listing = disassemble(program).ok();
    let word = |pc: usize| {
        let mut cost = CodeCost::default();
        cost.add_word(program, counters, pc);
        WordProfile {
            pc,
            text: listing.as_ref().map_or(String::new(), |l| l.word(pc)),
            place: program.describe_place(pc).unwrap_or_default(),
            cost,
        }
    };
    (0..program.words.len()).map(word).collect()
}

pub(super) fn listing(words: &[WordProfile], total: u64) -> String {
    let width = words.iter().map(|word| word.text.len()).max().unwrap_or(0);
    let mut out = String::new();
    write_row(&mut out, &head(), "  word  operations, place", "");
    for word in words {
        let text = format!("{:#06x}  {:width$}  {}", word.pc, word.text, word.place);
        write_row(
            &mut out,
            &word.cost.columns(total),
            &text,
            &word.cost.lost_text(),
        );
    }
    out
}
