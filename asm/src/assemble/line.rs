//! Assembles one source line.
//!
//! A line holds labels, then a word, a directive, a macro call or the end of a loop block.

use super::limits;
use super::select::{Selected, select};
use super::state::{Assembler, Context, PendingWord, Section};
use crate::diag::{Chain, Fail, Problem};
use crate::isa::Slot;
use crate::program::SymbolKind;
use crate::source::Span;
use crate::syntax::{AllowedWarnings, Arg, Parser, Slots, Token};

impl Assembler<'_> {
    /// Assembles one line and reports its first error.
    pub(super) fn line(&mut self, tokens: &[Token<'_>], context: &Context<'_>) {
        if let Err(fail) = self.statement(tokens, context) {
            self.error(fail, context.chain);
        }
    }

    fn statement(&mut self, tokens: &[Token<'_>], context: &Context<'_>) -> Result<(), Fail> {
        let mut rest = tokens;
        while let Some(after) = self.label(rest, context)? {
            rest = after;
        }
        let Some(first) = rest.first() else {
            return Ok(());
        };
        if first.tok.is("}") {
            let mut p = Parser::new(rest, &self.names, context.scope);
            p.next();
            p.end()?;
            self.refuse_in_block("`}`", first.at)?;
            return self.close(first.at);
        }
        let mut p = Parser::new(rest, &self.names, context.scope);
        let name = p.name("a label, an instruction, a directive or `}`")?;
        if name.text.starts_with('.') {
            let arguments = p.rest();
            return self.directive(&name.text, name.at, arguments, context);
        }
        if self.macros.contains_key(&*name.text) {
            return self.call(&name.text, name.at, p.rest(), context);
        }
        if self.linear.is_some() {
            return self.linear_operation(rest, context);
        }
        match Parser::new(rest, &self.names, context.scope).word() {
            Ok(word) => self.word(word, context),
            Err(fail) => {
                if self.section == Section::Program {
                    let opens = rest.last().is_some_and(|t| t.tok.is("{"));
                    self.push(first.at, opens, AllowedWarnings::default(), context);
                }
                Err(fail)
            }
        }
    }

    /// Appends a word to the program; its operations follow. A flawed word takes a place too, so that later
    /// addresses are right.
    fn push(
        &mut self,
        at: Span,
        opens: bool,
        allowed: AllowedWarnings,
        context: &Context<'_>,
    ) -> Option<usize> {
        let pc = self.words.len();
        if self.is_program_full(at, context.chain) {
            return None;
        }
        let (insts, chain) = (Vec::new(), context.chain);
        self.words.push(PendingWord {
            insts,
            at,
            chain,
            allowed,
            block_end: None,
        });
        if opens {
            self.names.note();
            self.blocks.push((pc, at, chain));
        }
        Some(pc)
    }

    /// Returns true if no word has room any more, which is reported.
    pub(super) fn is_program_full(&mut self, at: Span, chain: Chain) -> bool {
        let pc = self.words.len();
        if pc < limits::WORDS {
            return false;
        }
        let whose = "the largest program has".to_owned();
        let problem = Problem::ProgramFull {
            words: pc + 1,
            most: limits::WORDS,
            whose,
        };
        self.error(Fail::new(problem, at), chain);
        self.halted = true;
        true
    }

    /// Refuses a label, the begin or the end of a loop inside a linear block or a chain.
    fn refuse_in_block(&self, what: &str, at: Span) -> Result<(), Fail> {
        let what = what.to_owned();
        let (why, begin) = match (&self.linear, &self.open_chain) {
            (Some(block), _) => (
                "a linear block holds operations without branches or loops",
                (block.at, "the block begins here"),
            ),
            (None, Some(open)) => (
                "between the blocks of a chain stand loads, stores and arithmetic",
                (open.at, "the chain begins here"),
            ),
            (None, None) => return Ok(()),
        };
        let fail = Fail::new(Problem::Misplaced { what, why }, at);
        Err(fail.related(begin.0, begin.1))
    }

    /// Takes `name:` off the front of the line, if the line begins with a label.
    fn label<'t>(
        &mut self,
        tokens: &'t [Token<'t>],
        context: &Context<'_>,
    ) -> Result<Option<&'t [Token<'t>]>, Fail> {
        let mut p = Parser::new(tokens, &self.names, context.scope);
        // Most lines have no label: the second token shows that without reading a name of several parts.
        let may = |next: &Token<'_>| next.glued || next.tok.is(":");
        if !p.at_name() || !tokens.get(1).is_some_and(may) {
            return Ok(None);
        }
        let name = p.name("a label")?;
        if !p.eat(":") {
            return Ok(None);
        }
        let rest = p.rest();
        self.refuse_in_block("a label", name.at)?;
        let (kind, value) = match self.section {
            Section::Program => (SymbolKind::Program, self.words.len() as i64),
            Section::Dmem => (SymbolKind::Dmem, self.dmem as i64),
        };
        self.names
            .label(&name.text, name.scope, kind, value, name.at)?;
        Ok(Some(rest))
    }

    fn word(&mut self, word: Slots<'_>, context: &Context<'_>) -> Result<(), Fail> {
        if self.section != Section::Program {
            let what = "an instruction".to_owned();
            return Err(Fail::new(
                Problem::WrongSection {
                    what,
                    section: "the DMEM section",
                },
                word.at,
            ));
        }
        let opens = word
            .insts
            .iter()
            .any(|i| matches!(i.args.last(), Some((Arg::Block, _))));
        if opens {
            self.refuse_in_block("a loop", word.at)?;
        }
        let Some(pc) = self.push(word.at, opens, word.allowed, context) else {
            return Ok(());
        };
        let mut insts: Vec<Selected> = Vec::with_capacity(word.insts.len());
        let mut failed = false;
        for source in word.insts {
            match select(
                source,
                self.options.isa(),
                self.macros.keys().map(AsRef::as_ref),
            ) {
                Ok(selected) => insts.push(selected),
                Err(fail) => {
                    failed = true;
                    self.error(fail, context.chain);
                }
            }
        }
        one_per_slot(&insts)?;
        self.refuse_in_chain(&insts)?;
        if !failed && let Some(pending) = self.words.get_mut(pc) {
            pending.insts = insts;
        }
        Ok(())
    }

    /// Carries out `}`: the latest word ends the innermost loop block.
    fn close(&mut self, at: Span) -> Result<(), Fail> {
        self.names.note();
        self.place_pool_in_loop(at)?;
        let Some((opener, opened_at, _)) = self.blocks.pop() else {
            return Err(Fail::new(
                Problem::Unopened {
                    closer: "}".into(),
                    opener: "a loop block `{`",
                },
                at,
            ));
        };
        if self.scheduled_end == Some(self.words.len() - 1) {
            // A loop that a linear block made ends here, and two loops may not end at one word.
            self.append_nop(at)?;
        }
        let end = self.words.len() - 1;
        if end == opener {
            let fail = Fail::new(
                Problem::LoopLength {
                    words: 0,
                    most: 4095,
                },
                at,
            );
            return Err(fail.related(opened_at, "the loop begins here"));
        }
        if let Some(word) = self.words.get_mut(opener) {
            word.block_end = Some(end);
        }
        Ok(())
    }
}

/// Refuses two operations in one slot.
pub(super) fn one_per_slot(insts: &[Selected]) -> Result<(), Fail> {
    for (i, second) in insts.iter().enumerate() {
        let slot = second.inst.row().slot();
        if let Some(first) = insts.iter().take(i).find(|f| f.inst.row().slot() == slot) {
            let problem = Problem::SlotConflict {
                first: first.inst.row().mnemonic.to_owned(),
                second: second.inst.row().mnemonic.to_owned(),
                slot: match slot {
                    Slot::Arith => "arithmetic",
                    Slot::Mem => "memory",
                },
            };
            return Err(
                Fail::new(problem, second.at).related(first.mnemonic_at, "the slot is taken here")
            );
        }
    }
    Ok(())
}
