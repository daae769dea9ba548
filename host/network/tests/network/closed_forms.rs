//! Times of benchmarks as formulas, to the picosecond.

use cp2_machine::{NetworkParameters, Topology};
use cp2_network::Interconnect;

use crate::cases::{Case, TOPOLOGIES, run_case};
use crate::oracle::{End, Outcome};
use crate::program::{Choice, Overheads, Program, Step};

const HOP: u64 = 100_000;
const TURNAROUND: u64 = 200_000;
const SIZES: [u64; 7] = [0, 1, 8, 256, 1_000, 4_096, 65_536];

/// Set-up of a send, a post, a completion: 200, 50 and 100 cycles of 1.6 ns.
const CPU: Overheads = Overheads {
    send: 320_000,
    post: 80_000,
    completion: 160_000,
};

/// Time for which a message holds a link.
fn w(bytes: u64) -> u64 {
    800 * (bytes + 20 * bytes.div_ceil(256).max(1))
}

fn run(topology: Topology, overheads: Overheads, eager: bool, steps: Vec<Vec<Step>>) -> Outcome {
    let mut parameters = NetworkParameters {
        topology,
        ..NetworkParameters::default()
    };
    assert_eq!(parameters.hop_ps, HOP);
    assert_eq!(parameters.turnaround_ps, TURNAROUND);
    if eager {
        parameters.eager.0 = u64::MAX;
    }
    let programs = steps.into_iter().enumerate();
    let programs = programs.map(|(processor, steps)| Program::new(processor, steps, overheads, 0));
    let outcome = run_case(&Case {
        parameters,
        programs: programs.collect(),
        least_overhead: overheads.send.min(overheads.post),
    });
    assert_eq!(outcome.end, End::Finished);
    outcome
}

fn send(to: usize, bytes: u64) -> Step {
    Step::Send { to, tag: 0, bytes }
}

fn receive(from: usize, bytes: u64) -> Step {
    Step::Receive {
        from: Some(from),
        tag: Some(0),
        bytes,
    }
}

const WAIT: Step = Step::Wait(Choice::All);

fn hops(topology: Topology, processors: usize, source: usize, destination: usize) -> u64 {
    let network = Interconnect::new(topology, processors).unwrap();
    network.route(source, destination).unwrap().len() as u64
}

/// `s + h L + w + c`, and beyond the eager limit `s + 3 h L + 2 w(16) + 2 q + w + c`.
#[test]
fn ping_pong() {
    const ROUNDS: u64 = 5;
    let (s, c) = (CPU.send, CPU.completion);
    for topology in TOPOLOGIES {
        for processors in [2, 3, 8, 16, 64] {
            for other in [1, processors / 2, processors - 1] {
                let h = hops(topology, processors, 0, other);
                for bytes in SIZES {
                    // Receives are posted before anything is sent, so they take no time.
                    let mut steps = vec![Vec::new(); processors];
                    let wait_for = |count: usize| Step::Wait(Choice::First(count));
                    for (one, peer) in [(0, other), (other, 0)] {
                        steps[one].extend((0..ROUNDS).map(|_| receive(peer, bytes)));
                    }
                    // Posts of the others are done when the first message comes.
                    steps[0].push(Step::Compute(1_000_000));
                    for _ in 0..ROUNDS {
                        steps[0].extend([send(other, bytes), wait_for(1)]);
                        steps[other].extend([wait_for(1), send(0, bytes)]);
                    }
                    let one_way = match bytes > 4_096 {
                        false => s + h * HOP + w(bytes) + c,
                        true => s + 3 * h * HOP + 2 * w(16) + 2 * TURNAROUND + w(bytes) + c,
                    };
                    let start = 1_000_000 + ROUNDS * CPU.post;
                    let outcome = run(topology, CPU, false, steps);
                    assert_eq!(
                        outcome.ends[0],
                        start + 2 * ROUNDS * one_way,
                        "{topology:?} {processors} {other} {bytes}"
                    );
                }
            }
        }
    }
}

/// `s + h L + 2 w + 2 c`.
#[test]
fn two_messages_over_one_route() {
    // The second set-up is shorter than the first message.
    let cpu = Overheads {
        send: 10_000,
        ..CPU
    };
    for topology in TOPOLOGIES {
        for (processors, other) in [(2, 1), (9, 4), (16, 15)] {
            for bytes in SIZES {
                let h = hops(topology, processors, 0, other);
                let mut steps = vec![Vec::new(); processors];
                steps[0] = vec![send(other, bytes), send(other, bytes), WAIT];
                steps[other] = vec![receive(0, bytes), receive(0, bytes), WAIT];
                let outcome = run(topology, cpu, true, steps);
                assert_eq!(
                    outcome.ends[other],
                    cpu.send + h * HOP + 2 * w(bytes) + 2 * cpu.completion
                );
            }
        }
    }
}

/// `d p + s + (d - 1) max(s, w) + h L + w + d c`.
#[test]
fn halo() {
    let check = |topology, neighbours: &dyn Fn(usize) -> Vec<usize>, processors: usize| {
        for bytes in SIZES {
            let steps = (0..processors).map(|own| {
                let mut others = neighbours(own);
                let mut steps: Vec<Step> =
                    others.iter().map(|from| receive(*from, bytes)).collect();
                steps.extend(others.iter().map(|to| send(*to, bytes)));
                others.clear();
                steps.push(Step::Wait(Choice::First(neighbours(own).len())));
                steps
            });
            let outcome = run(topology, CPU, true, steps.collect());
            let d = neighbours(0).len() as u64;
            let time = d * CPU.post + CPU.send + (d - 1) * w(bytes).max(CPU.send) + 3 * HOP;
            let time = time + w(bytes) + d * CPU.completion;
            assert_eq!(outcome.ends, vec![time; processors], "{topology:?} {bytes}");
        }
    };
    for n in [3, 4, 7, 16] {
        check(
            Topology::Ring,
            &|own| vec![(own + 1) % n, (own + n - 1) % n],
            n,
        );
    }
    for k in [3, 4, 5] {
        let place = |y: usize, x: usize| y % k * k + x % k;
        check(
            Topology::Torus,
            &|own| {
                let (y, x) = (own / k, own % k);
                let (left, up) = (place(y, x + k - 1), place(y + k - 1, x));
                vec![place(y, x + 1), left, place(y + 1, x), up]
            },
            k * k,
        );
    }
}

/// `max(s + h_nearest L + (n - 1) w, (n - 1) p) + (n - 1) c`, where a message takes longer than heads are
/// apart.
#[test]
fn hot_spot() {
    for topology in TOPOLOGIES {
        for n in [2, 3, 8, 16] {
            let distances = (1..n).map(|from| hops(topology, n, from, 0));
            let (least, most) = (distances.clone().min().unwrap(), distances.max().unwrap());
            for bytes in SIZES {
                if w(bytes) < (most - least) * HOP {
                    continue;
                }
                let mut steps: Vec<Vec<Step>> =
                    (0..n).map(|_| vec![send(0, bytes), WAIT]).collect();
                steps[0] = (1..n).map(|from| receive(from, bytes)).collect();
                steps[0].push(WAIT);
                let outcome = run(topology, CPU, true, steps);
                let others = n as u64 - 1;
                let arrived = CPU.send + least * HOP + others * w(bytes);
                assert_eq!(
                    outcome.ends[0],
                    arrived.max(others * CPU.post) + others * CPU.completion,
                    "{topology:?} {n} {bytes}"
                );
            }
        }
    }
}

fn all_to_all(n: usize, bytes: u64) -> Vec<Vec<Step>> {
    let program = |own: usize| {
        let turns = (1..n).flat_map(|turn| {
            let (from, to) = ((own + n - turn) % n, (own + turn) % n);
            [receive(from, bytes), send(to, bytes)]
        });
        let receives = (0..n - 1).fold(0, |mask, turn| mask | 1 << (2 * turn));
        turns.chain([Step::Wait(Choice::Mask(receives))]).collect()
    };
    (0..n).map(program).collect()
}

/// `(p + s) + (n - 2) max(w, p + s) + h L + w + (n - 1) c`, with the longest h.
#[test]
fn all_to_all_where_nobody_shares_a_link() {
    for (topology, sizes) in [
        (Topology::Switch, [2, 3, 8, 17]),
        (Topology::FatTree, [4, 4, 9, 16]),
    ] {
        for n in sizes {
            for bytes in SIZES {
                let outcome = run(topology, CPU, true, all_to_all(n, bytes));
                let others = n as u64 - 1;
                let turn = CPU.post + CPU.send;
                let h = if topology == Topology::Switch { 2 } else { 4 };
                let time = turn + (others - 1) * w(bytes).max(turn) + h * HOP + w(bytes);
                let last = outcome.ends.iter().max().unwrap();
                assert_eq!(
                    *last,
                    time + others * CPU.completion,
                    "{topology:?} {n} {bytes}"
                );
            }
        }
    }
}

/// The busiest link of a ring of n has `g (g + 1) / 2` messages, g = n / 2; a torus of k x k has k rings of k
/// in each row of links.
#[test]
fn all_to_all_loads_rings_and_tori() {
    let busiest = |topology, n: usize| {
        let outcome = run(topology, CPU, true, all_to_all(n, 256));
        let busy = outcome.links.iter().map(|(busy, _)| *busy).max().unwrap();
        assert!(outcome.ends.iter().all(|end| *end > busy));
        busy / w(256)
    };
    for n in [2, 4, 8, 16, 24] {
        let g = n as u64 / 2;
        let ports = n as u64 - 1;
        assert_eq!(busiest(Topology::Ring, n), ports.max(g * (g + 1) / 2));
    }
    assert_eq!(busiest(Topology::Torus, 16), 15);
    // 4 x 4: four times a ring of four, 3 messages a link.
    let outcome = run(Topology::Torus, CPU, true, all_to_all(16, 256));
    let inner = outcome.links.iter().skip(32).map(|(busy, _)| *busy);
    assert_eq!(inner.max(), Some(4 * 3 * w(256)));
}
