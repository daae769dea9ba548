//! Fuzz target: decodes arbitrary 64-bit words.
//!
//! A value is either a word that encodes back to the same bits, or an error with a message.

#![no_main]

use cp2_asm::isa::Word;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bits: u64| {
    match Word::decode(bits) {
        Ok(word) => {
            assert_eq!(word.encode(), bits);
            assert!(!word.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
