//! What tests of several crates have in common; tests that concern the workspace as a whole are in `tests/`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "only tests use it, and they may panic"
)]

pub mod drawn;
