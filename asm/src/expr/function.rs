//! Functions of constant expressions: names, arguments, evaluation.

use super::{Value, trig};
use crate::diag::Problem;

/// A function of constant expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Bitrev,
    Bits,
    Ceil,
    Cos,
    Exp2,
    Float,
    Floor,
    Int,
    IsPowerOfTwo,
    Log2,
    Max,
    Min,
    Round,
    Sin,
    Single,
    Sqrt,
}

/// Name, function, fewest and most arguments of each row.
const FUNCTIONS: [(&str, Function, usize, usize); 17] = [
    ("abs", Function::Abs, 1, 1),
    ("bitrev", Function::Bitrev, 2, 2),
    ("bits", Function::Bits, 1, 1),
    ("ceil", Function::Ceil, 1, 1),
    ("cos", Function::Cos, 1, 1),
    ("exp2", Function::Exp2, 1, 1),
    ("float", Function::Float, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("int", Function::Int, 1, 1),
    ("is_power_of_two", Function::IsPowerOfTwo, 1, 1),
    ("log2", Function::Log2, 1, 1),
    ("max", Function::Max, 1, 64),
    ("min", Function::Min, 1, 64),
    ("round", Function::Round, 1, 1),
    ("sin", Function::Sin, 1, 1),
    ("single", Function::Single, 1, 1),
    ("sqrt", Function::Sqrt, 1, 1),
];

impl Function {
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|row| row.0 == name).map(|row| row.1)
    }

    /// Iterates over the names of all functions, for suggestions.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        FUNCTIONS
            .iter()
            .map(|row| row.0)
            .chain(["constant", "defined"])
    }

    /// Evaluates the function.
    pub(crate) fn call(self, args: &[Value]) -> Result<Value, Problem> {
        let Some(&(name, _, fewest, most)) = FUNCTIONS.iter().find(|row| row.1 == self) else {
            return Err(Problem::Overflow);
        };
        let (Some(&first), true) = (args.first(), (fewest..=most).contains(&args.len())) else {
            return Err(Problem::ArgumentCount {
                what: format!("function `{name}`"),
                fewest,
                most,
                found: args.len(),
            });
        };
        let integer = |v: Value| {
            v.as_int().ok_or(Problem::NotInteger {
                what: format!("`{name}`"),
                value: v,
            })
        };
        let x = first.to_f64();
        let to_int = |v: f64| {
            // The doubles strictly between -2^63 - 1 and 2^63 are the ones that fit.
            if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&v) {
                Ok(Value::Int(v as i64))
            } else {
                Err(Problem::Overflow)
            }
        };
        match (self, first) {
            (Self::Abs, Value::Int(v)) => v.checked_abs().map(Value::Int).ok_or(Problem::Overflow),
            (Self::Ceil | Self::Floor | Self::Int | Self::Round, Value::Int(_)) => Ok(first),
            (Self::Abs, _) => Ok(Value::Float(x.abs())),
            (Self::Ceil, _) => to_int(libm::ceil(x)),
            (Self::Floor, _) => to_int(libm::floor(x)),
            (Self::Int, _) => to_int(libm::trunc(x)),
            (Self::Round, _) => to_int(libm::rint(x)),
            (Self::Bitrev, _) => bitrev(
                integer(first)?,
                args.get(1).copied().map_or(Ok(0), integer)?,
            ),
            (Self::Bits, _) => {
                let bits = integer(first)?;
                let bits = u32::try_from(bits).map_err(|_| Problem::OutOfRange {
                    what: "the argument of `bits`".into(),
                    value: bits,
                    least: 0,
                    most: i64::from(u32::MAX),
                })?;
                Ok(Value::from_f32_bits(bits))
            }
            (Self::Exp2, _) if x.is_nan() => Ok(Value::Float(f64::NAN)),
            (Self::Cos, _) => Ok(Value::Float(trig::turns(x).0)),
            (Self::Sin, _) => Ok(Value::Float(trig::turns(x).1)),
            (Self::Exp2, _) => Ok(Value::Float(libm::exp2(x))),
            (Self::Float, _) => Ok(Value::Float(x)),
            (Self::IsPowerOfTwo, _) => {
                // Only the sign and the exponent of such a number are not zero.
                let power = x.is_normal() && x.to_bits() << 12 == 0;
                Ok(Value::Int(i64::from(power)))
            }
            (Self::Single, _) => Ok(Value::from_f32_bits(first.to_f32_bits())),
            (Self::Log2, Value::Int(v)) if v > 0 && v & (v - 1) == 0 => {
                Ok(Value::Int(i64::from(v.trailing_zeros())))
            }
            (Self::Log2, _) if x > 0.0 => Ok(Value::Float(libm::log2(x))),
            (Self::Sqrt, _) if x >= 0.0 => Ok(Value::Float(libm::sqrt(x))),
            (Self::Log2 | Self::Sqrt, _) => Err(Problem::Domain {
                function: name,
                value: first,
            }),
            (Self::Max | Self::Min, _) => Ok(args
                .iter()
                .copied()
                .fold(first, |best, v| if self.better(v, best) { v } else { best })),
        }
    }

    fn better(self, a: Value, b: Value) -> bool {
        let less = match (a, b) {
            (Value::Int(a), Value::Int(b)) => (a < b, a > b),
            _ => (a.to_f64() < b.to_f64(), a.to_f64() > b.to_f64()),
        };
        if self == Self::Min { less.0 } else { less.1 }
    }
}

fn bitrev(value: i64, bits: i64) -> Result<Value, Problem> {
    if !(0..=62).contains(&bits) {
        return Err(Problem::OutOfRange {
            what: "the width of `bitrev`".into(),
            value: bits,
            least: 0,
            most: 62,
        });
    }
    let most = (1 << bits) - 1;
    if !(0..=most).contains(&value) {
        return Err(Problem::OutOfRange {
            what: format!("a {bits}-bit argument of `bitrev`"),
            value,
            least: 0,
            most,
        });
    }
    Ok(Value::Int(if bits == 0 {
        0
    } else {
        ((value as u64).reverse_bits() >> (64 - bits)) as i64
    }))
}
