//! Tests that the random draws of tests stay the same over time.

use crate::random::{BENCHMARKS, Trial};
use cp2_tests::drawn::{CASES, compare, digest_lines, digest_strategy};
use std::path::Path;

#[test]
fn the_same_is_drawn() {
    let runs =
        |first: u64| digest_lines((first..first + CASES).map(|seed| Trial::of(seed).title()));
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/drawn.txt"),
        "-p cp2-kernels --test suite the_same_is_drawn",
        &[
            ("runs", runs(0)),
            ("benchmarks", runs(BENCHMARKS)),
            ("mapped", digest_strategy(crate::map::cases())),
            ("matrices", digest_strategy(crate::sparse::made())),
        ],
    );
}
