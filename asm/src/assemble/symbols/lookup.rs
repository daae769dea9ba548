//! Looks up names: values, scopes, local labels.

use super::{Body, Definition, Table};
use crate::assemble::limits;
use crate::diag::{Fail, Problem};
use crate::expr::{Symbols, Value};
use crate::program::SymbolKind;
use crate::source::Span;
use crate::syntax::{Names, Register, Scope, Text};
use std::rc::Rc;

impl Symbols for Table {
    fn value(&self, key: &str, at: Span) -> Result<Value, Fail> {
        let Some((key, definition)) = self.symbols.get_key_value(key) else {
            return Err(Fail::new(
                Problem::UnknownName {
                    name: key.to_owned(),
                    near: None,
                    hint: None,
                },
                at,
            ));
        };
        let expr = match &definition.body {
            Body::Value(value) => return Ok(*value),
            Body::Later(expr) => expr,
        };
        if let Some(value) = self.later.borrow().get(key) {
            return Ok(*value);
        }
        if self.depth.get() >= limits::CHAIN {
            return Err(Fail::new(
                Problem::Circular {
                    name: key.to_string(),
                },
                at,
            ));
        }
        self.depth.set(self.depth.get() + 1);
        let result = expr.eval(self);
        self.depth.set(self.depth.get() - 1);
        if let Ok(value) = &result {
            self.later.borrow_mut().insert(key.clone(), *value);
        }
        result
    }

    fn kind(&self, key: &str) -> SymbolKind {
        let Some((key, definition)) = self.symbols.get_key_value(key) else {
            return SymbolKind::Absolute;
        };
        let Body::Later(expr) = &definition.body else {
            return definition.origin;
        };
        // The constant has a value, so that the chain of its definitions ends.
        let known = self.later_origins.borrow().get(key).copied();
        known.unwrap_or_else(|| {
            let kind = self.origin(expr);
            self.later_origins.borrow_mut().insert(key.clone(), kind);
            kind
        })
    }
}

impl Names for Table {
    fn scoped(&self, name: &str, scope: Scope) -> Option<Value> {
        let mut at = Some(scope);
        while let Some(frame) = at.and_then(|s| self.frame(s)) {
            if let Some((counter, value)) = &frame.counter
                && **counter == *name
            {
                self.counted.set(true);
                return Some(*value);
            }
            at = frame.parent;
        }
        None
    }

    fn key(&self, name: &Text<'_>, scope: Scope) -> Rc<str> {
        if !name.starts_with('.') {
            return name.shared();
        }
        self.note();
        let name = &**name;
        match self.frame(scope).and_then(|f| f.expansion) {
            Some(expansion) => format!("{name}@{expansion}").into(),
            None => format!("{}{name}", self.parent).into(),
        }
    }

    fn defined(&self, key: &str) -> bool {
        self.note();
        self.symbols.contains_key(key)
    }

    fn known(&self, name: &str) -> Option<Value> {
        match self.symbols.get(name) {
            // A constant that is an address stays a name, since its label may be asked for.
            Some(Definition {
                kind: SymbolKind::Absolute,
                origin: SymbolKind::Absolute,
                body: Body::Value(value),
                ..
            }) if self.folds && !name.starts_with('.') => Some(*value),
            _ => None,
        }
    }

    fn constant(&self, name: &str) -> Option<Value> {
        // Another block may have a constant of that name.
        self.counted.set(true);
        self.note();
        self.block_constants.get(name).copied()
    }

    fn location(&self) -> i64 {
        self.note();
        self.location
    }

    fn alias(&self, name: &str) -> Option<Register> {
        self.aliases.get(name).map(|a| a.0)
    }
}
