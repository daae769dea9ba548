//! Reads expressions by precedence climbing.

use super::operand::Register;
use super::parser::Parser;
use super::token::{Tok, Token};
use crate::diag::{Fail, Problem};
use crate::expr::{Binary, Expr, Function, Open, Unary, Value, binary, unary};
use crate::source::Span;

/// Deepest nesting of parentheses, prefix operators and calls.
const DEEPEST: u32 = 32;
/// Most operators in one expression, which bounds the depth of its tree.
const MOST: u32 = 64;

impl Parser<'_, '_> {
    /// Reads an expression; returns it with its position.
    pub(crate) fn expression(&mut self) -> Result<(Expr, Span), Fail> {
        if let Some(found) = self.number() {
            return Ok(found);
        }
        let start = self.here();
        self.operators = 0;
        let first = self.prefix()?;
        let expr = self.climb(first, start, 0)?;
        Ok((expr, start.to(self.last())))
    }

    /// Reads a number that is the whole expression, which is the most frequent case.
    fn number(&mut self) -> Option<(Expr, Span)> {
        let token = self.peek()?;
        let value = match token.tok {
            Tok::Int(v) => Value::Int(*v),
            Tok::Known(known) => known.value,
            _ => return None,
        };
        let ends = |t: &Token<'_>| ["}", ",", ")", "]"].into_iter().any(|p| t.tok.is(p));
        self.peek_second().is_none_or(ends).then(|| {
            self.next();
            (Expr::Value(value), token.at)
        })
    }

    /// Reads the rest of an expression that continues from `0`: the part after the register in
    /// `[a0 - 8 + N]`, and the part after `]` in `[a0]-8`.
    pub(crate) fn offset(&mut self) -> Result<(Expr, Span), Fail> {
        let start = self.here();
        self.operators = 0;
        let expr = self.climb(Expr::Value(Value::Int(0)), start, 0)?;
        Ok((expr, start.to(self.last())))
    }

    /// Reads an expression whose value is known here.
    pub(crate) fn constant(&mut self) -> Result<(Value, Span), Fail> {
        let (expr, at) = self.expression()?;
        Ok((expr.eval(self.names)?, at))
    }

    /// Returns the value of the tokens, if they are one expression with a known value that is a plain number.
    /// Labels and addresses that count from one are refused: they carry an address space too.
    pub(crate) fn settled(mut self, slots: bool) -> Option<Value> {
        self.slots = slots;
        let expr = self.expression().ok()?.0;
        let whole = self.at_end() && expr.symbol().is_none();
        let value = expr.eval(self.names).ok().filter(|_| whole)?;
        expr.origin(self.names).is_none().then_some(value)
    }

    /// Reads an integer that is known here.
    pub(crate) fn constant_int(&mut self, what: &str) -> Result<(i64, Span), Fail> {
        let (value, at) = self.constant()?;
        match value {
            Value::Int(v) => Ok((v, at)),
            Value::Float(_) => Err(Fail::new(
                Problem::NotInteger {
                    what: what.to_owned(),
                    value,
                },
                at,
            )),
        }
    }

    /// Reads an integer that is known here, without operators outside of parentheses.
    pub(crate) fn constant_term(&mut self, what: &str) -> Result<(i64, Span), Fail> {
        let start = self.here();
        self.operators = 0;
        let value = self.prefix()?.eval(self.names)?;
        let at = start.to(self.last());
        value.as_int().map(|number| (number, at)).ok_or_else(|| {
            let what = what.to_owned();
            Fail::new(Problem::NotInteger { what, value }, at)
        })
    }

    fn climb(&mut self, mut left: Expr, start: Span, least: u8) -> Result<Expr, Fail> {
        while let Some(Tok::Punct(punct)) = self.peek().map(|t| t.tok) {
            let Some((op, strength)) = Binary::of(*punct) else {
                break;
            };
            if strength <= least || (op == Binary::OrElse && self.slots) {
                break;
            }
            let at = self.here();
            self.next();
            self.count(at)?;
            let right_start = self.here();
            let right = self.prefix()?;
            let right = self.climb(right, right_start, strength)?;
            // An operation that fails stays open, since its value may never be asked for.
            let known = match (&left, &right) {
                (Expr::Value(a), _) if op.decided(*a).is_some() => op.decided(*a),
                (Expr::Value(a), Expr::Value(b)) => binary(op, *a, *b).ok(),
                _ => None,
            };
            left = match known {
                Some(value) => Expr::Value(value),
                None => Open::Binary(op, left, right, start.to(self.last())).into(),
            };
        }
        if least == 0 && self.eat("?") {
            let at = self.last();
            self.count(at)?;
            self.enter()?;
            let yes = self.nested()?;
            self.expect(":")?;
            let no = self.nested()?;
            self.depth -= 1;
            left = match left {
                Expr::Value(v) => {
                    if v.is_true() {
                        yes
                    } else {
                        no
                    }
                }
                left => Open::Choose(left, yes, no).into(),
            };
        }
        Ok(left)
    }

    fn count(&mut self, at: Span) -> Result<(), Fail> {
        self.operators += 1;
        if self.operators > MOST {
            return Err(Fail::new(
                Problem::Limit {
                    what: "the number of operators in an expression",
                    limit: MOST.into(),
                },
                at,
            ));
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Fail> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fail::new(
                Problem::Limit {
                    what: "the nesting of an expression",
                    limit: DEEPEST.into(),
                },
                self.here(),
            ));
        }
        Ok(())
    }

    /// Reads a whole expression inside another.
    fn nested(&mut self) -> Result<Expr, Fail> {
        let start = self.here();
        let first = self.prefix()?;
        self.climb(first, start, 0)
    }

    /// Reads a whole expression between parentheses, where `||` is the logical or.
    fn inside(&mut self) -> Result<Expr, Fail> {
        let slots = std::mem::replace(&mut self.slots, false);
        let expr = self.nested();
        self.slots = slots;
        expr
    }

    fn prefix(&mut self) -> Result<Expr, Fail> {
        self.enter()?;
        let start = self.here();
        let op = match self.peek().map(|t| t.tok) {
            Some(Tok::Punct(punct)) => Unary::of(*punct),
            _ => None,
        };
        let least = |t: Option<&Token<'_>>| t.is_some_and(|t| *t.tok == Tok::TooLargeByOne);
        let expr = if let Some(op) = op {
            self.next();
            if op == Unary::Neg && least(self.peek()) {
                self.next();
                self.depth -= 1;
                return Ok(Expr::Value(Value::Int(i64::MIN)));
            }
            let operand = self.prefix()?;
            let known = match &operand {
                Expr::Value(v) => unary(op, *v).ok(),
                _ => None,
            };
            match known {
                Some(value) => Expr::Value(value),
                None => Open::Unary(op, operand, start.to(self.last())).into(),
            }
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn primary(&mut self) -> Result<Expr, Fail> {
        match self.peek().map(|t| t.tok) {
            Some(Tok::Int(v)) => {
                self.next();
                Ok(Expr::Value(Value::Int(*v)))
            }
            Some(Tok::TooLargeByOne) => {
                let text = (1u64 << 63).to_string();
                Err(Fail::new(Problem::NumberRange { text }, self.here()))
            }
            Some(Tok::Float(v)) => {
                self.next();
                Ok(Expr::Value(Value::Float(*v)))
            }
            Some(Tok::Known(known)) => {
                self.next();
                Ok(Expr::Value(known.value))
            }
            Some(tok) if tok.is("(") => {
                self.next();
                let expr = self.inside()?;
                self.expect(")")?;
                Ok(expr)
            }
            Some(tok) if tok.is(".") => {
                self.next();
                Ok(Expr::Value(Value::Int(self.names.location())))
            }
            Some(Tok::Name(_)) => self.named(),
            _ => self.expected("an expression"),
        }
    }

    /// Reads a name or a call.
    fn named(&mut self) -> Result<Expr, Fail> {
        let ident = self.name("a name")?;
        if self.is("(") {
            return self.call(&ident.text, ident.at);
        }
        if let Some(value) = self.names.scoped(&ident.text, ident.scope) {
            return Ok(Expr::Value(value));
        }
        if Register::named(&ident.text, self.names).is_some() {
            let found = format!("register `{}`", &*ident.text);
            return Err(Fail::new(
                Problem::Expected {
                    wanted: "a value".into(),
                    found,
                },
                ident.at,
            ));
        }
        if let Some(value) = self.names.known(&ident.text) {
            return Ok(Expr::Value(value));
        }
        Ok(Open::Symbol(self.names.key(&ident.text, ident.scope), ident.at).into())
    }

    fn call(&mut self, name: &str, at: Span) -> Result<Expr, Fail> {
        self.expect("(")?;
        if name == "defined" {
            let ident = self.name("a name")?;
            self.expect(")")?;
            let known = self.names.scoped(&ident.text, ident.scope).is_some()
                || self
                    .names
                    .defined(&self.names.key(&ident.text, ident.scope))
                || self.names.alias(&ident.text).is_some();
            return Ok(Expr::Value(Value::Int(i64::from(known))));
        }
        if name == "constant" {
            let constant = self.value_name("the name of a constant")?;
            self.expect(")")?;
            let value = self.names.constant(&constant.text);
            return value.map(Expr::Value).ok_or_else(|| {
                let problem = Problem::UnknownName {
                    name: constant.text.to_string(),
                    near: None,
                    hint: Some("`constant` gives the number of a `.const` of the block"),
                };
                Fail::new(problem, constant.at)
            });
        }
        let mut args = Vec::new();
        if !self.is(")") {
            loop {
                args.push(self.inside()?);
                if !self.eat(",") {
                    break;
                }
            }
        }
        self.expect(")")?;
        let Some(function) = Function::by_name(name) else {
            let near = crate::diag::nearest(name, Function::names());
            let hint = Some("functions are listed in docs/assembler.md");
            return Err(Fail::new(
                Problem::UnknownName {
                    name: name.to_owned(),
                    near,
                    hint,
                },
                at,
            ));
        };
        let whole = at.to(self.last());
        let known: Option<Vec<Value>> = args
            .iter()
            .map(|a| {
                if let Expr::Value(v) = a {
                    Some(*v)
                } else {
                    None
                }
            })
            .collect();
        match known.and_then(|values| function.call(&values).ok()) {
            Some(value) => Ok(Expr::Value(value)),
            None => Ok(Open::Call(function, args, whole).into()),
        }
    }
}
