//! A result beside the one that the user expects.

use crate::io::{Array, Kind};
use serde_json::{Value, json};
use std::fmt;

/// How far a result is from what is expected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    tolerance: f64,
    /// Elements that are too far.
    wrong: usize,
    elements: usize,
    /// Where the farthest is, how far, and both values.
    worst: Option<(usize, f64, [f64; 2])>,
}

impl Comparison {
    /// Compares arrays of one type and shape lane by lane: a difference counts as it is up to 1, relative to the expected value beyond. A NaN
    /// equals every other.
    ///
    /// # Errors
    /// Types or shapes differ.
    pub(crate) fn new(got: &Array, expected: &Array, tolerance: f64) -> Result<Self, String> {
        if got.kind != expected.kind || got.shape != expected.shape {
            return Err(format!(
                "{} of shape {:?}; expected {} of shape {:?}, as the output has",
                expected.kind.name(),
                expected.shape,
                got.kind.name(),
                got.shape
            ));
        }
        let lanes = |array: &Array| -> Vec<f64> {
            let words = array
                .bytes
                .chunks_exact(4)
                .map(|b| [b[0], b[1], b[2], b[3]]);
            match array.kind {
                Kind::Complex64 | Kind::Float32 => {
                    words.map(|b| f64::from(f32::from_le_bytes(b))).collect()
                }
                Kind::Float64 => {
                    let words = array.bytes.chunks_exact(8);
                    let number =
                        |b: &[u8]| <[u8; 8]>::try_from(b).map_or(f64::NAN, f64::from_le_bytes);
                    words.map(number).collect()
                }
                Kind::Int32 => words.map(|b| f64::from(i32::from_le_bytes(b))).collect(),
                Kind::Uint32 => words.map(|b| f64::from(u32::from_le_bytes(b))).collect(),
            }
        };
        let each = if got.kind == Kind::Complex64 { 2 } else { 1 };
        let (mut wrong, mut worst): (usize, Option<(usize, f64, [f64; 2])>) = (0, None);
        for (index, (got, expected)) in lanes(got).into_iter().zip(lanes(expected)).enumerate() {
            let error = match (got.is_nan(), expected.is_nan()) {
                (true, true) => 0.0,
                (false, false) if got == expected => 0.0,
                (false, false) => (got - expected).abs() / expected.abs().max(1.0),
                _ => f64::INFINITY,
            };
            let error = if error.is_nan() { f64::INFINITY } else { error };
            wrong += usize::from(error > tolerance);
            if worst.is_none_or(|(_, most, _)| error > most) {
                worst = Some((index / each, error, [got, expected]));
            }
        }
        let elements = got.bytes.len() / got.kind.bytes();
        Ok(Self {
            tolerance,
            wrong,
            elements,
            worst,
        })
    }

    /// Whether every element is close enough.
    pub(crate) fn is_close(&self) -> bool {
        self.wrong == 0
    }

    pub(crate) fn json(&self) -> Value {
        let worst = self.worst.map(|(index, error, [got, expected])| {
            json!({ "index": index, "error": error, "got": got, "expected": expected })
        });
        json!({ "close": self.is_close(), "tolerance": self.tolerance, "wrong": self.wrong, "elements": self.elements, "worst": worst })
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((index, error, [got, expected])) = self.worst else {
            return write!(f, "nothing to compare");
        };
        match self.wrong {
            0 => write!(
                f,
                "as expected: the largest error is {error:.3e}, tolerance {:.3e}",
                self.tolerance
            ),
            wrong => write!(
                f,
                "WRONG: {wrong} numbers are farther than {:.3e} from what is expected, the farthest in element {index} of {}: {got} instead of {expected}",
                self.tolerance, self.elements
            ),
        }
    }
}
