//! Groups blocks, and says which kinds of pages alternate when.

use super::pages::LongPageKind;

/// A unit: a few blocks that go through their pages together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockGroup {
    /// Number of its first block.
    pub(super) first: u64,
    /// Number of its blocks.
    pub(super) blocks: u64,
}

/// Share of one kind of pages in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PhaseShare {
    pub(super) kind: LongPageKind,
    /// Number of the unit that it begins in; units of the same size may follow it.
    pub(super) number: u64,
    pub(super) unit: BlockGroup,
    /// Pages of this unit that were done before.
    pub(super) start: u64,
    /// Which page of its kind in a round it is, and how many of them follow one another in the unit.
    pub(super) nth: (u64, u64),
    /// Page of a unit that comes first: the order of the pages is rotated by it.
    pub(super) rotated: u64,
}

/// Shares that alternate, and the pages of each.
pub(super) type KindTurns = (Vec<PhaseShare>, u64);

impl PhaseShare {
    /// Returns the page of round `round`, counted in its unit.
    pub(super) fn page(&self, round: u64) -> u64 {
        let (nth, of) = self.nth;
        self.start + nth + of * round
    }

    /// Returns the first group of pages with the same factors, in the order of the pages.
    pub(super) fn first_group(&self) -> u64 {
        self.start / self.unit.blocks
    }

    /// Returns the distance from the first group of pages with the same factors to the group of round
    /// `round`.
    pub(super) fn group_from_first(&self, round: usize) -> usize {
        let before = (self.start + self.rotated) % self.unit.blocks;
        ((before + self.page(round as u64) - self.start) / self.unit.blocks) as usize
    }
}

/// Groups `total` blocks into units of at most `together`. While the first and the last columns are moved
/// there is nothing to compute, so the first and the last units can be smaller: they grow from `first` blocks
/// in steps of `first`, and shrink alike. The columns of the units before and behind are then together as
/// many as two of the rows between. None if there are too few blocks.
pub(super) fn build_groups(total: u64, together: u64, first: u64) -> Option<Vec<BlockGroup>> {
    let steps = together.checked_sub(1)?.checked_div(first)?;
    let edges: Vec<u64> = (1..=steps).map(|step| step * first).collect();
    let middle = total.checked_sub(2 * edges.iter().sum::<u64>())?;
    let count = middle.div_ceil(together);
    let (each, more) = (
        middle.checked_div(count).unwrap_or(0),
        middle.checked_rem(count).unwrap_or(0),
    );
    let largest = edges.last().copied().unwrap_or(1);
    if count > 0 && each < largest {
        return None;
    }
    let middle = (0..count).map(|unit| each + u64::from(unit < more));
    let edge = || edges.iter().copied();
    Some(number_groups(edge().chain(middle).chain(edge().rev())))
}

/// Groups `total` blocks into units of `together`, except the first, of `first` blocks, and the last, of the
/// rest. Even sizes allow rounds to be merged. None where the last would be less than a third of the others,
/// which would then have to wait.
pub(super) fn build_equal_groups(total: u64, together: u64, first: u64) -> Option<Vec<BlockGroup>> {
    let behind = total.checked_sub(first)?.checked_sub(1)?;
    let (middle, last) = (
        behind.checked_div(together)?,
        behind.checked_rem(together)? + 1,
    );
    let sizes = std::iter::repeat_n(together, usize::try_from(middle).ok()?);
    let all = std::iter::once(first).chain(sizes).chain([last]);
    (middle > 0 && 3 * last >= together).then(|| number_groups(all))
}

/// Numbers units of these sizes, one behind the other.
fn number_groups(sizes: impl Iterator<Item = u64>) -> Vec<BlockGroup> {
    let mut first = 0;
    let unit = |blocks| {
        first += blocks;
        BlockGroup {
            first: first - blocks,
            blocks,
        }
    };
    sizes.map(unit).collect()
}

/// Order of pages where a unit has more columns, or fewer rows, than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounds {
    /// A page of each kind in a round; the rest of one kind follows.
    Single,
    /// Two pages of columns with one of rows where there are fewer rows, so that the channel has less to do
    /// for each.
    Doubled,
    /// Doubled rounds, and in addition rounds of all three kinds merged with rounds of columns and rows. The
    /// latter alone ask for less of the channel than of CP2, the former for more.
    Merged,
}

impl Rounds {
    pub(super) const ALL: [Self; 3] = [Self::Single, Self::Doubled, Self::Merged];
}

/// Returns the shares that alternate and the pages of each. The units, of `pages` pages a block and kind,
/// enter one by one.
pub(super) fn turns(units: &[BlockGroup], pages: u64, rounds: Rounds) -> Vec<KindTurns> {
    let mut all: Vec<KindTurns> = Vec::new();
    for turn in 0..units.len() + 2 {
        let shares = (0..).zip(LongPageKind::ALL).filter_map(|(behind, kind)| {
            let number = turn.checked_sub(behind)?;
            let unit = *units.get(number)?;
            Some(PhaseShare {
                kind,
                number: number as u64,
                unit,
                start: 0,
                nth: (0, 1),
                rotated: 0,
            })
        });
        let mut left: Vec<PhaseShare> = shares.collect();
        if left.len() > 1 {
            // Inverse columns begin in the middle of a turn: their factors are loaded when those of rows are
            // not.
            for share in left
                .iter_mut()
                .filter(|share| share.kind == LongPageKind::Back)
            {
                let half = share.unit.blocks / 2;
                share.rotated = match rounds {
                    // An even number, as pages go in pairs.
                    Rounds::Merged => half & !1,
                    _ => half,
                };
            }
        }
        let rest = |share: &PhaseShare| share.unit.blocks * pages - share.start;
        while let Some(steps) = left.iter().map(rest).min() {
            let together = match rounds {
                Rounds::Single => None,
                Rounds::Doubled => double(&left, rest),
                Rounds::Merged => merge(&left, rest).or_else(|| double(&left, rest)),
            };
            if let Some((shares, steps)) = together {
                for share in &mut left {
                    let times = shares.iter().filter(|s| s.kind == share.kind).count();
                    share.start += times as u64 * steps;
                }
                all.push((shares, steps));
            } else {
                match all.last_mut() {
                    Some((last, done)) if continues_phase(last, &left) => *done += steps,
                    _ => all.push((left.clone(), steps)),
                }
                for share in &mut left {
                    share.start += steps;
                }
            }
            left.retain(|share| rest(share) > 0);
        }
    }
    all
}

/// Makes a phase of two pages of columns with one of rows, if only these two kinds are left and more columns
/// than rows.
fn double(left: &[PhaseShare], rest: impl Fn(&PhaseShare) -> u64) -> Option<KindTurns> {
    let [a, b] = left else {
        return None;
    };
    let (rows, columns) = if a.kind == LongPageKind::Rows {
        (a, b)
    } else {
        (b, a)
    };
    let steps = rest(columns).saturating_sub(rest(rows)).min(rest(rows));
    let second = PhaseShare {
        start: columns.start + steps,
        ..*columns
    };
    let shares = match columns.kind {
        LongPageKind::Columns => vec![*columns, second, *rows],
        _ => vec![*rows, *columns, second],
    };
    (steps > 0).then_some((shares, steps))
}

/// Makes a phase of all three kinds: one page of the kind of columns with the fewest pages left, two pages of
/// each of the others. It lasts as long as the rest of the rows can still have a page of columns each.
fn merge(left: &[PhaseShare], rest: impl Fn(&PhaseShare) -> u64) -> Option<KindTurns> {
    let [columns, rows, back] = left else {
        return None;
    };
    let forward = rest(columns) > rest(back);
    let (more, fewer) = if forward {
        (columns, back)
    } else {
        (back, columns)
    };
    let doubled = rest(more).saturating_sub(rest(rows));
    let pairs = rest(more).min(rest(rows));
    let steps = pairs.saturating_sub(rest(fewer) + doubled).min(rest(fewer));
    // Two pages that follow each other have the same factors.
    let paired = |share: &PhaseShare| {
        share.unit.blocks.is_multiple_of(2) && (share.start + share.rotated).is_multiple_of(2)
    };
    if steps == 0 || !paired(rows) || !(forward || paired(more)) {
        return None;
    }
    let two = |share: &PhaseShare| {
        [0, 1].map(|nth| PhaseShare {
            nth: (nth, 2),
            ..*share
        })
    };
    let ([first, second], [a, b]) = (two(rows), two(more));
    let shares = if forward {
        vec![a, first, b, second, *back]
    } else {
        vec![*columns, first, a, second, b]
    };
    Some((shares, steps))
}

/// Returns whether `next` continues the phase `last`: the same kinds, whole units, all of one size.
fn continues_phase(last: &[PhaseShare], next: &[PhaseShare]) -> bool {
    let Some(size) = last.first().map(|share| share.unit.blocks) else {
        return false;
    };
    let kinds = |shares: &[PhaseShare]| shares.iter().map(|share| share.kind).collect::<Vec<_>>();
    let mut all = last.iter().chain(next);
    kinds(last) == kinds(next) && all.all(|share| share.start == 0 && share.unit.blocks == size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// In all schedules every block goes through all its pages of every kind once, no kind begins with a
    /// block before the kind before is done with it, and two pages of a round that follow one another have
    /// the same factors.
    #[test]
    fn every_page_has_its_turn() {
        let pages = 3;
        let mut merged = 0;
        for (total, together, first) in (1..40).flat_map(|total| {
            (1..9)
                .flat_map(move |together| (1..=together).map(move |first| (total, together, first)))
        }) {
            let both = [
                build_groups(total, together, first),
                build_equal_groups(total, together, first),
            ];
            for units in both.into_iter().flatten() {
                assert_eq!(units.iter().map(|u| u.blocks).sum::<u64>(), total);
                assert!(units.iter().all(|u| (1..=together).contains(&u.blocks)));
                for rounds in Rounds::ALL {
                    let mut done: HashMap<(usize, u64), u64> = HashMap::new();
                    for (shares, steps) in turns(&units, pages, rounds) {
                        merged += usize::from(shares.len() == 5);
                        for (a, b) in pairs(&shares) {
                            let group = |share: &PhaseShare, step| {
                                (share.page(step) + share.rotated) / share.unit.blocks
                            };
                            let same = (0..steps).all(|step| group(a, step) == group(b, step));
                            assert!(same, "{total} {together} {first}: {a:?} {b:?}");
                        }
                        for (step, share) in
                            (0..steps).flat_map(|s| shares.iter().map(move |x| (s, x)))
                        {
                            let (at, blocks) = (share.page(step), share.unit.blocks);
                            let each = blocks * pages;
                            let turn = (at + share.rotated) % each % blocks;
                            let block = share.unit.first + at / each * blocks + turn;
                            let kind = LongPageKind::ALL
                                .iter()
                                .position(|k| *k == share.kind)
                                .unwrap();
                            let ready = kind == 0 || done.get(&(kind - 1, block)) == Some(&pages);
                            assert!(
                                ready,
                                "{total} {together} {first} {rounds:?}: {block} of {kind}"
                            );
                            *done.entry((kind, block)).or_default() += 1;
                        }
                    }
                    let all = done.values().all(|&times| times == pages);
                    assert!(all && done.len() as u64 == 3 * total, "{total} {together}");
                }
            }
        }
        assert!(merged > 50, "{merged}");
    }

    /// Returns the pairs of pages of a round that follow one another in a unit.
    fn pairs(shares: &[PhaseShare]) -> Vec<(&PhaseShare, &PhaseShare)> {
        let second =
            |a: &PhaseShare, b: &PhaseShare| b.kind == a.kind && (a.nth, b.nth) == ((0, 2), (1, 2));
        let all = shares
            .iter()
            .flat_map(|a| shares.iter().map(move |b| (a, b)));
        all.filter(|(a, b)| second(a, b) && a.kind != LongPageKind::Columns)
            .collect()
    }
}
