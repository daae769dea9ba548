//! Assembles the filter sources with their constants and data.

use super::error::ConvError;
use crate::assembly::assembly;
use cp2_asm::{Options, Program, Source, Value};
use cp2_machine::Machine;
use num_complex::Complex32;

/// Folder of the sources in this repository, for messages and line tables.
const FOLDER: &str = "kernels/src/conv/";

const SOURCES: [(&str, &str); 6] = [
    ("transposed_form.s", include_str!("transposed_form.s")),
    ("direct.s", include_str!("direct.s")),
    ("overlap_save_long.s", include_str!("overlap_save_long.s")),
    ("overlap_save.s", include_str!("overlap_save.s")),
    ("overlap_save_ring.s", include_str!("overlap_save_ring.s")),
    ("spectrum_product.s", include_str!("spectrum_product.s")),
];

/// Assembly of a page: words and linear blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct PageText {
    pub(super) text: String,
    /// Number of words, or a bound of it.
    pub(super) words: u64,
    /// Cycles of a block of the signal, as far as whoever writes the page counts them.
    pub(super) cycles: u64,
}

impl PageText {
    /// Adds words, one a line.
    pub(super) fn add_words(&mut self, words: &str) {
        self.text += words;
        self.words += words.lines().count() as u64;
    }

    /// Adds a linear block of so many words.
    pub(super) fn add_block(&mut self, text: &str, words: u64) {
        self.text += text;
        self.words += words;
    }
}

/// Returns the text of a kernel source by its name in line tables, for profiles.
#[must_use]
pub fn source(file: &str) -> Option<&'static str> {
    let Some(name) = file.strip_prefix(FOLDER) else {
        return crate::fft::source(file);
    };
    SOURCES
        .iter()
        .find(|(n, _)| *n == name)
        .map(|&(_, text)| text)
}

/// Returns a file that sources include; `tiles.s` is generated for each filter.
fn include(name: &str, tiles: &str) -> Result<Source, String> {
    if name == "tiles.s" {
        return Ok(Source::new(name, tiles));
    }
    let file = match name.strip_prefix("../fft/") {
        Some(fft) => format!("kernels/src/fft/{fft}"),
        None => format!("{FOLDER}{name}"),
    };
    let text = source(&file).ok_or_else(|| "no such kernel source".to_owned())?;
    Ok(Source::new(file, text))
}

/// Assembles the source `name` for `machine`; users know it as `title`. `tiles` is the text that it includes
/// as `tiles.s`.
pub(super) fn program(
    (name, title): (&str, &str),
    defines: &[(&str, i64)],
    tiles: &str,
    machine: &Machine,
) -> Result<Program, ConvError> {
    let text = source(&format!("{FOLDER}{name}")).unwrap_or_default();
    let include = |name: &str, _from: &str| include(name, tiles);
    let options = Options {
        defines: defines
            .iter()
            .map(|&(name, value)| (name.to_owned(), Value::Int(value)))
            .collect(),
        check_registers: false,
        machine: Some(machine),
        include: Some(&include),
        ..Options::default()
    };
    let source = Source::new(format!("{FOLDER}{name}"), text);
    Ok(assembly(title, (&source, tiles), &options)?.program)
}

/// Replaces the data at `symbol` by `values`, for which the sources leave room.
pub(super) fn fill(program: &mut Program, symbol: &str, values: &[Complex32]) {
    let address = program
        .symbol(symbol)
        .and_then(|at| u32::try_from(at).ok())
        .unwrap_or(0);
    let bytes = values
        .iter()
        .flat_map(|z| [z.re, z.im])
        .flat_map(f32::to_le_bytes);
    for (at, byte) in (address..).zip(bytes) {
        let place = program.dmem.iter_mut().find_map(|s| {
            let offset = at.checked_sub(s.address)? as usize;
            s.bytes.get_mut(offset)
        });
        if let Some(place) = place {
            *place = byte;
        }
    }
}
