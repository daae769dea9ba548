//! Makes a dataflow of a block: values, constants in registers, pointers.

use super::block::{
    BlockOperand, BlockOperation, InitialSource, LinearBlock, PlacementHint, ValueUse, ValueWidth,
};
use super::memory::MemoryOrder;
use super::widths::ChosenRow;
use crate::isa::Kind;
use crate::schedule::{DataImmediate, DataOperand, DataPointer, DataValue, Dataflow, PointerStep};
use crate::syntax::Register;
use cp2_machine::Class;

/// Registers that a block may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRegisters {
    /// Pairs: bit n for `r{n}`.
    pub(crate) pairs: u64,
    /// Address registers: bit n for `a{n}`.
    pub(crate) addresses: u16,
}

impl BlockRegisters {
    /// Takes the highest quad that is free.
    fn take_quad(&mut self) -> Option<u8> {
        let quad = (0..32)
            .rev()
            .find(|quad| self.pairs >> (2 * quad) & 3 == 3)?;
        self.pairs &= !(3 << (2 * quad));
        Some(quad)
    }

    /// Takes the highest pair that is free.
    fn take_pair(&mut self) -> Option<u8> {
        let pair = (0..64).rev().find(|pair| self.pairs >> pair & 1 == 1)?;
        self.pairs &= !(1 << pair);
        Some(pair)
    }

    /// Takes the lowest address register that is free.
    pub(crate) fn take_address(&mut self) -> Option<u8> {
        let lowest = self.addresses.trailing_zeros();
        if lowest >= u16::BITS {
            return None;
        }
        self.addresses &= self.addresses - 1;
        Some(lowest as u8)
    }
}

/// A block as the scheduler takes it.
#[derive(Debug)]
pub(crate) struct LoweredBlock {
    pub(crate) dataflow: Dataflow,
    /// Index in the block of every operation of the dataflow; none for one that keeps a value for later iterations.
    pub(crate) origins: Vec<Option<usize>>,
    /// Pointers that are used: each with its index in the block.
    pub(crate) pointers: Vec<(DataPointer, usize)>,
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
}

/// What keeps the values of earlier iterations.
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
}

/// Makes a dataflow of a block whose rows have been chosen.
///
/// # Errors
/// The registers that run out.
pub(crate) fn lower(
    block: &LinearBlock,
    rows: &[ChosenRow],
    free: BlockRegisters,
    kept: KeptValues,
) -> Result<LoweredBlock, LackingRegisters> {
    let mut lowering = Lowering::new(block, free);
    lowering.place_constants(block)?;
    lowering.place_pointers(block)?;
    let sequence = lowering.carry_values(block, kept)?;
    for index in sequence {
        if let (Some(operation), Some(chosen)) = (block.operations.get(index), rows.get(index)) {
            lowering.add_operation(block, (index, operation), chosen);
        }
    }
    for order in block.order_memory(rows) {
        lowering.keep_order(order);
    }
    lowering.move_values_on(block);
    lowering.set_ends(block);
    Ok(lowering.lowered)
}

/// How a value is read in later iterations.
#[derive(Clone, Debug, Default)]
enum CarriedBy {
    /// As any value: its copies have it.
    #[default]
    Copies,
    /// One register has it in all iterations.
    Fixed(Register),
    /// These registers have it, that of the iteration before first; every iteration moves them on.
    Moves(Vec<Register>),
}

struct Lowering {
    lowered: LoweredBlock,
    values: Vec<Option<DataValue>>,
    carried: Vec<CarriedBy>,
    /// Register of every constant that is used.
    constants: Vec<Option<u8>>,
    pointers: Vec<Option<DataPointer>>,
}

impl Lowering {
    fn new(block: &LinearBlock, free: BlockRegisters) -> Self {
        let mut dataflow = match block.hint {
            PlacementHint::Free => Dataflow::default(),
            PlacementHint::Written => Dataflow::in_order(),
            PlacementHint::Spread => Dataflow::evenly(),
        };
        dataflow.spare = block.spare as usize;
        Self {
            lowered: LoweredBlock {
                dataflow,
                origins: Vec::new(),
                pointers: Vec::new(),
                constants: Vec::new(),
                initial: Vec::new(),
                finals: Vec::new(),
                free,
            },
            values: vec![None; block.values.len()],
            carried: vec![CarriedBy::Copies; block.values.len()],
            constants: vec![None; block.constants.len()],
            pointers: vec![None; block.pointers.len()],
        }
    }

    /// Gives registers to the constants that operations use.
    fn place_constants(&mut self, block: &LinearBlock) -> Result<(), LackingRegisters> {
        let mut used = vec![false; block.constants.len()];
        for (operand, _) in block.operations.iter().flat_map(|own| &own.operands) {
            if let BlockOperand::Constant { index, .. } = *operand
                && let Some(used) = used.get_mut(index)
            {
                *used = true;
            }
        }
        for (index, register) in self.constants.iter_mut().enumerate() {
            if used.get(index) == Some(&true) {
                let quad = self.lowered.free.take_quad();
                let quad = quad.ok_or(LackingRegisters::Section)?;
                *register = Some(quad);
                self.lowered.constants.push((quad, index));
            }
        }
        Ok(())
    }

    /// Gives registers to the pointers that accesses use.
    fn place_pointers(&mut self, block: &LinearBlock) -> Result<(), LackingRegisters> {
        for (index, own) in block.pointers.iter().enumerate() {
            if own.used.is_none() {
                continue;
            }
            let address = self.lowered.free.take_address();
            let address = address.ok_or(LackingRegisters::Addresses)?;
            let step = PointerStep::Bytes(own.step);
            let pointer = self.lowered.dataflow.pointer(address, step);
            self.lowered.pointers.push((pointer, index));
            if let Some(entry) = self.pointers.get_mut(index) {
                *entry = Some(pointer);
            }
        }
        Ok(())
    }

    /// Decides how values are read in later iterations; returns the order of the operations.
    ///
    /// A register that a value ends in has it in all iterations if nothing reads it in two iterations at a time: all
    /// that read the value of the iteration before come before the operation that computes the next.
    fn carry_values(
        &mut self,
        block: &LinearBlock,
        kept: KeptValues,
    ) -> Result<Vec<usize>, LackingRegisters> {
        let distances = block.list_distances();
        let mut fixed = vec![false; block.values.len()];
        let mut sequence: Vec<usize> = (0..block.operations.len()).collect();
        let mut taken: Vec<Register> = Vec::new();
        for last in &block.finals {
            let only_before = distances.get(last.value) == Some(&1);
            let named = block.names_register(last.register) || taken.contains(&last.register);
            let Some(entry) = fixed.get_mut(last.value) else {
                continue;
            };
            if named || *entry || !only_before {
                continue;
            }
            *entry = true;
            match block.sort_operations(&fixed) {
                Some(sorted) => {
                    sequence = sorted;
                    taken.push(last.register);
                    if let Some(carried) = self.carried.get_mut(last.value) {
                        *carried = CarriedBy::Fixed(last.register);
                    }
                }
                None => {
                    if let Some(entry) = fixed.get_mut(last.value) {
                        *entry = false;
                    }
                }
            }
        }
        if kept == KeptValues::Moves {
            for (value, &distance) in distances.iter().enumerate() {
                let Some(carried) = self.carried.get_mut(value) else {
                    continue;
                };
                if distance == 0 || matches!(carried, CarriedBy::Fixed(_)) {
                    continue;
                }
                let pair = block.is_pair(value);
                let registers = (0..distance).map(|_| match pair {
                    true => self.lowered.free.take_pair().map(Register::Pair),
                    false => self.lowered.free.take_quad().map(Register::Quad),
                });
                let registers: Option<Vec<Register>> = registers.collect();
                *carried = CarriedBy::Moves(registers.ok_or(LackingRegisters::Section)?);
            }
        }
        Ok(sequence)
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

    /// Keeps the order of two accesses.
    fn keep_order(&mut self, order: MemoryOrder) {
        let origins = &self.lowered.origins;
        let find = |operation: usize| origins.iter().position(|&own| own == Some(operation));
        if let (Some(before), Some(after)) = (find(order.before), find(order.after)) {
            let dataflow = &mut self.lowered.dataflow;
            if order.distance == 0 && dataflow.replaces_what_is_loaded(after, before) {
                return;
            }
            dataflow.order(before, after, order.distance);
        }
    }

    /// Adds the moves that keep values for later iterations.
    fn move_values_on(&mut self, block: &LinearBlock) {
        for value in 0..block.values.len() {
            let Some(CarriedBy::Moves(registers)) = self.carried.get(value).cloned() else {
                continue;
            };
            for place in (0..registers.len()).rev() {
                let from = match place
                    .checked_sub(1)
                    .and_then(|before| registers.get(before))
                {
                    Some(&register) => fixed_operand(register),
                    None => self.whole_value(block, value),
                };
                if let Some(&to) = registers.get(place) {
                    let move_on = ("mov", Class::Integer);
                    let dataflow = &mut self.lowered.dataflow;
                    dataflow.operation(move_on, &[fixed_operand(to)], &[from], None);
                    self.lowered.origins.push(None);
                }
            }
        }
    }

    /// Lists the places of values before the first and behind the last iteration.
    fn set_ends(&mut self, block: &LinearBlock) {
        let distances = block.list_distances();
        for own in &block.initial {
            if distances
                .get(own.value)
                .is_none_or(|&most| own.distance > most)
            {
                continue;
            }
            let place = self.place_of(block, own.value, own.distance);
            self.lowered.initial.push((place, own.source));
        }
        for own in &block.finals {
            let place = match self.carried.get(own.value) {
                Some(CarriedBy::Moves(registers)) => registers.first().copied(),
                Some(&CarriedBy::Fixed(register)) => Some(register),
                _ => None,
            };
            let place = match place {
                Some(register) => CarriedPlace::Register(register),
                None => {
                    if let DataOperand::Whole(value) = self.whole_value(block, own.value) {
                        self.lowered.dataflow.keep(value);
                    }
                    self.place_of(block, own.value, 0)
                }
            };
            self.lowered.finals.push((own.register, place));
        }
    }

    /// Returns the place of a value so many iterations before the first, or in the last.
    fn place_of(&mut self, block: &LinearBlock, value: usize, distance: u32) -> CarriedPlace {
        match self.carried.get(value) {
            Some(&CarriedBy::Fixed(register)) => return CarriedPlace::Register(register),
            Some(CarriedBy::Moves(registers)) => {
                let place = (distance as usize).saturating_sub(1);
                if let Some(&register) = registers.get(place) {
                    return CarriedPlace::Register(register);
                }
            }
            _ => {}
        }
        CarriedPlace::Value(self.data_value(block, value), distance)
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
                BlockOperand::Register(Register::Scalar(_)) => continue,
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
            };
            if written {
                defs.push(register);
            } else {
                uses.push(register);
                distances.push(distance);
            }
        }
        let dataflow = &mut self.lowered.dataflow;
        let place = place.and_then(|(pointer, offset)| {
            Some((self.pointers.get(pointer).copied().flatten()?, offset))
        });
        match place {
            Some((pointer, offset)) => {
                dataflow.access(row.mnemonic, row.class, pointer, offset, &defs, &uses);
            }
            None => dataflow.operation((row.mnemonic, row.class), &defs, &uses, immediate),
        }
        for (operand, &distance) in distances.iter().enumerate() {
            if distance > 0 {
                dataflow.read_earlier(operand, distance);
            }
        }
    }

    /// Returns a value of the dataflow, which is entered where it is first asked for.
    fn data_value(&mut self, block: &LinearBlock, value: usize) -> DataValue {
        let dataflow = &mut self.lowered.dataflow;
        let mut make = || match block.is_pair(value) {
            true => dataflow.pair(),
            false => dataflow.quad(),
        };
        match self.values.get_mut(value) {
            Some(entry) => *entry.get_or_insert_with(make),
            None => make(),
        }
    }

    /// Returns the operand of a whole value.
    fn whole_value(&mut self, block: &LinearBlock, value: usize) -> DataOperand {
        let used = ValueUse {
            value,
            half: None,
            distance: 0,
        };
        self.value(block, used, None).0
    }

    /// Returns the operand of a value, of which one half is meant if it is given or written, and the iterations between
    /// the one that computes it and this one.
    fn value(
        &mut self,
        block: &LinearBlock,
        used: ValueUse,
        half: Option<u8>,
    ) -> (DataOperand, u32) {
        let pair = block.is_pair(used.value);
        let half = used.half.or(half).filter(|_| !pair);
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
        let operand = match half {
            None => DataOperand::Whole(value),
            Some(0) => DataOperand::Lo(value),
            Some(_) => DataOperand::Hi(value),
        };
        (operand, used.distance)
    }
}

/// Returns the operand of a register.
fn fixed_operand(register: Register) -> DataOperand {
    match register {
        Register::Pair(pair) => DataOperand::Pair(pair),
        Register::Quad(quad) => DataOperand::Quad(quad),
        // Section registers alone are given to values.
        Register::Scalar(_) => DataOperand::Pair(0),
    }
}

impl LinearBlock {
    /// Returns true if a value is a pair.
    fn is_pair(&self, value: usize) -> bool {
        self.values.get(value).and_then(|own| own.width) == Some(ValueWidth::Pair)
    }

    /// Returns true if an operation names a register, or part of it, as invariant.
    fn names_register(&self, register: Register) -> bool {
        let operands = self.operations.iter().flat_map(|own| &own.operands);
        let mut named = operands.filter_map(|(operand, _)| match operand {
            BlockOperand::Register(own) => Some(*own),
            _ => None,
        });
        named.any(|own| !(own.regs() & register.regs()).is_empty())
    }

    /// Returns an order of the operations in which all that read a fixed value of the iteration before come before the
    /// one that computes it; none if there is no such order. It is the order of the text as far as possible.
    fn sort_operations(&self, fixed: &[bool]) -> Option<Vec<usize>> {
        let count = self.operations.len();
        let mut writers: Vec<Vec<usize>> = vec![Vec::new(); self.values.len()];
        let uses = |index: usize| {
            let operands = self.operations.get(index).map(|own| &own.operands);
            operands
                .into_iter()
                .flatten()
                .filter_map(|(operand, _)| match operand {
                    BlockOperand::Value(used) => Some(*used),
                    _ => None,
                })
        };
        let results = |index: usize| {
            let own = self.operations.get(index);
            let row = own.and_then(|own| own.rows.first()).map(|op| op.row());
            let written = row.map_or(0, |row| {
                let operands = row.form.operands();
                operands.iter().filter(|o| o.role.writes()).count()
            });
            uses(index).take(written)
        };
        for index in 0..count {
            for used in results(index) {
                if let Some(own) = writers.get_mut(used.value) {
                    own.push(index);
                }
            }
        }
        let mut later: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut waits = vec![0usize; count];
        let mut edge = |from: usize, to: usize| {
            if let (true, Some(own), Some(waits)) =
                (from != to, later.get_mut(from), waits.get_mut(to))
            {
                own.push(to);
                *waits += 1;
            }
        };
        for reader in 0..count {
            let written = results(reader).count();
            for used in uses(reader).skip(written) {
                let fixed = fixed.get(used.value) == Some(&true);
                for &writer in writers.get(used.value).into_iter().flatten() {
                    match used.distance {
                        0 => edge(writer, reader),
                        1 if fixed => edge(reader, writer),
                        _ => {}
                    }
                }
            }
        }
        let mut ready: std::collections::BTreeSet<usize> = (0..count)
            .filter(|&index| waits.get(index) == Some(&0))
            .collect();
        let mut sequence = Vec::with_capacity(count);
        while let Some(next) = ready.pop_first() {
            sequence.push(next);
            for &to in later.get(next).into_iter().flatten() {
                if let Some(waits) = waits.get_mut(to) {
                    *waits -= 1;
                    if *waits == 0 {
                        ready.insert(to);
                    }
                }
            }
        }
        (sequence.len() == count).then_some(sequence)
    }
}
