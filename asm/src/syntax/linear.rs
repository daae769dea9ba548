//! Reads operands of linear blocks: values, pointers with offsets.

use super::parser::Parser;
use super::token::Tok;
use crate::diag::{Fail, Problem};
use crate::expr::Punct;
use crate::source::Span;
use std::fmt::Write as _;
use std::rc::Rc;

/// A value as written: `x`, `u[2].side.lo@1`.
#[derive(Clone, Debug)]
pub(crate) struct BlockValueName {
    /// The name with its indices and fields.
    pub(crate) text: Rc<str>,
    /// The half that is meant: 0 the lower pair, 1 the upper; none for the whole value.
    pub(crate) half: Option<u8>,
    /// Number of iterations ago that it was computed, if that is written.
    pub(crate) distance: Option<u32>,
    pub(crate) at: Span,
}

/// Most iterations that a value is kept for.
const MOST_DISTANCE: i64 = 64;

impl Parser<'_, '_> {
    /// Reads a value's name: a name, indices in brackets and fields, then a half and `@` with a number of iterations.
    pub(crate) fn value_name(&mut self, wanted: &str) -> Result<BlockValueName, Fail> {
        self.name_of_value(wanted, Self::constant_int)
    }

    /// Reads a value's name, with what reads the number behind `@`.
    fn name_of_value(
        &mut self,
        wanted: &str,
        read_distance: impl Fn(&mut Self, &str) -> Result<(i64, Span), Fail>,
    ) -> Result<BlockValueName, Fail> {
        let first = self.name(wanted)?;
        let (mut text, mut at) = (first.text.to_string(), first.at);
        let mut half = None;
        while let Some(next) = self.peek().filter(|next| next.glued && half.is_none()) {
            match next.tok {
                tok if tok.is("[") => {
                    self.next();
                    let (index, _) = self.constant_int("the index of a value")?;
                    self.expect("]")?;
                    // Writing to a string cannot fail.
                    let _ = write!(text, "[{index}]");
                }
                Tok::Name(name) if name.starts_with('.') => {
                    let field = self.name("a field")?;
                    text.push_str(&field.text);
                }
                tok if tok.is(".") && self.peek_second().is_some_and(|t| t.tok.is("{")) => {
                    self.next();
                    self.next();
                    half = Some(self.half_number()?);
                    self.expect("}")?;
                }
                _ => break,
            }
            at = at.to(self.last());
        }
        for (suffix, which) in [(".lo", 0), (".hi", 1), (".0", 0), (".1", 1)] {
            if half.is_none() && text.ends_with(suffix) {
                text.truncate(text.len() - suffix.len());
                half = Some(which);
            }
        }
        let mut distance = None;
        if self.is("@") {
            self.next();
            let (number, number_at) = read_distance(self, "a number of iterations")?;
            let most = MOST_DISTANCE;
            distance = Some(within(
                "the number of iterations",
                number,
                (0, most),
                number_at,
            )?);
            at = at.to(self.last());
        }
        Ok(BlockValueName {
            text: text.into(),
            half,
            distance,
            at,
        })
    }

    /// Reads the number of a half.
    fn half_number(&mut self) -> Result<u8, Fail> {
        let (number, at) = self.constant_int("the number of a half")?;
        within("the number of a half", number, (0, 1), at)
    }

    /// Reads a pointer with an offset in bytes, after the opening bracket: `[near[0] + 16]`.
    pub(crate) fn pointer_place(&mut self) -> Result<(BlockValueName, i64), Fail> {
        // An offset follows: the distance is one term.
        let pointer = self.name_of_value("a pointer", Self::constant_term)?;
        let mut offset = 0;
        if self.is("+") || self.is("-") {
            let (expr, at) = self.inside_brackets()?;
            offset = match expr.eval(self.names)? {
                crate::expr::Value::Int(bytes) => bytes,
                value => {
                    let what = "the offset".to_owned();
                    return Err(Fail::new(Problem::NotInteger { what, value }, at));
                }
            };
        }
        self.expect("]")?;
        Ok((pointer, offset))
    }

    /// True if the next token is this name.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.peek().is_some_and(|t| t.tok.name() == Some(word))
    }

    /// Takes the next token, if it is this name.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    /// True if the next token begins a number, a name or an expression in parentheses.
    pub(crate) fn begins_value(&self) -> bool {
        self.peek().is_some_and(|t| match t.tok {
            Tok::Punct(punct) => *punct == Punct::of("(") || *punct == Punct::of("-"),
            _ => true,
        })
    }
}

/// Returns a number that must lie between two others, both included.
fn within<T: TryFrom<i64>>(
    what: &str,
    value: i64,
    (least, most): (i64, i64),
    at: Span,
) -> Result<T, Fail> {
    let found = T::try_from(value)
        .ok()
        .filter(|_| (least..=most).contains(&value));
    found.ok_or_else(|| {
        let what = what.to_owned();
        let problem = Problem::OutOfRange {
            what,
            value,
            least,
            most,
        };
        Fail::new(problem, at)
    })
}
