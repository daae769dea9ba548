//! Products of many pairs of small complex matrices, m x k by k x n.
//!
//! Each product is one iteration with every element in registers: m k n
//! complex products, all but the first of a sum with its addition.

use super::error::DspError;
use super::kernel::{Kernel, Recipe, pointer};
use super::ops::Ops;
use super::plan::Planned;
use crate::job::{Job, KernelRun, Least};
use crate::pipeline::{Body, Reg, Value};
use cp2_host::{Buffer, Options, Paging, Stream};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Bytes of a complex number.
const COMPLEX: usize = 8;
/// Products in a block.
const BLOCK: usize = 16;
/// Most elements of the two factors: they have to stay in registers.
const MOST: usize = 32;

/// Planned products of matrices of one shape.
pub type SmallProducts = Planned<Sides>;

/// m, k, n.
#[derive(Debug)]
pub struct Sides([usize; 3]);

impl SmallProducts {
    /// Plans products of `m` x `k` by `k` x `n` matrices, stored row by row.
    ///
    /// # Errors
    /// Sides whose matrices are empty or do not fit the registers.
    pub fn new(m: usize, k: usize, n: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        let sizes = [(m, k), (k, n), (m, n)].map(|(a, b)| a.checked_mul(b));
        let possible = |s: &Option<usize>| s.is_some_and(|s| s > 0 && s <= MOST);
        let factors = sizes[0]
            .unwrap_or(MOST)
            .saturating_add(sizes[1].unwrap_or(MOST));
        if !sizes.iter().all(possible) || factors > MOST {
            return Err(DspError::Size {
                what: "a product of small matrices",
                found: factors,
                expected: format!("factors of at most {MOST} elements together"),
            });
        }
        let kernel = build([m, k, n], &machine)?;
        let shape = Sides([m, k, n]);
        Ok(Self::of("small products", shape, machine, vec![kernel]))
    }

    /// What any program must compute and move for `count` products.
    #[must_use]
    pub fn least(&self, count: usize) -> Least {
        let [m, k, n] = self.shape.0.map(|s| s as u128);
        Least {
            issues: count as u128 * m * k * n,
            bytes: count as u128 * COMPLEX as u128 * (m * k + k * n + m * n),
            ..Least::default()
        }
    }

    /// Lower bound of the time for `count` products.
    #[must_use]
    pub fn bound(&self, count: usize) -> Cycles {
        self.least(count).cycles(self.machine())
    }

    /// The products of the matrices in `a` with those in `b`, one behind the other.
    ///
    /// # Errors
    /// Another number of matrices in `b`, no whole number, or too many for the machine.
    pub fn process(
        &self,
        a: &[Complex32],
        b: &[Complex32],
    ) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        self.process_with(a, b, Options::default())
    }

    /// The same on a device with options.
    ///
    /// # Errors
    /// See [`SmallProducts::process`].
    pub fn process_with(
        &self,
        a: &[Complex32],
        b: &[Complex32],
        options: Options,
    ) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        let (job, c) = self.job(a, b, options)?;
        let [m, k, n] = self.shape.0;
        let count = a.len() / (m * k);
        Ok(job.run(self.bound(count), move |run| {
            let mut all = run.read(c)?;
            all.truncate(count * m * n);
            Ok(all)
        })?)
    }

    pub(super) fn job(
        &self,
        a: &[Complex32],
        b: &[Complex32],
        options: Options,
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
        let blocks = count.div_ceil(BLOCK);
        let whole = |x: &[Complex32], size: usize| super::plan::padded(x, blocks * BLOCK * size);
        let bytes = |size: usize| (BLOCK * size * COMPLEX) as u64;
        let inputs = [whole(a, m * k), whole(b, k * n)];
        let output = [(blocks * BLOCK) as u64, m as u64, n as u64];
        self.passes(options, (&inputs, &output), 1, |_, x, y| {
            let a = Stream::contiguous("a", x[0], bytes(m * k));
            let b = Stream::contiguous("b", x[1], bytes(k * n));
            let c = Stream::contiguous("c", y, bytes(m * n));
            Paging::new(blocks as u64, vec![a, b], vec![c])
        })
    }

    /// Refuses arrays that do not fit system memory.
    pub(super) fn check(&self, count: usize) -> Result<(), DspError> {
        let whole = count as u128 + BLOCK as u128;
        let [m, k, n] = self.shape.0.map(|s| s as u128);
        let bytes = whole * COMPLEX as u128 * (m * k + k * n + m * n);
        self.fits(bytes)
    }

    /// Least arithmetic of the pass for the model.
    pub(super) fn operations(&self, count: usize) -> Vec<Vec<(Class, u64)>> {
        vec![vec![(Class::Madd, self.least(count).issues as u64)]]
    }
}

/// Room for the elements of a matrix: quads, or pairs where they are an odd
/// number, because then every other matrix begins in the middle of a quad.
/// Returns what is moved at a time and what holds every element.
fn elements(body: &mut Body, size: usize) -> (Vec<Reg>, Vec<Reg>) {
    if size % 2 != 0 {
        let pairs: Vec<Reg> = (0..size).map(|_| Reg::Whole(body.pair())).collect();
        return (pairs.clone(), pairs);
    }
    let quads: Vec<Value> = (0..size / 2).map(|_| body.quad()).collect();
    let halves = quads.iter().flat_map(|&q| [Reg::Lo(q), Reg::Hi(q)]);
    let halves = halves.collect();
    (quads.into_iter().map(Reg::Whole).collect(), halves)
}

fn build([m, k, n]: [usize; 3], machine: &Machine) -> Result<Kernel, DspError> {
    let mut ops = Ops::new(&[]);
    let bytes = |size: usize| (size * COMPLEX) as i64;
    let from_a = pointer(&mut ops.body, 0, bytes(m * k));
    let from_b = pointer(&mut ops.body, 2, bytes(k * n));
    let to = pointer(&mut ops.body, 1, bytes(m * n));
    let place =
        |moved: &[Reg], size: usize, i: usize| (bytes(size) / moved.len() as i64) * i as i64;
    let mut load = |from, size: usize| -> Vec<Reg> {
        let (moved, all) = elements(&mut ops.body, size);
        for (i, &reg) in moved.iter().enumerate() {
            ops.body.load(reg, from, place(&moved, size, i));
        }
        all
    };
    let (a, b) = (load(from_a, m * k), load(from_b, k * n));
    let (stored, c) = elements(&mut ops.body, m * n);
    for (i, &last) in c.iter().enumerate() {
        let (row, column) = (i / n, i % n);
        let mut sum = None;
        for j in 0..k {
            let (x, y) = (a[row * k + j], b[j * n + column]);
            let to = if j + 1 == k {
                last
            } else {
                Reg::Whole(ops.body.pair())
            };
            match sum {
                None => ops.body.op("cmul", &[to], &[x, y]),
                Some(before) => ops.body.op("cmadd", &[to], &[x, y, before]),
            }
            sum = Some(to);
        }
    }
    for (i, &reg) in stored.iter().enumerate() {
        ops.body.store(reg, to, place(&stored, m * n, i));
    }
    Recipe {
        name: "small-product",
        ops,
        inputs: vec![(from_a, 0, 0), (from_b, 1, 0)],
        outputs: vec![(to, 0, 0)],
        results: None,
        tables: Vec::new(),
        iterations: BLOCK as u64,
        turns: 1,
        pages: (2, 1),
        before: String::new(),
        after: String::new(),
        next: String::new(),
        data: String::new(),
    }
    .build(machine)
}
