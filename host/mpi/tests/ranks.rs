//! MPI jobs: random programs beside a simulation, and ranks that are lost.
//!
//! A test starts this binary under `mpirun` with a test of [`rank`], which is what each rank does.
#![cfg(feature = "mpi")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "tests, and modules that tests of another crate use as well"
)]

#[path = "../../network/tests/network/cases.rs"]
mod cases;
#[path = "../../network/tests/network/oracle.rs"]
mod oracle;
#[path = "../../network/tests/network/program.rs"]
mod program;
#[path = "../../network/tests/network/talker.rs"]
mod talker;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

/// Programs under each number of ranks.
const PROGRAMS: u64 = 500;
/// Begins the lines that are for the test which has started the ranks.
const NOTE: &str = "note: ";

/// The end of an MPI job.
#[derive(Debug)]
struct JobEnd {
    code: Option<i32>,
    notes: Vec<String>,
    errors: String,
}

/// Runs a test of [`rank`] on so many ranks, at most four minutes: other work may have the processors.
fn mpirun(ranks: usize, test: &str) -> JobEnd {
    let ranks = ranks.to_string();
    let mut job = Command::new("timeout")
        .args(["-k", "10", "240", "mpirun", "-n", &ranks])
        .args(["--oversubscribe", "--bind-to", "none"])
        .args(["--mca", "mpi_yield_when_idle", "1"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = job.stderr.take().unwrap();
    let read = move || {
        let mut bytes = Vec::new();
        errors.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let errors = std::thread::Builder::new().spawn(read).unwrap();
    let mut notes = Vec::new();
    for line in BufReader::new(job.stdout.take().unwrap()).lines() {
        if let Some((_, note)) = line.unwrap().split_once(NOTE) {
            notes.push(note.to_owned());
        }
    }
    let code = job.wait().unwrap().code();
    let errors = errors.join().unwrap();
    // A lack of mpirun is 127: `.ci/test` installs it.
    assert!(code != Some(124) && code != Some(127), "{test}: {errors}");
    JobEnd {
        code,
        notes,
        errors,
    }
}

/// Time stamps, reports, errors and payloads are those of the sequential simulation.
#[test]
fn random_programs_are_equal_on_all_numbers_of_ranks() {
    let (mut turns, mut messages) = (0, 0);
    for seed in 0..PROGRAMS {
        let expected = cases::expected(&cases::draw_case(seed));
        turns += expected.traces.iter().map(Vec::len).sum::<usize>();
        messages += expected.messages;
    }
    let all = format!("{PROGRAMS} programs, {turns} turns, {messages} messages");
    for ranks in 1..=4 {
        let ended = mpirun(ranks, "rank::runs_random_programs");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.notes, [all.as_str()], "{ended:?}");
    }
}

/// Checks that a job has ended after rank 1 was lost, within the minutes of [`mpirun`], with an exit code and a message
/// that names it.
fn check_lost(ended: &JobEnd, words: &[&str]) {
    assert_eq!(ended.notes, ["rank 1 is lost now"], "{ended:?}");
    assert!(ended.code.is_none_or(|code| code != 0), "{ended:?}");
    for word in words {
        assert!(ended.errors.contains(word), "{word}: {ended:?}");
    }
}

#[test]
fn a_killed_rank_ends_all() {
    let ended = mpirun(3, "rank::is_killed");
    check_lost(&ended, &["process rank 1", "signal 9"]);
}

#[test]
fn a_rank_that_panics_ends_all() {
    let ended = mpirun(3, "rank::panics");
    check_lost(&ended, &["it has no mind to go on", "rank 1 has panicked"]);
    assert_eq!(ended.code, Some(101), "{ended:?}");
}

/// Behaviour of a rank.
mod rank {
    use super::{NOTE, PROGRAMS};
    use crate::cases::{draw_case, expected};
    use crate::talker::{found, run_share};
    use cp2_mpi::MpiTransport;
    use cp2_network::{
        Communication, Picoseconds, Process, ProcessError, ProcessLog, Resume, Transport as _,
        Yield, run_processes, share_of,
    };
    use std::process::Command;

    #[test]
    #[ignore = "what a rank does that another test starts"]
    fn runs_random_programs() {
        let mut transport = MpiTransport::start().unwrap();
        let (rank, ranks) = (transport.rank(), transport.ranks());
        let (mut turns, mut messages) = (0, 0);
        for seed in 0..PROGRAMS {
            let case = draw_case(seed);
            let share = share_of(case.programs.len(), ranks, rank);
            let mut expected = expected(&case);
            expected.traces = expected.traces.drain(share).collect();
            let (end, programs) = run_share(&mut transport, &case, b"one", None, 1);
            let traces: Vec<_> = programs.into_iter().map(|one| one.trace).collect();
            turns += traces.iter().map(Vec::len).sum::<usize>() as u64;
            let found = found(&end, traces, &expected);
            assert!(found == expected, "seed {seed}, rank {rank} of {ranks}");
            messages += found.messages;
        }
        // Turns that all ranks together have compared.
        let all = transport.all_gather(turns.to_le_bytes().to_vec()).unwrap();
        let all = all
            .iter()
            .map(|own| u64::from_le_bytes(own[..].try_into().unwrap()));
        let turns: u64 = all.sum();
        if rank == 0 {
            println!("{NOTE}{PROGRAMS} programs, {turns} turns, {messages} messages");
        }
    }

    /// Passes messages on for ever, until rank 1 is lost in its turn 20.
    struct Endless {
        turns: u64,
        rank: usize,
        lost: fn(),
    }

    impl Process for Endless {
        fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
            let at = resume.wake.at + Picoseconds(1_000_000);
            self.turns += 1;
            if self.turns == 20 && self.rank == 1 {
                println!("{NOTE}rank 1 is lost now");
                (self.lost)();
            }
            let next = (resume.wake.processor + 1) % 3;
            let requests = vec![
                log.send(at, next, 0, vec![1; 100]),
                log.receive(at, None, None, 100),
            ];
            Ok(Yield::Wait { at, requests })
        }
    }

    fn runs_for_ever(lost: fn()) {
        let mut transport = MpiTransport::start().unwrap();
        let rank = transport.rank();
        let parameters = cp2_machine::NetworkParameters::default();
        let mut communication = Communication::new(&parameters, 3, Picoseconds::ZERO).unwrap();
        let turns = 0;
        let mut own = [Endless { turns, rank, lost }];
        let ended = run_processes(&mut transport, &mut communication, &mut own, 1, b"one");
        panic!("{ended:?}");
    }

    #[test]
    #[ignore = "what a rank does that another test starts"]
    fn is_killed() {
        runs_for_ever(|| {
            let own = std::process::id().to_string();
            Command::new("kill").args(["-9", &own]).status().unwrap();
        });
    }

    #[test]
    #[ignore = "what a rank does that another test starts"]
    fn panics() {
        runs_for_ever(|| panic!("it has no mind to go on"));
    }
}
