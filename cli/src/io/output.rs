//! Output files: checked before the work starts, written whole or not at all.

use super::{FileError, Kind, NpyArray, header};
use crate::outcome::CommandFailure;
use cp2_host::FinishedRun;
use cp2_host::emit::EmitError;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a file atomically: its name never shows a partial file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_parts(path, |out| out.write_all(bytes))
}

/// Writes the parts that `fill` produces as one file, atomically.
pub(crate) fn write_parts(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), FileError> {
    if path.is_dir() {
        return Err(FileError::Directory {
            path: path.to_owned(),
        });
    }
    cp2_host::files::write_file(path, fill).map_err(|e| FileError::system(path, "write", e.source))
}

/// Writes an array as an `.npy` file, without a copy of it.
pub(crate) fn write_npy(path: &Path, array: &NpyArray) -> Result<(), FileError> {
    write_parts(path, |out| {
        out.write_all(&header(array.kind, &array.shape))?;
        out.write_all(&array.bytes)
    })
}

/// Bytes of an array that are copied to the file at a time.
const PART: u64 = 1 << 16;

/// Writes an array from system memory, given by address and bytes, as an `.npy` file.
pub(crate) fn write_array(
    path: &Path,
    (kind, shape): (Kind, &[usize]),
    run: &FinishedRun,
    (address, bytes): (u64, u64),
) -> Result<(), FileError> {
    write_parts(path, |out| {
        out.write_all(&header(kind, shape))?;
        let mut part = vec![0; PART.min(bytes) as usize];
        for at in (0..bytes).step_by(PART as usize) {
            let part = &mut part[..PART.min(bytes - at) as usize];
            let fetched = run.fetch_bytes(address + at, part);
            fetched.map_err(std::io::Error::other)?;
            out.write_all(part)?;
        }
        Ok(())
    })
}

/// Output files of a command, checked before its work starts.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    inputs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
}

impl Outputs {
    /// Makes the check for a command that reads `inputs`.
    pub(crate) fn from_inputs<'a>(inputs: impl IntoIterator<Item = &'a Path>) -> Self {
        Self {
            inputs: inputs
                .into_iter()
                .filter_map(|p| std::fs::canonicalize(p).ok())
                .collect(),
            outputs: Vec::new(),
        }
    }

    /// Checks that an output can be written: not over an input or a directory, into an existing directory,
    /// and only once.
    pub(crate) fn check(&mut self, path: &Path) -> Result<(), FileError> {
        if let Ok(target) = std::fs::canonicalize(path) {
            if target.is_file() && self.inputs.contains(&target) {
                return Err(FileError::OverwritesInput {
                    path: path.to_owned(),
                });
            }
            if target.is_dir() {
                return Err(FileError::Directory {
                    path: path.to_owned(),
                });
            }
        } else if let Some(parent) = cp2_host::files::target(path)
            .parent()
            .filter(|p| !p.as_os_str().is_empty() && !p.is_dir())
        {
            return Err(FileError::format(
                path,
                format!("no directory {}", parent.display()),
                "a directory that exists",
            ));
        }
        // A device such as /dev/null accepts any number of outputs.
        if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            return Ok(());
        }
        // Links are resolved, since two names may lead to one file.
        let target = cp2_host::files::target(path);
        let name = std::path::absolute(&target).unwrap_or(target);
        if self.outputs.contains(&name) {
            return Err(FileError::WrittenTwice {
                path: path.to_owned(),
            });
        }
        cp2_host::files::check_file(path)
            .map_err(|e| FileError::system(path, "write", e.source))?;
        self.outputs.push(name);
        Ok(())
    }

    /// Checks a directory that a recorded run will replace: it must not contain other inputs or outputs of
    /// this command.
    pub(crate) fn check_emit(
        &self,
        path: &Path,
        check: impl FnOnce(&Path) -> Result<(), EmitError>,
    ) -> Result<(), CommandFailure> {
        check(path).map_err(CommandFailure::input)?;
        let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
        let folders = [absolute(path), cp2_host::files::target(path)];
        let inside = |p: &&PathBuf| {
            let mut folders = folders.iter().filter(|f| !f.as_os_str().is_empty());
            folders.any(|f| p.starts_with(f))
        };
        match self.inputs.iter().chain(&self.outputs).find(inside) {
            Some(other) => Err(CommandFailure::input(format!(
                "{}: --emit replaces this directory, and {} is in it; choose another one",
                path.display(),
                other.display()
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_never_an_output() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.npy");
        std::fs::write(&path, "x").unwrap();
        let mut outputs = Outputs::from_inputs([path.as_path()]);
        let error = outputs
            .check(&dir.path().join(".").join("x.npy"))
            .unwrap_err();
        assert!(matches!(error, FileError::OverwritesInput { .. }));
        assert!(outputs.check(&dir.path().join("y.npy")).is_ok());
        assert!(matches!(
            outputs.check(&dir.path().join("y.npy")),
            Err(FileError::WrittenTwice { .. })
        ));
        assert!(matches!(
            outputs.check(dir.path()),
            Err(FileError::Directory { .. })
        ));
        assert!(outputs.check(&dir.path().join("no/y.npy")).is_err());
        assert!(matches!(
            write_whole(dir.path(), b"x"),
            Err(FileError::Directory { .. })
        ));
    }
}
