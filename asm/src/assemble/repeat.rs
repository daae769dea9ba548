//! `.rept`: repetitions.

use super::limits;
use super::state::{Assembler, Context, PendingWord};
use crate::diag::{Fail, Problem, SharedExpansion};
use crate::expansion::Expansion;
use crate::syntax::{Lexeme, Node, Parser};
use std::ops::Range;
use std::rc::Rc;

impl Assembler<'_> {
    /// Expands `.rept count` or `.rept count, counter`.
    pub(super) fn repeat(
        &mut self,
        head: &[Lexeme],
        body: &Rc<[Node]>,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
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
        let mut first: Option<Iteration> = None;
        for i in 0..count {
            // An empty body counts as a line too, since its iterations take time.
            if !self.count_line(opener, context.chain) {
                break;
            }
            let what = Expansion::Iteration(counter.clone(), i);
            let room = limits::WORDS - self.words.len().min(limits::WORDS);
            if let Some(first) = first.as_ref().filter(|f| f.words.len() <= room) {
                self.again(first, what);
                continue;
            }
            let scope = self.names.counter_scope(context.scope, counter.clone(), i);
            let (words, frames, lines) = (self.words.len(), self.sink.frames(), self.lines);
            let done = self.names.done.get();
            let chain = self.sink.expand(what, opener, context.chain);
            self.expand(
                body,
                &Context {
                    scope,
                    chain,
                    depth: context.depth + 1,
                    ..*context
                },
            );
            self.names.leave(scope);
            let same = counter.is_empty() && done == self.names.done.get();
            first = Some(Iteration {
                words: words..self.words.len(),
                frames: frames..self.sink.frames(),
                lines: self.lines - lines,
            });
            first = first.filter(|_| same && self.names.folds);
        }
        Ok(())
    }

    /// Appends the words of an iteration once more instead of expanding the body again.
    fn again(&mut self, iteration: &Iteration, what: SharedExpansion) {
        let by = self.sink.repeat(iteration.frames.clone(), what);
        for place in iteration.words.clone() {
            let word = self.words.get(place).cloned();
            self.words.extend(word.map(|word| PendingWord {
                chain: word.chain.later(by),
                ..word
            }));
        }
        self.lines += iteration.lines;
    }
}

/// An iteration that added words and nothing else, and used nothing that changes between iterations.
struct Iteration {
    words: Range<usize>,
    /// Expansions that the words came from: a range of the frames.
    frames: Range<usize>,
    /// Number of lines that the iteration expanded to.
    lines: u64,
}
