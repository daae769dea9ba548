//! The backends of `--backend`: the emulated CP2, this computer, a graphics card.

#[cfg(feature = "gpu")]
mod gpu;
mod measured;
mod options;

pub(crate) use measured::{MeasuredRun, SIMULATED_KEYS, add_simulated_clock, error_text};
pub(crate) use options::{AdapterArg, BackendArg, MeasuredBackend, refuse_simulation_options};

use crate::outcome::CommandFailure;
use cp2_host::DeviceOptions;
use cp2_kernels::Cp2Backend;
use cp2_machine::Machine;
use cp2_native::Native;
use cp2_problems::{Backend, Clock, Refusal};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// Name of a backend on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum BackendName {
    /// The kernels of CP2 on an emulated machine
    Cp2,
    /// A graphics card
    Gpu,
    /// This computer, by rustfft and plain loops
    Native,
}

impl BackendName {
    /// All that this program was built with.
    pub(crate) const BUILT: &str = match cfg!(feature = "gpu") {
        true => "cp2,native,gpu",
        false => "cp2,native",
    };

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cp2 => "cp2",
            Self::Gpu => "gpu",
            Self::Native => "native",
        }
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A backend that is ready to prepare problems.
#[derive(Debug)]
pub(crate) struct OpenBackend {
    /// Its name on the command line.
    pub(crate) name: BackendName,
    /// The backend.
    pub(crate) backend: Box<dyn Backend>,
    /// Kind of its times.
    pub(crate) clock: Clock,
    /// Description of the machine or adapter, for reports as text: lines without the last end.
    pub(crate) description: String,
    /// Fields of the machine or adapter, for reports as JSON.
    pub(crate) fields: Value,
}

impl OpenBackend {
    /// Opens a backend; `machine` is the one to emulate, `adapter` the graphics card.
    ///
    /// # Errors
    /// The program was built without the backend, or this computer has none.
    pub(crate) fn open(
        name: BackendName,
        machine: &Arc<Machine>,
        adapter: &AdapterArg,
    ) -> Result<Self, CommandFailure> {
        Self::open_adapters(name, machine, adapter, 1)
    }

    /// Opens a backend; that of graphics cards divides problems among so many adapters.
    ///
    /// # Errors
    /// See [`OpenBackend::open`]; this computer has fewer adapters.
    pub(crate) fn open_adapters(
        name: BackendName,
        machine: &Arc<Machine>,
        adapter: &AdapterArg,
        adapters: usize,
    ) -> Result<Self, CommandFailure> {
        #[cfg(not(feature = "gpu"))]
        let _ = (adapter, adapters);
        match name {
            BackendName::Cp2 => Ok(Self {
                name,
                backend: Box::new(Cp2Backend::with_options(
                    machine.clone(),
                    DeviceOptions {
                        interrupt: Some(crate::interrupt::flag()),
                        ..DeviceOptions::default()
                    },
                )),
                clock: Clock::Simulated,
                description: format!("kernels of CP2, emulated on {}", machine.name),
                fields: json!({ "machine": machine.name }),
            }),
            BackendName::Native => Ok(Self {
                name,
                backend: Box::new(Native),
                clock: Clock::Measured,
                description: "this computer, by rustfft and plain loops".to_owned(),
                fields: json!({}),
            }),
            #[cfg(feature = "gpu")]
            BackendName::Gpu => gpu::open(adapter, adapters),
            #[cfg(not(feature = "gpu"))]
            BackendName::Gpu => Err(CommandFailure::input(
                "--backend gpu: this program was built without graphics cards; build it with \
                 `--features gpu`, or take --backend cp2,native",
            )),
        }
    }

    /// Returns the backend as a JSON object.
    pub(crate) fn json(&self) -> Value {
        let mut object = json!({ "name": self.name.name(), "clock": self.clock.to_string() });
        if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), &self.fields) {
            object.extend(fields.clone());
        }
        object
    }
}

/// True if a backend refuses a problem because the program or a device is at fault, as where a shader does not
/// compile.
#[cfg(feature = "gpu")]
pub(crate) fn is_fault(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Unfit { source, .. } if gpu::is_fault(&**source))
}

/// False: only graphics cards have faults of their own.
#[cfg(not(feature = "gpu"))]
pub(crate) fn is_fault(_: &Refusal) -> bool {
    false
}
