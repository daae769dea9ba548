//! Convolution, correlation and FIR filters.
//!
//! A [`Convolver`] is planned once for its taps and used for any number of
//! signals of any length: every channel is cut into blocks, the blocks are
//! paged through one kernel. Which kernel, [`Convolver::new`] decides by the
//! expected time and [`Convolver::choice`] says why. See `docs/convolution.md`.

mod block_filter;
mod candidates;
mod channel_arrays;
mod channel_layout;
mod convolver;
mod direct;
mod direct_tap_parts;
mod direct_tile;
mod entry;
mod error;
mod filter_search;
mod lead_in;
mod memory;
mod mixed_block_lengths;
mod overlap_save;
mod overlap_save_long;
mod overlap_save_ring;
mod polyphase;
mod polyphase_loop;
mod program;
mod request;
mod search_order;
mod streaming;
mod tail;
mod transposed_form;

pub use block_filter::FilterSample;
pub use candidates::{ConvCandidate, ConvChoice};
pub use channel_arrays::ChannelArrays;
pub use convolver::{ConvRun, Convolver};
pub use cp2_problems::conv::{
    ChannelJudge, ConvProblem, ConvolutionMode, OutputRate, matched, reference,
};
pub(crate) use entry::ENTRIES;
pub use error::ConvError;
pub use memory::ChannelExtent;
pub use program::source;
pub use request::{AllowedMethods, FilterMethod};
pub use streaming::Streaming;
