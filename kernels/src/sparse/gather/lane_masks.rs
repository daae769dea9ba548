//! The masks by which places are selected.

use super::slot_assignment::{ColumnLanes, LaneMask};
use crate::sparse::work::PackingWork;
use std::collections::HashMap;

/// A set that was asked for: loaded, its bits counted, what a mask of its own saves, and that compared and stored.
const ASKED: u64 = 8;
/// A mask that is compared with such a set, or with what is to be selected: loaded and compared.
const COMPARED: u64 = 2;
/// A mask that is looked at for a cover: whether it is inside, three; what of the rest it has, counted and compared
/// with the best.
const LOOKED_AT: u64 = 6;
/// A mask of a cover that is known: loaded and stored.
const COPIED: u64 = 2;

/// Sets of places that registers hold masks of.
///
/// Every place of a section alone is among them, so any set is a union of some.
#[derive(Clone, Debug)]
pub(super) struct Masks {
    sets: Vec<LaneMask>,
    /// The fewest found for sets that were asked for.
    covers: HashMap<LaneMask, Vec<usize>>,
}

impl Masks {
    /// The sets without which not every set could be selected.
    pub(super) fn needed(sections: usize, lanes: ColumnLanes) -> Vec<LaneMask> {
        let places = (0..sections).map(|section| 2 * section as u32);
        match lanes {
            ColumnLanes::Both => places.map(|place| 0b11 << place).collect(),
            _ => places.flat_map(|place| [1 << place, 2 << place]).collect(),
        }
    }

    /// Masks of these sets.
    pub(super) fn new(sets: Vec<LaneMask>) -> Self {
        Self {
            sets,
            covers: HashMap::new(),
        }
    }

    /// The needed masks and of those that were `asked` for so many as there is room for, the most frequent first.
    pub(super) fn chosen(
        sections: usize,
        lanes: ColumnLanes,
        (asked, work): (&HashMap<LaneMask, u64>, &PackingWork),
        room: usize,
    ) -> Self {
        let mut sets = Self::needed(sections, lanes);
        work.add(asked.len(), ASKED);
        work.add(asked.len() * sets.len(), COMPARED);
        let mut others: Vec<(u64, LaneMask)> = asked
            .iter()
            .filter(|(set, _)| !sets.contains(set))
            .map(|(set, count)| {
                // Of what a mask of its own saves: selections of its parts.
                let parts = set.count_ones() / if lanes == ColumnLanes::Both { 2 } else { 1 };
                (count * u64::from(parts.saturating_sub(1)), *set)
            })
            .filter(|(saved, _)| *saved > 0)
            .collect();
        work.sorted(others.len(), 2);
        others.sort_by_key(|&(saved, set)| (std::cmp::Reverse(saved), set));
        sets.extend(others.into_iter().map(|(_, set)| set));
        sets.truncate(room);
        Self::new(sets)
    }

    /// The sets.
    pub(super) fn sets(&self) -> &[LaneMask] {
        &self.sets
    }

    /// Masks that together select a set: their numbers.
    pub(super) fn cover(&mut self, places: LaneMask, work: &PackingWork) -> Vec<usize> {
        work.looked_up(1);
        if let Some(known) = self.covers.get(&places) {
            work.add(known.len(), COPIED);
            return known.clone();
        }
        let mut rest = places;
        let mut cover = Vec::new();
        while rest != 0 {
            work.add(self.sets.len(), LOOKED_AT);
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
        work.looked_up(1);
        work.add(cover.len(), COPIED);
        self.covers.insert(places, cover.clone());
        cover
    }
}
