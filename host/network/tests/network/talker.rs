//! Programs as processes, whose payloads say whose they are.

use cp2_network::{
    Communication, NetworkError, NetworkReport, NetworkTrace, Picoseconds, Process, ProcessError,
    ProcessLog, Request, Resume, Transport, Yield, run_processes, share_of,
};

use crate::cases::{Case, outcome};
use crate::oracle::Outcome;
use crate::program::{Done, Op, Program};

/// A program whose payloads say whose they are.
struct Talker {
    processor: usize,
    sent: u64,
    program: Program,
    fails_at: Option<usize>,
}

fn payload(source: usize, number: u64, bytes: u64) -> Vec<u8> {
    let byte = |place| (source as u64 * 31 + number * 7 + place) as u8;
    (0..bytes).map(byte).collect()
}

impl Process for Talker {
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
        assert_eq!(resume.wake.processor, self.processor);
        let done: Vec<Done> = resume.wake.completions.iter().map(Done::from).collect();
        let received: Vec<_> = done.iter().filter(|one| one.receive).collect();
        assert_eq!(received.len(), resume.payloads.len());
        for (one, (request, bytes)) in received.into_iter().zip(&resume.payloads) {
            assert_eq!(one.request, request.0);
            assert_eq!(*bytes, payload(one.source, one.number, one.bytes));
        }
        let ops = self.program.go_on(resume.wake.at.get(), &done);
        if self.fails_at == Some(self.program.trace.len()) {
            return Err(ProcessError::new(resume.wake.at, "it was told to fail"));
        }
        let names = |list: Vec<u64>| list.into_iter().map(Request).collect();
        for (at, op) in ops {
            let at = Picoseconds(at);
            match op {
                Op::Send { to, tag, bytes } => {
                    log.send(at, to, tag, payload(self.processor, self.sent, bytes));
                    self.sent += 1;
                }
                Op::Receive { from, tag, bytes } => {
                    log.receive(at, from, tag, bytes);
                }
                Op::Wait(list) => {
                    let requests = names(list);
                    return Ok(Yield::Wait { at, requests });
                }
                Op::Test(list) => {
                    let requests = names(list);
                    return Ok(Yield::Test { at, requests });
                }
                Op::Pause => return Ok(Yield::Pause { at }),
                Op::End => return Ok(Yield::End { at }),
            }
        }
        panic!("a program stops");
    }
}

/// Result of a rank.
pub type Ended = Result<NetworkReport, NetworkError>;

/// Runs this rank's share of the programs; its result, and the programs with their traces. The processor
/// `fails.0` fails in its turn `fails.1`.
pub fn run_share(
    transport: &mut dyn Transport,
    case: &Case,
    fingerprint: &[u8],
    fails: Option<(usize, usize)>,
    threads: usize,
) -> (Ended, Vec<Program>) {
    let processors = case.programs.len();
    let least = Picoseconds(case.least_overhead);
    let mut communication = Communication::new(&case.parameters, processors, least).unwrap();
    let share = share_of(processors, transport.ranks(), transport.rank());
    let talkers = share.map(|processor| Talker {
        processor,
        sent: 0,
        program: case.programs[processor].clone(),
        fails_at: fails.and_then(|(who, at)| (who == processor).then_some(at)),
    });
    let mut own: Vec<Talker> = talkers.collect();
    let ended = run_processes(
        transport,
        &mut communication,
        &mut own,
        threads,
        fingerprint,
    );
    (ended, own.into_iter().map(|one| one.program).collect())
}

/// A rank's result in the oracle's terms. An error comes without a report: that part is taken from what is expected.
pub fn found(end: &Ended, traces: Vec<Vec<(u64, Vec<Done>)>>, expected: &Outcome) -> Outcome {
    match end {
        Ok(report) => outcome(&Ok(()), traces, report),
        Err(error) => {
            let none = NetworkReport {
                messages: expected.messages,
                message_bytes: expected.message_bytes,
                ends: expected.ends.iter().copied().map(Picoseconds).collect(),
                links: Vec::new(),
                trace: NetworkTrace::default(),
            };
            Outcome {
                links: expected.links.clone(),
                ..outcome(&Err(error.clone()), traces, &none)
            }
        }
    }
}
