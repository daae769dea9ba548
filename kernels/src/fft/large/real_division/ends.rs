//! The last columns of half spectra where full pages go through DMEM in parts: a pass of their own before these, whose program and
//! first blocks come meanwhile.

use super::Division;
use super::tail::Tail;
use crate::fft::error::FftError;
use crate::fft::large::behind::{ARRAYS, FACTORS, linked, loads};
use crate::fft::large::lines::{COMPLEX, Lines};
use crate::fft::large::parts::RING_BYTES;
use crate::fft::large::real_back::BackColumns;
use crate::fft::program::back_ends_program;
use crate::job::{Job, data_end, image, load};
use cp2_asm::Program;
use cp2_host::paging::{Expected, Ring, RingPass, expect_all, follow};
use cp2_machine::Machine;
use std::sync::Arc;

/// The program of the last columns and of the others, and the buffers of both.
#[derive(Debug)]
pub(in crate::fft::large) struct Ends {
    programs: [Arc<Program>; 2],
    rings: [Ring; 2],
    /// Both programs, and from which word and byte of DMEM on that of the others is.
    both: Arc<Program>,
    second: [u64; 2],
    /// The rows, where their kernel comes while the columns compute.
    tail: Option<Tail>,
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

    /// The last columns, a couple in each section, if another kernel has the others.
    fn last_columns(&self, batch: u64, arrays: [u64; 2], factors: u64) -> Option<BackColumns> {
        let lines = Lines::around(self.columns.len(), 2, 4).filter(|_| self.has_ends())?;
        Some(BackColumns {
            ends: true,
            ..self.back_columns(&lines, batch, arrays, factors)
        })
    }

    /// Where in the ring of the others a page of them, what is between its passes and their tables lie, up to its end: the blocks before
    /// are free, half of the ring with columns of 512.
    fn last_place(lines: &Lines) -> [u64; 3] {
        let tables = RING_BYTES.saturating_sub(BackColumns::end_tables(lines));
        let between = tables.saturating_sub(lines.page_bytes());
        let page = between.saturating_sub(BackColumns::page_bytes(lines));
        [page, between, tables]
    }

    /// A buffer for a page of them; argument block and factors behind byte `end` of DMEM.
    fn last_ring(columns: &BackColumns, end: u64) -> Ring {
        let [page, beside, _] = Self::last_place(&columns.lines);
        // Factors lie where a page ends that begins with this one and ends behind the arguments.
        let ring = Ring::new(end, page, 1, end + Ring::argument_bytes(1) - page, 0);
        ring.staying().beside(beside)
    }

    /// The kernel of the last columns before `program`, that of the others, whose buffers are `ring`; none where there is no room.
    pub(super) fn ends(
        &self,
        program: &Arc<Program>,
        ring: &Ring,
        machine: &Machine,
    ) -> Result<Option<Ends>, FftError> {
        let Some(columns) = self.last_columns(1, [0; 2], 0) else {
            return Ok(None);
        };
        let lines = &columns.lines;
        let [_, between, tables] = Self::last_place(lines);
        let first = back_ends_program(tables, lines, self.rows.per_section(), machine)?.program;
        let mine = Self::last_ring(&columns, ring.end([0; 3]));
        let end = u64::from(mine.factors[0]) + lines.per_section() as u64 * COMPLEX;
        let (both, second) = linked(&first, program, RING_BYTES)?;
        let words = 8 * both.words.len() as u64;
        let apart = data_end(&first) <= RING_BYTES && between >= BackColumns::page_bytes(lines);
        let fits = apart && end <= machine.cp2.dmem.0;
        let tail = self.tail(&both, end, machine)?;
        Ok((fits && words <= machine.cp2.program.0).then(|| Ends {
            tail,
            programs: [Arc::new(first), program.clone()],
            rings: [mine, ring.clone()],
            both,
            second,
        }))
    }

    /// What they should take by themselves, without the load of the program.
    pub(super) fn ends_expected(&self, machine: &Machine, batch: u64) -> Expected {
        let columns = self.last_columns(batch, [0; 2], 0);
        columns.map_or(Expected::default(), |columns| {
            let ring = Self::last_ring(&columns, RING_BYTES);
            RingPass::new(ring, columns).expect(machine)
        })
    }
}

impl Ends {
    /// Bytes of the program.
    pub(in crate::fft::large) fn image(&self) -> u64 {
        image(&self.programs[0])
    }

    /// The pass of the last columns of `batch` half spectra, if there are any.
    fn pass(
        &self,
        division: &Division,
        batch: u64,
        arrays: [u64; 2],
        factors: u64,
    ) -> Option<RingPass> {
        let columns = division.last_columns(batch, arrays, factors)?;
        let pass = RingPass::new(self.rings[0].clone(), columns);
        Some(pass.by(&self.programs[0], "ends").at_once())
    }

    /// What all columns and `rows` should take, their programs among it.
    pub(in crate::fft::large) fn expect(
        &self,
        (division, rows, rows_ring): (&Division, &Arc<Program>, &Ring),
        machine: &Machine,
        batch: u64,
    ) -> Expected {
        let apart = {
            let image = load(image(rows), machine);
            let image = Expected {
                cycles: image,
                least: image,
            };
            let rings = [self.rings[1].clone(), rows_ring.clone()];
            let [_, last] = division.passes(rings, batch, ARRAYS, FACTORS);
            last.by(rows, "rows").expect(machine).and(image)
        };
        let ring = |tail: &Tail| tail.ring.clone();
        let last = self
            .tail
            .as_ref()
            .map_or_else(|| self.rings[1].clone(), ring);
        let rings = [self.rings[1].clone(), last];
        let [next, last] = division.passes(rings, batch, ARRAYS, FACTORS);
        let mut next = next.by(&self.programs[1], "columns");
        let mut last = match &self.tail {
            Some(tail) => last.by(&tail.program, "rows"),
            None => last,
        };
        let Some(mut first) = self.pass(division, batch, [ARRAYS[0], ARRAYS[1]], FACTORS[0]) else {
            return next.expect(machine).and(apart);
        };
        let own = load(image(&self.programs[0]), machine);
        let least = [&first, &next].map(|pass| pass.expect(machine).least);
        let second = match follow(&mut first, &mut next, &loads(&self.programs[1]), machine) {
            true => 0.0,
            false => load(image(&self.programs[1]), machine),
        };
        // The last columns compute while the first blocks come.
        let least = own + (least[0] - first.early(machine)).max(0.0) + least[1];
        let columns = own + second;
        let meanwhile = self.tail.as_ref().filter(|tail| {
            let rows = loads(&tail.program);
            follow(&mut next, &mut last, &rows, machine)
        });
        match meanwhile {
            Some(_) => Expected {
                cycles: columns + expect_all([&first, &next, &last], machine),
                least: least + last.expect(machine).least - division.ahead(machine),
            },
            None => Expected {
                cycles: columns + expect_all([&first, &next], machine) + apart.cycles,
                least: least + apart.least,
            },
        }
    }

    /// Adds all passes of `batch` half spectra between `arrays` with `factors`; `rows` is the program of rows by themselves, whose
    /// buffers are `ring`.
    pub(in crate::fft::large) fn give(
        &self,
        job: &mut Job,
        (division, rows, ring): (&Division, &Arc<Program>, &Ring),
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
