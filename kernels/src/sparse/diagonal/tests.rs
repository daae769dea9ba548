//! Tests of products by diagonal cells: every result is judged.
//!
//! Results are compared with the problem's reference in double precision, on machines of all shapes, under
//! the checkers.

use super::Diagonals;
use crate::sparse::{PackingWork, SparseError, judged_products};
use cp2_machine::{Bytes, Machine};
use cp2_problems::Case;
use cp2_problems::sparse::{GeneratedMatrix, NumberField, Pattern, SparseMatrix, Triplets};
use num_complex::Complex64;
use proptest::prelude::*;
use std::sync::Arc;

fn machine(name: &str) -> Machine {
    Machine::builtin(name).unwrap()
}

fn generate_matrix(pattern: Pattern, n: usize, each: usize, diagonals: &[i64]) -> SparseMatrix {
    let made = GeneratedMatrix {
        pattern,
        n,
        cols: 0,
        each,
        diagonals: diagonals.to_vec(),
        field: NumberField::Real,
        dominant: false,
        seed: n as u64,
    };
    made.matrix().unwrap()
}

/// Returns the result of a product and its cycles.
fn product(
    packed: &Arc<Diagonals>,
    matrix: &SparseMatrix,
    machine: &Arc<Machine>,
    x: &[f32],
) -> (Vec<f32>, u64) {
    judged_products::product(matrix, machine, x, |job, x, y| {
        packed.place(job).unwrap().pass(job, x, y);
    })
}

/// Judges a product and returns its `csr_ratio`.
fn judged(matrix: &SparseMatrix, machine: &Arc<Machine>, case: Case) -> Result<f64, SparseError> {
    let packed = Arc::new(Diagonals::new(matrix, machine, &PackingWork::default())?);
    assert!(packed.places() >= matrix.nnz());
    assert!(packed.bytes() >= 4 * packed.places() as u64);
    Ok(judged_products::judged(
        matrix,
        machine,
        case,
        |job, x, y| {
            packed.place(job).unwrap().pass(job, x, y);
        },
    ))
}

/// Matrices of any shape with entries near some diagonals, not all of them, some of them zeros, and some
/// entries anywhere.
fn scattered() -> impl Strategy<Value = SparseMatrix> {
    let sizes = (1usize..200, 1usize..200);
    let diagonals = prop::collection::vec(-40i64..40, 0..6);
    let far = prop::collection::vec((0usize..200, 0usize..200), 0..12);
    (sizes, diagonals, far, 1u64..100, any::<u32>()).prop_map(
        |((rows, cols), diagonals, far, keep, seed)| {
            let mut random = cp2_problems::Random::new(u64::from(seed));
            let mut entries = Vec::new();
            for row in 0..rows {
                for &diagonal in &diagonals {
                    let column = (row * cols / rows) as i64 + diagonal;
                    if (0..cols as i64).contains(&column) && random.next_u64() % 100 <= keep {
                        entries.push((row as u32, column as u32));
                    }
                }
            }
            entries.extend(
                far.iter()
                    .map(|&(row, column)| ((row % rows) as u32, (column % cols) as u32)),
            );
            entries.sort_unstable();
            entries.dedup();
            let value = |random: &mut cp2_problems::Random| match random.next_u64() % 8 {
                0 => 0.0,
                number => number as f64 - 3.5,
            };
            let entries = entries
                .into_iter()
                .map(|(row, column)| (row, column, value(&mut random)));
            SparseMatrix::from_triplets(rows, cols, &Triplets::Real(entries.collect())).unwrap()
        },
    )
}

fn machines() -> impl Strategy<Value = Arc<Machine>> {
    let names = prop::sample::select(vec!["vm7", "vm9"]);
    let granules = prop::sample::select(vec![16u64, 32, 64]);
    let memories = prop::sample::select(vec![12u64, 16, 32, 64]);
    (names, granules, memories, 1usize..9).prop_map(|(name, granule, dmem, sections)| {
        let mut machine = machine(name);
        machine.cp2.sections = sections;
        machine.dma.granule = Bytes(granule);
        machine.cp2.dmem = Bytes(dmem << 10);
        Arc::new(machine)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Products of all matrices are right on all machines.
    #[test]
    fn any_matrix_on_any_machine(
        matrix in scattered(),
        machine in machines(),
        case in prop::sample::select(Case::ALL.to_vec()),
    ) {
        match judged(&matrix, &machine, case) {
            Ok(_) | Err(SparseError::Padding { .. } | SparseError::Segment { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn families_of_patterns() {
    let vm9 = Arc::new(machine("vm9"));
    for pattern in Pattern::ALL {
        let n = match pattern {
            Pattern::Grid5 => 17,
            Pattern::Grid7 | Pattern::Grid27 => 6,
            _ => 203,
        };
        let matrix = generate_matrix(pattern, n, 3, &[-7, -1, 0, 2]);
        for case in [Case::Random, Case::NotFinite] {
            judged(&matrix, &vm9, case).unwrap();
        }
    }
}

/// Units longer than a page go on in the next one, in one chunk or in several.
#[test]
fn rows_of_more_cells_than_a_page_holds() {
    let vm7 = machine("vm7");
    let matrix = generate_matrix(Pattern::DenseRow, 700, 1, &[]);
    judged(&matrix, &Arc::new(vm7.clone()), Case::Random).unwrap();
    let full: Vec<(u32, u32)> = (0..40).flat_map(|i| (0..40).map(move |j| (i, j))).collect();
    let full = SparseMatrix::from_triplets(40, 40, &Triplets::Pattern(full)).unwrap();
    let mut small = vm7;
    small.cp2.dmem = Bytes(6 << 10);
    judged(&full, &Arc::new(small), Case::NotFinite).unwrap();
}

/// Rows in several chunks, each with a segment of the vector of its own.
#[test]
fn a_vector_that_local_memory_does_not_hold() {
    let mut vm7 = machine("vm7");
    vm7.cp2.dmem = Bytes(12 << 10);
    let matrix = generate_matrix(Pattern::Band, 5003, 3, &[-20, -1, 0, 1, 2, 33]);
    let vm7 = Arc::new(vm7);
    assert!(
        Diagonals::new(&matrix, &vm7, &PackingWork::default())
            .unwrap()
            .segments()
            > 2
    );
    judged(&matrix, &vm7, Case::Random).unwrap();
}

/// The format reads entries, but neither columns nor many empty places: it takes less time than compressed
/// rows.
#[test]
fn bands_and_grids_take_less_than_compressed_rows() {
    for name in ["vm7", "vm9"] {
        let machine = Arc::new(machine(name));
        let band = generate_matrix(Pattern::Band, 7001, 3, &[-2, -1, 0, 1, 2]);
        let ratio = judged(&band, &machine, Case::Random).unwrap();
        assert!(ratio > 1.55, "{name}: {ratio}");
        let grid = generate_matrix(Pattern::Grid27, 12, 3, &[]);
        let ratio = judged(&grid, &machine, Case::Random).unwrap();
        assert!(ratio > 1.3, "{name}: {ratio}");
    }
}

/// An infinity is multiplied by entries, even zeros, and by nothing else.
#[test]
fn infinities_reach_what_has_an_entry() {
    let vm7 = Arc::new(machine("vm7"));
    let n = 64;
    // Every row has its diagonal; rows divisible by 3 have a zero, of either sign, two to the right.
    let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 2.0)).collect();
    let zeros = (0..n - 2).filter(|i| i % 3 == 0);
    entries.extend(zeros.map(|i| (i, i + 2, if i % 16 < 8 { 0.0 } else { -0.0 })));
    let matrix =
        SparseMatrix::from_triplets(n as usize, n as usize, &Triplets::Real(entries)).unwrap();
    let packed = Arc::new(Diagonals::new(&matrix, &vm7, &PackingWork::default()).unwrap());
    for special in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let x: Vec<f32> = (0..n)
            .map(|i| if i % 8 == 5 { special } else { 1.0 })
            .collect();
        let (y, _) = product(&packed, &matrix, &vm7, &x);
        for (i, y) in y.into_iter().enumerate() {
            let zero = i % 3 == 0 && i % 8 == 3 && i + 2 < n as usize;
            let expected = if zero { f32::NAN } else { 2.0 * x[i] };
            assert!(
                y == expected || y.is_nan() && expected.is_nan(),
                "row {i}: {y}, {expected}"
            );
        }
    }
}

#[test]
fn what_is_refused_says_why() {
    let vm7 = machine("vm7");
    let complex = Triplets::Complex(vec![(0, 0, Complex64::new(1.0, 2.0))]);
    let complex = SparseMatrix::from_triplets(1, 1, &complex).unwrap();
    let refused = |matrix: &SparseMatrix, machine: &Machine| {
        Diagonals::new(matrix, machine, &PackingWork::default()).unwrap_err()
    };
    assert!(matches!(refused(&complex, &vm7), SparseError::Complex));
    let band = generate_matrix(Pattern::Band, 100, 3, &[0]);
    let mut coarse = vm7.clone();
    coarse.dma.granule = Bytes(128);
    assert!(matches!(
        refused(&band, &coarse),
        SparseError::Granule { granule: 128, .. }
    ));
    let mut wide = vm7.clone();
    wide.cp2.sections = 9;
    assert!(matches!(
        refused(&band, &wide),
        SparseError::Sections { sections: 9, .. }
    ));
    // A full row has a cell for every column.
    wide.cp2.sections = 8;
    let full: Vec<(u32, u32)> = (0..2000).map(|column| (0, column)).collect();
    let full = SparseMatrix::from_triplets(1000, 2000, &Triplets::Pattern(full)).unwrap();
    let SparseError::Padding { places, entries } = refused(&full, &wide) else {
        panic!("packed");
    };
    assert!(entries == 2000 && places > 64 * entries, "{places}");
    let far = generate_matrix(Pattern::Band, 20_000, 3, &[-9000, -7000, 0, 7000, 9000]);
    let anywhere = generate_matrix(Pattern::Random, 12_000, 3, &[]);
    assert!(Diagonals::new(&far, &vm7, &PackingWork::default()).is_ok());
    let SparseError::Segment { bytes, dmem } = refused(&anywhere, &vm7) else {
        panic!("packed");
    };
    assert!(bytes > dmem && dmem == vm7.cp2.dmem.0, "{bytes}");
}
