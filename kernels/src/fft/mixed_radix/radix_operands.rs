//! Operands for the constants of a radix.

use super::radix_constants::{RadixConstant, place};
use crate::pipeline::{BlockBody, BodyOperand};

/// Operands for constants of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct RadixOperands {
    quads: Vec<RadixConstant>,
    pairs: Vec<RadixConstant>,
    /// The register of the first pair, where words outside of the loop load the pairs into registers.
    first: Option<u8>,
}

impl RadixOperands {
    /// Declares constants of a loop: a quad for each real number, and one for two complex ones.
    pub(super) fn declare(constants: Vec<RadixConstant>, body: &mut BlockBody) -> Self {
        let (quads, pairs): (Vec<_>, Vec<_>) = constants
            .into_iter()
            .partition(|c| matches!(c, RadixConstant::Real(_)));
        for &constant in &quads {
            body.constant(&numbers(constant));
        }
        for both in pairs.chunks(2) {
            let [first, last] = [both[0], both[both.len() - 1]].map(numbers);
            body.constant(&format!("{first} {last}"));
        }
        Self {
            quads,
            pairs,
            first: None,
        }
    }

    /// Makes a set of pairs that are in registers from `first` on.
    pub(super) fn with_pairs(first: u8, pairs: Vec<RadixConstant>) -> Self {
        Self {
            quads: Vec::new(),
            pairs,
            first: Some(first),
        }
    }

    /// Returns the operand of a constant. One that was not declared is a bug, which the assembler finds: there
    /// is no such register.
    pub(super) fn operand(&self, constant: RadixConstant) -> BodyOperand {
        if let Some(i) = place(&self.quads, constant) {
            return BodyOperand::Constant(i);
        }
        match (place(&self.pairs, constant), self.first) {
            (Some(i), Some(first)) => BodyOperand::Pair(first + i as u8),
            (Some(i), None) if i.is_multiple_of(2) => {
                BodyOperand::LowerConstant(self.quads.len() + i / 2)
            }
            (Some(i), None) => BodyOperand::UpperConstant(self.quads.len() + i / 2),
            (None, _) => BodyOperand::Pair(u8::MAX),
        }
    }
}

/// Returns the numbers of a constant in a declaration of a block.
fn numbers(constant: RadixConstant) -> String {
    match constant {
        RadixConstant::Real(x) => format!("{x:?}"),
        RadixConstant::Complex(x) => format!("complex({x:?}, 0)"),
        RadixConstant::Root(num, den) => format!("cis(-{num}, {den})"),
        RadixConstant::HalfRoot(num, den) => {
            format!("complex(cos({num}.0/{den})/2, -sin({num}.0/{den})/2)")
        }
    }
}
