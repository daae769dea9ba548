//! Groups of rows that are multiplied together.

use super::slot_assignment::MultiplicationSlot;
use crate::sparse::work::PackingWork;

/// Sums that a multiplication is added to: those of both groups, or extra sums of the longer group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SumDestination {
    Pair,
    Extra,
}

/// Difference of the slots of two groups from which on extra sums pay.
const MIN_SLOT_DIFFERENCE: usize = 8;

/// Two groups that are multiplied together, and the extra slots of the longer one.
#[derive(Debug)]
pub(super) struct GroupPair {
    groups: [Option<usize>; 2],
    /// Slots of both, or of the longer one, that go to the sums of both.
    pub(super) paired: usize,
    /// Slots of the longer group that go, two at a time, to extra sums.
    pub(super) extra: usize,
    /// Slots of the shorter group.
    shorter: usize,
}

/// Orders the groups of a block by their slots, the longest first, so that adjacent groups have about as
/// many.
pub(super) fn order(groups: &[Vec<MultiplicationSlot>], work: &PackingWork) -> Vec<usize> {
    work.count_sort(groups.len(), 1);
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|&group| std::cmp::Reverse(groups[group].len()));
    order
}

/// Number of slots that are looked at for one that fits another: in rows that are alike it is near.
const SEARCHED_SLOTS: usize = 32;

/// Operations to load and compare two columns.
const COMPARISON_OPERATIONS: u64 = 3;
/// Operations for a slot that is looked at: its count of common columns is compared with the best.
const SLOT_LOOK_OPERATIONS: u64 = 2;
/// Operations to exchange two slots: some thirty words each are loaded and stored, by way of a third place.
const EXCHANGE_OPERATIONS: u64 = 180;

/// Orders the slots of groups that are multiplied together such that they have as many columns in common as
/// possible: those are loaded once. The sums of a group do not depend on the order.
pub(super) fn match_slots(groups: &mut [Vec<MultiplicationSlot>], work: &PackingWork) {
    let order = order(groups, work);
    for pair in order.chunks_exact(2) {
        let (longer, mut shorter) = (pair[0], std::mem::take(&mut groups[pair[1]]));
        for (i, own) in groups[longer].iter().enumerate() {
            let near = shorter.iter().skip(i).take(SEARCHED_SLOTS).map(|slot| {
                let mut same = 0;
                for column in slot.loads.iter().map(|load| load.column) {
                    let found = own.loads.iter().position(|load| load.column == column);
                    work.add(
                        found.map_or(own.loads.len(), |at| at + 1),
                        COMPARISON_OPERATIONS,
                    );
                    same += usize::from(found.is_some());
                }
                work.add(1, SLOT_LOOK_OPERATIONS);
                same
            });
            // Take the first of the best.
            let best = near
                .enumerate()
                .max_by_key(|&(i, same)| (same, std::cmp::Reverse(i)));
            if let Some((best, _)) = best {
                work.add(1, EXCHANGE_OPERATIONS);
                shorter.swap(i, i + best);
            }
        }
        groups[pair[1]] = shorter;
    }
}

/// A group and a slot of it.
pub(super) type GroupSlot = Option<(usize, usize)>;

impl GroupPair {
    /// Makes a pair of groups, the longer one first.
    pub(super) fn new(groups: &[usize], len: impl Fn(usize) -> usize) -> Self {
        let groups = [groups.first().copied(), groups.get(1).copied()];
        let [longer, shorter] = groups.map(|group| group.map_or(0, &len));
        let apart = longer - shorter >= MIN_SLOT_DIFFERENCE;
        Self {
            groups,
            paired: if apart { shorter } else { longer },
            extra: if apart { longer - shorter } else { 0 },
            shorter,
        }
    }

    /// Returns the number of multiplications.
    pub(super) fn steps(&self) -> usize {
        self.paired + self.extra.div_ceil(2)
    }

    /// Returns the slots of a step, and the sums that they go to.
    pub(super) fn step(&self, step: usize) -> Option<([GroupSlot; 2], SumDestination)> {
        let longer = self.groups[0]?;
        if step < self.paired {
            let shorter = self.groups[1].filter(|_| step < self.shorter);
            return Some((
                [Some((longer, step)), shorter.map(|group| (group, step))],
                SumDestination::Pair,
            ));
        }
        let first = 2 * (step - self.paired);
        let side = |i: usize| (i < self.extra).then_some((longer, self.paired + i));
        (first < self.extra).then(|| ([side(first), side(first + 1)], SumDestination::Extra))
    }
}
