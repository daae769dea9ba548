//! Products of matrices, matrices times many vectors, and transposes.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::COMPLEX;
use crate::figures::{Figures, Known, Plan};
use cp2_machine::Machine;

const DEFINITION: (&str, &str) = ("the definition", "definition");
const STRASSEN: (&str, &str) = (
    "Strassen-Winograd",
    "Strassen, Gaussian elimination is not optimal, Numer. Math. 13 (1969); Winograd, On multiplication of 2 x 2 matrices, Linear Algebra Appl. 4 (1971)",
);
const THREE: (&str, &str) = (
    "three real products for a complex one",
    "Higham, Stability of a method for multiplying complex matrices with three real matrix multiplications, SIAM J. Matrix Anal. 13 (1992)",
);

/// `count` products of complex m x k by k x n matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixProducts {
    sides: [usize; 3],
    count: usize,
}

/// A complex matrix that is known in advance, of so many beams and elements, times many vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixTimesVectors {
    elements: usize,
    beams: usize,
    vectors: usize,
}

/// Transposes of complex matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transposition {
    numbers: u128,
}

/// A product by Strassen's recursion in Winograd's form while it takes fewer operations: 7 products of halves, and of
/// additions 4 of parts of the first factor, which where it is `known` are done in advance, 4 of the second, 7 of the product.
/// Two complex additions are an issue.
fn strassen([m, k, n]: [f64; 3], known: bool) -> Count {
    let direct = Count {
        products: m * k * n,
        ..Count::default()
    };
    if [m, k, n].iter().any(|side| side % 2.0 != 0.0) {
        return direct;
    }
    let quarter = |a: f64, b: f64| a * b / 4.0;
    let first = if known { 0.0 } else { 4.0 * quarter(m, k) };
    let adds = (first + 4.0 * quarter(k, n) + 7.0 * quarter(m, n)) / 2.0;
    let parts = strassen([m / 2.0, k / 2.0, n / 2.0], known) * 7.0;
    let divided = parts
        + Count {
            adds,
            ..Count::default()
        };
    match divided.issues() < direct.issues() {
        true => divided,
        false => direct,
    }
}

/// (A + iB)(C + iD) by AC, BD and (A + B)(C + D): quads of real multiply-adds, real parts and imaginary ones apart and the
/// product's together again, a permute a number.
fn three([m, k, n]: [f64; 3], known: bool) -> Count {
    let first = if known { 0.0 } else { m * k };
    Count {
        madds: 0.75 * m * k * n,
        adds: (first + k * n + 3.0 * m * n) / 4.0,
        integer: first + k * n + m * n,
        ..Count::default()
    }
}

fn known(sides: [f64; 3], fixed: bool, times: f64) -> [Known; 3] {
    let [m, k, n] = sides;
    let direct = Count {
        products: m * k * n,
        ..Count::default()
    };
    let ways = [
        (direct, DEFINITION),
        (strassen(sides, fixed), STRASSEN),
        (three(sides, fixed), THREE),
    ];
    ways.map(|(count, (method, source))| Known {
        count: count * times,
        method: method.to_owned(),
        source: source.to_owned(),
    })
}

impl MatrixProducts {
    /// Products of matrices of sides m, k, n.
    #[must_use]
    pub fn new(sides: [usize; 3], count: usize) -> Self {
        Self { sides, count }
    }

    /// Bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let [m, k, n] = self.sides.map(|side| side as u128);
        let numbers = self.count as u128 * (m * k + k * n + m * n);
        let must = Traffic::bytes(COMPLEX * numbers);
        let ways = known(self.sides.map(|s| s as f64), false, self.count as f64);
        Figures::least(machine, must, &Plan::once(must), ways)
    }
}

impl MatrixTimesVectors {
    /// A matrix of `beams` rows of `elements` times so many vectors.
    #[must_use]
    pub fn new(elements: usize, beams: usize, vectors: usize) -> Self {
        Self {
            elements,
            beams,
            vectors,
        }
    }

    /// Bound and reference. The matrix itself is of the program's tables and not counted.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let numbers = self.vectors as u128 * (self.elements as u128 + self.beams as u128);
        let must = Traffic::bytes(COMPLEX * numbers);
        Figures::least(machine, must, &Plan::once(must), self.known())
    }

    /// The ways to compute them.
    pub(crate) fn known(&self) -> Vec<Known> {
        // Vectors side by side are a matrix; of how many, the recursion may choose.
        let wide = (self.vectors.max(1) as f64).min(1024.0);
        let sides = [self.beams as f64, self.elements as f64, wide];
        known(sides, true, self.vectors as f64 / wide).into()
    }
}

impl Transposition {
    /// Transposes of `count` matrices of so many rows and columns.
    #[must_use]
    pub fn new(rows: usize, columns: usize, count: usize) -> Self {
        Self {
            numbers: rows as u128 * columns as u128 * count as u128,
        }
    }

    /// Bound and reference: nothing is computed.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let must = Traffic::bytes(2 * COMPLEX * self.numbers);
        Figures::least(machine, must, &Plan::once(must), [])
    }
}
