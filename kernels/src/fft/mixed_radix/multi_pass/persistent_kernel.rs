//! Persistent page kernels: one launch serves all pages of a ring.
//!
//! For every page the kernel waits for its load, works on it, and signals.

use crate::assembly::assembly;
use crate::fft::error::FftError;
use crate::fft::mixed_radix::assembly_text::AssemblyText;
use crate::job::load;
use crate::job::{Job, data_end};
use cp2_asm::{Assembly, Program, Source};
use cp2_host::paging::{QUAD, Ring, RingPages, RingPass, deals_quads};
use cp2_machine::{Class, Machine};
use std::sync::Arc;

/// Address register of a page's input.
pub(super) const INPUT: u8 = 8;
/// Address register of a page's output.
pub(super) const OUTPUT: u8 = 9;
/// Address register of a page's factors.
pub(super) const FACTORS: u8 = 10;

/// An assembled page kernel, and its buffers.
#[derive(Debug)]
pub(super) struct PersistentKernel {
    name: String,
    program: Arc<Program>,
    /// Operations that all sections together issue for a page at least.
    operations: Vec<(Class, u64)>,
    ring: Ring,
}

/// Buffers of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct PersistentKernelBuffers {
    /// Bytes of a page in DMEM.
    pub(super) page: u64,
    /// Bytes of the factors of a page in DMEM.
    pub(super) factors: u64,
    /// Bytes of working space, at the end of DMEM.
    pub(super) scratch: u64,
    /// Page buffers.
    pub(super) count: usize,
    /// True if the output replaces the input.
    pub(super) in_place: bool,
}

impl PersistentKernelBuffers {
    /// Makes the ring of buffers behind the argument block at `arguments`.
    pub(super) fn ring(&self, arguments: u64) -> Ring {
        let behind = usize::from(!self.in_place);
        let first = arguments + Ring::argument_bytes(self.count);
        Ring {
            behind,
            ahead: self.count - behind,
            ..Ring::new(arguments, first, self.count, self.page, self.factors)
        }
    }
}

/// Address register of the working space.
const SCRATCH: u8 = 11;

/// Greatest number of bytes of DMEM that are used: addresses are signed immediates of 18 bits.
pub(super) const MAX_DMEM_BYTES: u64 = (1 << 17) - 16;

/// Returns the numbers of a section's short page, factors included.
pub(super) fn short_page(machine: &Machine) -> u64 {
    // Four pages of an eighth of DMEM, and a table, fit.
    (machine.cp2.dmem.0 / 64).min(1024)
}

/// Page buffers of short pages: one is computed, one stored, two loaded.
pub(super) const SHORT_PAGE_BUFFERS: usize = 4;

impl PersistentKernel {
    /// Assembles the kernel whose pages are processed by the words that `write` writes.
    pub(super) fn new(
        name: String,
        machine: &Machine,
        buffers: PersistentKernelBuffers,
        write: impl FnOnce(&mut AssemblyText),
    ) -> Result<Self, FftError> {
        let mut made = AssemblyText::default();
        let scratch = machine
            .cp2
            .dmem
            .0
            .min(MAX_DMEM_BYTES)
            .saturating_sub(buffers.scratch);
        write(&mut made);
        let text = format!(
            "; {name}: generated, see docs/fft-mixed.md.\n\
             .include \"page.s\"\n\
             .dmem 0\n\
             {}.program\n\
             .entry start\n\
             start:\n    \
             ring_begin\n\
             page:\n    \
             ring_page a{INPUT}, a{FACTORS}\n    \
             movi a{SCRATCH}, {scratch}\n\
             {}    \
             ring_end page\n    \
             stop\n",
            made.data, made.words,
        );
        let options = cp2_asm::Options {
            machine: Some(machine),
            ..cp2_asm::Options::default()
        };
        let source = Source::new(format!("{name}.s"), text);
        let Assembly {
            program, blocks, ..
        } = assembly(&name, (&source, ""), &options)?;
        let (_, operations) = made.price_blocks(&blocks);
        let program = Arc::new(program);
        let arguments = data_end(&program).next_multiple_of(QUAD);
        let count = buffers.count as u64;
        let end = arguments
            + Ring::argument_bytes(buffers.count)
            + count * (buffers.page + buffers.factors);
        if end > scratch || !deals_quads(machine) {
            return Err(FftError::NoRoom {
                transform: name,
                machine: machine.name.clone(),
            });
        }
        Ok(Self {
            name,
            program,
            operations: operations.times(machine.cp2.sections as u64),
            ring: buffers.ring(arguments),
        })
    }

    /// Returns the operations that `pages` pages issue at least, all sections together.
    pub(super) fn operations(&self, pages: u64) -> Vec<(Class, u64)> {
        let all = self.operations.iter();
        all.map(|&(class, count)| (class, count.saturating_mul(pages)))
            .collect()
    }

    fn pass(&self, pages: impl RingPages + 'static) -> RingPass {
        RingPass::new(self.ring.clone(), pages).price_by_kernel(&self.program, "start")
    }

    /// Adds a pass to a job.
    pub(super) fn append(
        &self,
        job: &mut Job,
        pages: impl RingPages + 'static,
    ) -> Result<(), FftError> {
        let program = job.program(&self.name, &self.program)?;
        let pass = self.pass(pages);
        Ok(job.ring(&program, "start", pass)?)
    }

    /// Returns the bytes of the program and its tables.
    pub(super) fn image(&self) -> u64 {
        8 * self.program.words.len() as u64 + data_end(&self.program)
    }

    /// Estimates the cycles of a pass, the load of its program included.
    pub(super) fn estimate(&self, pages: impl RingPages + 'static, machine: &Machine) -> f64 {
        let pass = self.pass(pages);
        load(self.image(), machine) + pass.expect(machine).cycles
    }
}
