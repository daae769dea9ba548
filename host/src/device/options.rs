use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// How a device runs.
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    /// What executes kernels: the same results, faster or from the definitions.
    pub engine: cp2_emu::Engine,
    /// Host threads that a paged pass may run on, with the same results; 0 is one as well.
    pub threads: usize,
    /// Counts the stretches of pages that were run ahead of their turn by other threads, and
    /// used. It says how fast the host was, nothing about the run.
    pub taken_over: Option<Arc<AtomicU64>>,
    /// End the run at this cycle: what it takes to end the word or the launch that is under way is in the account,
    /// and a stall that has not ended is not.
    pub max_cycles: Option<u64>,
    /// End the run soon after this becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Holds the cycle the run has reached, for a display of its progress.
    pub progress: Option<Arc<AtomicU64>>,
    /// Watch for reads of what was never written and for races with the DMA.
    pub check: bool,
    /// Count for each program and pass by itself; takes time of the host at every launch.
    pub stages: bool,
    /// What to keep for the timeline.
    pub trace: Trace,
    /// Keep the commands and the initial memory, so that the run can be emitted.
    pub record: bool,
}

/// What to keep for the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Keep only slices that overlap these cycles.
    pub window: std::ops::Range<u64>,
    /// Keep at most so many slices; the rest is counted.
    pub limit: usize,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            window: 0..u64::MAX,
            limit: 100_000,
        }
    }
}

impl Trace {
    /// Keeps nothing.
    #[must_use]
    pub fn none() -> Self {
        Self {
            window: 0..0,
            limit: 0,
        }
    }
}
