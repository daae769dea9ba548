//! Tokens.

use crate::source::Span;
use std::fmt;
use std::rc::Rc;

/// What a token is.
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
    Punct(&'static str),
}

/// Names a scope of counters, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) u32);

/// A token and where it is from.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// Shared: expansion copies tokens many times.
    pub(crate) tok: Rc<Tok>,
    pub(crate) at: Span,
    /// Nothing stands between this token and the one before.
    pub(crate) glued: bool,
    /// The scope its names belong to, where that is not the current one: the
    /// tokens of a macro argument belong to the caller.
    pub(crate) scope: Option<Scope>,
}

impl Token {
    pub(crate) fn is(&self, punct: &str) -> bool {
        matches!(*self.tok, Tok::Punct(p) if p == punct)
    }

    pub(crate) fn name(&self) -> Option<&str> {
        match &*self.tok {
            Tok::Name(n) => Some(n),
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
        }
    }
}
