//! Proved lower limits on the time of problems, with their proofs.
//!
//! # Every number once over the channel
//!
//! *A job whose every input number can change its result takes at least the time that the DMA channel needs
//! for all bytes of inputs and outputs.* CP2 reads and writes its local memories only. Inputs are in system
//! memory when time begins, and outputs when it ends. Between the memories is one channel of a given
//! bandwidth, for both directions together. An input that never crosses it cannot change the result, and an
//! output that never crosses it has not arrived. For one complex transform of N numbers these are 16 N bytes:
//! that a plan moves 28 N or 32 N is that plan's cost, not a proof.
//!
//! Some problems need only parts of an array in system memory (a decimating filter with fewer taps than
//! samples from an output to the next). Between two parts either the granules between them are moved too, or
//! a run or a transfer begins, which takes the lesser of both costs in the machine file.
//!
//! Numbers with a part that is ignored by definition (the imaginary parts of the first and the last number of
//! a half spectrum) count if the rest of their granule is needed.
//!
//! # What is not used
//!
//! Morgenstern (1973, *Note on a lower bound on the linear complexity of the fast Fourier transform*, J. ACM
//! 20): a program of linear operations whose constants are at most 1 in absolute value multiplies the largest
//! minor of what it has computed by at most 2 with each complex addition. The determinant of the transform is
//! N^(N/2) in absolute value, so there are at least N/2 log2 N additions. A butterfly computes two numbers,
//! but the one minor of both is 2, so it also contributes a factor of at most 2, and N/2 log2 N butterflies
//! are the fewest *if there is no other instruction*. There is one: a quad add makes two independent complex
//! additions, a factor of 4. With quad adds the same argument leaves N/4 log2 N issues; and it needs the
//! bound on the constants, which the hardware does not have (Winograd's transforms have constants above 1).
//! No operation count is proved for all programs, so none is part of a bound: N/2 log2 N is a reference, and
//! its method says so.
//!
//! For products of matrices, filters and maps no operation count is proved here either: the algorithms of
//! Strassen and Karatsuba show that a count may look necessary and not be.

use cp2_machine::Machine;
use std::ops::Add;

/// Traffic over the DMA channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes, both directions together.
    pub bytes: u128,
    /// Discontinuities in system memory: places where a new run of a transfer, or a new transfer, begins.
    pub gaps: u128,
}

impl Add for Traffic {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(b.bytes),
            gaps: self.gaps.saturating_add(b.gaps),
        }
    }
}

impl Traffic {
    /// Returns contiguous traffic of `bytes` bytes.
    #[must_use]
    pub fn bytes(bytes: u128) -> Self {
        Self { bytes, gaps: 0 }
    }

    /// Returns the cycles of the channel, rounded up:
    /// `bytes / bandwidth + gaps * min(dma.run, dma.setup-queued)`.
    #[must_use]
    pub fn cycles(self, machine: &Machine) -> u64 {
        let dma = &machine.dma;
        let gap = dma.run.0.min(dma.setup_queued.0);
        let moved = self
            .bytes
            .saturating_mul(dma.bandwidth.den.into())
            .div_ceil(u128::from(dma.bandwidth.num.max(1)));
        let all = moved.saturating_add(self.gaps.saturating_mul(gap.into()));
        u64::try_from(all).unwrap_or(u64::MAX)
    }
}
