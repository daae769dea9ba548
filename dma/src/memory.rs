//! The memories a transfer copies between, as run-copy interfaces.
//!
//! State layout stays private to whoever owns the memory: an engine may
//! interleave the sections' DMEM as it likes.

/// A copy that left a memory. Validation refuses such descriptors first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("transfer left the memory: {0}")]
pub struct CopyError(pub String);

/// DMEM of all sections and program memory.
pub trait LocalMemory {
    /// Copies a run of one section's DMEM out.
    ///
    /// # Errors
    /// The run leaves the memory.
    fn read(&self, section: usize, address: u32, out: &mut [u8]) -> Result<(), CopyError>;

    /// Copies a run into one section's DMEM.
    ///
    /// # Errors
    /// The run leaves the memory.
    fn write(&mut self, section: usize, address: u32, bytes: &[u8]) -> Result<(), CopyError>;

    /// Copies a run into program memory.
    ///
    /// # Errors
    /// The run leaves the memory.
    fn write_program(&mut self, address: u32, bytes: &[u8]) -> Result<(), CopyError>;
}

/// System memory.
pub trait SystemMemory {
    /// Copies a run out.
    ///
    /// # Errors
    /// The run leaves the memory.
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), CopyError>;

    /// Copies a run in.
    ///
    /// # Errors
    /// The run leaves the memory.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CopyError>;
}
