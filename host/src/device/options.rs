//! Options of a device: engine, threads, limits, checks and recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    /// Engine that executes kernels; all give the same results.
    pub engine: cp2_emu::Engine,
    /// Host threads that a paged pass may run on, with the same results; 0 means one.
    pub threads: usize,
    /// Counts the stretches of pages that other threads ran in advance and that were used. The count shows
    /// how fast the host was; no result depends on it.
    pub taken_over: Option<Arc<AtomicU64>>,
    /// Cycle at which the run ends. The account includes the rest of the word or launch that is under way,
    /// but no stall that has not ended.
    pub max_cycles: Option<u64>,
    /// Flag that ends the run soon after it becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Receives the cycle that the run has reached, for a display of its progress.
    pub progress: Option<Arc<AtomicU64>>,
    /// Watches for reads of unwritten memory and for races with the DMA.
    pub check: bool,
    /// Counts for each program and pass separately; every launch then takes more host time.
    pub stages: bool,
    /// Slices to keep for the timeline.
    pub trace: Trace,
    /// Keeps the commands and the initial memory, so that the run can be emitted.
    pub record: bool,
}

/// Slices to keep for the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Cycles with which a kept slice overlaps.
    pub window: std::ops::Range<u64>,
    /// Number of slices kept at most; the rest is counted.
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
    /// Returns a trace that keeps nothing.
    #[must_use]
    pub fn none() -> Self {
        Self {
            window: 0..0,
            limit: 0,
        }
    }
}
