//! One pass along two axes before the last, in place.

use super::divided_axis::{DividedAxisPages, DividedAxisShape, column_options};
use super::divided_axis_planner::PassOption;
use crate::assembly::moves;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::job::{Job, image, load};
use cp2_host::paging::{PassEstimate, RingPass, deals_quads};
use cp2_machine::Machine;

/// Pass of columns along two consecutive axes, in place; the rows are transformed alone before it.
#[derive(Clone, Debug)]
pub(super) struct TwoAxisPass {
    /// Shape of both axes, neither divided, with all numbers behind them as rows.
    arrays: DividedAxisShape,
    /// Number of such arrays in a whole array.
    matrices: u64,
    sections: u64,
    /// Options of the pass: the fastest of them depends on the batch.
    visits: Vec<PassOption>,
}

impl TwoAxisPass {
    /// Plans the pass along axes of `first` and `second` numbers of `matrices` arrays with `width` columns;
    /// none if nothing fits.
    pub(super) fn new(
        [first, second]: [usize; 2],
        (matrices, width): (u64, u64),
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Option<Self>, FftError> {
        let numbers = (first * second) as u64;
        if !deals_quads(machine) || numbers.saturating_mul(width) > u64::from(u32::MAX) {
            return Ok(None);
        }
        let visits = column_options([first, second], width, direction, machine)?;
        let mut pair = Self {
            arrays: DividedAxisShape {
                divided: first as u64,
                joined: second as u64,
                width,
                outer: false,
                parts: 1,
            },
            matrices,
            sections: machine.cp2.sections as u64,
            visits: Vec::new(),
        };
        let moved = |visit: &PassOption| moves(&pair.name(), &pair.pass(visit, 1, [0; 3]), machine);
        let visits = visits.into_iter().filter(|visit| moved(visit).is_ok());
        pair.visits = visits.collect();
        Ok((!pair.visits.is_empty()).then_some(pair))
    }

    fn pass(&self, visit: &PassOption, batch: u64, [from, to, factors]: [u64; 3]) -> RingPass {
        let all = (batch.saturating_mul(self.matrices), 0);
        if let Some(pages) =
            self.arrays
                .make_part_pages((&visit.lines, self.sections), all, [from, to])
        {
            return RingPass::new(visit.ring.clone(), pages)
                .price_by_kernel(&visit.program, "columns");
        }
        let pages = DividedAxisPages {
            arrays: self.arrays,
            lines: visit.lines.clone(),
            sections: self.sections,
            batch: batch.saturating_mul(self.matrices),
            from,
            to,
            factors,
            buffers: visit.ring.pages.len() as u64,
        };
        RingPass::new(visit.ring.clone(), pages).price_by_kernel(&visit.program, "columns")
    }

    /// Returns the fastest option for a batch, and its price with the program's load.
    fn fastest(&self, machine: &Machine, batch: u64) -> Option<(&PassOption, PassEstimate)> {
        let priced = self.visits.iter().map(|visit| {
            let load = load(image(&visit.program), machine);
            let pass = self.pass(visit, batch, [0; 3]).expect(machine);
            let loaded = PassEstimate {
                cycles: load,
                least: load,
            };
            (visit, pass.and(loaded))
        });
        priced.min_by(|a, b| a.1.cycles.total_cmp(&b.1.cycles))
    }

    /// Prices the pass, the load of its program included.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> Option<PassEstimate> {
        self.fastest(machine, batch).map(|(_, expected)| expected)
    }

    /// Returns a lower bound of the pass's cycles, the load of its program included.
    pub(super) fn floor(&self, machine: &Machine, batch: u64) -> f64 {
        let floors = self.visits.iter().map(|visit| {
            let pass = self.pass(visit, batch, [0; 3]);
            load(image(&visit.program), machine) + pass.floor(machine, false).cycles()
        });
        floors.fold(f64::INFINITY, f64::min)
    }

    /// Returns the bytes of the largest program with its tables and factors.
    pub(super) fn image(&self) -> u64 {
        let all = self.visits.iter();
        let bytes = all.map(|visit| image(&visit.program) + visit.lines.column_factor_bytes());
        bytes.max().unwrap_or(0)
    }

    /// Returns the name of the pass on a timeline and in a recipe.
    pub(super) fn name(&self) -> String {
        format!(
            "columns of {} x {}",
            self.arrays.divided, self.arrays.joined
        )
    }

    /// Adds the pass over `batch` arrays to a job.
    pub(super) fn add(&self, job: &mut Job, batch: u64, address: u64) -> Result<(), FftError> {
        let machine = job.machine().clone();
        let Some((visit, _)) = self.fastest(&machine, batch) else {
            return Ok(());
        };
        let factors = match visit.lines.is_in_parts() {
            true => 0,
            false => job.table(&visit.lines.column_factors(0, 1))?.address(),
        };
        let program = job.program(&self.name(), &visit.program)?;
        let pass = self.pass(visit, batch, [address, address, factors]);
        Ok(job.ring(&program, "columns", pass)?)
    }
}
