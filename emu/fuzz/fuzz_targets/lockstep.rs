//! Any program runs alike on both sides of the lockstep test, wherever it is suspended.

#![no_main]

use cp2_emu::Processor;
use cp2_emu::testing::{cases, lockstep};
use libfuzzer_sys::{Corpus, fuzz_target};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::sync::LazyLock;

/// What follows the fuzzer's bytes: with nothing but zeros proptest would draw forever.
static TAIL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let step = |x: &u64| Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    let numbers = std::iter::successors(Some(1), step).take(1 << 19);
    numbers
        .flat_map(|x| [(x >> 48) as u8, (x >> 56) as u8])
        .collect()
});

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // The fuzzer's bytes are the random numbers that the strategy draws.
    let rng = TestRng::from_seed(RngAlgorithm::PassThrough, &[bytes, &TAIL].concat());
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let Ok(tree) = cases(1..900).new_tree(&mut runner) else {
        return Corpus::Reject;
    };
    let case = tree.current();
    if let Err(mismatch) = lockstep(&case, Processor::new, Processor::new) {
        panic!("{mismatch}\n{case:?}");
    }
    Corpus::Keep
});
