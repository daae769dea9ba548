//! Split or merge of half spectra as a pass over system memory.
//!
//! The pass is between the transform of M complex numbers and that of N = 2M real ones. The formulas are
//! those of `mixed_radix::real_split`.
//!
//! A slice of a section has the numbers k = k0 .. k0 + S and their partners M - k. It replaces numbers
//! `k0 .. k0 + S - 1` and `M - k0 - S .. M - k0 - 1`. The slices cover k = 0 .. M/2; where they go beyond,
//! numbers are computed twice.
//!
//! The DMA limits the pass, so that there are issues left for a product: the factor of k0 + s is that of k0,
//! which comes with the page, times that of s, which stays in DMEM.

use super::persistent_kernel::{
    FACTORS, INPUT, OUTPUT, PersistentKernel, PersistentKernelBuffers, SHORT_PAGE_BUFFERS,
    short_page,
};
use super::slices::{SliceDivision, StridedRows};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::mixed_radix::assembly_text::AssemblyText;
use crate::fft::mixed_radix::block_fft::COMPLEX;
use crate::fft::mixed_radix::column_loop::{ColumnLoop, PointerBase, PointerWalk};
use crate::fft::mixed_radix::radix_constants::RadixConstant;
use crate::job::Job;
use crate::pipeline::BodyOperand;
use cp2_asm::cis;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{QUAD, RingPages};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;

/// Complex numbers of a quad, by which a slice is longer in the input.
const COUPLE: u64 = QUAD / COMPLEX;
/// Pair register of the factor of a page's first number.
const OWN_FACTOR: u8 = 63;
/// Least complex length M.
pub(super) const MIN_COMPLEX_LENGTH: usize = 64;

/// The split or merge pass over a batch.
#[derive(Debug)]
pub(super) struct RealSplitMergePass {
    direction: TransformDirection,
    m: u64,
    cut: SliceDivision,
    stage: PersistentKernel,
}

impl RealSplitMergePass {
    /// Plans the split (forward) or the merge (inverse) of `rows` transforms of `m` complex numbers, `m` even
    /// and at least [`MIN_COMPLEX_LENGTH`].
    pub(super) fn new(
        direction: TransformDirection,
        (rows, m): (usize, usize),
        machine: &Machine,
    ) -> Result<Self, FftError> {
        let cut = SliceDivision {
            rows: rows as u64,
            ..SliceDivision::new(machine.cp2.sections, 1, m as u64 / 2, short_page(machine))
        };
        let buffers = PersistentKernelBuffers {
            page: 2 * (cut.slice + COUPLE) * COMPLEX,
            factors: COUPLE * COMPLEX,
            scratch: 0,
            count: SHORT_PAGE_BUFFERS,
            in_place: true,
        };
        let name = match direction {
            TransformDirection::Forward => format!("split by {}", cut.slice),
            TransformDirection::Inverse => format!("join by {}", cut.slice),
        };
        let stage = PersistentKernel::new(name, machine, buffers, |text| {
            write(direction, (cut.slice, m as u64), text);
        })?;
        Ok(Self {
            direction,
            m: m as u64,
            cut,
            stage,
        })
    }

    /// Computes the factor w of the first number of every slice, in a granule for each.
    fn factors(&self) -> Vec<Complex32> {
        let slices = 0..self.cut.reach() / self.cut.slice;
        let factor = |slice: u64| {
            let (re, im) = cis(-((slice * self.cut.slice) as i64), 2 * self.m as i64);
            [Complex32::new(re as f32, im as f32), Complex32::default()]
        };
        slices.flat_map(factor).collect()
    }

    fn pages(&self, [from, to]: [StridedRows; 2], factors: u64) -> RealSplitMergePages {
        let issues = 4 * (self.cut.slice + 1);
        RealSplitMergePages {
            direction: self.direction,
            m: self.m,
            cut: self.cut,
            from,
            to,
            factors,
            issues,
        }
    }

    /// Adds the pass from rows to rows to a job. The input of a split must have one more granule behind its
    /// last row, which is loaded.
    pub(super) fn append(&self, job: &mut Job, places: [StridedRows; 2]) -> Result<(), FftError> {
        let factors = job.table(&self.factors())?.address();
        self.stage.append(job, self.pages(places, factors))
    }

    /// Returns the operations that the pass issues at least.
    pub(super) fn operations(&self) -> Vec<(Class, u64)> {
        self.stage.operations(self.cut.count())
    }

    /// Estimates the cycles of the pass.
    pub(super) fn estimate(&self, machine: &Machine) -> f64 {
        let place = StridedRows {
            address: 1 << 40,
            pitch: (self.m + COUPLE) * COMPLEX,
        };
        self.stage.estimate(self.pages([place; 2], 0), machine)
    }
}

/// Writes the words of a page, which ascend from k0 and descend from M - k0.
fn write(direction: TransformDirection, (slice, m): (u64, u64), text: &mut AssemblyText) {
    let wanted = [1.0, 0.5].map(RadixConstant::Complex);
    // The factor w of k0 stays in a register.
    let own = BodyOperand::Pair(OWN_FACTOR);
    text.word(&format!("ldp r{OWN_FACTOR}, [a{FACTORS}]"));
    // Table entry of s: i w/2 for the split, w for the merge.
    let turn = |s: u64| match direction {
        TransformDirection::Forward => {
            let (re, im) = cis(-(s as i64), 2 * m as i64);
            vec![format!(".complex {:?}, {:?}", -im / 2.0, re / 2.0)]
        }
        TransformDirection::Inverse => vec![format!(".cis -{s}, {}", 2 * m)],
    };
    let (turns, _) = text.pairs("turns", (0..=slice).map(turn).collect());
    let mut looped = ColumnLoop::default();
    let constants = looped.constants(wanted.to_vec());
    let [one, half] = wanted.map(|c| constants.operand(c));
    let step = COMPLEX as i64;
    let last = (2 * slice + COUPLE) as i64 * step;
    let mut stream = |register, at, step| {
        looped.stream(
            PointerBase::Register(register, at),
            PointerWalk::Bytes(step),
        )
    };
    let (up, down) = (stream(INPUT, 0, step), stream(INPUT, last, -step));
    let (to_up, to_down) = (stream(OUTPUT, 0, step), stream(OUTPUT, last, -step));
    let factors = looped.stream(PointerBase::Table(turns), PointerWalk::Bytes(step));
    let body = &mut looped.body;
    let mut load = |pointer| {
        let x = body.pair();
        body.load(BodyOperand::Whole(x), pointer, 0);
        BodyOperand::Whole(x)
    };
    let (p, q, turn) = (load(up), load(down), load(factors));
    let [w, a, b, c, d] = [(); 5].map(|()| BodyOperand::Whole(body.pair()));
    match direction {
        TransformDirection::Forward => {
            // P = Z[k] and Q = Z[M-k] are not halved here. With beta = (1 + i w)/2:
            // X[k] = P - beta (P - conj Q), X[M-k] = Q + conj(beta (P - conj Q)).
            body.op("cmadd", &[w], &[turn, own, half]);
            body.op("cmsubc", &[a], &[one, q, p]);
            body.op("cmsub", &[b], &[w, a, p]);
            body.op("bflyyc", &[c, d], &[q, a, w]);
            body.store(b, to_up, 0);
            body.store(c, to_down, 0);
        }
        TransformDirection::Inverse => {
            body.op("cmul", &[w], &[turn, own]);
            body.op("bflyy", &[a, b], &[p, q, one]);
            body.op("bflyci", &[c, d], &[a, b, w]);
            let mirrored = BodyOperand::Whole(body.pair());
            body.op("conj", &[mirrored], &[d]);
            body.store(c, to_up, 0);
            body.store(mirrored, to_down, 0);
        }
    }
    looped.write(text, slice as usize + 1, "")
}

#[derive(Clone, Copy, Debug)]
struct RealSplitMergePages {
    direction: TransformDirection,
    m: u64,
    cut: SliceDivision,
    from: StridedRows,
    to: StridedRows,
    factors: u64,
    issues: u64,
}

impl RealSplitMergePages {
    /// Returns the bytes of a slice.
    fn slice(&self) -> u64 {
        self.cut.slice * COMPLEX
    }

    /// Returns the DMEM address of the partners in a page that begins at `local`.
    fn partners(&self, local: u32) -> u32 {
        local + (self.slice() + COUPLE * COMPLEX) as u32
    }

    /// Makes the transfers of the ascending and the descending slices of a page, `run` bytes each.
    fn make_slice_transfers(
        &self,
        page: u64,
        (place, local): (StridedRows, u32),
        run: u64,
        transfer: fn(Target, u64, u32, u64) -> Descriptor,
    ) -> [Descriptor; 2] {
        let (row, slice) = self.cut.split(page);
        let (row, bytes) = (place.address + row * place.pitch, self.slice());
        let stride = bytes as i64;
        let (up, down) = (
            row + slice * bytes,
            row + self.m * COMPLEX - (slice + 1) * bytes,
        );
        [
            transfer(Target::Blocks { stride }, up, local, run),
            transfer(
                Target::Blocks { stride: -stride },
                down,
                self.partners(local),
                run,
            ),
        ]
    }

    /// Returns the row of number M of the spectrum and its DMEM address in a page that begins at `local`,
    /// where a page has it.
    fn middle(&self, page: u64, local: u32) -> Option<(u64, u32)> {
        let (row, slice) = self.cut.split(page);
        let has = self.direction == TransformDirection::Forward && slice == 0;
        has.then(|| (row, self.partners(local) + self.slice() as u32))
    }
}

impl RingPages for RealSplitMergePages {
    fn count(&self) -> u64 {
        self.cut.count()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (_, slice) = self.cut.split(page);
        let (bytes, granule) = (self.slice(), COUPLE * COMPLEX);
        let run = bytes + granule;
        let target = Target::Blocks {
            stride: granule as i64,
        };
        let w = Descriptor::load(target, self.factors + slice * granule, factors, granule);
        let mut loads = vec![w];
        loads.extend(self.make_slice_transfers(page, (self.from, local), run, Descriptor::load));
        // Number 0 is its own partner.
        loads.extend(self.middle(page, local).map(|(row, at)| {
            let system = self.from.address + row * self.from.pitch;
            Descriptor::load(Target::Section(0), system, at, granule)
        }));
        loads
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let both =
            self.make_slice_transfers(page, (self.to, local), self.slice(), Descriptor::store);
        let middle = self.middle(page, local).map(|(row, at)| {
            let system = self.to.address + row * self.to.pitch + self.m * COMPLEX;
            Descriptor::store(Target::Section(0), system, at, COUPLE * COMPLEX)
        });
        both.into_iter().chain(middle).collect()
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.issues
    }
}
