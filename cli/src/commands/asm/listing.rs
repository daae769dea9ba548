//! Listings of `cp2 asm`: each word with its slots, cycle, line and macros.

use crate::expansion::expansion_json;
use cp2_asm::Program;
use cp2_asm::analysis::{CycleRatio, LoopBody, analyze_loops};
use cp2_asm::disassemble;
use cp2_asm::isa::Op;
use cp2_machine::Machine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Width of a slot's column, in characters.
const SLOT: usize = 32;
/// Width of the column of source places, in characters.
const PLACE: usize = 16;

/// A word of the listing.
struct ListedWord {
    pc: usize,
    bits: u64,
    labels: Vec<String>,
    arithmetic: String,
    memory: String,
    /// Cycle of an iteration in which the word issues, where its loop has a steady state.
    cycle: Option<u64>,
}

/// A loop whose body has a steady state.
struct ListedLoop {
    words: usize,
    interval: CycleRatio,
    bound: CycleRatio,
    trips: Option<u32>,
}

/// Every word of a program on a machine.
pub(super) struct IssueListing<'a> {
    program: &'a Program,
    words: Vec<ListedWord>,
    /// By the address of the first word of the body.
    loops: BTreeMap<usize, ListedLoop>,
}

impl<'a> IssueListing<'a> {
    /// Lists an assembled program. A program without a control flow graph has no cycles.
    pub(super) fn new(program: &'a Program, machine: &Machine) -> Self {
        let mut cycles = BTreeMap::new();
        let mut loops = BTreeMap::new();
        for found in analyze_loops(program, machine).unwrap_or_default() {
            let LoopBody::Steady(steady) = &found.body else {
                continue;
            };
            let words = found.words.clone().count();
            // The first of the two iterations that are shown.
            let first = steady.shown.iter().take(words);
            cycles.extend(first.map(|word| (word.pc, word.at)));
            let listed = ListedLoop {
                words,
                interval: steady.interval,
                bound: steady.bound.cycles,
                trips: found.constant_trips(),
            };
            loops.insert(*found.words.start(), listed);
        }
        let listing = disassemble(program).ok();
        let decoded = program.decode().unwrap_or_default();
        let word = |(pc, &bits): (usize, &u64)| {
            let text = listing.as_ref().map_or(String::new(), |l| l.word(pc));
            let is_arithmetic = decoded.get(pc).is_some_and(|word| word.arith.op != Op::Nop);
            let (arithmetic, memory) = match text.split_once(" || ") {
                Some((arithmetic, memory)) => (arithmetic.to_owned(), memory.to_owned()),
                None if is_arithmetic => (text, String::new()),
                None => (String::new(), text),
            };
            ListedWord {
                pc,
                bits,
                labels: listing
                    .as_ref()
                    .map_or(Vec::new(), |l| l.labels(pc).to_vec()),
                arithmetic,
                memory,
                cycle: cycles.get(&pc).copied(),
            }
        };
        Self {
            program,
            words: program.words.iter().enumerate().map(word).collect(),
            loops,
        }
    }

    /// Returns the listing as text.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{:>6}  {:16}  {:>5}  {:SLOT$}  {:SLOT$}  {:PLACE$}  from\n",
            "word", "bits", "cycle", "arithmetic slot", "memory slot", "line"
        );
        for word in &self.words {
            for label in &word.labels {
                let _ = writeln!(text, "{label}:");
            }
            if let Some(found) = self.loops.get(&word.pc) {
                let trips = found
                    .trips
                    .map_or(String::new(), |trips| format!(", {trips} trips"));
                let _ = writeln!(
                    text,
                    "        ; loop of {} words{trips}: interval {}, bound {}",
                    found.words, found.interval, found.bound
                );
            }
            let cycle = word.cycle.map_or(String::new(), |cycle| cycle.to_string());
            let place = self.program.location(word.pc).unwrap_or_default();
            let line = format!(
                "{:#06x}  {:016x}  {cycle:>5}  {:SLOT$}  {:SLOT$}  {place:PLACE$}  {}",
                word.pc,
                word.bits,
                word.arithmetic,
                word.memory,
                self.program.describe_chain(word.pc)
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    /// Returns the listing as JSON.
    pub(super) fn json(&self) -> Value {
        let word = |word: &ListedWord| {
            let line = self.program.lines.get(word.pc).copied().unwrap_or_default();
            json!({
                "pc": word.pc,
                "bits": format!("{:016x}", word.bits),
                "labels": word.labels,
                "arithmetic": word.arithmetic,
                "memory": word.memory,
                "cycle": word.cycle,
                "file": self.program.files.get(line.file as usize),
                "line": line.line,
                "expansion": expansion_json(self.program, word.pc),
            })
        };
        self.words.iter().map(word).collect()
    }
}
