//! An FFT that sections compute together by exchanging registers.

use super::line_batch::{COMPLEX, LAST, LineBatch, root};
use crate::assembly::moves;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::fft_trait::Fft;
use crate::fft::program::{cross_section_program, source};
use crate::job::{self, Job, data_end, image, load};
use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{PassEstimate, Ring, RingPages, RingPass, aligned, deals_quads};
use cp2_machine::{Class, Cycles, Extensions, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Sections among which a transform is divided.
const SECTIONS: usize = 4;
/// Columns of a section.
const COLUMNS: usize = 2;
/// Pages in DMEM that come and go.
const BUFFERS: usize = 2;
/// Event that the DMA posts when the factors have been loaded.
pub(in crate::fft) const FACTORS_EVENT: u32 = 2;
/// Numbers of the factors of an iteration across the sections.
const FACTORS: usize = 8;

/// Addresses of a section's memory, each behind the one before: pages, scratch page, factors, tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fft) struct CrossSectionMemory {
    pub scratch: u64,
    pub factors: u64,
    pub tables: u64,
}

/// A planned FFT of a power of two by `cross_section.s`, for machines with the extension `exchange`.
#[derive(Debug)]
pub struct CrossSectionFft {
    columns: LineBatch,
    direction: TransformDirection,
    memory: CrossSectionMemory,
    machine: Arc<Machine>,
    program: Arc<Program>,
}

/// Transforms from address `x` to address `y`, and the factors of the sections.
#[derive(Debug)]
struct CrossSectionPages {
    batch: u64,
    /// Bytes of a transform.
    bytes: u64,
    x: u64,
    y: u64,
    /// Address of the factors of all sections in system memory, and in DMEM, and the bytes of one section's.
    factors: (u64, u32, u64),
}

impl CrossSectionPages {
    fn load_factors(&self) -> Descriptor {
        let (system, place, bytes) = self.factors;
        let stride = bytes as i64;
        Descriptor {
            event: Some(FACTORS_EVENT),
            ..Descriptor::load(Target::Blocks { stride }, system, place, bytes)
        }
    }
}

impl RingPages for CrossSectionPages {
    fn count(&self) -> u64 {
        self.batch
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let own = (self.batch == 1).then(|| self.load_factors());
        let at = self.x + page * self.bytes;
        let data = Descriptor::load(Target::Deal, at, local, self.bytes);
        own.into_iter().chain([data]).collect()
    }

    /// Loads the factors behind the first page, which needs them after its columns only.
    fn list_early_loads(&self, page: u64, _local: u32, _factors: u32) -> Vec<Descriptor> {
        (page == 1)
            .then(|| self.load_factors())
            .into_iter()
            .collect()
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let at = self.y + page * self.bytes;
        vec![Descriptor::store(Target::Deal, at, local, self.bytes)]
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        let numbers = self.bytes / COMPLEX;
        numbers / 2 * u64::from(numbers.ilog2()) / SECTIONS as u64
    }
}

impl CrossSectionFft {
    /// Plans the FFT of length `n`; none where the length or the machine is none for it.
    ///
    /// # Errors
    /// The kernel does not assemble for the machine.
    pub fn new(
        n: usize,
        direction: TransformDirection,
        machine: &Arc<Machine>,
    ) -> Result<Option<Self>, FftError> {
        let exchanges = machine.cp2.extensions.contains(Extensions::EXCHANGE);
        if !exchanges || machine.cp2.sections != SECTIONS || !deals_quads(machine) {
            return Ok(None);
        }
        let length = n / (SECTIONS * COLUMNS);
        let columns = LineBatch::new(length, COLUMNS).filter(|_| n.is_power_of_two());
        let Some(columns) = columns else {
            return Ok(None);
        };
        let page = columns.page_bytes();
        let factors = (length / LAST * FACTORS) as u64 * COMPLEX;
        let scratch = BUFFERS as u64 * page;
        let memory = CrossSectionMemory {
            scratch,
            factors: scratch + page,
            tables: scratch + page + factors,
        };
        if memory.tables >= machine.cp2.dmem.0 {
            return Ok(None);
        }
        let assembly = match cross_section_program(&columns, memory, direction, machine) {
            Err(FftError::Unfit(e)) if e.is_size() => return Ok(None),
            made => made?,
        };
        let fft = Self {
            columns,
            direction,
            memory,
            machine: machine.clone(),
            program: Arc::new(assembly.program),
        };
        if fft.ring().end([page, 0, 0]) > machine.cp2.dmem.0 {
            return Ok(None);
        }
        moves(&fft.recipe(), &fft.pass(1, [0; 3]), machine)?;
        Ok(Some(fft))
    }

    fn bytes(&self) -> u64 {
        self.columns.page_bytes() * SECTIONS as u64
    }

    fn factor_bytes(&self) -> u64 {
        self.memory.tables - self.memory.factors
    }

    fn ring(&self) -> Ring {
        let arguments = data_end(&self.program).next_multiple_of(aligned(&self.machine));
        Ring::new_in_place(arguments, 0, BUFFERS, self.columns.page_bytes())
    }

    /// Makes the pass over `batch` transforms from `x` to `y`, with the sections' factors at `factors`.
    fn pass(&self, batch: u64, [x, y, factors]: [u64; 3]) -> RingPass {
        // The address lies inside DMEM.
        let place = u32::try_from(self.memory.factors).unwrap_or(u32::MAX);
        let pages = CrossSectionPages {
            batch,
            bytes: self.bytes(),
            x,
            y,
            factors: (factors, place, self.factor_bytes()),
        };
        RingPass::new(self.ring(), pages).price_by_kernel(&self.program, "start")
    }

    /// Computes the factors across the sections, section by section (`cross_section.s`).
    fn factors(&self) -> Vec<Complex32> {
        let (n, iterations) = (self.len(), self.columns.len() / LAST);
        let of_section = |section: usize| {
            (0..iterations).flat_map(move |b| {
                let k = |b: usize, column: usize| LAST * b + COLUMNS * section + column;
                let power = move |b: usize, power: usize, eighths: usize| {
                    [0, 1].map(|column| root(power * k(b, column) + eighths * n / 8, n))
                };
                let next = (b + 1) % iterations;
                [
                    power(b, 2, 0),
                    power(b, 1, 0),
                    power(next, 4, 0),
                    power(b, 1, 1),
                ]
                .into_iter()
                .flatten()
            })
        };
        (0..SECTIONS).flat_map(of_section).collect()
    }

    fn expect(&self, batch: usize) -> PassEstimate {
        let cycles = load(image(&self.program), &self.machine);
        let image = PassEstimate {
            cycles,
            least: cycles,
        };
        image.and(self.pass(batch as u64, [0; 3]).expect(&self.machine))
    }
}

impl Fft for CrossSectionFft {
    fn len(&self) -> usize {
        self.columns.len() * COLUMNS * SECTIONS
    }

    fn direction(&self) -> TransformDirection {
        self.direction
    }

    fn recipe(&self) -> String {
        let (n, direction, length) = (self.len(), self.direction, self.columns.len());
        format!("fft {n} {direction}: columns of {length} in each section, radix 8 across sections")
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(Some(self.program.clone()))
    }

    fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Counts input and output, beside factors and the program.
    fn max_batch(&self) -> usize {
        let factors = SECTIONS as u64 * self.factor_bytes();
        let free = job::room(&self.machine, &self.program).saturating_sub(factors);
        usize::try_from(free / (2 * self.bytes())).unwrap_or(usize::MAX)
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let butterflies = self.len() as u64 / 2 * u64::from(self.len().ilog2());
        vec![vec![(Class::Butterfly, batch as u64 * butterflies)]]
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        let factors = job.table(&self.factors())?.address();
        let program = job.program(&self.recipe(), &self.program)?;
        let pass = self.pass(batch as u64, [from, to, factors]);
        Ok(job.ring(&program, "start", pass)?)
    }

    fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        Ok(Cycles(self.expect(batch).cycles.ceil() as u64))
    }
}
