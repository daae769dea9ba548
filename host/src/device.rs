//! The device: asynchronous commands with event dependencies.
//!
//! A host program allocates system memory and writes its data while no time
//! passes, gives commands, each with the events it waits for, and runs. From
//! the first simulated cycle to the last every byte the control CPU touches
//! costs simulated time. See `docs/host.md` for the command model.

mod admit;
mod command;
mod control;
mod control_state;
mod cpu;
mod engine;
mod error;
mod forecast;
mod idle;
mod lending;
mod memory;
mod messages;
mod options;
mod program;
mod progress;
mod report;
mod run_account;
mod run_part;
mod stages;
#[cfg(test)]
mod tests;
mod turns;
mod value_source;
mod window;

pub use command::{After, Command, Decided, Event, HostAction};
pub use control_state::WINDOW;
pub use error::{CommandError, HostError};
pub use forecast::KernelSteps;
pub use memory::{Buffer, MemoryElement};
pub use messages::{MessageArrival, MessageOperation, MessageRecord, MessageRegion};
pub use options::{DeviceOptions, Trace};
pub(crate) use program::parts;
pub use program::{FinishedRun, PlacedProgram};
pub use report::{DmaReport, HostReport, RunEnd, RunReport, SingleBuffered};
pub use run_part::RunPart;
pub use stages::{ProgramStage, StageReport};
pub use turns::Turns;
pub use value_source::{Imprint, SourceError, ValueSource};

use crate::emit::{EmittedArray, Recording};
use admit::admit;
use cp2_dma::Movement;
use cp2_machine::Machine;
use engine::DeviceEngine;
use forecast::Forecast;
use memory::{Allocator, holds, in_parts, out_parts};
use std::sync::Arc;
use turns::Helper;

/// Bytes of host memory that a run takes at most besides system memory: plans, translated words, reports.
const BESIDE: u64 = 24 << 20;
/// Bytes of host memory that each host thread of a run takes at most besides [`BESIDE`].
const BESIDE_THREAD: u64 = 24 << 20;

/// A processor under the control of a host program.
///
/// ```
/// use cp2_host::Device;
/// use cp2_dma::{Descriptor, Target};
/// use cp2_machine::Machine;
/// use std::sync::Arc;
///
/// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
/// let mut device = Device::new(vm7);
/// let x = device.alloc_from(&[1.0f32, 2.0, 3.0, 4.0])?;
/// let y = device.alloc::<f32>(4)?;
/// // Through the DMEM of section 0 and back.
/// let load = device.dma("x", Descriptor::load(Target::Section(0), x.address(), 0, 16), &[])?;
/// device.dma("y", Descriptor::store(Target::Section(0), y.address(), 0, 16), &[load])?;
/// let run = device.finish()?;
/// assert!(run.report.end.is_finished());
/// assert_eq!(run.read(y)?, [1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(run.report.causes.total(), run.report.cycles);
/// # Ok::<(), cp2_host::HostError>(())
/// ```
#[derive(Debug)]
pub struct Device {
    machine: Arc<Machine>,
    engine: DeviceEngine,
    /// Devices of the other host threads.
    helpers: Vec<Helper>,
    memory: Allocator,
    programs: Vec<PlacedProgram>,
    /// Commands that were given and that the engine has not taken yet.
    queue: Vec<Command>,
    /// Number of the next command.
    next: u64,
    started: bool,
    end: Option<RunEnd>,
    recording: Option<Recording>,
    /// Program and pass that the next commands belong to.
    stage: ProgramStage,
    /// True if the last command given belongs to another stage than `stage`.
    is_other_stage: bool,
    /// Stands in for the engine on a device that computes nothing.
    forecast: Option<Box<Forecast>>,
}

impl Device {
    /// Creates a device that runs to its end, unchecked, with the default timeline.
    #[must_use]
    pub fn new(machine: Arc<Machine>) -> Self {
        Self::with_options(machine, DeviceOptions::default())
    }

    /// Creates a device with the given options.
    #[must_use]
    pub fn with_options(machine: Arc<Machine>, options: DeviceOptions) -> Self {
        let recording = options.record.then(Recording::default);
        Self {
            recording,
            ..Self::of_engine(DeviceEngine::new(machine, options))
        }
    }

    fn of_engine(engine: DeviceEngine) -> Self {
        let machine = engine.machine().clone();
        Self {
            memory: Allocator::new(&machine),
            recording: None,
            engine,
            helpers: Vec::new(),
            machine,
            programs: Vec::new(),
            queue: Vec::new(),
            next: 0,
            started: false,
            end: None,
            stage: ProgramStage::default(),
            is_other_stage: false,
            forecast: None,
        }
    }

    /// Returns the options that the device was created with.
    #[must_use]
    pub fn options(&self) -> &DeviceOptions {
        self.engine.options()
    }

    /// Records for the report that a pass lacks `bytes_short` bytes of DMEM for two pages.
    pub(crate) fn single_buffered(&mut self, pass: &str, bytes_short: u64) {
        self.engine.single_buffered(pass, bytes_short);
    }

    /// Returns the machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Allocates room for `len` values in system memory: whole granules of the DMA, and whole quads where
    /// granules are smaller.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn alloc<T: MemoryElement>(&mut self, len: u64) -> Result<Buffer<T>, HostError> {
        let bytes = T::BYTES as u64;
        let size = len
            .checked_mul(bytes)
            .ok_or(HostError::TooLarge { count: len, bytes })?;
        Ok(Buffer::new(self.memory.take(size, 1)?, len))
    }

    /// Allocates room for `values` and writes them there.
    ///
    /// # Errors
    /// System memory is used up, or simulated time has begun.
    pub fn alloc_from<T: MemoryElement>(&mut self, values: &[T]) -> Result<Buffer<T>, HostError> {
        let buffer = self.alloc(values.len() as u64)?;
        self.write(buffer, values)?;
        Ok(buffer)
    }

    /// Fills a buffer from its start, before simulated time begins.
    ///
    /// # Errors
    /// More values than the buffer holds, or simulated time has begun.
    pub fn write<T: MemoryElement>(
        &mut self,
        buffer: Buffer<T>,
        values: &[T],
    ) -> Result<(), HostError> {
        holds(buffer, values)?;
        if !self.started {
            let end = buffer.address().saturating_add(buffer.bytes());
            self.engine.processor.memory_mut().provide(end)?;
        }
        in_parts(values, |at, bytes| {
            self.write_bytes(buffer.address() + at, bytes)
        })
    }

    /// Writes system memory before simulated time begins.
    pub(crate) fn write_bytes(&mut self, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        if self.started {
            return Err(HostError::Started);
        }
        Ok(self.engine.processor.memory_mut().write(address, bytes)?)
    }

    /// Takes `bytes` of system memory at exactly `address`; used to rebuild a recorded memory.
    pub(crate) fn write_at(&mut self, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        self.memory.taken.push((address, bytes.len() as u64));
        self.write_bytes(address, bytes)
    }

    /// Returns true if simulated time has begun.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.started
    }

    /// Names an array of the user that is in memory when time begins, for the recording.
    pub fn input(&mut self, input: EmittedArray) {
        if let Some(recording) = &mut self.recording {
            recording.inputs.push(input);
        }
    }

    /// Names a result, for the recording.
    pub fn output(&mut self, output: EmittedArray) {
        if let Some(recording) = &mut self.recording {
            recording.outputs.push(output);
        }
    }

    /// Gives a command. After the end of a run (a fault, a limit, an interrupt)
    /// it is taken and will not be carried out.
    ///
    /// # Errors
    /// It can never be carried out: a rule of the DMA broken, an event that
    /// does not exist, an address outside memory, a dependency on a later command.
    pub fn command(&mut self, command: Command) -> Result<Event, HostError> {
        if self.end.is_some() && self.recording.is_none() {
            // A command may wait for an event of a stream that was cut short; its number stays valid.
            self.next += 1;
            return Ok(Event(self.next - 1));
        }
        admit(&self.machine, self.next, &command)?;
        if let Some(recording) = &mut self.recording {
            recording.push(&command)?;
        }
        self.note_program(&command);
        self.note_stage();
        self.queue.push(command);
        self.next += 1;
        Ok(Event(self.next - 1))
    }

    /// Queues a transfer once `after` are complete. A transfer may wait for an
    /// earlier transfer at no cost: the DMA engine works in order.
    ///
    /// # Errors
    /// The descriptor breaks a rule of the DMA.
    pub fn dma(
        &mut self,
        name: &str,
        transfer: impl Into<Movement>,
        after: &[Event],
    ) -> Result<Event, HostError> {
        let action = HostAction::Dma(transfer.into());
        self.command(Command::new(name, action).wait_for(after))
    }

    /// Launches a kernel once `after` are complete and CP2 is idle.
    ///
    /// # Errors
    /// A dependency is unknown.
    pub fn launch(
        &mut self,
        name: &str,
        entry: u32,
        args: u32,
        after: &[Event],
    ) -> Result<Event, HostError> {
        let action = HostAction::Launch {
            entry,
            args,
            protection: None,
        };
        self.command(Command::new(name, action).wait_for(after))
    }

    /// Gives the commands of `source` as the control CPU needs them, so that
    /// memory does not grow with their number. `source` learns the number of
    /// its first command and counts on from there. Returns when it has no
    /// more; its last commands may still be under way.
    ///
    /// # Errors
    /// A command could not be carried out.
    pub fn stream<S: Iterator<Item = Command>>(
        &mut self,
        source: impl FnOnce(Event) -> S,
    ) -> Result<Event, HostError> {
        let source = source(Event(self.next));
        let (last, _) = self.submit_all(source, |device, queued, source| {
            device
                .engine
                .run(&mut queued.into_iter().chain(source), false)
        })?;
        Ok(last)
    }

    /// Gives the commands of a source that repeats itself in turns, which may run on several host threads, as
    /// [`Device::stream`] does. Returns the last event and the source in its final state.
    ///
    /// # Errors
    /// A command could not be carried out.
    pub fn stream_turns<S: Turns>(
        &mut self,
        source: impl FnOnce(Event) -> S,
    ) -> Result<(Event, S), HostError> {
        let source = source(Event(self.next));
        self.submit_all(source, |device, queued, source| {
            turns::run(&mut device.engine, &mut device.helpers, queued, source)
        })
    }

    /// Gives the queued commands and all of `source` to `run`.
    fn submit_all<S: Iterator<Item = Command>>(
        &mut self,
        mut source: S,
        run: impl FnOnce(&mut Self, Vec<Command>, &mut S) -> Result<Option<RunEnd>, HostError>,
    ) -> Result<(Event, S), HostError> {
        self.note_stage();
        // Recorded or not, time begins here: what follows costs the same.
        self.begin()?;
        if let Some(forecast) = &mut self.forecast {
            let mut commands = std::mem::take(&mut self.queue)
                .into_iter()
                .chain(&mut source);
            forecast.run(&self.machine, &mut commands, false)?;
            self.next = self.next.max(forecast.next_command());
        } else if self.recording.is_some() {
            // A recording keeps all commands anyway, so they need not be streamed.
            for command in source.by_ref() {
                self.command(command)?;
            }
        } else if self.end.is_none() {
            let queued = std::mem::take(&mut self.queue);
            self.end = run(self, queued, &mut source)?;
            self.next = self.next.max(self.engine.next_command());
        }
        Ok((Event(self.next.saturating_sub(1)), source))
    }

    fn begin(&mut self) -> Result<(), HostError> {
        if !self.started {
            self.started = true;
            if self.forecast.is_none() {
                let end = self.memory.end();
                self.engine.processor.own_memory(self.memory.areas());
                self.engine.processor.memory_mut().reserve(end)?;
                // A run allocates more memory in many small pieces. Room for all of it is requested at once
                // and given back, so that a lack of memory shows before time begins.
                let threads = self.engine.options.threads.max(1) as u64;
                let copy = if self.recording.is_some() { end } else { 0 };
                let bytes = copy + BESIDE + threads * BESIDE_THREAD;
                let room = memory::room::<u8>(bytes);
                let mut room = room.map_err(|_| HostError::NoRoom { bytes })?;
                // A compiler may leave out an allocation that nobody reads.
                std::hint::black_box(&mut room);
            }
            if let Some(recording) = &mut self.recording {
                recording.keep_initial_memory(
                    &self.programs,
                    &self.memory.taken,
                    self.engine.processor.memory(),
                );
            }
        }
        Ok(())
    }

    fn simulate(&mut self, fence: bool) -> Result<(), HostError> {
        self.begin()?;
        if self.end.is_some() {
            return Ok(());
        }
        let mut commands = std::mem::take(&mut self.queue).into_iter();
        if let Some(forecast) = &mut self.forecast {
            // A forecast has no memory to read, so there is nothing to do at a fence.
            forecast.run(&self.machine, &mut commands, true)?;
            self.end = Some(RunEnd::Finished);
            return Ok(());
        }
        let end = self.engine.run(&mut commands, true)?;
        // A drained device can go on after a read; at the end it cannot.
        self.end = end.filter(|e| !(fence && e.is_finished()));
        Ok(())
    }

    /// Runs every command to its end and goes back to cycle 0: the device is as
    /// new, but for its system memory, and for what the engine has made of
    /// programs, so that the same commands take less host time the next time.
    ///
    /// # Errors
    /// See [`Device::finish`].
    pub fn finish_and_restart(&mut self) -> Result<RunReport, HostError> {
        self.simulate(false)?;
        let end = self.end.take().unwrap_or(RunEnd::Finished);
        let counters = self.engine.processor.take_counters();
        let report = self.engine.report(end, counters);
        self.engine.restart();
        (self.next, self.started) = (0, false);
        (self.stage, self.is_other_stage) = (ProgramStage::default(), false);
        Ok(report)
    }

    /// Fetches a buffer while no time passes: before the first simulated cycle.
    ///
    /// # Errors
    /// More values than the buffer holds, or simulated time has begun.
    pub fn fetch<T: MemoryElement>(
        &self,
        buffer: Buffer<T>,
        out: &mut [T],
    ) -> Result<(), HostError> {
        holds(buffer, out)?;
        if self.started {
            return Err(HostError::Started);
        }
        let memory = self.engine.processor.memory();
        out_parts(out, |at, bytes| memory.read(buffer.address() + at, bytes))?;
        Ok(())
    }

    /// Runs every command to its end; then time stands still and memory can be read.
    ///
    /// # Errors
    /// A command could not be carried out. A guest fault, a deadlock, the
    /// cycle limit and an interrupt are no errors: they are in the report.
    pub fn finish(mut self) -> Result<FinishedRun, HostError> {
        self.simulate(false)?;
        let end = self.end.unwrap_or(RunEnd::Finished);
        Ok(FinishedRun::new(
            self.engine,
            self.programs,
            end,
            self.recording,
        ))
    }
}
