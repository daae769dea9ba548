//! The cycles of a kernel between its events, without running it on data.
//!
//! A [`Counter`] follows a kernel's words by its control flow ([`cp2_asm::flow`]) and the issue
//! rule of a machine. It computes shared scalars, and DMEM that is known at launch (arguments, the
//! program's data), with the engines' semantics. Section registers, and anything that the DMA or
//! the kernel writes to DMEM, are unknown. Where control flow depends on an unknown number there is
//! no count, but an [`Uncounted`] that names the place.
//!
//! The count assumes that every awaited event has been posted, so that no `wait` waits, and that no
//! transfer uses a DMEM port. Under these assumptions it is exact.
//!
//! Four things make it fast without changing a count:
//! * The counter records which facts about the arguments decided the control flow. Arguments that
//!   differ in nothing else are not followed again.
//! * The time of a block is a function of the results pending when it begins. It is computed once
//!   for each such state.
//! * When a pass of a hardware loop without branches leaves the results pending that it began with, the following
//!   passes take its time, and address registers are moved over them.
//! * When a kernel's state at a `wait` recurs, except for counters that only branches see, the
//!   following equal turns are multiplied instead of followed.

mod code;
mod decided;
mod partial;
mod passes;
mod repeat;
mod state;

use crate::core::fault::FaultKind;
use code::CountedCode;
use cp2_asm::flow::{Flow, FlowError};
use cp2_asm::isa::{DecodeError, Isa, Scalar, Word};
use cp2_machine::Machine;
use decided::CountsByAnswer;
use repeat::Repeats;
use state::{Kind, KnownState};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of blocks that are followed, and of passes that are carried out one by one: about a second of host
/// time.
const MOST_BLOCKS: u64 = 10_000_000;

/// Maximum number of cycles along which a kernel is followed: half an hour at 600 MHz.
const MOST_CYCLES: u64 = 1 << 40;

/// Maximum number of counts that a counter keeps.
const MOST_KEPT: usize = 4096;

/// A point where a kernel meets the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// `wait` for an event.
    Wait(u32),
    /// `signal` of an event.
    Signal(u32),
    /// `stop`, once the last result has landed.
    Stop,
}

/// Stretch of a kernel between a mark and the previous one, or the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelInterval {
    /// Length in cycles: from the cycle after the word of the previous mark (or the first in which
    /// a word of the kernel may issue) to the cycle in which the word of this mark issues; for
    /// [`Mark::Stop`] to the first cycle in which all results have landed.
    pub cycles: u64,
    /// Words in the stretch that access DMEM.
    pub accesses: u64,
    /// Mark that ends the stretch.
    pub mark: Mark,
}

/// Steps of one turn of a kernel, and how often the turn is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedSteps {
    /// Steps of one turn.
    pub steps: Vec<KernelInterval>,
    /// Number of turns.
    pub times: u64,
}

/// Steps of a kernel from its launch to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Groups of repeated steps, in order.
    pub stretches: Vec<RepeatedSteps>,
}

impl Counted {
    /// Returns all steps in order, with those of every turn.
    pub fn steps(&self) -> impl Iterator<Item = KernelInterval> + '_ {
        let turns = |stretch: &RepeatedSteps| 0..stretch.times;
        let all = self.stretches.iter();
        all.flat_map(move |s| turns(s).flat_map(|_| s.steps.iter().copied()))
    }

    /// Returns the cycles of the whole kernel if no `wait` waits.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        // The word of a mark takes a cycle too; that of `stop` is counted in the cycles of its
        // step.
        let own = |step: &KernelInterval| step.cycles + u64::from(step.mark != Mark::Stop);
        let all = self.stretches.iter();
        let turns = all.map(|s| {
            let turn = s.steps.iter().map(own).fold(0, u64::saturating_add);
            turn.saturating_mul(s.times)
        });
        turns.fold(0, u64::saturating_add)
    }
}

/// Reason why the cycles of a kernel cannot be counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncounted {
    /// The words have no control flow.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// Target of a branch or number of passes of a loop that depends on unknown data.
    #[error(
        "the way from word {pc:#06x} on depends on {register}, whose value is not known before the kernel runs"
    )]
    Data {
        /// Word address of the branch or loop.
        pc: u32,
        /// The register that the branch or loop reads.
        register: Scalar,
    },
    /// The kernel would fault.
    #[error("word {pc:#06x}: {kind}")]
    Fault {
        /// Word address.
        pc: u32,
        /// The fault.
        kind: FaultKind,
    },
    /// The kernel goes on for too long to be followed.
    #[error("after {blocks} blocks the kernel is at word {pc:#06x} and has not stopped")]
    Long {
        /// Word address.
        pc: u32,
        /// Blocks that were followed.
        blocks: u64,
    },
}

/// Counts the cycles of a kernel of a program on a machine, for any arguments.
#[derive(Debug)]
pub struct Counter {
    code: CountedCode,
    entry: u32,
    /// Runs of DMEM words known at launch, without arguments, each from a byte address on.
    data: Vec<(u32, Vec<u32>)>,
    /// Finished counts by address of the argument block, address of the known argument words, and
    /// number of these words.
    ways: HashMap<(u32, u32, usize), CountsByAnswer>,
    kept: usize,
}

/// Returns the runs of known words: the data's and the arguments'.
fn memory<'a>(
    data: &'a [(u32, Vec<u32>)],
    block: (u32, &'a [u32]),
) -> impl Iterator<Item = (u32, &'a [u32])> {
    let runs = data.iter().map(|(address, words)| (*address, &words[..]));
    runs.chain([block])
}

impl Counter {
    /// Creates a counter for the kernel that begins at `entry`. `data` is the content of DMEM at
    /// launch, equal in every section: runs of words, each from a byte address on.
    ///
    /// # Errors
    /// A word is none, or none of the machine, or the flow is not what it should be.
    pub fn new(
        words: &[u64],
        entry: u32,
        data: Vec<(u32, Vec<u32>)>,
        machine: &Machine,
    ) -> Result<Self, Uncounted> {
        let decode = |(pc, &bits): (usize, &u64)| {
            Isa::of(machine)
                .decode(bits)
                .map_err(|source: DecodeError| FlowError::Word { pc, source })
        };
        let decoded = words.iter().enumerate().map(decode);
        let decoded: Vec<Word> = decoded.collect::<Result<_, _>>()?;
        let flow = Flow::of(&decoded, &[entry as usize])?;
        let code = CountedCode::new(words, &flow, machine)?;
        Ok(Self {
            code,
            entry,
            data,
            ways: HashMap::new(),
            kept: 0,
        })
    }

    /// Counts the steps of the kernel, launched on the counter's machine with the argument block at
    /// `arguments`. `block` is a byte address and the words that DMEM holds from there on besides
    /// the counter's data, equal in every section.
    ///
    /// # Errors
    /// The kernel's way depends on data, or it faults or does not end.
    pub fn count(
        &mut self,
        machine: &Machine,
        arguments: u32,
        block: (u32, &[u32]),
    ) -> Result<Arc<Counted>, Uncounted> {
        let key = (arguments, block.0, block.1.len());
        if let Some(counted) = self.ways.get(&key).and_then(|w| w.find(&self.data, block)) {
            return counted.clone();
        }
        let mut state = KnownState::new(machine, self.entry, &self.data, arguments, block);
        let counted = self.follow_kernel(machine, &mut state).map(Arc::new);
        if self.kept == MOST_KEPT {
            self.ways.clear();
            self.kept = 0;
        }
        self.kept += 1;
        let ways = self.ways.entry(key).or_default();
        ways.store_count(std::mem::take(&mut state.alu.decided), counted.clone());
        counted
    }

    /// Follows the kernel to its end.
    fn follow_kernel(
        &mut self,
        machine: &Machine,
        state: &mut KnownState,
    ) -> Result<Counted, Uncounted> {
        let mut repeats = Repeats::default();
        let mut counted = Counted::default();
        let mut steps: Vec<KernelInterval> = Vec::new();
        // First cycle in which the next word may issue; the cycle after the last mark; accesses
        // since that mark.
        let (mut now, mut since, mut accesses) = (0u64, 0u64, 0u64);
        let mut pending = self.code.nothing();
        // Blocks that were followed, and passes that were carried out one by one.
        let mut blocks = 0;
        while blocks < MOST_BLOCKS {
            blocks += 1;
            let (began, before) = (state.pc(), pending);
            let block = self.code.find_block(began)?;
            let went = state.run(self.code.block(block), machine)?;
            let time = self.code.time(block, pending, went.lost);
            pending = time.pending;
            accesses += time.accesses;
            let at = now + time.issued;
            now = at + 1 + went.lost;
            if (state.pc(), pending) == (began, before) {
                let body = self.code.block(block);
                let left = state.count_passes_left(body.last).filter(|left| *left > 0);
                if let (Some(effects), Some(passes)) = (&body.pass, left) {
                    let most = MOST_BLOCKS - blocks;
                    let Some(singly) = state.repeat(effects, passes, most) else {
                        break;
                    };
                    blocks += singly;
                    now += u64::from(passes) * (time.issued + 1 + went.lost);
                    accesses += u64::from(passes) * time.accesses;
                    if now > MOST_CYCLES {
                        break;
                    }
                }
            }
            let (mark, at) = match went.kind {
                Kind::Plain => continue,
                Kind::Wait(event) => (Mark::Wait(event), at),
                Kind::Signal(event) => (Mark::Signal(event), at),
                Kind::Stop => (Mark::Stop, at + 1 + time.drain),
            };
            steps.push(KernelInterval {
                cycles: at - since,
                accesses,
                mark,
            });
            (since, accesses) = (at + 1, 0);
            match mark {
                Mark::Stop => {
                    counted.add(steps, 1);
                    return Ok(counted);
                }
                Mark::Wait(_) => {
                    if let Some(turn) = repeats.wait(state, pending, steps.len()) {
                        if turn.times == repeat::ENDLESS {
                            let pc = state.pc();
                            return Err(Uncounted::Long { pc, blocks });
                        }
                        let period = steps[turn.from..].to_vec();
                        counted.add(std::mem::take(&mut steps), 1);
                        counted.add(period, turn.times);
                    }
                }
                Mark::Signal(_) => {}
            }
        }
        Err(Uncounted::Long {
            pc: state.pc(),
            blocks,
        })
    }
}

impl Counted {
    fn add(&mut self, steps: Vec<KernelInterval>, times: u64) {
        if times > 0 && !steps.is_empty() {
            self.stretches.push(RepeatedSteps { steps, times });
        }
    }
}
