//! Kernels in hand-written CP2 assembly, and what they are checked against.

mod random;

pub use random::Random;
