//! The `cp2` command.
fn main() {}
