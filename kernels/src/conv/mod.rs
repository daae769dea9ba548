//! Convolution, correlation and FIR filters.
//!
//! A [`Convolver`] is planned once for its taps and used for any number of
//! signals of any length: every channel is cut into blocks, the blocks are
//! paged through one kernel. Which kernel, [`Convolver::new`] decides by the
//! expected time and [`Convolver::choice`] says why. See `docs/convolution.md`.

mod candidates;
mod carried;
mod choice;
mod contest;
mod convolver;
mod direct;
mod entry;
mod error;
mod filter;
mod joint;
mod layout;
mod lines;
mod long;
mod memory;
mod opening;
mod overlap;
mod parts;
mod phases;
mod places;
mod program;
mod streaming;
mod tile;
mod tiled;
mod turn;
mod wanted;

pub use candidates::{Candidate, Choice};
pub use convolver::{ConvRun, Convolver};
pub use cp2_problems::conv::{ChannelJudge, ConvProblem, Mode, Rate, matched, reference};
pub(crate) use entry::{KERNELS, filter};
pub use error::ConvError;
pub use filter::Numbers;
pub use memory::Extent;
pub use places::Places;
pub use program::source;
pub use streaming::Streaming;
pub use wanted::{Method, Ways};
