//! What CP2, the DMA and the control CPU did, when.

mod perfetto;
mod svg;

use crate::device::Trace;
use cp2_machine::{Ticks, TimeBase};
use serde::{Deserialize, Serialize};

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Track {
    /// Kernels.
    Cp2,
    /// Transfers.
    Dma,
    /// The control CPU: descriptors, work, writes.
    Host,
}

impl Track {
    /// All tracks, in the order they are shown.
    pub const ALL: [Self; 3] = [Self::Cp2, Self::Dma, Self::Host];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cp2 => "CP2",
            Self::Dma => "DMA",
            Self::Host => "host",
        }
    }
}

/// What kind of activity a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// A kernel ran, from its first issue to its last result.
    Kernel,
    /// A page kernel worked on one page.
    Page,
    /// System memory to local memory.
    Load,
    /// Local memory to system memory.
    Store,
    /// The CPU built a descriptor.
    Descriptor,
    /// The CPU touched memory or computed.
    Work,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 6] = [
        Self::Kernel,
        Self::Page,
        Self::Load,
        Self::Store,
        Self::Descriptor,
        Self::Work,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Page => "page",
            Self::Load => "load",
            Self::Store => "store",
            Self::Descriptor => "descriptor",
            Self::Work => "work",
        }
    }
}

/// One activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Who.
    pub track: Track,
    /// What kind.
    pub category: Category,
    /// The command's name: kernel, stream or purpose.
    pub name: String,
    /// The page, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u64>,
    /// Number of the command.
    pub command: u64,
    /// When it began.
    pub start: Ticks,
    /// When it ended.
    pub end: Ticks,
    /// Bytes moved or touched; 0 for kernels.
    pub bytes: u64,
}

impl Slice {
    /// Name and page.
    #[must_use]
    pub fn title(&self) -> String {
        match self.page {
            Some(page) => format!("{} page {page}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The slices of a run, in the order in which the CPU could know of their ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The time base of the slices.
    pub base: TimeBase,
    /// The slices kept.
    pub slices: Vec<Slice>,
    /// Slices left out by the window or the limit.
    pub dropped: u64,
    #[serde(skip)]
    trace: Trace,
}

impl Timeline {
    /// An empty timeline that keeps what `trace` says.
    #[must_use]
    pub fn new(base: TimeBase, trace: Trace) -> Self {
        Self {
            base,
            slices: Vec::new(),
            dropped: 0,
            trace,
        }
    }

    /// Whether it keeps no more slices.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// How many slices it can still keep.
    pub(crate) fn room(&self) -> usize {
        self.trace.limit.saturating_sub(self.slices.len())
    }

    /// Goes on with the slices of `other`, which has the same window.
    pub(crate) fn append(&mut self, other: &mut Self) {
        let kept = other.slices.len().min(self.room());
        self.dropped += other.dropped + (other.slices.len() - kept) as u64;
        self.slices.extend(other.slices.drain(..kept));
    }

    /// Adds the slice of a time, or counts it as dropped.
    pub fn push(&mut self, start: Ticks, end: Ticks, slice: impl FnOnce() -> Slice) {
        let from = Ticks(
            self.trace
                .window
                .start
                .saturating_mul(self.base.ticks_per_cycle),
        );
        let to = Ticks(
            self.trace
                .window
                .end
                .saturating_mul(self.base.ticks_per_cycle),
        );
        if end <= from || start >= to || self.is_full() {
            self.dropped += 1;
        } else {
            self.slices.push(slice());
        }
    }

    /// First start and last end.
    #[must_use]
    pub fn span(&self) -> Option<(Ticks, Ticks)> {
        let start = self.slices.iter().map(|s| s.start).min()?;
        let end = self.slices.iter().map(|s| s.end).max()?;
        Some((start, end))
    }
}
