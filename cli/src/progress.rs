//! Progress on a terminal: how far simulated time has come. Nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A bar that follows a counter of simulated cycles until it is dropped.
pub(crate) struct Watch {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Shows `cycles` as it grows towards `expected`, where that is known.
pub(crate) fn watch(cycles: Arc<AtomicU64>, expected: Option<u64>, quiet: bool) -> Watch {
    let end = Arc::new(AtomicBool::new(false));
    if quiet || !std::io::stderr().is_terminal() {
        return Watch { end, thread: None };
    }
    let stop = end.clone();
    let thread = std::thread::spawn(move || follow(&cycles, expected, &stop));
    Watch {
        end,
        thread: Some(thread),
    }
}

fn follow(cycles: &AtomicU64, expected: Option<u64>, stop: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(expected, ProgressDrawTarget::stderr());
    let template = match expected {
        Some(_) => {
            "simulating {bar:30} {human_pos} of about {human_len} cycles, {elapsed} so far, {eta} to go"
        }
        None => "simulating {spinner} {human_pos} cycles, {elapsed} so far",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(100));
        bar.set_position(cycles.load(Ordering::Relaxed));
    }
    bar.finish_and_clear();
}

/// A bar over steps that a command takes one after the other.
pub(crate) struct Steps(ProgressBar);

/// Shows `total` steps; nothing where `quiet` or not on a terminal.
pub(crate) fn steps(total: u64, quiet: bool) -> Steps {
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let template = "{bar:30} {pos} of {len}, {elapsed} so far, {eta} to go: {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    Steps(bar)
}

impl Steps {
    /// A step begins.
    pub(crate) fn begin(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// It is done.
    pub(crate) fn done(&self) {
        self.0.inc(1);
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A sign that a plan is being made; how long it takes is not known.
pub(crate) struct Planning(ProgressBar);

/// Shows that planning goes on, from half a second on; nothing where `quiet` or not on a terminal.
pub(crate) fn planning(quiet: bool) -> Planning {
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("planning {spinner} {elapsed} so far") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    Planning(bar)
}

impl Drop for Planning {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The bar is decoration: its end is of no consequence.
            let _ = thread.join();
        }
    }
}
