//! A multiplication: values, and the numbers that each place selects.

use super::address::{VectorPlace, split_address};
use super::{BlockBuilder, ColumnValues, RowBlock, access, inst};
use crate::sparse::gather::slot_assignment::{LaneMask, MultiplicationSlot, SlotLoad};
use cp2_asm::isa::{Address, Mode, Op};
use smallvec::SmallVec;

/// Address register of the page's values.
const VALUES_REGISTER: u8 = 8;

/// Operations for a value of a place: its slot, its entry, the row, and two words stored.
const VALUE_OPERATIONS: u64 = 6;
/// Operations for a load that is put in order: two words are copied, its places are joined to those of the
/// others twice and counted, and its masks are counted.
const ORDERED_LOAD_OPERATIONS: u64 = 10;
/// Operations for a load that is issued: what was before it, whether it is the only one.
const ISSUED_LOAD_OPERATIONS: u64 = 4;
/// Operations to compare two columns.
const COMPARISON_OPERATIONS: u64 = 3;

impl BlockBuilder<'_> {
    /// Issues a multiplication of two slots. Each side is added to its sum, or begins it: sum = value x, or
    /// sum += value x.
    pub(super) fn step(
        &mut self,
        block: &RowBlock,
        slots: [Option<(usize, &MultiplicationSlot)>; 2],
        (sum, first): ([u8; 2], [bool; 2]),
        x: VectorPlace,
    ) {
        let operand = self.registers.next_operand();
        let value = self.registers.next_value();
        let own = slots.map(|slot| slot.map(|(_, slot)| slot));
        self.operands(operand, own, x);
        let filled = own.iter().flatten();
        let filled = filled.fold(0, |all: LaneMask, slot| all | slot.filled());
        let values = self.values(block, slots, filled);
        self.ops.push(access(Op::LdQ, value, values));
        if self.has_lower_parts() {
            let side = match slots {
                [Some(_), Some(_)] => None,
                [Some(_), None] => Some(0),
                _ => Some(1),
            };
            let first = first[usize::from(side.unwrap_or(0))];
            self.multiply_double_single([value, operand], (sum[0] / 2, first), side);
            return;
        }
        let [low, high] = [0, 1].map(|side| [2 * value + side, 2 * operand + side]);
        let together = self.numbers != ColumnValues::Complex
            && slots.iter().all(Option::is_some)
            && sum[0] != sum[1]
            && first[0] == first[1];
        if together {
            let quad = sum[0] / 2;
            let (product, sums) = match self.numbers {
                ColumnValues::Double => (Op::DmulQ, Op::DmaddQ),
                _ => (Op::MulQ, Op::MaddQ),
            };
            self.ops.push(match first[0] {
                true => inst(product, &[quad, value, operand]),
                false => inst(sums, &[quad, value, operand, quad]),
            });
            return;
        }
        let (product, sums) = match self.numbers {
            ColumnValues::Complex => (Op::CmulP, Op::CmaddP),
            ColumnValues::Real | ColumnValues::Two | ColumnValues::DoubleSingle => {
                (Op::MulP, Op::MaddP)
            }
            ColumnValues::Double => (Op::DmulP, Op::DmaddP),
        };
        for (side, [value, operand]) in [low, high].into_iter().enumerate() {
            if slots[side].is_none() {
                continue;
            }
            self.ops.push(match first[side] {
                true => inst(product, &[sum[side], value, operand]),
                false => inst(sums, &[sum[side], value, operand, sum[side]]),
            });
        }
    }

    /// Returns the address of a multiplication's values. If only one section has values, they need not be
    /// loaded for the others.
    fn values(
        &mut self,
        block: &RowBlock,
        slots: [Option<(usize, &MultiplicationSlot)>; 2],
        filled: LaneMask,
    ) -> Address {
        let each = self.lanes.entries_per_section();
        let of = |section: usize| {
            slots.into_iter().flat_map(move |slot| {
                (0..each).map(move |lane| {
                    let (group, slot) = slot?;
                    let entry = slot.entries.get(section * each + lane)?;
                    Some((block.rows[group][section], (*entry)?))
                })
            })
        };
        let only = filled.trailing_zeros() as usize / 2;
        let alone = filled & !(0b11 << (2 * only)) == 0;
        if let (true, Some(own)) = (
            alone && self.values.all.len() > 1,
            self.values.alone.get_mut(only),
        ) {
            let address = self.values.apart + (own.len() / (2 * each)) as u32 * 16;
            self.work.add(2 * each, VALUE_OPERATIONS);
            own.extend(of(only));
            return split_address(address);
        }
        self.work.add(2 * each * self.sections, VALUE_OPERATIONS);
        for (section, values) in self.values.all.iter_mut().enumerate() {
            values.extend(of(section));
        }
        Address {
            base: VALUES_REGISTER,
            mode: Mode::Post(16),
        }
    }

    /// Loads the operand of slots: the numbers that each place multiplies, and zeros where there are none. A
    /// pair that both sides of the quad take is loaded once.
    fn operands(&mut self, operand: u8, slots: [Option<&MultiplicationSlot>; 2], x: VectorPlace) {
        let loads = slots.map(|slot| slot.map_or(Vec::new(), |slot| self.order_loads(slot)));
        let full = slots.map(|slot| slot.is_some_and(|slot| slot.filled() == self.all));
        let first = [0, 1].map(|side| loads[side].first().filter(|_| full[side]));
        // Both halves begin with the same pair.
        let both = match first {
            [Some(low), Some(high)] if low.column == high.column => Some(low.column),
            _ => None,
        };
        if let Some(column) = both {
            let address = split_address(x.pair(column));
            self.ops.push(access(Op::LdDup, operand, address));
        }
        let mut loaded = LoadedPairs::default();
        for side in 0..2 {
            let own = 2 * operand + side as u8;
            let others = &loads[1 - side];
            let mut old = match (full[side], both) {
                (false, _) => Some(2 * self.registers.zero()),
                (true, Some(_)) => Some(own),
                (true, None) => None,
            };
            let rest = loads[side].iter().skip(usize::from(both.is_some()));
            for load in rest {
                self.work.add(1, ISSUED_LOAD_OPERATIONS);
                let Some(before) = old else {
                    let alone = loads[side].len() == 1;
                    self.work.add(others.len(), COMPARISON_OPERATIONS);
                    let shared = others.iter().any(|other| other.column == load.column);
                    old = Some(match shared && !alone {
                        // The pair is selected from behind the next load.
                        true => self.loaded(&mut loaded, load.column, 1, x),
                        false => {
                            let address = split_address(x.pair(load.column));
                            self.ops.push(access(Op::LdP, own, address));
                            own
                        }
                    });
                    continue;
                };
                let pair = self.loaded(&mut loaded, load.column, 0, x);
                let mut before = before;
                for mask in self.masks.cover(load.places, self.work) {
                    let mask = self.registers.mask(mask);
                    self.ops.push(inst(Op::SelP, &[own, pair, before, mask]));
                    before = own;
                }
                old = Some(own);
            }
        }
    }

    /// Returns the register of a pair of the vector. The pair is loaded, unless a register holds it and keeps
    /// it for the `further_loads` that the caller makes before it reads the register: each load takes the
    /// register of the oldest pair.
    fn loaded(
        &mut self,
        loaded: &mut LoadedPairs,
        column: u32,
        further_loads: usize,
        x: VectorPlace,
    ) -> u8 {
        let kept = self
            .registers
            .room_for_loaded()
            .saturating_sub(further_loads);
        let there = loaded.pairs.iter().rev().take(kept);
        self.work.add(there.len(), COMPARISON_OPERATIONS);
        if let Some((_, register)) = there.into_iter().find(|(own, _)| *own == column) {
            return *register;
        }
        let register = self.registers.next_loaded();
        let address = split_address(x.pair(column));
        self.ops.push(access(Op::LdP, register, address));
        loaded.pairs.push((column, register));
        register
    }

    /// Returns the loads of a slot. The first one needs no selection, so it is the one that would take the
    /// most masks.
    fn order_loads(&mut self, slot: &MultiplicationSlot) -> Vec<SlotLoad> {
        let mut loads = slot.loads.to_vec();
        self.work.add(loads.len(), ORDERED_LOAD_OPERATIONS);
        self.work.count_sort(loads.len(), 2);
        loads.sort_by_cached_key(|load| {
            let masks = self.masks.cover(load.places, self.work).len();
            (
                std::cmp::Reverse(masks),
                std::cmp::Reverse(load.places.count_ones()),
                load.column,
            )
        });
        loads
    }
}

/// Pairs of the vector that a multiplication has loaded, in order, with their registers.
#[derive(Debug, Default)]
struct LoadedPairs {
    pairs: SmallVec<[(u32, u8); 16]>,
}
