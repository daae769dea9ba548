//! The `cp2` command.
mod io;
mod picture;
mod radar;
fn main() {}
