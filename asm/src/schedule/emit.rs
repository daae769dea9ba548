//! Writes a scheduled loop as assembly: fill, hardware loop and drain.

use super::dataflow::{DataOperand, DataPointer, PointerStep};
use super::placement::ModuloSchedule;
use super::registers::FIRST_SCALAR;
use crate::isa::Scalar;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

/// A loop as assembly.
#[derive(Clone, Debug, Default)]
pub struct LoopText {
    /// Words, and the beginnings and ends of hardware loops.
    pub lines: Vec<LoopLine>,
    /// Cycles from the first word to the word behind the last.
    pub cycles: u64,
}

/// The times of the parts of a loop, in cycles from its first operation on.
#[derive(Clone, Debug)]
struct LoopTimes {
    /// End of the words before the first arithmetic operation, which may come later.
    head: u64,
    /// End of the words before the hardware loop.
    before: u64,
    /// One turn of the hardware loop.
    turn: Range<u64>,
    /// Begin of the words behind the hardware loop.
    behind: u64,
    /// Begin of the words behind the last arithmetic operation, which may come earlier.
    tail: u64,
    /// End of all.
    total: u64,
    /// Cycles in which the hardware loop is set up.
    setup: u64,
}

/// A line of a scheduled loop.
#[derive(Clone, Debug)]
pub enum LoopLine {
    /// A word.
    Word(LoopWord),
    /// A hardware loop begins.
    Begin(LoopTurns),
    /// The hardware loop ends.
    End,
}

/// Number of times that the words of a hardware loop are carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopTurns {
    /// A number.
    Known(u64),
    /// The number in a scalar register, by its name.
    Register(String),
}

impl fmt::Display for LoopTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(turns) => turns.fmt(f),
            Self::Register(register) => f.write_str(register),
        }
    }
}

/// The operations of a word.
#[derive(Clone, Debug, Default)]
pub struct LoopWord {
    /// The operation of the arithmetic slot.
    pub arithmetic: Option<WordOperation>,
    /// The operation of the memory slot.
    pub memory: Option<WordOperation>,
}

/// An operation of a word as assembly.
#[derive(Clone, Debug)]
pub struct WordOperation {
    /// The operation with its operands.
    pub text: String,
    /// Index of the operation in its dataflow; none for a word that sets something up.
    pub index: Option<usize>,
    /// Number of its iteration in the text; none for a word that sets something up.
    pub iteration: Option<u64>,
    /// Index of the address register that it reads, if it accesses memory.
    pub address: Option<u8>,
}

/// Words that set a pointer up, in the memory slot.
#[derive(Clone, Debug)]
pub struct PointerSetup {
    /// The words.
    pub words: Vec<String>,
    /// Address registers that no access may use before these words.
    pub registers: Vec<u8>,
}

impl PointerSetup {
    fn is_used(&self, line: &LoopLine) -> bool {
        let LoopLine::Word(word) = line else {
            return false;
        };
        let address = word.memory.as_ref().and_then(|memory| memory.address);
        address.is_some_and(|a| self.registers.contains(&a))
    }
}

impl LoopWord {
    /// Makes the word of an operation of the memory slot that sets something up.
    fn set_up(text: &str) -> Self {
        Self {
            arithmetic: None,
            memory: Some(WordOperation {
                text: text.to_owned(),
                index: None,
                iteration: None,
                address: None,
            }),
        }
    }

    /// Makes the word of an operation of the arithmetic slot that sets something up.
    pub(crate) fn set_up_arithmetic(text: String) -> Self {
        Self {
            arithmetic: Some(WordOperation {
                text,
                index: None,
                iteration: None,
                address: None,
            }),
            memory: None,
        }
    }

    /// Returns the operations of the word.
    pub fn operations(&self) -> impl Iterator<Item = &WordOperation> {
        self.arithmetic.iter().chain(&self.memory)
    }
}

impl fmt::Display for LoopLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin(turns) => write!(f, "loop {turns} {{"),
            Self::End => f.write_str("}"),
            Self::Word(word) => {
                let mut between = "";
                for operation in word.operations() {
                    write!(f, "{between}{}", operation.text)?;
                    between = " || ";
                }
                match between {
                    "" => f.write_str("nop"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl LoopText {
    /// Returns the turns of the hardware loop, if there is one with a number that is known.
    pub(crate) fn turns(&self) -> Option<u64> {
        self.lines.iter().find_map(|line| match line {
            LoopLine::Begin(LoopTurns::Known(turns)) => Some(*turns),
            _ => None,
        })
    }

    /// Writes the lines of assembly.
    #[must_use]
    pub fn text(&self) -> String {
        write_lines(&self.lines)
    }

    /// Inserts the words that set pointers up before their first use.
    ///
    /// They go into memory slots that are free while the pipeline fills, else into words of their own.
    #[must_use]
    pub fn set_up(self, mut setups: Vec<PointerSetup>) -> Self {
        setups.sort_by_key(|setup| self.lines.iter().position(|line| setup.is_used(line)));
        let words = setups.iter().enumerate();
        let mut pending: VecDeque<(usize, &str)> = words
            .flat_map(|(i, setup)| setup.words.iter().map(move |word| (i, word.as_str())))
            .collect();
        let (mut lines, mut cycles) = (Vec::new(), self.cycles);
        for mut line in self.lines {
            // Inside a hardware loop nothing can be set up, so all words come before it.
            let looped = matches!(line, LoopLine::Begin(_));
            while pending
                .iter()
                .any(|&(i, _)| looped || setups[i].is_used(&line))
            {
                let Some((_, word)) = pending.pop_front() else {
                    break;
                };
                lines.push(LoopLine::Word(LoopWord::set_up(word)));
                cycles += 1;
            }
            if let LoopLine::Word(word) = &mut line
                && word.memory.is_none()
                && let Some((_, setup)) = pending.pop_front()
            {
                word.memory = LoopWord::set_up(setup).memory;
            }
            lines.push(line);
        }
        Self { lines, cycles }
    }
}

/// Writes lines of assembly.
fn write_lines(lines: &[LoopLine]) -> String {
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

/// Most iterations of a hardware loop with a constant count.
pub(crate) const MAX_LOOP_COUNT: u64 = 4095;

impl ModuloSchedule {
    /// Returns the distance in bytes from the place that a pointer points at to the first value of its
    /// address register.
    ///
    /// The last access makes the step and so has no offset: the register is biased by that access's offset. A pointer
    /// that stays where it is has no such access: where that one is far from others, the register is between them all.
    pub fn bias(&self, pointer: DataPointer) -> i64 {
        /// Bytes that all kinds of accesses reach.
        const REACH: u64 = 1 << 13;
        let op = self.last.get(pointer.0).map(|&op| &self.body.ops[op]);
        let last = op.and_then(|op| op.access).map_or(0, |a| a.offset);
        if !self.stays(pointer.0) {
            return last;
        }
        let accesses = self.body.ops.iter().filter_map(|op| op.access);
        let offsets = || {
            let own = accesses.clone().filter(|a| a.pointer == pointer.0);
            own.map(|a| a.offset)
        };
        match (offsets().min(), offsets().max()) {
            (Some(least), Some(most))
                if last.abs_diff(least) >= REACH || last.abs_diff(most) >= REACH =>
            {
                // Quads stay aligned.
                (least / 2 + most / 2) & !15
            }
            _ => last,
        }
    }

    /// Returns true if a pointer stays where it is.
    fn stays(&self, pointer: usize) -> bool {
        let step = self.body.pointers.get(pointer).map(|&(_, step)| step);
        step == Some(PointerStep::Bytes(0))
    }

    /// Returns the address register of a pointer.
    pub fn pointer_register(&self, pointer: DataPointer) -> u8 {
        let found = self.body.pointers.get(pointer.0);
        found.map_or(0, |&(register, _)| register)
    }

    /// Returns the number of iterations that overlap, and of iterations after which registers repeat.
    pub fn overlap(&self) -> (u64, u64) {
        let end = self.cycles.iter().max().map_or(0, |&c| u64::from(c) + 1);
        let stages = end.div_ceil(u64::from(self.interval));
        (stages, u64::from(self.registers.unroll))
    }

    /// Writes the words of some intervals of `iterations`, for loops of another shape; iteration i begins in
    /// interval i.
    ///
    /// There are no words before the first operation of all, nor behind the last.
    pub fn intervals(&self, which: Range<u64>, iterations: u64) -> String {
        let interval = u64::from(self.interval);
        let end = self.cycles.iter().max().map_or(0, |&c| u64::from(c) + 1);
        let total = (iterations.max(1) - 1) * interval + end;
        let times = which.start * interval..(which.end * interval).min(total);
        write_lines(&self.words(&self.slots(), times, iterations))
    }

    /// Writes the loop over `iterations` iterations.
    pub fn emit(&self, iterations: u64) -> LoopText {
        let turns = self.count_turns(iterations).min(MAX_LOOP_COUNT);
        let looped = (turns > 1).then_some((turns, LoopTurns::Known(turns)));
        self.lay_out(iterations, looped)
    }

    /// Writes the loop over `iterations` iterations with the number of turns of the hardware loop in a register: where
    /// these are more than a word can say.
    pub(crate) fn emit_long(&self, iterations: u64, turns: &str) -> LoopText {
        let number = self.count_turns(iterations);
        self.lay_out(
            iterations,
            Some((number, LoopTurns::Register(turns.to_owned()))),
        )
    }

    /// Returns the turns of the hardware loop of so many iterations.
    pub(crate) fn count_turns(&self, iterations: u64) -> u64 {
        let (stages, unroll) = self.overlap();
        // Intervals in which every stage has an iteration.
        let steady = (iterations + 1).saturating_sub(stages);
        steady / unroll
    }

    /// Writes the loop over a number of iterations that is known when it runs, up to the end of the hardware loop.
    ///
    /// `turns` is the register with the number of turns of the hardware loop, from 0 on, one for each
    /// [`overlap`](Self::overlap)`().1` iterations. `outside` iterations are carried out before and behind it:
    /// `overlap().0 - 1` at least.
    #[must_use]
    pub fn emit_counted(&self, turns: &str, outside: u64) -> LoopText {
        let mut text = self.lay_out_turn(turns, outside);
        let end = text
            .lines
            .iter()
            .position(|line| matches!(line, LoopLine::End));
        text.lines.truncate(end.map_or(0, |end| end + 1));
        text
    }

    /// Writes what comes behind the hardware loop of [`emit_counted`](Self::emit_counted), where so many iterations are
    /// carried out before and behind it.
    #[must_use]
    pub fn emit_rest(&self, outside: u64) -> Vec<LoopLine> {
        let lines = self.lay_out_turn("", outside).lines;
        let end = lines.iter().position(|line| matches!(line, LoopLine::End));
        lines
            .into_iter()
            .skip(end.map_or(0, |end| end + 1))
            .collect()
    }

    /// Writes a loop of one turn of the hardware loop and so many other iterations.
    fn lay_out_turn(&self, turns: &str, outside: u64) -> LoopText {
        let looped = (1, LoopTurns::Register(turns.to_owned()));
        self.lay_out(outside + self.overlap().1, Some(looped))
    }

    /// Counts the cycles of [`emit`](Self::emit), for which no operation is written.
    pub(super) fn count_cycles(&self, iterations: u64) -> u64 {
        let turns = self.count_turns(iterations).min(MAX_LOOP_COUNT);
        let times = self.lay_out_times(iterations, (turns > 1).then_some(turns));
        let slots = self.slots();
        let ends = [0..times.head, times.tail..times.total];
        let saved = ends.map(|ends| self.move_towards_arithmetic(&slots, ends, iterations).1);
        times.total + times.setup - saved[0] - saved[1]
    }

    /// Returns the times of a loop, in which some intervals are so many turns of a hardware loop.
    fn lay_out_times(&self, iterations: u64, turns: Option<u64>) -> LoopTimes {
        let interval = u64::from(self.interval);
        let end = u64::from(self.length());
        let (stages, unroll) = self.overlap();
        let fill = (stages - 1) * interval;
        let fill = match turns {
            Some(_) if self.body.unstalled => fill - self.count_early(fill),
            _ => fill,
        };
        let once = unroll * interval;
        let looped = turns.map_or(0, |turns| turns * once);
        // No words follow the last operation of the last iteration, except the rest of the hardware loop's
        // last turn: an iteration may be shorter than an interval where a unit takes an operation only every
        // few cycles.
        let total = ((iterations.max(1) - 1) * interval + end).max(fill + looped);
        let (before, behind) = if looped > 0 {
            (fill, fill + looped)
        } else {
            (total, total)
        };
        let arithmetic = self.body.ops.iter().zip(&self.cycles);
        let arithmetic = arithmetic.filter(|(op, _)| !op.takes_memory());
        let first = arithmetic.clone().map(|(_, &at)| u64::from(at)).min();
        let last = arithmetic.map(|(_, &at)| u64::from(at)).max();
        let (mut head, mut tail) = (0, total);
        if let (Some(first), Some(last), true) = (first, last, self.body.in_order) {
            head = first.min(before);
            tail = (last + 1 + total - end).max(behind);
        }
        LoopTimes {
            head,
            before,
            turn: fill..fill + once,
            behind,
            tail,
            total,
            setup: turns.map_or(0, |_| 1 + u64::from(self.loop_setup)),
        }
    }

    /// Writes a loop, in which some intervals are turns of a hardware loop.
    fn lay_out(&self, iterations: u64, hardware: Option<(u64, LoopTurns)>) -> LoopText {
        let turns = hardware.as_ref().map(|&(turns, _)| turns);
        let times = self.lay_out_times(iterations, turns);
        let slots = self.slots();
        let words = |times: Range<u64>| self.words(&slots, times, iterations);
        let (mut lines, early) = self.towards_arithmetic(&slots, 0..times.head, iterations);
        lines.extend(words(times.head..times.before.min(times.tail)));
        if let Some((_, turns)) = hardware {
            lines.push(LoopLine::Begin(turns));
            lines.extend(words(times.turn));
            lines.push(LoopLine::End);
            lines.extend(words(times.behind..times.tail));
        }
        let ends = times.tail..times.total;
        let (stores, late) = self.towards_arithmetic(&slots, ends, iterations);
        lines.extend(stores);
        LoopText {
            lines,
            cycles: times.total + times.setup - early - late,
        }
    }

    /// Returns the cycles by which the hardware loop begins before so many cycles are over, so that the word before it
    /// has a free memory slot. The last stage of an iteration is shorter than an interval, so its last cycles need no
    /// words before the loop.
    fn count_early(&self, fill: u64) -> u64 {
        let interval = u64::from(self.interval);
        let steps = self.steps.iter().flatten();
        let end = self.cycles.iter().chain(steps).max();
        let end = end.map_or(0, |&last| u64::from(last) + 1);
        let spare = (fill + interval).saturating_sub(end);
        let accesses = self.body.ops.iter().zip(&self.cycles);
        let accesses = accesses.filter(|(op, _)| op.takes_memory());
        let accesses = accesses
            .map(|(_, at)| at)
            .chain(self.steps.iter().flatten());
        let taken = |time: u64| {
            let mut accesses = accesses.clone();
            accesses.any(|&at| self.instance(at, time, u64::MAX).is_some())
        };
        let mut early = (0..=spare).take_while(|early| *early < fill);
        early
            .find(|early| !taken(fill - early - 1))
            .unwrap_or_default()
    }

    /// Moves the words before the first arithmetic operation as late as possible, or those behind the last as early as
    /// possible.
    ///
    /// Returns the number of each word, counted from the arithmetic on, with its time, and the number of cycles that
    /// this saves.
    fn move_towards_arithmetic(
        &self,
        slots: &[Vec<usize>],
        times: Range<u64>,
        iterations: u64,
    ) -> (Vec<(u64, u64)>, u64) {
        let interval = u64::from(self.interval);
        let loads = times.start == 0;
        // Each word with its distance from the arithmetic and its slack, the nearest first.
        let mut words: Vec<(u64, u64, u64)> = times
            .clone()
            .filter_map(|t| {
                let slot = &slots[(t % interval) as usize];
                let own = self.instances(slot, t, iterations);
                let slack = own.iter().map(|&(op, _)| u64::from(self.slack[op])).min();
                // The load of a step keeps its place.
                let step = self.loaded_steps(t, iterations).next().map(|_| 0);
                let slack = slack.or(step)?;
                let apart = if loads {
                    times.end - t
                } else {
                    t - times.start + 1
                };
                Some((apart, slack, t))
            })
            .collect();
        if loads {
            words.reverse();
        }
        let mut taken = 0;
        let numbered = words.into_iter().map(|(apart, slack, time)| {
            let wanted = apart.saturating_sub(slack).max(1);
            let number = wanted.max(taken + 1) - 1;
            taken = number + 1;
            (number, time)
        });
        let numbered = numbered.collect();
        (numbered, (times.end - times.start).saturating_sub(taken))
    }

    /// Writes the words of [`move_towards_arithmetic`](Self::move_towards_arithmetic).
    ///
    /// Returns them and the number of cycles that this saves.
    fn towards_arithmetic(
        &self,
        slots: &[Vec<usize>],
        times: Range<u64>,
        iterations: u64,
    ) -> (Vec<LoopLine>, u64) {
        let loads = times.start == 0;
        let (words, saved) = self.move_towards_arithmetic(slots, times, iterations);
        let mut lines: Vec<LoopLine> = Vec::new();
        for (number, time) in words {
            let slot = &slots[(time % u64::from(self.interval)) as usize];
            lines.resize(number as usize, LoopLine::Word(LoopWord::default()));
            lines.push(self.word(slot, time, iterations));
        }
        if loads {
            lines.reverse();
        }
        (lines, saved)
    }

    /// Returns the operations scheduled at every cycle of the interval.
    fn slots(&self) -> Vec<Vec<usize>> {
        let mut slots = vec![Vec::new(); self.interval as usize];
        for (op, &at) in self.cycles.iter().enumerate() {
            slots[(at % self.interval) as usize].push(op);
        }
        slots
    }

    /// Writes the words of a range of cycles.
    fn words(&self, slots: &[Vec<usize>], times: Range<u64>, iterations: u64) -> Vec<LoopLine> {
        let interval = u64::from(self.interval);
        times
            .map(|t| self.word(&slots[(t % interval) as usize], t, iterations))
            .collect()
    }

    /// Returns the iteration whose operation at cycle `at` is issued at a time, if there is one.
    fn instance(&self, at: u32, time: u64, iterations: u64) -> Option<u64> {
        let passed = time.checked_sub(u64::from(at))?;
        let interval = u64::from(self.interval);
        let iteration = passed / interval;
        (passed % interval == 0 && iteration < iterations).then_some(iteration)
    }

    /// Returns the operations that are issued at a time, with their iterations.
    fn instances(&self, ops: &[usize], time: u64, iterations: u64) -> Vec<(usize, u64)> {
        let own = ops.iter();
        own.filter_map(|&op| Some((op, self.instance(self.cycles[op], time, iterations)?)))
            .collect()
    }

    /// Writes the word of a time: the operations issued then, each for its iteration.
    fn word(&self, ops: &[usize], time: u64, iterations: u64) -> LoopLine {
        let mut word = LoopWord::default();
        for (index, iteration) in self.instances(ops, time, iterations) {
            let access = self.body.ops[index].access;
            let slot = match self.body.ops[index].takes_memory() {
                false => &mut word.arithmetic,
                true => &mut word.memory,
            };
            *slot = Some(WordOperation {
                text: self.operation(index, iteration),
                index: Some(index),
                iteration: Some(iteration),
                address: access.map(|access| self.body.pointers[access.pointer].0),
            });
        }
        if let Some(step) = self.loaded_steps(time, iterations).next() {
            word.memory = Some(step);
        }
        LoopLine::Word(word)
    }

    /// Writes the loads of steps at a time.
    fn loaded_steps(&self, time: u64, iterations: u64) -> impl Iterator<Item = WordOperation> {
        let pointers = self.body.pointers.iter().zip(&self.steps);
        pointers.filter_map(move |(&(_, step), at)| {
            self.instance((*at)?, time, iterations)?;
            match step {
                PointerStep::Table {
                    step, table, by, ..
                } => Some(WordOperation {
                    text: format!("ldx s{step}, [a{table}]+s{by}%"),
                    index: None,
                    iteration: None,
                    address: Some(table),
                }),
                PointerStep::Bytes(_)
                | PointerStep::Register(_)
                | PointerStep::Modulo(_)
                | PointerStep::Turns(_) => None,
            }
        })
    }

    /// Writes an operation for an iteration.
    fn operation(&self, index: usize, iteration: u64) -> String {
        let op = &self.body.ops[index];
        let defs = op.defs.iter().map(|&r| self.register(r, iteration, 0));
        let uses = op.reads().map(|(r, k)| self.register(r, iteration, k));
        let mut operands: Vec<String> = defs.chain(uses).collect();
        if let Some(offset) = op.through {
            let address = operands.pop().unwrap_or_default();
            operands.push(match offset {
                0 => format!("[{address}]"),
                n if n < 0 => format!("[{address} - {}]", -n),
                n => format!("[{address} + {n}]"),
            });
        }
        if let Some(access) = op.access {
            let (register, step) = self.body.pointers[access.pointer];
            // A pointer that stays is not written: nothing waits for it.
            let steps = self.last[access.pointer] == index && !self.stays(access.pointer);
            operands.push(if steps {
                match step {
                    PointerStep::Bytes(n) if n < 0 => format!("[a{register}]-{}", -n),
                    PointerStep::Bytes(n) => format!("[a{register}]+{n}"),
                    PointerStep::Register(s) => format!("[a{register}]+s{s}"),
                    PointerStep::Modulo(s) => format!("[a{register}]+s{s}%"),
                    PointerStep::Turns(steps) => {
                        let turn = iteration % (steps.len() as u64).max(1);
                        let step = steps.get(turn as usize).copied().unwrap_or(u8::MAX);
                        format!("[a{register}]+s{step}%")
                    }
                    PointerStep::Table { step, modulo, .. } => {
                        format!("[a{register}]+s{step}{}", if modulo { "%" } else { "" })
                    }
                }
            } else {
                match access.offset - self.bias(DataPointer(access.pointer)) {
                    0 => format!("[a{register}]"),
                    n if n < 0 => format!("[a{register} - {}]", -n),
                    n => format!("[a{register} + {n}]"),
                }
            });
        }
        operands.extend(op.immediate.map(|n| n.to_string()));
        format!("{} {}", op.name, operands.join(", "))
    }

    /// Writes the register of an operand in an iteration: of the value that the iteration `distance` before it
    /// has computed.
    fn register(&self, reg: DataOperand, iteration: u64, distance: u32) -> String {
        let base = |v: super::DataValue| {
            let unroll = u64::from(self.registers.unroll);
            // The iterations before the first one have copies too: they are set up before the loop.
            let back = u64::from(distance) % unroll;
            let copy = (iteration + unroll - back) % unroll;
            usize::from(self.registers.base[v.0][copy as usize])
        };
        let scalar = |register: usize| {
            let number = register.saturating_sub(usize::from(FIRST_SCALAR));
            Scalar(u8::try_from(number).unwrap_or(0)).to_string()
        };
        match reg {
            DataOperand::Whole(v) | DataOperand::Lo(v) if self.body.is_scalar(v.0) => {
                scalar(base(v))
            }
            DataOperand::Hi(v) if self.body.is_scalar(v.0) => scalar(base(v) + 1),
            DataOperand::Scalar(s) => Scalar(s).to_string(),
            DataOperand::Whole(v) if self.body.quads[v.0] => format!("q{}", base(v) / 2),
            DataOperand::Whole(v) | DataOperand::Lo(v) => format!("r{}", base(v)),
            DataOperand::Hi(v) => format!("r{}", base(v) + 1),
            DataOperand::Pair(r) => format!("r{r}"),
            DataOperand::Quad(q) => format!("q{q}"),
        }
    }
}
