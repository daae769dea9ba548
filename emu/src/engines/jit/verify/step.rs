//! Abstract effect of one instruction that does not branch.

use super::AccessibleMemory;
use super::RefusedInstruction;
use super::state::{AbstractState, AbstractValue, StorageLocation, SymbolicWord, ValueName};
use crate::core::layout::{COLUMNS, RegisterFile, Shared};
use crate::engines::jit::asm;
use crate::engines::jit::code_frame::{CodeFrame, PASSES, SCALARS, VECTORS};
use iced_x86::{
    Code, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};

/// Registers that belong to the caller. They are listed here again: a verifier that took the list
/// from the code under test would not notice a register missing there.
const SAVED: [Register; 6] = [
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Second operand of a `mov` or an arithmetic instruction.
enum SecondOperand {
    Value(AbstractValue),
    Constant(u32),
}

pub(super) fn step(
    instruction: &Instruction,
    state: &mut AbstractState,
    memory: AccessibleMemory,
    infos: &mut InstructionInfoFactory,
) -> Result<(), RefusedInstruction> {
    let at = instruction.ip();
    match instruction.mnemonic() {
        Mnemonic::Push => {
            let register = instruction.op0_register();
            state.push(register);
            return saved(register, at);
        }
        Mnemonic::Pop => {
            let register = instruction.op0_register();
            state.set_value(place(register), AbstractValue::Wide);
            return state.pop(register, at);
        }
        Mnemonic::Vzeroupper => {
            state.touches_upper(false);
            return Ok(());
        }
        _ => {}
    }
    let info = infos.info(instruction);
    for used in info.used_memory() {
        access(used, state, memory, at)?;
    }
    let mut written = Vec::new();
    for used in info.used_registers() {
        let register = used.register();
        if matches!(used.access(), OpAccess::Read | OpAccess::CondRead) {
            continue;
        }
        if register.is_vector_register() {
            state.touches_upper(true);
        } else if register.is_gpr() {
            allowed(register, state, at)?;
            written.push(register);
        }
    }
    let flags = instruction.rflags_modified() != 0;
    let made = result(instruction, state);
    let compared = comparison(instruction, state);
    let first = instruction.op0_register();
    for register in written {
        // A 32-bit result clears the upper half, so that the whole register counts as written.
        let clears = first.is_gpr32() && first.full_register() == register.full_register();
        let value = match made {
            _ if !clears => AbstractValue::Wide,
            Some(value) => value,
            None => {
                let word = state.name_result(at);
                if let Some(of) = added(instruction, state) {
                    state.sum(word.name, of);
                }
                AbstractValue::Word(word)
            }
        };
        state.set_value(place(register), value);
    }
    if flags {
        state.compare(compared);
    }
    apply_store(instruction, state)
}

fn place(register: Register) -> StorageLocation {
    StorageLocation::Register(register.full_register().number() as u8)
}

fn saved(register: Register, at: u64) -> Result<(), RefusedInstruction> {
    if SAVED.contains(&register) {
        return Ok(());
    }
    Err(RefusedInstruction::new(at, format!("pushes {register:?}")))
}

/// Returns an error if a general register must not be written here.
fn allowed(register: Register, state: &AbstractState, at: u64) -> Result<(), RefusedInstruction> {
    let full = register.full_register();
    let fixed = [
        asm::FILE,
        asm::DMEM,
        asm::SCALARS,
        asm::FRAME,
        Register::RSP,
    ];
    if fixed.contains(&full) || SAVED.contains(&full) && !state.is_saved(full) {
        return Err(RefusedInstruction::new(at, format!("writes {register:?}")));
    }
    Ok(())
}

/// Returns an error unless the whole access is inside the region that its base points to.
fn access(
    used: &UsedMemory,
    state: &AbstractState,
    memory: AccessibleMemory,
    at: u64,
) -> Result<(), RefusedInstruction> {
    // A prefetch neither reads nor writes.
    if used.access() == OpAccess::NoMemAccess {
        return Ok(());
    }
    let bytes = used.memory_size().size() as i64;
    let first = used.displacement() as i64;
    let inside = |limit: usize| first >= 0 && first + bytes <= limit as i64;
    let writes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
    let plain = used.index() == Register::None;
    let fits = match used.base() {
        asm::FILE => plain && inside(size_of::<RegisterFile>()),
        asm::SCALARS => plain && inside(size_of::<Shared>()),
        asm::FRAME => {
            let kept = first >= VECTORS || first == PASSES && bytes == 8;
            plain && inside(std::mem::offset_of!(CodeFrame, simd)) && (kept || !writes)
        }
        asm::DMEM => return dmem(used, state, memory, at),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(RefusedInstruction::new(at, format!("accesses {used:?}")))
}

/// Returns an error unless the whole access to DMEM is inside it.
fn dmem(
    used: &UsedMemory,
    state: &AbstractState,
    memory: AccessibleMemory,
    at: u64,
) -> Result<(), RefusedInstruction> {
    let bytes = used.memory_size().size() as i64;
    let first = used.displacement() as i64;
    let end = i64::from(memory.dmem) * COLUMNS as i64;
    let index = used.index();
    let fits = used.scale() == COLUMNS as u32
        && index.is_gpr64()
        && state
            .get(place(index))
            .word()
            .and_then(|word| state.range(word))
            .is_some_and(|(low, high)| {
                let of = |address: u64| COLUMNS as i64 * address as i64 + first;
                of(low) >= 0 && of(high) + bytes <= end
            });
    if fits {
        return Ok(());
    }
    Err(RefusedInstruction::new(
        at,
        format!("no check covers {used:?}"),
    ))
}

/// Returns the location of a scalar operand in memory.
fn memory_place(instruction: &Instruction) -> Option<StorageLocation> {
    let at = u32::try_from(instruction.memory_displacement64()).ok();
    let at = at.filter(|at| at % 4 == 0)?;
    match instruction.memory_base() {
        asm::SCALARS => Some(StorageLocation::Scalar(at)),
        asm::FRAME => Some(StorageLocation::Frame(at)),
        _ => None,
    }
}

/// Returns the second operand of a 32-bit instruction.
fn operand(instruction: &Instruction, state: &AbstractState) -> Option<SecondOperand> {
    let second = instruction.op1_kind();
    match second {
        OpKind::Register => {
            let register = instruction.op1_register();
            (register.is_gpr32()).then(|| SecondOperand::Value(state.get(place(register))))
        }
        OpKind::Memory => {
            let place = memory_place(instruction)?;
            Some(SecondOperand::Value(state.get(place)))
        }
        OpKind::Immediate32 | OpKind::Immediate8 | OpKind::Immediate8to32 => {
            Some(SecondOperand::Constant(instruction.immediate(1) as u32))
        }
        _ => None,
    }
}

/// Returns the result of an instruction, if more is known of it than that it is some value.
fn result(instruction: &Instruction, state: &AbstractState) -> Option<AbstractValue> {
    let first = || match state.get(place(instruction.op0_register())) {
        AbstractValue::Word(word) => Some(word),
        _ => None,
    };
    let plus = |word: SymbolicWord, add: u32| {
        AbstractValue::Word(SymbolicWord {
            add: word.add.wrapping_add(add),
            ..word
        })
    };
    if !instruction.op0_register().is_gpr32() {
        return None;
    }
    match instruction.mnemonic() {
        Mnemonic::Mov => match operand(instruction, state)? {
            SecondOperand::Value(value @ AbstractValue::Word(_)) => Some(value),
            SecondOperand::Value(_) => None,
            SecondOperand::Constant(add) => Some(AbstractValue::Word(SymbolicWord {
                name: ValueName::Zero,
                add,
            })),
        },
        Mnemonic::Lea if instruction.memory_index() == Register::None => {
            let base = state.get(place(instruction.memory_base())).word()?;
            Some(plus(base, instruction.memory_displacement64() as u32))
        }
        Mnemonic::Add => match operand(instruction, state)? {
            SecondOperand::Constant(add) => Some(plus(first()?, add)),
            SecondOperand::Value(_) => None,
        },
        Mnemonic::Sub => match operand(instruction, state)? {
            SecondOperand::Constant(less) => Some(plus(first()?, less.wrapping_neg())),
            SecondOperand::Value(_) => None,
        },
        Mnemonic::Rorx if instruction.op1_kind() == OpKind::Register => {
            let word = state.get(place(instruction.op1_register())).word()?;
            Some(AbstractValue::Rotated(
                word,
                instruction.immediate(2) as u32 % 32,
            ))
        }
        Mnemonic::Ror => match operand(instruction, state)? {
            SecondOperand::Constant(by) => Some(AbstractValue::Rotated(first()?, by % 32)),
            SecondOperand::Value(_) => None,
        },
        _ => None,
    }
}

/// Returns the words whose sum an addition of registers computes.
fn added(instruction: &Instruction, state: &AbstractState) -> Option<(SymbolicWord, SymbolicWord)> {
    if instruction.code() != Code::Add_r32_rm32 {
        return None;
    }
    let first = state.get(place(instruction.op0_register())).word()?;
    match operand(instruction, state)? {
        SecondOperand::Value(AbstractValue::Word(second)) => Some((first, second)),
        _ => None,
    }
}

/// Returns the compared value and the constant that it is compared with.
fn comparison(instruction: &Instruction, state: &AbstractState) -> Option<(AbstractValue, u32)> {
    if instruction.mnemonic() != Mnemonic::Cmp || !instruction.op0_register().is_gpr32() {
        return None;
    }
    let value = state.get(place(instruction.op0_register()));
    match operand(instruction, state)? {
        SecondOperand::Constant(with) => Some((value, with)),
        SecondOperand::Value(AbstractValue::Word(SymbolicWord {
            name: ValueName::Zero,
            add,
        })) => Some((value, add)),
        SecondOperand::Value(_) => None,
    }
}

/// Updates the scalars and the frame after a store.
fn apply_store(
    instruction: &Instruction,
    state: &mut AbstractState,
) -> Result<(), RefusedInstruction> {
    if instruction.op0_kind() != OpKind::Memory {
        return Ok(());
    }
    let Some(place) = memory_place(instruction) else {
        return match instruction.memory_base() {
            asm::SCALARS | asm::FRAME => {
                Err(RefusedInstruction::new(instruction.ip(), "an uneven place"))
            }
            _ => Ok(()),
        };
    };
    let bytes = instruction.memory_size().size() as u32;
    match (place, instruction.mnemonic()) {
        (_, Mnemonic::Test | Mnemonic::Cmp) => {}
        (_, Mnemonic::Mov) if bytes == 4 => {
            let value = match operand(instruction, state) {
                Some(SecondOperand::Value(value @ AbstractValue::Word(_))) => value,
                _ => AbstractValue::Any,
            };
            state.set_value(place, value);
        }
        (StorageLocation::Frame(at), _) if bytes == 8 && i64::from(at) == PASSES => {}
        // Vectors must stay outside the slots of scalars.
        (StorageLocation::Frame(at), _) => {
            let (first, end) = (i64::from(at), i64::from(at + bytes));
            let kept = i64::from(super::super::code_frame::KEPT as u32);
            if first < kept && end > SCALARS {
                return Err(RefusedInstruction::new(
                    instruction.ip(),
                    "a vector in the scalars' slots",
                ));
            }
        }
        _ => {
            return Err(RefusedInstruction::new(
                instruction.ip(),
                "stores something else than a word to a scalar",
            ));
        }
    }
    Ok(())
}
