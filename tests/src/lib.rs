//! Helpers shared by the tests of several crates.
//!
//! Tests that concern the workspace as a whole are in `tests/`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "only tests use it, and they may panic"
)]

pub mod drawn;
