//! Forms of emitted code: width of vectors and number of registers.

use super::segment_steps::REGISTERS;
use iced_x86::{Code, Register};

/// Form of a segment's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CodeForm {
    /// AVX-512: a quad fills a vector, operations on pairs go two at a time.
    #[default]
    Wide,
    /// AVX-512's instructions on vectors of 256 bits, a pair each.
    Narrow,
    /// AVX2 and FMA: a pair fills a vector.
    Avx2,
}

/// Vector register that [`CodeForm::Avx2`] reserves as scratch, because it has no masks.
pub(super) const SCRATCH: Register = Register::YMM15;

impl CodeForm {
    /// Returns the number of vector registers for values.
    pub(super) const fn registers(self) -> usize {
        match self {
            Self::Wide | Self::Narrow => 32,
            Self::Avx2 => 15,
        }
    }

    /// Returns the most vectors that a loop keeps in registers; the other registers are left for computed
    /// values.
    pub(super) const fn carried(self) -> usize {
        match self {
            Self::Wide => 24,
            Self::Narrow => 20,
            Self::Avx2 => 4,
        }
    }

    /// Returns the number of pair registers in a vector.
    pub(super) const fn pairs(self) -> usize {
        match self {
            Self::Wide => 2,
            Self::Narrow | Self::Avx2 => 1,
        }
    }

    /// True if a vector holds one pair.
    pub(super) const fn narrow(self) -> bool {
        self.pairs() == 1
    }

    /// Returns the number of vectors that hold all pair registers: the register file and those kept in the
    /// frame.
    pub(super) const fn homes(self) -> usize {
        REGISTERS / self.pairs()
    }

    /// Returns the number of bytes in a vector.
    pub(super) const fn bytes(self) -> i64 {
        32 * self.pairs() as i64
    }

    /// Returns a vector register by number.
    pub(super) fn vector(self, register: u8) -> Register {
        let first = match self {
            Self::Wide => Register::ZMM0,
            Self::Narrow | Self::Avx2 => Register::YMM0,
        };
        first + u32::from(register)
    }

    /// Selects the code of this form from those of all forms, in the order of declaration.
    pub(super) const fn code(self, codes: [Code; 3]) -> Code {
        codes[self as usize]
    }

    /// Returns the code of a copy from a register or memory.
    pub(super) const fn load(self) -> Code {
        self.code([
            Code::EVEX_Vmovups_zmm_k1z_zmmm512,
            Code::EVEX_Vmovups_ymm_k1z_ymmm256,
            Code::VEX_Vmovups_ymm_ymmm256,
        ])
    }

    /// Returns the code of a copy to memory.
    pub(super) const fn store(self) -> Code {
        self.code([
            Code::EVEX_Vmovups_zmmm512_k1z_zmm,
            Code::EVEX_Vmovups_ymmm256_k1z_ymm,
            Code::VEX_Vmovups_ymmm256_ymm,
        ])
    }
}
