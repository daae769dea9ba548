//! A sequential simulation: one queue in the order of time, full knowledge.
//!
//! It takes parameters and routes from the crate, and nothing else. At one instant messages arrive first,
//! then processors go on, then heads enter links, in the order of (injection, source, kind, number).

use std::collections::{BTreeMap, VecDeque};

use cp2_machine::NetworkParameters;
use cp2_network::Interconnect;

use crate::program::{Done, Op, Program};

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Finished,
    /// Source and number of each message, sorted.
    NeverReceived(Vec<(usize, u64)>),
    /// Processor, begin of its wait, and requests that are not complete.
    Deadlock(Vec<(usize, u64, Vec<u64>)>),
}

/// All that there is to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub end: End,
    pub traces: Vec<Vec<(u64, Vec<Done>)>>,
    pub ends: Vec<u64>,
    pub messages: u64,
    pub message_bytes: u64,
    /// Time and bytes of each link.
    pub links: Vec<(u64, u64)>,
}

/// Kinds of events, in the order of one instant; heads also of one injection.
const ARRIVE: u8 = 0;
const ACT: u8 = 1;
const HEAD: u8 = 2;

const EAGER: u8 = 0;
const ASK: u8 = 1;
const CLEAR: u8 = 2;
const DATA: u8 = 3;

/// Time, class, injection, source, kind, number, and a serial number.
type Key = (u64, u8, u64, usize, u8, u64, u64);

#[derive(Clone, Debug)]
enum What {
    /// A whole message or control packet is there.
    There(Packet),
    /// A long message has left its sender.
    Left(Packet),
    /// A processor does what is first in its queue.
    Act(usize),
    /// A head is at the link of the route.
    Head(Packet, usize),
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    kind: u8,
    source: usize,
    destination: usize,
    tag: u32,
    bytes: u64,
    number: u64,
    send: u64,
    receive: u64,
    injection: u64,
}

#[derive(Default)]
struct Cpu {
    todo: VecDeque<(u64, Op)>,
    made: u64,
    sent: u64,
    /// Completed and not taken.
    done: BTreeMap<u64, Done>,
    /// Receives without a message: request, source, tag.
    posted: Vec<(u64, Option<usize>, Option<u32>)>,
    arrived: Vec<Packet>,
    /// Least number that the next message of each source has.
    next: BTreeMap<usize, u64>,
    waits: Option<(u64, Vec<u64>)>,
    ended: bool,
    last: u64,
}

struct Simulation<'a> {
    parameters: &'a NetworkParameters,
    network: &'a Interconnect,
    queue: BTreeMap<Key, What>,
    serial: u64,
    cpus: Vec<Cpu>,
    programs: Vec<Program>,
    free: Vec<u64>,
    links: Vec<(u64, u64)>,
    messages: u64,
    message_bytes: u64,
}

/// Runs programs to the end.
pub fn simulate(
    parameters: &NetworkParameters,
    network: &Interconnect,
    programs: &[Program],
) -> Outcome {
    let links = network.links().len();
    let mut all = Simulation {
        parameters,
        network,
        queue: BTreeMap::new(),
        serial: 0,
        cpus: programs.iter().map(|_| Cpu::default()).collect(),
        programs: programs.to_vec(),
        free: vec![0; links],
        links: vec![(0, 0); links],
        messages: 0,
        message_bytes: 0,
    };
    for processor in 0..programs.len() {
        all.go_on(processor, 0, &[]);
    }
    while let Some((key, what)) = all.queue.pop_first() {
        all.event(key.0, what);
    }
    let blocked = all.cpus.iter().enumerate().filter(|(_, cpu)| !cpu.ended);
    let blocked: Vec<_> = blocked
        .map(|(processor, cpu)| {
            let (since, requests) = cpu.waits.clone().unwrap();
            let open = |request: &u64| !cpu.done.contains_key(request);
            (
                processor,
                since,
                requests.into_iter().filter(open).collect(),
            )
        })
        .collect();
    let unmatched = all.cpus.iter().flat_map(|cpu| &cpu.arrived);
    let mut unmatched: Vec<_> = unmatched.map(|one| (one.source, one.number)).collect();
    unmatched.sort_unstable();
    Outcome {
        end: match (blocked.is_empty(), unmatched.is_empty()) {
            (false, _) => End::Deadlock(blocked),
            (true, false) => End::NeverReceived(unmatched),
            (true, true) => End::Finished,
        },
        traces: all.programs.into_iter().map(|one| one.trace).collect(),
        ends: all.cpus.iter().map(|cpu| cpu.last).collect(),
        messages: all.messages,
        message_bytes: all.message_bytes,
        links: all.links,
    }
}

impl Simulation<'_> {
    fn plan(&mut self, time: u64, class: u8, rest: (u64, usize, u8, u64), what: What) {
        self.serial += 1;
        let (injection, source, kind, number) = rest;
        let key = (time, class, injection, source, kind, number, self.serial);
        self.queue.insert(key, what);
    }

    fn go_on(&mut self, processor: usize, now: u64, done: &[Done]) {
        let ops = self.programs[processor].go_on(now, done);
        self.cpus[processor].todo.extend(ops);
        self.plan_act(processor);
    }

    fn plan_act(&mut self, processor: usize) {
        if let Some((time, _)) = self.cpus[processor].todo.front() {
            self.plan(*time, ACT, (0, processor, 0, 0), What::Act(processor));
        }
    }

    fn inject(&mut self, packet: Packet, now: u64) {
        let packet = Packet {
            injection: now,
            ..packet
        };
        self.plan_head(packet, 0, now);
    }

    fn plan_head(&mut self, packet: Packet, hop: usize, time: u64) {
        let (source, number) = match packet.kind {
            CLEAR => (packet.destination, packet.receive),
            _ => (packet.source, packet.number),
        };
        // A short message does not overtake the request of a long one.
        let kind = match packet.kind {
            ASK => EAGER,
            kind => kind,
        };
        let rest = (packet.injection, source, kind, number);
        self.plan(time, HEAD, rest, What::Head(packet, hop));
    }

    fn event(&mut self, now: u64, what: What) {
        match what {
            What::Head(packet, hop) => self.head(now, packet, hop),
            What::Left(packet) => self.complete(now, packet.source, packet.send, false, packet),
            What::There(packet) => match packet.kind {
                CLEAR => {
                    let kind = DATA;
                    let later = now + self.parameters.turnaround_ps;
                    self.inject(Packet { kind, ..packet }, later);
                }
                DATA => self.complete(now, packet.destination, packet.receive, true, packet),
                _ => {
                    let cpu = &mut self.cpus[packet.destination];
                    let first = cpu.next.entry(packet.source).or_default();
                    assert!(*first <= packet.number, "a message overtook another");
                    *first = packet.number + 1;
                    let fits = |(_, source, tag): &(u64, Option<usize>, Option<u32>)| {
                        source.is_none_or(|one| one == packet.source)
                            && tag.is_none_or(|one| one == packet.tag)
                    };
                    match cpu.posted.iter().position(fits) {
                        Some(place) => {
                            let (request, ..) = cpu.posted.remove(place);
                            self.matched(now, packet, request);
                        }
                        None => cpu.arrived.push(packet),
                    }
                }
            },
            What::Act(processor) => self.act(now, processor),
        }
    }

    fn head(&mut self, now: u64, packet: Packet, hop: usize) {
        let ends = match packet.kind {
            CLEAR => (packet.destination, packet.source),
            _ => (packet.source, packet.destination),
        };
        let route = self.network.route(ends.0, ends.1).unwrap();
        let bytes = match packet.kind {
            EAGER | DATA => packet.bytes,
            _ => 16,
        };
        let packets = bytes.div_ceil(self.parameters.payload.0).max(1);
        let wire = bytes + packets * self.parameters.header.0;
        let ratio = self.parameters.byte_time().unwrap();
        let time = (u128::from(wire) * u128::from(ratio.num)).div_ceil(ratio.den.into()) as u64;
        let link = route[hop];
        let start = now.max(self.free[link]);
        self.free[link] = start + time;
        self.links[link].0 += time;
        self.links[link].1 += wire;
        if hop == 0 && packet.kind == DATA {
            let rest = (0, packet.source, 1, packet.number);
            self.plan(start + time, ARRIVE, rest, What::Left(packet));
        }
        let hop_time = self.parameters.hop_ps;
        if hop + 1 < route.len() {
            self.plan_head(packet, hop + 1, start + hop_time);
        } else {
            let rest = (0, packet.source, 0, packet.number);
            self.plan(start + hop_time + time, ARRIVE, rest, What::There(packet));
        }
    }

    fn matched(&mut self, now: u64, packet: Packet, receive: u64) {
        let packet = Packet { receive, ..packet };
        if packet.kind == EAGER {
            self.complete(now, packet.destination, receive, true, packet);
        } else {
            let kind = CLEAR;
            let later = now + self.parameters.turnaround_ps;
            self.inject(Packet { kind, ..packet }, later);
        }
    }

    fn complete(&mut self, now: u64, processor: usize, request: u64, receive: bool, of: Packet) {
        let done = Done {
            request,
            receive,
            at: now,
            source: of.source,
            destination: of.destination,
            tag: of.tag,
            bytes: of.bytes,
            number: of.number,
        };
        self.cpus[processor].done.insert(request, done);
        self.end_wait(now, processor);
    }

    fn end_wait(&mut self, now: u64, processor: usize) {
        let cpu = &mut self.cpus[processor];
        if let Some((_, requests)) = &cpu.waits
            && requests.iter().all(|one| cpu.done.contains_key(one))
        {
            let (_, requests) = cpu.waits.take().unwrap();
            let taken: Vec<Done> = requests
                .iter()
                .map(|one| cpu.done.remove(one).unwrap())
                .collect();
            self.go_on(processor, now, &taken);
        }
    }

    fn act(&mut self, now: u64, processor: usize) {
        let cpu = &mut self.cpus[processor];
        let (_, op) = cpu.todo.pop_front().unwrap();
        cpu.last = now;
        match op {
            Op::Send { to, tag, bytes } => {
                let (send, number) = (cpu.made, cpu.sent);
                cpu.made += 1;
                cpu.sent += 1;
                self.messages += 1;
                self.message_bytes += bytes;
                let eager = bytes <= self.parameters.eager.0;
                let packet = Packet {
                    kind: if eager { EAGER } else { ASK },
                    source: processor,
                    destination: to,
                    tag,
                    bytes,
                    number,
                    send,
                    receive: 0,
                    injection: now,
                };
                if eager {
                    self.complete(now, processor, send, false, packet);
                }
                self.inject(packet, now);
            }
            Op::Receive { from, tag, .. } => {
                let request = cpu.made;
                cpu.made += 1;
                let fits = |one: &Packet| {
                    from.is_none_or(|from| from == one.source)
                        && tag.is_none_or(|tag| tag == one.tag)
                };
                match cpu.arrived.iter().position(fits) {
                    Some(place) => {
                        let packet = cpu.arrived.remove(place);
                        self.matched(now, packet, request);
                    }
                    None => cpu.posted.push((request, from, tag)),
                }
            }
            Op::Wait(requests) => {
                cpu.waits = Some((now, requests));
                self.end_wait(now, processor);
                return;
            }
            Op::Test(requests) => {
                let taken: Vec<Done> = requests
                    .iter()
                    .filter_map(|one| cpu.done.remove(one))
                    .collect();
                self.go_on(processor, now, &taken);
                return;
            }
            Op::Pause => {
                self.go_on(processor, now, &[]);
                return;
            }
            Op::End => {
                cpu.ended = true;
                return;
            }
        }
        self.plan_act(processor);
    }
}
