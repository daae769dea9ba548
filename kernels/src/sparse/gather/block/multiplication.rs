//! A multiplication: values, and what each place takes of what is loaded.

use super::address::{VectorPlace, at};
use super::{Block, Maker, Numbers, access, inst};
use crate::sparse::gather::slots::{Places, Slot};
use cp2_asm::isa::{Address, Mode, Op};

/// The address register of the page's values.
const VALUES: u8 = 8;

impl Maker<'_> {
    /// A multiplication of two slots, each added to a sum of its own or put there first.
    pub(super) fn step(
        &mut self,
        block: &Block,
        slots: [Option<(usize, &Slot)>; 2],
        (sum, first): ([u8; 2], [bool; 2]),
        x: VectorPlace,
    ) {
        let operand = self.registers.next_operand();
        let value = self.registers.next_value();
        let mut filled: Places = 0;
        for (side, slot) in slots.iter().enumerate() {
            if let Some((_, slot)) = slot {
                self.operand(2 * operand + side as u8, slot, x);
                filled |= slot.filled();
            }
        }
        let values = self.values(block, slots, filled);
        self.ops.push(access(Op::LdQ, value, values));
        let [low, high] = [0, 1].map(|side| [2 * value + side, 2 * operand + side]);
        let together = self.numbers != Numbers::Complex
            && slots.iter().all(Option::is_some)
            && sum[0] != sum[1]
            && first[0] == first[1];
        if together {
            let quad = sum[0] / 2;
            self.ops.push(match first[0] {
                true => inst(Op::MulQ, &[quad, value, operand]),
                false => inst(Op::MaddQ, &[quad, value, operand, quad]),
            });
            return;
        }
        let (product, sums) = match self.numbers {
            Numbers::Complex => (Op::CmulP, Op::CmaddP),
            Numbers::Real | Numbers::Two => (Op::MulP, Op::MaddP),
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

    /// Where the values of a multiplication are loaded from: those of one section alone need not be there for the others.
    fn values(
        &mut self,
        block: &Block,
        slots: [Option<(usize, &Slot)>; 2],
        filled: Places,
    ) -> Address {
        let each = self.lanes.each();
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
            own.extend(of(only));
            return at(address);
        }
        for (section, values) in self.values.all.iter_mut().enumerate() {
            values.extend(of(section));
        }
        Address {
            base: VALUES,
            mode: Mode::Post(16),
        }
    }

    /// What a slot multiplies by: what each place loads, and zeros where there is nothing.
    fn operand(&mut self, operand: u8, slot: &Slot, x: VectorPlace) {
        let mut loads: Vec<_> = slot.loads.iter().collect();
        // The one that is the hardest to select is there first.
        loads.sort_by_key(|load| {
            let masks = self.masks.cover(load.places).len();
            (
                std::cmp::Reverse(masks),
                std::cmp::Reverse(load.places.count_ones()),
                load.column,
            )
        });
        let full = slot.filled() == self.all;
        let mut there = (!full).then(|| 2 * self.registers.zero());
        for load in loads {
            let address = at(x.pair(load.column));
            let Some(old) = there else {
                self.ops.push(access(Op::LdP, operand, address));
                there = Some(operand);
                continue;
            };
            let loaded = self.registers.next_loaded();
            self.ops.push(access(Op::LdP, loaded, address));
            let mut old = old;
            for mask in self.masks.cover(load.places) {
                let mask = self.registers.mask(mask);
                self.ops.push(inst(Op::SelP, &[operand, loaded, old, mask]));
                old = operand;
            }
            there = Some(operand);
        }
    }
}
