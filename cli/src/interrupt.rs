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
