//! Expansions that lines and words come from: macro calls, inclusions, iterations.

use crate::program::Line;
use std::fmt::{self, Display};

/// Origin of expanded text; `S` holds names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expansion<S = String> {
    /// A macro's call.
    Macro(S),
    /// An included file.
    File(S),
    /// An iteration of `.rept`: name and value of its counter; the name is empty if there is no counter.
    Iteration(S, i64),
}

impl<S: AsRef<str>> Expansion<S> {
    /// Returns the same expansion with names of its own.
    pub(crate) fn with_owned_names(&self) -> Expansion {
        let own = |name: &S| name.as_ref().to_owned();
        match self {
            Self::Macro(name) => Expansion::Macro(own(name)),
            Self::File(name) => Expansion::File(own(name)),
            Self::Iteration(counter, i) => Expansion::Iteration(own(counter), *i),
        }
    }
}

impl<S: AsRef<str>> Display for Expansion<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Macro(name) => write!(f, "macro `{}`, called", name.as_ref()),
            Self::File(name) => write!(f, "file {:?}, included", name.as_ref()),
            Self::Iteration(counter, i) if counter.as_ref().is_empty() => {
                write!(f, "iteration {i} of `.rept`")
            }
            Self::Iteration(counter, i) => write!(f, "`.rept` with {} = {i}", counter.as_ref()),
        }
    }
}

/// Expansion that words of a program came from, with the place of its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramExpansion {
    /// The macro, file or iteration.
    pub what: Expansion,
    /// Line of the call; its own expansion, if any, precedes this one in the table.
    pub at: Line,
}
