//! Products and sums in double-single precision.
//!
//! A pair has the upper part h and the lower part l of a number in its lanes. For each sum there are two registers: s
//! with the sum of the products of upper parts, and r with what belongs to the lower part. A multiplication of values v
//! with operands x takes these operations, of which those behind `mule` are issued among those of the next two
//! multiplications, so that nothing waits for their operands:
//!
//! | operation | first lane | second lane |
//! |---|---|---|
//! | `p = mul v, x` | v.h x.h rounded | |
//! | `e = mule v, x` | its error | |
//! | `x = swap x` | x.l | x.h |
//! | `e = madd v, x, e` | v.h x.l + e | v.l x.h |
//! | `f = adde s, p` | the error of the sum | |
//! | `s = add s, p` | the sum | |
//! | `f = add f, e` | all of the lower part | as far as it is there |
//! | `r = add r, f` | | |
//!
//! Lanes that are left empty have products of two lower parts and their errors, which are below the last place of the
//! result. The sequences are those of T. J. Dekker (Numerische Mathematik 18, 1971); at the end s and both lanes of r
//! are added up.

use super::{BlockBuilder, inst};
use cp2_asm::isa::{Inst, Op};

/// Operations of a multiplication of a quad.
pub(in crate::sparse::gather) const DOUBLE_SINGLE_ISSUES: usize = 8;

/// An operation on quads, and the one on pairs.
type QuadAndPair = [Op; 2];

const ADD: QuadAndPair = [Op::AddQ, Op::AddP];
const ADDE: QuadAndPair = [Op::AddeQ, Op::AddeP];
const MUL: QuadAndPair = [Op::MulQ, Op::MulP];
const MULE: QuadAndPair = [Op::MuleQ, Op::MuleP];
const MADD: QuadAndPair = [Op::MaddQ, Op::MaddP];
const SWAP: QuadAndPair = [Op::SwapQ, Op::SwapP];

/// A multiplication some of whose operations are not yet issued.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnfinishedProduct {
    /// Quads of values, operands, errors and the sum, behind which is the register r of the sum.
    value: u8,
    operand: u8,
    error: u8,
    sum: u8,
    /// True if the product is the first of the sum, and is the sum.
    first: bool,
    /// The side that the multiplication is of, if it is not of both.
    side: Option<u8>,
}

impl UnfinishedProduct {
    /// Returns an operation on quads, or on their pairs of the side that the multiplication is of.
    fn operation(self, [quad, pair]: QuadAndPair, quads: &[u8]) -> Inst {
        match self.side {
            None => inst(quad, quads),
            Some(side) => {
                let mut pairs = [0; 4];
                for (pair, quad) in pairs.iter_mut().zip(quads) {
                    *pair = 2 * quad + side;
                }
                inst(pair, pairs.get(..quads.len()).unwrap_or_default())
            }
        }
    }
}

impl BlockBuilder<'_> {
    /// Issues the multiplication of quads of values and operands, or of their pairs of one side, which are added to the
    /// quad of sums or begin it; and what earlier multiplications have left.
    pub(super) fn multiply_double_single(
        &mut self,
        [value, operand]: [u8; 2],
        (sum, first): (u8, bool),
        side: Option<u8>,
    ) {
        self.add_products();
        let error = self.registers.next_error();
        let [product, _] = self.registers.product_and_error();
        let own = UnfinishedProduct {
            value,
            operand,
            error,
            sum,
            first,
            side,
        };
        let to = if first { sum } else { product };
        for (operation, registers) in [
            (MUL, &[to, value, operand][..]),
            (MULE, &[error, value, operand]),
            (SWAP, &[operand, operand]),
        ] {
            self.ops.push(own.operation(operation, registers));
        }
        self.join_errors();
        self.products[0] = Some(own);
    }

    /// Issues all that multiplications have left.
    pub(super) fn finish_products(&mut self) {
        self.add_products();
        self.join_errors();
        self.add_products();
    }

    /// Issues what the multiplication before the last has left, and the sum of the last product with its error.
    fn add_products(&mut self) {
        let [product, error] = self.registers.product_and_error();
        if let Some(before) = self.products[1].take() {
            let rest = before.sum + 1;
            self.ops.push(before.operation(ADD, &[rest, rest, error]));
        }
        let Some(last) = self.products[0] else {
            return;
        };
        let (sum, to) = match last.first {
            true => (None, last.sum + 1),
            false => (Some(last.sum), last.error),
        };
        let crossed = [to, last.value, last.operand, last.error];
        self.ops.push(last.operation(MADD, &crossed));
        if let Some(sum) = sum {
            self.ops.push(last.operation(ADDE, &[error, sum, product]));
            self.ops.push(last.operation(ADD, &[sum, sum, product]));
        }
    }

    /// Issues the sum of the last product's errors, which the next multiplication adds to the lower part.
    fn join_errors(&mut self) {
        let [_, error] = self.registers.product_and_error();
        if let Some(last) = self.products[0].take().filter(|last| !last.first) {
            self.ops
                .push(last.operation(ADD, &[error, error, last.error]));
            self.products[1] = Some(last);
        }
    }

    /// Issues, with delays, the sum of a pair and its register r with those of another pair; `free` is a pair for the
    /// error. Returns the operations of the arithmetic slot until the result is ready.
    pub(super) fn delay_double_single_sum(
        &mut self,
        [to, other]: [u8; 2],
        free: u8,
        wait: usize,
    ) -> usize {
        // The register r of a pair is in the next quad.
        let [rest, other_rest] = [to + 2, other + 2];
        let chain: [(Op, &[u8]); 4] = [
            (Op::AddeP, &[free, to, other]),
            (Op::AddP, &[to, to, other]),
            (Op::AddP, &[rest, rest, other_rest]),
            (Op::AddP, &[rest, rest, free]),
        ];
        self.delay_chain(&chain, wait)
    }

    /// Issues, with delays, the sum of a quad of sums and both lanes of its register r: the upper parts are in the
    /// first lanes of the quad then, the lower parts in those of the quad `free`. Returns as above.
    pub(super) fn delay_double_single_parts(&mut self, sum: u8, free: u8, wait: usize) -> usize {
        let rest = sum + 1;
        let chain: [(Op, &[u8]); 4] = [
            (Op::SwapQ, &[free, rest]),
            (Op::AddQ, &[rest, rest, free]),
            (Op::AddeQ, &[free, sum, rest]),
            (Op::AddQ, &[sum, sum, rest]),
        ];
        self.delay_chain(&chain, wait)
    }

    /// Issues, with delays, the sum of a quad of two numbers with another one, whose register is overwritten; `free` is
    /// a quad. Returns as above.
    pub(super) fn delay_double_single_addition(
        &mut self,
        [to, other]: [u8; 2],
        free: u8,
        wait: usize,
    ) -> usize {
        // The error goes to the second lane, where the lower parts are added up. Then both lanes are added in turn.
        let chain: [(Op, &[u8]); 9] = [
            (Op::AddeQ, &[free, to, other]),
            (Op::AddQ, &[to, to, other]),
            (Op::SwapQ, &[free, free]),
            (Op::AddQ, &[to, to, free]),
            (Op::SwapQ, &[free, to]),
            (Op::AddeQ, &[other, to, free]),
            (Op::AddQ, &[to, to, free]),
            (Op::TrnloP, &[2 * to, 2 * to, 2 * other]),
            (Op::TrnloP, &[2 * to + 1, 2 * to + 1, 2 * other + 1]),
        ];
        self.delay_chain(&chain, wait)
    }

    /// Issues operations of which each waits for the one before, the first after `wait` operations of the arithmetic
    /// slot. Returns those until the last result is ready.
    fn delay_chain(&mut self, chain: &[(Op, &[u8])], mut wait: usize) -> usize {
        let [_, add, _] = self.latency;
        for &(operation, registers) in chain {
            self.delay_operations(vec![inst(operation, registers)], 0, wait);
            wait += add;
        }
        wait
    }
}
