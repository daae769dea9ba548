//! The transport over MPI.

use cp2_network::{Transport, TransportError};
use mpi::Threading;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::request::{WaitGuard, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of what a rank says that travel in the first step of a gather, its length included.
const SLOT: usize = 1024;
/// Bytes of the length that stands first in a slot.
const LENGTH: usize = 8;
/// True while MPI is initialized.
static STARTED: AtomicBool = AtomicBool::new(false);
/// Most bytes of one MPI message: counts are 32-bit integers with a sign.
const PIECE: usize = 1 << 30;

/// Name in reports.
const NAME: &str = "mpi";

/// The ranks of an MPI job. Only the thread that made it may use it.
///
/// MPI is finalized when this is dropped, which waits for all ranks: a rank that cannot go on keeps it and calls
/// [`abort_ranks`] instead, and so does a rank that panics.
pub struct MpiTransport {
    /// Comes before the universe, for fields are dropped in their order.
    world: SimpleCommunicator,
    _universe: Universe,
}

/// Ends all ranks of the MPI job with an exit code; does nothing in a process that has not
/// initialized MPI, or has finalized it.
pub fn abort_ranks(code: i32) {
    if STARTED.load(Ordering::Relaxed) {
        SimpleCommunicator::world().abort(code);
    }
}

impl MpiTransport {
    /// Initializes MPI. From here on a panic of any thread ends all ranks.
    ///
    /// # Errors
    /// MPI was initialized before in this process.
    pub fn start() -> Result<Self, TransportError> {
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, _) =
            started.ok_or_else(|| failure(0, "MPI was initialized before in this process"))?;
        let world = universe.world();
        let rank = world.rank();
        STARTED.store(true, Ordering::Relaxed);
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            // The launcher does not say which rank it was.
            eprintln!("rank {rank} has panicked: all ranks end");
            abort_ranks(101);
        }));
        Ok(Self {
            world,
            _universe: universe,
        })
    }

    /// Returns the number of ranks.
    fn count(&self) -> usize {
        usize::try_from(self.world.size()).unwrap_or(1)
    }

    /// Returns the number of this rank.
    fn own(&self) -> usize {
        usize::try_from(self.world.rank()).unwrap_or(0)
    }

    fn failure(&self, message: impl Into<String>) -> TransportError {
        failure(self.own(), message)
    }
}

/// MPI is finalized behind this: nobody may abort any more.
impl Drop for MpiTransport {
    fn drop(&mut self) {
        STARTED.store(false, Ordering::Relaxed);
    }
}

fn failure(rank: usize, message: impl Into<String>) -> TransportError {
    TransportError {
        transport: NAME,
        rank,
        message: message.into(),
    }
}

impl Transport for MpiTransport {
    fn name(&self) -> &'static str {
        NAME
    }

    fn rank(&self) -> usize {
        self.own()
    }

    fn ranks(&self) -> usize {
        self.count()
    }

    fn all_gather(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, TransportError> {
        let ranks = self.count();
        let mut slot = vec![0; SLOT];
        slot[..LENGTH].copy_from_slice(&(own.len() as u64).to_le_bytes());
        let short = own.len().min(SLOT - LENGTH);
        slot[LENGTH..LENGTH + short].copy_from_slice(&own[..short]);
        let mut slots = vec![0; SLOT * ranks];
        self.world.all_gather_into(&slot, &mut slots);
        let mut lengths = Vec::with_capacity(ranks);
        for slot in slots.chunks_exact(SLOT) {
            let length = slot
                .first_chunk::<LENGTH>()
                .map_or(0, |l| u64::from_le_bytes(*l));
            lengths.push(usize::try_from(length).unwrap_or(usize::MAX));
        }
        if lengths.iter().all(|length| *length <= SLOT - LENGTH) {
            let slots = slots.chunks_exact(SLOT).zip(&lengths);
            return Ok(slots
                .map(|(slot, length)| slot[LENGTH..LENGTH + length].to_vec())
                .collect());
        }
        let total = lengths
            .iter()
            .fold(0usize, |sum, length| sum.saturating_add(*length));
        if total > PIECE {
            return Err(self.failure(format!(
                "ranks have {total} B of records in one window, at most {PIECE} B can be gathered; use more processors of less work, or fewer"
            )));
        }
        let counts: Vec<i32> = lengths
            .iter()
            .map(|length| i32::try_from(*length).unwrap_or(i32::MAX))
            .collect();
        let places: Vec<i32> = counts
            .iter()
            .scan(0, |at, count| {
                let own = *at;
                *at += count;
                Some(own)
            })
            .collect();
        let mut all = vec![0u8; total];
        self.world.all_gather_varcount_into(
            &own[..],
            &mut PartitionMut::new(&mut all[..], counts, &places[..]),
        );
        let mut rest = all.as_slice();
        Ok(lengths
            .iter()
            .map(|length| {
                let (own, behind) = rest.split_at(*length);
                rest = behind;
                own.to_vec()
            })
            .collect())
    }

    fn exchange(
        &mut self,
        mut out: Vec<Vec<u8>>,
        sizes: &[usize],
    ) -> Result<Vec<Vec<u8>>, TransportError> {
        let (own, ranks) = (self.own(), self.count());
        if out.len() != ranks || sizes.len() != ranks {
            return Err(self.failure(format!(
                "{} parts and {} sizes for {ranks} ranks",
                out.len(),
                sizes.len()
            )));
        }
        let mut into: Vec<Vec<u8>> = Vec::with_capacity(ranks);
        for (rank, size) in sizes.iter().enumerate() {
            let mut part = Vec::new();
            if rank != own {
                part.try_reserve_exact(*size).map_err(|_| {
                    self.failure(format!(
                        "this computer has not the memory for {size} B of messages from rank {rank}"
                    ))
                })?;
                part.resize(*size, 0);
            }
            into.push(part);
        }
        let world = &self.world;
        scope(|scope| {
            let mut pending = Vec::new();
            for (rank, part) in into.iter_mut().enumerate().filter(|(rank, _)| *rank != own) {
                let from = world.process_at_rank(rank as i32);
                pending.extend(
                    part.chunks_mut(PIECE)
                        .map(|piece| WaitGuard::from(from.immediate_receive_into(scope, piece))),
                );
            }
            let mut sent = Vec::new();
            for (rank, part) in out.iter().enumerate().filter(|(rank, _)| *rank != own) {
                let to = world.process_at_rank(rank as i32);
                sent.extend(
                    part.chunks(PIECE)
                        .map(|piece| WaitGuard::from(to.immediate_send(scope, piece))),
                );
            }
            drop(pending);
            drop(sent);
        });
        if let (Some(into), Some(own)) = (into.get_mut(own), out.get_mut(own)) {
            *into = std::mem::take(own);
        }
        Ok(into)
    }
}
