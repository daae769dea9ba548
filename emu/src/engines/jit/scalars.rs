//! Host instructions of scalars, addresses and checks.

use super::asm::{self, Asm, DMEM, FRAME, Hole, TEMP, TEMP2, mem};
use super::code_frame;
use super::ir::{DmemAddress, IrInstruction};
use super::lower::SCALAR_REGISTERS;
use super::select::EncodedInstruction;
use crate::semantics::scalar::Binary;
use iced_x86::{Code, Instruction, MemoryOperand, Register};

fn scalar(register: u8) -> Register {
    SCALAR_REGISTERS[usize::from(register) % SCALAR_REGISTERS.len()]
}

/// Returns the 64-bit name of a 32-bit register.
fn wide(register: Register) -> Register {
    Register::RAX + (register as u32 - Register::EAX as u32)
}

/// Returns the operand of DMEM at a checked address. Four sections' words lie side by side, so that
/// host offsets are four times the guest's.
pub(super) fn dmem(at: DmemAddress, base: u8) -> MemoryOperand {
    let displacement = 4 * i64::from(at.offset);
    MemoryOperand::with_base_index_scale_displ_size(DMEM, wide(scalar(base)), 4, displacement, 1)
}

/// Encodes an instruction on scalars; adds the branches of failing checks to `failed`.
pub(super) fn encode(
    asm: &mut Asm,
    inst: &IrInstruction,
    d: u8,
    r: [u8; 4],
    failed: &mut Vec<Hole>,
) {
    let [a, b, ..] = r;
    let x = scalar;
    match *inst {
        IrInstruction::Scalar(i) => asm.encode_instruction(Instruction::with2(
            Code::Mov_r32_rm32,
            x(d),
            mem(asm::SCALARS, 4 * i64::from(i)),
        )),
        IrInstruction::SetScalar(i, _) => asm.encode_instruction(Instruction::with2(
            Code::Mov_rm32_r32,
            mem(asm::SCALARS, 4 * i64::from(i)),
            x(a),
        )),
        IrInstruction::Immediate(bits) => {
            asm.encode_instruction(Instruction::with2(Code::Mov_r32_imm32, x(d), bits));
        }
        IrInstruction::Offset(_, add) => asm.encode_instruction(sum(x(d), x(a), add)),
        IrInstruction::LoadWord(at) => {
            asm.encode_instruction(Instruction::with2(Code::Mov_r32_rm32, x(d), dmem(at, a)))
        }
        IrInstruction::Compute(function, ..) => {
            let code = match function {
                Binary::Add => Code::Add_r32_rm32,
                Binary::Sub => Code::Sub_r32_rm32,
                Binary::Mul => Code::Imul_r32_rm32,
                Binary::And => Code::And_r32_rm32,
                Binary::Or => Code::Or_r32_rm32,
                // Guests shift by constants only.
                Binary::Shl | Binary::Shr | Binary::Sar => Code::INVALID,
            };
            asm.encode_instruction(move_scalar(x(d), x(a)));
            asm.encode_instruction(Instruction::with2(code, x(d), x(b)));
        }
        IrInstruction::ComputeWith(function, _, bits) => {
            let code = match function {
                Binary::Add => Code::Add_rm32_imm32,
                Binary::Sub => Code::Sub_rm32_imm32,
                Binary::And => Code::And_rm32_imm32,
                Binary::Or => Code::Or_rm32_imm32,
                Binary::Mul => Code::Imul_r32_rm32_imm32,
                Binary::Shl => Code::Shl_rm32_imm8,
                Binary::Shr => Code::Shr_rm32_imm8,
                Binary::Sar => Code::Sar_rm32_imm8,
            };
            if function == Binary::Mul {
                asm.encode_instruction(Instruction::with3(code, x(d), x(a), bits));
            } else {
                asm.encode_instruction(move_scalar(x(d), x(a)));
                asm.encode_instruction(Instruction::with2(code, x(d), bits));
            }
        }
        IrInstruction::Modulo(..) => modulo(asm, d, r),
        IrInstruction::Reverse(_, _, bytes) => reverse(asm, d, a, b, bytes),
        IrInstruction::Check {
            low, align, last, ..
        } => {
            // Rotated, an unaligned address is a large number, so that one comparison checks
            // alignment and range.
            let log = align.trailing_zeros();
            if low == 0 {
                let rotate = Code::VEX_Rorx_r32_rm32_imm8;
                asm.encode_instruction(Instruction::with3(rotate, TEMP, x(a), log));
            } else {
                asm.encode_instruction(sum(TEMP, x(a), low));
                asm.encode_instruction(Instruction::with2(Code::Ror_rm32_imm8, TEMP, log));
            }
            asm.encode_instruction(Instruction::with2(Code::Cmp_rm32_imm32, TEMP, last >> log));
            failed.push(asm.branch_later(Code::Ja_rel32_64));
        }
        IrInstruction::Enter {
            low,
            align,
            size,
            last,
            ..
        } => enter(asm, r, (low, align), (size, last), failed),
        IrInstruction::Walk(..) => walk(asm, d, r),
        // Vector instructions are encoded in `select`.
        _ => asm.encode_instruction(Ok(Instruction::default())),
    }
}

fn move_scalar(d: Register, a: Register) -> EncodedInstruction {
    Instruction::with2(Code::Mov_r32_rm32, d, a)
}

fn sum(d: Register, a: Register, add: i32) -> EncodedInstruction {
    Instruction::with2(Code::Lea_r32_m, d, mem(wide(a), i64::from(add)))
}

/// Encodes [`crate::semantics::address::modulo`], with the case that does not wrap first:
///
/// `d = a + s; t = d - b`; unless `0 <= t < l`, `d += l` if `t < 0`, else `d -= l`.
fn modulo(asm: &mut Asm, d: u8, [a, s, b, l]: [u8; 4]) {
    let x = scalar;
    let both = MemoryOperand::with_base_index(wide(x(a)), wide(x(s)));
    asm.encode_instruction(Instruction::with2(Code::Lea_r32_m, x(d), both));
    asm.encode_instruction(move_scalar(TEMP, x(d)));
    asm.encode_instruction(Instruction::with2(Code::Sub_r32_rm32, TEMP, x(b)));
    asm.encode_instruction(Instruction::with2(Code::Cmp_r32_rm32, TEMP, x(l)));
    let beyond = asm.branch_later(Code::Jae_rel32_64);
    asm.encode_instruction(Instruction::with2(Code::Test_rm32_r32, TEMP, TEMP));
    let inside = asm.branch_later(Code::Jns_rel32_64);
    asm.land_branch(beyond);
    asm.encode_instruction(move_scalar(TEMP2, x(l)));
    asm.encode_instruction(Instruction::with1(Code::Neg_rm32, TEMP2));
    asm.encode_instruction(Instruction::with2(Code::Test_rm32_r32, TEMP, TEMP));
    asm.encode_instruction(Instruction::with2(Code::Cmovs_r32_rm32, TEMP2, x(l)));
    asm.encode_instruction(Instruction::with2(Code::Add_r32_rm32, x(d), TEMP2));
    asm.land_branch(inside);
}

/// Encodes a walk inside a buffer: `d = a + s`, less `l` if that is at or behind `end`.
fn walk(asm: &mut Asm, d: u8, [a, s, end, l]: [u8; 4]) {
    let x = scalar;
    let both = MemoryOperand::with_base_index(wide(x(a)), wide(x(s)));
    asm.encode_instruction(Instruction::with2(Code::Lea_r32_m, x(d), both));
    asm.encode_instruction(Instruction::with2(Code::Cmp_r32_rm32, x(d), x(end)));
    let inside = asm.branch_later(Code::Jb_rel32_64);
    asm.encode_instruction(Instruction::with2(Code::Sub_r32_rm32, x(d), x(l)));
    asm.land_branch(inside);
}

/// Encodes [`IrInstruction::Enter`].
fn enter(
    asm: &mut Asm,
    [a, s, b, l]: [u8; 4],
    (low, align): (i32, u32),
    (size, last): (u32, u32),
    failed: &mut Vec<Hole>,
) {
    let x = scalar;
    let put =
        |asm: &mut Asm, code, r, other| asm.encode_instruction(Instruction::with2(code, r, other));
    // Check `a - b < l`, unsigned.
    put(asm, Code::Mov_r32_rm32, TEMP, x(a));
    put(asm, Code::Sub_r32_rm32, TEMP, x(b));
    put(asm, Code::Cmp_r32_rm32, TEMP, x(l));
    failed.push(asm.branch_later(Code::Jae_rel32_64));
    // Check `s <= l`.
    put(asm, Code::Cmp_r32_rm32, x(s), x(l));
    failed.push(asm.branch_later(Code::Ja_rel32_64));
    // Check that all four are aligned.
    put(asm, Code::Mov_r32_rm32, TEMP, x(a));
    for other in [s, b, l] {
        put(asm, Code::Or_r32_rm32, TEMP, x(other));
    }
    asm.encode_instruction(Instruction::with2(Code::Test_rm32_imm32, TEMP, align - 1));
    failed.push(asm.branch_later(Code::Jne_rel32_64));
    // Check `l <= size` and `b + low <= size`, so that the sum below does not wrap around.
    asm.encode_instruction(Instruction::with2(Code::Cmp_rm32_imm32, x(l), size));
    failed.push(asm.branch_later(Code::Ja_rel32_64));
    asm.encode_instruction(sum(TEMP, x(b), low));
    asm.encode_instruction(Instruction::with2(Code::Cmp_rm32_imm32, TEMP, size));
    failed.push(asm.branch_later(Code::Ja_rel32_64));
    // Check the buffer's end: `b + low + l <= last`.
    put(asm, Code::Add_r32_rm32, TEMP, x(l));
    asm.encode_instruction(Instruction::with2(Code::Cmp_rm32_imm32, TEMP, last));
    failed.push(asm.branch_later(Code::Ja_rel32_64));
}

/// Encodes [`crate::semantics::address::reverse`], an addition whose carry goes from high bits to
/// low ones. With `index` the bits above the access size and `rev` the reversal of 32 bits:
///
/// `d = (a & !index) | (rev(rev(a & index) + rev(s & index)) & index)`
fn reverse(asm: &mut Asm, d: u8, a: u8, s: u8, bytes: u32) {
    let index = !bytes.wrapping_sub(1);
    let and = |asm: &mut Asm, r: Register, bits: u32| {
        asm.encode_instruction(Instruction::with2(Code::And_rm32_imm32, r, bits));
    };
    for (temp, source) in [(TEMP, a), (TEMP2, s)] {
        asm.encode_instruction(move_scalar(temp, scalar(source)));
        and(asm, temp, index);
        reverse_bits(asm, temp, scalar(d));
    }
    asm.encode_instruction(Instruction::with2(Code::Add_r32_rm32, TEMP, TEMP2));
    reverse_bits(asm, TEMP, scalar(d));
    and(asm, TEMP, index);
    asm.encode_instruction(move_scalar(scalar(d), scalar(a)));
    and(asm, scalar(d), !index);
    asm.encode_instruction(Instruction::with2(Code::Or_r32_rm32, scalar(d), TEMP));
}

/// Reverses the bits of `r`: its bytes, then the bits of each byte by swapping neighbours.
fn reverse_bits(asm: &mut Asm, r: Register, scratch: Register) {
    asm.encode_instruction(Instruction::with1(Code::Bswap_r32, r));
    for (i, mask) in code_frame::BIT_REVERSAL.into_iter().enumerate() {
        let n = 1u32 << i;
        let mask = mem(FRAME, mask);
        // ((r >> n) & mask) + ((r & mask) << n)
        asm.encode_instruction(move_scalar(scratch, r));
        asm.encode_instruction(Instruction::with2(Code::Shr_rm32_imm8, scratch, n));
        asm.encode_instruction(Instruction::with2(Code::And_r32_rm32, scratch, mask));
        asm.encode_instruction(Instruction::with2(Code::And_r32_rm32, r, mask));
        asm.encode_instruction(Instruction::with2(Code::Shl_rm32_imm8, r, n));
        asm.encode_instruction(Instruction::with2(Code::Or_r32_rm32, r, scratch));
    }
}
