//! Ctrl-C asks the running simulation to end cleanly; a second one ends at once.

use crate::outcome::{CommandFailure, GUEST_FAULT};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// Whether somebody has begun to print the one object or the text of this process.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether the caller is the first to print: standard output gets one object.
pub(crate) fn first_to_print() -> bool {
    !PRINTED.swap(true, Ordering::SeqCst)
}

/// Whether an interrupt finds nothing that could end cleanly: it ends the process then, like a second one.
static ALONE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// Starts to listen; `abort` says that the process ends without its result.
///
/// Where no thread can be started that would say so, the process ends by the same rules with the same exit code, silently.
pub(crate) fn install(abort: impl Fn(&CommandFailure) + Send + 'static) {
    #[cfg(unix)]
    if listen(abort).is_ok() {
        return;
    }
    #[cfg(not(unix))]
    drop(abort);
    // In this order: the first interrupt is asked about before it is noted.
    for ends in [&*RAISED, &*ALONE] {
        // Without a handler Ctrl-C ends the process, which is as good as it gets then.
        let _ = flag::register_conditional_shutdown(SIGINT, GUEST_FAULT.into(), ends.clone());
    }
    let _ = flag::register(SIGINT, RAISED.clone());
}

/// Has a thread wait for interrupts.
#[cfg(unix)]
fn listen(abort: impl Fn(&CommandFailure) + Send + 'static) -> std::io::Result<()> {
    use std::io::Read as _;
    let (mut interrupts, raised) = std::os::unix::net::UnixStream::pair()?;
    let work = move || {
        // One byte for each interrupt; no more come where the handler could not be registered.
        while interrupts.read_exact(&mut [0]).is_ok() {
            let again = RAISED.swap(true, Ordering::SeqCst);
            if let Some(message) = ends(again, ALONE.load(Ordering::SeqCst)) {
                abort(&interrupted(message));
                std::process::exit(i32::from(GUEST_FAULT));
            }
        }
    };
    std::thread::Builder::new().spawn(work)?;
    signal_hook::low_level::pipe::register(SIGINT, raised)?;
    Ok(())
}

/// What an interrupt says that ends the process: one that comes again, or while nothing runs that could be asked to end.
fn ends(again: bool, alone: bool) -> Option<&'static str> {
    match (again, alone) {
        (_, true) => Some("interrupted while the result was judged; the run had finished"),
        (true, false) => Some("aborted by a second interrupt; nothing is known of the run"),
        (false, false) => None,
    }
}

/// Does work of the host alone, as the comparison of a result with double precision, which an interrupt ends at once.
pub(crate) fn alone<T>(work: impl FnOnce() -> T) -> Result<T, CommandFailure> {
    ALONE.store(true, Ordering::SeqCst);
    // One that came between the run and this is not lost.
    let done = check().map(|()| work());
    ALONE.store(false, Ordering::SeqCst);
    done
}

fn interrupted(message: &str) -> CommandFailure {
    CommandFailure {
        exit: GUEST_FAULT,
        message: message.to_owned(),
        details: None,
    }
}

/// Has a write beyond the user's limit for files (`ulimit -f`) fail as one to a full disk does, so that what was begun is
/// removed. Without a handler the signal that comes first ends the process.
pub(crate) fn outlive_large_files() {
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// The flag that devices watch.
pub(crate) fn flag() -> Arc<AtomicBool> {
    RAISED.clone()
}

/// Ends a command between two steps if Ctrl-C was pressed.
pub(crate) fn check() -> Result<(), CommandFailure> {
    if RAISED.load(Ordering::SeqCst) {
        return Err(interrupted("interrupted"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_ends_what_could_not_end_cleanly() {
        assert_eq!(ends(false, false), None);
        assert!(ends(true, false).is_some_and(|said| said.contains("second")));
        for again in [false, true] {
            assert!(ends(again, true).is_some_and(|said| said.contains("judged")));
        }
        assert_eq!(alone(|| ALONE.load(Ordering::SeqCst)).ok(), Some(true));
        assert!(!ALONE.load(Ordering::SeqCst));
    }
}
