//! The functional effect of a transfer.

use crate::runs::{Recipient, Run};
use crate::{Descriptor, DescriptorError, Direction, validate};
use cp2_machine::Machine;

/// An access a memory refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x} cannot be accessed: {reason}")]
pub struct AccessError {
    /// First byte.
    pub address: u64,
    /// Length.
    pub bytes: u64,
    /// Why.
    pub reason: String,
}

/// The local memories of a coprocessor, as the DMA controller sees them.
pub trait LocalMemory {
    /// Reads bytes of one section's DMEM.
    ///
    /// # Errors
    /// When the section or the bytes do not exist.
    fn read(&self, section: u32, address: u32, out: &mut [u8]) -> Result<(), AccessError>;

    /// Writes bytes of one section's DMEM.
    ///
    /// # Errors
    /// When the section or the bytes do not exist.
    fn write(&mut self, section: u32, address: u32, data: &[u8]) -> Result<(), AccessError>;

    /// Writes bytes of the program memory.
    ///
    /// # Errors
    /// When the bytes do not exist.
    fn write_program(&mut self, address: u32, data: &[u8]) -> Result<(), AccessError>;
}

/// System memory, as the DMA controller sees it.
pub trait SystemMemory {
    /// Reads bytes.
    ///
    /// # Errors
    /// When the bytes do not exist.
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), AccessError>;

    /// Writes bytes.
    ///
    /// # Errors
    /// When the bytes do not exist or the host has no memory left for them.
    fn write(&mut self, address: u64, data: &[u8]) -> Result<(), AccessError>;
}

/// Why a copy did not happen, or stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// The descriptor is illegal; nothing has moved.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// A memory is smaller than the machine says, or the host ran out of memory.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// Bytes moved at a time: longer runs move in pieces, so that the buffer stays small.
const PIECE: u64 = 64 * 1024;

/// Moves the bytes of a transfer, run by run in the order of [`Descriptor::runs`];
/// where runs of the destination overlap, the later one stays.
///
/// # Errors
/// When the descriptor is illegal (nothing has moved then) or a memory refuses an access.
pub fn copy(
    d: &Descriptor,
    machine: &Machine,
    local: &mut impl LocalMemory,
    system: &mut impl SystemMemory,
) -> Result<(), CopyError> {
    validate(d, machine)?;
    let sections = machine.cp2.sections as u32;
    let granule = machine.dma.granule.0.max(1);
    // Dealt pieces are whole rounds, so that every piece starts with section 0.
    let round = granule.saturating_mul(u64::from(sections.max(1)));
    let longest = PIECE.max(round) / round * round;
    let mut mover = Mover {
        local,
        system,
        machine,
        sections,
        granule: granule as usize,
    };
    let mut buffer = vec![0; d.run.min(longest) as usize];
    for run in d.runs(machine) {
        let mut done = 0;
        while done < run.bytes {
            let bytes = (run.bytes - done).min(longest);
            let per_section = if run.to == Recipient::Deal {
                u64::from(sections)
            } else {
                1
            };
            let piece = Run {
                system: run.system + done,
                local: run.local + (done / per_section) as u32,
                bytes,
                to: run.to,
            };
            mover.piece(d.direction, piece, &mut buffer[..bytes as usize])?;
            done += bytes;
        }
    }
    Ok(())
}

struct Mover<'a, L, S> {
    local: &'a mut L,
    system: &'a mut S,
    machine: &'a Machine,
    sections: u32,
    granule: usize,
}

impl<L: LocalMemory, S: SystemMemory> Mover<'_, L, S> {
    fn piece(&mut self, direction: Direction, run: Run, data: &mut [u8]) -> Result<(), CopyError> {
        match direction {
            Direction::Load => {
                self.system.read(run.system, data)?;
                match run.to {
                    Recipient::Program => self.local.write_program(run.local, data)?,
                    Recipient::Section(s) => self.local.write(s, run.local, data)?,
                    Recipient::All => {
                        for s in 0..self.sections {
                            self.local.write(s, run.local, data)?;
                        }
                    }
                    Recipient::Deal => {
                        for s in 0..self.sections {
                            let share: Vec<u8> = self.hand(s, data).flatten().copied().collect();
                            self.local.write(s, run.local, &share)?;
                        }
                    }
                }
            }
            Direction::Store => {
                match run.to {
                    Recipient::Section(s) => self.local.read(s, run.local, data)?,
                    Recipient::Deal => {
                        for s in 0..self.sections {
                            let mut share = vec![0; run.bytes_in(s, self.machine) as usize];
                            self.local.read(s, run.local, &mut share)?;
                            let hands = data.chunks_mut(self.granule).skip(s as usize);
                            let hands = hands.step_by(self.sections as usize);
                            for (to, from) in hands.zip(share.chunks(self.granule)) {
                                to.copy_from_slice(from);
                            }
                        }
                    }
                    // Refused by validation.
                    Recipient::Program | Recipient::All => return Ok(()),
                }
                self.system.write(run.system, data)?;
            }
        }
        Ok(())
    }

    /// The granules of dealt data that belong to a section.
    fn hand<'d>(
        &self,
        section: u32,
        data: &'d [u8],
    ) -> impl Iterator<Item = &'d [u8]> + use<'d, L, S> {
        data.chunks(self.granule)
            .skip(section as usize)
            .step_by(self.sections.max(1) as usize)
    }
}
