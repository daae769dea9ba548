//! The table of names: global symbols, counters, register aliases, and scopes.

mod lookup;

use super::limits;
use crate::diag::{Fail, Problem, nearest};
use crate::expr::{Expr, Value};
use crate::program::{Symbol, SymbolKind};
use crate::source::Span;
use crate::syntax::{Names, Register, Scope, Text};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

#[derive(Debug)]
enum Body {
    Value(Value),
    /// Expression with names that were unknown when it was read.
    Later(Expr),
}

#[derive(Debug)]
struct Definition {
    kind: SymbolKind,
    /// Address space that the value counts from, if it is an address; also known for constants.
    origin: SymbolKind,
    body: Body,
    /// Position of the definition; `None` for a constant that the caller defined.
    at: Option<Span>,
    order: usize,
}

/// Scope of a repetition's counter or of a macro expansion.
#[derive(Debug)]
struct Frame {
    parent: Option<Scope>,
    counter: Option<(Rc<str>, Value)>,
    /// Number of the macro expansion that owns local labels in this scope.
    expansion: Option<u32>,
}

/// Every name of one assembly.
#[derive(Debug)]
pub(super) struct Table {
    symbols: HashMap<Rc<str>, Definition>,
    aliases: HashMap<String, (Register, Span)>,
    frames: Vec<Frame>,
    /// Names of all counters so far, for suggestions.
    counters: BTreeSet<Rc<str>>,
    expansions: u32,
    /// Plain label that owns the local labels that follow.
    parent: Rc<str>,
    later: RefCell<HashMap<Rc<str>, Value>>,
    later_origins: RefCell<HashMap<Rc<str>, SymbolKind>>,
    depth: Cell<u32>,
    /// Numbers of the constants of the linear block that is being read.
    pub(super) block_constants: HashMap<Rc<str>, Value>,
    /// Address of the next word or byte.
    pub(super) location: i64,
    /// Count of effects other than added words, and of uses of values that change while the source is read.
    /// An iteration that leaves the count unchanged can be repeated without reading it again.
    pub(super) done: Cell<u64>,
    /// Set whenever the value of a counter is asked for.
    pub(super) counted: Cell<bool>,
    /// True if values replace the names and arguments that they come from as soon as they are known.
    pub(super) folds: bool,
}

/// Scope outside of every block.
pub(super) const GLOBAL: Scope = Scope(0);

impl Table {
    pub(super) fn new() -> Self {
        Self {
            symbols: HashMap::new(),
            aliases: HashMap::new(),
            frames: vec![Frame {
                parent: None,
                counter: None,
                expansion: None,
            }],
            counters: BTreeSet::new(),
            expansions: 0,
            parent: "".into(),
            later: RefCell::default(),
            later_origins: RefCell::default(),
            depth: Cell::new(0),
            block_constants: HashMap::new(),
            location: 0,
            done: Cell::new(0),
            counted: Cell::new(false),
            folds: false,
        }
    }

    /// Opens a scope for one macro expansion, which sees only global names.
    pub(super) fn macro_scope(&mut self) -> Scope {
        self.expansions += 1;
        self.push(Frame {
            parent: None,
            counter: None,
            expansion: Some(self.expansions),
        })
    }

    /// Opens a scope for one iteration inside `outer`.
    pub(super) fn counter_scope(&mut self, outer: Scope, name: Rc<str>, value: i64) -> Scope {
        if !self.counters.contains(&name) {
            self.counters.insert(name.clone());
        }
        let expansion = self.frame(outer).and_then(|f| f.expansion);
        self.push(Frame {
            parent: Some(outer),
            counter: Some((name, value.into())),
            expansion,
        })
    }

    /// Forgets a scope that no further line is read in, and the scopes inside it.
    pub(super) fn leave(&mut self, scope: Scope) {
        self.frames.truncate(scope.0 as usize);
    }

    /// Notes that something other than a word was made, or that a changing value was used.
    pub(super) fn note(&self) {
        self.done.set(self.done.get() + 1);
    }

    fn push(&mut self, frame: Frame) -> Scope {
        self.frames.push(frame);
        Scope(self.frames.len() as u32 - 1)
    }

    fn frame(&self, scope: Scope) -> Option<&Frame> {
        self.frames.get(scope.0 as usize)
    }

    /// Defines a constant that the caller passes.
    pub(super) fn predefine(&mut self, name: &str, value: Value) {
        let order = self.symbols.len();
        let body = Body::Value(value);
        self.symbols.insert(
            name.into(),
            Definition {
                kind: SymbolKind::Absolute,
                origin: SymbolKind::Absolute,
                body,
                at: None,
                order,
            },
        );
    }

    /// Defines a symbol whose name no source can write.
    pub(super) fn define_hidden(&mut self, key: Rc<str>, kind: SymbolKind, value: i64) {
        let order = self.symbols.len();
        let definition = Definition {
            kind,
            origin: kind,
            body: Body::Value(value.into()),
            at: None,
            order,
        };
        self.symbols.insert(key, definition);
    }

    /// Refuses a name that already has another meaning.
    pub(super) fn check_free(&self, name: &str, at: Span) -> Result<(), Fail> {
        let what = if Register::built_in(name).is_some() {
            "a register"
        } else if self.aliases.contains_key(name) {
            "a register alias"
        } else if name.len() > limits::NAME {
            return Err(Fail::new(
                Problem::Limit {
                    what: "the length of a name",
                    limit: limits::NAME as u64,
                },
                at,
            ));
        } else {
            return Ok(());
        };
        Err(Fail::new(
            Problem::Reserved {
                name: name.to_owned(),
                what,
            },
            at,
        ))
    }

    /// Defines a label. A plain label becomes the owner of the local labels that follow.
    pub(super) fn label(
        &mut self,
        name: &Text<'_>,
        scope: Scope,
        kind: SymbolKind,
        value: i64,
        at: Span,
    ) -> Result<(), Fail> {
        self.check_free(name, at)?;
        let key = self.key(name, scope);
        self.insert(
            key.clone(),
            name,
            Definition {
                kind,
                origin: kind,
                body: Body::Value(value.into()),
                at: Some(at),
                order: 0,
            },
        )?;
        if !name.starts_with('.') {
            self.parent = key;
        }
        Ok(())
    }

    /// Defines a constant, whose expression may use later names.
    pub(super) fn constant(&mut self, name: &str, expr: Expr, at: Span) -> Result<(), Fail> {
        self.check_free(name, at)?;
        if self.symbols.get(name).is_some_and(|d| d.at.is_none()) {
            // The caller's definition overrides the source's default.
            return Ok(());
        }
        let (body, origin) = match expr.eval(self) {
            Ok(value) => (Body::Value(value), self.origin(&expr)),
            Err(fail) if matches!(fail.0.problem, Problem::UnknownName { .. }) => {
                (Body::Later(expr), SymbolKind::Absolute)
            }
            Err(fail) => return Err(fail),
        };
        self.insert(
            name.into(),
            name,
            Definition {
                kind: SymbolKind::Absolute,
                origin,
                body,
                at: Some(at),
                order: 0,
            },
        )
    }

    fn insert(&mut self, key: Rc<str>, name: &str, mut definition: Definition) -> Result<(), Fail> {
        self.note();
        let at = definition.at.unwrap_or(Span::START);
        if let Some(old) = self.symbols.get(&key) {
            return Err(redefined(name, at, old.at));
        }
        definition.order = self.symbols.len();
        self.symbols.insert(key, definition);
        Ok(())
    }

    /// Defines a register alias.
    pub(super) fn define_alias(
        &mut self,
        name: &str,
        register: Register,
        at: Span,
    ) -> Result<(), Fail> {
        if let Some((_, first)) = self.aliases.get(name) {
            return Err(redefined(name, at, Some(*first)));
        }
        self.check_free(name, at)?;
        if let Some(definition) = self.symbols.get(name) {
            return Err(redefined(name, at, definition.at));
        }
        self.aliases.insert(name.to_owned(), (register, at));
        Ok(())
    }

    /// Forgets a register alias.
    pub(super) fn undefine_alias(&mut self, name: &str, at: Span) -> Result<(), Fail> {
        match self.aliases.remove(name) {
            Some(_) => Ok(()),
            None => {
                let near = nearest(name, self.aliases.keys().map(String::as_str));
                Err(Fail::new(
                    Problem::UnknownName {
                        name: name.to_owned(),
                        near,
                        hint: None,
                    },
                    at,
                ))
            }
        }
    }

    /// True if a label or constant `key` is defined so far.
    pub(super) fn is_global(&self, key: &str) -> bool {
        self.symbols.contains_key(key)
    }

    /// Returns the address space of an expression's value; the expression must have a value.
    fn origin(&self, expr: &Expr) -> SymbolKind {
        let origin = expr.origin(self);
        origin.map_or(SymbolKind::Absolute, |origin| origin.kind)
    }

    /// Iterates over the global names that a source can write.
    pub(super) fn global_names(&self) -> impl Iterator<Item = &str> {
        self.symbols
            .keys()
            .map(AsRef::as_ref)
            .filter(|k: &&str| !k.contains('@'))
    }

    pub(super) fn alias_names(&self) -> impl Iterator<Item = &str> {
        self.aliases.keys().map(String::as_str)
    }

    /// Iterates over the names of all counters so far.
    pub(super) fn counter_names(&self) -> impl Iterator<Item = &str> {
        self.counters.iter().map(AsRef::as_ref)
    }

    /// Returns an error for each constant that has no value.
    pub(super) fn unresolved(&self) -> Vec<Fail> {
        let mut later: Vec<_> = self
            .symbols
            .values()
            .filter(|d| matches!(d.body, Body::Later(_)))
            .collect();
        later.sort_by_key(|d| d.order);
        later
            .into_iter()
            .filter_map(|d| match &d.body {
                Body::Later(expr) => expr.eval(self).err(),
                Body::Value(_) => None,
            })
            .collect()
    }

    /// Returns the program's symbols in the order of definition: labels, and constants with integer values.
    pub(super) fn export(&self) -> Vec<Symbol> {
        let mut all: Vec<_> = self
            .symbols
            .iter()
            .filter(|(key, _)| !key.contains('@'))
            .collect();
        all.sort_by_key(|(_, d)| d.order);
        all.into_iter()
            .filter_map(|(key, d)| {
                let value = match &d.body {
                    Body::Value(v) => *v,
                    Body::Later(expr) => expr.eval(self).ok()?,
                };
                Some(Symbol {
                    name: key.to_string(),
                    kind: d.kind,
                    value: value.as_int()?,
                })
            })
            .collect()
    }
}

/// Makes the error for a second definition of `name` at `at`.
pub(super) fn redefined(name: &str, at: Span, first: Option<Span>) -> Fail {
    let repeated = first == Some(at);
    let fail = Fail::new(
        Problem::Redefined {
            name: name.to_owned(),
            repeated,
        },
        at,
    );
    match first {
        Some(first) if !repeated => fail.related(first, "first defined here"),
        _ => fail,
    }
}
