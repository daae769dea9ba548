//! How channels lie in the stream of a filter, and real numbers in complex ones.

use super::filter::{Filter, Numbers};
use num_complex::Complex32;
use std::ops::Range;

/// Which real numbers are one complex number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Couples {
    /// Those of the first half of all blocks and of the second, whosever they are.
    Blocks,
    /// Numbers of one channel, so many apart: the first ones give its first outputs, the
    /// second ones those from as many on for which they have all samples before.
    Channel(usize),
}

/// Numbers of a channel of `samples` real ones, where they are coupled with each other and an
/// output needs `before` others: half of all outputs come of each.
pub(super) fn folded(samples: usize, before: usize) -> usize {
    samples.saturating_add(before).div_ceil(2).min(samples)
}

/// How channels lie in the stream of a filter: each takes whole blocks, so that
/// none knows of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Channels.
    pub(super) channels: usize,
    /// Samples of a channel.
    pub(super) samples: usize,
    /// Blocks of a channel.
    pub(super) blocks: usize,
    /// Blocks that the kernel computes: half of all where two are computed at once.
    pub(super) total: usize,
    couples: Couples,
}

impl Filter {
    /// The blocks of `channels` x `samples` numbers.
    pub(super) fn layout<T: Numbers>(&self, channels: usize, samples: usize) -> Layout {
        // With room for the zeros before the next channel.
        let blocks = |samples: usize| samples.saturating_add(self.lead).div_ceil(self.hop);
        let of = |blocks: usize, couples| Layout {
            channels,
            samples,
            blocks,
            total: self.dealt(blocks.saturating_mul(channels)),
            couples,
        };
        match self.mixes {
            _ if !T::REAL => of(blocks(samples), Couples::Blocks),
            Some(before) if channels > 1 => {
                let own = folded(samples, before);
                of(blocks(own), Couples::Channel(samples - own))
            }
            _ => {
                let all = of(blocks(samples), Couples::Blocks);
                let total = all.blocks.saturating_mul(channels).div_ceil(2);
                let total = self.dealt(total);
                Layout { total, ..all }
            }
        }
    }

    /// So many blocks, and those that are computed with them.
    fn dealt(&self, blocks: usize) -> usize {
        let deal = self.deal.max(1);
        blocks.checked_next_multiple_of(deal).unwrap_or(blocks)
    }

    /// The channels of `x` as the kernel takes them.
    pub(super) fn pack<T: Numbers>(&self, x: &[T], layout: Layout) -> Vec<Complex32> {
        let region = layout.blocks * self.hop;
        let channels = x.chunks(layout.samples);
        let len = self.input_len(layout.total);
        if let Couples::Channel(apart) = layout.couples {
            let mut packed = vec![Complex32::default(); len];
            for (place, x) in packed.chunks_mut(region).zip(channels) {
                let others = x.get(apart..).unwrap_or_default();
                let places = place.iter_mut().skip(self.lead);
                for (place, (x, other)) in places.zip(x.iter().zip(others)) {
                    *place = x.couple(*other);
                }
            }
            return packed;
        }
        let mut stream = vec![T::default(); layout.channels * region + self.lead];
        for (place, channel) in stream.chunks_mut(region).zip(channels) {
            for (place, x) in place.iter_mut().skip(self.lead).zip(channel) {
                *place = *x;
            }
        }
        let half = layout.total * self.hop;
        let at = |i: usize| stream.get(i).copied().unwrap_or_default();
        (0..len).map(|i| at(i).couple(at(i + half))).collect()
    }

    /// Of every channel's outputs those of `wanted`, counted from the kernel's first.
    pub(super) fn unpack<T: Numbers>(
        &self,
        packed: Vec<Complex32>,
        layout: Layout,
        wanted: &Range<usize>,
    ) -> Vec<T> {
        let numbers = layout.blocks * self.out;
        let Couples::Channel(apart) = layout.couples else {
            return T::unpack(packed)
                .chunks(numbers)
                .take(layout.channels)
                .flat_map(|c| c.get(wanted.clone()).unwrap_or_default())
                .copied()
                .collect();
        };
        // From here on outputs come of the second numbers.
        let own = layout.samples - apart - self.first;
        let (first, second) = (
            wanted.start.min(own)..wanted.end.min(own),
            wanted.start.max(own) - apart..wanted.end.max(own) - apart,
        );
        packed
            .chunks(numbers)
            .flat_map(|channel| {
                let first = channel.get(first.clone()).unwrap_or_default();
                let second = channel.get(second.clone()).unwrap_or_default();
                let first = first.iter().map(|&z| T::of(z));
                first.chain(second.iter().map(|&z| T::second(z)))
            })
            .collect()
    }
}
