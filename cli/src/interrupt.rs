//! Ctrl-C asks the running simulation to end cleanly; a second one ends at once.

use crate::outcome::{Failure, GUEST_FAULT};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// Starts to listen.
pub(crate) fn install() {
    // Without a handler Ctrl-C ends the process, which is as good as it gets then.
    let _ = ctrlc::set_handler(|| {
        if RAISED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(GUEST_FAULT));
        }
    });
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
        return Err(Failure {
            exit: GUEST_FAULT,
            message: "interrupted".to_owned(),
            details: None,
        });
    }
    Ok(())
}
