//! The DMA controller: descriptors, validation, functional copy and timing.
//!
//! Validation, copy, timing and race checks consume the contiguous runs of a [`Transfer`], whatever its
//! kind: a new kind is a new producer of runs. [`Descriptor`], the strided kind, has closed forms of most of
//! these, which tests compare with its runs; [`ListTransfer`] has runs alone. [`Movement`] is either of them.
//!
//! ```
//! use cp2_dma::{Descriptor, Target, transfer_time, validate};
//! use cp2_machine::Machine;
//!
//! let vm7 = Machine::builtin("vm7").unwrap();
//! // A plane of 32 rows of 64 bytes, 256 bytes apart in system memory, for each section.
//! let plane = Descriptor::load(Target::Blocks { stride: 8192 }, 0x1000, 0, 64).level(32, 256, 64);
//! validate(&plane, &vm7)?;
//! let time = transfer_time(&plane, &vm7);
//! assert_eq!((time.granules, time.runs), (4 * 32 * 4, 4 * 32));
//!
//! let unaligned = Descriptor { system: 0x1004, ..plane };
//! let error = validate(&unaligned, &vm7).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "DMA system address is 4100: it must be a multiple of the DMA granule, 16 bytes; \
//!      the nearest legal value is 4096"
//! );
//! # Ok::<(), cp2_dma::DescriptorError>(())
//! ```
//!
//! `docs/dma.md` states every assumption of the model, with a micro-benchmark each.

mod combine;
mod compose;
mod copy;
mod crossing;
mod descriptor;
mod error;
mod list;
mod movement;
mod places;
mod runs;
mod strided;
mod sweep;
mod timing;
mod transfer;
mod validate;

pub use combine::Combine;
pub use compose::{Chunk, coalesce, fold, over_sections};
pub use copy::{AccessError, Copier, CopyError, LocalMemory, SystemMemory, copy};
pub use descriptor::{Descriptor, Direction, Level, Levels, Target};
pub use error::{DescriptorError, Field, FieldValue, Memory, Rule};
pub use list::{ListTarget, ListTransfer};
pub use movement::Movement;
pub use places::Places;
pub use runs::{Recipient, Run, Runs};
pub use sweep::{Step, Sweep};
pub use timing::{Schedule, TransferTime, transfer_time};
pub use transfer::{Bounds, Transfer, extent};
pub use validate::validate;
