//! What can be wrong with a system or a procedure.

/// A system and a procedure that do not fit, or that mean nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A name the system lacks.
    #[error(
        "phase `{phase}`: system `{system}` has no {kind} `{name}`; it has {}",
        listed(.known)
    )]
    Unknown {
        /// The phase that asks for it.
        phase: String,
        /// The system.
        system: String,
        /// Unit, channel, action or operation class.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// A name twice, or an overlap list that names nothing.
    #[error("system `{system}`: {problem}")]
    System {
        /// The system.
        system: String,
        /// What is wrong and what is expected.
        problem: String,
    },
    /// A value that is no positive finite number.
    #[error("{place}: {value} is not allowed; expected a {expected} number")]
    Number {
        /// Where.
        place: String,
        /// The value.
        value: f64,
        /// What is expected.
        expected: &'static str,
    },
    /// A file that is no system or procedure.
    #[error("{0}")]
    File(String),
    /// A name that cannot be shown.
    #[error("a {kind} is called {name:?}; expected a name of printable characters")]
    Name {
        /// What it names.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A procedure that asks for nothing.
    #[error("procedure `{0}` has no phases; expected at least one")]
    Empty(String),
    /// A time beyond all numbers.
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
    /// What a parser says, without lines as long as the file.
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
