//! The one place where emitted bytes are run.
//!
//! # Contract of the bytes
//!
//! Whoever makes an [`Executable`] promises of every entry that [`Executable::run`]
//! is called with, of every path from there:
//!
//! * It follows the System V convention: it saves the registers it must, balances
//!   the stack, clears the upper vector halves and returns. It contains no call
//!   and no branch out of the bytes or into the middle of an instruction.
//! * It accesses memory through its four pointers only, which it does not change:
//!   the register file, scalars and frame at constant offsets inside them, without
//!   writing the frame's constants; DMEM at addresses that a check before has
//!   compared with the size that the code was compiled for.
//! * The host has its instructions.
//!
//! [`super::lower`] and [`super::function`] emit such bytes: guest registers are
//! numbers below 64, what is beyond them and spill slots are below the limits in
//! [`super::code_frame`], and [`super::address_checks`] gives every access its check. Tests do not
//! believe that: `super::verify` decodes every block that they compile and proves
//! the first two points, and with the third a wrong instruction would be a signal.
//!
//! # What is safe here
//!
//! * The pages are written while they are not executable and never again once
//!   they are (`memmap2` maps them writable, then changes them to read and execute).
//! * The four pointers outlive the call and are borrowed exclusively for it, and the
//!   memory behind them is as large as the contract says: three by their types, DMEM
//!   because `run` compares it.

use super::code_frame::CodeFrame;
use crate::core::Guest;
use crate::core::layout::{DmemLine, LINE_BYTES, RegisterFile};
use memmap2::Mmap;

/// Emitted code in executable pages, and the function inside it.
#[derive(Debug)]
pub(super) struct Executable {
    pages: Mmap,
}

impl Executable {
    /// Copies code to fresh pages; `None` where the system refuses.
    ///
    /// # Safety
    ///
    /// The bytes keep the module's contract.
    #[allow(unsafe_code, reason = "a contract")]
    pub(super) unsafe fn new(code: &[u8]) -> Option<Self> {
        let mut pages = memmap2::MmapMut::map_anon(code.len()).ok()?;
        pages.copy_from_slice(code);
        Some(Self {
            pages: pages.make_exec().ok()?,
        })
    }

    /// Runs the function at `entry` for `passes`; returns how many it completed.
    ///
    /// Nothing is run where `entry` lies outside the code or DMEM is smaller
    /// than `dmem_bytes`.
    ///
    /// # Safety
    ///
    /// A function that keeps the module's contract begins at `entry`, compiled for
    /// a DMEM of `dmem_bytes` a section, of instructions that the host has.
    #[allow(unsafe_code, reason = "a contract")]
    pub(super) unsafe fn run(
        &self,
        entry: usize,
        dmem_bytes: usize,
        guest: &mut Guest<'_>,
        frame: &mut CodeFrame,
        passes: u64,
    ) -> u64 {
        type Function = unsafe extern "sysv64" fn(
            *mut RegisterFile,
            *mut DmemLine,
            *mut u32,
            u64,
            *mut CodeFrame,
        ) -> u64;
        if passes == 0 || entry >= self.pages.len() || guest.dmem.len() * LINE_BYTES < dmem_bytes {
            return 0;
        }
        // SAFETY: `entry` is inside the pages; the caller promises the rest, and the pointers
        // are what the module says.
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
