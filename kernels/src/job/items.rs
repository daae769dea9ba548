//! The items of a job in order, and the commands that carry them out.

use super::messages::{MessageItem, MessagePeer, MessageRequest};
use super::pass::Pass;
use super::{Job, JobError};
use cp2_host::{Buffer, Device, Event, HostStep, PageMessage};

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
    /// A send or a receive.
    Message(MessageItem),
    /// A wait for sends and receives.
    Wait(Vec<MessageRequest>),
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

    /// Gives the commands of all items, and returns the number of turns of each loop, in the order in which the
    /// loops ended.
    pub(super) fn submit_all(&mut self) -> Result<Vec<u64>, JobError> {
        let mut issue = CommandIssue::default();
        issue.submit_alone(&mut self.device, &self.passes, &self.items)?;
        Ok(issue.turns)
    }
}

/// Place in the items of a job up to which commands were given, and what the next ones wait for.
///
/// It can be kept while other processors run: where a job waits for messages, [`CommandIssue::submit`] returns,
/// and goes on behind the wait when it is called again.
#[derive(Debug, Default)]
pub(super) struct CommandIssue {
    /// Events that the next command waits for.
    after: Vec<Event>,
    /// Image of the program that is loaded.
    loaded: Option<u64>,
    /// Turns of the loops that have ended.
    pub(super) turns: Vec<u64>,
    /// The next item of the job, then of each loop that was entered, outermost first.
    levels: Vec<ItemPosition>,
    /// Number of the last send or receive that was given for each request of the job.
    requests: Vec<Option<u64>>,
    /// Sends and receives so far.
    messages: u64,
}

/// Place in the items of a job or of a loop.
#[derive(Clone, Copy, Debug, Default)]
struct ItemPosition {
    /// The next item.
    next: usize,
    /// Turns so far of the loop that is the next item.
    turns: u64,
}

/// Reason why no more commands are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IssueEnd {
    /// All commands were given.
    Done,
    /// The run has ended early.
    Stopped,
    /// The job waits for these sends and receives.
    Waits(Vec<u64>),
}

impl CommandIssue {
    /// Gives the commands of all items of a job that no other processor takes part in.
    ///
    /// # Errors
    /// The device refuses a command, or the job waits for messages.
    pub(super) fn submit_alone(
        &mut self,
        device: &mut Device,
        passes: &[Pass],
        items: &[JobItem],
    ) -> Result<(), JobError> {
        match self.submit(device, passes, items)? {
            // Nobody would receive what it has sent.
            IssueEnd::Done if self.messages > 0 => Err(JobError::OtherProcessors),
            IssueEnd::Done | IssueEnd::Stopped => Ok(()),
            IssueEnd::Waits(_) => Err(JobError::OtherProcessors),
        }
    }

    /// Gives the commands of items that a program carries out as a whole, behind those given before.
    ///
    /// # Errors
    /// The device refuses a command, or the items exchange messages.
    pub(super) fn submit_part(
        &mut self,
        device: &mut Device,
        passes: &[Pass],
        items: &[JobItem],
    ) -> Result<(), JobError> {
        self.levels.clear();
        match self.submit(device, passes, items)? {
            IssueEnd::Done if self.messages == 0 => Ok(()),
            IssueEnd::Stopped => Ok(()),
            IssueEnd::Done | IssueEnd::Waits(_) => Err(JobError::MessagesInPart),
        }
    }

    /// Returns the events of the commands given last, which complete everything before.
    pub(super) fn events(&self) -> &[Event] {
        &self.after
    }

    /// Gives commands until the job waits for messages, or all were given.
    ///
    /// # Errors
    /// The device refuses a command.
    pub(super) fn submit(
        &mut self,
        device: &mut Device,
        passes: &[Pass],
        items: &[JobItem],
    ) -> Result<IssueEnd, JobError> {
        if self.levels.is_empty() {
            self.levels.push(ItemPosition::default());
        }
        loop {
            let Some((own, repeated)) = self.innermost(items) else {
                return Ok(IssueEnd::Done);
            };
            let depth = self.levels.len();
            let Some(level) = self.levels.last_mut() else {
                return Ok(IssueEnd::Done);
            };
            let at = level.next;
            let Some(item) = own.get(at) else {
                if repeated.is_none() {
                    return Ok(IssueEnd::Done);
                }
                // A turn of a loop has ended: its condition is next.
                self.levels.pop();
                if let Some(outer) = self.levels.last_mut() {
                    outer.turns += 1;
                }
                continue;
            };
            if let JobItem::While(inner) = item {
                match self.begin_turn(device, passes, inner)? {
                    None => return Ok(IssueEnd::Stopped),
                    Some(true) => self.levels.push(ItemPosition::default()),
                    Some(false) => {}
                }
                if self.levels.len() > depth {
                    continue;
                }
            }
            if let Some(level) = self.levels.last_mut() {
                *level = ItemPosition {
                    next: at + 1,
                    turns: 0,
                };
            }
            match item {
                JobItem::Pass(pass) => {
                    let next = match own.get(at + 1) {
                        Some(JobItem::Pass(next)) => passes.get(*next),
                        _ => None,
                    };
                    if let Some(pass) = passes.get(*pass) {
                        self.pass(device, pass, next)?;
                    }
                }
                JobItem::Step(name, step) => {
                    let step = device.host_step(name, step.clone(), &self.after)?;
                    self.after = vec![step];
                }
                JobItem::While(_) => {}
                JobItem::Mark(name) => self.after = vec![device.mark(name)?],
                JobItem::Message(message) => self.message(device, message)?,
                JobItem::Wait(requests) => {
                    let given = requests
                        .iter()
                        .filter_map(|request| self.take_request(*request));
                    return Ok(IssueEnd::Waits(given.collect()));
                }
            }
        }
    }

    /// Returns the items of the innermost loop that was entered, and that loop; the job's own outside of loops.
    fn innermost<'a>(&self, items: &'a [JobItem]) -> Option<(&'a [JobItem], Option<&'a While>)> {
        let (mut own, mut repeated) = (items, None);
        let outer = self.levels.len().checked_sub(1)?;
        for level in self.levels.iter().take(outer) {
            let Some(JobItem::While(inner)) = own.get(level.next) else {
                return None;
            };
            (own, repeated) = (&inner.items, Some(inner));
        }
        Some((own, repeated))
    }

    /// Asks whether a loop has another turn: none if the run has ended early.
    fn begin_turn(
        &mut self,
        device: &mut Device,
        passes: &[Pass],
        repeated: &While,
    ) -> Result<Option<bool>, JobError> {
        let turns = self.levels.last().map_or(0, |level| level.turns);
        let more = match turns < repeated.most {
            true => device.host_asks(&repeated.name, repeated.word)?,
            false => Some(false),
        };
        match more {
            Some(true) => {
                // A program that is loaded in parts may have been overwritten in part by the turn before.
                let split = |item: &JobItem| match item {
                    JobItem::Pass(pass) => passes.get(*pass).is_some_and(|p| p.part.is_some()),
                    _ => false,
                };
                if repeated.items.iter().any(split) {
                    self.loaded = None;
                }
            }
            Some(false) => self.turns.push(turns),
            None => {}
        }
        Ok(more)
    }

    /// Gives the commands of a pass: the load of its program if needed, and its pages.
    fn pass(
        &mut self,
        device: &mut Device,
        pass: &Pass,
        next: Option<&Pass>,
    ) -> Result<(), JobError> {
        device.name_pass(pass.called.clone());
        let image = pass.placed.image;
        // A program that is loaded already need not be loaded again.
        if self.loaded != Some(image) {
            self.after.push(match &pass.part {
                Some(part) => device.load_part(&pass.placed.name, part, &self.after)?,
                None => device.load(&pass.placed, &self.after)?,
            });
            self.loaded = Some(image);
        }
        let mut messages = Vec::with_capacity(pass.sends.len());
        for (page, message) in &pass.sends {
            let number = self.number_message(message.request);
            if let MessagePeer::To(to, tag) = message.peer {
                messages.push(PageMessage {
                    page: *page,
                    name: message.name.as_str().into(),
                    request: number,
                    to,
                    tag,
                    region: message.region,
                });
            }
        }
        self.after = pass.submit(device, &self.after, next, &messages)?;
        Ok(())
    }

    /// Gives the command of a send or a receive.
    fn message(&mut self, device: &mut Device, message: &MessageItem) -> Result<(), JobError> {
        let number = self.number_message(message.request);
        let (name, region) = (&message.name, message.region);
        match message.peer {
            MessagePeer::To(to, tag) => {
                device.send_message(name, number, (to, tag), region, &self.after)?
            }
            MessagePeer::From(from, tag) => {
                device.receive_message(name, number, (from, tag), region, &self.after)?
            }
        };
        Ok(())
    }

    /// Returns the number of the next send or receive, which is the one of a request from now on.
    fn number_message(&mut self, request: MessageRequest) -> u64 {
        let number = self.messages;
        self.messages += 1;
        if self.requests.len() <= request.0 {
            self.requests.resize(request.0 + 1, None);
        }
        if let Some(request) = self.requests.get_mut(request.0) {
            *request = Some(number);
        }
        number
    }

    /// Returns the number of the last send or receive that was given for a request, which is waited for now.
    fn take_request(&mut self, request: MessageRequest) -> Option<u64> {
        self.requests.get_mut(request.0).and_then(Option::take)
    }
}
