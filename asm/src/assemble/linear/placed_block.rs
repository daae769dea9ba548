//! Places the words of a linear block so that none waits.

use super::block_words::{ParsedWord, WordSymbol, parse_word};
use crate::assemble::select::Selected;
use crate::assemble::state::{Assembler, Datum, Extent, Format, PendingWord};
use crate::diag::{Chain, Fail, Problem};
use crate::expr::{Expr, Symbols, Value};
use crate::isa::{Op, RegSet, Slot};
use crate::issue::{Scoreboard, WordTiming};
use crate::program::SymbolKind;
use crate::source::Span;
use crate::syntax::AllowedWarnings;
use cp2_machine::Machine;
use std::collections::HashMap;
use std::rc::Rc;

/// A table of a block's constants, which is placed behind the data of the source.
#[derive(Debug)]
pub(in crate::assemble) struct BlockConstants {
    /// Symbol of its address.
    pub(in crate::assemble) label: Rc<str>,
    pub(in crate::assemble) words: Vec<u32>,
    pub(in crate::assemble) at: Span,
    pub(in crate::assemble) chain: Chain,
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
    /// Warnings that its line allows.
    allowed: AllowedWarnings,
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

/// Words that a linear block branches to, which lie apart from it.
pub(in crate::assemble) struct PooledWords {
    /// Name of the block.
    block: Rc<str>,
    /// A word of the block.
    from: usize,
    /// Number of loops around the block.
    depth: usize,
    /// Symbol of their address.
    label: Rc<str>,
    placed: PlacedBlock,
}

/// Cycles that pass before the words that begin hardware loops.
type LoopDelays = HashMap<usize, u64>;

/// Most cycles that pass at the end of a turn so that the next one does not wait.
const MOST_PASSED_CYCLES: usize = 1024;

/// Most times that a loop is begun later because one of its words would wait.
const MOST_DELAYS: usize = 64;

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

/// Lets words that begin hardware loops stand beside the word before them where its memory slot is free.
fn join_loops(words: &[ParsedWord], machine: &Machine) -> Vec<ParsedWord> {
    let cp2 = &machine.cp2;
    let mut joined: Vec<ParsedWord> = Vec::with_capacity(words.len());
    for (number, own) in words.iter().enumerate() {
        let before = joined.last_mut();
        let Some(before) = before.filter(|before| own.opens && before.takes_memory_operation())
        else {
            joined.push(own.clone());
            continue;
        };
        // The loop reads nothing that the word before computes, and its first turn waits for nothing of it.
        let timing = before.timing(cp2);
        let turn = words.get(number + 1..).unwrap_or_default();
        let length = turn.iter().position(|word| word.closes);
        let turn = turn.get(..length.map_or(0, |last| last + 1));
        let turn = turn.unwrap_or_default().iter();
        let turn: Vec<_> = turn.map(|word| Some(word.timing(cp2))).collect();
        let mut board = Scoreboard::default();
        board.issue(&timing, 0);
        let apart = timing.distance_to(&own.timing(cp2)).is_none();
        if !apart || waits_in_turn(&board, &turn, 1 + cp2.loop_setup.0) {
            joined.push(own.clone());
            continue;
        }
        before.insts.retain(|inst| !is_nop(inst));
        if before.insts.is_empty() {
            before.place = own.place;
        }
        before.insts.extend(own.insts.iter().cloned());
        before.opens = true;
    }
    joined
}

/// Returns true for an operation that only lets time pass.
fn is_nop(inst: &Selected) -> bool {
    matches!(inst.inst.op, Op::Nop | Op::MemNop)
}

impl ParsedWord {
    /// Returns true if the word has room for an operation in its memory slot that changes what comes next.
    fn takes_memory_operation(&self) -> bool {
        let arithmetic = |inst: &Selected| inst.inst.row().slot() == Slot::Arith;
        let free = self
            .insts
            .iter()
            .all(|inst| is_nop(inst) || arithmetic(inst));
        free && !self.opens && !self.closes && !self.settles && self.target.is_none()
    }
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
        let words = &join_loops(words, machine);
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
                last.allowed = own.allowed;
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
            allowed: AllowedWarnings::default(),
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
            .filter(|own| own.scheduled.is_some())
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
                allowed: word.allowed,
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
        self.append_word("nop", at, None)
    }

    /// Appends a word that is given as text, with a symbol in place of a number.
    fn append_word(
        &mut self,
        text: &str,
        at: Span,
        symbol: Option<WordSymbol>,
    ) -> Result<(), Fail> {
        if self.is_program_full(at, Chain::default()) {
            return Ok(());
        }
        let insts = parse_word(self, text, (at, Chain::default()), symbol)?;
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

    /// Keeps words that a block of this name branches to, until there is a place for them.
    pub(super) fn pool_words(&mut self, name: &str, label: Rc<str>, placed: PlacedBlock) {
        self.pool.push(PooledWords {
            block: name.into(),
            from: self.words.len(),
            depth: self.blocks.len(),
            label,
            placed,
        });
    }

    /// Appends pooled words behind the program.
    pub(in crate::assemble) fn place_pool(&mut self) {
        for own in std::mem::take(&mut self.pool) {
            self.place_pooled(own);
        }
    }

    fn place_pooled(&mut self, own: PooledWords) {
        self.pooled.push((own.block, own.from, self.words.len()));
        self.define_here(own.label);
        self.append_block(own.placed);
    }

    /// Appends the pooled words of the innermost loop to its body: a branch out of the body would leave the loop. The
    /// loop's own words pass them by a jump.
    pub(in crate::assemble) fn place_pool_in_loop(&mut self, at: Span) -> Result<(), Fail> {
        let depth = self.blocks.len();
        let all = std::mem::take(&mut self.pool).into_iter();
        let (own, others): (Vec<_>, Vec<_>) = all.partition(|words| words.depth == depth);
        self.pool = others;
        if own.is_empty() {
            return Ok(());
        }
        let past: Rc<str> = format!("past@{}", self.words.len()).into();
        self.append_word("jmp 0", at, Some(WordSymbol::Target(past.clone())))?;
        for own in own {
            self.place_pooled(own);
        }
        self.define_here(past);
        self.append_nop(at)
    }

    /// Refuses labels of tables of steps that are not defined, or no multiple of an entry.
    pub(in crate::assemble) fn check_table_labels(&mut self) {
        /// Bytes from a step to the next.
        const ENTRY: i64 = 8;
        for (label, chain) in std::mem::take(&mut self.table_labels) {
            let fail = match self.names.value(&label.key, label.at) {
                Ok(value) if value.as_int().is_some_and(|n| n % ENTRY == 0) => continue,
                Ok(value) => match value.as_int() {
                    Some(value) => {
                        let problem = Problem::Misaligned {
                            what: format!("the table of `{}`", label.pointer),
                            value,
                            multiple: ENTRY,
                        };
                        Fail::new(problem, label.at)
                    }
                    None => {
                        let what = "the address of a table of steps".to_owned();
                        Fail::new(Problem::NotInteger { what, value }, label.at)
                    }
                },
                Err(fail) => {
                    // The words that name it are not refused again.
                    let key = label.key.clone();
                    self.names.define_hidden(key, SymbolKind::Dmem, 0);
                    fail
                }
            };
            self.error(fail, chain);
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
