//! The programs of the benchmarks.

use std::convert::Infallible;

use cp2_machine::Machine;

use super::{NetworkBenchmark, farthest, neighbours, network_of};
use crate::program::MessageCosts;
use crate::{Communicator, NetworkError, NetworkReport, Picoseconds, Transport, run_programs};

/// Messages each way of a ping-pong.
pub(super) const ROUNDS: u64 = 5;

/// Runs a benchmark; its time, the bytes that were sent in it, and the report.
pub(super) fn run(
    benchmark: NetworkBenchmark,
    transport: &mut dyn Transport,
    machine: &Machine,
    processors: usize,
    bytes: u64,
) -> Result<(Picoseconds, u64, NetworkReport), NetworkError> {
    let network = network_of(machine, processors)?;
    let far = farthest(&network);
    let fingerprint = format!("{benchmark} of {processors} x {bytes} B, {}", machine.hash);
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    let network = &network;
    let program = |communicator: Communicator| {
        let own = communicator.rank();
        // Pairs (from, to) of the receives and sends of this processor, in their order.
        let steps = match benchmark {
            NetworkBenchmark::PingPong => Vec::new(),
            NetworkBenchmark::TwoFlows if own == 0 => vec![(None, Some(far)); 2],
            NetworkBenchmark::TwoFlows if own == far => vec![(Some(0), None); 2],
            NetworkBenchmark::TwoFlows => Vec::new(),
            NetworkBenchmark::Halo => {
                let others = neighbours(network, own);
                let receives = others.iter().map(|other| (Some(*other), None));
                let sends = others.iter().map(|other| (None, Some(*other)));
                receives.chain(sends).collect()
            }
            NetworkBenchmark::HotSpot if own == 0 => {
                (1..processors).map(|other| (Some(other), None)).collect()
            }
            NetworkBenchmark::HotSpot => vec![(None, Some(0))],
            NetworkBenchmark::AllToAll => (1..processors)
                .map(|turn| {
                    let from = (own + processors - turn) % processors;
                    (Some(from), Some((own + turn) % processors))
                })
                .collect(),
        };
        async move {
            if benchmark == NetworkBenchmark::PingPong {
                play(&communicator, far, length).await;
            } else {
                exchange(&communicator, &steps, length).await;
            }
            Ok::<(), Infallible>(())
        }
    };
    // One thread: these programs compute nothing between their messages.
    let (report, _) = run_programs(
        transport,
        machine,
        processors,
        1,
        fingerprint.as_bytes(),
        program,
    )?;
    let last = report.ends.iter().max().copied().unwrap_or_default();
    Ok(match benchmark {
        NetworkBenchmark::PingPong => {
            let posts = MessageCosts::new(machine).post.get().saturating_mul(ROUNDS);
            let whole = report.ends.first().map_or(0, |end| end.get());
            let one_way = whole.saturating_sub(posts) / (2 * ROUNDS);
            (Picoseconds(one_way), bytes, report)
        }
        _ => (last, report.message_bytes, report),
    })
}

/// Sends a message to and fro. All receives are posted before, so that they take no time.
async fn play(communicator: &Communicator, far: usize, length: usize) {
    let own = communicator.rank();
    let other = match own {
        0 => far,
        _ if own == far => 0,
        _ => return,
    };
    let values = vec![0u8; length];
    let mut memory: Vec<Vec<u8>> = (0..ROUNDS).map(|_| vec![0; length]).collect();
    let posted = memory
        .iter_mut()
        .map(|values| communicator.start_receive(values, other, 0));
    for coming in posted.collect::<Vec<_>>() {
        if own == 0 {
            drop(communicator.start_send(&values, other, 0));
        }
        coming.wait().await;
        if own > 0 {
            drop(communicator.start_send(&values, other, 0));
        }
    }
}

/// Posts receives and sends in an order, and waits for all receives.
async fn exchange(
    communicator: &Communicator,
    steps: &[(Option<usize>, Option<usize>)],
    length: usize,
) {
    let values = vec![0u8; length];
    let receives = steps.iter().filter(|(from, _)| from.is_some()).count();
    let mut memory: Vec<Vec<u8>> = (0..receives).map(|_| vec![0; length]).collect();
    let mut memory = memory.iter_mut();
    let mut coming = Vec::with_capacity(receives);
    for (from, to) in steps {
        if let (Some(from), Some(values)) = (from, from.and_then(|_| memory.next())) {
            coming.push(communicator.start_receive(values, *from, 0));
        }
        if let Some(to) = to {
            drop(communicator.start_send(&values, *to, 0));
        }
    }
    communicator.wait_all(coming).await;
}
