//! A halo of two processors, from processes to the report.

use cp2_machine::NetworkParameters;
use cp2_network::{
    Communication, InProcess, Picoseconds, Process, ProcessError, ProcessLog, Resume, Yield,
    run_processes,
};

/// CPU times of a send, a post and a completion: 200, 50 and 100 cycles of 2 ns.
const SEND: u64 = 400_000;
const POST: u64 = 100_000;
const COMPLETION: u64 = 200_000;
const ROUNDS: u8 = 3;
const BYTES: usize = 1000;

struct Side {
    own: usize,
    round: u8,
}

impl Process for Side {
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
        let mut now = resume.wake.at.get();
        for (_, payload) in &resume.payloads {
            assert_eq!(*payload, vec![self.round * 2 + 1 - self.own as u8; BYTES]);
        }
        if !resume.wake.completions.is_empty() {
            assert_eq!(resume.wake.completions.len(), 2);
            assert_eq!(resume.payloads.len(), 1);
            now += COMPLETION;
            self.round += 1;
        }
        if self.round == ROUNDS {
            return Ok(Yield::End {
                at: Picoseconds(now),
            });
        }
        now += POST;
        let receive = log.receive(Picoseconds(now), Some(1 - self.own), Some(1), BYTES as u64);
        now += SEND;
        let payload = vec![self.round * 2 + self.own as u8; BYTES];
        let send = log.send(Picoseconds(now), 1 - self.own, 1, payload);
        Ok(Yield::Wait {
            at: Picoseconds(now),
            requests: vec![receive, send],
        })
    }
}

#[test]
fn two_processors_exchange_halos() {
    let mut communication =
        Communication::new(&NetworkParameters::default(), 2, Picoseconds(POST)).unwrap();
    let mut sides = [0, 1].map(|own| Side { own, round: 0 });
    let report = run_processes(&mut InProcess, &mut communication, &mut sides, 1, b"").unwrap();
    // Four packets; three hops.
    let occupancy = 800 * (1000 + 4 * 20);
    let round = POST + SEND + 3 * 100_000 + occupancy + COMPLETION;
    assert_eq!(report.ends, [Picoseconds(3 * round); 2]);
    assert_eq!(report.messages, 6);
    assert_eq!(report.message_bytes, 6000);
    assert_eq!(report.links.len(), 6);
    for link in report.links {
        assert_eq!(link.busy, Picoseconds(3 * occupancy));
        assert_eq!(link.bytes, 3 * 1080);
    }
}
