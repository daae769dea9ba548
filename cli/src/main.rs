//! The `cp2` program.
//!
//! All of it is in the library crate, which compiles while the crates that it calls are still being
//! optimised; a program would wait for them.

use std::process::ExitCode;

fn main() -> ExitCode {
    cp2_cli::main()
}
