//! Composes the words of a linear block.
//!
//! Constants and values before the first iteration, the scheduled loop, values behind the last.

use super::placed_block::{BlockConstants, BlockLine, PlacedBlock};
use crate::assemble::state::{Assembler, Context};
use crate::diag::{Chain, Fail, Problem};
use crate::isa::{Reg, RegSet, Scalar};
use crate::linear::{
    BlockCount, BlockRegisters, BlockReport, BlockStep, BoundTerm, ChosenRow, CycleFormula,
    InitialSource, KeptValues, LackingRegisters, LinearBlock, LoweredBlock, PlacementHint,
    PointerOrigin, RoundRegisters, lower,
};
use crate::schedule::{
    Dataflow, Iterations, KeptSchedule, LoopLine, LoopText, LoopWord, MAX_LOOP_COUNT,
    ModuloSchedule, RefusedInterval, ScheduleCache, ScheduleRequest, Unschedulable,
};
use crate::source::Span;
use crate::syntax::Register;
use cp2_machine::Machine;
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;

/// Address registers that blocks may use: the page loop owns the last one.
const ADDRESSES: u8 = 15;

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
    /// Registers that the words write.
    pub(super) written: RegSet,
}

/// Registers that a block writes and does not say so: what follows must not need what they had before.
#[derive(Debug)]
pub(in crate::assemble) struct BlockWrites {
    pub(in crate::assemble) name: Rc<str>,
    pub(in crate::assemble) place: (Span, Chain),
    pub(in crate::assemble) written: RegSet,
    /// Address of the word behind the block.
    pub(in crate::assemble) behind: usize,
}

/// A schedule with the dataflow that it is of.
pub(super) struct ScheduledBlock {
    pub(super) lowered: LoweredBlock,
    pub(super) schedule: ModuloSchedule,
    /// The least interval, in cycles.
    pub(super) bound: u32,
    pub(super) terms: Vec<BoundTerm>,
    pub(super) refused: Vec<RefusedInterval>,
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
        let free = self.find_free_registers(&block, machine.cp2.registers);
        let number = self.reports.len();
        let mut composer = Composer {
            block: &block,
            rows: &rows,
            machine,
            free,
            table: Vec::new(),
            label: format!("constants@{number}").into(),
            chain: context.chain,
            schedules: self.options.schedules,
            written: RegSet::EMPTY,
        };
        let first = self.words.len();
        let mut report = match block.count {
            BlockCount::Once | BlockCount::Known(_) => composer.place_known(self)?,
            BlockCount::Register {
                register,
                at_least,
                multiple_of,
            } => composer.place_counted(self, register, (at_least, multiple_of), number)?,
        };
        report.words += (self.words.len() - first) as u64;
        report.first_word = first;
        if !composer.table.is_empty() {
            self.tables.push(BlockConstants {
                label: composer.label,
                words: composer.table.concat(),
                at: block.at,
                chain: block.chain,
            });
        }
        let said = block.finals.iter().map(|own| own.register.regs());
        let said = said.fold(RegSet::EMPTY, |set, regs| set | regs);
        self.block_writes.push(BlockWrites {
            name: block.name.clone(),
            place: (block.at, block.chain),
            written: RegSet(composer.written.0 & !said.0),
            behind: self.words.len(),
        });
        self.reports.push(report);
        Ok(())
    }

    /// Returns the registers that no word so far names and that the block does not name as invariant, and those of
    /// `.free`, on a machine of so many pairs.
    fn find_free_registers(&self, block: &LinearBlock, pairs: usize) -> BlockRegisters {
        let words = self.words.iter().flat_map(|word| &word.insts);
        let named = words.filter(|own| !own.scheduled);
        let mut taken = named.fold(RegSet::EMPTY, |set, own| {
            set | own.inst.reads() | own.inst.writes() | own.inst.address_write()
        });
        for register in &block.free {
            taken.0 &= !register.regs().0;
        }
        for register in block.list_named() {
            taken |= register.regs();
        }
        let mut free = BlockRegisters {
            pairs: 0,
            addresses: 0,
            controls: 0,
            rounds: RoundRegisters::default(),
        };
        let pairs = u8::try_from(pairs).unwrap_or(u8::MAX).min(64);
        for pair in (0..pairs).filter(|&pair| !taken.contains(Reg::pair(pair))) {
            free.pairs |= 1 << pair;
        }
        let address = |a: u8| Scalar::address(a).reg();
        for a in (0..ADDRESSES).filter(|&a| !taken.contains(address(a))) {
            free.addresses |= 1 << a;
        }
        free.find_rounds(taken, block.goes_round());
        free
    }
}

impl Composer<'_> {
    /// Places a block that is carried out a number of times that is known, or once.
    pub(super) fn place_known(&mut self, asm: &mut Assembler<'_>) -> Result<BlockReport, Fail> {
        let iterations = match self.block.count {
            BlockCount::Known(iterations) => iterations,
            _ => 1,
        };
        // A word holds no larger number of turns: a register does.
        let register = (iterations > MAX_LOOP_COUNT).then(|| self.free.take_address());
        let scheduled = match self.block.count {
            BlockCount::Once => self.schedule_straight(KeptValues::Copies)?,
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
            self.add_text(&mut lines, lowered, &text, false);
            let last = i64::try_from(iterations).unwrap_or(i64::MAX) - 1;
            self.add_final_values(&mut lines, lowered, schedule, last);
        }
        let placed = PlacedBlock::parse(asm, lines, self.machine)?;
        let formula = CycleFormula::constant(placed.count_cycles(turns));
        let constant_cycles = placed.cycles_before(constants);
        self.written |= placed.list_written();
        asm.append_block(placed);
        Ok(self.report(&scheduled, Some(iterations), constant_cycles, vec![formula]))
    }

    /// Schedules the block as a loop whose iterations overlap.
    pub(super) fn schedule(&self, iterations: Iterations) -> Result<ScheduledBlock, Fail> {
        let mut lowered = self.lower(KeptValues::Copies)?;
        // The search begins at the interval that the block asks for.
        let least = lowered.dataflow.least_interval(self.machine);
        let asked = self.block.least_interval.saturating_sub(least);
        lowered.dataflow.spare = asked.max(self.block.spare) as usize;
        let free = lowered.free_registers();
        let request = ScheduleRequest::new(free, iterations);
        let dataflow = &lowered.dataflow;
        // A count that is not known has to fit the number of copies.
        let counted = iterations == Iterations::Unknown;
        let hinted = self.block.hint != PlacementHint::Free;
        let kept = self.search(dataflow, &(request, true), || {
            let (found, report) = match hinted && !counted {
                true => (dataflow.schedule_or_stretch(self.machine, free), None),
                false => {
                    let (found, report) = dataflow.schedule_best(self.machine, &request);
                    (found, Some(report))
                }
            };
            if found.is_ok() || !hinted {
                return (found, report);
            }
            // The order of the text may be none that loads and stores can keep.
            let (found, report) = dataflow
                .without_order()
                .schedule_best(self.machine, &request);
            (found, Some(report))
        });
        self.take_schedule(lowered, &kept)
    }

    /// Schedules one iteration as a straight line.
    pub(super) fn schedule_straight(&self, kept: KeptValues) -> Result<ScheduledBlock, Fail> {
        let lowered = self.lower(kept)?;
        let free = lowered.free_registers();
        let request = ScheduleRequest::new(free, Iterations::Known(1));
        let kept = self.search(&lowered.dataflow, &(request, false), || {
            let (found, report) = lowered.dataflow.schedule_straight(self.machine, free);
            (found, Some(report))
        });
        self.take_schedule(lowered, &kept)
    }

    /// Returns the result of a search, which may be known.
    fn search(
        &self,
        dataflow: &Dataflow,
        request: &impl Hash,
        search: impl FnOnce() -> KeptSchedule,
    ) -> Arc<KeptSchedule> {
        match self.schedules {
            Some(schedules) => schedules.find_or_search(dataflow, self.machine, request, search),
            None => Arc::new(search()),
        }
    }

    /// Joins what a search found with what it reports.
    fn take_schedule(
        &self,
        lowered: LoweredBlock,
        (found, report): &KeptSchedule,
    ) -> Result<ScheduledBlock, Fail> {
        let schedule = found.clone().map_err(|refusal| self.refuse(refusal))?;
        let place_of = |operation: usize| {
            let index = lowered.origins.get(operation).copied().flatten()?;
            let own = self.block.operations.get(index)?;
            Some((own.at.file, own.at.line))
        };
        let (bound, terms, refused) = match report {
            Some(report) => (
                report.bound.cycles,
                BoundTerm::list(report, place_of),
                report.refused.clone(),
            ),
            None => (
                lowered.dataflow.least_interval(self.machine),
                BoundTerm::list_slots(&lowered.dataflow, self.machine),
                Vec::new(),
            ),
        };
        Ok(ScheduledBlock {
            schedule,
            bound,
            terms,
            refused,
            lowered,
        })
    }

    fn lower(&self, kept: KeptValues) -> Result<LoweredBlock, Fail> {
        lower(self.block, self.rows, self.free, kept).map_err(|lack| self.lack(lack))
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

    /// Makes the error of a block without a schedule.
    fn refuse(&self, refusal: Unschedulable) -> Fail {
        let name = self.block.name.to_string();
        Fail::new(Problem::Unschedulable { name, refusal }, self.block.at)
    }

    /// Returns the source position of the block itself.
    pub(super) fn place(&self) -> (Span, Chain) {
        (self.block.at, self.chain)
    }

    /// Adds the lines of a scheduled loop, of which iterations overlap or come one by one. A word has the source
    /// position of its arithmetic operation, else of its other one.
    pub(super) fn add_text(
        &self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
        text: &LoopText,
        one_by_one: bool,
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
                LoopLine::End => BlockLine::End { one_by_one },
                LoopLine::Begin(_) => BlockLine::word(line.to_string(), self.place()),
                LoopLine::Word(word) => BlockLine::word(line.to_string(), place_of(word)),
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
        BlockReport {
            name: self.block.name.to_string(),
            place: (self.block.at.file, self.block.at.line),
            interval: u64::from(schedule.interval()),
            bound: u64::from(scheduled.bound),
            terms: scheduled.terms.clone(),
            refused: scheduled.refused.clone(),
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
            cycles,
        }
    }
}

impl LinearBlock {
    /// Iterates over the registers that the block names: invariants, bases of pointers, the count, and those of values
    /// before and behind it.
    fn list_named(&self) -> impl Iterator<Item = Register> {
        let invariants = self.list_invariants();
        let bases = self.pointers.iter().filter_map(|own| match own.base {
            PointerOrigin::Register(scalar) => Some(Register::Scalar(scalar)),
            PointerOrigin::Address(_) => None,
        });
        let steps = self.pointers.iter().filter_map(|own| match own.step {
            BlockStep::Register(step) => Some(Register::Scalar(Scalar::step(step))),
            BlockStep::Bytes(_) | BlockStep::Table(..) => None,
        });
        let extents = self
            .pointers
            .iter()
            .filter_map(|own| own.extent()?.register());
        let initial = self.initial.iter().filter_map(|own| match own.source {
            InitialSource::Register(register) => Some(register),
            InitialSource::Words(_) | InitialSource::Number(_) => None,
        });
        let count = match self.count {
            BlockCount::Register { register, .. } => Some(Register::Scalar(register)),
            BlockCount::Once | BlockCount::Known(_) => None,
        };
        let finals = self.finals.iter().map(|own| own.register);
        invariants
            .chain(bases)
            .chain(steps)
            .chain(extents.map(Register::Scalar))
            .chain(initial)
            .chain(count)
            .chain(finals)
    }
}

/// Returns the words that set an address register to a number of turns.
fn set_register(register: u8, turns: u64) -> impl Iterator<Item = String> {
    /// The first number that `movi` does not hold.
    const HELD: u64 = 1 << 17;
    let high = (turns >= HELD).then(|| format!("movhi a{register}, {}", turns >> 16 & 0xffff));
    let low = if turns < HELD { turns } else { turns & 0xffff };
    std::iter::once(format!("movi a{register}, {low}")).chain(high)
}
