//! Simulated times of machines with CP2 for the problems of the rows.

use crate::interrupt::compute_interruptible;
use crate::outcome::CommandFailure;
use cp2_gpu::bench::SpeedSubject;
use cp2_host::DeviceOptions;
use cp2_kernels::Cp2Backend;
use cp2_kernels::registry::procedure;
use cp2_machine::Machine;
use cp2_model::{System, estimate};
use cp2_problems::sparse::SpmvProblem;
use cp2_problems::{ArrayForm, Kind, Problem, Refusal};
use std::sync::Arc;

/// Simulated time of a machine for the problem of a row, or why there is none.
#[derive(Clone, Debug)]
pub(super) struct SimulatedTime {
    /// Name of the machine.
    pub(super) machine: String,
    /// Seconds that the model expects.
    pub(super) seconds: Result<f64, String>,
}

/// Returns the times that the model expects of machines. Products with matrices of more than `most_entries` entries
/// have none.
pub(super) fn expect_machines(
    subject: &SpeedSubject,
    seed: u64,
    machines: &[Arc<Machine>],
    most_entries: usize,
) -> Result<Vec<SimulatedTime>, CommandFailure> {
    let expected = machines.iter().map(|machine| {
        let work = || expect_seconds(subject, seed, machine, most_entries);
        Ok(SimulatedTime {
            machine: machine.name.clone(),
            seconds: compute_interruptible(work)?,
        })
    });
    expected.collect()
}

/// Returns the bytes of the arrays of a problem.
fn array_bytes(problem: &dyn Problem) -> u64 {
    let bytes = |form: &ArrayForm| {
        let element = match form.kind {
            Kind::U8 => 1,
            Kind::F32 | Kind::I32 | Kind::U32 => 4,
            Kind::F64 | Kind::Complex64 | Kind::DoubleSingle => 8,
            Kind::Complex128 | Kind::ComplexDoubleSingle => 16,
        };
        let sides = form.shape.iter();
        sides.fold(element, |bytes, &side| bytes * side as u64)
    };
    let forms = [problem.inputs(), problem.outputs()].concat();
    forms.iter().map(bytes).sum()
}

fn expect_seconds(
    subject: &SpeedSubject,
    seed: u64,
    machine: &Arc<Machine>,
    most_entries: usize,
) -> Result<f64, String> {
    let problem = &*subject.problem;
    let product = problem.downcast_ref::<SpmvProblem>();
    if product.is_some_and(|product| product.matrix().nnz() > most_entries) {
        return Err(format!(
            "its matrix has more than {most_entries} entries; --planned-entries plans more"
        ));
    }
    // Planning what cannot fit would take long, and programs need room too.
    let memory = machine.host.memory.0;
    if array_bytes(problem) >= memory {
        return Err(format!(
            "inputs and outputs do not fit the system memory of {} MiB",
            memory >> 20
        ));
    }
    let backend = Cp2Backend::new(machine.clone());
    let method = backend.method(problem).map_err(|refusal| match refusal {
        Refusal::Unfit { source, .. } => source.to_string(),
        unknown => unknown.to_string(),
    })?;
    let task = method.task(&subject.input(seed), DeviceOptions::default());
    let task = task.map_err(|error| error.to_string())?;
    let procedure = procedure(problem.name(), &task.job, &method.operations);
    let expected = estimate(&procedure, &System::from_machine(machine));
    expected
        .map(|expected| expected.seconds)
        .map_err(|error| error.to_string())
}
