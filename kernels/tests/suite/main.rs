//! Tests of kernels and planners against what they have no part in, in one binary.

mod any_length;
mod backends;
mod chain;
mod common;
mod conv;
mod dsp;
mod extremes;
mod fft;
mod fft_large;
mod intervals;
mod iterations;
mod map;
mod memory;
mod mixed;
mod monotone;
mod npb;
mod odd_machines;
mod random;
mod real;
mod real_ceilings;
mod real_ways;
mod registry;
mod sparse;
mod sparse_methods;
mod stops;
mod threads;
