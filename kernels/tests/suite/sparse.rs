//! Tests products of sparse matrices: all patterns, machines and speeds.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common::machine;
use cp2_host::DeviceOptions;
use cp2_kernels::sparse::{PackedFormat, Products, SparseError, csr_ratio};
use cp2_machine::{Bytes, Machine};
use cp2_problems::sparse::{
    GeneratedMatrix, NumberField, Pattern, SparseMatrix, SpmvProblem, Triplets,
};
use cp2_problems::{Case, Problem as _};
use proptest::prelude::*;
use std::sync::Arc;

/// Multiplies under the checkers and judges the result; returns the cycles.
fn checked(
    problem: &SpmvProblem,
    machine: &Arc<Machine>,
    (format, case, seed): (Option<PackedFormat>, Case, u64),
) -> u64 {
    let products = Products::new(problem, machine, format).unwrap();
    let input = problem.input(case, seed);
    let options = DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    };
    let task = products.task(&input, options).unwrap();
    let expected = task.job.expected();
    let done = task.run(products.figures()).unwrap();
    let findings = &done.run.report.findings;
    assert!(findings.is_empty(), "{}: {:?}", findings.len(), findings[0]);
    assert!(done.keeps_inputs().unwrap());
    let verdict = problem.judge(&input, done.output.as_ref().unwrap());
    assert!(verdict.is_within_tolerance(), "{verdict:?}");
    assert!(done.efficiency() < 1.0, "{}", done.efficiency());
    let cycles = done.run.report.cycles;
    // With one port, words moved by the DMA take slots of the kernel, which prices only estimate.
    if problem.vectors() == 1 && machine.cp2.dmem_ports > 1 {
        assert_eq!(expected.map(|cycles| cycles.0), Some(cycles));
    }
    cycles
}

pub(crate) fn made() -> impl Strategy<Value = (GeneratedMatrix, usize, Case, u64)> {
    let pattern = prop::sample::select(Pattern::ALL.to_vec());
    let field = prop::sample::select(NumberField::ALL.to_vec());
    let case = prop::sample::select(Case::ALL.to_vec());
    (
        pattern,
        field,
        case,
        (
            0usize..8,
            1usize..7,
            prop::sample::select(vec![1usize, 1, 2, 3, 7, 17, 20, 37]),
        ),
        0u64..1000,
    )
        .prop_map(|(pattern, field, case, (n, each, vectors), seed)| {
            let (n, cols) = match pattern {
                Pattern::Grid5 => (3 + n, 0),
                Pattern::Grid7 | Pattern::Grid27 => (2 + n / 2, 0),
                Pattern::Random | Pattern::Empty => (20 + 7 * n, [0, 13, 150][each % 3]),
                _ => (20 + 7 * n, 0),
            };
            let made = GeneratedMatrix {
                cols,
                each: if pattern == Pattern::Fem {
                    3 + each % 4
                } else {
                    each
                },
                field,
                seed,
                ..GeneratedMatrix::new(pattern, n)
            };
            (made, vectors, case, seed)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Every format multiplies matrices of every family: right, clean under the checkers, as fast as priced,
    /// and no padding multiplies a value that is not finite.
    #[test]
    fn products_are_right(
        (made, vectors, case, seed) in made(),
        name in prop::sample::select(vec![
            "vm7",
            "vm9",
            "vm7+section-addressing",
            "vm9+section-addressing",
            "vm7+section-addressing+word-addressing",
        ]),
    ) {
        let problem = SpmvProblem::from_generated(&made, vectors).unwrap();
        let machine = machine(name);
        // A format may refuse a matrix, but the choice among all may not.
        checked(&problem, &machine, (None, case, seed));
        for format in PackedFormat::possible(&machine) {
            if Products::new(&problem, &machine, Some(format)).is_ok() {
                checked(&problem, &machine, (Some(format), case, seed));
            }
        }
    }
}

/// Draws machines with other numbers of sections, granules, units of dealt transfers, sizes of local memory
/// and ports.
pub(crate) fn machines() -> impl Strategy<Value = Arc<Machine>> {
    let names = prop::sample::select(vec!["vm7", "vm9"]);
    let sizes = prop::sample::select(vec![4u64, 8, 16, 16, 32, 64]);
    let memories = prop::sample::select(vec![8u64, 16, 64, 64, 128, 160, 256]);
    (names, 1usize..=16, sizes.clone(), sizes, memories, 1..=2u32).prop_map(
        |(name, sections, granule, deal, dmem, ports)| {
            let mut machine = (*machine(name)).clone();
            machine.cp2.sections = sections;
            machine.cp2.dmem = Bytes(dmem << 10);
            machine.cp2.dmem_ports = ports;
            machine.dma.granule = Bytes(granule);
            machine.dma.deal = Bytes(deal);
            Arc::new(machine)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Every format works on all machines. A format may refuse one, because dealt transfers would cut
    /// numbers, but never for its number of sections.
    #[test]
    fn products_are_right_on_any_machine(
        (made, vectors, case, seed) in made(),
        machine in machines(),
        changes in prop::sample::select(vec![
            "",
            "section-addressing",
            "section-addressing+word-addressing",
        ]),
    ) {
        let problem = SpmvProblem::from_generated(&made, vectors).unwrap();
        let machine = match changes {
            "" => machine,
            changes => Arc::new(machine.with_changes(changes).unwrap()),
        };
        let formats = PackedFormat::possible(&machine).map(Some);
        for format in std::iter::once(None).chain(formats) {
            match Products::new(&problem, &machine, format) {
                Ok(_) => {
                    checked(&problem, &machine, (format, case, seed));
                }
                Err(error) => prop_assert!(may_refuse(&error, format, &machine), "{error}"),
            }
        }
    }
}

/// Returns true if a format may refuse a product on a machine. (`diagonal` may refuse a matrix anywhere, and
/// `sell` and `sell-words` complex ones.)
fn may_refuse(error: &SparseError, format: Option<PackedFormat>, machine: &Machine) -> bool {
    match error {
        SparseError::Dealt { .. } => machine.dma.dealt() < 8,
        SparseError::NoRoom { .. } => machine.cp2.dmem.0 <= 8 << 10,
        SparseError::Complex
            if matches!(format, Some(PackedFormat::Sell | PackedFormat::SellWords)) =>
        {
            true
        }
        SparseError::Complex | SparseError::Padding { .. } | SparseError::Segment { .. } => {
            format == Some(PackedFormat::Diagonal) || machine.dma.dealt() < 8
        }
        _ => false,
    }
}

/// Vectors too large for local memory come in segments; rows of any length go over any number of pages.
#[test]
fn large_vectors_and_long_rows() {
    for (pattern, n, each) in [
        (Pattern::Random, 14_000, 2),
        (Pattern::DenseRow, 3000, 2),
        (Pattern::DenseColumn, 1500, 2),
        (Pattern::PowerLaw, 9000, 3),
    ] {
        let made = GeneratedMatrix {
            each,
            ..GeneratedMatrix::new(pattern, n)
        };
        let problem = SpmvProblem::from_generated(&made, 1).unwrap();
        checked(
            &problem,
            &machine("vm7"),
            (Some(PackedFormat::Gather), Case::Random, 3),
        );
    }
}

/// Entries of a matrix: row, column and value.
type Entries = Vec<(u32, u32, f64)>;

/// One row, one column, one entry, none, and entries that are zero or not finite.
#[test]
fn small_and_odd_matrices() {
    let all: [(usize, usize, Entries); 5] = [
        (1, 1, vec![(0, 0, 2.0)]),
        (
            1,
            700,
            (0..700)
                .step_by(3)
                .map(|j| (0, j, 0.5 + f64::from(j)))
                .collect(),
        ),
        (
            700,
            1,
            (0..700)
                .step_by(3)
                .map(|i| (i, 0, 0.5 - f64::from(i)))
                .collect(),
        ),
        (9, 5, Vec::new()),
        (
            33,
            40,
            vec![
                (0, 0, 0.0),
                (7, 39, f64::INFINITY),
                (32, 1, f64::NAN),
                (8, 1, 3.0),
            ],
        ),
    ];
    for (rows, cols, entries) in all {
        let matrix = SparseMatrix::from_triplets(rows, cols, &Triplets::Real(entries)).unwrap();
        let problem = SpmvProblem::new(Arc::new(matrix), 1).unwrap();
        for case in [Case::Random, Case::NotFinite] {
            checked(&problem, &machine("vm9"), (None, case, 1));
        }
    }
}

/// Rows without entries are stored a page at a time: no page overwrites results of another that are still
/// being stored.
#[test]
fn long_stretches_of_empty_rows() {
    for (rows, cols, entries) in [
        (30_000, 3, vec![(0, 0, 2.0), (9999, 1, 3.0)]),
        (
            75_000,
            90,
            (0..1500)
                .map(|i| (50 * i, i % 90, 0.5 + f64::from(i)))
                .collect(),
        ),
    ] {
        let matrix = SparseMatrix::from_triplets(rows, cols, &Triplets::Real(entries)).unwrap();
        let matrix = Arc::new(matrix);
        for (vm, vectors) in [("vm7", 1), ("vm9", 1), ("vm7", 2)] {
            let problem = SpmvProblem::new(matrix.clone(), vectors).unwrap();
            checked(
                &problem,
                &machine(vm),
                (Some(PackedFormat::Gather), Case::Random, 1),
            );
        }
    }
}

/// A long vector of which a page has few entries a segment: several pages in a row load a segment, and the
/// kernel waits for each in words of the page before.
#[test]
fn few_entries_of_each_segment() {
    for (rows, cols, count) in [(64, 100_000, 300), (30, 200_000, 400), (1000, 60_000, 2000)] {
        let entry = |i: u32| (i * 7 % rows, i * 7919 % cols, 0.5 + f64::from(i % 13));
        let entries = Triplets::Real((0..count).map(entry).collect());
        let matrix = SparseMatrix::from_triplets(rows as usize, cols as usize, &entries).unwrap();
        let problem = SpmvProblem::new(Arc::new(matrix), 1).unwrap();
        for vm in ["vm7", "vm9"] {
            let choice = (Some(PackedFormat::Gather), Case::Random, 1);
            checked(&problem, &machine(vm), choice);
        }
    }
}

/// Two vectors side by side take the time of one, or little more, where each entry has words of its own; a
/// third one goes alone, and arrays are taken apart.
#[test]
fn vectors_two_at_a_time() {
    let cycles = |pattern, field, vectors| {
        let made = GeneratedMatrix {
            each: 9,
            field,
            ..GeneratedMatrix::new(pattern, 300)
        };
        let problem = SpmvProblem::from_generated(&made, vectors).unwrap();
        let choice = (Some(PackedFormat::Gather), Case::Random, 3);
        checked(&problem, &machine("vm7"), choice) as f64
    };
    for pattern in [Pattern::Random, Pattern::PowerLaw, Pattern::DenseRow] {
        let real = |vectors| cycles(pattern, NumberField::Real, vectors);
        let [one, two, three, four] = [1, 2, 3, 4].map(real);
        assert!(two < 1.5 * one, "{pattern:?}: {two} of {one}");
        assert!(three < two + 3.0 * one, "{pattern:?}: {three} of {one}");
        assert!(four < 2.0 * two + 2.0 * one, "{pattern:?}: {four} of {one}");
    }
    // Complex numbers take both lanes alone.
    let complex = |vectors| cycles(Pattern::Random, NumberField::Complex, vectors);
    assert!(complex(2) > 2.0 * complex(1));
}

/// Values that a multiplication selects from are still in their register, also with sections enough to make
/// more pairs than there are registers.
#[test]
fn pairs_of_many_sections_stay_until_they_are_selected() {
    for sections in [6, 7] {
        let mut machine = (*machine("vm7")).clone();
        machine.cp2.sections = sections;
        let machine = Arc::new(machine);
        for seed in 1..4 {
            let made = GeneratedMatrix {
                each: 9,
                seed,
                ..GeneratedMatrix::new(Pattern::Random, 400)
            };
            let problem = SpmvProblem::from_generated(&made, 1).unwrap();
            let choice = (Some(PackedFormat::Gather), Case::Random, 1);
            let products = Products::new(&problem, &machine, choice.0).unwrap();
            // No section is left idle: with four sections there are registers for all pairs.
            assert!(!products.recipe().contains("sections"));
            checked(&problem, &machine, choice);
        }
    }
}

/// Many vectors come panel by panel: rows of whole granules and others, a partial last panel, and machines
/// that move more at a time. An additional vector takes about as long as each of the others.
#[test]
fn any_number_of_vectors() {
    let problem = |field, vectors| {
        let made = GeneratedMatrix {
            each: 3,
            field,
            ..GeneratedMatrix::new(Pattern::Random, 90)
        };
        SpmvProblem::from_generated(&made, vectors).unwrap()
    };
    let mut wide = (*machine("vm7")).clone();
    wide.dma.granule = Bytes(256);
    let machines = [machine("vm7"), machine("vm9"), Arc::new(wide)];
    for machine in &machines {
        for (field, vectors) in [
            (NumberField::Real, 15),
            (NumberField::Real, 33),
            (NumberField::Real, 140),
            (NumberField::Real, 145),
            (NumberField::Complex, 9),
            (NumberField::Complex, 67),
        ] {
            let problem = problem(field, vectors);
            checked(&problem, machine, (None, Case::Random, 5));
        }
    }
    let [few, many] = [128, 512].map(|vectors| {
        let problem = problem(NumberField::Real, vectors);
        let products = Products::new(&problem, &machines[0], None).unwrap();
        let input = problem.input(Case::Random, 1);
        let task = products.task(&input, DeviceOptions::default()).unwrap();
        task.job.expected().unwrap().0 as f64 / vectors as f64
    });
    assert!(many < 1.1 * few, "{many} cycles a vector, {few} of fewer");
    // If system memory is too small, the error says how many vectors there may be.
    let refused = Products::check(
        problem(NumberField::Real, 1).matrix(),
        1_500_000,
        &machines[0],
    );
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("expected at most 1491308"), "{text}");
}

/// Local memory is so small that a buffer of values holds one step, so a longer row shares it with the
/// others. (With a part of its own that leaves them nothing, every step would be a page, which takes 1404
/// cycles in the smallest case.)
#[test]
fn long_rows_in_little_local_memory() {
    let long = (0..16).map(|j| (3, j, 0.5 + f64::from(j)));
    let others = (0..90).map(|i| (i, i % 16, 1.0 - f64::from(i)));
    let entries = long.chain(others.filter(|&(i, ..)| i != 3)).collect();
    let matrix = SparseMatrix::from_triplets(90, 16, &Triplets::Real(entries)).unwrap();
    let problem = SpmvProblem::new(Arc::new(matrix), 1).unwrap();
    for (dmem, most) in [(768, 1250), (1024, 1250), (2048, 900)] {
        let mut small = (*machine("vm7")).clone();
        small.cp2.dmem = Bytes(dmem);
        small.dma.granule = Bytes(64);
        let choice = (Some(PackedFormat::Gather), Case::Random, 1);
        let cycles = checked(&problem, &Arc::new(small), choice);
        assert!(cycles < most, "{dmem} B: {cycles} cycles");
    }
}

/// Ratios to the time of compressed rows, measured when the formats were made: slower products need a look.
#[test]
fn products_are_as_fast_as_they_were() {
    for (pattern, n, each, least) in [
        (Pattern::Random, 1400, 56, 0.5),
        (Pattern::Fem, 1200, 6, 0.8),
    ] {
        let made = GeneratedMatrix {
            each,
            ..GeneratedMatrix::new(pattern, n)
        };
        let problem = SpmvProblem::from_generated(&made, 1).unwrap();
        let machine = machine("vm7");
        let product = Products::new(&problem, &machine, None).unwrap();
        let cycles = product.expected();
        let ratio = csr_ratio(problem.matrix(), 1, cycles, &machine);
        assert!(ratio > least, "{pattern:?}: {ratio}");
    }
}

/// Returns the format that is chosen for a generated matrix on a machine, and the cycles of a product.
fn chosen(made: &GeneratedMatrix, machine: &Arc<Machine>) -> (PackedFormat, f64) {
    let problem = SpmvProblem::from_generated(made, 1).unwrap();
    let products = Products::new(&problem, machine, None).unwrap();
    (products.product().format(), products.expected().0 as f64)
}

/// With addresses of each section irregular patterns take half the time or little more, and others keep their
/// formats.
#[test]
fn own_addresses_serve_irregular_patterns() {
    for (pattern, n, each, format, gains) in [
        (Pattern::Random, 1400, 56, PackedFormat::Sell, [2.1, 1.8]),
        (Pattern::Random, 4000, 8, PackedFormat::Sell, [1.9, 1.7]),
        (Pattern::PowerLaw, 3000, 8, PackedFormat::Sell, [1.5, 1.4]),
        (Pattern::Grid5, 40, 5, PackedFormat::Diagonal, [1.0, 1.0]),
        (Pattern::Grid27, 10, 27, PackedFormat::Diagonal, [1.0, 1.0]),
    ] {
        let made = GeneratedMatrix {
            each,
            ..GeneratedMatrix::new(pattern, n)
        };
        for (name, least) in ["vm7", "vm9"].into_iter().zip(gains) {
            let (_, before) = chosen(&made, &machine(name));
            let own = machine(&format!("{name}+section-addressing"));
            let (taken, after) = chosen(&made, &own);
            assert_eq!(taken, format, "{pattern:?} on {name}");
            assert!(
                before >= least * after,
                "{pattern:?} on {name}: {}",
                before / after
            );
        }
    }
}

/// With word addresses too the vector lies in local memory once: rows of few entries gain most.
#[test]
fn words_at_own_addresses_serve_long_vectors() {
    for (pattern, n, each, gains) in [
        (Pattern::Random, 9000, 4, [1.35, 1.2]),
        (Pattern::PowerLaw, 9000, 4, [1.3, 1.25]),
    ] {
        let made = GeneratedMatrix {
            each,
            ..GeneratedMatrix::new(pattern, n)
        };
        for (name, least) in ["vm7", "vm9"].into_iter().zip(gains) {
            let own = machine(&format!("{name}+section-addressing"));
            let (_, before) = chosen(&made, &own);
            let words = machine(&format!("{name}+section-addressing+word-addressing"));
            let (taken, after) = chosen(&made, &words);
            assert_eq!(taken, PackedFormat::SellWords, "{pattern:?} on {name}");
            assert!(
                before >= least * after,
                "{pattern:?} on {name}: {}",
                before / after
            );
        }
    }
}

/// A machine without addresses of each section refuses the format that needs them, and never tries it.
#[test]
fn own_addresses_are_not_taken_for_granted() {
    let made = GeneratedMatrix::new(Pattern::Random, 60);
    let problem = SpmvProblem::from_generated(&made, 1).unwrap();
    let vm7 = machine("vm7");
    let refused = Products::new(&problem, &vm7, Some(PackedFormat::Sell)).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("--machine vm7+section-addressing"), "{text}");
    let products = Products::new(&problem, &vm7, None).unwrap();
    let mut tried = products.candidates().map(|(found, _)| found.format);
    assert!(tried.all(|format| !matches!(format, PackedFormat::Sell | PackedFormat::SellWords)));
}
