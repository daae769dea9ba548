//! Ctrl-C asks the running simulation to end cleanly; a second one ends at once.

use crate::outcome::{CommandFailure, GUEST_FAULT};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// True once the JSON object or the text of this process is being printed.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Returns true for the first caller: standard output gets one object only.
pub(crate) fn first_to_print() -> bool {
    !PRINTED.swap(true, Ordering::SeqCst)
}

/// True while the host works without a simulation, which could end cleanly: an interrupt then ends the
/// process, as a second one does.
static ALONE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// Starts to listen for interrupts; `abort` reports that the process ends without its result.
///
/// If no thread can be started for that report, the process ends silently, by the same rules and with the
/// same exit code.
pub(crate) fn install(abort: impl Fn(&CommandFailure) + Send + 'static) {
    #[cfg(unix)]
    if listen(abort).is_ok() {
        return;
    }
    #[cfg(not(unix))]
    drop(abort);
    // The handler that ends the process is registered before the one that sets the flag, so that a first
    // interrupt only sets the flag.
    for ends in [&*RAISED, &*ALONE] {
        // Without a handler Ctrl-C ends the process, which is acceptable.
        let _ = flag::register_conditional_shutdown(SIGINT, GUEST_FAULT.into(), ends.clone());
    }
    let _ = flag::register(SIGINT, RAISED.clone());
}

/// Starts a thread that waits for interrupts.
#[cfg(unix)]
fn listen(abort: impl Fn(&CommandFailure) + Send + 'static) -> std::io::Result<()> {
    use std::io::Read as _;
    let (mut interrupts, raised) = std::os::unix::net::UnixStream::pair()?;
    let work = move || {
        // Each interrupt writes one byte. Without a registered handler the stream ends.
        while interrupts.read_exact(&mut [0]).is_ok() {
            let again = RAISED.swap(true, Ordering::SeqCst);
            if let Some(message) = ends(again, ALONE.load(Ordering::SeqCst)) {
                abort(&interrupted(message));
                // Handlers at the end of a process may wait for a driver that hangs, so that none of them is called.
                signal_hook::low_level::exit(i32::from(GUEST_FAULT));
            }
        }
    };
    std::thread::Builder::new().spawn(work)?;
    signal_hook::low_level::pipe::register(SIGINT, raised)?;
    Ok(())
}

/// Message of an interrupt while the host works alone.
static DOING: Mutex<&'static str> = Mutex::new("");

fn doing() -> &'static str {
    DOING.lock().map_or("interrupted", |doing| *doing)
}

/// Returns the message of an interrupt that ends the process: a second one, or one while the host works
/// alone.
fn ends(again: bool, alone: bool) -> Option<&'static str> {
    match (again, alone) {
        (_, true) => Some(doing()),
        (true, false) => Some("aborted by a second interrupt; nothing is known of the run"),
        (false, false) => None,
    }
}

/// Runs the comparison of a result with double precision, which an interrupt ends at once.
pub(crate) fn run_interruptible<T>(work: impl FnOnce() -> T) -> Result<T, CommandFailure> {
    let message = "interrupted while the result was judged; the run had finished";
    work_alone(message, work)
}

/// Runs a computation that is not simulated, which an interrupt ends at once.
pub(crate) fn compute_interruptible<T>(work: impl FnOnce() -> T) -> Result<T, CommandFailure> {
    work_alone(
        "interrupted while a backend computed; there is no result",
        work,
    )
}

/// Runs a part of a crosscheck, which an interrupt ends at once.
pub(crate) fn crosscheck_interruptible<T>(work: impl FnOnce() -> T) -> Result<T, CommandFailure> {
    let message = "interrupted; a crosscheck reports at its end, so that there is no result";
    work_alone(message, work)
}

/// Lets an interrupt end the process at once from here on: all is reported, and only closing a driver may take time.
pub(crate) fn end_at_once() {
    if let Ok(mut doing) = DOING.lock() {
        *doing = "interrupted while devices were closed; all is reported";
    }
    ALONE.store(true, Ordering::SeqCst);
}

/// Makes plans, which an interrupt ends at once.
pub(crate) fn plan_interruptible<T>(work: impl FnOnce() -> T) -> Result<T, CommandFailure> {
    work_alone("interrupted while plans were made; nothing has run", work)
}

/// Runs work of the host alone, which an interrupt ends at once with a message.
fn work_alone<T>(message: &'static str, work: impl FnOnce() -> T) -> Result<T, CommandFailure> {
    if let Ok(mut doing) = DOING.lock() {
        *doing = message;
    }
    ALONE.store(true, Ordering::SeqCst);
    // An interrupt between the run and this work is not lost.
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

/// Makes a write beyond the user's file size limit (`ulimit -f`) fail like a write to a full disk, so that
/// incomplete files are removed. Without a handler, the signal that comes first would end the process.
pub(crate) fn outlive_large_files() {
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Returns the flag that devices watch.
pub(crate) fn flag() -> Arc<AtomicBool> {
    RAISED.clone()
}

/// Fails if Ctrl-C was pressed: ends a command between two steps.
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
        let message = "interrupted while the result was judged";
        assert_eq!(work_alone(message, || ()).ok(), Some(()));
        assert_eq!(ends(false, false), None);
        assert!(ends(true, false).is_some_and(|said| said.contains("second")));
        for again in [false, true] {
            assert!(ends(again, true).is_some_and(|said| said.contains("judged")));
        }
        assert_eq!(
            run_interruptible(|| ALONE.load(Ordering::SeqCst)).ok(),
            Some(true)
        );
        assert!(!ALONE.load(Ordering::SeqCst));
    }
}
