//! Control flow of a program: basic blocks, edges, hardware loops, calls.
//!
//! Nothing here knows time or data. [`Flow::of`] follows every path that the words allow from the entries;
//! unreachable words are in no block. A block ends at a word that changes the flow, at the last word of a
//! hardware loop, at an event (so that the words between two events are whole blocks), and before the target
//! of a branch.
//!
//! ```
//! use cp2_asm::flow::{Flow, Trips};
//! use cp2_asm::{Options, Source, assemble};
//!
//! let text = ".program\nmovi c0, 8\nloop c0 {\nldq q0, [a0]+16\nstq q0, [a1]+16\n}\nstop\n";
//! let program = assemble(&Source::new("a.s", text), &Options::default()).unwrap().program;
//! let flow = Flow::of_program(&program)?;
//! let [only] = flow.loops() else { panic!() };
//! assert_eq!((only.setup, only.first, only.last, only.depth), (1, 2, 3, 1));
//! // How often it runs stands in c0, which word 0 sets.
//! assert!(matches!(&only.trips, Trips::Register { set_by, .. } if set_by == &[Some(0)]));
//! println!("{flow}");
//! # Ok::<(), cp2_asm::flow::FlowError>(())
//! ```

mod print;
mod trips;

use crate::isa::{DecodeError, Inst, Op, Scalar, Word};
use crate::program::{Program, SymbolKind};
use crate::structure::{Structure, StructureError, is_loop};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Reasons why a program has no control flow graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// A word is no instruction.
    #[error("word {pc:#06x}: {source}")]
    Word {
        /// Word address.
        pc: usize,
        /// Reason why the word is invalid.
        source: DecodeError,
    },
    /// Branches or hardware loops do not fit together.
    #[error(transparent)]
    Structure(#[from] StructureError),
    /// An entry lies behind the last word.
    #[error("the entry {entry:#06x} lies behind the last of {words} words")]
    Entry {
        /// Word address of the entry.
        entry: usize,
        /// Number of words of the program.
        words: usize,
    },
    /// Execution runs off the end of the program.
    #[error("behind word {pc:#06x} execution runs off the end of the program: end it with `stop`")]
    End {
        /// Word address of the last word.
        pc: usize,
    },
}

/// Kind of an edge between two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// Execution continues with the next word.
    Next,
    /// A branch or jump is taken.
    Taken,
    /// The body of a hardware loop starts again.
    Back,
    /// A hardware loop is skipped, since its count is zero.
    Skip,
    /// A function is called; the edge leads to the word after the call, where execution continues on return.
    Call,
}

/// Basic block: words that are executed in sequence, always all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Range of word addresses.
    pub words: Range<usize>,
    /// Edges to the blocks that may follow: kind of edge, and first word of the block. Empty after `stop`,
    /// and after `ret`, which continues behind the call.
    pub next: Vec<(Way, usize)>,
    /// Innermost loop around the block: an index into [`Flow::loops`].
    pub inside: Option<usize>,
}

/// Number of iterations of a hardware loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trips {
    /// A constant count.
    Constant(u32),
    /// The value of a register when the loop is set up.
    Register {
        /// The register that holds the count.
        register: Scalar,
        /// Words that may have written the register last; `None` where it may still have its value from
        /// launch.
        set_by: Vec<Option<usize>>,
    },
}

/// A hardware loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Word that sets the loop up.
    pub setup: usize,
    /// First word of the body.
    pub first: usize,
    /// Last word of the body.
    pub last: usize,
    /// Number of iterations.
    pub trips: Trips,
    /// Innermost loop around it in the same function: an index into [`Flow::loops`].
    pub outer: Option<usize>,
    /// Number of open loops in the same function, this one included; loops of callers do not count.
    pub depth: usize,
}

/// A function: a sequence of words that calls lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// First word.
    pub entry: usize,
    /// Words that call it.
    pub callers: Vec<usize>,
}

/// Control flow of a program from its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    words: usize,
    entries: Vec<usize>,
    blocks: Vec<Block>,
    loops: Vec<Loop>,
    functions: Vec<Function>,
    labels: BTreeMap<usize, Vec<String>>,
    /// Mnemonics of the words that are shown in the printed text.
    said: BTreeMap<usize, &'static str>,
}

impl Flow {
    /// Builds the control flow of `words` from `entries`.
    ///
    /// # Errors
    /// The words do not fit together, or execution runs off their end.
    pub fn of(words: &[Word], entries: &[usize]) -> Result<Self, FlowError> {
        let all: Vec<_> = words.iter().copied().map(Some).collect();
        if let Some(error) = Structure::of(&all).errors.into_iter().next() {
            return Err(error.into());
        }
        let mut walk = Walk::new(words);
        for &entry in entries {
            if entry >= words.len() {
                let words = words.len();
                return Err(FlowError::Entry { entry, words });
            }
            walk.leaders.insert(entry);
            walk.reach(entry)?;
        }
        let blocks = walk.blocks();
        let mut flow = Self {
            words: words.len(),
            entries: entries.to_vec(),
            functions: walk.functions(),
            loops: walk.loops,
            blocks,
            labels: BTreeMap::new(),
            said: BTreeMap::new(),
        };
        flow.nest();
        for block in &flow.blocks {
            if let Some((pc, word)) = block
                .words
                .end
                .checked_sub(1)
                .zip(words.get(block.words.end - 1))
            {
                flow.said.insert(pc, word.mem.row().mnemonic);
            }
        }
        flow.trips(words);
        Ok(flow)
    }

    /// Builds the control flow of a program from its entry. The printed text shows its labels.
    ///
    /// # Errors
    /// See [`Flow::of`].
    pub fn of_program(program: &Program) -> Result<Self, FlowError> {
        Self::of_entries(program, &[program.entry.into()])
    }

    /// Builds the control flow of a program from several entries, for example those of the passes of a job.
    ///
    /// # Errors
    /// See [`Flow::of`].
    pub fn of_entries(program: &Program, entries: &[usize]) -> Result<Self, FlowError> {
        let words = program
            .decode()
            .map_err(|(pc, source)| FlowError::Word { pc, source })?;
        let mut flow = Self::of(&words, entries)?;
        for symbol in &program.symbols {
            if let (SymbolKind::Program, Ok(at)) = (symbol.kind, usize::try_from(symbol.value)) {
                flow.labels.entry(at).or_default().push(symbol.name.clone());
            }
        }
        Ok(flow)
    }

    /// Returns the reachable blocks in the order of their words.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the block of the word at `pc`, if the word is reachable: an index into [`Flow::blocks`].
    #[must_use]
    pub fn block_of(&self, pc: usize) -> Option<usize> {
        let behind = self.blocks.partition_point(|block| block.words.start <= pc);
        let at = behind.checked_sub(1)?;
        self.blocks
            .get(at)
            .filter(|block| block.words.contains(&pc))
            .map(|_| at)
    }

    /// Returns the reachable hardware loops in the order of their words: outer loops before inner ones.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Returns the functions that are called, in the order of their words.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Returns the words where execution begins.
    #[must_use]
    pub fn entries(&self) -> &[usize] {
        &self.entries
    }

    /// Returns the number of words of the program, unreachable ones included.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Computes the depth and the outer loop of each loop, and the innermost loop of each block.
    fn nest(&mut self) {
        let spans: Vec<_> = self.loops.iter().map(|l| (l.first, l.last)).collect();
        let innermost = |pc: usize, before: usize| {
            let mut around = spans[..before].iter();
            around.rposition(|&(first, last)| (first..=last).contains(&pc))
        };
        for (at, &(first, _)) in spans.iter().enumerate() {
            let outer = innermost(first, at);
            let depth = outer.map_or(0, |outer| self.loops[outer].depth) + 1;
            self.loops[at].outer = outer;
            self.loops[at].depth = depth;
        }
        for block in &mut self.blocks {
            block.inside = innermost(block.words.start, spans.len());
        }
    }
}

/// True for operations that end a block.
fn ends_block(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Stop
            | Op::Ret
            | Op::Jmp
            | Op::Call
            | Op::Bz
            | Op::Bnz
            | Op::Bneg
            | Op::Bpos
            | Op::LoopI
            | Op::LoopX
            | Op::Wait
            | Op::Signal
    )
}

/// State of the traversal from the entries.
struct Walk<'a> {
    words: &'a [Word],
    /// Edges of each word that was reached.
    next: BTreeMap<usize, Vec<(Way, usize)>>,
    leaders: BTreeSet<usize>,
    loops: Vec<Loop>,
    /// First word of each loop body, by the body's last word.
    ends: BTreeMap<usize, usize>,
    calls: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Walk<'a> {
    fn new(words: &'a [Word]) -> Self {
        // All loops of the program count, reached or not: a branch from outside into a body also comes to its
        // last word. Whether the loop is active there depends on data.
        let bodies = words
            .iter()
            .enumerate()
            .filter(|(_, word)| is_loop(&word.mem));
        let ends = bodies.map(|(pc, word)| (pc + usize::from(word.mem.target), pc + 1));
        Self {
            words,
            next: BTreeMap::new(),
            leaders: BTreeSet::new(),
            loops: Vec::new(),
            ends: ends.collect(),
            calls: BTreeMap::new(),
        }
    }

    /// Follows every path from a word.
    fn reach(&mut self, entry: usize) -> Result<(), FlowError> {
        let mut open = vec![entry];
        while let Some(pc) = open.pop() {
            if self.next.contains_key(&pc) {
                continue;
            }
            let Some(word) = self.words.get(pc) else {
                continue;
            };
            let next = self.leads(pc, &word.mem)?;
            open.extend(next.iter().map(|&(_, to)| to));
            self.next.insert(pc, next);
        }
        Ok(())
    }

    /// Returns the edges of a word.
    fn leads(&mut self, pc: usize, inst: &Inst) -> Result<Vec<(Way, usize)>, FlowError> {
        let (behind, target) = (pc + 1, usize::from(inst.target));
        let mut next = Vec::new();
        match inst.op {
            Op::Stop | Op::Ret => {}
            Op::Jmp => next.push((Way::Taken, target)),
            Op::Call => {
                self.calls.entry(target).or_default().push(pc);
                next.extend([(Way::Call, target), (Way::Next, behind)]);
            }
            Op::Bz | Op::Bnz | Op::Bneg | Op::Bpos => {
                next.extend([(Way::Next, behind), (Way::Taken, target)]);
            }
            Op::LoopI | Op::LoopX => {
                let last = pc + target;
                let trips = match inst.op {
                    Op::LoopI => Trips::Constant(inst.imm as u32),
                    _ => {
                        next.push((Way::Skip, last + 1));
                        Trips::Register {
                            register: Scalar(inst.r[0]),
                            set_by: Vec::new(),
                        }
                    }
                };
                next.insert(0, (Way::Next, behind));
                let at = self.loops.partition_point(|l| l.setup < pc);
                self.loops.insert(
                    at,
                    Loop {
                        setup: pc,
                        first: behind,
                        last,
                        trips,
                        outer: None,
                        depth: 0,
                    },
                );
            }
            _ => next.push((Way::Next, behind)),
        }
        if let Some(&first) = self.ends.get(&pc) {
            next.push((Way::Back, first));
        }
        if next.iter().any(|&(_, to)| to >= self.words.len()) {
            return Err(FlowError::End { pc });
        }
        if ends_block(inst) || self.ends.contains_key(&pc) {
            self.leaders.insert(behind);
            self.leaders.extend(next.iter().map(|&(_, to)| to));
        }
        Ok(next)
    }

    fn blocks(&mut self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        for (&pc, next) in &self.next {
            match blocks.last_mut() {
                Some(block) if block.words.end == pc && !self.leaders.contains(&pc) => {
                    block.words.end = pc + 1;
                    block.next.clone_from(next);
                }
                _ => blocks.push(Block {
                    words: pc..pc + 1,
                    next: next.clone(),
                    inside: None,
                }),
            }
        }
        blocks
    }

    fn functions(&mut self) -> Vec<Function> {
        let calls = std::mem::take(&mut self.calls).into_iter();
        let function = |(entry, mut callers): (usize, Vec<usize>)| {
            callers.sort_unstable();
            Function { entry, callers }
        };
        calls.map(function).collect()
    }
}

#[cfg(test)]
mod tests;
