//! Which blocks go together, and what takes turns when.

use super::pages::Kind;

/// A few blocks that go through their pages together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The first of them.
    pub(super) first: u64,
    /// How many.
    pub(super) blocks: u64,
}

/// What a kind of pages has of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) kind: Kind,
    /// The number of the unit that it begins in, behind which there may be others as large.
    pub(super) number: u64,
    pub(super) unit: Unit,
    /// Pages of this unit that were done before.
    pub(super) start: u64,
    /// The page of a unit that is its first.
    pub(super) rotated: u64,
}

/// Kinds that take turns, and how many pages of each.
pub(super) type Turns = (Vec<Share>, u64);

impl Share {
    /// The first group of pages with the same factors, in the order of the pages.
    pub(super) fn first_group(&self) -> u64 {
        self.start / self.unit.blocks
    }

    /// Pages before the first that have its factors too.
    pub(super) fn of_group_before(&self) -> usize {
        ((self.start + self.rotated) % self.unit.blocks) as usize
    }
}

/// Units of `total` blocks, at most `together` in each. Beside the first columns and the last there
/// is nothing to compute: the first and the last units can be smaller, of `first` blocks, and grow, and
/// shrink, by as many, so that the columns of the units before and behind are together as many as two of the rows
/// between; none where blocks are too few for that.
pub(super) fn units(total: u64, together: u64, first: u64) -> Option<Vec<Unit>> {
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
    let sizes = edges
        .iter()
        .copied()
        .chain(middle)
        .chain(edges.iter().rev().copied());
    let mut first = 0;
    let unit = |blocks| {
        first += blocks;
        Unit {
            first: first - blocks,
            blocks,
        }
    };
    Some(sizes.map(unit).collect())
}

/// Kinds that take turns, and how many pages of each: units of `pages` pages a block and kind enter one by
/// one, as long as there are any. Where one is larger than another, what is left of it follows, or
/// if `doubled` two of its pages take turns with one of rows, so that the channel has less to do for each.
pub(super) fn turns(units: &[Unit], pages: u64, doubled: bool) -> Vec<Turns> {
    let mut all: Vec<Turns> = Vec::new();
    for turn in 0..units.len() + 2 {
        let shares = (0..).zip(Kind::ALL).filter_map(|(behind, kind)| {
            let number = turn.checked_sub(behind)?;
            let unit = *units.get(number)?;
            Some(Share {
                kind,
                number: number as u64,
                unit,
                start: 0,
                rotated: 0,
            })
        });
        let mut left: Vec<Share> = shares.collect();
        if left.len() > 1 {
            // The columns back begin in the middle of a turn: their factors come when those of
            // rows do not.
            for share in left.iter_mut().filter(|share| share.kind == Kind::Back) {
                share.rotated = share.unit.blocks / 2;
            }
        }
        let rest = |share: &Share| share.unit.blocks * pages - share.start;
        while let Some(steps) = left.iter().map(rest).min() {
            if let Some((shares, steps)) = doubled.then(|| double(&left, rest)).flatten() {
                for share in &mut left {
                    let times = shares.iter().filter(|s| s.kind == share.kind).count();
                    share.start += times as u64 * steps;
                }
                all.push((shares, steps));
            } else {
                match all.last_mut() {
                    Some((last, done)) if follows(last, &left) => *done += steps,
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

/// Rows, and columns that are more of them: two pages of these for one of rows, as long as there
/// are as many.
fn double(left: &[Share], rest: impl Fn(&Share) -> u64) -> Option<Turns> {
    let [a, b] = left else {
        return None;
    };
    let (rows, columns) = if a.kind == Kind::Rows { (a, b) } else { (b, a) };
    let steps = rest(columns).saturating_sub(rest(rows)).min(rest(rows));
    let second = Share {
        start: columns.start + steps,
        ..*columns
    };
    let shares = match columns.kind {
        Kind::Columns => vec![*columns, second, *rows],
        _ => vec![*rows, *columns, second],
    };
    (steps > 0).then_some((shares, steps))
}

/// Whether `next` goes on as `last` does: whole units, all as large.
fn follows(last: &[Share], next: &[Share]) -> bool {
    let Some(size) = last.first().map(|share| share.unit.blocks) else {
        return false;
    };
    let kinds = |shares: &[Share]| shares.iter().map(|share| share.kind).collect::<Vec<_>>();
    let mut all = last.iter().chain(next);
    kinds(last) == kinds(next) && all.all(|share| share.start == 0 && share.unit.blocks == size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Whatever goes together: every block goes through all its pages of every kind once, and
    /// no kind begins with it before the kind before it is done.
    #[test]
    fn every_page_has_its_turn() {
        let pages = 3;
        for (total, together, first) in (1..40).flat_map(|total| {
            (1..9)
                .flat_map(move |together| (1..=together).map(move |first| (total, together, first)))
        }) {
            let Some(units) = units(total, together, first) else {
                continue;
            };
            assert_eq!(units.iter().map(|u| u.blocks).sum::<u64>(), total);
            assert!(units.iter().all(|u| (1..=together).contains(&u.blocks)));
            for doubled in [false, true] {
                let mut done: HashMap<(usize, u64), u64> = HashMap::new();
                for (shares, steps) in turns(&units, pages, doubled) {
                    for (step, share) in (0..steps).flat_map(|s| shares.iter().map(move |x| (s, x)))
                    {
                        let (at, blocks) = (share.start + step, share.unit.blocks);
                        let each = blocks * pages;
                        let turn = (at + share.rotated) % each % blocks;
                        let block = share.unit.first + at / each * blocks + turn;
                        let kind = Kind::ALL.iter().position(|k| *k == share.kind).unwrap();
                        let ready = kind == 0 || done.get(&(kind - 1, block)) == Some(&pages);
                        assert!(
                            ready,
                            "{total} {together} {first} {doubled}: {block} of {kind}"
                        );
                        *done.entry((kind, block)).or_default() += 1;
                    }
                }
                let all = done.values().all(|&times| times == pages);
                assert!(all && done.len() as u64 == 3 * total, "{total} {together}");
            }
        }
    }
}
