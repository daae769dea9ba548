//! Checks of a paging job that do not depend on the page size.

use super::dmem_frame::does_not_fit;
use super::dmem_map::DmemMap;
use super::error::PlanError;
use super::job::{BlockPiece, BlocksPerSection, Paging, Stream};
use cp2_dma::extent;
use cp2_machine::Machine;
use std::ops::Range;

/// Upper bound of sizes, beyond any machine's memory. Larger sizes are refused before arithmetic on them
/// could overflow.
const SIZE_LIMIT: u64 = 1 << 48;

/// Checks the rules of a job that do not depend on the page size.
pub(super) fn check(job: &Paging, machine: &Machine) -> Result<(), PlanError> {
    let granule = machine.dma.granule.0.max(1);
    let zero = |what: &str| PlanError::Zero {
        what: what.to_string(),
    };
    let (min, max) = match job.size {
        BlocksPerSection::Fixed(n) => (n, n),
        BlocksPerSection::Range { min, max } => (min, max),
    };
    if job.blocks == 0 {
        return Err(zero("number of blocks"));
    }
    if min == 0 || max == 0 {
        return Err(zero("blocks per section"));
    }
    if min > max {
        return Err(PlanError::TooLarge {
            what: "least number of blocks per section".into(),
            value: min.into(),
            limit: max.into(),
        });
    }
    let limit = |what: String, value: u64, limit: u64| {
        if value > limit {
            Err(PlanError::TooLarge { what, value, limit })
        } else {
            Ok(())
        }
    };
    limit("number of blocks".into(), job.blocks, SIZE_LIMIT)?;
    limit("DMEM of the machine".into(), machine.cp2.dmem.0, 1 << 32)?;
    limit(
        "kernel argument words".into(),
        job.args.words.len() as u64,
        machine.cp2.dmem.0 / 4,
    )?;
    limit("scratch".into(), job.scratch, machine.cp2.dmem.0)?;
    limit(
        "scratch per block".into(),
        job.scratch_per_block,
        machine.cp2.dmem.0,
    )?;
    for stream in job.inputs.iter().chain(&job.outputs) {
        if stream.pitch > machine.cp2.dmem.0 {
            return Err(does_not_fit(job, machine, min));
        }
        // The device checks the real addresses of a view's rows.
        let memory = match job.views.contains_address(stream.system) {
            true => u64::MAX,
            false => machine.host.memory.0,
        };
        check_stream(stream, machine, (granule, memory), job.blocks)?;
    }
    let mut map = DmemMap::new(machine.cp2.dmem.0);
    for r in &job.reserved {
        if !map.reserve(&r.name, r.address, r.bytes) {
            return Err(PlanError::Reserved {
                name: r.name.clone(),
                address: r.address,
                bytes: r.bytes,
                dmem: machine.cp2.dmem.0,
            });
        }
    }
    if job.in_place {
        for (output, stream) in job.outputs.iter().enumerate() {
            let input_pitch = job.inputs.get(output).map_or(0, |i| i.pitch);
            if input_pitch != stream.pitch {
                return Err(PlanError::InPlace {
                    output,
                    output_pitch: stream.pitch,
                    input_pitch,
                });
            }
        }
    }
    if let Some(output) = job.outputs.iter().find(|o| o.overlap > 0) {
        return Err(PlanError::Overlap {
            stream: output.name.clone(),
            what: "it is an output",
        });
    }
    for output in &job.outputs {
        for input in &job.inputs {
            if overlap(output, input, job.blocks) && !have_same_blocks(output, input) {
                return Err(PlanError::Alias {
                    output: output.name.clone(),
                    input: input.name.clone(),
                });
            }
        }
    }
    Ok(())
}

fn check_stream(
    stream: &Stream,
    machine: &Machine,
    (granule, memory): (u64, u64),
    blocks: u64,
) -> Result<(), PlanError> {
    let name = &stream.name;
    if stream.pitch == 0 || stream.pieces.is_empty() {
        return Err(PlanError::Zero {
            what: format!("stream `{name}`: bytes per block"),
        });
    }
    if !stream.align.is_power_of_two() {
        return Err(PlanError::Alignment {
            what: format!("stream `{name}`"),
            value: stream.align,
        });
    }
    let adjacent = stream.stride == stream.pitch
        && stream.pieces == [BlockPiece::new(stream.stride, Vec::new())];
    if stream.overlap > 0 && !adjacent {
        return Err(PlanError::Overlap {
            stream: name.clone(),
            what: "its blocks are not adjacent",
        });
    }
    for (what, value, max) in [
        ("address", stream.system, memory),
        ("stride", stream.stride, memory),
        ("pitch", stream.pitch, machine.cp2.dmem.0),
        ("overlap", stream.overlap, machine.cp2.dmem.0),
        ("alignment", stream.align, machine.cp2.dmem.0),
    ] {
        let what = format!("stream `{name}`: {what}");
        if value > max {
            return Err(PlanError::TooLarge {
                what,
                value,
                limit: max,
            });
        }
        if what.ends_with("alignment") {
            continue;
        }
        if value % granule != 0 {
            return Err(PlanError::Granule {
                what,
                value,
                granule,
                nearest: value.next_multiple_of(granule),
            });
        }
    }
    for (index, piece) in stream.pieces.iter().enumerate() {
        if piece.run == 0 || piece.levels.iter().any(|l| l.count == 0) {
            return Err(PlanError::Zero {
                what: format!("stream `{name}`: run or count of piece {index}"),
            });
        }
        if piece.run % granule != 0 {
            let what = format!("stream `{name}`: run of piece {index}");
            return Err(PlanError::Granule {
                what,
                value: piece.run,
                granule,
                nearest: piece.run.next_multiple_of(granule),
            });
        }
        let locals = piece.levels.iter().map(|l| (l.count, l.local_stride));
        let local = reach(piece.local, piece.run, locals);
        if local.start < 0 || local.end > i128::from(stream.pitch) {
            let [from, to] = [local.start, local.end].map(narrow);
            return Err(PlanError::PieceOutside {
                stream: name.clone(),
                piece: index,
                from,
                to,
                pitch: stream.pitch,
            });
        }
    }
    let (_, end) = span(stream, blocks);
    if end > i128::from(memory) {
        return Err(PlanError::SystemMemory {
            array: name.clone(),
            end,
            memory,
        });
    }
    Ok(())
}

/// Returns the range of bytes that a strided piece covers.
fn reach(start: i64, run: u64, levels: impl Iterator<Item = (u32, i64)>) -> Range<i128> {
    let start = i128::from(start);
    extent(start..start + i128::from(run), levels)
}

/// Returns the first and one past the last byte of a stream in system memory.
fn span(stream: &Stream, blocks: u64) -> (i128, i128) {
    let (mut from, mut to) = (i128::MAX, i128::MIN);
    for piece in &stream.pieces {
        let systems = piece.levels.iter().map(|l| (l.count, l.system_stride));
        let system = reach(piece.system, piece.run, systems);
        from = from.min(system.start);
        to = to.max(system.end + i128::from(stream.overlap));
    }
    let last = i128::from(stream.stride) * i128::from(blocks.saturating_sub(1));
    (
        i128::from(stream.system) + from,
        i128::from(stream.system) + last + to,
    )
}

fn overlap(a: &Stream, b: &Stream, blocks: u64) -> bool {
    let (a, b) = (span(a, blocks), span(b, blocks));
    a.0 < b.1 && b.0 < a.1
}

/// Returns true if block `k` of either stream lies inside the stride of block `k` of the other.
fn have_same_blocks(a: &Stream, b: &Stream) -> bool {
    let inside = |s: &Stream| {
        let (from, to) = span(s, 1);
        from >= i128::from(s.system) && to <= i128::from(s.system) + i128::from(s.stride)
    };
    a.system == b.system && a.stride == b.stride && inside(a) && inside(b)
}

/// Saturates an address for a message.
fn narrow(at: i128) -> i64 {
    at.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
