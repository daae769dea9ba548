//! The masks by which lanes are selected.

use super::slot_assignment::{ColumnLanes, LaneMask};
use crate::sparse::work::PackingWork;
use std::collections::HashMap;

/// Operations for a set that was asked for: it is loaded, its bits are counted, and the saving of a mask of
/// its own is compared and stored.
const REQUEST_OPERATIONS: u64 = 8;
/// Operations for a mask that is compared with such a set, or with a set to be selected.
const COMPARISON_OPERATIONS: u64 = 2;
/// Operations for a mask that is looked at for a cover: three to check whether it is inside, the rest to
/// count what it covers and to compare that with the best.
const COVER_LOOK_OPERATIONS: u64 = 6;
/// Operations for a mask of a known cover: it is loaded and stored.
const COPY_OPERATIONS: u64 = 2;

/// Sets of places that registers hold masks of.
///
/// They include every place of a section alone, so any set is a union of some.
#[derive(Clone, Debug)]
pub(super) struct Masks {
    sets: Vec<LaneMask>,
    /// Fewest masks found for sets that were asked for.
    covers: HashMap<LaneMask, Vec<usize>>,
}

impl Masks {
    /// Returns the sets without which some sets could not be selected.
    pub(super) fn needed(sections: usize, lanes: ColumnLanes) -> Vec<LaneMask> {
        let places = (0..sections).map(|section| 2 * section as u32);
        match lanes {
            ColumnLanes::Both => places.map(|place| 0b11 << place).collect(),
            _ => places.flat_map(|place| [1 << place, 2 << place]).collect(),
        }
    }

    /// Makes the masks of these sets.
    pub(super) fn new(sets: Vec<LaneMask>) -> Self {
        Self {
            sets,
            covers: HashMap::new(),
        }
    }

    /// Chooses the needed masks, and masks of the `asked` sets while there is room; those that save the most
    /// selections come first.
    pub(super) fn chosen(
        sections: usize,
        lanes: ColumnLanes,
        (asked, work): (&HashMap<LaneMask, u64>, &PackingWork),
        room: usize,
    ) -> Self {
        let mut sets = Self::needed(sections, lanes);
        work.add(asked.len(), REQUEST_OPERATIONS);
        work.add(asked.len() * sets.len(), COMPARISON_OPERATIONS);
        let mut others: Vec<(u64, LaneMask)> = asked
            .iter()
            .filter(|(set, _)| !sets.contains(set))
            .map(|(set, count)| {
                // A mask of its own replaces the selections of the set's parts by one.
                let parts = set.count_ones() / if lanes == ColumnLanes::Both { 2 } else { 1 };
                (count * u64::from(parts.saturating_sub(1)), *set)
            })
            .filter(|(saved, _)| *saved > 0)
            .collect();
        work.count_sort(others.len(), 2);
        others.sort_by_key(|&(saved, set)| (std::cmp::Reverse(saved), set));
        sets.extend(others.into_iter().map(|(_, set)| set));
        sets.truncate(room);
        Self::new(sets)
    }

    /// Returns the sets.
    pub(super) fn sets(&self) -> &[LaneMask] {
        &self.sets
    }

    /// Returns the numbers of masks that together select a set (greedy cover: each takes the most of the
    /// rest).
    pub(super) fn cover(&mut self, places: LaneMask, work: &PackingWork) -> Vec<usize> {
        work.count_lookups(1);
        if let Some(known) = self.covers.get(&places) {
            work.add(known.len(), COPY_OPERATIONS);
            return known.clone();
        }
        let mut rest = places;
        let mut cover = Vec::new();
        while rest != 0 {
            work.add(self.sets.len(), COVER_LOOK_OPERATIONS);
            let inside = self.sets.iter().enumerate();
            let inside = inside.filter(|(_, set)| **set & !places == 0);
            let best =
                inside.max_by_key(|(i, set)| ((**set & rest).count_ones(), std::cmp::Reverse(*i)));
            let Some((number, set)) = best.filter(|(_, set)| **set & rest != 0) else {
                break;
            };
            cover.push(number);
            rest &= !set;
        }
        work.count_lookups(1);
        work.add(cover.len(), COPY_OPERATIONS);
        self.covers.insert(places, cover.clone());
        cover
    }
}
