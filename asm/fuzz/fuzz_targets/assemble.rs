//! Fuzz target: assembles arbitrary text.
//!
//! A text gives either a program, which survives object file and listing, or a list of errors with messages.

#![no_main]

use cp2_asm::{Options, Program, Source, assemble, disassemble};
use cp2_machine::Machine;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static MACHINE: LazyLock<Option<Machine>> = LazyLock::new(|| Machine::builtin("vm7"));

fuzz_target!(|text: &str| {
    // A machine makes the assembler look for stalls as well.
    let options = Options {
        machine: MACHINE.as_ref(),
        ..Options::default()
    };
    match assemble(&Source::new("fuzz.s", text), &options) {
        Ok(assembly) => {
            let program = assembly.program;
            let loaded = Program::from_elf(&program.to_elf());
            assert_eq!(loaded.as_ref().map(|p| &p.words), Ok(&program.words));
            let listing = disassemble(&program).expect("its own words").to_string();
            let again = assemble(&Source::new("again.s", listing), &Options::default());
            let again = again.unwrap_or_else(|e| panic!("{e}")).program;
            assert_eq!((again.words, again.entry), (program.words, program.entry));
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            assert!(errors.iter().all(|e| !e.to_string().is_empty()));
        }
    }
});
