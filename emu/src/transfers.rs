//! The DMA engine in time: a queue of transfers, one running at a time.

pub(crate) mod endpoints;
pub(crate) mod footprint;
use cp2_dma::{Movement, Transfer, transfer_time};
use cp2_machine::{Machine, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A running transfer with its times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferRecord<T = Movement> {
    /// Transfer that was submitted.
    pub descriptor: T,
    /// Name that the submitter gave it.
    pub tag: u64,
    /// Instant at which its set-up began.
    pub started: Ticks,
    /// Instant at which its first granule could move.
    pub data: Ticks,
    /// Instant at which it completes and takes effect.
    pub completes: Ticks,
    /// Granules that cross the channel to system memory.
    pub granules: u64,
}

/// Queue of transfers with the running one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TransferQueue<T> {
    running: Option<TransferRecord<T>>,
    queue: VecDeque<(T, u64)>,
}

impl<T> Default for TransferQueue<T> {
    fn default() -> Self {
        Self {
            running: None,
            queue: VecDeque::new(),
        }
    }
}

impl<T: Transfer> TransferQueue<T> {
    /// Removes all transfers.
    pub(crate) fn clear(&mut self) {
        self.running = None;
        self.queue.clear();
    }

    /// Returns the number of transfers, the running one included.
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + usize::from(self.running.is_some())
    }

    pub(crate) fn running(&self) -> Option<&TransferRecord<T>> {
        self.running.as_ref()
    }

    /// Moves the times of the running transfer later.
    pub(crate) fn shift_times(&mut self, ticks: Ticks) {
        if let Some(running) = &mut self.running {
            running.started += ticks;
            running.data += ticks;
            running.completes += ticks;
        }
    }

    /// Calls `change` with every transfer and its tag.
    pub(crate) fn for_each_transfer(&mut self, mut change: impl FnMut(&mut T, &mut u64)) {
        if let Some(running) = &mut self.running {
            change(&mut running.descriptor, &mut running.tag);
        }
        for (descriptor, tag) in &mut self.queue {
            change(descriptor, tag);
        }
    }

    /// Adds a valid transfer at `now`; returns true if it started at once.
    pub(crate) fn submit(
        &mut self,
        machine: &Machine,
        descriptor: T,
        tag: u64,
        now: Ticks,
    ) -> bool {
        if self.running.is_some() {
            self.queue.push_back((descriptor, tag));
            return false;
        }
        self.start(machine, descriptor, tag, now, machine.dma.setup_idle);
        true
    }

    /// Ends the running transfer and starts the next one, if any.
    pub(crate) fn complete(&mut self, machine: &Machine) -> Option<TransferRecord<T>> {
        let done = self.running.take()?;
        if let Some((descriptor, tag)) = self.queue.pop_front() {
            self.start(
                machine,
                descriptor,
                tag,
                done.completes,
                machine.dma.setup_queued,
            );
        }
        Some(done)
    }

    fn start(
        &mut self,
        machine: &Machine,
        descriptor: T,
        tag: u64,
        at: Ticks,
        setup: cp2_machine::Cycles,
    ) {
        let data = at + machine.time_base().cycles(setup);
        let time = transfer_time(&descriptor, machine);
        self.running = Some(TransferRecord {
            descriptor,
            tag,
            started: at,
            data,
            completes: data + time.body,
            granules: time.granules,
        });
    }
}
