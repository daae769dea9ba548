//! Overlap-save in DMEM: block lengths, transformed taps, programs.

use super::block_filter::{BlockFilter, COMPLEX};
use super::error::ConvError;
use super::overlap_save_ring;
use super::program::{fill, program};
use cp2_asm::Program;
use cp2_machine::{Class, Machine};
use cp2_rustfft::FftDirection;
use num_complex::{Complex32, Complex64};
use std::ops::Range;
use std::sync::Arc;

/// Binary logarithms of the block lengths in local memory; the longest goes through it part by part.
pub(super) const LENGTH_BITS: std::ops::RangeInclusive<u32> = 5..=12;

/// Factors of a length: N = 8^outer middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) outer: u32,
    pub(super) middle: usize,
}

/// Splits a length into passes of radix 8 and a middle pass.
pub(super) fn digits(n: usize) -> Digits {
    // The middle pass does 2, 3 or 4 levels of each transform.
    let levels = n.ilog2();
    let outer = (levels - 2) / 3;
    Digits {
        outer,
        middle: n >> (3 * outer),
    }
}

/// Returns the frequency that the forward passes leave at `place`. Octal digits p0 p1 .. of the place, the
/// most significant first, and the bits g of the middle pass give the frequency p0 + 8 p1 + .. + 8^outer
/// bitrev(g).
pub(super) fn frequency(place: usize, n: usize) -> usize {
    let Digits { outer, middle } = digits(n);
    let (mut rest, mut frequency, mut weight) = (place, 0, 1);
    let mut row = n;
    for _ in 0..outer {
        row /= 8;
        frequency += rest / row * weight;
        rest %= row;
        weight *= 8;
    }
    let bits = middle.ilog2();
    let group = rest.reverse_bits() >> (usize::BITS - bits);
    frequency + weight * group
}

/// Returns the taps' transform of length `n`, divided by `n`:
/// `H[k] = 1/n sum over m of h[m] exp(-2 pi i m k / n)`.
pub(super) fn response(taps: &[Complex32], n: usize) -> Vec<Complex32> {
    let mut h = vec![Complex64::default(); n];
    for (h, tap) in h.iter_mut().zip(taps) {
        *h = Complex64::new(tap.re.into(), tap.im.into()) / n as f64;
    }
    cp2_rustfft::scalar_double(n, FftDirection::Forward).process(&mut h);
    h.iter()
        .map(|z| Complex32::new(z.re as f32, z.im as f32))
        .collect()
}

/// Returns the number of samples before an output that it needs, rounded up to whole granules, at which
/// blocks begin.
pub(super) fn lead(taps: usize, machine: &Machine) -> usize {
    (taps - 1).next_multiple_of(unit(machine))
}

/// Returns the numbers of a granule of the DMA; at least 2, since pages begin at quads.
pub(super) fn unit(machine: &Machine) -> usize {
    usize::try_from(machine.dma.granule.0 / COMPLEX)
        .unwrap_or(1)
        .max(2)
}

/// Returns the arithmetic issues of a block: N/2 log2 N butterflies each way and N/2 products, together N
/// (log2 N + 1/2). The other N/2 products are part of the first butterflies of the inverse transform.
pub(super) fn issues(n: usize) -> u64 {
    n as u64 * u64::from(n.ilog2()) + n as u64 / 2
}

/// Returns whether one block of `n` holds a channel with all `outputs` wanted. The convolution in the block
/// is cyclic: output k also receives output k + n, but none of the outputs wanted may do so.
pub(super) fn fits_one_block(
    n: usize,
    samples: usize,
    taps: usize,
    outputs: &Range<usize>,
) -> bool {
    let full = samples.saturating_add(taps).saturating_sub(1);
    n >= taps && n >= samples && n >= outputs.end && n >= full - outputs.start.min(full)
}

/// Layout of blocks of `n` over channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockCover {
    /// Samples before the first one of a channel.
    pub(super) lead: usize,
    /// Samples from a block to the next.
    pub(super) hop: usize,
    /// Indices of a block's numbers that are outputs.
    pub(super) outputs: Range<usize>,
    /// Index of a channel's first output in the full convolution.
    pub(super) first: usize,
    /// Samples before an output that it needs, rounded up to whole granules.
    pub(super) before: usize,
}

impl BlockCover {
    /// Makes blocks that overlap; all numbers but the first `lead` are outputs.
    pub(super) fn new_overlapping(lead: usize, n: usize) -> Self {
        Self {
            lead,
            hop: n - lead,
            outputs: lead..n,
            first: 0,
            before: lead,
        }
    }

    /// Makes one block for every channel, of which `outputs` are wanted. An output needs `before` other
    /// samples.
    pub(super) fn new_single_block(
        n: usize,
        outputs: Range<usize>,
        before: usize,
        machine: &Machine,
    ) -> Self {
        let unit = unit(machine);
        let first = outputs.start / unit * unit;
        Self {
            lead: 0,
            hop: n,
            outputs: first..first + (outputs.end - first).next_multiple_of(unit),
            first,
            before,
        }
    }

    /// Returns the filter with blocks of `n` laid out this way. `program` may be empty where only sizes and
    /// least times are asked for.
    pub(super) fn filter(
        &self,
        n: usize,
        title: &str,
        program: Program,
        machine: &Arc<Machine>,
    ) -> BlockFilter {
        BlockFilter {
            title: title.to_owned(),
            program: Arc::new(program),
            machine: machine.clone(),
            lead: self.lead,
            window: n,
            rows: None,
            hop: self.hop,
            out: self.outputs.len(),
            apart: self.outputs.len(),
            skip: self.outputs.start,
            first: self.first,
            in_place: true,
            fixed: false,
            deal: 1,
            operations: vec![
                (Class::Butterfly, n as u64 * u64::from(n.ilog2())),
                (Class::Madd, n as u64 / 2),
            ],
            cycles_per_block: issues(n),
            passes: None,
            mixes: Some(self.before),
            exact: false,
            keep: 1,
        }
    }
}

/// Assembles the program for blocks of `n` with these taps: for pages of blocks, or, with its data at DMEM
/// address `ring`, for a ring of them.
fn assemble_kernel(
    taps: &[Complex32],
    n: usize,
    ring: Option<i64>,
    machine: &Machine,
) -> Result<Program, ConvError> {
    let Digits { outer, middle } = digits(n);
    let defines = [
        ("N", n as i64),
        ("A", outer.into()),
        ("M", middle as i64),
        ("RING", i64::from(ring.is_some())),
        ("AT", ring.unwrap_or(0)),
    ];
    let title = format!("overlap-save {n}");
    let mut program = program(("overlap_save.s", &title), &defines, "", machine)?;
    let response = response(taps, n);
    let taps: Vec<Complex32> = (0..n).map(|place| response[frequency(place, n)]).collect();
    fill(&mut program, "taps", &taps);
    Ok(program)
}

/// Assembles the program whose pages are blocks of a ring, with its data at DMEM address `at`.
pub(super) fn ring_program(
    taps: &[Complex32],
    n: usize,
    at: i64,
    machine: &Machine,
) -> Result<Program, ConvError> {
    assemble_kernel(taps, n, Some(at), machine)
}

/// Returns the filter with blocks of `n` laid out by `cover`, under the name `title`.
pub(super) fn filter(
    taps: &[Complex32],
    n: usize,
    cover: BlockCover,
    title: &str,
    machine: &Arc<Machine>,
) -> Result<BlockFilter, ConvError> {
    if n == overlap_save_ring::N {
        return overlap_save_ring::filter(taps, cover, title, machine);
    }
    let program = assemble_kernel(taps, n, None, machine)?;
    Ok(cover.filter(n, title, program, machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_its_digits() {
        let all: Vec<_> = LENGTH_BITS
            .map(|b| digits(1 << b))
            .map(|d| (d.outer, d.middle))
            .collect();
        assert_eq!(
            all,
            [
                (1, 4),
                (1, 8),
                (1, 16),
                (2, 4),
                (2, 8),
                (2, 16),
                (3, 4),
                (3, 8)
            ]
        );
    }

    #[test]
    fn places_and_frequencies_are_one_to_one() {
        for b in LENGTH_BITS {
            let n = 1 << b;
            let mut seen = vec![false; n];
            for place in 0..n {
                let k = frequency(place, n);
                assert!(!std::mem::replace(&mut seen[k], true), "{n} {place}");
            }
        }
        // 64 = 8 x 8: number 8 p + g holds frequency p + 8 bitrev(g).
        assert_eq!(frequency(8 * 3 + 1, 64), 3 + 8 * 4);
    }
}
