//! Property tests of the assembler.

mod corners;
mod hostile;
mod round_trip;
mod stalls;
