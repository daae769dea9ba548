//! Frame of emitted code: constants and spill slots in memory.

use super::segment_steps::{PAIRS, REGISTERS};
use crate::alu::NAN;
use crate::core::simd::Simd;

/// Bytes for the spill slots of vectors.
pub(super) const VECTOR_BYTES: usize = 64 * 64;
/// Number of spill slots of scalars.
pub(super) const SCALAR_SLOTS: usize = 128;

/// Constants and spill slots, laid out for emitted code; the offsets below name its parts.
#[repr(C, align(64))]
#[derive(Debug, Clone)]
pub(crate) struct CodeFrame {
    constants: [u32; 16],
    odd_sign: [u32; 16],
    alternate: [u32; 16],
    /// Each of `constants` in all lanes of a pair, for instruction sets without broadcast operands.
    spread: [[u32; 8]; 16],
    vectors: [u32; VECTOR_BYTES / 4],
    scalars: [u32; SCALAR_SLOTS],
    /// Pair registers beyond the guest's.
    kept: [[u32; 8]; REGISTERS - PAIRS],
    /// Instruction set that emitted code may use.
    pub(crate) simd: Simd,
    /// Number of blocks compiled for this frame; emitted code does not use it.
    pub(super) compiled: usize,
}

pub(super) const NAN_BITS: i64 = 4;
pub(super) const SIGN: i64 = 8;
pub(super) const MAGNITUDE: i64 = 12;
pub(super) const ONES: i64 = 16;
/// Table of `vfixupimmps`: both kinds of NaN keep the destination, all else is the source.
pub(super) const FIXUP: i64 = 20;
pub(super) const MAX: i64 = 24;
pub(super) const TWO_31: i64 = 28;
pub(super) const BIT_REVERSAL: [i64; 3] = [32, 36, 40];
/// Number of passes that the call asked for.
pub(super) const PASSES: i64 = 48;
pub(super) const ODD_SIGN: i64 = 64;
/// -1 in even lanes, 1 in odd ones.
pub(super) const ALTERNATE: i64 = 128;
/// Array of spread constants, see [`super::asm::every`].
pub(super) const SPREAD: i64 = 192;
pub(super) const VECTORS: i64 = SPREAD + 512;
pub(super) const SCALARS: i64 = VECTORS + VECTOR_BYTES as i64;
pub(super) const KEPT: i64 = SCALARS + 4 * SCALAR_SLOTS as i64;

// Emitted code finds the fields at these offsets.
const _: () = assert!(
    std::mem::offset_of!(CodeFrame, vectors) == VECTORS as usize
        && std::mem::offset_of!(CodeFrame, scalars) == SCALARS as usize
        && std::mem::offset_of!(CodeFrame, kept) == KEPT as usize
);

impl CodeFrame {
    /// Returns the number of blocks compiled for this frame, each of which may have a mapping of
    /// its own.
    pub(crate) fn compiled(&self) -> usize {
        self.compiled
    }
}

impl Default for CodeFrame {
    fn default() -> Self {
        let one = 1f32.to_bits();
        let minus = (-1f32).to_bits();
        let lanes =
            |even: u32, odd: u32| std::array::from_fn(|i| if i / 4 % 2 == 0 { even } else { odd });
        let mut constants = [0; 16];
        let values = [
            one,
            NAN,
            1 << 31,
            u32::MAX >> 1,
            u32::MAX,
            0x1111_1100,
            i32::MAX as u32,
            2_147_483_648f32.to_bits(),
            0x5555_5555,
            0x3333_3333,
            0x0f0f_0f0f,
        ];
        constants[..values.len()].copy_from_slice(&values);
        Self {
            constants,
            odd_sign: lanes(0, 1 << 31),
            alternate: lanes(minus, one),
            spread: constants.map(|bits| [bits; 8]),
            vectors: [0; VECTOR_BYTES / 4],
            scalars: [0; SCALAR_SLOTS],
            kept: [[0; 8]; REGISTERS - PAIRS],
            simd: Simd::best(),
            compiled: 0,
        }
    }
}
