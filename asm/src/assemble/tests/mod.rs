//! Property tests of the assembler.

mod hostile;
mod round_trip;
mod stalls;
