//! Emits host instructions: a thin layer over the encoder.

use super::code_form::CodeForm;
use super::code_frame;
use super::ir::{FrameConstant, LaneOperation};
use super::segment_steps::PAIRS;
use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

/// Registers that hold the arguments of the code: register file, DMEM, scalars, frame, passes left.
pub(super) const FILE: Register = Register::RDI;
pub(super) const DMEM: Register = Register::RSI;
pub(super) const SCALARS: Register = Register::RDX;
pub(super) const FRAME: Register = Register::R8;
pub(super) const LEFT: Register = Register::RCX;
/// Scratch registers for any instruction's own use.
pub(super) const TEMP: Register = Register::EAX;
pub(super) const TEMP2: Register = Register::R11D;

/// The end of a branch whose target is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hole(usize);

/// Code under construction. The first error is kept and returned at the end.
pub(super) struct Asm {
    /// Form of the vector instructions that are emitted next.
    pub form: CodeForm,
    encoder: Encoder,
    at: usize,
    error: Option<IcedError>,
    /// Ends of branches, and their targets.
    patches: Vec<(usize, usize)>,
}

/// Returns the operand at a byte displacement from a register.
pub(super) fn mem(base: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(base, displacement)
}

/// Returns the operand of a pair register: in the register file, or in the frame for numbers beyond
/// the guest's.
pub(super) fn pair(register: usize) -> MemoryOperand {
    match register.checked_sub(PAIRS) {
        None => mem(FILE, 32 * register as i64),
        Some(kept) => mem(FRAME, code_frame::KEPT + 32 * kept as i64),
    }
}

/// Returns the operand of a frame constant in every lane.
pub(super) fn every(form: CodeForm, displacement: i64) -> MemoryOperand {
    if form == CodeForm::Avx2 {
        return mem(FRAME, code_frame::SPREAD + 8 * displacement);
    }
    MemoryOperand::new(
        FRAME,
        Register::None,
        1,
        displacement,
        1,
        true,
        Register::None,
    )
}

impl Asm {
    pub(super) fn new() -> Self {
        Self {
            form: CodeForm::default(),
            encoder: Encoder::new(64),
            at: 0,
            error: None,
            patches: Vec::new(),
        }
    }

    pub(super) fn current_position(&self) -> usize {
        self.at
    }

    pub(super) fn encode_instruction(&mut self, instruction: Result<Instruction, IcedError>) {
        match instruction.and_then(|i| self.encoder.encode(&i, self.at as u64)) {
            Ok(bytes) => self.at += bytes,
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }

    /// Emits an instruction with mask `k1`; lanes outside of it become zero if `zero`, else they
    /// keep their value.
    pub(super) fn put_masked(&mut self, instruction: Result<Instruction, IcedError>, zero: bool) {
        self.encode_instruction(instruction.map(|mut i| {
            i.set_op_mask(Register::K1);
            i.set_zeroing_masking(zero);
            i
        }));
    }

    /// Emits a branch to a known position.
    pub(super) fn branch(&mut self, code: Code, target: usize) {
        self.encode_instruction(Instruction::with_branch(code, target as u64));
    }

    /// Emits a branch to a position that comes later.
    pub(super) fn branch_later(&mut self, code: Code) -> Hole {
        // The target is so far that the encoder takes the long form.
        self.encode_instruction(Instruction::with_branch(code, self.at as u64 + 0x1000));
        Hole(self.at)
    }

    /// Lets the branch that ends at `hole` lead here.
    pub(super) fn land_branch(&mut self, hole: Hole) {
        self.patches.push((hole.0, self.at));
    }

    /// Fills in the open branches and returns the bytes.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, IcedError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut bytes = self.encoder.take_buffer();
        for (end, target) in self.patches {
            let relative = (target as i64 - end as i64) as i32;
            if let Some(field) = end.checked_sub(4).and_then(|at| bytes.get_mut(at..end)) {
                field.copy_from_slice(&relative.to_le_bytes());
            }
        }
        Ok(bytes)
    }
}

/// Returns the host instruction of a lane by lane operation, on registers or memory.
pub(super) fn lanes(form: CodeForm, op: LaneOperation) -> Code {
    form.code(match op {
        LaneOperation::Add => [
            Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vaddps_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vaddps_ymm_ymm_ymmm256,
        ],
        LaneOperation::Sub => [
            Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vsubps_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vsubps_ymm_ymm_ymmm256,
        ],
        LaneOperation::Mul => [
            Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vmulps_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vmulps_ymm_ymm_ymmm256,
        ],
        LaneOperation::Div => [
            Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
            Code::EVEX_Vdivps_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vdivps_ymm_ymm_ymmm256,
        ],
        LaneOperation::And => [
            Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpandd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpand_ymm_ymm_ymmm256,
        ],
        LaneOperation::AndNot => [
            Code::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpandnd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpandn_ymm_ymm_ymmm256,
        ],
        LaneOperation::Or => [
            Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpord_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpor_ymm_ymm_ymmm256,
        ],
        LaneOperation::Xor => [
            Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpxord_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpxor_ymm_ymm_ymmm256,
        ],
        LaneOperation::IAdd => [
            Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpaddd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpaddd_ymm_ymm_ymmm256,
        ],
        LaneOperation::ISub => [
            Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpsubd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpsubd_ymm_ymm_ymmm256,
        ],
        LaneOperation::IMul => [
            Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpmulld_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpmulld_ymm_ymm_ymmm256,
        ],
        LaneOperation::IMin => [
            Code::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpminsd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpminsd_ymm_ymm_ymmm256,
        ],
        LaneOperation::IMax => [
            Code::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpmaxsd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpmaxsd_ymm_ymm_ymmm256,
        ],
        LaneOperation::Shl => [
            Code::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpsllvd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpsllvd_ymm_ymm_ymmm256,
        ],
        LaneOperation::Shr => [
            Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpsrlvd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpsrlvd_ymm_ymm_ymmm256,
        ],
        LaneOperation::Sar => [
            Code::EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpsravd_ymm_k1z_ymm_ymmm256b32,
            Code::VEX_Vpsravd_ymm_ymm_ymmm256,
        ],
    })
}

/// Returns the host instruction of a shift by a constant.
pub(super) fn shift(form: CodeForm, op: LaneOperation) -> Code {
    form.code(match op {
        LaneOperation::Shl => [
            Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
            Code::EVEX_Vpslld_ymm_k1z_ymmm256b32_imm8,
            Code::VEX_Vpslld_ymm_ymm_imm8,
        ],
        LaneOperation::Shr => [
            Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
            Code::EVEX_Vpsrld_ymm_k1z_ymmm256b32_imm8,
            Code::VEX_Vpsrld_ymm_ymm_imm8,
        ],
        _ => [
            Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
            Code::EVEX_Vpsrad_ymm_k1z_ymmm256b32_imm8,
            Code::VEX_Vpsrad_ymm_ymm_imm8,
        ],
    })
}

/// Returns the operand of a constant in the frame.
pub(super) fn constant(form: CodeForm, constant: FrameConstant) -> MemoryOperand {
    match constant {
        FrameConstant::Sign => every(form, code_frame::SIGN),
        FrameConstant::Magnitude => every(form, code_frame::MAGNITUDE),
        FrameConstant::Ones => every(form, code_frame::ONES),
        FrameConstant::OddSign => mem(FRAME, code_frame::ODD_SIGN),
    }
}
