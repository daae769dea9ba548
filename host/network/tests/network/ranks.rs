//! Several ranks, each a thread, agree with one.

use cp2_network::{
    Communication, InProcess, NetworkError, Picoseconds, Process, ProcessError, ProcessLog, Resume,
    Yield, run_processes, share_of,
};

use crate::cases::{Case, draw_case, expected};
use crate::program::Program;
use crate::talker::{Ended, found, run_share};
use crate::threads::on_ranks;

/// Runs the programs on so many ranks; results of each rank, and traces of all processors.
fn run(
    case: &Case,
    ranks: usize,
    fingerprint: impl Fn(usize) -> Vec<u8> + Sync,
    fails: Option<(usize, usize)>,
    threads: usize,
) -> (Vec<Ended>, Vec<Program>) {
    let all = on_ranks(ranks, |transport| {
        let bytes = fingerprint(transport.rank());
        run_share(transport, case, &bytes, fails, threads)
    });
    let (ends, programs): (_, Vec<_>) = all.into_iter().unzip();
    (ends, programs.into_iter().flatten().collect())
}

/// Ranks, and host threads of each.
const SHARES: [(usize, usize); 6] = [(1, 1), (1, 2), (1, 4), (2, 2), (3, 1), (4, 2)];

#[test]
fn ranks_and_threads_do_not_change_times_reports_or_errors() {
    for seed in 0..300 {
        let case = draw_case(seed);
        let expected = expected(&case);
        let mut first = None;
        for (ranks, threads) in SHARES {
            let (ends, programs) = run(&case, ranks, |_| b"one".to_vec(), None, threads);
            assert_eq!(ends.len(), ranks);
            for end in &ends {
                assert_eq!(end, first.get_or_insert(end.clone()), "seed {seed}");
            }
            let traces = programs.into_iter().map(|one| one.trace).collect();
            let found = found(&ends[0], traces, &expected);
            assert!(found == expected, "seed {seed}, {ranks} ranks");
        }
    }
}

#[test]
fn a_failure_ends_all_ranks_alike() {
    let mut failed = 0;
    for seed in 0..60 {
        let case = draw_case(seed);
        let who = seed as usize % case.programs.len();
        let mut first = None;
        for (ranks, threads) in SHARES {
            let (ends, programs) = run(&case, ranks, |_| Vec::new(), Some((who, 2)), threads);
            let traces: Vec<_> = programs.into_iter().map(|one| one.trace).collect();
            let (end, trace) = first.get_or_insert((ends[0].clone(), traces.clone()));
            assert!(ends.iter().all(|one| one == end), "seed {seed}");
            assert_eq!(*trace, traces, "seed {seed}");
        }
        if let Some((Err(NetworkError::Failed { failures }), _)) = first {
            assert_eq!(failures.len(), 1);
            assert_eq!(failures[0].processor, who);
            assert_eq!(failures[0].message, "it was told to fail");
            failed += 1;
        }
    }
    assert!(failed > 30, "only {failed} failed");
}

/// Sends nothing and ends, but for one that panics.
struct Panics(bool);

impl Process for Panics {
    fn run(&mut self, resume: Resume, _: &mut ProcessLog) -> Result<Yield, ProcessError> {
        assert!(!self.0, "it was told to panic");
        let at = resume.wake.at;
        Ok(Yield::End { at })
    }
}

#[test]
fn a_panic_on_any_thread_ends_the_run() {
    for threads in [1, 2, 4] {
        for who in 0..6 {
            let mut processes: Vec<Panics> = (0..6).map(|number| Panics(number == who)).collect();
            let parameters = cp2_machine::NetworkParameters::default();
            let mut communication = Communication::new(&parameters, 6, Picoseconds::ZERO).unwrap();
            let run = std::panic::AssertUnwindSafe(|| {
                run_processes(
                    &mut InProcess,
                    &mut communication,
                    &mut processes,
                    threads,
                    b"",
                )
            });
            assert!(std::panic::catch_unwind(run).is_err());
        }
    }
}

#[test]
fn ranks_that_differ_are_named() {
    let case = draw_case(1);
    let (ends, programs) = run(&case, 4, |rank| vec![u8::from(rank > 1)], None, 1);
    for end in ends {
        let error = end.unwrap_err();
        assert_eq!(error, NetworkError::Fingerprints { ranks: vec![2, 3] });
        assert_eq!(
            error.to_string(),
            "version, machine or input of rank 2, rank 3 differ from those of rank 0: start all ranks with \
             the same"
        );
    }
    assert!(programs.iter().all(|one| one.trace.is_empty()));
}

#[test]
fn shares_are_neighbours_and_cover_all() {
    for processors in 0..20 {
        for ranks in 1..25 {
            let mut next = 0;
            for rank in 0..ranks {
                let share = share_of(processors, ranks, rank);
                assert_eq!(share.start, next);
                let least = processors / ranks;
                assert!((least..=least + 1).contains(&share.len()));
                next = share.end;
            }
            assert_eq!(next, processors);
        }
    }
}
