//! Launching a kernel.

use super::{LaunchError, Processor};
use crate::check::protection::Protection;
use crate::engines::reference::Status;
use cp2_dma::Transfer;
use cp2_machine::Cycles;
use std::sync::Arc;

impl<T: Transfer> Processor<T> {
    /// Launches a kernel now: its first word may issue after the launch latency, in the cycle that this gives.
    ///
    /// # Errors
    /// A kernel is running, or the entry point lies outside program memory.
    pub fn launch(&mut self, entry: u32, args: u32) -> Result<Cycles, LaunchError> {
        self.launch_protected(entry, args, None, 0)
    }

    /// The same of a kernel of which it is known what of DMEM is its own, with a number that comes back with its findings: both are for the
    /// checkers alone.
    ///
    /// # Errors
    /// A kernel is running, or the entry point lies outside program memory.
    pub fn launch_protected(
        &mut self,
        entry: u32,
        args: u32,
        protection: Option<Arc<Protection>>,
        number: u32,
    ) -> Result<Cycles, LaunchError> {
        let words = self.cp2.core.program.len();
        if !matches!(self.cp2.status, Status::Idle | Status::Faulted) || self.stopping.is_some() {
            return Err(LaunchError::Busy);
        }
        if entry as usize >= words {
            return Err(LaunchError::Entry { entry, words });
        }
        let base = self.time_base();
        // The present cycle is CP2's no more: its issue came before the caller's turn.
        let at = (base.ceil_cycles(self.now) + self.machine.host.launch)
            .max(base.floor_cycles(self.now) + Cycles(1));
        self.cp2.launch(entry, args, at.0);
        if let Some(checker) = &mut self.checker {
            checker.launch(protection, number);
        }
        Ok(at)
    }
}
