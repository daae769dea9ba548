//! Tests the documented limits of real transforms in two passes, by formula.
//!
//! The tables are those of `docs/fft-real.md`, and the formulas too.
//!
//! This is an independent oracle: nothing is taken from the planner's prices but the words in which it names
//! its pages.

#![allow(
    clippy::disallowed_methods,
    reason = "oracles may use the host's functions"
)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod least;
mod terms;

use cp2_kernels::fft::FftPlanner;
use std::collections::BTreeMap;
use terms::{Pages, back, forward, forward_terms, granule};

/// Allowed difference: figures have three decimals, and set-ups of transfers are left out.
const CLOSE: f64 = 0.0016;

/// Returns the rows of a section's tables, without the bars.
fn rows(from: &str, to: &str) -> Vec<Vec<String>> {
    let section = include_str!("../../../docs/fft-real.md").split_once(from);
    let section = section.unwrap().1.split_once(to).unwrap().0;
    let cells = |line: &str| {
        let line = line.strip_prefix("| 2^")?.strip_suffix(" |")?;
        Some(line.split(" | ").map(str::to_owned).collect())
    };
    section.lines().filter_map(cells).collect()
}

fn length(cells: &[String]) -> usize {
    1 << cells[0].parse::<u32>().unwrap()
}

fn numbers(cells: &[String]) -> Vec<f64> {
    cells.iter().map(|cell| cell.parse().unwrap()).collect()
}

/// Reads pages from a table; they are among those of the planner's recipe: the first for one transform, the
/// last for many.
fn pages(cell: &str, recipe: &str, many: bool) -> Pages {
    let of: Vec<usize> = cell
        .split([',', 'x'])
        .map(|part| part.trim().parse().unwrap())
        .collect();
    let (n1, n2, c, r) = (of[0], of[1], of[2], of[3]);
    let ends = of.get(4).map(|last| format!(", {last} in the last"));
    let named = |plan: &&str| {
        let (columns, rest) = plan.split_once(", couples of rows").unwrap_or_else(|| {
            let there = plan.split_once(", half of the rows");
            there.unwrap_or_else(|| panic!("{plan}"))
        });
        columns.contains(&format!("columns of {n1} ("))
            && columns.contains(&format!("), {c} a section"))
            && rest.starts_with(&format!(" of {n2} ("))
            && rest.contains(&format!("), {r} a section"))
            && ends
                .as_ref()
                .is_none_or(|ends| rest.contains(ends.as_str()))
    };
    let mut plans = recipe.split("; for batches").filter(named);
    let plan = if many { plans.last() } else { plans.next() };
    let plan = plan.unwrap_or_else(|| panic!("{cell}: {recipe}"));
    Pages {
        n1: n1 as f64,
        n2: n2 as f64,
        c: c as f64,
        r: r as f64,
        last: of.get(4).map_or(0.0, |&last| last as f64),
        pieces: [("of an eighth", 8.0), ("of a quarter", 4.0)]
            .iter()
            .find(|(name, _)| {
                plan.rsplit_once("rows")
                    .is_some_and(|(_, rows)| rows.contains(name))
            })
            .map_or(1.0, |(_, pieces)| *pieces),
        stay: plan.ends_with("whose factors stay"),
        bare: false,
    }
}

/// Describes the differences from the documented figures.
fn far(what: &str, computed: &[f64], documented: &[f64]) -> Option<String> {
    let close = computed.len() == documented.len()
        && computed
            .iter()
            .zip(documented)
            .all(|(a, b)| (a - b).abs() <= CLOSE);
    (!close).then(|| format!("{what}: {computed:.4?}, documented {documented:?}"))
}

/// Returns the measured efficiencies by length, batch and machine: no ceiling is below them.
fn measured(rows: &[Vec<String>], cells: usize) -> BTreeMap<(usize, String, String), f64> {
    let rows = rows.iter().filter(|row| row.len() == cells);
    let entry = |row: &Vec<String>| {
        let efficiency = row[cells - 2].parse().unwrap();
        ((length(row), row[1].clone(), row[2].clone()), efficiency)
    };
    rows.map(entry).collect()
}

#[test]
fn what_the_way_there_allows() {
    let all = rows("\n## There", "\n## Back");
    let runs = measured(&all, 7);
    let mut wrong = Vec::new();
    let tables: Vec<_> = all.iter().filter(|row| row.len() == 11).collect();
    assert_eq!((tables.len(), runs.len()), (16, 34));
    for row in tables {
        let (n, machine) = (length(row), row[1].as_str());
        let fft = FftPlanner::new(crate::common::machine(machine));
        let recipe = fft.plan_real_forward(n).unwrap().recipe();
        let g = granule(machine);
        // Factors that stay are loaded once in a batch.
        let (terms, [many, _]) = forward(n as f64, g, pages(&row[2], &recipe, true));
        let once = Pages {
            stay: false,
            ..pages(&row[9], &recipe, false)
        };
        let (_, [_, alone]) = forward(n as f64, g, once);
        let bound = ((n.ilog2() + 1) as f64 / 16.0).max(g);
        let computed = [&terms[..], &[bound, many, alone]].concat();
        let documented = [numbers(&row[3..9]), numbers(&row[10..])].concat();
        let what = format!("{n} on {machine}");
        wrong.extend(far(&what, &computed, &documented));
        for ((_, batch, _), &took) in runs
            .iter()
            .filter(|((of, _, m), _)| (*of, m) == (n, &row[1]))
        {
            let most = if batch == "1" { alone } else { many };
            if took > most {
                wrong.push(format!("{what}, {batch}: {took} of at most {most:.4}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_the_way_back_allows() {
    let all = rows("\n## Back", "\n## What any");
    let runs = measured(&all, 8);
    let mut wrong = Vec::new();
    let tables: Vec<_> = all.iter().filter(|row| row.len() == 13).collect();
    assert_eq!((tables.len(), runs.len()), (24, 38));
    for row in tables {
        let (n, batch, machine) = (length(row), row[1].as_str(), row[2].as_str());
        let fft = FftPlanner::new(crate::common::machine(machine));
        let fft = fft.plan_real_inverse(n).unwrap();
        let count: usize = batch.parse().unwrap();
        let pages = pages(&row[3], &fft.recipe(), count > 1);
        let (terms, most) = back(n as f64, count as f64, granule(machine), pages);
        // By the document's count: N/4 (log2 N + 1) issues or two passes over memory.
        let counted = least::bound(n, granule(machine)) * count as f64;
        let own = counted / fft.recipe_floor(count).unwrap().0;
        let took = runs[&(n, batch.to_owned(), machine.to_owned())];
        let computed = [&terms[..], &[most, own, took]].concat();
        let what = format!("{n} x {batch} on {machine}");
        wrong.extend(far(&what, &computed, &numbers(&row[4..])));
        if !(took <= own && own <= most + CLOSE) {
            wrong.push(format!("{what}: {took} of {own:.4} of {most:.4}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The cycles of one transform agree with the document, term by term.
#[test]
fn where_the_cycles_of_one_go() {
    let there = measured_cycles("\n## There", "\n## Back");
    let back_runs = measured_cycles("\n## Back", "\n## What any");
    let all = rows("\n## Back", "\n## What any");
    let tables: Vec<_> = all.iter().filter(|row| row.len() == 14).collect();
    assert_eq!(tables.len(), 5);
    let mut wrong = Vec::new();
    for row in tables {
        let (n, machine) = (length(row), row[2].as_str());
        let planner = FftPlanner::new(crate::common::machine(machine));
        let key = (n, "1".to_owned(), machine.to_owned());
        let forth = row[1] == "there";
        let (recipe, own, cycles) = if forth {
            let fft = planner.plan_real_forward(n).unwrap();
            (fft.recipe(), fft.recipe_floor(1).unwrap().0, there[&key])
        } else {
            let fft = planner.plan_real_inverse(n).unwrap();
            (
                fft.recipe(),
                fft.recipe_floor(1).unwrap().0,
                back_runs[&key],
            )
        };
        let p = pages(&row[3], &recipe, false);
        let words: Vec<f64> = row[4]
            .split(", ")
            .map(|cell| cell.parse().unwrap())
            .collect();
        let size = n as f64;
        let (ends, pages) = match forth {
            true => {
                let [ends, _] = forward_terms(size, granule(machine), p);
                let full = ((p.n1 / 8.0 + 2.0 - p.last) / p.r).floor();
                (ends, [p.n2 / (8.0 * p.c), 0.0, full, 1.0])
            }
            false => {
                let ([a1, d1, e1, a2, d2, e2], _) = back(size, 1.0, granule(machine), p);
                let pages = [p.n2 / (8.0 * p.c), 1.0, p.n1 / (8.0 * p.r), 0.0];
                ([a1 + e1, d1, a2 + e2, d2], pages)
            }
        };
        let of_columns = (words[0] * pages[0] + words[2] * pages[1]) / size;
        let of_rows = (words[1] * pages[2] + words[2] * pages[3]) / size;
        let [a1, d1, a2, d2] = ends;
        let taken = (a1 + of_columns).max(d1) + (a2 + of_rows).max(d2);
        let program = own / size - taken;
        let waits = (cycles - own) / size;
        let computed = [
            program,
            a1,
            of_columns,
            d1,
            a2,
            of_rows,
            d2,
            waits,
            cycles / size,
        ];
        wrong.extend(far(
            &format!("{n} {} on {machine}", row[1]),
            &computed,
            &numbers(&row[5..]),
        ));
        if waits < 0.0 {
            wrong.push(format!("{n} {} on {machine}: waits {waits}", row[1]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the measured cycles by length, batch and machine.
fn measured_cycles(from: &str, to: &str) -> BTreeMap<(usize, String, String), f64> {
    let all = rows(from, to);
    let runs = all.iter().filter(|row| [7, 8].contains(&row.len()));
    let entry = |row: &Vec<String>| {
        let cycles = row[row.len() - 4].parse().unwrap();
        ((length(row), row[1].clone(), row[2].clone()), cycles)
    };
    runs.map(entry).collect()
}
