//! The `cp2` program. All of it is the library beside it, which compiles while the crates that it
//! calls are still optimised; a program would wait for them.

use std::process::ExitCode;

fn main() -> ExitCode {
    cp2_cli::main()
}
