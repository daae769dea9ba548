//! Writes and reads the line table: DWARF 4 through `gimli`.

use super::error::{ObjectError, name};
use super::write::c_name;
use super::{MAX_WORDS, WORD_BYTES};
use crate::{Line, Program};
use gimli::write::{
    Address, AttributeValue, Dwarf, EndianVec, LineProgram, LineString, Sections, Unit,
};
use gimli::{
    AttributeValue as ReadValue, DebugLine, DebugLineOffset, Encoding, Format, LineEncoding,
    LittleEndian,
};
use std::collections::HashMap;

/// Encoding of line tables: DWARF 4, 32-bit, which every tool reads and which holds names inline.
const ENCODING: Encoding = Encoding {
    format: Format::Dwarf32,
    version: 4,
    address_size: 8,
};
const PART: &str = "section `.debug_line`";

/// Contents of the three debug sections.
pub(super) struct Debug {
    pub(super) abbrev: Vec<u8>,
    pub(super) info: Vec<u8>,
    pub(super) line: Vec<u8>,
}

/// Returns the name of a file in the table; an empty one has no place there.
fn file_name(name: &str) -> &[u8] {
    match c_name(name) {
        [] => b"?",
        bytes => bytes,
    }
}

/// Returns the index in the table of each of a program's files: files of one name, which linked programs may have,
/// are one there.
pub(super) fn file_indices(program: &Program) -> Vec<u32> {
    let mut known: HashMap<&[u8], u32> = HashMap::new();
    let index = |name| {
        let next = known.len() as u32;
        *known.entry(file_name(name)).or_insert(next)
    };
    program
        .files
        .iter()
        .map(String::as_str)
        .map(index)
        .collect()
}

/// Writes the line table of a program that has source files and words.
pub(super) fn write(program: &Program) -> Option<Debug> {
    if program.files.is_empty() || program.words.is_empty() {
        return None;
    }
    let encoding = LineEncoding {
        minimum_instruction_length: WORD_BYTES as u8,
        ..LineEncoding::default()
    };
    let text = |s: &str| LineString::String(file_name(s).to_vec());
    let mut table = LineProgram::new(
        ENCODING,
        encoding,
        LineString::String(Vec::new()),
        None,
        text(""),
        None,
    );
    let directory = table.default_directory();
    let files: Vec<_> = program
        .files
        .iter()
        .map(|f| table.add_file(text(f), directory, None))
        .collect();

    table.begin_sequence(Some(Address::Constant(0)));
    let mut last: Option<Line> = None;
    for pc in 0..program.words.len() {
        let line = program.lines.get(pc).copied().unwrap_or_default();
        if !last.is_some_and(|last| last.is_line_of(line)) {
            // A file index out of range means that the file is unknown.
            let known = files.get(line.file as usize);
            let row = table.row();
            row.address_offset = pc as u64 * WORD_BYTES;
            row.line = known.map_or(0, |_| line.line.into());
            row.file = *known.or(files.first())?;
            table.generate_row();
            last = Some(line);
        }
    }
    let size = program.words.len() as u64 * WORD_BYTES;
    table.end_sequence(size);

    let mut dwarf = Dwarf::new();
    let unit = dwarf.units.add(Unit::new(ENCODING, table));
    let unit = dwarf.units.get_mut(unit);
    let root = unit.root();
    let root = unit.get_mut(root);
    let string = |s: &str| AttributeValue::String(c_name(s).to_vec());
    root.set(gimli::DW_AT_producer, string("cp2 asm"));
    root.set(
        gimli::DW_AT_language,
        AttributeValue::Language(gimli::DW_LANG_Mips_Assembler),
    );
    root.set(gimli::DW_AT_name, string(program.files.first()?));
    root.set(
        gimli::DW_AT_low_pc,
        AttributeValue::Address(Address::Constant(0)),
    );
    root.set(gimli::DW_AT_high_pc, AttributeValue::Udata(size));
    let mut sections = Sections::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut sections).ok()?;
    Some(Debug {
        abbrev: sections.debug_abbrev.0.into_vec(),
        info: sections.debug_info.0.into_vec(),
        line: sections.debug_line.0.into_vec(),
    })
}

/// Reads the file names and the line of each of `words` words from `.debug_line`.
pub(super) fn read(section: &[u8], words: usize) -> Result<(Vec<String>, Vec<Line>), ObjectError> {
    let mut lines = vec![Line::default(); words.min(MAX_WORDS)];
    let malformed = |e: gimli::Error| ObjectError::malformed(PART)(e);
    let version = section
        .get(4..6)
        .map_or(0, |v| u64::from(v[0]) | u64::from(v[1]) << 8);
    if version != u64::from(ENCODING.version) {
        return Err(ObjectError::Lines {
            expected: "expected DWARF version 4",
            value: version,
        });
    }
    let program = DebugLine::new(section, LittleEndian)
        .program(DebugLineOffset(0), ENCODING.address_size, None, None)
        .map_err(malformed)?;
    let mut files = Vec::new();
    for file in program.header().file_names() {
        let ReadValue::String(path) = file.path_name() else {
            return Err(ObjectError::Name { part: PART });
        };
        files.push(name(path.slice(), PART)?);
    }
    let end = words as u64 * WORD_BYTES;
    let mut rows = program.rows();
    let mut previous: Option<Line> = None;
    let mut done = 0;
    while let Some((_, row)) = rows.next_row().map_err(malformed)? {
        let address = row.address();
        // Addresses ascend over all sequences, so that each word is filled once.
        if address < done || address > end || address % WORD_BYTES != 0 {
            return Err(ObjectError::Lines {
                expected: "expected ascending multiples of 8 within `.text` as addresses",
                value: address,
            });
        }
        if let Some(line) = previous {
            lines[(done / WORD_BYTES) as usize..(address / WORD_BYTES) as usize].fill(line);
        }
        done = address;
        previous = if row.end_sequence() {
            None
        } else {
            Some(position(row, files.len())?)
        };
    }
    Ok((files, lines))
}

fn position(row: &gimli::LineRow, files: usize) -> Result<Line, ObjectError> {
    let line = row.line().map_or(0, std::num::NonZero::get);
    let line = u32::try_from(line).map_err(|_| ObjectError::Lines {
        expected: "expected a line number below 2^32",
        value: line,
    })?;
    // DWARF 4 counts files from 1.
    let file = row.file_index().wrapping_sub(1);
    match u32::try_from(file) {
        Ok(index) if (index as usize) < files => Ok(Line::new(index, line)),
        _ => Err(ObjectError::Lines {
            expected: "expected the number of a listed file",
            value: row.file_index(),
        }),
    }
}
