//! Ranks that are threads, with channels to each other.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use cp2_network::{Transport, TransportError};

pub struct Threads {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Threads {
    fn all(ranks: usize) -> Vec<Self> {
        let mut ends: BTreeMap<(usize, usize), _> = BTreeMap::new();
        for from in 0..ranks {
            for to in 0..ranks {
                ends.insert((from, to), channel());
            }
        }
        let mut made = Vec::new();
        for rank in 0..ranks {
            let to = (0..ranks).map(|other| ends[&(rank, other)].0.clone());
            made.push((rank, to.collect::<Vec<_>>()));
        }
        let mut receivers: BTreeMap<_, _> =
            ends.into_iter().map(|(key, (_, end))| (key, end)).collect();
        made.into_iter()
            .map(|(rank, to)| Self {
                rank,
                to,
                from: (0..ranks)
                    .map(|other| receivers.remove(&(other, rank)).unwrap())
                    .collect(),
            })
            .collect()
    }

    fn swap(&mut self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, TransportError> {
        let gone = TransportError {
            transport: "threads",
            rank: self.rank,
            message: "another rank is gone".to_owned(),
        };
        for (to, bytes) in self.to.iter().zip(out) {
            to.send(bytes).map_err(|_| gone.clone())?;
        }
        let came = self.from.iter().map(|from| from.recv());
        came.collect::<Result<_, _>>().map_err(|_| gone)
    }
}

impl Transport for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn all_gather(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, TransportError> {
        let out = vec![own; self.to.len()];
        self.swap(out)
    }

    fn exchange(
        &mut self,
        out: Vec<Vec<u8>>,
        sizes: &[usize],
    ) -> Result<Vec<Vec<u8>>, TransportError> {
        assert!(out[self.rank].is_empty());
        let came = self.swap(out)?;
        assert!(came.iter().map(Vec::len).eq(sizes.iter().copied()));
        Ok(came)
    }
}

/// Runs something on so many ranks; the result of each.
pub fn on_ranks<R: Send>(ranks: usize, run: impl Fn(&mut dyn Transport) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = Threads::all(ranks)
            .into_iter()
            .map(|mut transport| {
                std::thread::Builder::new()
                    .spawn_scoped(scope, move || run(&mut transport))
                    .unwrap()
            })
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.collect()
    })
}
