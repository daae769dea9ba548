//! Commands of several processors: their ranks, failures and reports.

mod options;
mod profile;
mod recordings;
mod report;
mod session;
mod timeline;

pub(crate) use options::check_outputs;
pub(crate) use report::{JobResults, expected_cycles};
pub(crate) use session::{JobSession, decode_values, encode_values};

use crate::outcome::CommandFailure;
use cp2_machine::Machine;
use cp2_network::{InProcess, Transport};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Variables in which launchers of MPI jobs tell a process the number of ranks, and its own.
const LAUNCHERS: [[&str; 2]; 2] = [
    ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"],
    ["PMI_SIZE", "PMI_RANK"],
];

/// Returns the number of ranks and that of this process, where a launcher of MPI jobs has started it.
pub(crate) fn launched() -> Option<(usize, usize)> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    LAUNCHERS
        .iter()
        .find_map(|[ranks, rank]| Some((number(ranks)?, number(rank)?)))
}

/// True from the moment on at which this process and others are ranks of one job.
static CONNECTED: AtomicBool = AtomicBool::new(false);

/// Returns true if this process prints and writes files: of ranks that share a job all but the first leave that to
/// it.
pub(crate) fn is_first() -> bool {
    !CONNECTED.load(Relaxed) || launched().is_none_or(|(_, rank)| rank == 0)
}

/// Ends all ranks of an MPI job with an exit code, if this process is one of its ranks.
pub(crate) fn abort_ranks(code: u8) {
    #[cfg(feature = "mpi")]
    cp2_mpi::abort_ranks(code.into());
    #[cfg(not(feature = "mpi"))]
    let _ = code;
}

/// Gives the first rank the time to fail first: where all ranks cannot go on, it ends the others before they
/// say the same.
pub(crate) fn wait_for_first() {
    if !is_first() {
        std::thread::sleep(std::time::Duration::from_secs(4));
    }
}

/// The ranks that share the processors of a command.
///
/// Dropped without [`Ranks::finish`], they leave the MPI job without its last meeting, which would wait for ranks
/// that cannot come: the launcher ends the others.
pub(crate) struct Ranks(Option<Box<dyn Transport>>);

impl Ranks {
    /// Returns the transport between them.
    pub(crate) fn transport(&mut self) -> &mut dyn Transport {
        &mut **self.0.get_or_insert_with(|| Box::new(InProcess))
    }

    /// Waits until all ranks are done.
    pub(crate) fn finish(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        std::mem::forget(self.0.take());
    }
}

/// Connects this process with the other ranks of its MPI job for a command of several processors; refuses ranks for one
/// processor.
///
/// # Errors
/// Those of [`connect`] and [`refuse_ranks`].
pub(crate) fn connect_for(processors: u16) -> Result<Option<Ranks>, CommandFailure> {
    match processors {
        1 => refuse_ranks().map(|()| None),
        _ => connect().map(Some),
    }
}

/// Refuses more ranks than processors, which would have nothing to do.
///
/// # Errors
/// There are more.
pub(crate) fn check_ranks(ranks: usize, processors: usize) -> Result<(), CommandFailure> {
    match ranks > processors {
        true => Err(CommandFailure::input(format!(
            "--procs {processors}: {ranks} ranks were started; expected at most as many as processors"
        ))),
        false => Ok(()),
    }
}

/// Connects this process with the other ranks of its MPI job, or with none.
///
/// # Errors
/// There are others, and the program was built without MPI.
pub(crate) fn connect() -> Result<Ranks, CommandFailure> {
    let transport: Box<dyn Transport> = match launched() {
        #[cfg(feature = "mpi")]
        Some((ranks, _)) => {
            let transport = cp2_mpi::MpiTransport::start().map_err(CommandFailure::input)?;
            let found = transport.ranks();
            if found != ranks {
                return Err(CommandFailure::input(format!(
                    "{ranks} ranks were started, and MPI has {found}: the launcher is that of another MPI library; use the mpirun of the one that the program was built with"
                )));
            }
            CONNECTED.store(true, Relaxed);
            let mut transport = transport;
            compare_lines(&mut transport)?;
            Box::new(transport)
        }
        #[cfg(not(feature = "mpi"))]
        Some((ranks, _)) if ranks > 1 => {
            return Err(CommandFailure::input(format!(
                "{ranks} ranks were started, and this program was built without MPI; build it with `--features mpi`, or start it without mpirun"
            )));
        }
        _ => Box::new(InProcess),
    };
    Ok(Ranks(Some(transport)))
}

/// Refuses ranks whose command lines differ: they would compute something else, or wait for each other.
///
/// # Errors
/// They differ, or a rank cannot be reached.
#[cfg(feature = "mpi")]
fn compare_lines(transport: &mut dyn Transport) -> Result<(), CommandFailure> {
    use std::hash::Hash as _;
    let mut hasher = DefaultHasher::new();
    for argument in std::env::args_os().skip(1) {
        argument.hash(&mut hasher);
    }
    let own = hasher.finish().to_le_bytes().to_vec();
    let all = transport
        .all_gather(own.clone())
        .map_err(CommandFailure::input)?;
    let differ = all.iter().position(|other| Some(other) != all.first());
    match differ {
        Some(rank) => Err(CommandFailure::input(format!(
            "rank {rank} was started with other options than rank 0; expected the same command on all ranks"
        ))),
        None => Ok(()),
    }
}

/// Refuses ranks for a command that runs in one process.
///
/// # Errors
/// There are several.
pub(crate) fn refuse_ranks() -> Result<(), CommandFailure> {
    match launched() {
        Some((ranks, _)) if ranks > 1 => Err(CommandFailure::input(format!(
            "{ranks} ranks were started for a command of one processor; start it without mpirun, or use --procs"
        ))),
        _ => Ok(()),
    }
}

/// Returns bytes that differ where ranks do not carry out the same: another program, machine or input.
pub(crate) fn fingerprint(machine: &Machine, title: &str, inputs: &[&[f32]]) -> Vec<u8> {
    let words = inputs.iter().copied().flatten();
    fingerprint_of(machine, title, words.map(|value| value.to_bits()))
}

/// Returns bytes that differ where ranks do not carry out the same, of input that is any values.
pub(crate) fn fingerprint_of(
    machine: &Machine,
    title: &str,
    inputs: impl Iterator<Item = impl std::hash::Hash>,
) -> Vec<u8> {
    let mut hasher = DefaultHasher::new();
    for value in inputs {
        value.hash(&mut hasher);
    }
    let version = env!("CARGO_PKG_VERSION");
    let inputs = hasher.finish();
    format!(
        "cp2 {version}, {} {}, {title}, input {inputs:016x}",
        machine.name, machine.hash
    )
    .into_bytes()
}
