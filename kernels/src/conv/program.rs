//! Assembly sources of the filters, and constants and data they are specialised by.

use super::error::ConvError;
use crate::assembly::assembly;
use cp2_asm::{Options, Program, Source, Value};
use cp2_machine::Machine;
use num_complex::Complex32;

/// Where the sources are in this repository, for messages and line tables.
const FOLDER: &str = "kernels/src/conv/";

const SOURCES: [(&str, &str); 6] = [
    ("carried.s", include_str!("carried.s")),
    ("direct.s", include_str!("direct.s")),
    ("long.s", include_str!("long.s")),
    ("overlap.s", include_str!("overlap.s")),
    ("overlap4096.s", include_str!("overlap4096.s")),
    ("middle.s", include_str!("middle.s")),
];

/// The text of a kernel source by the name that line tables call it, for profiles.
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

/// A file that sources include; `tiles.s` is made for each filter.
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

/// Assembles `name`, known to users as `title`, for `machine`, with `tiles` as what it includes as `tiles.s`.
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
        machine: Some(machine),
        include: Some(&include),
    };
    let source = Source::new(format!("{FOLDER}{name}"), text);
    Ok(assembly(title, (&source, tiles), &options)?.program)
}

/// Replaces the data at `symbol` by `values`. The sources leave room for them.
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
