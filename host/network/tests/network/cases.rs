//! Random programs, and the crate's way to run them.

use cp2_machine::{Bytes, NetworkParameters, Ratio, Topology};
use cp2_network::{
    Advance, Communication, Interconnect, NetworkError, NetworkReport, Picoseconds, Record,
};

use crate::oracle::{End, Outcome, simulate};
use crate::program::{Choice, Done, Overheads, Program, Step, record};

pub const TOPOLOGIES: [Topology; 5] = [
    Topology::Ring,
    Topology::Mesh,
    Topology::Torus,
    Topology::Switch,
    Topology::FatTree,
];

/// Numbers from a seed (SplitMix64).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, most: usize) -> usize {
        (self.number() % most as u64) as usize
    }

    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for place in (1..values.len()).rev() {
            values.swap(place, self.below(place + 1));
        }
    }
}

/// A network, and what its processors do.
#[derive(Debug)]
pub struct Case {
    pub parameters: NetworkParameters,
    pub programs: Vec<Program>,
    pub least_overhead: u64,
}

/// Draws a case.
pub fn draw_case(seed: u64) -> Case {
    let mut draw = Draw::new(seed);
    let defaults = NetworkParameters::default();
    let hop_ps = draw.of(&[0, 1, 1_000, 100_000, 100_000]);
    let parameters = NetworkParameters {
        topology: draw.of(&TOPOLOGIES),
        lanes: draw.of(&[1, 3, 4, 4]),
        lane_rate_hz: draw.of(&[3_125_000_000, 6_250_000_000, 1_000_000_000_000]),
        coding: Ratio { num: 8, den: 10 },
        payload: Bytes(draw.of(&[1, 16, 256, 256])),
        header: Bytes(match hop_ps {
            0 => draw.of(&[1, 20]),
            _ => draw.of(&[0, 20, 20]),
        }),
        hop_ps,
        turnaround_ps: draw.of(&[0, 1, 200_000]),
        eager: Bytes(draw.of(&[0, 0, 16, 4096])),
        ..defaults
    };
    let most = draw.of(&[3, 6, 16]);
    let processors = 1 + draw.below(most);
    let overheads = match draw.below(4) {
        0 => Overheads::default(),
        1 => Overheads {
            send: 1000,
            post: 1000,
            completion: 0,
        },
        _ => Overheads {
            send: draw.of(&[0, 1, 400_000]),
            post: draw.of(&[0, 1, 100_000]),
            completion: draw.of(&[0, 1, 200_000]),
        },
    };
    let least = overheads.send.min(overheads.post);
    let reaction = draw.of(&[0, 0, 1, 1_000, 50_000]);
    let least_overhead = draw.of(&[0, least, least]);
    let steps = draw_steps(&mut draw, processors);
    let programs = steps.into_iter().enumerate();
    let programs =
        programs.map(|(processor, steps)| Program::new(processor, steps, overheads, reaction));
    Case {
        parameters,
        programs: programs.collect(),
        least_overhead,
    }
}

/// Rounds in which everybody sends, posts, computes and waits in an order of its own.
fn draw_steps(draw: &mut Draw, processors: usize) -> Vec<Vec<Step>> {
    let mut all = vec![Vec::new(); processors];
    let quantum = draw.of(&[1, 1_000, 100_000, 37_123]);
    let (wild, tagless) = draw.of(&[(0, 0), (0, 20), (10, 0), (50, 10), (100, 0), (100, 100)]);
    let tags = draw.of(&[1, 1, 2, 4]);
    let sizes: &[u64] = draw.of(&[&[0, 8][..], &[0, 1, 300, 5_000], &[4_096, 4_097], &[17, 16]]);
    let shape = draw.below(5);
    let (careless, forgetful) = (draw.percent(15), draw.percent(10));
    let answers = draw.percent(10);
    for _ in 0..1 + draw.below(4) {
        let mut round: Vec<Vec<Step>> = vec![Vec::new(); processors];
        let mut message = |draw: &mut Draw, from: usize, to: usize| {
            let (tag, bytes) = (draw.below(tags) as u32, draw.of(sizes));
            round[from].push(Step::Send { to, tag, bytes });
            if !forgetful || draw.percent(97) {
                round[to].push(Step::Receive {
                    from: (!draw.percent(wild)).then_some(from),
                    tag: (!draw.percent(tagless)).then_some(tag),
                    bytes: 10_000,
                });
            }
        };
        let hot = draw.below(processors);
        for processor in 0..processors {
            match shape {
                // Two neighbours.
                0 => {
                    for other in [1, processors - 1] {
                        message(draw, processor, (processor + other) % processors);
                    }
                }
                // A hot spot.
                1 => message(draw, processor, hot),
                // All to all.
                2 => (0..processors.min(6)).for_each(|other| {
                    message(draw, processor, (processor + other) % processors);
                }),
                // A tree.
                3 if processor > 0 => message(draw, processor, (processor - 1) / 2),
                3 => {}
                _ => (0..draw.below(5)).for_each(|_| {
                    let other = draw.below(processors);
                    message(draw, processor, other);
                }),
            }
        }
        for (steps, mut round) in all.iter_mut().zip(round) {
            draw.shuffle(&mut round);
            let mut with_more = Vec::new();
            for step in round {
                if draw.percent(30) {
                    with_more.push(Step::Compute(quantum * draw.below(10) as u64));
                }
                with_more.push(step);
                if draw.percent(8) {
                    with_more.push(Step::Test(draw_choice(draw)));
                }
                if draw.percent(2) {
                    with_more.push(Step::Pause);
                }
                // Waits before others have sent what they wait for: now and then for ever.
                if careless && draw.percent(5) {
                    with_more.push(Step::Wait(Choice::First(1)));
                }
            }
            if answers && draw.percent(50) {
                let (tag, bytes) = (draw.below(tags) as u32, draw.of(sizes));
                with_more.push(Step::Answer { tag, bytes });
            }
            while draw.percent(30) {
                with_more.push(Step::Compute(quantum * draw.below(4) as u64));
                with_more.push(Step::Test(draw_choice(draw)));
            }
            if draw.percent(70) {
                with_more.push(Step::Wait(draw_choice(draw)));
            }
            steps.extend(with_more);
        }
    }
    for steps in &mut all {
        if draw.percent(95) {
            steps.push(Step::Wait(Choice::All));
        }
    }
    all
}

fn draw_choice(draw: &mut Draw) -> Choice {
    match draw.below(4) {
        0 => Choice::First(1 + draw.below(2)),
        1 => Choice::Mask(draw.number()),
        _ => Choice::All,
    }
}

/// Results of a case by the sequential simulation.
pub fn expected(case: &Case) -> Outcome {
    let network = Interconnect::new(case.parameters.topology, case.programs.len()).unwrap();
    simulate(&case.parameters, &network, &case.programs)
}

/// Runs a case by the crate, without processes.
pub fn run_case(case: &Case) -> Outcome {
    let processors = case.programs.len();
    let least = Picoseconds(case.least_overhead);
    let mut communication = Communication::new(&case.parameters, processors, least).unwrap();
    let mut programs = case.programs.clone();
    let mut turn = 0;
    let end = loop {
        match communication.advance() {
            Ok(Advance::Run(mut woken)) => {
                // The order in which processors are applied does not matter.
                turn += 1;
                if turn % 2 == 0 {
                    woken.reverse();
                }
                for wake in woken {
                    let done: Vec<Done> = wake.completions.iter().map(Done::from).collect();
                    let ops = programs[wake.processor].go_on(wake.at.get(), &done);
                    let records: Vec<Record> = ops.iter().map(record).collect();
                    communication.apply(wake.processor, &records).unwrap();
                }
            }
            Ok(advance) => break Ok(advance),
            Err(error) => break Err(error),
        }
    };
    let end = match end {
        Ok(Advance::Deadlock(blocked)) => Err(NetworkError::Deadlock { blocked }),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    let traces = programs.into_iter().map(|one| one.trace).collect();
    outcome(&end, traces, &communication.report())
}

/// The crate's results in the oracle's terms.
pub fn outcome(
    end: &Result<(), NetworkError>,
    traces: Vec<Vec<(u64, Vec<Done>)>>,
    report: &NetworkReport,
) -> Outcome {
    let end = match end {
        Ok(()) => End::Finished,
        Err(NetworkError::Deadlock { blocked }) => End::Deadlock(
            blocked
                .iter()
                .map(|one| {
                    let pending = one.pending.iter().map(|pending| pending.request.0);
                    (one.processor, one.since.get(), pending.collect())
                })
                .collect(),
        ),
        Err(NetworkError::NeverReceived { messages }) => {
            let pairs = messages.iter().map(|one| (one.source, one.number));
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_unstable();
            End::NeverReceived(pairs)
        }
        Err(error) => panic!("{error}"),
    };
    Outcome {
        end,
        traces,
        ends: report.ends.iter().map(|end| end.get()).collect(),
        messages: report.messages,
        message_bytes: report.message_bytes,
        links: report
            .links
            .iter()
            .map(|link| (link.busy.get(), link.bytes))
            .collect(),
    }
}
