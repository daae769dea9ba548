//! Words of a linear block as lines, and as operations that have been parsed.

use crate::assemble::select::{Selected, select};
use crate::assemble::state::{Assembler, PendingWord};
use crate::assemble::symbols::GLOBAL;
use crate::diag::{Chain, Fail};
use crate::expr::{Expr, Open};
use crate::isa::{Slot, Word};
use crate::issue::WordTiming;
use crate::source::Span;
use crate::syntax;
use crate::syntax::{AllowedWarnings, Lexeme, NameTexts, Parser};
use cp2_machine::Cp2;
use std::rc::Rc;

/// A symbol that stands in a word in place of a number.
#[derive(Clone, Debug)]
pub(in crate::assemble) enum WordSymbol {
    /// In place of the immediate.
    Immediate(Rc<str>),
    /// In place of the target of a branch.
    Target(Rc<str>),
}

/// A line of a block.
#[derive(Clone, Debug)]
pub(in crate::assemble) enum BlockLine {
    Word(WordLine),
    /// The hardware loop that the latest line with `{` began ends behind the word before. Where its iterations follow
    /// one another, what they leave lands before the next begins.
    End {
        one_by_one: bool,
    },
}

/// A line that is a word.
#[derive(Clone, Debug)]
pub(in crate::assemble) struct WordLine {
    text: String,
    place: (Span, Chain),
    symbol: Option<WordSymbol>,
    /// True if it loads from the table of constants, which nothing stores to.
    constant: bool,
    /// The iteration of its access to memory.
    iteration: Option<AccessIteration>,
    /// True if nothing is pending behind it.
    settles: bool,
}

/// The iteration of an access in the words before or behind the loop of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessIteration {
    /// Number of iterations before it; exact in words before the loop.
    pub(super) before: u64,
    /// Number of iterations behind it; exact in words behind the loop.
    pub(super) behind: u64,
}

impl BlockLine {
    pub(in crate::assemble) fn word(text: String, place: (Span, Chain)) -> Self {
        Self::Word(WordLine::new(text, place))
    }

    /// Makes the line of a load from the table of constants.
    pub(super) fn load_constant(text: String, place: (Span, Chain)) -> Self {
        Self::Word(WordLine {
            constant: true,
            ..WordLine::new(text, place)
        })
    }

    /// Makes the line of a word of an iteration.
    pub(super) fn of_iteration(
        text: String,
        place: (Span, Chain),
        iteration: Option<AccessIteration>,
    ) -> Self {
        Self::Word(WordLine {
            iteration,
            ..WordLine::new(text, place)
        })
    }

    pub(in crate::assemble) fn branch(text: String, place: (Span, Chain), to: &Rc<str>) -> Self {
        Self::with_symbol(text, place, WordSymbol::Target(to.clone()))
    }

    /// Makes the line of the jump to what is behind a block; if a block follows, it finds nothing pending.
    pub(super) fn leave(place: (Span, Chain), behind: &Rc<str>, followed: bool) -> Self {
        Self::Word(WordLine {
            symbol: Some(WordSymbol::Target(behind.clone())),
            settles: followed,
            ..WordLine::new("jmp 0".to_owned(), place)
        })
    }

    pub(in crate::assemble) fn with_symbol(
        text: String,
        place: (Span, Chain),
        symbol: WordSymbol,
    ) -> Self {
        Self::Word(WordLine {
            symbol: Some(symbol),
            ..WordLine::new(text, place)
        })
    }
}

impl WordLine {
    const fn new(text: String, place: (Span, Chain)) -> Self {
        Self {
            text,
            place,
            symbol: None,
            constant: false,
            iteration: None,
            settles: false,
        }
    }
}

/// A word of a block before it is known what it waits for.
#[derive(Clone, Debug)]
pub(super) struct ParsedWord {
    pub(super) insts: Vec<Selected>,
    pub(super) place: (Span, Chain),
    /// Number of the line that it comes from.
    pub(super) line: usize,
    /// True if it loads from the table of constants.
    pub(super) constant: bool,
    /// The iteration of its access to memory.
    pub(super) iteration: Option<AccessIteration>,
    /// True if nothing is pending behind it.
    pub(super) settles: bool,
    /// Warnings that its line allows.
    pub(super) allowed: AllowedWarnings,
    /// True if it begins a hardware loop.
    pub(super) opens: bool,
    /// True if a hardware loop ends behind it.
    pub(super) closes: bool,
    /// True if what the loop leaves lands before its next turn.
    pub(super) one_by_one: bool,
    /// Symbol that it branches to.
    pub(super) target: Option<Rc<str>>,
}

impl ParsedWord {
    /// Makes a word that comes from no line of a block.
    pub(super) const fn plain(insts: Vec<Selected>, place: (Span, Chain)) -> Self {
        Self {
            insts,
            place,
            line: usize::MAX,
            constant: false,
            iteration: None,
            settles: false,
            allowed: AllowedWarnings {
                stall: false,
                register: false,
            },
            opens: false,
            closes: false,
            one_by_one: false,
            target: None,
        }
    }

    /// Makes a word of one that stands between blocks.
    pub(super) fn between(word: PendingWord) -> Self {
        Self {
            allowed: word.allowed,
            ..Self::plain(word.insts, (word.at, word.chain))
        }
    }

    /// Returns the timing of the word.
    pub(super) fn timing(&self, cp2: &Cp2) -> WordTiming {
        let mut word = Word::NOP;
        for selected in &self.insts {
            match selected.inst.row().slot() {
                Slot::Arith => word.arith = selected.inst,
                Slot::Mem => word.mem = selected.inst,
            }
        }
        WordTiming::new(&word, cp2)
    }
}

/// Parses the lines of a block.
pub(super) fn parse_lines(
    asm: &Assembler<'_>,
    lines: Vec<BlockLine>,
) -> Result<Vec<ParsedWord>, Fail> {
    let mut words: Vec<ParsedWord> = Vec::with_capacity(lines.len());
    let mut names = NameTexts::default();
    for (line, own) in lines.into_iter().enumerate() {
        match own {
            BlockLine::Word(own) => {
                let target = match &own.symbol {
                    Some(WordSymbol::Target(label)) => Some(label.clone()),
                    _ => None,
                };
                let insts = parse_named_word(asm, (&own.text, &mut names), own.place, own.symbol)?;
                words.push(ParsedWord {
                    opens: insts.iter().any(|own| own.block),
                    line,
                    constant: own.constant,
                    iteration: own.iteration,
                    settles: own.settles,
                    target,
                    ..ParsedWord::plain(insts, own.place)
                });
            }
            BlockLine::End { one_by_one } => {
                if let Some(last) = words.last_mut() {
                    last.closes = true;
                    last.one_by_one = one_by_one;
                }
            }
        }
    }
    Ok(words)
}

/// Parses a word that is given as text, with a symbol in place of a number.
pub(super) fn parse_word(
    asm: &Assembler<'_>,
    text: &str,
    place: (Span, Chain),
    symbol: Option<WordSymbol>,
) -> Result<Vec<Selected>, Fail> {
    parse_named_word(asm, (text, &mut NameTexts::default()), place, symbol)
}

/// Parses a word as [`parse_word`] does; words that are parsed one after the other keep the texts of their names.
fn parse_named_word(
    asm: &Assembler<'_>,
    (text, names): (&str, &mut NameTexts),
    (at, _): (Span, Chain),
    symbol: Option<WordSymbol>,
) -> Result<Vec<Selected>, Fail> {
    let lines = syntax::lines((at.file, text), names, |_| {});
    let tokens: Vec<_> = lines.iter().flatten().map(Lexeme::token).collect();
    let slots = Parser::new(&tokens, &asm.names, GLOBAL).word();
    let slots = slots.map_err(|fail| Fail::new(fail.0.problem, at))?;
    let mut insts = Vec::with_capacity(2);
    for source in slots.insts {
        let selected = select(source, asm.options.isa(), std::iter::empty());
        let mut selected = selected.map_err(|fail| Fail::new(fail.0.problem, at))?;
        selected.scheduled = Some(asm.block_writes.len());
        selected.at = at;
        selected.mnemonic_at = at;
        let parts = [
            &mut selected.value,
            &mut selected.target,
            &mut selected.offset,
        ];
        for (_, place) in parts.into_iter().flatten() {
            *place = at;
        }
        insts.push(selected);
    }
    // It stands in the operation of the memory slot, the last one.
    if let (Some(symbol), Some(last)) = (symbol, insts.last_mut()) {
        let expr = |label: Rc<str>| Some((Expr::from(Open::Symbol(label, at)), at));
        match symbol {
            WordSymbol::Immediate(label) => last.value = expr(label),
            WordSymbol::Target(label) => last.target = expr(label),
        }
    }
    Ok(insts)
}
