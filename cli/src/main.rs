//! The `cp2` command.
mod io;
mod picture;
fn main() {}
