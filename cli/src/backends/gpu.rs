//! The backend of a graphics card, with its adapter and what its arithmetic does.

use super::{BackendName, OpenBackend};
use crate::outcome::CommandFailure;
use cp2_gpu::{AdapterChoice, Gpu};
use cp2_problems::Clock;
use serde_json::json;

/// Opens the graphics card.
///
/// # Errors
/// There is no adapter, or it lacks what the backend needs.
pub(super) fn open() -> Result<OpenBackend, CommandFailure> {
    let gpu = Gpu::open(&AdapterChoice::default()).map_err(CommandFailure::input)?;
    let adapter = gpu.adapter();
    Ok(OpenBackend {
        name: BackendName::Gpu,
        clock: Clock::Measured,
        description: adapter.to_string(),
        fields: json!({ "adapter": adapter, "probe": adapter.probe }),
        backend: Box::new(gpu),
    })
}
