use crate::conv::ConvError;
use crate::dsp::DspError;
use crate::fft::FftError;

/// Why a chain cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// A specification that makes no sense.
    #[error("{what}: {found} is not possible; expected {expected}")]
    Spec {
        /// The number.
        what: &'static str,
        /// Its value.
        found: String,
        /// What is possible.
        expected: &'static str,
    },
    /// Data of another shape.
    #[error("the data hold {found} numbers; expected {expected}")]
    Shape {
        /// Numbers found.
        found: usize,
        /// What was expected.
        expected: String,
    },
    /// A filter.
    #[error(transparent)]
    Filter(#[from] ConvError),
    /// A vector operation.
    #[error(transparent)]
    Vector(#[from] DspError),
    /// A transform.
    #[error(transparent)]
    Fft(#[from] FftError),
    /// A stage did not finish.
    #[error("stage `{stage}`: {end}")]
    Unfinished {
        /// The stage.
        stage: &'static str,
        /// How it ended.
        end: String,
    },
    /// The checkers found something in a stage.
    #[error("stage `{stage}`: the checkers found {findings} errors in its kernel")]
    Findings {
        /// The stage.
        stage: &'static str,
        /// How many.
        findings: usize,
    },
}
