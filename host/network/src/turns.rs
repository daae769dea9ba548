//! Host threads that share out the processors of a window.
//!
//! The thread that exchanges records takes part, and it alone talks to other ranks. Each thread takes the next
//! processor as soon as it is done with one. What processors did is handed on in the order in which they were
//! woken, so nothing depends on the number of threads.

use crate::record::put;
use crate::{Process, ProcessLog, Record, RecordedOperation, Resume};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, panicking};

/// Records and payloads of a processor from its wake to its next wait.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// Number of the processor, then its records.
    pub(crate) records: Vec<u8>,
    /// Payloads of its sends, in order.
    pub(crate) payloads: Vec<Vec<u8>>,
}

/// A process and the log of its sends and receives.
struct Seat<'p, P> {
    process: &'p mut P,
    log: ProcessLog,
}

impl<P: Process> Seat<'_, P> {
    fn run(&mut self, processor: usize, resume: Resume) -> Turn {
        let end = match self.process.run(resume, &mut self.log) {
            Ok(end) => Record::from(end),
            Err(error) => Record {
                at: error.at,
                operation: RecordedOperation::Fail {
                    message: error.message,
                    of_host: error.of_host,
                },
            },
        };
        let (noted, payloads) = self.log.take();
        let mut records = Vec::new();
        put(&mut records, processor as u64);
        for record in noted.iter().chain([&end]) {
            record.encode(&mut records);
        }
        let payloads = payloads.into_iter().map(|(_, payload)| payload);
        Turn {
            records,
            payloads: payloads.collect(),
        }
    }
}

/// A processor that goes on: its place in the window, its seat, its number, and what it is given.
pub(crate) struct WokenProcess {
    pub(crate) place: usize,
    pub(crate) seat: usize,
    pub(crate) processor: usize,
    pub(crate) resume: Resume,
}

/// Processors of a window that have not run, and turns of those that have.
#[derive(Default)]
struct WindowBoard {
    woken: VecDeque<WokenProcess>,
    turns: Vec<Turn>,
    /// Processors that have not finished their turns.
    unfinished: usize,
    /// True if a thread has panicked in a turn.
    panicked: bool,
    /// True if no more windows come.
    closed: bool,
}

/// The processes of a rank, and the threads that run them.
pub(crate) struct ProcessThreads<'p, P> {
    seats: Vec<Mutex<Seat<'p, P>>>,
    board: Mutex<WindowBoard>,
    /// Told when there are processors to run, or no more windows.
    work: Condvar,
    /// Told when all turns of a window are over.
    over: Condvar,
}

impl<'p, P: Process + Send> ProcessThreads<'p, P> {
    pub(crate) fn new(processes: &'p mut [P]) -> Self {
        let seat = |process| {
            Mutex::new(Seat {
                process,
                log: ProcessLog::new(),
            })
        };
        Self {
            seats: processes.iter_mut().map(seat).collect(),
            board: Mutex::default(),
            work: Condvar::new(),
            over: Condvar::new(),
        }
    }

    /// Starts threads beside the caller's, `threads` with it and no more than processes. Where the host cannot
    /// start as many, there are fewer.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
    ) -> ClosingWindows<'scope, 'p, P> {
        for _ in 1..threads.min(self.seats.len()) {
            let started = Builder::new().spawn_scoped(scope, || self.serve());
            if started.is_err() {
                break;
            }
        }
        ClosingWindows(self)
    }

    /// Runs a window's processors and returns their turns in the order of their places; nothing if a thread has
    /// panicked, which ends the scope of the threads.
    pub(crate) fn run(&self, woken: Vec<WokenProcess>) -> Option<Vec<Turn>> {
        let count = woken.len();
        {
            let mut board = self.board();
            board.unfinished = count;
            board.turns.resize_with(count, Turn::default);
            board.woken = woken.into();
        }
        if count > 1 {
            self.work.notify_all();
        }
        while let Some(woken) = self.next() {
            self.run_turn(woken);
        }
        let mut board = self.board();
        while board.unfinished > 0 {
            board = self
                .over
                .wait(board)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let turns = std::mem::take(&mut board.turns);
        (!board.panicked).then_some(turns)
    }

    fn board(&self) -> MutexGuard<'_, WindowBoard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<WokenProcess> {
        self.board().woken.pop_front()
    }

    /// Runs processors of all windows.
    fn serve(&self) {
        loop {
            let mut board = self.board();
            let woken = loop {
                if board.closed {
                    return;
                }
                if let Some(woken) = board.woken.pop_front() {
                    break woken;
                }
                board = self
                    .work
                    .wait(board)
                    .unwrap_or_else(PoisonError::into_inner);
            };
            drop(board);
            self.run_turn(woken);
        }
    }

    fn run_turn(&self, woken: WokenProcess) {
        let mut unfinished = UnfinishedTurn {
            threads: self,
            place: woken.place,
            turn: Turn::default(),
        };
        if let Some(seat) = self.seats.get(woken.seat) {
            let mut seat = seat.lock().unwrap_or_else(PoisonError::into_inner);
            unfinished.turn = seat.run(woken.processor, woken.resume);
        }
    }
}

/// A turn under way. It is over when this value is dropped, by a panic too: nobody waits for it then.
struct UnfinishedTurn<'a, 'p, P: Process + Send> {
    threads: &'a ProcessThreads<'p, P>,
    place: usize,
    turn: Turn,
}

impl<P: Process + Send> Drop for UnfinishedTurn<'_, '_, P> {
    fn drop(&mut self) {
        let mut board = self.threads.board();
        board.panicked |= panicking();
        if let Some(turn) = board.turns.get_mut(self.place) {
            *turn = std::mem::take(&mut self.turn);
        }
        board.unfinished = board.unfinished.saturating_sub(1);
        if board.unfinished == 0 {
            self.threads.over.notify_all();
        }
    }
}

/// Ends the threads when it is dropped, however the loop of windows ends.
pub(crate) struct ClosingWindows<'a, 'p, P: Process + Send>(&'a ProcessThreads<'p, P>);

impl<P: Process + Send> Drop for ClosingWindows<'_, '_, P> {
    fn drop(&mut self) {
        self.0.board().closed = true;
        self.0.work.notify_all();
    }
}
