//! DMEM places of the pages, factors and taps of a phase.

use super::pages::{LongPageKind, PAGE_BYTES};
use super::schedule::PhaseShare;
use super::shape::LongBlockShape;
use super::twiddle_tables::{TAP_BYTES, column_bytes, row_bytes};
use cp2_host::paging::Ring;

/// Most pages of a round that are loaded before the first of them is stored. Also the most pages of a round
/// whose buffers and factors change from round to round: two of a kind, or one of each.
const MOST_AHEAD: usize = 3;

/// Tables of rows that have a second area, into which the next ones are loaded while those are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrefetchRoom {
    /// Factors and taps: both are loaded with the rows, a page early.
    Both,
    /// Taps alone: those of the next rows are loaded while the blocks of a unit take turns, so that the
    /// channel is not asked for all at once.
    Taps,
    /// No tables.
    One,
}

/// DMEM buffers of a phase.
#[derive(Debug)]
pub(super) struct PhaseBuffers {
    pub(super) ring: Ring,
    pub(super) room: PrefetchRoom,
    /// DMEM addresses of the taps that have areas of their own.
    pub(super) taps: [u32; 2],
}

/// Local memory available for the pages of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhaseDmem {
    /// First address, and end of DMEM.
    pub(super) first: u64,
    pub(super) dmem: u64,
    /// Most prefetch room to use where several kinds take turns.
    pub(super) most: PrefetchRoom,
}

/// Returns the numbers of the page buffers of each share, in the order in which they are filled. The places
/// of a phase's first pages are free before the last pages of the phase before are stored.
fn slots(shares: &[PhaseShare]) -> Vec<&'static [u64]> {
    let columns = shares
        .iter()
        .any(|share| share.kind == LongPageKind::Columns);
    let slots = |(index, share): (usize, &PhaseShare)| -> &'static [u64] {
        let second = shares[..index].iter().any(|s| s.kind == share.kind);
        match (share.kind, shares.len()) {
            (LongPageKind::Columns, 1) => &[0, 1, 2, 3],
            (LongPageKind::Back, 1) => &[1, 3, 2, 0],
            // Three pages of columns go through two buffers.
            (LongPageKind::Rows, 5) if second => &[2],
            (LongPageKind::Rows, 5) => &[1],
            (_, 5) if index == 2 => &[3, 0],
            (_, 5) => &[0, 3],
            (LongPageKind::Rows, _) => &[1, 2],
            _ if second => &[3],
            (LongPageKind::Back, _) if columns => &[3],
            _ => &[0],
        }
    };
    shares.iter().enumerate().map(slots).collect()
}

impl PhaseDmem {
    /// Returns the places of the buffers of phase `number.0`, with as much prefetch room as fits beside the
    /// argument blocks of `number.1` phases.
    pub(super) fn places(
        self,
        shares: &[PhaseShare],
        shape: &LongBlockShape,
        number: (usize, usize),
    ) -> Option<PhaseBuffers> {
        let rooms = [PrefetchRoom::Both, PrefetchRoom::Taps, PrefetchRoom::One];
        let most = rooms.iter().position(|room| *room == self.most)?;
        let from = if shares.len() > 1 { most } else { 0 };
        let ways = rooms.into_iter().skip(from);
        let mut all = ways.map(|room| self.place_with_room(shares, shape, room, number));
        let fits = |(places, end): (PhaseBuffers, u64)| (end <= self.dmem).then_some(places);
        all.find_map(|made| fits(made?))
    }

    /// Returns the places with this prefetch room, with the argument blocks in area `number` modulo
    /// `arguments`, and the end of the memory used.
    fn place_with_room(
        self,
        shares: &[PhaseShare],
        shape: &LongBlockShape,
        room: PrefetchRoom,
        (number, arguments): (usize, usize),
    ) -> Option<(PhaseBuffers, u64)> {
        let phase = Arrangement {
            shares,
            shape,
            room,
            slots: slots(shares),
        };
        let rounds = phase.rounds()?;
        let most = Ring::argument_bytes(MOST_AHEAD * 2 * shape.together)
            .max(Ring::argument_bytes(shares.len() * rounds));
        let pages = self.first + arguments as u64 * most;
        let used = phase.slots.iter().copied().flatten().max();
        let mut end = pages + used.map_or(0, |slot| slot + 1) * PAGE_BYTES;
        let [first, ..] = shares else { return None };
        if phase.is_alone() && first.kind == LongPageKind::Back {
            // Place the factors, if there is room, where the taps of rows lay, which are no longer in use
            // when these factors are loaded.
            let head = row_bytes(shape.cut.row) - TAP_BYTES;
            let (bytes, areas) = phase.factors(LongPageKind::Back);
            let all = areas as u64 * bytes;
            end += head.min(self.dmem.saturating_sub(end + all)) & !15;
        }
        let factors = phase.all_factors(&mut end)?;
        let ring = Ring {
            arguments: dmem_address(self.first + (number % arguments) as u64 * most),
            pages: Vec::new(),
            factors: Vec::new(),
            beside: Vec::new(),
            behind: 0,
            ahead: if phase.is_alone() {
                phase.slots[0].len()
            } else {
                shares.len().min(MOST_AHEAD)
            },
        };
        let ring = phase.ring(ring, pages, rounds, &factors);
        let taps = factors.taps;
        Some((PhaseBuffers { ring, room, taps }, end))
    }
}

/// Shares of a phase, and the prefetch room and page buffers they have.
struct Arrangement<'a> {
    shares: &'a [PhaseShare],
    shape: &'a LongBlockShape,
    room: PrefetchRoom,
    /// Page buffers of each share.
    slots: Vec<&'static [u64]>,
}

/// DMEM addresses of factors: the areas of each share, and the taps that have areas of their own.
struct FactorAreas {
    areas: Vec<Vec<u32>>,
    taps: [u32; 2],
}

impl Arrangement<'_> {
    /// Returns whether the phase has one share. A single share needs several buffers for prefetched pages;
    /// with more, the pages of the others are computed meanwhile.
    fn is_alone(&self) -> bool {
        self.shares.len() == 1
    }

    /// Returns the bytes of an area of factors of a kind, and the number of areas.
    fn factors(&self, kind: LongPageKind) -> (u64, usize) {
        let rows = row_bytes(self.shape.cut.row);
        match (kind, self.room) {
            (LongPageKind::Rows, PrefetchRoom::Both) => (rows, 2),
            // Rows alone need two areas: the next tables are loaded while these are in use.
            (LongPageKind::Rows, _) if self.is_alone() => (0, 0),
            (LongPageKind::Rows, PrefetchRoom::Taps) => (rows - TAP_BYTES, 1),
            (LongPageKind::Rows, PrefetchRoom::One) => (rows, 1),
            (LongPageKind::Columns, _) => (0, 1),
            (LongPageKind::Back, _) if self.is_alone() => {
                (column_bytes(self.shape.cut), self.slots[0].len())
            }
            (LongPageKind::Back, _) => (column_bytes(self.shape.cut), 1),
        }
    }

    /// Allocates the areas of all shares from `end` on, which is moved: those of rows before those of
    /// columns. Shares of one kind that follow one another use the same areas. None where rows have no room.
    fn all_factors(&self, end: &mut u64) -> Option<FactorAreas> {
        let mut take = |count: usize, bytes: u64| -> Vec<u32> {
            let all = (0..count as u64)
                .map(|i| dmem_address(*end + i * bytes))
                .collect();
            *end += count as u64 * bytes;
            all
        };
        let mut factors = FactorAreas {
            areas: vec![Vec::new(); self.shares.len()],
            taps: [0; 2],
        };
        let mut order: Vec<usize> = (0..self.shares.len()).collect();
        order.sort_by_key(|&index| self.shares[index].kind != LongPageKind::Rows);
        for index in order {
            let share = &self.shares[index];
            let twin = self.shares.iter().position(|s| s.kind == share.kind);
            factors.areas[index] = if let Some(twin) = twin.filter(|_| share.nth.0 > 0) {
                factors.areas[twin].clone()
            } else {
                let (bytes, areas) = self.factors(share.kind);
                let areas = take(areas, bytes);
                if (share.kind, self.room) == (LongPageKind::Rows, PrefetchRoom::Taps) {
                    factors.taps.copy_from_slice(&take(2, TAP_BYTES));
                }
                areas
            };
            if factors.areas[index].is_empty() {
                return None;
            }
        }
        Some(factors)
    }

    /// Returns the number of rounds after which every kind is at its first buffer and its first factors
    /// again.
    fn rounds(&self) -> Option<usize> {
        let rounds = |(share, slots): (&PhaseShare, &&[u64])| {
            let areas = match (share.kind, self.room) {
                (LongPageKind::Rows, PrefetchRoom::Taps) => 2,
                (kind, _) => self.factors(kind).1,
            } as u64;
            let pages = if areas > 1 {
                areas * share.unit.blocks
            } else {
                areas
            };
            let of = share.nth.1;
            lcm(slots.len() as u64, lcm(pages, of) / of.max(1))
        };
        let rounds = self
            .shares
            .iter()
            .zip(&self.slots)
            .map(rounds)
            .reduce(lcm)?;
        usize::try_from(rounds).ok().filter(|&rounds| rounds > 0)
    }

    /// Adds the buffers of so many rounds to the ring; page buffers begin at `first`.
    fn ring(&self, mut ring: Ring, first: u64, rounds: usize, factors: &FactorAreas) -> Ring {
        let head = dmem_address(row_bytes(self.shape.cut.row) - TAP_BYTES);
        for round in 0..rounds {
            for ((share, slots), areas) in self.shares.iter().zip(&self.slots).zip(&factors.areas) {
                let group = share.group_from_first(round);
                let area = areas[group % areas.len()];
                ring.pages.push(dmem_address(
                    first + slots[round % slots.len()] * PAGE_BYTES,
                ));
                ring.factors.push(area);
                ring.beside.push(match (share.kind, self.room) {
                    (LongPageKind::Rows, PrefetchRoom::Taps) => factors.taps[group % 2],
                    (LongPageKind::Rows, _) => area + head,
                    _ => 0,
                });
            }
        }
        ring
    }
}

/// Converts a DMEM address to u32; the caller checks the end of the memory.
fn dmem_address(address: u64) -> u32 {
    u32::try_from(address).unwrap_or(u32::MAX)
}

/// Returns the least common multiple; 0 if a number is 0.
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
    use crate::conv::overlap_save_long::schedule::BlockGroup;
    use crate::conv::overlap_save_long::shape::CUTS;

    use LongPageKind::{Back, Columns, Rows};

    /// Makes shares of kinds that take turns; shares of one kind follow one another.
    fn shares(kinds: &[LongPageKind], blocks: u64) -> Vec<PhaseShare> {
        let count =
            |kinds: &[LongPageKind], kind| kinds.iter().filter(|k| **k == kind).count() as u64;
        let share = |(index, &kind): (usize, &LongPageKind)| PhaseShare {
            kind,
            number: 0,
            unit: BlockGroup { first: 0, blocks },
            start: 0,
            nth: (count(&kinds[..index], kind), count(kinds, kind)),
            rotated: 0,
        };
        kinds.iter().enumerate().map(share).collect()
    }

    /// For all kinds that take turns, the ring repeats with the buffers of every kind and with the places of
    /// the taps, which change with the factors.
    #[test]
    fn a_ring_is_whole_rounds_of_its_buffers() {
        for cut in CUTS {
            for blocks in 1..=16 {
                let shape = LongBlockShape {
                    cut,
                    sections: 4,
                    together: 16,
                    overlap: cut.row,
                };
                for kinds in [
                    &LongPageKind::ALL[..],
                    &LongPageKind::ALL[..1],
                    &LongPageKind::ALL[1..],
                    &LongPageKind::ALL[2..],
                    &[Columns, Rows, Columns, Rows, Back],
                    &[Columns, Rows, Back, Rows, Back],
                ] {
                    let shares = shares(kinds, blocks);
                    let local = PhaseDmem {
                        first: 0,
                        dmem: 0,
                        most: PrefetchRoom::Both,
                    };
                    let made = local.place_with_room(&shares, &shape, PrefetchRoom::Taps, (0, 2));
                    let Some((PhaseBuffers { ring, .. }, _)) = made else {
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
                    let rows = (0..2 * n).filter(|i| kinds[i % k] == Rows);
                    let taps: Vec<u32> = rows.map(|i| ring.beside[i % n]).collect();
                    for (page, at) in taps.iter().enumerate() {
                        let same = (page / blocks as usize).is_multiple_of(2);
                        assert_eq!(*at == taps[0], same, "{blocks} {kinds:?} {page}");
                    }
                }
            }
        }
    }

    /// No page shares a buffer with another that is loaded before it is stored: the pages of a round and
    /// those loaded ahead of it; rows are loaded one page earlier.
    #[test]
    fn pages_under_way_lie_apart() {
        for kinds in [
            &LongPageKind::ALL[..],
            &[Columns, Columns, Rows],
            &[Rows, Back, Back],
            &[Columns, Rows, Columns, Rows, Back],
            &[Columns, Rows, Back, Rows, Back],
        ] {
            let slots = slots(&shares(kinds, 2));
            let at = |page: usize| {
                let own = slots[page % kinds.len()];
                own[page / kinds.len() % own.len()]
            };
            for page in 0..4 * kinds.len() {
                let early = usize::from(kinds[page % kinds.len()] == Rows);
                let before = page.saturating_sub(MOST_AHEAD - 1 + early)..page;
                for other in before {
                    assert_ne!(at(page), at(other), "{kinds:?}: {other} and {page}");
                }
            }
        }
    }
}
