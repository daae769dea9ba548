//! The filter kernels that a planner considered, as printed.

use std::fmt;

/// A kernel that a planner considered.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvCandidate {
    /// Name of the kernel.
    pub kernel: String,
    /// Expected cycles of the run; none if the kernel does not fit the machine.
    pub cycles: Option<f64>,
    /// True if the kernel was made. If not, the cycles are the least that its arithmetic takes, and another
    /// kernel takes no longer than that.
    pub made: bool,
}

/// The kernels considered for a filter; the first one is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvChoice {
    /// Number of channels that the choice was made for.
    pub channels: usize,
    /// Samples of each channel.
    pub samples: usize,
    /// Candidates in ascending order of their expected time.
    pub candidates: Vec<ConvCandidate>,
}

/// Kernels that are printed unless all are asked for (`{:#}`).
const PRINTED_KERNELS: usize = 3;

impl fmt::Display for ConvChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.candidates.len();
        let printed = if f.alternate() { all } else { PRINTED_KERNELS };
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
