//! Test that a word's two slots may be written in either order.
//!
//! The disassembler's own tests cover its canonical order only.

use crate::{assemble_word, testing};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Both orders of the slots give the same word; no slot has to be left out.
    #[test]
    fn slots_in_either_order(word in testing::any_word()) {
        for text in [format!("{} || {}", word.mem, word.arith), format!("{} || {}", word.arith, word.mem)] {
            match assemble_word(&text, 0) {
                Ok(again) => prop_assert_eq!(again.encode(), word.encode(), "{}", text),
                Err(errors) => prop_assert!(false, "{text}\n{errors}"),
            }
        }
    }
}
