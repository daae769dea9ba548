//! Property tests of the assembler.

mod corners;
mod folding;
mod hostile;
mod round_trip;
mod stalls;
