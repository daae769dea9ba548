//! Walks the blocks: repetitions, conditions, macro calls, lines.

use super::arguments::{Arguments, known};
use super::call::numbers;
use super::limits;
use super::state::{Assembler, Context};
use crate::diag::{Fail, Problem, nearest};
use crate::source::Span;
use crate::syntax::{Arm, Lexeme, Node, Numbers, Parser, Piece, Tok, Token};

impl Assembler<'_> {
    /// Expands and assembles nodes in order.
    pub(super) fn expand(&mut self, nodes: &[Node], context: &Context<'_>) {
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
                Node::Line(line) if self.called(line, context) => Ok(()),
                Node::Line(line) => self
                    .substitute(&line.tokens, context)
                    .map(|line| self.line(&line, context)),
                Node::Repeat { head, body } => self.repeat(head, body, context),
                Node::Macro { head, body } => self.define(head, body, context),
                Node::If { arms } => self.choose(arms, context),
            };
            if let Err(fail) = done {
                self.error(fail, context.chain);
            }
        }
    }

    /// Returns the line with macro parameters replaced by their arguments.
    pub(super) fn substitute<'t>(
        &mut self,
        line: &'t [Lexeme],
        context: &'t Context<'t>,
    ) -> Result<Vec<Token<'t>>, Fail> {
        let mut out = Vec::with_capacity(2 * line.len());
        fill(line, context, &mut out)?;
        self.count_tokens(out.len(), line, context);
        Ok(out)
    }

    /// Adds the expanded tokens of a line to the total, which is limited.
    pub(super) fn count_tokens(&mut self, tokens: usize, line: &[Lexeme], context: &Context<'_>) {
        self.tokens += tokens as u64;
        if self.tokens > limits::ALL_TOKENS {
            let at = line.first().map_or(Span::START, |t| t.at);
            self.halt(
                "the number of expanded tokens",
                limits::ALL_TOKENS,
                at,
                context.chain,
            );
        }
    }

    /// Carries out `.if`, `.elif`, `.else`: expands the first arm whose condition holds.
    fn choose(&mut self, arms: &[Arm], context: &Context<'_>) -> Result<(), Fail> {
        for Arm {
            head,
            condition,
            body,
        } in arms
        {
            let numbers = numbers(condition, context).filter(|_| self.names.folds);
            let known = numbers
                .as_ref()
                .and_then(|n| condition.value(n, self.reading));
            let holds = match known {
                Some(known) => known.value.is_true(),
                None => self.holds(head, (condition, numbers), context)?,
            };
            if holds {
                self.expand(
                    body,
                    &Context {
                        depth: context.depth + 1,
                        ..*context
                    },
                );
                return Ok(());
            }
        }
        Ok(())
    }

    /// Evaluates the condition of an arm; `.else` always holds.
    fn holds(
        &mut self,
        head: &[Lexeme],
        (condition, numbers): (&Piece, Option<Numbers>),
        context: &Context<'_>,
    ) -> Result<bool, Fail> {
        let head = self.substitute(head, context)?;
        let mut p = Parser::new(&head, &self.names, context.scope);
        if p.next().and_then(|t| t.tok.name()) == Some(".else") {
            p.end()?;
            return Ok(true);
        }
        if let Some(numbers) = numbers {
            self.names.counted.set(false);
            let value = known(p.rest(), &self.names, context.scope, false);
            if let Some(known) = value.filter(|_| !self.names.counted.get()) {
                condition.keep(numbers, known, self.reading);
                return Ok(known.value.is_true());
            }
        }
        let (value, _) = p.constant()?;
        p.end()?;
        Ok(value.is_true())
    }
}

/// Appends the tokens of a line to `out`, with parameters replaced by their arguments.
pub(super) fn fill<'t>(
    line: &'t [Lexeme],
    context: &'t Context<'t>,
    out: &mut Vec<Token<'t>>,
) -> Result<(), Fail> {
    let begin = out.len();
    for (place, token) in line.iter().enumerate() {
        let Tok::Param(name) = &token.tok else {
            out.push(token.token());
            continue;
        };
        let Some(argument) = context.argument(name) else {
            let known = context.arguments.into_iter().flat_map(Arguments::names);
            let problem = Problem::UnknownParameter {
                name: name.to_string(),
                near: nearest(name, known),
            };
            return Err(Fail::new(problem, token.at));
        };
        let between = [
            place.checked_sub(1).and_then(|i| line.get(i)),
            line.get(place + 1),
        ];
        if !argument.put(token.token(), between, begin, out) {
            // Nobody sees this error: the source is read again as written.
            return Err(Fail::new(Problem::Overflow, token.at));
        }
        if out.len() - begin > limits::TOKENS {
            let problem = Problem::Limit {
                what: "the number of tokens in a line",
                limit: limits::TOKENS as u64,
            };
            return Err(Fail::new(problem, token.at));
        }
    }
    Ok(())
}
