//! What a planner chose, and why.

use super::fft_trait::Fft;
use std::fmt;
use std::sync::Arc;

/// The recipe a planner takes.
#[derive(Clone, Debug)]
pub struct FftChoice {
    /// The plan.
    pub fft: Arc<dyn Fft>,
    /// Why this one.
    pub why: ChoiceReason,
}

/// Why a recipe is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChoiceReason {
    /// Its expected time is so near the least that butterflies take that others could save this share of long batches' at most.
    NearFloor(f64),
    /// Of several it has the smallest expected time.
    Cheapest,
    /// No other recipe is compared: others are made where it does not fit the machine, or where few come at a time.
    Only,
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NearFloor(gain) => write!(
                f,
                "written by hand, and of long batches no recipe could save more than {:.1} %",
                100.0 * gain.max(0.0)
            ),
            Self::Cheapest => f.write_str("the smallest expected time"),
            Self::Only => f.write_str("the only one compared: others are made where it does not fit, or for few at a time"),
        }
    }
}
