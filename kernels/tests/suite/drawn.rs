//! Whether what is drawn is what was.

use crate::random::{BENCHMARKS, Trial};
use cp2_tests::drawn::{CASES, compare, of_lines, of_strategy};
use std::path::Path;

#[test]
fn the_same_is_drawn() {
    let runs = |first: u64| of_lines((first..first + CASES).map(|seed| Trial::of(seed).title()));
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/drawn.txt"),
        "-p cp2-kernels --test suite the_same_is_drawn",
        &[
            ("runs", runs(0)),
            ("benchmarks", runs(BENCHMARKS)),
            ("mapped", of_strategy(crate::map::cases())),
            ("matrices", of_strategy(crate::sparse::made())),
        ],
    );
}
