//! Quads of numbers in registers, and operations on them in every precision.
//!
//! In double-single precision a number is the unevaluated sum of two binary32, and an operation is a sequence of
//! operations on upper and lower parts (`docs/numerics.md`): T. J. Dekker, *A floating-point technique for extending
//! the available precision* (Numerische Mathematik 18, 1971); D. E. Knuth, *The Art of Computer Programming*, volume 2,
//! 4.2.2; Y. Hida, X. S. Li, D. H. Bailey, *Algorithms for quad-double precision floating point arithmetic* (ARITH-15,
//! 2001). The rows `adde` and `mule` give the rounding errors of `add` and `mul`.
//!
//! | operation | issues | with a power of two |
//! |---|---|---|
//! | a + b | 4 | |
//! | a b | 3, and 1 if b has a lower part | 2 |
//! | a b + c | 7, and 1 if b has a lower part | 5 |
//! | making the parts of a result not overlap | 2 | |
//!
//! Sums of several terms make their parts not overlap once, when the result is stored. Until then a lower part is some
//! units of the last place of the largest upper part of a sum, and each operation on it loses at most 2^-24 of that.

use crate::pipeline::Ops;
use cp2_asm::schedule::DataOperand;
use cp2_problems::npb::Precision;
use cp2_problems::split_double;

/// As many numbers as an operation on quads computes.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberQuad {
    /// The numbers; in double-single precision their upper parts.
    pub(super) high: DataOperand,
    /// The lower parts; none in other formats, and none of constants that are exact in binary32.
    pub(super) low: Option<DataOperand>,
    form: NumberForm,
}

/// Knowledge of the numbers of a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberForm {
    /// The parts may overlap: sums and products before the last two operations.
    Overlapping,
    /// The lower part is at most half a unit of the last place of the upper part, or there is none.
    Normal,
    /// All are the same power of two.
    PowerOfTwo,
}

impl NumberQuad {
    /// Returns numbers that a register has.
    pub(super) fn whole(high: DataOperand) -> Self {
        Self {
            high,
            low: None,
            form: NumberForm::Normal,
        }
    }

    /// Returns a power of two, all of whose numbers a register has.
    pub(super) fn power_of_two(high: DataOperand) -> Self {
        Self {
            form: NumberForm::PowerOfTwo,
            ..Self::whole(high)
        }
    }

    /// Returns numbers of two parts that do not overlap.
    pub(super) fn of_parts([high, low]: [DataOperand; 2]) -> Self {
        Self {
            low: Some(low),
            ..Self::whole(high)
        }
    }

    /// Returns numbers whose registers are made from these, one by one, by an operation that moves bits.
    pub(super) fn map(self, mut move_bits: impl FnMut(DataOperand) -> DataOperand) -> Self {
        Self {
            high: move_bits(self.high),
            low: self.low.map(move_bits),
            ..self
        }
    }

    /// Returns the upper part, and the lower part if there is one.
    pub(super) fn parts(self) -> impl Iterator<Item = DataOperand> {
        std::iter::once(self.high).chain(self.low)
    }
}

/// Constants of a loop: the lanes of a quad for each, and of one more where a constant has a lower part.
pub(super) struct ConstantQuads {
    pub(super) lanes: Vec<[u32; 4]>,
    /// For each constant the indices of its upper and its lower part, and what is known of it.
    places: Vec<(usize, Option<usize>, NumberForm)>,
}

impl ConstantQuads {
    /// Returns these values in a precision.
    pub(super) fn new(precision: Precision, values: &[f64]) -> Self {
        let mut constants = Self {
            lanes: Vec::new(),
            places: Vec::new(),
        };
        for &value in values {
            let index = constants.lanes.len();
            constants.lanes.push(fill_quad(precision, value));
            let rest = split_double(value)[1];
            let low = (precision == Precision::DoubleSingle && rest != 0.0).then(|| {
                constants.lanes.push([rest.to_bits(); 4]);
                index + 1
            });
            let form = match is_power_of_two(value) {
                true => NumberForm::PowerOfTwo,
                false => NumberForm::Normal,
            };
            constants.places.push((index, low, form));
        }
        constants
    }

    /// Returns the constants in the registers that operations have them in.
    pub(super) fn in_registers(&self, ops: &Ops) -> Vec<NumberQuad> {
        let register = |&(high, low, form): &(usize, Option<usize>, NumberForm)| NumberQuad {
            high: ops.constant(high),
            low: low.map(|low| ops.constant(low)),
            form,
        };
        self.places.iter().map(register).collect()
    }
}

/// Returns the lanes of a quad whose numbers are all the same one, of which it has the upper parts in double-single
/// precision.
pub(super) fn fill_quad(precision: Precision, value: f64) -> [u32; 4] {
    match precision {
        Precision::Single | Precision::DoubleSingle => [(value as f32).to_bits(); 4],
        Precision::Double => {
            let bits = value.to_bits();
            let [low, high] = [bits as u32, (bits >> 32) as u32];
            [low, high, low, high]
        }
    }
}

/// Returns true for a positive or negative power of two: products with it are exact in every format.
fn is_power_of_two(value: f64) -> bool {
    value.is_normal() && value.to_bits() << 12 == 0
}

/// Applies an operation to quads of a precision; it is named as in single precision. Operations that move bits are the
/// same in all.
pub(super) fn apply(
    ops: &mut Ops,
    precision: Precision,
    name: &'static str,
    uses: &[NumberQuad],
) -> NumberQuad {
    let name = match (precision, name, uses) {
        (Precision::DoubleSingle, "add", &[a, b]) => return add(ops, a, b),
        (Precision::DoubleSingle, "mul", &[a, b]) => return multiply(ops, a, b),
        (Precision::DoubleSingle, "madd", &[a, b, c]) => return multiply_add(ops, a, b, c),
        (Precision::DoubleSingle, "and", &[a, mask]) => {
            return a.map(|part| ops.q("and", &[part, mask.high]));
        }
        (Precision::Double, "add", _) => "dadd",
        (Precision::Double, "mul", _) => "dmul",
        (Precision::Double, "madd", _) => "dmadd",
        (_, name, _) => name,
    };
    let uses: Vec<DataOperand> = uses.iter().map(|own| own.high).collect();
    NumberQuad::whole(ops.q(name, &uses))
}

/// Returns numbers of an upper part and a sum of lower parts, which may overlap.
fn overlapping(high: DataOperand, low: DataOperand) -> NumberQuad {
    NumberQuad {
        high,
        low: Some(low),
        form: NumberForm::Overlapping,
    }
}

/// Adds up the lower parts that there are.
fn add_low(
    ops: &mut Ops,
    first: DataOperand,
    others: impl IntoIterator<Item = DataOperand>,
) -> DataOperand {
    let mut low = first;
    for other in others {
        low = ops.q("add", &[low, other]);
    }
    low
}

/// Returns a + b: the sum of the upper parts with its error, to which the lower parts are added.
fn add(ops: &mut Ops, a: NumberQuad, b: NumberQuad) -> NumberQuad {
    let high = [a.high, b.high];
    let (sum, error) = (ops.q("add", &high), ops.q("adde", &high));
    let mut low = a.low.into_iter().chain(b.low);
    let low = match low.next() {
        // The errors come last: the lower parts are known before.
        Some(first) => {
            let rest: Vec<DataOperand> = low.chain([error]).collect();
            add_low(ops, first, rest)
        }
        None => error,
    };
    overlapping(sum, low)
}

/// Returns a b: the product of the upper parts with its error, to which the products of an upper and a lower part are
/// added. By a power of two both parts are multiplied, which is exact.
fn multiply(ops: &mut Ops, a: NumberQuad, b: NumberQuad) -> NumberQuad {
    if b.form == NumberForm::PowerOfTwo {
        return a.map(|part| ops.q("mul", &[part, b.high]));
    }
    let high = [a.high, b.high];
    let (product, error) = (ops.q("mul", &high), ops.q("mule", &high));
    overlapping(product, add_crossed(ops, a, b, error))
}

/// Adds the products of an upper and a lower part to a lower part.
fn add_crossed(ops: &mut Ops, a: NumberQuad, b: NumberQuad, mut low: DataOperand) -> DataOperand {
    for (part, whole) in [(a.low, b.high), (b.low, a.high)] {
        if let Some(part) = part {
            low = ops.q("madd", &[part, whole, low]);
        }
    }
    low
}

/// Returns a b + c: the product's upper part and c are added as a sum is, and all lower parts and errors are added up.
fn multiply_add(ops: &mut Ops, a: NumberQuad, b: NumberQuad, c: NumberQuad) -> NumberQuad {
    let high = [a.high, b.high];
    let product = ops.q("mul", &high);
    let mut errors = Vec::new();
    if b.form != NumberForm::PowerOfTwo {
        errors.push(ops.q("mule", &high));
    }
    let both = [product, c.high];
    let (sum, error) = (ops.q("add", &both), ops.q("adde", &both));
    // The crossed products are added to the lower part of c; if it has none, to this error.
    let first = match c.low {
        Some(low) => {
            errors.push(error);
            low
        }
        None => error,
    };
    let crossed = add_crossed(ops, a, b, first);
    overlapping(sum, add_low(ops, crossed, errors))
}

/// Makes parts not overlap: their sum and its error.
pub(super) fn normalise(ops: &mut Ops, quad: NumberQuad) -> NumberQuad {
    match (quad.form, quad.low) {
        (NumberForm::Overlapping, Some(low)) => {
            let parts = [quad.high, low];
            NumberQuad::of_parts(["add", "adde"].map(|name| ops.q(name, &parts)))
        }
        _ => quad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_asm::schedule::Dataflow;

    /// Issues are those of the table at the head of this file.
    #[test]
    fn sequences_have_their_issues() {
        let precision = Precision::DoubleSingle;
        let issues = |factor: f64, name: &'static str, count: usize| {
            let constants = ConstantQuads::new(precision, &[factor]);
            let mut ops = Ops::from_quads(Dataflow::evenly(), constants.lanes.clone());
            let mut value = || {
                let parts = [(); 2].map(|()| DataOperand::Whole(ops.body.quad()));
                NumberQuad::of_parts(parts)
            };
            let (a, c) = (value(), value());
            let constant = constants.in_registers(&ops)[0];
            let uses = match name {
                "add" => vec![a, c],
                "mul" => vec![a, constant],
                _ => vec![a, constant, c],
            };
            let result = apply(&mut ops, precision, name, &uses);
            assert_eq!(ops.body.arithmetic(), count, "{name} {factor:?}");
            normalise(&mut ops, result);
            let more = usize::from(result.form == NumberForm::Overlapping) * 2;
            assert_eq!(ops.body.arithmetic(), count + more);
        };
        for (factor, product, sum) in [(0.5, 2, 5), (-0.375, 3, 7), (1.0 / 6.0, 4, 8)] {
            issues(factor, "add", 4);
            issues(factor, "mul", product);
            issues(factor, "madd", sum);
        }
    }
}
