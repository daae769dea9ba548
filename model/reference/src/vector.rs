//! Operations on every element of arrays, and reductions of their rows.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::REAL;
use crate::figures::{Figures, Known, Plan};
use cp2_machine::Machine;

/// Floats of a quad.
const QUAD: f64 = 4.0;

/// What is done with every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapOperation {
    /// a x.
    Scale,
    /// a x + y.
    Axpy,
    /// x + y or x - y.
    Add,
    /// x y, or rows of x times coefficients that are known.
    Multiply,
    /// x y of complex numbers.
    ComplexMultiply,
    /// |z|^2.
    Power,
    /// |z|.
    Magnitude,
    /// arg z.
    Phase,
    /// 10 log10 |z|^2.
    Decibels,
}

/// An operation on all elements of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    operation: MapOperation,
    /// Arrays that are read.
    inputs: usize,
    /// Floats of each.
    len: usize,
}

/// Squares of complex numbers' absolute values, four at a time: two quads by pairs into real and imaginary parts, in four permutes,
/// then a product and a multiply-add.
const POWER: Count = Count {
    twiddled: 0.0,
    plain: 0.0,
    products: 0.0,
    adds: 1.0,
    madds: 1.0,
    integer: 4.0,
    elementary: 0.0,
};

/// Coefficients of the polynomial for atan t / t in t^2 on [0, 1], the first of which is 1, that is good to binary32.
const ATAN: u32 = 9;

impl MapOperation {
    /// What four floats of the output take.
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
            // p rsqrt(p), p kept off 0 and infinity in the root.
            Self::Magnitude => POWER + elementary + adds(2.0 + 1.0),
            Self::Decibels => POWER + elementary + adds(1.0),
            // Of the smaller of both parts over the larger: parts apart, 2 absolute values, largest, smallest, largest with the smallest
            // number, 2 reciprocals, quotient; its square and cube; Horner's scheme for all coefficients but the first, and
            // what this is added to. Reflections at the diagonal and both axes: a comparison or shift, difference, selection;
            // the sign is two.
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

    /// Floats of an input for one of the output.
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
    /// An operation on `inputs` arrays of `len` floats.
    #[must_use]
    pub fn new(operation: MapOperation, inputs: usize, len: usize) -> Self {
        Self {
            operation,
            inputs,
            len,
        }
    }

    /// Bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let outputs = self.len / self.operation.ratio();
        let floats = self.len as u128 * self.inputs as u128 + outputs as u128;
        let must = Traffic::bytes(REAL * floats);
        Figures::least(machine, must, &Plan::once(must), self.known())
    }

    /// The way to compute it.
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

/// What rows are reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionOperation {
    /// The sum.
    Sum,
    /// The sum of products, or of squares and its root.
    Dot,
    /// The sum of complex products, floats in couples.
    ComplexDot,
    /// The largest and its place.
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
    /// A reduction of `rows` rows of `n` floats of each of `inputs` arrays to `results` floats or places a row.
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

    /// Bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let (n, rows) = (self.n as f64, self.rows as f64);
        let one = Count::default();
        let (row, method) = match self.operation {
            // n numbers need one addition fewer.
            ReductionOperation::Sum => (
                Count {
                    adds: (n - 1.0).max(0.0) / QUAD,
                    ..one
                },
                "the definition, four sums at a time",
            ),
            // The first product needs no addition.
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
            // The place is looked for in the part of the row that has the largest.
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
