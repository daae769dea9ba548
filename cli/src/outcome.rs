//! Outcomes and failures of commands, with their exit codes.

use crate::digits::decimal;
use crate::io::FileError;
use cp2_kernels::Verdict;
use serde_json::{Value, json};

/// Exit code: a verification or a checker failed.
pub(crate) const UNVERIFIED: u8 = 1;
/// Exit code: the input is not usable.
pub(crate) const BAD_INPUT: u8 = 2;
/// Exit code: the guest faulted, deadlocked, or was stopped before its end.
pub(crate) const GUEST_FAULT: u8 = 3;

/// Message about a run that changed the input that its result is judged by.
const CHANGED: &str = "error: the run changed its input in system memory, so that nothing is left to judge the result by; this is a fault of cp2\n";

/// Phrases of the message about a wrong result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrongResult<'a> {
    /// Name of the result with the error.
    pub(crate) whose: &'static str,
    /// Name of the tolerance.
    pub(crate) tolerance: &'static str,
    /// Possible cause of the error on the user's side.
    pub(crate) cause: &'a str,
}

/// Result of a command that did its work. The figures may still report a failure.
#[derive(Debug, Default)]
pub(crate) struct CommandOutcome {
    /// Report as text.
    pub(crate) text: String,
    /// Report as one JSON object.
    pub(crate) json: Value,
    /// Text for standard error: warnings, checker findings, state dumps.
    pub(crate) notes: String,
    /// Exit code.
    pub(crate) exit: u8,
}

impl CommandOutcome {
    /// Reports that the run changed its input, unless it has `kept` it.
    pub(crate) fn inputs(&mut self, kept: bool) {
        if !kept {
            self.exit = self.exit.max(UNVERIFIED);
            self.notes += CHANGED;
        }
    }

    /// Reports a changed input, and a wrong result if the verdict says so.
    pub(crate) fn report_verdict(
        &mut self,
        kept: bool,
        verdict: Option<Verdict>,
        wrong: WrongResult<'_>,
    ) {
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

    /// Reports that the result was not compared with anything.
    pub(crate) fn not_judged(&mut self) {
        self.text += "result  not judged\n";
        self.json["judged"] = json!(false);
    }
}

/// Failure of a command that could not do its work.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    /// Exit code.
    pub(crate) exit: u8,
    /// Message: place, what was expected, what to do.
    pub(crate) message: String,
    /// The message divided into JSON fields, if it has parts.
    pub(crate) details: Option<Value>,
}

impl CommandFailure {
    /// Makes a failure about bad input.
    pub(crate) fn input(message: impl std::fmt::Display) -> Self {
        Self {
            exit: BAD_INPUT,
            message: message.to_string(),
            details: None,
        }
    }

    /// Makes a failure about bad input in a file, for an error that does not name the file.
    pub(crate) fn in_file(path: &std::path::Path, message: impl std::fmt::Display) -> Self {
        Self::input(format!("{}: {message}", path.display()))
    }

    /// Returns the object that `--json` prints.
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
