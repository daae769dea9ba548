//! Reads, writes, steps and marks of the control CPU.

use super::Device;
use super::command::{Command, Decided, Event, HostAction};
use super::error::HostError;
use super::memory::{Buffer, MemoryElement, from_bytes, holds, read, to_bytes};
use crate::step::HostStep;
use std::sync::Arc;

impl Device {
    /// Lets the control CPU write a buffer at its own rate.
    ///
    /// # Errors
    /// More values than the buffer holds.
    pub fn host_write<T: MemoryElement>(
        &mut self,
        name: &str,
        buffer: Buffer<T>,
        values: &[T],
        after: &[Event],
    ) -> Result<Event, HostError> {
        holds(buffer, values)?;
        let action = HostAction::Write {
            address: buffer.address(),
            bytes: to_bytes(values),
        };
        self.command(Command::new(name, action).wait_for(after))
    }

    /// Waits until all commands are complete, lets the control CPU read a
    /// buffer at its own rate, and returns its values. `None` if the run ended early.
    ///
    /// # Errors
    /// A command could not be carried out.
    pub fn host_read<T: MemoryElement>(
        &mut self,
        name: &str,
        buffer: Buffer<T>,
    ) -> Result<Option<Vec<T>>, HostError> {
        self.command(Command::new(
            name,
            HostAction::Read {
                address: buffer.address(),
                bytes: buffer.bytes(),
                decided: None,
            },
        ))?;
        self.simulate(true)?;
        if self.end.is_some() {
            return Ok(None);
        }
        let memory = self.engine.processor.memory();
        let bytes = read(memory, buffer.address(), buffer.bytes())?;
        from_bytes(&bytes).map(Some)
    }

    /// Reads words as [`Device::host_read`] does, by which the host program decides how to go on, for example
    /// how often a loop is run. A recording keeps the words, and a replay that reads others ends there with
    /// [`RunEnd::Diverged`](super::RunEnd::Diverged).
    ///
    /// # Errors
    /// A command could not be carried out.
    pub fn host_decide<T: MemoryElement>(
        &mut self,
        name: &str,
        buffer: Buffer<T>,
    ) -> Result<Option<Vec<T>>, HostError> {
        let read = self.host_read(name, buffer)?;
        if let (Some(recording), Some(values)) = (&mut self.recording, &read) {
            recording.decide(Decided::By(to_bytes(values)));
        }
        Ok(read)
    }

    /// Waits for all commands, reads a word, and returns true if it is not 0. The host program goes on by
    /// that alone: a replay in which the word is another number, but not 0 either, does not diverge.
    ///
    /// # Errors
    /// A command could not be carried out.
    pub fn host_asks(&mut self, name: &str, word: Buffer<u32>) -> Result<Option<bool>, HostError> {
        let read = self.host_read(name, word)?;
        let more = read.map(|words| words.iter().any(|word| *word != 0));
        if let (Some(recording), Some(more)) = (&mut self.recording, more) {
            recording.decide(Decided::More(more));
        }
        Ok(more)
    }

    /// Lets the control CPU carry out a step: read words of system memory, compute, write words.
    ///
    /// # Errors
    /// The step is too long or accesses addresses outside system memory.
    pub fn host_step(
        &mut self,
        name: &str,
        step: HostStep,
        after: &[Event],
    ) -> Result<Event, HostError> {
        let action = HostAction::Step(Arc::new(step));
        self.command(Command::new(name, action).wait_for(after))
    }

    /// Ends a part of the run, which the report names, when the control CPU has seen everything given so far
    /// complete. No later command begins before that.
    ///
    /// # Errors
    /// None but those of any command.
    pub fn mark(&mut self, name: &str) -> Result<Event, HostError> {
        self.command(Command::new(name, HostAction::Mark))
    }
}
