//! Digests of random test cases, compared with checked-in files.
//!
//! Property tests have a fixed seed, and the mutants they catch depend on the values drawn from it. A change
//! to a strategy, to a table that it draws from, or to the generator of numbers changes these values and is
//! detected here.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::fmt::{Debug, Write};
use std::path::Path;

/// Number of values in a digest.
pub const CASES: u64 = 50;

/// Returns the digest of the first values that a strategy draws from a fixed seed, formatted by `Debug`.
///
/// # Panics
/// The strategy has no value.
pub fn digest_strategy<T: Debug>(strategy: impl Strategy<Value = T>) -> u64 {
    let mut runner = TestRunner::deterministic();
    let mut draw = || strategy.new_tree(&mut runner).unwrap().current();
    digest_lines((0..CASES).map(|_| format!("{:?}", draw())))
}

/// Returns the digest of values as text, one per line: FNV-1a with 64 bits.
pub fn digest_lines(values: impl Iterator<Item = String>) -> u64 {
    values
        .flat_map(|value| (value + "\n").into_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// Compares digests with those in a file, or writes the file if `CP2_BLESS` is set. `test` holds the
/// arguments of `cargo test` that run the caller.
///
/// # Panics
/// The digests differ, or property tests have no fixed seed.
pub fn compare(file: &Path, test: &str, digests: &[(&str, u64)]) {
    assert!(
        matches!(Config::default().rng_seed, RngSeed::Fixed(_)),
        "property tests draw anew in every run: PROPTEST_RNG_SEED is not set. `cargo test` sets it, from .cargo/config.toml"
    );
    let mut text = format!(
        "# What strategies draw first, {CASES} values of each, as digests.\n# CP2_BLESS=1 cargo test {test}\n"
    );
    for (name, digest) in digests {
        writeln!(text, "{name} {digest:016x}").unwrap();
    }
    if std::env::var_os("CP2_BLESS").is_some() {
        std::fs::write(file, text).unwrap();
        return;
    }
    let known = std::fs::read_to_string(file).unwrap_or_default();
    let changed: Vec<&str> = text
        .lines()
        .filter(|l| !known.lines().any(|k| k == *l))
        .collect();
    assert!(
        text == known,
        "other values are drawn than before: {changed:?}. If that is meant, `CP2_BLESS=1 cargo test {test}` refreshes {}; \
         then run the mutants (CONTRIBUTING.md)",
        file.display()
    );
}
