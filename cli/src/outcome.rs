//! How a command ends.

use crate::digits::decimal;
use crate::io::FileError;
use cp2_kernels::Verdict;
use serde_json::{Value, json};

/// A verification or a checker failed.
pub(crate) const UNVERIFIED: u8 = 1;
/// The input is not usable.
pub(crate) const BAD_INPUT: u8 = 2;
/// The guest faulted, deadlocked, or was stopped before its end.
pub(crate) const GUEST_FAULT: u8 = 3;

/// What is said of a run that wrote over what its result is judged by.
const CHANGED: &str = "error: the run changed its input in system memory, so that nothing is left to judge the result by; this is a fault of cp2\n";

/// What is said of a result that is wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrongResult<'a> {
    /// What has the error.
    pub(crate) whose: &'static str,
    /// What it may be.
    pub(crate) tolerance: &'static str,
    /// What the user may have done for it to be so large.
    pub(crate) cause: &'a str,
}

/// A command that did its work. Its figures may still say that something failed.
#[derive(Debug, Default)]
pub(crate) struct CommandOutcome {
    /// For people.
    pub(crate) text: String,
    /// For programs: one object.
    pub(crate) json: Value,
    /// For standard error: warnings, checker findings, state dumps.
    pub(crate) notes: String,
    /// Exit code.
    pub(crate) exit: u8,
}

impl CommandOutcome {
    /// Says that the run changed its input, if it has not `kept` it.
    pub(crate) fn inputs(&mut self, kept: bool) {
        if !kept {
            self.exit = self.exit.max(UNVERIFIED);
            self.notes += CHANGED;
        }
    }

    /// The same, and that the result is wrong, if that is the verdict.
    pub(crate) fn judged(&mut self, kept: bool, verdict: Option<Verdict>, wrong: WrongResult<'_>) {
        self.inputs(kept);
        if let Some(v) = verdict.filter(|v| !v.is_within_tolerance()) {
            let WrongResult {
                whose,
                tolerance,
                cause,
            } = wrong;
            self.exit = self.exit.max(UNVERIFIED);
            self.notes += &format!(
                "error: {whose} error is {} of {tolerance}; either {cause}, or this is a fault of cp2\n",
                decimal(v.worst, 3, 1.0)
            );
        }
    }

    /// Says that nobody has compared the result with what it should be.
    pub(crate) fn not_judged(&mut self) {
        self.text += "result  not judged\n";
        self.json["judged"] = json!(false);
    }
}

/// A command that could not.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    /// Exit code.
    pub(crate) exit: u8,
    /// Where, what was expected, what to do.
    pub(crate) message: String,
    /// The same in parts, where there are parts.
    pub(crate) details: Option<Value>,
}

impl CommandFailure {
    /// Bad input.
    pub(crate) fn input(message: impl std::fmt::Display) -> Self {
        Self {
            exit: BAD_INPUT,
            message: message.to_string(),
            details: None,
        }
    }

    /// Bad input in a file whose own error does not name it.
    pub(crate) fn in_file(path: &std::path::Path, message: impl std::fmt::Display) -> Self {
        Self::input(format!("{}: {message}", path.display()))
    }

    /// What `--json` prints.
    pub(crate) fn json(&self) -> Value {
        let mut object = json!({
            "schema": "cp2-error/1",
            "tool_version": env!("CARGO_PKG_VERSION"),
            "exit": self.exit,
            "error": self.message.trim_end().trim_start_matches("error: "),
        });
        if let Some(details) = &self.details {
            object["details"] = details.clone();
        }
        object
    }
}

impl From<FileError> for CommandFailure {
    fn from(error: FileError) -> Self {
        Self::input(error)
    }
}

impl From<cp2_machine::MachineError> for CommandFailure {
    fn from(error: cp2_machine::MachineError) -> Self {
        Self::input(error)
    }
}

impl From<cp2_asm::Diagnostics> for CommandFailure {
    fn from(diagnostics: cp2_asm::Diagnostics) -> Self {
        let details = serde_json::to_value(&diagnostics).ok();
        Self {
            details,
            ..Self::input(diagnostics)
        }
    }
}
