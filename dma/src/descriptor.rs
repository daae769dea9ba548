//! A transfer as plain data.

use serde::{Deserialize, Serialize};

/// Which way the words move.
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
    /// Consecutive granules of system memory go to sections 0, 1, 2, ... in turn.
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
    pub levels: Vec<Level>,
    /// CP2 event to post when the transfer completes.
    pub event: Option<u32>,
}
