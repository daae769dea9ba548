//! Values of constant expressions.

use std::fmt;

/// An integer or a float, as in C: mixing them gives a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A 64-bit integer.
    Int(i64),
    /// A double.
    Float(f64),
}

impl Value {
    /// Returns the integer, if the value is one.
    #[must_use]
    pub const fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(v) => Some(v),
            Self::Float(_) => None,
        }
    }

    /// Converts the value to a double.
    #[must_use]
    pub const fn to_f64(self) -> f64 {
        match self {
            Self::Int(v) => v as f64,
            Self::Float(v) => v,
        }
    }

    /// Returns the bits of the value as a binary32, rounded to nearest even. A NaN keeps its sign and the
    /// upper bits of its payload, so that every pattern given by `bits(...)` survives.
    #[must_use]
    pub fn to_f32_bits(self) -> u32 {
        match self {
            Self::Int(v) => (v as f32).to_bits(),
            Self::Float(v) if v.is_nan() => {
                let bits = v.to_bits();
                (bits >> 32) as u32 & 0x8000_0000 | 0x7f80_0000 | (bits >> 29) as u32 & 0x007f_ffff
            }
            Self::Float(v) => (v as f32).to_bits(),
        }
    }

    /// Converts a binary32 pattern to a double, NaN payloads included.
    #[must_use]
    pub fn from_f32_bits(bits: u32) -> Self {
        let value = f32::from_bits(bits);
        Self::Float(if value.is_nan() {
            let payload = u64::from(bits & 0x007f_ffff) << 29;
            f64::from_bits(u64::from(bits & 0x8000_0000) << 32 | 0x7ff0_0000_0000_0000 | payload)
        } else {
            f64::from(value)
        })
    }

    /// True if the value is not zero; a NaN is true.
    #[must_use]
    pub fn is_true(self) -> bool {
        match self {
            Self::Int(v) => v != 0,
            Self::Float(v) => v != 0.0,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(v) => write!(f, "{v}"),
            Self::Float(v) => write!(f, "{v:?}"),
        }
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Self::Int(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Self::Float(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary32_patterns_survive() {
        for bits in [
            0,
            0x8000_0000,
            0x3f80_0000,
            1,
            0x7f80_0000,
            0xff80_0000,
            0x7f80_0001,
            0xffc0_1234,
            0x7fff_ffff,
        ] {
            assert_eq!(Value::from_f32_bits(bits).to_f32_bits(), bits, "{bits:#x}");
        }
    }
}
