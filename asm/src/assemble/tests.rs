//! Property tests of the assembler.

mod corners;
mod drawn;
mod folding;
mod hostile;
mod hostile_linear;
mod round_trip;
mod stalls;
