//! Measures what communication costs the host: microseconds a message.
//!
//! `cargo run --release -p cp2-network --example throughput`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use cp2_machine::{NetworkParameters, Topology};
use cp2_network::{
    Advance, Communication, NetworkError, Picoseconds, Record, RecordedOperation, Request, Wake,
};

/// Set-up of a send or a post.
const COMMAND: u64 = 100_000;

/// A processor's sends and receives in a round; `None` receives from any source.
type Round = (Vec<usize>, Vec<Option<usize>>);

fn records(wake: &Wake, round: &Round, first: u64, jitter: u64) -> Vec<Record> {
    let number = wake.processor as u64 * 31 + first * 17;
    let mut clock = wake.at.get() + number.wrapping_mul(0x9e37_79b9) % (jitter + 1);
    let mut at = |operation| {
        clock += COMMAND;
        let at = Picoseconds(clock);
        Record { at, operation }
    };
    let (sends, receives) = round;
    let mut made: Vec<Record> = Vec::new();
    for source in receives {
        let (source, tag, bytes) = (*source, Some(0), 4096);
        made.push(at(RecordedOperation::Receive { source, tag, bytes }));
    }
    for destination in sends {
        let (destination, tag, bytes) = (*destination, 0, 1024);
        made.push(at(RecordedOperation::Send {
            destination,
            tag,
            bytes,
        }));
    }
    let requests = (first..first + made.len() as u64).map(Request).collect();
    made.push(at(RecordedOperation::Wait { requests }));
    made
}

fn measure(
    name: &str,
    topology: Topology,
    rounds: usize,
    jitter: u64,
    all: &[Round],
) -> Result<(), NetworkError> {
    let parameters = NetworkParameters {
        topology,
        ..NetworkParameters::default()
    };
    let mut communication = Communication::new(&parameters, all.len(), Picoseconds(COMMAND))?;
    let (mut left, mut made) = (vec![rounds; all.len()], vec![0; all.len()]);
    let start = Instant::now();
    while let Advance::Run(woken) = communication.advance()? {
        for wake in woken {
            let processor = wake.processor;
            let (Some(left), Some(made), Some(round)) = (
                left.get_mut(processor),
                made.get_mut(processor),
                all.get(processor),
            ) else {
                continue;
            };
            let done = match *left {
                0 => vec![Record {
                    at: wake.at,
                    operation: RecordedOperation::End,
                }],
                _ => records(&wake, round, *made, jitter),
            };
            *left = left.saturating_sub(1);
            *made += done.len() as u64 - 1;
            communication.apply(processor, &done)?;
        }
    }
    let time = start.elapsed().as_secs_f64();
    let messages = communication.report().messages;
    println!(
        "{name:40} {:5} processors {messages:8} messages {:6} windows {:6.2} us a message",
        all.len(),
        communication.windows(),
        time * 1e6 / messages as f64
    );
    Ok(())
}

fn halo(rows: usize, columns: usize) -> Vec<Round> {
    let neighbours = |own: usize| {
        let (y, x) = (own / columns, own % columns);
        let at = |y: usize, x: usize| y % rows * columns + x % columns;
        let (left, up) = (at(y, x + columns - 1), at(y + rows - 1, x));
        vec![at(y, x + 1), left, at(y + 1, x), up]
    };
    let round = |own| {
        let others = neighbours(own);
        (others.clone(), others.into_iter().map(Some).collect())
    };
    (0..rows * columns).map(round).collect()
}

fn all_to_all(processors: usize) -> Vec<Round> {
    let round = |own: usize| {
        let others = 1..processors;
        let to = others.clone().map(|turn| (own + turn) % processors);
        let from = others.map(|turn| Some((own + processors - turn) % processors));
        (to.collect(), from.collect())
    };
    (0..processors).map(round).collect()
}

fn hot_spot(processors: usize, any: bool) -> Vec<Round> {
    let mut all = vec![(vec![0], Vec::new()); processors];
    if let Some(first) = all.first_mut() {
        let from = (1..processors).map(|source| (!any).then_some(source));
        *first = (Vec::new(), from.collect());
    }
    all
}

fn main() -> Result<(), NetworkError> {
    for jitter in [0, 3_000_000, 30_000_000] {
        let name = format!("halo, torus, jitter {} us", jitter / 1_000_000);
        measure(&name, Topology::Torus, 50, jitter, &halo(8, 8))?;
        measure(&name, Topology::Torus, 50, jitter, &halo(32, 32))?;
    }
    measure("all to all, torus", Topology::Torus, 1, 0, &all_to_all(256))?;
    measure(
        "all to all, fat tree",
        Topology::FatTree,
        1,
        0,
        &all_to_all(256),
    )?;
    measure(
        "all to all, fat tree",
        Topology::FatTree,
        1,
        0,
        &all_to_all(1024),
    )?;
    measure(
        "hot spot, torus",
        Topology::Torus,
        10,
        0,
        &hot_spot(1024, false),
    )?;
    measure(
        "hot spot, any source",
        Topology::Torus,
        10,
        0,
        &hot_spot(1024, true),
    )
}
