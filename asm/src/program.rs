//! Assembled programs with data, symbols and line table.
//!
//! The assembler produces a program, an ELF file carries it, and a device loads it.

use crate::expansion::ProgramExpansion;
use crate::isa::{DecodeError, Isa, Kind, Word};
use cp2_machine::{Extensions, UserRow};

/// Version of the kernel ABI (`docs/abi.md`) that objects record.
pub const ABI_VERSION: u32 = 3;

/// A program with its data, symbols and line table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Program memory from word address 0.
    pub words: Vec<u64>,
    /// Initial DMEM contents, identical in every section; disjoint, ascending.
    pub dmem: Vec<Segment>,
    /// Labels and constants.
    pub symbols: Vec<Symbol>,
    /// Source files that [`Program::lines`] refers to.
    pub files: Vec<String>,
    /// Source position of each word; parallel to [`Program::words`].
    pub lines: Vec<Line>,
    /// Macro calls, inclusions and iterations that [`Program::lines`] refers to, outer ones before inner ones.
    pub expansions: Vec<ProgramExpansion>,
    /// Word address where a launch begins by default.
    pub entry: u16,
    /// Extensions the machine must have.
    pub requires: Extensions,
    /// Rows of machine files that the program's words use: the machine must have the same.
    pub rows: Vec<UserRow>,
}

/// A stretch of initialised DMEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Byte address in DMEM.
    pub address: u32,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// Meaning of a symbol's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// Word address in program memory.
    Program,
    /// Byte address in DMEM.
    Dmem,
    /// A constant (`.equ`).
    Absolute,
}

/// A named value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name as written.
    pub name: String,
    /// Meaning of the value.
    pub kind: SymbolKind,
    /// The value.
    pub value: i64,
}

/// Source position of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Index into [`Program::files`].
    pub file: u32,
    /// Line, from 1; 0 where unknown.
    pub line: u32,
    /// Index into [`Program::expansions`] of the innermost expansion that the line was read in.
    pub expansion: Option<u32>,
}

impl Line {
    /// Makes the position of a line outside all expansions.
    #[must_use]
    pub const fn new(file: u32, line: u32) -> Self {
        let expansion = None;
        Self {
            file,
            line,
            expansion,
        }
    }

    /// True if both are the same line of the same file, in whatever expansion.
    #[must_use]
    pub fn is_line_of(self, other: Self) -> bool {
        (self.file, self.line) == (other.file, other.line)
    }
}

impl Program {
    /// Returns the value of the symbol called `name`.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<i64> {
        self.symbols
            .iter()
            .find(|s| s.name == name)
            .map(|s| s.value)
    }

    /// Returns `file:line` of the word at `pc`, if known.
    #[must_use]
    pub fn location(&self, pc: usize) -> Option<String> {
        self.place(*self.lines.get(pc)?)
    }

    /// Returns `file:line` of a source position, if known.
    #[must_use]
    pub fn place(&self, line: Line) -> Option<String> {
        let file = self.files.get(line.file as usize)?;
        (line.line > 0).then(|| format!("{file}:{}", line.line))
    }

    /// Returns the expansions that the word at `pc` came from, the innermost first.
    pub fn chain(&self, pc: usize) -> impl Iterator<Item = &ProgramExpansion> {
        let start = self.lines.get(pc).and_then(|line| line.expansion);
        let parent = |&index: &u32| {
            let frame = self.expansions.get(index as usize)?;
            // Outer expansions come first: a table that says otherwise ends the chain.
            frame.at.expansion.filter(|&outer| outer < index)
        };
        std::iter::successors(start, parent).filter_map(|i| self.expansions.get(i as usize))
    }

    /// Returns the expansions that the word at `pc` came from as a phrase, the innermost first, such as
    /// ``macro `step`, called at a.s:7, `.rept` with i = 2 at a.s:6``; empty for a word outside all of them.
    #[must_use]
    pub fn describe_chain(&self, pc: usize) -> String {
        self.describe(self.chain(pc))
    }

    /// Returns the expansions that the word at `pc` came from and the one at `outer` did not, as
    /// [`Program::describe_chain`] does.
    #[must_use]
    pub fn describe_chain_within(&self, pc: usize, outer: usize) -> String {
        let is_common =
            |frame: &ProgramExpansion| self.chain(outer).any(|o| std::ptr::eq(o, frame));
        self.describe(self.chain(pc).take_while(|frame| !is_common(frame)))
    }

    /// Returns `file:line` of the word at `pc`, if known, with the expansions that it came from in brackets.
    #[must_use]
    pub fn describe_place(&self, pc: usize) -> Option<String> {
        let location = self.location(pc)?;
        Some(match self.describe_chain(pc) {
            chain if chain.is_empty() => location,
            chain => format!("{location} ({chain})"),
        })
    }

    fn describe<'p>(&self, chain: impl Iterator<Item = &'p ProgramExpansion>) -> String {
        let phrase = |frame: &ProgramExpansion| match self.place(frame.at) {
            Some(place) => format!("{} at {place}", frame.what),
            None => frame.what.to_string(),
        };
        chain.map(phrase).collect::<Vec<_>>().join(", ")
    }

    /// Returns the instructions that the program's words are made of.
    #[must_use]
    pub fn isa(&self) -> Isa<'_> {
        Isa::with_rows(&self.rows)
    }

    /// Decodes all words.
    ///
    /// # Errors
    /// The address of the first invalid word, and why it is invalid.
    pub fn decode(&self) -> Result<Vec<Word>, (usize, DecodeError)> {
        self.words
            .iter()
            .enumerate()
            .map(|(pc, &bits)| self.isa().decode(bits).map_err(|e| (pc, e)))
            .collect()
    }

    /// Links this program and another into one that holds both. The words of `other` come after this
    /// program's, from the next multiple of `align` on; the data of both keep their addresses. Labels of
    /// `other` move with its words; of two symbols with one name, this program's stays. A launch begins where
    /// this program does.
    ///
    /// # Errors
    /// The data of the two overlap, or a word of `other` is invalid.
    pub fn linked(&self, other: &Self, align: usize) -> Result<Self, LinkError> {
        let mut all = self.clone();
        let origin = self.words.len().next_multiple_of(align.max(1));
        all.words.resize(origin, 0);
        all.lines.resize(origin, Line::default());
        for (pc, &bits) in other.words.iter().enumerate() {
            let moved = moved(other.isa(), bits, origin)
                .map_err(|source| LinkError::Word { pc, source })?;
            all.words.push(moved);
        }
        let (files, expansions) = (self.files.len() as u32, self.expansions.len() as u32);
        all.files.extend(other.files.iter().cloned());
        let later = |line: Line| Line {
            file: line.file + files * u32::from(line.line > 0),
            expansion: line.expansion.map(|index| index + expansions),
            ..line
        };
        let lines =
            (0..other.words.len()).map(|pc| other.lines.get(pc).copied().unwrap_or_default());
        all.lines.extend(lines.map(later));
        let own = other.expansions.iter().cloned();
        all.expansions.extend(own.map(|frame| ProgramExpansion {
            at: later(frame.at),
            ..frame
        }));
        for symbol in &other.symbols {
            if self.symbol(&symbol.name).is_none() {
                let mut symbol = symbol.clone();
                if symbol.kind == SymbolKind::Program {
                    symbol.value = symbol.value.saturating_add(origin as i64);
                }
                all.symbols.push(symbol);
            }
        }
        all.dmem.extend(other.dmem.iter().cloned());
        all.dmem.sort_by_key(|segment| segment.address);
        for pair in all.dmem.windows(2) {
            let [one, next] = pair else { continue };
            if u64::from(one.address) + one.bytes.len() as u64 > u64::from(next.address) {
                let address = next.address;
                return Err(LinkError::Data { address });
            }
        }
        all.requires = self.requires | other.requires;
        for row in &other.rows {
            let (new, opcode) = (row.definition(), row.definition().opcode);
            let old = self
                .rows
                .iter()
                .find(|old| old.definition().opcode == opcode);
            match old.map(|old| old.definition()) {
                None => all.rows.push(*row),
                Some(old) if old.essence() == new.essence() => {}
                Some(old) => {
                    let (one, other) = (old.mnemonic.clone(), new.mnemonic.clone());
                    return Err(LinkError::Row { one, other, opcode });
                }
            }
        }
        Ok(all)
    }
}

/// Moves a word by `origin` words: adjusts its branch target.
fn moved(isa: Isa<'_>, bits: u64, origin: usize) -> Result<u64, DecodeError> {
    let mut word = isa.decode(bits)?;
    let mut operands = word.mem.row().form.operands().iter();
    if operands.any(|operand| matches!(operand.kind, Kind::Target)) {
        // The target saturates: a program that is too long is refused by the machine that loads it.
        let target = usize::from(word.mem.target).saturating_add(origin);
        word.mem.target = u16::try_from(target).unwrap_or(u16::MAX);
    }
    Ok(word.encode())
}

/// Reasons why two programs cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Data of the two programs overlap.
    #[error(
        "both programs have data at DMEM address {address:#x}: assemble one with its data elsewhere"
    )]
    Data {
        /// First DMEM address that both have data at.
        address: u32,
    },
    /// Rows of machine files that the two programs use have one opcode.
    #[error(
        "row `{one}` of the first program and row `{other}` of the second have opcode {opcode} in common: \
             assemble both for one machine"
    )]
    Row {
        /// Mnemonic in the first program.
        one: String,
        /// Mnemonic in the second program.
        other: String,
        /// The opcode.
        opcode: u8,
    },
    /// A word of the second program is invalid.
    #[error("word {pc} of the second program: {source}")]
    Word {
        /// Word address in the second program.
        pc: usize,
        /// Reason why the word is invalid.
        source: DecodeError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Source, assemble};

    fn program(text: &str) -> Program {
        assemble(&Source::new("a.s", text), &Options::default())
            .unwrap()
            .program
    }

    /// Branches of the second program go to its own words; loops and data stay as they are; a symbol that
    /// both define has the first program's value.
    #[test]
    fn two_programs_become_one() {
        let first = program(".program\none: jmp both\nnop\nboth: stop\n.dmem 0\n.int 1, 2\n");
        let second = program(
            ".program\nboth: movi c1, 3\ntwo: loop c1 {\nnop\naddi c2, c2, 1\n}\nbnz c2, two\njmp both\nstop\n.dmem 16\n.int 3\n",
        );
        let all = first.linked(&second, 4).unwrap();
        let origin = all.words.len() - second.words.len();
        assert_eq!(origin, 4);
        assert_eq!(all.words[..3], first.words[..]);
        let (moved, own) = (all.decode().unwrap(), second.decode().unwrap());
        let mut branches = 0;
        for (moved, own) in moved[origin..].iter().zip(&own) {
            let branch = ["jmp", "bnz"].contains(&own.mem.row().mnemonic);
            branches += usize::from(branch);
            let by = if branch { origin as u16 } else { 0 };
            assert_eq!(moved.mem.target, own.mem.target + by);
            assert_eq!(moved.arith, own.arith);
        }
        assert_eq!(branches, 2);
        assert_eq!(all.symbol("both"), Some(2));
        assert_eq!(all.symbol("two"), second.symbol("two").map(|at| at + 4));
        assert_eq!(all.dmem, [first.dmem.clone(), second.dmem.clone()].concat());
        assert_eq!(all.location(origin), second.location(0));
    }

    #[test]
    fn data_in_one_place_is_refused() {
        let data = |at: u32| program(&format!(".program\nstop\n.dmem {at}\n.int 1, 2\n"));
        assert!(data(0).linked(&data(8), 2).is_ok());
        assert!(data(8).linked(&data(0), 2).is_ok());
        let error = data(0).linked(&data(4), 2).unwrap_err();
        assert_eq!(error, LinkError::Data { address: 4 });
    }
}
