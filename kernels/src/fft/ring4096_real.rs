//! The FFT of 8192 real numbers as 4096 complex ones in place in a ring.
//!
//! The last pass of the forward transform splits the complex spectrum; the first pass of the inverse merges
//! it (`fft4096.s` with REAL, `mixed_radix/ring4096_split.rs`, `mixed_radix/ring4096_merge.rs`).

use super::error::FftError;
use super::mixed_radix::{ORDER, SplitMergeInclude, generate_merge, separation};
use super::power_of_two::COMPLEX;
use super::program::{is_generated, real_ring_program, source};
use super::ring4096_inverse_real;
use super::ring4096_pages::{self, BLOCK, BLOCKS, BYTES, PASS, RING};
use crate::assembly::moves;
use crate::fft::TransformDirection;
use crate::job::{self, Job, data_end, image, load};
use cp2_asm::{Assembly, Program};
use cp2_dma::Descriptor;
use cp2_host::paging::{Ring, RingPages, RingPass, SectionBlocks, aligned};

use cp2_machine::{Class, Cycles, Machine};
use std::sync::Arc;

/// Real numbers of a transform.
const N: usize = 8192;
/// Blocks 0 .. 3 of a transform, whose places blocks 4 .. 7 of the next one take; its blocks 0 .. 3 have the
/// ring's four other places.
const HALF: u64 = BLOCKS / 2;
/// Numbers from a half spectrum to the next: N/2 + 1, rounded up to whole granules.
pub(super) const PITCH: usize = N / 2 + 2;
/// Issues that halve the numbers of a transform in the first pass.
const HALVES: u64 = 256;

/// A planned transform of 8192 real numbers, forward or inverse.
#[derive(Debug)]
pub(super) struct Ring4096RealFft {
    machine: Arc<Machine>,
    program: Arc<Program>,
    direction: TransformDirection,
    /// Generated pass that splits (forward) or merges (inverse).
    made: SplitMergeInclude,
}

impl Ring4096RealFft {
    /// True for the only length, 8192 real numbers.
    pub(super) fn supports_length(n: usize) -> bool {
        n == N
    }

    /// # Errors
    /// The machine has no room for it.
    pub(super) fn new(
        machine: Arc<Machine>,
        direction: TransformDirection,
    ) -> Result<Self, FftError> {
        let mut made = match direction {
            TransformDirection::Forward => separation(&machine)?,
            TransformDirection::Inverse => generate_merge(&machine)?,
        };
        let Assembly {
            program, blocks, ..
        } = real_ring_program(&made.text, direction, &machine)?;
        made.add_blocks(&blocks);
        let fft = Self {
            machine,
            program: Arc::new(program),
            direction,
            made,
        };
        moves(&fft.recipe(), &fft.ring(1, 0, 0), &fft.machine)?;
        Ok(fft)
    }

    pub(super) fn len(&self) -> usize {
        N
    }

    pub(super) fn recipe(&self) -> String {
        match self.direction {
            TransformDirection::Forward => format!("real fft {N} forward: ring 8 x 8 x 8 x 8split"),
            TransformDirection::Inverse => format!("real fft {N} inverse: ring 8join x 8 x 8 x 8"),
        }
    }

    pub(super) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    pub(super) fn program(&self) -> &Arc<Program> {
        &self.program
    }

    pub(super) fn source(&self, file: &str) -> Option<String> {
        match is_generated(file) {
            true => Some(self.made.text.clone()),
            false => source(file).map(str::to_owned),
        }
    }

    pub(super) fn max_batch(&self) -> usize {
        let each = 4 * N as u64 + PITCH as u64 * COMPLEX;
        let free = job::room(&self.machine, &self.program);
        usize::try_from(free / each).unwrap_or(usize::MAX)
    }

    pub(super) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let batch = batch as u64;
        let mut all = vec![(Class::Butterfly, 3 * PASS * batch)];
        if self.direction == TransformDirection::Forward {
            all.push((Class::Add, HALVES * batch));
        }
        all.extend(self.made.operations.times(batch));
        vec![all]
    }

    fn ring(&self, batch: usize, x: u64, y: u64) -> RingPass {
        let at = |name| {
            self.program
                .symbol(name)
                .and_then(|at| u32::try_from(at).ok())
        };
        let batch = SectionBlocks {
            count: batch as u64,
            sections: self.machine.cp2.sections as u64,
        };
        let (ends, made) = (at("ends").unwrap_or(0), self.made.cycles);
        let arguments = data_end(&self.program).next_multiple_of(aligned(&self.machine));
        let ring = Ring::new_in_place(arguments, 0, RING, BLOCK);
        let pass = match self.direction {
            TransformDirection::Forward => {
                let (end, last) = (ends, made);
                RingPass::new(
                    ring,
                    Ring4096ForwardRealPages {
                        batch,
                        x,
                        y,
                        end,
                        last,
                    },
                )
            }
            TransformDirection::Inverse => {
                let first = made;
                RingPass::new(
                    ring,
                    ring4096_inverse_real::Ring4096InverseRealPages {
                        batch,
                        x,
                        y,
                        ends,
                        first,
                    },
                )
            }
        };
        pass.price_by_kernel(&self.program, "start")
    }

    /// Returns the complex numbers from a half spectrum to the next.
    pub(super) fn pitch(&self) -> usize {
        PITCH
    }

    /// Adds the pass over a batch, from one address in system memory to another, to a job.
    pub(super) fn append(
        &self,
        job: &mut Job,
        batch: usize,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let program = job.program(&self.recipe(), &self.program)?;
        Ok(job.ring(&program, "start", self.ring(batch, from, to))?)
    }

    pub(super) fn estimate(&self, batch: usize) -> Cycles {
        let pass = self.ring(batch, 0, 0).expect(&self.machine).cycles;
        Cycles((pass + load(image(&self.program), &self.machine)).ceil() as u64)
    }
}

/// Blocks of transforms from address `x` to half spectra at address `y`: loaded from the first to the last,
/// and complete in another order ([`ORDER`]).
#[derive(Debug)]
struct Ring4096ForwardRealPages {
    batch: SectionBlocks,
    x: u64,
    y: u64,
    /// DMEM address of number N/2 of a half spectrum, which no block holds.
    end: u32,
    /// Cycles of the last pass.
    last: u64,
}

impl RingPages for Ring4096ForwardRealPages {
    fn count(&self) -> u64 {
        self.batch.groups() * BLOCKS
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        ring4096_pages::load(self.batch, page, (self.x, BYTES as u64), local)
    }

    /// Stores blocks 0 .. 3 as soon as each is complete, since the next transform's last blocks need their
    /// places first, and 4 .. 7 at the end.
    fn stores(&self, page: u64, _local: u32) -> Vec<Descriptor> {
        let apart = PITCH as u64 * COMPLEX;
        let (first, block) = (page - page % BLOCKS, ORDER[(page % BLOCKS) as usize] as u64);
        let blocks = match block {
            0..HALF => block..block + 1,
            _ if page % BLOCKS == BLOCKS - 1 => HALF..BLOCKS,
            _ => 0..0,
        };
        let mut stores = Vec::new();
        for block in blocks.map(|block| first + block) {
            let local = u32::try_from(block % RING as u64 * BLOCK).unwrap_or(u32::MAX);
            stores.extend(ring4096_pages::store(
                self.batch,
                block,
                (self.y, apart),
                local,
            ));
        }
        if page.is_multiple_of(BLOCKS) {
            let at = self.y + BYTES as u64;
            stores.extend(
                self.batch
                    .list_transfers(page / BLOCKS, apart, |target, from| {
                        Descriptor::store(target, at + from, self.end, 16)
                    }),
            );
        }
        stores
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    /// Counts passes 2 and 3 before the first block, an eighth of pass 1 and of the last pass with each.
    fn arithmetic_cycles(&self, page: u64) -> u64 {
        let middle = if page.is_multiple_of(BLOCKS) {
            2 * PASS
        } else {
            0
        };
        (PASS + HALVES) / BLOCKS + middle + self.last / BLOCKS
    }

    /// Returns the blocks to load into the places that a stored block frees. Blocks 4 .. 7 of the next
    /// transform lie where 0 .. 3 of this one do, and blocks 0 .. 3 of the transform after it, which are
    /// loaded behind them, where 4 .. 7 of this one do.
    fn next(&self, page: Option<u64>, ahead: u64) -> Vec<u64> {
        let Some(page) = page else {
            return (0..ahead).collect();
        };
        let first = page - page % BLOCKS + ahead;
        let mut next = Vec::new();
        match ORDER[(page % BLOCKS) as usize] as u64 {
            block @ 0..HALF => next.push(first + block),
            _ if page % BLOCKS == BLOCKS - 1 => next.extend(first + HALF..first + BLOCKS),
            _ => {}
        }
        next
    }
}
