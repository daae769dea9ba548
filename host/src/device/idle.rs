//! The account of CP2's cycles outside kernels: each has one cause.
//!
//! A stretch between two kernels, or before the first, ends with the launch
//! of the next:
//!
//! ```text
//! previous stop      last completion seen      launch command      first issue
//!       |------------- waited for ---|---- CPU busy ---|---- launch ----|
//!                       (below)           wait-host          launch
//! ```
//!
//! The launch waited for the completion that the CPU saw last, of its dependencies and the previous kernel:
//! the kernel itself gives `launch` (its completion latency), a load `wait-load`, a store `wait-store`
//! (completion latency included), anything else `wait-host`. Between equals the order is kernel, load, store,
//! host.
//!
//! A transfer that waits in the queue waits for those ahead of it: while the
//! DMA moves a store, the wait for a load behind it is `wait-store`, and the
//! other way round.
//!
//! After the last kernel `wait-store` (or `wait-load`) lasts until the last
//! transfer ends, `wait-host` until the CPU has seen everything complete.

use super::progress::Kind;
use cp2_emu::{Cause, Causes};
use std::collections::VecDeque;

/// Cycles in which the DMA worked on transfers of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct DmaCycles {
    start: u64,
    end: u64,
    cause: Cause,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Idle {
    /// First cycle not yet accounted for; kernels account for their own.
    from: u64,
    /// True if a kernel is launched, which accounts for its own cycles.
    kernel: bool,
    /// Cycle in which the last kernel's stop was seen.
    stop_seen: Option<u64>,
    /// Transfers since `from`, in order; adjacent ones of a direction are merged.
    transfers: Vec<DmaCycles>,
    causes: Causes,
    /// Cycles by cause, for each stage.
    of_stages: Vec<Causes>,
    /// Stage that the next cycles belong to.
    stage: usize,
    /// First cycle and number of the stages that begin behind the cycles accounted for.
    begun: VecDeque<(u64, usize)>,
}

impl Idle {
    /// Accounts for the time before a launch at cycle `launch` with first issue at `first`. `last` is the
    /// completion among the launch's dependencies that was seen last.
    pub(crate) fn launch(&mut self, launch: u64, first: u64, last: Option<(u64, Kind)>) {
        let kernel = self.stop_seen.map(|at| (at, Kind::Kernel));
        let (seen, cause) = match last.max(kernel) {
            Some((at, Kind::Kernel)) => (at, Cause::Launch),
            Some((at, Kind::Load)) => (at, Cause::WaitLoad),
            Some((at, Kind::Store)) => (at, Cause::WaitStore),
            Some((at, Kind::Host)) => (at, Cause::WaitHost),
            None => (self.from, Cause::WaitHost),
        };
        self.wait(seen.min(launch), cause);
        self.until(launch, Cause::WaitHost);
        self.until(first, Cause::Launch);
        self.kernel = true;
        self.transfers.clear();
    }

    /// Notes that the kernel's last cycle was before `cycle`.
    pub(crate) fn stop(&mut self, cycle: u64) {
        self.from = cycle;
        self.kernel = false;
        self.stop_seen = None;
    }

    pub(crate) fn stop_seen(&mut self, cycle: u64) {
        self.stop_seen = Some(cycle);
    }

    /// Notes a transfer that ran from `start` to `end`, which is now.
    pub(crate) fn transfer(&mut self, start: u64, end: u64, kind: Kind) {
        if self.kernel {
            return;
        }
        let cause = if kind == Kind::Load {
            Cause::WaitLoad
        } else {
            Cause::WaitStore
        };
        match self.transfers.last_mut() {
            Some(last) if last.cause == cause && last.end >= start => last.end = end,
            _ => self.transfers.push(DmaCycles { start, end, cause }),
        }
    }

    /// Accounts for the time up to the end of the run at `end`, where CP2 is idle.
    pub(crate) fn end(&mut self, end: u64) {
        if let Some(&last) = self.transfers.last() {
            self.wait(last.end.min(end), last.cause);
        }
        self.until(end, Cause::WaitHost);
    }

    /// Accounts for the time up to `cycle` as a wait for messages: everything else is complete.
    pub(crate) fn wait_message(&mut self, cycle: u64) {
        self.until(cycle, Cause::WaitMessage);
    }

    /// Accounts for the time up to `cycle` as a wait for `cause`, except for the transfers ahead of it in the
    /// queue.
    fn wait(&mut self, cycle: u64, cause: Cause) {
        if matches!(cause, Cause::WaitLoad | Cause::WaitStore) {
            for moved in std::mem::take(&mut self.transfers) {
                self.until(moved.start.min(cycle), cause);
                self.until(moved.end.min(cycle), moved.cause);
            }
        }
        self.until(cycle, cause);
    }

    pub(crate) fn causes(&self) -> &Causes {
        &self.causes
    }

    /// Begins a stage, by its number, in a cycle; a kernel that runs accounts for its own cycles.
    pub(crate) fn begin(&mut self, cycle: u64, stage: usize) {
        self.begun.push_back((cycle, stage));
    }

    /// Returns the cycles of a stage by cause.
    pub(crate) fn stage_causes(&self, stage: usize) -> Causes {
        self.of_stages.get(stage).cloned().unwrap_or_default()
    }

    fn until(&mut self, cycle: u64, cause: Cause) {
        while cycle > self.from {
            while let Some(&(_, stage)) = self.begun.front().filter(|(at, _)| *at <= self.from) {
                self.stage = stage;
                self.begun.pop_front();
            }
            let end = self.begun.front().map_or(cycle, |(at, _)| cycle.min(*at));
            if self.of_stages.len() <= self.stage {
                self.of_stages.resize_with(self.stage + 1, Causes::default);
            }
            self.causes.add(cause, end - self.from);
            if let Some(own) = self.of_stages.get_mut(self.stage) {
                own.add(cause, end - self.from);
            }
            self.from = end;
        }
    }
}
