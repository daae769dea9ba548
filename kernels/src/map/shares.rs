//! Shares of several processors in the blocks of arrays.
//!
//! Blocks are dealt along the outermost axis, neighbours together. Nothing is exchanged: a processor has the arrays of
//! its own blocks alone.

use super::{ArrayJob, Input, MapError, Output};
use cp2_asm::Program;
use cp2_host::nest::Reads;
use cp2_network::share_of;
use std::ops::Range;

/// Deals the blocks of a job to processors: one job for each, whose results follow one another.
///
/// # Errors
/// Blocks need each other: there is a halo along the outermost axis, or one result of all. The kernel reads where its
/// blocks lie. There are fewer blocks along that axis than processors.
pub fn share_blocks<'a>(
    job: &ArrayJob<'a>,
    program: &Program,
    processors: usize,
) -> Result<Vec<ArrayJob<'a>>, MapError> {
    let refused = |reason: String| MapError::Shared { processors, reason };
    if processors == 1 {
        return Ok(vec![job.clone()]);
    }
    if job.reduce {
        return Err(refused(
            "the whole array ends in one block, which would need those of all processors"
                .to_owned(),
        ));
    }
    let haloed = |input: &&Input<'_>| input.halo.first().is_some_and(|&halo| halo > 0);
    if let Some(input) = job.inputs.iter().find(haloed) {
        return Err(refused(format!(
            "blocks of `{}` need their neighbours along the outermost axis, which other processors would have",
            input.name
        )));
    }
    if Reads::from_program(program).reads_place() {
        return Err(refused(
            "the kernel reads where its blocks lie, the number of its page, or uses a15 otherwise than `page.s` does; a processor knows its own blocks alone"
                .to_owned(),
        ));
    }
    let blocks = job
        .inputs
        .iter()
        .map(|input| lines(&input.shape, &input.block));
    let blocks = blocks.chain(job.outputs.iter().map(|out| lines(&out.shape, &out.block)));
    let blocks = blocks.map(|(lines, block)| lines.div_ceil(block)).max();
    let blocks = usize::try_from(blocks.unwrap_or(0)).unwrap_or(usize::MAX);
    if blocks < processors {
        return Err(refused(format!(
            "there are {blocks} blocks along the outermost axis; expected at least as many as processors"
        )));
    }
    let share = |processor| {
        let own = share_of(blocks, processors, processor);
        let own = own.start as u64..own.end as u64;
        let inputs = job.inputs.iter().map(|input| {
            let lines = own_lines(&input.shape, &input.block, &own);
            let line = line_bytes(&input.shape, &input.block, input.element.bytes);
            let place = |line_number: u64| {
                usize::try_from(line_number.saturating_mul(line)).unwrap_or(usize::MAX)
            };
            let bytes = input.bytes.get(place(lines.start)..place(lines.end));
            Input {
                shape: shape_of(&input.shape, &input.block, &lines),
                bytes: bytes.unwrap_or_default(),
                ..input.clone()
            }
        });
        let outputs = job.outputs.iter().map(|output| {
            let lines = own_lines(&output.shape, &output.block, &own);
            Output {
                shape: shape_of(&output.shape, &output.block, &lines),
                ..output.clone()
            }
        });
        ArrayJob {
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            ..job.clone()
        }
    };
    Ok((0..processors).map(share).collect())
}

/// Returns the extents of an array and its blocks along the outermost axis; blocks of one axis take any array as a row.
fn lines(shape: &[u64], block: &[u64]) -> (u64, u64) {
    let of = match block {
        [_] => shape.iter().fold(1, |n, &d| u64::saturating_mul(n, d)),
        _ => shape.first().copied().unwrap_or(0),
    };
    (of, block.first().copied().unwrap_or(1).max(1))
}

/// Returns the part of the outermost axis that blocks have.
fn own_lines(shape: &[u64], block: &[u64], own: &Range<u64>) -> Range<u64> {
    let (all, each) = lines(shape, block);
    let end = |blocks: u64| blocks.saturating_mul(each).min(all);
    end(own.start)..end(own.end)
}

/// Returns the bytes of an element of the outermost axis.
fn line_bytes(shape: &[u64], block: &[u64], element: u64) -> u64 {
    match block {
        [_] => element,
        _ => {
            let inner = shape.iter().skip(1);
            inner.fold(element, |n, &d| n.saturating_mul(d))
        }
    }
}

/// Returns the extents of a part of the array.
fn shape_of(shape: &[u64], block: &[u64], lines: &Range<u64>) -> Vec<u64> {
    let own = lines.end.saturating_sub(lines.start);
    match block {
        [_] => vec![own],
        _ => std::iter::once(own)
            .chain(shape.iter().skip(1).copied())
            .collect(),
    }
}
