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
