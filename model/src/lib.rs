//! Expected time of a procedure on a hybrid system, before anything runs.
//!
//! A [`System`] is data: compute units with peak rates per class of operation,
//! channels with bandwidth and latency, costs of single actions such as a
//! launch, and which of these exclude one another in time. A [`Procedure`] is
//! data too: operations per class and bytes per channel, counted by formulas
//! from the algorithm. [`fn@estimate`] joins the two:
//!
//! ```text
//! expected = sum over phases of ( what nothing overlaps
//!                               + the longest of the branches that overlap )
//! ```
//!
//! No constant is fitted to a run: a measured time shorter than the expected one shows an error in one of the
//! two.
//!
//! A system is *balanced* on a procedure when no channel's term exceeds the
//! compute term ([`Estimate::balance`]).
//!
//! ```
//! use cp2_machine::{Class, Machine};
//! use cp2_model::{Demand, Phase, Procedure, System, cp2, estimate};
//!
//! let vm7 = System::from_machine(&Machine::builtin("vm7").unwrap());
//! // 1024 transforms of 1024 numbers: N/2 log2 N butterflies, 16 N bytes each.
//! let fft = Procedure::new("fft").phase(Phase::new("all")
//!     .branch([Demand::operations(cp2::ARITHMETIC, Class::Butterfly.name(), 1024 * 5120)])
//!     .branch([Demand::transfer(cp2::DMA, 1024 * 16 * 1024)]));
//! let expected = estimate(&fft, &vm7)?;
//! assert_eq!(vm7.cycles(expected.seconds).round(), 1_310_720.0);
//! assert_eq!(expected.limit, "arithmetic");
//! assert!((expected.balance[0].factor.unwrap() - 0.8).abs() < 1e-12);
//! # Ok::<(), cp2_model::ModelError>(())
//! ```

pub mod cp2;
mod error;
mod estimate;
mod procedure;
mod roofline;
mod system;

pub use error::ModelError;
pub use estimate::{Balance, BusyTerm, Estimate, PhaseEstimate, estimate};
pub use procedure::{Demand, Phase, Procedure};
pub use roofline::{Ceiling, Roofline, RooflinePoint, Slope};
pub use system::{Channel, ComputeUnit, System};
