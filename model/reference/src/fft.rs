//! Bounds and references of Fourier transforms: complex, real, n-D.

use crate::bound::Traffic;
use crate::count::{Count, NumberFormat};
use crate::figures::{Figures, Known, Plan};
use crate::transforms::{Means, Search, searches};
use cp2_machine::{Extensions, Machine};

/// Bytes of a real number and of a complex number.
pub(crate) const REAL: u128 = 4;
pub(crate) const COMPLEX: u128 = 8;

/// Longest length that is searched; longer ones are counted as this one, as no machine has memory for them.
const LONGEST: u64 = 1 << 40;

/// `batch` complex transforms of `n` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fft {
    n: usize,
    batch: usize,
}

/// `batch` complex transforms over all axes of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FftArray {
    axes: Vec<usize>,
    batch: usize,
}

/// `batch` transforms of `n` real numbers to the n/2 + 1 numbers of their spectra that are not conjugates of
/// others, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealFft {
    n: usize,
    batch: usize,
    inverse: bool,
}

/// Returns the least counts of one complex transform of `n` numbers.
pub(crate) fn transforms(n: usize) -> Vec<Known> {
    let n = (n as u64).min(LONGEST);
    let ways = searches().into_iter().map(|mut search| search.plain(n));
    let known = ways.map(|way| Known {
        count: way.count,
        method: way.means.method(),
        source: way.means.source(),
    });
    known.collect()
}

/// Multiplies the counts of known algorithms by a number of repetitions.
fn repeated(known: Vec<Known>, times: f64) -> impl Iterator<Item = Known> {
    known.into_iter().map(move |way| Known {
        count: way.count * times,
        ..way
    })
}

/// Plans the transfers of `batch` transforms; `held` are the bytes of one transform's numbers, `number` those
/// of one number, `ends` those of input and output of one transform.
///
/// If one section's memory holds a transform, its ends are moved once. If the memories of all sections
/// together hold it, each section also hands on what it does not keep, (S - 1)/S of the numbers, out and in
/// through system memory, or from register to register where the machine exchanges these. Otherwise all numbers are
/// moved once more in each direction, in two passes.
fn moved((held, number): (u128, u128), ends: u128, batch: u128, machine: &Machine) -> Plan {
    let sections = machine.cp2.sections.max(1) as u128;
    let dmem = u128::from(machine.cp2.dmem.0);
    let once = Traffic::bytes(ends.saturating_mul(batch));
    // The comparison is strict, as factors, arguments and tables need room besides the numbers.
    if held < dmem {
        return Plan::once(once);
    }
    let together = held < dmem.saturating_mul(sections);
    let exchanges = machine.cp2.extensions.contains(Extensions::EXCHANGE);
    let (between, how) = match together {
        true if exchanges => (0, "the sections exchange registers"),
        true => (
            (2 * held * (sections - 1)).div_ceil(sections),
            "the sections exchange through system memory",
        ),
        false => (2 * held, "two passes over system memory"),
    };
    // The method's text gives the bytes for each of the N numbers.
    let numbers = (held / number).max(1) as f64;
    let each = (ends + between) as f64 / numbers;
    Plan {
        traffic: Traffic::bytes((ends + between).saturating_mul(batch)),
        method: format!("{how}: {} N bytes", each.round()),
        source: "Bailey, FFTs in external or hierarchical memory, J. Supercomputing 4 (1990)",
    }
}

impl Fft {
    /// Returns `batch` transforms of length `n`.
    #[must_use]
    pub fn new(n: usize, batch: usize) -> Self {
        Self { n, batch }
    }

    /// Returns the length of a transform.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Returns the number of transforms.
    pub(crate) fn batch(&self) -> usize {
        self.batch
    }

    /// Returns the arithmetic issues of one transform if every butterfly, product and quad is one issue.
    #[must_use]
    pub fn issues(&self) -> f64 {
        let counts = transforms(self.n).into_iter().map(|way| way.count.issues());
        counts.fold(f64::INFINITY, f64::min)
    }

    /// Returns bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let bytes = COMPLEX * self.n as u128;
        let plan = moved((bytes, COMPLEX), 2 * bytes, self.batch as u128, machine);
        let must = Traffic::bytes((2 * bytes).saturating_mul(self.batch as u128));
        Figures::least(machine, must, &plan, self.known())
    }

    /// Returns the known algorithms for all transforms of the batch.
    pub(crate) fn known(&self) -> Vec<Known> {
        repeated(transforms(self.n), self.batch as f64).collect()
    }
}

impl FftArray {
    /// Returns `batch` transforms of arrays with these axes.
    #[must_use]
    pub fn new(axes: &[usize], batch: usize) -> Self {
        Self {
            axes: axes.to_vec(),
            batch,
        }
    }

    /// Returns bound and reference: transforms along one axis after the other.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        self.figures_beside(Count::default(), NumberFormat::Binary32, machine)
    }

    /// Returns bound and reference with additional arithmetic `beside` in the passes of the transforms.
    pub(crate) fn figures_beside(
        &self,
        beside: Count,
        format: NumberFormat,
        machine: &Machine,
    ) -> Figures {
        let number = 2 * u128::from(format.bytes());
        let numbers: u128 = self.axes.iter().map(|&n| n as u128).product();
        let bytes = number * numbers;
        let plan = moved((bytes, number), 2 * bytes, self.batch as u128, machine);
        let must = Traffic::bytes((2 * bytes).saturating_mul(self.batch as u128));
        let along = |search: &mut Search| {
            let mut whole = Known::default();
            let mut means = Means::default();
            for &n in &self.axes {
                let way = search.plain((n as u64).min(LONGEST));
                let times = numbers as f64 / n.max(1) as f64 * self.batch as f64;
                whole.count = whole.count + way.count * times;
                means = means.with(way.means);
            }
            whole.count = whole.count + beside;
            whole.method = format!("rows and columns, {}", means.method());
            whole.source = means.source();
            whole
        };
        let known: Vec<_> = searches().iter_mut().map(along).collect();
        Figures::least_of(format, machine, must, &plan, known)
    }
}

impl RealFft {
    /// Returns `batch` transforms of `n` real numbers to half spectra, or `inverse` ones.
    #[must_use]
    pub fn new(n: usize, batch: usize, inverse: bool) -> Self {
        Self { n, batch, inverse }
    }

    /// Returns the length of a transform.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Returns the number of transforms.
    pub(crate) fn batch(&self) -> usize {
        self.batch
    }

    /// Returns bound and reference: the arithmetic is half of that of a complex transform.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let (n, batch) = (self.n as u128, self.batch as u128);
        let ends = REAL * n + COMPLEX * (n / 2 + 1);
        let plan = moved((REAL * n, REAL), ends, batch, machine);
        // The imaginary parts of the first and, for even lengths, the last number are ignored; with granules
        // of four bytes they need not be moved.
        let ignored = match self.inverse && machine.dma.granule.0 < 8 {
            true => REAL * (2 - n % 2),
            false => 0,
        };
        let must = Traffic::bytes((ends - ignored).saturating_mul(batch));
        let known = repeated(transforms(self.n), batch as f64 / 2.0).map(|way| Known {
            method: format!("half of a complex transform: {}", way.method),
            source: format!(
                "Sorensen, Jones, Heideman, Burrus, Real-valued fast Fourier transform algorithms, IEEE Trans. ASSP 35 (1987); {}",
                way.source
            ),
            ..way
        });
        Figures::least(machine, must, &plan, known)
    }
}
