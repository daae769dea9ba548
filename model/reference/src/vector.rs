//! Operations on every element of arrays, and reductions of their rows.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::REAL;
use crate::figures::{Figures, Known, Plan};
use cp2_machine::Machine;

/// Floats of a quad.
const QUAD: f64 = 4.0;

/// Operations on every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapOperation {
    /// Product a x.
    Scale,
    /// Multiply-add a x + y.
    Axpy,
    /// Sum x + y or difference x - y.
    Add,
    /// Product x y, or rows of x times known coefficients.
    Multiply,
    /// Product x y of complex numbers.
    ComplexMultiply,
    /// Square of the absolute value, |z|^2.
    Power,
    /// Absolute value |z|.
    Magnitude,
    /// Argument arg z.
    Phase,
    /// Decibels, 10 log10 |z|^2.
    Decibels,
}

/// An operation on all elements of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    operation: MapOperation,
    /// Number of arrays that are read.
    inputs: usize,
    /// Floats of each array.
    len: usize,
}

/// Count of four squared absolute values: four permutes separate two quads of complex numbers into real and
/// imaginary parts, then a product and a multiply-add follow.
const POWER: Count = Count {
    twiddled: 0.0,
    plain: 0.0,
    products: 0.0,
    adds: 1.0,
    madds: 1.0,
    integer: 4.0,
    elementary: 0.0,
};

/// Number of coefficients of a polynomial for atan t / t in t^2 on [0, 1], the first of which is 1, that is
/// accurate to binary32.
const ATAN: u32 = 9;

impl MapOperation {
    /// Returns the count for four floats of the output.
    fn quad(self) -> Count {
        let adds = |adds: f64| Count {
            adds,
            ..Count::default()
        };
        let elementary = Count {
            elementary: 2.0,
            ..Count::default()
        };
        match self {
            Self::Scale | Self::Add | Self::Multiply => adds(1.0),
            Self::Axpy => Count {
                madds: 1.0,
                ..Count::default()
            },
            Self::ComplexMultiply => Count {
                products: 2.0,
                ..Count::default()
            },
            Self::Power => POWER,
            // |z| = p rsqrt(p), with p = |z|^2 kept off 0 and infinity in the root: two operations, and one
            // for the product.
            Self::Magnitude => POWER + elementary + adds(2.0 + 1.0),
            Self::Decibels => POWER + elementary + adds(1.0),
            // The argument is that of t, the smaller part over the larger: separate the parts, 2 absolute
            // values, maximum, minimum, maximum with the smallest number, 2 reciprocals, quotient; square and
            // cube of t; Horner's scheme for all coefficients but the first, and the sum with t. Then
            // reflections at the diagonal and both axes: a comparison or shift, a difference and a selection
            // each; the sign takes two.
            Self::Phase => {
                let parts = Count {
                    integer: 4.0,
                    ..Count::default()
                };
                let quotient = adds(2.0 + 3.0 + 1.0) + elementary;
                let horner = Count {
                    adds: 2.0,
                    madds: f64::from(ATAN - 1),
                    ..Count::default()
                };
                let reflections = Count {
                    adds: 3.0,
                    integer: 5.0,
                    ..Count::default()
                };
                parts + quotient + horner + reflections
            }
        }
    }

    /// Returns the floats of an input for one float of the output.
    fn ratio(self) -> usize {
        match self {
            Self::Power | Self::Magnitude | Self::Phase | Self::Decibels => 2,
            _ => 1,
        }
    }

    fn method(self) -> (&'static str, &'static str) {
        match self {
            Self::Phase => (
                "a polynomial by Horner's scheme",
                "Knuth, The Art of Computer Programming 2, 4.6.4; Hastings, Approximations for digital computers (1955)",
            ),
            Self::Magnitude | Self::Decibels => {
                ("the definition by the elementary unit", "definition")
            }
            _ => ("the definition", "definition"),
        }
    }
}

impl Map {
    /// Returns an operation on `inputs` arrays of `len` floats.
    #[must_use]
    pub fn new(operation: MapOperation, inputs: usize, len: usize) -> Self {
        Self {
            operation,
            inputs,
            len,
        }
    }

    /// Returns bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let outputs = self.len / self.operation.ratio();
        let floats = self.len as u128 * self.inputs as u128 + outputs as u128;
        let must = Traffic::bytes(REAL * floats);
        Figures::least(machine, must, &Plan::once(must), self.known())
    }

    /// Returns the algorithm, the definition in most cases.
    pub(crate) fn known(&self) -> Vec<Known> {
        let outputs = self.len / self.operation.ratio();
        let (method, source) = self.operation.method();
        vec![Known {
            count: self.operation.quad() * (outputs as f64 / QUAD),
            method: method.to_owned(),
            source: source.to_owned(),
        }]
    }
}

/// Results that rows are reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionOperation {
    /// The sum.
    Sum,
    /// The sum of products, or the square root of the sum of squares.
    Dot,
    /// The sum of complex products, with numbers as pairs of floats.
    ComplexDot,
    /// The largest element and its place.
    Max,
}

/// A reduction of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    operation: ReductionOperation,
    inputs: usize,
    results: usize,
    n: usize,
    rows: usize,
}

impl Reduction {
    /// Returns a reduction of `rows` rows of `n` floats, in each of `inputs` arrays, to `results` floats or
    /// places for each row.
    #[must_use]
    pub fn new(
        operation: ReductionOperation,
        [inputs, results]: [usize; 2],
        [n, rows]: [usize; 2],
    ) -> Self {
        Self {
            operation,
            inputs,
            results,
            n,
            rows,
        }
    }

    /// Returns bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let (n, rows) = (self.n as f64, self.rows as f64);
        let one = Count::default();
        let (row, method) = match self.operation {
            // A sum of n numbers takes n - 1 additions.
            ReductionOperation::Sum => (
                Count {
                    adds: (n - 1.0).max(0.0) / QUAD,
                    ..one
                },
                "the definition, four sums at a time",
            ),
            // n multiply-adds: the first product needs no addition, but counts as one.
            ReductionOperation::Dot => (
                Count {
                    madds: n / QUAD,
                    ..one
                },
                "the definition, four sums at a time",
            ),
            ReductionOperation::ComplexDot => (
                Count {
                    products: n / 2.0,
                    ..one
                },
                "the definition",
            ),
            // The place is searched only in the part of the row that has the largest element.
            ReductionOperation::Max => (
                Count {
                    adds: (n - 1.0).max(0.0) / QUAD,
                    ..one
                },
                "a tournament, the place from its winner's part",
            ),
        };
        let floats =
            self.rows as u128 * (self.n as u128 * self.inputs as u128 + self.results as u128);
        Figures::of(
            machine,
            Traffic::bytes(REAL * floats),
            row * rows,
            method,
            "definition",
        )
    }
}
