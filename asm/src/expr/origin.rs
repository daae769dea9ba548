//! Address spaces of expressions: program words, DMEM bytes or plain numbers.
//!
//! Addresses of both spaces are numbers; their origin tells them apart.

use super::{Binary, Expr, Open, Symbols, Unary};
use crate::program::SymbolKind;
use crate::source::Span;
use std::rc::Rc;

/// Label that an address counts from, or a constant defined by one, with its address space.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) name: Rc<str>,
    pub(crate) at: Span,
    pub(crate) kind: SymbolKind,
}

impl Expr {
    /// Returns the label that the expression's value counts from; the expression must have a value. A label,
    /// a label plus or minus a number, and a sum with a label count from that label; of `?:` the chosen
    /// branch decides. The distance between two labels of one address space is a plain number, and so are all
    /// other results.
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
