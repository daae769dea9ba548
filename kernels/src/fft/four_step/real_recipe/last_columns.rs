//! The pass of the last half-spectrum columns, before columns in eighths.
//!
//! The program and the first blocks of the other columns are loaded while the last columns compute.

use super::FourStepRealRecipe;
use super::row_prefetch::PrefetchedRows;
use crate::fft::error::FftError;
use crate::fft::four_step::column_and_row_ring::RING_BYTES;
use crate::fft::four_step::inverse_real_pages::InverseRealColumnPages;
use crate::fft::four_step::line_batch::{COMPLEX, LineBatch};
use crate::fft::four_step::program_prefetch::{ARRAYS, FACTORS, link_programs, loads};
use crate::fft::program::back_ends_program;
use crate::job::{Job, data_end, image, load};
use cp2_asm::Program;
use cp2_host::paging::{PassEstimate, Ring, RingPass, expect_all, overlap_pair};
use cp2_machine::Machine;
use std::sync::Arc;

/// Programs and buffers of the last columns and of the other columns.
#[derive(Debug)]
pub(in crate::fft::four_step) struct LastColumns {
    programs: [Arc<Program>; 2],
    rings: [Ring; 2],
    /// Linked program of both.
    both: Arc<Program>,
    /// First word of the other columns' program, and DMEM address of its tables.
    second: [u64; 2],
    /// Rows whose kernel is prefetched while the columns compute, where there is room.
    tail: Option<PrefetchedRows>,
}

impl FourStepRealRecipe {
    /// Makes the pages of the columns of `batch` half spectra at `x`.
    pub(super) fn make_inverse_columns(
        &self,
        lines: &LineBatch,
        batch: u64,
        [x, between]: [u64; 2],
        factors: u64,
    ) -> InverseRealColumnPages {
        InverseRealColumnPages {
            lines: lines.clone(),
            matrices: batch,
            blocks: self.blocks(),
            from: x,
            pitch: self.pitch() * COMPLEX,
            to: between,
            factors,
            ends: false,
        }
    }

    /// Makes the pages of the last columns, a pair in each section; none unless another kernel has the other
    /// columns.
    fn last_columns(
        &self,
        batch: u64,
        arrays: [u64; 2],
        factors: u64,
    ) -> Option<InverseRealColumnPages> {
        let lines =
            LineBatch::new_radix8_first(self.columns.len(), 2, 4).filter(|_| self.has_ends())?;
        Some(InverseRealColumnPages {
            ends: true,
            ..self.make_inverse_columns(&lines, batch, arrays, factors)
        })
    }

    /// Returns the DMEM addresses of a page of the last columns, of the numbers between its passes, and of
    /// their tables. All lie at the end of the other columns' ring, whose blocks before are free: half of the
    /// ring with columns of 512.
    fn last_place(lines: &LineBatch) -> [u64; 3] {
        let tables = RING_BYTES.saturating_sub(InverseRealColumnPages::end_tables(lines));
        let between = tables.saturating_sub(lines.page_bytes());
        let page = between.saturating_sub(InverseRealColumnPages::page_bytes(lines));
        [page, between, tables]
    }

    /// Makes the buffer for a page of the last columns; argument block and factors lie behind byte `end` of
    /// DMEM.
    fn last_ring(columns: &InverseRealColumnPages, end: u64) -> Ring {
        let [page, beside, _] = Self::last_place(&columns.lines);
        // The ring puts factors where a page ends; this page size makes that the end of the argument block.
        let ring = Ring::new(end, page, 1, end + Ring::argument_bytes(1) - page, 0);
        ring.store_in_place().with_extra_address(beside)
    }

    /// Links the kernel of the last columns with `program`, that of the other columns, whose buffers are
    /// `ring`; none where there is no room.
    pub(super) fn ends(
        &self,
        program: &Arc<Program>,
        ring: &Ring,
        machine: &Machine,
    ) -> Result<Option<LastColumns>, FftError> {
        let Some(columns) = self.last_columns(1, [0; 2], 0) else {
            return Ok(None);
        };
        let lines = &columns.lines;
        let [_, between, tables] = Self::last_place(lines);
        let first = back_ends_program(tables, lines, self.rows.per_section(), machine)?.program;
        let mine = Self::last_ring(&columns, ring.end([0; 3]));
        let end = u64::from(mine.factors[0]) + lines.per_section() as u64 * COMPLEX;
        let (both, second) = link_programs(&first, program, RING_BYTES)?;
        let words = 8 * both.words.len() as u64;
        let apart =
            data_end(&first) <= RING_BYTES && between >= InverseRealColumnPages::page_bytes(lines);
        let fits = apart && end <= machine.cp2.dmem.0;
        let tail = self.tail(&both, end, machine)?;
        Ok(
            (fits && words <= machine.cp2.program.0).then(|| LastColumns {
                tail,
                programs: [Arc::new(first), program.clone()],
                rings: [mine, ring.clone()],
                both,
                second,
            }),
        )
    }

    /// Prices the pass of the last columns by itself, without the load of the program.
    pub(super) fn ends_expected(&self, machine: &Machine, batch: u64) -> PassEstimate {
        let columns = self.last_columns(batch, [0; 2], 0);
        columns.map_or(PassEstimate::default(), |columns| {
            let ring = Self::last_ring(&columns, RING_BYTES);
            RingPass::new(ring, columns).expect(machine)
        })
    }
}

impl LastColumns {
    /// Returns the bytes of the last columns' program.
    pub(in crate::fft::four_step) fn image(&self) -> u64 {
        image(&self.programs[0])
    }

    /// Describes the pass of the last columns of `batch` half spectra, if there are any.
    fn pass(
        &self,
        division: &FourStepRealRecipe,
        batch: u64,
        arrays: [u64; 2],
        factors: u64,
    ) -> Option<RingPass> {
        let columns = division.last_columns(batch, arrays, factors)?;
        let pass = RingPass::new(self.rings[0].clone(), columns);
        Some(
            pass.price_by_kernel(&self.programs[0], "ends")
                .load_immediately(),
        )
    }

    /// Prices the passes of all columns and of `rows`, with the loads of their programs.
    pub(in crate::fft::four_step) fn expect(
        &self,
        (division, rows, rows_ring): (&FourStepRealRecipe, &Arc<Program>, &Ring),
        machine: &Machine,
        batch: u64,
    ) -> PassEstimate {
        let apart = {
            let image = load(image(rows), machine);
            let image = PassEstimate {
                cycles: image,
                least: image,
            };
            let rings = [self.rings[1].clone(), rows_ring.clone()];
            let [_, last] = division.passes(rings, batch, ARRAYS, FACTORS);
            last.price_by_kernel(rows, "rows")
                .expect(machine)
                .and(image)
        };
        let ring = |tail: &PrefetchedRows| tail.ring.clone();
        let last = self
            .tail
            .as_ref()
            .map_or_else(|| self.rings[1].clone(), ring);
        let rings = [self.rings[1].clone(), last];
        let [next, last] = division.passes(rings, batch, ARRAYS, FACTORS);
        let mut next = next.price_by_kernel(&self.programs[1], "columns");
        let mut last = match &self.tail {
            Some(tail) => last.price_by_kernel(&tail.program, "rows"),
            None => last,
        };
        let Some(mut first) = self.pass(division, batch, [ARRAYS[0], ARRAYS[1]], FACTORS[0]) else {
            return next.expect(machine).and(apart);
        };
        let own = load(image(&self.programs[0]), machine);
        let least = [&first, &next].map(|pass| pass.expect(machine).least);
        let second = match overlap_pair(&mut first, &mut next, &loads(&self.programs[1]), machine) {
            true => 0.0,
            false => load(image(&self.programs[1]), machine),
        };
        // The last columns compute while the first blocks of the others come.
        let least = own + (least[0] - first.price_early_pages(machine)).max(0.0) + least[1];
        let columns = own + second;
        let meanwhile = self.tail.as_ref().filter(|tail| {
            let rows = loads(&tail.program);
            overlap_pair(&mut next, &mut last, &rows, machine)
        });
        match meanwhile {
            Some(_) => PassEstimate {
                cycles: columns + expect_all([&first, &next, &last], machine),
                least: least + last.expect(machine).least - division.first_factor_cycles(machine),
            },
            None => PassEstimate {
                cycles: columns + expect_all([&first, &next], machine) + apart.cycles,
                least: least + apart.least,
            },
        }
    }

    /// Adds all passes of `batch` half spectra through `arrays` with `factors` to a job; `rows` is the
    /// program of rows without prefetch, whose buffers are `ring`.
    pub(in crate::fft::four_step) fn add_passes(
        &self,
        job: &mut Job,
        (division, rows, ring): (&FourStepRealRecipe, &Arc<Program>, &Ring),
        (batch, arrays, factors): (u64, [u64; 3], [u64; 2]),
    ) -> Result<(), FftError> {
        let name = division.to_string();
        let passes = |last: &Ring| {
            let rings = [self.rings[1].clone(), last.clone()];
            division.passes(rings, batch, arrays, factors)
        };
        let own = [arrays[0], arrays[1]];
        let ends = self.pass(division, batch, own, factors[0]);
        if let (Some(tail), Some(ends)) = (&self.tail, ends) {
            let program = job.program(&name, &tail.all)?;
            let [columns, last] = passes(&tail.ring);
            let each = [("ends", ends), ("columns", columns), ("rows", last)];
            return Ok(job.in_turn(&program, each, [self.second, tail.third])?);
        }
        let [columns, last] = passes(ring);
        let program = job.program(&name, &self.both)?;
        match self.pass(division, batch, own, factors[0]) {
            Some(ends) => {
                job.followed(&program, ["ends", "columns"], [ends, columns], self.second)?
            }
            None => job.ring(&program, "columns", columns)?,
        }
        let program = job.program(&name, rows)?;
        Ok(job.ring(&program, "rows", last)?)
    }
}
