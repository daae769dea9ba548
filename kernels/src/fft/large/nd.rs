//! Transforms of two and more dimensions: a pass over memory for every axis.

use super::lines::{COMPLEX, ColumnPages, Lines};
use super::parts::{self, ColumnParts};
use super::plan::image;
use super::recipe::RUN;
use crate::fft::error::FftError;
use crate::fft::plan::LocalFft;
use crate::fft::program::{large_program, parts_program, source};
use crate::fft::recipe::{Direction, Recipe};
use crate::fft::transform::Fft;
use crate::job::{self, Job, Least, data_end};
use crate::ring::{Expected, Ring, RingPass};
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// A planned FFT over all axes of an array, the last axis contiguous.
///
/// The rows along the last axis are a batch of local transforms; every other
/// axis is a pass of columns, in place in system memory.
///
/// ```
/// use cp2_kernels::fft::{Direction, Fft as _, FftNd};
/// use cp2_machine::Machine;
/// use num_complex::Complex32;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let fft = FftNd::new(&[32, 64], Direction::Forward, vm7.into())?;
/// let done = fft.process(&[Complex32::new(1.0, 0.0); 32 * 64])?;
/// assert_eq!(done.output.unwrap()[0].re, 2048.0);
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
#[derive(Debug)]
pub struct FftNd {
    shape: Vec<usize>,
    direction: Direction,
    machine: Arc<Machine>,
    rows: LocalFft,
    columns: Vec<Axis>,
}

/// An axis but the last.
#[derive(Debug)]
pub(super) struct Axis {
    /// Matrices of one array whose columns lie along the axis.
    matrices: u64,
    /// Numbers from an element of a column to the next.
    width: u64,
    sections: u64,
    lines: Lines,
    ring: Ring,
    program: Arc<Program>,
}

impl FftNd {
    /// The FFT of arrays of `shape`, at least two axes, on `machine`.
    ///
    /// # Errors
    /// An axis without a kernel (powers of two: the last from 16 to 4096, the
    /// others from 32 to 2048), or an array too narrow or too large for the machine.
    pub fn new(
        shape: &[usize],
        direction: Direction,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let refused = || FftError::Shape {
            shape: shape.to_vec(),
            machine: machine.name.clone(),
        };
        let (Some((&last, axes)), true) = (shape.split_last(), shape.len() >= 2) else {
            return Err(refused());
        };
        let numbers = shape
            .iter()
            .try_fold(COMPLEX as usize, |n, &d| n.checked_mul(d));
        if numbers.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(refused());
        }
        let rows = Recipe::new(last, direction).map_err(|_| refused())?;
        let mut columns = Vec::new();
        for (i, &length) in axes.iter().enumerate() {
            let matrices: usize = axes[..i].iter().product();
            let width: usize = shape[i + 1..].iter().product();
            let axis = Axis::new(length, (matrices as u64, width as u64), direction, &machine)?;
            columns.push(axis.ok_or_else(refused)?);
        }
        Ok(Self {
            shape: shape.to_vec(),
            direction,
            rows: LocalFft::new(rows, machine.clone())?,
            columns,
            machine,
        })
    }

    /// The shape of an array.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
}

impl Axis {
    /// The fastest way through the columns of `matrices` matrices of `width` columns; none that fits.
    pub(super) fn new(
        length: usize,
        (matrices, width): (u64, u64),
        direction: Direction,
        machine: &Machine,
    ) -> Result<Option<Self>, FftError> {
        let sections = machine.cp2.sections as u64;
        if machine.dma.granule.0 != 16 {
            return Ok(None);
        }
        let dmem = machine.cp2.dmem.0;
        let whole = [2, 4, 8, 16].map(|per| Lines::new(length, per));
        let parts = Lines::parts(length).filter(|_| sections == parts::SECTIONS);
        let mut found = Vec::new();
        for lines in whole.into_iter().flatten().chain(parts) {
            let fits = lines.in_parts() || 3 * lines.page_bytes() <= dmem;
            if width % (lines.per_section() as u64 * sections) != 0 || !fits {
                continue;
            }
            let assembly = match lines.in_parts() {
                true => parts_program(&lines, false, direction, machine),
                false => large_program(Some(&lines), None, false, direction, machine),
            };
            let program = match assembly {
                Ok(assembly) => Arc::new(assembly.program),
                // Smaller pages may do.
                Err(FftError::Unfit(e)) if e.is_size() => continue,
                Err(e) => return Err(e),
            };
            for ring in rings(&lines, data_end(&program).next_multiple_of(16), dmem) {
                let axis = Self {
                    matrices,
                    width,
                    sections,
                    lines: lines.clone(),
                    ring,
                    program: program.clone(),
                };
                found.push((axis.pass(1, [0; 2]).expect(machine).cycles, axis));
            }
        }
        // Where pages with long runs are fewer than go through DMEM at a time, time alone decides.
        let many = matrices * width * COMPLEX / RUN > 3;
        found.sort_by(|(a, one), (b, other)| {
            let short = |axis: &Self| many && axis.run() < RUN;
            short(one).cmp(&short(other)).then(a.total_cmp(b))
        });
        Ok(found.into_iter().next().map(|(_, axis)| axis))
    }

    /// Columns, and how many are in a section's page.
    pub(super) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Bytes of a run in system memory.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * self.sections * COMPLEX
    }

    /// Bytes of the program and its tables.
    pub(super) fn image(&self) -> u64 {
        image(&self.program) as u64
    }

    /// What the pass should take, the load of its program included.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> Expected {
        let rate = machine.dma.bandwidth;
        let image = self.image() as f64 * rate.den as f64 / rate.num.max(1) as f64;
        let pass = self.pass(batch, [0; 2]).expect(machine);
        Expected {
            cycles: pass.cycles + image,
            least: pass.least + image,
        }
    }

    /// Adds the pass over `batch` arrays to a job.
    pub(super) fn add(
        &self,
        job: &mut Job,
        batch: u64,
        addresses: [u64; 2],
    ) -> Result<(), FftError> {
        let program = job.program(&format!("columns of {}", self.lines.len()), &self.program)?;
        let pass = self.pass(batch, addresses);
        Ok(job.ring(&program, "columns", pass)?)
    }

    /// The pass over `batch` arrays from one address to another, or in place.
    fn pass(&self, batch: u64, [from, to]: [u64; 2]) -> RingPass {
        let (lines, matrices, width) = (self.lines.clone(), batch * self.matrices, self.width);
        if lines.in_parts() {
            let work = ColumnParts {
                lines,
                matrices,
                width,
                from,
                to,
                tiled: false,
            };
            return RingPass::new(self.ring.clone(), work);
        }
        let work = ColumnPages {
            lines,
            sections: self.sections,
            matrices,
            width,
            from,
            to,
            tiled: None,
            factors: None,
        };
        RingPass::new(self.ring.clone(), work)
    }
}

/// The ways to have buffers for pages of `lines` behind tables that end at `first` in DMEM.
fn rings(lines: &Lines, first: u64, dmem: u64) -> Vec<Ring> {
    if lines.in_parts() {
        // The ring lies before the tables.
        let fits = first + Ring::argument_bytes(parts::RING) <= dmem;
        return fits.then(|| parts::ring(first)).into_iter().collect();
    }
    let ring = |buffers: usize| {
        let pages = first + Ring::argument_bytes(buffers);
        let fits = pages + buffers as u64 * lines.page_bytes() <= dmem;
        fits.then(|| Ring::new(first, pages, buffers, lines.page_bytes(), 0))
    };
    [3, 4].into_iter().filter_map(ring).collect()
}

impl Fft for FftNd {
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn recipe(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut text = format!("fft {}: rows by {}", shape.join(" x "), self.rows.recipe());
        for axis in self.columns.iter() {
            text += &format!(
                ", columns of {}, {} a section and page",
                axis.lines.len(),
                axis.lines.per_section()
            );
        }
        text
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// None: every pass has its own.
    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(None)
    }

    fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Input and output.
    fn max_batch(&self) -> usize {
        let images = self.columns.iter().map(Axis::image);
        let free = job::room(&self.machine, self.rows.kernel()).saturating_sub(images.sum());
        usize::try_from(free / (2 * self.len() as u64 * COMPLEX)).unwrap_or(usize::MAX)
    }

    /// What one pass for every axis must compute and move: all butterflies, and
    /// every number in and out of DMEM once for each axis.
    fn least(&self, batch: usize) -> Least {
        let numbers = batch as u128 * self.len() as u128;
        let levels: u32 = self.shape.iter().map(|d| d.ilog2()).sum();
        Least {
            butterflies: numbers / 2 * u128::from(levels),
            bytes: self.shape.len() as u128 * 2 * u128::from(COMPLEX) * numbers,
            ..Least::default()
        }
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let halves = (self.len() / 2 * batch) as u64;
        // The last axis is the first pass.
        let axes = self
            .shape
            .last()
            .into_iter()
            .chain(&self.shape[..self.columns.len()]);
        axes.map(|length| vec![(Class::Butterfly, halves * u64::from(length.ilog2()))])
            .collect()
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        let rows = batch * (self.len() / self.rows.len());
        self.rows.pass(job, rows, from, to)?;
        for axis in &self.columns {
            axis.add(job, batch as u64, [to; 2])?;
        }
        Ok(())
    }

    fn job(
        &self,
        input: &[Complex32],
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>), FftError> {
        let batch = self.batch_of(input.len())?;
        let mut job = Job::new(self.machine.clone(), options);
        let x = job.input(input)?;
        let shape: Vec<u64> = self.shape.iter().map(|&d| d as u64).collect();
        let y = job.output("y", &[&[batch as u64], shape.as_slice()].concat())?;
        self.append(&mut job, batch, x.address(), y.address())?;
        Ok((job, y))
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let rows = batch.saturating_mul(self.len() / self.rows.len());
        let mut cycles = self.rows.expected(rows)?.0 as f64;
        for axis in &self.columns {
            cycles += axis.expect(&self.machine, batch as u64).cycles;
        }
        Ok(Cycles(cycles.ceil() as u64))
    }
}
