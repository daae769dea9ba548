//! A DMA descriptor: a strided transfer as plain data.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;

/// Direction in which the words move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// System memory to local memory.
    Load,
    /// Local memory to system memory.
    Store,
}

/// The local side of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Program memory (loads only).
    Program,
    /// One section's DMEM.
    Section(u32),
    /// Every section has a block of its own; block `s` starts at
    /// `system + s * stride` in system memory and at the same local address.
    Blocks {
        /// Bytes between the blocks of neighbouring sections in system memory.
        stride: i64,
    },
    /// Every section gets the same block (loads only).
    Broadcast,
    /// Consecutive parts of a run go to sections 0, 1, 2, ... in turn, each of as many bytes as the machine
    /// deals at a time.
    Deal,
}

/// One level of a strided transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Level {
    /// Repetitions, at least 1.
    pub count: u32,
    /// Bytes from one repetition to the next in system memory.
    pub system_stride: i64,
    /// Bytes from one repetition to the next in local memory.
    pub local_stride: i64,
}

/// Levels of a descriptor; up to three are stored inline, without an allocation.
pub type Levels = SmallVec<[Level; 3]>;

/// A DMA descriptor: runs of `run` bytes, repeated by up to three nested levels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Descriptor {
    /// Load or store.
    pub direction: Direction,
    /// Local side.
    pub target: Target,
    /// Byte address in system memory.
    pub system: u64,
    /// Byte address in DMEM or program memory.
    pub local: u32,
    /// Bytes of one contiguous run (for [`Target::Deal`] counted in system memory).
    pub run: u64,
    /// Nested repetitions, innermost first; empty for a single run.
    pub levels: Levels,
    /// CP2 event to post when the transfer completes.
    pub event: Option<u32>,
}

impl Descriptor {
    /// A load of one run; add levels and an event with [`Self::level`] and [`Self::event`].
    #[must_use]
    pub fn load(target: Target, system: u64, local: u32, run: u64) -> Self {
        let (direction, levels, event) = (Direction::Load, Levels::new(), None);
        Self {
            direction,
            target,
            system,
            local,
            run,
            levels,
            event,
        }
    }

    /// A store of one run.
    #[must_use]
    pub fn store(target: Target, system: u64, local: u32, run: u64) -> Self {
        Self {
            direction: Direction::Store,
            ..Self::load(target, system, local, run)
        }
    }

    /// Repeats everything so far: the new level is the outermost.
    #[must_use]
    pub fn level(mut self, count: u32, system_stride: i64, local_stride: i64) -> Self {
        self.levels.push(Level {
            count,
            system_stride,
            local_stride,
        });
        self
    }

    /// Splits the transfer into transfers of at most `levels` levels that together move the same bytes, for a
    /// machine with fewer levels: each turn of the outermost, surplus levels is a transfer of its own. The
    /// last one posts the event.
    pub fn within(&self, levels: usize) -> impl Iterator<Item = Self> + '_ {
        let outer = self.levels.get(levels..).unwrap_or_default();
        let count = |level: &Level| u64::from(level.count);
        let turns = outer.iter().map(count).fold(1, u64::saturating_mul);
        (0..turns).map(move |turn| {
            let (mut one, mut rest) = (self.clone(), turn);
            one.levels.truncate(levels);
            for level in outer {
                // No count is 0, as there would be no turn; a remainder of a u32 count fits.
                let at = (rest % count(level)) as i64;
                rest /= count(level);
                let [system, local] =
                    [level.system_stride, level.local_stride].map(|stride| stride.wrapping_mul(at));
                // Every turn of a legal transfer lies inside both memories, so nothing wraps.
                one.system = one.system.wrapping_add_signed(system);
                one.local = one.local.wrapping_add(local as u32);
            }
            one.event = self.event.filter(|_| turn + 1 == turns);
            one
        })
    }

    /// Posts a CP2 event at completion.
    #[must_use]
    pub fn event(mut self, event: u32) -> Self {
        self.event = Some(event);
        self
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Load => "load",
            Self::Store => "store",
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("program"),
            Self::Section(s) => write!(f, "section {s}"),
            Self::Blocks { stride } => write!(f, "blocks({stride:+})"),
            Self::Broadcast => f.write_str("broadcast"),
            Self::Deal => f.write_str("deal"),
        }
    }
}

/// For traces: `load 0x1000 -> blocks(+4096) 0x40: 64 B x 8 (+256, +64), event 3`,
/// each level with its count and its strides in system and local memory.
impl fmt::Display for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.direction {
            Direction::Load => "->",
            Direction::Store => "<-",
        };
        let Self {
            direction,
            system,
            target,
            local,
            run,
            ..
        } = self;
        write!(
            f,
            "{direction} {system:#x} {arrow} {target} {local:#x}: {run} B"
        )?;
        for level in &self.levels {
            write!(
                f,
                " x {} ({:+}, {:+})",
                level.count, level.system_stride, level.local_stride
            )?;
        }
        if let Some(event) = self.event {
            write!(f, ", event {event}")?;
        }
        Ok(())
    }
}
