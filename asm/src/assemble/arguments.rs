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

/// What the parameters of a macro stand for in one of its expansions.
#[derive(Debug)]
pub(super) struct Arguments<'c> {
    pub(super) definition: &'c Macro,
    /// One for each parameter.
    pub(super) bound: Vec<Argument<'c>>,
}

impl<'c> Arguments<'c> {
    /// What the parameter of that name stands for: parameters are few, so that
    /// looking through them is faster than a table.
    pub(super) fn of(&'c self, name: &Rc<str>) -> Option<&'c Argument<'c>> {
        let parameters = || self.definition.parameters.iter();
        // One file has one text of a name; a macro's is in one file.
        let place = parameters().position(|p| Rc::ptr_eq(&p.name, name))?;
        self.bound.get(place)
    }

    /// The names of the parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.definition.parameters.iter().map(|p| p.name.as_ref())
    }
}

/// What a parameter stands for.
#[derive(Debug)]
pub(super) struct Argument<'c> {
    tokens: &'c [Token<'c>],
    /// The scope of names that do not belong to another already.
    scope: Option<Scope>,
    /// Whether it closes every bracket that it opens, and no other.
    whole: bool,
    /// The value that stands in the place of the tokens.
    known: Option<Tok>,
    /// Place of the last token.
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

    /// A value, without the tokens it is of.
    pub(super) fn of_value(known: Known, last: Span) -> Self {
        Self {
            tokens: &[],
            scope: None,
            whole: true,
            known: Some(Tok::Known(known)),
            last,
        }
    }

    /// The value that stands in the place of its tokens.
    pub(super) fn known(&self) -> Option<Known> {
        match self.known {
            Some(Tok::Known(known)) => Some(known),
            _ => None,
        }
    }

    /// The number that it is.
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

    /// Place of its last token where it stands behind `before` at the end of something, in the
    /// place of `parameter`.
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

    /// The same argument where it is one of a further call.
    pub(super) fn passed(&self, scope: Scope) -> Self {
        Self {
            tokens: self.tokens,
            scope: self.scope.or(Some(scope)),
            whole: self.whole,
            known: self.known.clone(),
            last: self.last,
        }
    }

    /// The name that it is, where it is nothing else.
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

    /// Puts a value in the place of the tokens, where they have one now and the same until they
    /// are used: it is read once and stands for them wherever it [fits](fits).
    pub(super) fn fold(&mut self, names: &Table, scope: Scope) {
        self.known = match self.tokens {
            // A single token costs nothing, and may be asked what it is called.
            [Token { tok, .. }] => Some(*tok).filter(|t| matches!(t, Tok::Known(_))).cloned(),
            tokens => known(tokens, names, scope, true).map(Tok::Known),
        };
    }

    /// Puts the argument behind `out`, the line since `begin`, in the place of `parameter`, which
    /// stands `between` two tokens: in parentheses where operators there would tear it apart.
    /// False where its value does not fit.
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

/// Brackets that are open behind the tokens; none where one is closed that was not open.
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

/// Tokens up to a comma outside of brackets.
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

/// The tokens of a parameter's default.
pub(super) fn default(p: &mut Parser<'_, '_>) -> Result<Vec<Lexeme>, Fail> {
    let lexeme = |t: &Token<'_>| Lexeme {
        tok: t.tok.clone(),
        at: t.at,
        glued: t.glued,
    };
    Ok(argument(p)?.iter().map(lexeme).collect())
}

/// The value of the tokens, where they have one now and the same until they are used;
/// `slots` as where they are used.
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

/// Whether a value in the place of `parameter`, behind `last`, is the same there as the tokens
/// it is of: nothing beside it would take a part of them, or is glued to them.
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
        // What another parameter ends with parts nothing off.
        tok => joins(tok) && before.is_some_and(|t| joins(&t.tok)),
    };
    let closes = |t: &Lexeme| match &t.tok {
        Tok::Punct(p) if matches!(p.first(), Some(b')' | b']' | b'}' | b',')) => true,
        Tok::Name(_) => !t.glued,
        tok => joins(tok) || tok.is("{") && !t.glued,
    };
    last.is_none_or(opens) && after.is_none_or(closes)
}

/// Whether the token joins whole expressions.
fn is_choice(tok: &Tok) -> bool {
    tok.is("?") || tok.is(":") || tok.is("||")
}

/// Whether the token joins values of an expression.
fn is_operator(tok: &Tok) -> bool {
    matches!(tok, Tok::Punct(p) if !tok.is("||") && (Binary::of(*p).is_some() || tok.is("~") || tok.is("!")))
}

/// Whether a macro argument is an expression that operators around it would
/// tear apart. `[a0]+8` and `s1%` are none.
fn is_compound(argument: &[Token<'_>]) -> bool {
    let joins = |t: &Token<'_>| matches!(t.tok, Tok::Known(k) if k.compound) || is_operator(t.tok);
    argument.len() > 1
        && !argument.first().is_some_and(|t| t.tok.is("["))
        && !argument
            .last()
            .is_some_and(|t| t.tok.is("%") || t.tok.is("!"))
        && argument.iter().any(joins)
}
