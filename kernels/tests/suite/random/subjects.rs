//! Draws kernels and problems with random sizes.

use super::machines::pick;
use cp2_kernels::registry::{self, Kernel, Size, SizeParameter, SizeValue};
use cp2_kernels::{Cp2Backend, Method, Random};
use cp2_machine::Machine;
use cp2_problems::{KINDS, Problem, ProblemKind};
use std::fmt;
use std::sync::Arc;

/// A kernel of the registry, or a kind of problem that the library can compute.
#[derive(Clone, Copy)]
pub(crate) enum Subject {
    Kernel(&'static dyn Kernel),
    Problem(&'static ProblemKind),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(kernel) => write!(f, "kernel {}", kernel.name()),
            Self::Problem(kind) => write!(f, "problem {}", kind.name),
        }
    }
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

impl Subject {
    /// Returns all subjects: benchmarks, or everything else.
    pub(crate) fn all(benchmarks: bool) -> Vec<Self> {
        let kernels = registry::all().into_iter();
        let kernels = kernels.filter(|kernel| kernel.name().starts_with("npb-") == benchmarks);
        let kernels = kernels.map(Self::Kernel);
        if benchmarks {
            return kernels.collect();
        }
        // Problems whose kernel in the registry does all that they ask for are there already.
        let more = ["fft", "fft-nd", "fft-real", "conv", "conv-real"];
        let problems = KINDS.iter().filter(|kind| more.contains(&kind.name));
        kernels.chain(problems.map(Self::Problem)).collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kernel(kernel) => kernel.name(),
            Self::Problem(kind) => kind.name,
        }
    }

    fn parameters(self) -> &'static [SizeParameter] {
        match self {
            Self::Kernel(kernel) => kernel.parameters(),
            Self::Problem(kind) => kind.parameters,
        }
    }

    /// Makes the problem of a size.
    pub(crate) fn problem(self, size: &Size) -> Result<Arc<dyn Problem>, Failed> {
        match self {
            Self::Kernel(kernel) => Ok(kernel.problem(size)?),
            Self::Problem(kind) => Ok(kind.make_problem(size)?),
        }
    }

    /// Plans how the problem is computed.
    pub(crate) fn method(
        self,
        problem: &dyn Problem,
        machine: &Arc<Machine>,
    ) -> Result<Method, Failed> {
        match self {
            Self::Kernel(kernel) => Ok(kernel.method(problem, machine)?),
            Self::Problem(_) => Ok(Cp2Backend::new(machine.clone()).method(problem)?),
        }
    }
}

/// Most numbers of a whole input or output, so that runs are short.
const MOST: u64 = 1 << 15;

/// First seed of runs of the NAS benchmarks; lower seeds stand for runs of everything else.
pub(crate) const BENCHMARKS: u64 = 1 << 32;

/// Draws a subject and a size.
pub(crate) fn draw(random: &mut Random, benchmarks: bool) -> (Subject, Size) {
    let subject = pick(random, &Subject::all(benchmarks));
    let values = values(subject, random);
    let named = subject.parameters().iter().map(|p| p.name).zip(values);
    (subject, Size::new(&named.collect::<Vec<_>>()))
}

/// Draws a number up to `most`, evenly on a logarithmic scale.
fn up_to(random: &mut Random, most: u64) -> u64 {
    let most = most.max(1);
    let bits = random.next_u64() % u64::from(most.ilog2() + 1);
    let value = (1 << bits) + random.next_u64() % (1 << bits);
    value.min(most)
}

/// Draws a power of two between two exponents.
fn power(random: &mut Random, least: u64, most: u64) -> u64 {
    1 << (least + random.next_u64() % (most - least + 1))
}

/// Draws the length of a transform: a power of two, a product of small factors, or any number.
fn length(random: &mut Random, most: u64) -> u64 {
    match random.next_u64() % 4 {
        0 => power(random, 1, u64::from(most.ilog2())),
        1 | 2 => smooth(random, most),
        _ => up_to(random, most.min(3000)),
    }
}

/// Draws a product of prime factors to 31, mostly small ones.
fn smooth(random: &mut Random, most: u64) -> u64 {
    const FACTORS: [u64; 16] = [2, 2, 2, 2, 2, 3, 3, 3, 4, 5, 5, 7, 11, 13, 17, 31];
    let target = up_to(random, most).max(2);
    let mut n = 1;
    loop {
        let factor = pick(random, &FACTORS);
        if n * factor > target {
            return n.max(2);
        }
        n *= factor;
    }
}

/// Draws a batch of items of so many numbers each.
fn batch(random: &mut Random, each: u64) -> u64 {
    up_to(random, (MOST / each.max(1)).clamp(1, 200))
}

fn values(subject: Subject, random: &mut Random) -> Vec<SizeValue> {
    let numbers = |all: &[u64]| all.iter().map(|&n| SizeValue::from(n)).collect::<Vec<_>>();
    let direction = |random: &mut Random| SizeValue::from(pick(random, &["forward", "inverse"]));
    let whole = matches!(subject, Subject::Problem(_));
    match subject.name() {
        "fft" | "fft-real" | "fft-real-inverse" => {
            let n = length(random, 1 << 14);
            let mut all = numbers(&[n, batch(random, n)]);
            if whole {
                all.push(direction(random));
            }
            all
        }
        "fft-large" => numbers(&[power(random, 10, 15), up_to(random, 2)]),
        "fft-mixed" => {
            let n = smooth(random, 6000);
            numbers(&[n, batch(random, n)])
        }
        "fft-bluestein" => {
            let n = up_to(random, 1500);
            numbers(&[n, batch(random, 2 * n)])
        }
        "fft-nd" => {
            let planes = pick(random, &[1, 1, 4, 8, 16, 32]);
            let rows = power(random, 2, 9);
            let columns = power(random, 4, 10);
            let rows = rows.min((2 * MOST / planes / columns).max(4));
            let count = batch(random, planes * rows * columns);
            let mut all = numbers(&[planes, rows, columns, count]);
            if whole {
                all.push(direction(random));
            }
            all
        }
        "conv" | "conv-real" => {
            let channels = pick(random, &[1, 1, 2, 3, 7, 16, 40]);
            let samples = up_to(random, MOST / channels);
            let taps = up_to(random, 3000);
            let mut all = numbers(&[taps, samples, channels]);
            if whole {
                all.push(SizeValue::from(pick(random, &["full", "same", "valid"])));
            }
            all
        }
        "fir" => {
            let channels = pick(random, &[1, 1, 2, 3, 7]);
            let samples = up_to(random, MOST / channels);
            let taps = up_to(random, 400);
            let factor = up_to(random, 60);
            let (decimate, interpolate) = match random.next_u64() % 3 {
                0 => (1, 1),
                1 => (factor, 1),
                _ => (1, factor.min((4 * MOST / samples / channels).max(1))),
            };
            let real = random.next_u64() % 2;
            numbers(&[taps, samples, channels, decimate, interpolate, real])
        }
        "sum" | "dot" | "complex-dot" | "norm" | "max" => {
            let n = up_to(random, 4096);
            let n = match subject.name() {
                "complex-dot" => n.next_multiple_of(2),
                _ => n,
            };
            numbers(&[n, batch(random, n)])
        }
        "beamformer" => {
            let (elements, beams) = (up_to(random, 150), up_to(random, 40));
            numbers(&[elements, beams, batch(random, elements.max(beams))])
        }
        "small-products" => {
            let [m, k, n] = [(); 3].map(|()| up_to(random, 9));
            numbers(&[m, k, n, batch(random, (m * k).max(k * n))])
        }
        "transpose" => {
            let (rows, columns) = (up_to(random, 200), up_to(random, 200));
            numbers(&[rows, columns, batch(random, rows * columns)])
        }
        "stencil" => {
            let points = pick(random, &[5, 9, 7, 19, 27]);
            let columns = up_to(random, 400);
            let rows = up_to(random, (MOST / columns).min(100));
            let planes = match points {
                5 | 9 => 1,
                _ => up_to(random, (MOST / columns / rows).min(30)),
            };
            let mut all = numbers(&[planes, rows, columns, points, up_to(random, 3)]);
            let edges = ["zero", "fixed", "mirrored", "periodic"];
            all.push(SizeValue::from(pick(random, &edges)));
            all.push(SizeValue::from(pick(
                random,
                &["class", "class", "element"],
            )));
            all
        }
        "spmv" => {
            let patterns = [
                "band",
                "grid5",
                "grid7",
                "fem",
                "random",
                "power-law",
                "dense-row",
                "empty",
                "mesh",
            ];
            let pattern = pick(random, &patterns);
            let n = match pattern {
                "grid5" => 3 + up_to(random, 40),
                "grid7" => 2 + up_to(random, 12),
                _ => 20 + up_to(random, 2000),
            };
            let cols = match pattern {
                "random" | "empty" => pick(random, &[0u64, 0, 9, 700]),
                _ => 0,
            };
            let each = match pattern {
                "fem" => 3 + up_to(random, 4) % 4,
                _ => up_to(random, 12),
            };
            let field = pick(random, &["real", "real", "complex", "pattern"]);
            vec![
                SizeValue::from(pattern),
                SizeValue::from(n),
                SizeValue::from(cols),
                SizeValue::from(each),
                SizeValue::from(pick(random, &["-9,-1,0,1,9", "0,2,16", "-3,0"])),
                SizeValue::from(field),
                SizeValue::from(up_to(random, 100)),
                SizeValue::from(pick(random, &[1u64, 1, 1, 3])),
            ]
        }
        "radar" => {
            let pulses = 2 * up_to(random, 32);
            let ranges = 2 * up_to(random, (MOST / pulses / 2).min(1000));
            numbers(&[pulses, ranges, up_to(random, 200)])
        }
        "sonar" => {
            let [hydrophones, beams] = [(); 2].map(|()| 2 * up_to(random, 16));
            let points = 2 * up_to(random, 100);
            let decimate = up_to(random, 6);
            // At least a frame, and some samples beyond the last frame.
            let most = MOST / hydrophones;
            let least = decimate * points;
            let samples = least + up_to(random, most.saturating_sub(least));
            let taps = up_to(random, 200);
            numbers(&[hydrophones, beams, samples, decimate, taps, points])
        }
        "npb-cg" => {
            // Shifts inside the spectrum, which reaches about 10 for 8 entries, make systems that 25 steps in
            // single precision do not solve.
            let (rows, entries) = (15 + up_to(random, 600), up_to(random, 8));
            let shift = 5 + 3 * entries + up_to(random, 20);
            numbers(&[rows, entries, up_to(random, 2), shift])
        }
        "npb-ft" => {
            let (planes, rows) = (power(random, 5, 8), power(random, 2, 7));
            let columns = power(random, 4, 7).min((MOST / planes / rows).max(16));
            numbers(&[planes, rows, columns, up_to(random, 3)])
        }
        "npb-mg" => numbers(&[power(random, 4, 5), up_to(random, 3)]),
        "window" => numbers(&[1024 * up_to(random, 16)]),
        // Operations on every element, of complex numbers or of floats.
        _ => numbers(&[up_to(random, MOST).next_multiple_of(2)]),
    }
}
