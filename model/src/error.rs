//! Errors in a system or a procedure, and in how they fit.

/// A system and a procedure that do not fit together, or that are invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A name that the system does not have.
    #[error(
        "phase `{phase}`: system `{system}` has no {kind} `{name}`; it has {}",
        listed(.known)
    )]
    Unknown {
        /// The phase that asks for it.
        phase: String,
        /// The system.
        system: String,
        /// The kind of thing: unit, channel, action or operation class.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// A duplicate name, or a list of exclusive resources with an unknown name.
    #[error("system `{system}`: {problem}")]
    System {
        /// The system.
        system: String,
        /// The problem and what is expected.
        problem: String,
    },
    /// A value that is not a positive (or non-negative) finite number.
    #[error("{place}: {value} is not allowed; expected a {expected} number")]
    Number {
        /// The field with the value.
        place: String,
        /// The value.
        value: f64,
        /// The kind of number that is expected.
        expected: &'static str,
    },
    /// A file that is no system or procedure.
    #[error("{0}")]
    File(String),
    /// A name with characters that cannot be printed.
    #[error("a {kind} is called {name:?}; expected a name of printable characters")]
    Name {
        /// The kind of thing that has the name.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A procedure without phases.
    #[error("procedure `{0}` has no phases; expected at least one")]
    Empty(String),
    /// An expected time that is not a finite number.
    #[error(
        "procedure `{procedure}` on `{system}`: the expected time is no finite number; expected smaller counts or higher rates"
    )]
    Endless {
        /// The procedure.
        procedure: String,
        /// The system.
        system: String,
    },
}

/// Longest line of a file that an error shows, in characters.
const WIDEST: usize = 160;

impl ModelError {
    /// Converts a parser's error, whose lines are cut to [`WIDEST`] characters.
    pub(crate) fn file(error: &toml::de::Error) -> Self {
        let shown = |line: &str| match line.char_indices().nth(WIDEST) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None => line.to_owned(),
        };
        let lines: Vec<String> = error.to_string().lines().map(shown).collect();
        Self::File(lines.join("\n"))
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names
            .iter()
            .map(|n| format!("`{n}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
