//! The one place where emitted bytes are run.
//!
//! # Safety argument
//!
//! * The pages are written while they are not executable and never again once
//!   they are (`memmap2` maps them writable, then changes them to read and execute).
//! * The bytes come from [`super::lower`] alone. The code follows the System V
//!   convention: it saves the registers it must, balances the stack, clears the
//!   upper vector halves and returns. It contains no call and no branch out of itself.
//! * It accesses memory through its four pointers only, all of which outlive the
//!   call and are borrowed exclusively for it:
//!   the register file, scalars and frame at constant offsets below their sizes
//!   (the guest's register numbers are below 64, numbers from there on and slots below
//!   the limits in `frame`);
//!   DMEM at addresses that a check in the code has compared with the size that
//!   the code was compiled for, which `run` compares with the memory it is given.
//! * The host has the instructions: `compile` asked for them.

use super::frame::Frame;
use crate::core::Guest;
use crate::layout::{File, LINE_BYTES, Line};
use memmap2::Mmap;

/// Emitted code in executable pages, and the function inside it.
#[derive(Debug)]
pub(super) struct Executable {
    pages: Mmap,
}

impl Executable {
    /// Copies code to fresh pages; `None` where the system refuses.
    pub(super) fn new(code: &[u8]) -> Option<Self> {
        let mut pages = memmap2::MmapMut::map_anon(code.len()).ok()?;
        pages.copy_from_slice(code);
        Some(Self {
            pages: pages.make_exec().ok()?,
        })
    }

    /// Runs the function at `entry` for `passes`; returns how many it completed.
    ///
    /// Nothing is run where `entry` lies outside the code or DMEM is smaller
    /// than `dmem_bytes`, the size it was compiled for.
    #[allow(unsafe_code, reason = "see the module's safety argument")]
    pub(super) fn run(
        &self,
        entry: usize,
        dmem_bytes: usize,
        guest: &mut Guest<'_>,
        frame: &mut Frame,
        passes: u64,
    ) -> u64 {
        type Function =
            unsafe extern "sysv64" fn(*mut File, *mut Line, *mut u32, u64, *mut Frame) -> u64;
        if passes == 0 || entry >= self.pages.len() || guest.dmem.len() * LINE_BYTES < dmem_bytes {
            return 0;
        }
        // SAFETY: `entry` is inside the pages; the rest is the module's argument.
        unsafe {
            let function: Function = std::mem::transmute(self.pages.as_ptr().add(entry));
            function(
                &mut guest.registers.file,
                guest.dmem.as_mut_ptr(),
                guest.registers.scalars.0.as_mut_ptr(),
                passes,
                frame,
            )
        }
    }
}
