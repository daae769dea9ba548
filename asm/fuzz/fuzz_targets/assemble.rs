//! Every text is a program or a list of errors, in bounded time.

#![no_main]

use cp2_asm::{Options, Source, assemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match assemble(&Source::new("fuzz.s", text), &Options::default()) {
        Ok(assembly) => assert!(assembly.program.decode().is_ok()),
        Err(errors) => {
            assert!(!errors.is_empty());
            assert!(errors.iter().all(|e| !e.to_string().is_empty()));
        }
    }
});
