//! The backend of a graphics card, with its adapter and what its arithmetic does.

use super::{AdapterArg, BackendName, OpenBackend};
use crate::interrupt;
use crate::outcome::CommandFailure;
use cp2_gpu::{AdapterChoice, AdapterReport, Gpu, GpuError, GpuGroup};
use cp2_problems::{Backend, Clock};
use serde_json::json;

/// Opens the graphics card, or several that divide a problem.
///
/// # Errors
/// There are fewer adapters, or one lacks what the backend needs.
pub(super) fn open(choice: &AdapterArg, adapters: usize) -> Result<OpenBackend, CommandFailure> {
    let choice = AdapterChoice {
        name: choice.name().map(str::to_owned),
        ..AdapterChoice::default()
    };
    // An interrupt ends a driver that hangs.
    let (backend, reports) = interrupt::plan_interruptible(|| open_backend(&choice, adapters))?
        .map_err(CommandFailure::input)?;
    let lines: Vec<_> = reports.iter().map(describe).collect();
    Ok(OpenBackend {
        name: BackendName::Gpu,
        clock: Clock::Measured,
        description: lines.join("; "),
        fields: json!({ "adapter": reports.first(), "adapters": reports.len() }),
        backend,
    })
}

/// Opens a card or a group of cards. Devices stay open until the process ends: closing waits for all that was
/// submitted, which may be never.
fn open_backend(
    choice: &AdapterChoice,
    adapters: usize,
) -> Result<(Box<dyn Backend>, Vec<AdapterReport>), GpuError> {
    if adapters > 1 {
        let group = GpuGroup::open(choice, adapters)?;
        std::mem::forget(group.clone());
        let reports = group.adapters().cloned().collect();
        return Ok((Box::new(group), reports));
    }
    let gpu = Gpu::open(choice)?;
    std::mem::forget(gpu.clone());
    let report = gpu.adapter().clone();
    Ok((Box::new(gpu), vec![report]))
}

/// True if the reason of a refusal is a fault of the program or of the device, and not the problem.
pub(super) fn is_fault(reason: &(dyn std::error::Error + 'static)) -> bool {
    let error = reason.downcast_ref::<GpuError>();
    error.is_some_and(GpuError::is_fault)
}

/// Describes an adapter and its arithmetic in a line.
fn describe(adapter: &AdapterReport) -> String {
    let AdapterReport {
        name,
        driver,
        kind,
        backend,
        probe,
        ..
    } = adapter;
    let rounding = |exact: bool| {
        if exact {
            "rounded correctly"
        } else {
            "approximate"
        }
    };
    format!(
        "{name} ({kind}, {backend}, {driver}); fma {}, a * b + c {}, subnormal numbers {}, quotients {}, roots {}",
        if probe.fma_is_fused {
            "fused"
        } else {
            "rounded twice"
        },
        probe.contraction,
        if probe.subnormals_are_flushed {
            "flushed to 0"
        } else {
            "kept"
        },
        rounding(probe.division_is_exact),
        rounding(probe.root_is_exact),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::is_fault;
    use cp2_problems::Refusal;

    /// A shader that does not compile is a fault; an array that is too large is not.
    #[test]
    fn faults_are_no_refusals() {
        let refused = |error: GpuError| Refusal::Unfit {
            backend: "gpu".to_owned(),
            problem: "a transform".to_owned(),
            source: Box::new(error),
        };
        assert!(is_fault(&refused(GpuError::Shader {
            shader: "fft".to_owned(),
            reason: "unknown name".to_owned(),
        })));
        let large = refused(GpuError::TooLarge {
            what: "numbers",
            bytes: 9,
            most: 8,
        });
        assert!(!is_fault(&large));
        let said = large.to_string();
        assert!(
            said.contains("no room for numbers: 9 bytes are needed"),
            "{said}"
        );
    }
}
