//! Where pages and factors of a phase lie in local memory.

use super::pages::{Kind, PAGE_BYTES};
use super::shape::Cut;
use super::tables::{TAP_BYTES, column_bytes, row_bytes};
use super::units::Share;
use crate::ring::Ring;

/// Page buffers of columns alone: one computes, one is stored, one loaded, one waits.
const ALONE: usize = 4;

/// What of the factors and taps of rows has room for the next beside those in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// All: they come with the rows, a page early.
    Both,
    /// Taps: those of the next rows come while the blocks of a unit take turns, so that
    /// the channel is not asked for all at once.
    Taps,
    /// Nothing.
    One,
}

/// The buffers of a phase.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) ring: Ring,
    pub(super) room: Room,
    /// Where taps lie that have places of their own.
    pub(super) taps: [u32; 2],
}

/// The places of what takes turns, from `first` on in `dmem` bytes, with as much room
/// for what comes next as there is.
pub(super) fn places(shares: &[Share], cut: Cut, first: u64, dmem: u64) -> Option<Places> {
    let rooms = [Room::Both, Room::Taps, Room::One];
    let mut all = rooms.into_iter().map(|room| with(shares, cut, first, room));
    let fits = |(places, end): (Places, u64)| (end <= dmem).then_some(places);
    all.find_map(|made| fits(made?))
}

/// The same with so much room, and where it ends.
fn with(shares: &[Share], cut: Cut, first: u64, room: Room) -> Option<(Places, u64)> {
    // Buffers of each kind: alone it needs some to wait in; rows come a turn early.
    let alone = shares.len() == 1;
    let (rows, head) = (row_bytes(cut.row), row_bytes(cut.row) - TAP_BYTES);
    let wanted = |kind: Kind| match (kind, room) {
        (Kind::Rows, Room::Both) => (2, rows, 2),
        // Alone the next rows come while these are computed.
        (Kind::Rows, _) if alone => (0, 0, 0),
        (Kind::Rows, Room::Taps) => (2, head, 1),
        (Kind::Rows, Room::One) => (2, rows, 1),
        (Kind::Columns, _) if alone => (ALONE, 0, 1),
        (Kind::Back, _) if alone => (ALONE, column_bytes(cut), ALONE),
        (Kind::Columns, _) => (1, 0, 1),
        (Kind::Back, _) => (1, column_bytes(cut), 1),
    };
    let areas = |kind: Kind| match (kind, room) {
        (Kind::Rows, Room::Taps) => 2,
        _ => wanted(kind).2,
    };
    // After as many steps every kind is at its first page and its first factors again.
    let period = |share: &Share| {
        let (pages, areas) = (wanted(share.kind).0 as u64, areas(share.kind) as u64);
        let factors = if areas > 1 {
            areas * share.unit.blocks
        } else {
            areas
        };
        lcm(pages, factors)
    };
    let steps = shares.iter().map(period).reduce(lcm)?;
    let steps = usize::try_from(steps).ok().filter(|&steps| steps > 0)?;
    let mut end = first + Ring::argument_bytes(shares.len() * steps);
    let mut take = |count: usize, bytes: u64| -> Vec<u32> {
        // Inside DMEM, whose addresses are u32: the caller checks the end.
        let at = (0..count as u64).map(|i| u32::try_from(end + i * bytes).unwrap_or(u32::MAX));
        let at = at.collect();
        end += count as u64 * bytes;
        at
    };
    let mut taps = [0; 2];
    let mut all = Vec::new();
    for share in shares {
        let kind = share.kind;
        let (pages, bytes, areas) = wanted(kind);
        all.push((share, take(pages, PAGE_BYTES), take(areas, bytes)));
        if (kind, room) == (Kind::Rows, Room::Taps) {
            taps.copy_from_slice(&take(2, TAP_BYTES));
        }
    }
    if all
        .iter()
        .any(|(_, pages, areas)| pages.is_empty() || areas.is_empty())
    {
        return None;
    }
    let mut ring = Ring {
        arguments: u32::try_from(first).unwrap_or(u32::MAX),
        pages: Vec::new(),
        factors: Vec::new(),
        beside: Vec::new(),
        behind: 0,
        ahead: if alone { all[0].1.len() } else { shares.len() },
    };
    for step in 0..steps {
        for (share, pages, areas) in &all {
            let group = (share.of_group_before() + step) / share.unit.blocks as usize;
            let factors = areas[group % areas.len()];
            ring.pages.push(pages[step % pages.len()]);
            ring.factors.push(factors);
            ring.beside.push(match (share.kind, room) {
                (Kind::Rows, Room::Taps) => taps[group % 2],
                (Kind::Rows, _) => factors + u32::try_from(head).unwrap_or(0),
                _ => 0,
            });
        }
    }
    Some((Places { ring, room, taps }, end))
}

/// The least common multiple; 0 where a number is.
pub(super) fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x.max(1) * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::long::shape::CUTS;
    use crate::conv::long::units::Unit;

    /// Whatever takes turns: the ring goes round with the buffers of every kind.
    #[test]
    fn a_ring_is_whole_rounds_of_its_buffers() {
        for cut in CUTS {
            for blocks in 1..=16 {
                let share = |&kind: &Kind| Share {
                    kind,
                    number: 0,
                    unit: Unit { first: 0, blocks },
                    start: 0,
                    rotated: 0,
                };
                for kinds in [
                    &Kind::ALL[..],
                    &Kind::ALL[..1],
                    &Kind::ALL[1..],
                    &Kind::ALL[2..],
                ] {
                    let shares: Vec<Share> = kinds.iter().map(share).collect();
                    let Some((Places { ring, .. }, _)) = with(&shares, cut, 0, Room::Taps) else {
                        continue;
                    };
                    let (k, n) = (kinds.len(), ring.pages.len());
                    for kind in 0..k {
                        let own = || {
                            (0..2 * n)
                                .filter(move |i| i % k == kind)
                                .map(|i| ring.pages[i % n])
                        };
                        let first = ring.pages[kind];
                        let distance = own().skip(1).position(|page| page == first);
                        let apart = distance.unwrap() + 1;
                        assert!(
                            own().zip(own().skip(apart)).all(|(a, b)| a == b),
                            "{blocks} {kinds:?}"
                        );
                    }
                }
            }
        }
    }
}
