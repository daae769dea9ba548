//! Constant expressions: trees, values, operators and functions.

mod eval;
mod function;
mod origin;
mod punct;
mod trig;
mod value;

pub(crate) use eval::{Binary, Unary, binary, unary};
pub(crate) use function::Function;
pub(crate) use punct::{PUNCTUATION, Punct};
pub use trig::cis;
pub use value::Value;

use crate::diag::Fail;
use crate::program::SymbolKind;
use crate::source::Span;
use std::rc::Rc;

/// Expression whose scoped names are already values. Names that are left are global, and may be defined later
/// in the source.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    /// Value of an expression that is known: most are known as soon as they are read.
    Value(Value),
    Open(Box<Open>),
}

/// Expression that has no value yet.
#[derive(Clone, Debug)]
pub(crate) enum Open {
    Symbol(Rc<str>, Span),
    Unary(Unary, Expr, Span),
    Binary(Binary, Expr, Expr, Span),
    Choose(Expr, Expr, Expr),
    Call(Function, Vec<Expr>, Span),
}

impl From<Open> for Expr {
    fn from(open: Open) -> Self {
        Self::Open(Box::new(open))
    }
}

/// Values of global names, by key.
pub(crate) trait Symbols {
    /// Returns the value of `key`, used at `at`.
    fn value(&self, key: &str, at: Span) -> Result<Value, Fail>;

    /// Returns the address space of `key`, which must have a value: [`SymbolKind::Absolute`] for a plain
    /// number.
    fn kind(&self, key: &str) -> SymbolKind;
}

impl Expr {
    /// Returns the name and its position, if the expression is a single name.
    pub(crate) fn symbol(&self) -> Option<(&Rc<str>, Span)> {
        match self {
            Self::Open(open) => match &**open {
                Open::Symbol(key, at) => Some((key, *at)),
                _ => None,
            },
            Self::Value(_) => None,
        }
    }

    /// Evaluates the expression with the values of its names.
    pub(crate) fn eval(&self, symbols: &dyn Symbols) -> Result<Value, Fail> {
        match self {
            Self::Value(v) => Ok(*v),
            Self::Open(open) => open.eval(symbols),
        }
    }
}

impl Open {
    fn eval(&self, symbols: &dyn Symbols) -> Result<Value, Fail> {
        match self {
            Self::Symbol(key, at) => symbols.value(key, *at),
            Self::Unary(op, a, at) => unary(*op, a.eval(symbols)?).map_err(|p| Fail::new(p, *at)),
            Self::Binary(op, a, b, at) => {
                let a = a.eval(symbols)?;
                // The short-circuit operators `&&` and `||` may leave their right side unevaluated.
                if let Some(v) = op.decided(a) {
                    return Ok(v);
                }
                binary(*op, a, b.eval(symbols)?).map_err(|p| Fail::new(p, *at))
            }
            Self::Choose(c, yes, no) => {
                if c.eval(symbols)?.is_true() { yes } else { no }.eval(symbols)
            }
            Self::Call(function, args, at) => {
                let args = args
                    .iter()
                    .map(|a| a.eval(symbols))
                    .collect::<Result<Vec<_>, _>>()?;
                function.call(&args).map_err(|p| Fail::new(p, *at))
            }
        }
    }
}
