//! What is to be computed.

use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::reference::Reference;
use crate::size::Size;
use crate::verdict::Verdict;
use std::any::Any;
use std::fmt;

/// An array of a problem: name, elements and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayForm {
    /// Its name.
    pub name: &'static str,
    /// Its elements.
    pub kind: Kind,
    /// Its sides, the last contiguous.
    pub shape: Vec<usize>,
}

impl ArrayForm {
    /// An array.
    #[must_use]
    pub fn new(name: &'static str, kind: Kind, shape: &[usize]) -> Self {
        Self {
            name,
            kind,
            shape: shape.to_vec(),
        }
    }
}

/// A computation of a certain size: what it is given, what it should give, and how exactly.
///
/// Backends recognise it by its type, see the [crate's documentation](crate).
pub trait Problem: Any + fmt::Debug + Send + Sync {
    /// The kind of problem, the same for all sizes: `fft`.
    fn name(&self) -> &'static str;

    /// One line for reports, with the size.
    fn title(&self) -> String;

    /// Its size, in the terms of its kind.
    fn size(&self) -> Size;

    /// The arrays of its input, in their order.
    fn inputs(&self) -> Vec<ArrayForm>;

    /// The arrays of its output.
    fn outputs(&self) -> Vec<ArrayForm>;

    /// The kinds of input for which its tolerance is meant.
    fn cases(&self) -> &'static [Case] {
        &Case::FINITE
    }

    /// An input: the same for the same seed on every host.
    fn input(&self, case: Case, seed: u64) -> NamedArrays;

    /// The output in double precision, and how far from it one may lie.
    ///
    /// # Errors
    /// An input that is not the problem's.
    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError>;

    /// Compares an output with the reference. What is not of the problem's shape is wrong.
    fn judge(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
        let reference = self.reference(input);
        reference.map_or(Verdict::SHAPELESS, |exact| exact.judge(output))
    }

    /// Compares the outputs of two backends with each other: they may be twice as far apart as
    /// each may be from the reference.
    fn agree(&self, input: &NamedArrays, one: &NamedArrays, other: &NamedArrays) -> Verdict {
        let reference = self.reference(input);
        reference.map_or(Verdict::SHAPELESS, |exact| exact.agree(one, other))
    }
}

impl dyn Problem {
    /// The problem, if it is of this type.
    #[must_use]
    pub fn downcast_ref<P: Problem>(&self) -> Option<&P> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}
