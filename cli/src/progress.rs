//! Progress bars of simulated time, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Thread that draws a bar until it is dropped. If no thread can be started, nothing is drawn, since the bar
/// is decoration.
struct Drawing {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drawing {
    /// Calls `draw` with the bar after each `pause`; does nothing unless `seen`.
    fn start(
        seen: bool,
        pause: Duration,
        bar: impl FnOnce() -> ProgressBar + Send + 'static,
        draw: impl Fn(&ProgressBar) + Send + 'static,
    ) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let stop = end.clone();
        let work = move || {
            let bar = bar();
            while !stop.load(Ordering::Relaxed) {
                std::thread::park_timeout(pause);
                draw(&bar);
            }
            bar.finish_and_clear();
        };
        let thread = seen.then(|| std::thread::Builder::new().spawn(work).ok());
        Self {
            end,
            thread: thread.flatten(),
        }
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread's result does not matter.
            let _ = thread.join();
        }
    }
}

/// True if somebody sees the bar: standard error is a terminal, and the command is not quiet.
fn is_bar_visible(quiet: bool) -> bool {
    !quiet && std::io::stderr().is_terminal()
}

/// Makes a bar on the terminal.
fn bar(total: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Bar that follows a counter of simulated cycles until it is dropped.
pub(crate) struct CycleBar(#[expect(dead_code)] Drawing);

/// Shows `cycles` as it grows, towards `expected` if that is known, behind the name of what is done.
pub(crate) fn watch(
    doing: &'static str,
    cycles: Arc<AtomicU64>,
    expected: Option<u64>,
    quiet: bool,
) -> CycleBar {
    let rest = match expected {
        Some(_) => {
            "{bar:30} {human_pos} of about {human_len} cycles, {elapsed} so far, {eta} to go"
        }
        None => "{spinner} {human_pos} cycles, {elapsed} so far",
    };
    let template = format!("{doing} {rest}");
    CycleBar(Drawing::start(
        is_bar_visible(quiet),
        Duration::from_millis(100),
        move || bar(expected, &template),
        move |bar| bar.set_position(cycles.load(Ordering::Relaxed)),
    ))
}

/// Bar over the consecutive steps of a command.
pub(crate) struct StepsBar(ProgressBar);

/// Shows a bar of `total` steps; nothing if `quiet`, or if there is no terminal.
pub(crate) fn steps(total: u64, quiet: bool) -> StepsBar {
    let template = "{bar:30} {pos} of {len}, {elapsed} so far, {eta} to go: {msg}";
    StepsBar(match is_bar_visible(quiet) {
        true => bar(Some(total), template),
        false => ProgressBar::hidden(),
    })
}

impl StepsBar {
    /// Shows the name of a step that begins.
    pub(crate) fn begin(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Counts a step that is done.
    pub(crate) fn count_step(&self) {
        self.0.inc(1);
    }
}

impl Drop for StepsBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Sign on the terminal that a plan is being made; its duration is not known.
pub(crate) struct Planning(#[expect(dead_code)] Drawing);

/// Shows that planning goes on, after half a second; nothing if `quiet`, or if there is no terminal.
pub(crate) fn planning(quiet: bool) -> Planning {
    Planning(Drawing::start(
        is_bar_visible(quiet),
        Duration::from_millis(500),
        || bar(None, "planning {spinner} {elapsed} so far"),
        ProgressBar::tick,
    ))
}
