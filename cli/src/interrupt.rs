//! Ctrl-C asks the running command to end cleanly; a second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

static RAISED: AtomicBool = AtomicBool::new(false);

/// Starts to listen.
pub(crate) fn install() {
    // Without a handler Ctrl-C ends the process, which is as good as it gets then.
    let _ = ctrlc::set_handler(|| {
        if RAISED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(crate::outcome::GUEST_FAULT));
        }
    });
}

/// Whether the user has asked to end.
pub(crate) fn raised() -> bool {
    RAISED.load(Ordering::SeqCst)
}
