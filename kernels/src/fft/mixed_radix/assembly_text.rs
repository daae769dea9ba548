//! Builds assembly text: words, linear blocks, tables.

use crate::pipeline::Operations;
use cp2_asm::BlockReport;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Assembly text under construction: words and linear blocks, and the tables that they read.
#[derive(Clone, Debug, Default)]
pub(super) struct AssemblyText {
    pub(super) words: String,
    /// Tables, which stand before the words: pointers begin at their labels.
    pub(super) data: String,
    /// Labels of tables of pairs by their contents: passes that need the same table share it.
    shared: BTreeMap<String, String>,
    /// Cycles of the words outside of linear blocks, as far as they are known.
    pub(super) cycles: u64,
    /// Names and iterations of the linear blocks.
    blocks: Vec<(String, u64)>,
}

impl AssemblyText {
    /// Appends a word of one cycle.
    pub(super) fn word(&mut self, word: &str) {
        let _ = writeln!(self.words, "    {word}");
        self.cycles += 1;
    }

    /// Appends a linear block with a name of its own and a number of iterations.
    pub(super) fn block(&mut self, text: &str, name: &str, iterations: u64) {
        self.words += text;
        self.blocks.push((name.to_owned(), iterations));
    }

    /// Returns the cycles of the blocks, and the operations that they issue, by the reports of the assembler.
    pub(super) fn price_blocks(&self, reports: &[BlockReport]) -> (u64, Operations) {
        let (mut cycles, mut operations) = (0, Operations::default());
        for (name, iterations) in &self.blocks {
            // A block that is not in the program is a bug, which tests of the estimates find.
            if let Some(report) = reports.iter().find(|report| report.name == *name) {
                cycles += report.count_cycles(*iterations);
                operations.add_block(report, *iterations);
            }
        }
        (cycles, operations)
    }

    /// Begins a table.
    pub(super) fn table(&mut self, label: &str) {
        let _ = writeln!(self.data, "    .align 16\n{label}:");
    }

    /// Appends a line of a table.
    pub(super) fn line(&mut self, line: &str) {
        let _ = writeln!(self.data, "    {line}");
    }

    /// Writes `a{to}` = `a{from}` + offset.
    pub(super) fn address(&mut self, to: u8, from: u8, offset: i64) {
        match offset {
            0 => self.word(&format!("mov a{to}, a{from}")),
            -2048..=2047 => self.word(&format!("addi a{to}, a{from}, {offset}")),
            _ => {
                self.word(&format!("movi s15, {offset}"));
                self.word(&format!("add a{to}, a{from}, s15"));
            }
        }
    }

    /// Writes a table of steps, of 8 bytes each, unless there is one with the same steps; returns its label.
    pub(super) fn steps(&mut self, label: &str, steps: &[i64]) -> String {
        let mut contents = String::new();
        for step in steps {
            let _ = writeln!(contents, "    .int {step}, 0");
        }
        self.share_table(label, contents)
    }

    /// Writes a table of lines of roots exp(-2 pi i num/den) as
    /// [`load_pairs`](crate::pipeline::BlockBody::load_pairs) reads them; returns its label and the bytes of
    /// a line.
    pub(super) fn roots(&mut self, name: &str, lines: Vec<Vec<(usize, usize)>>) -> (String, i64) {
        let line = |(num, den): &(usize, usize)| format!(".cis -{num}, {den}");
        let lines = lines.iter().map(|l| l.iter().map(line).collect());
        self.pairs(&format!("roots{name}"), lines.collect())
    }

    /// Writes a table of lines of pairs, each given as a directive, unless there is one with the same
    /// contents; returns its label and the bytes of a line.
    pub(super) fn pairs(&mut self, label: &str, lines: Vec<Vec<String>>) -> (String, i64) {
        let count = lines.first().map_or(0, Vec::len);
        let filled = if count == 1 {
            1
        } else {
            count.next_multiple_of(2)
        };
        let mut contents = String::new();
        for line in &lines {
            for pair in line {
                let _ = writeln!(contents, "    {pair}");
            }
            if filled > count {
                contents += "    .space 8\n";
            }
        }
        (self.share_table(label, contents), 8 * filled as i64)
    }

    /// Writes a table unless there is one with the same contents; returns its label.
    fn share_table(&mut self, label: &str, contents: String) -> String {
        if let Some(known) = self.shared.get(&contents) {
            return known.clone();
        }
        self.table(label);
        self.data += &contents;
        self.shared.insert(contents, label.to_owned());
        label.to_owned()
    }
}
