//! Partly known numbers: each may move by turns or derive from an argument word.

use super::decided::ArgumentDecisions;
use crate::alu::{Alu, PlainAlu};
use crate::semantics::double::DoubleOperation;
use crate::semantics::elementary::Function;

/// A known number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownNumber {
    pub bits: u32,
    /// Register from whose value at the turn's beginning the number differs by a constant, if that
    /// register moves from turn to turn.
    pub moves: Option<u8>,
    /// Argument word from which the number differs by a constant. `None` if the number is equal for
    /// all arguments that answer the questions asked so far alike.
    pub word: Option<u16>,
}

/// A number, or `None` if it is unknown.
pub(super) type PartialLane = Option<KnownNumber>;

/// Returns a number that is equal in every turn and for all arguments.
pub(super) const fn fixed(bits: u32) -> PartialLane {
    Some(KnownNumber {
        bits,
        moves: None,
        word: None,
    })
}

/// Arithmetic on known numbers. Records when a number that moves, or that derives from an argument,
/// is used for anything but a sum.
#[derive(Debug, Default)]
pub(super) struct Partial {
    /// True once a moving number was used so that turns may differ.
    pub odd: bool,
    /// Questions about arguments that decided the flow.
    pub decided: ArgumentDecisions,
}

impl Partial {
    /// Returns the bits of lanes that are all needed exactly, or nothing if one is unknown.
    fn exact<const N: usize>(&mut self, lanes: [PartialLane; N]) -> Option<[u32; N]> {
        let mut bits = [0; N];
        if lanes.contains(&None) {
            return None;
        }
        for (bits, lane) in bits.iter_mut().zip(lanes.into_iter().flatten()) {
            self.odd |= lane.moves.is_some();
            self.decided.exactly(lane);
            *bits = lane.bits;
        }
        Some(bits)
    }

    fn combine_lanes(
        &mut self,
        a: PartialLane,
        b: PartialLane,
        f: impl FnOnce(u32, u32) -> u32,
    ) -> PartialLane {
        let (a, b) = (a?, b?);
        self.odd |= a.moves.is_some() || b.moves.is_some();
        self.decided.exactly(a);
        self.decided.exactly(b);
        fixed(f(a.bits, b.bits))
    }
}

/// Defines operations on two numbers whose values are then both needed exactly.
macro_rules! plain {
    ($($name:ident)*) => {$(
        fn $name(&mut self, a: PartialLane, b: PartialLane) -> PartialLane {
            self.combine_lanes(a, b, |a, b| PlainAlu.$name(a, b))
        }
    )*};
}

impl Alu for Partial {
    type L = PartialLane;

    fn constant(&mut self, bits: u32) -> PartialLane {
        fixed(bits)
    }

    fn iadd(&mut self, a: PartialLane, b: PartialLane) -> PartialLane {
        let (a, b) = (a?, b?);
        self.odd |= a.moves.is_some() && b.moves.is_some();
        if a.word.is_some() {
            self.decided.exactly(b);
        }
        Some(KnownNumber {
            bits: a.bits.wrapping_add(b.bits),
            moves: a.moves.or(b.moves),
            word: a.word.or(b.word),
        })
    }

    fn isub(&mut self, a: PartialLane, b: PartialLane) -> PartialLane {
        let (a, b) = (a?, b?);
        self.odd |= b.moves.is_some();
        let word = match (a.word, b.word) {
            (Some(from), Some(to)) => {
                self.decided.distance(from, to);
                None
            }
            (word, None) => word,
            (None, Some(word)) => {
                self.decided.word(word);
                None
            }
        };
        Some(KnownNumber {
            bits: a.bits.wrapping_sub(b.bits),
            moves: a.moves,
            word,
        })
    }

    plain! { fadd fsub fmul fmin fmax feq flt fle imul imin imax ieq ilt and or xor shl shr sar product_error }

    fn double(
        &mut self,
        operation: DoubleOperation,
        [a0, a1]: [PartialLane; 2],
        [b0, b1]: [PartialLane; 2],
    ) -> [PartialLane; 2] {
        let found = self.exact([a0, a1, b0, b1]);
        match found.map(|[a0, a1, b0, b1]| PlainAlu.double(operation, [a0, a1], [b0, b1])) {
            Some(lanes) => lanes.map(fixed),
            None => [None; 2],
        }
    }

    fn double_to_single(&mut self, a: [PartialLane; 2]) -> PartialLane {
        let a = self.exact(a)?;
        fixed(PlainAlu.double_to_single(a))
    }

    fn single_to_double(&mut self, a: PartialLane) -> [PartialLane; 2] {
        match self.exact([a]) {
            Some([a]) => PlainAlu.single_to_double(a).map(fixed),
            None => [None; 2],
        }
    }

    fn ftoi(&mut self, a: PartialLane) -> PartialLane {
        self.combine_lanes(a, a, |a, _| PlainAlu.ftoi(a))
    }

    fn ftoin(&mut self, a: PartialLane) -> PartialLane {
        self.combine_lanes(a, a, |a, _| PlainAlu.ftoin(a))
    }

    fn itof(&mut self, a: PartialLane) -> PartialLane {
        self.combine_lanes(a, a, |a, _| PlainAlu.itof(a))
    }

    fn elementary(&mut self, function: Function, a: PartialLane) -> PartialLane {
        self.combine_lanes(a, a, |a, _| PlainAlu.elementary(function, a))
    }
}
