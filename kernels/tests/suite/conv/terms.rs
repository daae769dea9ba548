//! Tests the convolution document's table of cycles, and its lower bound.
//!
//! Rows of the table in `docs/convolution.md` are compared with runs; the bound is one that no schedule can
//! beat.

use super::*;
use std::collections::BTreeMap;

/// Returns the arithmetic issues of a block of `n`: N/2 butterflies for each of 2 log2 N levels, and half of
/// the products.
fn issues(n: usize) -> u64 {
    n as u64 * u64::from(n.ilog2()) + n as u64 / 2
}

/// Returns the fewest issues of whole blocks of powers of two that have so many outputs.
fn whole_blocks(taps: usize, outputs: usize) -> u64 {
    // Issues and outputs of a block, in the order of issues for each output.
    let sizes = (1..=24).map(|b| 1usize << b).filter(|&n| n >= taps);
    let mut sizes: Vec<(u64, u64)> = sizes.map(|n| (issues(n), (n - taps + 1) as u64)).collect();
    sizes.sort_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)));
    let mut best = u64::MAX;
    cover(&sizes, (outputs as u64, 0), &mut best);
    best
}

/// Searches all ways to cover `left` outputs with `sizes` after `spent` issues, as far as these may beat
/// `best`.
fn cover(sizes: &[(u64, u64)], (left, spent): (u64, u64), best: &mut u64) {
    if left == 0 {
        *best = spent.min(*best);
        return;
    }
    let Some((&(issues, outputs), others)) = sizes.split_first() else {
        return;
    };
    for blocks in (0..=left.div_ceil(outputs)).rev() {
        let left = left.saturating_sub(blocks * outputs);
        let spent = spent + blocks * issues;
        // No remaining size takes fewer issues an output than the next one.
        let next = others
            .first()
            .map_or(u64::MAX, |next| left * next.0 / next.1);
        if left > 0 && spent.saturating_add(next) >= *best {
            return;
        }
        cover(others, (left, spent), best);
    }
}

/// Returns the most outputs at one end of a signal for each number of issues, where taps that meet no samples
/// are left out.
///
/// The block that ends with output `k` from the end needs k taps. Both numbers ascend.
fn end(taps: usize) -> BTreeMap<u64, usize> {
    let mut least = vec![0u64];
    for outputs in 1..taps {
        let sizes = (0..=24).map(|b| 1usize << b);
        let sizes = sizes.filter(|&n| n >= outputs && n < 4 * taps);
        let with = |n: usize| least[(2 * outputs - 1).saturating_sub(n)] + issues(n);
        least.push(sizes.map(with).min().unwrap());
    }
    let (mut steps, mut low) = (BTreeMap::new(), u64::MAX);
    for (outputs, &issues) in least.iter().enumerate().rev() {
        if issues < low {
            steps.insert(issues, outputs);
            low = issues;
        }
    }
    steps
}

/// Most steps that [`ends`] returns.
const STEPS: usize = 64;
/// Returns issues and outputs of both ends of a signal in few steps.
///
/// The steps are optimistic: each joins several and has the issues of the first with the outputs of the last.
fn ends(taps: usize) -> Vec<(u64, usize)> {
    let one = end(taps);
    let with = |a: (&u64, &usize)| {
        let (issues, outputs) = (*a.0, *a.1);
        one.iter().map(move |b| (issues + b.0, outputs + b.1))
    };
    let mut both: Vec<(u64, usize)> = one.iter().flat_map(with).collect();
    both.sort_unstable();
    let mut best = vec![(0, 0)];
    for (issues, outputs) in both {
        if best.last().is_none_or(|last| outputs > last.1) {
            best.push((issues, outputs));
        }
    }
    let each = best.len().div_ceil(STEPS);
    let joined = best[1..].chunks(each);
    let joined = joined.map(|steps| (steps[0].0, steps[steps.len() - 1].1));
    std::iter::once((0, 0)).chain(joined).collect()
}

/// Returns cycles that no overlap-save schedule can beat.
///
/// They are the larger of arithmetic and transfers: whole blocks in all sections, with the `ends` computed
/// with fewer taps, or one block that holds all; and all samples and outputs through the channel once. Added
/// are the channel's set-up for a first load, a launch, and the set-up for a last store.
fn least(machine: &Machine, (taps, ends): (usize, &[(u64, usize)]), samples: usize) -> f64 {
    let outputs = samples + taps - 1;
    let mut fewest = issues(outputs.next_power_of_two());
    for &(issues, at_ends) in ends {
        if issues >= fewest {
            break;
        }
        let between = whole_blocks(taps, outputs.saturating_sub(at_ends));
        fewest = fewest.min(issues + between);
    }
    let arithmetic = fewest as f64 / machine.cp2.sections as f64;
    let dma = &machine.dma;
    let rate = dma.bandwidth.num as f64 / dma.bandwidth.den as f64;
    let channel = 8.0 * (samples + outputs) as f64 / rate;
    let set_up = 2 * dma.setup_idle.0 + machine.host.launch.0;
    arithmetic.max(channel) + set_up as f64
}

/// Ends equal the best of all ways to cover them, and need no more issues than with all taps in every block.
#[test]
fn ends_take_the_fewest_taps() {
    // One output is one product; a block of two has the next, and one of four the two after that.
    let found: Vec<_> = end(4).into_iter().collect();
    assert_eq!(found, [(issues(1), 1), (issues(2), 2), (issues(4), 3)]);
    for taps in [5, 17, 65] {
        for (issues, outputs) in end(taps) {
            assert!(issues <= whole_blocks(taps, outputs), "{taps} {outputs}");
        }
    }
}

/// Whole blocks take the issues of the best of all ways to cover few outputs.
#[test]
fn whole_blocks_are_the_fewest() {
    for taps in [2, 5, 17] {
        for outputs in 1..200 {
            // The least for every number of outputs from those for fewer outputs.
            let mut all = vec![0u64];
            for n in 1..=outputs {
                let sizes = (1..12).map(|b| 1usize << b).filter(|&n| n >= taps);
                let with = |size: usize| all[n - (size - taps + 1).min(n)] + issues(size);
                all.push(sizes.map(with).min().unwrap());
            }
            assert_eq!(
                whole_blocks(taps, outputs),
                all[outputs],
                "{taps} {outputs}"
            );
        }
    }
}

/// Up to the lengths in the documents, 0.93 of the classic count is out of reach; at those lengths it is, and
/// at longer ones of a grid it is not.
#[test]
fn short_signals_are_out_of_reach() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/convolution.md");
    let document = std::fs::read_to_string(document).unwrap();
    let table = document
        .lines()
        .skip_while(|line| !line.contains("out of reach to |"));
    let mut found = 0;
    for row in table.skip(2).take_while(|line| line.starts_with('|')) {
        let mut cells = row
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().parse::<usize>());
        let (Some(Ok(taps)), Some(Ok(to))) = (cells.next(), cells.next()) else {
            panic!("{row}");
        };
        let ends = ends(taps);
        for name in ["vm7", "vm9"] {
            let machine = machine(name);
            let most = |samples: usize| {
                let outputs = samples + taps - 1;
                classic(taps) * outputs as f64 / least(&machine, (taps, &ends), samples)
            };
            assert!(most(to) < 0.93, "{name}, {taps} taps: {}", most(to));
            let longer = std::iter::successors(Some(to + to / 10), |&s| Some(s + s / 30));
            for samples in longer.take_while(|&samples| samples < 16 * to) {
                assert!(most(samples) >= 0.93, "{name}, {taps} taps, {samples}");
            }
        }
        found += 1;
    }
    assert!(found >= 15, "{found} rows");
}

/// Cycles go where the table says, to the cycle; and no run takes less than the least.
#[test]
fn cycles_go_where_the_documents_say() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/convolution.md");
    let document = std::fs::read_to_string(document).unwrap();
    let (mut found, mut wrong) = (0, Vec::new());
    for row in document.lines() {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [taps, samples, name, numbers @ ..] = &cells[..] else {
            continue;
        };
        if numbers.len() != 9 || !name.starts_with("vm") {
            continue;
        }
        let (taps, samples) = (taps.parse().unwrap(), samples.parse().unwrap());
        let names = ["vm7", "vm9"];
        let name = *names.iter().find(|own| *own == name).unwrap();
        let machine = machine(name);
        let measured = measured((name, taps, samples));
        assert!(measured.holds, "{name}, {taps} taps, {samples}");
        let report = &measured.report;
        let of = |cause| report.causes.get(cause);
        let cycles = report.cycles;
        // Arithmetic by formula, of all sections.
        let arithmetic = measured
            .operations
            .iter()
            .filter(|(class, _)| matches!(class, Class::Butterfly | Class::Madd))
            .map(|(_, count)| count)
            .sum::<u64>()
            / machine.cp2.sections as u64;
        let waits = [
            Cause::WaitLoad,
            Cause::WaitStore,
            Cause::WaitHost,
            Cause::Launch,
        ]
        .map(of);
        let words = cycles - waits.iter().sum::<u64>() - arithmetic;
        let classic = classic(taps) * (samples + taps - 1) as f64;
        let least = least(&machine, (taps, &ends(taps)), samples);
        assert!(
            least <= cycles as f64,
            "{name}, {taps} taps: {least} {cycles}"
        );
        let mut found_here = vec![
            cycles.to_string(),
            format!("{:.3}", classic / cycles as f64),
            format!("{:.3}", classic / least),
            arithmetic.to_string(),
            words.to_string(),
        ];
        found_here.extend(waits.iter().map(u64::to_string));
        if found_here != numbers {
            wrong.push(format!(
                "| {taps} | {samples} | {name} | {} |",
                found_here.join(" | ")
            ));
        }
        found += 1;
    }
    assert!(
        wrong.is_empty(),
        "rows as they are measured:\n{}",
        wrong.join("\n")
    );
    assert!(found >= 30, "{found} rows");
}
