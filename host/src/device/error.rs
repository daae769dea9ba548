//! Errors of requests to a device, and of commands that cannot be carried out.

use super::command::Event;
use cp2_asm::MachineMismatch;
use cp2_dma::DescriptorError;
use cp2_emu::{LaunchError, NoEvent, OutOfMemory};

/// Reason why the device refused a request of the host program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// System memory is used up.
    #[error(
        "{bytes} B of system memory wanted, {free} of {size} B are free; use a smaller problem or a machine with more memory"
    )]
    OutOfMemory {
        /// Bytes wanted.
        bytes: u64,
        /// Bytes free.
        free: u64,
        /// Size of system memory.
        size: u64,
    },
    /// A size overflows.
    #[error("{count} elements of {bytes} B exceed any memory")]
    TooLarge {
        /// Elements.
        count: u64,
        /// Bytes of each.
        bytes: u64,
    },
    /// An access outside system memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The computer that simulates cannot hold a copy.
    #[error(
        "this computer has not the memory for a copy of {bytes} B of simulated memory; use a smaller problem, \
         or let the program have more memory (`ulimit -v`, other programs)"
    )]
    Unreadable {
        /// Bytes wanted.
        bytes: u64,
    },
    /// The computer that simulates has no room for the run itself.
    #[error(
        "this computer has not the memory for a run: {bytes} B beside the simulated memory were asked for; use a smaller problem, \
         fewer threads, or let the program have more memory (`ulimit -v`, other programs)"
    )]
    NoRoom {
        /// Bytes asked for.
        bytes: u64,
    },
    /// A recording has reached its limit of commands.
    #[error("a recorded run may have {limit} commands; run it without recording, or a part of it")]
    RecordingTooLong {
        /// The limit.
        limit: usize,
    },
    /// Data does not fit its buffer.
    #[error("{values} values do not fit a buffer of {len}")]
    Length {
        /// Values given.
        values: u64,
        /// Room.
        len: u64,
    },
    /// The values of an array could not be obtained.
    #[error(transparent)]
    Source(super::SourceError),
    /// System memory is free to write only before simulated time begins.
    #[error(
        "the device has begun to run; from then on the control CPU's writes cost time: use `host_write`"
    )]
    Started,
    /// The program does not run on the machine.
    #[error(transparent)]
    Machine(#[from] Box<MachineMismatch>),
    /// The program has no words.
    #[error("the program has no words; a kernel needs at least `stop`")]
    EmptyProgram,
    /// The program exceeds program memory.
    #[error("the program has {words} words; program memory holds {limit}")]
    ProgramTooLarge {
        /// Words of the program.
        words: usize,
        /// Words of program memory.
        limit: u64,
    },
    /// The program's data exceeds DMEM.
    #[error("the program's data at DMEM {address:#x}, {bytes} B, leaves the {dmem} B of DMEM")]
    DataOutside {
        /// Address of the segment.
        address: u32,
        /// Size of the segment in bytes.
        bytes: u64,
        /// Size of DMEM.
        dmem: u64,
    },
    /// A command waits for one that does not come before it.
    #[error("command {command} waits for {dependency}, which does not come before it")]
    UnknownEvent {
        /// The command.
        command: u64,
        /// Event that the command waits for.
        dependency: Event,
    },
    /// A command can never be carried out.
    #[error("command {command} (`{name}`): {reason}")]
    Command {
        /// The command.
        command: u64,
        /// Name of the command.
        name: String,
        /// Reason.
        reason: Box<CommandError>,
    },
}

/// Reason why a command can never be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// A descriptor breaks a rule.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// The kernel cannot be launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The machine has no such event.
    #[error(transparent)]
    Event(#[from] NoEvent),
    /// An access outside system memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// A step of the control CPU is too long.
    #[error(
        "a step of the control CPU has {operations} operations, at most {most} are possible: what is more is a kernel's work"
    )]
    StepTooLong {
        /// Operations of the step.
        operations: usize,
        /// Most operations of a step.
        most: usize,
    },
    /// A step uses a number that does not come before.
    #[error(
        "operation {operation} of a step of the control CPU uses a number that does not come before it"
    )]
    StepOrder {
        /// The operation, from 0.
        operation: usize,
    },
    /// The DMA queue is full: an error of the device.
    #[error("the DMA queue of {queue} descriptors is full")]
    QueueFull {
        /// Capacity of the queue.
        queue: usize,
    },
    /// The rows of a message overlap.
    #[error(
        "a message of {rows} rows of {row} B at distances of {pitch} B; expected rows of at least a byte that do not overlap, at distances of {row} B and more"
    )]
    Rows {
        /// Number of rows.
        rows: u64,
        /// Bytes of a row.
        row: u64,
        /// Bytes from row to row.
        pitch: u64,
    },
    /// A wait exceeds the range of simulated time.
    #[error("a wait until cycle {until} exceeds the range of simulated time ({limit})")]
    TooLate {
        /// The cycle.
        until: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// The cost exceeds the range of simulated time.
    #[error("a cost of {cycles} cycles exceeds the range of simulated time ({limit})")]
    TooLong {
        /// The cost.
        cycles: u64,
        /// The largest allowed.
        limit: u64,
    },
}
