//! The kernels that a planner considered, as they are printed.

use std::fmt;

/// A kernel that was considered.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvCandidate {
    /// What it is.
    pub kernel: String,
    /// Expected cycles of the run; none where it does not fit the machine.
    pub cycles: Option<f64>,
    /// Whether the kernel was made; where it was not, the cycles are the least that its
    /// arithmetic takes, which is no less than the time of another.
    pub made: bool,
}

/// The kernels considered for a filter, the one taken first.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvChoice {
    /// Channels the choice was made for.
    pub channels: usize,
    /// Samples of each.
    pub samples: usize,
    /// In ascending order of their expected time.
    pub candidates: Vec<ConvCandidate>,
}

/// Kernels that are printed unless all are asked for (`{:#}`).
const PRINTED: usize = 3;

impl fmt::Display for ConvChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.candidates.len();
        let printed = if f.alternate() { all } else { PRINTED };
        let best = self.candidates.first().and_then(|c| c.cycles);
        for (i, c) in self.candidates.iter().take(printed).enumerate() {
            let mark = if i == 0 { "*" } else { " " };
            write!(f, "{mark} {}: ", c.kernel)?;
            match (c.cycles, best) {
                (Some(cycles), _) if !c.made => writeln!(f, "{cycles:.0} cycles or more")?,
                (Some(cycles), Some(best)) if i > 0 => {
                    writeln!(f, "{cycles:.0} cycles, {:.2} times as long", cycles / best)?;
                }
                (Some(cycles), _) => writeln!(f, "expected {cycles:.0} cycles")?,
                (None, _) => f.write_str("does not fit\n")?,
            }
        }
        match all.saturating_sub(printed) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }
}
