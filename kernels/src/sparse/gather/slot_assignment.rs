//! Entries of rows assigned to slots of multiplications.
//!
//! A group has one row of each section. A multiplication takes a register of every section: two places for
//! real numbers, one for complex ones. All sections load from the same address, so a load serves the places
//! whose columns are the two at that address. A multiplication takes as many loads as its places have
//! addresses, and for each load beyond the first a selection. So places that one address serves belong
//! together.

use crate::sparse::work::PackingWork;
use smallvec::SmallVec;

/// Numbers that a vector has for each column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnValues {
    /// A real number.
    Real,
    /// A complex number.
    Complex,
    /// A real number of each of two vectors, which are multiplied with the same matrix.
    Two,
    /// A real number in double precision, which takes both lanes.
    Double,
    /// A real number in double-single precision, whose upper part takes the first lane and whose lower part the second.
    DoubleSingle,
}

impl ColumnValues {
    /// Returns the rules by which columns may get to the lanes.
    pub(super) fn lanes(self) -> &'static [ColumnLanes] {
        match self {
            Self::Real => &[ColumnLanes::Own, ColumnLanes::Either],
            Self::Complex | Self::Two | Self::Double | Self::DoubleSingle => &[ColumnLanes::Both],
        }
    }
}

/// Places of all sections, a bit for each: bit 2 s + l is lane l of section s.
pub(super) type LaneMask = u64;

/// Most sections: every place has a bit.
pub(super) const MOST_SECTIONS: usize = 32;

/// Number of entries of a row that are looked at at a time: entries near in a row have columns near in
/// memory. It is even, so that both lanes are full where a row goes on.
const WINDOW_ENTRIES: usize = 48;

/// Rule by which columns get to the places of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnLanes {
    /// Real numbers, each in the lane that its column has in memory.
    Own,
    /// Real numbers in either lane: local memory holds a second copy of the vector, shifted by one.
    Either,
    /// Numbers that take both lanes: complex ones, those of two interleaved vectors, or those of double or
    /// double-single precision.
    Both,
}

impl ColumnLanes {
    /// Returns the entries that a section has in a slot.
    pub(super) fn entries_per_section(self) -> usize {
        match self {
            Self::Both => 1,
            Self::Own | Self::Either => 2,
        }
    }

    /// Returns the first columns of the pairs that contain `column`, and its lane in each.
    fn candidates(self, column: u32, width: u32) -> SmallVec<[(u32, u32); 2]> {
        let mut all = SmallVec::new();
        match self {
            Self::Both => all.push((column, 0)),
            Self::Own => all.push((column & !1, column & 1)),
            Self::Either => {
                // The shifted pairs end with the last whole one.
                if column.is_multiple_of(2) || column + 1 < width {
                    all.push((column, 0));
                }
                if column > 0 {
                    all.push((column - 1, 1));
                }
            }
        }
        all
    }

    /// Returns the places of a lane of a section.
    fn places(self, section: usize, lane: u32) -> LaneMask {
        match self {
            Self::Both => 0b11 << (2 * section),
            _ => 1 << (2 * section as u32 + lane),
        }
    }
}

/// A load, and the places that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotLoad {
    /// First of its two columns.
    pub(super) column: u32,
    /// Places that select from the load.
    pub(super) places: LaneMask,
}

/// A multiplication of every section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MultiplicationSlot {
    pub(super) loads: SmallVec<[SlotLoad; 8]>,
    /// Entry of each place, by section and lane, counted from the first of the row; none where the row has
    /// none left.
    pub(super) entries: SmallVec<[Option<u32>; 8]>,
}

impl MultiplicationSlot {
    /// Returns all places that something is loaded for.
    pub(super) fn filled(&self) -> LaneMask {
        self.loads.iter().fold(0, |all, load| all | load.places)
    }
}

/// A pair of columns that some rows have entries in.
struct ColumnPair {
    column: u32,
    /// Places whose entries are left.
    left: LaneMask,
}

/// Operations to make a candidate of an entry: its column and its lane, compared with the end of the segment;
/// two for the bit of the place; both stored.
const CANDIDATE_OPERATIONS: u64 = 8;
/// Operations to join a candidate with the next one: two columns are compared; two sets are joined and
/// stored.
const JOIN_OPERATIONS: u64 = 7;
/// Operations for a section of a new slot: its entries left are compared; two places become free.
const NEW_SLOT_SECTION_OPERATIONS: u64 = 4;
/// Operations for a candidate that is looked at for a load: the free places of its set are counted and
/// compared.
const LOOK_OPERATIONS: u64 = 4;
/// Operations for a candidate that serves some of them: its other places are counted; three for its worth,
/// and compared with the best.
const WORTH_OPERATIONS: u64 = 6;
/// Operations for a section of a load: its places are shifted out and compared.
const LOAD_SECTION_OPERATIONS: u64 = 3;
/// Operations for an entry that is assigned: its column, its number stored, entries left.
const ASSIGNMENT_OPERATIONS: u64 = 5;
/// Operations for a candidate that loses an entry: its column and its lane; two for the bit of the place; its
/// set is loaded, reduced and stored.
const CLEARING_OPERATIONS: u64 = 7;

/// Assigns the entries of rows, one row for each section, to slots. A row is its columns in ascending order,
/// in a segment of `width` columns of the vector.
pub(super) fn slots(
    rows: &[&[u32]],
    lanes: ColumnLanes,
    width: u32,
    work: &PackingWork,
) -> Vec<MultiplicationSlot> {
    let mut slots = Vec::new();
    let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    for from in (0..longest).step_by(WINDOW_ENTRIES) {
        let part = |row: &&'_ [u32]| from.min(row.len())..(from + WINDOW_ENTRIES).min(row.len());
        let parts: Vec<(usize, &[u32])> = rows
            .iter()
            .map(|row| (from, row.get(part(row)).unwrap_or_default()))
            .collect();
        window_slots(&parts, (lanes, width), &mut slots, work);
    }
    slots
}

/// Assigns parts of rows to slots, each with the number of its first entry.
fn window_slots(
    rows: &[(usize, &[u32])],
    (lanes, width): (ColumnLanes, u32),
    slots: &mut Vec<MultiplicationSlot>,
    work: &PackingWork,
) {
    let mut candidates: Vec<ColumnPair> = Vec::new();
    for (section, (_, columns)) in rows.iter().enumerate() {
        for &column in *columns {
            for (first, lane) in lanes.candidates(column, width) {
                candidates.push(ColumnPair {
                    column: first,
                    left: lanes.places(section, lane),
                });
            }
        }
    }
    work.add(candidates.len(), CANDIDATE_OPERATIONS + JOIN_OPERATIONS);
    work.count_sort(candidates.len(), 2);
    candidates.sort_by_key(|candidate| candidate.column);
    candidates.dedup_by(|next, kept| {
        let same = next.column == kept.column;
        if same {
            kept.left |= next.left;
        }
        same
    });
    let mut left: Vec<usize> = rows.iter().map(|(_, columns)| columns.len()).collect();
    while left.iter().any(|&left| left > 0) {
        let mut slot = MultiplicationSlot {
            entries: SmallVec::from_elem(None, rows.len() * lanes.entries_per_section()),
            ..MultiplicationSlot::default()
        };
        let mut free: LaneMask = 0;
        work.add(left.len(), NEW_SLOT_SECTION_OPERATIONS);
        for (section, &left) in left.iter().enumerate() {
            if left > 0 {
                free |= 0b11 << (2 * section);
            }
        }
        while let Some(best) = best(&candidates, free, work) {
            let (column, places) = (candidates[best].column, candidates[best].left & free);
            slot.loads.push(SlotLoad { column, places });
            free &= !places;
            work.add(rows.len(), LOAD_SECTION_OPERATIONS);
            for (section, (first, columns)) in rows.iter().enumerate() {
                let own = places >> (2 * section) & 0b11;
                let taken: &[(u32, usize)] = match (lanes, own) {
                    (_, 0) => &[],
                    (ColumnLanes::Both, _) | (_, 0b01) => &[(0, 0)],
                    (_, 0b10) => &[(1, 1)],
                    _ => &[(0, 0), (1, 1)],
                };
                for &(beside, lane) in taken {
                    let taken = column + beside;
                    work.searched(columns.len());
                    work.add(1, ASSIGNMENT_OPERATIONS);
                    let Ok(at) = columns.binary_search(&taken) else {
                        continue;
                    };
                    slot.entries[section * lanes.entries_per_section() + lane] =
                        u32::try_from(first + at).ok();
                    left[section] -= 1;
                    clear(&mut candidates, (lanes, width), (section, taken), work);
                }
            }
        }
        if slot.loads.is_empty() {
            // Every entry is in some candidate, so this is not reached.
            return;
        }
        slots.push(slot);
    }
}

/// Returns the candidate that serves the most free places; among equals the one with the fewest other places
/// left.
fn best(candidates: &[ColumnPair], free: LaneMask, work: &PackingWork) -> Option<usize> {
    let mut best: Option<(u32, usize)> = None;
    let mut serve = 0;
    for (i, candidate) in candidates.iter().enumerate() {
        let gain = (candidate.left & free).count_ones();
        if gain == 0 {
            continue;
        }
        serve += 1;
        let others = (candidate.left & !free).count_ones();
        let worth = gain * 256 + (255 - others);
        if best.is_none_or(|(most, _)| worth > most) {
            best = Some((worth, i));
        }
    }
    work.add(candidates.len(), LOOK_OPERATIONS);
    work.add(serve, WORTH_OPERATIONS);
    best.map(|(_, i)| i)
}

/// Removes an entry that has been assigned from all candidates.
fn clear(
    candidates: &mut [ColumnPair],
    (lanes, width): (ColumnLanes, u32),
    (section, column): (usize, u32),
    work: &PackingWork,
) {
    for (first, lane) in lanes.candidates(column, width) {
        work.searched(candidates.len());
        work.add(1, CLEARING_OPERATIONS);
        let found = candidates.binary_search_by_key(&first, |candidate| candidate.column);
        if let Ok(at) = found {
            candidates[at].left &= !lanes.places(section, lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(rows: &[Vec<u32>], lanes: ColumnLanes, width: u32) -> Vec<MultiplicationSlot> {
        let slices: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let slots = slots(&slices, lanes, width, &PackingWork::default());
        let mut dealt: Vec<Vec<bool>> = rows.iter().map(|row| vec![false; row.len()]).collect();
        for slot in &slots {
            let mut seen: LaneMask = 0;
            for load in &slot.loads {
                assert_eq!(seen & load.places, 0, "a place takes one load");
                seen |= load.places;
            }
            for (place, entry) in slot.entries.iter().enumerate() {
                let (section, lane) = (
                    place / lanes.entries_per_section(),
                    place % lanes.entries_per_section(),
                );
                let bit = lanes.places(section, lane as u32);
                let load = slot.loads.iter().find(|load| load.places & bit != 0);
                assert_eq!(load.is_some(), entry.is_some());
                if let (Some(load), Some(entry)) = (load, entry) {
                    let column = rows[section][*entry as usize];
                    assert_eq!(load.column + lane as u32, column);
                    assert!(!std::mem::replace(
                        &mut dealt[section][*entry as usize],
                        true
                    ));
                }
            }
        }
        assert!(
            dealt.iter().flatten().all(|&dealt| dealt),
            "every entry is dealt"
        );
        slots
    }

    fn rows() -> impl Strategy<Value = Vec<Vec<u32>>> {
        let row = proptest::collection::btree_set(0u32..200, 0..120);
        let row = row.prop_map(|row| row.into_iter().collect::<Vec<u32>>());
        proptest::collection::vec(row, 1..6)
    }

    proptest! {
        /// Every entry is in one place, where the load of that place has its column, and shifted pairs are
        /// whole.
        #[test]
        fn every_entry_has_its_place(rows in rows()) {
            entries_have_their_places(&rows);
        }
    }

    fn entries_have_their_places(rows: &[Vec<u32>]) {
        for lanes in [ColumnLanes::Own, ColumnLanes::Either, ColumnLanes::Both] {
            let slots = check(rows, lanes, 200);
            let beyond = |load: &SlotLoad| load.column % 2 == 1 && load.column + 1 >= 200;
            assert!(
                lanes == ColumnLanes::Both
                    || !slots.iter().flat_map(|slot| &slot.loads).any(beyond)
            );
            let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
            if lanes != ColumnLanes::Own && longest <= WINDOW_ENTRIES {
                // No slot has a free place while its section has entries left, unless all that are left need
                // the other lane: those at the ends.
                assert!(slots.len() <= longest.div_ceil(lanes.entries_per_section()) + 1);
            }
        }
    }

    /// Columns in runs whose last ones all need the same lane.
    #[test]
    fn runs_of_columns_have_their_places() {
        let runs = [
            0..=2,
            5..=11,
            14..=23,
            26..=34,
            40..=42,
            63..=63,
            87..=87,
            96..=100,
            120..=121,
            199..=199,
        ];
        entries_have_their_places(&[runs.into_iter().flatten().collect()]);
    }

    /// The operations of small rows, counted by hand.
    #[test]
    fn operations_are_those_that_are_done() {
        let counted = |rows: &[&[u32]]| {
            let work = PackingWork::default();
            slots(rows, ColumnLanes::Own, 20, &work);
            work.operations()
        };
        assert_eq!(counted(&[&[]]), 0);
        // A candidate is made (15), and nothing is sorted. The section is free (4); the candidate is looked at
        // and serves (10); its section is checked (3). The entry is found in its row (4) and assigned (5); the
        // candidate is found (4) and cleared (7). Then it is looked at again (4).
        assert_eq!(counted(&[&[6]]), 15 + 4 + 10 + 3 + 4 + 5 + 4 + 7 + 4);
        // Four candidates of one pair are sorted by 4 * 2 comparisons of 7 operations and joined to one,
        // which serves two sections with two entries each, found in two steps.
        let dealt = 4 * (2 * 4 + 5 + 4 + 7);
        let one_load = 2 * 4 + 10 + 2 * 3 + dealt + 4;
        assert_eq!(counted(&[&[2, 3], &[2, 3]]), 4 * 15 + 8 * 7 + one_load);
    }

    /// Equal rows with adjacent columns need one load for all places.
    #[test]
    fn equal_rows_share_loads() {
        let rows = vec![vec![3, 4, 10, 11, 12, 13]; 4];
        let slots = check(&rows, ColumnLanes::Either, 20);
        assert_eq!(slots.len(), 3);
        assert!(slots.iter().all(|slot| slot.loads.len() == 1));
    }
}
