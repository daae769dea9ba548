//! Several adapters, among which a problem is divided.

use crate::adapter::{AdapterChoice, AdapterReport};
use crate::backend::{Gpu, GpuFailure};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::himeno::DividedHimeno;
use cp2_problems::himeno::HimenoProblem;
use cp2_problems::{Backend, Clock, NamedArrays, Outcome, Prepared, Problem, Refusal, RunError};
use std::sync::Arc;
use std::time::Instant;

/// The backend of several graphics cards of one kind, which share a problem. They divide the Himeno benchmark.
#[derive(Clone, Debug)]
pub struct GpuGroup {
    gpus: Vec<Gpu>,
}

impl GpuGroup {
    /// Opens so many adapters of the kind of the first one that fits the choice.
    ///
    /// # Errors
    /// There are fewer, or one does not work.
    pub fn open(choice: &AdapterChoice, count: usize) -> Result<Self, GpuError> {
        let mut gpus: Vec<Gpu> = Vec::new();
        for number in 0..count.max(1) {
            let few = GpuError::TooFewAdapters {
                wanted: count,
                found: number,
            };
            let choice = AdapterChoice {
                number,
                ..choice.clone()
            };
            let gpu = match Gpu::open(&choice) {
                Err(GpuError::NoSuchAdapter { .. }) if number > 0 => return Err(few),
                opened => opened?,
            };
            let kind = &gpu.adapter().kind;
            if gpus.iter().any(|other| other.adapter().kind != *kind) {
                return Err(few);
            }
            gpus.push(gpu);
        }
        Ok(Self { gpus })
    }

    /// Returns the group of open adapters, which may be one adapter that was opened several times.
    #[must_use]
    pub fn from_adapters(gpus: Vec<Gpu>) -> Self {
        Self { gpus }
    }

    /// Returns what the adapters are.
    pub fn adapters(&self) -> impl Iterator<Item = &AdapterReport> {
        self.gpus.iter().map(Gpu::adapter)
    }

    pub(crate) fn devices(&self) -> Vec<Arc<GpuDevice>> {
        self.gpus.iter().map(|gpu| gpu.device().clone()).collect()
    }
}

impl Backend for GpuGroup {
    fn name(&self) -> String {
        "gpu".to_owned()
    }

    fn prepare(&self, problem: &dyn Problem) -> Result<Box<dyn Prepared>, Refusal> {
        let unfit = |source| Refusal::Unfit {
            backend: self.name(),
            problem: problem.title(),
            source: Box::new(source),
        };
        let Some(problem) = problem.downcast_ref::<HimenoProblem>() else {
            return Err(unfit(GpuError::Unfit {
                what: format!("`{}` is not divided among adapters", problem.name()),
                instead: "take one adapter for it",
            }));
        };
        let divided = DividedHimeno::new(&self.devices(), problem);
        Ok(Box::new(divided.map_err(unfit)?))
    }
}

impl Prepared for DividedHimeno {
    fn recipe(&self) -> Option<String> {
        Some(self.describe())
    }

    fn run(&mut self, input: &NamedArrays) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let failed = |error| RunError::Backend(Box::new(error));
        let mut sessions = self.sessions().map_err(failed)?;
        let output = self.compute(&mut sessions, input);
        let output = output.map_err(|failure| match failure {
            GpuFailure::Data(error) => error.into(),
            GpuFailure::Gpu(error) => failed(self.cause(error)),
        })?;
        Ok(Outcome {
            output,
            seconds: started.elapsed().as_secs_f64(),
            clock: Clock::Measured,
            report: None,
        })
    }
}
