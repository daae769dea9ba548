//! Products of a matrix with many vectors.

use super::{stream, sum_error};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use crate::widen;
use num_complex::{Complex32, Complex64};

/// Most elements of a random matrix.
const MOST_WEIGHTS: usize = 1 << 24;

/// A complex matrix of `beams` rows of `elements`, times `snapshots` vectors: the sum of w x over the
/// elements, without conjugation.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamProblem {
    weights: Vec<Complex32>,
    elements: usize,
    snapshots: usize,
}

impl BeamProblem {
    /// Returns the products of a matrix, given by rows of `elements` weights, with `snapshots` vectors.
    ///
    /// # Errors
    /// Weights that do not fill rows, or no vectors.
    pub fn new(
        weights: &[Complex32],
        elements: usize,
        snapshots: usize,
    ) -> Result<Self, ProblemError> {
        let beams = weights.len() / elements.max(1);
        let what = || format!("{snapshots} vectors of {elements} numbers");
        let sides = [
            ("the elements of a vector", elements),
            ("the number of vectors", snapshots),
        ];
        self::elements(&what, &sides)?;
        let sides = [("the rows of a matrix", beams), sides[1]];
        self::elements(&what, &sides)?;
        if !weights.len().is_multiple_of(elements) {
            return Err(ProblemError::odd(
                "the number of weights",
                weights.len(),
                format!("whole rows of {elements}"),
            ));
        }
        Ok(Self {
            weights: weights.to_vec(),
            elements,
            snapshots,
        })
    }

    /// Returns the problem of a size with `elements`, `beams` and `snapshots`; the weights are random.
    ///
    /// # Errors
    /// See [`BeamProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [elements, beams, snapshots] = size.all_positive(["elements", "beams", "snapshots"])?;
        let weights = elements.checked_mul(beams).filter(|&n| n <= MOST_WEIGHTS);
        let weights =
            weights.ok_or_else(|| size.make_error("beams", "those of a smaller matrix"))?;
        Self::new(&Random::new(1).complexes(weights), elements, snapshots)
    }

    /// Returns the matrix, row by row.
    #[must_use]
    pub fn weights(&self) -> &[Complex32] {
        &self.weights
    }

    /// Returns the numbers of a vector.
    #[must_use]
    pub fn vector(&self) -> usize {
        self.elements
    }

    /// Returns the numbers of a result.
    #[must_use]
    pub fn beams(&self) -> usize {
        self.weights.len() / self.elements
    }

    /// Returns the number of vectors.
    #[must_use]
    pub fn snapshots(&self) -> usize {
        self.snapshots
    }
}

/// Computes a sum of products, with the error it may have.
pub(super) fn dot(pairs: impl Iterator<Item = (Complex32, Complex32)>) -> (Complex64, f64) {
    let (mut sum, mut sizes, mut terms) = (Complex64::default(), 0.0, 0);
    for (a, b) in pairs {
        let product = widen(a) * widen(b);
        sum += product;
        sizes += product.norm();
        terms += 2;
    }
    (sum, sum_error(terms, sizes))
}

impl Problem for BeamProblem {
    fn name(&self) -> &'static str {
        "beamformer"
    }

    fn title(&self) -> String {
        format!(
            "{} x {} matrix times {} vectors",
            self.beams(),
            self.elements,
            self.snapshots
        )
    }

    fn size(&self) -> Size {
        Size::new(&[
            ("elements", self.elements),
            ("beams", self.beams()),
            ("snapshots", self.snapshots),
        ])
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        let shape = [self.snapshots, self.elements];
        vec![ArrayForm::new("x", Kind::Complex64, &shape)]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        let shape = [self.snapshots, self.beams()];
        vec![ArrayForm::new("y", Kind::Complex64, &shape)]
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let (row, shape) = (self.elements, [self.snapshots, self.elements]);
        let most = 100 - row.next_power_of_two().ilog2() as i32;
        let x = case.complexes(&mut stream(seed, 0), self.snapshots * row, row, most);
        NamedArrays::from_array("x", &shape, x)
    }

    fn is_defined_beyond_finite(&self) -> bool {
        true
    }

    fn tolerance_in_words(&self) -> &'static str {
        super::SUM_IN_WORDS
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let x = input.get_sized::<Complex32>("x", self.snapshots * self.elements)?;
        let rows = || self.weights.chunks(self.elements);
        let vectors = x.chunks(self.elements);
        let all = vectors
            .flat_map(|x| rows().map(move |w| dot(w.iter().copied().zip(x.iter().copied()))));
        let (exact, allowed) = all.unzip();
        Ok(Reference::from_array(ExpectedArray {
            name: "y",
            shape: vec![self.snapshots, self.beams()],
            exact: Exact::Complex(exact),
            part: 1,
            allowed,
        }))
    }
}
