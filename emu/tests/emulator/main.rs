//! Tests of the emulator, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod adding_transfer;
mod arith;
mod attacks;
mod common;
mod count;
mod dma_manual;
mod doubles;
mod elementary;
mod engines;
mod exchange;
mod linear;
mod list_transfer;
mod loop_intervals;
mod machine_files;
mod masks;
mod one_port;
mod own_addresses;
mod processor;
mod purity;
mod random;
mod scalar;
mod stall_warnings;
mod timing;
mod user_rows;
mod word_addresses;
