//! The items of a job in order, and the commands that carry them out.

use super::pass::Pass;
use super::{Job, JobError};
use cp2_host::{Buffer, Device, Event, HostStep};

/// An item of a job.
#[derive(Debug)]
pub(super) enum JobItem {
    /// The pass of this number.
    Pass(usize),
    /// A step of the control CPU.
    Step(String, HostStep),
    /// Items that a loop repeats.
    While(While),
    /// The end of a part of the run.
    Mark(String),
}

/// A loop: items that are repeated while a word is not 0, at most `most` times.
#[derive(Debug)]
pub(super) struct While {
    name: String,
    word: Buffer<u32>,
    most: u64,
    items: Vec<JobItem>,
}

impl Job {
    /// Adds a step of the control CPU, which waits for everything before it; everything behind waits for the
    /// step.
    pub fn host_step(&mut self, name: &str, step: HostStep) {
        self.items.push(JobItem::Step(name.to_owned(), step));
    }

    /// Adds a loop over what `body` adds to the job, of at most `most` turns.
    ///
    /// Before each turn the control CPU reads `word`, and goes on behind the loop if it is 0. Commands are
    /// given as they are needed. A step or a kernel of the job writes the word, before the loop and in it: in
    /// a job that is run again it still holds what the run before left.
    ///
    /// ```
    /// use cp2_host::{HostStep, DeviceOptions};
    /// use cp2_kernels::Job;
    /// use cp2_machine::Machine;
    /// use cp2_reference::{Count, Figures, Traffic};
    /// use std::sync::Arc;
    ///
    /// // Newton's iteration for the square root of 2, until two steps differ by less than 1e-12.
    /// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    /// let mut job = Job::new(vm7.clone(), DeviceOptions::default());
    /// let a = job.input("a", &[2.0f64], &[1])?;
    /// let x = job.output::<f64>("x", &[1])?;
    /// let more = job.temporary::<u32>(1)?;
    ///
    /// let mut first = HostStep::new();
    /// let start = first.load(a, 0)?;
    /// first.store(x, 0, start)?;
    /// first.store(more, 0, start)?;
    /// job.host_step("first", first);
    ///
    /// let mut newton = HostStep::new();
    /// let [a, old] = [newton.load(a, 0)?, newton.load(x, 0)?];
    /// let [half, least] = [0.5, 1e-12].map(|n| newton.constant(n));
    /// let quotient = newton.divide(a, old);
    /// let sum = newton.add(old, quotient);
    /// let new = newton.multiply(half, sum);
    /// newton.store(x, 0, new)?;
    /// let difference = newton.subtract(new, old);
    /// let difference = newton.magnitude(difference);
    /// let far = newton.less(least, difference);
    /// newton.store(more, 0, far)?;
    /// job.repeat("newton", more, 100, |job| {
    ///     job.host_step("newton", newton);
    ///     Ok(())
    /// })?;
    ///
    /// let figures = Figures::of(&vm7, Traffic::bytes(16), Count::default(), "none", "definition");
    /// let done = job.run(figures, |run| run.read(x))?;
    /// assert!((done.output.unwrap()[0] - 2f64.sqrt()).abs() < 1e-12);
    /// assert_eq!(done.turns, [6]);
    /// // Every cycle is the control CPU's, and some are for reading the word: before each turn, and at the end.
    /// assert_eq!(done.run.report.causes.total(), done.run.report.cycles);
    /// # Ok::<(), cp2_kernels::JobError>(())
    /// ```
    ///
    /// # Errors
    /// Those of `body`.
    pub fn repeat(
        &mut self,
        name: &str,
        word: Buffer<u32>,
        most: u64,
        body: impl FnOnce(&mut Self) -> Result<(), JobError>,
    ) -> Result<(), JobError> {
        let before = std::mem::take(&mut self.items);
        let made = body(self);
        let items = std::mem::replace(&mut self.items, before);
        made?;
        self.items.push(JobItem::While(While {
            name: name.to_owned(),
            word,
            most,
            items,
        }));
        Ok(())
    }

    /// Ends a part of the job, which the report names, when everything before is complete. Nothing behind
    /// begins before that.
    pub fn mark(&mut self, name: &str) {
        self.items.push(JobItem::Mark(name.to_owned()));
    }

    /// Gives the commands of all items.
    ///
    /// Returns how many turns each loop took, in the order in which the loops ended.
    pub(super) fn submit_all(&mut self) -> Result<Vec<u64>, JobError> {
        let mut giving = CommandIssue::new(&mut self.device, &self.passes);
        giving.all(&self.items)?;
        Ok(giving.turns)
    }
}

/// Gives the commands of a job's items to its device.
pub(super) struct CommandIssue<'a> {
    device: &'a mut Device,
    passes: &'a [Pass],
    /// Events that the next command waits for.
    after: Vec<Event>,
    /// Image of the program that is loaded.
    loaded: Option<u64>,
    /// Turns of the loops that have ended.
    turns: Vec<u64>,
}

impl<'a> CommandIssue<'a> {
    /// Creates the state in which no command has been given.
    pub(super) fn new(device: &'a mut Device, passes: &'a [Pass]) -> Self {
        Self {
            device,
            passes,
            after: Vec::new(),
            loaded: None,
            turns: Vec::new(),
        }
    }

    /// Gives the commands of items; returns false if the run has ended early.
    pub(super) fn all(&mut self, items: &[JobItem]) -> Result<bool, JobError> {
        for (i, item) in items.iter().enumerate() {
            match item {
                JobItem::Pass(pass) => {
                    let next = match items.get(i + 1) {
                        Some(JobItem::Pass(next)) => self.passes.get(*next),
                        _ => None,
                    };
                    if let Some(pass) = self.passes.get(*pass) {
                        self.pass(pass, next)?;
                    }
                }
                JobItem::Step(name, step) => {
                    let step = self.device.host_step(name, step.clone(), &self.after)?;
                    self.after = vec![step];
                }
                JobItem::While(repeated) => {
                    if !self.repeat(repeated)? {
                        return Ok(false);
                    }
                }
                JobItem::Mark(name) => self.after = vec![self.device.mark(name)?],
            }
        }
        Ok(true)
    }

    /// Gives the commands of a loop turn by turn; returns false if the run has ended early.
    fn repeat(&mut self, repeated: &While) -> Result<bool, JobError> {
        let mut turns = 0;
        while turns < repeated.most {
            match self.device.host_asks(&repeated.name, repeated.word)? {
                None => return Ok(false),
                Some(false) => break,
                Some(true) => {}
            }
            // A program that is loaded in parts may have been overwritten in part by the turn before.
            let split = |item: &JobItem| match item {
                JobItem::Pass(pass) => self.passes.get(*pass).is_some_and(|p| p.part.is_some()),
                _ => false,
            };
            if repeated.items.iter().any(split) {
                self.loaded = None;
            }
            if !self.all(&repeated.items)? {
                return Ok(false);
            }
            turns += 1;
        }
        self.turns.push(turns);
        Ok(true)
    }

    /// Gives the commands of a pass: the load of its program if needed, and its pages.
    fn pass(&mut self, pass: &Pass, next: Option<&Pass>) -> Result<(), JobError> {
        self.device.name_pass(pass.called.clone());
        let image = pass.placed.image;
        // A program that is loaded already need not be loaded again.
        if self.loaded != Some(image) {
            self.after.push(match &pass.part {
                Some(part) => self
                    .device
                    .load_part(&pass.placed.name, part, &self.after)?,
                None => self.device.load(&pass.placed, &self.after)?,
            });
            self.loaded = Some(image);
        }
        self.after = pass.submit(self.device, &self.after, next)?;
        Ok(())
    }
}
