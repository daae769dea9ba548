//! Output files: whole or not at all.

use super::FileError;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a file so that its name never shows a part of it: the bytes go to a
/// temporary file in the same directory, which then takes the name.
///
/// A name that exists and is no regular file (a terminal, a pipe, `/dev/null`)
/// is written in place.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let fail = |e| FileError::system(path, "write", e);
    // Write through a symbolic link rather than replace it.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Ok(meta) = std::fs::metadata(&target) {
        if meta.is_dir() {
            return Err(FileError::Directory {
                path: path.to_owned(),
            });
        }
        if !meta.is_file() {
            let mut file = std::fs::OpenOptions::new()
                .write(true)
                .open(&target)
                .map_err(fail)?;
            return file.write_all(bytes).map_err(fail);
        }
    }
    let directory = match target.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cp2-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(directory).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.persist(&target).map_err(|e| fail(e.error))?;
    Ok(())
}

/// The files a command will write, judged before it starts to work.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    inputs: Vec<PathBuf>,
}

impl Outputs {
    /// Outputs of a command that reads `inputs`.
    pub(crate) fn beside<'a>(inputs: impl IntoIterator<Item = &'a Path>) -> Self {
        Self {
            inputs: inputs
                .into_iter()
                .filter_map(|p| std::fs::canonicalize(p).ok())
                .collect(),
        }
    }

    /// Checks that an output can be written: not over an input, not over a
    /// directory, into a directory that exists.
    pub(crate) fn check(&self, path: &Path) -> Result<(), FileError> {
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
        } else if let Some(parent) = path
            .parent()
            .filter(|p| !p.as_os_str().is_empty() && !p.is_dir())
        {
            return Err(FileError::format(
                path,
                format!("no directory {}", parent.display()),
                "a directory that exists",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(
            std::fs::read_dir(&dir).unwrap().count(),
            1,
            "no temporary file is left"
        );
        assert!(
            write_whole(dir.path(), b"x")
                .unwrap_err()
                .to_string()
                .contains("is a directory")
        );
        assert!(write_whole(&dir.path().join("no/such/file"), b"x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_survive() {
        use std::os::unix::fs::FileTypeExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        write_whole(Path::new("/dev/null"), b"gone").unwrap();
        assert!(
            std::fs::metadata("/dev/null")
                .unwrap()
                .file_type()
                .is_char_device()
        );
    }

    #[test]
    fn an_input_is_never_an_output() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.npy");
        std::fs::write(&path, "x").unwrap();
        let outputs = Outputs::beside([path.as_path()]);
        let error = outputs
            .check(&dir.path().join(".").join("x.npy"))
            .unwrap_err();
        assert!(matches!(error, FileError::OverwritesInput { .. }));
        assert!(outputs.check(&dir.path().join("y.npy")).is_ok());
        assert!(matches!(
            outputs.check(dir.path()),
            Err(FileError::Directory { .. })
        ));
        assert!(outputs.check(&dir.path().join("no/y.npy")).is_err());
    }
}
