//! Allocates registers for the values of overlapping iterations.

use super::dataflow::{DataOperand, Dataflow, Op};

/// The register of every value in every iteration of the unrolled loop.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// Iterations after which the registers repeat.
    pub(super) unroll: u32,
    /// First pair register of a value, `[value][iteration modulo unroll]`.
    pub(super) base: Vec<Vec<u8>>,
}

/// Returns the lifetime of every value: from the issue of the first operation that writes it to the last one
/// that reads it.
fn lifetimes(body: &Dataflow, cycles: &[u32], latency: impl Fn(&Op) -> i64) -> Vec<(u32, u32)> {
    let mut live = vec![(u32::MAX, 0); body.quads.len()];
    for (op, &at) in body.ops.iter().zip(cycles) {
        for (v, _) in op.defs.iter().filter_map(|r| r.value()) {
            live[v.0].0 = live[v.0].0.min(at);
            // A result that is never read is still written when its latency has passed.
            let lands = at.saturating_add(u32::try_from(latency(op)).unwrap_or(u32::MAX));
            live[v.0].1 = live[v.0].1.max(lands);
        }
        for (v, _) in op.uses.iter().copied().filter_map(DataOperand::value) {
            live[v.0].1 = live[v.0].1.max(at);
        }
    }
    live
}

/// Allocates registers below `limit` to all values, by first fit on the circle of the unrolled loop.
///
/// Values are taken in the order in which their lifetimes begin; if that fails, the longest lifetimes first.
pub(super) fn allocate(
    body: &Dataflow,
    cycles: &[u32],
    interval: u32,
    limit: u8,
    latency: impl Fn(&Op) -> i64,
) -> Option<Registers> {
    let live = lifetimes(body, cycles, latency);
    let length = |v: usize| live[v].1.saturating_sub(live[v].0);
    let longest = (0..live.len()).map(length).max().unwrap_or(0);
    let unroll = longest.div_ceil(interval).max(1);
    // Quads need two adjacent registers, so they are allocated first.
    let begun = |v: usize, i: u32| (!body.quads[v], live[v].0 + i * interval);
    let lived = |v: usize, i: u32| (!body.quads[v], (u32::MAX - length(v)).saturating_add(i));
    fit(body, &live, (interval, unroll), limit, begun)
        .or_else(|| fit(body, &live, (interval, unroll), limit, lived))
}

/// Allocates registers by first fit, in the order of a key.
fn fit(
    body: &Dataflow,
    live: &[(u32, u32)],
    (interval, unroll): (u32, u32),
    limit: u8,
    key: impl Fn(usize, u32) -> (bool, u32),
) -> Option<Registers> {
    let circle = (unroll * interval) as usize;
    let mut taken = vec![vec![false; circle]; usize::from(limit)];
    let mut base = vec![vec![0; unroll as usize]; live.len()];
    let mut order: Vec<(usize, u32)> = (0..live.len())
        .flat_map(|v| (0..unroll).map(move |i| (v, i)))
        .collect();
    order.sort_by_key(|&(v, i)| key(v, i));
    for (v, i) in order {
        let (width, (from, to)) = (1 + usize::from(body.quads[v]), live[v]);
        let times: Vec<usize> = (from..to)
            .map(|t| (t + i * interval) as usize % circle)
            .collect();
        let fits = |r: usize| {
            (r..r + width).all(|r| {
                taken
                    .get(r)
                    .is_some_and(|taken| times.iter().all(|&t| !taken[t]))
            })
        };
        let found = (0..usize::from(limit)).step_by(width).find(|&r| fits(r))?;
        for taken in &mut taken[found..found + width] {
            for &t in &times {
                taken[t] = true;
            }
        }
        base[v][i as usize] = u8::try_from(found).ok()?;
    }
    Some(Registers { unroll, base })
}
