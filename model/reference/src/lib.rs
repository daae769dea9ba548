//! Least times of problems, proved and known, to judge programs by.
//!
//! There are two figures, which are never mixed:
//!
//! * the **bound** is proved: no program takes less ([`bound`] has the proofs);
//! * the **reference** is the least time of the algorithms that are known for the problem, on the machine's
//!   units at their intervals, each with its source. It is no proof: a new algorithm lowers it.
//!
//! Efficiency is reference / measured. If it is above 1, the reference, the model or the emulator has a
//! fault.
//!
//! Problems are known here by their sizes alone. Nothing in this crate depends on a kernel, nor can it: the
//! crate depends on the description of machines only.
//!
//! ```
//! use cp2_machine::Machine;
//! use cp2_reference::Fft;
//!
//! let vm7 = Machine::builtin("vm7").unwrap();
//! let figures = Fft::new(1024, 1024).figures(&vm7);
//! // 16 N bytes at 16 a cycle; N/2 log2 N butterflies on four sections.
//! assert_eq!(figures.bound.get(), 1024 * 1024);
//! assert_eq!(figures.reference.get(), 1024 * 1280);
//! assert_eq!(figures.method, "radix 2");
//! ```

pub mod bound;
mod count;
mod diffusion;
mod fft;
mod figures;
mod filter;
mod matrix;
mod multigrid;
mod receiver;
mod rival;
mod short_filter;
mod sparse;
mod stencil;
mod transforms;
mod vector;

pub use bound::Traffic;
pub use count::{Count, NumberFormat};
pub use diffusion::Diffusion;
pub use fft::{Fft, FftArray, RealFft};
pub use figures::{Figures, Term};
pub use filter::{Filter, Rate};
pub use matrix::{MatrixProducts, MatrixTimesVectors, Transposition};
pub use multigrid::{Multigrid, MultigridPass};
pub use receiver::{Radar, Sonar};
pub use rival::Rival;
pub use sparse::{SparseMethod, SparseNumbers, SparseProduct, SparseSolver};
pub use stencil::{Coefficients, Stencil};
pub use vector::{Map, MapOperation, Reduction, ReductionOperation};
