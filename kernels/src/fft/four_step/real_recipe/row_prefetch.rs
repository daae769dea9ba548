//! Prefetch of the row kernel while the last page of columns computes.
//!
//! Columns go through DMEM in parts, rows in whole pages. Program, tables and factors of the rows are loaded
//! while the last page of columns computes and the channel has little else to do.

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

/// Bytes of half a page of columns, a third of their ring.
const HALF: u64 = BLOCK * LAST as u64 / 2;

/// The program of rows, linked behind that of columns, and its buffers.
#[derive(Debug)]
pub(in crate::fft::four_step) struct PrefetchedRows {
    pub program: Arc<Program>,
    pub ring: Ring,
    /// Linked program of all passes.
    pub all: Arc<Program>,
    /// First word of the rows' program, and DMEM address of its tables.
    pub third: [u64; 2],
}

/// Allocates DMEM from a byte that is free early up to an end, then from 0 up to that byte.
struct DmemAllocator {
    next: u64,
    end: u64,
    /// End of the second range, until it is in use.
    begin: Option<u64>,
}

impl DmemAllocator {
    fn allocate(&mut self, bytes: u64) -> Option<u32> {
        if self.next + bytes > self.end {
            (self.next, self.end) = (0, self.begin.take()?);
            return self.allocate(bytes);
        }
        let at = self.next;
        self.next += bytes;
        u32::try_from(at).ok()
    }
}

impl FourStepRealRecipe {
    /// Returns the cycles of loading resident factors, where they come while columns compute.
    pub(super) fn hidden_factor_cycles(&self, machine: &Machine) -> f64 {
        let beside = self.has_ends() && !self.is_in_parts(1);
        load(
            u64::from(beside) * self.sections * self.resident_factor_bytes(1),
            machine,
        )
    }

    /// Returns the cycles of loading the first page's factors, where factors are not resident.
    pub(super) fn first_factor_cycles(&self, machine: &Machine) -> f64 {
        let (_, factors) = self.buffer(1);
        load(self.sections * factors, machine)
    }

    /// Links the rows' kernel behind `both`, the kernels of all columns, with its tables from byte `end` of
    /// DMEM on; none where there is no room.
    pub(super) fn tail(
        &self,
        both: &Program,
        end: u64,
        machine: &Machine,
    ) -> Result<Option<PrefetchedRows>, FftError> {
        if !self.has_ends() || self.is_in_parts(1) {
            return Ok(None);
        }
        let tables = end.next_multiple_of(QUAD);
        let program = self.program(None, Some(&self.rows), tables, machine)?;
        let (all, third) = link_programs(both, &program, tables)?;
        let arguments = data_end(&program).next_multiple_of(QUAD);
        let ends = arguments + Ring::argument_bytes(self.buffers[1]);
        let fits =
            ends <= machine.cp2.dmem.0 && 8 * all.words.len() as u64 <= machine.cp2.program.0;
        // The rows' buffers begin in the part of the ring that the last page of columns leaves free.
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

    /// Allocates the rows' buffers before byte `end`, with factors from byte `first` on; none where there is
    /// no room.
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
                .allocate(self.resident_factor_bytes(1))
                .map(|at| vec![at; count]),
            false => (0..count).map(|_| places.allocate(factors)).collect(),
        };
        let (factors, between) = (factors?, places.allocate(self.rows.page_bytes())?);
        let pages: Option<Vec<u32>> = (0..count).map(|_| places.allocate(page)).collect();
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
