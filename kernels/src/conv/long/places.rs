//! Where pages and factors of a phase lie in local memory.

use super::pages::{Kind, PAGE_BYTES};
use super::shape::Shape;
use super::tables::{TAP_BYTES, column_bytes, row_bytes};
use super::units::Share;
use crate::ring::Ring;

/// Most pages that take turns: two of a kind, or one of each.
const MOST_KINDS: usize = 3;

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

/// Local memory for the pages of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    /// Where it begins and ends.
    pub(super) first: u64,
    pub(super) dmem: u64,
    /// The most room that there is for what comes next where kinds take turns.
    pub(super) most: Room,
}

/// Where the page buffers of each kind that takes turns lie, in the order in which they are filled. A phase finds the
/// places of its first pages free before the last pages of the phase before it are stored.
fn slots(shares: &[Share]) -> Vec<&'static [u64]> {
    let columns = shares.iter().any(|share| share.kind == Kind::Columns);
    let slots = |(index, share): (usize, &Share)| -> &'static [u64] {
        let second = shares[..index].iter().any(|s| s.kind == share.kind);
        match (share.kind, shares.len()) {
            (Kind::Columns, 1) => &[0, 1, 2, 3],
            (Kind::Back, 1) => &[1, 3, 2, 0],
            (Kind::Rows, _) => &[1, 2],
            _ if second => &[3],
            (Kind::Back, _) if columns => &[3],
            _ => &[0],
        }
    };
    shares.iter().enumerate().map(slots).collect()
}

impl Local {
    /// The places of what takes turns in phase `number`, with as much room for what comes next as there is,
    /// beside that for the argument blocks of so many phases.
    pub(super) fn places(
        self,
        shares: &[Share],
        shape: &Shape,
        number: (usize, usize),
    ) -> Option<Places> {
        let rooms = [Room::Both, Room::Taps, Room::One];
        let most = rooms.iter().position(|room| *room == self.most)?;
        let from = if shares.len() > 1 { most } else { 0 };
        let ways = rooms.into_iter().skip(from);
        let mut all = ways.map(|room| self.with(shares, shape, room, number));
        let fits = |(places, end): (Places, u64)| (end <= self.dmem).then_some(places);
        all.find_map(|made| fits(made?))
    }

    /// The same with so much room and in the `number`th of so many areas for argument blocks, and where it ends.
    fn with(
        self,
        shares: &[Share],
        shape: &Shape,
        room: Room,
        (number, arguments): (usize, usize),
    ) -> Option<(Places, u64)> {
        let cut = shape.cut;
        // Of columns alone it needs some to wait in; rows come a turn early.
        let (alone, slots) = (shares.len() == 1, slots(shares));
        let (rows, head) = (row_bytes(cut.row), row_bytes(cut.row) - TAP_BYTES);
        // Bytes of an area of factors, and how many there are.
        let wanted = |kind: Kind| match (kind, room) {
            (Kind::Rows, Room::Both) => (rows, 2),
            // Alone the next rows come while these are computed.
            (Kind::Rows, _) if alone => (0, 0),
            (Kind::Rows, Room::Taps) => (head, 1),
            (Kind::Rows, Room::One) => (rows, 1),
            (Kind::Columns, _) => (0, 1),
            (Kind::Back, _) if alone => (column_bytes(cut), slots[0].len()),
            (Kind::Back, _) => (column_bytes(cut), 1),
        };
        let areas = |kind: Kind| match (kind, room) {
            (Kind::Rows, Room::Taps) => 2,
            _ => wanted(kind).1,
        };
        // After as many steps every kind is at its first page and its first factors again.
        let period = |(share, slots): (&Share, &&[u64])| {
            let pages = slots.len() as u64;
            let areas = areas(share.kind) as u64;
            let factors = if areas > 1 {
                areas * share.unit.blocks
            } else {
                areas
            };
            lcm(pages, factors)
        };
        let steps = shares.iter().zip(&slots).map(period).reduce(lcm)?;
        let steps = usize::try_from(steps).ok().filter(|&steps| steps > 0)?;
        // Inside DMEM, whose addresses are u32: the caller checks the end.
        let at = |address: u64| u32::try_from(address).unwrap_or(u32::MAX);
        let most = Ring::argument_bytes(MOST_KINDS * 2 * shape.together)
            .max(Ring::argument_bytes(shares.len() * steps));
        let pages = self.first + arguments as u64 * most;
        let page = |slot: &u64| at(pages + slot * PAGE_BYTES);
        let used = slots.iter().copied().flatten().max();
        let mut end = pages + used.map_or(0, |slot| slot + 1) * PAGE_BYTES;
        if alone && shares[0].kind == Kind::Back {
            // Where taps lie that are no longer in use when the first of these factors come, if there is room.
            let all = slots[0].len() as u64 * column_bytes(cut);
            end += head.min(self.dmem.saturating_sub(end + all)) & !15;
        }
        let mut take = |count: usize, bytes: u64| -> Vec<u32> {
            let all = (0..count as u64).map(|i| at(end + i * bytes)).collect();
            end += count as u64 * bytes;
            all
        };
        let mut taps = [0; 2];
        let mut all = Vec::new();
        // Those of rows before those of columns.
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by_key(|&index| shares[index].kind != Kind::Rows);
        for index in order {
            let (bytes, areas) = wanted(shares[index].kind);
            let areas = take(areas, bytes);
            if areas.is_empty() {
                return None;
            }
            if (shares[index].kind, room) == (Kind::Rows, Room::Taps) {
                taps.copy_from_slice(&take(2, TAP_BYTES));
            }
            all.push((index, areas));
        }
        all.sort_by_key(|(index, _)| *index);
        let mut ring = Ring {
            arguments: at(self.first + (number % arguments) as u64 * most),
            pages: Vec::new(),
            factors: Vec::new(),
            beside: Vec::new(),
            behind: 0,
            ahead: if alone { slots[0].len() } else { shares.len() },
        };
        for step in 0..steps {
            for ((share, slots), (_, areas)) in shares.iter().zip(&slots).zip(&all) {
                let group = (share.of_group_before() + step) / share.unit.blocks as usize;
                let factors = areas[group % areas.len()];
                ring.pages.push(page(&slots[step % slots.len()]));
                ring.factors.push(factors);
                ring.beside.push(match (share.kind, room) {
                    (Kind::Rows, Room::Taps) => taps[group % 2],
                    (Kind::Rows, _) => factors + at(head),
                    _ => 0,
                });
            }
        }
        Some((Places { ring, room, taps }, end))
    }
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
                let shape = Shape {
                    cut,
                    sections: 4,
                    together: 16,
                    overlap: cut.row,
                };
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
                    let local = Local {
                        first: 0,
                        dmem: 0,
                        most: Room::Both,
                    };
                    let made = local.with(&shares, &shape, Room::Taps, (0, 2));
                    let Some((Places { ring, .. }, _)) = made else {
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
