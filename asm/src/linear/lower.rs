//! Makes a dataflow of a block: values, constants in registers, pointers.

use super::block::{
    BlockOperand, BlockOperation, BlockPointer, BlockStep, InitialSource, LinearBlock,
    PlacementHint, ValueUse, ValueWidth,
};
use super::carried_values::CarriedBy;
use super::memory::MemoryOrder;
use super::pointer_registers::PointerRegisters;
use super::rounds::{ROUND_ADDRESSES, RoundRegisters};
use super::scalars::ScalarPlaces;
use super::widths::ChosenRow;
use crate::isa::{Kind, Reg, RegSet, Scalar, Slot};
use crate::schedule::{DataImmediate, DataOperand, DataPointer, DataValue, Dataflow, PointerStep};
use crate::syntax::Register;
use std::collections::{HashMap, HashSet};

/// Registers that a block may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRegisters {
    /// Pairs: bit n for `r{n}`.
    pub(crate) pairs: u64,
    /// Address registers: bit n for `a{n}`.
    pub(crate) addresses: u16,
    /// Control registers: bit n for `c{n}`.
    pub(crate) controls: u16,
    /// Registers that pointers which go round take besides.
    pub(crate) rounds: RoundRegisters,
}

impl BlockRegisters {
    /// Returns these registers without those of a set.
    pub(crate) fn without(mut self, taken: RegSet) -> Self {
        for pair in (0..64).filter(|&pair| taken.contains(Reg::pair(pair))) {
            self.pairs &= !(1 << pair);
        }
        for n in 0..16 {
            let is_taken = |scalar: Scalar| taken.contains(scalar.reg());
            let without = |set: u16, taken: bool| if taken { set & !(1 << n) } else { set };
            self.addresses = without(self.addresses, is_taken(Scalar::address(n)));
            self.controls = without(self.controls, is_taken(Scalar::control(n)));
            self.rounds.steps = without(self.rounds.steps, is_taken(Scalar::step(n)));
            if ROUND_ADDRESSES >> n & 1 == 1 {
                let range = [Scalar::address(n), Scalar::base(n), Scalar::length(n)];
                self.rounds.ranges = without(self.rounds.ranges, range.into_iter().any(is_taken));
            }
        }
        self
    }

    /// Takes the highest quad that is free.
    pub(crate) fn take_quad(&mut self) -> Option<u8> {
        let quad = (0..32)
            .rev()
            .find(|quad| self.pairs >> (2 * quad) & 3 == 3)?;
        self.pairs &= !(3 << (2 * quad));
        Some(quad)
    }

    /// Takes the highest pair that is free.
    pub(crate) fn take_pair(&mut self) -> Option<u8> {
        let pair = (0..64).rev().find(|pair| self.pairs >> pair & 1 == 1)?;
        self.pairs &= !(1 << pair);
        Some(pair)
    }

    /// Takes the lowest address register that is free: one in which no pointer goes round, if there is such a one and
    /// some pointers go round.
    pub(crate) fn take_address(&mut self) -> Option<u8> {
        let others = self.addresses & !self.rounds.kept;
        let from = if others != 0 { others } else { self.addresses };
        self.take_address_of(from)
    }

    /// Takes the lowest address register that is free and in a set.
    pub(super) fn take_address_of(&mut self, set: u16) -> Option<u8> {
        let lowest = (self.addresses & set).trailing_zeros();
        if lowest >= u16::BITS {
            return None;
        }
        self.addresses &= !(1 << lowest);
        Some(lowest as u8)
    }
}

/// A constant that has a register in several blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldConstant {
    pub(crate) words: [u32; 4],
    pub(crate) quad: u8,
    /// True if a block before loads it.
    pub(crate) loaded: bool,
}

/// A block as the scheduler takes it.
#[derive(Debug)]
pub(crate) struct LoweredBlock {
    pub(crate) dataflow: Dataflow,
    /// Index in the block of every operation of the dataflow; none for one that keeps a value for later iterations.
    pub(crate) origins: Vec<Option<usize>>,
    /// Pointers that are used: each with its index in the block.
    pub(crate) pointers: Vec<(DataPointer, usize)>,
    /// Step registers that the block sets itself: each with its number.
    pub(crate) steps: Vec<(u8, i64)>,
    /// Address registers that go through tables of steps: each with the index of the pointer in the block.
    pub(crate) tables: Vec<(u8, usize)>,
    /// Constants that are used, in the order of their table: each with its register and its index in the block.
    pub(crate) constants: Vec<(u8, usize)>,
    /// Values before the first iteration.
    pub(crate) initial: Vec<(CarriedPlace, InitialSource)>,
    /// Registers that get values behind the last iteration.
    pub(crate) finals: Vec<(Register, CarriedPlace)>,
    /// Registers that are left.
    pub(crate) free: BlockRegisters,
}

/// The place of a value before the first or behind the last iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarriedPlace {
    /// A register that has it in all iterations.
    Register(Register),
    /// The registers of the value, so many iterations before the first, or in the last (0).
    Value(DataValue, u32),
    /// The register of the second scalar of a couple, so many iterations before the first, or in the last (0).
    Second(DataValue, u32),
}

/// The way in which values of earlier iterations are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptValues {
    /// Copies of the values, in a loop whose iterations overlap.
    Copies,
    /// Registers that every iteration moves them on in, in a loop of one iteration after the other.
    Moves,
}

/// Registers that run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LackingRegisters {
    /// Section registers for constants and values of earlier iterations.
    Section,
    /// Address registers for pointers.
    Addresses,
    /// Address registers in which pointers go round.
    Rounds,
    /// Step registers for pointers that go round.
    Steps,
}

/// Makes a dataflow of a block whose rows have been chosen.
///
/// # Errors
/// The registers that run out.
pub(crate) fn lower(
    block: &LinearBlock,
    rows: &[ChosenRow],
    (free, held): (BlockRegisters, &[HeldConstant]),
    kept: KeptValues,
) -> Result<LoweredBlock, LackingRegisters> {
    let mut lowering = Lowering::new(block, rows, free);
    lowering.lowered.dataflow.refuse_waits();
    lowering.place_constants(block, held)?;
    lowering.place_pointers(block)?;
    let orders = block.order_memory(rows);
    let sequence = lowering.carry_values(block, kept, &orders)?;
    for index in sequence {
        if let (Some(operation), Some(chosen)) = (block.operations.get(index), rows.get(index)) {
            lowering.add_operation(block, (index, operation), chosen);
        }
    }
    lowering.keep_orders(orders);
    lowering.move_values_on(block);
    lowering.set_ends(block);
    Ok(lowering.lowered)
}

pub(super) struct Lowering {
    pub(super) lowered: LoweredBlock,
    pub(super) values: Vec<Option<DataValue>>,
    pub(super) carried: Vec<CarriedBy>,
    /// Register of every constant that is used.
    pub(super) constants: Vec<Option<u8>>,
    /// Address registers of every pointer.
    pub(super) pointers: Vec<PointerRegisters>,
    pub(super) scalars: ScalarPlaces,
}

impl Lowering {
    fn new(block: &LinearBlock, rows: &[ChosenRow], free: BlockRegisters) -> Self {
        let dataflow = match block.hint {
            PlacementHint::Free => Dataflow::default(),
            PlacementHint::Written => Dataflow::in_order(),
            PlacementHint::Spread => Dataflow::evenly(),
        };
        Self {
            lowered: LoweredBlock {
                dataflow,
                origins: Vec::new(),
                pointers: Vec::new(),
                steps: Vec::new(),
                tables: Vec::new(),
                constants: Vec::new(),
                initial: Vec::new(),
                finals: Vec::new(),
                free,
            },
            values: vec![None; block.values.len()],
            carried: vec![CarriedBy::Copies; block.values.len()],
            constants: vec![None; block.constants.len()],
            pointers: PointerRegisters::of(block, rows),
            scalars: ScalarPlaces::of(block),
        }
    }

    /// Gives registers to the constants that operations use.
    fn place_constants(
        &mut self,
        block: &LinearBlock,
        held: &[HeldConstant],
    ) -> Result<(), LackingRegisters> {
        let used = block.mark_used_constants();
        let constants = block.constants.iter().zip(used).enumerate();
        for ((index, (constant, used)), register) in constants.zip(&mut self.constants) {
            if !used {
                continue;
            }
            let held = held.iter().find(|own| own.words == constant.words);
            let quad = match held {
                Some(held) => held.quad,
                None => {
                    let quad = self.lowered.free.take_quad();
                    quad.ok_or(LackingRegisters::Section)?
                }
            };
            *register = Some(quad);
            if held.is_none_or(|held| !held.loaded) {
                self.lowered.constants.push((quad, index));
            }
        }
        Ok(())
    }

    /// Gives registers to the pointers that accesses use.
    fn place_pointers(&mut self, block: &LinearBlock) -> Result<(), LackingRegisters> {
        // Pointers that go round have few registers to choose from: they come first.
        let mut order: Vec<(usize, &BlockPointer)> = block.pointers.iter().enumerate().collect();
        order.sort_by_key(|(_, own)| !own.takes_range());
        for (index, own) in order {
            let registers = self.pointers.get_mut(index);
            for (_, register) in registers.into_iter().flat_map(|own| &mut own.found) {
                let (address, step) = match (own.round, own.step) {
                    (None, BlockStep::Table(..)) => {
                        let step = self.lowered.take_table(index, false)?;
                        (self.lowered.take_plain()?, step)
                    }
                    (Some(_), step) => self.lowered.take_round((index, step))?,
                    (None, BlockStep::Bytes(bytes)) => {
                        (self.lowered.take_plain()?, PointerStep::Bytes(bytes))
                    }
                    (None, BlockStep::Register(register)) => {
                        (self.lowered.take_plain()?, PointerStep::Register(register))
                    }
                };
                let pointer = self.lowered.dataflow.pointer(address, step);
                self.lowered.pointers.push((pointer, index));
                *register = Some(pointer);
            }
        }
        Ok(())
    }

    /// Adds an operation, or one for each half of its quads.
    fn add_operation(
        &mut self,
        block: &LinearBlock,
        (index, operation): (usize, &BlockOperation),
        chosen: &ChosenRow,
    ) {
        self.lowered.dataflow.phase(operation.phase);
        let halves: &[Option<u8>] = match chosen.halves {
            true => &[Some(0), Some(1)],
            false => &[None],
        };
        for &half in halves {
            self.add(block, operation, (chosen, half));
            self.lowered.origins.push(Some(index));
        }
    }

    /// Keeps the orders of accesses.
    fn keep_orders(&mut self, orders: Vec<MemoryOrder>) {
        let mut places = HashMap::new();
        for (place, origin) in self.lowered.origins.iter().enumerate() {
            if let Some(operation) = *origin {
                places.entry(operation).or_insert(place);
            }
        }
        let mut known = HashSet::new();
        for MemoryOrder {
            before,
            after,
            distance,
        } in orders
        {
            let (Some(&before), Some(&after)) = (places.get(&before), places.get(&after)) else {
                continue;
            };
            let dataflow = &mut self.lowered.dataflow;
            let replaces = distance == 0 && dataflow.replaces_what_is_loaded(after, before);
            if !replaces && known.insert((before, after, distance)) {
                dataflow.order(before, after, distance);
            }
        }
    }

    /// Adds an operation; for one half of its quads, if one is given.
    fn add(
        &mut self,
        block: &LinearBlock,
        operation: &BlockOperation,
        (chosen, half): (&ChosenRow, Option<u8>),
    ) {
        let row = chosen.row;
        let (mut defs, mut uses, mut distances) = (Vec::new(), Vec::new(), Vec::new());
        let (mut place, mut immediate) = (None, None);
        for (operand, (given, _)) in row.form.operands().iter().zip(&operation.operands) {
            let written = operand.role.writes();
            let narrow = operand.kind == Kind::Pair;
            let mut distance = 0;
            let register = match *given {
                BlockOperand::Value(used) => {
                    let (operand, after) = self.value(block, used, half);
                    distance = after;
                    operand
                }
                BlockOperand::Constant { index, half: own } => {
                    let quad = self.constants.get(index).copied().flatten().unwrap_or(0);
                    match own.or(half).or(narrow.then_some(0)) {
                        Some(half) => DataOperand::Pair(2 * quad + half),
                        None => DataOperand::Quad(quad),
                    }
                }
                BlockOperand::Register(Register::Quad(quad)) => match half {
                    Some(half) => DataOperand::Pair(2 * quad + half),
                    None => DataOperand::Quad(quad),
                },
                BlockOperand::Register(Register::Pair(pair)) => DataOperand::Pair(pair),
                BlockOperand::Register(Register::Scalar(scalar)) => DataOperand::Scalar(scalar.0),
                BlockOperand::Couple([first, _]) => {
                    let value = self.data_value(block, first.value);
                    DataOperand::Whole(value)
                }
                BlockOperand::Immediate(value) => {
                    immediate = Some(match operand.kind {
                        Kind::Float24 => DataImmediate::Bits(value.to_f32_bits()),
                        _ => DataImmediate::Number(value.as_int().unwrap_or(0)),
                    });
                    continue;
                }
                BlockOperand::Address { pointer, offset } => {
                    place = Some((pointer, offset));
                    continue;
                }
                BlockOperand::Place { .. } => continue,
            };
            if written {
                defs.push(register);
            } else {
                uses.push(register);
                distances.push(distance);
            }
        }
        // The address comes behind all operands.
        let through = operation.find_address().map(|(address, offset)| {
            let (register, distance) = self.value(block, address, None);
            uses.push(register);
            distances.push(distance);
            offset
        });
        let dataflow = &mut self.lowered.dataflow;
        let place = place.and_then(|(pointer, offset)| {
            Some((self.pointers.get(pointer)?.find(offset)?, offset))
        });
        match place {
            Some((pointer, offset)) => {
                dataflow.access(row.mnemonic, row.class, pointer, offset, &defs, &uses);
            }
            None if row.slot() == Slot::Mem => {
                let row = (row.mnemonic, row.class);
                dataflow.scalar_operation(row, (&defs, &uses), immediate, through);
            }
            None => dataflow.operation((row.mnemonic, row.class), &defs, &uses, immediate),
        }
        if let Some(cycles) = row.own_latency() {
            dataflow.set_latency(cycles);
        }
        for (operand, &distance) in distances.iter().enumerate() {
            if distance > 0 {
                dataflow.read_earlier(operand, distance);
            }
        }
    }

    /// Returns a value of the dataflow, which is entered where it is first asked for.
    pub(super) fn data_value(&mut self, block: &LinearBlock, value: usize) -> DataValue {
        let dataflow = &mut self.lowered.dataflow;
        let (shared, half) = self.scalars.find(value);
        let used = self.scalars.used_as(value);
        let mut make = || match block.is_pair(value) {
            _ if block.is_scalar(value) => dataflow.scalar(half.is_some(), used),
            true => dataflow.pair(),
            false => dataflow.quad(),
        };
        match self.values.get_mut(shared) {
            Some(entry) => *entry.get_or_insert_with(make),
            None => make(),
        }
    }

    /// Returns the operand of a whole value.
    pub(super) fn whole_value(&mut self, block: &LinearBlock, value: usize) -> DataOperand {
        let used = ValueUse {
            value,
            half: None,
            distance: 0,
        };
        self.value(block, used, None).0
    }

    /// Returns the operand of a value, of which one half is meant if it is given or written, and the iterations between
    /// the one that computes it and this one.
    pub(super) fn value(
        &mut self,
        block: &LinearBlock,
        used: ValueUse,
        half: Option<u8>,
    ) -> (DataOperand, u32) {
        let pair = block.is_pair(used.value);
        let half = match block.is_scalar(used.value) {
            true => None,
            false => used.half.or(half).filter(|_| !pair),
        };
        let register = match self.carried.get(used.value) {
            Some(&CarriedBy::Fixed(register)) => Some(register),
            Some(CarriedBy::Moves(registers)) => used
                .distance
                .checked_sub(1)
                .and_then(|place| registers.get(place as usize))
                .copied(),
            _ => None,
        };
        if let Some(register) = register {
            let operand = match (register, half) {
                (Register::Quad(quad), Some(half)) => DataOperand::Pair(2 * quad + half),
                (register, _) => fixed_operand(register),
            };
            return (operand, 0);
        }
        let value = self.data_value(block, used.value);
        let operand = match half.or(self.scalars.find(used.value).1) {
            None => DataOperand::Whole(value),
            Some(0) => DataOperand::Lo(value),
            Some(_) => DataOperand::Hi(value),
        };
        (operand, used.distance)
    }
}

/// Returns the operand of a register.
pub(super) fn fixed_operand(register: Register) -> DataOperand {
    match register {
        Register::Pair(pair) => DataOperand::Pair(pair),
        Register::Quad(quad) => DataOperand::Quad(quad),
        Register::Scalar(scalar) => DataOperand::Scalar(scalar.0),
    }
}

impl LinearBlock {
    /// Returns true if a value is a pair.
    pub(super) fn is_pair(&self, value: usize) -> bool {
        self.values.get(value).and_then(|own| own.width) == Some(ValueWidth::Pair)
    }
}
