//! A progress bar on a terminal; nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;

/// A bar that counts to `total` things called `what`.
pub(crate) fn bar(total: u64, what: &str, quiet: bool) -> ProgressBar {
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    if let Ok(style) =
        ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} [{elapsed}, {eta} to go]")
    {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}
