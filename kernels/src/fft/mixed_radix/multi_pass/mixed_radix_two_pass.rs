//! Mixed-radix transforms in two passes over system memory.
//!
//! N = N1 N2, number n1 N2 + n2, result k1 + N1 k2 (the four-step algorithm): N2 transforms of length N1
//! along the columns, products with exp(-2 pi i k1 n2/N), N1 transforms of length N2 along the rows. The DMA
//! deals granules to the sections in turn, so that the halves of a quad are adjacent columns, and in the
//! results adjacent rows. An odd number of columns or rows is made even by a pass before or behind.

use super::matrix_lines::{COUPLE, MatrixLines, MatrixPages, PRICED_MATRICES_IN_ALL};
use super::persistent_kernel::PersistentKernel;
use crate::fft::TransformDirection;
use crate::fft::error::{FftError, NoDivision};
use crate::fft::fft_trait::Fft;
use crate::fft::mixed_radix::block_fft::COMPLEX;
use crate::fft::mixed_radix::block_kernels::BlockKernels;
use crate::fft::mixed_radix::page_kernels::repitch;
use crate::fft::mixed_radix::repitch::Repitch;
use crate::job::{Job, ROOM_BESIDE, image};
use cp2_asm::{Program, cis};
use cp2_host::paging::RingPages as _;
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// A planned transform of mixed radix that does not fit local memory.
#[derive(Debug)]
pub struct TwoPassFft {
    direction: TransformDirection,
    machine: Arc<Machine>,
    columns: MatrixLines,
    rows: MatrixLines,
    stages: [PersistentKernel; 2],
    /// Copying passes: one before the first pass that pads rows of an odd length N2, and one behind the
    /// second that removes the padding of the results where N1 is odd.
    ends: [Option<BlockKernels>; 2],
}

impl TwoPassFft {
    /// Plans the transform of length `n`, a product of two numbers that are products of the radices and whose
    /// pages fit local memory.
    ///
    /// # Errors
    /// The length has no such division, or the machine has no room for one.
    pub fn new(
        n: usize,
        direction: TransformDirection,
        machine: &Arc<Machine>,
    ) -> Result<Self, FftError> {
        NoDivision::deal(n, machine)?;
        let sections = machine.cp2.sections;
        let least = COUPLE * sections;
        let most = machine.cp2.dmem.0 as usize / (COUPLE * COMPLEX as usize);
        let lengths = least - 1..=most.min(n);
        let divisions = lengths.filter(|n1| n.is_multiple_of(*n1) && n / n1 <= most);
        // A copying pass moves every number of the priced matrices in and out over the DMA channel.
        let rate = machine.dma.bandwidth;
        let bytes = (n as u64).saturating_mul(2 * COMPLEX * PRICED_MATRICES_IN_ALL);
        let copy = bytes.saturating_mul(rate.den) / rate.num.max(1);
        // A prime number has no division on any machine.
        if divisions.clone().next().is_none() {
            return Err(FftError::Radices { n });
        }
        let priced = divisions.filter_map(|n1| {
            let columns = MatrixLines::best((n1, n / n1), true, machine)?;
            let rows = MatrixLines::best((n / n1, n1), false, machine)?;
            let ends = [n1, n / n1].map(|length| (length % COUPLE) as u64 * copy);
            Some((columns.0 + rows.0 + ends[0] + ends[1], columns.1, rows.1))
        });
        let best = priced.min_by_key(|(cost, ..)| *cost);
        let Some((_, columns, rows)) = best else {
            return Err(FftError::NoRoom {
                transform: format!("fft {n} {direction} in two passes"),
                machine: machine.name.clone(),
            });
        };
        let stages = [
            columns.stage(direction, machine)?,
            rows.stage(direction, machine)?,
        ];
        let [n1, n2] = [columns.length, rows.length];
        let ends = [
            Self::end(n2, [n2, rows.even()], machine)?,
            Self::end(n1, [columns.even(), n1], machine)?,
        ];
        Ok(Self {
            direction,
            machine: machine.clone(),
            columns,
            rows,
            stages,
            ends,
        })
    }

    /// Plans the pass that copies pairs of rows of an odd length from one pitch to another; none for even
    /// lengths.
    fn end(
        length: usize,
        pitch: [usize; 2],
        machine: &Arc<Machine>,
    ) -> Result<Option<BlockKernels>, FftError> {
        if length.is_multiple_of(COUPLE) {
            return Ok(None);
        }
        let rows = Repitch { length, pitch };
        let [from, to] = rows.bytes();
        let made = repitch(rows, machine)?;
        let blocks = BlockKernels::single(rows.to_string(), machine.clone(), (from, to), made)?;
        Ok(Some(blocks))
    }

    /// Returns the pairs of rows that are copied before the first pass and behind the second.
    fn couples(&self, batch: usize) -> [usize; 2] {
        [&self.columns, &self.rows].map(|lines| batch.saturating_mul(lines.length).div_ceil(COUPLE))
    }

    /// Computes the twiddle factors exp(-2 pi i k1 n2/N), row after row, also for a padding column.
    fn turns(&self) -> Vec<Complex32> {
        let n = self.len();
        let columns = self.columns.count;
        let turn = |i: usize| {
            let (k1, n2) = (i / columns, i % columns);
            let (re, im) = cis(-((k1 * n2) as i64), n as i64);
            Complex32::new(re as f32, im as f32)
        };
        (0..self.columns.length * columns).map(turn).collect()
    }

    fn passes(&self, batch: usize, [x, between, y]: [u64; 3], turns: u64) -> [MatrixPages; 2] {
        let pass = |lines: &MatrixLines, from, to| {
            let issues = lines.slots() as u64;
            MatrixPages {
                lines: lines.clone(),
                sections: self.machine.cp2.sections,
                matrices: batch,
                from,
                to,
                turns,
                issues,
            }
        };
        [
            pass(&self.columns, x, between),
            pass(&self.rows, between, y),
        ]
    }
}

impl Fft for TwoPassFft {
    fn len(&self) -> usize {
        self.columns.length * self.rows.length
    }

    fn direction(&self) -> TransformDirection {
        self.direction
    }

    fn recipe(&self) -> String {
        let lines = |lines: &MatrixLines| {
            let radices: Vec<String> = lines.radices.iter().map(usize::to_string).collect();
            let per = COUPLE * lines.couples;
            format!(
                "{} ({}), {per} a section and page",
                lines.length,
                radices.join(" x ")
            )
        };
        format!(
            "fft {} {}: mixed columns of {}, rows of {}",
            self.len(),
            self.direction,
            lines(&self.columns),
            lines(&self.rows)
        )
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Returns none: every pass has a program of its own.
    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(None)
    }

    fn source(&self, _file: &str) -> Option<String> {
        None
    }

    /// Counts input, intermediate array and output, beside factors and programs.
    fn max_batch(&self) -> usize {
        let bytes = self.len() as u64 * COMPLEX;
        let programs: u64 = self.stages.iter().map(PersistentKernel::image).sum();
        let ends = self.ends.iter().flatten();
        let ends = ends
            .filter_map(|end| end.program(1).ok())
            .map(|end| image(&end));
        let beside = 2 * bytes + programs + ends.sum::<u64>() + ROOM_BESIDE;
        let free = self.machine.host.memory.0.saturating_sub(beside);
        // Each copying pass has further arrays, all a little larger than the data; an odd batch may be
        // rounded up by one.
        let arrays = 3 + 3 * self.ends.iter().flatten().count() as u64;
        let batch = usize::try_from(free / (arrays * bytes)).unwrap_or(usize::MAX);
        batch.saturating_sub(self.len() % COUPLE)
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let pages = self.passes(batch, [0; 3], 0);
        let stages = self.stages.iter().zip(pages);
        let stages = stages.map(|(stage, pages)| stage.operations(pages.count()));
        let [before, behind] = [0, 1].map(|i| {
            let end = self.ends[i].as_ref();
            end.map(|end| end.operations(self.couples(batch)[i]))
        });
        before.into_iter().chain(stages).chain(behind).collect()
    }

    /// Returns one row more for an odd batch of odd transforms, since copies take two rows at a time.
    fn arrays(&self, batch: usize) -> Result<[usize; 2], FftError> {
        let odd = batch % COUPLE * (self.len() % COUPLE);
        Ok([batch + odd, self.len()])
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        let [columns, rows] = [&self.columns, &self.rows];
        let couples = self.couples(batch);
        let mut places = [from, to];
        // Padding must be initialised: the copies, and an intermediate array of which the second pass reads
        // rows that no pass writes.
        let matrices = [couples[0] * rows.even(), couples[1] * columns.even()];
        for (place, (end, couples)) in places.iter_mut().zip(self.ends.iter().zip(matrices)) {
            if end.is_some() {
                let zeros = vec![Complex32::default(); COUPLE * couples];
                *place = job.table(&zeros)?.address();
            }
        }
        let numbers = batch * columns.even() * rows.even();
        let between = match columns.length % COUPLE {
            0 => job.temporary::<Complex32>(numbers as u64)?.address(),
            _ => job.table(&vec![Complex32::default(); numbers])?.address(),
        };
        let turns = job.table(&self.turns())?.address();
        let [x, y] = places;
        let passes = self.passes(batch, [x, between, y], turns);
        if let Some(end) = &self.ends[0] {
            end.append(job, couples[0], (from, x))?;
        }
        for (stage, pages) in self.stages.iter().zip(passes) {
            stage.append(job, pages)?;
        }
        if let Some(end) = &self.ends[1] {
            end.append(job, couples[1], (y, to))?;
        }
        Ok(())
    }

    fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        let passes = self.passes(batch, [0; 3], 0);
        let stages = self.stages.iter().zip(passes);
        let mut cycles: f64 = stages.map(|(s, p)| s.estimate(p, &self.machine)).sum();
        for (end, couples) in self.ends.iter().zip(self.couples(batch)) {
            if let Some(end) = end {
                cycles += end.estimate(couples)?.0 as f64;
            }
        }
        Ok(Cycles(cycles.ceil() as u64))
    }
}
