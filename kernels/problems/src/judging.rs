//! Judges results part by part, on several host threads.

use crate::verdict::{PartVerdict, Tally};
use std::thread;

/// Judges `count` parts of a result, and returns the number of parts that could be judged. On each of
/// `threads` host threads, or of as many as can be started, `judge` makes a closure that compares a part, or
/// finds that there is nothing to compare. Sums are made in the order of the parts, whatever the number of
/// threads.
///
/// ```
/// use cp2_problems::{PartVerdict, judged};
///
/// // Every third part has no reference.
/// let judge = || |i: usize| {
///     let part = PartVerdict { error: i as f64, norm: 1e8, allowed: 10.0 };
///     Ok::<_, std::io::Error>((i % 3 != 0).then_some(part))
/// };
/// let (tally, parts) = judged(100, 1, judge)?;
/// assert_eq!(parts, 66);
/// assert_eq!(judged(100, 7, judge)?.0.verdict(), tally.verdict());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The error of the first part that has one.
pub fn judged<J, E>(
    count: usize,
    threads: usize,
    judge: impl Fn() -> J + Sync,
) -> Result<(Tally, usize), E>
where
    J: FnMut(usize) -> Result<Option<PartVerdict>, E>,
    E: Send,
{
    let mut sum = (Tally::default(), 0);
    let mut add = |part: Option<PartVerdict>| {
        if let Some(part) = part {
            sum.0.add(part);
            sum.1 += 1;
        }
    };
    if threads <= 1 {
        let mut judge = judge();
        for i in 0..count {
            add(judge(i)?);
        }
        return Ok(sum);
    }
    let each = count.div_ceil(threads).max(1);
    let share = |from: usize| {
        let mut judge = judge();
        let parts = (from..count.min(from + each)).map(&mut judge);
        parts.collect::<Result<Vec<_>, E>>()
    };
    let share = &share;
    thread::scope(|scope| {
        let shares = (0..count).step_by(each);
        let begin = |from| thread::Builder::new().spawn_scoped(scope, move || share(from));
        let shares: Vec<_> = shares.map(|from| (from, begin(from))).collect();
        for (from, begun) in shares {
            // A share for which no thread could be started is judged on this thread.
            let parts = match begun.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(parts)) => parts,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(_) => share(from),
            };
            parts?.into_iter().for_each(&mut add);
        }
        Ok(())
    })?;
    Ok(sum)
}
