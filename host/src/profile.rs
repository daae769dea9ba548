//! Cycles of a kernel, line by line of its source.

use cp2_asm::isa::Word;
use cp2_asm::{Program, disassemble};
use cp2_emu::{Cause, Causes, Counters, Work};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Widest source line of a listing, in characters.
const WIDEST: usize = 100;
/// Lines without words that a listing shows before and after one with words.
const CONTEXT: u32 = 3;

/// Cost of one source line: of all words it became, macros and repetitions included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineProfile {
    /// Source file; empty where the program has no line table.
    pub file: String,
    /// Line, from 1; without a line table, the word address.
    pub line: u32,
    /// Program words of the line.
    pub words: u64,
    /// Times a word of the line issued.
    pub issued: u64,
    /// Cycles charged to the line, issue included.
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

impl LineProfile {
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
}

/// The profile of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Profile {
    /// The lines that became words, by file and line.
    pub lines: Vec<LineProfile>,
}

impl Profile {
    /// Adds up the counters of a program's words by source line.
    ///
    /// The counters must be those of this program alone.
    #[must_use]
    pub fn new(program: &Program, counters: &Counters) -> Self {
        let mut lines: BTreeMap<(Option<u32>, u32), LineProfile> = BTreeMap::new();
        for (pc, &bits) in program.words.iter().enumerate() {
            let known = program
                .lines
                .get(pc)
                .filter(|l| l.line > 0 && (l.file as usize) < program.files.len());
            let key = known.map_or((None, pc as u32), |l| (Some(l.file), l.line));
            let file = key
                .0
                .map(|f| program.files[f as usize].clone())
                .unwrap_or_default();
            let entry = lines.entry(key).or_insert_with(|| LineProfile {
                file,
                line: key.1,
                words: 0,
                issued: 0,
                cycles: 0,
                causes: Causes::default(),
                work: Work::default(),
            });
            entry.words += 1;
            if let Some(word) = counters.per_word.get(pc) {
                entry.issued += word.words;
                entry.cycles += word.causes.total();
                entry.causes.merge(&word.causes);
                // A word that does not decode never issued.
                if let Ok(decoded) = Word::decode(bits) {
                    entry
                        .work
                        .add(&Work::count_issue(&decoded, counters.sections), word.words);
                }
            }
        }
        Self {
            lines: lines.into_values().collect(),
        }
    }

    /// Returns all cycles of the program.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.lines.iter().map(|l| l.cycles).sum()
    }

    /// Returns the source listing with words issued, cycles, and lost cycles by cause beside each line.
    /// Stretches far from any word are left out. `read` returns the text of a source file. If it returns
    /// none, only the lines that became words appear; a program without a line table is shown disassembled.
    #[must_use]
    pub fn listing(
        &self,
        program: &Program,
        mut read: impl FnMut(&str) -> Option<String>,
    ) -> String {
        let total = self.cycles();
        let mut out = format!(
            "{:>10}  {:>10}  {:>5}  {:>10}  {:>10}  {:>5}  source\n",
            "issued", "cycles", "%", "flops", "DMEM B", "line"
        );
        let words = disassemble(program).ok();
        let mut rest = self.lines.as_slice();
        while let Some(first) = rest.first() {
            let len = rest.iter().take_while(|l| l.file == first.file).count();
            let (lines, after) = rest.split_at(len);
            rest = after;
            let text = if first.file.is_empty() {
                None
            } else {
                read(&first.file)
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{:>62} {}",
                "",
                if first.file.is_empty() {
                    "(no line table)"
                } else {
                    &first.file
                }
            );
            match text {
                Some(text) => {
                    let mut folded = false;
                    for (number, source) in (1..).zip(text.lines()) {
                        let near = lines.partition_point(|l| l.line + CONTEXT < number);
                        let near = lines[near..]
                            .iter()
                            .take_while(|l| l.line <= number + CONTEXT);
                        if near.clone().next().is_some() {
                            let line = near.clone().find(|l| l.line == number);
                            row(&mut out, line, number, source, total);
                            folded = false;
                        } else if !std::mem::replace(&mut folded, true) {
                            // Writing to a String cannot fail.
                            let _ = writeln!(out, "{:>56}  ...", "");
                        }
                    }
                }
                None => {
                    for line in lines {
                        let source = words
                            .as_ref()
                            .filter(|_| line.file.is_empty())
                            .map(|w| w.word(line.line as usize));
                        row(
                            &mut out,
                            Some(line),
                            line.line,
                            &source.unwrap_or_default(),
                            total,
                        );
                    }
                }
            }
        }
        out
    }
}

fn row(out: &mut String, line: Option<&LineProfile>, number: u32, source: &str, total: u64) {
    let source: String = source.replace('\t', "    ").chars().take(WIDEST).collect();
    let text = match line {
        None => format!(
            "{:>10}  {:>10}  {:>5}  {:>10}  {:>10}  {number:>5}  {source}",
            "", "", "", "", ""
        ),
        Some(l) => {
            let share = 100.0 * l.cycles as f64 / total.max(1) as f64;
            let lost: Vec<String> = l
                .lost()
                .into_iter()
                .map(|(cause, cycles)| format!("{cause} {cycles}"))
                .collect();
            let lost = if lost.is_empty() {
                String::new()
            } else {
                format!("  <- {}", lost.join(", "))
            };
            format!(
                "{:>10}  {:>10}  {share:>5.1}  {:>10}  {:>10}  {number:>5}  {source}{lost}",
                l.issued,
                l.cycles,
                l.work.flops,
                l.work.dmem_read + l.work.dmem_written
            )
        }
    };
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", text.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use cp2_asm::{Options, Source, assemble};
    use std::sync::Arc;

    const TEXT: &str =
        "    ldp r0, [a15]\n    ; waits for the load\n    add r1, r0, r0\n    stop\n";

    fn profiled(strip: bool) -> (Program, Counters) {
        let mut program = assemble(&Source::new("k.s", TEXT), &Options::default())
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
        let (program, counters) = profiled(false);
        let profile = Profile::new(&program, &counters);
        assert_eq!(profile.cycles(), counters.causes.total());
        let mut work = Work::default();
        profile.lines.iter().for_each(|l| work.add(&l.work, 1));
        assert_eq!(work, counters.work);
        assert_eq!(
            profile.lines.iter().map(|l| l.issued).sum::<u64>(),
            counters.words
        );
        let listing = profile.listing(&program, |name| (name == "k.s").then(|| TEXT.to_owned()));
        let line = listing.lines().find(|l| l.contains("add r1")).unwrap();
        assert!(line.contains("operand-load 2"), "{listing}");
        assert!(listing.contains("; waits for the load"));
    }

    #[test]
    fn without_a_line_table_the_words_are_shown() {
        let (program, counters) = profiled(true);
        let profile = Profile::new(&program, &counters);
        assert_eq!(profile.cycles(), counters.causes.total());
        let listing = profile.listing(&program, |_| None);
        assert!(
            listing.contains("add r1, r0, r0") && listing.contains("operand-load 2"),
            "{listing}"
        );
    }
}
