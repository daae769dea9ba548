//! Convolution, correlation and FIR filters.
//!
//! A [`Convolver`] is planned once for its taps and used for any number of
//! signals of any length: every channel is cut into blocks, the blocks are
//! paged through one kernel. Which kernel, [`Convolver::new`] decides by the
//! expected time and [`Convolver::choice`] says why. See `docs/convolution.md`.

mod candidates;
mod carried;
mod choice;
mod convolver;
mod definition;
mod direct;
mod entry;
mod error;
mod exact;
mod filter;
mod joint;
mod judge;
mod layout;
mod lines;
mod long;
mod memory;
mod opening;
mod overlap;
mod parts;
mod phases;
mod program;
mod rate;
mod streaming;
mod tile;
mod turn;

pub use candidates::{Candidate, Choice};
pub use convolver::{ConvRun, Convolver, Places};
pub use definition::{ConvProblem, Mode, matched, reference};
pub(crate) use entry::KERNELS;
pub use error::ConvError;
pub use filter::Numbers;
pub use judge::ChannelJudge;
pub use memory::Extent;
pub use program::source;
pub use rate::Rate;
pub use streaming::Streaming;
