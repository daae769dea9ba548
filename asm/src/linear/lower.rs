//! Makes a dataflow of a block: values, constants in registers, pointers.

use super::block::{
    BlockOperand, BlockOperation, LinearBlock, PlacementHint, ValueUse, ValueWidth,
};
use super::memory::MemoryOrder;
use super::widths::ChosenRow;
use crate::diag::Fail;
use crate::isa::{Kind, Slot};
use crate::schedule::{DataOperand, DataPointer, DataValue, Dataflow, PointerStep};
use crate::syntax::Register;

/// Registers that a block may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeRegisters {
    /// Pairs: bit n for `r{n}`.
    pub(crate) pairs: u64,
    /// Address registers: bit n for `a{n}`.
    pub(crate) addresses: u16,
}

impl FreeRegisters {
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
    pub(crate) free: FreeRegisters,
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
    free: FreeRegisters,
) -> Result<Result<LoweredBlock, LackingRegisters>, Fail> {
    let rows = block.find_widths()?;
    Ok(Lowering::new(block, &rows, free).and_then(|lowering| lowering.run(block, &rows)))
}

/// The address registers of a pointer: one for each remainder of its offsets by the largest of its accesses.
///
/// The last access of an iteration steps, so the register points at its place, and the others have offsets from there:
/// multiples of what they access, whichever is last.
#[derive(Clone, Debug)]
struct Places {
    unit: i64,
    found: Vec<(i64, Option<DataPointer>)>,
}

impl Places {
    /// Returns the places of all pointers of a block.
    fn of(block: &LinearBlock, rows: &[ChosenRow]) -> Vec<Self> {
        let none = Self {
            unit: 1,
            found: Vec::new(),
        };
        let mut all = vec![none; block.pointers.len()];
        let operations = block.operations.iter().zip(rows);
        let accesses: Vec<(usize, i64, i64)> = operations
            .flat_map(|(own, chosen)| {
                let operands = chosen.row.form.operands().iter().zip(&own.operands);
                operands.filter_map(|(o, (operand, _))| match (o.kind, operand) {
                    (Kind::Mem { align, .. }, &BlockOperand::Address { pointer, offset }) => {
                        Some((pointer, offset, i64::from(align)))
                    }
                    _ => None,
                })
            })
            .collect();
        for &(pointer, _, align) in &accesses {
            if let Some(own) = all.get_mut(pointer) {
                own.unit = own.unit.max(align);
            }
        }
        for &(pointer, offset, _) in &accesses {
            if let Some(own) = all.get_mut(pointer) {
                let place = offset.rem_euclid(own.unit);
                if !own.found.iter().any(|&(other, _)| other == place) {
                    own.found.push((place, None));
                }
            }
        }
        all
    }

    /// Returns the address register for an offset.
    fn find(&self, offset: i64) -> Option<DataPointer> {
        let place = offset.rem_euclid(self.unit);
        let found = self.found.iter().find(|&&(other, _)| other == place);
        found.and_then(|&(_, register)| register)
    }
}

struct Lowering {
    lowered: LoweredBlock,
    values: Vec<Option<DataValue>>,
    /// Register of every constant that is used.
    constants: Vec<Option<u8>>,
    /// Address registers of every pointer: see [`Places`].
    pointers: Vec<Places>,
}

impl Lowering {
    fn new(
        block: &LinearBlock,
        rows: &[ChosenRow],
        free: FreeRegisters,
    ) -> Result<Self, LackingRegisters> {
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
            pointers: Places::of(block, rows),
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
            let places = lowering.pointers.get_mut(index);
            for (_, register) in places.into_iter().flat_map(|places| &mut places.found) {
                let address = lowered.free.take_address();
                let address = address.ok_or(LackingRegisters::Addresses)?;
                let step = PointerStep::Bytes(own.step);
                let pointer = lowered.dataflow.pointer(address, step);
                lowered.pointers.push((pointer, index));
                *register = Some(pointer);
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
            let narrow = operand.kind == Kind::Pair;
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
                    immediate = Some(value);
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
            Some((self.pointers.get(pointer)?.find(offset)?, offset))
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
