//! Ctrl-C asks the running simulation to end cleanly; a second one ends at once.

use crate::outcome::{Failure, GUEST_FAULT};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// Whether somebody has begun to print the one object or the text of this process.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether the caller is the first to print: standard output gets one object.
pub(crate) fn first_to_print() -> bool {
    !PRINTED.swap(true, Ordering::SeqCst)
}

/// Starts to listen; `abort` says that the process ends without its result.
pub(crate) fn install(abort: impl Fn(&Failure) + Send + 'static) {
    // Without a handler Ctrl-C ends the process, which is as good as it gets then.
    let _ = ctrlc::set_handler(move || {
        if RAISED.swap(true, Ordering::SeqCst) {
            abort(&interrupted(
                "aborted by a second interrupt; nothing is known of the run",
            ));
            std::process::exit(i32::from(GUEST_FAULT));
        }
    });
}

fn interrupted(message: &str) -> Failure {
    Failure {
        exit: GUEST_FAULT,
        message: message.to_owned(),
        details: None,
    }
}

/// Has a write beyond the user's limit for files (`ulimit -f`) fail as one to a full disk does, so that what was begun is
/// removed. Without a handler the signal that comes first ends the process.
pub(crate) fn outlive_large_files() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// The flag that devices watch.
pub(crate) fn flag() -> Arc<AtomicBool> {
    RAISED.clone()
}

/// Ends a command between two steps if Ctrl-C was pressed.
pub(crate) fn check() -> Result<(), Failure> {
    if RAISED.load(Ordering::SeqCst) {
        return Err(interrupted("interrupted"));
    }
    Ok(())
}
