//! How values of earlier iterations are kept: in copies, in one register, by moves.

use super::block::{BlockCount, BlockOperation, InitialSource, LinearBlock, ValueUse};
use super::lower::{CarriedPlace, KeptValues, LackingRegisters, Lowering, fixed_operand};
use super::memory::MemoryOrder;
use crate::schedule::DataOperand;
use crate::syntax::Register;
use cp2_machine::Class;

/// How a value is read in later iterations.
#[derive(Clone, Debug, Default)]
pub(super) enum CarriedBy {
    /// As any value: its copies have it.
    #[default]
    Copies,
    /// One register has it in all iterations.
    Fixed(Register),
    /// These registers have it, that of the iteration before first; every iteration moves them on.
    Moves(Vec<Register>),
}

impl Lowering {
    /// Decides how values are read in later iterations; returns the order of the operations.
    ///
    /// A register that a value ends in has it in all iterations if nothing reads it in two iterations at a time: all
    /// that read the value of the iteration before come before the operation that computes the next. A straight line
    /// computes the value in that register.
    pub(super) fn carry_values(
        &mut self,
        block: &LinearBlock,
        kept: KeptValues,
        orders: &[MemoryOrder],
    ) -> Result<Vec<usize>, LackingRegisters> {
        let distances = block.list_distances();
        let mut fixed = vec![false; block.values.len()];
        let mut sequence: Vec<usize> = (0..block.operations.len()).collect();
        let mut taken: Vec<Register> = Vec::new();
        for last in &block.finals {
            // A block that is carried out once computes the value where it is left.
            let read_at = match block.count {
                BlockCount::Once => 0,
                BlockCount::Known(_) | BlockCount::Register { .. } => 1,
            };
            let only_before = distances.get(last.value) == Some(&read_at);
            let named = block.names_register(last.register) || taken.contains(&last.register);
            let Some(entry) = fixed.get_mut(last.value) else {
                continue;
            };
            // A block before leaves its value early: in a register that nobody else names.
            let mut initial = block.initial.iter().filter(|own| own.value == last.value);
            let handed = initial.any(|own| matches!(own.source, InitialSource::Block { .. }));
            let fits = self.scalars.may_fix(last.value, last.register) && !handed;
            if named || *entry || !only_before || !fits {
                continue;
            }
            *entry = true;
            match block.sort_operations(&fixed, orders) {
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
                let (pair, scalar) = (block.is_pair(value), block.is_scalar(value));
                let registers = (0..distance).map(|_| match pair {
                    _ if scalar => self.scalars.take(&mut self.lowered.free, value),
                    true => self.lowered.free.take_pair().map(Register::Pair),
                    false => self.lowered.free.take_quad().map(Register::Quad),
                });
                let registers: Option<Vec<Register>> = registers.collect();
                let lacking = LackingRegisters::of_scalar(scalar);
                *carried = CarriedBy::Moves(registers.ok_or(lacking)?);
            }
        }
        Ok(sequence)
    }

    /// Adds the moves that keep values for later iterations.
    pub(super) fn move_values_on(&mut self, block: &LinearBlock) {
        for value in 0..block.values.len() {
            let Some(CarriedBy::Moves(registers)) = self.carried.get(value).cloned() else {
                continue;
            };
            // Operations without effect are dropped, perhaps all that compute the other half.
            let half = block.find_only_half(value);
            let kept = |register: Register| match (register, half) {
                (Register::Quad(quad), Some(half)) => DataOperand::Pair(2 * quad + half),
                _ => fixed_operand(register),
            };
            for place in (0..registers.len()).rev() {
                let from = match place
                    .checked_sub(1)
                    .and_then(|before| registers.get(before))
                {
                    Some(&register) => kept(register),
                    None => {
                        let used = ValueUse {
                            value,
                            half,
                            distance: 0,
                        };
                        self.value(block, used, None).0
                    }
                };
                if let Some(&to) = registers.get(place) {
                    let to = [kept(to)];
                    let dataflow = &mut self.lowered.dataflow;
                    match block.is_scalar(value) {
                        true => {
                            let row = ("mov", Class::Scalar);
                            dataflow.scalar_operation(row, (&to, &[from]), None, None);
                        }
                        false => dataflow.operation(("mov", Class::Integer), &to, &[from], None),
                    }
                    self.lowered.origins.push(None);
                }
            }
        }
    }

    /// Lists the places of values before the first and behind the last iteration.
    pub(super) fn set_ends(&mut self, block: &LinearBlock) {
        let distances = block.list_distances();
        for own in &block.initial {
            if distances
                .get(own.value)
                .is_none_or(|&most| own.distance > most)
            {
                continue;
            }
            let place = self.place_of(block, own.value, own.distance);
            if let CarriedPlace::Value(value, _) | CarriedPlace::Second(value, _) = place {
                self.lowered.dataflow.begin_with(value);
            }
            self.lowered.initial.push((place, block.source_of(own)));
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
                    if let Some(value) = self.whole_value(block, own.value).whole() {
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
        let second = self.scalars.find(value).1 == Some(1);
        let value = self.data_value(block, value);
        match second {
            true => CarriedPlace::Second(value, distance),
            false => CarriedPlace::Value(value, distance),
        }
    }
}

impl LinearBlock {
    /// Returns true if an operation names a register, or part of it, as invariant.
    fn names_register(&self, register: Register) -> bool {
        let mut named = self.list_invariants();
        named.any(|own| !(own.regs() & register.regs()).is_empty())
    }

    /// Returns the half of a value that operations compute, if they compute no other one.
    fn find_only_half(&self, value: usize) -> Option<u8> {
        let all = self.operations.iter().flat_map(BlockOperation::list_values);
        let mut halves = all
            .filter(|(used, written)| *written && used.value == value)
            .map(|(used, _)| used.half);
        let first = halves.next()?;
        first.filter(|_| halves.all(|half| half == first))
    }

    /// Returns an order of the operations in which all that read a fixed value of the iteration before come before the
    /// one that computes it, and accesses keep theirs; none if there is no such order. It is the order of the text as
    /// far as possible.
    fn sort_operations(&self, fixed: &[bool], orders: &[MemoryOrder]) -> Option<Vec<usize>> {
        let count = self.operations.len();
        let mut writers: Vec<Vec<usize>> = vec![Vec::new(); self.values.len()];
        for (index, operation) in self.operations.iter().enumerate() {
            for (used, _) in operation.list_values().filter(|(_, written)| *written) {
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
        for (reader, operation) in self.operations.iter().enumerate() {
            for (used, _) in operation.list_values().filter(|(_, written)| !written) {
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
        for order in orders.iter().filter(|order| order.distance == 0) {
            edge(order.before, order.after);
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
