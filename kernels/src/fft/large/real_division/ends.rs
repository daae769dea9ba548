//! The last columns of half spectra where full pages go through DMEM in parts: a pass of its own before these.

use super::Division;
use crate::fft::error::FftError;
use crate::fft::large::lines::{COMPLEX, Lines};
use crate::fft::large::real_back::BackColumns;
use crate::fft::program::back_ends_program;
use crate::job::{Job, data_end, image};
use crate::ring::{Expected, Ring, RingPass};
use cp2_asm::Program;
use cp2_machine::Machine;
use std::sync::Arc;

/// Page buffers of two columns.
const BUFFERS: usize = 2;

/// The program of the last columns, and its buffers.
#[derive(Debug)]
pub(in crate::fft::large) struct Ends {
    program: Arc<Program>,
    ring: Ring,
}

impl Division {
    /// The columns of `batch` half spectra at `x`.
    pub(super) fn back_columns(
        &self,
        lines: &Lines,
        batch: u64,
        [x, between]: [u64; 2],
        factors: u64,
    ) -> BackColumns {
        BackColumns {
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

    /// The last columns, a couple in each section, through buffers behind byte `end` of DMEM, if another kernel has the others.
    fn last_columns(
        &self,
        end: u64,
        batch: u64,
        arrays: [u64; 2],
        factors: u64,
    ) -> Option<(Ring, BackColumns)> {
        let lines = Lines::around(self.columns.len(), 2, 4).filter(|_| self.in_parts(0))?;
        let end = end.next_multiple_of(16);
        let beside = end + Ring::argument_bytes(BUFFERS);
        let page = BackColumns::page_bytes(&lines);
        let each = lines.per_section() as u64 * COMPLEX;
        let ring = Ring::new(end, beside + lines.page_bytes(), BUFFERS, page, each);
        let columns = BackColumns {
            ends: true,
            ..self.back_columns(&lines, batch, arrays, factors)
        };
        Some((ring.staying().beside(beside), columns))
    }

    /// The kernel of the last columns where they need one.
    pub(super) fn ends(&self, machine: &Machine) -> Result<Option<Ends>, FftError> {
        let Some((_, columns)) = self.last_columns(0, 1, [0; 2], 0) else {
            return Ok(None);
        };
        let program = back_ends_program(&columns.lines, self.rows.per_section(), machine)?.program;
        let placed = self.last_columns(data_end(&program), 1, [0; 2], 0);
        Ok(placed.map(|(ring, _)| Ends {
            program: Arc::new(program),
            ring,
        }))
    }

    /// What they should take, without the load of the program.
    pub(super) fn ends_expected(&self, machine: &Machine, batch: u64) -> Expected {
        let pass = self.last_columns(0, batch, [0; 2], 0);
        pass.map_or(Expected::default(), |(ring, columns)| {
            RingPass::new(ring, columns).expect(machine)
        })
    }
}

impl Ends {
    /// Bytes of the program.
    pub(in crate::fft::large) fn image(&self) -> u64 {
        image(&self.program)
    }

    /// Adds the pass of the last columns of `batch` half spectra.
    pub(in crate::fft::large) fn give(
        &self,
        job: &mut Job,
        division: &Division,
        batch: u64,
        arrays: [u64; 2],
        factors: u64,
    ) -> Result<(), FftError> {
        let Some((_, columns)) = division.last_columns(0, batch, arrays, factors) else {
            return Ok(());
        };
        let program = job.program(&format!("{division}: last columns"), &self.program)?;
        let pass = RingPass::new(self.ring.clone(), columns);
        Ok(job.ring(&program, "columns", pass)?)
    }
}
