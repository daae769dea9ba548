//! What can be wrong with a file the user named.

use crate::memory::NoMemory;
use cp2_machine::TextError;
use cp2_problems::sparse::MarketError;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that cannot be used: which, what was found, what was expected, what to do.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// `open`, `read`, `write`, ...
        action: &'static str,
        /// Its reason.
        source: std::io::Error,
    },
    /// This computer has not the memory for what is read.
    #[error(transparent)]
    Memory(#[from] NoMemory),
    /// A directory where a file was expected.
    #[error("{}: is a directory; expected a file", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The contents are not what the format requires.
    #[error("{}: {found}; expected {expected}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What the file holds.
        found: String,
        /// What it should hold.
        expected: String,
    },
    /// The contents are no text.
    #[error("{}: {source}; expected a text file", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What it holds.
        source: TextError,
    },
    /// The text of a matrix is wrong in some line.
    #[error("{}: {source}", path.display())]
    Market {
        /// The file.
        path: PathBuf,
        /// The line, what it holds and what it should.
        source: MarketError,
    },
    /// The name's ending is not one of the formats.
    #[error("{}: unknown file type; name the file with one of the endings {expected}", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
        /// Known endings.
        expected: &'static str,
    },
    /// An output names one of the inputs.
    #[error("{}: is also an input of this command; choose another name for the output", path.display())]
    OverwritesInput {
        /// The output.
        path: PathBuf,
    },
    /// Two outputs of one command have the same name.
    #[error("{}: named for two outputs of this command; choose another name for one", path.display())]
    WrittenTwice {
        /// The output.
        path: PathBuf,
    },
}

impl FileError {
    /// An operating-system error.
    pub(crate) fn system(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::System {
            path: path.to_owned(),
            action,
            source,
        }
    }

    /// Contents that break the format.
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
