//! Which groups of rows are multiplied together, and which slots of them.

use super::slot_assignment::MultiplicationSlot;
use crate::sparse::work::PackingWork;

/// Where a multiplication is added to: the sums of both groups, or sums of the longer one that are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SumDestination {
    Pair,
    Extra,
}

/// Slots more of one group than of the other that are worth sums of their own.
const APART: usize = 8;

/// Two groups that are multiplied together, and what the longer one has besides.
#[derive(Debug)]
pub(super) struct GroupPair {
    groups: [Option<usize>; 2],
    /// Slots of both, or of the longer one, that go to the sums of both.
    pub(super) paired: usize,
    /// Slots of the longer one that go, two by two, to sums of their own.
    pub(super) extra: usize,
    /// Slots of the shorter one.
    shorter: usize,
}

/// The groups of a block, those of about as many slots beside one another, the longest first.
pub(super) fn order(groups: &[Vec<MultiplicationSlot>], work: &PackingWork) -> Vec<usize> {
    work.sorted(groups.len(), 1);
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|&group| std::cmp::Reverse(groups[group].len()));
    order
}

/// Slots that are looked at for one that fits another: of rows that are alike it is near.
const NEAR: usize = 32;

/// Two columns: loaded and compared.
const COMPARED: u64 = 3;
/// A slot that is looked at: what fits, compared with the best.
const LOOKED_AT: u64 = 2;
/// Two slots are exchanged: some thirty words each, loaded and stored, by way of a third place.
const EXCHANGED: u64 = 180;

/// Puts the slots of groups that are multiplied together into an order in which they take as many of the same columns as can be: these
/// are loaded once. A group's sums do not care for the order.
pub(super) fn match_slots(groups: &mut [Vec<MultiplicationSlot>], work: &PackingWork) {
    let order = order(groups, work);
    for pair in order.chunks_exact(2) {
        let (longer, mut shorter) = (pair[0], std::mem::take(&mut groups[pair[1]]));
        for (i, own) in groups[longer].iter().enumerate() {
            let near = shorter.iter().skip(i).take(NEAR).map(|slot| {
                let mut same = 0;
                for column in slot.loads.iter().map(|load| load.column) {
                    let found = own.loads.iter().position(|load| load.column == column);
                    work.add(found.map_or(own.loads.len(), |at| at + 1), COMPARED);
                    same += usize::from(found.is_some());
                }
                work.add(1, LOOKED_AT);
                same
            });
            // The first of the best.
            let best = near
                .enumerate()
                .max_by_key(|&(i, same)| (same, std::cmp::Reverse(i)));
            if let Some((best, _)) = best {
                work.add(1, EXCHANGED);
                shorter.swap(i, i + best);
            }
        }
        groups[pair[1]] = shorter;
    }
}

/// A group and a slot of it.
pub(super) type GroupSlot = Option<(usize, usize)>;

impl GroupPair {
    /// Of groups, the longer one first.
    pub(super) fn new(groups: &[usize], len: impl Fn(usize) -> usize) -> Self {
        let groups = [groups.first().copied(), groups.get(1).copied()];
        let [longer, shorter] = groups.map(|group| group.map_or(0, &len));
        let apart = longer - shorter >= APART;
        Self {
            groups,
            paired: if apart { shorter } else { longer },
            extra: if apart { longer - shorter } else { 0 },
            shorter,
        }
    }

    /// Multiplications.
    pub(super) fn steps(&self) -> usize {
        self.paired + self.extra.div_ceil(2)
    }

    /// The slots of a step.
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
