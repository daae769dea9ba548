//! Cycles of each source line, beside the source.

use super::{CodeCost, head, write_row};
use cp2_asm::{Program, disassemble};
use cp2_emu::Counters;
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
    /// Its cost.
    #[serde(flatten)]
    pub cost: CodeCost,
}

/// Adds up the counters of a program's words by source line.
pub(super) fn profile(program: &Program, counters: &Counters) -> Vec<LineProfile> {
    let mut lines: BTreeMap<(Option<u32>, u32), LineProfile> = BTreeMap::new();
    for pc in 0..program.words.len() {
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
            cost: CodeCost::default(),
        });
        entry.cost.add_word(program, counters, pc);
    }
    lines.into_values().collect()
}

/// Returns the source listing with words issued, cycles, and lost cycles by cause beside each line. Stretches far
/// from any word are left out. `read` returns the text of a source file. If it returns none, only the lines that
/// became words appear; a program without a line table is shown disassembled.
pub(super) fn listing(
    lines: &[LineProfile],
    program: &Program,
    total: u64,
    mut read: impl FnMut(&str) -> Option<String>,
) -> String {
    let mut out = String::new();
    write_row(&mut out, &head(), " line  source", "");
    let words = disassemble(program).ok();
    let mut rest = lines;
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

fn row(out: &mut String, line: Option<&LineProfile>, number: u32, source: &str, total: u64) {
    let source: String = source.replace('\t', "    ").chars().take(WIDEST).collect();
    let empty = " ".repeat(head().len());
    let (columns, lost) = line.map_or((empty, String::new()), |line| {
        (line.cost.columns(total), line.cost.lost_text())
    });
    write_row(out, &columns, &format!("{number:>5}  {source}"), &lost);
}
