//! The rows where full pages of columns go through DMEM in parts and those of rows do not: their program, tables and factors come while
//! the last page of columns computes and the channel has little else to do.

use super::FourStepRealRecipe;
use crate::fft::error::FftError;
use crate::fft::four_step::column_and_row_ring::{BLOCK, RING_BYTES};
use crate::fft::four_step::inverse_real_pages::InverseRealColumnPages;
use crate::fft::four_step::line_batch::LAST;
use crate::fft::four_step::program_prefetch::link_programs;
use crate::job::{data_end, load};
use cp2_asm::Program;
use cp2_host::paging::{QUAD, Ring};
use cp2_machine::Machine;
use std::sync::Arc;

/// Bytes of a half page of columns, a third of their ring.
const HALF: u64 = BLOCK * LAST as u64 / 2;

/// The program of rows behind that of columns, and its buffers.
#[derive(Debug)]
pub(in crate::fft::four_step) struct PrefetchedRows {
    pub program: Arc<Program>,
    pub ring: Ring,
    /// All programs, and from which word and byte of DMEM on that of the rows is.
    pub all: Arc<Program>,
    pub third: [u64; 2],
}

/// Places from one that is free early on, then those before it.
struct DmemAllocator {
    next: u64,
    end: u64,
    /// Where those before end.
    begin: Option<u64>,
}

impl DmemAllocator {
    fn take(&mut self, bytes: u64) -> Option<u32> {
        if self.next + bytes > self.end {
            (self.next, self.end) = (0, self.begin.take()?);
            return self.take(bytes);
        }
        let at = self.next;
        self.next += bytes;
        u32::try_from(at).ok()
    }
}

impl FourStepRealRecipe {
    /// Cycles of factors that stay where these come beside the columns.
    pub(super) fn hidden_factor_cycles(&self, machine: &Machine) -> f64 {
        let beside = self.has_ends() && !self.in_parts(1);
        load(
            u64::from(beside) * self.sections * self.resident_factor_bytes(1),
            machine,
        )
    }

    /// ... of the first page's factors where others do not stay.
    pub(super) fn first_factor_cycles(&self, machine: &Machine) -> f64 {
        let (_, factors) = self.buffer(1);
        load(self.sections * factors, machine)
    }

    /// The rows' kernel behind `both`, those of all columns, with its tables from byte `end` of DMEM on; none where there is no room.
    pub(super) fn tail(
        &self,
        both: &Program,
        end: u64,
        machine: &Machine,
    ) -> Result<Option<PrefetchedRows>, FftError> {
        if !self.has_ends() || self.in_parts(1) {
            return Ok(None);
        }
        let tables = end.next_multiple_of(QUAD);
        let program = self.program(None, Some(&self.rows), tables, machine)?;
        let (all, third) = link_programs(both, &program, tables)?;
        let arguments = data_end(&program).next_multiple_of(QUAD);
        let ends = arguments + Ring::argument_bytes(self.buffers[1]);
        let fits =
            ends <= machine.cp2.dmem.0 && 8 * all.words.len() as u64 <= machine.cp2.program.0;
        // The half of the ring that the last page of columns leaves free, or a little of it.
        let pages =
            InverseRealColumnPages::full(&self.columns, self.rows.len() as u64, self.sections);
        let first = 2 * pages % (RING_BYTES / HALF) * HALF;
        let mut tried = (0..HALF).step_by(QUAD as usize);
        let ring = tried.find_map(|more| self.allocate_row_ring(first + more, tables, arguments));
        Ok(ring.filter(|_| fits).map(|ring| PrefetchedRows {
            program,
            ring,
            all,
            third,
        }))
    }

    /// The rows' buffers before byte `end`, factors from byte `first` on; none where there is no room.
    fn allocate_row_ring(&self, first: u64, end: u64, arguments: u64) -> Option<Ring> {
        let mut places = DmemAllocator {
            next: first,
            end,
            begin: Some(first),
        };
        let (page, factors) = self.buffer(1);
        let count = self.buffers[1];
        let factors: Option<Vec<u32>> = match self.resident {
            true => places
                .take(self.resident_factor_bytes(1))
                .map(|at| vec![at; count]),
            false => (0..count).map(|_| places.take(factors)).collect(),
        };
        let (factors, between) = (factors?, places.take(self.rows.page_bytes())?);
        let pages: Option<Vec<u32>> = (0..count).map(|_| places.take(page)).collect();
        Some(Ring {
            arguments: u32::try_from(arguments).ok()?,
            pages: pages?,
            factors,
            beside: vec![between; count],
            behind: 0,
            ahead: count,
        })
    }
}
