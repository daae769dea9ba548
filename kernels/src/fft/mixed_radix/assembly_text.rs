//! Builds assembly text: words, tables, constants in registers.

use super::radix_constants::{RadixConstant, place};
use crate::pipeline::Operations;
use cp2_asm::schedule::DataOperand;
use cp2_host::paging::QUAD;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Assembly text under construction: words, and the tables behind them.
#[derive(Debug, Default)]
pub(super) struct AssemblyText {
    pub(super) words: String,
    pub(super) data: String,
    /// Labels of tables of pairs by their contents: passes that need the same table share it.
    shared: BTreeMap<String, String>,
    /// Bytes of tables.
    pub(super) bytes: u64,
    /// Cycles of the words of one block, as far as they are known.
    pub(super) cycles: u64,
    /// Operations that the loops of one block issue at least.
    pub(super) operations: Operations,
}

impl AssemblyText {
    /// Appends a word of one cycle.
    pub(super) fn word(&mut self, word: &str) {
        let _ = writeln!(self.words, "    {word}");
        self.cycles += 1;
    }

    /// Returns the words that `write` writes, and keeps them out of the program.
    pub(super) fn capture_words(&mut self, write: impl FnOnce(&mut Self)) -> Vec<String> {
        let (length, cycles) = (self.words.len(), self.cycles);
        write(self);
        self.cycles = cycles;
        let words = self.words.split_off(length);
        words.lines().map(|word| word.trim().to_owned()).collect()
    }

    /// Begins a table of `bytes`.
    pub(super) fn table(&mut self, label: &str, bytes: u64) {
        let _ = writeln!(self.data, "    .align 16\n{label}:");
        self.bytes += bytes.next_multiple_of(QUAD);
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

    /// Sets the modulo range of `a{register}`, which begins `inside` bytes before the register's address.
    pub(super) fn circular(&mut self, register: u8, inside: i64, length: i64) {
        match inside {
            0 => self.word(&format!("mov b{register}, a{register}")),
            _ => {
                self.word(&format!("movi s15, {}", -inside));
                self.word(&format!("add b{register}, a{register}, s15"));
            }
        }
        self.word(&format!("movi l{register}, {length}"));
    }

    /// Step register that always holds 8.
    pub(super) const EIGHT: u8 = 14;

    /// Writes a circular table of steps, and the words that make `a{register}` read it.
    pub(super) fn steps(&mut self, register: u8, label: &str, steps: &[i64]) {
        let length = 8 * steps.len() as i64;
        self.table(label, length as u64);
        for step in steps {
            self.line(&format!(".int {step}, 0"));
        }
        self.word(&format!("movi a{register}, {label}"));
        self.circular(register, 0, length);
    }

    /// Appends a label to the program.
    pub(super) fn label(&mut self, label: &str) {
        let _ = writeln!(self.words, "{label}:");
    }

    /// Writes a table of lines of roots exp(-2 pi i num/den) as
    /// [`load_pairs`](cp2_asm::schedule::Dataflow::load_pairs) reads them; returns its label and the bytes of
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
        let label = match self.shared.get(&contents) {
            Some(known) => known.clone(),
            None => {
                self.table(label, 8 * (filled * lines.len()) as u64);
                self.data += &contents;
                self.shared.insert(contents, label.to_owned());
                label.to_owned()
            }
        };
        (label, 8 * filled as i64)
    }

    /// Loads constants into the highest registers; `name` is unique.
    pub(super) fn constants(
        &mut self,
        name: &str,
        constants: Vec<RadixConstant>,
    ) -> ConstantRegisters {
        let label = &format!("constants{name}");
        let (quads, pairs): (Vec<_>, Vec<_>) = constants
            .into_iter()
            .partition(|c| matches!(c, RadixConstant::Real(_)));
        if quads.is_empty() && pairs.is_empty() {
            return ConstantRegisters::default();
        }
        let count = (quads.len() + pairs.len().div_ceil(2)) as u8;
        self.table(label, 16 * u64::from(count));
        for constant in quads.iter().chain(&pairs) {
            self.line(&match constant {
                RadixConstant::Real(x) => format!(".float {x:?}, {x:?}, {x:?}, {x:?}"),
                RadixConstant::Complex(x) => format!(".complex {x:?}, 0"),
                RadixConstant::Root(num, den) => format!(".cis -{num}, {den}"),
                RadixConstant::HalfRoot(num, den) => {
                    format!(".complex cos({num}.0/{den})/2, -sin({num}.0/{den})/2")
                }
            });
        }
        if pairs.len() % 2 == 1 {
            self.line(".complex 0, 0");
        }
        self.word(&format!("movi a0, {label}"));
        for i in 0..count {
            self.word(&format!("ldq q{}, [a0]+16", 32 - count + i));
        }
        ConstantRegisters {
            first: 64 - 2 * count,
            quads,
            pairs,
        }
    }
}

/// Constants in registers.
#[derive(Clone, Debug)]
pub(super) struct ConstantRegisters {
    /// Pair registers below this one are free.
    pub(super) first: u8,
    quads: Vec<RadixConstant>,
    pairs: Vec<RadixConstant>,
}

impl Default for ConstantRegisters {
    fn default() -> Self {
        Self {
            first: 64,
            quads: Vec::new(),
            pairs: Vec::new(),
        }
    }
}

impl ConstantRegisters {
    /// Makes an empty set of constants; a loop may not use pair registers from `first` on.
    pub(super) fn with_limit(first: u8) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// Makes a set of pairs that are in registers from `first` on; registers below are free.
    pub(super) fn with_pairs(first: u8, pairs: Vec<RadixConstant>) -> Self {
        Self {
            first,
            pairs,
            ..Self::default()
        }
    }

    /// Returns the register of a constant. One that was not loaded is a bug, which the assembler finds: there
    /// is no such register.
    pub(super) fn register(&self, constant: RadixConstant) -> DataOperand {
        self.find(constant).unwrap_or(DataOperand::Pair(u8::MAX))
    }

    /// Returns the register of a constant, if it is in one.
    pub(super) fn find(&self, constant: RadixConstant) -> Option<DataOperand> {
        if let Some(i) = place(&self.quads, constant) {
            return Some(DataOperand::Quad(self.first / 2 + i as u8));
        }
        let i = place(&self.pairs, constant)?;
        Some(DataOperand::Pair(
            self.first + (2 * self.quads.len() + i) as u8,
        ))
    }
}
