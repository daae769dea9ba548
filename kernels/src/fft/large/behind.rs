//! Two passes by two kernels, where the program of the second comes while the first runs: its tables and pages lie behind those
//! of the first.

use crate::fft::error::FftError;
use crate::job::{image, load};
use crate::ring::{Expected, RingPass, expect_all, follow};
use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
use cp2_machine::Machine;
use std::sync::Arc;

/// Words of a granule.
const WORDS: usize = 2;

/// Where the second one's tables are and what both should take, where `passes` makes them with the local memory of the second so
/// many bytes on; none where DMEM has no room for both.
pub(super) fn priced(
    passes: impl Fn(u64) -> [RingPass; 2],
    [first, second]: [&Program; 2],
    machine: &Machine,
) -> Option<(u64, Expected)> {
    let [before, next] = passes(0);
    let tables = before.end()?;
    if tables + next.end()? > machine.cp2.dmem.0 {
        return None;
    }
    let [mut before, mut next] = passes(tables);
    let words = 8 * second.words.len() as u64;
    let parts = [
        Descriptor::load(Target::Program, 0, 0, words),
        Descriptor::load(Target::Broadcast, 0, 0, image(second) - words),
    ];
    let parts = parts.map(|part| (part.run > 0).then_some(part));
    let parts: Vec<Descriptor> = parts.into_iter().flatten().collect();
    if !follow(&mut before, &mut next, &parts, machine) {
        return None;
    }
    let own = load(image(first), machine);
    let least = [&before, &next].map(|pass| pass.expect(machine).least);
    let expected = Expected {
        cycles: own + expect_all([&before, &next], machine),
        least: own + least[0] + least[1] - before.early(machine),
    };
    Some((tables, expected))
}

/// The program of both, and from which word and byte of DMEM on that of the second is, whose tables are there.
pub(super) fn linked(
    first: &Program,
    second: &Program,
    tables: u64,
) -> Result<(Arc<Program>, [u64; 2]), FftError> {
    let both = first.linked(second, WORDS)?;
    let origin = both.words.len() - second.words.len();
    Ok((Arc::new(both), [origin as u64, tables]))
}
