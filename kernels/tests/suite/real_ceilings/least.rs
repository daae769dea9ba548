//! Tests lower bounds of two passes, over all divisions and pages.
//!
//! Another bound is that of any program whose pages are wholes.

use super::terms::{Pages, back, forward, granule};
use super::{CLOSE, far, length, measured, numbers, rows};

/// Bytes of DMEM of a section.
const DMEM: f64 = 65536.0;
/// Number of transforms of a batch so large that its ends do not count.
const MANY: f64 = 1.0e9;

/// Least time of a single transform, and of each of many.
type Least = [f64; 2];

/// Iterates over divisions with lines of 32 to 2048 numbers.
fn divisions(n: usize) -> impl Iterator<Item = [usize; 2]> {
    let lines = (5..=11).map(move |bits| [1 << bits, n >> bits]);
    lines.filter(|[_, n2]| (32..=2048).contains(n2))
}

/// Iterates over the numbers of columns of a section's page of at most `page` bytes, an equal number in each
/// page.
fn widths([n1, n2]: [usize; 2], page: f64) -> impl Iterator<Item = usize> {
    let all = (1..).map(|bits| 1 << bits);
    all.take_while(move |&c| 8 * c <= n2 && (8 * c * n1) as f64 <= page)
}

/// Iterates over the numbers of rows of a page of at most `page` bytes, up to `most`.
fn heights(n2: usize, most: usize, page: f64) -> impl Iterator<Item = usize> {
    let all = (2..=most).step_by(2);
    all.take_while(move |r| (8 * r * n2) as f64 <= page)
}

fn pages([n1, n2]: [usize; 2], c: usize, r: usize, last: usize) -> Pages {
    let [n1, n2, c, r, last] = [n1, n2, c, r, last].map(|x| x as f64);
    Pages {
        n1,
        n2,
        c,
        r,
        last,
        pieces: 1.0,
        stay: false,
        bare: true,
    }
}

fn smaller(a: Least, b: Least) -> Least {
    [a[0].min(b[0]), a[1].min(b[1])]
}

/// Returns the least time forward with pages of at most `page` bytes; factors are left out.
fn there(n: usize, g: f64, page: f64) -> Least {
    let two = two_passes(n, g);
    let mut best = [f64::INFINITY; 2];
    for lines in divisions(n) {
        let rows = lines[0] / 8;
        for c in widths(lines, page) {
            for r in heights(lines[1], rows, page) {
                let lasts = (2..=r + 2).step_by(2);
                for last in lasts.filter(|last| (rows + 2 - last) % r == 0) {
                    let of = forward(n as f64, g, pages(lines, c, r, last)).1;
                    let took = [of[1], of[0]].map(|most| two / most);
                    best = smaller(best, took);
                }
            }
        }
    }
    best
}

/// Returns the least time back with pages of at most `page` bytes; factors are left out.
fn and_back(n: usize, g: f64, page: f64) -> Least {
    let two = two_passes(n, g);
    let mut best = [f64::INFINITY; 2];
    for lines in divisions(n) {
        let rows = lines[0] / 8;
        for c in widths(lines, page) {
            let heights = heights(lines[1], rows, page);
            let whole = heights.filter(|r| rows % *r == 0 && (lines[1] < 2048 || *r == 2));
            for r in whole {
                let of = |batch| back(n as f64, batch, g, pages(lines, c, r, 0)).1;
                let took = [of(1.0), of(MANY)].map(|most| two / most);
                best = smaller(best, took);
            }
        }
    }
    best
}

/// Returns the least time of a single transform by any program of two successive passes whose pages are
/// wholes of one size.
fn any(n: usize, g: f64) -> f64 {
    let (size, levels) = (n as f64, n.ilog2() + 1);
    let arithmetic = size / 16.0 * f64::from(levels);
    let mut best = f64::INFINITY;
    for bits in 1..n.ilog2() {
        let (n1, n2) = (1 << bits, n >> bits);
        // Each section has at least a granule of columns, and of rows.
        for p1 in 1..=(n2 / 16).max(1) {
            for p2 in 1..=(n1 / 16).max(1) {
                let [n1, n2, p1, p2] = [n1, n2, p1, p2].map(|x| x as f64);
                let columns = if p1 > 1.0 { n1 } else { 0.0 };
                let rows = if p2 > 1.0 { n2 / 2.0 } else { 0.0 };
                let moved = g * size + columns * p1 + p1 * p2 + n2 * (p2 - 1.0);
                let ends = g * size / 2.0 * (1.0 / p1 + 1.0 / p2) + columns + rows;
                best = best.min(moved.max(arithmetic + ends));
            }
        }
    }
    best
}

/// Returns the bound of two passes, in cycles.
fn two_passes(n: usize, g: f64) -> f64 {
    let levels = f64::from(n.ilog2() + 1);
    n as f64 * (levels / 16.0).max(g)
}

/// Returns the bound of the document: two passes over memory only where no section could hold the numbers.
pub(crate) fn bound(n: usize, g: f64) -> f64 {
    let size = n as f64;
    let moved = match n < 1 << 14 {
        true => g / 16.0 * (8.0 * size + 8.0),
        false => g * size,
    };
    moved.max(size / 16.0 * f64::from(n.ilog2() + 1))
}

/// Returns the tables of the section.
fn tables(cells: usize, count: usize) -> Vec<Vec<String>> {
    let all = rows("\n## What any", "\n## Limits").into_iter();
    let all: Vec<_> = all.filter(|row| row.len() == cells).collect();
    assert_eq!(all.len(), count);
    all
}

/// Returns the measured efficiencies of one transform: forward, back.
fn alone(n: usize, machine: &str) -> Option<[f64; 2]> {
    let of = |all: &[Vec<String>], cells| {
        let key = (n, "1".to_owned(), machine.to_owned());
        measured(all, cells).get(&key).copied()
    };
    let there = of(&rows("\n## There", "\n## Back"), 7)?;
    Some([there, of(&rows("\n## Back", "\n## What any"), 8)?])
}

#[test]
fn what_one_transform_allows() {
    let mut wrong = Vec::new();
    for row in tables(7, 18) {
        let (n, machine) = (length(&row), row[1].as_str());
        let (g, page) = (granule(machine), DMEM / 3.0);
        // Back, columns of 512 go in eighths of larger ones.
        let larger = if n < 1 << 18 { page } else { DMEM / 2.0 };
        let [there, back] = [there(n, g, page), and_back(n, g, larger)];
        let most = [any(n, g), there[0], back[0]].map(|least| bound(n, g) / least);
        let documented = numbers(&row[2..]);
        let runs = [documented[2], documented[4]];
        let what = format!("{n} on {machine}");
        let expected = [documented[0], documented[1], documented[3]];
        wrong.extend(far(&what, &most, &expected));
        wrong.extend(alone(n, machine).and_then(|of| far(&what, &of, &runs)));
        if (0..2).any(|i| runs[i] > most[i + 1] || most[i + 1] > most[0]) {
            wrong.push(format!("{what}: {runs:?} of {most:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_batches_allow() {
    let mut wrong = Vec::new();
    for row in tables(8, 8) {
        let (n, machine) = (length(&row), row[1].as_str());
        let g = granule(machine);
        let of = |page| {
            let most = |least: Least| match least[1].is_finite() {
                true => format!("{:.3}", bound(n, g) / least[1]),
                false => "-".to_owned(),
            };
            [most(there(n, g, page)), most(and_back(n, g, page))]
        };
        let ([a, c], [b, d]) = (of(DMEM / 3.0), of(DMEM / 2.0));
        let documented = [&row[2], &row[3], &row[5], &row[6]];
        if documented != [&a, &b, &c, &d] {
            wrong.push(format!("{n} on {machine}: {a} {b} {c} {d}, {documented:?}"));
        }
        for (run, most) in [(&row[4], &b), (&row[7], &d)] {
            let [run, most]: [f64; 2] = [run, most].map(|cell| cell.parse().unwrap());
            if run > most + CLOSE {
                wrong.push(format!("{n} on {machine}: {run} of {most}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
