//! DMEM laid out for the pages of a paging job.

use super::dmem_map::DmemMap;
use super::error::PlanError;
use super::job::{Buffering, Paging};
use crate::paging::aligned;
use cp2_machine::Machine;

/// DMEM laid out for one degree and page size.
pub(super) struct DmemFrame {
    pub(super) map: DmemMap,
    pub(super) degree: usize,
    pub(super) inputs: Vec<Vec<u32>>,
    pub(super) outputs: Vec<Vec<u32>>,
    pub(super) scratch: u32,
}

impl DmemFrame {
    pub(super) fn new(job: &Paging, machine: &Machine, degree: usize, size: u32) -> Option<Self> {
        let granule = aligned(machine);
        let mut map = DmemMap::new(machine.cp2.dmem.0);
        for r in &job.reserved {
            if !map.reserve(&r.name, r.address, r.bytes) {
                return None;
            }
        }
        // Buffers with the strictest alignment are placed first, which leaves the fewest holes.
        let mut wishes = Vec::new();
        let streams = |out: bool| if out { &job.outputs } else { &job.inputs };
        for out in [false, true] {
            for (index, stream) in streams(out)
                .iter()
                .enumerate()
                .filter(|_| !(out && job.in_place))
            {
                let align = if job.in_place {
                    stream
                        .align
                        .max(job.outputs.get(index).map_or(1, |o| o.align))
                } else {
                    stream.align
                };
                for buffer in 0..degree {
                    wishes.push((
                        align.max(granule),
                        stream.page_bytes(size)?,
                        out,
                        index,
                        buffer,
                    ));
                }
            }
        }
        wishes.sort_by_key(|&(align, bytes, out, index, buffer)| {
            (std::cmp::Reverse((align, bytes)), out, index, buffer)
        });
        let mut inputs = vec![vec![0; degree]; job.inputs.len()];
        let mut outputs = vec![vec![0; degree]; job.outputs.len()];
        for (align, bytes, out, index, buffer) in wishes {
            let name = format!("{} {buffer}", streams(out)[index].name);
            let address = u32::try_from(map.place(&name, bytes, align)?).ok()?;
            let table = if out { &mut outputs } else { &mut inputs };
            table[index][buffer] = address;
        }
        if job.in_place {
            outputs = inputs.iter().take(outputs.len()).cloned().collect();
        }
        let blocks = job.scratch_per_block.checked_mul(u64::from(size))?;
        let scratch = match job.scratch.checked_add(blocks)? {
            0 => 0,
            bytes => u32::try_from(map.place("scratch", bytes, granule)?).ok()?,
        };
        Some(Self {
            map,
            degree,
            inputs,
            outputs,
            scratch,
        })
    }
}

/// Returns the error that says how much DMEM a page of `min` blocks would need.
pub(super) fn does_not_fit(job: &Paging, machine: &Machine, min: u32) -> PlanError {
    let degree = job.buffering.degrees()[0];
    let streams = job
        .inputs
        .iter()
        .chain(job.outputs.iter().filter(|_| !job.in_place));
    let overlap = job
        .inputs
        .iter()
        .fold(0u64, |n, s| n.saturating_add(s.overlap));
    let page = streams.fold(0u64, |n, s| n.saturating_add(s.pitch));
    let scratch = job
        .scratch_per_block
        .saturating_mul(u64::from(min))
        .saturating_add(job.scratch);
    PlanError::DoesNotFit {
        dmem: machine.cp2.dmem.0,
        needed: page
            .saturating_mul(u64::from(min))
            .saturating_add(overlap)
            .saturating_mul(degree as u64)
            .saturating_add(scratch),
        reserved: job
            .reserved
            .iter()
            .fold(0, |n, r| n.saturating_add(r.bytes)),
        blocks: min,
        buffering: Buffering::name(degree),
    }
}
