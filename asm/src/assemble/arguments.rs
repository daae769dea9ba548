//! The arguments of one macro call.

use super::state::Macro;
use crate::syntax::{Scope, Token};
use std::ops::Range;
use std::rc::Rc;

/// What the parameters of a macro stand for in one of its expansions.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    definition: Rc<Macro>,
    /// The line of the call.
    line: Vec<Token>,
    /// Where in it each argument stands that is given.
    given: Vec<Range<usize>>,
}

impl Arguments {
    /// The arguments that stand in a line. Their names belong to `scope`, where they
    /// do not belong to another already.
    pub(super) fn new(
        definition: Rc<Macro>,
        mut line: Vec<Token>,
        given: Vec<Range<usize>>,
        scope: Scope,
    ) -> Self {
        for token in &mut line {
            token.scope = token.scope.or(Some(scope));
        }
        Self {
            definition,
            line,
            given,
        }
    }

    /// What the parameter of that name stands for: parameters are few, so that
    /// looking through them is faster than a table.
    pub(super) fn of(&self, name: &str) -> Option<&[Token]> {
        let mut parameters = self.definition.parameters.iter().enumerate();
        let (place, parameter) = parameters.find(|(_, p)| *p.name == *name)?;
        match self.given.get(place) {
            Some(tokens) => self.line.get(tokens.clone()),
            None => parameter.default.as_deref(),
        }
    }

    /// The names of the parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.definition.parameters.iter().map(|p| p.name.as_ref())
    }
}
