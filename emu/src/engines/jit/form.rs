//! The forms that emitted code may have: which vectors, how many registers.

use super::steps::REGISTERS;
use iced_x86::{Code, Register};

/// What the code of a segment is made of.
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

/// The register that [`CodeForm::Avx2`] needs for itself: it has no masks.
pub(super) const SCRATCH: Register = Register::YMM15;

impl CodeForm {
    /// Registers for values.
    pub(super) const fn registers(self) -> usize {
        match self {
            Self::Wide | Self::Narrow => 32,
            Self::Avx2 => 15,
        }
    }

    /// Vectors that a loop keeps in registers; the others are left for what is computed.
    pub(super) const fn carried(self) -> usize {
        match self {
            Self::Wide => 24,
            Self::Narrow => 20,
            Self::Avx2 => 4,
        }
    }

    /// Pair registers in a vector.
    pub(super) const fn pairs(self) -> usize {
        match self {
            Self::Wide => 2,
            Self::Narrow | Self::Avx2 => 1,
        }
    }

    /// Whether a vector holds one pair.
    pub(super) const fn narrow(self) -> bool {
        self.pairs() == 1
    }

    /// Vectors of the register file, and of what is kept in the frame.
    pub(super) const fn homes(self) -> usize {
        REGISTERS / self.pairs()
    }

    /// Bytes of a vector.
    pub(super) const fn bytes(self) -> i64 {
        32 * self.pairs() as i64
    }

    /// A vector register by number.
    pub(super) fn vector(self, register: u8) -> Register {
        let first = match self {
            Self::Wide => Register::ZMM0,
            Self::Narrow | Self::Avx2 => Register::YMM0,
        };
        first + u32::from(register)
    }

    /// Of the codes for each form, in the order above, the one for this form.
    pub(super) const fn code(self, codes: [Code; 3]) -> Code {
        codes[self as usize]
    }

    /// A copy from a register or memory.
    pub(super) const fn load(self) -> Code {
        self.code([
            Code::EVEX_Vmovups_zmm_k1z_zmmm512,
            Code::EVEX_Vmovups_ymm_k1z_ymmm256,
            Code::VEX_Vmovups_ymm_ymmm256,
        ])
    }

    /// A copy to memory.
    pub(super) const fn store(self) -> Code {
        self.code([
            Code::EVEX_Vmovups_zmmm512_k1z_zmm,
            Code::EVEX_Vmovups_ymmm256_k1z_ymm,
            Code::VEX_Vmovups_ymmm256_ymm,
        ])
    }
}
