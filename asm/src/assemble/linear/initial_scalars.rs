//! Words that set scalar values before the first iteration.

use super::moves::order_moves;
use crate::linear::InitialSource;
use crate::syntax::Register;

/// Scalar registers that get what others have, or numbers.
#[derive(Debug, Default)]
pub(super) struct InitialScalars {
    moves: Vec<(Register, Register)>,
    numbers: Vec<(Register, i64)>,
}

impl InitialScalars {
    /// Adds a register with its source, if it is a scalar.
    pub(super) fn add(&mut self, to: Register, source: InitialSource) -> bool {
        match (to, source) {
            (Register::Scalar(_), InitialSource::Register(from)) => self.moves.push((to, from)),
            (Register::Scalar(_), InitialSource::Number(number)) => self.numbers.push((to, number)),
            _ => return false,
        }
        true
    }

    /// Returns the words: registers first, since a number may take the place of one.
    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        /// Numbers that `movi` holds.
        const HELD: std::ops::Range<i64> = -(1 << 17)..1 << 17;
        let numbers = self.numbers.iter().flat_map(|&(to, number)| {
            let (low, high) = (number & 0xffff, number >> 16 & 0xffff);
            match HELD.contains(&number) {
                true => vec![format!("movi {to}, {number}")],
                false => vec![format!("movi {to}, {low}"), format!("movhi {to}, {high}")],
            }
        });
        let moves = order_moves(&self.moves).into_iter();
        moves.chain(numbers.collect::<Vec<_>>())
    }
}
