//! Tokens of the assembly language.

use crate::expr::{Punct, Value};
use crate::source::Span;
use std::fmt;
use std::rc::Rc;

/// Kind and value of a token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tok {
    /// `name` or `.name`.
    Name(Rc<str>),
    Int(i64),
    /// 2^63, which only a minus before it makes an integer.
    TooLargeByOne,
    Float(f64),
    Str(Rc<str>),
    /// `\name`, a macro's parameter.
    Param(Rc<str>),
    /// Punctuation and operators.
    Punct(Punct),
    /// Value of several tokens, which it replaces.
    Known(Known),
}

/// The value of a macro argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) value: Value,
    /// True if the text was several tokens joined by operators.
    pub(crate) compound: bool,
    /// True if the text contained `?`.
    pub(crate) choice: bool,
}

/// Scope of counters and local labels, as an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) u32);

/// A token as it stands in a file.
#[derive(Clone, Debug)]
pub(crate) struct Lexeme {
    pub(crate) tok: Tok,
    pub(crate) at: Span,
    /// True if nothing stands between this token and the one before.
    pub(crate) glued: bool,
}

/// A token of an expanded line, from a file or from a macro argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) tok: &'t Tok,
    pub(crate) at: Span,
    pub(crate) glued: bool,
    /// Scope that names in the token belong to, if it is not the current one: the tokens of a macro argument
    /// belong to the caller.
    pub(crate) scope: Option<Scope>,
}

impl Lexeme {
    pub(crate) fn token(&self) -> Token<'_> {
        Token {
            tok: &self.tok,
            at: self.at,
            glued: self.glued,
            scope: None,
        }
    }
}

impl Tok {
    pub(crate) fn is(&self, punct: &str) -> bool {
        matches!(self, Self::Punct(p) if *p == Punct::of(punct))
    }

    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(n) => Some(n),
            _ => None,
        }
    }
}

impl fmt::Display for Tok {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(n) => write!(f, "`{n}`"),
            Self::Int(v) => write!(f, "`{v}`"),
            Self::TooLargeByOne => write!(f, "`{}`", 1u64 << 63),
            Self::Float(v) => write!(f, "`{v:?}`"),
            Self::Str(s) => write!(f, "{s:?}"),
            Self::Param(p) => write!(f, "`\\{p}`"),
            Self::Punct(p) => write!(f, "`{p}`"),
            Self::Known(known) => write!(f, "`{}`", known.value),
        }
    }
}
