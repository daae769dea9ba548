//! Fuzz target: reads arbitrary bytes as an object file.
//!
//! The bytes give either a program that can be written, read again and listed, or an error with a message.

#![no_main]

use cp2_asm::{Program, disassemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Program::from_elf(bytes) {
        Ok(program) => {
            let again = Program::from_elf(&program.to_elf());
            assert_eq!(again.map(|p| p.words), Ok(program.words.clone()));
            assert!(disassemble(&program).is_ok());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
