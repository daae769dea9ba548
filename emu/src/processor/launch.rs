//! Launch of a kernel, with or without memory protection.

use super::{LaunchError, Processor};
use crate::check::protection::Protection;
use crate::engines::reference::Status;
use cp2_dma::Transfer;
use cp2_machine::Cycles;
use std::sync::Arc;

impl<T: Transfer> Processor<T> {
    /// Launches a kernel now. Its first word may issue after the launch latency, in the cycle
    /// returned.
    ///
    /// # Errors
    /// A kernel is running, or the entry point lies outside program memory.
    pub fn launch(&mut self, entry: u32, args: u32) -> Result<Cycles, LaunchError> {
        self.launch_protected(entry, args, None, 0)
    }

    /// Launches a kernel with the DMEM that it owns, if that is known, and with a number that its
    /// findings carry. Both are for the checkers only.
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
        // The present cycle is over for CP2: its issue came before the caller's turn.
        let at = (base.ceil_cycles(self.now) + self.machine.host.launch)
            .max(base.floor_cycles(self.now) + Cycles(1));
        self.cp2.launch(entry, args, at.0);
        if let Some(checker) = &mut self.checker {
            checker.launch(protection, number);
        }
        Ok(at)
    }
}
