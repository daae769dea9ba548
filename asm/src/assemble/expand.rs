//! Walks the blocks: repetitions, conditions, macro calls, lines.

use super::arguments::Arguments;
use super::limits;
use super::state::{Assembler, Context, Macro, Parameter};
use super::symbols::redefined;
use crate::diag::{Chain, Expansion, Fail, Problem, nearest};
use crate::source::Span;
use crate::syntax::{Node, Parser, Scope, Tok, Token};
use std::borrow::Cow;
use std::rc::Rc;

impl Assembler<'_> {
    /// Expands and assembles nodes in order.
    pub(super) fn expand(&mut self, nodes: &[Node], context: &Context) {
        let Some(first) = nodes.first().and_then(|n| n.head().first()) else {
            return;
        };
        if context.depth > limits::DEPTH {
            return self.halt(
                "the nesting of expansions",
                limits::DEPTH.into(),
                first.at,
                context.chain,
            );
        }
        for node in nodes {
            let at = node.head().first().map_or(first.at, |t| t.at);
            if self.halted || !self.count_line(at, context.chain) {
                return;
            }
            self.locate();
            let done = match node {
                Node::Line(line) => self
                    .substitute(line, context)
                    .map(|line| self.line(line, context)),
                Node::Repeat { head, body } => self.repeat(head, body, context),
                Node::Macro { head, body } => self.define(head, body, context),
                Node::If { arms } => self.choose(arms, context),
            };
            if let Err(fail) = done {
                self.error(fail, context.chain);
            }
        }
    }

    /// The line with macro parameters filled in.
    fn substitute<'t>(
        &mut self,
        line: &'t [Token],
        context: &Context,
    ) -> Result<Cow<'t, [Token]>, Fail> {
        let out = if line.iter().any(|t| matches!(*t.tok, Tok::Param(_))) {
            Cow::Owned(Self::filled(line, context)?)
        } else {
            Cow::Borrowed(line)
        };
        self.tokens += out.len() as u64;
        if self.tokens > limits::ALL_TOKENS {
            let at = line.first().map_or(Span::START, |t| t.at);
            self.halt(
                "the number of expanded tokens",
                limits::ALL_TOKENS,
                at,
                context.chain,
            );
        }
        Ok(out)
    }

    fn filled(line: &[Token], context: &Context) -> Result<Vec<Token>, Fail> {
        // Stretches are copied at once: token by token takes several times as long.
        let mut out: Vec<Token> = Vec::with_capacity(2 * line.len());
        let mut copied = 0;
        for (place, token) in line.iter().enumerate() {
            let Tok::Param(name) = &*token.tok else {
                continue;
            };
            out.extend_from_slice(line.get(copied..place).unwrap_or(&[]));
            copied = place + 1;
            let arguments = context.arguments.as_deref();
            let Some(argument) = arguments.and_then(|all| all.of(name)) else {
                let known = arguments.into_iter().flat_map(Arguments::names);
                let problem = Problem::UnknownParameter {
                    name: name.to_string(),
                    near: nearest(name, known),
                };
                return Err(Fail::new(problem, token.at));
            };
            let neighbours = [
                place.checked_sub(1).and_then(|i| line.get(i)),
                line.get(place + 1),
            ];
            let wrap = neighbours.into_iter().flatten().any(is_operator) && is_compound(argument);
            let paren = |p| Token {
                tok: Rc::new(Tok::Punct(p)),
                glued: false,
                ..token.clone()
            };
            out.extend(wrap.then(|| paren("(")));
            let first = out.len();
            out.extend_from_slice(argument);
            if let Some(part) = out.get_mut(first) {
                part.glued = token.glued && !wrap;
            }
            out.extend(wrap.then(|| paren(")")));
            if out.len() > limits::TOKENS {
                let problem = Problem::Limit {
                    what: "the number of tokens in a line",
                    limit: limits::TOKENS as u64,
                };
                return Err(Fail::new(problem, token.at));
            }
        }
        out.extend_from_slice(line.get(copied..).unwrap_or(&[]));
        Ok(out)
    }

    /// `.rept count` or `.rept count, counter`.
    fn repeat(&mut self, head: &[Token], body: &Rc<[Node]>, context: &Context) -> Result<(), Fail> {
        let head = self.substitute(head, context)?;
        let mut p = Parser::new(&head, &self.names, context.scope);
        p.next();
        let (count, at) = p.constant_int("a repetition count")?;
        let counter: Rc<str> = if p.eat(",") {
            let counter = p.name("a counter")?;
            self.names.check_free(&counter.text, counter.at)?;
            counter.text.shared()
        } else {
            "".into()
        };
        p.end()?;
        if !(0..=limits::REPEAT).contains(&count) {
            let what = "a repetition count".to_owned();
            return Err(Fail::new(
                Problem::OutOfRange {
                    what,
                    value: count,
                    least: 0,
                    most: limits::REPEAT,
                },
                at,
            ));
        }
        let opener = head.first().map_or(at, |t| t.at);
        for i in 0..count {
            // An empty body counts too: it takes time.
            if !self.count_line(opener, context.chain) {
                break;
            }
            let scope = self.names.counter_scope(context.scope, counter.clone(), i);
            let what = Expansion::Iteration(counter.clone(), i);
            let chain = self.sink.expand(what, opener, context.chain);
            self.expand(
                body,
                &Context {
                    scope,
                    chain,
                    depth: context.depth + 1,
                    ..context.clone()
                },
            );
        }
        Ok(())
    }

    /// `.if`, `.elif`, `.else`: the first arm whose condition holds.
    fn choose(&mut self, arms: &[(Vec<Token>, Rc<[Node]>)], context: &Context) -> Result<(), Fail> {
        for (head, body) in arms {
            let head = self.substitute(head, context)?;
            let mut p = Parser::new(&head, &self.names, context.scope);
            let holds = if p.next().and_then(Token::name) == Some(".else") {
                p.end()?;
                true
            } else {
                let (value, _) = p.constant()?;
                p.end()?;
                value.is_true()
            };
            if holds {
                self.expand(
                    body,
                    &Context {
                        depth: context.depth + 1,
                        ..context.clone()
                    },
                );
                return Ok(());
            }
        }
        Ok(())
    }

    /// `.macro name p, q=default`.
    fn define(&mut self, head: &[Token], body: &Rc<[Node]>, context: &Context) -> Result<(), Fail> {
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
        let mut p = Parser::new(head, &self.names, context.scope);
        p.next();
        let name = p.name("the macro's name")?;
        if super::select::is_mnemonic(&name.text) {
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
                Some(argument(&mut p)?.to_vec())
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

    /// A macro's call, whose arguments begin at token `first` of the line: binds
    /// them and expands the body.
    pub(super) fn call(
        &mut self,
        name: &str,
        at: Span,
        (line, first): (Cow<'_, [Token]>, usize),
        context: &Context,
    ) -> Result<(), Fail> {
        let Some((name, definition)) = self.macros.get_key_value(name) else {
            return Ok(());
        };
        let (name, definition) = (name.clone(), definition.clone());
        let most = definition.parameters.len();
        let mut given = Vec::with_capacity(most);
        let mut p = Parser::new(line.get(first..).unwrap_or(&[]), &self.names, context.scope);
        while !p.at_end() {
            let before = line.len() - p.rest().len();
            let tokens = argument(&mut p)?.len();
            given.push(before..before + tokens);
            if !p.at_end() {
                p.expect(",")?;
                if p.at_end() {
                    return p.expected("an argument");
                }
            }
        }
        let parameters = &definition.parameters;
        if given.len() > most {
            let what = format!("macro `{name}`");
            let fail = Fail::new(
                Problem::ArgumentCount {
                    what,
                    fewest: parameters.iter().filter(|q| q.default.is_none()).count(),
                    most,
                    found: given.len(),
                },
                at,
            );
            return Err(fail.related(definition.at, "defined here"));
        }
        let mut others = parameters.iter().skip(given.len());
        if let Some(missing) = others.find(|q| q.default.is_none()) {
            let problem = Problem::MissingArgument {
                name: name.to_string(),
                parameter: missing.name.to_string(),
            };
            return Err(Fail::new(problem, at).related(definition.at, "defined here"));
        }
        let arguments = Arguments::new(definition.clone(), line.into_owned(), given, context.scope);
        let scope: Scope = self.names.macro_scope();
        let chain: Chain = self
            .sink
            .expand(Expansion::Macro(name.clone()), at, context.chain);
        let context = Context {
            scope,
            chain,
            arguments: Some(Rc::new(arguments)),
            depth: context.depth + 1,
            file: context.file,
        };
        self.expand(&definition.body, &context);
        Ok(())
    }
}

/// Whether the token joins values of an expression.
fn is_operator(token: &Token) -> bool {
    matches!(*token.tok, Tok::Punct(p) if p != "||" && (crate::expr::Binary::by_text(p).is_some() || p == "~" || p == "!"))
}

/// Whether a macro argument is an expression that operators around it would
/// tear apart. `[a0]+8` and `s1%` are none.
fn is_compound(argument: &[Token]) -> bool {
    argument.len() > 1
        && !argument.first().is_some_and(|t| t.is("["))
        && !argument.last().is_some_and(|t| t.is("%") || t.is("!"))
        && argument.iter().any(is_operator)
}

/// Tokens up to a comma outside of brackets.
fn argument<'t>(p: &mut Parser<'t, '_>) -> Result<&'t [Token], Fail> {
    let rest = p.rest();
    let mut open = 0_u32;
    while let Some(token) = p.peek() {
        match &*token.tok {
            Tok::Punct(",") if open == 0 => break,
            Tok::Punct("(" | "[" | "{") => open += 1,
            Tok::Punct(")" | "]" | "}") => open = open.saturating_sub(1),
            _ => {}
        }
        p.next();
    }
    match rest.len() - p.rest().len() {
        0 => p.expected("an argument"),
        tokens => Ok(rest.get(..tokens).unwrap_or(rest)),
    }
}
