//! Tests the verifier: a function that keeps the contract, and ways to break it.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::verify;
use crate::engines::jit::asm::{self, Asm, DMEM, FILE, FRAME, mem};
use crate::engines::jit::code_frame::{ONES, VECTORS};
use iced_x86::Register::{
    EAX, EBP, EBX, R9, R9D, R10, R10D, R11D, R12D, R13D, RAX, RBP, RBX, RCX, YMM0,
};
use iced_x86::{Code, Instruction, MemoryOperand, Register};

const BYTES: u32 = 0x1000;

/// Parameters of a correct function; each can be set to a wrong value.
#[derive(Clone, Copy)]
struct Load {
    low: i32,
    last: u32,
    /// Branch that leaves the function where the check fails.
    leaves: Code,
    checked: Register,
    index: Register,
    scale: u32,
    offset: i64,
}

const SOUND: Load = Load {
    low: -16,
    last: BYTES - 32,
    leaves: Code::Ja_rel32_64,
    checked: R9,
    index: R9,
    scale: 4,
    offset: -64,
};

fn two(asm: &mut Asm, code: Code, a: Register, b: Register) {
    asm.encode_instruction(Instruction::with2(code, a, b));
}

fn scalar(asm: &mut Asm, to: Register, number: i64) {
    asm.encode_instruction(Instruction::with2(
        Code::Mov_r32_rm32,
        to,
        mem(asm::SCALARS, 4 * number),
    ));
}

fn memory_operand(index: Register, scale: u32, offset: i64) -> MemoryOperand {
    MemoryOperand::with_base_index_scale_displ_size(DMEM, index, scale, offset, 1)
}

fn check(asm: &mut Asm, load: Load) -> asm::Hole {
    asm.encode_instruction(Instruction::with2(
        Code::Lea_r32_m,
        EAX,
        mem(load.checked, i64::from(load.low)),
    ));
    asm.encode_instruction(Instruction::with2(Code::Ror_rm32_imm8, EAX, 4));
    asm.encode_instruction(Instruction::with2(
        Code::Cmp_rm32_imm32,
        EAX,
        load.last >> 4,
    ));
    asm.branch_later(load.leaves)
}

fn load(asm: &mut Asm, load: Load) {
    let from = memory_operand(load.index, load.scale, load.offset);
    asm.encode_instruction(Instruction::with2(
        Code::VEX_Vmovups_ymm_ymmm256,
        YMM0,
        from,
    ));
}

fn end(asm: &mut Asm) {
    asm.encode_instruction(Ok(Instruction::with(Code::VEX_Vzeroupper)));
    asm.encode_instruction(Ok(Instruction::with(Code::Retnq)));
}

/// Returns why a function is refused, if it is.
fn refused(emit: impl FnOnce(&mut Asm)) -> Option<String> {
    let mut asm = Asm::new();
    emit(&mut asm);
    let code = asm.finish().unwrap();
    verify(&code, &[0], BYTES).err().map(|refused| refused.why)
}

fn loads(part: Load) -> Option<String> {
    refused(|asm| {
        scalar(asm, R9D, 0);
        scalar(asm, R10D, 1);
        let hole = check(asm, part);
        load(asm, part);
        asm.land_branch(hole);
        end(asm);
    })
}

#[test]
fn an_access_needs_the_check_that_covers_it() {
    assert_eq!(loads(SOUND), None);
    let wrong = [
        (
            "too late an end",
            Load {
                last: BYTES + 16,
                ..SOUND
            },
        ),
        (
            "before the first byte",
            Load {
                offset: -68,
                ..SOUND
            },
        ),
        (
            "beyond the last byte",
            Load {
                offset: 36,
                ..SOUND
            },
        ),
        (
            "a sum that wraps around",
            Load {
                low: 16,
                offset: 0,
                ..SOUND
            },
        ),
        (
            "another pointer",
            Load {
                checked: R10,
                ..SOUND
            },
        ),
        (
            "the other way round",
            Load {
                leaves: Code::Jbe_rel32_64,
                ..SOUND
            },
        ),
        (
            "no comparison of sizes",
            Load {
                leaves: Code::Jne_rel32_64,
                ..SOUND
            },
        ),
        ("another layout", Load { scale: 8, ..SOUND }),
    ];
    for (what, part) in wrong {
        let why = loads(part);
        assert!(
            why.is_some_and(|why| why.contains("no check covers")),
            "{what}"
        );
    }
}

/// Verifies a loop whose pointer advances by 16 bytes a pass; `again` says whether every pass
/// checks it.
fn walks_on(again: bool) -> Option<String> {
    refused(|asm| {
        scalar(asm, R9D, 0);
        let mut holes = Vec::new();
        if !again {
            holes.push(check(asm, SOUND));
        }
        let head = asm.current_position();
        if again {
            holes.push(check(asm, SOUND));
        }
        load(asm, SOUND);
        asm.encode_instruction(Instruction::with2(Code::Lea_r32_m, R9D, mem(R9, 16)));
        asm.encode_instruction(Instruction::with1(Code::Dec_rm64, RCX));
        asm.branch(Code::Jne_rel32_64, head);
        holes.into_iter().for_each(|hole| asm.land_branch(hole));
        end(asm);
    })
}

#[test]
fn a_check_holds_for_the_pass_that_made_it() {
    assert_eq!(walks_on(true), None);
    assert!(walks_on(false).is_some());
}

/// Verifies a loop that walks round a buffer, with one of its tests left out.
fn goes_round(without: Option<usize>, wraps: bool) -> Option<String> {
    refused(|asm| {
        for register in [RBX, RBP, Register::R12, Register::R13] {
            asm.encode_instruction(Instruction::with1(Code::Push_r64, register));
        }
        // Registers hold pointer, step, base and length; later the buffer's end.
        for (i, register) in [R9D, R10D, EBX, EBP].into_iter().enumerate() {
            scalar(asm, register, i as i64);
        }
        two(asm, Code::Mov_r32_rm32, R12D, EBX);
        two(asm, Code::Add_r32_rm32, R12D, EBP);
        let mut holes = Vec::new();
        let mut leave = |asm: &mut Asm, i: usize, code: Code| {
            if without != Some(i) {
                holes.push(asm.branch_later(code));
            }
        };
        two(asm, Code::Mov_r32_rm32, EAX, R9D);
        two(asm, Code::Sub_r32_rm32, EAX, EBX);
        two(asm, Code::Cmp_r32_rm32, EAX, EBP);
        leave(asm, 0, Code::Jae_rel32_64);
        two(asm, Code::Cmp_r32_rm32, R10D, EBP);
        leave(asm, 1, Code::Ja_rel32_64);
        two(asm, Code::Mov_r32_rm32, EAX, R9D);
        for other in [R10D, EBX, EBP] {
            two(asm, Code::Or_r32_rm32, EAX, other);
        }
        asm.encode_instruction(Instruction::with2(Code::Test_rm32_imm32, EAX, 15u32));
        leave(asm, 2, Code::Jne_rel32_64);
        asm.encode_instruction(Instruction::with2(Code::Cmp_rm32_imm32, EBP, BYTES));
        leave(asm, 3, Code::Ja_rel32_64);
        asm.encode_instruction(Instruction::with2(Code::Lea_r32_m, EAX, mem(RBX, 0)));
        asm.encode_instruction(Instruction::with2(Code::Cmp_rm32_imm32, EAX, BYTES));
        leave(asm, 4, Code::Ja_rel32_64);
        two(asm, Code::Add_r32_rm32, EAX, EBP);
        asm.encode_instruction(Instruction::with2(Code::Cmp_rm32_imm32, EAX, BYTES));
        leave(asm, 5, Code::Ja_rel32_64);
        let head = asm.current_position();
        asm.encode_instruction(Instruction::with2(
            Code::VEX_Vmovups_ymm_ymmm256,
            YMM0,
            memory_operand(R9, 4, 32),
        ));
        asm.encode_instruction(Instruction::with2(
            Code::Lea_r32_m,
            R13D,
            MemoryOperand::with_base_index(R9, R10),
        ));
        two(asm, Code::Cmp_r32_rm32, R13D, R12D);
        let inside = asm.branch_later(Code::Jb_rel32_64);
        if wraps {
            two(asm, Code::Sub_r32_rm32, R13D, EBP);
        }
        asm.land_branch(inside);
        two(asm, Code::Mov_r32_rm32, R9D, R13D);
        asm.encode_instruction(Instruction::with1(Code::Dec_rm64, RCX));
        asm.branch(Code::Jne_rel32_64, head);
        holes.into_iter().for_each(|hole| asm.land_branch(hole));
        asm.encode_instruction(Ok(Instruction::with(Code::VEX_Vzeroupper)));
        for register in [Register::R13, Register::R12, RBP, RBX] {
            asm.encode_instruction(Instruction::with1(Code::Pop_r64, register));
        }
        asm.encode_instruction(Ok(Instruction::with(Code::Retnq)));
    })
}

#[test]
fn a_walk_needs_its_buffer_judged_and_its_wrap() {
    assert_eq!(goes_round(None, true), None);
    assert!(goes_round(None, false).is_some());
    for test in 0..6 {
        assert!(goes_round(Some(test), true).is_some(), "test {test}");
    }
}

/// Asserts that a function is refused with these words.
fn refuses(words: &str, emit: impl FnOnce(&mut Asm)) {
    let why = refused(emit);
    assert!(
        why.as_ref().is_some_and(|why| why.contains(words)),
        "{words}: {why:?}"
    );
}

#[test]
fn the_other_regions_have_constant_places() {
    let store = |base: Register, offset: i64| {
        move |asm: &mut Asm| {
            let to = mem(base, offset);
            asm.encode_instruction(Instruction::with2(Code::VEX_Vmovups_ymmm256_ymm, to, YMM0));
            end(asm);
        }
    };
    assert_eq!(refused(store(FILE, 0)), None);
    assert_eq!(refused(store(FRAME, VECTORS)), None);
    let file = size_of::<crate::core::layout::RegisterFile>() as i64;
    refuses("accesses", store(FILE, file - 31));
    refuses("accesses", store(FILE, -1));
    refuses("accesses", store(FRAME, ONES));
    refuses(
        "accesses",
        store(FRAME, size_of::<crate::engines::jit::CodeFrame>() as i64),
    );
    refuses("accesses", store(asm::SCALARS, 4 * 256 - 31));
    refuses("accesses", store(RAX, 0));
    refuses(
        "slots",
        store(FRAME, crate::engines::jit::code_frame::SCALARS),
    );
    refuses("something else than a word", store(asm::SCALARS, 0));
}

#[test]
fn control_stays_inside_and_the_caller_finds_his_own() {
    refuses("writes", |asm| {
        two(asm, Code::Mov_r32_rm32, Register::ESI, EAX);
        end(asm);
    });
    refuses("writes", |asm| {
        two(asm, Code::Mov_r32_rm32, EBX, EAX);
        end(asm);
    });
    refuses("pops another", |asm| {
        asm.encode_instruction(Instruction::with1(Code::Push_r64, RBX));
        asm.encode_instruction(Instruction::with1(Code::Pop_r64, RBP));
        end(asm);
    });
    refuses("on the stack", |asm| {
        asm.encode_instruction(Instruction::with1(Code::Push_r64, RBX));
        end(asm);
    });
    refuses("upper halves", |asm| {
        asm.encode_instruction(Instruction::with2(
            Code::VEX_Vmovups_ymm_ymmm256,
            YMM0,
            mem(FILE, 0),
        ));
        asm.encode_instruction(Ok(Instruction::with(Code::Retnq)));
    });
    refuses("runs out", |asm| asm.branch(Code::Jmp_rel32_64, 0x1000));
    refuses("runs out", |asm| two(asm, Code::Mov_r32_rm32, EAX, R11D));
    refuses("inside another", |asm| {
        two(asm, Code::Cmp_r32_rm32, EAX, R11D);
        asm.branch(Code::Je_rel32_64, 1);
        end(asm);
    });
    refuses("Call", |asm| asm.branch(Code::Call_rel32_64, 0));
}
