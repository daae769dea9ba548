//! Shares of a run by program and by pass of the host program.

use super::engine::DeviceEngine;
use super::report::DmaReport;
use cp2_emu::{Causes, Counters};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A program, and the pass for which a host program runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStage {
    /// Index of the placed program that was loaded last; none if none was.
    pub program: Option<usize>,
    /// Name that the host program gave the pass.
    pub pass: Option<Arc<str>>,
}

/// Activity of a stage, summed over all times that the host program came to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// Program and pass of the stage.
    #[serde(flatten)]
    pub stage: ProgramStage,
    /// Cycles of the stage. It begins where the control CPU begins its first command, or where the kernel of
    /// the stage before stops if that is later, and ends where the next stage begins.
    pub cycles: u64,
    /// Cycles by cause; they add up to `cycles`.
    pub causes: Causes,
    /// Counters of the stage's kernels, with each word's share.
    pub counters: Counters,
    /// Transfers of the stage.
    pub dma: DmaReport,
}

/// The stages of a run.
#[derive(Debug, Default)]
pub(super) struct StageLog {
    known: Vec<ProgramStage>,
    /// First command and stage number of every stretch, ascending.
    begins: Vec<(u64, usize)>,
    /// Number of stretches that the control CPU has come to.
    begun: usize,
    /// Activity of kernels and transfers in each stage.
    did: Vec<(Counters, DmaReport)>,
    /// Counters that were moved from the processor to the stages.
    taken: Counters,
}

impl StageLog {
    /// Assigns the commands from `command` on to `stage`, until the next call.
    pub(super) fn begin(&mut self, command: u64, stage: ProgramStage) {
        let known = self.known.iter().position(|known| *known == stage);
        let number = known.unwrap_or(self.known.len());
        if known.is_none() {
            self.known.push(stage);
            self.did.push(Default::default());
        }
        if self.begins.last().is_none_or(|begin| begin.1 != number) {
            self.begins.push((command, number));
        }
    }

    /// Returns the number of the stage that a command belongs to.
    pub(super) fn find_stage(&self, command: u64) -> Option<usize> {
        let before = self.begins.partition_point(|begin| begin.0 <= command);
        Some(self.begins.get(before.checked_sub(1)?)?.1)
    }

    /// Returns the stage with a number.
    pub(super) fn stage(&self, number: usize) -> Option<&ProgramStage> {
        self.known.get(number)
    }

    /// Returns the stage that begins when the control CPU takes `command`, if one does. Commands of the stage
    /// before may still come later, without effect on the stage.
    pub(super) fn taken(&mut self, command: u64) -> Option<usize> {
        let mut begun = None;
        while let Some(begin) = self.begins.get(self.begun).filter(|b| b.0 <= command) {
            begun = Some(begin.1);
            self.begun += 1;
        }
        begun
    }

    /// Returns the number of the stage that the control CPU is in.
    pub(super) fn now(&self) -> Option<usize> {
        Some(self.begins.get(self.begun.checked_sub(1)?)?.1)
    }

    /// Returns the account of a stage's transfers.
    pub(super) fn moved(&mut self, stage: Option<usize>) -> Option<&mut DmaReport> {
        self.did.get_mut(stage?).map(|(_, dma)| dma)
    }

    /// Adds the counters of a kernel to its stage.
    fn counted(&mut self, stage: Option<usize>, counters: &Counters) {
        if let Some((own, _)) = stage.and_then(|stage| self.did.get_mut(stage)) {
            add(own, counters);
        }
    }

    /// Returns to the state at the beginning of a run.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Adds counters to a sum, which may be empty.
fn add(sum: &mut Counters, more: &Counters) {
    sum.sections = more.sections;
    sum.merge(more);
}

impl DeviceEngine {
    /// Moves the counters of a kernel that has stopped to the stage of `command`, which launched it.
    pub(super) fn kernel_counted(&mut self, command: u64) {
        if self.options.stages {
            let counters = self.processor.take_counters();
            self.stages
                .counted(self.stages.find_stage(command), &counters);
            add(&mut self.stages.taken, &counters);
        }
    }

    /// Returns `counters` of the processor plus those that were moved to stages before.
    pub(super) fn with_taken(&self, mut counters: Counters) -> Counters {
        if self.options.stages {
            counters.merge(&self.stages.taken);
        }
        counters
    }

    /// Returns the report of every stage at the end of the run. `counters` belong to the kernel that command
    /// `unfinished` launched and that did not stop, and `waited` is its wait that did not end.
    pub(super) fn stage_reports(
        &mut self,
        unfinished: Option<u64>,
        counters: &Counters,
        waited: &Causes,
    ) -> Vec<StageReport> {
        if !self.options.stages {
            return Vec::new();
        }
        let unfinished = unfinished.and_then(|command| self.stages.find_stage(command));
        self.stages.counted(unfinished, counters);
        let stages = std::mem::take(&mut self.stages);
        let numbered = stages.known.into_iter().zip(stages.did).enumerate();
        let reports = numbered.map(|(number, (stage, (counters, dma)))| {
            let mut causes = self.state.idle.stage_causes(number);
            causes.merge(&counters.causes);
            if unfinished == Some(number) {
                causes.merge(waited);
            }
            StageReport {
                stage,
                cycles: causes.total(),
                causes,
                counters,
                dma,
            }
        });
        reports.collect()
    }
}
