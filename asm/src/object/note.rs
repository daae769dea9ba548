//! The note section: ABI version, required extensions, rows of machine files.

use super::error::{ObjectError, name};
use crate::{ABI_VERSION, Program};
use cp2_machine::{Extensions, UserRow};
use object::read::elf::NoteIterator;
use object::{LittleEndian, elf};

/// Owner of the notes.
const OWNER: &[u8] = b"CP2\0";
/// Note type of the ABI version, a little-endian `u32`.
const ABI: u32 = 1;
/// Note type of the required extensions: names, each followed by a newline.
const EXTENSIONS: u32 = 2;
/// Note type of the rows of machine files that words use: `[[row]]` tables as they stand in such files.
const ROWS: u32 = 3;
/// Part of the file that error messages of this module name.
const PART: &str = "section `.note.cp2`";

/// Returns the contents of `.note.cp2`.
pub(super) fn write(program: &Program) -> Vec<u8> {
    let mut out = Vec::new();
    let extensions: String = program.requires.names().map(|name| name + "\n").collect();
    put(&mut out, ABI, &ABI_VERSION.to_le_bytes());
    put(&mut out, EXTENSIONS, extensions.as_bytes());
    if !program.rows.is_empty() {
        let rows = program.rows.iter().map(|row| row.definition().to_toml());
        put(&mut out, ROWS, rows.collect::<String>().as_bytes());
    }
    out
}

fn put(out: &mut Vec<u8>, kind: u32, data: &[u8]) {
    for value in [OWNER.len() as u32, data.len() as u32, kind] {
        out.extend(value.to_le_bytes());
    }
    out.extend(OWNER);
    out.extend(data);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Checks the ABI version and returns the required extensions and the rows of machine files.
pub(super) fn read(section: &[u8]) -> Result<(Extensions, Vec<UserRow>), ObjectError> {
    let malformed = |e: object::read::Error| ObjectError::malformed(PART)(e);
    let notes: NoteIterator<'_, elf::FileHeader64<LittleEndian>> = NoteIterator::new(
        LittleEndian,
        object::U64::new(LittleEndian, 4).get(LittleEndian),
        section,
    )
    .map_err(malformed)?;
    let mut abi = None;
    let mut requires = Extensions::empty();
    let mut rows = Vec::new();
    for note in notes {
        let note = note.map_err(malformed)?;
        if note.name() != OWNER.strip_suffix(b"\0").unwrap_or(OWNER) {
            continue;
        }
        match note.n_type(LittleEndian).0 {
            ABI => {
                abi = <[u8; 4]>::try_from(note.desc())
                    .ok()
                    .map(u32::from_le_bytes)
            }
            EXTENSIONS => {
                for line in note
                    .desc()
                    .split(|&b| b == b'\n')
                    .filter(|line| !line.is_empty())
                {
                    let name = name(line, PART)?;
                    requires |=
                        Extensions::by_name(&name).ok_or(ObjectError::Extension { name })?;
                }
            }
            ROWS => {
                let text = std::str::from_utf8(note.desc());
                let text = text.map_err(|e| ObjectError::Rows {
                    reason: e.to_string(),
                })?;
                rows = UserRow::parse_all(PART, text).map_err(|e| ObjectError::Rows {
                    reason: e.to_string(),
                })?;
            }
            _ => {}
        }
    }
    match abi {
        None => Err(ObjectError::AbiMissing),
        Some(ABI_VERSION) => Ok((requires, rows)),
        Some(found) => Err(ObjectError::Abi { found }),
    }
}
