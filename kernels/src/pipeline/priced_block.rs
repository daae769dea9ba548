//! Linear blocks that are scheduled by themselves, for their cycles and words.

use super::block_writer::BlockWriter;
use super::operations::Operations;
use crate::assembly::{Unfit, assembly};
use cp2_asm::{BlockReport, Source};
use cp2_machine::Machine;

/// Part of a bound by which an interval may exceed it to be near it.
const NEAR_SHARE: u64 = 32;

/// A linear block with the report of its schedule.
#[derive(Clone, Debug)]
pub(crate) struct PricedBlock {
    report: BlockReport,
    iterations: u64,
}

impl PricedBlock {
    /// Schedules a block of so many iterations for a machine; `before` is what the assembler finds above it: words that
    /// name the registers which are taken, labels.
    pub(crate) fn new(
        kernel: &str,
        (block, iterations): (&BlockWriter, u64),
        before: &str,
        machine: &Machine,
    ) -> Result<Self, Unfit> {
        let text = format!(
            "; A loop, for its report.\n{before}{}    stop\n",
            block.text("turns", iterations)
        );
        let mut all = Self::list(kernel, (&text, &[iterations]), machine)?;
        all.pop().ok_or_else(|| Unfit {
            // Never: the text has the block.
            kernel: kernel.to_owned(),
            machine: machine.name.clone(),
            lacks: Vec::new(),
            diagnostics: cp2_asm::Diagnostics::default(),
        })
    }

    /// Schedules the blocks of a program's text, which have so many iterations each.
    pub(crate) fn list(
        kernel: &str,
        (text, iterations): (&str, &[u64]),
        machine: &Machine,
    ) -> Result<Vec<Self>, Unfit> {
        let options = cp2_asm::Options {
            machine: Some(machine),
            check_registers: false,
            ..cp2_asm::Options::default()
        };
        let made = assembly(kernel, (&Source::new("loop.s", text), ""), &options)?;
        let all = made.blocks.into_iter().zip(iterations);
        let priced = all.map(|(report, &iterations)| Self { report, iterations });
        Ok(priced.collect())
    }

    /// Returns the cycles by which an iteration takes longer than its operations need at least.
    pub(crate) fn count_beyond_bound(&self) -> u64 {
        self.report.interval.saturating_sub(self.report.bound)
    }

    /// Returns true if an iteration takes hardly longer than its operations need at least.
    pub(crate) fn is_near_bound(&self) -> bool {
        self.count_beyond_bound() <= self.report.bound / NEAR_SHARE
    }

    /// Returns the cycles of so many iterations. Where these are so few that they take no hardware loop, its set-up is
    /// counted all the same.
    pub(crate) fn cycles(&self, iterations: u64) -> u64 {
        let interval = self.report.interval;
        let all = self.report.count_cycles(self.iterations) + interval * iterations;
        all.saturating_sub(interval * self.iterations)
    }

    /// Returns a bound of the words of any number of iterations: there may be a remainder of those after which
    /// registers repeat.
    pub(crate) fn words(&self) -> u64 {
        self.report.words + self.report.copies.saturating_sub(1) * self.report.interval
    }

    /// Returns the operations of so many iterations.
    pub(crate) fn operations(&self, iterations: u64) -> Operations {
        let mut operations = Operations::default();
        operations.add_block(&self.report, iterations);
        operations
    }
}
