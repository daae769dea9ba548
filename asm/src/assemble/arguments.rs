//! The arguments of one macro call.

use super::state::Macro;
use crate::syntax::{Scope, Token};
use std::rc::Rc;

/// What the parameters of a macro stand for in one of its expansions.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    definition: Rc<Macro>,
    /// Of all arguments, one after the other.
    tokens: Vec<Token>,
    /// Where each argument's tokens end.
    ends: Vec<usize>,
}

impl Arguments {
    /// None yet; room for so many tokens.
    pub(super) fn with_capacity(definition: Rc<Macro>, tokens: usize) -> Self {
        Self {
            tokens: Vec::with_capacity(tokens),
            ends: Vec::with_capacity(definition.parameters.len()),
            definition,
        }
    }

    /// The next parameter's argument. Its names belong to `scope`, where they do
    /// not belong to another already.
    pub(super) fn push(&mut self, tokens: &[Token], scope: Option<Scope>) {
        self.tokens.extend(tokens.iter().map(|token| Token {
            scope: token.scope.or(scope),
            ..token.clone()
        }));
        self.ends.push(self.tokens.len());
    }

    /// What the parameter of that name stands for: parameters are few, so that
    /// looking through them is faster than a table.
    pub(super) fn of(&self, name: &str) -> Option<&[Token]> {
        let place = self.names().position(|known| known == name)?;
        let start = match place {
            0 => 0,
            _ => *self.ends.get(place - 1)?,
        };
        self.tokens.get(start..*self.ends.get(place)?)
    }

    /// The names of the parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.definition.parameters.iter().map(|p| p.name.as_ref())
    }
}
