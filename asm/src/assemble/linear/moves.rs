//! Orders moves of registers that are meant to happen at once.

use crate::syntax::Register;

/// Returns operations that leave in each register what another has before them: pairs of both, `to` first.
///
/// A register is written when no other move needs it any more. Where moves go in a circle, registers are exchanged.
pub(super) fn order_moves(moves: &[(Register, Register)]) -> Vec<String> {
    let mut operations = Vec::new();
    let mut pending: Vec<(Register, Register)> = moves.to_vec();
    loop {
        pending.retain(|(to, from)| to != from);
        let ready = (0..pending.len()).find(|&index| {
            let mut others = pending.iter().enumerate();
            pending.get(index).is_some_and(|&(to, _)| {
                others.all(|(other, &(_, from))| other == index || !meet(to, from))
            })
        });
        if let Some(index) = ready {
            let (to, from) = pending.remove(index);
            operations.push(format!("mov {to}, {from}"));
            continue;
        }
        // All that is left is needed by another move: as pairs it goes in circles of its own.
        let quads = pending.len();
        pending = pending.into_iter().flat_map(split).collect();
        if pending.len() > quads {
            continue;
        }
        if pending.is_empty() {
            return operations;
        }
        let (to, from) = pending.remove(0);
        // Scalars have no `xor`.
        let [one, other] = match to {
            Register::Scalar(_) => ["add", "sub"],
            Register::Pair(_) | Register::Quad(_) => ["xor", "xor"],
        };
        operations.push(format!("{one} {to}, {to}, {from}"));
        operations.push(format!("{other} {from}, {to}, {from}"));
        operations.push(format!("{other} {to}, {to}, {from}"));
        for (_, source) in &mut pending {
            *source = match *source {
                own if own == to => from,
                own if own == from => to,
                own => own,
            };
        }
    }
}

/// True if two registers have a pair in common.
pub(super) fn meet(a: Register, b: Register) -> bool {
    a.regs().0 & b.regs().0 != 0
}

/// Returns a move as moves of pairs.
fn split((to, from): (Register, Register)) -> Vec<(Register, Register)> {
    match (to, from) {
        (Register::Quad(to), Register::Quad(from)) => (0..2)
            .map(|half| {
                (
                    Register::Pair(2 * to + half),
                    Register::Pair(2 * from + half),
                )
            })
            .collect(),
        own => vec![own],
    }
}

#[cfg(test)]
mod tests {
    use super::order_moves;
    use crate::syntax::Register::{self, Pair, Quad};
    use proptest::prelude::*;

    /// Carries operations out on registers that hold their numbers.
    fn carry_out(operations: &[String]) -> Vec<u32> {
        let mut registers: Vec<u32> = (0..8).collect();
        for text in operations {
            let (name, operands) = text.split_once(' ').unwrap();
            let pairs: Vec<Vec<usize>> = operands
                .split(", ")
                .map(|operand| {
                    let number: usize = operand[1..].parse().unwrap();
                    match operand.starts_with('q') {
                        true => vec![2 * number, 2 * number + 1],
                        false => vec![number],
                    }
                })
                .collect();
            for half in 0..pairs[0].len() {
                let value = match name {
                    "mov" => registers[pairs[1][half]],
                    _ => registers[pairs[1][half]] ^ registers[pairs[2][half]],
                };
                registers[pairs[0][half]] = value;
            }
        }
        registers
    }

    /// A register, or a part of one, gets a value at most once.
    fn any_moves() -> impl Strategy<Value = Vec<(Register, Register)>> {
        let quads = prop::collection::vec((any::<bool>(), 0u8..4, 0u8..8, 0u8..8), 4);
        quads.prop_map(|drawn| {
            let own = drawn.into_iter().zip(0u8..);
            own.flat_map(|((quad, from, low, high), to)| match quad {
                true => vec![(Quad(to), Quad(from))],
                false => vec![(Pair(2 * to), Pair(low)), (Pair(2 * to + 1), Pair(high))],
            })
            .collect()
        })
    }

    proptest! {
        #[test]
        fn all_moves_happen_at_once(moves in any_moves(), left in 0usize..9) {
            let moves = &moves[..moves.len().min(left)];
            let found = carry_out(&order_moves(moves));
            let mut expected: Vec<u32> = (0..8).collect();
            for &(to, from) in moves {
                let pairs = |register| match register {
                    Quad(quad) => vec![2 * quad, 2 * quad + 1],
                    Pair(pair) => vec![pair],
                    Register::Scalar(_) => Vec::new(),
                };
                for (to, from) in pairs(to).into_iter().zip(pairs(from)) {
                    expected[usize::from(to)] = u32::from(from);
                }
            }
            for &(to, _) in moves {
                for pair in 0..8u8 {
                    if super::meet(to, Pair(pair)) {
                        prop_assert_eq!(found[usize::from(pair)], expected[usize::from(pair)]);
                    }
                }
            }
        }
    }
}
