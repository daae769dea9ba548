//! The line of a report about passes that fill clamped edges.

use cp2_kernels::map::Mapped;

/// Returns a line about the extra passes that fill the edges of clamped rows; empty if there are none.
pub(crate) fn margins(done: &Mapped) -> String {
    let passes = match done.clamps {
        0 => return String::new(),
        1 => "1 pass more makes".to_owned(),
        n => format!("{n} passes more make"),
    };
    format!(
        "{passes} the clamped edges along rows: the DMA cannot repeat an element smaller than what it moves at a time; edges of zeros or periodic ones, or blocks that end with the rows and have no halo along them, take none\n"
    )
}
