//! Tests of DMA transfers, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod closed_forms;
mod common;
mod drawn;
mod errors;
mod model;
mod words;
