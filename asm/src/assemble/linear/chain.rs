//! Reads chains of linear blocks, and places them one behind the other.

use super::block_words::ParsedWord;
use super::composer::{ComposedBlock, Composer, ReceivedValue, drop_without_effect};
use super::joined_words::{ChainWords, join_words};
use super::placed_block::{IssueState, PlacedBlock};
use crate::assemble::select::Selected;
use crate::assemble::state::{Assembler, Context, PendingWord};
use crate::diag::{Chain, Fail, Problem};
use crate::isa::{Op, RegSet};
use crate::linear::{
    BlockCount, BlockRegisters, BlockValue, ChosenRow, FinalValue, HeldConstant, InitialSource,
    LinearBlock, ValueWidth,
};
use crate::source::Span;
use crate::syntax::{Parser, Register, Token};
use cp2_machine::{Class, Machine};
use std::rc::Rc;

/// A chain that is being read.
#[derive(Debug)]
pub(in crate::assemble) struct OpenChain {
    pub(in crate::assemble) at: Span,
    pub(in crate::assemble) chain: Chain,
    /// Number of words of the program before the chain.
    first: usize,
    items: Vec<ChainItem>,
}

/// A part of a chain as it was read.
#[derive(Debug)]
enum ChainItem {
    Block(Box<LinearBlock>),
    /// Words between two blocks.
    Words(Vec<PendingWord>),
}

/// An error, and the macros that its place was reached through.
type PlacedFail = (Fail, Chain);

impl OpenChain {
    /// Returns the blocks so far.
    fn blocks(&self) -> impl Iterator<Item = &LinearBlock> {
        self.items.iter().filter_map(|item| match item {
            ChainItem::Block(block) => Some(&**block),
            ChainItem::Words(_) => None,
        })
    }

    /// Returns true if a block has been read.
    pub(super) fn has_block(&self) -> bool {
        self.blocks().next().is_some()
    }

    /// Returns the error of a name that begins as a block before and is none of its values.
    pub(super) fn refuse_value(&self, name: &str, at: Span) -> Option<Fail> {
        let (block, value) = name.split_once('.')?;
        let own = self.blocks().find(|own| &*own.name == block)?;
        let problem = Problem::Expected {
            wanted: format!("a value that block `{block}` computes"),
            found: format!("`{value}`"),
        };
        Some(Fail::new(problem, at).related(own.at, "the block begins here"))
    }

    /// Finds a value of a block before, as `start.x[6]`: the numbers of the block and of the value.
    pub(super) fn find_value(&self, name: &str) -> Option<(usize, usize)> {
        let found = self.blocks().enumerate().filter_map(|(index, block)| {
            let own = name.strip_prefix(&*block.name)?.strip_prefix('.')?;
            Some((index, block.find_value(own)?))
        });
        found.last()
    }

    /// Notes that a later block reads a value.
    pub(super) fn read_value(&mut self, (block, value): (usize, usize)) {
        let mut blocks = self.items.iter_mut().filter_map(|item| match item {
            ChainItem::Block(block) => Some(block),
            ChainItem::Words(_) => None,
        });
        if let Some(block) = blocks.nth(block) {
            block.read_later.push(value);
        }
    }
}

impl Assembler<'_> {
    /// Begins a chain: `.chain`.
    pub(super) fn begin_chain(
        &mut self,
        at: Span,
        arguments: &[Token<'_>],
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        self.refuse_in_dmem("a chain", at)?;
        Parser::new(arguments, &self.names, context.scope).end()?;
        if let Some(open) = &self.open_chain {
            let what = "`.chain`".to_owned();
            let why = "end the chain before with `.endchain`";
            let fail = Fail::new(Problem::Misplaced { what, why }, at);
            return Err(fail.related(open.at, "the chain begins here"));
        }
        self.open_chain = Some(Box::new(OpenChain {
            at,
            chain: context.chain,
            first: self.words.len(),
            items: Vec::new(),
        }));
        Ok(())
    }

    /// Takes the words that have been read since the block before.
    fn take_chain_words(&mut self) {
        if let Some(open) = &mut self.open_chain
            && self.words.len() > open.first
        {
            let words = self.words.split_off(open.first);
            open.items.push(ChainItem::Words(words));
        }
    }

    /// Ends a block that has been read: it is placed, or joins its chain.
    pub(super) fn end_block(
        &mut self,
        block: LinearBlock,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        self.take_chain_words();
        match &mut self.open_chain {
            Some(open) => {
                open.items.push(ChainItem::Block(Box::new(block)));
                Ok(())
            }
            None => self.place_block(block, context),
        }
    }

    /// Ends a chain: `.endchain`.
    pub(super) fn end_chain(&mut self, at: Span) -> Result<(), Fail> {
        self.take_chain_words();
        let Some(open) = self.open_chain.take() else {
            let problem = Problem::Unopened {
                closer: ".endchain".into(),
                opener: "a chain `.chain`",
            };
            return Err(Fail::new(problem, at));
        };
        let Some(machine) = self.options.machine else {
            return Err(Fail::new(Problem::NeedsMachine, open.at));
        };
        if open.blocks().next().is_none() {
            let problem = Problem::Expected {
                wanted: "blocks up to `.endchain`".into(),
                found: "none".into(),
            };
            return Err(Fail::new(problem, open.at));
        }
        if self.sink.has_errors() {
            // Values that a flawed line does not compute would be reported again.
            return Ok(());
        }
        if let Err((fail, chain)) = self.place_chain(*open, machine) {
            self.error(fail, chain);
        }
        Ok(())
    }

    /// Refuses operations that may not stand between the blocks of a chain.
    pub(in crate::assemble) fn refuse_in_chain(&self, insts: &[Selected]) -> Result<(), Fail> {
        let Some(open) = &self.open_chain else {
            return Ok(());
        };
        let controls = |own: &&Selected| {
            own.inst.row().class == Class::Control
                && !own.inst.has_address()
                && !matches!(own.inst.op, Op::Nop | Op::MemNop)
        };
        let Some(own) = insts.iter().find(controls) else {
            return Ok(());
        };
        let what = format!("`{}`", own.inst.row().mnemonic);
        let why = "between the blocks of a chain stand loads, stores and arithmetic";
        let fail = Fail::new(Problem::Misplaced { what, why }, own.mnemonic_at);
        Err(fail.related(open.at, "the chain begins here"))
    }

    /// Schedules the blocks of a chain, joins their words and appends them.
    fn place_chain(&mut self, open: OpenChain, machine: &Machine) -> Result<(), PlacedFail> {
        let mut blocks: Vec<LinearBlock> = Vec::new();
        // Words between blocks, each with the number of the block that follows.
        let mut between: Vec<(usize, PendingWord)> = Vec::new();
        for item in open.items {
            match item {
                ChainItem::Block(block) => blocks.push(*block),
                ChainItem::Words(words) => {
                    between.extend(words.into_iter().map(|word| (blocks.len(), word)));
                }
            }
        }
        let rows = self.check_blocks(&mut blocks)?;
        let insts: Vec<&Selected> = between.iter().flat_map(|(_, word)| &word.insts).collect();
        let pairs = machine.cp2.registers;
        let find = |freed: &[Register]| self.find_free_registers(freed, (&insts, &blocks), pairs);
        let common = find(&[]);
        let free = blocks.iter().map(|block| find(&block.free)).collect();
        let said = blocks.iter().map(LinearBlock::list_said);
        let said = said.fold(RegSet::EMPTY, |set, regs| set | regs);
        let mut composed = self.compose_chain(&mut blocks, (&rows, free), common, machine)?;
        let mut items: Vec<ChainWords> = Vec::new();
        // The item that is every block's.
        let mut owners: Vec<usize> = Vec::new();
        let mut between = between.into_iter().peekable();
        for (number, own) in composed.iter_mut().enumerate() {
            let mut plain = Vec::new();
            while let Some((_, word)) = between.next_if(|(before, _)| *before <= number) {
                plain.push(ParsedWord::between(word));
            }
            if !plain.is_empty() {
                items.push(ChainWords::plain(plain));
            }
            owners.push(items.len());
            let words = std::mem::take(&mut own.words);
            let behind = own.composer.block.behind;
            items.push(ChainWords::block(words, behind, own.ends_apart()));
        }
        let plain: Vec<ParsedWord> = between.map(|(_, word)| ParsedWord::between(word)).collect();
        if !plain.is_empty() {
            items.push(ChainWords::plain(plain));
        }
        let joined = join_words(&items, machine);
        let mut words = joined.items.into_iter().enumerate().peekable();
        let mut state = IssueState::default();
        let mut written = RegSet::EMPTY;
        for (own, owner) in composed.into_iter().zip(owners) {
            // Words between blocks are those of the next one.
            let mut all = Vec::new();
            while let Some((_, more)) = words.next_if(|(item, _)| *item <= owner) {
                all.extend(more);
            }
            let overlap = joined.overlaps.get(owner).copied().flatten();
            let followed = words.peek().is_some();
            let (_, chain) = own.composer.place();
            let finished = own.finish(self, &all, (&state, followed), overlap);
            let (end, registers) = finished.map_err(|fail| (fail, chain))?;
            state = end;
            written |= registers;
        }
        let rest: Vec<ParsedWord> = words.flat_map(|(_, more)| more).collect();
        let placed = PlacedBlock::place_words(self, &rest, machine, &state);
        let placed = placed.map_err(|fail| (fail, open.chain))?;
        if let Some(report) = self.reports.last_mut() {
            report.add_words(placed.words() as u64);
        }
        self.append_block(placed);
        if let Some(first) = blocks.first() {
            self.note_writes(first, written, said);
        }
        Ok(())
    }

    /// Checks the blocks of a chain; returns the rows of their operations.
    fn check_blocks(
        &mut self,
        blocks: &mut [LinearBlock],
    ) -> Result<Vec<Vec<ChosenRow>>, PlacedFail> {
        let mut rows = Vec::with_capacity(blocks.len());
        for index in 0..blocks.len() {
            let (before, rest) = blocks.split_at_mut(index);
            let Some(block) = rest.first_mut() else {
                continue;
            };
            let chain = block.chain;
            let handed = list_handed(before, block);
            let known = handed.iter().map(|own| own.width_of(block));
            let known: Vec<Option<ValueWidth>> = known.collect();
            for own in &handed {
                own.check(block).map_err(|fail| (fail, chain))?;
                block.learn_width(own.value, own.from.width);
            }
            // A block that takes other widths than those that it begins with is told which.
            if !handed.is_empty() && block.clone().find_widths().is_err() {
                let mut alone = block.clone();
                for (own, &width) in handed.iter().zip(&known) {
                    if let Some(value) = alone.values.get_mut(own.value) {
                        value.width = width;
                    }
                }
                if alone.find_widths().is_ok() {
                    for own in &handed {
                        own.check(&alone).map_err(|fail| (fail, chain))?;
                    }
                }
            }
            rows.push(self.check_block(block).map_err(|fail| (fail, chain))?);
        }
        drop_in_chain(blocks, &mut rows)?;
        Ok(rows)
    }

    /// Composes the blocks of a chain from the last to the first, so that every block leaves values where the later
    /// ones want them.
    fn compose_chain<'b>(
        &self,
        blocks: &'b mut [LinearBlock],
        (rows, free): (&'b [Vec<ChosenRow>], Vec<BlockRegisters>),
        common: BlockRegisters,
        machine: &'b Machine,
    ) -> Result<Vec<ComposedBlock<'b>>, PlacedFail>
    where
        Self: 'b,
    {
        let held = hold_constants(blocks, common);
        let constants = held.iter().map(|own| Register::Quad(own.quad).regs());
        let constants = constants.fold(RegSet::EMPTY, |set, regs| set | regs);
        let mut composed: Vec<ComposedBlock<'b>> = Vec::with_capacity(blocks.len());
        let mut wanted: Vec<ReceivedValue> = Vec::new();
        let mut next = RegSet::EMPTY;
        let parts = blocks.iter_mut().zip(rows).zip(free);
        for (number, ((block, rows), free)) in parts.enumerate().rev() {
            let at = block.at;
            for own in wanted.iter().filter(|own| own.block == number) {
                let (register, value) = (own.register, own.value);
                block.finals.push(FinalValue {
                    register,
                    value,
                    at,
                });
            }
            let block: &'b LinearBlock = block;
            // Values for later blocks stay where they are.
            let kept = wanted.iter().map(|own| own.register.regs());
            let kept = kept.fold(RegSet::EMPTY, |set, regs| set | regs);
            let all = free.without(kept | constants);
            // Registers of its own let a block overlap the next one; a loop needs as many as it can get.
            let apart = match block.count {
                BlockCount::Once => all.without(next),
                BlockCount::Known(_) | BlockCount::Register { .. } => BlockRegisters {
                    addresses: all.without(next).addresses,
                    ..all
                },
            };
            let compose = |free: BlockRegisters| {
                let own = (block, rows.as_slice());
                let mut composer = Composer::new(self, machine, own, (free, number), block.chain);
                composer.held = held
                    .iter()
                    .map(|constant| constant.seen_from(number))
                    .collect();
                composer.compose(self)
            };
            let own = compose(apart).or_else(|_| compose(all));
            let own = own.map_err(|fail| (fail, block.chain))?;
            wanted.retain(|own| own.block != number);
            wanted.extend(&own.composer.received);
            next = own.list_written();
            composed.push(own);
        }
        composed.reverse();
        Ok(composed)
    }
}

/// A value that a block begins with, of a block before.
struct HandedValue {
    /// The value before the first iteration.
    value: usize,
    at: Span,
    block: Rc<str>,
    from: BlockValue,
}

/// Lists the values of blocks before that a block begins with.
fn list_handed(before: &[LinearBlock], block: &LinearBlock) -> Vec<HandedValue> {
    let handed = block.initial.iter().filter_map(|own| match own.source {
        InitialSource::Block { block, value } => {
            let from = before.get(block)?;
            Some(HandedValue {
                value: own.value,
                at: own.at,
                block: from.name.clone(),
                from: from.values.get(value)?.clone(),
            })
        }
        _ => None,
    });
    handed.collect()
}

impl HandedValue {
    /// Returns the width of the value in the block that begins with it, if it is known.
    fn width_of(&self, block: &LinearBlock) -> Option<ValueWidth> {
        block.values.get(self.value)?.width
    }

    /// Refuses a value of another width than the one that it is handed.
    fn check(&self, block: &LinearBlock) -> Result<(), Fail> {
        let (Some(own), Some(width), Some(other)) = (
            block.values.get(self.value),
            self.width_of(block),
            self.from.width,
        ) else {
            return Ok(());
        };
        if width == other {
            return Ok(());
        }
        let problem = Problem::HandedWidth {
            name: own.name.to_string(),
            width: width.describe(),
            from: format!("{}.{}", self.block, self.from.name),
            other: other.describe(),
        };
        let place = |value: &BlockValue| {
            let defined = value.defined.iter().flatten().next();
            defined.copied().unwrap_or(value.at)
        };
        let fail = Fail::new(problem, self.at);
        let fail = fail.related(place(&self.from), other.describe_place());
        Err(fail.related(place(own), width.describe_place()))
    }
}

/// Drops the operations without an effect, from the last block to the first: a value may have an effect in later ones.
fn drop_in_chain(
    blocks: &mut [LinearBlock],
    rows: &mut [Vec<ChosenRow>],
) -> Result<(), PlacedFail> {
    // Values that later blocks begin with, by block.
    let mut read: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for (number, (block, rows)) in blocks.iter_mut().zip(rows).enumerate().rev() {
        let own = read.get(number).cloned().unwrap_or_default();
        drop_without_effect(block, rows, &own).map_err(|fail| (fail, block.chain))?;
        for begun in block.list_begun(&own) {
            if let InitialSource::Block { block, value } = begun.source
                && let Some(read) = read.get_mut(block)
            {
                read.push(value);
            }
        }
    }
    Ok(())
}

/// A constant of several blocks of a chain, which has one register in all of them.
struct SharedConstant {
    words: [u32; 4],
    quad: u8,
    /// Number of the first block that uses it, which loads it.
    first: usize,
}

impl SharedConstant {
    /// Returns the constant as a block finds it.
    const fn seen_from(&self, block: usize) -> HeldConstant {
        HeldConstant {
            words: self.words,
            quad: self.quad,
            loaded: self.first < block,
        }
    }
}

/// Most constants that have a register in several blocks: all blocks of the chain have that many registers less.
const MOST_SHARED: usize = 8;

/// Takes registers for constants that several blocks use, of those that are free in all of them.
fn hold_constants(blocks: &[LinearBlock], mut free: BlockRegisters) -> Vec<SharedConstant> {
    let mut found: Vec<([u32; 4], usize, usize)> = Vec::new();
    // A block without iterations loads nothing.
    let carried_out = |block: &&LinearBlock| block.count != BlockCount::Known(0);
    let blocks = blocks.iter().enumerate();
    for (number, block) in blocks.filter(|(_, block)| carried_out(block)) {
        for words in block.list_used_constants() {
            match found.iter_mut().find(|(own, ..)| *own == words) {
                Some((_, _, last)) => *last = number,
                None => found.push((words, number, number)),
            }
        }
    }
    let shared = found.into_iter().filter(|(_, first, last)| first < last);
    let shared = shared.take(MOST_SHARED);
    let shared = shared.filter_map(|(words, first, _)| {
        let quad = free.take_quad()?;
        Some(SharedConstant { words, quad, first })
    });
    shared.collect()
}
