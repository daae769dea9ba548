//! Tests of machine files, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod builtin;
mod changes;
mod errors;
mod manual;
mod properties;
mod rows;
