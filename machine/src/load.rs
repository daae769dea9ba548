//! Loads machines by name or path: reads files, resolves bases, checks rules.

use crate::changes::ROWS;
use crate::error::{File, MachineError, Place, Problem, suggest};
use crate::read::{Layer, name_of_stem, read};
use crate::user_row::settle_rows;
use crate::{Machine, check, decode_text};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest machine file in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Longest chain of bases, in files.
const MAX_DEPTH: usize = 16;

/// Machines compiled into the library.
const BUILTIN: &[(&str, &str)] = &[
    ("vm7", include_str!("../vm7.toml")),
    ("vm9", include_str!("../vm9.toml")),
];

impl Machine {
    /// Returns the names of the built-in machines.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        BUILTIN.iter().map(|b| b.0).collect()
    }

    /// Returns a built-in machine.
    ///
    /// ```
    /// let vm7 = cp2_machine::Machine::builtin("vm7").unwrap();
    /// assert_eq!(vm7.cp2.clock_hz, 200_000_000);
    /// assert!(cp2_machine::Machine::builtin("vm8").is_none());
    /// ```
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        load_builtin(name, &mut Vec::new())?.ok()
    }

    /// Loads the built-in machine of a name, or the machine file at a path; either may be followed by
    /// changes, each an extension or a parameter with its value.
    ///
    /// ```
    /// let machine = cp2_machine::Machine::load("vm7+section-addressing+dma.granule=4B+cp2.dmem=x2")?;
    /// assert_eq!((machine.dma.granule.0, machine.cp2.dmem.0), (4, 128 << 10));
    /// # Ok::<(), cp2_machine::MachineError>(())
    /// ```
    ///
    /// # Errors
    /// The problems of the file, at most the first twenty, or that there is no such machine.
    pub fn load(name_or_path: &str) -> Result<Self, MachineError> {
        resolve(name_or_path, Path::new(""), None, &mut Vec::new())
    }

    /// Parses the text of a machine file. `name` is the path that problems are reported under, and relative
    /// to which its base is found.
    ///
    /// # Errors
    /// The problems of the text, at most the first twenty.
    pub fn parse(name: &str, text: &str) -> Result<Self, MachineError> {
        build(name, text.to_owned(), &mut vec![PathBuf::from(name)])
    }
}

fn load_builtin(name: &str, chain: &mut Vec<PathBuf>) -> Option<Result<Machine, MachineError>> {
    let (name, text) = BUILTIN.iter().find(|b| b.0 == name)?;
    Some(build(&format!("{name}.toml"), (*text).to_owned(), chain))
}

fn looks_like_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml")
}

/// Loads the machine that `name` means, relative to `folder`; `chain` holds the files whose bases are being
/// resolved, `place` the line that asks.
fn resolve(
    name: &str,
    folder: &Path,
    place: Option<&Place>,
    chain: &mut Vec<PathBuf>,
) -> Result<Machine, MachineError> {
    let fail = |problem| MachineError::new(problem, place.cloned());
    if chain.len() >= MAX_DEPTH {
        return Err(fail(Problem::BaseTooDeep { limit: MAX_DEPTH }));
    }
    if let Some(machine) = load_builtin(name, chain) {
        return machine;
    }
    let path = folder.join(name);
    if let Some(at) = changes_begin(name, folder) {
        // Rows of a file come with the file as `base`: a chain of bases has one way, and ends.
        let rows = |change: &str| change.starts_with(ROWS);
        if place.is_some() && name[at..].split('+').any(rows) {
            return Err(fail(Problem::RowsInBase));
        }
        let base = resolve(&name[..at], folder, place, chain)?;
        return base.change(name, at);
    }
    if !looks_like_path(name) && !path.is_file() {
        let suggestion = suggest(name, Machine::names());
        return Err(fail(Problem::UnknownMachine {
            name: name.to_owned(),
            suggestion,
        }));
    }
    let text = read_text(&path).map_err(fail)?;
    let identity = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
    if let Some(first) = chain.iter().position(|p| *p == identity) {
        let ring = chain[first..].iter().chain([&identity]);
        let chain = ring.map(|p| p.display().to_string()).collect();
        return Err(fail(Problem::BaseCycle { chain }));
    }
    // A file has at most one base, so the chain never has to be unwound.
    chain.push(identity);
    build(&path.display().to_string(), text, chain)
}

fn read_text(path: &Path) -> Result<String, Problem> {
    let name = path.display().to_string();
    let unreadable = |reason: String| Problem::Unreadable {
        path: name.clone(),
        reason,
    };
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|f| f.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|e| unreadable(e.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Problem::TooLarge {
            path: name,
            limit: MAX_FILE,
        });
    }
    decode_text(bytes).map_err(|e| unreadable(e.to_string()))
}

/// Builds the machine a file describes on top of its base.
fn build(name: &str, text: String, chain: &mut Vec<PathBuf>) -> Result<Machine, MachineError> {
    let file = Arc::new(File {
        name: name.to_owned(),
        text,
    });
    let layer = read(&file)?;
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let base = match &layer.base {
        Some((base, place)) => Some(resolve(base, folder, Some(place), chain)?),
        None => None,
    };
    let mut machine = apply(&layer, base, Path::new(name));
    let mut problems = settle_rows(&mut machine, &layer.rows);
    machine.hash = machine.compute_hash();
    problems.extend(check::check(&machine, &layer));
    if problems.is_empty() {
        Ok(machine)
    } else {
        Err(MachineError { problems })
    }
}

fn apply(layer: &Layer, base: Option<Machine>, path: &Path) -> Machine {
    let changes = layer.settings.len();
    let mut machine = base.unwrap_or_else(Machine::blank);
    let default_description = match (&layer.base, changes, layer.rows.len()) {
        (Some((base, _)), 1, 0) => format!("{base} with 1 parameter changed"),
        (Some((base, _)), n, 0) => format!("{base} with {n} parameters changed"),
        (Some((base, _)), 0, rows) => format!("{base} with rows of its own: {rows}"),
        (Some((base, _)), n, rows) => {
            format!("{base} with parameters changed: {n}, and rows of its own: {rows}")
        }
        (None, ..) => String::new(),
    };
    machine.description = layer.description.clone().unwrap_or(default_description);
    machine.name = layer.name.clone().unwrap_or_else(|| {
        let stem = path.file_stem().unwrap_or_default();
        name_of_stem(&stem.to_string_lossy())
    });
    // A note describes the file that it stands in: a base's note need not hold for this machine, and is not
    // inherited.
    machine.note = layer.note.clone().unwrap_or_default();
    for setting in &layer.settings {
        (setting.row.set)(&mut machine, setting.value);
        machine.provenance.0[setting.index] = setting.origin.clone();
    }
    machine.settle_extensions();
    machine
}

/// Returns the place of the `+` at which the changes of a name begin; none if the whole name is a file, or has
/// none.
fn changes_begin(name: &str, folder: &Path) -> Option<usize> {
    if folder.join(name).is_file() {
        return None;
    }
    // A path may have a `+` of its own: the longest file or built-in machine is the base.
    let plus = || name.match_indices('+').map(|(at, _)| at);
    let known =
        |&at: &usize| Machine::names().contains(&&name[..at]) || folder.join(&name[..at]).is_file();
    plus().rev().find(known).or_else(|| plus().next())
}
