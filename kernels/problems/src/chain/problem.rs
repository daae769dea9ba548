//! The common trait of receivers, and their inputs and judgement.

use super::accuracy::decibels_error;
use super::{Accuracy, ExactSpectra};
use crate::case::Case;
use crate::data::{DataError, Element, Kind, NamedArrays};
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::Reference;
use crate::verdict::{PartVerdict, Tally, Verdict};
use crate::widen;
use num_complex::{Complex32, Complex64};

/// A receiver chain as a problem: blocks of samples in, spectra and their decibels out.
pub trait ReceiverProblem: Problem {
    /// Returns the number of rows of a block, and of samples in each.
    fn block(&self) -> [usize; 2];

    /// Returns the sides of the spectra, the points of one last.
    fn spectra(&self) -> Vec<usize>;

    /// Returns a block received from the scene, the same for the same seed on every host.
    fn scene(&self, seed: u64) -> Vec<Complex32>;

    /// Computes the spectra of a block in double precision, from the definitions. Missing samples
    /// contribute nothing.
    fn exact(&self, block: &[Complex32]) -> ExactSpectra;
}

pub(super) fn inputs(receiver: &impl ReceiverProblem) -> Vec<ArrayForm> {
    vec![ArrayForm::new("x", Kind::Complex64, &receiver.block())]
}

pub(super) fn outputs(receiver: &impl ReceiverProblem) -> Vec<ArrayForm> {
    let shape = receiver.spectra();
    vec![
        ArrayForm::new("spectra", Kind::Complex64, &shape),
        ArrayForm::new("decibels", Kind::F32, &shape),
    ]
}

/// Returns a block; random ones are of the scene. [`Case::Large`] samples are of size `2^most`.
pub(super) fn input(
    receiver: &impl ReceiverProblem,
    (case, seed): (Case, u64),
    most: i32,
) -> NamedArrays {
    let [rows, samples] = receiver.block();
    let x = match case {
        Case::Random => receiver.scene(seed),
        case => case.complexes(&mut Random::new(seed), rows * samples, samples, most),
    };
    NamedArrays::from_array("x", &[rows, samples], x)
}

/// Returns the largest exponent of samples for which no power and no intermediate number overflows. Spectra
/// are at most `gain` times as large as samples, and rows with their filter are `length` long.
pub(super) fn largest_exponent(gain: f64, length: usize) -> i32 {
    // The power of 2^63 is a finite number. A filter by transforms of K points has intermediate numbers of up
    // to K^2 times its input.
    let output = 61 - libm::ceil(libm::log2(gain.max(1.0))) as i32;
    output.min(90 - 3 * length.max(1).next_power_of_two().ilog2() as i32)
}

fn block<'a>(
    receiver: &impl ReceiverProblem,
    input: &'a NamedArrays,
) -> Result<&'a [Complex32], DataError> {
    let [rows, samples] = receiver.block();
    input.get_sized("x", rows * samples)
}

pub(super) fn reference(
    receiver: &impl ReceiverProblem,
    input: &NamedArrays,
) -> Result<Reference, DataError> {
    let exact = receiver.exact(block(receiver, input)?);
    Ok(exact.reference(receiver.spectra()))
}

/// Compares spectra with the reference, and decibels with those of the output's own spectra.
pub(super) fn judge(
    receiver: &impl ReceiverProblem,
    input: &NamedArrays,
    output: &NamedArrays,
) -> Verdict {
    match (block(receiver, input), arrays(receiver, output)) {
        (Ok(x), Some((spectra, decibels))) => {
            receiver.exact(x).accuracy(spectra, decibels).verdict()
        }
        _ => Verdict::SHAPELESS,
    }
}

/// Returns the errors of spectra, all together, and the largest of decibels, given the spectra.
pub(super) fn judge_parts(
    receiver: &impl ReceiverProblem,
    input: &NamedArrays,
    output: &NamedArrays,
) -> Option<Vec<PartVerdict>> {
    let x = block(receiver, input).ok()?;
    let (spectra, decibels) = arrays(receiver, output)?;
    let exact = receiver.exact(x);
    let pairs = exact.numbers().iter().zip(spectra);
    let spectra_part = PartVerdict {
        error: pairs.map(|(a, b)| (a - widen(*b)).norm_sqr()).sum(),
        norm: exact.numbers().iter().map(Complex64::norm_sqr).sum(),
        allowed: exact.allowed(),
    };
    Some(vec![spectra_part, decibels_part(spectra, decibels)])
}

/// Returns the distance of spectra, which may be twice the allowed error, and the largest errors of the decibels of
/// both outputs, given their spectra.
pub(super) fn agree_parts(
    receiver: &impl ReceiverProblem,
    input: &NamedArrays,
    [one, other]: [&NamedArrays; 2],
) -> Option<Vec<PartVerdict>> {
    let x = block(receiver, input).ok()?;
    let (one, other) = arrays(receiver, one).zip(arrays(receiver, other))?;
    let pairs = one.0.iter().zip(other.0);
    let distance = PartVerdict {
        error: pairs.map(|(a, b)| (widen(*a) - widen(*b)).norm_sqr()).sum(),
        norm: one.0.iter().map(|z| widen(*z).norm_sqr()).sum(),
        allowed: 2.0 * receiver.exact(x).allowed(),
    };
    let decibels = [one, other].map(|(spectra, decibels)| decibels_part(spectra, decibels));
    Some([vec![distance], decibels.to_vec()].concat())
}

/// Returns the largest error of decibels, given the spectra. It has no size to be compared with.
fn decibels_part(spectra: &[Complex32], decibels: &[f32]) -> PartVerdict {
    let error = decibels_error(spectra, decibels);
    PartVerdict {
        error: error * error,
        norm: 0.0,
        allowed: Accuracy::DECIBELS,
    }
}

/// Compares two outputs: each must have the decibels of its own spectra, and the distance of the spectra may
/// be twice the allowed error.
pub(super) fn agree(
    receiver: &impl ReceiverProblem,
    input: &NamedArrays,
    outputs: [&NamedArrays; 2],
) -> Verdict {
    let Some(parts) = agree_parts(receiver, input, outputs) else {
        return Verdict::SHAPELESS;
    };
    let sum = |parts: &[PartVerdict]| {
        let mut tally = Tally::default();
        parts.iter().for_each(|part| tally.add(*part));
        tally.verdict()
    };
    Verdict {
        rms: sum(parts.get(..1).unwrap_or_default()).rms,
        ..sum(&parts)
    }
}

/// Returns spectra and decibels, if they have the problem's shape.
fn arrays<'a>(
    receiver: &impl ReceiverProblem,
    output: &'a NamedArrays,
) -> Option<(&'a [Complex32], &'a [f32])> {
    let shape = receiver.spectra();
    Some((
        values(output, "spectra", &shape)?,
        values(output, "decibels", &shape)?,
    ))
}

fn values<'a, T: Element>(
    data: &'a NamedArrays,
    name: &'static str,
    shape: &[usize],
) -> Option<&'a [T]> {
    let array = data.array(name).ok().filter(|array| array.shape == shape)?;
    let values = T::typed_values(&array.values)?;
    (values.len() == shape.iter().product::<usize>()).then_some(values)
}
