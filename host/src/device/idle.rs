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
//! What the launch waited for is the completion that the CPU saw last, of its
//! dependencies and the previous kernel: the kernel itself gives `launch` (its
//! completion latency), a load `wait-load`, a store `wait-store` (completion
//! latency included), anything else `wait-host`. Between equals the order is
//! kernel, load, store, host.
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
    /// A kernel is launched: it accounts for its own cycles.
    kernel: bool,
    /// When the last kernel's stop was seen.
    stop_seen: Option<u64>,
    /// The transfers since `from`, in order; neighbours of a kind are one.
    transfers: Vec<DmaCycles>,
    causes: Causes,
    /// The same by stages.
    of_stages: Vec<Causes>,
    /// The stage that cycles belong to, and those that began behind what is accounted for.
    stage: usize,
    begun: VecDeque<(u64, usize)>,
}

impl Idle {
    /// A launch at `launch`, first issue at `first`; `last` is the completion
    /// among its dependencies seen last.
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

    /// The kernel's last cycle was before `cycle`.
    pub(crate) fn stop(&mut self, cycle: u64) {
        self.from = cycle;
        self.kernel = false;
        self.stop_seen = None;
    }

    pub(crate) fn stop_seen(&mut self, cycle: u64) {
        self.stop_seen = Some(cycle);
    }

    /// A transfer ran from `start` to `end`, which is now.
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

    /// CP2 is idle and the run ends at `end`.
    pub(crate) fn end(&mut self, end: u64) {
        if let Some(&last) = self.transfers.last() {
            self.wait(last.end.min(end), last.cause);
        }
        self.until(end, Cause::WaitHost);
    }

    /// Waits until `cycle`: for `cause`, but for the transfers ahead of it.
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

    /// A stage, by its number, begins in a cycle; a kernel that runs accounts for its own cycles.
    pub(crate) fn begin(&mut self, cycle: u64, stage: usize) {
        self.begun.push_back((cycle, stage));
    }

    /// The cycles of a stage.
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
