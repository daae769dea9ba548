//! The descriptors that move one page of one stream.

use super::job::{BlockPiece, Stream};
use super::page::Page;
use cp2_dma::{Descriptor, Direction, Level, Levels, Target};
use smallvec::SmallVec;

/// Blocks of one or all sections that one descriptor per piece can move.
pub(super) struct MovableBlocks {
    target: ShareTarget,
    /// First block.
    first: u64,
    count: u64,
    /// Blocks between `first` and the section's first block in DMEM.
    skip: u64,
}

enum ShareTarget {
    /// All sections, so many blocks apart.
    All(u64),
    Same,
    One(u32),
}

pub(super) fn shares(direction: Direction, page: &Page) -> Vec<MovableBlocks> {
    let per = u64::from(page.per_section);
    match (direction, page.stride()) {
        (Direction::Load, Some(0)) => {
            vec![MovableBlocks {
                target: ShareTarget::Same,
                first: page.first,
                count: per,
                skip: 0,
            }]
        }
        (Direction::Load, Some(stride)) => {
            vec![MovableBlocks {
                target: ShareTarget::All(stride),
                first: page.first,
                count: per,
                skip: 0,
            }]
        }
        (Direction::Store, Some(stride)) if page.is_whole() => {
            vec![MovableBlocks {
                target: ShareTarget::All(stride),
                first: page.first,
                count: per,
                skip: 0,
            }]
        }
        (Direction::Load, None) => {
            // The last sections share a start: a broadcast serves them all, and
            // the others' own blocks, loaded after it, replace it there.
            let last = page.starts.last().copied().unwrap_or(page.first);
            let common = MovableBlocks {
                target: ShareTarget::Same,
                first: last,
                count: per,
                skip: 0,
            };
            let own = list_shares(page, |s, start| {
                (page.starts[s] != last).then(|| start..start + per)
            });
            std::iter::once(common).chain(own).collect()
        }
        (Direction::Store, _) => list_shares(page, |s, _| Some(page.stored(s))).collect(),
    }
}

/// Returns a share for every section for which `blocks` gives some.
fn list_shares(
    page: &Page,
    blocks: impl Fn(usize, u64) -> Option<std::ops::Range<u64>>,
) -> impl Iterator<Item = MovableBlocks> {
    (0u32..).zip(&page.starts).filter_map(move |(s, &start)| {
        let blocks = blocks(s as usize, start)?;
        let count = blocks.end - blocks.start;
        let share = MovableBlocks {
            target: ShareTarget::One(s),
            first: blocks.start,
            count,
            skip: blocks.start - start,
        };
        (count > 0).then_some(share)
    })
}

impl MovableBlocks {
    pub(super) fn describe(
        &self,
        direction: Direction,
        stream: &Stream,
        piece: &BlockPiece,
        local: u32,
        limit: usize,
    ) -> Vec<Descriptor> {
        let target = match self.target {
            ShareTarget::All(blocks) => Target::Blocks {
                stride: signed(blocks.saturating_mul(stream.stride)),
            },
            ShareTarget::Same => Target::Broadcast,
            ShareTarget::One(s) => Target::Section(s),
        };
        let system = stream.system + self.first * stream.stride;
        let local = u64::from(local) + self.skip * stream.pitch;
        let descriptor = |block: u64, (run, levels): (u64, Levels)| Descriptor {
            direction,
            target,
            system: (system + block * stream.stride).saturating_add_signed(piece.system),
            // A page lies inside DMEM, whose addresses are u32.
            local: u32::try_from((local + block * stream.pitch).saturating_add_signed(piece.local))
                .unwrap_or(u32::MAX),
            run,
            levels,
            event: None,
        };
        let mut levels: SmallVec<[Level; 4]> = SmallVec::from_slice(&piece.levels);
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        levels.push(Level {
            count,
            system_stride: signed(stream.stride),
            local_stride: signed(stream.pitch),
        });
        let mut merged = merge(piece.run, &levels);
        // Adjacent blocks are one run; `check` refuses an overlap of others.
        merged.0 = merged.0.saturating_add(stream.overlap);
        if merged.1.len() <= limit {
            return vec![descriptor(0, merged)];
        }
        // With too many levels there is a descriptor for every block, or several if the block's own levels
        // are too many.
        (0..self.count)
            .map(|b| descriptor(b, merge(piece.run, &piece.levels)))
            .flat_map(|d| d.within(limit).collect::<Vec<_>>())
            .collect()
    }
}

/// Merges levels that continue each other; the runs stay the same.
pub(crate) fn merge(mut run: u64, levels: &[Level]) -> (u64, Levels) {
    let mut out = Levels::new();
    for &level in levels.iter().filter(|l| l.count != 1) {
        match out.last_mut() {
            None if level.system_stride == signed(run) && level.local_stride == signed(run) => {
                run = run.saturating_mul(u64::from(level.count));
            }
            Some(last)
                if level.system_stride
                    == last.system_stride.saturating_mul(i64::from(last.count))
                    && level.local_stride
                        == last.local_stride.saturating_mul(i64::from(last.count))
                    && last.count.checked_mul(level.count).is_some() =>
            {
                last.count *= level.count;
            }
            _ => out.push(level),
        }
    }
    (run, out)
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
