//! Files: reads arrays and recordings, writes arrays and pictures.

mod error;
mod matrix;
mod nonfinite;
mod npy;
mod output;
mod values;
mod wav;
mod window;

pub(crate) use error::FileError;
pub(crate) use matrix::read_matrix;
pub(crate) use nonfinite::{MaybeNonFinite, NonFinite, Noted};
pub(crate) use npy::{Kind, Npy, NpyArray, header, read_npy, read_rows, read_vector};
pub(crate) use output::{Outputs, write_array, write_npy, write_whole};
pub(crate) use values::{FileValues, TimedSource};
pub(crate) use wav::read_wav;
pub(crate) use window::{FramedRecording, WindowArg};

use std::fs::File;
use std::path::Path;

/// Opens a file for reading; a directory is a distinct error.
pub(crate) fn open(path: &Path) -> Result<File, FileError> {
    let file = File::open(path).map_err(|e| FileError::system(path, "open", e))?;
    let meta = file
        .metadata()
        .map_err(|e| FileError::system(path, "open", e))?;
    if meta.is_dir() {
        return Err(FileError::Directory {
            path: path.to_owned(),
        });
    }
    Ok(file)
}

/// Returns the length in bytes of a regular file; that of a pipe or device is unknown.
pub(crate) fn regular_length(file: &File) -> Option<u64> {
    let meta = file.metadata().ok().filter(std::fs::Metadata::is_file);
    meta.map(|meta| meta.len())
}

/// True if an output may be named after an input. Pipes, and open files of a process, which lie among
/// devices, are excluded.
pub(crate) fn lends_its_name(path: &Path) -> bool {
    // A missing file or a directory is reported elsewhere.
    let Ok(meta) = path.metadata() else {
        return true;
    };
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let of_devices = |folder: &Path| folder == Path::new("/dev") || folder.starts_with("/proc");
    meta.is_dir() || meta.is_file() && !folder.is_some_and(|folder| of_devices(&folder))
}

/// Reads a file of at most `limit` bytes: a source, an object, a machine.
pub(crate) fn read_small(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    open(path)?
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| FileError::system(path, "read", e))?;
    if bytes.len() as u64 > limit {
        return Err(FileError::format(
            path,
            format!("more than {limit} bytes"),
            format!("at most {limit} bytes"),
        ));
    }
    Ok(bytes)
}

/// Returns a path for a report; invalid Unicode shows as U+FFFD.
pub(crate) fn display_path(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the ending of a file name in lower case, without the dot.
pub(crate) fn extension(path: &Path) -> String {
    path.extension()
        .map(|e| e.to_string_lossy().to_lowercase())
        .unwrap_or_default()
}

/// Checks the ending of a file name.
pub(crate) fn check_extension(
    path: &Path,
    wanted: &str,
    expected: &'static str,
) -> Result<(), FileError> {
    if extension(path) == wanted {
        Ok(())
    } else {
        Err(FileError::Extension {
            path: path.to_owned(),
            expected,
        })
    }
}
