//! Cycles of a program: by source line, by call, by loop or by word.
//!
//! Each kind charges every cycle of the program once: lines and words by themselves, calls and loops by what is
//! their own, beside the sum with all that lies inside.

mod calls;
mod lines;
mod loops;
mod words;

pub use calls::CallProfile;
pub use lines::LineProfile;
pub use loops::LoopProfile;
pub use words::WordProfile;

use cp2_asm::Program;
use cp2_emu::{Cause, Causes, Counters, Work};
use serde::Serialize;
use std::fmt::Write as _;

/// Parts of a program that a profile charges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileBy {
    /// Source lines.
    #[default]
    Line,
    /// Functions, macros, repetitions and included files, each at the place of its call.
    Call,
    /// Loops.
    Loop,
    /// Program words.
    Word,
}

/// Cost of some words of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CodeCost {
    /// Program words.
    pub words: u64,
    /// Times that one of the words issued.
    pub issued: u64,
    /// Cycles charged to the words, issue included.
    pub cycles: u64,
    /// Cycles by cause; they add up to `cycles`.
    #[serde(serialize_with = "as_map")]
    pub causes: Causes,
    /// Operations, flops and bytes.
    #[serde(flatten)]
    pub work: Work,
}

fn as_map<S: serde::Serializer>(causes: &Causes, serializer: S) -> Result<S::Ok, S::Error> {
    causes.to_map().serialize(serializer)
}

impl CodeCost {
    /// Adds the word at `pc` of a program.
    fn add_word(&mut self, program: &Program, counters: &Counters, pc: usize) {
        self.words += 1;
        let Some(word) = counters.per_word.get(pc) else {
            return;
        };
        self.issued += word.words;
        self.cycles += word.causes.total();
        self.causes.merge(&word.causes);
        // A word that does not decode never issued.
        let decoded = program
            .words
            .get(pc)
            .and_then(|&bits| program.isa().decode(bits).ok());
        if let Some(decoded) = decoded {
            let work = Work::count_issue(&decoded, counters.sections);
            self.work.add(&work, word.words);
        }
    }

    /// Returns the causes that lost cycles, the costliest first.
    #[must_use]
    pub fn lost(&self) -> Vec<(Cause, u64)> {
        let mut lost: Vec<_> = self
            .causes
            .iter()
            .filter(|(cause, _)| *cause != Cause::Issue)
            .collect();
        lost.sort_by_key(|&(cause, cycles)| (std::cmp::Reverse(cycles), cause));
        lost
    }

    /// Returns issues, cycles, their share of `total`, flops and bytes as columns.
    fn columns(&self, total: u64) -> String {
        let share = 100.0 * self.cycles as f64 / total.max(1) as f64;
        format!(
            "{:>10}  {:>10}  {share:>5.1}  {:>10}  {:>10}",
            self.issued,
            self.cycles,
            self.work.flops,
            self.work.dmem_read + self.work.dmem_written
        )
    }

    /// Returns the lost cycles by cause as the end of a line; empty if none were lost.
    fn lost_text(&self) -> String {
        let lost: Vec<String> = self
            .lost()
            .into_iter()
            .map(|(cause, cycles)| format!("{cause} {cycles}"))
            .collect();
        match lost.is_empty() {
            true => String::new(),
            false => format!("  <- {}", lost.join(", ")),
        }
    }
}

/// Heads of the columns of [`CodeCost::columns`].
fn head() -> String {
    format!(
        "{:>10}  {:>10}  {:>5}  {:>10}  {:>10}",
        "issued", "cycles", "%", "flops", "DMEM B"
    )
}

/// The profile of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Profile {
    /// The lines that became words, by file and line.
    Lines(Vec<LineProfile>),
    /// The calls, each before those inside it.
    Calls(Vec<CallProfile>),
    /// The loops, outer ones before inner ones, and first the words outside all of them.
    Loops(Vec<LoopProfile>),
    /// The words, by address.
    Words(Vec<WordProfile>),
}

impl Profile {
    /// Adds up the counters of a program's words. The counters must be those of this program alone.
    #[must_use]
    pub fn new(program: &Program, counters: &Counters, by: ProfileBy) -> Self {
        match by {
            ProfileBy::Line => Self::Lines(lines::profile(program, counters)),
            ProfileBy::Call => Self::Calls(calls::profile(program, counters)),
            ProfileBy::Loop => Self::Loops(loops::profile(program, counters)),
            ProfileBy::Word => Self::Words(words::profile(program, counters)),
        }
    }

    /// Returns all cycles of the program.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.iter().map(|l| l.cost.cycles).sum(),
            Self::Calls(calls) => calls.iter().map(|c| c.own_cycles).sum(),
            Self::Loops(loops) => loops.iter().map(|l| l.own_cycles).sum(),
            Self::Words(words) => words.iter().map(|w| w.cost.cycles).sum(),
        }
    }

    /// Returns the profile as a table with issues, cycles and lost cycles by cause. `read` returns the text of a
    /// source file, which is shown beside the lines.
    #[must_use]
    pub fn listing(&self, program: &Program, read: impl FnMut(&str) -> Option<String>) -> String {
        let total = self.cycles();
        match self {
            Self::Lines(lines) => lines::listing(lines, program, total, read),
            Self::Calls(calls) => calls::listing(calls, total),
            Self::Loops(loops) => loops::listing(loops, total),
            Self::Words(words) => words::listing(words, total),
        }
    }
}

/// Writes a row: columns, the text that they belong to, and lost cycles.
fn write_row(out: &mut String, columns: &str, text: &str, lost: &str) {
    let line = format!("{columns}  {text}{lost}");
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests;
