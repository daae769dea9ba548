//! The trait of problems: arrays, inputs, reference and judgement.

use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::multiply_add::MultiplyAdd;
use crate::reference::Reference;
use crate::size::Size;
use crate::verdict::{PartVerdict, Verdict};
use std::any::Any;
use std::fmt;

/// Name, element type and shape of an array of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayForm {
    /// Name of the array.
    pub name: &'static str,
    /// Type of its elements.
    pub kind: Kind,
    /// Its sides, the last one contiguous.
    pub shape: Vec<usize>,
}

impl ArrayForm {
    /// Returns a form of these parts.
    #[must_use]
    pub fn new(name: &'static str, kind: Kind, shape: &[usize]) -> Self {
        Self {
            name,
            kind,
            shape: shape.to_vec(),
        }
    }
}

/// A computation of a certain size: its inputs, its exact outputs and the allowed errors.
///
/// Backends recognise a problem by its type, see the [crate's documentation](crate).
pub trait Problem: Any + fmt::Debug + Send + Sync {
    /// Returns the kind of problem, the same for all sizes, such as `fft`.
    fn name(&self) -> &'static str;

    /// Returns one line for reports, with the size.
    fn title(&self) -> String;

    /// Returns the size, in the parameters of its kind.
    fn size(&self) -> Size;

    /// Returns the forms of the input arrays, in their order.
    fn inputs(&self) -> Vec<ArrayForm>;

    /// Returns the forms of the output arrays.
    fn outputs(&self) -> Vec<ArrayForm>;

    /// Returns the kinds of input that the tolerance is meant for.
    fn cases(&self) -> &'static [Case] {
        &Case::FINITE
    }

    /// Returns an input, the same for the same seed on every host.
    fn input(&self, case: Case, seed: u64) -> NamedArrays;

    /// Computes the output in double precision, with the errors that a result may have.
    ///
    /// # Errors
    /// The input does not fit the problem.
    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError>;

    /// True if the definition says which results of [`Case::NotFinite`] are infinite or no numbers, and which are
    /// neither: then results are judged from that case too, wherever arithmetic is that of IEEE 754.
    fn is_defined_beyond_finite(&self) -> bool {
        self.cases().contains(&Case::NotFinite)
    }

    /// Returns the error that a result may have, in words, with its derivation or the place of it.
    fn tolerance_in_words(&self) -> &'static str {
        ""
    }

    /// Computes the output in single precision, operation by operation in the order of the definition, with one
    /// rounding or two of each product that is added to a sum. None if the definition leaves the order open, or
    /// the input does not fit the problem.
    ///
    /// No backend has to be equal to it: it tells how one that is rounds.
    fn compute_in_order(&self, input: &NamedArrays, rounding: MultiplyAdd) -> Option<NamedArrays> {
        let _ = (input, rounding);
        None
    }

    /// Compares an output with the reference. An output of another shape is wrong.
    fn judge(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
        let reference = self.reference(input);
        reference.map_or(Verdict::SHAPELESS, |exact| exact.judge(output))
    }

    /// Returns the parts that [`Problem::judge`] compares, with their errors; none for an output of another shape.
    /// `reference` is that of the input.
    fn judge_parts(
        &self,
        reference: &Reference,
        input: &NamedArrays,
        output: &NamedArrays,
    ) -> Option<Vec<PartVerdict>> {
        let _ = input;
        reference.judge_parts(output)
    }

    /// Returns the parts that [`Problem::agree`] compares, with their distances; none for outputs of another shape.
    /// `reference` is that of the input.
    fn agree_parts(
        &self,
        reference: &Reference,
        input: &NamedArrays,
        [one, other]: [&NamedArrays; 2],
    ) -> Option<Vec<PartVerdict>> {
        let _ = input;
        reference.agree_parts(one, other)
    }

    /// Compares the outputs of two backends with each other: their distance may be twice the error that each
    /// may have.
    fn agree(&self, input: &NamedArrays, one: &NamedArrays, other: &NamedArrays) -> Verdict {
        let reference = self.reference(input);
        reference.map_or(Verdict::SHAPELESS, |exact| exact.agree(one, other))
    }
}

impl dyn Problem {
    /// Returns the problem as a type `P`, if it is of that type.
    #[must_use]
    pub fn downcast_ref<P: Problem>(&self) -> Option<&P> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}
