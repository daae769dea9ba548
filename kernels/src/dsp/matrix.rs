//! A complex matrix times many vectors: beamforming.
//!
//! y[t][b] = sum over e of w[b][e] x[t][e]: one complex multiply-add for each
//! element, beam and snapshot. Two snapshots and four beams are computed side
//! by side: eight sums for the even and eight for the odd elements, so that
//! each is there again before it is needed.

use super::error::DspError;
use super::kernel::{Kernel, address};
use super::ops::Ops;
use super::plan::{Planned, padded_rows};
use crate::assembly::assembly;
use crate::job::{Job, KernelRun, Least};
use crate::pipeline::{Reg, Step};
use cp2_asm::Source;
use cp2_host::{Buffer, Options, Paging, Stream};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::fmt::Write as _;
use std::sync::Arc;

/// Snapshots side by side.
const SNAPSHOTS: usize = 2;
/// Beams side by side.
const BEAMS: usize = 4;
/// Bytes of a complex number.
const COMPLEX: usize = 8;

/// A planned product with a fixed matrix.
pub type Beamformer = Planned<Weights>;

/// Sides of a matrix.
#[derive(Debug)]
pub struct Weights {
    elements: usize,
    beams: usize,
}

impl Beamformer {
    /// Plans the product with `weights`, `beams` rows of `elements`.
    ///
    /// # Errors
    /// An empty or ragged matrix, one that local memory cannot hold beside its
    /// vectors, or a machine without a schedule.
    pub fn new(
        weights: &[Complex32],
        elements: usize,
        machine: Arc<Machine>,
    ) -> Result<Self, DspError> {
        if elements == 0 || weights.is_empty() || weights.len() % elements != 0 {
            return Err(DspError::Length {
                what: "the matrix",
                found: weights.len(),
                expected: format!("rows of {elements}, at least one"),
            });
        }
        let beams = weights.len() / elements;
        let (wide, rows) = (elements.next_multiple_of(2), beams.next_multiple_of(BEAMS));
        let table = (wide as u128) * (rows * COMPLEX) as u128;
        // Room for two pages of two snapshots in and out beside the table.
        let pages = 2 * SNAPSHOTS * COMPLEX * (wide + rows);
        if table + pages as u128 > u128::from(machine.cp2.dmem.0) {
            return Err(DspError::Size {
                what: "a matrix",
                found: weights.len(),
                expected: format!(
                    "at most what fits {} bytes of local memory beside its vectors",
                    machine.cp2.dmem.0
                ),
            });
        }
        let mut padded = padded_rows(weights, elements, wide);
        padded.resize(rows * wide, Complex32::default());
        let kernel = build(&padded, wide, rows, &machine)?;
        let shape = Weights { elements, beams };
        Ok(Self::of("beamformer", shape, machine, vec![kernel]))
    }

    /// Beams.
    #[must_use]
    pub fn beams(&self) -> usize {
        self.shape.beams
    }

    /// What any program must compute and move for `snapshots`.
    #[must_use]
    pub fn least(&self, snapshots: usize) -> Least {
        let (t, e, b) = (
            snapshots as u128,
            self.shape.elements as u128,
            self.shape.beams as u128,
        );
        Least {
            issues: t * e * b,
            bytes: COMPLEX as u128 * t * (e + b),
            ..Least::default()
        }
    }

    /// Lower bound of the time for `snapshots`.
    #[must_use]
    pub fn bound(&self, snapshots: usize) -> Cycles {
        self.least(snapshots).cycles(self.machine())
    }

    /// The beams of `snapshots`: rows of `elements` in, rows of `beams` out.
    ///
    /// # Errors
    /// Snapshots of another length, or that do not fit the machine.
    pub fn process(&self, snapshots: &[Complex32]) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        self.process_with(snapshots, Options::default())
    }

    /// The same on a device with options.
    ///
    /// # Errors
    /// See [`Beamformer::process`].
    pub fn process_with(
        &self,
        snapshots: &[Complex32],
        options: Options,
    ) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        let (job, y) = self.job(snapshots, options)?;
        let count = snapshots.len() / self.shape.elements;
        let (beams, rows) = (self.shape.beams, self.shape.beams.next_multiple_of(BEAMS));
        Ok(job.run(self.bound(count), move |run| {
            let all = run.read(y)?;
            let own = all.chunks(rows).take(count);
            Ok(own.flat_map(|row| &row[..beams]).copied().collect())
        })?)
    }

    pub(super) fn job(
        &self,
        snapshots: &[Complex32],
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>), DspError> {
        let count = snapshots.len() / self.shape.elements;
        if count == 0 || snapshots.len() % self.shape.elements != 0 {
            return Err(DspError::Length {
                what: "the snapshots",
                found: snapshots.len(),
                expected: format!("rows of {}, at least one", self.shape.elements),
            });
        }
        self.check(count)?;
        let (wide, rows) = self.padded();
        let blocks = count.div_ceil(SNAPSHOTS);
        let mut x = padded_rows(snapshots, self.shape.elements, wide);
        x.resize(blocks * SNAPSHOTS * wide, Complex32::default());
        let bytes = |numbers: usize| (SNAPSHOTS * numbers * COMPLEX) as u64;
        let output = [(blocks * SNAPSHOTS) as u64, rows as u64];
        self.passes(options, (&[x], &output), 1, |_, x, y| {
            let x = Stream::contiguous("x", x[0], bytes(wide));
            let y = Stream::contiguous("y", y, bytes(rows));
            Paging::new(blocks as u64, vec![x], vec![y])
        })
    }

    fn padded(&self) -> (usize, usize) {
        let rows = self.shape.beams.next_multiple_of(BEAMS);
        (self.shape.elements.next_multiple_of(2), rows)
    }

    /// Refuses arrays that do not fit system memory.
    pub(super) fn check(&self, snapshots: usize) -> Result<(), DspError> {
        let (wide, rows) = self.padded();
        let whole = snapshots as u128 + 1;
        self.fits(whole * ((wide + rows) * COMPLEX) as u128)
    }

    /// Least arithmetic of the pass for the model.
    pub(super) fn operations(&self, snapshots: usize) -> Vec<Vec<(Class, u64)>> {
        vec![vec![(Class::Madd, self.least(snapshots).issues as u64)]]
    }
}

/// A block is two snapshots; for each four beams one pass over the elements.
fn build(
    weights: &[Complex32],
    wide: usize,
    rows: usize,
    machine: &Machine,
) -> Result<Kernel, DspError> {
    let mut ops = Ops::new(&[0]);
    let sums: Vec<u8> = (0..SNAPSHOTS * BEAMS).map(|_| ops.carry()).collect();
    let row = (COMPLEX * wide) as i64;
    let snapshot: Vec<_> = (0..SNAPSHOTS)
        .map(|i| ops.body.pointer(address(i), Step::Bytes(16)))
        .collect();
    let weight = ops.body.pointer(address(3), Step::Bytes(16 * BEAMS as i64));
    let x: Vec<_> = snapshot
        .iter()
        .map(|&from| {
            let value = ops.body.quad();
            ops.body.load(Reg::Whole(value), from, 0);
            value
        })
        .collect();
    for b in 0..BEAMS {
        let w = ops.body.quad();
        ops.body.load(Reg::Whole(w), weight, 16 * b as i64);
        for (t, &x) in x.iter().enumerate() {
            let sum = 2 * sums[t * BEAMS + b];
            for (w, x, sum) in [
                (Reg::Lo(w), Reg::Lo(x), sum),
                (Reg::Hi(w), Reg::Hi(x), sum + 1),
            ] {
                let sum = Reg::Pair(sum);
                ops.body.op("cmadd", &[sum], &[w, x, sum]);
            }
        }
    }
    let schedule = ops.schedule(machine)?;
    let inner = schedule.emit(wide as u64 / 2);
    let mut text = String::from(
        "; A complex matrix times pairs of vectors: generated.\n.include \"page.s\"\n.macro body\n    ldx2 c4, [a15]\n    ldx2 c6, [a15 + 8]\n",
    );
    let _ = writeln!(
        text,
        "    mov a8, c4\n    mov a9, c5\n    movi s0, {}\n    addi a10, a9, 0\n    movi s1, {}",
        SNAPSHOTS as i64 * row,
        rows * COMPLEX
    );
    let _ = writeln!(
        text,
        "    loop c6 {{\n    movi a3, weights + {}\n    add a10, a9, s1\n    loop {} {{",
        schedule.bias(weight),
        rows / BEAMS
    );
    for (i, &pointer) in snapshot.iter().enumerate() {
        let _ = writeln!(
            text,
            "    movi s2, {}\n    add a{i}, a8, s2",
            i as i64 * row + schedule.bias(pointer)
        );
    }
    for sum in &sums {
        let _ = writeln!(text, "    mov q{sum}, q31");
    }
    text += &inner.text;
    // Even and odd elements; results of a snapshot side by side.
    for (i, sum) in sums.iter().enumerate() {
        let _ = writeln!(text, "    add r{i}, r{}, r{}", 2 * sum, 2 * sum + 1);
    }
    for t in 0..SNAPSHOTS {
        for half in 0..BEAMS / 2 {
            let q = t * BEAMS / 2 + half;
            let _ = writeln!(text, "    stq q{q}, [a{}]+16", 9 + t);
        }
    }
    let _ = write!(
        text,
        "    nop\n    }}\n    add a8, a8, s0\n    add a9, a9, s1\n    nop\n    }}\n.endm\n.program\n.entry start\nstart:\n{}    page_begin\n    body\n    page_end\n    stop\n.dmem 0\n{}    .align 16\nweights:\n",
        ops.load_constants(),
        ops.constant_table()
    );
    for group in weights.chunks(BEAMS * wide) {
        for e in (0..wide).step_by(2) {
            for beam in group.chunks(wide) {
                for w in &beam[e..e + 2] {
                    let _ = writeln!(
                        text,
                        "    .int {}, {}",
                        w.re.to_bits() as i32,
                        w.im.to_bits() as i32
                    );
                }
            }
        }
    }
    let options = cp2_asm::Options {
        machine: Some(machine),
        ..cp2_asm::Options::default()
    };
    let program = assembly(
        "beamformer",
        &Source::new("beamformer", text.clone()),
        &options,
    )?
    .program;
    // Pointers, zeros, sums and stores of four beams.
    let beside = 2 * SNAPSHOTS + 2 * sums.len() + SNAPSHOTS * BEAMS / 2;
    Ok(Kernel {
        program: Arc::new(program),
        source: text,
        cycles: (inner.cycles + beside as u64) * (rows / BEAMS) as u64,
    })
}
