//! Composes linear blocks whose count is in a register.

use super::block_words::{BlockLine, parse_lines};
use super::composer::{BlockShape, ComposedBlock, Composer};
use super::placed_block::PlacedBlock;
use super::scheduled_block::ScheduledBlock;
use crate::assemble::state::Assembler;
use crate::diag::Fail;
use crate::isa::Scalar;
use crate::linear::{BlockReport, CycleFormula, KeptValues, LackingRegisters};
use crate::schedule::{Iterations, LoopLine, LoopText, LoopTurns};
use std::rc::Rc;

/// The shape of a block whose count is in a register.
pub(super) struct CountedShape {
    register: Scalar,
    /// Address register with the iterations that are left.
    count: u8,
    /// Number of iterations that are carried out before and behind the hardware loop.
    outside: u64,
    /// Number of remainders of the iterations after which registers repeat.
    remainders: u64,
    copies: u64,
    /// True if a count may be too small for iterations to overlap.
    guarded: bool,
}

impl CountedShape {
    /// Returns true if words that stand behind the program go on behind the block.
    pub(super) const fn ends_apart(&self) -> bool {
        self.guarded || self.remainders > 1
    }
}

impl<'a> Composer<'a> {
    /// Composes a block whose count is in a register.
    ///
    /// A count that is too small for iterations to overlap takes a loop of one iteration after the other, and one that
    /// leaves a remainder of the iterations after which registers repeat ends in words of its own; both stand behind
    /// the program.
    pub(super) fn compose_counted(
        mut self,
        asm: &Assembler<'_>,
        register: Scalar,
        (at_least, multiple_of): (u64, u64),
    ) -> Result<ComposedBlock<'a>, Fail> {
        let mut take = || self.free.take_address();
        let registers = take().zip(take());
        let (count, turns) = registers.ok_or_else(|| self.lack(LackingRegisters::Addresses))?;
        let scheduled = self.schedule(Iterations::Unknown)?;
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
        let mut lines = Vec::new();
        // The count comes first: the branch that tests it waits for it.
        let subtract = format!("addi a{count}, {register}, -{outside}");
        lines.push(BlockLine::word(subtract, block));
        self.load_constants(&mut lines, lowered)?;
        let constants = lines.len();
        let guarded = at_least < outside;
        if guarded {
            let branch = format!("bneg a{count}, 0");
            lines.push(BlockLine::branch(branch, block, &self.label("few")));
        }
        let looped = if copies == 1 { count } else { turns };
        let begun = schedule.emit_counted(&format!("a{looped}"), outside);
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
        self.add_text(&mut lines, lowered, &text, Some(outside + copies));
        if remainders > 1 {
            let branch = format!("bnz a{count}, 0");
            lines.push(BlockLine::branch(branch, block, &self.rest_label(1)));
        }
        self.add_rest(&mut lines, &scheduled, outside);
        let words = parse_lines(asm, lines)?;
        let shape = CountedShape {
            register,
            count,
            outside,
            remainders,
            copies,
            guarded,
        };
        Ok(self.composed(words, scheduled, constants, BlockShape::Counted(shape)))
    }

    /// Returns a symbol of the block.
    fn label(&self, what: &str) -> Rc<str> {
        format!("{what}@{}", self.number).into()
    }

    /// Returns the symbol of the words for a remainder.
    fn rest_label(&self, remainder: u64) -> Rc<str> {
        self.label(&format!("rest{remainder}"))
    }

    /// Appends the words of a block whose count is in a register, and keeps those that stand behind the program.
    pub(super) fn finish_counted(
        &mut self,
        asm: &mut Assembler<'_>,
        (scheduled, shape): (&ScheduledBlock, &CountedShape),
        (placed, constants): (PlacedBlock, usize),
        followed: bool,
    ) -> Result<BlockReport, Fail> {
        let &CountedShape {
            register,
            count,
            outside,
            remainders,
            copies,
            guarded,
        } = shape;
        let block = self.place();
        let (few, behind) = (self.label("few"), self.label("behind"));
        let constants = placed.cycles_before(constants).saturating_sub(1);
        let mut report = self.report(scheduled, None, constants, Vec::new());
        if guarded {
            let lines = self.compose_plain(register, (&behind, followed))?;
            let words = parse_lines(asm, lines)?;
            let state = placed.state_behind(&few, self.machine);
            let plain = PlacedBlock::place_words(asm, &words, self.machine, &state)?;
            report.words += plain.words() as u64;
            report.cycles = self.count_plain(&placed, &plain, &few, outside);
            self.written |= plain.list_written();
            asm.pool_words(&self.block.name, few, plain);
        }
        let shape = (copies, placed.loop_words());
        let path = |turns| placed.count_cycles(turns);
        report
            .cycles
            .extend(self.list_formulas(&path, outside, shape));
        let penalty = self.machine.cp2.branch_penalty.0;
        // Cycles of the words that were passed on the way to a remainder's own.
        let mut passed: Vec<(PlacedBlock, Rc<str>)> = vec![(placed, self.rest_label(1))];
        for remainder in 1..remainders {
            let mut lines = Vec::new();
            if remainder + 1 < remainders {
                let word = format!("addi a{count}, a{count}, -1");
                lines.push(BlockLine::word(word, block));
                let branch = format!("bnz a{count}, 0");
                lines.push(BlockLine::branch(
                    branch,
                    block,
                    &self.rest_label(remainder + 1),
                ));
            }
            self.add_rest(&mut lines, scheduled, outside + remainder);
            lines.push(BlockLine::leave(block, &behind, followed));
            let Some((before, own)) = passed.last() else {
                continue;
            };
            let words = parse_lines(asm, lines)?;
            let state = before.state_behind(own, self.machine);
            let piece = PlacedBlock::place_words(asm, &words, self.machine, &state)?;
            report.words += piece.words() as u64;
            let path = |turns: u64| {
                let ways = passed
                    .iter()
                    .map(|(block, label)| block.count_cycles_to(label, turns) + penalty);
                ways.sum::<u64>() + piece.count_cycles(0) + penalty
            };
            let from = outside + remainder;
            report.cycles.extend(self.list_formulas(&path, from, shape));
            passed.push((piece, self.rest_label(remainder + 1)));
        }
        let mut passed = passed.into_iter();
        if let Some((placed, _)) = passed.next() {
            self.written |= placed.list_written();
            asm.append_block(placed);
        }
        asm.define_here(behind);
        for (remainder, (piece, _)) in (1..).zip(passed) {
            self.written |= piece.list_written();
            asm.pool_words(&self.block.name, self.rest_label(remainder), piece);
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
        let all = outside + u64::from(schedule.copies());
        self.add_text(lines, lowered, &rest, Some(all));
        let last = i64::try_from(all).unwrap_or(i64::MAX) - 1;
        self.add_final_values(lines, lowered, schedule, last);
    }

    /// Returns the formulas of the counts that end on one way: `path` gives its cycles for so many turns of the
    /// hardware loop in the first of the blocks that were passed.
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
        (behind, followed): (&Rc<str>, bool),
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
        self.add_text(&mut lines, &lowered, &text, None);
        self.add_final_values(&mut lines, &lowered, &schedule, 0);
        lines.push(BlockLine::leave(self.place(), behind, followed));
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
}
