//! The backend: an open adapter, the table of problems, and their runs.

use crate::adapter::{AdapterChoice, AdapterReport};
use crate::bench::RepeatedRuns;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::session::Session;
use crate::{chain, conv, fft, himeno, npb, parts, probe, sparse, stencil, vector};
use cp2_problems::{
    Backend, Clock, DataError, NamedArrays, Outcome, Prepared, Problem, Refusal, Report, RunError,
};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// The backend of a graphics card.
#[derive(Clone, Debug)]
pub struct Gpu {
    device: Arc<GpuDevice>,
    adapter: Arc<AdapterReport>,
}

impl Gpu {
    /// Opens an adapter and finds out how it computes.
    ///
    /// # Errors
    /// There is no such adapter, or it does not work.
    pub fn open(choice: &AdapterChoice) -> Result<Self, GpuError> {
        let device = Arc::new(GpuDevice::open(choice)?);
        let probe = probe::arithmetic(&device)?;
        let (info, limits) = (&device.info, &device.limits);
        let adapter = AdapterReport {
            name: info.name.clone(),
            driver: format!("{} {}", info.driver, info.driver_info)
                .trim()
                .to_owned(),
            kind: kind(info.device_type).to_owned(),
            backend: info.backend.to_string(),
            binding_bytes: limits.max_storage_buffer_binding_size,
            buffer_bytes: limits.max_buffer_size,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            workgroup_invocations: limits.max_compute_invocations_per_workgroup,
            bindings: limits.max_storage_buffers_per_shader_stage,
            timestamps: device.tick.is_some(),
            probe,
        };
        Ok(Self {
            device,
            adapter: Arc::new(adapter),
        })
    }

    /// Returns what the adapter is, and how it computes.
    #[must_use]
    pub fn adapter(&self) -> &AdapterReport {
        &self.adapter
    }

    pub(crate) fn device(&self) -> &Arc<GpuDevice> {
        &self.device
    }

    fn prepare_problem(&self, problem: &dyn Problem) -> Option<Result<GpuProblem, GpuError>> {
        // Nothing is made for a device that is lost.
        match self.device.check_driver() {
            Err(error) => Some(Err(error)),
            Ok(()) => TABLE.iter().find_map(|row| row(&self.device, problem)),
        }
    }

    /// Runs a problem several times; returns its algorithm, its output and the seconds of each run.
    pub(crate) fn run_repeated(
        &self,
        problem: &dyn Problem,
        input: &NamedArrays,
        repetitions: usize,
    ) -> Result<(String, NamedArrays, Vec<f64>), GpuFailure> {
        let unknown = || {
            Err(GpuError::Unfit {
                what: format!("{} is not computed", problem.name()),
                instead: "take another problem",
            })
        };
        let mut ready = self.prepare_problem(problem).unwrap_or_else(unknown)?;
        let mut session = Session::repeated(&self.device, RepeatedRuns::new(repetitions))?;
        let output = (ready.run)(&mut session, input)?;
        Ok((ready.recipe, output, session.take_repeated_seconds()))
    }
}

fn kind(kind: wgpu::DeviceType) -> &'static str {
    match kind {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Cpu => "cpu",
        wgpu::DeviceType::Other => "other",
    }
}

/// Prepares a problem, if it is of the type that the function knows.
type PrepareGpuFn = fn(&Arc<GpuDevice>, &dyn Problem) -> Option<Result<GpuProblem, GpuError>>;

/// Functions that prepare the known types of problems.
const TABLE: &[PrepareGpuFn] = &[
    fft::complex,
    fft::real,
    conv::filter,
    stencil::stencil,
    himeno::himeno,
    vector::map,
    vector::reduce,
    vector::beams,
    vector::products,
    vector::transpose,
    chain::radar,
    chain::sonar,
    npb::ft,
    npb::mg,
    sparse::product,
    sparse::solve,
    sparse::power,
    sparse::inverse_iterations,
];

impl Backend for Gpu {
    fn name(&self) -> String {
        "gpu".to_owned()
    }

    fn prepare(&self, problem: &dyn Problem) -> Result<Box<dyn Prepared>, Refusal> {
        let ready = match self.prepare_problem(problem) {
            Some(Err(no_room @ GpuError::TooLarge { .. })) => {
                let prepare = |part: &dyn Problem| self.prepare_problem(part);
                Some(parts::prepare(&self.device, problem, no_room, prepare))
            }
            ready => ready,
        };
        match ready {
            Some(Ok(ready)) => Ok(Box::new(ready)),
            Some(Err(error)) => Err(Refusal::Unfit {
                backend: self.name(),
                problem: problem.title(),
                source: Box::new(error),
            }),
            None => Err(Refusal::Unknown {
                backend: self.name(),
                problem: problem.name(),
            }),
        }
    }
}

/// Reason why a run has no output.
#[derive(Debug)]
pub(crate) enum GpuFailure {
    /// The input does not fit.
    Data(DataError),
    /// The device failed.
    Gpu(GpuError),
}

impl From<DataError> for GpuFailure {
    fn from(error: DataError) -> Self {
        Self::Data(error)
    }
}

impl From<GpuError> for GpuFailure {
    fn from(error: GpuError) -> Self {
        Self::Gpu(error)
    }
}

/// Computes the output of an input.
type GpuComputeFn = dyn FnMut(&mut Session, &NamedArrays) -> Result<NamedArrays, GpuFailure> + Send;

/// A problem with all preparations done that do not depend on its input.
pub(crate) struct GpuProblem {
    device: Arc<GpuDevice>,
    pub(crate) recipe: String,
    pub(crate) run: Box<GpuComputeFn>,
}

impl GpuProblem {
    pub(crate) fn new(
        device: &Arc<GpuDevice>,
        recipe: impl Into<String>,
        run: impl FnMut(&mut Session, &NamedArrays) -> Result<NamedArrays, GpuFailure> + Send + 'static,
    ) -> Self {
        Self {
            device: device.clone(),
            recipe: recipe.into(),
            run: Box::new(run),
        }
    }
}

impl fmt::Debug for GpuProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GpuProblem").field(&self.recipe).finish()
    }
}

/// Time that a run took on the device.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuReport {
    /// Seconds from the begin of the first shader to the end of the last one.
    pub device_seconds: f64,
    /// True if the device measured them; else they are the host's, and contain the wait for the output.
    pub is_device_clock: bool,
    /// Number of shaders that were started.
    pub dispatches: usize,
}

impl Report for GpuReport {
    fn text(&self) -> String {
        let clock = match self.is_device_clock {
            true => "by its own clock",
            false => "by the host's clock, with the wait for the output",
        };
        format!(
            "device: {:.6} s {clock}, {} shaders started",
            self.device_seconds, self.dispatches
        )
    }
}

impl Prepared for GpuProblem {
    fn recipe(&self) -> Option<String> {
        Some(self.recipe.clone())
    }

    fn run(&mut self, input: &NamedArrays) -> Result<Outcome, RunError> {
        let device = self.device.clone();
        let failed = |error| RunError::Backend(Box::new(device.cause(error)));
        let started = Instant::now();
        let mut session = Session::new(&self.device).map_err(failed)?;
        let output = (self.run)(&mut session, input).map_err(|failure| match failure {
            GpuFailure::Data(error) => error.into(),
            GpuFailure::Gpu(error) => failed(error),
        })?;
        let seconds = started.elapsed().as_secs_f64();
        let time = session.time().map_err(failed)?;
        Ok(Outcome {
            output,
            seconds,
            clock: Clock::Measured,
            report: Some(Box::new(GpuReport {
                device_seconds: time.seconds,
                is_device_clock: time.is_own,
                dispatches: time.dispatches,
            })),
        })
    }
}

/// Returns the values as the one output of the problem.
pub(crate) fn wrap_output<T: cp2_problems::Element>(
    problem: &dyn Problem,
    values: Vec<T>,
) -> NamedArrays {
    let forms = problem.outputs();
    let form = forms.first();
    form.map_or_else(NamedArrays::default, |form| {
        NamedArrays::from_array(form.name, &form.shape, values)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use crate::buffer::GpuBuffer;
    use crate::program::write;
    use cp2_problems::Case;
    use cp2_problems::vector::{MapOp, MapProblem};
    use std::time::Duration;

    fn open() -> Gpu {
        Gpu::open(&AdapterChoice::default()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_lost_device_is_an_error() {
        let gpu = open();
        let problem = MapProblem::new(MapOp::Add, 100).unwrap();
        let mut prepared = gpu.prepare(&problem).unwrap();
        let input = problem.input(Case::Random, 1);
        assert!(prepared.run(&input).is_ok());
        gpu.device.raw.destroy();
        for _ in 0..2 {
            let error = prepared.run(&input).unwrap_err();
            assert!(error.to_string().contains("was lost"), "{error}");
        }
        assert!(gpu.prepare(&problem).is_err());
    }

    /// A run beyond its time has no output, be it whole or in parts, and the device computes nothing after it.
    #[test]
    fn a_run_beyond_its_time_has_no_output() {
        for most_binding_bytes in [None, Some(1 << 16)] {
            let mut gpu = Gpu::open(&AdapterChoice {
                most_binding_bytes,
                ..AdapterChoice::default()
            })
            .unwrap();
            Arc::get_mut(&mut gpu.device).unwrap().time_limit = Duration::ZERO;
            let problem = MapProblem::new(MapOp::Add, 20_000).unwrap();
            let mut prepared = gpu.prepare(&problem).unwrap();
            for _ in 0..2 {
                let error = prepared.run(&problem.input(Case::Random, 1)).unwrap_err();
                let said = "the adapter did not finish within 0 s; take a smaller problem";
                assert_eq!(error.to_string(), said);
            }
            let error = gpu.prepare(&problem).unwrap_err().to_string();
            assert!(error.contains("did not finish within 0 s"), "{error}");
        }
    }

    #[test]
    fn a_shader_that_does_not_compile_is_an_error() {
        let gpu = open();
        let z: GpuBuffer<f32> = GpuBuffer::new(&gpu.device, "numbers", 10).unwrap();
        for text in [
            "fn main( {",
            "@compute @workgroup_size(64) fn main() { let x = y; }",
            "@compute @workgroup_size(65536) fn main() {}",
        ] {
            let made = gpu
                .device
                .step_of_text("wrong", text.to_owned(), &[], &[write(&z)], 1);
            let error = made.unwrap_err();
            assert!(matches!(error, GpuError::Shader { .. }), "{error}");
        }
        // The device goes on.
        let problem = MapProblem::new(MapOp::Add, 100).unwrap();
        let run = gpu
            .prepare(&problem)
            .unwrap()
            .run(&problem.input(Case::Random, 1));
        assert!(run.is_ok());
    }

    /// An input that does not fit is an error of the data.
    #[test]
    fn inputs_are_looked_at() {
        let gpu = open();
        let problem = MapProblem::new(MapOp::Add, 100).unwrap();
        let other = MapProblem::new(MapOp::Add, 99).unwrap();
        let mut prepared = gpu.prepare(&problem).unwrap();
        let error = prepared.run(&other.input(Case::Random, 1)).unwrap_err();
        assert!(matches!(error, RunError::Data(_)), "{error}");
    }
}
