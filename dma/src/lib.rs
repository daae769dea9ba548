//! The DMA controller: descriptors, their validation, their functional copy
//! and their timing.
//!
//! Validation, copy and timing are three functions that consume one iterator
//! of contiguous runs, so that new kinds of transfer are new producers of runs.
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

mod apart;
mod compose;
mod copy;
mod descriptor;
mod error;
mod runs;
mod sweep;
mod timing;
mod validate;

pub use compose::{Chunk, coalesce, fold, over_sections};
pub use copy::{AccessError, Copier, CopyError, LocalMemory, SystemMemory, copy};
pub use descriptor::{Descriptor, Direction, Level, Levels, Target};
pub use error::{DescriptorError, Field, FieldValue, Memory, Rule};
pub use runs::{Recipient, Run, Runs};
pub use sweep::{Step, Sweep};
pub use timing::{Schedule, TransferTime, transfer_time};
pub use validate::validate;
