//! Several ranks, each a thread with channels to the others, agree with one.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use cp2_network::{
    Communication, InProcess, NetworkError, Picoseconds, Process, ProcessError, ProcessLog, Resume,
    Transport, TransportError, Yield, run_processes, share_of,
};

use crate::cases::{Case, draw_case, expected};
use crate::program::Program;
use crate::talker::{Ended, found, run_share};

struct Threads {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Threads {
    fn all(ranks: usize) -> Vec<Self> {
        let mut ends: BTreeMap<(usize, usize), _> = BTreeMap::new();
        for from in 0..ranks {
            for to in 0..ranks {
                ends.insert((from, to), channel());
            }
        }
        let mut made = Vec::new();
        for rank in 0..ranks {
            let to = (0..ranks).map(|other| ends[&(rank, other)].0.clone());
            made.push((rank, to.collect::<Vec<_>>()));
        }
        let mut receivers: BTreeMap<_, _> =
            ends.into_iter().map(|(key, (_, end))| (key, end)).collect();
        made.into_iter()
            .map(|(rank, to)| Self {
                rank,
                to,
                from: (0..ranks)
                    .map(|other| receivers.remove(&(other, rank)).unwrap())
                    .collect(),
            })
            .collect()
    }

    fn swap(&mut self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, TransportError> {
        let gone = TransportError {
            transport: "threads",
            rank: self.rank,
            message: "another rank is gone".to_owned(),
        };
        for (to, bytes) in self.to.iter().zip(out) {
            to.send(bytes).map_err(|_| gone.clone())?;
        }
        let came = self.from.iter().map(|from| from.recv());
        came.collect::<Result<_, _>>().map_err(|_| gone)
    }
}

impl Transport for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn all_gather(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, TransportError> {
        let out = vec![own; self.to.len()];
        self.swap(out)
    }

    fn exchange(
        &mut self,
        out: Vec<Vec<u8>>,
        sizes: &[usize],
    ) -> Result<Vec<Vec<u8>>, TransportError> {
        assert!(out[self.rank].is_empty());
        let came = self.swap(out)?;
        assert!(came.iter().map(Vec::len).eq(sizes.iter().copied()));
        Ok(came)
    }
}

/// Runs the programs on so many ranks; results of each rank, and traces of all processors.
fn run(
    case: &Case,
    ranks: usize,
    fingerprint: impl Fn(usize) -> Vec<u8> + Sync,
    fails: Option<(usize, usize)>,
    threads: usize,
) -> (Vec<Ended>, Vec<Program>) {
    let one_rank = |mut transport: Threads| {
        let bytes = fingerprint(transport.rank);
        run_share(&mut transport, case, &bytes, fails, threads)
    };
    std::thread::scope(|scope| {
        let one_rank = &one_rank;
        let threads: Vec<_> = Threads::all(ranks)
            .into_iter()
            .map(|transport| {
                std::thread::Builder::new()
                    .spawn_scoped(scope, move || one_rank(transport))
                    .unwrap()
            })
            .collect();
        let (mut ends, mut programs) = (Vec::new(), Vec::new());
        for thread in threads {
            let (ended, own) = thread.join().unwrap();
            ends.push(ended);
            programs.extend(own);
        }
        (ends, programs)
    })
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
            let communication = Communication::new(&parameters, 6, Picoseconds::ZERO).unwrap();
            let run = std::panic::AssertUnwindSafe(|| {
                run_processes(&mut InProcess, communication, &mut processes, threads, b"")
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
