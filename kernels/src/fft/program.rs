//! Assembles the hand-written FFT sources with a recipe's constants.

use super::double_lines;
use super::error::FftError;
use super::four_step::{CrossSectionMemory, FACTORS_EVENT, LineBatch};
use super::power_of_two_recipe::{PassLayout, PowerOfTwoRecipe};
use crate::assembly::assembly;
use crate::fft::TransformDirection;
use cp2_asm::{Assembly, Options, Source, Value};
use cp2_machine::Machine;

const FFT: (&str, &str) = ("fft.s", include_str!("fft.s"));
const FFT4096: (&str, &str) = ("fft4096.s", include_str!("fft4096.s"));
const LARGE: (&str, &str) = ("four_step.s", include_str!("four_step.s"));
const PARTS: (&str, &str) = ("four_step_ring.s", include_str!("four_step_ring.s"));
const BACK_COLUMNS: (&str, &str) = (
    "inverse_real_column_ring.s",
    include_str!("inverse_real_column_ring.s"),
);
const REAL_PARTS: (&str, &str) = (
    "half_spectrum_row_ring.s",
    include_str!("half_spectrum_row_ring.s"),
);
const CROSS_SECTION: (&str, &str) = ("cross_section.s", include_str!("cross_section.s"));
const DOUBLE: (&str, &str) = ("double_lines.s", include_str!("double_lines.s"));
const ARRAY: (&str, &str) = ("array.s", include_str!("array.s"));
const INCLUDED: [(&str, &str); 15] = [
    ("stockham.s", include_str!("stockham.s")),
    ("column_passes.s", include_str!("column_passes.s")),
    ("hooks4096.s", include_str!("hooks4096.s")),
    ("radix8_iteration.s", include_str!("radix8_iteration.s")),
    ("radix4_iteration.s", include_str!("radix4_iteration.s")),
    ("radix8_pass.s", include_str!("radix8_pass.s")),
    ("in_place_passes.s", include_str!("in_place_passes.s")),
    ("weighted_columns.s", include_str!("weighted_columns.s")),
    (
        "radix8_twiddle_transpose.s",
        include_str!("radix8_twiddle_transpose.s"),
    ),
    ("four_step_row_ring.s", include_str!("four_step_row_ring.s")),
    ("real_column_ring.s", include_str!("real_column_ring.s")),
    ("half_spectrum_rows.s", include_str!("half_spectrum_rows.s")),
    (
        "half_spectrum_row_pairs.s",
        include_str!("half_spectrum_row_pairs.s"),
    ),
    ("real_columns.s", include_str!("real_columns.s")),
    ("inverse_real_pages.s", include_str!("inverse_real_pages.s")),
];

/// Folder of the sources in this repository, for messages and line tables.
const FOLDER: &str = "kernels/src/fft/";

/// Names of the includes of `fft4096.s` that are generated for the machine, forward and inverse.
const MADE: [&str; 2] = ["separate4096.s", "join4096.s"];

fn include(name: &str, _from: &str) -> Result<Source, String> {
    INCLUDED
        .iter()
        .find(|(file, _)| *file == name)
        .map(|(file, text)| Source::new(format!("{FOLDER}{file}"), *text))
        .ok_or_else(|| "no such kernel source".to_owned())
}

/// Returns the text of a kernel source by its file name in line tables, for profiles.
#[must_use]
pub fn source(file: &str) -> Option<&'static str> {
    let name = file.strip_prefix(FOLDER)?;
    let kernels = [
        FFT,
        FFT4096,
        LARGE,
        PARTS,
        BACK_COLUMNS,
        REAL_PARTS,
        ARRAY,
        CROSS_SECTION,
        DOUBLE,
    ];
    let mut all = kernels.into_iter().chain(INCLUDED);
    all.find(|(n, _)| *n == name).map(|(_, text)| text)
}

/// Returns the constants that `fft.s` and `fft4096.s` expect.
fn defines(recipe: &PowerOfTwoRecipe) -> Vec<(String, Value)> {
    let mut defines = vec![
        ("N".to_owned(), recipe.len() as i64),
        (
            "INVERSE".to_owned(),
            i64::from(recipe.direction() == TransformDirection::Inverse),
        ),
    ];
    for i in 0..4 {
        let radix = recipe.passes().get(i).map_or(0, |p| p.radix);
        defines.push((format!("R{}", i + 1), radix as i64));
    }
    defines
        .into_iter()
        .map(|(name, value)| (name, Value::Int(value)))
        .collect()
}

/// Assembles `double_lines.s` for `lines` lines of complex binary64 numbers in a section's page.
pub(super) fn double_program(
    length: u64,
    lines: u64,
    direction: TransformDirection,
    weighed: bool,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let mut radices = double_lines::radices(length);
    radices.resize(4, 1);
    let modes = [
        ("N", length),
        ("LINES", lines),
        (
            "INVERSE",
            u64::from(direction == TransformDirection::Inverse),
        ),
        ("WEIGHED", u64::from(weighed)),
    ];
    let modes = modes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    let passes = radices.into_iter().enumerate();
    let passes = passes.map(|(i, radix)| (format!("R{}", i + 1), radix));
    let defines = modes.chain(passes);
    let defines = defines.map(|(name, value)| (name, Value::Int(value as i64)));
    let factors = double_lines::factors(length);
    let include = |name: &str, from: &str| match name {
        "factors.s" => Ok(Source::new("factors.s", factors.clone())),
        _ => include(name, from),
    };
    let title = format!("fft {length} {direction} in binary64");
    assemble_kernel(
        &title,
        DOUBLE,
        defines.collect(),
        machine,
        (&include, &factors),
    )
}

/// Assembles the kernel of `recipe` for `machine`.
pub(super) fn program(recipe: &PowerOfTwoRecipe, machine: &Machine) -> Result<Assembly, FftError> {
    let (name, text) = match recipe.layout() {
        PassLayout::Stockham => FFT,
        PassLayout::Ring => FFT4096,
    };
    kernel(&recipe.to_string(), (name, text), defines(recipe), machine)
}

/// Assembles `four_step.s` for columns and rows, either of which may be missing; with `shifted` the columns are
/// at a shifted frequency too.
pub(super) fn large_program(
    columns: Option<&LineBatch>,
    rows: Option<&LineBatch>,
    shifted: bool,
    direction: TransformDirection,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let modes = [
        (
            "INVERSE",
            i64::from(direction == TransformDirection::Inverse),
        ),
        ("SHIFTED", i64::from(shifted)),
    ];
    lines_program(columns, rows, &modes, machine)
}

/// Assembles `four_step.s` for columns whose numbers are multiplied by weights before they are transformed: in
/// their first pass if `first`, else in a loop before it.
pub(super) fn weighed_program(
    columns: &LineBatch,
    first: bool,
    direction: TransformDirection,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let modes = [
        (
            "INVERSE",
            i64::from(direction == TransformDirection::Inverse),
        ),
        ("WEIGHED", 1 + i64::from(first)),
    ];
    lines_program(Some(columns), None, &modes, machine)
}

/// Assembles `four_step.s` as [`large_program`] does, with its tables from byte `tables` of DMEM on.
pub(super) fn large_program_at(
    tables: u64,
    columns: Option<&LineBatch>,
    rows: Option<&LineBatch>,
    shifted: bool,
    direction: TransformDirection,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let modes = [
        (
            "INVERSE",
            i64::from(direction == TransformDirection::Inverse),
        ),
        ("SHIFTED", i64::from(shifted)),
        ("TABLES", i64::try_from(tables).unwrap_or(i64::MAX)),
    ];
    lines_program(columns, rows, &modes, machine)
}

/// Assembles `four_step.s` for pairs of real columns, and rows of half a spectrum, either of which may be
/// missing, with tables from byte `tables` of DMEM on; `full` pages of rows are followed by one of `last`
/// rows.
pub(super) fn real_program(
    tables: u64,
    columns: Option<&LineBatch>,
    rows: Option<&LineBatch>,
    [full, last]: [u64; 2],
    resident: bool,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let modes = [
        ("REAL", 1),
        ("TABLES", i64::try_from(tables).unwrap_or(i64::MAX)),
        ("FULL", full as i64),
        ("LAST2", last as i64),
        ("RESIDENT", i64::from(resident)),
    ];
    lines_program(columns, rows, &modes, machine)
}

/// Assembles `four_step.s` for columns of half a spectrum and rows to real numbers, either of which may be
/// missing, with tables from byte `tables` of DMEM on. A section's page has `block` rows, a matrix `pages`
/// pages, and `together` says whether the differences of all columns of a page lie together.
pub(super) fn back_program(
    tables: u64,
    columns: Option<&LineBatch>,
    rows: Option<&LineBatch>,
    (block, pages, together): (usize, u64, bool),
    resident: bool,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let modes = [
        ("INVERSE", 1),
        ("BACK", block as i64),
        ("SECTIONS", machine.cp2.sections as i64),
        ("TOGETHER", i64::from(together)),
        ("TABLES", i64::try_from(tables).unwrap_or(i64::MAX)),
        ("FULL", pages as i64),
        ("RESIDENT", i64::from(resident)),
    ];
    lines_program(columns, rows, &modes, machine)
}

fn lines_program(
    columns: Option<&LineBatch>,
    rows: Option<&LineBatch>,
    modes: &[(&str, i64)],
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let modes = modes.iter().map(|&(name, value)| (name.to_owned(), value));
    let mut defines: Vec<_> = modes.collect();
    defines.push(("AXES".to_owned(), columns.map_or(1, LineBatch::axes)));
    defines.push(("LAST1".to_owned(), columns.map_or(8, LineBatch::last)));
    for (lines, length, count, radix) in
        [(columns, "N1", "COLUMNS", "P"), (rows, "N2", "ROWS", "Q")]
    {
        defines.push((length.to_owned(), lines.map_or(0, |l| l.len() as i64)));
        defines.push((
            count.to_owned(),
            lines.map_or(0, |l| l.per_section() as i64),
        ));
        for i in 0..4 {
            let value = lines.map_or(1, |l| l.radix(i) as i64);
            defines.push((format!("{radix}{}", i + 1), value));
        }
    }
    let defines = defines
        .into_iter()
        .map(|(name, value)| (name, Value::Int(value)))
        .collect();
    let title = [("columns", columns), ("rows", rows)];
    let title = title
        .iter()
        .filter_map(|(name, lines)| Some(format!("{name} of {}", (*lines)?.len())));
    let title = title.collect::<Vec<_>>().join(" and ");
    kernel(&title, LARGE, defines, machine)
}

/// Assembles `cross_section.s` for columns of a section, with its memory at these addresses.
pub(super) fn cross_section_program(
    columns: &LineBatch,
    memory: CrossSectionMemory,
    direction: TransformDirection,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let address = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let mut defines = vec![
        (
            "INVERSE".to_owned(),
            i64::from(direction == TransformDirection::Inverse),
        ),
        ("N1".to_owned(), columns.len() as i64),
        ("SCRATCH".to_owned(), address(memory.scratch)),
        ("FACTORS".to_owned(), address(memory.factors)),
        ("TABLES".to_owned(), address(memory.tables)),
        ("FACTORS_EVENT".to_owned(), FACTORS_EVENT.into()),
    ];
    defines.extend((0..3).map(|i| (format!("P{}", i + 1), columns.radix(i) as i64)));
    let defines = defines.into_iter();
    let defines = defines.map(|(name, value)| (name, Value::Int(value)));
    let title = format!("columns of {} and radix 8 across sections", columns.len());
    kernel(&title, CROSS_SECTION, defines.collect(), machine)
}

/// Assembles `array.s` for arrays whose columns are `lines`. A page has as many columns as a row has numbers,
/// or a multiple of that; it comes and goes in `pieces`.
pub(super) fn array_program(
    lines: &LineBatch,
    rows: &PowerOfTwoRecipe,
    pieces: u64,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let inverse = rows.direction() == TransformDirection::Inverse;
    let mut defines = vec![
        ("INVERSE".to_owned(), i64::from(inverse)),
        ("N1".to_owned(), lines.len() as i64),
        ("COLUMNS".to_owned(), lines.per_section() as i64),
        (
            "GROUPS".to_owned(),
            (lines.per_section() / rows.len()) as i64,
        ),
        ("LAST1".to_owned(), lines.last()),
        ("PIECES".to_owned(), pieces as i64),
    ];
    defines.extend((0..3).map(|i| (format!("P{}", i + 1), lines.radix(i) as i64)));
    let radices = rows.passes().iter().enumerate();
    defines.extend(radices.map(|(i, pass)| (format!("R{}", i + 1), pass.radix as i64)));
    let defines = defines.into_iter();
    let defines = defines.map(|(name, value)| (name, Value::Int(value)));
    let title = format!("arrays of {} x {}", lines.len(), rows.len());
    kernel(&title, ARRAY, defines.collect(), machine)
}

/// Assembles `four_step_ring.s` for columns, or for rows.
pub(super) fn parts_program(
    lines: &LineBatch,
    rows: bool,
    direction: TransformDirection,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let defines = [
        ("ROWS", i64::from(rows)),
        (
            "INVERSE",
            i64::from(direction == TransformDirection::Inverse),
        ),
        ("COUPLES", lines.per_section() as i64 / 2),
    ];
    assemble_parts(lines, &defines, machine)
}

/// Assembles `four_step_ring.s` for columns along two axes: pass i is along axis `axes[i]`, or along both for pass 0
/// if `crossed`. The frequencies of axis 0 are shifted by the fraction `shift[0] / shift[1]`.
pub(super) fn parts_columns_program(
    lines: &LineBatch,
    (axes, crossed): ([usize; 4], bool),
    shift: [u64; 2],
    direction: TransformDirection,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let [shift, matrix] = shift.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    let [first, second, third, last] = axes.map(|axis| axis as i64);
    let defines = [
        (
            "INVERSE",
            i64::from(direction == TransformDirection::Inverse),
        ),
        ("COUPLES", lines.per_section() as i64 / 2),
        ("AXIS0", first),
        ("AXIS1", second),
        ("AXIS2", third),
        ("AXIS3", last),
        ("CROSSED", i64::from(crossed)),
        ("SHIFT", shift),
        ("MATRIX", matrix),
    ];
    assemble_parts(lines, &defines, machine)
}

/// Assembles `four_step_ring.s` for rows from half a spectrum to real numbers.
pub(super) fn back_parts_program(
    lines: &LineBatch,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let defines = [("ROWS", 1), ("INVERSE", 1), ("COUPLES", 1), ("WOVEN", 1)];
    assemble_parts(lines, &defines, machine)
}

/// Assembles `four_step_ring.s` for complex columns that are pairs of real ones.
pub(super) fn separated_parts_program(
    lines: &LineBatch,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    assemble_parts(lines, &[("SEPARATE", 1)], machine)
}

/// Assembles `half_spectrum_row_ring.s` for rows of half a spectrum, `full` pages of a matrix before its last.
pub(super) fn real_parts_program(
    lines: &LineBatch,
    full: u64,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let defines = [("COUPLES", lines.per_section() as u64 / 2), ("FULL", full)];
    let defines = defines.map(|(name, value)| (name.to_owned(), Value::Int(value as i64)));
    let title = format!("half of the rows of {} in parts", lines.len());
    kernel(&title, REAL_PARTS, defines.to_vec(), machine)
}

fn assemble_parts(
    lines: &LineBatch,
    defines: &[(&str, i64)],
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let defines = defines.iter();
    let defines = defines.map(|&(name, value)| (name.to_owned(), Value::Int(value)));
    let title = format!("lines of {} in parts", lines.len());
    kernel(&title, PARTS, defines.collect(), machine)
}

/// Assembles `inverse_real_column_ring.s` for columns of half a spectrum, `pages` pages of a matrix.
pub(super) fn back_columns_program(
    columns: &LineBatch,
    pages: u64,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let defines = [("COLUMNS", columns.per_section() as u64), ("FULL", pages)];
    let defines = defines.map(|(name, value)| (name.to_owned(), Value::Int(value as i64)));
    let title = format!("columns of {} in parts", columns.len());
    kernel(&title, BACK_COLUMNS, defines.to_vec(), machine)
}

/// Assembles `four_step.s` for the last columns of half spectra, as `back_program` does.
pub(super) fn back_ends_program(
    tables: u64,
    columns: &LineBatch,
    block: usize,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let tables = i64::try_from(tables).unwrap_or(i64::MAX);
    let modes = [
        ("INVERSE", 1),
        ("BACK", block as i64),
        ("SECTIONS", machine.cp2.sections as i64),
        ("ENDS", 1),
        ("TABLES", tables),
    ];
    lines_program(Some(columns), None, &modes, machine)
}

/// Assembles `fft4096.s` for real numbers; `pass` is the generated text that splits or merges half spectra.
pub(super) fn real_ring_program(
    pass: &str,
    direction: TransformDirection,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    let inverse = direction == TransformDirection::Inverse;
    let defines = [("REAL", 1), ("INVERSE", i64::from(inverse))];
    let defines = defines.map(|(name, value)| (name.to_owned(), Value::Int(value)));
    let include = |name: &str, from: &str| match MADE.contains(&name) {
        true => Ok(Source::new(format!("{FOLDER}{name}"), pass)),
        false => include(name, from),
    };
    assemble_kernel(
        "real fft 8192",
        FFT4096,
        defines.to_vec(),
        machine,
        (&include, pass),
    )
}

/// True for the file names under which line tables list the generated passes of `fft4096.s`.
pub(super) fn is_generated(file: &str) -> bool {
    file.strip_prefix(FOLDER)
        .is_some_and(|name| MADE.contains(&name))
}

fn kernel(
    title: &str,
    source: (&str, &str),
    defines: Vec<(String, Value)>,
    machine: &Machine,
) -> Result<Assembly, FftError> {
    assemble_kernel(title, source, defines, machine, (&include, ""))
}

fn assemble_kernel(
    title: &str,
    (name, text): (&str, &str),
    defines: Vec<(String, Value)>,
    machine: &Machine,
    (include, made): (&dyn cp2_asm::Include, &str),
) -> Result<Assembly, FftError> {
    let options = Options {
        defines,
        check_registers: false,
        machine: Some(machine),
        include: Some(include),
        ..Options::default()
    };
    let source = Source::new(format!("{FOLDER}{name}"), text);
    Ok(assembly(title, (&source, made), &options)?)
}

#[cfg(test)]
mod tests;
