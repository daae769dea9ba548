//! Nests of kernels, made once for all jobs that have the same.
//!
//! The jobs of many processors are alike: same programs, same arrays at the same addresses. What is made of
//! a sweep depends on the sweep, its kernel and the machine alone. It is kept as long as some job uses it, and
//! affects nothing but the time in which jobs are made, and their memory.

use super::{GridPass, GridPlan, NestError};
use crate::paging::{CountedKernelPages, KernelEntryPoint};
use crate::schedule::BlocksPerSection;
use cp2_emu::cycles::Uncounted;
use cp2_machine::Machine;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak};

/// A sweep through a kernel, cut into pages by the cycles that the kernel takes for them.
#[derive(Debug)]
pub struct SharedNest {
    /// The sweep before its pages were chosen.
    asked: GridPass,
    kernel: KernelEntryPoint,
    machine: Arc<Machine>,
    plan: GridPlan,
    /// Steps of the kernel, once somebody has asked for them.
    steps: OnceLock<Result<Arc<CountedKernelPages>, Uncounted>>,
}

/// Nests that some job uses, by the hash of their sweeps.
type KnownNests = HashMap<u64, Vec<Weak<SharedNest>>>;

static KNOWN: LazyLock<Mutex<KnownNests>> = LazyLock::new(Mutex::default);

/// Number of hashes from which on those without a nest in use are sought and left out.
const MANY: usize = 1024;

impl SharedNest {
    /// Plans the pages of a sweep through a kernel, or returns the nest that another job has made of the same.
    ///
    /// Pages are chosen for a kernel as fast as the DMA first, and then by the cycles that the kernel takes for
    /// such pages, if these can be counted.
    ///
    /// # Errors
    /// The sweep breaks a rule of the scheduler or does not fit.
    pub fn plan(
        sweep: GridPass,
        kernel: &KernelEntryPoint,
        machine: &Arc<Machine>,
    ) -> Result<Arc<Self>, NestError> {
        let mut hasher = DefaultHasher::new();
        sweep.hash(&mut hasher);
        let hash = hasher.finish();
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&hash).and_then(|nests| {
            let mut nests = nests.iter().filter_map(Weak::upgrade);
            nests.find(|nest| nest.is_of(&sweep, kernel, machine))
        });
        if let Some(nest) = found {
            return Ok(nest);
        }
        let nest = Arc::new(Self {
            plan: by_cycles(&sweep, kernel, machine)?,
            asked: sweep,
            kernel: kernel.clone(),
            machine: machine.clone(),
            steps: OnceLock::new(),
        });
        let mut known = known();
        if known.len() >= MANY && known.len().is_power_of_two() {
            known.retain(|_, nests| nests.iter().any(|nest| nest.strong_count() > 0));
        }
        let nests = known.entry(hash).or_default();
        nests.retain(|nest| nest.strong_count() > 0);
        nests.push(Arc::downgrade(&nest));
        Ok(nest)
    }

    fn is_of(&self, sweep: &GridPass, kernel: &KernelEntryPoint, machine: &Arc<Machine>) -> bool {
        self.asked == *sweep
            && self.kernel.is_same(kernel)
            && (Arc::ptr_eq(&self.machine, machine) || self.machine == *machine)
    }

    /// Counts the steps of a kernel for all pages; once if it is the kernel that the pages were chosen for.
    ///
    /// # Errors
    /// The kernel's control flow depends on data.
    pub fn steps(&self, kernel: &KernelEntryPoint) -> Result<Arc<CountedKernelPages>, Uncounted> {
        let count = || kernel.nested(&self.plan, &self.machine);
        match self.kernel.is_same(kernel) {
            true => self.steps.get_or_init(count).clone(),
            false => count(),
        }
    }
}

impl Deref for SharedNest {
    type Target = GridPlan;

    fn deref(&self) -> &GridPlan {
        &self.plan
    }
}

/// Cuts a sweep into pages by the cycles of its kernel.
fn by_cycles(
    sweep: &GridPass,
    kernel: &KernelEntryPoint,
    machine: &Machine,
) -> Result<GridPlan, NestError> {
    let nest = GridPlan::new(sweep.clone(), machine)?;
    let most = nest.kinds().iter().map(|kind| kind.blocks).max();
    let half = GridPass {
        size: BlocksPerSection::Fixed((most.unwrap_or(1) / 2).max(1)),
        ..sweep.clone()
    };
    let Ok(half) = GridPlan::new(half, machine) else {
        return Ok(nest);
    };
    match kernel.nest_cycles([&half, &nest], machine) {
        Ok(cycles) => GridPlan::new(
            GridPass {
                cycles: Some(cycles),
                ..sweep.clone()
            },
            machine,
        ),
        // Cycles that depend on data cannot be counted in advance.
        Err(_) => Ok(nest),
    }
}
