//! Architectural state of a core: registers, DMEM, program, stacks, events.
//!
//! Its layout is private: engines work on it inside the crate, everyone else copies runs of bytes
//! in and out.

pub(crate) mod decoded;
pub(crate) mod execute;
pub(crate) mod fault;
pub(crate) mod layout;
pub(crate) mod loops;
pub(crate) mod simd;
pub(crate) mod write_mask;
use crate::core::fault::FaultKind;
use crate::core::layout::{
    COLUMNS, DmemLine, LINE_LANES, PAIR, RegisterBanks, SectionGroup, is_one_group,
};
use crate::core::write_mask::WriteMask;
use crate::memory::interleave;
use crate::memory::loaded_words::LoadedWords;
use crate::semantics::action::MemoryOp;
use crate::semantics::address::{Generated, generate, own_address};
use cp2_asm::isa::{AddressOperand, SCALARS, Scalar};
use cp2_dma::Sweep;
use cp2_machine::{LANE_BYTES, Machine};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A running hardware loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HardwareLoop {
    /// First word of the body.
    pub start: u32,
    /// Last word of the body.
    pub end: u32,
    /// Passes left, the current one included.
    pub left: u32,
}

/// A call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Call {
    /// Word after the call.
    pub back: u32,
    /// Number of hardware loops that were running at the call: they are the caller's.
    pub loops: usize,
}

/// Poster of an event, which decides what cause a wait for the event is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Poster {
    /// Completion of a DMA load.
    Load,
    /// Completion of a DMA store.
    Store,
    /// The control CPU.
    Host,
}

/// The addresses of one memory operation, one per section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Every section uses the same address.
    Uniform(u32),
    /// `[section]`: each section uses its own address.
    Own(Box<[u32]>),
}

impl Addresses {
    /// Returns the address that section `section` uses.
    #[must_use]
    pub fn section_address(&self, section: usize) -> u32 {
        match self {
            Self::Uniform(address) => *address,
            Self::Own(addresses) => addresses.get(section).copied().unwrap_or_default(),
        }
    }
}

/// Registers, memories and control state of one core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    sections: usize,
    registers: usize,
    dmem_bytes: usize,
    /// Sections in groups of four.
    groups: Vec<SectionGroup>,
    pub(crate) program: Vec<u64>,
    /// `[word]`: true once loaded.
    pub(crate) loaded: LoadedWords,
    pub(crate) pc: u32,
    pub(crate) loops: Vec<HardwareLoop>,
    pub(crate) calls: Vec<Call>,
    pub(crate) mask: WriteMask,
    /// Posts not yet consumed, per event: poster and first cycle that sees it.
    pub(crate) events: Vec<VecDeque<(Poster, u64)>>,
}

/// Registers and DMEM of a core that is one group of four sections, borrowed apart.
pub(crate) struct Guest<'a> {
    pub registers: &'a mut RegisterBanks,
    pub dmem: &'a mut [DmemLine],
}

impl Core {
    /// Creates a core in the state after reset: everything zero.
    #[must_use]
    pub fn new(machine: &Machine) -> Self {
        let cp2 = &machine.cp2;
        let dmem_bytes = cp2.dmem.0 as usize;
        Self {
            sections: cp2.sections,
            registers: cp2.registers,
            dmem_bytes,
            groups: vec![SectionGroup::new(dmem_bytes); cp2.sections.div_ceil(COLUMNS)],
            program: vec![0; cp2.program.0 as usize / WORD_BYTES],
            loaded: LoadedWords::new_unloaded(cp2.program.0 as usize / WORD_BYTES),
            pc: 0,
            loops: Vec::new(),
            calls: Vec::new(),
            mask: WriteMask::default(),
            events: vec![VecDeque::new(); cp2.events],
        }
    }

    /// Creates a core without DMEM and program memory, to follow the control flow of a program
    /// alone.
    pub(crate) fn without_dmem(machine: &Machine) -> Self {
        Self {
            sections: machine.cp2.sections,
            registers: machine.cp2.registers,
            dmem_bytes: 0,
            groups: vec![SectionGroup::new(0)],
            program: Vec::new(),
            loaded: LoadedWords::new_unloaded(0),
            pc: 0,
            loops: Vec::new(),
            calls: Vec::new(),
            mask: WriteMask::default(),
            events: vec![VecDeque::new(); machine.cp2.events],
        }
    }

    /// Returns to the state after reset: everything zero.
    pub(crate) fn reset(&mut self) {
        for group in &mut self.groups {
            *group.registers = RegisterBanks::default();
            // The value is a constant so that compilers emit a call of `memset`.
            let lines = group.dmem.iter_mut();
            lines.for_each(|line| *line = DmemLine([[0; COLUMNS]; LINE_LANES]));
        }
        let loaded = self.loaded.all().len();
        self.program
            .iter_mut()
            .take(loaded)
            .for_each(|word| *word = 0);
        self.loaded.clear();
        self.pc = 0;
        self.loops.clear();
        self.calls.clear();
        self.mask.clear();
        self.events.iter_mut().for_each(VecDeque::clear);
    }

    /// Returns the number of sections.
    #[must_use]
    pub fn sections(&self) -> usize {
        self.sections
    }

    /// Returns the word address of the next instruction.
    #[must_use]
    pub fn pc(&self) -> u32 {
        self.pc
    }

    /// Returns a shared scalar register.
    #[must_use]
    pub fn scalar(&self, scalar: Scalar) -> u32 {
        let group = self.groups.first();
        group.map_or(0, |group| {
            group.registers.scalars.0[usize::from(scalar.0) % SCALARS]
        })
    }

    /// Returns one lane of a section register, or `None` if it does not exist.
    #[must_use]
    pub fn register(&self, section: usize, register: usize, lane: usize) -> Option<u32> {
        let inside = section < self.sections && register < self.registers && lane < PAIR;
        inside.then(|| self.lane(section, register, lane))
    }

    pub(crate) fn lane(&self, section: usize, register: usize, lane: usize) -> u32 {
        self.groups[section / COLUMNS].registers.file.0[register * PAIR + lane][section % COLUMNS]
    }

    pub(crate) fn lane_mut(&mut self, section: usize, register: usize, lane: usize) -> &mut u32 {
        &mut self.groups[section / COLUMNS].registers.file.0[register * PAIR + lane]
            [section % COLUMNS]
    }

    /// True if the core is one group of four sections, so that [`Core::guest`] returns its parts.
    pub(crate) fn is_one_group(&self) -> bool {
        self.groups.len() == 1 && is_one_group(self.sections, self.dmem_bytes)
    }

    /// Borrows the registers and the DMEM, if the core is one group of four sections.
    pub(crate) fn guest(&mut self) -> Option<Guest<'_>> {
        self.is_one_group().then_some(())?;
        let group = self.groups.first_mut()?;
        Some(Guest {
            registers: &mut group.registers,
            dmem: &mut group.dmem,
        })
    }

    /// Copies a run of a section's DMEM out.
    ///
    /// # Errors
    /// The run leaves the memory or is not a whole number of 32-bit words.
    pub fn read_dmem(&self, section: usize, address: u32, out: &mut [u8]) -> Result<(), FaultKind> {
        let words = self.dmem_words(section, address, out.len())?;
        for (chunk, word) in out.chunks_exact_mut(LANE_BYTES).zip(words) {
            chunk.copy_from_slice(&self.dmem_word(section, word).to_le_bytes());
        }
        Ok(())
    }

    /// Copies a run into a section's DMEM.
    ///
    /// # Errors
    /// The run leaves the memory or is not a whole number of 32-bit words.
    pub fn write_dmem(
        &mut self,
        section: usize,
        address: u32,
        bytes: &[u8],
    ) -> Result<(), FaultKind> {
        let words = self.dmem_words(section, address, bytes.len())?;
        for (chunk, word) in bytes.chunks_exact(LANE_BYTES).zip(words) {
            *self.dmem_word_mut(section, word) = chunk.try_into().map_or(0, u32::from_le_bytes);
        }
        Ok(())
    }

    /// Writes the same run to every section's DMEM. Returns false, and writes nothing, if the run
    /// is not whole lines.
    pub(crate) fn broadcast(&mut self, address: u32, bytes: &[u8]) -> bool {
        let guest = self.guest();
        guest.is_some_and(|guest| interleave::spread(bytes, address as usize, guest.dmem))
    }

    /// Loads a sweep from `span` into every section's DMEM. Returns false, and does nothing, if its
    /// runs are not whole lines.
    pub(crate) fn load_sweep(&mut self, sweep: &Sweep, span: &[u8]) -> bool {
        let guest = self.guest();
        guest.is_some_and(|guest| interleave::load(sweep, span, guest.dmem))
    }

    /// Stores a sweep of every section's DMEM to `span`. Returns false, and does nothing, if its
    /// runs are not whole lines.
    pub(crate) fn store_sweep(&self, sweep: &Sweep, span: &mut [u8]) -> bool {
        match &self.groups[..] {
            [group] if self.sections == COLUMNS => interleave::store(sweep, span, &group.dmem),
            _ => false,
        }
    }

    /// Copies a run into program memory.
    ///
    /// # Errors
    /// The run leaves the memory or is not a whole number of words.
    pub fn write_program(&mut self, address: u32, bytes: &[u8]) -> Result<(), FaultKind> {
        let size = (self.program.len() * WORD_BYTES) as u64;
        if !(address as usize).is_multiple_of(WORD_BYTES) || !bytes.len().is_multiple_of(WORD_BYTES)
        {
            return Err(FaultKind::Unaligned {
                address,
                bytes: WORD_BYTES as u32,
            });
        }
        let first = address as usize / WORD_BYTES;
        let end = first + bytes.len() / WORD_BYTES;
        let words = self
            .program
            .get_mut(first..end)
            .ok_or(FaultKind::OutOfRange { address, size })?;
        for (chunk, word) in bytes.chunks_exact(WORD_BYTES).zip(words) {
            *word = chunk.try_into().map_or(0, u64::from_le_bytes);
        }
        self.loaded.load(first, end);
        Ok(())
    }

    fn dmem_words(
        &self,
        section: usize,
        address: u32,
        bytes: usize,
    ) -> Result<std::ops::Range<usize>, FaultKind> {
        if !(address as usize).is_multiple_of(LANE_BYTES) || !bytes.is_multiple_of(LANE_BYTES) {
            return Err(FaultKind::Unaligned {
                address,
                bytes: LANE_BYTES as u32,
            });
        }
        if section >= self.sections || address as usize + bytes > self.dmem_bytes {
            return Err(FaultKind::OutOfRange {
                address,
                size: self.dmem_bytes as u64,
            });
        }
        let first = address as usize / LANE_BYTES;
        Ok(first..first + bytes / LANE_BYTES)
    }

    /// Returns the index in a section's DMEM of the first 32-bit word of an access of `bytes` bytes at a
    /// multiple of `align`.
    pub(crate) fn dmem_index(
        &self,
        address: u32,
        (bytes, align): (u32, u32),
    ) -> Result<usize, FaultKind> {
        if !address.is_multiple_of(align) {
            return Err(FaultKind::Unaligned {
                address,
                bytes: align,
            });
        }
        if u64::from(address) + u64::from(bytes) > self.dmem_bytes as u64 {
            return Err(FaultKind::OutOfRange {
                address,
                size: self.dmem_bytes as u64,
            });
        }
        Ok(address as usize / LANE_BYTES)
    }

    pub(crate) fn dmem_word(&self, section: usize, word: usize) -> u32 {
        let line = &self.groups[section / COLUMNS].dmem[word / LINE_LANES];
        line.0[word % LINE_LANES][section % COLUMNS]
    }

    pub(crate) fn dmem_word_mut(&mut self, section: usize, word: usize) -> &mut u32 {
        let line = &mut self.groups[section / COLUMNS].dmem[word / LINE_LANES];
        &mut line.0[word % LINE_LANES][section % COLUMNS]
    }

    /// Returns the addresses that a memory operation uses, and the next value of its address
    /// register.
    pub(crate) fn addresses(&self, op: MemoryOp) -> (Addresses, Option<u32>) {
        match op.place {
            AddressOperand::Shared(address) => {
                let Generated { address, next } =
                    generate(address, op.bytes, |scalar| self.scalar(scalar));
                (Addresses::Uniform(address), next)
            }
            AddressOperand::Own(own) => {
                let a = self.scalar(Scalar::address(own.base));
                let address = |section| {
                    let lane = |lane| self.lane(section, usize::from(own.register), lane);
                    own_address(own, a, [lane(0), lane(1)], op.bytes)
                };
                (
                    Addresses::Own((0..self.sections).map(address).collect()),
                    None,
                )
            }
        }
    }

    pub(crate) fn set_scalar(&mut self, scalar: Scalar, value: u32) {
        if let Some(group) = self.groups.first_mut() {
            group.registers.scalars.0[usize::from(scalar.0) % SCALARS] = value;
        }
    }

    /// Returns how many of the running hardware loops belong to callers.
    pub(crate) fn callers_loops(&self) -> usize {
        self.calls
            .last()
            .map_or(0, |call| call.loops.min(self.loops.len()))
    }

    /// Prepares a launch: entry point, argument address, empty stacks.
    pub(crate) fn launch(&mut self, entry: u32, args: u32) {
        self.pc = entry;
        self.loops.clear();
        self.calls.clear();
        self.mask.clear();
        self.set_scalar(ARGUMENTS, args);
    }
}

/// Bytes of one program word.
pub(crate) const WORD_BYTES: usize = 8;

/// The register that holds the argument block's DMEM address at launch (ABI).
pub const ARGUMENTS: Scalar = Scalar::address(15);
