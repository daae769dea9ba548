//! The end of an assembly: evaluates open expressions and checks the program.
//!
//! Expressions that were left open get their values here, since every name is known.

use super::data;
use super::loops;
use super::machine;
use super::registers;
use super::resolve::{place, resolve};
use super::select::taken_mnemonic;
use super::stall;
use super::state::{Assembler, PendingWord};
use crate::analysis::list_live_registers;
use crate::diag::{Diagnostics, Fail, Problem};
use crate::isa::{RegSet, Slot, Word};
use crate::linear::BlockReport;
use crate::program::{Program, Segment};
use crate::source::Span;
use crate::structure::ends_flow;
use cp2_machine::UserRow;

/// An assembled program with its warnings.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembly {
    /// The program.
    pub program: Program,
    /// Warnings, in source order.
    pub warnings: Diagnostics,
    /// The linear blocks as they were scheduled, in source order.
    pub blocks: Vec<BlockReport>,
}

impl Assembler<'_> {
    /// Returns the program with its warnings, or all errors.
    pub(super) fn finish(mut self) -> Result<Assembly, Diagnostics> {
        if !self.halted {
            for (_, at, chain) in std::mem::take(&mut self.blocks) {
                self.error(
                    Fail::new(
                        Problem::Unclosed {
                            opener: "{".into(),
                            closer: "}",
                        },
                        at,
                    ),
                    chain,
                );
            }
            for fail in self.names.unresolved() {
                self.error(fail, Default::default());
            }
        }
        if let Some(block) = self.linear.take() {
            let problem = Problem::Unclosed {
                opener: ".linear".into(),
                closer: ".endlinear",
            };
            self.error(Fail::new(problem, block.at), block.chain);
        }
        if let Some(open) = self.open_chain.take() {
            let problem = Problem::Unclosed {
                opener: ".chain".into(),
                closer: ".endchain",
            };
            self.error(Fail::new(problem, open.at), open.chain);
        }
        self.place_pool();
        self.place_constant_tables();
        self.hint_at_order();
        self.check_table_labels();
        let words = self.finish_words();
        loops::check(&mut self, &words);
        self.check_end(&words);
        let dmem = self.finish_dmem();
        let entry = self.finish_entry();
        if let Some(name) = taken_mnemonic(self.options.isa()) {
            let problem = Problem::TakenMnemonic {
                name: name.to_owned(),
            };
            self.error(Fail::new(problem, Span::START), Default::default());
        }
        let requires = words
            .iter()
            .flatten()
            .fold(self.requires, |all, w| all | w.requires());
        if let Some(m) = self.options.machine {
            machine::check(&mut self, m, &words);
        }
        let complete: Option<Vec<Word>> = words.into_iter().collect();
        let Some(words) = complete.filter(|_| !self.sink.has_errors()) else {
            return Err(self.sink.finish(&self.map).0);
        };
        self.check_block_writes(&words, entry);
        if self.sink.has_errors() {
            return Err(self.sink.finish(&self.map).0);
        }
        if let Some(m) = self.options.machine {
            stall::warn(&mut self, m, &words);
        }
        if self.options.check_registers {
            registers::warn(&mut self, entry, &words);
        }
        let places = self.words.iter().map(|word| (word.at, word.chain));
        let (lines, expansions) = self.sink.place_words(places);
        let program = Program {
            words: words.iter().map(Word::encode).collect(),
            dmem,
            symbols: self.names.export(),
            files: self.map.files().iter().map(|f| f.name.clone()).collect(),
            lines,
            expansions,
            entry,
            requires,
            rows: list_rows(&words),
        };
        Ok(Assembly {
            program,
            warnings: self.sink.finish(&self.map).1,
            blocks: self.reports,
        })
    }

    /// Adds a hint to errors about names that are defined later than their value was needed.
    fn hint_at_order(&mut self) {
        self.sink.revise(|problem| {
            if let Problem::UnknownName { name, near, hint } = problem
                && self.names.is_global(name)
            {
                *near = None;
                *hint = Some("it is defined further down, but its value is needed here");
            }
        });
    }

    /// Completes every word; `None` stands for a flawed one.
    fn finish_words(&mut self) -> Vec<Option<Word>> {
        let pending = std::mem::take(&mut self.words);
        let mut words = Vec::with_capacity(pending.len());
        for (pc, word) in pending.iter().enumerate() {
            // The loop block was never closed or has no body: that has been reported.
            let open = word.insts.iter().any(|i| i.block) && word.block_end.is_none();
            let mut result = if word.insts.is_empty() || open {
                None
            } else {
                Some(Word::NOP)
            };
            for selected in &word.insts {
                match resolve(selected, pc, word.block_end, &self.names) {
                    Ok(inst) => {
                        if let Some(result) = &mut result {
                            match inst.row().slot() {
                                Slot::Arith => result.arith = inst,
                                Slot::Mem => result.mem = inst,
                            }
                        }
                    }
                    Err(fail) => {
                        result = None;
                        self.error(fail, word.chain);
                    }
                }
            }
            if let Some(register) = result.and_then(|w| w.written_twice()) {
                self.error(
                    Fail::new(
                        Problem::WrittenTwice {
                            register: register.to_string(),
                        },
                        word.at,
                    ),
                    word.chain,
                );
                result = None;
            }
            words.push(result);
        }
        self.words = pending;
        words
    }

    /// Refuses linear blocks that write registers which are needed behind them.
    fn check_block_writes(&mut self, words: &[Word], entry: u16) {
        if self.block_writes.is_empty() {
            return;
        }
        let blocks = std::mem::take(&mut self.block_writes);
        // A block reads what it has computed itself, whether or not a loop before had a turn.
        let own_reads = |pending: &PendingWord| {
            let insts = pending.insts.iter();
            let reads = insts.filter_map(|own| {
                let block = blocks.get(own.scheduled?)?;
                Some(RegSet(own.inst.reads().0 & block.written.0))
            });
            reads.fold(RegSet::EMPTY, |set, own| set | own)
        };
        let own_reads: Vec<RegSet> = self.words.iter().map(own_reads).collect();
        let Some(live) = list_live_registers(words, usize::from(entry), &own_reads) else {
            return;
        };
        for block in blocks {
            let needed = live.get(block.behind).copied().unwrap_or_default();
            if let Some(register) = (needed & block.written).iter().next() {
                let problem = Problem::BlockOverwrites {
                    name: block.name.to_string(),
                    register: register.to_string(),
                };
                let (at, chain) = block.place;
                self.error(Fail::new(problem, at), chain);
            }
        }
    }

    /// Checks that execution does not run off the end. Only a program without errors is checked, since a
    /// flawed word may be the one that ends it.
    fn check_end(&mut self, words: &[Option<Word>]) {
        if self.sink.has_errors() {
            return;
        }
        let (Some(Some(last)), Some(pending)) = (words.last(), self.words.last()) else {
            return;
        };
        if !ends_flow(&last.mem) {
            let mnemonic = pending
                .insts
                .first()
                .map_or("nop", |i| i.inst.row().mnemonic)
                .to_owned();
            let (at, chain) = (pending.at, pending.chain);
            self.error(Fail::new(Problem::RunsOff { mnemonic }, at), chain);
        }
    }

    fn finish_dmem(&mut self) -> Vec<Segment> {
        let mut extents = std::mem::take(&mut self.extents);
        extents.sort_by_key(|e| (e.start, e.end, e.at));
        let mut highest: Option<super::state::Extent> = None;
        for extent in extents {
            if let Some(before) = highest.filter(|h| h.end > extent.start) {
                // The error is reported at whichever of the two comes later in the source.
                let (first, second) = if before.at <= extent.at {
                    (before, extent)
                } else {
                    (extent, before)
                };
                let problem = Problem::DmemOverlap {
                    start: first.start as u32,
                    end: first.end as u32,
                };
                let fail = Fail::new(problem, second.at).related(first.at, "taken here");
                self.error(fail, second.chain);
            }
            if highest.is_none_or(|h| extent.end > h.end) {
                highest = Some(extent);
            }
        }
        if let (Some(machine), Some(last)) = (self.options.machine, highest) {
            machine::check_dmem(self, machine, last.end, last.at, last.chain);
        }
        let mut data = std::mem::take(&mut self.data);
        data.sort_by_key(|d| d.address);
        let mut segments: Vec<Segment> = Vec::new();
        for datum in &data {
            let bytes = match datum
                .expr
                .eval(&self.names)
                .and_then(|v| data::word(datum.format, v, datum.at))
            {
                Ok(bytes) => bytes,
                Err(fail) => {
                    self.error(fail, datum.chain);
                    continue;
                }
            };
            match segments.last_mut() {
                Some(last)
                    if u64::from(last.address) + last.bytes.len() as u64 == datum.address =>
                {
                    last.bytes.extend(bytes);
                }
                _ => segments.push(Segment {
                    address: datum.address as u32,
                    bytes: bytes.to_vec(),
                }),
            }
        }
        segments
    }

    fn finish_entry(&mut self) -> u16 {
        let Some((expr, at, chain)) = self.entry.take() else {
            return 0;
        };
        let most = (self.words.len() as i64 - 1).max(0);
        let fail = match place(&expr, at, "`.entry`".into(), &self.names) {
            Ok(entry) if (0..=most).contains(&entry) => return entry as u16,
            Ok(value) => Fail::new(
                Problem::OutOfRange {
                    what: "the entry".into(),
                    value,
                    least: 0,
                    most,
                },
                at,
            ),
            Err(fail) => fail,
        };
        self.error(fail, chain);
        0
    }

    /// Returns the source position of the word at `pc`, and the expansion that it came from.
    pub(super) fn place_of(&self, pc: usize) -> (Span, crate::diag::Chain) {
        self.words
            .get(pc)
            .map_or((Span::START, Default::default()), |w| (w.at, w.chain))
    }
}

/// Returns the rows of machine files that words use, by opcode.
fn list_rows(words: &[Word]) -> Vec<UserRow> {
    let mut rows: Vec<UserRow> = words.iter().filter_map(Word::user_row).collect();
    rows.sort_by_key(|row| row.definition().opcode);
    rows.dedup();
    rows
}
