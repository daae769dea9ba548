//! Overlap-save with blocks of 4096, which go through local memory part by part.
//!
//! A block stays in local memory from its samples to its outputs. While it is computed, the last results of
//! the block before are stored and the first samples of the next but one are loaded. Tables that have no room
//! beside it are streamed (`docs/convolution.md`).

mod pages;
mod tables;

use super::block_filter::{BlockFilter, COMPLEX, FilterPasses};
use super::error::ConvError;
use super::overlap_save::BlockCover;
use super::program::program;
use crate::assembly::moves;
use crate::job::{Job, JobError, data_end};
use cp2_asm::Program;
use cp2_host::Buffer;
use cp2_host::paging::{QUAD, Ring, RingPass, SectionBlocks};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
pub(super) use pages::OverlapSaveRingAddresses;
use pages::{OverlapSaveRingPages, PART, RING};
use std::sync::Arc;

/// Numbers of a block.
pub(super) const N: usize = 4096;
/// Numbers that the middle pass transforms.
const MIDDLE: usize = 8;

/// A filter by blocks of 4096.
#[derive(Debug)]
pub(super) struct OverlapSaveRing {
    machine: Arc<Machine>,
    program: Arc<Program>,
    cover: BlockCover,
    /// Tables of the middle pass and of the last pass, which are streamed.
    tables: Vec<Complex32>,
}

/// Returns the filter with such blocks laid out by `cover`, under the name `title`.
pub(super) fn filter(
    taps: &[Complex32],
    cover: BlockCover,
    title: &str,
    machine: &Arc<Machine>,
) -> Result<BlockFilter, ConvError> {
    let blocks = OverlapSaveRing::new(taps, cover.clone(), title, machine)?;
    let filter = cover.filter(N, title, Program::default(), machine);
    let program = blocks.program.clone();
    Ok(BlockFilter { program, ..filter }.with_passes(blocks))
}

impl OverlapSaveRing {
    /// Makes the kernel for blocks laid out by `cover`.
    pub(super) fn new(
        taps: &[Complex32],
        cover: BlockCover,
        title: &str,
        machine: &Arc<Machine>,
    ) -> Result<Self, ConvError> {
        let blocks = Self {
            machine: machine.clone(),
            program: Arc::new(program(("overlap_save_ring.s", title), &[], "", machine)?),
            cover,
            tables: [tables::middle(taps), tables::last()].concat(),
        };
        moves(
            title,
            &blocks.pass(1, OverlapSaveRingAddresses::default()),
            machine,
        )?;
        Ok(blocks)
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the number of buffers of its ring.
    pub(super) fn buffers(&self) -> usize {
        RING as usize
    }

    /// Puts the streamed tables into system memory and returns their address.
    pub(super) fn place(&self, job: &mut Job) -> Result<u64, JobError> {
        Ok(job.table(&self.tables)?.address())
    }

    pub(super) fn pass(&self, blocks: usize, at: OverlapSaveRingAddresses) -> RingPass {
        let arguments = data_end(&self.program).next_multiple_of(QUAD);
        let parts = OverlapSaveRingPages {
            blocks: self.section_blocks(blocks),
            cover: self.cover.clone(),
            at,
        };
        let ring = Ring::new_in_place(arguments, 0, RING as usize, PART);
        RingPass::new(ring, parts).price_by_kernel(&self.program, "start")
    }

    fn section_blocks(&self, blocks: usize) -> SectionBlocks {
        SectionBlocks {
            count: blocks as u64,
            sections: self.machine.cp2.sections as u64,
        }
    }
}

impl FilterPasses for OverlapSaveRing {
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        blocks: usize,
    ) -> Result<(), JobError> {
        let at = OverlapSaveRingAddresses {
            x: x.address(),
            tables: self.place(job)?,
            y: y.address(),
        };
        let program = job.program("overlap-save 4096", &self.program)?;
        job.ring(&program, "start", self.pass(blocks, at))
    }

    fn bytes(&self, _blocks: usize) -> u64 {
        self.tables.len() as u64 * COMPLEX
    }

    fn estimate(&self, blocks: usize) -> Option<f64> {
        let pass = self.pass(blocks, OverlapSaveRingAddresses::default());
        Some(pass.expect(&self.machine).cycles)
    }

    fn operations(&self, blocks: usize) -> Vec<Vec<(Class, u64)>> {
        let dealt = self.section_blocks(blocks);
        let n = dealt.groups() * dealt.sections * N as u64;
        vec![vec![
            (Class::Butterfly, n * u64::from(N.ilog2())),
            (Class::Madd, n / 2),
        ]]
    }
}
