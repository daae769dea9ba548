//! A segment as a function: what surrounds its instructions.

use super::asm::{self, Asm};
use super::build::Segment;
use super::frame;
use super::ir::Class;
use super::lower::{Lower, Order, Refusal, SCALAR_REGISTERS};
use super::rounds::Carried;
use iced_x86::{Code, Instruction, Register};

/// Scalar registers that need no saving come first; these follow them.
const FREE: usize = 2;
/// The caller's registers of the calling convention among the scalar registers.
const SAVED: [Register; 6] = [
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];
const _: () = assert!(SCALAR_REGISTERS.len() == FREE + SAVED.len());

/// Emits a segment as a function. Returns where it begins.
///
/// The function returns the passes completed. Its beginning stands at its end:
/// only there is it known which registers are to be saved.
pub(super) fn function(asm: &mut Asm, segment: &Segment) -> Result<usize, Refusal> {
    let begin = asm.at();
    let (used, failed) = if segment.looping {
        looping(asm, segment)?
    } else {
        straight(asm, segment)?
    };
    if !segment.looping {
        asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, 1u32));
    }
    let leave = asm.at();
    let lists = [&segment.body, &segment.exit];
    let vector = |id: &u32| segment.vectors.arena.get(*id).class() == Some(Class::Vector);
    if lists.iter().any(|list| list.iter().any(vector)) {
        asm.put(Ok(Instruction::with(Code::VEX_Vzeroupper)));
    }
    let saved: Vec<Register> = (0..SAVED.len())
        .filter(|i| used >> (FREE + i) & 1 != 0)
        .map(|i| SAVED[i])
        .collect();
    for register in saved.iter().rev() {
        asm.put(Instruction::with1(Code::Pop_r64, *register));
    }
    asm.put(Ok(Instruction::with(Code::Retnq)));
    // Where a check failed before anything was done.
    for hole in failed {
        asm.land(hole);
    }
    asm.put(Instruction::with2(
        Code::Xor_r32_rm32,
        Register::EAX,
        Register::EAX,
    ));
    asm.branch(Code::Jmp_rel32_64, leave);
    let entry = asm.at();
    for register in &saved {
        asm.put(Instruction::with1(Code::Push_r64, *register));
    }
    asm.branch(Code::Jmp_rel32_64, begin);
    Ok(entry)
}

/// Scalar registers used, and the branches of checks before anything was done.
type Body = (u32, Vec<asm::Hole>);

fn straight(asm: &mut Asm, segment: &Segment) -> Result<Body, Refusal> {
    let order = Order {
        insts: [&segment.top[..], &segment.body].concat(),
        end: usize::MAX,
    };
    let mut lower = Lower::new(asm, segment, &order, &[]);
    for (position, id) in order.insts.iter().enumerate() {
        lower.inst(position, *id)?;
    }
    Ok((lower.scalars_used, lower.holes))
}

fn looping(asm: &mut Asm, segment: &Segment) -> Result<Body, Refusal> {
    asm.put(Instruction::with2(
        Code::Mov_rm64_r64,
        asm::mem(asm::FRAME, frame::PASSES),
        asm::LEFT,
    ));
    // The first pass's checks, while nothing has been done.
    let order = Order {
        insts: [&segment.top[..], &segment.enter].concat(),
        end: usize::MAX,
    };
    let mut first = Lower::new(asm, segment, &order, &[]);
    for (position, id) in order.insts.iter().enumerate() {
        first.inst(position, *id)?;
    }
    let (mut used, nothing) = (first.scalars_used, first.holes);

    let carried: &[Carried] = &segment.carried;
    let end = segment.top.len() + segment.body.len();
    let order = Order {
        insts: [&segment.top[..], &segment.body, &segment.exit].concat(),
        end,
    };
    let mut lower = Lower::new(asm, segment, &order, carried);
    lower.enter(carried);
    let head = lower.asm.at();
    for (position, id) in order.insts[..end].iter().enumerate() {
        lower.inst(position, *id)?;
    }
    lower.close(carried)?;
    lower.asm.put(Instruction::with1(Code::Dec_rm64, asm::LEFT));
    lower.asm.branch(Code::Jne_rel32_64, head);
    // A check of a later pass comes here too: that pass has not begun.
    for hole in std::mem::take(&mut lower.holes) {
        lower.asm.land(hole);
    }
    for (position, id) in order.insts.iter().enumerate().skip(end) {
        lower.inst(position, *id)?;
    }
    used |= lower.scalars_used;
    asm.put(Instruction::with2(
        Code::Mov_r64_rm64,
        Register::RAX,
        asm::mem(asm::FRAME, frame::PASSES),
    ));
    asm.put(Instruction::with2(
        Code::Sub_r64_rm64,
        Register::RAX,
        asm::LEFT,
    ));
    Ok((used, nothing))
}
