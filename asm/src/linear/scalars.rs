//! Scalar values, in address registers where accesses have addresses from them.

use super::block::{
    BlockOperand, BlockOperation, InitialSource, InitialValue, LinearBlock, ValueUse, ValueWidth,
};
use super::lower::{BlockRegisters, LackingRegisters, LoweredBlock};
use crate::diag::{Fail, Problem};
use crate::isa::Scalar;
use crate::schedule::{FreeRegisters, ScalarUse};
use crate::source::Span;
use crate::syntax::{BlockValueName, Register};

/// The scalar values of a block: which of them are addresses, and which are loaded together.
#[derive(Clone, Debug, Default)]
pub(super) struct ScalarPlaces {
    addresses: Vec<bool>,
    /// For each value that is loaded with another the first of both, and its own place: 0 or 1.
    couples: Vec<Option<(usize, u8)>>,
}

impl ScalarPlaces {
    pub(super) fn of(block: &LinearBlock) -> Self {
        let mut found = Self {
            addresses: vec![false; block.values.len()],
            couples: vec![None; block.values.len()],
        };
        for (operand, _) in block.operations.iter().flat_map(|own| &own.operands) {
            match *operand {
                BlockOperand::Place { address, .. } => {
                    if let Some(own) = found.addresses.get_mut(address.value) {
                        *own = true;
                    }
                }
                BlockOperand::Couple([first, second]) => {
                    for (half, own) in [(0, first), (1, second)] {
                        if let Some(entry) = found.couples.get_mut(own.value) {
                            *entry = Some((first.value, half));
                        }
                    }
                }
                _ => {}
            }
        }
        // Both of a couple lie side by side.
        for (operand, _) in block.operations.iter().flat_map(|own| &own.operands) {
            if let BlockOperand::Couple(both) = operand {
                let either = both.iter().any(|own| found.is_address(own.value));
                for own in both {
                    if let Some(entry) = found.addresses.get_mut(own.value) {
                        *entry = either;
                    }
                }
            }
        }
        found
    }

    fn is_address(&self, value: usize) -> bool {
        self.addresses.get(value) == Some(&true)
    }

    /// Returns the value that a scalar shares its registers with, perhaps itself, and its place among these.
    pub(super) fn find(&self, value: usize) -> (usize, Option<u8>) {
        match self.couples.get(value).copied().flatten() {
            Some((first, half)) => (first, Some(half)),
            None => (value, None),
        }
    }

    /// Returns the registers that a scalar takes.
    pub(super) fn used_as(&self, value: usize) -> ScalarUse {
        match self.is_address(value) {
            true => ScalarUse::Address,
            false => ScalarUse::Any,
        }
    }

    /// Returns true if a scalar may be in a register in all iterations.
    pub(super) fn may_fix(&self, value: usize, register: Register) -> bool {
        let Register::Scalar(scalar) = register else {
            return true;
        };
        let alone = self.find(value).1.is_none();
        alone && (!self.is_address(value) || scalar.0 < ADDRESSES)
    }

    /// Takes a register for a scalar.
    pub(super) fn take(&self, free: &mut BlockRegisters, value: usize) -> Option<Register> {
        if !self.is_address(value) {
            for (mask, first) in [
                (&mut free.controls, Scalar::control(0)),
                (&mut free.rounds.steps, Scalar::step(0)),
            ] {
                let lowest = mask.trailing_zeros();
                if lowest < u16::BITS {
                    *mask &= *mask - 1;
                    return Some(Register::Scalar(Scalar(first.0 + lowest as u8)));
                }
            }
        }
        let address = free.take_address();
        address.map(|a| Register::Scalar(Scalar::address(a)))
    }
}

/// Number of address registers.
const ADDRESSES: u8 = 16;

impl LoweredBlock {
    /// Returns the registers that values may take.
    pub(crate) fn free_registers(&self) -> FreeRegisters {
        let mut free = self.free;
        // The table of constants takes a register where no pointer lends it one.
        if self.pointers.is_empty() {
            free.take_address();
        }
        let scalars = u64::from(free.addresses)
            | u64::from(free.rounds.steps) << 16
            | u64::from(free.controls) << 32;
        let registers = FreeRegisters::new(free.pairs);
        // Without scalar values it does not matter which scalars are free: schedules are known again.
        match self.dataflow.has_scalar_values() {
            true => registers.with_scalars(scalars),
            false => registers,
        }
    }
}

impl LinearBlock {
    /// Returns true if a value is a scalar.
    pub(super) fn is_scalar(&self, value: usize) -> bool {
        self.values.get(value).and_then(|own| own.width) == Some(ValueWidth::Scalar)
    }

    /// Returns the place that an access names: a pointer, or a scalar value.
    pub(crate) fn find_place(
        &mut self,
        name: &BlockValueName,
        offset: i64,
    ) -> Result<BlockOperand, Fail> {
        let distance = name.distance.unwrap_or(0);
        let found = self.find_value(&name.text).filter(|_| name.half.is_none());
        let computed = found.filter(|&value| {
            let own = self.values.get(value);
            distance > 0 || own.is_some_and(|own| own.defined.iter().all(Option::is_some))
        });
        let declared = self.find_pointer(&name.text).is_some();
        let earlier = distance > 0 && name.half.is_none();
        if declared && distance == 0 || computed.is_none() && !earlier {
            let pointer = self.use_pointer(name)?;
            return Ok(BlockOperand::Address { pointer, offset });
        }
        let value = self.enter_value(&name.text, name.at);
        if let Some(own) = self.values.get_mut(value) {
            own.width.get_or_insert(ValueWidth::Scalar);
        }
        let address = ValueUse {
            value,
            half: None,
            distance,
        };
        Ok(BlockOperand::Place { address, offset })
    }

    /// Enters that a result is a scalar.
    pub(crate) fn define_scalar(
        &mut self,
        used: ValueUse,
        name: &BlockValueName,
    ) -> Result<ValueUse, Fail> {
        if used.half.is_some() {
            let what = "a half".to_owned();
            let why = "this operation computes scalars, which have no halves";
            return Err(Fail::new(Problem::Misplaced { what, why }, name.at));
        }
        if let Some(own) = self.values.get_mut(used.value) {
            own.width.get_or_insert(ValueWidth::Scalar);
        }
        Ok(used)
    }

    /// Refuses scalar values with names of registers, and registers and numbers before and behind the block that do not
    /// fit the values.
    pub(crate) fn check_scalars(&self) -> Result<(), Fail> {
        for value in self
            .values
            .iter()
            .filter(|own| own.width == Some(ValueWidth::Scalar))
        {
            if let Some(Register::Scalar(_)) = Register::built_in(&value.name) {
                let problem = Problem::Reserved {
                    name: value.name.to_string(),
                    what: "a register",
                };
                return Err(Fail::new(problem, value.at));
            }
        }
        let misfit = |value: usize, found: String, at: Span| {
            let name = self.values.get(value).map_or("", |own| &*own.name);
            let wanted = match self.is_scalar(value) {
                true => format!("a scalar register or a 32-bit integer for the scalar `{name}`"),
                false => format!("a register of the sections for `{name}`, which is no scalar"),
            };
            Fail::new(Problem::Expected { wanted, found }, at)
        };
        let fits = |value: usize, register: Register| {
            matches!(register, Register::Scalar(_)) == self.is_scalar(value)
        };
        for own in &self.initial {
            match own.source {
                InitialSource::Register(register) if !fits(own.value, register) => {
                    return Err(misfit(own.value, format!("`{register}`"), own.at));
                }
                InitialSource::Words(_) if self.is_scalar(own.value) => {
                    let range = i64::from(i32::MIN)..=i64::from(u32::MAX);
                    if own.number.as_int().is_none_or(|n| !range.contains(&n)) {
                        return Err(misfit(own.value, own.number.to_string(), own.at));
                    }
                }
                _ => {}
            }
        }
        for own in &self.finals {
            if !fits(own.value, own.register) {
                return Err(misfit(own.value, format!("`{}`", own.register), own.at));
            }
        }
        Ok(())
    }

    /// Returns the source of a value before the first iteration: the number of a scalar, not its words.
    pub(crate) fn source_of(&self, own: &InitialValue) -> InitialSource {
        match own.source {
            InitialSource::Words(_) if self.is_scalar(own.value) => {
                InitialSource::Number(own.number.as_int().unwrap_or(0))
            }
            source => source,
        }
    }
}

impl BlockOperation {
    /// Returns the scalar value and the offset that the access has its address from.
    pub(super) fn find_address(&self) -> Option<(ValueUse, i64)> {
        self.operands
            .iter()
            .find_map(|(operand, _)| match *operand {
                BlockOperand::Place { address, offset } => Some((address, offset)),
                _ => None,
            })
    }
}

impl LackingRegisters {
    /// Returns what runs out where registers keep a value of earlier iterations.
    pub(crate) fn of_scalar(scalar: bool) -> Self {
        if scalar {
            Self::Addresses
        } else {
            Self::Section
        }
    }
}
