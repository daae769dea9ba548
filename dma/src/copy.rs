//! The functional effect of a transfer.

use crate::runs::{Recipient, Run};
use crate::{Descriptor, DescriptorError, Direction, Level, Target, validate};
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

/// How the shares of all sections lie in one buffer: piece `i` of section `s`
/// begins at `s * section + i * step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Sections.
    pub sections: u32,
    /// Bytes from a section's share to the next section's.
    pub section: usize,
    /// Bytes of a piece: what is contiguous in the buffer.
    pub piece: usize,
    /// Bytes from a section's piece to its next.
    pub step: usize,
}

impl Spread {
    /// Section, address and place in the buffer of every piece of `bytes` at `address`.
    pub fn pieces(
        self,
        address: u32,
        bytes: usize,
    ) -> impl Iterator<Item = (u32, u32, std::ops::Range<usize>)> {
        let count = bytes / self.piece.max(1);
        (0..self.sections).flat_map(move |s| {
            (0..count).map(move |i| {
                let from = s as usize * self.section + i * self.step;
                (
                    s,
                    address + (i * self.piece) as u32,
                    from..from + self.piece,
                )
            })
        })
    }
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

    /// Reads the same `bytes` of every section's DMEM.
    ///
    /// # Errors
    /// When the bytes do not exist.
    fn read_each(
        &self,
        address: u32,
        bytes: usize,
        spread: Spread,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        for (section, address, range) in spread.pieces(address, bytes) {
            self.read(section, address, &mut out[range])?;
        }
        Ok(())
    }

    /// Writes the same `bytes` of every section's DMEM.
    ///
    /// # Errors
    /// When the bytes do not exist.
    fn write_each(
        &mut self,
        address: u32,
        bytes: usize,
        spread: Spread,
        data: &[u8],
    ) -> Result<(), AccessError> {
        for (section, address, range) in spread.pieces(address, bytes) {
            self.write(section, address, &data[range])?;
        }
        Ok(())
    }

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

/// Bytes moved at a time: longer runs move in pieces, so that the buffer stays
/// small and, on the host, close.
const PIECE: u64 = 16 * 1024;

/// Carries transfers out. It keeps a buffer between them and nothing else: all
/// copiers are equal.
#[derive(Clone, Debug, Default)]
pub struct Copier {
    buffer: Vec<u8>,
}

impl PartialEq for Copier {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Moves the bytes of one transfer: see [`Copier::copy`].
///
/// # Errors
/// See [`Copier::copy`].
pub fn copy(
    d: &Descriptor,
    machine: &Machine,
    local: &mut impl LocalMemory,
    system: &mut impl SystemMemory,
) -> Result<(), CopyError> {
    Copier::default().copy(d, machine, local, system)
}

impl Copier {
    /// Moves the bytes of a transfer, run by run in the order of [`Descriptor::runs`];
    /// where runs of the destination overlap, the later one stays.
    ///
    /// # Errors
    /// When the descriptor is illegal (nothing has moved then) or a memory refuses an access.
    pub fn copy(
        &mut self,
        d: &Descriptor,
        machine: &Machine,
        local: &mut impl LocalMemory,
        system: &mut impl SystemMemory,
    ) -> Result<(), CopyError> {
        validate(d, machine)?;
        let sections = machine.cp2.sections.max(1) as u32;
        let mut mover = Mover {
            local,
            system,
            direction: d.direction,
            sections,
            granule: machine.dma.granule.0.max(1),
            buffer: &mut self.buffer,
        };
        match d.target {
            Target::Blocks { stride } if d.direction == Direction::Load || apart(d, stride) => {
                // The runs of section 0; those of the others lie beside them.
                let first = Descriptor {
                    target: Target::Section(0),
                    levels: d.levels.clone(),
                    ..*d
                };
                first
                    .runs(machine)
                    .try_for_each(|run| mover.beside(run, stride))
            }
            _ => d.runs(machine).try_for_each(|run| mover.run(run)),
        }
    }
}

/// Whether the blocks of the sections do not meet in system memory: then it
/// does not matter in which order they move.
fn apart(d: &Descriptor, stride: i64) -> bool {
    let reach = |l: &Level| {
        u128::from(l.count.saturating_sub(1)) * u128::from(l.system_stride.unsigned_abs())
    };
    let block = d
        .levels
        .iter()
        .map(reach)
        .fold(u128::from(d.run), |sum, r| sum.saturating_add(r));
    block <= u128::from(stride.unsigned_abs())
}

struct Mover<'a, L, S> {
    local: &'a mut L,
    system: &'a mut S,
    direction: Direction,
    sections: u32,
    granule: u64,
    buffer: &'a mut Vec<u8>,
}

/// The first `bytes` of a buffer that grows as needed.
fn room(buffer: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
    &mut buffer[..bytes]
}

impl<L: LocalMemory, S: SystemMemory> Mover<'_, L, S> {
    /// Moves the run of section 0 and the others', each `stride` bytes further in system memory.
    fn beside(&mut self, run: Run, stride: i64) -> Result<(), CopyError> {
        let each = PIECE / u64::from(self.sections);
        let most = (each - each % self.granule).max(self.granule);
        let mut done = 0;
        while done < run.bytes {
            let bytes = (run.bytes - done).min(most) as usize;
            let data = room(self.buffer, bytes * self.sections as usize);
            let spread = Spread {
                sections: self.sections,
                section: bytes,
                piece: bytes,
                step: bytes,
            };
            let local = run.local + done as u32;
            let system =
                |s: usize| (run.system + done).wrapping_add_signed(stride.wrapping_mul(s as i64));
            match self.direction {
                Direction::Load => {
                    for (s, part) in data.chunks_exact_mut(bytes).enumerate() {
                        self.system.read(system(s), part)?;
                    }
                    self.local.write_each(local, bytes, spread, data)?;
                }
                Direction::Store => {
                    self.local.read_each(local, bytes, spread, data)?;
                    for (s, part) in data.chunks_exact(bytes).enumerate() {
                        self.system.write(system(s), part)?;
                    }
                }
            }
            done += bytes as u64;
        }
        Ok(())
    }

    /// Moves one run, piece by piece.
    fn run(&mut self, run: Run) -> Result<(), CopyError> {
        // Dealt pieces are whole rounds, so that every piece starts with section 0.
        let round = self.granule.saturating_mul(self.sections.into());
        let most = (PIECE - PIECE % round).max(round);
        let share = if run.to == Recipient::Deal {
            u64::from(self.sections)
        } else {
            1
        };
        let mut done = 0;
        while done < run.bytes {
            let piece = Run {
                system: run.system + done,
                local: run.local + (done / share) as u32,
                bytes: (run.bytes - done).min(most),
                to: run.to,
            };
            self.piece(piece)?;
            done += piece.bytes;
        }
        Ok(())
    }

    fn piece(&mut self, run: Run) -> Result<(), CopyError> {
        let data = room(self.buffer, run.bytes as usize);
        match self.direction {
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
                    Recipient::Deal => self.dealt(run)?,
                }
            }
            Direction::Store => {
                match run.to {
                    Recipient::Section(s) => self.local.read(s, run.local, data)?,
                    Recipient::Deal => self.dealt(run)?,
                    // Refused by validation.
                    Recipient::Program | Recipient::All => return Ok(()),
                }
                let data = room(self.buffer, run.bytes as usize);
                self.system.write(run.system, data)?;
            }
        }
        Ok(())
    }

    /// Moves granules between the buffer and the sections, in turn.
    fn dealt(&mut self, run: Run) -> Result<(), CopyError> {
        let granule = self.granule as usize;
        let round = granule * self.sections as usize;
        let (whole, data) = (
            run.bytes as usize / round * granule,
            room(self.buffer, run.bytes as usize),
        );
        let spread = Spread {
            sections: self.sections,
            section: granule,
            piece: granule,
            step: round,
        };
        match self.direction {
            Direction::Load => self.local.write_each(run.local, whole, spread, data)?,
            Direction::Store => self.local.read_each(run.local, whole, spread, data)?,
        }
        // The last round need not be complete.
        let rest = data.chunks_exact_mut(round).into_remainder();
        let local = run.local + whole as u32;
        for (s, part) in (0..).zip(rest.chunks_mut(granule)) {
            match self.direction {
                Direction::Load => self.local.write(s, local, part)?,
                Direction::Store => self.local.read(s, local, part)?,
            }
        }
        Ok(())
    }
}
