//! Constant expressions: trees, values, operators and functions.

mod eval;
mod function;
mod trig;
mod value;

pub(crate) use eval::{Binary, Unary, binary, unary};
pub(crate) use function::Function;
pub use trig::cis;
pub use value::Value;

use crate::diag::Fail;
use crate::source::Span;
use std::rc::Rc;

/// An expression whose scoped names are already values; what is left are
/// global names, which may be defined later in the source.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Value(Value),
    Symbol(Rc<str>, Span),
    Unary(Unary, Box<Expr>, Span),
    Binary(Binary, Box<(Expr, Expr)>, Span),
    Choose(Box<(Expr, Expr, Expr)>),
    Call(Function, Vec<Expr>, Span),
}

/// Where global names get their values.
pub(crate) trait Symbols {
    /// The value of `key`, used at `at`.
    fn value(&self, key: &str, at: Span) -> Result<Value, Fail>;
}

impl Expr {
    /// The value, given those of the names.
    pub(crate) fn eval(&self, symbols: &dyn Symbols) -> Result<Value, Fail> {
        match self {
            Self::Value(v) => Ok(*v),
            Self::Symbol(key, at) => symbols.value(key, *at),
            Self::Unary(op, a, at) => unary(*op, a.eval(symbols)?).map_err(|p| Fail::new(p, *at)),
            Self::Binary(op, ab, at) => {
                let a = ab.0.eval(symbols)?;
                // The short-circuit operators leave their right side alone.
                if let Some(v) = op.decided(a) {
                    return Ok(v);
                }
                binary(*op, a, ab.1.eval(symbols)?).map_err(|p| Fail::new(p, *at))
            }
            Self::Choose(c) => if c.0.eval(symbols)?.is_true() {
                &c.1
            } else {
                &c.2
            }
            .eval(symbols),
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
