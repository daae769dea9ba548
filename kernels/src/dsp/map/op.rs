//! Elementwise operations as formulas on quads.

use crate::pipeline::Ops;
use cp2_asm::schedule::{DataOperand, DataValue};
use cp2_problems::vector::MapOp;
use cp2_reference::MapOperation;

/// Polynomial for atan on [0, 1]: `atan t = t + t^3 (c0 + c1 t^2 + ... + c7 t^14)`.
///
/// The coefficients interpolate atan(sqrt s) / sqrt s at nine Chebyshev nodes; the error is 1.9e-8.
const ATAN: [f32; 8] = [
    -0.333_330_36,
    0.199_918_72,
    -0.141_977_98,
    0.106_183_71,
    -0.074_568_55,
    0.042_137_623,
    -0.015_731_25,
    0.002_766_283_5,
];

/// Schemes for evaluating a polynomial; latencies and registers decide which is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Horner's scheme, one multiply-add after the other: the fewest operations.
    Horner,
    /// Estrin's scheme, pairs of terms, then pairs of these: one square more for each level, but a much
    /// shorter chain.
    Estrin,
}

impl Scheme {
    pub(super) const ALL: [Self; 2] = [Self::Horner, Self::Estrin];

    /// Evaluates the polynomial with these coefficients, the constant one first; their number is a power of
    /// two.
    fn polynomial(
        self,
        ops: &mut Ops,
        coefficients: &[DataOperand],
        x: DataOperand,
    ) -> DataOperand {
        let mut terms = coefficients.to_vec();
        match self {
            Self::Horner => {
                let sum = terms.into_iter().rev();
                let sum = sum.reduce(|sum, c| ops.q("madd", &[sum, x, c]));
                sum.unwrap_or(x)
            }
            Self::Estrin => {
                let mut power = x;
                loop {
                    terms = terms
                        .chunks_exact(2)
                        .map(|pair| ops.q("madd", &[pair[1], power, pair[0]]))
                        .collect();
                    if terms.len() < 2 {
                        return terms.first().copied().unwrap_or(x);
                    }
                    power = ops.q("mul", &[power, power]);
                }
            }
        }
    }
}

/// The parts of which the kernel of an operation is made.
pub(super) trait Formula {
    /// Returns the schemes to compute it, of which a machine takes the fastest.
    fn schemes(&self) -> &'static [Scheme];
    /// Returns the name of the operation in the references.
    fn operation(&self) -> MapOperation;
    /// Returns numbers that every iteration loads, each into the four lanes of a quad.
    fn table(&self) -> Vec<u32>;
    /// Returns numbers that stay in registers.
    fn constants(&self) -> Vec<u32>;
    /// Adds the operations that compute four floats of the result, and returns their register.
    ///
    /// Operands are the quads of each input, and a table that every iteration loads anew so that registers
    /// are free for values.
    fn formula(
        &self,
        ops: &mut Ops,
        x: &[DataValue],
        y: Option<DataValue>,
        table: &[DataValue],
        scheme: Scheme,
    ) -> DataOperand;
}

impl Formula for MapOp {
    fn schemes(&self) -> &'static [Scheme] {
        match self {
            Self::Phase => &Scheme::ALL,
            _ => &[Scheme::Horner],
        }
    }

    fn operation(&self) -> MapOperation {
        match self {
            Self::Scale(_) => MapOperation::Scale,
            Self::Axpy(_) => MapOperation::Axpy,
            Self::Add | Self::Subtract => MapOperation::Add,
            Self::Multiply | Self::Window(_) => MapOperation::Multiply,
            Self::ComplexMultiply => MapOperation::ComplexMultiply,
            Self::Power => MapOperation::Power,
            Self::Magnitude => MapOperation::Magnitude,
            Self::Phase => MapOperation::Phase,
            Self::Decibels => MapOperation::Decibels,
        }
    }

    fn table(&self) -> Vec<u32> {
        if *self != Self::Phase {
            return Vec::new();
        }
        let (half, pi) = (std::f32::consts::FRAC_PI_2, std::f32::consts::PI);
        let floats = ATAN.into_iter().chain([f32::MIN_POSITIVE, half, pi]);
        floats.map(f32::to_bits).chain([31, 1 << 31]).collect()
    }

    fn constants(&self) -> Vec<u32> {
        let floats = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect();
        match self {
            Self::Scale(a) | Self::Axpy(a) => floats(&[*a]),
            // The smallest and the largest positive finite number.
            Self::Magnitude => vec![1, f32::MAX.to_bits()],
            Self::Decibels => floats(&[(10.0 * std::f64::consts::LOG10_2) as f32]),
            _ => Vec::new(),
        }
    }

    fn formula(
        &self,
        ops: &mut Ops,
        x: &[DataValue],
        y: Option<DataValue>,
        table: &[DataValue],
        scheme: Scheme,
    ) -> DataOperand {
        let first = DataOperand::Whole(x[0]);
        let second = y.map_or(first, DataOperand::Whole);
        let a = ops.constant(0);
        match self {
            Self::Scale(_) => ops.q("mul", &[first, a]),
            Self::Axpy(_) => ops.q("madd", &[first, a, second]),
            Self::Add => ops.q("add", &[first, second]),
            Self::Subtract => ops.q("sub", &[first, second]),
            Self::Multiply | Self::Window(_) => ops.q("mul", &[first, second]),
            Self::ComplexMultiply => ops.pairs("cmul", &[first, second]),
            Self::Power => power(ops, x).0,
            Self::Magnitude => {
                let (p, _) = power(ops, x);
                let most = ops.constant(1);
                ops.root(p, (a, most))
            }
            Self::Decibels => {
                let (p, _) = power(ops, x);
                let log = ops.pairs("log2", &[p]);
                ops.q("mul", &[log, a])
            }
            Self::Phase => phase(ops, x, table, scheme),
        }
    }
}

/// Computes `re re + im im` of four complex numbers; returns it and their real parts.
fn power(ops: &mut Ops, x: &[DataValue]) -> (DataOperand, DataOperand) {
    let (re, im) = ops.split(DataOperand::Whole(x[0]), DataOperand::Whole(x[1]));
    let square = ops.q("mul", &[re, re]);
    (ops.q("madd", &[im, im, square]), re)
}

/// Computes atan2(im, re) of four complex numbers.
///
/// With t = min(|re|, |im|) / max(|re|, |im|): `angle = t + t^3 p(t^2)`, then pi/2 - angle if |im| > |re|, pi
/// - angle if re is negative, and the sign of im.
fn phase(ops: &mut Ops, x: &[DataValue], table: &[DataValue], scheme: Scheme) -> DataOperand {
    let (coefficients, others) = table.split_at(ATAN.len());
    let [tiny, half_pi, pi, shift, sign] = [0, 1, 2, 3, 4].map(|i| DataOperand::Whole(others[i]));
    let (re, im) = ops.split(DataOperand::Whole(x[0]), DataOperand::Whole(x[1]));
    let (ax, ay) = (ops.q("abs", &[re]), ops.q("abs", &[im]));
    let larger = ops.q("max", &[ax, ay]);
    let smaller = ops.q("min", &[ax, ay]);
    let divisor = ops.q("max", &[larger, tiny]);
    let inverse = ops.pairs("rcp", &[divisor]);
    let t = ops.q("mul", &[smaller, inverse]);
    let square = ops.q("mul", &[t, t]);
    let cube = ops.q("mul", &[t, square]);
    let terms: Vec<DataOperand> = coefficients
        .iter()
        .map(|&c| DataOperand::Whole(c))
        .collect();
    let p = scheme.polynomial(ops, &terms, square);
    let angle = ops.q("madd", &[cube, p, t]);
    // Cases: steeper than the diagonal; left of the imaginary axis; below the real axis.
    let steep = ops.q("cmplt", &[ax, ay]);
    let other = ops.q("sub", &[half_pi, angle]);
    let angle = ops.q("sel", &[other, angle, steep]);
    let left = ops.q("sar", &[re, shift]);
    let other = ops.q("sub", &[pi, angle]);
    let angle = ops.q("sel", &[other, angle, left]);
    let below = ops.q("and", &[im, sign]);
    ops.q("or", &[angle, below])
}
