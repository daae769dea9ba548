//! Runs a case on two processors and compares their whole states repeatedly.

use super::case::{ControlAction, LockstepCase};
use super::control_descriptor::descriptor;
use super::difference::difference;
use super::executed_words::ExecutedWords;
use super::layout::{TABLE, table};
use crate::Counters;
use crate::Notice;
use crate::Processor;
use crate::Quiet;
use crate::Status;
use crate::Translations;
use crate::semantics::action::{Action, action};
use cp2_asm::isa::Word;
use cp2_dma::{Descriptor, Target};
use cp2_machine::{Cycles, Machine, Ticks};
use std::fmt;
use std::sync::Arc;

/// Layout of system memory: data that transfers move, the program, its variant.
pub(super) const DATA: u64 = 0;
pub(super) const DATA_BYTES: usize = 0x1_0000;
const PROGRAM: u64 = 0x10_0000;
pub(super) const VARIANT: u64 = 0x20_0000;

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
    let mut run = Lockstep::new(
        case,
        left(case.machine.clone()),
        right(case.machine.clone()),
    )?;
    while run.turn(None)? {}
    run.finish()
}

/// A case that is being run on two processors.
pub(super) struct Lockstep<'a> {
    case: &'a LockstepCase,
    words: Vec<Word>,
    pub(super) left: Processor,
    pub(super) right: Processor,
    cut: usize,
    /// Entry points of the launches to come.
    launches: std::slice::Iter<'a, u16>,
    /// Actions of the control CPU to come, and the next of them with its instant.
    deeds: std::slice::Iter<'a, (u16, ControlAction)>,
    deed: Option<&'a (u16, ControlAction)>,
    due: Ticks,
    /// Instant of the next comparison.
    comparison: Ticks,
    /// Instant at which the case ends in any event.
    last: Ticks,
    summary: Summary,
}

impl<'a> Lockstep<'a> {
    /// Fills the memories, loads the program and launches it.
    ///
    /// # Errors
    /// The processors differ.
    pub(super) fn new(
        case: &'a LockstepCase,
        left: Processor,
        right: Processor,
    ) -> Result<Self, Mismatch> {
        let mut deeds = case.deeds.iter();
        let mut run = Self {
            case,
            words: case.words(),
            left,
            right,
            cut: 0,
            launches: case.launches.iter(),
            deed: deeds.next(),
            deeds,
            due: Ticks::ZERO,
            comparison: Ticks::ZERO,
            last: Ticks::ZERO,
            summary: Summary::default(),
        };
        run.prepare()?;
        run.last = run.left.now() + run.ticks(MOST_CYCLES);
        run.next_deed(run.deed);
        run.comparison = run.left.now();
        run.launch(0)?;
        Ok(run)
    }

    fn ticks(&self, cycles: u64) -> Ticks {
        self.left.time_base().cycles(Cycles(cycles))
    }

    /// Takes the action of the control CPU that is next, if any.
    fn next_deed(&mut self, deed: Option<&'a (u16, ControlAction)>) {
        self.deed = deed;
        self.due = self.left.now() + deed.map_or(Ticks::ZERO, |d| self.ticks(d.0.into()));
    }

    /// Returns the summary of a case that has ended.
    ///
    /// # Errors
    /// Words are not accounted for.
    pub(super) fn finish(mut self) -> Result<Summary, Mismatch> {
        self.summary.counters = self.right.counters();
        self.summary.ran = self.right.ran();
        let (words, known) = (self.summary.counters.words, self.summary.ran.words());
        if words == known {
            Ok(self.summary)
        } else {
            Err(self.mismatch(&format!(
                "{words} words ran, of which {known} are accounted for"
            )))
        }
    }

    /// Goes on to the next notice, action of the control CPU or comparison. The right processor uses `lent`
    /// meanwhile, if that is given. Returns false where the case ends.
    ///
    /// # Errors
    /// The processors differ.
    pub(super) fn turn(&mut self, mut lent: Option<&mut Translations>) -> Result<bool, Mismatch> {
        if self.deed.is_none() {
            self.due = self.last;
        }
        let limit = self.comparison.max(self.left.now());
        let limit = self.last.min(self.due).min(limit);
        if let Some(lent) = lent.as_deref_mut() {
            self.right.swap_translations(lent);
        }
        let notice = self.advance(limit)?;
        if let Some(lent) = lent {
            self.right.swap_translations(lent);
        }
        let late = self.left.now() >= self.last;
        if late || self.left.now() >= self.comparison {
            self.compare()?;
            self.comparison = self.left.now() + self.ticks(self.case.every.into());
            if late || self.left.counters().words >= MOST_WORDS {
                return Ok(false);
            }
        }
        match &notice {
            Notice::KernelStopped | Notice::Fault(_) => {
                self.launch_next()?;
            }
            // The control CPU answers some signals, so that the next `wait` may be served at once.
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
            return Ok(true);
        }
        if let Some((_, what)) = self.deed.filter(|_| self.left.now() >= self.due) {
            self.perform(what)?;
            let next = self.deeds.next();
            self.next_deed(next);
            return Ok(true);
        }
        match self.act_on_both("quiet", |p| p.quiet())? {
            Some(Quiet::Waiting { event, .. }) => {
                self.summary.waits += 1;
                self.post(event)?;
            }
            Some(Quiet::Idle) if self.deed.is_none() && !self.launch_next()? => {
                self.compare()?;
                return Ok(false);
            }
            _ => {}
        }
        Ok(true)
    }

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
        let (program, variant) = (image(&self.words), image(&variant(&self.words)));
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
    fn launch_next(&mut self) -> Result<bool, Mismatch> {
        let entry = self.launches.next().copied();
        entry.map_or(Ok(false), |entry| self.launch(entry).map(|()| true))
    }

    /// Launches at an entry point.
    fn launch(&mut self, entry: u16) -> Result<(), Mismatch> {
        let words = self.words.len().max(1) as u32;
        let entry = u32::from(entry) % words;
        let _ = self.act_on_both("a launch", |p| p.launch(entry, TABLE))?;
        Ok(())
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
