//! Tests of sparse products and CG in double and double-single precision.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common::machine;
use cp2_host::{DeviceOptions, MemoryElement};
use cp2_kernels::npb::InverseIterations;
use cp2_kernels::sparse::{PackedFormat, PackedMatrix, PackingWork, SparseError};
use cp2_kernels::{Cp2Backend, Job};
use cp2_problems::npb::cg::{CgClass, CgProblem};
use cp2_problems::npb::{NpbClass, Precision};
use cp2_problems::sparse::{GeneratedMatrix, NumberField, Pattern, SparseMatrix};
use cp2_problems::{
    Backend as _, Case, Problem as _, Random, join_double, run_judged, split_double,
};
use cp2_reference::Figures;

/// Formats of numbers with more digits than those of the base machine.
const WIDE: [Precision; 2] = [Precision::Double, Precision::DoubleSingle];

fn problem(precision: Precision, [rows, entries, iterations]: [usize; 3], shift: u32) -> CgProblem {
    let problem = CgProblem::new(rows, entries, iterations, shift).unwrap();
    problem.with_precision(precision)
}

/// Zeta of class S has the official value to the benchmark's own tolerance; the run takes its price. In double
/// precision that is at most 1.65 times the price of single precision: two entries take the issues of four, and values
/// twice the bytes.
#[test]
fn class_s_is_official() {
    for name in ["vm7+double", "vm9+double"] {
        let machine = machine(name);
        let benchmark = CgClass::from_class(NpbClass::S);
        let price = |problem: &CgProblem| {
            let method = Cp2Backend::new(machine.clone()).method(problem).unwrap();
            let input = problem.input(Case::Random, 1);
            let task = method.task(&input, DeviceOptions::default()).unwrap();
            (task.job.expected().unwrap().get(), method, task, input)
        };
        let (single, ..) = price(&benchmark.problem());
        let problem = benchmark.problem().with_precision(Precision::Double);
        let (expected, method, task, input) = price(&problem);
        let done = task.run(method.figures.clone()).unwrap();
        let output = done.output.as_ref().unwrap();
        let zeta = output.get::<f64>("zeta").unwrap()[benchmark.iterations - 1];
        let off = (zeta / benchmark.official - 1.0).abs();
        assert!(off < 1e-10, "{name}: {off}");
        let verdict = problem.judge(&input, output);
        assert!(verdict.is_within_tolerance(), "{name}: {verdict:?}");
        assert_eq!(done.run.report.cycles, expected);
        let slower = expected as f64 / single as f64;
        assert!((1.0..1.65).contains(&slower), "{name}: {slower}");
    }
}

/// A product with the matrix of class S in double-single precision, whose multiplications take eight issues, has at
/// most 2.6 times the price of one in single precision.
#[test]
fn products_of_class_s_have_their_price() {
    let class = CgClass::from_class(NpbClass::S).problem();
    let pair = class.clone().with_precision(Precision::DoubleSingle);
    for name in ["vm7+double-single", "vm9+double-single"] {
        let price = |problem: &CgProblem| {
            let work = PackingWork::default();
            let packed = PackedMatrix::new(problem.matrix(), (&machine(name), &work), None);
            packed.unwrap().expected().0 as f64
        };
        let slower = price(&pair) / price(&class);
        assert!((1.5..2.6).contains(&slower), "{name}: {slower}");
    }
}

/// Inputs whose numbers have all digits, with vectors that are no whole blocks and in one piece or several, under the
/// checkers.
#[test]
fn inverse_iterations_are_within_roundings() {
    let sizes = [
        ([300, 5, 2], 25, "vm7", ""),
        ([97, 3, 1], 15, "vm9", ""),
        ([333, 4, 1], 20, "vm7", "+cp2.sections=3+cp2.dmem=16KiB"),
        ([64, 2, 2], 12, "vm7", "+dma.granule=64B"),
    ];
    let all = WIDE.into_iter().flat_map(|precision| {
        sizes.map(|(size, shift, base, changes)| {
            let name = format!("{base}+{precision}{changes}");
            (problem(precision, size, shift), name)
        })
    });
    for (problem, name) in all {
        let options = DeviceOptions {
            check: true,
            ..DeviceOptions::default()
        };
        let backend = Cp2Backend::with_options(machine(&name), options);
        let mut prepared = backend.prepare(&problem).unwrap();
        let input = problem.input(Case::Random, 5);
        let judged = run_judged(&mut *prepared, &problem, &input);
        assert!(judged.is_ok(), "{name}: {judged:?}");
    }
}

/// Products of matrices of any pattern differ from sums in double precision by the roundings of as many operations as
/// a row has entries.
#[test]
fn products_are_within_roundings() {
    products_agree::<f64>(Precision::Double, |x| x, |y| y);
    products_agree::<[f32; 2]>(Precision::DoubleSingle, split_double, join_double);
}

fn products_agree<T: MemoryElement>(precision: Precision, split: fn(f64) -> T, join: fn(T) -> f64) {
    for (seed, pattern, rows, each, name) in [
        (1, Pattern::Random, 90, 7, format!("vm7+{precision}")),
        (2, Pattern::PowerLaw, 400, 6, format!("vm7+{precision}")),
        (3, Pattern::Random, 700, 20, format!("vm9+{precision}")),
        (
            4,
            Pattern::Random,
            3000,
            3,
            format!("vm7+{precision}+cp2.dmem=16KiB"),
        ),
    ] {
        let machine = machine(&name);
        let made = GeneratedMatrix {
            pattern,
            n: rows,
            cols: 0,
            each,
            diagonals: Vec::new(),
            field: NumberField::Real,
            dominant: false,
            seed,
        };
        let random = &mut Random::new(seed);
        let mut draw = || f64::from(random.uniform()) + f64::from(random.uniform()) * 2e-8;
        let matrix = made.matrix().unwrap();
        let matrix = matrix.with_numbers(precision, |_| draw());
        let given: Vec<T> = (0..matrix.cols()).map(|_| split(draw())).collect();
        let x: Vec<f64> = given.iter().map(|&x| join(x)).collect();
        let work = PackingWork::default();
        let packed = PackedMatrix::new(&matrix, (&machine, &work), None).unwrap();
        let options = DeviceOptions {
            check: true,
            ..DeviceOptions::default()
        };
        let mut job = Job::new(machine, options);
        let from = job.input("x", &given, &[x.len() as u64]).unwrap();
        let to = job.output::<T>("y", &[matrix.rows() as u64]).unwrap();
        let placed = packed.place(&mut job).unwrap();
        placed.pass(&mut job, from.address(), to.address());
        let done = job.run(Figures::default(), |run| run.read(to)).unwrap();
        assert_eq!(done.run.report.findings, []);
        assert_eq!(done.run.report.cycles, packed.expected().0);
        for (row, found) in done.output.unwrap().into_iter().enumerate() {
            let (exact, size) = sum_row(&matrix, row, &x);
            let found = join(found);
            let allowed = (matrix.range(row).len() + 1) as f64 * 2.0 * precision.rounding() * size;
            assert!((found - exact).abs() <= allowed, "{name}: row {row}");
        }
    }
}

/// Returns a row times x, and the sum of the sizes of its products.
fn sum_row(matrix: &SparseMatrix, row: usize, x: &[f64]) -> (f64, f64) {
    let entries = matrix.columns_of(row).iter().zip(matrix.range(row));
    let products = entries.map(|(&column, entry)| matrix.wide(entry) * x[column as usize]);
    products.fold((0.0, 0.0), |(sum, size), product| {
        (sum + product, size + product.abs())
    })
}

/// Machines and formats without more digits say what they lack; so do iterations that are given other numbers.
#[test]
fn what_lacks_a_precision_is_refused() {
    for precision in WIDE {
        let problem = problem(precision, [64, 3, 1], 15);
        let refused = Cp2Backend::new(machine("vm7")).method(&problem);
        let said = refused.err().unwrap().to_string();
        let take = format!("take a machine with it, as --machine vm7+{precision}, or");
        assert!(said.contains(&take), "{said}");
        let own = machine(&format!("vm7+{precision}+section-addressing"));
        let work = PackingWork::default();
        for format in [PackedFormat::Diagonal, PackedFormat::Sell] {
            let packed = PackedMatrix::new(problem.matrix(), (&own, &work), Some(format));
            assert!(
                matches!(packed, Err(SparseError::SinglePrecision { .. })),
                "{packed:?}"
            );
        }
        let plan = InverseIterations::new(problem, &own).unwrap();
        let refused = plan.task(&[0f32; 64], DeviceOptions::default());
        let said = refused.err().unwrap().to_string();
        let expected = precision.kind();
        assert_eq!(
            said,
            format!("array `x` is of float32; expected {expected}")
        );
    }
}
