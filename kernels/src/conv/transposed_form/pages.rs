//! Transfers of blocks that follow one another in a section.

use super::BUFFERS;
use crate::conv::block_filter::FilterPasses;
use crate::job::{Job, JobError, data_end};
use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
use cp2_host::Buffer;
use cp2_host::paging::{QUAD, Ring, RingPages, RingPass};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Pass over a series of blocks in each section.
#[derive(Debug)]
pub(super) struct TransposedFormPass {
    pub(super) title: String,
    pub(super) machine: Arc<Machine>,
    pub(super) program: Arc<Program>,
    /// Bytes of a block's samples.
    pub(super) hop: u64,
    /// Bytes of a block's outputs.
    pub(super) out: u64,
    /// Blocks that a section goes through before its first outputs.
    pub(super) before: u64,
    /// Operations of a block.
    pub(super) operations: Vec<(Class, u64)>,
}

impl TransposedFormPass {
    /// Returns the pass over `blocks` blocks, with samples and outputs at the addresses `at` in system
    /// memory.
    pub(super) fn pass(&self, blocks: usize, at: [u64; 2]) -> RingPass {
        let arguments = data_end(&self.program).next_multiple_of(QUAD);
        let first = arguments + Ring::argument_bytes(BUFFERS);
        let ring = Ring::new(arguments, first, BUFFERS, self.hop, self.out).store_in_place();
        let issues = self.operations.iter().map(|(_, count)| count).sum();
        let sections = self.machine.cp2.sections.max(1) as u64;
        let rows = TransposedFormPages {
            each: (blocks as u64).div_ceil(sections),
            before: self.before,
            bytes: [self.hop, self.out],
            outputs: first + BUFFERS as u64 * self.hop,
            at,
            issues,
        };
        RingPass::new(ring, rows).price_by_kernel(&self.program, "start")
    }
}

impl FilterPasses for TransposedFormPass {
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        blocks: usize,
    ) -> Result<(), JobError> {
        let program = job.program(&self.title, &self.program)?;
        let pass = self.pass(blocks, [x.address(), y.address()]);
        job.ring(&program, "start", pass)
    }

    fn bytes(&self, _blocks: usize) -> u64 {
        0
    }

    fn estimate(&self, blocks: usize) -> Option<f64> {
        Some(self.pass(blocks, [0; 2]).expect(&self.machine).cycles)
    }

    fn operations(&self, blocks: usize) -> Vec<Vec<(Class, u64)>> {
        let sections = self.machine.cp2.sections.max(1) as u64;
        let pages = (blocks as u64).div_ceil(sections) + self.before;
        let all = self.operations.iter();
        vec![
            all.map(|&(class, n)| (class, n * pages * sections))
                .collect(),
        ]
    }
}

/// Pages of the pass: a page has a block of each section.
#[derive(Debug)]
struct TransposedFormPages {
    /// Blocks of a section.
    each: u64,
    before: u64,
    /// Bytes of a block's samples and outputs.
    bytes: [u64; 2],
    /// DMEM address of the outputs.
    outputs: u64,
    at: [u64; 2],
    issues: u64,
}

impl TransposedFormPages {
    /// Returns the target of a transfer of a block of every section.
    fn target(&self, bytes: u64) -> Target {
        let stride = i64::try_from(self.each * bytes).unwrap_or(i64::MAX);
        Target::Blocks { stride }
    }
}

impl RingPages for TransposedFormPages {
    fn count(&self) -> u64 {
        self.before + self.each
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let bytes = self.bytes[0];
        let system = self.at[0] + page * bytes;
        vec![Descriptor::load(self.target(bytes), system, local, bytes)]
    }

    fn stores(&self, page: u64, _local: u32) -> Vec<Descriptor> {
        let bytes = self.bytes[1];
        let Some(block) = page.checked_sub(self.before) else {
            return Vec::new();
        };
        let local = self.outputs + page % BUFFERS as u64 * bytes;
        // Addresses inside DMEM are u32.
        let local = u32::try_from(local).unwrap_or(u32::MAX);
        let system = self.at[1] + block * bytes;
        vec![Descriptor::store(self.target(bytes), system, local, bytes)]
    }

    /// Returns the period of the pages' costs: the first `before` pages store nothing.
    fn cost_period(&self) -> u64 {
        self.before.max(1)
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.issues
    }
}
