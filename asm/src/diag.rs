//! Diagnostics: problem, place, expansion that led to it, advice.

mod near;
mod problem;
mod render;
mod report;
mod sink;

pub(crate) use near::{REGISTERS, like_register, nearest};
pub use problem::Problem;
pub use report::{Diagnostic, Diagnostics, Frame, Position, Related, Severity};
pub(crate) use sink::{Chain, SharedExpansion, Sink};

use crate::source::Span;

/// A problem at a place.
#[derive(Clone, Debug)]
pub(crate) struct Flaw {
    pub(crate) problem: Problem,
    pub(crate) at: Span,
    /// Related places, each with the reason why it matters.
    pub(crate) related: Vec<(Span, String)>,
}

/// A [`Flaw`] as the error of a `Result`.
#[derive(Clone, Debug)]
pub(crate) struct Fail(pub(crate) Box<Flaw>);

impl Fail {
    pub(crate) fn new(problem: Problem, at: Span) -> Self {
        Self(Box::new(Flaw {
            problem,
            at,
            related: Vec::new(),
        }))
    }

    pub(crate) fn related(mut self, at: Span, why: impl Into<String>) -> Self {
        self.0.related.push((at, why.into()));
        self
    }
}
