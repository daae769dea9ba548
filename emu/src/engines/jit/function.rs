//! Functions made of segments: entry, exits, saved registers and loops.

use super::asm::{self, Asm};
use super::build::BuiltSegment;
use super::code_frame;
use super::ir::{Id, RegisterClass};
use super::loop_passes::CarriedVector;
use super::lower::{InstructionOrder, Lower, LoweringRefusal, SCALAR_REGISTERS};
use iced_x86::{Code, Instruction, Register};

/// Number of scalar registers that need no saving; they come first, and [`SAVED`] follow them.
const FREE: usize = 2;
/// Scalar registers that the calling convention requires a function to save.
const SAVED: [Register; 6] = [
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];
const _: () = assert!(SCALAR_REGISTERS.len() == FREE + SAVED.len());

/// A part of a chain.
pub(super) enum Link {
    /// A segment and the number of its words.
    Segment(Box<BuiltSegment>, u32),
    /// A branch that stays in the block if some bits of a scalar are all zero, or if they are not,
    /// as `zero` says.
    Guard { scalar: u8, bits: u32, zero: bool },
}

/// Branches to an exit, and the value that the function returns there.
type Exits = (Vec<asm::Hole>, u32);

/// Emits consecutive segments and guards as a function and returns its entry.
///
/// The function returns the number of words completed: all, or those before a segment one of whose
/// checks fails, or those before a branch that leaves the block.
pub(super) fn chain(asm: &mut Asm, links: &[Link]) -> Result<usize, LoweringRefusal> {
    let begin = asm.current_position();
    let (mut used, mut done, mut vectors) = (0, 0, false);
    let mut exits = Vec::new();
    for link in links {
        match link {
            Link::Segment(segment, words) => {
                let (scalars, holes) = lower_straight(asm, segment)?;
                used |= scalars;
                vectors |= uses_vectors(segment);
                exits.push((holes, done));
                done += words;
            }
            Link::Guard { scalar, bits, zero } => {
                let register = asm::mem(asm::SCALARS, 4 * i64::from(*scalar));
                asm.encode_instruction(Instruction::with2(Code::Test_rm32_imm32, register, *bits));
                let leaves = if *zero {
                    Code::Jne_rel32_64
                } else {
                    Code::Je_rel32_64
                };
                exits.push((vec![asm.branch_later(leaves)], done));
            }
        }
    }
    asm.encode_instruction(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, done));
    Ok(surround(asm, begin, used, vectors, exits))
}

/// Emits a segment that is a loop's whole body as a function that returns the number of passes
/// completed. Returns its entry.
pub(super) fn repeated(asm: &mut Asm, segment: &BuiltSegment) -> Result<usize, LoweringRefusal> {
    let begin = asm.current_position();
    let (used, failed) = looping(asm, segment)?;
    let vectors = uses_vectors(segment);
    Ok(surround(asm, begin, used, vectors, vec![(failed, 0)]))
}

fn uses_vectors(segment: &BuiltSegment) -> bool {
    let arena = &segment.vectors.arena;
    let class = |id: u32| arena.get(id).class() == Some(RegisterClass::Vector);
    // An instruction without a vector result may still store a vector.
    let vector = |id: &u32| class(*id) || arena.get(*id).uses().into_iter().flatten().any(class);
    [&segment.body, &segment.exit]
        .iter()
        .any(|list| list.iter().any(vector))
}

/// Emits the exits behind a function's body, whose result is in `rax`, and the function's entry.
/// The entry comes last, because only then is it known which registers must be saved.
fn surround(asm: &mut Asm, begin: usize, used: u32, vectors: bool, exits: Vec<Exits>) -> usize {
    let leave = asm.current_position();
    if vectors {
        asm.encode_instruction(Ok(Instruction::with(Code::VEX_Vzeroupper)));
    }
    let saved: Vec<Register> = (0..SAVED.len())
        .filter(|i| used >> (FREE + i) & 1 != 0)
        .map(|i| SAVED[i])
        .collect();
    for register in saved.iter().rev() {
        asm.encode_instruction(Instruction::with1(Code::Pop_r64, *register));
    }
    asm.encode_instruction(Ok(Instruction::with(Code::Retnq)));
    for (holes, result) in exits {
        if holes.is_empty() {
            continue;
        }
        for hole in holes {
            asm.land_branch(hole);
        }
        asm.encode_instruction(Instruction::with2(
            Code::Mov_r32_imm32,
            Register::EAX,
            result,
        ));
        asm.branch(Code::Jmp_rel32_64, leave);
    }
    let entry = asm.current_position();
    for register in &saved {
        asm.encode_instruction(Instruction::with1(Code::Push_r64, *register));
    }
    asm.branch(Code::Jmp_rel32_64, begin);
    entry
}

/// Scalar registers used, as bits, and the branches of checks that fail before anything was done.
type FunctionBody = (u32, Vec<asm::Hole>);

fn lower_straight(asm: &mut Asm, segment: &BuiltSegment) -> Result<FunctionBody, LoweringRefusal> {
    asm.form = segment.vectors.form;
    list(asm, segment, &[&segment.top, &segment.body])
}

/// Emits lists one after the other, without a loop.
fn list(
    asm: &mut Asm,
    segment: &BuiltSegment,
    lists: &[&Vec<Id>],
) -> Result<FunctionBody, LoweringRefusal> {
    let order = InstructionOrder {
        insts: lists.iter().flat_map(|list| list.iter().copied()).collect(),
        end: usize::MAX,
    };
    let mut lower = Lower::new(asm, segment, &order, &[]);
    for (position, id) in order.insts.iter().enumerate() {
        lower.inst(position, *id)?;
    }
    Ok((lower.scalars_used, lower.holes))
}

fn looping(asm: &mut Asm, segment: &BuiltSegment) -> Result<FunctionBody, LoweringRefusal> {
    asm.form = segment.vectors.form;
    asm.encode_instruction(Instruction::with2(
        Code::Mov_rm64_r64,
        asm::mem(asm::FRAME, code_frame::PASSES),
        asm::LEFT,
    ));
    // Checks of the first pass, while nothing has been done.
    let (mut used, mut nothing) = match &segment.ends {
        Some(_) if segment.enter.is_empty() => (0, Vec::new()),
        _ => list(asm, segment, &[&segment.top, &segment.enter])?,
    };
    let mut skip = Vec::new();
    if let Some(ends) = &segment.ends {
        // The whole first pass: its checks precede its effects.
        let (scalars, holes) = lower_straight(asm, &ends.first)?;
        used |= scalars;
        nothing.extend(holes);
        asm.encode_instruction(Instruction::with1(Code::Dec_rm64, asm::LEFT));
        skip.push(asm.branch_later(Code::Je_rel32_64));
        // The loop's exit requires a pass of the loop. Where the checks of the second pass fail,
        // both are skipped.
        let (scalars, holes) = list(asm, segment, &[&segment.top])?;
        used |= scalars;
        skip.extend(holes);
    }
    let carried: &[CarriedVector] = &segment.carried;
    let end = segment.top.len() + segment.body.len();
    let order = InstructionOrder {
        insts: [&segment.top[..], &segment.body, &segment.exit].concat(),
        end,
    };
    let mut lower = Lower::new(asm, segment, &order, carried);
    lower.enter(carried);
    let head = lower.asm.current_position();
    for (position, id) in order.insts[..end].iter().enumerate() {
        lower.inst(position, *id)?;
    }
    lower.close(carried)?;
    lower
        .asm
        .encode_instruction(Instruction::with1(Code::Dec_rm64, asm::LEFT));
    lower.asm.branch(Code::Jne_rel32_64, head);
    // Failed checks of later passes come here too: their pass has not begun.
    for hole in std::mem::take(&mut lower.holes) {
        lower.asm.land_branch(hole);
    }
    for (position, id) in order.insts.iter().enumerate().skip(end) {
        lower.inst(position, *id)?;
    }
    used |= lower.scalars_used;
    if let Some(ends) = &segment.ends {
        for hole in skip {
            asm.land_branch(hole);
        }
        used |= lower_straight(asm, &ends.last)?.0;
    }
    asm.encode_instruction(Instruction::with2(
        Code::Mov_r64_rm64,
        Register::RAX,
        asm::mem(asm::FRAME, code_frame::PASSES),
    ));
    asm.encode_instruction(Instruction::with2(
        Code::Sub_r64_rm64,
        Register::RAX,
        asm::LEFT,
    ));
    Ok((used, nothing))
}
