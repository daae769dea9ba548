//! Layout of registers and DMEM: lanes outermost, sections innermost.
//!
//! One lane of four sections is 16 bytes, a host vector. A pair register is 32
//! consecutive bytes, a quad and 16 bytes of four sections' DMEM are 64: a host
//! cache line. Loads and stores therefore copy whole vectors, and arithmetic
//! needs no shuffles, whatever the operation does with the lanes.

use crate::semantics::scalar::Scalars;
use cp2_asm::isa::{SCALARS, Scalar};
use serde::{Deserialize, Serialize};

/// Sections that lie side by side in a line.
pub(crate) const COLUMNS: usize = 4;

/// One 32-bit lane of [`COLUMNS`] sections.
pub(crate) type Lane = [u32; COLUMNS];

/// Lanes of a line.
pub(crate) const LINE_LANES: usize = 4;

/// Bytes of one section's DMEM in a line.
pub(crate) const LINE_BYTES: usize = 16;

/// True if a core is one group of full columns and whole lines, which the fast engines require.
pub(crate) const fn is_one_group(sections: usize, dmem_bytes: usize) -> bool {
    sections == COLUMNS && dmem_bytes.is_multiple_of(LINE_BYTES)
}

/// Sixteen bytes of DMEM of each of four sections: `[word][section]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(crate) struct DmemLine(pub [Lane; LINE_LANES]);

/// Lanes of a register.
pub(crate) const PAIR: usize = 2;

/// Lanes of the largest register file: 64 registers of two lanes.
pub(crate) const FILE_LANES: usize = 128;

/// Lanes that a register file has room for. A byte names a position in units of half a lane; a quad
/// that begins at the last of these 256 positions still lies inside.
pub(crate) const FILE_ROOM: usize = FILE_LANES + LINE_LANES;

/// Registers of four sections, `[register][lane][section]`, and unused room behind them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Lane>", into = "Vec<Lane>")]
#[repr(C, align(64))]
pub(crate) struct RegisterFile(pub [Lane; FILE_ROOM]);

impl Default for RegisterFile {
    fn default() -> Self {
        Self([Lane::default(); FILE_ROOM])
    }
}

impl From<Vec<Lane>> for RegisterFile {
    fn from(lanes: Vec<Lane>) -> Self {
        let mut file = Self::default();
        for (mine, lane) in file.0.iter_mut().zip(lanes).take(FILE_LANES) {
            *mine = lane;
        }
        file
    }
}

impl From<RegisterFile> for Vec<Lane> {
    fn from(file: RegisterFile) -> Self {
        file.0[..FILE_LANES].to_vec()
    }
}

/// Scalars that the sections share, and unused room behind them, so that any byte is a valid index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u32>", into = "Vec<u32>")]
#[repr(C)]
pub(crate) struct Shared(pub [u32; u8::MAX as usize + 1]);

impl Default for Shared {
    fn default() -> Self {
        Self([0; u8::MAX as usize + 1])
    }
}

impl From<Vec<u32>> for Shared {
    fn from(scalars: Vec<u32>) -> Self {
        let mut shared = Self::default();
        for (mine, scalar) in shared.0.iter_mut().zip(scalars).take(SCALARS) {
            *mine = scalar;
        }
        shared
    }
}

impl From<Shared> for Vec<u32> {
    fn from(shared: Shared) -> Self {
        shared.0[..SCALARS].to_vec()
    }
}

impl Scalars<u32> for Shared {
    fn read(&self, register: Scalar) -> u32 {
        self.0[usize::from(register.0)]
    }

    fn write(&mut self, register: Scalar, value: u32) {
        self.0[usize::from(register.0)] = value;
    }
}

/// All registers of four sections behind one reference. The first group's scalars are the core's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct RegisterBanks {
    pub file: RegisterFile,
    pub scalars: Shared,
}

/// State of four sections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SectionGroup {
    pub registers: Box<RegisterBanks>,
    pub dmem: Vec<DmemLine>,
}

impl SectionGroup {
    /// Creates zeroed state with `bytes` bytes of DMEM per section.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            registers: Box::default(),
            dmem: vec![DmemLine::default(); bytes.div_ceil(LINE_BYTES)],
        }
    }
}
