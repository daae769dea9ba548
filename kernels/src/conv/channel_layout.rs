//! Lays channels out as one stream of blocks, reals paired as complex.

use super::block_filter::{BlockFilter, COMPLEX, FilterSample};
use crate::job::{Job, JobError, KernelInput, Stored};
use crate::relayout::SourceOfWord;
use cp2_host::ViewRows;
use std::ops::Range;

/// Real numbers (words of 32 bits) in a complex number.
const PARTS: u64 = 2;

/// Rule by which two real numbers become one complex number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RealPairing {
    /// The first half of all blocks gives real parts, the second half imaginary parts, whatever their
    /// channels.
    Blocks,
    /// Sample `i` of a channel is the real part and sample `i + apart` the imaginary part, with this `apart`.
    /// Real parts give the channel's first outputs, imaginary parts the later ones, for which all earlier
    /// samples are in the same half.
    Channel(usize),
}

/// Returns the length in complex numbers of a channel of `samples` real samples that are paired with each
/// other, where an output needs `before` samples before its own: each part gives half of the outputs.
pub(super) fn paired_length(samples: usize, before: usize) -> usize {
    samples.saturating_add(before).div_ceil(2).min(samples)
}

/// Layout of the channels in the stream of a filter: each takes whole blocks, so that no block holds samples
/// of two channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChannelLayout {
    /// Number of channels.
    pub(super) channels: usize,
    /// Samples of a channel.
    pub(super) samples: usize,
    /// Blocks of a channel.
    pub(super) blocks: usize,
    /// Blocks that the kernel computes: half of all where two real ones are computed at once.
    pub(super) total: usize,
    couples: RealPairing,
}

impl BlockFilter {
    /// Returns the layout of `channels` channels of `samples` numbers.
    pub(super) fn layout<T: FilterSample>(&self, channels: usize, samples: usize) -> ChannelLayout {
        // The zeros before the next channel take room too.
        let blocks = |samples: usize| samples.saturating_add(self.lead).div_ceil(self.hop);
        let of = |blocks: usize, couples| ChannelLayout {
            channels,
            samples,
            blocks,
            total: self.round_up_blocks(blocks.saturating_mul(channels)),
            couples,
        };
        match self.mixes {
            _ if !T::REAL => of(blocks(samples), RealPairing::Blocks),
            Some(before) if channels > 1 => {
                let own = paired_length(samples, before);
                of(blocks(own), RealPairing::Channel(samples - own))
            }
            _ => {
                let all = of(blocks(samples), RealPairing::Blocks);
                let total = all.blocks.saturating_mul(channels).div_ceil(2);
                let total = self.round_up_blocks(total);
                ChannelLayout { total, ..all }
            }
        }
    }

    /// Rounds a number of blocks up to the multiple that the kernel computes together.
    fn round_up_blocks(&self, blocks: usize) -> usize {
        let deal = self.deal.max(1);
        blocks.checked_next_multiple_of(deal).unwrap_or(blocks)
    }

    /// Lays the channels of `x` out as the kernel's input stream and returns the address of the stream.
    pub(super) fn place<T: FilterSample>(
        &self,
        job: &mut Job,
        x: KernelInput<'_, T>,
        layout: ChannelLayout,
    ) -> Result<u64, JobError> {
        let [channels, samples] = [layout.channels, layout.samples].map(|n| n as u64);
        let shape = [channels, samples];
        let x = ("x", x, &shape[..]);
        let len = self.input_len(layout.total) as u64;
        let (lead, region) = (self.lead as u64, (layout.blocks * self.hop) as u64);
        if let RealPairing::Channel(apart) = layout.couples {
            let apart = apart as u64;
            let word = |at: u64| match (at / PARTS).checked_sub(lead) {
                Some(i) if i < samples - apart => SourceOfWord::Of(0, i + at % PARTS * apart),
                _ => SourceOfWord::Zero,
            };
            let row = PARTS * region;
            let words = (channels * row, samples, row);
            return job.words_in(x, len * COMPLEX, words, &word);
        }
        let bytes = T::BYTES as u64;
        let own = ViewRows::contiguous(channels, samples * bytes);
        let half = (layout.total * self.hop) as u64;
        let rows = |start: u64, pitch: u64, total: u64| ViewRows {
            start: start * bytes,
            pitch: pitch * bytes,
            total: total * bytes,
            ..own
        };
        if !T::REAL {
            return job.rows_in(x, own, rows(lead, region, len));
        }
        if channels == 1 {
            let sample = |i: u64| i.checked_sub(lead).filter(|i| *i < samples);
            let word = |at: u64| match sample(at / PARTS + at % PARTS * half) {
                Some(i) => SourceOfWord::Of(0, i),
                None => SourceOfWord::Zero,
            };
            let words = PARTS * len;
            return job.words_in(x, len * COMPLEX, (words, words, words), &word);
        }
        // All channels form one stream: its first half becomes real parts, its second half imaginary parts.
        let stream = job.rows_in(x, own, rows(lead, region, half + len))?;
        let word = |at: u64| SourceOfWord::Of(0, at / PARTS + at % PARTS * half);
        let words = PARTS * len;
        job.words_as(stream, len * COMPLEX, (words, words, words), &word)
    }

    /// Makes the user's array of the outputs `wanted` of every channel, counted from the kernel's first, and
    /// the array that the kernel stores into.
    pub(super) fn result<T: FilterSample>(
        &self,
        job: &mut Job,
        layout: ChannelLayout,
        wanted: &Range<usize>,
    ) -> Result<Stored<T>, JobError> {
        let [channels, outputs] = [layout.channels, wanted.len()].map(|n| n as u64);
        let shape = [channels, outputs];
        let y = ("y", &shape[..]);
        let total = (layout.total * self.out) as u64;
        let (start, numbers) = (wanted.start as u64, (layout.blocks * self.out) as u64);
        // Index among the kernel's outputs of output `at` of the user.
        let (first, keep) = (start, self.keep as u64);
        let kept = |at: u64| (first + at) * keep;
        if let RealPairing::Channel(apart) = layout.couples {
            // From this output on, outputs come from imaginary parts.
            let own = (layout.samples - apart - self.first) as u64;
            let word = |at: u64| match kept(at) {
                i if i < own => SourceOfWord::Of(0, PARTS * i),
                i => SourceOfWord::Of(0, PARTS * (i - apart as u64) + 1),
            };
            let words = (channels * outputs, PARTS * numbers, outputs);
            return job.words_out(y, total * COMPLEX, words, &word);
        }
        let bytes = T::BYTES as u64;
        let own = ViewRows::contiguous(channels, outputs * bytes);
        let made = ViewRows {
            start: start * bytes,
            pitch: numbers * bytes,
            total: PARTS * total * bytes,
            ..own
        };
        if !T::REAL && keep > 1 {
            let word = |at: u64| SourceOfWord::Of(0, PARTS * kept(at / PARTS) + at % PARTS);
            let words = (PARTS * channels * outputs, PARTS * numbers, PARTS * outputs);
            return job.words_out(y, total * COMPLEX, words, &word);
        }
        if !T::REAL {
            let total = total * bytes;
            return job.rows_out(y, own, ViewRows { total, ..made });
        }
        let apart = |at: u64| match at < total {
            true => SourceOfWord::Of(0, PARTS * at),
            false => SourceOfWord::Of(0, PARTS * (at - total) + 1),
        };
        if channels == 1 {
            let words = (outputs, PARTS * total, outputs);
            return job.words_out(y, total * COMPLEX, words, &|at| apart(kept(at)));
        }
        let rows = if keep > 1 {
            let words = (channels * outputs, numbers, outputs);
            let word = |at: u64| SourceOfWord::Of(0, kept(at));
            job.words_out(y, PARTS * total * bytes, words, &word)?
        } else {
            job.rows_out(y, own, made)?
        };
        let words = (PARTS * total, PARTS * total, PARTS * total);
        let stream = job.words_to::<T>(rows.address, total * COMPLEX, words, &apart)?;
        Ok(rows.retarget(stream))
    }
}
