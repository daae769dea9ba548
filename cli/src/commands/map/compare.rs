//! Compares a result with the array that the user expects.

use super::pattern::ElementPattern;
use super::places::{StoredPages, features};
use super::tolerance::{Bound, MapTolerance};
use crate::digits::scientific;
use crate::io::{Kind, NpyArray};
use serde_json::{Value, json};
use std::fmt;
use std::ops::Range;

/// Differences between a result and the expected array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    elements: usize,
    /// Errors of all measures that have a tolerance.
    measured: Vec<MeasuredError>,
    wrong: WrongElements,
    worst: Option<Worst>,
}

/// Measure of an error.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// Largest error of a single number: absolute up to an expected magnitude of 1, relative to the expected
    /// number beyond.
    Each,
    /// Largest difference divided by the largest expected number.
    Largest,
    /// Root mean square of the differences divided by that of the expected numbers.
    Rms,
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Largest => "largest",
            Self::Rms => "rms",
        }
    }
}

/// Error by some measure, with its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MeasuredError {
    measure: Measure,
    error: f64,
    tolerance: Bound,
}

impl MeasuredError {
    fn is_within_tolerance(&self) -> bool {
        self.tolerance.admits(self.error)
    }
}

/// Elements that exceed the tolerance of their own error, or that relative to the largest number.
#[derive(Clone, Debug, Default, PartialEq)]
struct WrongElements {
    elements: usize,
    /// Smallest box that contains all of them: a range along each axis.
    within: Vec<Range<usize>>,
    /// True for each of them, up to the last one.
    which: Vec<bool>,
    /// Description by what they have in common, if it has been looked for.
    pattern: ElementPattern,
}

/// Most elements of an array in which wrong ones are described by what they have in common.
const DESCRIBED: usize = 1 << 24;

impl WrongElements {
    fn add(&mut self, index: usize, at: &[usize]) {
        self.elements += 1;
        if index < DESCRIBED {
            self.which.resize(index, false);
            self.which.push(true);
        }
        if self.elements == 1 {
            self.within = at.iter().map(|&i| i..i + 1).collect();
        }
        for (range, &i) in self.within.iter_mut().zip(at) {
            *range = range.start.min(i)..range.end.max(i + 1);
        }
    }
}

/// Number with the largest error: place, error, value and expected value.
#[derive(Clone, Debug, PartialEq)]
struct Worst {
    index: usize,
    at: Vec<usize>,
    error: f64,
    got: f64,
    expected: f64,
}

impl Comparison {
    /// Compares arrays of one type and shape number by number, both parts of complex numbers. A NaN equals
    /// any other NaN, an infinity equals itself.
    ///
    /// # Errors
    /// Types or shapes differ.
    pub(crate) fn new(
        got: &NpyArray,
        expected: &NpyArray,
        tolerance: MapTolerance,
    ) -> Result<Self, String> {
        if got.kind != expected.kind || got.shape != expected.shape {
            return Err(format!(
                "{} of shape {:?}; expected {} of shape {:?}, as the output has",
                expected.kind.name(),
                expected.shape,
                got.kind.name(),
                got.shape
            ));
        }
        let parts = if got.kind == Kind::Complex64 { 2 } else { 1 };
        let (got_numbers, expected_numbers) = (numbers(got), numbers(expected));
        let pairs = || got_numbers.iter().zip(&expected_numbers);
        let finite = expected_numbers.iter().filter(|x| x.is_finite());
        let largest = finite.fold(0.0f64, |most, x| most.max(x.abs()));
        let differences: Vec<f64> = pairs().map(|(a, b)| difference(*a, *b)).collect();
        let errors = || differences.iter().zip(&expected_numbers);
        let mut measured = Vec::new();
        let mut add = |measure, tolerance: Option<Bound>, error: &dyn Fn() -> f64| {
            measured.extend(tolerance.map(|tolerance| MeasuredError {
                measure,
                error: error(),
                tolerance,
            }));
        };
        let most = differences.iter().fold(0.0f64, |most, d| most.max(*d));
        add(Measure::Each, tolerance.element_bound(), &|| {
            errors().fold(0.0, |most, (d, x)| most.max(single_number_error(*d, *x)))
        });
        add(Measure::Largest, tolerance.largest, &|| {
            share(most, largest)
        });
        add(Measure::Rms, tolerance.rms, &|| {
            share(rms(&differences, most), rms(&expected_numbers, largest))
        });
        // The worst number has the largest error of its own if that has a tolerance, otherwise the largest
        // difference.
        let error = |d: f64, x: f64| match tolerance.element_bound() {
            Some(_) => single_number_error(d, x),
            None => d,
        };
        let (mut wrong, mut worst): (WrongElements, Option<Worst>) =
            (WrongElements::default(), None);
        let elements = differences.chunks(parts).zip(got_numbers.chunks(parts));
        let elements = elements.zip(expected_numbers.chunks(parts));
        for (index, ((differences, got_parts), expected_parts)) in elements.enumerate() {
            let mut far = false;
            for ((&d, &got_number), &x) in differences.iter().zip(got_parts).zip(expected_parts) {
                far |= tolerance
                    .element_bound()
                    .is_some_and(|most| !most.admits(single_number_error(d, x)));
                far |= tolerance
                    .largest
                    .is_some_and(|most| !most.admits(share(d, largest)));
                if worst.as_ref().is_none_or(|worst| error(d, x) > worst.error) {
                    worst = Some(Worst {
                        index,
                        at: Vec::new(),
                        error: error(d, x),
                        got: got_number,
                        expected: x,
                    });
                }
            }
            if far {
                wrong.add(index, &place(index, &got.shape));
            }
        }
        if let Some(worst) = &mut worst {
            worst.at = place(worst.index, &got.shape);
        }
        Ok(Self {
            elements: got.bytes.len() / got.kind.bytes(),
            measured,
            wrong,
            worst,
        })
    }

    /// Finds what the wrong elements of an array of this shape have in common, in pages and blocks where these are
    /// known. Large arrays are left out.
    pub(crate) fn describe_places(&mut self, shape: &[usize], pages: Option<StoredPages<'_>>) {
        if self.wrong.elements > 0 && self.elements <= DESCRIBED {
            self.wrong.which.resize(self.elements, false);
            self.wrong.pattern = ElementPattern::new(&features(shape, pages), &self.wrong.which);
        }
    }

    /// True if the result keeps to every tolerance.
    pub(crate) fn is_close(&self) -> bool {
        self.measured.iter().all(MeasuredError::is_within_tolerance)
    }

    pub(crate) fn json(&self) -> Value {
        let worst = self.worst.as_ref().map(|worst| {
            json!({ "index": worst.index, "at": worst.at, "error": worst.error, "got": worst.got, "expected": worst.expected })
        });
        let measure = |m: &MeasuredError| json!({ "measure": m.measure.name(), "error": m.error, "tolerance": m.tolerance.get(), "holds": m.is_within_tolerance() });
        let within = self.wrong.within.iter().map(|r| [r.start, r.end]);
        json!({
            "close": self.is_close(),
            "measures": self.measured.iter().map(measure).collect::<Vec<_>>(),
            "wrong": self.wrong.elements,
            "wrong_within": within.collect::<Vec<_>>(),
            "wrong_places": Some(&self.wrong.pattern).filter(|p| !p.is_empty()).map(ToString::to_string),
            "elements": self.elements,
            "worst": worst,
        })
    }
}

/// Returns the numbers of an array, both parts of complex ones.
fn numbers(array: &NpyArray) -> Vec<f64> {
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
            let number = |b: &[u8]| <[u8; 8]>::try_from(b).map_or(f64::NAN, f64::from_le_bytes);
            words.map(number).collect()
        }
        Kind::Int32 => words.map(|b| f64::from(i32::from_le_bytes(b))).collect(),
        Kind::Uint32 => words.map(|b| f64::from(u32::from_le_bytes(b))).collect(),
    }
}

/// Returns the distance between two numbers: 0 for equal ones and for two NaNs, never NaN.
fn difference(got: f64, expected: f64) -> f64 {
    let same = got == expected || (got.is_nan() && expected.is_nan());
    match (got - expected).abs() {
        _ if same => 0.0,
        d if d.is_nan() => f64::INFINITY,
        d => d,
    }
}

/// Returns the error of a single number: `difference / max(1, |expected|)` for a finite expected number.
fn single_number_error(difference: f64, expected: f64) -> f64 {
    match expected.is_finite() {
        true => difference / expected.abs().max(1.0),
        false => difference,
    }
}

/// Returns `part / whole`, and 0 for a part of 0.
fn share(part: f64, whole: f64) -> f64 {
    if part == 0.0 { 0.0 } else { part / whole }
}

/// Returns the root mean square of the finite numbers, of which `largest` has the largest magnitude; infinite
/// if `largest` is. Numbers are divided by `largest` before they are squared, so that no square leaves the
/// range of f64.
fn rms(numbers: &[f64], largest: f64) -> f64 {
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    let finite = || numbers.iter().filter(|x| x.is_finite());
    let squares: f64 = finite().map(|x| (x / largest) * (x / largest)).sum();
    largest * (squares / finite().count().max(1) as f64).sqrt()
}

/// Returns the coordinates of an element, slowest axis first.
fn place(index: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = index;
    let mut at: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&n| {
            let i = rest % n.max(1);
            rest /= n.max(1);
            i
        })
        .collect();
    at.reverse();
    at
}

impl fmt::Display for MeasuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tolerance = self.tolerance;
        let error = scientific(self.error, 3, tolerance.get());
        match self.measure {
            Measure::Each => write!(f, "the largest error is {error}, tolerance {tolerance}"),
            Measure::Largest => write!(
                f,
                "the largest difference is {error} of the largest expected number, tolerance {tolerance}"
            ),
            Measure::Rms => write!(
                f,
                "the root mean square of the differences is {error} of that of the expected numbers, tolerance {tolerance}"
            ),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(worst) = &self.worst else {
            return write!(f, "nothing to compare");
        };
        let close = self.is_close();
        let shown = self
            .measured
            .iter()
            .filter(|m| close || !m.is_within_tolerance());
        let shown: Vec<String> = shown.map(ToString::to_string).collect();
        if close {
            return write!(f, "as expected: {}", shown.join("; "));
        }
        write!(f, "WRONG: {}", shown.join("; "))?;
        if self.wrong.elements > 0 {
            let within = self
                .wrong
                .within
                .iter()
                .map(|r| format!("{}:{}", r.start, r.end));
            write!(
                f,
                "; {} of {} elements are too far, all of them within [{}]",
                self.wrong.elements,
                self.elements,
                within.collect::<Vec<_>>().join(", ")
            )?;
            if !self.wrong.pattern.is_empty() {
                write!(f, ": {}", self.wrong.pattern)?;
            }
        }
        let Worst {
            at, got, expected, ..
        } = worst;
        write!(f, "; the farthest is {at:?}: {got} instead of {expected}")
    }
}

#[cfg(test)]
mod tests;
