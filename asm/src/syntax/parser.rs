//! A cursor over the tokens of one line.

use super::operand::Register;
use super::token::{Scope, Tok, Token};
use crate::diag::{Fail, Problem};
use crate::expr::{Punct, Symbols, Value};
use crate::source::Span;
use std::fmt::Write as _;
use std::rc::Rc;

/// Meanings of names while a line is read.
pub(crate) trait Names: Symbols {
    /// Returns the value of a counter that is visible from `scope`.
    fn scoped(&self, name: &str, scope: Scope) -> Option<Value>;
    /// Returns the global key of `name` as seen from `scope`: local labels belong to the label before them,
    /// or to the macro expansion.
    fn key(&self, name: &Text<'_>, scope: Scope) -> Rc<str>;
    /// True if the global name has been defined so far.
    fn defined(&self, key: &str) -> bool;
    /// Returns the value of a constant that has been computed and may replace its name.
    fn known(&self, name: &str) -> Option<Value>;
    /// Returns the number of a constant of the linear block that is being read.
    fn constant(&self, name: &str) -> Option<Value>;
    /// Returns the current address, `.`.
    fn location(&self) -> i64;
    /// Returns the register that an alias stands for.
    fn alias(&self, name: &str) -> Option<Register>;
}

/// The text of a name.
#[derive(Clone, Debug)]
pub(crate) enum Text<'t> {
    /// Text of a single token: the most frequent case, which needs no copy.
    Token(&'t Rc<str>),
    /// Text joined from several parts.
    Parts(String),
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Token(text) => text,
            Self::Parts(text) => text,
        }
    }
}

impl Text<'_> {
    /// Returns the text; a single token's is shared, not copied.
    pub(crate) fn shared(&self) -> Rc<str> {
        match self {
            Self::Token(text) => (*text).clone(),
            Self::Parts(text) => text.as_str().into(),
        }
    }

    /// Appends a part to the text.
    fn push(&mut self, part: Part<'_>) {
        let mut parts = match std::mem::replace(self, Self::Parts(String::new())) {
            Self::Parts(parts) => parts,
            Self::Token(text) => {
                // Parts are mostly small numbers.
                let mut parts = String::with_capacity(text.len() + 8);
                parts.push_str(text);
                parts
            }
        };
        match part {
            Part::Name(name) => parts.push_str(name),
            Part::Number(n @ 0..100) => {
                let digits = [n / 10, n % 10].map(|d| char::from(b'0' + d as u8));
                parts.extend(digits.into_iter().skip(usize::from(n < 10)));
            }
            // Writing to a string cannot fail.
            Part::Number(n) => drop(write!(parts, "{n}")),
        }
        *self = Self::Parts(parts);
    }
}

/// Part of a name.
enum Part<'t> {
    Name(&'t str),
    Number(i64),
}

/// A name with the values of its computed parts filled in.
#[derive(Clone, Debug)]
pub(crate) struct Ident<'t> {
    pub(crate) text: Text<'t>,
    pub(crate) at: Span,
    pub(crate) scope: Scope,
}

pub(crate) struct Parser<'t, 'a> {
    tokens: &'t [Token<'t>],
    at: usize,
    pub(crate) names: &'a dyn Names,
    scope: Scope,
    /// Nesting depth of the expression that is being read.
    pub(super) depth: u32,
    /// Number of operators in the expression that is being read.
    pub(super) operators: u32,
    /// True if `||` separates slots here; otherwise it is the logical or.
    pub(super) slots: bool,
}

impl<'t, 'a> Parser<'t, 'a> {
    pub(crate) fn new(tokens: &'t [Token<'t>], names: &'a dyn Names, scope: Scope) -> Self {
        Self {
            tokens,
            at: 0,
            names,
            scope,
            depth: 0,
            operators: 0,
            slots: false,
        }
    }

    pub(crate) fn peek(&self) -> Option<&'t Token<'t>> {
        self.tokens.get(self.at)
    }

    pub(super) fn peek_second(&self) -> Option<&'t Token<'t>> {
        self.tokens.get(self.at + 1)
    }

    pub(crate) fn next(&mut self) -> Option<&'t Token<'t>> {
        let token = self.tokens.get(self.at);
        self.at += usize::from(token.is_some());
        token
    }

    /// Returns the position of the next token, or the position after the last one.
    pub(crate) fn here(&self) -> Span {
        let behind = || self.tokens.last().map_or(Span::START, |t| t.at.after());
        self.peek().map_or_else(behind, |t| t.at)
    }

    /// Returns the position of the token just taken.
    pub(crate) fn last(&self) -> Span {
        self.at
            .checked_sub(1)
            .and_then(|i| self.tokens.get(i))
            .map_or_else(|| self.here(), |t| t.at)
    }

    #[inline]
    pub(crate) fn is(&self, punct: &str) -> bool {
        self.peek().is_some_and(|t| t.tok.is(punct))
    }

    pub(crate) fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expected<T>(&self, wanted: impl Into<String>) -> Result<T, Fail> {
        let found = self
            .peek()
            .map_or_else(|| "the end of the line".to_owned(), |t| t.tok.to_string());
        Err(Fail::new(
            Problem::Expected {
                wanted: wanted.into(),
                found,
            },
            self.here(),
        ))
    }

    pub(crate) fn expect(&mut self, punct: &'static str) -> Result<(), Fail> {
        if self.eat(punct) {
            Ok(())
        } else {
            self.expected(format!("`{punct}`"))
        }
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(crate) fn end(&self) -> Result<(), Fail> {
        if self.at_end() {
            Ok(())
        } else {
            self.expected("the end of the line")
        }
    }

    pub(crate) fn rest(&self) -> &'t [Token<'t>] {
        self.tokens.get(self.at..).unwrap_or(&[])
    }

    pub(crate) fn string(&mut self) -> Result<&'t str, Fail> {
        match self.peek().map(|t| t.tok) {
            Some(Tok::Str(s)) => {
                self.at += 1;
                Ok(s)
            }
            _ => self.expected("a string in double quotes"),
        }
    }

    /// True if a name starts here.
    pub(crate) fn at_name(&self) -> bool {
        self.peek().is_some_and(|t| t.tok.name().is_some())
    }

    /// Reads a name with its computed parts: `r{2*i}`, `row{i}_end`.
    pub(crate) fn name(&mut self, wanted: &str) -> Result<Ident<'t>, Fail> {
        let Some((token, Tok::Name(first))) = self.peek().map(|t| (t, t.tok)) else {
            return self.expected(wanted);
        };
        self.at += 1;
        let mut ident = Ident {
            text: Text::Token(first),
            at: token.at,
            scope: token.scope.unwrap_or(self.scope),
        };
        while let Some(part) = self.peek().filter(|t| t.glued) {
            match part.tok {
                Tok::Name(n) => ident.text.push(Part::Name(n)),
                Tok::Int(v) => ident.text.push(Part::Number(*v)),
                // A brace at the end of the line opens a loop block; it is not part of a name.
                Tok::Punct(open) if *open == Punct::of("{") && self.peek_second().is_some() => {
                    self.at += 1;
                    let outer = (self.operators, std::mem::replace(&mut self.slots, false));
                    let (value, at) = self.constant_int("a computed name")?;
                    (self.operators, self.slots) = outer;
                    if value < 0 {
                        let what = "the number in a name".to_owned();
                        return Err(Fail::new(
                            Problem::OutOfRange {
                                what,
                                value,
                                least: 0,
                                most: i64::MAX,
                            },
                            at,
                        ));
                    }
                    ident.text.push(Part::Number(value));
                    if !self.is("}") {
                        return self.expected("`}`");
                    }
                }
                _ => break,
            }
            self.at += 1;
            ident.at = ident.at.to(self.last());
        }
        Ok(ident)
    }
}

impl Parser<'_, '_> {
    /// Runs `f`; if it returns nothing, goes back to the token where it began.
    pub(crate) fn attempt<T>(&mut self, f: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let saved = (self.at, self.depth, self.operators, self.slots);
        let found = f(self);
        if found.is_none() {
            (self.at, self.depth, self.operators, self.slots) = saved;
        }
        found
    }
}
