//! The system memory that a filter takes, and whether there is enough.

use super::ConvolutionMode;
use super::OutputRate;
use super::error::ConvError;
use crate::job::ROOM_BESIDE;
use cp2_machine::Machine;

/// Channels of one length, how they are filtered, and the bytes of a number.
#[derive(Clone, Copy, Debug)]
pub struct ChannelExtent {
    /// Taps of the filter.
    pub taps: usize,
    /// Number of channels.
    pub channels: usize,
    /// Samples of each channel.
    pub samples: usize,
    /// Outputs wanted.
    pub mode: ConvolutionMode,
    /// Rate of the outputs; with a rate other than one output a sample, all outputs are wanted.
    pub rate: OutputRate,
    /// Bytes of a sample and of an output.
    pub number: usize,
}

impl ChannelExtent {
    /// Returns the bytes that samples and outputs take, whatever the kernel.
    fn bytes(&self, samples: usize) -> u64 {
        let outputs = self.rate.outputs(self.mode, samples, self.taps).len();
        (samples as u64)
            .saturating_add(outputs as u64)
            .saturating_mul(self.channels as u64)
            .saturating_mul(self.number as u64)
    }

    /// Refuses channels that no kernel has room for, before any samples are made.
    ///
    /// # Errors
    /// [`ConvError::OutOfMemory`].
    pub fn check(&self, machine: &Machine) -> Result<(), ConvError> {
        let room = machine.host.memory.0.saturating_sub(ROOM_BESIDE);
        self.check_room(machine, room, |samples| self.bytes(samples))
    }

    /// Refuses channels whose samples and outputs take more than `room` bytes, where `needed` says how many
    /// bytes a channel length takes.
    pub(super) fn check_room(
        &self,
        machine: &Machine,
        room: u64,
        needed: impl Fn(usize) -> u64,
    ) -> Result<(), ConvError> {
        let samples = self.samples;
        if needed(samples) <= room {
            return Ok(());
        }
        // Bisection for the most samples that fit, for the message.
        let (mut fits, mut not) = (0, samples);
        while not - fits > 1 {
            let middle = fits + (not - fits) / 2;
            if needed(middle) <= room {
                fits = middle;
            } else {
                not = middle;
            }
        }
        Err(ConvError::OutOfMemory {
            channels: self.channels,
            samples,
            needed: needed(samples),
            room,
            most: fits,
            machine: machine.name.clone(),
        })
    }
}
