//! The timeline of a run: what CP2, the DMA and the control CPU did when.

mod job;
mod perfetto;
mod svg;

pub use job::{JobTimeline, LinkSlice, LinkTimeline, MessageArrow};

use crate::device::Trace;
use cp2_machine::{Ticks, TimeBase};
use serde::{Deserialize, Serialize};

/// Component that an activity belongs to.
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

    /// Returns the name of the track.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cp2 => "CP2",
            Self::Dma => "DMA",
            Self::Host => "host",
        }
    }
}

/// Kind of activity of a slice.
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
    /// The CPU sent a message or posted a receive.
    Message,
    /// The CPU waited for messages.
    Wait,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 8] = [
        Self::Kernel,
        Self::Page,
        Self::Load,
        Self::Store,
        Self::Descriptor,
        Self::Work,
        Self::Message,
        Self::Wait,
    ];

    /// Returns the name of the category.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Page => "page",
            Self::Load => "load",
            Self::Store => "store",
            Self::Descriptor => "descriptor",
            Self::Work => "work",
            Self::Message => "message",
            Self::Wait => "wait-message",
        }
    }
}

/// One activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Component that was active.
    pub track: Track,
    /// Kind of activity.
    pub category: Category,
    /// The command's name: kernel, stream or purpose.
    pub name: String,
    /// The page, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u64>,
    /// Number of the command.
    pub command: u64,
    /// Time when the activity began.
    pub start: Ticks,
    /// Time when the activity ended.
    pub end: Ticks,
    /// Bytes moved or touched; 0 for kernels.
    pub bytes: u64,
}

impl Slice {
    /// Returns name and page as one text.
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
    /// Creates an empty timeline that keeps the slices that `trace` admits.
    #[must_use]
    pub fn new(base: TimeBase, trace: Trace) -> Self {
        Self {
            base,
            slices: Vec::new(),
            dropped: 0,
            trace,
        }
    }

    /// Returns true if the timeline keeps no more slices.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Returns the number of slices that the timeline can still keep.
    pub(crate) fn room(&self) -> usize {
        self.trace.limit.saturating_sub(self.slices.len())
    }

    /// Appends the slices of `other`, which has the same window.
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

    /// Returns the first start and the last end.
    #[must_use]
    pub fn span(&self) -> Option<(Ticks, Ticks)> {
        let start = self.slices.iter().map(|s| s.start).min()?;
        let end = self.slices.iter().map(|s| s.end).max()?;
        Some((start, end))
    }
}
