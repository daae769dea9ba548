//! Two passes by two kernels, where the program of the second comes while the first runs: its tables and pages lie behind those
//! of the first.

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

/// The last byte of DMEM that a program names, by `movi`, and so its tables' most.
fn max_immediate_address() -> u64 {
    let values = Op::Movi.row().form.operands().iter();
    let values = values.filter(|operand| matches!(operand.kind, Kind::Imm { .. }));
    let bits = values.map(|operand| operand.field.bits).max();
    // One is the sign.
    (1 << bits.map_or(0, |bits| bits.saturating_sub(1))) - 1
}

/// Where the second one's tables are and what both should take, where `passes` makes them with the local memory of the second so
/// many bytes on; none where program memory or DMEM has no room for both.
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

/// The program of both, and from which word and byte of DMEM on that of the second is, whose tables are there.
pub(super) fn link_programs(
    first: &Program,
    second: &Program,
    tables: u64,
) -> Result<(Arc<Program>, [u64; 2]), FftError> {
    let both = first.linked(second, WORDS)?;
    let origin = both.words.len() - second.words.len();
    Ok((Arc::new(both), [origin as u64, tables]))
}

/// Columns and rows by two kernels of one program, the second's words and tables loaded while the first runs.
#[derive(Debug)]
pub(super) struct PrefetchedPasses {
    /// Those of each pass alone, and their buffers.
    programs: [Arc<Program>; 2],
    rings: [Ring; 2],
    /// Both, and where the second's are.
    pub both: Arc<Program>,
    second: [u64; 2],
}

/// System memory for prices: what the passes share is what is between them.
pub(super) const ARRAYS: [u64; 3] = [0, 1 << 40, 1 << 41];
pub(super) const FACTORS: [u64; 2] = [1 << 42, 1 << 43];

impl PrefetchedPasses {
    /// Whether DMEM has room for the buffers of both passes, were there no tables.
    pub(super) fn may_fit(
        rings: impl Fn([u64; 2]) -> Option<[Ring; 2]>,
        passes: impl Fn([Ring; 2], [u64; 3], [u64; 2]) -> [RingPass; 2],
        machine: &Machine,
    ) -> bool {
        let passes = rings([0; 2]).map(|rings| passes(rings, ARRAYS, FACTORS));
        let ends = passes.map(|both| both.map(|pass| pass.end()));
        matches!(ends, Some([Some(a), Some(b)]) if a + b <= machine.cp2.dmem.0)
    }

    /// Of the program of a pass with its tables from a byte of DMEM on, the buffers of both passes behind tables that end there,
    /// and the passes of one transform through them; none where DMEM has no room for both, or transfers are dear to give.
    pub(super) fn new(
        program: impl Fn(usize, u64) -> Result<Arc<Program>, FftError>,
        rings: impl Fn([u64; 2]) -> Option<[Ring; 2]>,
        passes: impl Fn([Ring; 2], [u64; 3], [u64; 2]) -> [RingPass; 2],
        machine: &Machine,
    ) -> Result<Option<Self>, FftError> {
        // More transfers to give cost more than they save where each takes the control CPU longer than the channel to begin one.
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

    /// What passes through these buffers should take.
    pub(super) fn expect(
        &self,
        passes: impl Fn([Ring; 2], [u64; 3], [u64; 2]) -> [RingPass; 2],
        machine: &Machine,
    ) -> Option<PassEstimate> {
        let moved = |behind| passes(offset_second_ring(&self.rings, behind), ARRAYS, FACTORS);
        let priced = price_prefetch(moved, entries(&self.programs), machine);
        priced.map(|(_, expected)| expected)
    }

    /// The buffers of both.
    pub(super) fn rings(&self) -> [Ring; 2] {
        offset_second_ring(&self.rings, self.second[1])
    }

    /// Adds passes through these buffers.
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

/// The kernels of both passes.
fn entries([first, second]: &[Arc<Program>; 2]) -> [(&Arc<Program>, &'static str); 2] {
    [(first, "columns"), (second, "rows")]
}

/// The second so many bytes on.
fn offset_second_ring([first, second]: &[Ring; 2], bytes: u64) -> [Ring; 2] {
    [first.clone(), second.clone().shift_addresses(bytes)]
}
