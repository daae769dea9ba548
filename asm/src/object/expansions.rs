//! Writes and reads the macros and counters that words came from.
//!
//! All numbers are little-endian. The number of expansions (`u32`) comes first, then each expansion: its kind
//! (`u32`: 1 a macro, 2 a file, 3 an iteration), the length of its name in bytes (`u32`), its counter (`i64`),
//! file index, line and outer expansion of its call (`u32` each), and its name. An expansion is named by its
//! number, from 1; 0 stands for none. The rest are runs of words, in ascending order: the address of the first
//! word and the innermost expansion of all words up to the next run (`u32` each).

use super::error::{ObjectError, name};
use super::lines::file_indices;
use super::write::c_name;
use crate::expansion::{Expansion, ProgramExpansion};
use crate::{Line, Program};

/// Name of the section; tools that strip debug sections strip it with them.
pub(super) const SECTION: &[u8] = b".debug_expansions";
const PART: &str = "section `.debug_expansions`";

/// Kind of a macro's call.
const MACRO: u32 = 1;
/// Kind of an included file.
const FILE: u32 = 2;
/// Kind of an iteration.
const ITERATION: u32 = 3;

/// Most expansions around a word: four times as many as the assembler nests.
const MAX_NESTING: u32 = 256;

/// Writes the table; none for a program whose words came from no expansion.
pub(super) fn write(program: &Program) -> Option<Vec<u8>> {
    if program.expansions.is_empty() || program.words.is_empty() {
        return None;
    }
    let files = file_indices(program);
    let number = |expansion: Option<u32>| expansion.map_or(0, |index| index.saturating_add(1));
    let mut out = Vec::new();
    let put = |value: u32, out: &mut Vec<u8>| out.extend(value.to_le_bytes());
    put(program.expansions.len() as u32, &mut out);
    for ProgramExpansion { what, at } in &program.expansions {
        let (kind, name, value) = match what {
            Expansion::Macro(name) => (MACRO, name, 0),
            Expansion::File(name) => (FILE, name, 0),
            Expansion::Iteration(name, value) => (ITERATION, name, *value),
        };
        let name = c_name(name);
        put(kind, &mut out);
        put(name.len() as u32, &mut out);
        out.extend(value.to_le_bytes());
        // A file index out of range means that the file is unknown, as in the line table.
        let file = files.get(at.file as usize).copied();
        put(file.unwrap_or(0), &mut out);
        put(file.map_or(0, |_| at.line), &mut out);
        put(number(at.expansion), &mut out);
        out.extend(name);
    }
    let mut last = 0;
    for pc in 0..program.words.len() {
        let expansion = number(program.lines.get(pc).and_then(|line| line.expansion));
        if expansion != last {
            put(pc as u32, &mut out);
            put(expansion, &mut out);
            last = expansion;
        }
    }
    Some(out)
}

/// Reads the table of a program with `files` source files, and enters the expansion of each word in `lines`.
pub(super) fn read(
    section: &[u8],
    files: usize,
    lines: &mut [Line],
) -> Result<Vec<ProgramExpansion>, ObjectError> {
    let mut rest = ExpansionReader(section);
    let mut table: Vec<ProgramExpansion> = Vec::new();
    // Number of expansions around each, itself included.
    let mut depths: Vec<u32> = Vec::new();
    for _ in 0..rest.number()? {
        let (kind, length, value) = (rest.number()?, rest.number()?, rest.counter()?);
        let (file, line, outer) = (rest.number()?, rest.number()?, rest.number()?);
        let name = name(rest.bytes(length as usize)?, PART)?;
        let what = match kind {
            MACRO => Expansion::Macro(name),
            FILE => Expansion::File(name),
            ITERATION => Expansion::Iteration(name, value),
            _ => {
                return Err(refuse(
                    "expected 1, 2 or 3 as the kind of an expansion",
                    kind,
                ));
            }
        };
        if file as usize >= files {
            return Err(refuse("expected the index of a listed file", file));
        }
        if outer as usize > table.len() {
            return Err(refuse("expected an expansion that comes before", outer));
        }
        let expansion = outer.checked_sub(1);
        let around = expansion.and_then(|outer| depths.get(outer as usize));
        let depth = around.map_or(1, |depth| depth + 1);
        if depth > MAX_NESTING {
            return Err(refuse(
                "expected at most 256 expansions inside each other",
                depth,
            ));
        }
        depths.push(depth);
        let at = Line {
            expansion,
            ..Line::new(file, line)
        };
        table.push(ProgramExpansion { what, at });
    }
    let (mut first, mut expansion) = (0, None);
    while !rest.0.is_empty() {
        let (next, number) = (rest.number()?, rest.number()?);
        let inside = (next as usize) < lines.len();
        let Some(words) = lines.get_mut(first..next as usize).filter(|_| inside) else {
            return Err(refuse("expected ascending addresses within `.text`", next));
        };
        if number as usize > table.len() {
            return Err(refuse("expected the number of a listed expansion", number));
        }
        words.iter_mut().for_each(|word| word.expansion = expansion);
        (first, expansion) = (next as usize, number.checked_sub(1));
    }
    let words = lines.iter_mut().skip(first);
    words.for_each(|word| word.expansion = expansion);
    Ok(table)
}

fn refuse(expected: &'static str, value: u32) -> ObjectError {
    ObjectError::Expansions {
        expected,
        value: value.into(),
    }
}

/// The bytes of the section that are not read yet.
struct ExpansionReader<'a>(&'a [u8]);

impl<'a> ExpansionReader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], ObjectError> {
        let split = self.0.split_at_checked(count);
        let (bytes, rest) = split.ok_or(ObjectError::Expansions {
            expected: "expected more bytes than the section has left",
            value: self.0.len() as u64,
        })?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ObjectError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    fn number(&mut self) -> Result<u32, ObjectError> {
        self.array().map(u32::from_le_bytes)
    }

    fn counter(&mut self) -> Result<i64, ObjectError> {
        self.array().map(i64::from_le_bytes)
    }
}
