//! Macros: their definitions and calls.

use super::arguments::{Argument, Arguments, argument, default};
use super::expand::fill;
use super::state::{Assembler, Context, Macro, Parameter};
use super::symbols::redefined;
use crate::diag::{Fail, Problem};
use crate::expansion::Expansion;
use crate::isa::Isa;
use crate::source::Span;
use crate::syntax::{Known, Lexeme, Line, Node, Numbers, Parser, Piece, Tok, Token};
use std::ops::Range;
use std::rc::Rc;

impl Assembler<'_> {
    /// Defines a macro: `.macro name p, q=default`.
    pub(super) fn define(
        &mut self,
        head: &[Lexeme],
        body: &Rc<[Node]>,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        self.names.note();
        let at = head.first().map_or(Span::START, |t| t.at);
        if context.arguments.is_some() {
            let what = "`.macro`".to_owned();
            return Err(Fail::new(
                Problem::Misplaced {
                    what,
                    why: "define the macro outside of other macros",
                },
                at,
            ));
        }
        let head: Vec<_> = head.iter().map(Lexeme::token).collect();
        let mut p = Parser::new(&head, &self.names, context.scope);
        p.next();
        let name = p.name("the macro's name")?;
        // A macro hides a row of a machine file: sources that know nothing of the row stay as they are.
        if super::select::is_mnemonic(&name.text, Isa::BASE) {
            return Err(Fail::new(
                Problem::Reserved {
                    name: name.text.to_string(),
                    what: "an instruction",
                },
                name.at,
            ));
        }
        if name.text.starts_with('.') {
            return Err(Fail::new(
                Problem::Reserved {
                    name: name.text.to_string(),
                    what: "a directive or local label",
                },
                name.at,
            ));
        }
        if let Some(old) = self.macros.get(&*name.text) {
            return Err(redefined(&name.text, name.at, Some(old.at)));
        }
        let mut parameters: Vec<Parameter> = Vec::new();
        while !p.at_end() {
            let parameter = p.name("a parameter")?;
            if parameters.iter().any(|q| *q.name == *parameter.text) {
                return Err(redefined(&parameter.text, parameter.at, None));
            }
            let default = if p.eat("=") {
                Some(default(&mut p)?)
            } else {
                None
            };
            parameters.push(Parameter {
                name: parameter.text.shared(),
                default,
            });
            if !p.at_end() {
                p.expect(",")?;
            }
        }
        self.macros.insert(
            name.text.shared(),
            Rc::new(Macro {
                parameters,
                body: body.clone(),
                at: name.at,
            }),
        );
        Ok(())
    }

    /// Carries out a macro call whose arguments begin at token `first` of the line: binds the arguments and
    /// expands the body.
    pub(super) fn call(
        &mut self,
        name: &str,
        at: Span,
        line: &[Token<'_>],
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        let Some((name, definition)) = self.macros.get_key_value(name) else {
            return Ok(());
        };
        let (name, definition) = (name.clone(), definition.clone());
        let most = definition.parameters.len();
        let mut bound = Vec::with_capacity(most);
        let mut p = Parser::new(line, &self.names, context.scope);
        while !p.at_end() {
            let mut argument = Argument::new(argument(&mut p)?, Some(context.scope));
            if self.names.folds {
                argument.fold(&self.names, context.scope);
            }
            bound.push(argument);
            if !p.at_end() {
                p.expect(",")?;
                if p.at_end() {
                    return p.expected("an argument");
                }
            }
        }
        let parameters = &definition.parameters;
        if bound.len() > most {
            let what = format!("macro `{name}`");
            let fail = Fail::new(
                Problem::ArgumentCount {
                    what,
                    fewest: parameters.iter().filter(|q| q.default.is_none()).count(),
                    most,
                    found: bound.len(),
                },
                at,
            );
            return Err(fail.related(definition.at, "defined here"));
        }
        let mut others = parameters.iter().skip(bound.len());
        if let Some(missing) = others.find(|q| q.default.is_none()) {
            let problem = Problem::MissingArgument {
                name: name.to_string(),
                parameter: missing.name.to_string(),
            };
            return Err(Fail::new(problem, at).related(definition.at, "defined here"));
        }
        self.enter((&name, at), &definition, bound, context);
        Ok(())
    }

    /// Carries out a line that calls a macro without parsing it again, if the places of its arguments are
    /// known from the source as written. Returns false, having done nothing, for all other lines, flawed ones
    /// included.
    pub(super) fn called(&mut self, line: &Line, context: &Context<'_>) -> bool {
        let Some((first, places)) = line.tokens.first().zip(line.arguments.as_ref()) else {
            return false;
        };
        let name = match &first.tok {
            Tok::Name(name) => Some((name, first.at)),
            Tok::Param(name) => context.argument(name).and_then(Argument::name),
            _ => None,
        };
        let found = name.filter(|_| self.names.folds);
        let found = found.and_then(|(name, at)| Some((self.macros.get_key_value(name)?, at)));
        let Some(((name, definition), at)) = found else {
            return false;
        };
        let (name, definition) = (name.clone(), definition.clone());
        let parameters = &definition.parameters;
        let mut others = parameters.iter().skip(places.len());
        if places.len() > parameters.len() || others.any(|q| q.default.is_none()) {
            return false;
        }
        let passed = |tokens: &[Lexeme]| match tokens {
            [
                Lexeme {
                    tok: Tok::Param(name),
                    ..
                },
            ] => context.argument(name),
            _ => None,
        };
        // Each argument is passed on unchanged, known by its value, or read into `made`, which holds the
        // tokens of all arguments that are read, in order.
        let mut made = Vec::with_capacity(2 * line.tokens.len());
        let mut found = Vec::with_capacity(places.len());
        for piece in places {
            let tokens = line.tokens.get(piece.place.clone()).unwrap_or(&[]);
            found.push(if let Some(argument) = passed(tokens) {
                if !argument.is_whole() {
                    return false;
                }
                Found::Passed(argument)
            } else if let Some(known) = self.seen(piece, tokens, context) {
                Found::Known(known, last_of(tokens, context))
            } else {
                let begin = made.len();
                // Unbalanced brackets in an argument change which commas separate arguments.
                if !whole(tokens, context) || fill(tokens, context, &mut made).is_err() {
                    return false;
                }
                Found::Read(begin..made.len())
            });
        }
        self.count_tokens(made.len(), &line.tokens, context);
        let bound = found
            .into_iter()
            .zip(places)
            .map(|(found, piece)| match found {
                Found::Passed(argument) => argument.passed(context.scope),
                Found::Known(known, last) => Argument::of_value(known, last),
                Found::Read(place) => {
                    let tokens = made.get(place).unwrap_or(&[]);
                    let mut argument = Argument::new(tokens, Some(context.scope));
                    self.names.counted.set(false);
                    argument.fold(&self.names, context.scope);
                    if let Some(known) = argument.known().filter(|_| !self.names.counted.get())
                        && let Some(numbers) = numbers(piece, context)
                    {
                        piece.keep(numbers, known, self.reading);
                    }
                    argument
                }
            });
        let bound = bound.collect();
        self.enter((&name, at), &definition, bound, context);
        true
    }

    /// Returns the remembered value of an argument of several tokens for the numbers that its parameters
    /// stand for now.
    fn seen(&self, piece: &Piece, tokens: &[Lexeme], context: &Context<'_>) -> Option<Known> {
        let several = tokens.len() > 1;
        let numbers = numbers(piece, context).filter(|_| several)?;
        piece.value(&numbers, self.reading)
    }

    /// Expands a macro with the given arguments; defaults fill in the rest.
    fn enter(
        &mut self,
        (name, at): (&Rc<str>, Span),
        definition: &Macro,
        bound: Vec<Argument<'_>>,
        context: &Context<'_>,
    ) {
        let mut bound = bound;
        let others = definition.parameters.iter().skip(bound.len());
        let defaults: Vec<Vec<_>> = others
            .map(|q| q.default.iter().flatten().map(Lexeme::token).collect())
            .collect();
        bound.extend(defaults.iter().map(|tokens| Argument::new(tokens, None)));
        let arguments = Arguments { definition, bound };
        let what = Expansion::Macro(name.clone());
        let context = Context {
            scope: self.names.macro_scope(),
            chain: self.sink.expand(what, at, context.chain),
            arguments: Some(&arguments),
            depth: context.depth + 1,
            file: context.file,
        };
        self.expand(&definition.body, &context);
        self.names.leave(context.scope);
    }
}

/// Argument of a macro call within a macro's body.
enum Found<'c> {
    /// A parameter of the enclosing macro and nothing else: its argument is passed on.
    Passed(&'c Argument<'c>),
    /// A value that is already known, and the position of its last token.
    Known(Known, Span),
    /// Range of the argument's tokens in the buffer of tokens that were read.
    Read(Range<usize>),
}

/// Returns the numbers that the parameters in a piece of a line stand for, if all of them are numbers.
pub(super) fn numbers(piece: &Piece, context: &Context<'_>) -> Option<Numbers> {
    piece.numbers(|name| context.argument(name)?.number())
}

/// Iterates over the arguments of the parameters among the tokens.
fn within<'c>(tokens: &[Lexeme], context: &Context<'c>) -> impl Iterator<Item = &'c Argument<'c>> {
    tokens.iter().filter_map(|token| match &token.tok {
        Tok::Param(name) => context.argument(name),
        _ => None,
    })
}

/// True if every argument among the tokens has balanced brackets.
fn whole(tokens: &[Lexeme], context: &Context<'_>) -> bool {
    within(tokens, context).all(Argument::is_whole)
}

/// Returns the source position of the last token, with parameters replaced by their arguments.
fn last_of(tokens: &[Lexeme], context: &Context<'_>) -> Span {
    let Some((last, before)) = tokens.split_last() else {
        return Span::START;
    };
    let argument = within(std::slice::from_ref(last), context).next();
    argument.map_or(last.at, |argument| argument.last(last, before.last()))
}
