//! Fuzz target: any program runs alike on two engines, wherever it is suspended.

#![no_main]

use cp2_emu::{Engine, Processor};
use cp2_emu::testing::{LockstepCase, lockstep};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some(case) = LockstepCase::from_bytes(bytes) else {
        return Corpus::Reject;
    };
    if let Err(mismatch) = lockstep(&case, |m| Processor::new(m).with_engine(Engine::Reference), Processor::new) {
        panic!("{mismatch}\n{case:?}");
    }
    Corpus::Keep
});
