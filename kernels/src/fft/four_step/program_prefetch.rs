//! Two passes, the second kernel's program loaded during the first.
//!
//! The tables and pages of the second pass lie behind those of the first in DMEM.

use crate::fft::error::FftError;
pub(super) use crate::job::loads;
use crate::job::{Job, data_end, image, load};
use cp2_asm::Program;
use cp2_asm::isa::{Kind, Op};
use cp2_host::paging::{PassEstimate, Ring, RingPass, expect_all, overlap_pair};
use cp2_machine::Machine;
use std::sync::Arc;

/// Words of a granule.
const WORDS: usize = 2;

/// Returns the greatest DMEM address that `movi` can load, and so the greatest address of tables.
fn max_immediate_address() -> u64 {
    let values = Op::Movi.row().form.operands().iter();
    let values = values.filter(|operand| matches!(operand.kind, Kind::Imm { .. }));
    let bits = values.map(|operand| operand.field.bits).max();
    // One bit is the sign.
    (1 << bits.map_or(0, |bits| bits.saturating_sub(1))) - 1
}

/// Returns the DMEM address of the second pass's tables and the price of both passes. `passes` makes both
/// with the buffers of the second so many bytes further in DMEM. None where program memory or DMEM has no
/// room for both.
pub(super) fn price_prefetch(
    passes: impl Fn(u64) -> [RingPass; 2],
    [(first, entry), (second, next_entry)]: [(&Arc<Program>, &str); 2],
    machine: &Machine,
) -> Option<(u64, PassEstimate)> {
    let programs = first.words.len() + WORDS + second.words.len();
    if 8 * programs as u64 > machine.cp2.program.0 {
        return None;
    }
    let [before, next] = passes(0);
    let tables = before.end()?;
    if tables + data_end(second) > max_immediate_address()
        || tables + next.end()? > machine.cp2.dmem.0
    {
        return None;
    }
    let [before, next] = passes(tables);
    let mut before = before.price_by_kernel(first, entry);
    let mut next = next.price_by_kernel(second, next_entry);
    if !overlap_pair(&mut before, &mut next, &loads(second), machine) {
        return None;
    }
    let own = load(image(first), machine);
    let least = [&before, &next].map(|pass| pass.expect(machine).least);
    let expected = PassEstimate {
        cycles: own + expect_all([&before, &next], machine),
        least: own + least[0] + least[1] - before.price_early_pages(machine),
    };
    Some((tables, expected))
}

/// Links both programs into one; `second` has been assembled with its tables at `tables`. Returns also the
/// first word of the second program and the DMEM address of its tables.
pub(super) fn link_programs(
    first: &Program,
    second: &Program,
    tables: u64,
) -> Result<(Arc<Program>, [u64; 2]), FftError> {
    let both = first.linked(second, WORDS)?;
    let origin = both.words.len() - second.words.len();
    Ok((Arc::new(both), [origin as u64, tables]))
}

/// Columns and rows by two kernels of one linked program; the second's words and tables are loaded while the
/// first runs.
#[derive(Debug)]
pub(super) struct PrefetchedPasses {
    /// Program of each pass alone.
    programs: [Arc<Program>; 2],
    /// Buffers of each pass, with the second's where they lie without prefetch.
    rings: [Ring; 2],
    /// Linked program of both passes.
    pub both: Arc<Program>,
    /// First word of the second program, and DMEM address of its tables.
    second: [u64; 2],
}

/// System addresses for pricing: the passes share only the array between them.
pub(super) const ARRAYS: [u64; 3] = [0, 1 << 40, 1 << 41];
/// System addresses of both passes' factors for pricing.
pub(super) const FACTORS: [u64; 2] = [1 << 42, 1 << 43];

impl PrefetchedPasses {
    /// True if DMEM had room for the buffers of both passes, were there no tables.
    pub(super) fn may_fit(
        rings: impl Fn([u64; 2]) -> Option<[Ring; 2]>,
        passes: impl Fn([Ring; 2], [u64; 3], [u64; 2]) -> [RingPass; 2],
        machine: &Machine,
    ) -> bool {
        let passes = rings([0; 2]).map(|rings| passes(rings, ARRAYS, FACTORS));
        let ends = passes.map(|both| both.map(|pass| pass.end()));
        matches!(ends, Some([Some(a), Some(b)]) if a + b <= machine.cp2.dmem.0)
    }

    /// Plans the prefetch; none where DMEM has no room for both passes, or descriptors are expensive to
    /// issue. `program` makes the program of pass 0 or 1 with its tables at a DMEM address, `rings` the
    /// buffers of both passes behind tables that end at given addresses, and `passes` both passes of one
    /// transform from buffers, arrays and factors.
    pub(super) fn new(
        program: impl Fn(usize, u64) -> Result<Arc<Program>, FftError>,
        rings: impl Fn([u64; 2]) -> Option<[Ring; 2]>,
        passes: impl Fn([Ring; 2], [u64; 3], [u64; 2]) -> [RingPass; 2],
        machine: &Machine,
    ) -> Result<Option<Self>, FftError> {
        // The additional transfers cost more than they save where the control CPU takes longer to issue one
        // than the channel to begin it.
        let dear = machine.host.descriptor > machine.dma.setup_idle;
        if dear || !Self::may_fit(&rings, &passes, machine) {
            return Ok(None);
        }
        let passes = |rings| passes(rings, ARRAYS, FACTORS);
        let programs = [program(0, 0)?, program(1, 0)?];
        let Some(rings) = rings([data_end(&programs[0]), data_end(&programs[1])]) else {
            return Ok(None);
        };
        let moved = |behind| passes(offset_second_ring(&rings, behind));
        let Some((tables, _)) = price_prefetch(moved, entries(&programs), machine) else {
            return Ok(None);
        };
        let (both, second) = link_programs(&programs[0], &*program(1, tables)?, tables)?;
        Ok(Some(Self {
            programs,
            rings,
            both,
            second,
        }))
    }

    /// Prices passes through these buffers.
    pub(super) fn expect(
        &self,
        passes: impl Fn([Ring; 2], [u64; 3], [u64; 2]) -> [RingPass; 2],
        machine: &Machine,
    ) -> Option<PassEstimate> {
        let moved = |behind| passes(offset_second_ring(&self.rings, behind), ARRAYS, FACTORS);
        let priced = price_prefetch(moved, entries(&self.programs), machine);
        priced.map(|(_, expected)| expected)
    }

    /// Returns the buffers of both passes.
    pub(super) fn rings(&self) -> [Ring; 2] {
        offset_second_ring(&self.rings, self.second[1])
    }

    /// Adds passes through these buffers to a job.
    pub(super) fn add_passes(
        &self,
        job: &mut Job,
        name: &str,
        passes: [RingPass; 2],
    ) -> Result<(), FftError> {
        let program = job.program(name, &self.both)?;
        Ok(job.followed(&program, ["columns", "rows"], passes, self.second)?)
    }
}

/// Returns the programs of both passes with the labels of their kernels.
fn entries([first, second]: &[Arc<Program>; 2]) -> [(&Arc<Program>, &'static str); 2] {
    [(first, "columns"), (second, "rows")]
}

/// Moves the second ring `bytes` bytes further in DMEM.
fn offset_second_ring([first, second]: &[Ring; 2], bytes: u64) -> [Ring; 2] {
    [first.clone(), second.clone().shift_addresses(bytes)]
}
