//! Composes the words of a linear block.
//!
//! Constants and values before the first iteration, the scheduled loop, values behind the last.

use super::block_words::{AccessIteration, BlockLine, ParsedWord, WordSymbol, parse_lines};
use super::counted::CountedShape;
use super::placed_block::{BlockConstants, IssueState, PlacedBlock};
use super::rounds::take_table_label;
use super::scheduled_block::ScheduledBlock;
use crate::assemble::state::{Assembler, Context};
use crate::diag::{Chain, Fail, Problem};
use crate::isa::RegSet;
use crate::linear::{
    BlockCount, BlockRegisters, BlockReport, ChainOverlap, ChosenRow, CycleFormula, HeldConstant,
    LackingRegisters, LinearBlock, LoweredBlock, PlacementHint,
};
use crate::schedule::{Iterations, LoopLine, LoopText, LoopWord, MAX_LOOP_COUNT, ScheduleCache};
use crate::source::Span;
use crate::syntax::Register;
use cp2_machine::Machine;
use std::rc::Rc;

/// A block with what its words are made of.
pub(super) struct Composer<'a> {
    pub(super) block: &'a LinearBlock,
    pub(super) rows: &'a [ChosenRow],
    pub(super) machine: &'a Machine,
    pub(super) free: BlockRegisters,
    /// Rows of the table: constants first, then numbers before the first iteration.
    pub(super) table: Vec<[u32; 4]>,
    pub(super) label: Rc<str>,
    pub(super) chain: Chain,
    pub(super) schedules: Option<&'a ScheduleCache>,
    /// Number of the block in the program, for the symbols that it defines.
    pub(super) number: usize,
    /// Constants that have registers in several blocks.
    pub(super) held: Vec<HeldConstant>,
    /// Registers in which blocks before leave values for this one.
    pub(super) received: Vec<ReceivedValue>,
    /// Registers that the words write.
    pub(super) written: RegSet,
}

/// A value of a block before, and the register in which it is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedValue {
    /// Number of the block in the chain.
    pub(super) block: usize,
    pub(super) value: usize,
    pub(super) register: Register,
}

/// A block whose words are known, but not yet where they stand.
pub(super) struct ComposedBlock<'a> {
    pub(super) composer: Composer<'a>,
    pub(super) words: Vec<ParsedWord>,
    pub(super) scheduled: ScheduledBlock,
    /// Number of lines that load constants.
    constants: usize,
    shape: BlockShape,
}

/// The shape of a block: its words depend on this besides the schedule.
pub(super) enum BlockShape {
    Known {
        iterations: u64,
        /// Turns of the hardware loop.
        turns: u64,
    },
    Counted(CountedShape),
}

impl Assembler<'_> {
    /// Schedules a block that has been read and appends its words.
    pub(in crate::assemble) fn place_block(
        &mut self,
        mut block: LinearBlock,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        let Some(machine) = self.options.machine else {
            return Err(Fail::new(Problem::NeedsMachine, block.at));
        };
        let mut rows = self.check_block(&mut block)?;
        if let Err(fail) = drop_without_effect(&mut block, &mut rows, &[]) {
            // A store that is flawed is not there: that has been reported.
            return match self.sink.count_errors() > block.errors_before {
                true => Ok(()),
                false => Err(fail),
            };
        }
        let blocks = std::slice::from_ref(&block);
        let free = self.find_free_registers(&block.free, (&[], blocks), machine.cp2.registers);
        let composer = Composer::new(self, machine, (&block, &rows), (free, 0), context.chain);
        let composed = composer.compose(self)?;
        let words = composed.words.clone();
        let (_, written) = composed.finish(self, &words, (&IssueState::default(), false), None)?;
        self.note_writes(&block, written, block.list_said());
        Ok(())
    }

    /// Checks a block that has been read; returns the rows of its operations.
    pub(super) fn check_block(&mut self, block: &mut LinearBlock) -> Result<Vec<ChosenRow>, Fail> {
        block.check_definitions()?;
        if block.operations.is_empty() {
            let problem = Problem::Expected {
                wanted: "operations up to `.endlinear`".into(),
                found: "none".into(),
            };
            return Err(Fail::new(problem, block.at));
        }
        if self.options.check_registers {
            for (name, at) in block.list_unread() {
                let name = name.to_string();
                let fail = Fail::new(Problem::UnreadValue { name }, at);
                self.sink.warn(fail, block.chain);
            }
        }
        let rows = block.find_widths()?;
        block.check_steps(&rows)?;
        block.check_rounds(&rows)?;
        block.check_scalars()?;
        block.check_apart()?;
        Ok(rows)
    }
}

impl<'a> Composer<'a> {
    /// Begins to compose a block, which has a place among those of a chain.
    pub(super) fn new(
        asm: &Assembler<'a>,
        machine: &'a Machine,
        (block, rows): (&'a LinearBlock, &'a [ChosenRow]),
        (free, place): (BlockRegisters, usize),
        chain: Chain,
    ) -> Self {
        let number = asm.reports.len() + place;
        Self {
            block,
            rows,
            machine,
            free,
            table: Vec::new(),
            label: format!("constants@{number}").into(),
            chain,
            schedules: asm.options.schedules,
            number,
            held: Vec::new(),
            received: Vec::new(),
            written: RegSet::EMPTY,
        }
    }

    /// Composes the words of the block.
    pub(super) fn compose(self, asm: &Assembler<'_>) -> Result<ComposedBlock<'a>, Fail> {
        match self.block.count {
            BlockCount::Once => self.compose_known(asm, 1),
            BlockCount::Known(iterations) => self.compose_known(asm, iterations),
            BlockCount::Register {
                register,
                at_least,
                multiple_of,
            } => self.compose_counted(asm, register, (at_least, multiple_of)),
        }
    }

    /// Composes a block that is carried out a number of times that is known, or once.
    fn compose_known(
        mut self,
        asm: &Assembler<'_>,
        iterations: u64,
    ) -> Result<ComposedBlock<'a>, Fail> {
        // A word holds no larger number of turns: a register does.
        let register = (iterations > MAX_LOOP_COUNT).then(|| self.free.take_address());
        let scheduled = match self.block.count {
            BlockCount::Once => self.schedule_once()?,
            // The search for a line knows no order of the text, which a hint asks for.
            BlockCount::Known(1) if self.block.hint == PlacementHint::Free => {
                self.schedule_once()?
            }
            _ => self.schedule(Iterations::Known(iterations))?,
        };
        let ScheduledBlock {
            lowered, schedule, ..
        } = &scheduled;
        let (mut lines, mut constants, mut turns) = (Vec::new(), 0, 0);
        if iterations == 0 {
            self.keep_initial_values(&mut lines, lowered)?;
        } else {
            self.load_constants(&mut lines, lowered)?;
            constants = lines.len();
            turns = schedule.count_turns(iterations);
            let text = if turns > MAX_LOOP_COUNT {
                let register = register.flatten();
                let register = register.ok_or_else(|| self.lack(LackingRegisters::Addresses))?;
                let words = set_register(register, turns);
                lines.extend(words.map(|word| BlockLine::word(word, self.place())));
                schedule.emit_long(iterations, &format!("a{register}"))
            } else {
                let text = schedule.emit(iterations);
                turns = text.turns().unwrap_or(0);
                text
            };
            let text = self.with_initial_values(&mut lines, lowered, schedule, text)?;
            self.add_text(&mut lines, lowered, &text, Some(iterations));
            let last = i64::try_from(iterations).unwrap_or(i64::MAX) - 1;
            self.add_final_values(&mut lines, lowered, schedule, last);
        }
        let words = parse_lines(asm, lines)?;
        let shape = BlockShape::Known { iterations, turns };
        Ok(self.composed(words, scheduled, constants, shape))
    }

    /// Joins what composing has found.
    pub(super) fn composed(
        self,
        words: Vec<ParsedWord>,
        scheduled: ScheduledBlock,
        constants: usize,
        shape: BlockShape,
    ) -> ComposedBlock<'a> {
        ComposedBlock {
            composer: self,
            words,
            scheduled,
            constants,
            shape,
        }
    }

    /// Makes the error of registers that run out.
    pub(super) fn lack(&self, lack: LackingRegisters) -> Fail {
        let what = match lack {
            LackingRegisters::Section => "registers for constants and values of earlier iterations",
            LackingRegisters::Addresses => "address registers for its pointers and its count",
            LackingRegisters::Rounds => {
                "address registers a0 .. a7, with their b and l, for pointers that go round"
            }
            LackingRegisters::Steps => "step registers for pointers that go round",
        };
        let name = self.block.name.to_string();
        Fail::new(Problem::LacksRegisters { name, what }, self.block.at)
    }

    /// Returns the source position of the block itself.
    pub(super) fn place(&self) -> (Span, Chain) {
        (self.block.at, self.chain)
    }

    /// Adds the lines of a scheduled loop of so many iterations that overlap, or, without a number, come one by one. A
    /// word has the source position of its arithmetic operation, else of its other one.
    pub(super) fn add_text(
        &self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
        text: &LoopText,
        iterations: Option<u64>,
    ) {
        let place_of = |word: &LoopWord| {
            let origin = word.operations().find_map(|own| own.index);
            let operation = origin
                .and_then(|index| lowered.origins.get(index).copied().flatten())
                .and_then(|index| self.block.operations.get(index));
            operation.map_or_else(|| self.place(), |own| (own.at, own.chain))
        };
        for line in &text.lines {
            lines.push(match line {
                LoopLine::End => BlockLine::End {
                    one_by_one: iterations.is_none(),
                },
                LoopLine::Begin(_) => BlockLine::word(line.to_string(), self.place()),
                LoopLine::Word(word) => {
                    let own = word.memory.as_ref().and_then(|own| own.iteration);
                    let iteration = own.zip(iterations).map(|(own, all)| AccessIteration {
                        before: own,
                        behind: all.saturating_sub(own + 1),
                    });
                    let (text, place) = (line.to_string(), place_of(word));
                    match take_table_label(&text, self.block) {
                        Some((text, label)) => {
                            let symbol = WordSymbol::Immediate(label);
                            BlockLine::with_symbol(text, place, symbol)
                        }
                        None => BlockLine::of_iteration(text, place, iteration),
                    }
                }
            });
        }
    }

    /// Makes the report of a block.
    pub(super) fn report(
        &self,
        scheduled: &ScheduledBlock,
        iterations: Option<u64>,
        constant_cycles: u64,
        cycles: Vec<CycleFormula>,
    ) -> BlockReport {
        let dataflow = &scheduled.lowered.dataflow;
        let schedule = &scheduled.schedule;
        let dropped = self.block.dropped.iter();
        BlockReport {
            name: self.block.name.to_string(),
            place: (self.block.at.file, self.block.at.line),
            interval: u64::from(schedule.interval()),
            bound: u64::from(scheduled.bound),
            terms: scheduled.terms.clone(),
            refused: scheduled.refused.clone(),
            dropped: dropped.map(|at| (at.file, at.line)).collect(),
            first_word: 0,
            iterations,
            classes: dataflow.classes(),
            arithmetic: dataflow.arithmetic() as u64,
            memory: dataflow.memory() as u64,
            busiest_unit: dataflow.busiest_unit(self.machine) as u64,
            copies: u64::from(schedule.copies()),
            registers: u64::from(schedule.count_registers()),
            words: 0,
            constant_cycles,
            overlap: None,
            cycles,
        }
    }
}

impl ComposedBlock<'_> {
    /// Returns true if words of the block that stand behind the program go on behind its last word.
    pub(super) const fn ends_apart(&self) -> bool {
        match &self.shape {
            BlockShape::Known { .. } => false,
            BlockShape::Counted(shape) => shape.ends_apart(),
        }
    }

    /// Returns the registers that the words write.
    pub(super) fn list_written(&self) -> RegSet {
        let insts = self.words.iter().flat_map(|word| &word.insts);
        insts.fold(RegSet::EMPTY, |set, own| {
            set | own.inst.writes() | own.inst.address_write()
        })
    }

    /// Appends the words of the block, which a chain may have joined with those of other blocks, of which one comes
    /// next if the block is followed. Returns the state of the machine behind them, and the registers that they write.
    pub(super) fn finish(
        self,
        asm: &mut Assembler<'_>,
        words: &[ParsedWord],
        (state, followed): (&IssueState, bool),
        overlap: Option<ChainOverlap>,
    ) -> Result<(IssueState, RegSet), Fail> {
        let Self {
            mut composer,
            scheduled,
            constants,
            shape,
            ..
        } = self;
        let first = asm.words.len();
        let placed = PlacedBlock::place_words(asm, words, composer.machine, state)?;
        let end = placed.end().clone();
        let mut report = match &shape {
            BlockShape::Known { iterations, turns } => {
                let formula = CycleFormula::constant(placed.count_cycles(*turns));
                let constants = placed.cycles_before(constants);
                composer.written |= placed.list_written();
                asm.append_block(placed);
                composer.report(&scheduled, Some(*iterations), constants, vec![formula])
            }
            BlockShape::Counted(shape) => {
                composer.finish_counted(asm, (&scheduled, shape), (placed, constants), followed)?
            }
        };
        report.words += (asm.words.len() - first) as u64;
        report.first_word = first;
        report.overlap = overlap;
        asm.reports.push(report);
        let block = composer.block;
        if !composer.table.is_empty() {
            asm.tables.push(BlockConstants {
                label: composer.label,
                words: composer.table.concat(),
                at: block.at,
                chain: block.chain,
            });
        }
        Ok((end, composer.written))
    }
}

/// Drops the operations of a block that have no effect, where `read` lists the values that later blocks begin with.
pub(super) fn drop_without_effect(
    block: &mut LinearBlock,
    rows: &mut Vec<ChosenRow>,
    read: &[usize],
) -> Result<(), Fail> {
    block.drop_without_effect(rows, read);
    if !block.operations.is_empty() {
        return Ok(());
    }
    let name = block.name.to_string();
    Err(Fail::new(Problem::WithoutEffect { name }, block.at))
}

/// Returns the words that set an address register to a number of turns.
fn set_register(register: u8, turns: u64) -> impl Iterator<Item = String> {
    /// The first number that `movi` does not hold.
    const HELD: u64 = 1 << 17;
    let high = (turns >= HELD).then(|| format!("movhi a{register}, {}", turns >> 16 & 0xffff));
    let low = if turns < HELD { turns } else { turns & 0xffff };
    std::iter::once(format!("movi a{register}, {low}")).chain(high)
}
