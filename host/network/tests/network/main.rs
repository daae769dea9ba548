//! Communication beside an independent simulation, closed forms, many ranks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests"
)]

mod cases;
mod closed_forms;
mod errors;
mod halo;
mod matching;
mod oracle;
mod program;
mod programs;
mod random;
mod ranks;
mod records;
mod talker;
mod threads;
