//! Makes words that wait for nothing of the lines of a linear block.

use crate::assemble::select::{Selected, select};
use crate::assemble::state::{Assembler, Datum, Extent, Format, PendingWord};
use crate::assemble::symbols::GLOBAL;
use crate::diag::{Chain, Fail};
use crate::expr::{Expr, Open, Value};
use crate::isa::{Op, RegSet, Slot, Word};
use crate::issue::{Scoreboard, WordTiming};
use crate::program::SymbolKind;
use crate::source::Span;
use crate::syntax;
use crate::syntax::{AllowedWarnings, Lexeme, Parser};
use cp2_machine::{Cp2, Machine};
use std::collections::HashMap;
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

/// A table of a block's constants, which is placed behind the data of the source.
#[derive(Debug)]
pub(in crate::assemble) struct BlockConstants {
    /// Symbol of its address.
    pub(in crate::assemble) label: Rc<str>,
    pub(in crate::assemble) words: Vec<u32>,
    pub(in crate::assemble) at: Span,
    pub(in crate::assemble) chain: Chain,
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
    settles: bool,
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
            opens: false,
            closes: false,
            one_by_one: false,
            target: None,
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

/// A word of a block.
#[derive(Clone, Debug)]
struct PlacedWord {
    insts: Vec<Selected>,
    place: (Span, Chain),
    /// Number of the line that it comes from; none of a word that only lets time pass.
    line: Option<usize>,
    opens: bool,
    closes: bool,
    /// True if it lies in a hardware loop.
    looped: bool,
    /// Symbol that it branches to.
    target: Option<Rc<str>>,
}

/// The state of the machine before a word: what is pending, and the time.
#[derive(Clone, Debug, Default)]
pub(super) struct IssueState {
    pub(super) board: Scoreboard,
    pub(super) now: u64,
    /// The state where the hardware loop before has had no turn.
    skipped: Option<(Scoreboard, u64)>,
}

/// The words of a block.
#[derive(Clone, Debug, Default)]
pub(in crate::assemble) struct PlacedBlock {
    words: Vec<PlacedWord>,
    /// State of the machine behind every branch, with the symbol of its target.
    behind_branches: Vec<(Rc<str>, Scoreboard, u64)>,
    /// State of the machine behind the last word.
    end: IssueState,
    loop_setup: u64,
    loop_back: u64,
}

/// Cycles that pass before the words that begin hardware loops.
type LoopDelays = HashMap<usize, u64>;

/// Most cycles that pass at the end of a turn so that the next one does not wait.
const MOST_PASSED_CYCLES: usize = 1024;

/// Most times that a loop is begun later because one of its words would wait.
const MOST_DELAYS: usize = 64;

/// Parses the lines of a block.
pub(super) fn parse_lines(
    asm: &Assembler<'_>,
    lines: Vec<BlockLine>,
) -> Result<Vec<ParsedWord>, Fail> {
    let mut words: Vec<ParsedWord> = Vec::with_capacity(lines.len());
    for (line, own) in lines.into_iter().enumerate() {
        match own {
            BlockLine::Word(own) => {
                let target = match &own.symbol {
                    Some(WordSymbol::Target(label)) => Some(label.clone()),
                    _ => None,
                };
                let insts = parse_word(asm, &own.text, own.place, own.symbol)?;
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

/// Returns true if a turn of a loop that begins at a time waits for what is pending.
fn waits_in_turn(board: &Scoreboard, turn: &[Option<WordTiming>], now: u64) -> bool {
    let mut board = board.clone();
    let mut times = turn.iter().zip(now..);
    times.any(|(word, now)| {
        let Some(word) = word else { return false };
        let (at, _) = board.earliest(word, now);
        board.issue(word, at);
        at > now
    })
}

impl PlacedBlock {
    /// Returns the state of the machine behind the branch to a label.
    pub(super) fn state_behind(&self, label: &Rc<str>, machine: &Machine) -> IssueState {
        let mut states = self.behind_branches.iter();
        let state = states.find(|(target, ..)| target == label);
        let (board, now) =
            state.map_or_else(Default::default, |(_, board, now)| (board.clone(), *now));
        IssueState {
            board,
            now: now + machine.cp2.branch_penalty.0,
            skipped: None,
        }
    }

    /// Returns the state of the machine behind the last word.
    pub(super) fn end(&self) -> &IssueState {
        &self.end
    }

    /// Places words, with words that let time pass before those that would wait. What a word in a hardware loop would
    /// wait for passes before the loop, so that its turns do not wait again.
    pub(super) fn place_words(
        asm: &Assembler<'_>,
        words: &[ParsedWord],
        machine: &Machine,
        state: &IssueState,
    ) -> Result<Self, Fail> {
        let nop = parse_word(asm, "nop", (Span::START, Chain::default()), None)?;
        let mut delays = LoopDelays::new();
        for _ in 0..MOST_DELAYS {
            match Self::try_place(words, &nop, machine, state, Some(&delays)) {
                Ok(placed) => return Ok(placed),
                Err((opener, cycles)) => *delays.entry(opener).or_default() += cycles,
            }
        }
        // Words of a loop that wait for one another.
        Ok(Self::try_place(words, &nop, machine, state, None).unwrap_or_default())
    }

    /// Places words; with `delays`, fails with the word that begins a hardware loop and the cycles by which it must
    /// begin later.
    fn try_place(
        words: &[ParsedWord],
        nop: &[Selected],
        machine: &Machine,
        state: &IssueState,
        delays: Option<&LoopDelays>,
    ) -> Result<Self, (usize, u64)> {
        let IssueState {
            mut board,
            mut now,
            mut skipped,
        } = state.clone();
        let mut placed = Self {
            words: Vec::with_capacity(words.len()),
            behind_branches: Vec::new(),
            end: IssueState::default(),
            loop_setup: machine.cp2.loop_setup.0,
            loop_back: machine.cp2.loop_back.0,
        };
        // The word that began the hardware loop that is open.
        let mut opened = None;
        // Words of a turn of that loop; none lets time pass.
        let mut turn: Vec<Option<WordTiming>> = Vec::new();
        for (number, own) in words.iter().enumerate() {
            let timing = own.timing(&machine.cp2);
            let delay = delays.and_then(|delays| delays.get(&number));
            let delayed = now + delay.copied().unwrap_or(0);
            let (mut at, wait) = board.earliest(&timing, delayed);
            if own.settles {
                at = at.max(
                    board
                        .idle()
                        .saturating_sub(1 + machine.cp2.branch_penalty.0),
                );
            }
            let at = match &mut skipped {
                Some((board, clock)) if opened.is_none() => {
                    let (issued, _) = board.earliest(&timing, *clock + (at - now));
                    let wait = issued - *clock;
                    board.issue(&timing, issued);
                    *clock = issued + 1;
                    now + wait
                }
                _ => at,
            };
            if let (Some(opener), Some(_), true) = (opened, delays, wait.cycles > 0) {
                return Err((opener, wait.cycles));
            }
            for _ in now..at {
                placed.push(nop, own.place, None, opened.is_some());
                turn.push(None);
            }
            board.issue(&timing, at);
            turn.push(Some(timing));
            now = at + 1;
            placed.push(&own.insts, own.place, Some(own.line), opened.is_some());
            if own.opens {
                opened = Some(number);
                turn.clear();
                // A loop of a count in a register is left as by a branch if the count is 0.
                let left = now + machine.cp2.branch_penalty.0;
                let counted = own.insts.iter().any(|own| own.inst.op == Op::LoopX);
                skipped = counted.then(|| (board.clone(), left));
                now += placed.loop_setup;
            }
            if let Some(target) = &own.target {
                let state = (target.clone(), board.clone(), now);
                placed.behind_branches.push(state);
            }
            if own.closes {
                opened = None;
                let back = placed.loop_back;
                for _ in 0..MOST_PASSED_CYCLES {
                    let waits = || waits_in_turn(&board, &turn, now + back);
                    if !own.one_by_one || board.settled() <= now && !waits() {
                        break;
                    }
                    placed.push(nop, own.place, None, true);
                    turn.push(None);
                    now += 1;
                }
            }
            if let Some(last) = placed.words.last_mut() {
                last.target.clone_from(&own.target);
                last.closes = own.closes;
            }
        }
        placed.end = IssueState {
            board,
            now,
            skipped,
        };
        Ok(placed)
    }

    fn push(
        &mut self,
        insts: &[Selected],
        place: (Span, Chain),
        line: Option<usize>,
        looped: bool,
    ) {
        self.words.push(PlacedWord {
            insts: insts.to_vec(),
            place,
            line,
            opens: insts.iter().any(|own| own.block),
            closes: false,
            looped,
            target: None,
        });
    }

    /// Returns the cycles of so many turns of the hardware loop, if there is one.
    pub(in crate::assemble) fn count_cycles(&self, turns: u64) -> u64 {
        self.count_first_cycles(self.words.len(), turns)
    }

    /// Returns the cycles up to the branch to a label, the branch included, of so many turns of the hardware loop, if
    /// that comes before it.
    pub(in crate::assemble) fn count_cycles_to(&self, label: &Rc<str>, turns: u64) -> u64 {
        let branch = self
            .words
            .iter()
            .position(|word| word.target.as_ref() == Some(label));
        self.count_first_cycles(branch.map_or(0, |branch| branch + 1), turns)
    }

    /// Returns the cycles of the first words, with so many turns of the hardware loop among them.
    fn count_first_cycles(&self, words: usize, turns: u64) -> u64 {
        let first = self.words.get(..words).unwrap_or(&self.words);
        let looped = first.iter().filter(|word| word.looped).count() as u64;
        let outside = first.len() as u64 - looped;
        match turns {
            turns if turns > 0 && looped > 0 => {
                outside + self.loop_setup + turns * looped + (turns - 1) * self.loop_back
            }
            _ => outside,
        }
    }

    /// Returns the registers that the words of blocks write.
    pub(in crate::assemble) fn list_written(&self) -> RegSet {
        let insts = self.words.iter().flat_map(|word| &word.insts);
        insts
            .filter(|own| own.scheduled)
            .fold(RegSet::EMPTY, |set, own| {
                set | own.inst.writes() | own.inst.address_write()
            })
    }

    /// Counts the words of the hardware loop.
    pub(in crate::assemble) fn loop_words(&self) -> u64 {
        self.words.iter().filter(|word| word.looped).count() as u64
    }

    /// Counts the words.
    pub(in crate::assemble) fn words(&self) -> usize {
        self.words.len()
    }

    /// Counts the cycles of the words before a line.
    pub(in crate::assemble) fn cycles_before(&self, line: usize) -> u64 {
        let before = |word: &&PlacedWord| word.line.is_some_and(|own| own < line);
        let last = self.words.iter().rposition(|word| before(&word));
        last.map_or(0, |last| last as u64 + 1)
    }
}

/// Parses a word that is given as text, with a symbol in place of a number.
fn parse_word(
    asm: &Assembler<'_>,
    text: &str,
    (at, _): (Span, Chain),
    symbol: Option<WordSymbol>,
) -> Result<Vec<Selected>, Fail> {
    let lines = syntax::lines(at.file, text, |_| {});
    let tokens: Vec<_> = lines.iter().flatten().map(Lexeme::token).collect();
    let slots = Parser::new(&tokens, &asm.names, GLOBAL).word();
    let slots = slots.map_err(|fail| Fail::new(fail.0.problem, at))?;
    let mut insts = Vec::with_capacity(2);
    for source in slots.insts {
        let selected = select(source, asm.options.isa(), std::iter::empty());
        let mut selected = selected.map_err(|fail| Fail::new(fail.0.problem, at))?;
        selected.scheduled = true;
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
    if let (Some(symbol), Some(first)) = (symbol, insts.first_mut()) {
        let expr = |label: Rc<str>| Some((Expr::from(Open::Symbol(label, at)), at));
        match symbol {
            WordSymbol::Immediate(label) => first.value = expr(label),
            WordSymbol::Target(label) => first.target = expr(label),
        }
    }
    Ok(insts)
}

impl Assembler<'_> {
    /// Appends the words of a block.
    pub(in crate::assemble) fn append_block(&mut self, placed: PlacedBlock) {
        let mut opened = None;
        for word in placed.words {
            let (at, chain) = word.place;
            let pc = self.words.len();
            if self.is_program_full(at, chain) {
                return;
            }
            self.words.push(PendingWord {
                insts: word.insts,
                at,
                chain,
                allowed: AllowedWarnings::default(),
                block_end: None,
            });
            if word.opens {
                opened = Some(pc);
            }
            if word.closes {
                if let Some(opener) = opened.take().and_then(|opener| self.words.get_mut(opener)) {
                    opener.block_end = Some(pc);
                }
                self.scheduled_end = Some(pc);
            }
        }
    }

    /// Appends a word that does nothing.
    pub(in crate::assemble) fn append_nop(&mut self, at: Span) -> Result<(), Fail> {
        if self.is_program_full(at, Chain::default()) {
            return Ok(());
        }
        let insts = parse_word(self, "nop", (at, Chain::default()), None)?;
        self.words.push(PendingWord {
            insts,
            at,
            chain: Chain::default(),
            allowed: AllowedWarnings::default(),
            block_end: None,
        });
        Ok(())
    }

    /// Gives the address of the next word to a symbol that no source can write.
    pub(in crate::assemble) fn define_here(&mut self, label: Rc<str>) {
        let pc = self.words.len() as i64;
        self.names.define_hidden(label, SymbolKind::Program, pc);
    }

    /// Appends the loops for few iterations behind the program.
    pub(in crate::assemble) fn place_pool(&mut self) {
        for (label, placed) in std::mem::take(&mut self.pool) {
            self.define_here(label);
            self.append_block(placed);
        }
    }

    /// Places the tables of constants behind the data of the source, and defines their addresses.
    pub(in crate::assemble) fn place_constant_tables(&mut self) {
        /// Alignment of a quad in bytes.
        const QUAD: u64 = 16;
        let mut end = self.extents.iter().map(|extent| extent.end).max();
        for table in std::mem::take(&mut self.tables) {
            let start = end.unwrap_or(0).next_multiple_of(QUAD);
            for (index, &bits) in (0..).zip(&table.words) {
                self.data.push(Datum {
                    address: start + 4 * index,
                    format: Format::Int,
                    expr: Expr::Value(Value::Int(i64::from(bits))),
                    at: table.at,
                    chain: table.chain,
                });
            }
            let last = start + 4 * table.words.len() as u64;
            self.extents.push(Extent {
                start,
                end: last,
                at: table.at,
                chain: table.chain,
            });
            end = Some(last);
            let address = start as i64;
            self.names
                .define_hidden(table.label, SymbolKind::Dmem, address);
        }
    }
}
