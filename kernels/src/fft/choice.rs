//! The plan that a planner takes for a length, and the reason for it.

use super::fft_trait::Fft;
use std::fmt;
use std::sync::Arc;

/// The recipe a planner takes.
#[derive(Clone, Debug)]
pub struct FftChoice {
    /// The plan.
    pub fft: Arc<dyn Fft>,
    /// Reason for which the planner takes this plan.
    pub why: ChoiceReason,
}

/// Reasons for which a planner takes a recipe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChoiceReason {
    /// The recipe's expected time is so near the butterflies' lower bound that another recipe could save at
    /// most this share of the time of a long batch.
    NearFloor(f64),
    /// The recipe has the smallest expected time of several.
    Cheapest,
    /// No other recipe is compared: others are made only where this one does not fit the machine, or where
    /// few transforms come at a time.
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
