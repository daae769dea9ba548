//! What the disassembler's own tests leave open: the order of the slots.

use crate::{assemble_word, testing};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Either order of the slots is the same word, and no slot need be left out.
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
