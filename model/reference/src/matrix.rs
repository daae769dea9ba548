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

/// A complex matrix of `beams` rows of `elements` that is known in advance, times many vectors.
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

/// Counts a product by Strassen's recursion in Winograd's form, as long as that takes fewer operations. One
/// level has 7 products of halves and 15 additions of quarters: 4 of the first factor, which are done in
/// advance if it is `known`, 4 of the second factor, 7 of the product. Two complex additions are one issue.
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

/// Counts the product (A + iB)(C + iD) by three real products: AC, BD and (A + B)(C + D), in quads of real
/// multiply-adds. Real and imaginary parts are separated, and joined in the product, with one permute for
/// each number.
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
    /// Returns `count` products of matrices of sides m, k, n.
    #[must_use]
    pub fn new(sides: [usize; 3], count: usize) -> Self {
        Self { sides, count }
    }

    /// Returns bound and reference.
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
    /// Returns a matrix of `beams` rows of `elements` times `vectors` vectors.
    #[must_use]
    pub fn new(elements: usize, beams: usize, vectors: usize) -> Self {
        Self {
            elements,
            beams,
            vectors,
        }
    }

    /// Returns bound and reference. The matrix belongs to the program's tables, and its bytes are not
    /// counted.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let numbers = self.vectors as u128 * (self.elements as u128 + self.beams as u128);
        let must = Traffic::bytes(COMPLEX * numbers);
        Figures::least(machine, must, &Plan::once(must), self.known())
    }

    /// Returns the known algorithms for all vectors.
    pub(crate) fn known(&self) -> Vec<Known> {
        // Adjacent vectors form a matrix; up to 1024 of them are taken as its columns for the recursion.
        let wide = (self.vectors.max(1) as f64).min(1024.0);
        let sides = [self.beams as f64, self.elements as f64, wide];
        known(sides, true, self.vectors as f64 / wide).into()
    }
}

impl Transposition {
    /// Returns transposes of `count` matrices of `rows` rows and `columns` columns.
    #[must_use]
    pub fn new(rows: usize, columns: usize, count: usize) -> Self {
        Self {
            numbers: rows as u128 * columns as u128 * count as u128,
        }
    }

    /// Returns bound and reference, which are equal: nothing is computed.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let must = Traffic::bytes(2 * COMPLEX * self.numbers);
        Figures::least(machine, must, &Plan::once(must), [])
    }
}
