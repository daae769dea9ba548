//! Mixed-radix recipes: which radices, in which order.

use super::block_fft::{BlockRecipe, COMPLEX};
use super::radix::{RADICES, factorize, factors as turns, least_issues, slots};
use super::stockham_pass::LaneAssignment;
use crate::fft::TransformDirection;
use std::fmt;

/// A transform by passes of radix 2, 4, 6, 8 and the odd prime numbers to 31.
///
/// ```
/// use cp2_kernels::fft::{TransformDirection, MixedRecipe};
/// let recipe = MixedRecipe::new(360, TransformDirection::Forward).unwrap();
/// assert_eq!(recipe.to_string(), "fft 360 forward: mixed 5 x 3 x 3 x 8");
/// assert!(MixedRecipe::new(37, TransformDirection::Forward).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MixedRecipe {
    n: usize,
    direction: TransformDirection,
    radices: Vec<usize>,
    lanes: LaneAssignment,
}

impl MixedRecipe {
    /// Chooses the radices: few passes, and first and last those that lose
    /// least where single numbers are loaded or stored. None where the length
    /// has another prime factor.
    #[must_use]
    pub fn new(n: usize, direction: TransformDirection) -> Option<Self> {
        let radices = best_radices(n, (true, true))?;
        Some(Self {
            n,
            direction,
            radices,
            lanes: LaneAssignment::Transforms,
        })
    }

    /// Chooses the radices for two columns of one transform at a time, which need half the local memory, of
    /// `dmem` bytes. None unless `n` and some first radix are even.
    #[must_use]
    pub fn columns(n: usize, direction: TransformDirection, dmem: u64) -> Option<Self> {
        let room = table_room(n, dmem);
        let share = RadixPassRange { all: n, n, done: 1 };
        Some(Self {
            n,
            direction,
            radices: column_radices(share, room, |order| order[0] % 2 == 0)?,
            lanes: LaneAssignment::Columns,
        })
    }

    /// Returns the assignment of the halves of a quad.
    pub(super) fn lanes(&self) -> LaneAssignment {
        self.lanes
    }

    /// Returns the radices of the passes in order.
    #[must_use]
    pub fn radices(&self) -> &[usize] {
        &self.radices
    }
}

impl BlockRecipe for MixedRecipe {
    fn len(&self) -> usize {
        self.n
    }

    fn direction(&self) -> TransformDirection {
        self.direction
    }

    fn issues(&self) -> u64 {
        least_issues(&self.radices)
    }
}

impl fmt::Display for MixedRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let radices: Vec<String> = self.radices.iter().map(usize::to_string).collect();
        write!(
            f,
            "fft {} {}: mixed {}{}",
            self.n,
            self.direction,
            radices.join(" x "),
            self.lanes.suffix()
        )
    }
}

/// Bytes of a step in a table.
const TABLE_STEP_BYTES: u64 = 8;

/// Greatest length of a transform in local memory; none has room for more.
pub(super) const LONGEST_LOCAL_LENGTH: usize = 1 << 18;

/// Returns radices whose product is `n`, in no particular order; 1 for 1, none above [`LONGEST_LOCAL_LENGTH`].
pub(super) fn factors(n: usize) -> Option<Vec<usize>> {
    if n > LONGEST_LOCAL_LENGTH {
        return None;
    }
    factorize(n)
}

/// Lists the ways to write 2^twos as a product of 8, 4 and 2, with few factors.
fn splits(twos: u32) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for eights in 0..=twos / 3 {
        let rest = twos - 3 * eights;
        for fours in (rest / 2).saturating_sub(1)..=rest / 2 {
            let parts = [(8, eights), (4, fours), (2, rest - 2 * fours)];
            let parts = parts.map(|(radix, count)| vec![radix; count as usize]);
            all.push(parts.concat());
        }
    }
    all
}

/// Orders the radices: those of indices `first` and `last` at the ends, the others from the largest to the
/// smallest.
fn column_order(radices: &[usize], first: usize, last: usize) -> Option<Vec<usize>> {
    if first == last && radices.len() > 1 {
        return None;
    }
    let others = radices.iter().enumerate();
    let others = others.filter(|&(i, _)| i != first && i != last);
    let mut middle: Vec<usize> = others.map(|(_, &r)| r).collect();
    middle.sort_unstable_by(|a, b| b.cmp(a));
    let ends = (*radices.get(first)?, *radices.get(last)?);
    if radices.len() == 1 {
        return Some(vec![ends.0]);
    }
    Some([vec![ends.0], middle, vec![ends.1]].concat())
}

/// Returns the bytes of DMEM that two pages of `n` numbers, working space, arguments and constants leave for
/// tables.
pub(super) fn table_room(n: usize, dmem: u64) -> u64 {
    const RESERVED_BYTES: u64 = 1024;
    let pages = (3 * COMPLEX).saturating_mul(n as u64);
    dmem.saturating_sub(pages.saturating_add(RESERVED_BYTES))
}

/// Range of passes by columns: the numbers of the transform (`all`), the product of these passes' radices
/// (`n`), and that of the radices before them (`done`).
#[derive(Clone, Copy, Debug)]
pub(super) struct RadixPassRange {
    pub(super) all: usize,
    pub(super) n: usize,
    pub(super) done: usize,
}

/// Greatest distance in bytes that an immediate offset, in units of 8 bytes, reaches.
const OFFSET_REACH_BYTES: usize = 16_000;

/// Returns the radices of passes with two columns of one transform at a time, in the usable order with the
/// fewest slots. Orders whose tables take at most `room` bytes are preferred.
pub(super) fn column_radices(
    share: RadixPassRange,
    room: u64,
    usable: impl Fn(&Vec<usize>) -> bool,
) -> Option<Vec<usize>> {
    let RadixPassRange { all, n, done } = share;
    factors(n)?;
    let sets = list_six_factorings(n).flat_map(|(sixes, rest)| {
        let odd = factors(rest).into_iter().flatten().filter(|r| r % 2 == 1);
        let others: Vec<usize> = odd.filter(|&r| r > 1).chain(sixes).collect();
        let twos = splits(rest.trailing_zeros()).into_iter();
        twos.map(move |twos| [twos, others.clone()].concat())
    });
    let orders = sets.flat_map(|radices| {
        let firsts: Vec<usize> = (0..radices.len()).collect();
        let order = move |(first, last): (usize, usize)| column_order(&radices, first, last);
        let pairs = firsts.clone().into_iter();
        let pairs = pairs.flat_map(move |a| firsts.clone().into_iter().map(move |b| (a, b)));
        pairs.filter_map(order)
    });
    // Rows that begin between quads are loaded as single numbers, whose offsets must be in reach.
    let reached = |order: &Vec<usize>| {
        let (columns, bytes) = (all / order[0], COMPLEX as usize);
        columns % 2 == 0 || (all - columns) * bytes <= OFFSET_REACH_BYTES
    };
    let orders = orders.filter(|order| usable(order) && reached(order));
    orders.min_by_key(|order| {
        (
            column_tables(done, order) > room,
            column_slots(all, done, order),
        )
    })
}

/// Returns the bytes of the tables of all passes: factors for each of the `done` columns, and in all passes
/// but the last a step for every two columns.
fn column_tables(mut done: usize, order: &[usize]) -> u64 {
    let mut bytes = 0;
    for (i, &radix) in order.iter().enumerate() {
        if done > 1 {
            bytes += COMPLEX * done as u64 * turns(radix);
        }
        if done > 2 && i + 1 < order.len() {
            bytes += TABLE_STEP_BYTES * done as u64 / 2;
        }
        done *= radix;
    }
    bytes
}

/// Returns the slots of all passes of one transform, two columns at a time. All passes but the first load
/// factors for each column, those between may load steps, and rows that begin between quads are single
/// numbers.
fn column_slots(all: usize, done: usize, order: &[usize]) -> u64 {
    let pass = |(i, &radix): (usize, &usize)| {
        let (first, last) = (i == 0, i + 1 == order.len());
        let columns = all / radix;
        let singles = columns % 2 * radix / 2;
        let plain = first && done == 1;
        let more = match plain {
            true => singles as u64,
            false => turns(radix) / 2 + u64::from(!last),
        };
        (columns / 2) as u64 * slots(radix, plain, (false, false), more)
    };
    order.iter().enumerate().map(pass).sum()
}

/// Returns the least slots of the passes of two transforms of `n` numbers, without steps of pointers: in each
/// pass arithmetic or memory, whichever is more. The first has no factors if `done` is 1; see [`best_order`]
/// for `ends`.
pub(super) fn least_slots(n: usize, done: usize, order: &[usize], ends: (bool, bool)) -> u64 {
    let pass = |(i, &radix): (usize, &usize)| {
        let (first, last) = (i == 0, i + 1 == order.len());
        let apart = (ends.0 && first, ends.1 && last);
        (n / radix) as u64 * slots(radix, first && done == 1, apart, 0)
    };
    order.iter().enumerate().map(pass).sum()
}

/// Returns the slots of all passes of two transforms in an order; see [`best_order`] for `ends`.
pub(super) fn cost(order: &[usize], ends: (bool, bool)) -> u64 {
    let n: usize = order.iter().product();
    let pass = |(i, &r): (usize, &usize)| {
        let (first, last) = (ends.0 && i == 0, ends.1 && i + 1 == order.len());
        (n / r) as u64 * slots(r, first, (first, last), u64::from(!last))
    };
    order.iter().enumerate().map(pass).sum()
}

/// Lists the ways to take factors 2 and 3 together: a number of sixes, and the rest of `n`.
fn list_six_factorings(n: usize) -> impl Iterator<Item = (Vec<usize>, usize)> {
    let ways = std::iter::successors(Some((0, n)), |&(count, rest)| {
        (rest % 6 == 0).then(|| (count + 1, rest / 6))
    });
    ways.map(|(count, rest)| (vec![6; count], rest))
}

/// Typical cycles of a pass beside its slots, to fill and drain its loop. They rank orders of radices; plans
/// are priced by the cycles of their programs.
const PASS_OVERHEAD_CYCLES: u64 = 48;
/// Typical numbers of one half of the pairs of a block, over which the cycles beside the slots are spread.
const TYPICAL_BLOCK_NUMBERS: u64 = 1024;

/// Returns the radices whose product is `n`, in the order with the fewest expected cycles; see [`best_order`]
/// for `ends`.
pub(super) fn best_radices(n: usize, ends: (bool, bool)) -> Option<Vec<usize>> {
    factors(n)?;
    let orders = list_six_factorings(n).filter_map(|(sixes, rest)| {
        let others = factors(rest)?.into_iter().filter(|&r| r > 1 || n == 1);
        Some(best_order(others.chain(sixes).collect(), ends))
    });
    let cycles = |order: &Vec<usize>| {
        let fill =
            PASS_OVERHEAD_CYCLES * TYPICAL_BLOCK_NUMBERS.min(n as u64) / TYPICAL_BLOCK_NUMBERS;
        cost(order, ends) + fill * order.len() as u64
    };
    orders.min_by_key(cycles)
}

/// Returns the order of the passes with the fewest slots: the first and the last matter, the others go from
/// the largest to the smallest. `ends` says whether the first loads and the last stores single numbers.
pub(super) fn best_order(mut radices: Vec<usize>, ends: (bool, bool)) -> Vec<usize> {
    radices.sort_unstable_by(|a, b| b.cmp(a));
    if radices.len() < 2 {
        return radices;
    }
    let pairs = RADICES
        .iter()
        .flat_map(|a| RADICES.iter().map(move |b| (*a, *b)));
    let orders = pairs.filter_map(|(first, last)| {
        let mut middle = radices.clone();
        for end in [first, last] {
            let at = middle.iter().position(|&r| r == end)?;
            middle.remove(at);
        }
        Some([vec![first], middle, vec![last]].concat())
    });
    orders
        .min_by_key(|order| cost(order, ends))
        .unwrap_or_default()
}
