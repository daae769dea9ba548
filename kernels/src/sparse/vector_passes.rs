//! Passes over vectors between products.
//!
//! Vectors in system memory are padded with zeros to whole blocks. Passes leave these zeros, and products
//! write no further than the granule in which a vector ends, so sums count nothing twice. Dot products are
//! summed by blocks in the precision of the vectors, and the sums of blocks are added by the control CPU in double
//! precision.

use crate::assembly::{Unfit, assembly};
use crate::job::{Job, JobError};
use cp2_asm::{Options, Program, Source, Value};
use cp2_host::{
    Buffer, DeviceOptions as Device, HostError, HostStep, Paging, PlacedProgram, StepScalar,
    Stream, ViewRows,
};
use cp2_machine::{Class, Machine};
use cp2_problems::npb::Precision;
use std::sync::Arc;

/// Name of the program in messages and on the timeline.
const NAME: &str = "vectors";

/// Bytes of a quad.
const QUAD_BYTES: u64 = 16;

/// Quads of a block, as tried: no sum of a lane has more terms than half of them.
const QUADS: [u64; 5] = [16, 32, 64, 96, 128];

/// Most blocks whose sums one step of the control CPU adds up.
const TERMS: u64 = 512;

/// A kernel of `vector_passes.s`: its label, and what it reads, writes and computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VectorKernel {
    label: &'static str,
    /// Number of vectors that are read and written.
    vectors: [usize; 2],
    /// Number of dot products.
    sums: usize,
    /// True if the kernel takes scalars.
    scalars: bool,
    /// Arithmetic of a quad: multiply-adds, and sums or products.
    arithmetic: [u64; 2],
}

const fn kernel(
    label: &'static str,
    vectors: [usize; 2],
    sums: usize,
    scalars: bool,
    arithmetic: [u64; 2],
) -> VectorKernel {
    VectorKernel {
        label,
        vectors,
        sums,
        scalars,
        arithmetic,
    }
}

impl VectorKernel {
    /// Dot product x.y.
    pub(crate) const DOT: Self = kernel("dot", [2, 0], 1, false, [1, 0]);
    /// x = s z, and x.x.
    pub(crate) const SCALED: Self = kernel("scaled", [1, 1], 1, true, [1, 1]);
    /// r = r - alpha q, and r.r; reads q, r.
    pub(crate) const RESIDUAL: Self = kernel("residual", [2, 1], 1, true, [2, 0]);
    /// r = r - alpha q, r.r and r.d r; reads q, r, d.
    pub(crate) const RESIDUAL_BY: Self = kernel("residual_by", [3, 1], 2, true, [3, 1]);
    /// z = alpha p, p = r + beta p; reads p, r.
    pub(crate) const FIRST_STEP: Self = kernel("first_step", [2, 2], 0, true, [1, 1]);
    /// z = z + alpha p, p = r + beta p; reads z, p, r.
    pub(crate) const STEP: Self = kernel("step", [3, 2], 0, true, [2, 0]);
    /// z = z + alpha p, p = d r + beta p; reads z, p, r, d.
    pub(crate) const STEP_BY: Self = kernel("step_by", [4, 2], 0, true, [2, 1]);
    /// (x - y).(x - y), x.z and z.z; reads x, y, z.
    pub(crate) const ERRORS: Self = kernel("errors", [3, 0], 3, false, [3, 1]);
    /// r = b, p = d b, r.r and r.p; reads b, d.
    pub(crate) const BEGIN: Self = kernel("begin", [2, 2], 2, false, [2, 1]);
    /// p = r + beta (p - omega v), y = d p; reads r, p, v, d.
    pub(crate) const DIRECTION: Self = kernel("direction", [4, 2], 0, true, [2, 1]);
    /// r = r - alpha v, z = d r; reads r, v, d.
    pub(crate) const HALF: Self = kernel("half", [3, 2], 0, true, [1, 1]);
    /// Dot products t.r and t.t; reads t, r.
    pub(crate) const TWO_DOTS: Self = kernel("two_dots", [2, 0], 2, false, [2, 0]);
    /// x = x + alpha y + omega z, r = r - omega t, s.r and r.r; reads x, y, z, r, t, s.
    pub(crate) const FINISH: Self = kernel("finish", [6, 2], 2, true, [5, 0]);
}

/// Passes over vectors of one length, for a machine.
#[derive(Clone, Debug)]
pub(crate) struct VectorPasses {
    program: Arc<Program>,
    n: u64,
    precision: Precision,
    /// Bytes of a block, of its sums, and of the scalars.
    block: u64,
    sums: u64,
    scalars: u64,
}

/// Passes in a job: their program, the scalars that they take, and room for their sums.
#[derive(Clone, Debug)]
pub(crate) struct PlacedVectors<'a> {
    vectors: &'a VectorPasses,
    program: PlacedProgram,
    scalars: Buffer<u8>,
    sums: Buffer<u8>,
    partial: Buffer<f64>,
}

impl VectorPasses {
    /// Prepares passes over vectors of `n` numbers of a precision, with the blocks for which one pass by each of
    /// `kernels` takes the least time together.
    ///
    /// # Errors
    /// The machine has too little of something.
    pub(crate) fn new(
        (n, precision): (usize, Precision),
        kernels: &[VectorKernel],
        machine: &Arc<Machine>,
    ) -> Result<Self, Unfit> {
        let size = (n as u64, precision);
        let sections = machine.cp2.sections.max(1) as u64;
        let granule = machine.dma.granule.0.max(QUAD_BYTES);
        // Blocks are whole granules; an iteration takes two quads.
        let unit = granule.max(2 * QUAD_BYTES) / QUAD_BYTES;
        let quads = (n as u64 * precision.bytes()).div_ceil(QUAD_BYTES);
        let share = quads.div_ceil(sections);
        let shares = [share, share.div_ceil(2), share.div_ceil(3)];
        let most = QUADS.last().copied().unwrap_or(unit);
        let mut lengths: Vec<u64> = QUADS.iter().copied().chain(shares).collect();
        lengths.retain(|&quads| quads <= most && quads < share + unit);
        let mut lengths: Vec<u64> = lengths.iter().map(|q| q.next_multiple_of(unit)).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let mut best: Option<(u64, Self)> = None;
        let mut refused = None;
        for quads in lengths.into_iter().rev() {
            let vectors = match Self::assemble_passes(size, quads, granule, machine) {
                Ok(vectors) => vectors,
                Err(unfit) => {
                    refused = Some(unfit);
                    continue;
                }
            };
            let price = vectors.price(kernels, machine).unwrap_or(u64::MAX);
            if best.as_ref().is_none_or(|(least, _)| price < *least) {
                best = Some((price, vectors));
            }
        }
        match (best, refused) {
            (Some((_, vectors)), _) => Ok(vectors),
            (None, Some(unfit)) => Err(unfit),
            (None, None) => Self::assemble_passes(size, unit, granule, machine),
        }
    }

    fn assemble_passes(
        (n, precision): (u64, Precision),
        quads: u64,
        granule: u64,
        machine: &Machine,
    ) -> Result<Self, Unfit> {
        let quads_of_scalar = match precision {
            Precision::Single | Precision::Double => 1,
            Precision::DoubleSingle => 2,
        };
        let scalars = (SCALARS * quads_of_scalar * QUAD_BYTES).next_multiple_of(granule);
        // The sums of a block take a quad, or two of numbers of 8 bytes.
        let lanes = SUM_NUMBERS * precision.bytes();
        let sums = lanes.next_multiple_of(granule);
        let symbols = [
            ("QUADS", quads),
            ("SUMS", sums),
            ("SCALARS", scalars),
            ("DOUBLE", u64::from(precision == Precision::Double)),
            (
                "DOUBLE_SINGLE",
                u64::from(precision == Precision::DoubleSingle),
            ),
        ];
        let symbols = symbols.map(|(name, value)| {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            (name.to_owned(), Value::Int(value))
        });
        let options = Options {
            defines: symbols.into(),
            machine: Some(machine),
            ..Options::default()
        };
        let source = Source::new("vector_passes.s", include_str!("vector_passes.s"));
        Ok(Self {
            program: Arc::new(assembly(NAME, (&source, ""), &options)?.program),
            n,
            precision,
            block: QUAD_BYTES * quads,
            sums,
            scalars,
        })
    }

    fn blocks(&self) -> u64 {
        (self.precision.bytes() * self.n).div_ceil(self.block)
    }

    /// Returns the bytes of a vector with its padding.
    fn bytes(&self) -> u64 {
        self.blocks() * self.block
    }

    /// Returns the numbers of a vector with its padding.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.bytes() / self.precision.bytes()).unwrap_or(usize::MAX)
    }

    /// Returns the cycles of one pass by each of these kernels, one behind the other.
    pub(crate) fn price(&self, kernels: &[VectorKernel], machine: &Arc<Machine>) -> Option<u64> {
        let mut job = Job::new(machine.clone(), Device::default());
        let placed = self.place(&mut job).ok()?;
        let vector = self.vector(&mut job).ok()?;
        for &kernel in kernels {
            let [reads, writes] = kernel.vectors.map(|count| vec![vector; count]);
            placed.pass(&mut job, kernel, &reads, &writes).ok()?;
            placed.step(&mut job, NAME, kernel, |_, _| Ok(())).ok()?;
        }
        job.expected().map(|cycles| cycles.0)
    }

    /// Puts the program into a job.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn place(&self, job: &mut Job) -> Result<PlacedVectors<'_>, JobError> {
        Ok(PlacedVectors {
            vectors: self,
            program: job.program(NAME, &self.program)?,
            scalars: job.temporary(self.scalars)?,
            sums: job.temporary(self.blocks() * self.sums)?,
            partial: job.temporary(SUM_NUMBERS * self.blocks().div_ceil(TERMS))?,
        })
    }

    /// Makes a vector of zeros, which the host prepares. Products overwrite its numbers and leave the zeros
    /// of the padding.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn vector(&self, job: &mut Job) -> Result<u64, JobError> {
        Ok(match self.precision {
            Precision::Single => job.table(&vec![0.0f32; self.len()])?.address(),
            Precision::DoubleSingle => job.table(&vec![[0.0f32; 2]; self.len()])?.address(),
            Precision::Double => job.table(&vec![0.0f64; self.len()])?.address(),
        })
    }

    /// Returns the rows of the user's vectors, and those of the passes, which are padded.
    pub(crate) fn rows(&self) -> [ViewRows; 2] {
        let own = ViewRows::contiguous(1, self.precision.bytes() * self.n);
        let wide = ViewRows {
            pitch: self.bytes(),
            total: self.bytes(),
            ..own
        };
        [own, wide]
    }

    /// Returns the least operations of a pass.
    pub(crate) fn operations(&self, kernel: VectorKernel) -> Vec<(Class, u64)> {
        let quads = self.bytes() / QUAD_BYTES;
        let [madds, others] = kernel.arithmetic;
        let classes = match self.precision {
            Precision::Single => vec![(Class::Madd, madds), (Class::Add, others)],
            // Two quads of memory have four numbers. A multiply-add of these has two crossed products, two errors and
            // four other sums and products; a sum or a product has an error and three others at least.
            Precision::DoubleSingle => vec![
                (Class::Madd, madds),
                (Class::Error, madds + others / 2),
                (Class::Add, 2 * madds + 3 * others / 2),
            ],
            Precision::Double => vec![(Class::DoubleMadd, madds), (Class::DoubleAdd, others)],
        };
        let classes = classes.into_iter().filter(|&(_, count)| count > 0);
        classes
            .map(|(class, count)| (class, count * quads))
            .collect()
    }
}

/// Numbers of a block's sums, of which a kernel uses up to three.
const SUM_NUMBERS: u64 = 4;

/// Scalars of the kernels, a quad for each, and in double-single precision as many quads behind them for lower parts.
const SCALARS: u64 = 2;

impl PlacedVectors<'_> {
    /// Makes a step fill the quad of scalar `number` of the kernels with it.
    fn fill_scalar(
        &self,
        step: &mut HostStep,
        number: u64,
        scalar: StepScalar,
    ) -> Result<(), HostError> {
        let (at, precision) = (
            self.scalars.address() + QUAD_BYTES * number,
            self.vectors.precision,
        );
        match precision {
            Precision::Single => step.fill(Buffer::<f32>::from_address(at, 4), scalar),
            Precision::DoubleSingle => {
                let high = Buffer::<f32>::from_address(at, 4);
                step.fill(high, scalar)?;
                // The store rounds to binary32.
                let rounded = step.load(high, 0)?;
                let rest = step.subtract(scalar, rounded);
                let low = Buffer::<f32>::from_address(at + SCALARS * QUAD_BYTES, 4);
                step.fill(low, rest)
            }
            Precision::Double => step.fill(Buffer::<f64>::from_address(at, 2), scalar),
        }
    }

    /// Makes a step load a number of the sums of a block.
    fn load_sum(
        &self,
        step: &mut HostStep,
        block: u64,
        lane: u64,
    ) -> Result<StepScalar, HostError> {
        let at = self.sums.address() + block * self.vectors.sums;
        match self.vectors.precision {
            Precision::Single => step.load(Buffer::<f32>::from_address(at, SUM_NUMBERS), lane),
            Precision::DoubleSingle => {
                let parts = Buffer::<f32>::from_address(at, 2 * SUM_NUMBERS);
                let high = step.load(parts, 2 * lane)?;
                let low = step.load(parts, 2 * lane + 1)?;
                Ok(step.add(high, low))
            }
            Precision::Double => step.load(Buffer::<f64>::from_address(at, SUM_NUMBERS), lane),
        }
    }

    /// Makes a step leave scalars for the following kernels.
    ///
    /// # Errors
    /// More than two of them.
    pub(crate) fn fill(
        &self,
        step: &mut HostStep,
        scalars: &[StepScalar],
    ) -> Result<(), HostError> {
        (0..)
            .zip(scalars)
            .try_for_each(|(number, &scalar)| self.fill_scalar(step, number, scalar))
    }

    /// Adds a pass over vectors at these addresses.
    ///
    /// # Errors
    /// It does not fit the machine.
    pub(crate) fn pass(
        &self,
        job: &mut Job,
        kernel: VectorKernel,
        reads: &[u64],
        writes: &[u64],
    ) -> Result<(), JobError> {
        let own = self.vectors;
        let vector = |&address: &u64| Stream::contiguous("vector", address, own.block);
        let inputs = reads.iter().map(vector).collect();
        let mut outputs: Vec<Stream> = writes.iter().map(vector).collect();
        if kernel.sums > 0 {
            let sums = self.sums.address();
            outputs.push(Stream::contiguous("sums", sums, own.sums));
        }
        let entry = own.program.symbol(kernel.label);
        let entry = entry.and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
        let paging = Paging::new(own.blocks(), inputs, outputs);
        job.pass(&self.program, entry, paging)?;
        match kernel.scalars {
            true => job.fill("scalars", self.scalars),
            false => Ok(()),
        }
    }

    /// Adds a step of the control CPU that adds up the sums of all blocks of the pass before it, and computes
    /// with the totals.
    ///
    /// # Errors
    /// Those of `compute`.
    pub(crate) fn step(
        &self,
        job: &mut Job,
        name: &str,
        kernel: VectorKernel,
        compute: impl FnOnce(&mut HostStep, [StepScalar; 3]) -> Result<(), HostError>,
    ) -> Result<(), JobError> {
        let blocks = self.vectors.blocks();
        let lanes = kernel.sums as u64;
        let mut step = HostStep::new();
        let none = step.constant(0.0);
        let mut totals = [none; 3];
        if blocks <= TERMS {
            for (lane, total) in (0..lanes).zip(&mut totals) {
                *total = self.sum(&mut step, lane, 0..blocks)?;
            }
        } else {
            // As many blocks as a step takes are summed in a step each, then the partial sums.
            let parts = blocks.div_ceil(TERMS);
            for part in 0..parts {
                let mut some = HostStep::new();
                let range = part * TERMS..((part + 1) * TERMS).min(blocks);
                for lane in 0..lanes {
                    let sum = self.sum(&mut some, lane, range.clone())?;
                    some.store(self.partial, SUM_NUMBERS * part + lane, sum)?;
                }
                job.host_step(name, some);
            }
            for (lane, total) in (0..lanes).zip(&mut totals) {
                *total = step.load(self.partial, lane)?;
                for part in 1..parts {
                    let next = step.load(self.partial, SUM_NUMBERS * part + lane)?;
                    *total = step.add(*total, next);
                }
            }
        }
        compute(&mut step, totals)?;
        job.host_step(name, step);
        Ok(())
    }

    /// Returns the sum of a lane of the sums of some blocks.
    fn sum(
        &self,
        step: &mut HostStep,
        lane: u64,
        blocks: std::ops::Range<u64>,
    ) -> Result<StepScalar, HostError> {
        let mut sum = self.load_sum(step, blocks.start, lane)?;
        for block in blocks.skip(1) {
            let next = self.load_sum(step, block, lane)?;
            sum = step.add(sum, next);
        }
        Ok(sum)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use cp2_host::MemoryElement;
    use cp2_reference::Figures;

    /// A step of the control CPU adds up the sums of 512 blocks. With more blocks, each counts once,
    /// whichever part it is in.
    #[test]
    fn sums_in_parts_have_every_block_once() {
        sum_in_parts::<f32>(Precision::Single, |x| x);
        sum_in_parts::<f64>(Precision::Double, f64::from);
        sum_in_parts::<[f32; 2]>(Precision::DoubleSingle, |x| [x, 0.0]);
    }

    fn sum_in_parts<T: MemoryElement>(precision: Precision, number: fn(f32) -> T) {
        let machine = Arc::new(Machine::load("vm7+double+double-single").unwrap());
        // Blocks of two quads, in three parts at least; the last is not full.
        let n = 8 * 2 * TERMS + 8 * 100;
        let vectors = VectorPasses::assemble_passes((n, precision), 2, QUAD_BYTES, &machine);
        let vectors = vectors.unwrap();
        assert!(vectors.blocks().div_ceil(TERMS) >= 3);
        let mut job = Job::new(machine, Device::default());
        // Parts have different sums, all of them small whole numbers.
        let x: Vec<f32> = (0..n).map(|i| (i % 7 + i / 4096) as f32).collect();
        let y: Vec<f32> = (0..n).map(|i| (i % 3) as f32).collect();
        let addresses = [&x, &y].map(|values| {
            let values: Vec<T> = values.iter().copied().map(number).collect();
            job.table(&values).unwrap().address()
        });
        let placed = vectors.place(&mut job).unwrap();
        let found = job.output::<f64>("sum", &[2]).unwrap();
        let kernel = VectorKernel::TWO_DOTS;
        placed.pass(&mut job, kernel, &addresses, &[]).unwrap();
        let kept = |step: &mut HostStep, [first, second, _]: [StepScalar; 3]| {
            step.store(found, 0, first)?;
            step.store(found, 1, second)
        };
        placed.step(&mut job, NAME, kernel, kept).unwrap();
        let done = job.run(Figures::default(), |run| run.read(found)).unwrap();
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            let products = a.iter().zip(b).map(|(a, b)| f64::from(a * b));
            products.sum()
        };
        assert_eq!(done.output.unwrap(), [dot(&x, &y), dot(&x, &x)]);
    }
}
