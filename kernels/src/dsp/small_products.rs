//! Products of many pairs of small complex matrices, m x k by k x n.
//!
//! An iteration is one product, or two products where one would not end at the end of a quad: m k n complex
//! products, all but the first of a sum with its addition.

use super::error::DspError;
use super::kernel::VectorPageKernel;
use super::plan::{KernelOperand, OutputArray, VectorPlan};
use super::tile::{self, COMPLEX, Factor, SUMS, parts};
use crate::job::{Job, KernelRun};
use crate::pipeline::BlockWriter;
use cp2_host::{Buffer, DeviceOptions, Paging, Stream};
use cp2_machine::{Class, Machine};
use cp2_reference::{Figures, MatrixProducts};
use num_complex::Complex32;
use std::sync::Arc;

/// Approximate number of complex products of a block: filling the pipeline takes little of that.
const BLOCK: usize = 1024;
/// Most elements of a matrix; then m k n is at most 512.
const MOST: usize = 64;

/// Planned products of matrices of one shape.
pub type SmallProducts = VectorPlan<Sides>;

/// The sides m, k and n.
#[derive(Debug)]
pub struct Sides([usize; 3]);

impl SmallProducts {
    /// Plans products of `m` x `k` by `k` x `n` matrices, stored row by row.
    ///
    /// # Errors
    /// The matrices are empty or do not fit the registers.
    pub fn new(m: usize, k: usize, n: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        let sizes = [(m, k), (k, n), (m, n)].map(|(a, b)| a.checked_mul(b));
        let possible = |s: &Option<usize>| s.is_some_and(|s| s > 0 && s <= MOST);
        if !sizes.iter().all(possible) {
            let found = sizes.into_iter().map(|s| s.unwrap_or(usize::MAX)).max();
            return Err(DspError::Size {
                what: "the number of elements of a matrix",
                found: found.unwrap_or_default(),
                expected: format!("1 to {MOST} elements of each"),
            });
        }
        let kernel = build([m, k, n], &machine)?;
        let shape = Sides([m, k, n]);
        Ok(Self::from_kernels(
            "small products",
            shape,
            machine,
            vec![kernel],
        ))
    }

    /// Returns the proved limit and the time of the best known program for `count` products.
    #[must_use]
    pub fn figures(&self, count: usize) -> Figures {
        MatrixProducts::new(self.shape.0, count).figures(self.machine())
    }

    /// Computes the products of the matrices in `a` with those in `b`, all contiguous, on a device with
    /// default options.
    ///
    /// # Errors
    /// The numbers of matrices differ or are not whole, or there are too many for the machine.
    pub fn process(
        &self,
        a: &[Complex32],
        b: &[Complex32],
    ) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        self.process_with(a, b, DeviceOptions::default())
    }

    /// Computes the products of the matrices in `a` with those in `b`, on a device with options.
    ///
    /// # Errors
    /// See [`SmallProducts::process`].
    pub fn process_with(
        &self,
        a: &[Complex32],
        b: &[Complex32],
        options: DeviceOptions,
    ) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        let (job, c) = self.job(a, b, options)?;
        let [m, k, _] = self.shape.0;
        let count = a.len() / (m * k);
        Ok(job.run(self.figures(count), |run| run.read(c))?)
    }

    /// Puts together the job of the products, and returns its result's array.
    pub(super) fn job(
        &self,
        a: &[Complex32],
        b: &[Complex32],
        options: DeviceOptions,
    ) -> Result<(Job, Buffer<Complex32>), DspError> {
        let [m, k, n] = self.shape.0;
        let count = a.len() / (m * k);
        if count == 0 || a.len() != count * m * k || b.len() != count * k * n {
            return Err(DspError::Length {
                what: "the second factor",
                found: b.len(),
                expected: format!("as many {k} x {n} matrices as there are {m} x {k} ones"),
            });
        }
        self.check(count)?;
        let block = block([m, k, n]);
        let blocks = count.div_ceil(block);
        let bytes = |size: usize| (block * size * COMPLEX) as u64;
        // Arrays have room for the products that fill the last block up.
        let room = |size: usize| blocks * block * size;
        let inputs = [
            KernelOperand::new("a", a.into(), &[count, m, k], room(m * k)),
            KernelOperand::new("b", b.into(), &[count, k, n], room(k * n)),
        ];
        let output = OutputArray::new(&[count, m, n], room(m * n));
        let paging = |_, x: &[u64], y| {
            let a = Stream::contiguous("a", x[0], bytes(m * k));
            let b = Stream::contiguous("b", x[1], bytes(k * n));
            let c = Stream::contiguous("c", y, bytes(m * n));
            Paging::new(blocks as u64, vec![a, b], vec![c])
        };
        self.create_job(options, |job| {
            self.passes(job, (&inputs, &output), &[0], paging)
        })
    }

    /// Refuses arrays that do not fit system memory.
    pub(super) fn check(&self, count: usize) -> Result<(), DspError> {
        let whole = (count + block(self.shape.0)) as u128;
        let [m, k, n] = self.shape.0.map(|s| s as u128);
        let bytes = whole * COMPLEX as u128 * (m * k + k * n + m * n);
        self.fits(bytes)
    }

    /// Returns the operations that the pass issues, for the model.
    pub(super) fn operations(&self, count: usize) -> Vec<Vec<(Class, u64)>> {
        vec![self.issued(0, count.div_ceil(block(self.shape.0)))]
    }
}

/// Returns the number of products of a block: a whole number of iterations.
fn block([m, k, n]: [usize; 3]) -> usize {
    (BLOCK / (m * k * n)).clamp(4, 32).next_multiple_of(2)
}

/// Builds the kernel by the first order and number of chains for which there is a schedule, or else by the one with the
/// fewest cycles.
fn build(sides: [usize; 3], machine: &Machine) -> Result<VectorPageKernel, DspError> {
    // In order the block needs the fewest registers. Where sums are few and latencies long, the longest chains
    // have to go first, or a sum has to be several chains that are added up.
    let [m, k, n] = sides;
    let chains = (SUMS / (m * n).max(1)).max(1);
    let ways = [(true, 1), (false, 1), (true, chains), (false, chains)];
    let mut others: Result<Option<VectorPageKernel>, DspError> = Ok(None);
    let tried = if chains > 1 { 4 } else { 2 };
    for (in_order, chains) in ways.into_iter().take(tried) {
        let text = text(sides, in_order, chains);
        let made = VectorPageKernel::from_known_blocks("small-product", text, (&[1], 4), machine);
        match (made, &others) {
            (Ok(made), _) if !made.is_stretched() => return Ok(made),
            (Ok(made), Ok(Some(other))) if other.cycles <= made.cycles => {}
            (Ok(made), _) => others = Ok(Some(made)),
            (Err(why), Ok(None)) => others = Err(why),
            (Err(_), _) => {}
        }
    }
    match others {
        Ok(Some(made)) => Ok(made),
        Err(DspError::Unfit(why)) if !why.is_refusal() => Err(why.into()),
        other => Err(DspError::Size {
            what: "the number of multiplications of a product",
            found: m * k * n,
            expected: format!(
                "fewer, which have a schedule on {}{}",
                machine.name,
                other
                    .err()
                    .map(|why| format!(": {why}"))
                    .unwrap_or_default()
            ),
        }),
    }
}

/// Returns the text of the kernel of products of these sides.
fn text([m, k, n]: [usize; 3], in_order: bool, chains: usize) -> String {
    let tile = if [m * k, k * n, m * n].iter().all(|size| size % 2 == 0) {
        1
    } else {
        2
    };
    let mut own = BlockWriter::default();
    for (name, place, size) in [("a", "c4", m * k), ("b", "c8", k * n), ("c", "c5", m * n)] {
        own.pointer(name, (place, 0), (tile * size * COMPLEX) as i64);
    }
    own.declare(".apart");
    if in_order {
        own.declare(".order");
    }
    // Blocks of about as many sums as a multiply-add has cycles of latency.
    let (tall, wide) = match m {
        1 => (1, SUMS),
        2 => (2, 6),
        _ => (3.max(SUMS / n), SUMS / 2),
    };
    for product in 0..tile {
        let factor = |name, rows: usize, columns: usize| Factor {
            name,
            place: move |i: usize, j: usize| (product * rows + i) * columns + j,
        };
        let (a, b, c) = (factor("a", m, k), factor("b", k, n), factor("c", m, n));
        for rows in parts(m, tall) {
            for columns in parts(n, wide) {
                let sides = (rows.clone(), columns, k);
                tile::block(&mut own, (&a, &b, &c), sides, (true, chains));
            }
        }
    }
    let block = block([m, k, n]);
    let [of_a, of_b, of_c] = [m * k, k * n, m * n].map(|size| block * size * COMPLEX);
    format!(
        "; Products of {m} x {k} by {k} x {n} complex matrices: generated.\n.include \"page.s\"\n.program\n.entry start\nstart:\n    \
         movi s0, {of_a}\n    movi s1, {of_b}\n    movi s2, {of_c}\n    page_begin\n    ldx2 c4, [a15]\n    \
         ldx2 c6, [a15 + 8]\n    ldx c8, [a15 + 16]\n    loop c6 {{\n{}    \
         add c4, c4, s0\n    add c8, c8, s1\n    add c5, c5, s2\n    nop\n    }}\n    page_end\n    stop\n",
        own.text("products", (block / tile) as u64)
    )
}
