//! The loop of windows: processes run, ranks exchange what they did.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::record::RecordReader;
use crate::turns::{ProcessThreads, Turn, WokenProcess};
use crate::{
    Advance, Communication, Envelope, NetworkError, NetworkReport, Process, Record,
    RecordedOperation, RequestKind, Resume, Transport, Wake,
};

/// Bytes that a rank sends to another at a time, at most: MPI counts them with 31 bits.
const MOST_AT_ONCE: u64 = 1 << 30;

/// The processors of a rank: neighbours, and as many as of any other rank or one fewer.
#[must_use]
pub fn share_of(processors: usize, ranks: usize, rank: usize) -> Range<usize> {
    let ranks = ranks.max(1);
    let (each, more) = (processors / ranks, processors % ranks);
    let start = |rank: usize| (rank * each + rank.min(more)).min(processors);
    start(rank)..start(rank.saturating_add(1))
}

/// Runs the processes of this rank, `share_of` all processors, in the order of their numbers, until all
/// processors of all ranks have ended.
///
/// All ranks call this, each with its share, and get the same report, or the same error unless the transport
/// failed; [`Communication::report`] then says how far they came. `fingerprint` is anything that has to be equal
/// on all of them: version, machine, input. The processors that go on in a window share `threads` host threads,
/// of which the caller's is one and alone talks to other ranks; nothing depends on their number.
///
/// # Errors
/// Ranks differ, the transport fails, a process fails, processors wait for each other, or [`Communication`]
/// refuses what they do.
pub fn run_processes<P: Process + Send>(
    transport: &mut dyn Transport,
    communication: &mut Communication,
    processes: &mut [P],
    threads: usize,
    fingerprint: &[u8],
) -> Result<NetworkReport, NetworkError> {
    let mut exchange = Exchange::new(transport, communication);
    exchange.compare_fingerprints(fingerprint)?;
    if processes.len() != exchange.own.len() {
        return Err(NetworkError::Share {
            rank: exchange.transport.rank(),
            found: processes.len(),
            expected: exchange.own.len(),
        });
    }
    let processes = ProcessThreads::new(processes);
    std::thread::scope(|scope| {
        let _closing = processes.start(scope, threads);
        exchange.run_windows(&processes)
    })
}

/// Records and payloads of this rank's processors in a window.
#[derive(Default)]
struct OwnWindow {
    /// Number of each processor, then its records.
    records: Vec<u8>,
    /// Payloads of all sends, in their order.
    payloads: VecDeque<Vec<u8>>,
}

impl FromIterator<Turn> for OwnWindow {
    fn from_iter<I: IntoIterator<Item = Turn>>(turns: I) -> Self {
        let mut window = Self::default();
        for turn in turns {
            window.records.extend(turn.records);
            window.payloads.extend(turn.payloads);
        }
        window
    }
}

/// A message between ranks.
type Passing = (usize, Envelope);

/// A rank's side of the exchange.
struct Exchange<'a> {
    transport: &'a mut dyn Transport,
    communication: &'a mut Communication,
    /// Processors of this rank.
    own: Range<usize>,
    /// First processor of each rank.
    starts: Vec<usize>,
    /// Messages that each processor has sent.
    sent: Vec<u64>,
    /// Payloads of messages to own processors, by source and number.
    payloads: BTreeMap<(usize, u64), Vec<u8>>,
    most_at_once: u64,
}

impl<'a> Exchange<'a> {
    fn new(transport: &'a mut dyn Transport, communication: &'a mut Communication) -> Self {
        let (processors, ranks) = (communication.processors(), transport.ranks());
        Self {
            own: share_of(processors, ranks, transport.rank()),
            starts: (0..ranks)
                .map(|rank| share_of(processors, ranks, rank).start)
                .collect(),
            sent: vec![0; processors],
            payloads: BTreeMap::new(),
            most_at_once: MOST_AT_ONCE,
            transport,
            communication,
        }
    }

    /// Runs window after window, until all processors of all ranks have ended.
    fn run_windows<P: Process + Send>(
        &mut self,
        processes: &ProcessThreads<'_, P>,
    ) -> Result<NetworkReport, NetworkError> {
        loop {
            let woken = match self.communication.advance()? {
                Advance::Run(woken) => woken,
                Advance::Finished => return Ok(self.communication.report()),
                Advance::Deadlock(blocked) => return Err(NetworkError::Deadlock { blocked }),
            };
            let mut own = Vec::new();
            for wake in woken {
                let processor = wake.processor;
                if !self.own.contains(&processor) {
                    continue;
                }
                own.push(WokenProcess {
                    place: own.len(),
                    seat: processor - self.own.start,
                    processor,
                    resume: self.resume(wake)?,
                });
            }
            let turns = processes.run(own).ok_or(NetworkError::Panicked)?;
            self.share(turns.into_iter().collect())?;
        }
    }

    fn compare_fingerprints(&mut self, own: &[u8]) -> Result<(), NetworkError> {
        let all = self.gather(own.to_vec())?;
        let first = all.first();
        let others = all.iter().enumerate();
        let ranks: Vec<usize> = others
            .filter(|(_, other)| Some(*other) != first)
            .map(|(rank, _)| rank)
            .collect();
        match ranks.is_empty() {
            true => Ok(()),
            false => Err(NetworkError::Fingerprints { ranks }),
        }
    }

    fn gather(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, NetworkError> {
        let all = self.transport.all_gather(own)?;
        self.check_answer(all.len(), self.starts.len(), "ranks")?;
        Ok(all)
    }

    fn check_answer(
        &self,
        found: usize,
        expected: usize,
        unit: &'static str,
    ) -> Result<(), NetworkError> {
        match found == expected {
            true => Ok(()),
            false => Err(NetworkError::Answer {
                transport: self.transport.name(),
                found,
                expected,
                unit,
            }),
        }
    }

    /// Adds the payloads of its completed receives to a wake.
    fn resume(&mut self, wake: Wake) -> Result<Resume, NetworkError> {
        let mut payloads = Vec::new();
        for completion in &wake.completions {
            let message = completion.message;
            if completion.kind == RequestKind::Receive {
                let payload = self.payloads.remove(&(message.source, message.number));
                let payload = payload.ok_or(NetworkError::NoPayload { message })?;
                payloads.push((completion.request, payload));
            }
        }
        Ok(Resume { wake, payloads })
    }

    /// Tells all ranks what the own processors did, applies what all did, and sends payloads to the ranks of
    /// their receivers.
    fn share(&mut self, window: OwnWindow) -> Result<(), NetworkError> {
        let all = self.gather(window.records)?;
        let mut passing = Vec::new();
        for (rank, bytes) in all.iter().enumerate() {
            let mut reader = RecordReader::new(bytes, rank);
            while !reader.is_at_end() {
                let processor = reader.processor()?;
                if self.owner(processor) != rank {
                    return Err(reader.expect("a processor of the rank"));
                }
                let mut records = Vec::new();
                loop {
                    let record = reader.record()?;
                    passing.extend(self.message(processor, &record).map(|sent| (rank, sent)));
                    let ends = record.operation.ends_turn();
                    records.push(record);
                    if ends {
                        break;
                    }
                }
                self.communication.apply(processor, &records)?;
            }
        }
        self.deliver(&passing, window.payloads)
    }

    /// The rank of a processor.
    fn owner(&self, processor: usize) -> usize {
        let behind = self.starts.partition_point(|start| *start <= processor);
        behind.saturating_sub(1)
    }

    /// The message of a record, if it is a send.
    fn message(&mut self, source: usize, record: &Record) -> Option<Envelope> {
        let RecordedOperation::Send {
            destination,
            tag,
            bytes,
        } = record.operation
        else {
            return None;
        };
        let sent = self.sent.get_mut(source)?;
        let number = *sent;
        *sent += 1;
        Some(Envelope {
            source,
            destination,
            tag,
            bytes,
            number,
        })
    }

    /// Sends payloads to the ranks of their receivers, a bundle for each, in parts of at most a gibibyte.
    fn deliver(
        &mut self,
        passing: &[Passing],
        mut own: VecDeque<Vec<u8>>,
    ) -> Result<(), NetworkError> {
        let (rank, ranks) = (self.transport.rank(), self.starts.len());
        let mut out = vec![Vec::new(); ranks];
        let mut expected = vec![Vec::new(); ranks];
        let mut bundles: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (from, message) in passing {
            let to = self.owner(message.destination);
            if *from == rank {
                let payload = own
                    .pop_front()
                    .ok_or(NetworkError::NoPayload { message: *message })?;
                if to == rank {
                    self.payloads
                        .insert((message.source, message.number), payload);
                } else if let Some(bundle) = out.get_mut(to) {
                    // A message that nobody reads has a length, and no bytes.
                    let length = usize::try_from(message.bytes).unwrap_or(usize::MAX);
                    let end = bundle.len().saturating_add(length);
                    bundle.extend(payload);
                    bundle.resize(end, 0);
                }
            } else if to == rank
                && let Some(messages) = expected.get_mut(*from)
            {
                messages.push(*message);
            }
            if *from != to {
                let bundle = bundles.entry((*from, to)).or_default();
                *bundle = bundle.saturating_add(message.bytes);
            }
        }
        // All ranks know the longest bundle of all, and call the transport as often.
        let longest = bundles.into_values().max().unwrap_or(0);
        let mut came = vec![Vec::new(); ranks];
        for part in 0..longest.div_ceil(self.most_at_once) {
            self.exchange_part(part, &out, &expected, &mut came)?;
        }
        for (messages, bytes) in expected.into_iter().zip(came) {
            let mut rest = bytes.as_slice();
            for message in messages {
                let length = usize::try_from(message.bytes).unwrap_or(usize::MAX);
                let cut = rest.split_at_checked(length);
                let (payload, behind) = cut.ok_or(NetworkError::NoPayload { message })?;
                self.payloads
                    .insert((message.source, message.number), payload.to_vec());
                rest = behind;
            }
        }
        Ok(())
    }

    /// Sends and receives a part of all bundles.
    fn exchange_part(
        &mut self,
        part: u64,
        out: &[Vec<u8>],
        expected: &[Vec<Envelope>],
        came: &mut [Vec<u8>],
    ) -> Result<(), NetworkError> {
        let most = self.most_at_once;
        let range = |total: u64| {
            let start = part.saturating_mul(most).min(total);
            let end = start.saturating_add(most).min(total);
            let place = |at| usize::try_from(at).unwrap_or(usize::MAX);
            place(start)..place(end)
        };
        let cut = |bundle: &Vec<u8>| {
            let bytes = bundle.get(range(bundle.len() as u64));
            bytes.unwrap_or_default().to_vec()
        };
        let size = |messages: &Vec<Envelope>| {
            let bytes = messages.iter().map(|message| message.bytes);
            range(bytes.fold(0, u64::saturating_add)).len()
        };
        let sizes: Vec<usize> = expected.iter().map(size).collect();
        let answer = self
            .transport
            .exchange(out.iter().map(cut).collect(), &sizes)?;
        self.check_answer(answer.len(), sizes.len(), "ranks")?;
        for ((bytes, size), whole) in answer.into_iter().zip(sizes).zip(came) {
            self.check_answer(bytes.len(), size, "bytes")?;
            whole.extend(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Picoseconds, TransportError};
    use cp2_machine::NetworkParameters;

    /// Rank 1 of three, of which rank 0 sends bytes that count up, and which notes what it is given.
    #[derive(Default)]
    struct Noting {
        given: Vec<Vec<Vec<u8>>>,
        sizes: Vec<Vec<usize>>,
        next: u8,
    }

    impl Transport for Noting {
        fn name(&self) -> &'static str {
            "noting"
        }

        fn rank(&self) -> usize {
            1
        }

        fn ranks(&self) -> usize {
            3
        }

        fn all_gather(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, TransportError> {
            Ok(vec![own; 3])
        }

        fn exchange(
            &mut self,
            out: Vec<Vec<u8>>,
            sizes: &[usize],
        ) -> Result<Vec<Vec<u8>>, TransportError> {
            self.given.push(out);
            self.sizes.push(sizes.to_vec());
            let mut count = |size: &usize| {
                let bytes = (0..*size).map(|_| {
                    self.next += 1;
                    self.next
                });
                bytes.collect()
            };
            Ok(sizes.iter().map(&mut count).collect())
        }
    }

    fn message(source: usize, destination: usize, number: u64, bytes: u64) -> Envelope {
        Envelope {
            source,
            destination,
            tag: 0,
            bytes,
            number,
        }
    }

    /// Rank 1 sends 5 and 0 bytes to rank 0 and 1 to itself, and gets 3 and 9; ranks 0 and 2 have 25 between
    /// them.
    #[test]
    fn bundles_go_in_parts_that_all_ranks_count_alike() {
        let parameters = NetworkParameters::default();
        let mut communication = Communication::new(&parameters, 3, Picoseconds::ZERO).unwrap();
        let mut noting = Noting::default();
        let mut exchange = Exchange::new(&mut noting, &mut communication);
        exchange.most_at_once = 4;
        let passing = [
            (0, message(0, 1, 0, 3)),
            (0, message(0, 2, 1, 25)),
            (0, message(0, 1, 2, 9)),
            (1, message(1, 0, 0, 5)),
            (1, message(1, 1, 1, 1)),
            (1, message(1, 0, 2, 0)),
        ];
        let own = VecDeque::from([vec![50, 51, 52, 53, 54], vec![60], vec![]]);
        exchange.deliver(&passing, own).unwrap();
        let payloads = std::mem::take(&mut exchange.payloads);
        let expected = [
            ((0, 0), vec![1, 2, 3]),
            ((0, 2), (4..=12).collect()),
            ((1, 1), vec![60]),
        ];
        assert_eq!(payloads, BTreeMap::from(expected));
        // Seven parts: 25 bytes by four, between the other two.
        let sizes: Vec<usize> = noting.sizes.iter().map(|sizes| sizes[0]).collect();
        assert_eq!(sizes, [4, 4, 4, 0, 0, 0, 0]);
        let given: Vec<&[u8]> = noting.given.iter().map(|out| out[0].as_slice()).collect();
        let nothing: &[u8] = &[];
        assert_eq!(given[..2], [&[50, 51, 52, 53][..], &[54]]);
        assert_eq!(given[2..], [nothing; 5]);
        assert!(
            noting
                .given
                .iter()
                .all(|out| out[1].is_empty() && out[2].is_empty())
        );
    }
}
