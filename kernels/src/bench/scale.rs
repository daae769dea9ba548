//! Measures how host time and memory grow with the number of processors.
//!
//! Each processor has a share of the same size, so that the work grows with their number. Making jobs, running
//! them, and what the exchange takes beside the processors' own work are measured apart.

use super::{BenchError, options};
use crate::job::{Job, ProcessorRun, run_jobs};
use crate::npb::mg::MultigridPlan;
use crate::stencil::StencilSlabs;
use cp2_emu::Engine;
use cp2_host::DeviceOptions;
use cp2_machine::{Cycles, Machine};
use cp2_network::{InProcess, NetworkReport};
use cp2_problems::npb::mg::{MgProblem, Smoother};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Work of each of many processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleLoad {
    /// A slab of four planes of 64 by 64, which exchanges halos before each of eight steps.
    Stencil,
    /// Four V-cycles of multigrid on 32^3 points, without messages.
    Multigrid,
}

/// Planes of a slab, rows and columns of a plane, and steps.
const PLANES: usize = 4;
const SIDE: usize = 64;
const STEPS: usize = 8;

/// Points along an axis and V-cycles of multigrid.
const POINTS: usize = 32;
const V_CYCLES: usize = 4;

/// Figures of one run of many processors.
#[derive(Clone, Debug)]
pub struct ScaleFigures {
    /// Number of processors.
    pub processors: usize,
    /// Host threads that they shared.
    pub threads: usize,
    /// Host time of planning, once for all processors.
    pub plan: Duration,
    /// Host time of making all jobs.
    pub make: Duration,
    /// Host time from the first simulated cycle to the end of the last processor.
    pub run: Duration,
    /// Host time of the processors' own work, added over threads.
    pub work: Duration,
    /// Memory of this process that was resident at the end of the run, in bytes, where the host tells.
    pub resident: Option<u64>,
    /// Simulated cycles until the last processor ended.
    pub cycles: u64,
    /// Messages and loads of links.
    pub network: NetworkReport,
}

impl ScaleFigures {
    /// Returns the host time of a message beside the processors' own work; none without messages, and with
    /// several threads, whose work overlaps.
    #[must_use]
    pub fn seconds_per_message(&self) -> Option<f64> {
        let beside = self.run.saturating_sub(self.work).as_secs_f64();
        (self.threads == 1 && self.network.messages > 0)
            .then(|| beside / self.network.messages as f64)
    }
}

impl ScaleLoad {
    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stencil => "stencil",
            Self::Multigrid => "mg",
        }
    }

    /// Runs the load on so many processors of a machine that share so many host threads.
    ///
    /// # Errors
    /// The load does not fit the machine, or a processor does not finish, as after an interrupt.
    pub fn measure(
        self,
        machine: &Arc<Machine>,
        engine: Engine,
        (processors, threads): (usize, usize),
        interrupt: Option<Arc<AtomicBool>>,
    ) -> Result<ScaleFigures, BenchError> {
        let options = DeviceOptions {
            interrupt,
            ..options(engine)
        };
        let started = Instant::now();
        let plan = self.plan(machine, processors);
        let make = plan.map_err(|reason| self.refuse(reason.to_string()))?;
        let planned = started.elapsed();
        let jobs = make(&options).map_err(|reason| self.refuse(reason.to_string()))?;
        let made = started.elapsed();
        let ran = run_jobs(&mut InProcess, machine, processors, jobs, threads, b"");
        let (network, runs) = ran.map_err(|reason| self.refuse(reason.to_string()))?;
        let run = started.elapsed().saturating_sub(made);
        let resident = resident_bytes();
        for ProcessorRun { run, .. } in &runs {
            if !run.report.end.is_finished() {
                return Err(self.refuse(run.report.end.to_string()));
            }
        }
        let cycles = runs.iter().map(|run| Cycles(run.run.report.cycles)).max();
        Ok(ScaleFigures {
            processors,
            threads,
            plan: planned,
            make: made.saturating_sub(planned),
            run,
            work: runs.iter().map(|run| run.host_time).sum(),
            resident,
            cycles: cycles.unwrap_or(Cycles(0)).0,
            network,
        })
    }

    fn refuse(self, reason: String) -> BenchError {
        BenchError::Unfinished {
            workload: self.name().to_owned(),
            reason,
        }
    }

    /// Plans the load; the result makes its jobs.
    fn plan(self, machine: &Arc<Machine>, processors: usize) -> Result<MakeJobs, crate::Failure> {
        match self {
            Self::Stencil => {
                let stencil = StencilShape::from_classes(7, None)?;
                let shape = [PLANES * processors, SIDE, SIDE];
                let problem = StencilProblem::new(&shape, stencil, Edge::Fixed, STEPS)?;
                let slabs = StencilSlabs::new(&problem, machine, processors)?;
                let u: Vec<f32> = (0..shape.iter().product::<usize>())
                    .map(|i| (i % 101) as f32)
                    .collect();
                Ok(Box::new(move |options| {
                    let slabs = slabs.slabs().iter();
                    let jobs = slabs.map(|slab| Ok(slab.job(&u, None, options.clone())?.0));
                    jobs.collect()
                }))
            }
            Self::Multigrid => {
                let problem = MgProblem::new(POINTS, V_CYCLES, Smoother::A)?;
                let plan = MultigridPlan::new(problem, machine)?;
                let mut v = vec![0f32; POINTS.pow(3)];
                if let [first, .., last] = &mut v[..] {
                    (*first, *last) = (1.0, -1.0);
                }
                Ok(Box::new(move |options| {
                    let jobs = (0..processors).map(|_| Ok(plan.task(&v, options.clone())?.job));
                    jobs.collect()
                }))
            }
        }
    }
}

/// Function that makes the jobs of all processors.
type MakeJobs = Box<dyn Fn(&DeviceOptions) -> Result<Vec<Job>, crate::Failure>>;

/// Returns the bytes of this process that are in memory, where the host tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
