//! The passes of a transform of mixed radix.

use super::dft::{RADICES, issues, powers};
use super::pass::Lanes;
use super::plan::BlockRecipe;
use crate::fft::Direction;
use std::fmt;

/// A transform of length 2^a 3^b 5^c 7^d by passes of radix 2, 3, 4, 5, 7 and 8.
///
/// ```
/// use cp2_kernels::fft::{Direction, MixedRecipe};
/// let recipe = MixedRecipe::new(360, Direction::Forward).unwrap();
/// assert_eq!(recipe.to_string(), "fft 360 forward: mixed 5 x 3 x 3 x 8");
/// assert!(MixedRecipe::new(11, Direction::Forward).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MixedRecipe {
    n: usize,
    direction: Direction,
    radices: Vec<usize>,
    lanes: Lanes,
}

impl MixedRecipe {
    /// Chooses the radices: few passes, and first and last those that lose
    /// least where single numbers are loaded or stored. None where the length
    /// has another prime factor.
    #[must_use]
    pub fn new(n: usize, direction: Direction) -> Option<Self> {
        let radices = best_order(factors(n)?, (true, true));
        Some(Self {
            n,
            direction,
            radices,
            lanes: Lanes::Transforms,
        })
    }

    /// The same with two columns of one transform at a time, which need half the
    /// local memory: the first radix and the number of its columns are even.
    #[must_use]
    pub fn columns(n: usize, direction: Direction) -> Option<Self> {
        let odd = factors(n)?.into_iter().filter(|r| r % 2 == 1);
        let odd: Vec<usize> = odd.filter(|&r| r > 1).collect();
        let orders = splits(n.trailing_zeros()).into_iter().flat_map(|twos| {
            let radices = [twos, odd.clone()].concat();
            let firsts: Vec<usize> = (0..radices.len()).collect();
            let order = move |(first, last): (usize, usize)| column_order(&radices, first, last);
            let pairs = firsts.clone().into_iter();
            let pairs = pairs.flat_map(move |a| firsts.clone().into_iter().map(move |b| (a, b)));
            pairs.filter_map(order)
        });
        let usable = |order: &Vec<usize>| order[0] % 2 == 0 && n % (2 * order[0]) == 0;
        let radices = orders
            .filter(usable)
            .min_by_key(|order| column_slots(n, order))?;
        Some(Self {
            n,
            direction,
            radices,
            lanes: Lanes::Columns,
        })
    }

    /// What the halves of a quad are.
    pub(super) fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// The radices of the passes in order.
    #[must_use]
    pub fn radices(&self) -> &[usize] {
        &self.radices
    }
}

impl BlockRecipe for MixedRecipe {
    fn len(&self) -> usize {
        self.n
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    /// Every column's, with the first pass, which has no factors, of the radix
    /// that saves most by it.
    fn issues(&self) -> u64 {
        let columns = |r: usize| (self.n / r.max(1)) as u64;
        let all: u64 = self
            .radices
            .iter()
            .map(|&r| columns(r) * issues(r, false))
            .sum();
        let saved = self
            .radices
            .iter()
            .map(|&r| columns(r) * (issues(r, false) - issues(r, true)));
        all - saved.max().unwrap_or(0)
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

/// No local memory has room for more numbers.
pub(super) const LONGEST: usize = 1 << 18;

/// The radices whose product is `n`, in no order; 1 for 1.
pub(super) fn factors(n: usize) -> Option<Vec<usize>> {
    if n > LONGEST {
        return None;
    }
    if n <= 1 {
        return (n == 1).then(|| vec![1]);
    }
    let (mut rest, mut radices) = (n, Vec::new());
    for radix in [7, 5, 3] {
        while rest % radix == 0 {
            rest /= radix;
            radices.push(radix);
        }
    }
    if !rest.is_power_of_two() {
        return None;
    }
    let mut twos = rest.trailing_zeros();
    // 4 x 4 costs less than 8 x 2.
    while twos >= 3 && twos != 4 {
        radices.push(8);
        twos -= 3;
    }
    while twos >= 2 {
        radices.push(4);
        twos -= 2;
    }
    if twos == 1 {
        radices.push(2);
    }
    Some(radices)
}

/// The ways to write 2^twos as a product of 8, 4 and 2, with few factors.
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

/// The radices with those of two indices first and last, the others from the largest to the smallest.
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

/// The slots of all passes of one transform, two columns at a time: all but the first
/// load factors for each column, those between may load steps.
fn column_slots(n: usize, order: &[usize]) -> u64 {
    let pass = |(i, &radix): (usize, &usize)| {
        let (first, last) = (i == 0, i + 1 == order.len());
        let r = radix as u64;
        let memory = if first {
            2 * r
        } else {
            2 * r + powers(radix).len() as u64 + u64::from(!last)
        };
        (n / radix / 2) as u64 * memory.max(2 * issues(radix, first))
    };
    order.iter().enumerate().map(pass).sum()
}

/// The slots of a column of two transforms: arithmetic or memory, whichever are more.
fn slots(radix: usize, first: bool, last: bool) -> u64 {
    let r = radix as u64;
    let read = if first {
        2 * r
    } else {
        r + powers(radix).len().div_ceil(2) as u64
    };
    let write = if last { 2 * r } else { r + 1 };
    (read + write).max(2 * issues(radix, first))
}

/// The least slots of the passes of two transforms of `n` numbers, steps of
/// pointers left out: arithmetic or memory, whichever are more in a pass. The
/// first has no factors if `done` is 1; see [`best_order`] for `ends`.
pub(super) fn least_slots(n: usize, done: usize, order: &[usize], ends: (bool, bool)) -> u64 {
    let pass = |(i, &radix): (usize, &usize)| {
        let (first, last) = (i == 0, i + 1 == order.len());
        let (r, plain) = (radix as u64, first && done == 1);
        let factors = if plain {
            0
        } else {
            powers(radix).len().div_ceil(2) as u64
        };
        let ends = u64::from(ends.0 && first) + u64::from(ends.1 && last);
        (n / radix) as u64 * (r * (2 + ends) + factors).max(2 * issues(radix, plain))
    };
    order.iter().enumerate().map(pass).sum()
}

/// The slots of all passes of two transforms in an order; see [`best_order`] for `ends`.
pub(super) fn cost(order: &[usize], ends: (bool, bool)) -> u64 {
    let n: usize = order.iter().product();
    let pass = |(i, &r): (usize, &usize)| {
        let (first, last) = (ends.0 && i == 0, ends.1 && i + 1 == order.len());
        (n / r) as u64 * slots(r, first, last)
    };
    order.iter().enumerate().map(pass).sum()
}

/// The order of the passes with the smallest number of slots: the first and the
/// last matter, the others go from the largest to the smallest. `ends` says
/// whether the first loads and the last stores single numbers.
pub(super) fn best_order(mut radices: Vec<usize>, ends: (bool, bool)) -> Vec<usize> {
    radices.sort_unstable_by(|a, b| b.cmp(a));
    if radices.len() < 2 {
        return radices;
    }
    let known = RADICES.iter().map(|&(r, ..)| r);
    let pairs = known
        .clone()
        .flat_map(|a| known.clone().map(move |b| (a, b)));
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
