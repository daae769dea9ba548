//! The backend of a graphics card: shaders in WGSL, by Vulkan.
//!
//! With the feature `wgpu` there is `Gpu`, a backend like the others: it computes the same problems and is
//! judged by the same definitions. Without it the crate holds plain descriptions only, and nothing of the
//! library and of its compiler is built.
//!
//! What a run's input does not change is done once, when a problem is prepared: shaders are compiled, tables
//! and arrays are allocated on the device. A run uploads its input, computes without reading anything back but
//! scalars, and reads the output. Every shader's text is parsed and judged in unit tests, without a driver.
//!
#![cfg_attr(feature = "wgpu", doc = "```no_run")]
#![cfg_attr(not(feature = "wgpu"), doc = "```ignore")]
//! use cp2_gpu::{AdapterChoice, Gpu};
//! use cp2_problems::fft::{FftProblem, TransformDirection};
//! use cp2_problems::{Backend, Case, Clock, Problem, run_judged};
//!
//! let gpu = Gpu::open(&AdapterChoice::default())?;
//! println!("{} {}", gpu.adapter().name, gpu.adapter().probe.contraction);
//! let fft = FftProblem::new(1024, TransformDirection::Forward, 16)?;
//! let mut prepared = gpu.prepare(&fft)?;
//! let judged = run_judged(&mut *prepared, &fft, &fft.input(Case::Random, 1))?;
//! assert_eq!(judged.outcome.clock, Clock::Measured);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapter;
mod error;

pub use adapter::{AdapterChoice, AdapterReport, ArithmeticProbe, Contraction};
pub use error::GpuError;

#[cfg(feature = "wgpu")]
mod backend;
#[cfg(feature = "wgpu")]
pub mod bench;
#[cfg(feature = "wgpu")]
mod buffer;
#[cfg(feature = "wgpu")]
mod chain;
#[cfg(feature = "wgpu")]
mod conv;
#[cfg(feature = "wgpu")]
mod device;
#[cfg(feature = "wgpu")]
mod fft;
#[cfg(feature = "wgpu")]
mod group;
#[cfg(feature = "wgpu")]
mod himeno;
#[cfg(feature = "wgpu")]
mod npb;
#[cfg(feature = "wgpu")]
mod parts;
#[cfg(feature = "wgpu")]
mod probe;
#[cfg(feature = "wgpu")]
mod program;
#[cfg(feature = "wgpu")]
mod session;
#[cfg(all(test, feature = "wgpu"))]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod shader_tests;
#[cfg(feature = "wgpu")]
mod sparse;
#[cfg(feature = "wgpu")]
mod stencil;
#[cfg(feature = "wgpu")]
mod vector;

#[cfg(feature = "wgpu")]
pub use backend::{Gpu, GpuReport};
#[cfg(feature = "wgpu")]
pub use group::GpuGroup;
