//! The operations of a block: for every section as many rows as a quad of the result holds.
//!
//! Rows of a group, one a section, are summed up in a register of their own. Two groups make a quad of operands, so that one
//! multiplication serves both. The sums of a block are added across lanes behind the first multiplications of the next one.

use super::masks::Masks;
use super::quads::{Into, Quad};
use super::registers::Registers;
use super::slots::{Lanes, Places, Slot};
use super::values::Values;
use super::words::Operations;
use cp2_asm::isa::{Address, Inst, Mode, Op};
use cp2_machine::{Class, Machine};
use std::collections::VecDeque;

/// The address register of the page's values.
const VALUES: u8 = 8;

/// Bytes that an address register reaches in both directions with a pair.
const REACH: u32 = 16_384;

/// An address in local memory, by the register whose stretch it is in: register k points into the middle of stretch k.
fn at(address: u32) -> Address {
    let base = address / (2 * REACH);
    Address {
        base: u8::try_from(base).unwrap_or(u8::MAX),
        mode: Mode::Offset(address as i32 - (base * 2 * REACH + REACH) as i32),
    }
}

/// Address registers that are needed for so much local memory, and what each points at.
pub(super) fn bases(dmem: u64) -> impl Iterator<Item = i64> {
    let stretches = dmem.div_ceil(u64::from(2 * REACH));
    (0..stretches).map(|k| (k * u64::from(2 * REACH) + u64::from(REACH)) as i64)
}

/// Where the pairs of the vector lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorPlace {
    /// The first pair of the segment.
    pub(super) own: u32,
    /// The first pair of the segment shifted by one number.
    pub(super) shifted: u32,
    pub(super) lanes: Lanes,
}

impl VectorPlace {
    /// The address of the pair that begins with a column.
    fn pair(&self, column: u32) -> u32 {
        match self.lanes {
            Lanes::Both => self.own + 8 * column,
            _ if column % 2 == 1 => self.shifted + 8 * (column / 2),
            _ => self.own + 8 * (column / 2),
        }
    }
}

/// The rows of a block, their entries dealt.
#[derive(Debug)]
pub(super) struct Block {
    /// For each group the slots of its rows.
    pub(super) groups: Vec<Vec<Slot>>,
    /// The row of each section in each group.
    pub(super) rows: Vec<Vec<usize>>,
    /// Where its result lies.
    pub(super) result: u32,
    /// Whether there is a result of columns before, to which it is added.
    pub(super) adds: bool,
}

/// What is done a while later, so that nothing waits for it.
#[derive(Debug)]
struct Later {
    ops: Vec<Inst>,
    /// When: the slot whose operations are counted, and how many.
    due: (usize, usize),
    /// The block that it is of.
    block: usize,
}

/// The operations of blocks, one behind the other.
#[derive(Debug)]
pub(super) struct Maker<'a> {
    pub(super) ops: Operations,
    pub(super) values: Values,
    registers: &'a Registers,
    masks: &'a mut Masks,
    lanes: Lanes,
    sections: usize,
    /// All places of a register.
    all: Places,
    latency: [usize; 3],
    later: VecDeque<Later>,
    blocks: usize,
}

fn inst(op: Op, r: &[u8]) -> Inst {
    let mut inst = Inst::new(op);
    for (operand, &register) in inst.r.iter_mut().zip(r) {
        *operand = register;
    }
    inst
}

fn access(op: Op, register: u8, addr: Address) -> Inst {
    Inst {
        addr,
        ..inst(op, &[register])
    }
}

impl<'a> Maker<'a> {
    pub(super) fn new(
        registers: &'a Registers,
        masks: &'a mut Masks,
        lanes: Lanes,
        machine: &Machine,
    ) -> Self {
        let latency = |class: Class| machine.cp2.latency[class].0 as usize;
        let sections = machine.cp2.sections;
        Self {
            ops: Operations::default(),
            values: Values::new(sections, None),
            registers,
            masks,
            lanes,
            sections,
            all: match 2 * sections {
                64.. => Places::MAX,
                places => (1 << places) - 1,
            },
            latency: [Class::Madd, Class::Add, Class::Load].map(latency),
            later: VecDeque::new(),
            blocks: 0,
        }
    }

    /// Values that one section alone needs are loaded from here on.
    pub(super) fn apart(&mut self, apart: Option<u32>) {
        self.values = Values::new(self.sections, apart);
    }

    /// What was put off and is due, or of blocks before `block`.
    fn catch_up(&mut self, block: usize) {
        while let Some(first) = self.later.front() {
            let (slot, count) = first.due;
            if self.ops.counts()[slot] < count && first.block >= block {
                return;
            }
            let Some(later) = self.later.pop_front() else {
                return;
            };
            for op in later.ops {
                self.ops.push(op);
            }
        }
    }

    /// Everything that was put off: the page ends here.
    pub(super) fn settle(&mut self) -> (Operations, Values) {
        self.catch_up(usize::MAX);
        (
            std::mem::take(&mut self.ops),
            std::mem::take(&mut self.values),
        )
    }

    fn put_off(&mut self, ops: Vec<Inst>, slot: usize, by: usize) {
        let due = (slot, self.ops.counts()[slot] + by);
        let block = self.blocks;
        self.later.push_back(Later { ops, due, block });
    }

    /// The operations of a block; `page` ends a page where one is full.
    pub(super) fn block<E>(
        &mut self,
        block: &Block,
        x: VectorPlace,
        mut page: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = self.blocks;
        let count = block.groups.len();
        let mut order: Vec<usize> = (0..count).collect();
        // Groups of about as many slots make quads.
        order.sort_by_key(|&group| std::cmp::Reverse(block.groups[group].len()));
        let quads: Vec<Quad> = order
            .chunks(2)
            .map(|groups| Quad::new(groups, |group| block.groups[group].len()))
            .collect();
        let most = quads.iter().map(Quad::steps).max();
        for step in 0..most.unwrap_or(0) {
            for (q, quad) in quads.iter().enumerate() {
                let Some((sides, into)) = quad.step(step) else {
                    continue;
                };
                // What a block before has in the registers of extra sums is added up first.
                self.catch_up(match into {
                    Into::Extra => number,
                    Into::Pair => number.saturating_sub(1),
                });
                let slot = |side: Option<(usize, usize)>| {
                    let (group, number) = side?;
                    Some((group, block.groups[group].get(number)?))
                };
                let slots = sides.map(slot);
                let (sum, first) = match (into, self.lanes) {
                    // Both sides of complex numbers are the same sum.
                    (Into::Extra, Lanes::Both) => {
                        let pair = 2 * self.registers.accumulator(number, q);
                        ([pair; 2], [step == 0, false])
                    }
                    (Into::Extra, _) => {
                        let pair = 2 * self.registers.extra(q);
                        ([pair, pair + 1], [step == quad.paired; 2])
                    }
                    (Into::Pair, _) => {
                        let pair = 2 * self.registers.accumulator(number, q);
                        ([pair, pair + 1], [step == 0; 2])
                    }
                };
                self.step(block, slots, (sum, first), x);
                page(self)?;
            }
        }
        if !self.is_empty(block) {
            self.result(block, &order, &quads);
        } else if !block.adds {
            let zero = self.registers.zero();
            self.ops.push(access(Op::StQ, zero, at(block.result)));
        }
        self.blocks += 1;
        Ok(())
    }

    fn is_empty(&self, block: &Block) -> bool {
        block.groups.iter().all(Vec::is_empty)
    }

    /// Adds the lanes of sums and stores them, later.
    fn result(&mut self, block: &Block, order: &[usize], quads: &[Quad]) {
        let number = self.blocks;
        let result = self.registers.result(number);
        let [madd, add, load] = self.latency;
        let old = block.adds.then(|| {
            let old = self.registers.old(number);
            self.ops.push(access(Op::LdQ, old, at(block.result)));
            old
        });
        // Sums of slots apart come to those of the group.
        let mut wait = madd;
        for (q, quad) in quads.iter().enumerate() {
            let (own, extra) = (
                self.registers.accumulator(number, q),
                self.registers.extra(q),
            );
            if self.lanes == Lanes::Both || quad.extra == 0 {
                continue;
            }
            let both = inst(Op::AddP, &[2 * extra, 2 * extra, 2 * extra + 1]);
            self.put_off(vec![both], 0, wait);
            wait += add;
            if quad.paired > 0 {
                let all = inst(Op::AddP, &[2 * own, 2 * own, 2 * extra]);
                self.put_off(vec![all], 0, wait);
                wait += add;
            }
        }
        let sum = |group: usize| {
            let at = order.iter().position(|&g| g == group).unwrap_or(0);
            let (quad, own) = (&quads[at / 2], self.registers.accumulator(number, at / 2));
            match block.groups[group].is_empty() {
                true => 2 * self.registers.zero(),
                false if quad.paired == 0 && self.lanes != Lanes::Both => {
                    2 * self.registers.extra(at / 2)
                }
                false => 2 * own + (at % 2) as u8,
            }
        };
        let sums: Vec<u8> = (0..block.groups.len()).map(sum).collect();
        let mut ops = Vec::new();
        if self.lanes == Lanes::Both {
            for (i, &sum) in sums.iter().enumerate() {
                ops.push(inst(Op::MovP, &[2 * result + i as u8, sum]));
            }
        } else {
            for (i, pair) in sums.chunks(2).enumerate() {
                let &[a, b] = pair else { continue };
                let [first, second] = self.registers.turned(i);
                ops.push(inst(Op::TrnloP, &[first, a, b]));
                ops.push(inst(Op::TrnhiP, &[second, a, b]));
            }
            for i in 0..sums.len() / 2 {
                let [first, second] = self.registers.turned(i);
                ops.push(inst(Op::AddP, &[2 * result + i as u8, first, second]));
            }
        }
        self.put_off(ops, 0, wait);
        if let Some(old) = old {
            // The products come first: what they wait for is on its way.
            wait += add;
            self.put_off(vec![inst(Op::AddQ, &[result, result, old])], 0, wait);
        }
        let store = access(Op::StQ, result, at(block.result));
        self.put_off(vec![store], 1, wait + add + load + 4);
    }

    /// A multiplication of two slots, each added to a sum of its own or put there first.
    fn step(
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
        let together =
            self.lanes != Lanes::Both && slots.iter().all(Option::is_some) && first[0] == first[1];
        if together {
            let quad = sum[0] / 2;
            self.ops.push(match first[0] {
                true => inst(Op::MulQ, &[quad, value, operand]),
                false => inst(Op::MaddQ, &[quad, value, operand, quad]),
            });
            return;
        }
        let (product, sums) = match self.lanes {
            Lanes::Both => (Op::CmulP, Op::CmaddP),
            Lanes::Own | Lanes::Either => (Op::MulP, Op::MaddP),
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
