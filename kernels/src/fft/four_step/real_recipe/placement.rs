//! Assembles the programs of both passes and places their buffers in DMEM.

use super::{FourStepRealRecipe, LastColumns};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::four_step::complex::unless_large;
use crate::fft::four_step::inverse_real_pages::InverseRealColumnPages;
use crate::fft::four_step::line_batch::LineBatch;
use crate::fft::four_step::program_prefetch::PrefetchedPasses;
use crate::fft::program::{
    back_columns_program, back_parts_program, back_program, real_parts_program, real_program,
    separated_parts_program,
};
use crate::job::data_end;
use cp2_asm::Program;
use cp2_host::paging::Ring;
use cp2_machine::Machine;
use std::sync::Arc;

/// Programs of columns and rows, their buffers, and the last columns where these have a pass of their own.
pub(in crate::fft::four_step) type PlacedPrograms =
    ([Arc<Program>; 2], [Ring; 2], Option<LastColumns>);

impl FourStepRealRecipe {
    /// Assembles the program of columns, rows or both, with its tables from byte `tables` of DMEM on.
    pub(super) fn program(
        &self,
        columns: Option<&LineBatch>,
        rows: Option<&LineBatch>,
        tables: u64,
        machine: &Machine,
    ) -> Result<Arc<Program>, FftError> {
        let assembly = match self.direction {
            TransformDirection::Forward => {
                let pages = [self.half_rows().full(), self.last as u64];
                real_program(tables, columns, rows, pages, self.resident, machine)?
            }
            TransformDirection::Inverse => {
                let (block, together) = (self.rows.per_section(), self.is_in_parts(1));
                let pages = (block, self.blocks().pages(), together);
                back_program(tables, columns, rows, pages, self.resident, machine)?
            }
        };
        Ok(Arc::new(assembly.program))
    }

    /// Assembles the programs of columns and rows and places the buffers behind their tables. There is one
    /// program for both passes, or two where its tables leave too little room; none if the buffers do not
    /// fit.
    pub(in crate::fft::four_step) fn place(
        &self,
        machine: &Machine,
    ) -> Result<Option<PlacedPrograms>, FftError> {
        let program = |columns, rows| self.program(columns, rows, 0, machine);
        let (columns, rows) = (Some(&self.columns), Some(&self.rows));
        let rings = |programs: &[Arc<Program>; 2]| {
            let ends = [data_end(&programs[0]), data_end(&programs[1])];
            self.rings(ends, machine.cp2.dmem.0)
        };
        let two = if self.is_in_parts(0) || self.is_in_parts(1) {
            let columns = match self.is_in_parts(0) {
                true => Arc::new(self.columns_in_parts(machine)?),
                false => program(columns, None)?,
            };
            let rows = match (self.is_in_parts(1), self.direction) {
                (true, TransformDirection::Forward) => {
                    let full = self.half_rows().full();
                    Arc::new(real_parts_program(&self.rows, full, machine)?.program)
                }
                (true, TransformDirection::Inverse) => {
                    Arc::new(back_parts_program(&self.rows, machine)?.program)
                }
                (false, _) => program(None, rows)?,
            };
            [columns, rows]
        } else {
            let both = unless_large(program(columns, rows), &mut None)?;
            if let Some(one) = both.map(|both| [both.clone(), both])
                && let Some(rings) = rings(&one)
            {
                return Ok(Some((one, rings, None)));
            }
            [program(columns, None)?, program(None, rows)?]
        };
        let Some(rings) = rings(&two) else {
            return Ok(None);
        };
        let ends = self.ends(&two[0], &rings[0], machine)?;
        let lacks = self.has_ends() && ends.is_none();
        Ok((!lacks).then_some((two, rings, ends)))
    }

    fn columns_in_parts(&self, machine: &Machine) -> Result<Program, FftError> {
        if self.direction == TransformDirection::Forward {
            return Ok(separated_parts_program(&self.columns, machine)?.program);
        }
        let pages =
            InverseRealColumnPages::full(&self.columns, self.rows.len() as u64, self.sections);
        Ok(back_columns_program(&self.columns, pages, machine)?.program)
    }

    /// True if DMEM may have room for the pages of both passes at once.
    pub(in crate::fft::four_step) fn is_roomy(&self, machine: &Machine) -> bool {
        let rings = |ends| self.rings(ends, machine.cp2.dmem.0);
        let passes = |rings, arrays, factors| self.passes(rings, 1, arrays, factors);
        !self.is_in_parts(0)
            && !self.is_in_parts(1)
            && PrefetchedPasses::may_fit(rings, passes, machine)
    }

    /// Plans the prefetch of the second kernel while the first runs; none where DMEM has no room for both.
    pub(in crate::fft::four_step) fn plan_prefetch(
        &self,
        machine: &Machine,
    ) -> Result<Option<PrefetchedPasses>, FftError> {
        if self.is_in_parts(0) || self.is_in_parts(1) {
            return Ok(None);
        }
        let program = |pass, tables| match pass {
            0 => self.program(Some(&self.columns), None, tables, machine),
            _ => self.program(None, Some(&self.rows), tables, machine),
        };
        let rings = |ends| self.rings(ends, machine.cp2.dmem.0);
        let passes = |rings, arrays, factors| self.passes(rings, 1, arrays, factors);
        PrefetchedPasses::new(program, rings, passes, machine)
    }
}
