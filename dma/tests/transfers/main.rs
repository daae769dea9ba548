//! Tests of DMA transfers, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod closed_forms;
mod combine;
mod common;
mod drawn;
mod errors;
mod lists;
mod model;
mod words;
