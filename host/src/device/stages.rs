//! What of a run belongs to which program, and to which pass of the host program.

use super::engine::DeviceEngine;
use super::report::DmaReport;
use cp2_emu::{Causes, Counters};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A program, and the pass that a host program runs it for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStage {
    /// Which of the programs that were placed was loaded last; none if none was.
    pub program: Option<usize>,
    /// The pass, by the name that the host program gave it.
    pub pass: Option<Arc<str>>,
}

/// What was done in a stage, all times that the host program came to it together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// The stage.
    #[serde(flatten)]
    pub stage: ProgramStage,
    /// Its cycles: from where the control CPU begins its first command, or the kernel of the stage before stops if that is later, to
    /// where the next stage begins.
    pub cycles: u64,
    /// Where they went; they add up to `cycles`.
    pub causes: Causes,
    /// Counters of its kernels, with each word's share.
    pub counters: Counters,
    /// Its transfers.
    pub dma: DmaReport,
}

/// The stages of a run.
#[derive(Debug, Default)]
pub(super) struct StageLog {
    known: Vec<ProgramStage>,
    /// The first command of every stretch of a stage, ascending.
    begins: Vec<(u64, usize)>,
    /// Stretches that the control CPU has come to.
    begun: usize,
    /// What kernels and transfers did in each stage.
    did: Vec<(Counters, DmaReport)>,
    /// Counters that are in these and no more in the processor.
    taken: Counters,
}

impl StageLog {
    /// Commands from `command` on are of `stage`, until others are of another one.
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

    /// The number of the stage that a command is of.
    pub(super) fn find_stage(&self, command: u64) -> Option<usize> {
        let before = self.begins.partition_point(|begin| begin.0 <= command);
        Some(self.begins.get(before.checked_sub(1)?)?.1)
    }

    /// The stage with a number.
    pub(super) fn stage(&self, number: usize) -> Option<&ProgramStage> {
        self.known.get(number)
    }

    /// The stage that begins as the control CPU takes a command: commands of the one before may come later, but change that no more.
    pub(super) fn taken(&mut self, command: u64) -> Option<usize> {
        let mut begun = None;
        while let Some(begin) = self.begins.get(self.begun).filter(|b| b.0 <= command) {
            begun = Some(begin.1);
            self.begun += 1;
        }
        begun
    }

    /// The stage that the control CPU is in.
    pub(super) fn now(&self) -> Option<usize> {
        Some(self.begins.get(self.begun.checked_sub(1)?)?.1)
    }

    /// Transfers of a stage.
    pub(super) fn moved(&mut self, stage: Option<usize>) -> Option<&mut DmaReport> {
        self.did.get_mut(stage?).map(|(_, dma)| dma)
    }

    /// A kernel of a stage has counted so much.
    fn counted(&mut self, stage: Option<usize>, counters: &Counters) {
        if let Some((own, _)) = stage.and_then(|stage| self.did.get_mut(stage)) {
            add(own, counters);
        }
    }

    /// As at the beginning.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Adds counters to others, which may be none yet.
fn add(sum: &mut Counters, more: &Counters) {
    sum.sections = more.sections;
    sum.merge(more);
}

impl DeviceEngine {
    /// The kernel that a command launched has stopped: what it counted is its stage's.
    pub(super) fn kernel_counted(&mut self, command: u64) {
        if self.options.stages {
            let counters = self.processor.take_counters();
            self.stages
                .counted(self.stages.find_stage(command), &counters);
            add(&mut self.stages.taken, &counters);
        }
    }

    /// What the processor has counted since it counts anew, and what was taken from it before.
    pub(super) fn with_taken(&self, mut counters: Counters) -> Counters {
        if self.options.stages {
            counters.merge(&self.stages.taken);
        }
        counters
    }

    /// The stages, at the end of the run: `counters` are of the kernel that a command launched and that did not stop, `waited` the wait that did not end.
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
