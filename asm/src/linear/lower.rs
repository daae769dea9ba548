//! Makes a dataflow of a block: values, constants in registers, pointers.

use super::block::{
    BlockOperand, BlockOperation, LinearBlock, PlacementHint, ValueUse, ValueWidth,
};
use super::memory::MemoryOrder;
use super::widths::ChosenRow;
use crate::diag::Fail;
use crate::isa::Slot;
use crate::schedule::{DataOperand, DataPointer, DataValue, Dataflow, PointerStep};
use crate::syntax::Register;

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
    /// Index in the block of every operation of the dataflow.
    pub(crate) origins: Vec<usize>,
    /// Pointers that are used: each with its index in the block.
    pub(crate) pointers: Vec<(DataPointer, usize)>,
    /// Constants that are used, in the order of their table: each with its register and its index in the block.
    pub(crate) constants: Vec<(u8, usize)>,
    /// Registers that are left.
    pub(crate) free: BlockRegisters,
}

/// Registers that run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LackingRegisters {
    /// Quads for constants.
    Quads,
    /// Address registers for pointers.
    Addresses,
}

/// Makes a dataflow of a block.
///
/// # Errors
/// The first operation that is wrong, or the registers that run out.
pub(crate) fn lower(
    block: &mut LinearBlock,
    free: BlockRegisters,
) -> Result<Result<LoweredBlock, LackingRegisters>, Fail> {
    let rows = block.find_widths()?;
    Ok(Lowering::new(block, free).and_then(|lowering| lowering.run(block, &rows)))
}

struct Lowering {
    lowered: LoweredBlock,
    values: Vec<Option<DataValue>>,
    /// Register of every constant that is used.
    constants: Vec<Option<u8>>,
    pointers: Vec<Option<DataPointer>>,
}

impl Lowering {
    fn new(block: &LinearBlock, free: BlockRegisters) -> Result<Self, LackingRegisters> {
        let dataflow = match block.hint {
            PlacementHint::Free => Dataflow::default(),
            PlacementHint::Written => Dataflow::in_order(),
            PlacementHint::Spread => Dataflow::evenly(),
        };
        let mut lowering = Self {
            lowered: LoweredBlock {
                dataflow,
                origins: Vec::new(),
                pointers: Vec::new(),
                constants: Vec::new(),
                free,
            },
            values: vec![None; block.values.len()],
            constants: vec![None; block.constants.len()],
            pointers: vec![None; block.pointers.len()],
        };
        let mut used = vec![false; block.constants.len()];
        for (operand, _) in block.operations.iter().flat_map(|own| &own.operands) {
            if let BlockOperand::Constant { index, .. } = *operand
                && let Some(used) = used.get_mut(index)
            {
                *used = true;
            }
        }
        let lowered = &mut lowering.lowered;
        for (index, register) in lowering.constants.iter_mut().enumerate() {
            if used.get(index) == Some(&true) {
                let quad = lowered.free.take_quad().ok_or(LackingRegisters::Quads)?;
                *register = Some(quad);
                lowered.constants.push((quad, index));
            }
        }
        for (index, own) in block.pointers.iter().enumerate() {
            if own.used.is_none() {
                continue;
            }
            let address = lowered.free.take_address();
            let address = address.ok_or(LackingRegisters::Addresses)?;
            let step = PointerStep::Bytes(own.step);
            let pointer = lowered.dataflow.pointer(address, step);
            lowered.pointers.push((pointer, index));
            if let Some(entry) = lowering.pointers.get_mut(index) {
                *entry = Some(pointer);
            }
        }
        Ok(lowering)
    }

    fn run(
        mut self,
        block: &LinearBlock,
        rows: &[ChosenRow],
    ) -> Result<LoweredBlock, LackingRegisters> {
        for (index, (operation, chosen)) in block.operations.iter().zip(rows).enumerate() {
            self.lowered.dataflow.phase(operation.phase);
            let halves: &[Option<u8>] = match chosen.halves {
                true => &[Some(0), Some(1)],
                false => &[None],
            };
            for &half in halves {
                self.add(block, operation, (chosen, half));
                self.lowered.origins.push(index);
            }
        }
        for order in block.order_memory(rows) {
            self.keep_order(order);
        }
        Ok(self.lowered)
    }

    /// Keeps the order of two accesses.
    fn keep_order(&mut self, order: MemoryOrder) {
        let origins = &self.lowered.origins;
        let find = |operation: usize| origins.iter().position(|&own| own == operation);
        if let (Some(before), Some(after)) = (find(order.before), find(order.after)) {
            self.lowered.dataflow.replaces_what_is_loaded(after, before);
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
        let (mut defs, mut uses) = (Vec::new(), Vec::new());
        let (mut place, mut immediate) = (None, None);
        for (operand, (given, _)) in row.form.operands().iter().zip(&operation.operands) {
            let written = operand.role.writes();
            let narrow = operand.kind == crate::isa::Kind::Pair;
            let register = match *given {
                BlockOperand::Value(used) => self.value(block, used, half),
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
                    immediate = value.as_int();
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
            None if row.slot() == Slot::Arith => {
                dataflow.operation((row.mnemonic, row.class), &defs, &uses, immediate);
            }
            None => {}
        }
    }

    /// Returns the operand of a value, of which one half is meant if it is given or written.
    fn value(&mut self, block: &LinearBlock, used: ValueUse, half: Option<u8>) -> DataOperand {
        let width = block.values.get(used.value).and_then(|value| value.width);
        let pair = width == Some(ValueWidth::Pair);
        let dataflow = &mut self.lowered.dataflow;
        let mut make = || match pair {
            true => dataflow.pair(),
            false => dataflow.quad(),
        };
        let value = match self.values.get_mut(used.value) {
            Some(entry) => *entry.get_or_insert_with(make),
            None => make(),
        };
        match used.half.or(half).filter(|_| !pair) {
            None => DataOperand::Whole(value),
            Some(0) => DataOperand::Lo(value),
            Some(_) => DataOperand::Hi(value),
        }
    }
}
