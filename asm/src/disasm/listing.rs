//! The listing of a whole program as text that assembles again.

use super::labels::Labels;
use super::text::write_word;
use crate::isa::Word;
use crate::{Program, Segment};
use cp2_machine::LANE_BYTES;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};

/// Column where comments begin.
const COMMENT: usize = 56;
/// Number of data words on one line.
const PER_LINE: usize = 4;

/// A program as text, through `Display`: it assembles to the same words, data,
/// entry and required extensions.
///
/// Local labels, and symbols whose names the assembler could not read back (from objects of other tools),
/// appear in comments only.
#[derive(Debug)]
pub struct Listing<'a> {
    program: &'a Program,
    words: Vec<Word>,
    labels: Labels,
    addresses: bool,
    sources: Option<HashMap<u32, Vec<String>>>,
    /// Comments by the address of the word that they stand behind.
    comments: BTreeMap<usize, String>,
    /// Lines of comments by the address of the word that they stand before.
    remarks: BTreeMap<usize, Vec<String>>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(program: &'a Program, words: Vec<Word>) -> Self {
        let labels = Labels::new(program, &words);
        Self {
            program,
            words,
            labels,
            addresses: false,
            sources: None,
            comments: BTreeMap::new(),
            remarks: BTreeMap::new(),
        }
    }

    /// Shows address and bits of each word in a comment.
    #[must_use]
    pub fn addresses(mut self, show: bool) -> Self {
        self.addresses = show;
        self
    }

    /// Shows `file:line` and, where `read` returns the file's text, the source
    /// line itself, as a comment wherever the line changes. `read` is called
    /// once for each file.
    #[must_use]
    pub fn sources(mut self, mut read: impl FnMut(&str) -> Option<String>) -> Self {
        let lines = |text: String| text.lines().map(str::to_owned).collect();
        let files = self.program.files.iter().zip(0..);
        self.sources = Some(
            files
                .filter_map(|(file, i)| Some((i, lines(read(file)?))))
                .collect(),
        );
        self
    }

    /// Adds a comment behind the word at `pc`; a later one takes its place.
    #[must_use]
    pub fn comment(mut self, pc: usize, text: impl Into<String>) -> Self {
        self.comments.insert(pc, text.into());
        self
    }

    /// Adds a line of comment before the word at `pc`, behind those that stand there.
    #[must_use]
    pub fn remark(mut self, pc: usize, text: impl Into<String>) -> Self {
        self.remarks.entry(pc).or_default().push(text.into());
        self
    }

    /// Returns the text of the word at `pc`, with targets by label; empty beyond the end.
    #[must_use]
    pub fn word(&self, pc: usize) -> String {
        let mut text = String::new();
        if let Some(word) = self.words.get(pc) {
            // Writing to a String cannot fail.
            let _ = write_word(&mut text, word, &self.labels.seen_from(pc as u32));
        }
        text
    }

    /// Returns the labels of the word at `pc`.
    #[must_use]
    pub fn labels(&self, pc: usize) -> &[String] {
        u32::try_from(pc).map_or(&[], |pc| self.labels.at(pc))
    }

    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in self.program.requires.names() {
            writeln!(f, ".require {name}")?;
        }
        for row in self.program.rows.iter().map(|row| row.definition()) {
            let (mnemonic, form) = (&row.mnemonic, row.form);
            writeln!(f, "; row `{mnemonic}` {form} of the machine: {}", row.lanes)?;
        }
        for symbol in self.labels.constants() {
            // The magnitude of the least integer is beyond the largest: it is written as a difference.
            match symbol.value {
                i64::MIN => writeln!(f, ".equ {}, -{} - 1", symbol.name, i64::MAX)?,
                value => writeln!(f, ".equ {}, {value}", symbol.name)?,
            }
        }
        for symbol in self.labels.unwritable() {
            writeln!(
                f,
                "; {:?} symbol {} = {:#x}",
                symbol.kind,
                one_line(&symbol.name),
                symbol.value
            )?;
        }
        Ok(())
    }

    fn write_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, ".program")?;
        if let Some(entry) = self.labels(self.program.entry.into()).first() {
            writeln!(f, ".entry {entry}")?;
        }
        let mut last = None;
        for pc in 0..self.words.len() {
            for text in self.remarks.get(&pc).into_iter().flatten() {
                writeln!(f, "    ; {}", one_line(text))?;
            }
            self.write_labels(f, pc)?;
            let line = self.program.lines.get(pc);
            if self.sources.is_some() && last != line {
                self.write_source(f, pc)?;
                last = line;
            }
            let text = self.word(pc);
            let bits = self.program.words.get(pc).filter(|_| self.addresses);
            let address = bits.map(|bits| format!("{pc:04x}: {bits:016x}"));
            let comment = self.comments.get(&pc).map(|text| one_line(text));
            let comments: Vec<String> = address.into_iter().chain(comment).collect();
            match comments.is_empty() {
                true => writeln!(f, "    {text}")?,
                false => writeln!(
                    f,
                    "    {text:<width$} ; {}",
                    comments.join(" | "),
                    width = COMMENT - 5
                )?,
            }
        }
        self.write_labels(f, self.words.len())
    }

    fn write_labels(&self, f: &mut fmt::Formatter<'_>, pc: usize) -> fmt::Result {
        self.labels(pc)
            .iter()
            .try_for_each(|label| writeln!(f, "{label}:"))
    }

    fn write_source(&self, f: &mut fmt::Formatter<'_>, pc: usize) -> fmt::Result {
        let (Some(location), Some(line)) = (self.program.location(pc), self.program.lines.get(pc))
        else {
            return Ok(());
        };
        let lines = self
            .sources
            .as_ref()
            .and_then(|files| files.get(&line.file));
        let text = lines.and_then(|lines| lines.get((line.line as usize).checked_sub(1)?));
        let text = one_line(text.map_or("", |text| text.trim()));
        write!(f, "    ; {} | {text}", one_line(&location))?;
        match self.program.describe_chain(pc) {
            chain if chain.is_empty() => writeln!(f),
            chain => writeln!(f, " ({})", one_line(&chain)),
        }
    }

    fn write_dmem(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut labels = self.labels.dmem().peekable();
        for segment in &self.program.dmem {
            // Labels between segments get a line of their own at their address.
            while let Some((address, names)) =
                labels.next_if(|&(address, _)| address < segment.address)
            {
                write_place(f, address, names)?;
            }
            writeln!(f, ".dmem {:#x}", segment.address)?;
            let end = u64::from(segment.address) + segment.bytes.len() as u64;
            let mut from = segment.address;
            while let Some((address, names)) =
                labels.next_if(|&(address, _)| u64::from(address) < end)
            {
                write_data(f, segment, from, address.into())?;
                names.iter().try_for_each(|name| writeln!(f, "{name}:"))?;
                from = address;
            }
            write_data(f, segment, from, end)?;
        }
        labels.try_for_each(|(address, names)| write_place(f, address, names))
    }
}

impl Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        self.write_words(f)?;
        self.write_dmem(f)
    }
}

fn write_place(f: &mut fmt::Formatter<'_>, address: u32, names: &[String]) -> fmt::Result {
    writeln!(f, ".dmem {address:#x}")?;
    names.iter().try_for_each(|name| writeln!(f, "{name}:"))
}

/// Writes the lanes of a segment from byte address `from` up to `end`.
fn write_data(f: &mut fmt::Formatter<'_>, segment: &Segment, from: u32, end: u64) -> fmt::Result {
    let index = |address: u64| (address - u64::from(segment.address)) as usize;
    let bytes = segment
        .bytes
        .get(index(from.into())..index(end))
        .unwrap_or_default();
    let lanes: Vec<u32> = bytes.chunks(LANE_BYTES).map(lane).collect();
    let mut rest = lanes.as_slice();
    while !rest.is_empty() {
        let zeros = rest.iter().take_while(|&&lane| lane == 0).count();
        if zeros >= PER_LINE {
            writeln!(f, "    .space {}, 0", zeros * LANE_BYTES)?;
            rest = &rest[zeros..];
            continue;
        }
        let (line, tail) = rest.split_at(rest.len().min(PER_LINE));
        let text: Vec<String> = line.iter().map(|lane| format!("{lane:#010x}")).collect();
        let values: Vec<String> = line
            .iter()
            .map(|&lane| format!("{:?}", f32::from_bits(lane)))
            .collect();
        writeln!(
            f,
            "    .int {:<width$} ; {}",
            text.join(", "),
            values.join(", "),
            width = COMMENT - 10
        )?;
        rest = tail;
    }
    Ok(())
}

/// Reads a little-endian lane; missing bytes are zero.
fn lane(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u32::from(byte))
}

/// Replaces control characters, so that the text cannot end the comment it stands in.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
