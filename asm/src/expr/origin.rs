//! Which address an expression counts from: words of the program and bytes of DMEM are numbers alike.

use super::{Binary, Expr, Open, Symbols, Unary};
use crate::program::SymbolKind;
use crate::source::Span;
use std::rc::Rc;

/// A label, or a constant that is defined by one, and what it is an address of.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) name: Rc<str>,
    pub(crate) at: Span,
    pub(crate) kind: SymbolKind,
}

impl Expr {
    /// The address that the value of the expression, which has one, counts from: of a label, and of one and a number. A
    /// distance between two labels counts from none, nor does what is computed otherwise.
    pub(crate) fn origin(&self, symbols: &dyn Symbols) -> Option<Origin> {
        let Self::Open(open) = self else {
            return None;
        };
        match &**open {
            Open::Symbol(name, at) => {
                let kind = symbols.kind(name);
                (kind != SymbolKind::Absolute).then(|| Origin {
                    name: name.clone(),
                    at: *at,
                    kind,
                })
            }
            Open::Unary(Unary::Plus, a, _) => a.origin(symbols),
            Open::Binary(op, a, b, _) => match (op, a.origin(symbols), b.origin(symbols)) {
                (Binary::Add, Some(_), Some(b)) if b.kind == SymbolKind::Dmem => Some(b),
                (Binary::Add, a, b) => a.or(b),
                (Binary::Sub, Some(a), Some(b)) => (a.kind != b.kind).then_some(a),
                (Binary::Sub, a, None) => a,
                _ => None,
            },
            Open::Choose(condition, yes, no) => {
                let chosen = match condition.eval(symbols).ok()?.is_true() {
                    true => yes,
                    false => no,
                };
                chosen.origin(symbols)
            }
            Open::Unary(..) | Open::Call(..) => None,
        }
    }
}
