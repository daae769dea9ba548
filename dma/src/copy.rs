//! The functional effect of a transfer: moves its bytes between memories.

use crate::places::Room;
use crate::runs::{Recipient, Run};
use crate::sweep::Sweep;
use crate::{Combine, Descriptor, DescriptorError, Direction, Level, Transfer, validate};
use cp2_machine::Machine;

/// An access a memory refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x} cannot be accessed: {reason}")]
pub struct AccessError {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Reason, in words.
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

    /// Writes the same bytes at an address of every section's DMEM, and returns true, if the memory can do
    /// that at once. Otherwise does nothing and returns false.
    fn write_all(&mut self, address: u32, data: &[u8]) -> bool {
        let _ = (address, data);
        false
    }

    /// Loads a whole sweep from `span`, the bytes of system memory that it covers, to DMEM, and returns true,
    /// if the memory can do that at once. Otherwise does nothing and returns false.
    fn load_sweep(&mut self, sweep: &Sweep, span: &[u8]) -> bool {
        let _ = (sweep, span);
        false
    }

    /// Stores a whole sweep from DMEM to `span`, the bytes of system memory that it covers, and returns true,
    /// if the memory can do that at once. Otherwise does nothing and returns false.
    fn store_sweep(&self, sweep: &Sweep, span: &mut [u8]) -> bool {
        let _ = (sweep, span);
        false
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

    /// Returns the bytes as one slice if they are contiguous in the host's memory, to be read.
    fn span(&self, address: u64, bytes: u64) -> Option<&[u8]> {
        let _ = (address, bytes);
        None
    }

    /// Returns the bytes as one slice if they are contiguous in the host's memory, to be written.
    fn span_mut(&mut self, address: u64, bytes: u64) -> Option<&mut [u8]> {
        let _ = (address, bytes);
        None
    }

    /// Announces a transfer before it moves anything. A memory that buffers stores to carry them out later
    /// returns a buffer for the packed runs of this one; the transfer then writes to the buffer and not to
    /// the memory. The memory combines them with what it holds when it carries them out.
    fn store_buffer(&mut self, transfer: &impl Transfer, machine: &Machine) -> Option<&mut [u8]> {
        let _ = (transfer, machine);
        None
    }
}

/// Reason why a copy did not happen, or stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// The transfer is illegal; nothing has moved.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// A memory is smaller than the machine says, or the host ran out of memory.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// Most bytes moved at a time. Longer runs move in pieces, so that the buffer stays small and in the host's
/// cache.
const PIECE: u64 = 16 * 1024;

/// Carries out transfers. Its only state is a buffer that is reused between transfers, so all copiers are
/// equal.
#[derive(Clone, Debug, Default)]
pub struct Copier {
    buffer: Vec<u8>,
    /// Bytes that the destination of a sum held.
    kept: Vec<u8>,
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
    transfer: &impl Transfer,
    machine: &Machine,
    local: &mut impl LocalMemory,
    system: &mut impl SystemMemory,
) -> Result<(), CopyError> {
    Copier::default().copy(transfer, machine, local, system)
}

impl Copier {
    /// Moves the bytes of a transfer, run by run in the order of [`Transfer::runs`];
    /// where runs of the destination overlap, the later one stays, or all are added in this order.
    ///
    /// # Errors
    /// When the transfer is illegal (nothing has moved then) or a memory refuses an access.
    pub fn copy(
        &mut self,
        transfer: &impl Transfer,
        machine: &Machine,
        local: &mut impl LocalMemory,
        system: &mut impl SystemMemory,
    ) -> Result<(), CopyError> {
        validate(transfer, machine)?;
        if let Some(room) = system.store_buffer(transfer, machine) {
            let mut room = Room(room);
            // A packed transfer that adds would add to the buffer.
            let replaces = transfer.combine() == Combine::Replace;
            if let Some(packed) = transfer.packed(machine).filter(|_| replaces) {
                return self.whole(&packed, machine, local, &mut room);
            }
            let runs = transfer.runs(machine).scan(0, |end, run| {
                let system = *end;
                *end += run.bytes;
                Some(Run { system, ..run })
            });
            let way = (transfer.direction(), Combine::Replace);
            return self.runs(runs, way, machine, local, &mut room);
        }
        self.whole(transfer, machine, local, system)
    }

    /// Moves the bytes of a valid transfer: as one sweep if the memories can, otherwise run by run.
    fn whole(
        &mut self,
        transfer: &impl Transfer,
        machine: &Machine,
        local: &mut impl LocalMemory,
        system: &mut impl SystemMemory,
    ) -> Result<(), CopyError> {
        let way = (transfer.direction(), transfer.combine());
        if way.1 == Combine::Replace && swept(transfer, machine, local, system) {
            return Ok(());
        }
        self.runs(transfer.runs(machine), way, machine, local, system)
    }

    /// Moves the bytes of runs, one after the other.
    fn runs(
        &mut self,
        mut runs: impl Iterator<Item = Run>,
        (direction, combine): (Direction, Combine),
        machine: &Machine,
        local: &mut impl LocalMemory,
        system: &mut impl SystemMemory,
    ) -> Result<(), CopyError> {
        let mut mover = Mover {
            local,
            system,
            direction,
            combine,
            kept: &mut self.kept,
            sections: machine.cp2.sections.max(1) as u32,
            unit: machine.dma.dealt(),
            buffer: &mut self.buffer,
        };
        runs.try_for_each(|run| mover.run(run))
    }
}

/// Carries out a valid transfer as one sweep if the transfer is one and both memories can. Returns whether it
/// did.
fn swept(
    transfer: &impl Transfer,
    machine: &Machine,
    local: &mut impl LocalMemory,
    system: &mut impl SystemMemory,
) -> bool {
    let Some((span, sweep)) = transfer.sweep(machine) else {
        return false;
    };
    let (first, bytes) = (span.start, span.end - span.start);
    match transfer.direction() {
        Direction::Load => {
            let span = system.span(first, bytes);
            span.is_some_and(|span| local.load_sweep(&sweep, span))
        }
        Direction::Store => {
            let span = system.span_mut(first, bytes);
            span.is_some_and(|span| local.store_sweep(&sweep, span))
        }
    }
}

/// Returns true if the blocks of two sections may overlap in system memory. The order in which they move
/// matters then.
pub(crate) fn overlaps(d: &Descriptor, stride: i64) -> bool {
    let reach = |l: &Level| {
        u128::from(l.count.saturating_sub(1)) * u128::from(l.system_stride.unsigned_abs())
    };
    let block = d
        .levels
        .iter()
        .map(reach)
        .fold(u128::from(d.run), |sum, r| sum.saturating_add(r));
    block > u128::from(stride.unsigned_abs())
}

struct Mover<'a, L, S> {
    local: &'a mut L,
    system: &'a mut S,
    direction: Direction,
    combine: Combine,
    sections: u32,
    /// Bytes dealt to a section at a time.
    unit: u64,
    buffer: &'a mut Vec<u8>,
    kept: &'a mut Vec<u8>,
}

/// Returns the first `bytes` of a buffer, which grows as needed.
fn room(buffer: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
    &mut buffer[..bytes]
}

impl<L: LocalMemory, S: SystemMemory> Mover<'_, L, S> {
    /// Moves one run, piece by piece.
    fn run(&mut self, run: Run) -> Result<(), CopyError> {
        // Pieces of a dealt run are whole rounds of all sections, so that every piece starts with section 0.
        let round = self.unit.saturating_mul(self.sections.into());
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
        let bytes = run.bytes as usize;
        let mut data = std::mem::take(self.buffer);
        let moved = self.between(run, room(&mut data, bytes));
        *self.buffer = data;
        moved
    }

    /// Moves a piece through `data`, which has its length.
    fn between(&mut self, run: Run, data: &mut [u8]) -> Result<(), CopyError> {
        match self.direction {
            Direction::Load => {
                self.system.read(run.system, data)?;
                match run.to {
                    Recipient::Program => self.local.write_program(run.local, data)?,
                    Recipient::Section(s) => self.land(s, run.local, data)?,
                    Recipient::All
                        if self.combine == Combine::Replace
                            && self.local.write_all(run.local, data) => {}
                    Recipient::All => {
                        for s in 0..self.sections {
                            self.land(s, run.local, data)?;
                        }
                    }
                    Recipient::Deal => self.dealt(run.local, data)?,
                }
            }
            Direction::Store => {
                match run.to {
                    Recipient::Section(s) => self.local.read(s, run.local, data)?,
                    Recipient::Deal => self.dealt(run.local, data)?,
                    // Validation has refused these.
                    Recipient::Program | Recipient::All => return Ok(()),
                }
                match self.combine {
                    Combine::Replace => self.system.write(run.system, data)?,
                    combine => {
                        let kept = room(self.kept, data.len());
                        self.system.read(run.system, kept)?;
                        combine.apply(kept, data);
                        self.system.write(run.system, kept)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Combines bytes with those of a section.
    fn land(&mut self, section: u32, address: u32, data: &[u8]) -> Result<(), AccessError> {
        if self.combine == Combine::Replace {
            return self.local.write(section, address, data);
        }
        let kept = room(self.kept, data.len());
        self.local.read(section, address, kept)?;
        self.combine.apply(kept, data);
        self.local.write(section, address, kept)
    }

    /// Moves a piece of a dealt run between `data` and the sections, `unit` bytes to each section in turn.
    fn dealt(&mut self, local: u32, data: &mut [u8]) -> Result<(), CopyError> {
        let (unit, sections) = (self.unit as usize, self.sections);
        let places = (local..)
            .step_by(unit)
            .flat_map(|local| (0..sections).map(move |s| (s, local)));
        for ((s, local), part) in places.zip(data.chunks_mut(unit)) {
            match self.direction {
                Direction::Load => self.land(s, local, part)?,
                Direction::Store => self.local.read(s, local, part)?,
            }
        }
        Ok(())
    }
}
