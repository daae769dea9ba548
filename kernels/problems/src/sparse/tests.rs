//! Matrices, products, symmetries and patterns against another library.

mod power;
mod solve;

use super::*;
use crate::data::NamedArrays;
use crate::reference::Exact;
use crate::{Case, KINDS, Problem, Size};
use num_complex::{Complex32, Complex64};
use proptest::prelude::*;
use std::sync::Arc;

/// Draws sides and entries, many of them at equal positions.
fn triplets() -> impl Strategy<Value = (usize, usize, Vec<(u32, u32, f64)>)> {
    (1usize..12, 1usize..12).prop_flat_map(|(rows, cols)| {
        let entry = (0..rows as u32, 0..cols as u32, -4.0..4.0);
        let entries = prop::collection::vec(entry, 0..60);
        entries.prop_map(move |entries| (rows, cols, entries))
    })
}

/// Builds the matrix with another library, in double precision.
fn theirs(rows: usize, cols: usize, entries: &[(u32, u32, f64)]) -> sprs::CsMat<f64> {
    let mut all = sprs::TriMat::new((rows, cols));
    for &(i, j, a) in entries {
        all.add_triplet(i as usize, j as usize, a);
    }
    all.to_csr()
}

fn matrix(rows: usize, cols: usize, entries: &[(u32, u32, f64)]) -> SparseMatrix {
    SparseMatrix::from_triplets(rows, cols, &Triplets::Real(entries.to_vec())).unwrap()
}

fn exact(problem: &SpmvProblem, x: Vec<f32>) -> (Vec<f64>, Vec<f64>) {
    let form = &problem.inputs()[0];
    let input = NamedArrays::from_array("x", &form.shape, x);
    let mut reference = problem.reference(&input).unwrap();
    let expected = reference.arrays.remove(0);
    match expected.exact {
        Exact::Real(y) => (y, expected.allowed),
        other => panic!("{other:?}"),
    }
}

/// Copies along the diagonal are those that another library makes of shifted entries.
#[test]
fn matrices_are_repeated_along_the_diagonal() {
    let entries = [(0, 1, 2.0), (0, 2, -1.0), (1, 0, 0.5)];
    let tiled = matrix(2, 3, &entries).repeat_along_diagonal(3).unwrap();
    let shifted = (0..3).flat_map(|k| entries.map(|(i, j, a)| (i + 2 * k, j + 3 * k, a)));
    let expected = theirs(6, 9, &shifted.collect::<Vec<_>>());
    assert_eq!((tiled.rows(), tiled.cols(), tiled.nnz()), (6, 9, 9));
    for (i, row) in expected.outer_iterator().enumerate() {
        let expected: Vec<(usize, f32)> = row.iter().map(|(j, &a)| (j, a as f32)).collect();
        assert_eq!(tiled.real_row(i).collect::<Vec<_>>(), expected);
    }
    let one = matrix(1, 1, &[(0, 0, 1.0)]);
    assert!(matches!(
        one.repeat_along_diagonal(0),
        Err(MatrixError::Zero { .. })
    ));
    let refused = one.repeat_along_diagonal((1 << 31) + 1);
    assert!(matches!(refused, Err(MatrixError::TooLarge { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Rows, columns and sums agree with another library.
    #[test]
    fn entries_are_where_they_were_put((rows, cols, entries) in triplets()) {
        let (ours, theirs) = (matrix(rows, cols, &entries), theirs(rows, cols, &entries));
        prop_assert_eq!(ours.nnz(), theirs.nnz());
        for (i, row) in theirs.outer_iterator().enumerate() {
            let expected: Vec<(usize, f32)> = row.iter().map(|(j, &a)| (j, a as f32)).collect();
            let close = |(a, b): (&(usize, f32), &(usize, f32))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-5;
            let found: Vec<_> = ours.real_row(i).collect();
            prop_assert!(found.len() == expected.len() && found.iter().zip(&expected).all(close));
        }
        prop_assert_eq!(ours.longest_row(), theirs.outer_iterator().map(|row| row.nnz()).max().unwrap());
        prop_assert_eq!(ours.csr_bytes(3), (8 * theirs.nnz() + 12 * (rows + cols)) as u64);
    }

    #[test]
    fn a_transpose_is_the_others((rows, cols, entries) in triplets()) {
        let ours = matrix(rows, cols, &entries);
        let there = ours.transpose();
        prop_assert_eq!((there.rows(), there.cols()), (cols, rows));
        for i in 0..rows {
            for (j, a) in ours.row(i) {
                prop_assert!(there.row(j).any(|(k, b)| k == i && a == b));
            }
        }
        prop_assert_eq!(there.transpose(), ours);
    }

    /// Products agree with another library's, in double precision with the same rounded entries.
    #[test]
    fn products_are_the_others((rows, cols, entries) in triplets(), seed in 0u64..1000) {
        let matrix = Arc::new(matrix(rows, cols, &entries));
        let problem = SpmvProblem::new(matrix.clone(), 2).unwrap();
        let x = crate::Random::new(seed).uniforms(cols * 2);
        let (y, _) = exact(&problem, x.clone());
        let rounded: Vec<_> = (0..rows).flat_map(|i| {
            matrix.real_row(i).map(move |(j, a)| (i as u32, j as u32, f64::from(a))).collect::<Vec<_>>()
        }).collect();
        let theirs = theirs(rows, cols, &rounded);
        for k in 0..2 {
            let column: Vec<f64> = x.iter().skip(k).step_by(2).map(|&x| x.into()).collect();
            let mut product = vec![0.0; rows];
            sprs::prod::mul_acc_mat_vec_csr(theirs.view(), &column[..], &mut product[..]);
            for (i, expected) in product.iter().enumerate() {
                prop_assert!((y[i * 2 + k] - expected).abs() < 1e-12, "{} {}", y[i * 2 + k], expected);
            }
        }
    }
}

/// Explicit zeros are entries, sums are rounded once, and a pattern with a repeated position becomes a real
/// matrix.
#[test]
fn sums_and_zeros() {
    let a = matrix(
        2,
        3,
        &[
            (1, 2, 0.0),
            (0, 1, 1.0),
            (0, 1, 2f64.powi(-24)),
            (0, 1, 2f64.powi(-24)),
        ],
    );
    assert_eq!(a.nnz(), 2);
    assert_eq!(
        a.row(0).collect::<Vec<_>>(),
        [(1, Complex32::from(1.0 + 2f32.powi(-23)))]
    );
    assert_eq!(a.row(1).collect::<Vec<_>>(), [(2, Complex32::from(0.0))]);
    assert_eq!(a.row(2).count(), 0);
    let of = |places: &[(u32, u32)]| {
        SparseMatrix::from_triplets(2, 2, &Triplets::Pattern(places.to_vec())).unwrap()
    };
    assert!(of(&[(0, 1), (1, 1)]).is_pattern());
    let twice = of(&[(0, 1), (1, 1), (0, 1)]);
    assert_eq!(*twice.coefficients(), MatrixEntries::Real(vec![2.0, 1.0]));
}

#[test]
fn matrices_that_are_none_are_refused() {
    let of = |rows, cols, entries: &[(u32, u32, f64)]| {
        SparseMatrix::from_triplets(rows, cols, &Triplets::Real(entries.to_vec()))
            .map_err(|e| e.to_string())
    };
    assert!(of(0, 1, &[]).unwrap_err().contains("0 rows"));
    assert!(of(1, 0, &[]).is_err());
    assert!(of((1 << 31) + 1, 1, &[]).unwrap_err().contains("too large"));
    let said = of(2, 3, &[(0, 0, 1.0), (1, 3, 1.0)]).unwrap_err();
    assert!(
        said.starts_with("entry 2 (from 1 on) is in row 1, column 3"),
        "{said}"
    );
    assert!(of(2, 3, &[(2, 0, 1.0)]).is_err());
}

/// Entries that are 0, and columns without other entries, change no product.
#[test]
fn what_cannot_change_a_product_is_not_significant() {
    let a = matrix(2, 9, &[(0, 1, 2.0), (1, 1, 3.0), (1, 4, 0.0), (0, 7, 1.0)]);
    let found = a.significant();
    assert_eq!((found.entries, found.values, found.columns), (3, 3, 2));
    assert_eq!(a.least_bytes(3), 4 * 3 + 4 * (2 + 2) * 3);
}

#[test]
fn a_symmetry_has_to_hold() {
    let symmetric = [(0, 1, 2.0), (1, 0, 2.0), (2, 2, 3.0)];
    let a = matrix(3, 3, &symmetric)
        .declared(Symmetry::Symmetric)
        .unwrap();
    assert_eq!(
        (a.significant().values, a.least_bytes(1)),
        (2, 4 * 2 + 4 * 6)
    );
    let skew = matrix(2, 2, &[(0, 1, 2.0), (1, 0, -2.0)])
        .declared(Symmetry::Skew)
        .unwrap();
    assert_eq!(
        (skew.significant().values, skew.least_bytes(2)),
        (1, 4 + 4 * 8)
    );
    for (entries, symmetry) in [
        (&symmetric[..2], Symmetry::Skew),
        (&symmetric, Symmetry::Skew),
        (&symmetric[1..], Symmetry::Symmetric),
        (&[(0, 1, 2.0), (1, 0, 2.5)], Symmetry::Symmetric),
    ] {
        let said = matrix(3, 3, entries)
            .declared(symmetry)
            .unwrap_err()
            .to_string();
        assert!(said.contains("declare it general"), "{said}");
    }
    assert!(matrix(2, 3, &[]).declared(Symmetry::Symmetric).is_err());
    let complex = |below: Complex64| {
        let all = vec![
            (0, 1, Complex64::new(1.0, 2.0)),
            (1, 0, below),
            (1, 1, Complex64::from(1.0)),
        ];
        let made = SparseMatrix::from_triplets(2, 2, &Triplets::Complex(all)).unwrap();
        made.declared(Symmetry::Hermitian)
    };
    let a = complex(Complex64::new(1.0, -2.0)).unwrap();
    assert_eq!(a.csr_bytes(1), 12 * 3 + 8 * 4);
    // The number on the diagonal is real, so it counts as one value.
    assert_eq!(a.significant().values, 2 + 1);
    assert!(complex(Complex64::new(1.0, 2.0)).is_err());
}

/// A missing entry, a wrong row, and an infinity that reaches another row are noticed; errors within the
/// bound are not.
#[test]
fn errors_are_noticed_row_by_row() {
    let a = matrix(
        3,
        3,
        &[
            (0, 0, 1.0),
            (0, 2, 1e6),
            (1, 1, 3.0),
            (2, 0, 1.0),
            (2, 2, -1.0),
        ],
    );
    let problem = SpmvProblem::new(Arc::new(a), 1).unwrap();
    let judge = |x: [f32; 3], y: [f32; 3]| {
        let (x, y) = (
            NamedArrays::from_array("x", &[3], x.to_vec()),
            NamedArrays::from_array("y", &[3], y.to_vec()),
        );
        problem.judge(&x, &y).is_within_tolerance()
    };
    let x = [0.25, 2.0, 1.0];
    assert!(judge(x, [1_000_000.25, 6.0, -0.75]));
    assert!(judge(x, [1_000_000.3, 6.000_001, -0.75]));
    assert!(!judge(x, [1_000_000.25, 6.000_002, -0.75]));
    assert!(!judge(x, [1_000_000.25, 6.0, 0.0]));
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = [inf, 2.0, 1.0];
    assert!(judge(x, [inf, 6.0, inf]));
    assert!(!judge(x, [inf, nan, inf]));
    assert!(!judge(x, [inf, 6.0, 0.0]));
    assert!(judge([inf, nan, inf], [inf, nan, nan]));
    assert!(!judge([inf, nan, inf], [inf, nan, inf]));
}

/// The bound allows the error of a sum of floats in the worst order, and not one unit more.
#[test]
fn bounds_are_those_of_sums() {
    let ones: Vec<_> = (0..100).map(|j| (0, j, 1.0)).collect();
    let problem = SpmvProblem::new(Arc::new(matrix(1, 100, &ones)), 1).unwrap();
    let (y, allowed) = exact(&problem, vec![1.0; 100]);
    assert_eq!(y, [100.0]);
    assert!((allowed[0] - 102.0 * 100.0 * 2f64.powi(-24)).abs() < 1e-12);
}

/// The positions are those that the families' names promise.
#[test]
fn patterns_are_what_they_are_called() {
    let made = |pattern, n, each| GeneratedMatrix {
        each,
        ..GeneratedMatrix::new(pattern, n)
    };
    let of = |pattern, n, each| made(pattern, n, each).matrix().unwrap();
    let counts = |a: &SparseMatrix| (a.rows(), a.nnz(), a.longest_row());
    assert_eq!(counts(&of(Pattern::Band, 10, 0)), (10, 50 - 6, 5));
    assert_eq!(counts(&of(Pattern::Grid5, 10, 0)), (100, 500 - 40, 5));
    assert_eq!(counts(&of(Pattern::Grid7, 4, 0)), (64, 64 * 7 - 6 * 16, 7));
    assert_eq!(counts(&of(Pattern::Grid27, 3, 0)), (27, 7 * 7 * 7, 27));
    // Points of a square of 7 x 6 with three unknowns each, all of which are joined.
    let fem = of(Pattern::Fem, 126, 3);
    assert_eq!(counts(&fem), (126, 9 * (19 * 16), 27));
    assert_eq!(fem.columns_of(60), fem.columns_of(61));
    let mesh = of(Pattern::Mesh, 100, 0);
    // The mesh has 10 x 10 corners: edges along both axes and one diagonal of each square, each twice, and
    // the corners themselves.
    assert_eq!(counts(&mesh), (100, 100 + 2 * (90 + 90 + 81), 7));
    assert!((0..100).any(|i| {
        mesh.columns_of(i)
            .iter()
            .any(|&j| (j as usize).abs_diff(i) > 60)
    }));
    let random = of(Pattern::Random, 50, 8);
    assert!((0..50).all(|i| random.columns_of(i).len() == 8));
    let lengths = |a: &SparseMatrix| {
        (0..a.rows())
            .map(|i| a.columns_of(i).len())
            .collect::<Vec<_>>()
    };
    let law = of(Pattern::PowerLaw, 2000, 8);
    let (rows, cols) = (lengths(&law), lengths(&law.transpose()));
    for lengths in [rows, cols] {
        let most = lengths.iter().max().unwrap();
        let few = lengths.iter().filter(|&&n| n <= 8).count();
        assert!(*most > 100 && few > 1200, "{most} {few}");
    }
    assert!(
        (1.0..2.0).contains(&(law.nnz() as f64 / 8000.0)),
        "{}",
        law.nnz()
    );
    let dense = of(Pattern::DenseRow, 50, 3);
    assert_eq!(counts(&dense), (50, 49 * 3 + 50, 50));
    assert_eq!(
        of(Pattern::DenseColumn, 50, 3).transpose().longest_row(),
        50
    );
    let empty = of(Pattern::Empty, 60, 4);
    let lengths = [lengths(&empty), lengths(&empty.transpose())]
        .map(|l| l.iter().filter(|&&n| n == 0).count());
    assert!(lengths[0] >= 20 && lengths[1] >= 12);
    for pattern in Pattern::ALL {
        assert_eq!(Pattern::find(pattern.name()), Some(pattern));
        for field in NumberField::ALL {
            let made = GeneratedMatrix {
                each: 3,
                field,
                ..GeneratedMatrix::new(pattern, 9)
            };
            let a = made.matrix().unwrap();
            let of_field = match field {
                NumberField::Real => matches!(a.coefficients(), MatrixEntries::Real(_)),
                NumberField::Complex => a.is_complex(),
                NumberField::Pattern => a.is_pattern(),
            };
            assert!(of_field, "{pattern}");
            assert_eq!(a.symmetry() == Symmetry::Symmetric, pattern.is_symmetric());
            let dominant = GeneratedMatrix {
                dominant: true,
                ..made
            }
            .matrix()
            .unwrap();
            for i in 0..dominant.rows() {
                let size = |wanted: &dyn Fn(usize) -> bool| {
                    let row = dominant.row(i).filter(|(j, _)| wanted(*j));
                    row.map(|(_, a)| a.norm()).sum::<f32>()
                };
                assert!(size(&|j| j == i) > size(&|j| j != i), "{pattern} {i}");
            }
        }
    }
}

#[test]
fn sizes_are_those_of_what_is_made() {
    let kind = KINDS.iter().find(|kind| kind.name == "spmv").unwrap();
    for size in kind.small_sizes() {
        assert_eq!(kind.make_problem(&size).unwrap().size(), size);
    }
    let of = |text: &str| SpmvProblem::from_size(&Size::parse(kind.parameters, text).unwrap());
    let problem = of("pattern=band n=7001 diagonals=-83,-1,0,1,83").unwrap();
    assert_eq!(problem.matrix().nnz(), 5 * 7001 - 2 - 2 * 83);
    for wrong in [
        "pattern=bands",
        "pattern=band diagonals=1,x",
        "pattern=band n=10 cols=11",
        "pattern=fem each=7",
        "pattern=random n=3 each=4",
        "pattern=grid27 n=1300",
        "pattern=grid7 n=3000000000000000000",
        "field=integer",
        "vectors=0",
    ] {
        assert!(of(wrong).is_err(), "{wrong}");
    }
    // A problem whose matrix was not generated has a size as well.
    let other = SpmvProblem::new(problem.matrix().clone(), 4).unwrap();
    assert_eq!(other.size().length("vectors"), Ok(4));
    assert!(other.cases().contains(&Case::NotFinite));
}
