//! Errors of files that the user named.

use crate::memory::NoMemory;
use cp2_machine::TextError;
use cp2_problems::sparse::MarketError;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Error of a file that cannot be used. The message says which file, what was found, what was expected, and
/// what to do.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    System {
        /// Path of the file.
        path: PathBuf,
        /// Operation that failed: `open`, `read`, `write`, ...
        action: &'static str,
        /// Reason given by the operating system.
        source: std::io::Error,
    },
    /// This computer lacks the memory for the contents.
    #[error(transparent)]
    Memory(#[from] NoMemory),
    /// A directory where a file was expected.
    #[error("{}: is a directory; expected a file", path.display())]
    Directory {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The contents are not what the format requires.
    #[error("{}: {found}; expected {expected}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Contents that were found.
        found: String,
        /// Contents that the format requires.
        expected: String,
    },
    /// The contents are no text.
    #[error("{}: {source}; expected a text file", path.display())]
    Text {
        /// Path of the file.
        path: PathBuf,
        /// Position and kind of the first invalid bytes.
        source: TextError,
    },
    /// A line of a matrix file is invalid.
    #[error("{}: {source}", path.display())]
    Market {
        /// Path of the file.
        path: PathBuf,
        /// Line number, contents, and what was expected.
        source: MarketError,
    },
    /// The ending of the name is not that of a known format.
    #[error("{}: unknown file type; name the file with one of the endings {expected}", path.display())]
    Extension {
        /// Path of the file.
        path: PathBuf,
        /// Known endings.
        expected: &'static str,
    },
    /// An output has the name of an input.
    #[error("{}: is also an input of this command; choose another name for the output", path.display())]
    OverwritesInput {
        /// Path of the output.
        path: PathBuf,
    },
    /// Two outputs of a command have one name.
    #[error("{}: named for two outputs of this command; choose another name for one", path.display())]
    WrittenTwice {
        /// Path of the output.
        path: PathBuf,
    },
}

impl FileError {
    /// Makes an error of the operating system.
    pub(crate) fn system(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::System {
            path: path.to_owned(),
            action,
            source,
        }
    }

    /// Makes an error about contents that violate the format.
    pub(crate) fn format(
        path: &Path,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Format {
            path: path.to_owned(),
            found: found.into(),
            expected: expected.into(),
        }
    }
}
