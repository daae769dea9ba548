//! Runs a case on two processors and compares their whole states repeatedly.

use super::case::{ControlAction, LockstepCase};
use super::difference::difference;
use super::executed_words::ExecutedWords;
use super::layout::{LOW, TABLE, table};
use crate::Counters;
use crate::Notice;
use crate::Processor;
use crate::Quiet;
use crate::Status;
use crate::semantics::action::{Action, action};
use cp2_asm::isa::Word;
use cp2_dma::{Descriptor, Target};
use cp2_machine::{Cycles, Machine, Ticks};
use std::fmt;
use std::sync::Arc;

/// Layout of system memory: data that transfers move, the program, its variant.
const DATA: u64 = 0;
const DATA_BYTES: usize = 0x1_0000;
const PROGRAM: u64 = 0x10_0000;
const VARIANT: u64 = 0x20_0000;

/// Number of words after which a case ends in any event.
const MOST_WORDS: u64 = 30_000;
/// Number of cycles after which a case ends, idle ones included.
const MOST_CYCLES: u64 = 20_000_000;

/// Summary of a case on the second processor.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Words executed, and cycles by cause.
    pub counters: Counters,
    /// Record of the tier that ran each word.
    pub ran: ExecutedWords,
    /// Number of words that blocks ran while a transfer was under way.
    pub beside_transfers: u64,
    /// Number of times that a kernel was found waiting for an event.
    pub waits: u64,
    /// Number of events that the control CPU posted.
    pub posts: u64,
    /// Number of transfers that completed while a kernel ran.
    pub completed: u64,
    /// Number of comparisons of the whole state.
    pub comparisons: u64,
    /// All notices, in order.
    pub notices: Vec<Notice>,
}

/// Difference between two processors.
#[derive(Clone, Debug)]
pub struct Mismatch {
    what: String,
    processors: Option<Box<(Processor, Processor)>>,
}

impl Mismatch {
    fn plain(what: impl fmt::Display) -> Self {
        Self {
            what: what.to_string(),
            processors: None,
        }
    }

    /// Returns one line; the whole text also lists the places where the states differ.
    #[must_use]
    pub fn brief(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match self.processors.as_deref() {
            Some((left, right)) => write!(f, "\n{}", difference(left, right)),
            None => Ok(()),
        }
    }
}

/// Runs a case on two processors, made by `left` and `right`. The right one is suspended more
/// often. Both must give equal notices at equal instants, and be equal as a whole at every
/// comparison.
///
/// # Errors
/// Where and how they differ.
pub fn lockstep(
    case: &LockstepCase,
    left: impl Fn(Arc<Machine>) -> Processor,
    right: impl Fn(Arc<Machine>) -> Processor,
) -> Result<Summary, Mismatch> {
    let words = case.words();
    let mut run = Lockstep {
        case,
        words: &words,
        left: left(case.machine.clone()),
        right: right(case.machine.clone()),
        cut: 0,
        summary: Summary::default(),
    };
    run.prepare()?;
    run.run()?;
    run.summary.counters = run.right.counters();
    run.summary.ran = run.right.ran();
    let (words, known) = (run.summary.counters.words, run.summary.ran.words());
    if words == known {
        Ok(run.summary)
    } else {
        Err(run.mismatch(&format!(
            "{words} words ran, of which {known} are accounted for"
        )))
    }
}

struct Lockstep<'a> {
    case: &'a LockstepCase,
    words: &'a [Word],
    left: Processor,
    right: Processor,
    cut: usize,
    summary: Summary,
}

impl Lockstep<'_> {
    /// Performs an action on both processors, whose answers must be equal.
    fn act_on_both<T: PartialEq + fmt::Debug>(
        &mut self,
        what: &str,
        mut act: impl FnMut(&mut Processor) -> T,
    ) -> Result<T, Mismatch> {
        let (left, right) = (act(&mut self.left), act(&mut self.right));
        if left == right {
            Ok(left)
        } else {
            Err(self.mismatch(&format!("{what}: {left:?} and {right:?}")))
        }
    }

    fn mismatch(&self, what: &str) -> Mismatch {
        let base = self.left.time_base();
        let cycle = base.floor_cycles(self.left.now()).0;
        let pc = self.left.core().pc();
        Mismatch {
            what: format!("cycle {cycle}, pc {pc}: {what}"),
            processors: Some(Box::new((self.left.clone(), self.right.clone()))),
        }
    }

    /// Fills the memories and loads the program.
    fn prepare(&mut self) -> Result<(), Mismatch> {
        let case = self.case;
        let machine = case.machine.clone();
        let granule = machine.dma.granule.0 as usize;
        let image = |words: &[Word]| {
            let mut bytes: Vec<u8> = words
                .iter()
                .flat_map(|w| w.encode().to_le_bytes())
                .collect();
            bytes.resize(bytes.len().next_multiple_of(granule), 0);
            bytes
        };
        let (program, variant) = (image(self.words), image(&variant(self.words)));
        let data = case.fill.bytes(DATA_BYTES, u32::MAX);
        let load = Descriptor::load(Target::Program, PROGRAM, 0, program.len() as u64);
        self.act_on_both("writing system memory", |p| {
            let memory = p.memory_mut();
            memory.write(DATA, &data)?;
            memory.write(PROGRAM, &program)?;
            memory.write(VARIANT, &variant)
        })?
        .map_err(Mismatch::plain)?;
        for section in 0..machine.cp2.sections {
            let mut dmem = case.fill.bytes(machine.cp2.dmem.0 as usize, section as u32);
            let table = table(&machine);
            dmem[TABLE as usize..][..table.len()].copy_from_slice(&table);
            self.act_on_both("writing DMEM", |p| p.poke_dmem(section, 0, &dmem))?
                .map_err(Mismatch::plain)?;
        }
        self.act_on_both("loading the program", |p| p.submit(load.clone(), 0))?
            .map_err(Mismatch::plain)?;
        self.act_on_both("the program's arrival", |p| p.run_until(Ticks(u64::MAX)))?;
        Ok(())
    }

    fn run(&mut self) -> Result<(), Mismatch> {
        let base = self.left.time_base();
        let ticks = |cycles: u64| base.cycles(Cycles(cycles));
        let last = self.left.now() + ticks(MOST_CYCLES);
        let mut launches = std::iter::once(0).chain(self.case.launches.iter().copied());
        let mut deeds = self.case.deeds.iter();
        let mut deed = deeds.next();
        let mut due = self.left.now() + deed.map_or(Ticks::ZERO, |d| ticks(d.0.into()));
        let mut compare = self.left.now();
        self.launch(&mut launches)?;
        loop {
            if deed.is_none() {
                due = last;
            }
            let limit = last.min(due).min(compare.max(self.left.now()));
            let notice = self.advance(limit)?;
            let late = self.left.now() >= last;
            if late || self.left.now() >= compare {
                self.compare()?;
                compare = self.left.now() + ticks(self.case.every.into());
                if late || self.left.counters().words >= MOST_WORDS {
                    return Ok(());
                }
            }
            match &notice {
                Notice::KernelStopped | Notice::Fault(_) => {
                    self.launch(&mut launches)?;
                }
                // The control CPU answers some signals, so that the next `wait` may be served at
                // once.
                Notice::Signal { event } if event % 2 == 0 => {
                    let event = *event;
                    self.post(event)?;
                }
                _ => {}
            }
            let running = *self.right.status() == Status::Running;
            if matches!(notice, Notice::TransferDone(_)) && running {
                self.summary.completed += 1;
            }
            if notice != Notice::Limit {
                self.summary.notices.push(notice);
                continue;
            }
            if let Some((_, what)) = deed.filter(|_| self.left.now() >= due) {
                self.perform(what)?;
                deed = deeds.next();
                due = self.left.now() + deed.map_or(Ticks::ZERO, |d| ticks(d.0.into()));
                continue;
            }
            match self.act_on_both("quiet", |p| p.quiet())? {
                Some(Quiet::Waiting { event, .. }) => {
                    self.summary.waits += 1;
                    self.post(event)?;
                }
                Some(Quiet::Idle) if deed.is_none() && !self.launch(&mut launches)? => break,
                _ => {}
            }
        }
        self.compare()
    }

    /// Runs both to the next notice or to `limit`, the right one with stops in between.
    fn advance(&mut self, limit: Ticks) -> Result<Notice, Mismatch> {
        let base = self.left.time_base();
        let left = self.left.run_until(limit);
        let right = loop {
            let cuts = &self.case.cuts;
            let cut = cuts.get(self.cut % cuts.len().max(1)).copied().unwrap_or(1);
            self.cut += 1;
            // The stop is not a whole number of cycles, so that suspensions fall between cycles
            // too.
            let stop = self.right.now() + Ticks(u64::from(cut) * base.ticks_per_cycle + 1);
            let moving = self.right.transfer().is_some();
            let before = moving.then(|| self.right.ran().blocks());
            let notice = self.right.run_until(stop.min(limit));
            if let Some(before) = before {
                self.summary.beside_transfers += self.right.ran().blocks() - before;
            }
            if notice != Notice::Limit || stop >= limit {
                break notice;
            }
        };
        if (&left, self.left.now()) == (&right, self.right.now()) {
            return Ok(left);
        }
        let (l, r) = (self.left.now(), self.right.now());
        Err(self.mismatch(&format!("{left:?} at {l}, but {right:?} at {r}")))
    }

    fn compare(&mut self) -> Result<(), Mismatch> {
        self.summary.comparisons += 1;
        if are_equal(&self.left, &self.right) {
            Ok(())
        } else {
            Err(self.mismatch("the states differ"))
        }
    }

    /// Launches at the next entry point; returns false if there is none.
    fn launch(&mut self, launches: &mut impl Iterator<Item = u16>) -> Result<bool, Mismatch> {
        let words = self.words.len().max(1) as u32;
        let Some(entry) = launches.next() else {
            return Ok(false);
        };
        let entry = u32::from(entry) % words;
        let _ = self.act_on_both("a launch", |p| p.launch(entry, TABLE))?;
        Ok(true)
    }

    /// Posts an event, which the machine may lack.
    fn post(&mut self, event: u32) -> Result<(), Mismatch> {
        let posted = self.act_on_both("a post", |p| p.post(event))?;
        self.summary.posts += u64::from(posted.is_ok());
        Ok(())
    }

    fn perform(&mut self, deed: &ControlAction) -> Result<(), Mismatch> {
        let machine = self.case.machine.clone();
        match *deed {
            ControlAction::Post { event } => {
                self.post(event.into())?;
            }
            // Both processors must refuse illegal transfers.
            _ => {
                let descriptor = descriptor(deed, &machine, self.words.len());
                let _ = self.act_on_both("a transfer", |p| p.submit(descriptor.clone(), 1))?;
            }
        }
        Ok(())
    }
}

/// Returns the descriptor of an action that is a transfer.
fn descriptor(deed: &ControlAction, machine: &Machine, program: usize) -> Descriptor {
    let granule = machine.dma.granule.0;
    match *deed {
        ControlAction::Transfer {
            load,
            target,
            slot,
            local,
            run,
            runs,
            gap,
            event,
        } => {
            let sections = machine.cp2.sections as u64;
            let run = (u64::from(run) + 1) * granule;
            let target = match target % 4 {
                0 => Target::Section(u32::from(target / 4) % sections as u32),
                1 => Target::Blocks {
                    stride: (4 * run) as i64,
                },
                2 if load => Target::Broadcast,
                _ => Target::Deal,
            };
            let slots = DATA_BYTES as u64 / granule;
            let low = u64::from(LOW).next_multiple_of(granule);
            let room = (machine.cp2.dmem.0 - low) / granule;
            let at = DATA + u64::from(slot) % slots * granule;
            let local = low + u64::from(local) % room * granule;
            let new = if load {
                Descriptor::load
            } else {
                Descriptor::store
            };
            let stride = run + u64::from(gap) * granule;
            let mut d = new(target, at, local as u32, run).level(
                u32::from(runs) + 1,
                stride as i64,
                run as i64,
            );
            d.event = event.map(u32::from);
            d
        }
        ControlAction::Replace {
            word,
            words,
            garbage,
        } => {
            let per_granule = (granule / 8).max(1);
            let granules = (program as u64).div_ceil(per_granule).max(1);
            let first = u64::from(word) % granules;
            let count = (u64::from(words) / per_granule + 1).min(granules - first);
            let at = first * granule;
            let from = if garbage { DATA } else { VARIANT };
            Descriptor::load(Target::Program, from + at, at as u32, count * granule)
        }
        // Descriptor without bytes, which every machine refuses.
        ControlAction::Post { .. } => Descriptor::load(Target::Program, 0, 0, 0),
    }
}

/// Returns the program with its plain words in opposite order.
fn variant(words: &[Word]) -> Vec<Word> {
    let plain = |w: &&Word| !matches!(action(&w.mem), Some(Action::Control(_)));
    let mut last = words.iter().filter(plain).rev().copied();
    let turn = |w: &Word| {
        if plain(&w) {
            last.next().unwrap_or(*w)
        } else {
            *w
        }
    };
    words.iter().map(turn).collect()
}

/// True if two processors are equal as a whole. If their machines differ, true if they did the same
/// in the same time.
fn are_equal(left: &Processor, right: &Processor) -> bool {
    if left.machine() == right.machine() {
        return left == right;
    }
    let did = |p: &Processor| (p.now(), p.status().clone(), p.counters().clone());
    left.core() == right.core() && did(left) == did(right)
}
