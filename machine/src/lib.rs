//! CP2 machines as data.
//!
//! A [`Machine`] holds every number the rest of the workspace needs to know
//! about the hardware: section count, register file, latencies, DMA bandwidth,
//! host costs. Nothing else in the workspace may contain such a number.
//!
//! ```
//! use cp2_machine::Machine;
//!
//! let mine = Machine::parse("mine.toml", r#"
//!     base = "vm9"
//!     [dma]
//!     bandwidth = { value = 25.6, unit = "B/cycle", source = "assumed", ref = "a proposal" }
//! "#)?;
//! for parameter in mine.parameters() {
//!     println!("{} = {} {}", parameter.row.key, parameter.text, parameter.unit);
//! }
//! assert_eq!(Machine::parse("again.toml", &mine.to_toml())?, mine);
//! # Ok::<(), cp2_machine::MachineError>(())
//! ```
//!
//! This crate stands at the bottom of the crate graph and depends on no other.

mod changes;
mod check;
mod class;
mod ease;
mod error;
mod extensions;
mod load;
mod manual;
mod network;
mod parameter;
mod params;
mod provenance;
mod quantity;
mod read;
mod show;
mod table;
mod text;
mod units;
mod user_row;

pub use class::{Class, ClassMap};
pub use ease::More;
pub use error::{Located, MachineError, Place, Problem};
pub use extensions::Extensions;
pub use manual::manual;
pub use network::{NetworkParameters, Topology};
pub use params::{Cp2, Dma, Host, LANE_BYTES, LINE_BYTES, Machine};
pub use provenance::{Origin, Provenance, Source};
pub use quantity::{Quantity, Value};
pub use show::Parameter;
pub use table::{EXTENSION_ROWS, NETWORK_ROWS, ROWS, Range, Row, RowCondition};
pub use text::{TextError, decode_text};
pub use units::{Bytes, Cycles, Ratio, Ticks, TimeBase};
pub use user_row::{
    LaneFlow, LaneNode, Primitive, ROW_MAJOR, RowDefinition, RowFlaw, RowForm, SECTION_UNITS,
    UserRow,
};
