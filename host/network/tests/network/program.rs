//! Abstract programs of processors, which the crate and the oracle both run.

use cp2_network::{Completion, Picoseconds, Record, RecordedOperation, Request, RequestKind};

/// Operation of a program on the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Send {
        to: usize,
        tag: u32,
        bytes: u64,
    },
    Receive {
        from: Option<usize>,
        tag: Option<u32>,
        bytes: u64,
    },
    Wait(Vec<u64>),
    Test(Vec<u64>),
    Pause,
    End,
}

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub request: u64,
    pub receive: bool,
    pub at: u64,
    pub source: usize,
    pub destination: usize,
    pub tag: u32,
    pub bytes: u64,
    pub number: u64,
}

impl From<&Completion> for Done {
    fn from(one: &Completion) -> Self {
        Self {
            request: one.request.0,
            receive: one.kind == RequestKind::Receive,
            at: one.at.get(),
            source: one.message.source,
            destination: one.message.destination,
            tag: one.message.tag,
            bytes: one.message.bytes,
            number: one.message.number,
        }
    }
}

/// Which of the requests that are open.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    All,
    First(usize),
    /// Those at the places of the bits that are set.
    Mask(u64),
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Compute(u64),
    Send {
        to: usize,
        tag: u32,
        bytes: u64,
    },
    Receive {
        from: Option<usize>,
        tag: Option<u32>,
        bytes: u64,
    },
    /// Sends to the source of the message received last.
    Answer {
        tag: u32,
        bytes: u64,
    },
    Wait(Choice),
    Test(Choice),
    Pause,
}

/// CPU times of a send, a post and a completion, in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overheads {
    pub send: u64,
    pub post: u64,
    pub completion: u64,
}

/// A program, and where it is.
#[derive(Clone, Debug)]
pub struct Program {
    pub steps: Vec<Step>,
    pub overheads: Overheads,
    /// How much longer it computes where messages came from elsewhere.
    pub reaction: u64,
    place: usize,
    made: u64,
    open: Vec<u64>,
    last_source: usize,
    pub trace: Vec<(u64, Vec<Done>)>,
}

impl Program {
    pub fn new(processor: usize, steps: Vec<Step>, overheads: Overheads, reaction: u64) -> Self {
        Self {
            steps,
            overheads,
            reaction,
            place: 0,
            made: 0,
            open: Vec::new(),
            last_source: processor,
            trace: Vec::new(),
        }
    }

    fn choose(&self, choice: Choice) -> Vec<u64> {
        let chosen = |place: usize| match choice {
            Choice::All => true,
            Choice::First(count) => place < count,
            Choice::Mask(mask) => mask >> (place % 64) & 1 == 1,
        };
        let open = self.open.iter().enumerate();
        open.filter(|(place, _)| chosen(*place))
            .map(|(_, request)| *request)
            .collect()
    }

    /// Goes on until it stops; the last operation says why.
    pub fn go_on(&mut self, at: u64, done: &[Done]) -> Vec<(u64, Op)> {
        self.trace.push((at, done.to_vec()));
        let mut clock = at;
        for one in done {
            clock += self.overheads.completion;
            self.open.retain(|request| *request != one.request);
            if one.receive {
                self.last_source = one.source;
                clock += (one.source as u64 * 7 + one.number) % 3 * self.reaction;
            }
        }
        let mut ops = Vec::new();
        while let Some(step) = self.steps.get(self.place).copied() {
            self.place += 1;
            let (took, op) = match step {
                Step::Compute(time) => {
                    clock += time;
                    continue;
                }
                Step::Send { to, tag, bytes } => (self.overheads.send, Op::Send { to, tag, bytes }),
                Step::Answer { tag, bytes } => {
                    let to = self.last_source;
                    (self.overheads.send, Op::Send { to, tag, bytes })
                }
                Step::Receive { from, tag, bytes } => {
                    (self.overheads.post, Op::Receive { from, tag, bytes })
                }
                Step::Wait(choice) => (0, Op::Wait(self.choose(choice))),
                Step::Test(choice) => (0, Op::Test(self.choose(choice))),
                Step::Pause => (0, Op::Pause),
            };
            clock += took;
            let stops = !matches!(op, Op::Send { .. } | Op::Receive { .. });
            if !stops {
                self.open.push(self.made);
                self.made += 1;
            }
            ops.push((clock, op));
            if stops {
                return ops;
            }
        }
        ops.push((clock, Op::End));
        ops
    }
}

/// The record of an operation.
pub fn record((at, op): &(u64, Op)) -> Record {
    let requests = |list: &[u64]| list.iter().copied().map(Request).collect();
    let operation = match op {
        Op::Send { to, tag, bytes } => RecordedOperation::Send {
            destination: *to,
            tag: *tag,
            bytes: *bytes,
        },
        Op::Receive { from, tag, bytes } => RecordedOperation::Receive {
            source: *from,
            tag: *tag,
            bytes: *bytes,
        },
        Op::Wait(list) => RecordedOperation::Wait {
            requests: requests(list),
        },
        Op::Test(list) => RecordedOperation::Test {
            requests: requests(list),
        },
        Op::Pause => RecordedOperation::Pause,
        Op::End => RecordedOperation::End,
    };
    Record {
        at: Picoseconds(*at),
        operation,
    }
}
