//! Short blocks before blocks of 4096, while their program is loaded.
//!
//! Blocks of 4096 would compute numbers for nothing at the end of a signal. Short blocks compute that end
//! first, and meanwhile the program and the first parts of the blocks of 4096 are loaded.

use super::block_filter::{BlockFilter, COMPLEX, FilterPasses};
use super::error::ConvError;
use super::overlap_save::{self, BlockCover, issues};
use super::overlap_save_ring::{self, OverlapSaveRingAddresses};
use super::tail::skip_numbers;
use crate::assembly::moves;
use crate::job::{Job, JobError, data_end, image, load, loads};
use cp2_asm::Program;
use cp2_dma::Descriptor;
use cp2_host::Buffer;
use cp2_host::paging::{QUAD, Ring, RingPages, RingPass, SectionBlocks, expect_all, overlap_pair};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Buffers of the short blocks: one is computed while the next is loaded.
const BUFFERS: u64 = 2;
/// Words to whose multiple the second program is aligned: a granule of program memory.
const ALIGNMENT_WORDS: usize = 2;

/// Division of a signal between the two kernels.
#[derive(Clone, Debug)]
pub(super) struct LeadInPlan {
    /// Filter by blocks of 4096, which run second, and their number.
    pub(super) main: BlockFilter,
    pub(super) many: usize,
    /// The short blocks, which compute the end of the signal: length, layout, number, and taps.
    pub(super) n: usize,
    pub(super) cover: BlockCover,
    pub(super) few: usize,
    pub(super) taps: Vec<Complex32>,
    /// Delay of the first of these taps: the samples of the short blocks end so many before their outputs.
    pub(super) back: usize,
}

/// Pages of the short blocks, one for each section at a time.
#[derive(Clone, Debug)]
struct LeadInPages {
    n: usize,
    cover: BlockCover,
    blocks: SectionBlocks,
    x: u64,
    y: u64,
    /// Bytes of the tables, which stay until the end.
    tables: u64,
}

impl RingPages for LeadInPages {
    fn count(&self) -> u64 {
        self.blocks.groups()
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let hop = self.cover.hop as u64 * COMPLEX;
        let bytes = self.n as u64 * COMPLEX;
        self.blocks.loads(page, hop, |target, from| {
            Descriptor::load(target, self.x + from, local, bytes)
        })
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let wanted = &self.cover.outputs;
        let bytes = wanted.len() as u64 * COMPLEX;
        // The outputs lie inside the page.
        let local = local + (wanted.start as u64 * COMPLEX) as u32;
        self.blocks.list_transfers(page, bytes, |target, from| {
            Descriptor::store(target, self.y + from, local, bytes)
        })
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        Some([self.n as u64 * COMPLEX, 0, self.tables])
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        issues(self.n)
    }
}

/// A filter of whole signals by both kernels.
#[derive(Debug)]
pub(super) struct LeadIn {
    parts: LeadInPlan,
    machine: Arc<Machine>,
    blocks: Arc<overlap_save_ring::OverlapSaveRing>,
    ring: Ring,
    tables: u64,
    /// Program of the short blocks alone.
    first: Arc<Program>,
    /// Program of both kernels.
    both: Arc<Program>,
    /// First word and first table address of the second kernel.
    second: [u64; 2],
}

impl LeadIn {
    /// Returns the combination, if local memory has room for the short blocks beside the tables of the blocks
    /// of 4096.
    pub(super) fn new(
        parts: LeadInPlan,
        all_taps: &[Complex32],
        machine: &Arc<Machine>,
    ) -> Result<Option<Self>, ConvError> {
        let blocks = overlap_save_ring::OverlapSaveRing::new(
            all_taps,
            BlockCover::new_overlapping(parts.main.lead, overlap_save_ring::N),
            &parts.main.title,
            machine,
        )?;
        let next = blocks.program();
        // The tables of the blocks of 4096 lie above all that pages and short blocks may take.
        let top = next.dmem.iter().map(|s| u64::from(s.address)).min();
        let page = parts.n as u64 * COMPLEX;
        let at_zero = overlap_save::ring_program(&parts.taps, parts.n, 0, machine)?;
        let tables = data_end(&at_zero).next_multiple_of(QUAD);
        let groups = parts.few.div_ceil(machine.cp2.sections.max(1)) as u64;
        let buffers = groups.min(BUFFERS);
        // From the top down: the buffer of the last page, the tables, the other buffer.
        let Some(at) = top
            .and_then(|top| top.checked_sub(page + tables))
            .filter(|at| *at >= (buffers - 1) * page)
        else {
            return Ok(None);
        };
        let arguments = (data_end(next).next_multiple_of(QUAD)
            + Ring::argument_bytes(blocks.buffers()))
        .next_multiple_of(QUAD);
        if arguments + Ring::argument_bytes(buffers as usize) > machine.cp2.dmem.0 {
            return Ok(None);
        }
        let first = Arc::new(overlap_save::ring_program(
            &parts.taps,
            parts.n,
            at as i64,
            machine,
        )?);
        let Ok(both) = first.linked(next, ALIGNMENT_WORDS) else {
            return Ok(None);
        };
        if 8 * both.words.len() as u64 > machine.cp2.program.0 {
            return Ok(None);
        }
        let second = [
            (both.words.len() - next.words.len()) as u64,
            top.unwrap_or_default(),
        ];
        let places = |buffer: u64| {
            // The other buffer lies below the tables, that of the last page above.
            let last = (groups - 1) % buffers == buffer;
            if last { at + tables } else { at - page }
        };
        let local = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let ring = Ring {
            arguments: local(arguments),
            pages: (0..buffers).map(|buffer| local(places(buffer))).collect(),
            factors: vec![0; buffers as usize],
            beside: vec![local(at); buffers as usize],
            behind: 0,
            ahead: buffers as usize,
        };
        let opening = Self {
            parts,
            machine: machine.clone(),
            blocks: Arc::new(blocks),
            ring,
            tables,
            first,
            both: Arc::new(both),
            second,
        };
        moves(
            &opening.parts.main.title,
            &opening.short([0, 1 << 40]),
            machine,
        )?;
        Ok(Some(opening))
    }

    /// Returns the pass of the short blocks.
    fn short(&self, [x, y]: [u64; 2]) -> RingPass {
        let work = LeadInPages {
            n: self.parts.n,
            cover: self.parts.cover.clone(),
            blocks: self.section_blocks(),
            x,
            y,
            tables: self.tables,
        };
        RingPass::new(self.ring.clone(), work)
            .price_by_kernel(&self.first, "blocks")
            .load_immediately()
    }

    fn section_blocks(&self) -> SectionBlocks {
        SectionBlocks {
            count: self.parts.few as u64,
            sections: self.machine.cp2.sections as u64,
        }
    }

    /// Returns the number of outputs of a signal.
    fn outputs(&self) -> usize {
        self.parts.many * self.parts.main.hop + self.parts.few * self.parts.cover.hop
    }

    /// Returns the expected cycles of a signal.
    pub(super) fn cycles(&self) -> f64 {
        let mut short = self.short([0, 1 << 40]);
        let far = OverlapSaveRingAddresses {
            x: 1 << 41,
            tables: 1 << 42,
            y: 1 << 43,
        };
        let mut main = self.blocks.pass(self.parts.many, far);
        let next = self.blocks.program();
        let own = load(image(&self.first), &self.machine);
        if overlap_pair(&mut short, &mut main, &loads(next), &self.machine) {
            return own + expect_all([&short, &main], &self.machine);
        }
        own + load(image(next), &self.machine) + expect_all([&short, &main], &self.machine)
    }

    /// Returns the combination as a filter whose blocks are whole signals.
    pub(super) fn filter(self) -> BlockFilter {
        let hop = self.outputs();
        let LeadInPlan {
            main, many, n, few, ..
        } = &self.parts;
        let filter = BlockFilter {
            title: format!(
                "{many} blocks by {}, behind {few} by overlap-save {n}",
                main.title
            ),
            window: main.lead + hop,
            rows: None,
            hop,
            out: hop,
            apart: hop,
            skip: 0,
            fixed: true,
            deal: 1,
            operations: Vec::new(),
            cycles_per_block: 0,
            program: self.both.clone(),
            ..main.clone()
        };
        filter.with_passes(self)
    }
}

impl FilterPasses for LeadIn {
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        signals: usize,
    ) -> Result<(), JobError> {
        let LeadInPlan {
            main,
            many,
            cover,
            back,
            ..
        } = &self.parts;
        let all = self.outputs();
        let program = job.program("overlap-save", &self.both)?;
        let tables = self.blocks.place(job)?;
        let short = |signal: usize| {
            let at = signal * all + many * main.hop;
            let x = skip_numbers(x, at + main.lead - cover.lead - back);
            self.short([x.address(), skip_numbers(y, at).address()])
        };
        let long = |signal: usize| {
            let [x, y] = [x, y].map(|buffer| skip_numbers(buffer, signal * all).address());
            self.blocks
                .pass(*many, OverlapSaveRingAddresses { x, tables, y })
        };
        // In the last signal the blocks of 4096 take the place of the short blocks' tables.
        let last = signals.saturating_sub(1);
        for signal in 0..last {
            job.ring(&program, "blocks", short(signal))?;
        }
        job.followed(
            &program,
            ["blocks", "start"],
            [short(last), long(last)],
            self.second,
        )?;
        for signal in 0..last {
            job.ring(&program, "start", long(signal))?;
        }
        Ok(())
    }

    fn bytes(&self, _signals: usize) -> u64 {
        FilterPasses::bytes(&*self.blocks, self.parts.many) + image(&self.both)
    }

    fn estimate(&self, signals: usize) -> Option<f64> {
        Some(self.cycles() * signals as f64)
    }

    fn operations(&self, signals: usize) -> Vec<Vec<(Class, u64)>> {
        let numbers = (self.parts.few * self.parts.n) as u64;
        let short = vec![
            (Class::Butterfly, numbers * u64::from(self.parts.n.ilog2())),
            (Class::Madd, numbers / 2),
        ];
        let long = FilterPasses::operations(&*self.blocks, self.parts.many).concat();
        let all = [vec![short; signals], vec![long; signals]];
        all.concat()
    }
}
