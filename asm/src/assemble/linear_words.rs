//! Composes the words of a linear block: constants, values before the first iteration, the scheduled loop, values behind
//! the last.

use super::linear_place::{BlockLine, ConstantTable, PlacedBlock, WordSymbol};
use super::state::{Assembler, Context};
use crate::diag::{Chain, Fail, Problem};
use crate::isa::{Reg, RegSet, Scalar};
use crate::linear::{
    BlockCount, BlockOperand, BlockRegisters, BlockReport, BlockStep, BoundTerm, CarriedPlace,
    ChosenRow, CycleFormula, InitialSource, KeptValues, LackingRegisters, LinearBlock,
    LoweredBlock, PlacementHint, PointerBase, lower,
};
use crate::schedule::{
    Dataflow, FreeRegisters, Iterations, KeptSchedule, LoopLine, LoopText, LoopTurns, LoopWord,
    ModuloSchedule, PointerSetup, RefusedInterval, ScheduleCache, ScheduleRequest, Unschedulable,
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
struct Composer<'a> {
    block: &'a LinearBlock,
    rows: &'a [ChosenRow],
    machine: &'a Machine,
    free: BlockRegisters,
    /// Rows of the table: constants first, then numbers before the first iteration.
    table: Vec<[u32; 4]>,
    label: Rc<str>,
    chain: Chain,
    schedules: Option<&'a ScheduleCache>,
    /// Registers that the words write.
    written: RegSet,
}

/// Registers that a block writes and does not say so: what follows must not need what they had before.
#[derive(Debug)]
pub(super) struct BlockWrites {
    pub(super) name: Rc<str>,
    pub(super) place: (Span, Chain),
    pub(super) written: RegSet,
    /// Address of the word behind the block.
    pub(super) behind: usize,
}

/// A schedule with the dataflow that it is of.
struct ScheduledBlock {
    lowered: LoweredBlock,
    schedule: ModuloSchedule,
    /// The least interval, in cycles.
    bound: u32,
    terms: Vec<BoundTerm>,
    refused: Vec<RefusedInterval>,
}

impl Assembler<'_> {
    /// Schedules a block that has been read and appends its words.
    pub(super) fn place_block(
        &mut self,
        mut block: LinearBlock,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        let Some(machine) = self.options.machine else {
            return Err(Fail::new(Problem::NeedsMachine, block.at));
        };
        block.check_definitions()?;
        let rows = block.find_widths()?;
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
            self.tables.push(ConstantTable {
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
        };
        let pairs = u8::try_from(pairs).unwrap_or(u8::MAX).min(64);
        for pair in (0..pairs).filter(|&pair| !taken.contains(Reg::pair(pair))) {
            free.pairs |= 1 << pair;
        }
        let address = |a: u8| Scalar::address(a).reg();
        for a in (0..ADDRESSES).filter(|&a| !taken.contains(address(a))) {
            free.addresses |= 1 << a;
        }
        free
    }
}

impl Composer<'_> {
    /// Places a block that is carried out a number of times that is known, or once.
    fn place_known(&mut self, asm: &mut Assembler<'_>) -> Result<BlockReport, Fail> {
        let once = self.block.count == BlockCount::Once;
        let iterations = match self.block.count {
            BlockCount::Known(iterations) => iterations,
            _ => 1,
        };
        let scheduled = match once {
            true => self.schedule_straight(KeptValues::Copies)?,
            false => self.schedule(Iterations::Known(iterations))?,
        };
        let ScheduledBlock {
            lowered, schedule, ..
        } = &scheduled;
        let mut lines = Vec::new();
        if iterations == 0 {
            self.keep_initial_values(&mut lines, lowered)?;
        } else {
            self.load_constants(&mut lines, lowered)?;
            let constants = lines.len();
            let text = self.add_initial_values(&mut lines, lowered, schedule, iterations)?;
            self.add_text(&mut lines, lowered, &text);
            let last = i64::try_from(iterations).unwrap_or(i64::MAX) - 1;
            self.add_final_values(&mut lines, lowered, schedule, last);
            let placed = PlacedBlock::parse(asm, lines, self.machine)?;
            let base = placed.count_cycles(text.turns().unwrap_or(0));
            let constant_cycles = placed.cycles_before(constants);
            self.written |= placed.list_written();
            asm.append_block(placed);
            return Ok(self.report(
                &scheduled,
                Some(iterations),
                constant_cycles,
                vec![CycleFormula::constant(base)],
            ));
        }
        let placed = PlacedBlock::parse(asm, lines, self.machine)?;
        let base = placed.count_cycles(0);
        self.written |= placed.list_written();
        asm.append_block(placed);
        let formula = vec![CycleFormula::constant(base)];
        Ok(self.report(&scheduled, Some(0), 0, formula))
    }

    /// Places a block whose count is in a register.
    ///
    /// A count that is too small for iterations to overlap takes a loop of one iteration after the other, and one that
    /// leaves a remainder of the iterations after which registers repeat ends in words of its own; both stand behind the
    /// program.
    fn place_counted(
        &mut self,
        asm: &mut Assembler<'_>,
        register: Scalar,
        (at_least, multiple_of): (u64, u64),
        number: usize,
    ) -> Result<BlockReport, Fail> {
        let mut take = || self.free.take_address();
        let registers = take().zip(take());
        let (count, turns) = registers.ok_or_else(|| self.lack(LackingRegisters::Addresses))?;
        let scheduled = self.schedule(Iterations::Unknown {
            at_least,
            multiple_of: 0,
        })?;
        let ScheduledBlock {
            lowered, schedule, ..
        } = &scheduled;
        let (stages, copies) = schedule.overlap();
        let remainders = match multiple_of.is_multiple_of(copies) {
            true => 1,
            false => copies,
        };
        let outside = match remainders {
            1 => (stages - 1).next_multiple_of(copies),
            _ => stages - 1,
        };
        let block = self.place();
        let label = |what: &str| -> Rc<str> { format!("{what}@{number}").into() };
        let (few, behind) = (label("few"), label("behind"));
        let rest = |remainder: u64| label(&format!("rest{remainder}"));
        let mut lines = Vec::new();
        // The count comes first: the branch that tests it waits for it.
        let subtract = format!("addi a{count}, {register}, -{outside}");
        lines.push(BlockLine::word(subtract, block));
        self.load_constants(&mut lines, lowered)?;
        let constants = lines.len();
        let guarded = at_least < outside;
        if guarded {
            let branch = format!("bneg a{count}, 0");
            lines.push(BlockLine::branch(branch, block, &few));
        }
        let mut begun = schedule.emit_counted(&format!("a{turns}"), outside);
        if copies == 1 {
            begun = schedule.emit_counted(&format!("a{count}"), outside);
        }
        let text = self.with_initial_values(&mut lines, lowered, schedule, begun)?;
        if copies > 1 {
            let shift = copies.trailing_zeros();
            let mut words = vec![format!("shr a{turns}, a{count}, {shift}")];
            if remainders > 1 {
                let whole = self.table_register(lowered)?;
                words.push(format!("shl a{whole}, a{turns}, {shift}"));
                words.push(format!("sub a{count}, a{count}, a{whole}"));
            }
            lines.extend(words.into_iter().map(|word| BlockLine::word(word, block)));
        }
        self.add_text(&mut lines, lowered, &text);
        if remainders > 1 {
            let branch = format!("bnz a{count}, 0");
            lines.push(BlockLine::branch(branch, block, &rest(1)));
        }
        self.add_rest(&mut lines, &scheduled, outside);
        let placed = PlacedBlock::parse(asm, lines, self.machine)?;
        let mut report = self.report(
            &scheduled,
            None,
            placed.cycles_before(constants) - 1,
            Vec::new(),
        );
        if guarded {
            let lines = self.compose_plain(register, &behind)?;
            let plain = PlacedBlock::parse_behind(asm, lines, self.machine, &placed, &few)?;
            report.words += plain.words() as u64;
            report.cycles = self.count_plain(&placed, &plain, &few, outside);
            self.written |= plain.list_written();
            asm.pool.push((few, plain));
        }
        let shape = (copies, placed.loop_words());
        let path = |turns| placed.count_cycles(turns);
        report
            .cycles
            .extend(self.list_formulas(&path, outside, shape));
        let penalty = self.machine.cp2.branch_penalty.0;
        // Cycles of the words that were passed on the way to a remainder's own.
        let mut passed: Vec<(PlacedBlock, Rc<str>)> = vec![(placed, rest(1))];
        for remainder in 1..remainders {
            let mut lines = Vec::new();
            if remainder + 1 < remainders {
                let word = format!("addi a{count}, a{count}, -1");
                lines.push(BlockLine::word(word, block));
                let branch = format!("bnz a{count}, 0");
                lines.push(BlockLine::branch(branch, block, &rest(remainder + 1)));
            }
            self.add_rest(&mut lines, &scheduled, outside + remainder);
            lines.push(BlockLine::branch("jmp 0".to_owned(), block, &behind));
            let Some((before, own)) = passed.last() else {
                continue;
            };
            let piece = PlacedBlock::parse_behind(asm, lines, self.machine, before, own)?;
            report.words += piece.words() as u64;
            let path = |turns: u64| {
                let ways = passed
                    .iter()
                    .map(|(block, label)| block.count_cycles_to(label, turns) + penalty);
                ways.sum::<u64>() + piece.count_cycles(0) + penalty
            };
            let from = outside + remainder;
            report.cycles.extend(self.list_formulas(&path, from, shape));
            passed.push((piece, rest(remainder + 1)));
        }
        let mut passed = passed.into_iter();
        if let Some((placed, _)) = passed.next() {
            self.written |= placed.list_written();
            asm.append_block(placed);
        }
        asm.define_here(behind);
        for (remainder, (piece, _)) in (1..).zip(passed) {
            self.written |= piece.list_written();
            asm.pool.push((rest(remainder), piece));
        }
        Ok(report)
    }

    /// Adds what comes behind the hardware loop of a count in a register, where so many iterations are outside of it.
    fn add_rest(&self, lines: &mut Vec<BlockLine>, scheduled: &ScheduledBlock, outside: u64) {
        let ScheduledBlock {
            lowered, schedule, ..
        } = scheduled;
        let rest = LoopText {
            lines: schedule.emit_rest(outside),
            cycles: 0,
        };
        self.add_text(lines, lowered, &rest);
        let all = outside + u64::from(schedule.copies());
        let last = i64::try_from(all).unwrap_or(i64::MAX) - 1;
        self.add_final_values(lines, lowered, schedule, last);
    }

    /// Returns the formulas of the counts that end on one way: `path` gives its cycles for so many turns of the hardware
    /// loop in the first of the blocks that were passed.
    fn list_formulas(
        &self,
        path: &dyn Fn(u64) -> u64,
        from: u64,
        (copies, loop_words): (u64, u64),
    ) -> [CycleFormula; 2] {
        let none = CycleFormula {
            from,
            until: Some(from + 1),
            // A loop of no turn is left as by a branch.
            base: path(0) + self.machine.cp2.branch_penalty.0,
            slope: 0,
            per: 1,
        };
        let some = CycleFormula {
            from: from + copies,
            until: None,
            base: path(1),
            slope: loop_words + self.machine.cp2.loop_back.0,
            per: copies,
        };
        [none, some]
    }

    /// Composes the loop for few iterations: one after the other, up to the jump to what is behind the block.
    fn compose_plain(
        &mut self,
        register: Scalar,
        behind: &Rc<str>,
    ) -> Result<Vec<BlockLine>, Fail> {
        let ScheduledBlock {
            lowered, schedule, ..
        } = self.schedule_straight(KeptValues::Moves)?;
        let mut lines = Vec::new();
        let mut text = LoopText::default();
        let turns = LoopTurns::Register(register.to_string());
        text.lines.push(LoopLine::Begin(turns));
        text.lines.extend(schedule.emit(1).lines);
        text.lines.push(LoopLine::End);
        let text = self.with_initial_values(&mut lines, &lowered, &schedule, text)?;
        self.add_lines(&mut lines, &lowered, &text, true);
        self.add_final_values(&mut lines, &lowered, &schedule, 0);
        lines.push(BlockLine::branch("jmp 0".to_owned(), self.place(), behind));
        Ok(lines)
    }

    /// Returns the cycles of the loop for few iterations.
    fn count_plain(
        &self,
        before: &PlacedBlock,
        plain: &PlacedBlock,
        label: &Rc<str>,
        until: u64,
    ) -> Vec<CycleFormula> {
        let cp2 = &self.machine.cp2;
        // The words up to the branch, the branch, and the jump back.
        let around = before.count_cycles_to(label, 0) + 2 * cp2.branch_penalty.0;
        let base = |turns| around + plain.count_cycles(turns);
        let none = CycleFormula {
            from: 0,
            until: Some(1),
            base: base(0) + cp2.branch_penalty.0,
            slope: 0,
            per: 1,
        };
        let some = CycleFormula {
            from: 1,
            until: Some(until),
            base: base(1),
            slope: plain.loop_words() + cp2.loop_back.0,
            per: 1,
        };
        let mut formulas = vec![none, some];
        formulas.retain(|formula| formula.until.is_none_or(|until| formula.from < until));
        formulas
    }

    /// Schedules the block as a loop whose iterations overlap.
    fn schedule(&self, iterations: Iterations) -> Result<ScheduledBlock, Fail> {
        let mut lowered = self.lower(KeptValues::Copies)?;
        // The search begins at the interval that the block asks for.
        let least = lowered.dataflow.least_interval(self.machine);
        lowered.dataflow.spare = self.block.least_interval.saturating_sub(least) as usize;
        let free = FreeRegisters::new(lowered.free.pairs);
        let request = ScheduleRequest::new(free, iterations);
        let dataflow = &lowered.dataflow;
        let kept = self.search(dataflow, &(request, true), || match self.block.hint {
            PlacementHint::Free => {
                let (found, report) = dataflow.schedule_best(self.machine, &request);
                (found, Some(report))
            }
            PlacementHint::Written | PlacementHint::Spread => {
                (dataflow.schedule_or_stretch(self.machine, free), None)
            }
        });
        self.take_schedule(lowered, &kept)
    }

    /// Schedules one iteration as a straight line.
    fn schedule_straight(&self, kept: KeptValues) -> Result<ScheduledBlock, Fail> {
        let lowered = self.lower(kept)?;
        let free = FreeRegisters::new(lowered.free.pairs);
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
    fn lack(&self, lack: LackingRegisters) -> Fail {
        let what = match lack {
            LackingRegisters::Section => "registers for constants and values of earlier iterations",
            LackingRegisters::Addresses => "address registers for its pointers and its count",
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
    fn place(&self) -> (Span, Chain) {
        (self.block.at, self.chain)
    }

    /// Adds the words that load the constants of a block, whose table comes behind the data of the source.
    fn load_constants(
        &mut self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
    ) -> Result<(), Fail> {
        let numbers =
            |(_, source): &(CarriedPlace, InitialSource)| matches!(source, InitialSource::Words(_));
        if lowered.constants.is_empty() && !lowered.initial.iter().any(numbers) {
            return Ok(());
        }
        let address = self.table_register(lowered)?;
        let table = WordSymbol::Immediate(self.label.clone());
        let load = format!("movi a{address}, 0");
        lines.push(BlockLine::with_symbol(load, self.place(), table));
        for &(quad, constant) in &lowered.constants {
            let constant = self.block.constants.get(constant);
            let row = self.enter_row(constant.map_or([0; 4], |constant| constant.words));
            let at = constant.map_or(self.block.at, |constant| constant.at);
            let load = format!("ldq q{quad}, [a{address} + {}]", 16 * row);
            lines.push(BlockLine::word(load, (at, self.chain)));
        }
        Ok(())
    }

    /// Returns the index of a row of the table, which is added if there is none like it.
    fn enter_row(&mut self, words: [u32; 4]) -> usize {
        if let Some(row) = self.table.iter().position(|own| *own == words) {
            return row;
        }
        self.table.push(words);
        self.table.len() - 1
    }

    /// Returns the register that points at the table: that of the first pointer, which is set up afterwards.
    fn table_register(&self, lowered: &LoweredBlock) -> Result<u8, Fail> {
        let pointer = lowered.pointers.first().map(|&(pointer, _)| pointer);
        let own = pointer.map(|pointer| lowered.dataflow.pointer_register(pointer));
        let mut free = lowered.free;
        own.or_else(|| free.take_address())
            .ok_or_else(|| self.lack(LackingRegisters::Addresses))
    }

    /// Writes the loop of so many iterations with the values before the first.
    fn add_initial_values(
        &mut self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
        schedule: &ModuloSchedule,
        iterations: u64,
    ) -> Result<LoopText, Fail> {
        let text = schedule.emit(iterations);
        self.with_initial_values(lines, lowered, schedule, text)
    }

    /// Adds the loads of numbers before the first iteration; returns the loop with the moves of registers and the words
    /// that set pointers up.
    fn with_initial_values(
        &mut self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
        schedule: &ModuloSchedule,
        mut text: LoopText,
    ) -> Result<LoopText, Fail> {
        let mut moves = Vec::new();
        for &(place, source) in &lowered.initial {
            let to = register_of(place, lowered, schedule, 0);
            match source {
                InitialSource::Register(from) if from == to => {}
                InitialSource::Register(from) => {
                    moves.push(LoopLine::Word(LoopWord::move_register(
                        &to.to_string(),
                        &from.to_string(),
                    )));
                }
                InitialSource::Words(words) => {
                    let row = self.enter_row(words);
                    let address = self.table_register(lowered)?;
                    let load = match to {
                        Register::Quad(_) => "ldq",
                        Register::Pair(_) | Register::Scalar(_) => "ldp",
                    };
                    let load = format!("{load} {to}, [a{address} + {}]", 16 * row);
                    lines.push(BlockLine::word(load, self.place()));
                }
            }
        }
        text.lines.splice(0..0, moves);
        Ok(text.set_up(set_up_pointers(self.block, lowered, schedule)))
    }

    /// Adds the words by which a block of no iteration leaves its final values.
    fn keep_initial_values(
        &mut self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
    ) -> Result<(), Fail> {
        for last in &self.block.finals {
            let mut initial = self.block.initial.iter();
            let Some(own) = initial.find(|own| (own.value, own.distance) == (last.value, 1)) else {
                continue;
            };
            match own.source {
                InitialSource::Register(from) if from == last.register => {}
                InitialSource::Register(from) => {
                    let text = format!("mov {}, {from}", last.register);
                    lines.push(BlockLine::word(text, self.place()));
                }
                InitialSource::Words(words) => {
                    let address = self.table_register(lowered)?;
                    let row = self.enter_row(words);
                    let table = WordSymbol::Immediate(self.label.clone());
                    let text = format!("movi a{address}, 0");
                    lines.push(BlockLine::with_symbol(text, self.place(), table));
                    let load = match last.register {
                        Register::Quad(_) => "ldq",
                        Register::Pair(_) | Register::Scalar(_) => "ldp",
                    };
                    let text = format!("{load} {}, [a{address} + {}]", last.register, 16 * row);
                    lines.push(BlockLine::word(text, self.place()));
                }
            }
        }
        Ok(())
    }

    /// Adds the moves of values of iteration `last` to the registers that get them.
    fn add_final_values(
        &self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
        schedule: &ModuloSchedule,
        last: i64,
    ) {
        for &(register, place) in &lowered.finals {
            let from = register_of(place, lowered, schedule, last);
            if from != register {
                let text = format!("mov {register}, {from}");
                lines.push(BlockLine::word(text, self.place()));
            }
        }
    }

    /// Adds the lines of a scheduled loop. A word has the source position of its arithmetic operation, else of its other
    /// one.
    fn add_text(&self, lines: &mut Vec<BlockLine>, lowered: &LoweredBlock, text: &LoopText) {
        self.add_lines(lines, lowered, text, false);
    }

    fn add_lines(
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
    fn report(
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

/// Returns the register of a place: of the copy for iteration `last`, or of as many before the first.
fn register_of(
    place: CarriedPlace,
    lowered: &LoweredBlock,
    schedule: &ModuloSchedule,
    last: i64,
) -> Register {
    match place {
        CarriedPlace::Register(register) => register,
        CarriedPlace::Value(value, distance) => {
            let iteration = match distance {
                0 => last,
                before => -i64::from(before),
            };
            let first = schedule.register_of(value, iteration).unwrap_or(0);
            match lowered.dataflow.is_quad_value(value) {
                true => Register::Quad(first / 2),
                false => Register::Pair(first),
            }
        }
    }
}

impl LinearBlock {
    /// Iterates over the registers that the block names: invariants, bases of pointers, the count, and those of values
    /// before and behind it.
    fn list_named(&self) -> impl Iterator<Item = Register> {
        let operands = self.operations.iter().flat_map(|own| &own.operands);
        let named = operands.filter_map(|(operand, _)| match operand {
            BlockOperand::Register(register) => Some(*register),
            _ => None,
        });
        let bases = self.pointers.iter().filter_map(|own| match own.base {
            PointerBase::Register(scalar) => Some(Register::Scalar(scalar)),
            PointerBase::Address(_) => None,
        });
        let steps = self.pointers.iter().filter_map(|own| match own.step {
            BlockStep::Register(step) => Some(Register::Scalar(Scalar::step(step))),
            BlockStep::Bytes(_) => None,
        });
        let initial = self.initial.iter().filter_map(|own| match own.source {
            InitialSource::Register(register) => Some(register),
            InitialSource::Words(_) => None,
        });
        let count = match self.count {
            BlockCount::Register { register, .. } => Some(Register::Scalar(register)),
            BlockCount::Once | BlockCount::Known(_) => None,
        };
        let finals = self.finals.iter().map(|own| own.register);
        named
            .chain(bases)
            .chain(steps)
            .chain(initial)
            .chain(count)
            .chain(finals)
    }
}

/// Returns the words that set the pointers of a block up.
fn set_up_pointers(
    block: &LinearBlock,
    lowered: &LoweredBlock,
    schedule: &ModuloSchedule,
) -> Vec<PointerSetup> {
    /// Bytes that `addi` adds at most and at least.
    const ADDED: std::ops::Range<i64> = -2048..2048;
    let mut setups = Vec::new();
    for &(pointer, index) in &lowered.pointers {
        let Some(own) = block.pointers.get(index) else {
            continue;
        };
        let bytes = schedule.bias(pointer).saturating_add(own.bytes);
        let a = schedule.pointer_register(pointer);
        let words = match own.base {
            PointerBase::Address(address) => {
                vec![format!("movi a{a}, {}", address.saturating_add(bytes))]
            }
            PointerBase::Register(scalar) if ADDED.contains(&bytes) => {
                vec![format!("addi a{a}, {scalar}, {bytes}")]
            }
            PointerBase::Register(scalar) => vec![
                format!("movi a{a}, {bytes}"),
                format!("add a{a}, a{a}, {scalar}"),
            ],
        };
        let registers = vec![a];
        setups.push(PointerSetup { words, registers });
    }
    setups
}
