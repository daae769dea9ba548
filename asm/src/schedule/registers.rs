//! Allocates registers for the values of overlapping iterations.

use super::dataflow::{Dataflow, Op};
use super::scalars::ScalarUse;

/// The number of the first scalar: pairs come before.
pub(super) const FIRST_SCALAR: u8 = 64;
/// Number of all registers.
pub(super) const ALL_REGISTERS: u8 = 128;

/// The registers that the values of a body may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FreeRegisters {
    pairs: u64,
    /// Bit n for the scalar with number n.
    scalars: u64,
}

impl FreeRegisters {
    /// Returns the set of a mask: bit n stands for `r{n}`.
    #[must_use]
    pub const fn new(mask: u64) -> Self {
        Self {
            pairs: mask,
            scalars: 0,
        }
    }

    /// Returns the set with the scalars of a mask: bit n stands for the one with number n.
    pub(crate) const fn with_scalars(self, scalars: u64) -> Self {
        Self { scalars, ..self }
    }

    /// Returns the registers below `limit`.
    #[must_use]
    pub fn below(limit: u8) -> Self {
        let bit = 1u64.checked_shl(u32::from(limit));
        Self::new(bit.map_or(u64::MAX, |bit| bit - 1))
    }

    /// Returns the mask of the set: bit n stands for `r{n}`.
    #[must_use]
    pub const fn mask(self) -> u64 {
        self.pairs
    }

    /// Counts the pair registers of the set.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.pairs.count_ones()
    }

    /// Returns the first registers of all pairs or quads in the set, in rising order.
    fn first_of(self, quad: bool) -> impl Iterator<Item = u8> {
        let (step, mask) = if quad { (2, 3) } else { (1, 1) };
        (0..64u8)
            .step_by(step)
            .filter(move |&r| self.pairs >> r & mask == mask)
    }

    /// Returns the first registers of all scalars or couples in the set: those that are no addresses first, where any
    /// will do.
    fn first_scalars(self, couple: bool, used: ScalarUse) -> impl Iterator<Item = u8> {
        const ADDRESSES: std::ops::Range<u8> = 0..16;
        let (step, mask) = if couple { (2, 3) } else { (1, 1) };
        let others = if used == ScalarUse::Any { 16..64 } else { 0..0 };
        let all = others.step_by(step).chain(ADDRESSES.step_by(step));
        all.filter(move |&s| self.scalars >> s & mask == mask)
            .map(|s| FIRST_SCALAR + s)
    }
}

impl From<u8> for FreeRegisters {
    /// Returns the registers below a limit.
    fn from(limit: u8) -> Self {
        Self::below(limit)
    }
}

/// The register of every value in every iteration of the unrolled loop.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// Iterations after which the registers repeat.
    pub(super) unroll: u32,
    /// First pair register of a value, `[value][iteration modulo unroll]`.
    pub(super) base: Vec<Vec<u8>>,
}

/// Returns the lifetime of every value: from the issue of the first operation that writes it to the last one
/// that reads it, in a later iteration perhaps.
pub(super) fn lifetimes(
    body: &Dataflow,
    cycles: &[u32],
    interval: u32,
    latency: impl Fn(&Op) -> i64,
) -> Vec<(u32, u32)> {
    let mut live = vec![(u32::MAX, 0); body.quads.len()];
    for (op, &at) in body.ops.iter().zip(cycles) {
        for (v, _) in op.defs.iter().filter_map(|r| r.value()) {
            live[v.0].0 = live[v.0].0.min(at);
            // A result that is never read is still written when its latency has passed.
            let lands = at.saturating_add(u32::try_from(latency(op)).unwrap_or(u32::MAX));
            live[v.0].1 = live[v.0].1.max(lands);
        }
        for (operand, distance) in op.reads() {
            if let Some((v, _)) = operand.value() {
                let read = distance.saturating_mul(interval).saturating_add(at);
                live[v.0].1 = live[v.0].1.max(read);
            }
        }
    }
    let end = cycles.iter().max().map_or(0, |&last| last + 1);
    for value in &body.outputs {
        live[value.0].1 = live[value.0].1.max(end);
    }
    for value in &body.begun {
        live[value.0].1 = live[value.0].1.max(interval);
    }
    for live in &mut live {
        // A value that nothing writes takes no register for any time.
        live.0 = live.0.min(live.1);
    }
    live
}

/// Returns the number of registers that are held in the fullest cycle of an interval.
pub(super) fn count_live(body: &Dataflow, live: &[(u32, u32)], interval: u32) -> u32 {
    let interval = interval.max(1);
    // Registers that are held in all cycles, and by how many each cycle has more than the one before.
    let mut always = 0;
    let mut more = vec![0i64; interval as usize + 1];
    let values = live.iter().zip(&body.quads).enumerate();
    for (_, (&(from, to), &quad)) in values.filter(|&(value, _)| !body.is_scalar(value)) {
        let (length, width) = (to - from, 1 + u32::from(quad));
        always += width * (length / interval);
        let (begin, rest) = (from % interval, length % interval);
        let mut hold = |cycles: std::ops::Range<u32>| {
            more[cycles.start as usize] += i64::from(width);
            more[cycles.end as usize] -= i64::from(width);
        };
        hold(begin..(begin + rest).min(interval));
        hold(0..(begin + rest).saturating_sub(interval));
    }
    let mut held = 0;
    let fullest = more.into_iter().map(|more| {
        held += more;
        held
    });
    always + u32::try_from(fullest.max().unwrap_or(0)).unwrap_or(0)
}

/// Returns the iterations after which registers must repeat for lifetimes at most.
pub(super) fn least_unroll(live: &[(u32, u32)], interval: u32) -> u32 {
    let longest = live.iter().map(|&(from, to)| to.saturating_sub(from)).max();
    longest.unwrap_or(0).div_ceil(interval.max(1)).max(1)
}

/// Allocates registers to all values, by first fit on the circle of the unrolled loop.
///
/// Values are taken in the order in which their lifetimes begin; if that fails, the longest lifetimes first.
pub(super) fn allocate(
    body: &Dataflow,
    live: &[(u32, u32)],
    (interval, unroll): (u32, u32),
    free: FreeRegisters,
) -> Option<Registers> {
    // Quads need two adjacent registers, so they are allocated first.
    let begun = |v: usize, i: u32| (!body.quads[v], live[v].0.saturating_add(i * interval));
    let length = |v: usize| live[v].1.saturating_sub(live[v].0);
    let lived = |v: usize, i: u32| (!body.quads[v], (u32::MAX - length(v)).saturating_add(i));
    fit(body, live, (interval, unroll), free, begun)
        .or_else(|| fit(body, live, (interval, unroll), free, lived))
}

/// Allocates registers as [`allocate`] does, or in other orders that begin at other places of the circle.
///
/// Values of the iterations before the first can then all be set before the first cycle.
pub(super) fn allocate_somehow(
    body: &Dataflow,
    live: &[(u32, u32)],
    (interval, unroll): (u32, u32),
    free: FreeRegisters,
) -> Option<Registers> {
    let circle = unroll * interval;
    let starts = CIRCLE_STARTS.min(circle);
    let early = list_early(body, live, interval);
    let settable = |found: &Registers| is_settable(body, live, (interval, &early), found);
    let first = allocate(body, live, (interval, unroll), free).filter(settable);
    let from = |start: u32, live: &[(u32, u32)]| {
        let begun = |v: usize, i: u32| {
            let at = live[v].0.saturating_add(i * interval) % circle;
            (!body.quads[v], (at + circle - start) % circle)
        };
        fit(body, live, (interval, unroll), free, begun).filter(settable)
    };
    let found = (0..starts).fold(first, |found, number| {
        found.or_else(|| from(number * circle / starts, live))
    });
    found.or_else(|| {
        // Values that iterations before the first leave take their registers from the beginning on.
        let mut longer = live.to_vec();
        for &(v, ..) in &early {
            longer[v].0 = longer[v].0.min(interval);
        }
        let fits = least_unroll(&longer, interval) <= unroll;
        let starts = if fits && longer != live { starts } else { 0 };
        (0..starts).fold(None, |found: Option<Registers>, number| {
            found.or_else(|| from(number * circle / starts, &longer))
        })
    })
}

/// Allocates registers as [`allocate`] does to bodies whose iterations read nothing of earlier ones, to all others as
/// [`allocate_somehow`] does.
pub(super) fn allocate_settable(
    body: &Dataflow,
    live: &[(u32, u32)],
    shape: (u32, u32),
    free: FreeRegisters,
) -> Option<Registers> {
    match list_early(body, live, shape.0).is_empty() {
        true => allocate(body, live, shape, free),
        false => allocate_somehow(body, live, shape, free),
    }
}

/// A value of an iteration before the first: its number, the iterations before the first, and the cycle at which
/// it would be computed.
type EarlyValue = (usize, u32, i64);

/// Lists the values that iterations before the first leave to others.
fn list_early(body: &Dataflow, live: &[(u32, u32)], interval: u32) -> Vec<EarlyValue> {
    let mut furthest = vec![0; live.len()];
    for (operand, distance) in body.ops.iter().flat_map(Op::reads) {
        if let Some((value, _)) = operand.value() {
            furthest[value.0] = distance.max(furthest[value.0]);
        }
    }
    let early = furthest.into_iter().enumerate().flat_map(|(v, furthest)| {
        (1..=furthest).map(move |before| {
            let computed = i64::from(live[v].0) - i64::from(before) * i64::from(interval);
            (v, before, computed)
        })
    });
    early.collect()
}

/// Returns true if all values of iterations before the first can be in their registers before the first cycle:
/// nothing else takes these before they would be computed.
fn is_settable(
    body: &Dataflow,
    live: &[(u32, u32)],
    (interval, early): (u32, &[EarlyValue]),
    found: &Registers,
) -> bool {
    let interval = i64::from(interval);
    let register = |v: usize, iteration: i64| {
        let copy = iteration.rem_euclid(i64::from(found.unroll)) as usize;
        let first = found.base[v][copy];
        first..first + 1 + u8::from(body.quads[v])
    };
    let meet =
        |a: &std::ops::Range<u8>, b: &std::ops::Range<u8>| a.start < b.end && b.start < a.end;
    early.iter().all(|&(v, before, computed)| {
        let own = register(v, -i64::from(before));
        let alone = early.iter().all(|&(w, back, _)| {
            (v, before) == (w, back) || !meet(&own, &register(w, -i64::from(back)))
        });
        // Iterations that begin before the value would be computed may write to its register.
        let begun = |iteration: &i64| iteration * interval < computed;
        let unwritten = (0..).take_while(begun).all(|iteration| {
            (0..live.len()).all(|w| {
                let (from, to) = live[w];
                let written = i64::from(from) + iteration * interval;
                let takes = from < to && written < computed;
                !takes || !meet(&own, &register(w, iteration))
            })
        });
        alone && unwritten
    })
}

/// Sets the bits of a range.
fn set_bits(words: &mut [u64], range: std::ops::Range<usize>) {
    let mut at = range.start;
    while at < range.end {
        let next = ((at / 64 + 1) * 64).min(range.end);
        let mask = (u64::MAX >> (64 - (next - at))) << (at % 64);
        words[at / 64] |= mask;
        at = next;
    }
}

/// Number of places on the circle from which registers are allocated before the search for them ends.
const CIRCLE_STARTS: u32 = 8;

/// Allocates registers by first fit, in the order of a key.
fn fit(
    body: &Dataflow,
    live: &[(u32, u32)],
    (interval, unroll): (u32, u32),
    free: FreeRegisters,
    key: impl Fn(usize, u32) -> (bool, u32),
) -> Option<Registers> {
    let circle = (unroll * interval) as usize;
    let words = circle.div_ceil(64);
    // The cycles of the circle in which each register is taken, as bits.
    let mut taken = vec![0u64; usize::from(ALL_REGISTERS) * words];
    let mut base = vec![vec![0; unroll as usize]; live.len()];
    let mut order: Vec<(usize, u32)> = (0..live.len())
        .flat_map(|v| (0..unroll).map(move |i| (v, i)))
        .collect();
    order.sort_by_key(|&(v, i)| key(v, i));
    let mut times = vec![0u64; words];
    for (v, i) in order {
        let (quad, (from, to)) = (body.quads[v], live[v]);
        times.fill(0);
        let begin = (from as usize + (i * interval) as usize) % circle;
        let end = begin + ((to - from) as usize).min(circle);
        set_bits(&mut times, begin..end.min(circle));
        set_bits(&mut times, 0..end.saturating_sub(circle));
        let range = |r: u8| {
            let first = usize::from(r) * words;
            first..first + words * (1 + usize::from(quad))
        };
        let fits = |r: &u8| {
            let held = taken[range(*r)].iter().zip(times.iter().cycle());
            held.into_iter().all(|(held, times)| held & times == 0)
        };
        let found = match body.scalars.get(v).copied().flatten() {
            Some(used) => free.first_scalars(quad, used).find(fits)?,
            None => free.first_of(quad).find(fits)?,
        };
        let held = taken[range(found)].iter_mut().zip(times.iter().cycle());
        held.for_each(|(held, times)| *held |= times);
        base[v][i as usize] = found;
    }
    Some(Registers { unroll, base })
}
