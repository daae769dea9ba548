//! Straight code: what programs receive, when, and how they fail.

use std::convert::Infallible;
use std::future::Future;

use cp2_machine::{Machine, Topology};
use cp2_network::{
    CartesianGrid, Communicator, InProcess, NetworkError, NetworkReport, Picoseconds,
    RESERVED_TAGS, run_programs,
};
use proptest::prelude::*;

use crate::threads::on_ranks;

fn machine(topology: Topology) -> Machine {
    let mut machine = Machine::builtin("vm7").unwrap();
    machine.network.topology = topology;
    machine
}

type Ended<R> = Result<(NetworkReport, Vec<R>), NetworkError>;

/// Runs a program in one process and on ranks, which agree.
fn run<R, F>(
    machine: &Machine,
    processors: usize,
    program: impl Fn(Communicator) -> F + Sync,
) -> Ended<R>
where
    R: Clone + std::fmt::Debug + PartialEq + Send,
    F: Future<Output = Result<R, Infallible>> + Send,
{
    let alone = run_programs(&mut InProcess, machine, processors, 1, b"test", &program);
    for ranks in 2..=3.min(processors) {
        let all = on_ranks(ranks, |transport| {
            // Threads of a rank change nothing either.
            run_programs(
                transport,
                machine,
                processors,
                1 + ranks % 2,
                b"test",
                &program,
            )
        });
        match &alone {
            Ok((report, results)) => {
                let mut found = Vec::new();
                for one in all {
                    let (own, part) = one.unwrap();
                    assert_eq!(own, *report);
                    found.extend(part);
                }
                assert_eq!(found, *results);
            }
            Err(error) => {
                for one in all {
                    assert_eq!(one.unwrap_err(), *error);
                }
            }
        }
    }
    alone
}

/// Values of a processor.
fn own_values(rank: usize, count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| 1.0 / (1 + rank * 7 + i * 3) as f32)
        .collect()
}

/// Sum in the order of the trees, written as a recursion over ranges.
fn tree_sum(values: &[f32]) -> f32 {
    match values {
        [] => unreachable!(),
        [one] => *one,
        _ => {
            let half = values.len().next_power_of_two() / 2;
            let (low, high) = values.split_at(half);
            tree_sum(low) + tree_sum(high)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        rng_seed: proptest::test_runner::RngSeed::Fixed(31),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// All collective operations, on any number of processors and any root, beside direct computation.
    #[test]
    fn collectives_are_direct_computations(
        processors in 1usize..=17,
        root in any::<prop::sample::Index>(),
        count in 0usize..5,
        topology in prop::sample::select(Topology::ALL.to_vec()),
        eager in prop::sample::select(vec![0u64, 4096]),
    ) {
        let root = root.index(processors);
        let mut machine = machine(topology);
        machine.network.eager.0 = eager;
        let program = |communicator: Communicator| async move {
            let (own, size) = (communicator.rank(), communicator.size());
            // Nobody has received this before the operations: they match no receive of a program.
            let mut other = [0u64];
            let next = (own + 1) % size;
            let any = communicator.start_receive(&mut other, None, None);
            let mine = [own as u64];
            let sent = communicator.start_send(&mine, next, 5);
            let values = own_values(own, count);
            communicator.barrier().await;
            let mut same = values.clone();
            communicator.broadcast(&mut same, root).await;
            let sum = communicator.reduce(&values, root, |a, b| a + b).await;
            let mut every = values.clone();
            communicator.allreduce(&mut every, |a, b| a + b).await;
            let first = communicator.reduce(&[own as u64], root, |a, _| a).await;
            let all = communicator.gather(&values, root).await;
            let mut part = vec![0.0; count];
            let spread = all.clone().unwrap_or_default();
            communicator.scatter(&spread, &mut part, root).await;
            let done = communicator.wait_all([any, sent]).await;
            Ok::<_, Infallible>((same, sum, every, first, all, part, other, done[0].source))
        };
        let (_, results) = run(&machine, processors, program).unwrap();
        prop_assert_eq!(results.len(), processors);
        let all: Vec<Vec<f32>> = (0..processors).map(|rank| own_values(rank, count)).collect();
        let column = |i: usize| -> Vec<f32> { all.iter().map(|values| values[i]).collect() };
        let sums: Vec<f32> = (0..count).map(|i| tree_sum(&column(i))).collect();
        for (rank, result) in results.into_iter().enumerate() {
            let (same, sum, every, first, gathered, part, other, source) = result;
            prop_assert_eq!(&same, &all[root]);
            let is_root = rank == root;
            prop_assert_eq!(sum, is_root.then(|| sums.clone()));
            prop_assert_eq!(&every, &sums);
            prop_assert_eq!(first, is_root.then(|| vec![0]));
            prop_assert_eq!(gathered, is_root.then(|| all.concat()));
            prop_assert_eq!(&part, &all[rank]);
            let before = (rank + processors - 1) % processors;
            prop_assert_eq!((other[0], source), (before as u64, before));
        }
    }

    /// Shifts on grids: what goes to a neighbour comes from it, and ends are ends.
    #[test]
    fn shifts_on_grids_are_each_others(
        axes in prop::collection::vec((1usize..5, any::<bool>()), 1..=3),
        by in -3i64..=3,
    ) {
        let grid = CartesianGrid::new(&axes);
        let mut to = vec![0; grid.size()];
        for rank in 0..grid.size() {
            let own = grid.coordinates(rank);
            let signed: Vec<i64> = own.iter().map(|at| *at as i64).collect();
            prop_assert_eq!(grid.rank(&signed), Some(rank));
            for (axis, (extent, periodic)) in axes.iter().enumerate() {
                let (source, destination) = grid.shift(rank, axis, by);
                let beyond = signed[axis] + by < 0 || signed[axis] + by >= *extent as i64;
                prop_assert_eq!(destination.is_none(), beyond && !periodic);
                if let Some(other) = destination {
                    prop_assert_eq!(grid.shift(other, axis, by).0, Some(rank));
                    to[other] += 1;
                }
                if let Some(other) = source {
                    prop_assert_eq!(grid.shift(other, axis, by).1, Some(rank));
                }
            }
            prop_assert_eq!(grid.shift(rank, axes.len(), by), (None, None));
        }
    }
}

/// Set-up of sends, posts, completions and tests, and cycles of computing, in a program's clock.
#[test]
fn the_clock_is_charged_from_the_machine_file() {
    let mut machine = machine(Topology::Switch);
    let cycle = Picoseconds::from_cycles(1, machine.cp2.clock_hz).get();
    let network = machine.network.clone();
    let [s, p, c] = [network.send.0, network.post.0, network.completion.0].map(|n| n * cycle);
    let program = |communicator: Communicator| async move {
        let own = communicator.rank();
        let mut times = Vec::new();
        let mut note = || times.push(communicator.now().get());
        if own == 0 {
            communicator.compute(1000);
            note();
            communicator.send(&[7u32], 1, 3).await;
            note();
        } else {
            let mut value = [0u32];
            let mut coming = communicator.start_receive(&mut value, None, 3);
            note();
            let mut tests = 0u64;
            loop {
                tests += 1;
                match coming.test().await {
                    Ok(message) => {
                        assert_eq!((message.source, message.tag, message.bytes), (0, 3, 4));
                        break;
                    }
                    Err(still) => coming = still,
                }
            }
            note();
            assert_eq!(value, [7]);
            times.push(tests);
        }
        Ok::<_, Infallible>(times)
    };
    let arrival = 1000 * cycle + s + 2 * network.hop_ps + 800 * 24;
    let (report, times) = run(&machine, 2, program).unwrap();
    assert_eq!(times[0], [1000 * cycle, 1000 * cycle + s + c]);
    // It asks at p, p + c, p + 2 c, and so on: first when the message is there.
    let tests = (arrival - p).div_ceil(c) + 1;
    assert_eq!(times[1], [p, p + tests * c, tests]);
    assert_eq!(report.ends[1].get(), p + tests * c);
    // Without set-up times there is none.
    machine.network.completion.0 = 0;
    machine.network.send.0 = 0;
    let quiet = |communicator: Communicator| async move {
        let mut value = [communicator.rank() as u32];
        communicator.broadcast(&mut value, 0).await;
        Ok::<_, Infallible>(communicator.now().get())
    };
    let (_, ends) = run(&machine, 2, quiet).unwrap();
    assert_eq!(ends, [0, p.max(2 * network.hop_ps + 800 * 24)]);
}

/// Requests that nobody waits for: the message is sent, or thrown away, and the values stay.
#[test]
fn dropped_requests_are_freed() {
    let program = |communicator: Communicator| async move {
        let mut values = [1u16, 2];
        if communicator.rank() == 0 {
            drop(communicator.start_send(&[8u16, 9], 1, 0));
            values[0] = 5;
            drop(communicator.start_send(&values, 1, 0));
        } else {
            drop(communicator.start_receive(&mut values, 0, 0));
            drop(communicator.start_receive(&mut [0u16; 0], 1, 7));
            communicator.send::<u16>(&[], 1, 7).await;
            assert_eq!(values, [1, 2]);
            communicator.receive(&mut values, 0, 0).await;
        }
        Ok::<_, Infallible>(values)
    };
    let (_, values) = run(&machine(Topology::Ring), 2, program).unwrap();
    assert_eq!(values, [[5, 2], [5, 2]]);
}

/// A program that waits takes little more than its own values.
#[test]
fn suspended_programs_are_small() {
    async fn halo(communicator: Communicator) -> Result<f32, Infallible> {
        let other = communicator.size() - 1 - communicator.rank();
        let (mut into, mut sum) = ([0.0f32; 4], [1.0]);
        for tag in 0..3 {
            let coming = communicator.start_receive(&mut into, other, tag);
            let sent = communicator.start_send(&[2.0; 4], other, tag);
            communicator.wait_all([coming, sent]).await;
            sum[0] += into[0];
            communicator.allreduce(&mut sum, |a, b| a + b).await;
        }
        Ok(sum[0])
    }
    let program = |communicator: Communicator| {
        let future = halo(communicator);
        let bytes = std::mem::size_of_val(&future);
        assert!(bytes < 1536, "{bytes}");
        future
    };
    let (_, sums) = run(&machine(Topology::Ring), 2, program).unwrap();
    assert_eq!(sums, [36.0; 2]);
}

/// Puts come with their notifications, those of a processor in its order, long ones too.
#[test]
fn puts_are_notified() {
    let program = |communicator: Communicator| async move {
        let (own, size) = (communicator.rank(), communicator.size());
        let mut values = vec![0u32; if own == 0 { 4000 } else { 0 }];
        let mut empty = [0u8; 0];
        let _second = communicator.expose(&mut empty);
        let mut window = communicator.expose(&mut values);
        let mut seen = Vec::new();
        if own == 0 {
            for _ in 0..2 * (size - 1) {
                let one = window.wait_notification().await;
                let end = one.place + one.count;
                let expected = one.source as u32 * 10 + one.number;
                let there = &window.values()[one.place..end];
                assert!(there.iter().all(|value| *value == expected));
                seen.push((one.source, one.number, one.count));
            }
            window.values_mut()[0] = 1;
        } else {
            window.put(0, own, &[own as u32 * 10], 0).await;
            window
                .put(0, own * 1100, &[own as u32 * 10 + 1; 1100], 1)
                .await;
        }
        seen.sort_unstable();
        Ok::<_, Infallible>(seen)
    };
    let (report, seen) = run(&machine(Topology::Torus), 3, program).unwrap();
    assert_eq!(seen[0], [(1, 0, 1), (1, 1, 1100), (2, 0, 1), (2, 1, 1100)]);
    assert_eq!(report.message_bytes, 2 * (16 + 12 + 4400));
}

/// Recursion is boxed; neighbours on a grid exchange.
#[test]
fn recursion_is_boxed() {
    fn sum(communicator: &Communicator, bit: usize) -> impl Future<Output = u64> + Send + '_ {
        Box::pin(async move {
            if bit == 0 {
                return communicator.rank() as u64;
            }
            let lower = [Box::pin(sum(communicator, bit / 2)).await];
            let other = communicator.rank() ^ bit;
            let mut theirs = [0u64];
            let into = (&mut theirs[..], Some(other), Some(1));
            communicator.send_receive((&lower, other, 1), into).await;
            lower[0] + theirs[0]
        })
    }
    let program = |communicator: Communicator| async move {
        Ok::<_, Infallible>(sum(&communicator, 4).await)
    };
    let (_, sums) = run(&machine(Topology::Mesh), 8, program).unwrap();
    assert_eq!(sums, [28; 8]);
}

fn error_of<R, F>(processors: usize, program: impl Fn(Communicator) -> F + Sync) -> String
where
    R: Clone + std::fmt::Debug + PartialEq + Send,
    F: Future<Output = Result<R, Infallible>> + Send,
{
    let ended = run(&machine(Topology::Torus), processors, program);
    ended.unwrap_err().to_string()
}

#[test]
fn misuse_ends_the_run_with_a_message() {
    let deadlock = error_of(2, |communicator| async move {
        communicator.receive(&mut [0u8], None, 3).await;
        Ok(())
    });
    assert!(deadlock.starts_with("deadlock: processor 0"), "{deadlock}");
    let reserved = error_of(2, |communicator| async move {
        communicator.send(&[0u8], 0, RESERVED_TAGS).await;
        Ok(())
    });
    assert!(reserved.contains("below 2147483648"), "{reserved}");
    let torn = error_of(2, |communicator| async move {
        let own = communicator.rank();
        let sent = communicator.start_send(&[1u8, 2, 3], own, 0);
        communicator.receive(&mut [0u16; 2], own, 0).await;
        sent.wait().await;
        Ok(())
    });
    assert!(torn.contains("within a value of 2 B"), "{torn}");
    let twice = error_of(1, |communicator| async move {
        let (mut one, mut other) = (
            Box::pin(communicator.barrier()),
            Box::pin(communicator.pause()),
        );
        let mut wrong = Box::pin(communicator.pause());
        std::future::poll_fn(|context| {
            let _ = one.as_mut().poll(context);
            let _ = other.as_mut().poll(context);
            wrong.as_mut().poll(context)
        })
        .await;
        Ok(())
    });
    assert!(twice.contains("waits in two places at once"), "{twice}");
    let nothing = error_of(1, |_| async move {
        std::future::pending::<()>().await;
        Ok(())
    });
    assert!(
        nothing.contains("awaits what no message completes"),
        "{nothing}"
    );
    let beyond = error_of(2, |communicator| async move {
        let mut values = [0u8; 4];
        let mut window = communicator.expose(&mut values);
        window.put(1 - communicator.rank(), 3, &[1, 2], 0).await;
        window.wait_notification().await;
        Ok(())
    });
    assert!(beyond.contains("at place 3 of a window of 4"), "{beyond}");
    let uneven = error_of(3, |communicator| async move {
        let mut own = [0u8; 2];
        communicator.scatter(&[0u8; 5], &mut own, 0).await;
        Ok(())
    });
    assert!(uneven.contains("give the root 6"), "{uneven}");
    let ended = run_programs(
        &mut InProcess,
        &machine(Topology::Ring),
        2,
        1,
        b"",
        |communicator| async move {
            match communicator.rank() {
                0 => Ok(()),
                _ => Err("the matrix is singular"),
            }
        },
    );
    let message = ended.unwrap_err().to_string();
    assert_eq!(message, "processor 1 at 0 ns: the matrix is singular");
}
