//! Accounting of the engine, and the report made of it.

use super::control_state::{Arrival, RunningKernel};
use super::engine::DeviceEngine;
use super::progress::Kind;
use super::report::{RunEnd, RunReport, SingleBuffered};
use crate::timeline::{Category, Slice, Track};
use cp2_asm::isa::Scalar;
use cp2_dma::{Direction, Transfer};
use cp2_emu::{Cause, Causes, Counters, Dump, Status};
use cp2_machine::Cycles;

impl DeviceEngine {
    pub(super) fn transfer_done(&mut self, transfer: &cp2_emu::TransferRecord) {
        let bytes = transfer.granules.saturating_mul(self.machine.dma.granule.0);
        let (kind, category) = match transfer.descriptor.direction() {
            Direction::Load => (Kind::Load, Category::Load),
            Direction::Store => (Kind::Store, Category::Store),
        };
        let (command, start, end) = (transfer.tag, transfer.started, transfer.completes);
        let moving = end - transfer.data;
        self.dma.count(category, bytes, end - start, moving);
        let stage = self.stages.find_stage(command);
        if let Some(dma) = self.stages.moved(stage) {
            dma.count(category, bytes, end - start, moving);
        }
        let submitted = self.state.transfers.iter().find(|t| t.command == command);
        let page = submitted.and_then(|t| t.page);
        self.timeline.push(start, end, || Slice {
            track: Track::Dma,
            category,
            name: submitted.map_or_else(String::new, |t| t.name.to_string()),
            page,
            command,
            start,
            end,
            bytes,
        });
        if let (Some(_), Some(page)) = (transfer.descriptor.event(), page) {
            self.state.ready.retain(|(other, _)| *other != page);
            self.state.ready.push((page, end));
        }
        let base = self.timeline.base;
        let at = base.ceil_cycles(transfer.completes).0;
        let started = base.ceil_cycles(transfer.started).0;
        self.state.idle.transfer(started, at, kind);
        self.arrive(at, Arrival::Transfer { command, kind });
    }

    /// Puts the running kernel, if any, on the timeline, and returns its command.
    pub(super) fn kernel_ended(&mut self, until: u64) -> Option<u64> {
        let RunningKernel {
            command,
            name,
            page,
            first,
            ..
        } = self.state.kernel.take()?;
        let (start, end) = (self.ticks(first), self.ticks(until.max(first)));
        self.timeline.push(start, end, || Slice {
            track: Track::Cp2,
            category: Category::Kernel,
            name: name.to_string(),
            page,
            command,
            start,
            end,
            bytes: 0,
        });
        Some(command)
    }

    /// Puts a page that the kernel signalled in cycle `at` on the timeline. Its slice lasts from its load, or
    /// from the end of the page before, to the signal.
    pub(super) fn page_done(&mut self, command: u64, name: &str, page: u64, at: u64) {
        let ready = self
            .state
            .ready
            .iter()
            .position(|(ready, _)| *ready == page);
        let loaded = ready.map(|at| self.state.ready.swap_remove(at).1);
        let end = self.ticks(at + 1);
        let start = loaded.unwrap_or_default().max(self.state.paged).min(end);
        self.state.paged = end;
        self.timeline.push(start, end, || Slice {
            track: Track::Cp2,
            category: Category::Page,
            name: name.to_string(),
            page: Some(page),
            command,
            start,
            end,
            bytes: 0,
        });
    }

    /// Notes that a pass lacks `bytes_short` bytes of DMEM for two pages.
    pub(super) fn single_buffered(&mut self, pass: &str, bytes_short: u64) {
        let pass = SingleBuffered {
            pass: pass.to_owned(),
            bytes_short,
        };
        if !self.single_buffered.contains(&pass) {
            self.single_buffered.push(pass);
        }
    }

    /// Returns the report of the run that ended with `end`, with the counters of CP2.
    pub(crate) fn report(&mut self, end: RunEnd, counters: Counters) -> RunReport {
        let at = self.current_cycle();
        let running = self.state.kernel.as_ref().map(|kernel| kernel.command);
        let overwritten_arguments = self.overwritten_arguments(&end);
        if self.state.kernel.is_some() {
            self.kernel_ended(match &end {
                RunEnd::Fault(fault) => fault.cycle,
                _ => at,
            });
        } else if !end.is_finished() {
            self.state.idle.end(at);
        }
        let own = counters;
        let counters = self.with_taken(own.clone());
        let mut causes = self.state.idle.causes().clone();
        causes.merge(&counters.causes);
        let mut waited = Causes::default();
        if let Status::Waiting { .. } = self.processor.status() {
            // The wait that did not end is not yet in the kernel's account.
            waited.add(Cause::WaitHost, at.saturating_sub(causes.total()));
        }
        causes.merge(&waited);
        let stage = running.and_then(|command| self.stages.find_stage(command));
        let stage = stage.or(self.stages.now()).filter(|_| !end.is_finished());
        let stage = stage.and_then(|stage| self.stages.stage(stage)).cloned();
        let stages = self.stage_reports(running, &own, &waited);
        let cycles = if end.is_finished() {
            self.state.now
        } else {
            causes.total()
        };
        let base = self.machine.time_base();
        RunReport {
            machine: self.machine.name.clone(),
            machine_hash: self.machine.hash.clone(),
            cycles,
            seconds_simulated: base.seconds(base.cycles(Cycles(cycles))),
            causes,
            counters,
            dma: self.dma.clone(),
            dma_busy_cycles: self.dma.busy.0 as f64 / base.ticks_per_cycle as f64,
            host: self.host.clone(),
            stage,
            stages,
            parts: self.parts.clone(),
            single_buffered: self.single_buffered.clone(),
            findings: self.processor.findings().to_vec(),
            timeline: self.timeline.clone(),
            overwritten_arguments,
            dump: (!end.is_finished()).then(|| Dump(&self.processor).to_string()),
            end,
        }
    }

    /// Returns the value of `a15` in a kernel that faulted, if the argument block there is no longer as the
    /// host loads it. The words that the kernel read from it then mean nothing.
    fn overwritten_arguments(&self, end: &RunEnd) -> Option<u32> {
        let RunEnd::Fault(_) = end else { return None };
        let protection = self.state.kernel.as_ref()?.protection.as_ref()?;
        let core = self.processor.core();
        let block = core.scalar(Scalar::address(15));
        let word = |address: u32| {
            let mut bytes = [0; 4];
            let read = core.read_dmem(0, address, &mut bytes);
            read.is_ok().then(|| u32::from_le_bytes(bytes))
        };
        (!protection.has_arguments(block, word)).then_some(block)
    }
}
