//! Tests of products by slices of sorted rows: every result is judged.
//!
//! Results are compared with the problem's reference in double precision, on machines of all shapes, under
//! the checkers.

use super::{Sell, SellLoads};
use crate::sparse::{PackingWork, SparseError, judged_products};
use cp2_machine::{Bytes, Class, Cycles, Machine};
use cp2_problems::sparse::{GeneratedMatrix, Pattern, SparseMatrix, Triplets};
use cp2_problems::{Case, Random};
use num_complex::Complex64;
use proptest::prelude::*;
use std::sync::Arc;

/// Both kinds of loads.
const LOADS: [SellLoads; 2] = [SellLoads::Pairs, SellLoads::Words];

/// Returns a machine whose sections have addresses of their own, also of words.
fn machine(name: &str) -> Machine {
    Machine::load(&format!("{name}+section-addressing+word-addressing")).unwrap()
}

fn generate_matrix(pattern: Pattern, n: usize, each: usize) -> SparseMatrix {
    let made = GeneratedMatrix {
        each,
        seed: n as u64,
        ..GeneratedMatrix::new(pattern, n)
    };
    made.matrix().unwrap()
}

fn pack(
    matrix: &SparseMatrix,
    machine: &Machine,
    loads: SellLoads,
) -> Result<Arc<Sell>, SparseError> {
    Sell::new(matrix, loads, (machine, &PackingWork::default())).map(Arc::new)
}

/// Returns the result of a product and its cycles.
fn product(
    packed: &Arc<Sell>,
    matrix: &SparseMatrix,
    machine: &Arc<Machine>,
    x: &[f32],
) -> (Vec<f32>, u64) {
    judged_products::product(matrix, machine, x, |job, x, y| {
        packed.place(job).unwrap().pass(job, x, y);
    })
}

/// Judges a product and returns its `csr_ratio`.
fn judged(
    matrix: &SparseMatrix,
    machine: &Arc<Machine>,
    (loads, case): (SellLoads, Case),
) -> Result<f64, SparseError> {
    let packed = pack(matrix, machine, loads)?;
    assert!(packed.places() >= matrix.nnz());
    assert!(packed.bytes() >= 6 * packed.places() as u64);
    Ok(judged_products::judged(
        matrix,
        machine,
        case,
        |job, x, y| {
            packed.place(job).unwrap().pass(job, x, y);
        },
    ))
}

/// Matrices of any shape: rows without entries, short rows, and some long ones; zeros among the entries.
fn scattered() -> impl Strategy<Value = SparseMatrix> {
    let sizes = (1usize..200, 1usize..200);
    let lengths = prop::sample::select(vec![0usize, 1, 3, 9]);
    let long = prop::collection::vec((0usize..200, 1usize..200), 0..4);
    let column = prop::option::of(0usize..200);
    (sizes, lengths, long, column, any::<u32>()).prop_map(
        |((rows, cols), most, long, column, seed)| {
            let mut random = Random::new(u64::from(seed));
            let mut entries = Vec::new();
            for row in 0..rows {
                let mut len = random.next_u64() as usize % (most + 1);
                if let Some((_, more)) = long.iter().find(|(own, _)| own % rows == row) {
                    len += more;
                }
                let columns = (0..len).map(|_| random.next_u64() as usize % cols);
                entries.extend(columns.map(|column| (row as u32, column as u32)));
                entries.extend(column.map(|column| (row as u32, (column % cols) as u32)));
            }
            entries.sort_unstable();
            entries.dedup();
            let value = |random: &mut Random| match random.next_u64() % 8 {
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
    let sizes = prop::sample::select(vec![4u64, 16, 32, 64]);
    let memories = prop::sample::select(vec![12u64, 16, 64, 1024]);
    let latencies = prop::sample::select(vec![1u64, 4, 9]);
    (names, sizes.clone(), sizes, memories, 1usize..9, latencies).prop_map(
        |(name, granule, deal, dmem, sections, latency)| {
            let mut machine = machine(name);
            machine.cp2.sections = sections;
            machine.dma.granule = Bytes(granule);
            machine.dma.deal = Bytes(deal);
            machine.cp2.dmem = Bytes(dmem << 10);
            machine.cp2.latency[Class::Gather] = Cycles(latency);
            Arc::new(machine)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Products of all matrices are right on all machines.
    #[test]
    fn any_matrix_on_any_machine(
        matrix in scattered(),
        machine in machines(),
        loads in prop::sample::select(LOADS.to_vec()),
        case in prop::sample::select(Case::ALL.to_vec()),
    ) {
        judged(&matrix, &machine, (loads, case)).unwrap();
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
        let matrix = generate_matrix(pattern, n, 3);
        for loads in LOADS {
            for case in [Case::Random, Case::NotFinite] {
                judged(&matrix, &vm9, (loads, case)).unwrap();
            }
        }
    }
}

/// A row of all columns is cut into parts, and goes on in several pages.
#[test]
fn rows_much_longer_than_others() {
    let vm7 = Arc::new(machine("vm7"));
    let matrix = generate_matrix(Pattern::DenseRow, 3000, 2);
    let column = generate_matrix(Pattern::DenseColumn, 1500, 2);
    for loads in LOADS {
        judged(&matrix, &vm7, (loads, Case::Random)).unwrap();
        let packed = pack(&matrix, &vm7, loads).unwrap();
        let most = packed.tiles().flat_map(|tile| &tile.slices);
        let most = most.map(|slice| slice.steps).max().unwrap();
        assert!(most < 1500, "{most}");
        judged(&column, &vm7, (loads, Case::NotFinite)).unwrap();
    }
}

/// Local memory holds a part of the vector and of the rows at a time.
#[test]
fn a_vector_that_local_memory_does_not_hold() {
    let (pairs, words) = (SellLoads::Pairs, SellLoads::Words);
    for (loads, kib, n, [pieces, windows]) in [
        (pairs, 64, 10_000, [2, 1]),
        (pairs, 16, 6000, [4, 2]),
        (words, 64, 18_000, [2, 1]),
        (words, 16, 6000, [2, 2]),
    ] {
        let mut vm7 = machine("vm7");
        vm7.cp2.dmem = Bytes(kib << 10);
        let vm7 = Arc::new(vm7);
        let matrix = generate_matrix(Pattern::Random, n, 4);
        let packed = pack(&matrix, &vm7, loads).unwrap();
        assert!(packed.segments() >= pieces, "{}", packed.segments());
        assert!(packed.division.windows.len() >= windows);
        judged(&matrix, &vm7, (loads, Case::Random)).unwrap();
    }
}

/// Irregular patterns take less time than compressed rows would over the channel.
#[test]
fn random_patterns_take_less_than_compressed_rows() {
    for (name, least) in [("vm7", 1.19), ("vm9", 1.23)] {
        let machine = Arc::new(machine(name));
        let matrix = generate_matrix(Pattern::Random, 1400, 56);
        for loads in LOADS {
            let ratio = judged(&matrix, &machine, (loads, Case::Random)).unwrap();
            assert!(ratio > least, "{name} {loads:?}: {ratio}");
        }
    }
}

/// The loop waits for no load at own addresses that takes up to seven cycles.
#[test]
fn gathers_of_seven_cycles_take_no_longer() {
    let matrix = generate_matrix(Pattern::Random, 500, 20);
    let cycles = |loads: SellLoads, latency: u64| {
        let mut vm7 = machine("vm7");
        vm7.cp2.latency[Class::Gather] = Cycles(latency);
        let packed = pack(&matrix, &vm7, loads).unwrap();
        let x = vec![1.0; matrix.cols()];
        product(&packed, &matrix, &Arc::new(vm7), &x).1 as f64
    };
    for loads in LOADS {
        let [short, long] = [3, 7].map(|latency| cycles(loads, latency));
        assert!(long < 1.01 * short, "{loads:?}: {short} {long}");
    }
}

/// An infinity is multiplied by entries, even zeros, and by nothing else.
#[test]
fn infinities_reach_what_has_an_entry() {
    let vm7 = Arc::new(machine("vm7"));
    let n = 64;
    let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 2.0)).collect();
    let zeros = (0..n - 2).filter(|i| i % 3 == 0);
    entries.extend(zeros.map(|i| (i, i + 2, if i % 16 < 8 { 0.0 } else { -0.0 })));
    let matrix =
        SparseMatrix::from_triplets(n as usize, n as usize, &Triplets::Real(entries)).unwrap();
    let specials = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let each = LOADS.map(|loads| specials.map(|special| (loads, special)));
    for (loads, special) in each.into_iter().flatten() {
        let packed = pack(&matrix, &vm7, loads).unwrap();
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

/// Words leave out the copy of the vector: short rows take much less time where pairs need two pieces.
#[test]
fn words_take_less_than_pairs() {
    for (name, gain) in [("vm7", 1.35), ("vm9", 1.2)] {
        let machine = Arc::new(machine(name));
        let matrix = generate_matrix(Pattern::Random, 9000, 4);
        let ratios = LOADS.map(|loads| judged(&matrix, &machine, (loads, Case::Random)).unwrap());
        let [pairs, words] = ratios;
        assert!(words > gain * pairs, "{name}: {words} {pairs}");
    }
}

#[test]
fn what_is_refused_says_why() {
    let matrix = generate_matrix(Pattern::Random, 100, 3);
    let base = Machine::builtin("vm7").unwrap();
    let own = Machine::load("vm7+section-addressing").unwrap();
    for (machine, loads, lacks) in [
        (&base, SellLoads::Pairs, "vm7+section-addressing"),
        (
            &base,
            SellLoads::Words,
            "vm7+section-addressing+word-addressing",
        ),
        (
            &own,
            SellLoads::Words,
            "vm7+section-addressing+word-addressing",
        ),
    ] {
        let error = pack(&matrix, machine, loads).unwrap_err();
        assert!(matches!(error, SparseError::OwnAddresses { .. }));
        let said = format!("--machine {lacks}");
        assert!(error.to_string().ends_with(&said), "{error}");
    }
    let complex = Triplets::Complex(vec![(0, 0, Complex64::new(1.0, 2.0))]);
    let complex = SparseMatrix::from_triplets(1, 1, &complex).unwrap();
    let mut small = machine("vm7");
    small.cp2.dmem = Bytes(4 << 10);
    for loads in LOADS {
        let error = pack(&complex, &machine("vm7"), loads).unwrap_err();
        assert!(matches!(error, SparseError::Complex));
        let error = pack(&matrix, &small, loads).unwrap_err();
        assert!(matches!(error, SparseError::NoRoom { .. }), "{error}");
    }
}
