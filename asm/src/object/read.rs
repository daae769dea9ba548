//! Reads a program from an ELF object.

use super::ObjectError;
use super::error::name;
use super::{DMEM, MACHINE, MAX_WORDS, NOTE, TEXT, WORD_BYTES, expansions, lines, note};
use crate::structure::Structure;
use crate::{Line, Program, Segment, Symbol, SymbolKind};
use object::LittleEndian;
use object::elf::{self, FileHeader64, SectionHeader64};
use object::read::elf::{FileHeader as _, SectionHeader as _, SectionTable, Sym as _};

type Header = FileHeader64<LittleEndian>;
type Table<'a> = SectionTable<'a, Header>;
const E: LittleEndian = LittleEndian;
/// Bytes of a DMEM lane: addresses and sizes of data are multiples of it.
const LANE: u64 = cp2_machine::LANE_BYTES as u64;

/// Sections of the file by purpose.
#[derive(Default)]
struct Parts<'a> {
    text: Vec<(u32, &'a SectionHeader64<LittleEndian>)>,
    dmem: Vec<(u32, &'a SectionHeader64<LittleEndian>)>,
    note: Vec<&'a [u8]>,
    line: Vec<&'a [u8]>,
    expansions: Vec<&'a [u8]>,
}

/// Reads an object.
pub(super) fn read(data: &[u8]) -> Result<Program, ObjectError> {
    let header = Header::parse(data).map_err(ObjectError::malformed("ELF header"))?;
    if !header.is_little_endian() {
        return Err(ObjectError::Malformed {
            part: "ELF header",
            reason: "the file is big-endian".into(),
        });
    }
    let machine = header.e_machine(E).0;
    if machine != MACHINE {
        return Err(ObjectError::Machine { found: machine });
    }
    let found = header.e_type(E);
    if found != elf::ET_EXEC {
        return Err(ObjectError::Type { found: found.0 });
    }
    let table = header
        .sections(E, data)
        .map_err(ObjectError::malformed("section table"))?;
    let parts = parts(&table, data)?;

    let (requires, rows) = note::read(once(&parts.note, ".note.cp2")?)?;
    let &(text_index, text) = once(&parts.text, ".text")?;
    let words = words(text, data)?;
    let dmem = segments(&parts, data)?;
    let symbols = symbols(&table, data, &parts, text_index, words.len())?;
    let (files, mut lines) = match parts.line.as_slice() {
        [] => (Vec::new(), vec![Line::default(); words.len()]),
        sections => lines::read(once(sections, ".debug_line")?, words.len())?,
    };
    let expansions = match parts.expansions.as_slice() {
        [] => Vec::new(),
        sections => {
            let section = once(sections, ".debug_expansions")?;
            expansions::read(section, files.len(), &mut lines)?
        }
    };
    let entry = entry(header.e_entry(E), words.len())?;
    let program = Program {
        words,
        dmem,
        symbols,
        files,
        lines,
        expansions,
        entry,
        requires,
        rows,
    };
    check_words(&program)?;
    Ok(program)
}

/// Returns the only element, or an error that says how many there are.
fn once<'a, T>(all: &'a [T], section: &'static str) -> Result<&'a T, ObjectError> {
    match all {
        [one] => Ok(one),
        _ => Err(ObjectError::Count {
            section,
            found: all.len(),
        }),
    }
}

fn parts<'a>(table: &Table<'a>, data: &'a [u8]) -> Result<Parts<'a>, ObjectError> {
    let mut parts = Parts::default();
    for (index, section) in table.enumerate() {
        if index.0 == 0 {
            continue;
        }
        let name = table
            .section_name(E, section)
            .map_err(ObjectError::malformed("section name"))?;
        let contents = || {
            section
                .data(E, data)
                .map_err(ObjectError::malformed("section contents"))
        };
        let entry = (index.0 as u32, section);
        match name {
            TEXT => parts.text.push(entry),
            DMEM => parts.dmem.push(entry),
            NOTE => parts.note.push(contents()?),
            b".debug_line" => parts.line.push(contents()?),
            expansions::SECTION => parts.expansions.push(contents()?),
            _ => {}
        }
    }
    Ok(parts)
}

fn words(text: &SectionHeader64<LittleEndian>, data: &[u8]) -> Result<Vec<u64>, ObjectError> {
    let bytes = text
        .data(E, data)
        .map_err(ObjectError::malformed("section `.text`"))?;
    let words = bytes.chunks_exact(WORD_BYTES as usize);
    if !words.remainder().is_empty() || words.len() > MAX_WORDS {
        return Err(ObjectError::TextSize { bytes: bytes.len() });
    }
    match text.sh_addr(E) {
        0 => Ok(words
            .filter_map(|word| word.try_into().ok().map(u64::from_le_bytes))
            .collect()),
        address => Err(ObjectError::TextAddress { address }),
    }
}

fn segments(parts: &Parts<'_>, data: &[u8]) -> Result<Vec<Segment>, ObjectError> {
    let mut segments = Vec::new();
    let mut previous = 0;
    let mut claimed = 0;
    for (_, section) in &parts.dmem {
        if section.sh_type(E) == elf::SHT_NOBITS {
            continue;
        }
        let contents = section
            .data(E, data)
            .map_err(ObjectError::malformed("section `.dmem`"))?;
        let (address, bytes) = (section.sh_addr(E), contents.len() as u64);
        claimed += bytes;
        if claimed > data.len() as u64 {
            return Err(ObjectError::Overlap {
                bytes: claimed,
                file: data.len() as u64,
            });
        }
        let misplaced = ObjectError::Segment {
            address,
            bytes,
            previous,
        };
        let aligned = address % LANE == 0 && bytes % LANE == 0;
        let end = address.checked_add(bytes).filter(|&end| end <= 1 << 32);
        match (u32::try_from(address), end) {
            (Ok(start), Some(end)) if aligned && address >= previous => {
                segments.push(Segment {
                    address: start,
                    bytes: contents.to_vec(),
                });
                previous = end;
            }
            _ => return Err(misplaced),
        }
    }
    Ok(segments)
}

fn symbols(
    table: &Table<'_>,
    data: &[u8],
    parts: &Parts<'_>,
    text: u32,
    words: usize,
) -> Result<Vec<Symbol>, ObjectError> {
    let part = "section `.symtab`";
    let symtab = table
        .symbols(E, data, elf::SHT_SYMTAB)
        .map_err(ObjectError::malformed(part))?;
    let mut symbols = Vec::new();
    for (index, raw) in symtab.enumerate() {
        if index.0 == 0 || matches!(raw.st_type(), elf::STT_SECTION | elf::STT_FILE) {
            continue;
        }
        let name = name(
            symtab
                .symbol_name(E, raw)
                .map_err(ObjectError::malformed(part))?,
            part,
        )?;
        let stored = raw.st_value(E);
        let bad = |name: String, expected, value| ObjectError::Symbol {
            index: index.0,
            name,
            expected,
            value,
        };
        let section = u32::from(raw.st_shndx(E).0);
        let (kind, value) = if raw.st_shndx(E) == elf::SHN_ABS {
            (SymbolKind::Absolute, stored as i64)
        } else if section == text {
            if stored % WORD_BYTES != 0 || stored / WORD_BYTES > words as u64 {
                return Err(bad(name, "expected a multiple of 8 within `.text`", stored));
            }
            (SymbolKind::Program, (stored / WORD_BYTES) as i64)
        } else if parts
            .dmem
            .binary_search_by_key(&section, |&(index, _)| index)
            .is_ok()
        {
            if stored > u64::from(u32::MAX) {
                return Err(bad(name, "expected a DMEM address below 2^32", stored));
            }
            (SymbolKind::Dmem, stored as i64)
        } else {
            return Err(bad(
                name,
                "expected section `.text`, `.dmem` or ABS",
                section.into(),
            ));
        };
        symbols.push(Symbol { name, kind, value });
    }
    Ok(symbols)
}

fn entry(entry: u64, words: usize) -> Result<u16, ObjectError> {
    let bytes = words as u64 * WORD_BYTES;
    let word = u16::try_from(entry / WORD_BYTES);
    match word {
        // The entry of a program without words is 0.
        Ok(word) if entry.is_multiple_of(WORD_BYTES) && (entry < bytes || entry == 0) => Ok(word),
        _ => Err(ObjectError::Entry { entry, bytes }),
    }
}

fn check_words(program: &Program) -> Result<(), ObjectError> {
    let decoded = program
        .decode()
        .map_err(|(pc, source)| ObjectError::Word { pc, source })?;
    for (pc, word) in decoded.iter().enumerate() {
        let missing = word.requires() - program.requires;
        if !missing.is_empty() {
            let missing = missing.names().collect::<Vec<_>>().join(", ");
            return Err(ObjectError::Undeclared { pc, missing });
        }
    }
    let words: Vec<_> = decoded.into_iter().map(Some).collect();
    match Structure::of(&words).errors.into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}
