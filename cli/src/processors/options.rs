//! Options of a simulation with several processors.

use super::recordings::check_recordings;
use crate::io::{Outputs, extension};
use crate::outcome::CommandFailure;
use crate::simulation::SimulationArgs;
use cp2_host::DeviceOptions;
use cp2_host::timeline::JobTimeline;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Refuses options that these processors and ranks have no report for.
///
/// # Errors
/// A picture of many processors; a recording by several ranks.
pub(crate) fn check_options(
    args: &SimulationArgs,
    processors: usize,
    ranks: usize,
) -> Result<(), CommandFailure> {
    if let Some(path) = &args.trace
        && extension(path) == "svg"
        && processors > JobTimeline::PICTURED
    {
        return Err(CommandFailure::input(format!(
            "--trace {}: a picture has room for {} processors, and these are {processors}; expected a name that ends in .json",
            path.display(),
            JobTimeline::PICTURED
        )));
    }
    if args.emit.is_some() && ranks > 1 {
        return Err(CommandFailure::input(format!(
            "--emit: {ranks} ranks were started, and a recording is as large as the memory of its processor, which the first rank would have to get; record the run without mpirun, where it is equal"
        )));
    }
    Ok(())
}

/// Checks the outputs of a simulation with so many processors before the work starts.
///
/// # Errors
/// An output cannot be written.
pub(crate) fn check_outputs(
    args: &SimulationArgs,
    processors: u16,
    outputs: &mut Outputs,
) -> Result<(), CommandFailure> {
    match processors {
        1 => args.check_outputs(outputs),
        _ => args.check_outputs_with(outputs, check_recordings),
    }
}

/// Bytes of host memory of a processor beside its arrays, of the translations of a host thread, and of address space
/// of each thread but the first: a stack, and an allocator's arena.
const PROCESSOR: u64 = 2 << 20;
const THREAD: u64 = 24 << 20;
const FURTHER_THREAD: u64 = 72 << 20;

/// Returns the bytes of host memory that so many processors take beside their arrays, on so many host threads.
pub(crate) fn memory_beside_arrays(processors: usize, threads: usize) -> u64 {
    let processors = PROCESSOR.saturating_mul(processors as u64);
    let further = FURTHER_THREAD.saturating_mul((threads as u64).saturating_sub(1));
    processors
        .saturating_add(THREAD.saturating_mul(threads as u64))
        .saturating_add(further)
}

/// Returns the options of each processor's device. The network has half of the slices of the timeline, and processors
/// share the rest.
/// `cycles` follows the processor of the rank that is given the options first.
pub(crate) fn device_options(
    args: &SimulationArgs,
    processors: usize,
    cycles: Arc<AtomicU64>,
) -> DeviceOptions {
    let mut options = args.options(cycles);
    options.trace.limit /= processors.saturating_mul(2).max(1);
    options
}
