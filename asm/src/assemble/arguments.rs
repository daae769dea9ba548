//! The arguments of one macro call.

use super::state::Macro;
use super::symbols::Table;
use crate::diag::Fail;
use crate::expr::{Binary, Punct};
use crate::source::Span;
use crate::syntax::{Known, Lexeme, Number, Parser, Scope, Tok, Token};
use std::rc::Rc;

const OPEN: &Tok = &Tok::Punct(Punct::of("("));
const CLOSE: &Tok = &Tok::Punct(Punct::of(")"));

/// Arguments bound to the parameters of a macro in one expansion.
#[derive(Debug)]
pub(super) struct Arguments<'c> {
    pub(super) definition: &'c Macro,
    /// One argument for each parameter, in the order of the definition.
    pub(super) bound: Vec<Argument<'c>>,
}

impl<'c> Arguments<'c> {
    /// Returns the argument bound to the parameter `name`. A linear search is faster than a table, since
    /// parameters are few.
    pub(super) fn of(&'c self, name: &Rc<str>) -> Option<&'c Argument<'c>> {
        let parameters = || self.definition.parameters.iter();
        // Within one file equal names share their text, and a macro lies in one file: comparing pointers is
        // enough.
        let place = parameters().position(|p| Rc::ptr_eq(&p.name, name))?;
        self.bound.get(place)
    }

    /// Iterates over the names of the parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.definition.parameters.iter().map(|p| p.name.as_ref())
    }
}

/// Argument bound to one parameter.
#[derive(Debug)]
pub(super) struct Argument<'c> {
    tokens: &'c [Token<'c>],
    /// Scope of the tokens' names, unless a token has a scope of its own.
    scope: Option<Scope>,
    /// True if the tokens close every bracket that they open, and no other.
    whole: bool,
    /// Value that replaces the tokens, as a token.
    known: Option<Tok>,
    /// Source position of the last token.
    last: Span,
}

impl<'c> Argument<'c> {
    pub(super) fn new(tokens: &'c [Token<'c>], scope: Option<Scope>) -> Self {
        Self {
            tokens,
            scope,
            whole: brackets(tokens.iter().map(|t| t.tok)) == Some(0),
            known: None,
            last: tokens.last().map_or(Span::START, |t| t.at),
        }
    }

    /// Makes an argument from a value alone, without the tokens that it was computed from.
    pub(super) fn of_value(known: Known, last: Span) -> Self {
        Self {
            tokens: &[],
            scope: None,
            whole: true,
            known: Some(Tok::Known(known)),
            last,
        }
    }

    /// Returns the value that replaces the tokens, if there is one.
    pub(super) fn known(&self) -> Option<Known> {
        match self.known {
            Some(Tok::Known(known)) => Some(known),
            _ => None,
        }
    }

    /// Returns the integer that the argument stands for, if it is one.
    pub(super) fn number(&self) -> Option<Number> {
        let (value, kind) = match (&self.known, self.tokens) {
            (Some(Tok::Known(known)), _) => {
                (known.value.as_int()?, [true, known.compound, known.choice])
            }
            (
                _,
                [
                    Token {
                        tok: Tok::Int(value),
                        ..
                    },
                ],
            ) => (*value, [false; 3]),
            _ => return None,
        };
        Some(Number { value, kind })
    }

    /// Returns the position of the argument's last token when it ends a phrase behind `before`, in place of
    /// `parameter`. Where parentheses would be needed, the position of `parameter` itself.
    pub(super) fn last(&self, parameter: &Lexeme, before: Option<&Lexeme>) -> Span {
        let compound = self.number().is_some_and(|n| n.kind[1]);
        if compound && before.is_some_and(|t| is_operator(&t.tok)) {
            parameter.at
        } else {
            self.last
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Copies the argument, to be passed on in a further macro call from `scope`.
    pub(super) fn passed(&self, scope: Scope) -> Self {
        Self {
            tokens: self.tokens,
            scope: self.scope.or(Some(scope)),
            whole: self.whole,
            known: self.known.clone(),
            last: self.last,
        }
    }

    /// Returns the name and its position, if the argument is a single name.
    pub(super) fn name(&self) -> Option<(&'c Rc<str>, Span)> {
        match self.tokens {
            [
                Token {
                    tok: Tok::Name(name),
                    at,
                    ..
                },
            ] => Some((name, *at)),
            _ => None,
        }
    }

    /// Replaces the tokens by their value, if they have one now that cannot change until they are used. The
    /// value is computed once and used wherever it [`fits`].
    pub(super) fn fold(&mut self, names: &Table, scope: Scope) {
        self.known = match self.tokens {
            // A single token costs nothing to read, and may be asked for its name.
            [Token { tok, .. }] => Some(*tok).filter(|t| matches!(t, Tok::Known(_))).cloned(),
            tokens => known(tokens, names, scope, true).map(Tok::Known),
        };
    }

    /// Appends the argument to `out`, whose current line starts at `begin`, in place of `parameter` between
    /// the two neighbouring tokens `between`. Adds parentheses where adjacent operators would split the
    /// expression. Returns false if the argument's value does not fit there.
    pub(super) fn put<'t>(
        &'t self,
        parameter: Token<'t>,
        between: [Option<&Lexeme>; 2],
        begin: usize,
        out: &mut Vec<Token<'t>>,
    ) -> bool {
        let operators = || between.into_iter().flatten().any(|t| is_operator(&t.tok));
        if let Some(tok @ Tok::Known(known)) = &self.known {
            let last = out.get(begin..).and_then(<[_]>::last);
            let fits = fits(known, parameter, between, last);
            let wrapped = known.compound && operators();
            out.push(Token {
                tok,
                at: if wrapped { parameter.at } else { self.last },
                ..parameter
            });
            return fits;
        }
        let wrap = is_compound(self.tokens) && operators();
        let paren = |tok| Token {
            tok,
            glued: false,
            ..parameter
        };
        out.extend(wrap.then(|| paren(OPEN)));
        let first = out.len();
        out.extend(self.tokens.iter().map(|token| Token {
            scope: token.scope.or(self.scope),
            ..*token
        }));
        if let Some(part) = out.get_mut(first) {
            part.glued = parameter.glued && !wrap;
        }
        out.extend(wrap.then(|| paren(CLOSE)));
        true
    }
}

/// Counts the brackets left open behind the tokens; `None` if one is closed that was not open.
fn brackets<'t>(tokens: impl Iterator<Item = &'t Tok>) -> Option<u32> {
    let mut puncts = tokens.filter_map(|tok| match tok {
        Tok::Punct(punct) => punct.first(),
        _ => None,
    });
    puncts.try_fold(0_u32, |open, c| match c {
        b'(' | b'[' | b'{' => Some(open + 1),
        b')' | b']' | b'}' => open.checked_sub(1),
        _ => Some(open),
    })
}

/// Reads the tokens up to a comma outside of brackets.
pub(super) fn argument<'t>(p: &mut Parser<'t, '_>) -> Result<&'t [Token<'t>], Fail> {
    let rest = p.rest();
    let mut open = 0_u32;
    while let Some(token) = p.peek() {
        if let Tok::Punct(punct) = token.tok {
            match punct.first() {
                Some(b',') if open == 0 => break,
                Some(b'(' | b'[' | b'{') => open += 1,
                Some(b')' | b']' | b'}') => open = open.saturating_sub(1),
                _ => {}
            }
        }
        p.next();
    }
    match rest.len() - p.rest().len() {
        0 => p.expected("an argument"),
        tokens => Ok(rest.get(..tokens).unwrap_or(rest)),
    }
}

/// Reads the tokens of a parameter's default.
pub(super) fn default(p: &mut Parser<'_, '_>) -> Result<Vec<Lexeme>, Fail> {
    let lexeme = |t: &Token<'_>| Lexeme {
        tok: t.tok.clone(),
        at: t.at,
        glued: t.glued,
    };
    Ok(argument(p)?.iter().map(lexeme).collect())
}

/// Computes the value of the tokens, if they have one now that cannot change until they are used. `slots`
/// says whether `||` separates slots where they are used.
pub(super) fn known(
    argument: &[Token<'_>],
    names: &Table,
    scope: Scope,
    slots: bool,
) -> Option<Known> {
    let address = argument.first().is_none_or(|t| t.tok.is("["));
    let changes = |t: &Token<'_>| match t.tok {
        Tok::Name(name) => name.starts_with('.') || **name == *"defined",
        tok => tok.is("."),
    };
    let choice = argument.iter().any(|t| t.tok.is("?"));
    let compound = is_compound(argument);
    if address || argument.iter().any(changes) || choice && !compound {
        return None;
    }
    let value = Parser::new(argument, names, scope).settled(slots)?;
    Some(Known {
        value,
        compound,
        choice,
    })
}

/// True if a value in place of `parameter`, behind `last`, means the same as the tokens it was computed from:
/// no neighbouring operator would bind to only a part of them, and no neighbour is glued to them.
fn fits(
    known: &Known,
    parameter: Token<'_>,
    [before, after]: [Option<&Lexeme>; 2],
    last: Option<&Token<'_>>,
) -> bool {
    let joins = |tok: &Tok| is_operator(tok) || !known.choice && is_choice(tok);
    let opens = |t: &Token<'_>| match t.tok {
        Tok::Punct(p) if matches!(p.first(), Some(b'(' | b'[' | b'{' | b',' | b'=')) => true,
        Tok::Name(_) => !parameter.glued,
        // The last token may come from another parameter: it counts only if the source has a joining token
        // there as well.
        tok => joins(tok) && before.is_some_and(|t| joins(&t.tok)),
    };
    let closes = |t: &Lexeme| match &t.tok {
        Tok::Punct(p) if matches!(p.first(), Some(b')' | b']' | b'}' | b',')) => true,
        Tok::Name(_) => !t.glued,
        tok => joins(tok) || tok.is("{") && !t.glued,
    };
    last.is_none_or(opens) && after.is_none_or(closes)
}

/// True for tokens that separate whole expressions: `?`, `:` and `||`.
fn is_choice(tok: &Tok) -> bool {
    tok.is("?") || tok.is(":") || tok.is("||")
}

/// True for operators within an expression. The token `||` is not counted: it may separate slots.
fn is_operator(tok: &Tok) -> bool {
    matches!(tok, Tok::Punct(p) if !tok.is("||") && (Binary::of(*p).is_some() || tok.is("~") || tok.is("!")))
}

/// True if a macro argument is an expression that adjacent operators would split. Operands such as `[a0]+8`
/// and `s1%` are not.
fn is_compound(argument: &[Token<'_>]) -> bool {
    let joins = |t: &Token<'_>| matches!(t.tok, Tok::Known(k) if k.compound) || is_operator(t.tok);
    argument.len() > 1
        && !argument.first().is_some_and(|t| t.tok.is("["))
        && !argument
            .last()
            .is_some_and(|t| t.tok.is("%") || t.tok.is("!"))
        && argument.iter().any(joins)
}
