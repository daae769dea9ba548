//! A checking implementation: bits, and whether they were ever written.

use super::{Alu, PlainAlu};
use crate::semantics::double::DoubleOperation;
use crate::semantics::elementary::Function;

/// Lanes that remember whether everything they depend on was initialised.
///
/// The bits are [`PlainAlu`]'s. A result is initialised when all operands are;
/// values that are masked away afterwards still count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracked;

/// A tracked lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackedBits {
    /// The value.
    pub bits: u32,
    /// True if the value depends on written data only.
    pub initialised: bool,
}

impl TrackedBits {
    /// Returns an initialised value.
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        Self {
            bits,
            initialised: true,
        }
    }
}

macro_rules! lift {
    (unary: $($unary:ident)*; binary: $($binary:ident)*;) => {
        $(fn $unary(&mut self, a: TrackedBits) -> TrackedBits {
            TrackedBits { bits: PlainAlu.$unary(a.bits), ..a }
        })*
        $(fn $binary(&mut self, a: TrackedBits, b: TrackedBits) -> TrackedBits {
            TrackedBits { bits: PlainAlu.$binary(a.bits, b.bits), initialised: a.initialised && b.initialised }
        })*
    };
}

impl Alu for Tracked {
    type L = TrackedBits;

    fn constant(&mut self, bits: u32) -> TrackedBits {
        TrackedBits::new(bits)
    }

    fn elementary(&mut self, function: Function, a: TrackedBits) -> TrackedBits {
        TrackedBits {
            bits: PlainAlu.elementary(function, a.bits),
            ..a
        }
    }

    fn double(
        &mut self,
        operation: DoubleOperation,
        a: [TrackedBits; 2],
        b: [TrackedBits; 2],
    ) -> [TrackedBits; 2] {
        let bits = PlainAlu.double(operation, a.map(|lane| lane.bits), b.map(|lane| lane.bits));
        let initialised = a.iter().chain(&b).all(|lane| lane.initialised);
        bits.map(|bits| TrackedBits { bits, initialised })
    }

    fn double_to_single(&mut self, a: [TrackedBits; 2]) -> TrackedBits {
        TrackedBits {
            bits: PlainAlu.double_to_single(a.map(|lane| lane.bits)),
            initialised: a.iter().all(|lane| lane.initialised),
        }
    }

    fn single_to_double(&mut self, a: TrackedBits) -> [TrackedBits; 2] {
        let bits = PlainAlu.single_to_double(a.bits);
        bits.map(|bits| TrackedBits { bits, ..a })
    }

    lift! {
        unary: ftoi ftoin itof not fneg fabs;
        binary: fadd fsub fmul fmin fmax feq flt fle iadd isub imul imin imax ieq ilt and or xor shl shr sar andn product_error;
    }
}
