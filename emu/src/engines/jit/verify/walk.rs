//! Recognises the code of pointers that walk round a buffer.
//!
//! Two sequences of instructions make such a walk safe. The first checks pointer `a`, step `s`,
//! buffer `b` and length `l` before the loop: if `a - b < l`, `s <= l`, all four are multiples of
//! `align`, `l <= size`, `b + low <= size` and `b + low + l <= last`, where `low` is not above 0,
//! then the pointer is inside the buffer. The second advances it to `a + s`, less `l` if that is at
//! or behind `b + l`: it is inside again. With `size` at most [`super::LARGEST`] no sum in this
//! wraps around.

use super::AccessibleMemory;
use super::LARGEST;
use super::ReachableCode;
use super::state::{AbstractState, AbstractValue, StorageLocation, SymbolicWord, ValueName};
use iced_x86::{Code, Instruction, OpKind, Register};

/// A buffer that has been checked for a walk in steps of `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct JudgedBuffer {
    step: SymbolicWord,
    base: SymbolicWord,
    length: SymbolicWord,
    low: i32,
    align: u32,
    last: u32,
}

impl JudgedBuffer {
    pub(super) fn names(&self) -> [ValueName; 3] {
        [self.step.name, self.base.name, self.length.name]
    }

    /// Returns the smallest and the largest address of a pointer inside the buffer.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        let first = u64::from(self.low.unsigned_abs());
        // The buffer's end is at most `last - low`, and the pointer is at least one alignment
        // before it.
        let end = u64::from(self.last) + first;
        Some((first, end.checked_sub(u64::from(self.align))?))
    }
}

/// A sequence that has been recognised.
pub(super) struct Walked {
    /// Targets of its branches for failing checks.
    pub left: Vec<u64>,
    /// Address behind the sequence.
    pub next: u64,
    /// Pointer that is now known to be inside a buffer.
    pub fact: Option<(SymbolicWord, JudgedBuffer)>,
}

/// Returns the sequence that begins at `at`, if there is one.
pub(super) fn pattern(
    function: &ReachableCode,
    at: u64,
    state: &mut AbstractState,
    memory: AccessibleMemory,
) -> Option<Walked> {
    judge(function, at, state, memory).or_else(|| walk(function, at, state))
}

/// Reads consecutive instructions and notes the targets of their branches.
struct InstructionReader<'a, I: Iterator<Item = &'a Instruction>> {
    rest: I,
    next: u64,
    left: Vec<u64>,
}

impl<'a, I: Iterator<Item = &'a Instruction>> InstructionReader<'a, I> {
    fn take_instruction(&mut self, code: Code) -> Option<&'a Instruction> {
        let instruction = self.rest.next()?;
        let follows = instruction.ip() == self.next && instruction.code() == code;
        self.next = instruction.next_ip();
        follows.then_some(instruction)
    }

    /// Reads an instruction on the scratch register and another one; returns the other.
    fn scratch(&mut self, code: Code) -> Option<Register> {
        let instruction = self.take_instruction(code)?;
        (instruction.op0_register() == Register::EAX).then(|| instruction.op1_register())
    }

    /// Reads an instruction with a constant; returns the constant if the register is the expected
    /// one.
    fn constant(&mut self, code: Code, register: Register) -> Option<u32> {
        let instruction = self.take_instruction(code)?;
        (instruction.op0_register() == register).then(|| instruction.immediate32())
    }

    fn leave(&mut self, code: Code) -> Option<()> {
        let target = self.take_instruction(code)?.near_branch_target();
        self.left.push(target);
        Some(())
    }
}

fn word(state: &AbstractState, register: Register) -> Option<SymbolicWord> {
    state
        .get(StorageLocation::Register(register.number() as u8))
        .word()
}

fn judge(
    function: &ReachableCode,
    at: u64,
    state: &AbstractState,
    memory: AccessibleMemory,
) -> Option<Walked> {
    use Code::{
        Add_r32_rm32, Cmp_r32_rm32, Cmp_rm32_imm32, Ja_rel32_64, Jae_rel32_64, Jne_rel32_64,
        Lea_r32_m, Mov_r32_rm32, Or_r32_rm32, Sub_r32_rm32, Test_rm32_imm32,
    };
    let mut r = InstructionReader {
        rest: function.instructions_from(at),
        next: at,
        left: Vec::new(),
    };
    let a = r.scratch(Mov_r32_rm32)?;
    let b = r.scratch(Sub_r32_rm32)?;
    let l = r.scratch(Cmp_r32_rm32)?;
    r.leave(Jae_rel32_64)?;
    let limit = r.take_instruction(Cmp_r32_rm32)?;
    let s = limit.op0_register();
    (limit.op1_register() == l).then_some(())?;
    r.leave(Ja_rel32_64)?;
    let all = [
        r.scratch(Mov_r32_rm32)?,
        r.scratch(Or_r32_rm32)?,
        r.scratch(Or_r32_rm32)?,
        r.scratch(Or_r32_rm32)?,
    ];
    (all == [a, s, b, l]).then_some(())?;
    let align = r.constant(Test_rm32_imm32, Register::EAX)?.checked_add(1)?;
    r.leave(Jne_rel32_64)?;
    let size = r.constant(Cmp_rm32_imm32, l)?;
    r.leave(Ja_rel32_64)?;
    let lea = r.take_instruction(Lea_r32_m)?;
    let plain = lea.op0_register() == Register::EAX
        && lea.memory_base().number() == b.number()
        && lea.memory_index() == Register::None;
    plain.then_some(())?;
    let low = lea.memory_displacement64() as i32;
    (r.constant(Cmp_rm32_imm32, Register::EAX)? == size).then_some(())?;
    r.leave(Ja_rel32_64)?;
    (r.scratch(Add_r32_rm32)? == l).then_some(())?;
    let last = r.constant(Cmp_rm32_imm32, Register::EAX)?;
    r.leave(Ja_rel32_64)?;
    let sound = align.is_power_of_two()
        && size <= LARGEST
        && size <= memory.dmem
        && (-(LARGEST as i32)..=0).contains(&low)
        && last <= LARGEST;
    sound.then_some(())?;
    let walk = JudgedBuffer {
        step: word(state, s)?,
        base: word(state, b)?,
        length: word(state, l)?,
        low,
        align,
        last,
    };
    Some(Walked {
        left: r.left,
        next: r.next,
        fact: Some((word(state, a)?, walk)),
    })
}

fn walk(function: &ReachableCode, at: u64, state: &mut AbstractState) -> Option<Walked> {
    let mut r = InstructionReader {
        rest: function.instructions_from(at),
        next: at,
        left: Vec::new(),
    };
    let lea = r.take_instruction(Code::Lea_r32_m)?;
    let d = lea.op0_register();
    (lea.memory_index_scale() == 1 && lea.memory_displacement64() == 0).then_some(())?;
    let (a, s) = (lea.memory_base(), lea.memory_index());
    (s != Register::None).then_some(())?;
    let end = r.take_instruction(Code::Cmp_r32_rm32)?;
    (end.op0_register() == d && end.op1_kind() == OpKind::Register).then_some(())?;
    let inside = r.take_instruction(Code::Jb_rel32_64)?.near_branch_target();
    let back = r.take_instruction(Code::Sub_r32_rm32)?;
    (back.op0_register() == d && inside == r.next).then_some(())?;
    // The register that is written first must not be an operand of the later instructions.
    let (e, l) = (end.op1_register(), back.op1_register());
    (d != e && d != l).then_some(())?;
    let (pointer, step) = (
        word(state, a.full_register32())?,
        word(state, s.full_register32())?,
    );
    let (end, length) = (word(state, e)?, word(state, l)?);
    let walks: Vec<JudgedBuffer> = state
        .walks(pointer)
        .into_iter()
        .filter(|w| w.step == step && w.length == length)
        .filter(|w| state.is_sum(end, (w.base, w.length)))
        .collect();
    (!walks.is_empty()).then_some(())?;
    let made = state.name_result(lea.ip());
    // Walks that depend on the name's old value do not hold any more.
    let same = |walk: &JudgedBuffer| walk.names().into_iter().all(|name| name != made.name);
    for walk in walks.into_iter().filter(same) {
        state.record_judgement((made, walk));
    }
    state.set_value(
        StorageLocation::Register(d.number() as u8),
        AbstractValue::Word(made),
    );
    state.compare(None);
    Some(Walked {
        left: Vec::new(),
        next: r.next,
        fact: None,
    })
}
