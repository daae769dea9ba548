//! The result of a block: sums of lanes, added and stored a while later.

use super::address::split_address;
use super::{BlockBuilder, ColumnLanes, ColumnValues, RowBlock, access, inst};
use crate::sparse::gather::group_pairs::GroupPair;
use cp2_asm::isa::Op;

impl BlockBuilder<'_> {
    /// Issues, with delays, the additions across the lanes of the sums and the store of the result.
    pub(super) fn result(&mut self, block: &RowBlock, order: &[usize], quads: &[GroupPair]) {
        self.finish_products();
        let number = self.blocks;
        let result = self.registers.result(number);
        let [madd, add, load] = self.latency;
        let old = block.adds.then(|| {
            let old = self.registers.old(number);
            self.ops
                .push(access(Op::LdQ, old, split_address(block.result)));
            old
        });
        // Extra sums of slots are added to those of the group.
        let mut wait = madd;
        for (q, quad) in quads.iter().enumerate() {
            let (own, extra) = (
                self.registers.accumulator(number, q),
                self.registers.extra(q),
            );
            if self.has_lower_parts() {
                wait = self.delay_double_single_result(quad, [own, extra], 2 * result, wait);
                continue;
            }
            if self.lanes == ColumnLanes::Both || quad.extra == 0 {
                continue;
            }
            let both = inst(Op::AddP, &[2 * extra, 2 * extra, 2 * extra + 1]);
            self.delay_operations(vec![both], 0, wait);
            wait += add;
            if quad.paired > 0 {
                let all = inst(Op::AddP, &[2 * own, 2 * own, 2 * extra]);
                self.delay_operations(vec![all], 0, wait);
                wait += add;
            }
        }
        let sum = |group: usize| {
            let at = order.iter().position(|&g| g == group).unwrap_or(0);
            let (quad, own) = (&quads[at / 2], self.registers.accumulator(number, at / 2));
            match block.groups[group].is_empty() {
                true => 2 * self.registers.zero(),
                false if quad.paired == 0 && self.lanes != ColumnLanes::Both => {
                    2 * self.registers.extra(at / 2)
                }
                false => 2 * own + (at % 2) as u8,
            }
        };
        let sums: Vec<u8> = (0..block.groups.len()).map(sum).collect();
        let mut ops = Vec::new();
        if self.has_lower_parts() {
            for (i, group) in order.iter().enumerate() {
                let own = self.registers.accumulator(number, i / 2);
                let [high, low] =
                    [own, self.registers.extra(i / 2)].map(|quad| 2 * quad + (i % 2) as u8);
                let to = 2 * result + *group as u8;
                ops.push(match block.groups[*group].is_empty() {
                    true => inst(Op::MovP, &[to, 2 * self.registers.zero()]),
                    false => inst(Op::TrnloP, &[to, high, low]),
                });
            }
        } else if self.lanes == ColumnLanes::Both {
            for (i, &sum) in sums.iter().enumerate() {
                ops.push(inst(Op::MovP, &[2 * result + i as u8, sum]));
            }
        } else {
            for (i, pair) in sums.chunks(2).enumerate() {
                let &[a, b] = pair else { continue };
                let [first, second] = self.registers.lane_pair_registers(i);
                ops.push(inst(Op::TrnloP, &[first, a, b]));
                ops.push(inst(Op::TrnhiP, &[second, a, b]));
            }
            for i in 0..sums.len() / 2 {
                let [first, second] = self.registers.lane_pair_registers(i);
                ops.push(inst(Op::AddP, &[2 * result + i as u8, first, second]));
            }
        }
        self.delay_operations(ops, 0, wait);
        if let Some(old) = old {
            // The products come first: the operations that they wait for have been issued.
            wait += add;
            let sum = match self.numbers {
                ColumnValues::DoubleSingle => None,
                ColumnValues::Double => Some(Op::DaddQ),
                _ => Some(Op::AddQ),
            };
            match sum {
                Some(sum) => {
                    self.delay_operations(vec![inst(sum, &[result, result, old])], 0, wait)
                }
                None => {
                    let free = self.registers.extra(0);
                    wait = self.delay_double_single_addition([result, old], free, wait);
                }
            }
        }
        let store = access(Op::StQ, result, split_address(block.result));
        self.delay_operations(vec![store], 1, wait + add + load + 4);
    }

    /// Issues, with delays, the sums of a pair of groups in double-single precision: upper parts in the first lanes of
    /// the quad of sums, lower parts in those of the quad of extra sums. Returns the operations of the arithmetic slot
    /// until they are ready.
    fn delay_double_single_result(
        &mut self,
        quad: &GroupPair,
        [own, extra]: [u8; 2],
        free: u8,
        mut wait: usize,
    ) -> usize {
        if quad.extra > 0 {
            // Both sides of the extra sums belong to the first group.
            let [first, second] = [2 * extra, 2 * extra + 1];
            wait = self.delay_double_single_sum([first, second], free, wait);
            if quad.paired > 0 {
                wait = self.delay_double_single_sum([2 * own, first], free, wait);
            } else {
                let moves = [[2 * own, first], [2 * own + 2, first + 2]];
                let moves = moves.map(|registers| inst(Op::MovP, &registers));
                self.delay_operations(moves.into(), 0, wait);
                wait += self.latency[1];
            }
        }
        self.delay_double_single_parts(own, extra, wait)
    }
}
