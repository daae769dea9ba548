//! Tests of the assembler through its public interface, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod assemble;
mod docs;
mod errors;
mod linear;
mod manual;
mod user_rows;
