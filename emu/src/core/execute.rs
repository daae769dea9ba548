//! Executes one decoded word on a core: the glue between semantics and state.

use crate::alu::PlainAlu;
use crate::core::decoded::Decoded;
use crate::core::fault::FaultKind;
use crate::core::layout::PAIR;
use crate::core::loops::{advance, set_up_loop};
use crate::core::write_mask::WriteMask;
use crate::core::{Call, Core};
use crate::processor::observer::{CoreAccess, Observer};
use crate::semantics::action::{Action, ControlOp, Data, ExchangeOp, MaskOp, MemoryOp, Source};
use crate::semantics::arith::{self, Registers};
use crate::semantics::exchange;
use crate::semantics::scalar::{self, Scalars};
use crate::timing::IssueOutcome;
use cp2_asm::isa::{Kind, Scalar};
use cp2_machine::{LANE_BYTES, Machine};

/// A fault, and the section that it concerns if it concerns a single one.
pub(crate) type SectionFault = (Option<usize>, FaultKind);

/// One section's registers as the semantics sees them: masked lanes are not written.
struct SectionRegisters<'a> {
    core: &'a mut Core,
    section: usize,
    /// Lanes of a register that the operation writes: those of a pair, or of a quad.
    lanes: usize,
}

impl Registers<u32> for SectionRegisters<'_> {
    fn read(&self, reg: u8, lane: u8) -> u32 {
        self.core
            .lane(self.section, usize::from(reg), usize::from(lane))
    }

    fn write(&mut self, reg: u8, lane: u8, value: u32) {
        let (register, lane) = (usize::from(reg), usize::from(lane));
        let place = (register * PAIR + lane) % self.lanes;
        write_lane(self.core, self.section, (register, lane), place, value);
    }
}

/// Writes a lane of a section's register, unless the mask has not the lane's place in its pair or quad.
fn write_lane(
    core: &mut Core,
    section: usize,
    (register, lane): (usize, usize),
    place: usize,
    value: u32,
) {
    if core.mask.has(section, place) {
        *core.lane_mut(section, register, lane) = value;
    }
}

impl Scalars<u32> for Core {
    fn read(&self, register: Scalar) -> u32 {
        self.scalar(register)
    }

    fn write(&mut self, register: Scalar, value: u32) {
        self.set_scalar(register, value);
    }
}

/// Executes both slots of the word at the program counter and moves it on.
///
/// Both slots read the state the word found: stores leave before the
/// arithmetic writes, loads arrive after it. A word that faults changes nothing.
pub(crate) fn word<O: Observer>(
    core: &mut Core,
    machine: &Machine,
    decoded: &Decoded,
    cycle: u64,
    observer: &mut O,
) -> Result<IssueOutcome, SectionFault> {
    let pc = core.pc;
    observer.act(decoded.action);
    let access = match decoded.action {
        Action::Memory(op) => Some((op, check(core, op, pc, cycle, observer)?)),
        _ => None,
    };
    if let Action::Control(op) = decoded.action {
        check_control(core, machine, op).map_err(|kind| (None, kind))?;
    }
    if let Some((op, access)) = &access
        && op.data.is_store()
    {
        store(core, op, access);
    }
    let crossing = match decoded.action {
        Action::Exchange(op) => exchanged(core, op),
        _ => Vec::new(),
    };
    let voted = match decoded.action {
        Action::Vote(op) => Some((op.x, op.outcome(signs(core, op.first).flatten()))),
        _ => None,
    };
    // The mask that the word itself sets is that of the next word.
    let masked = match decoded.action {
        Action::Mask(MaskOp::Signs { first }) => {
            let mut mask = core.mask.clone();
            mask.set_signs(signs(core, first));
            Some(mask)
        }
        Action::Mask(MaskOp::All) => Some(WriteMask::default()),
        _ => None,
    };
    if decoded.computes {
        let operands = decoded.word.arith.row().form.operands();
        let quad = operands
            .iter()
            .any(|o| o.role.writes() && o.kind == Kind::Quad);
        let lanes = if quad { 2 * PAIR } else { PAIR };
        for section in 0..core.sections() {
            let mut registers = SectionRegisters {
                core,
                section,
                lanes,
            };
            arith::execute(&mut PlainAlu, &decoded.word.arith, &mut registers);
        }
    }
    match decoded.action {
        Action::Memory(op) => {
            if let Some((_, access)) = &access {
                load(core, &op, access);
                if let Some(next) = access.next {
                    core.set_scalar(Scalar::address(op.place.base()), next);
                }
            }
        }
        Action::Exchange(_) => {
            for lane in crossing {
                write_lane(core, lane.section, lane.register, lane.place, lane.value);
            }
        }
        Action::Vote(_) => {
            if let Some((x, value)) = voted {
                core.set_scalar(x, value);
            }
        }
        Action::Mask(_) => {
            if let Some(mask) = masked {
                core.mask = mask;
            }
        }
        Action::Scalar(op) => scalar::execute(&mut PlainAlu, op, core),
        Action::Control(op) => return control(core, machine, op).map_err(|kind| (None, kind)),
        Action::Nop => {}
    }
    Ok(advance(core, pc))
}

/// A memory operation whose addresses are aligned and in range.
struct CheckedAccess {
    addresses: crate::core::Addresses,
    next: Option<u32>,
}

/// Returns the sections that a memory operation accesses.
fn sections(core: &Core, op: MemoryOp) -> std::ops::Range<usize> {
    match op.data {
        Data::LoadScalars { .. } => 0..1,
        _ => 0..core.sections(),
    }
}

fn check<O: Observer>(
    core: &Core,
    op: MemoryOp,
    pc: u32,
    cycle: u64,
    observer: &mut O,
) -> Result<CheckedAccess, SectionFault> {
    let (addresses, next) = core.addresses(op);
    for section in sections(core, op) {
        core.dmem_index(addresses.section_address(section), (op.bytes, op.align))
            .map_err(|kind| (Some(section), kind))?;
    }
    for section in sections(core, op) {
        let (address, bytes, write) = (
            addresses.section_address(section),
            op.bytes,
            op.data.is_store(),
        );
        observer.dmem(CoreAccess {
            pc,
            cycle,
            section,
            address,
            bytes,
            write,
        });
    }
    if let Data::LoadScalars { first, count } = op.data {
        let address = addresses.section_address(0);
        let at = core.dmem_index(address, (op.bytes, op.align));
        let at = at.map_err(|kind| (Some(0), kind))?;
        for i in 0..count {
            let value = core.dmem_word(0, at + usize::from(i));
            let address = address + u32::from(i) * LANE_BYTES as u32;
            observer.scalar(Scalar(first.0 + i), address, value);
        }
    }
    Ok(CheckedAccess { addresses, next })
}

fn store(core: &mut Core, op: &MemoryOp, access: &CheckedAccess) {
    let (first, lanes) = match op.data {
        Data::Store { first, count } | Data::StoreUnaligned { first, count } => {
            (first, usize::from(count) * PAIR)
        }
        Data::StoreWord { first } => (first, 1),
        Data::Load { .. }
        | Data::LoadDuplicate { .. }
        | Data::LoadWord { .. }
        | Data::LoadUnaligned { .. }
        | Data::LoadNeighbour { .. }
        | Data::LoadScalars { .. } => return,
    };
    for section in 0..core.sections() {
        let address = access.addresses.section_address(section);
        if let Ok(at) = core.dmem_index(address, (op.bytes, op.align)) {
            for i in 0..lanes {
                let (register, lane) = place(first, i);
                if core.mask.has(section, i) {
                    *core.dmem_word_mut(section, at + i) = core.lane(section, register, lane);
                }
            }
        }
    }
}

/// Returns the lanes of a quad in each section.
fn signs(core: &Core, first: u8) -> impl Iterator<Item = [u32; 2 * PAIR]> {
    let lane =
        move |section: usize, i: usize| core.lane(section, usize::from(first) + i / PAIR, i % PAIR);
    (0..core.sections()).map(move |section| std::array::from_fn(|i| lane(section, i)))
}

/// A lane that a movement between sections writes.
struct CrossedLane {
    section: usize,
    /// Pair register, and lane in it.
    register: (usize, usize),
    /// Lane in the operand, which is a pair or a quad.
    place: usize,
    value: u32,
}

/// Returns the lanes that a movement between sections writes.
fn exchanged(core: &Core, op: ExchangeOp) -> Vec<CrossedLane> {
    let mut all = Vec::new();
    let sections = core.sections();
    for section in 0..sections {
        for i in 0..usize::from(op.count) * PAIR {
            let at = |first: u8| {
                move |section| {
                    let (register, lane) = place(first, i);
                    core.lane(section, register, lane)
                }
            };
            let (first, second) =
                exchange::values(op, (section, sections), at(op.first), at(op.second));
            let mut push = |operand: u8, value| {
                all.push(CrossedLane {
                    section,
                    register: place(operand, i),
                    place: i,
                    value,
                });
            };
            push(op.first, first);
            if op.mutual {
                push(op.second, second);
            }
        }
    }
    all
}

/// Returns the pair register that lane `i` of an operand lies in, and its lane there.
fn place(first: u8, i: usize) -> (usize, usize) {
    (usize::from(first) + i / PAIR, i % PAIR)
}

fn load(core: &mut Core, op: &MemoryOp, access: &CheckedAccess) {
    for section in sections(core, *op) {
        let Ok(at) = core.dmem_index(
            access.addresses.section_address(section),
            (op.bytes, op.align),
        ) else {
            continue;
        };
        match op.data {
            Data::Load { first, count } | Data::LoadUnaligned { first, count } => {
                for i in 0..usize::from(count) * PAIR {
                    let (register, value) = (place(first, i), core.dmem_word(section, at + i));
                    write_lane(core, section, register, i, value);
                }
            }
            Data::LoadNeighbour { first, count, from } => {
                // One address serves all sections.
                let source = from.of(section, core.sections());
                for i in 0..usize::from(count) * PAIR {
                    let value = core.dmem_word(source, at + i);
                    write_lane(core, section, place(first, i), i, value);
                }
            }
            Data::LoadDuplicate { first } => {
                for i in 0..2 * PAIR {
                    let value = core.dmem_word(section, at + i % PAIR);
                    write_lane(core, section, place(first, i), i, value);
                }
            }
            Data::LoadScalars { first, count } => {
                for i in 0..count {
                    core.set_scalar(
                        Scalar(first.0 + i),
                        core.dmem_word(section, at + usize::from(i)),
                    );
                }
            }
            Data::LoadWord { first } => {
                for lane in 0..PAIR {
                    let value = core.dmem_word(section, at);
                    write_lane(core, section, place(first, lane), lane, value);
                }
            }
            Data::Store { .. } | Data::StoreWord { .. } | Data::StoreUnaligned { .. } => {}
        }
    }
}

/// Returns the fault of a control operation, before anything of its word takes effect.
pub(crate) fn check_control(
    core: &Core,
    machine: &Machine,
    op: ControlOp,
) -> Result<(), FaultKind> {
    match op {
        ControlOp::Return if core.calls.is_empty() => Err(FaultKind::NoCall),
        ControlOp::Call { .. } if core.calls.len() >= machine.cp2.call_depth => {
            Err(FaultKind::CallDepth {
                depth: machine.cp2.call_depth,
            })
        }
        ControlOp::Loop { count, .. }
            if value(core, count) > 0 && core.loops.len() >= machine.cp2.loop_depth =>
        {
            Err(FaultKind::LoopDepth {
                depth: machine.cp2.loop_depth,
            })
        }
        ControlOp::Wait { event } | ControlOp::Signal { event }
            if event as usize >= core.events.len() =>
        {
            Err(FaultKind::Event {
                event,
                events: core.events.len(),
            })
        }
        _ => Ok(()),
    }
}

#[inline(always)]
fn value(core: &Core, source: Source) -> u32 {
    match source {
        Source::Register(register) => core.scalar(register),
        Source::Constant(value) => value,
    }
}

/// Carries out a control operation that [`check_control`] accepted, and moves the program counter.
#[inline(always)]
pub(crate) fn control(
    core: &mut Core,
    machine: &Machine,
    op: ControlOp,
) -> Result<IssueOutcome, FaultKind> {
    let pc = core.pc;
    match op {
        // `stop` ends the kernel even as the last word of a loop's body.
        ControlOp::Stop => Ok(IssueOutcome::Next),
        ControlOp::Wait { .. } | ControlOp::Signal { .. } => Ok(advance(core, pc)),
        ControlOp::Return => {
            let call = core.calls.pop().ok_or(FaultKind::NoCall)?;
            core.loops.truncate(call.loops);
            core.pc = call.back;
            Ok(IssueOutcome::Taken)
        }
        ControlOp::Call { target } => {
            let (back, loops) = (pc + 1, core.loops.len());
            core.calls.push(Call { back, loops });
            core.pc = target;
            Ok(IssueOutcome::Taken)
        }
        ControlOp::Jump { target } => Ok(jump(core, target)),
        ControlOp::Branch {
            condition,
            x,
            target,
        } => {
            if condition.holds(core.scalar(x)) {
                Ok(jump(core, target))
            } else {
                Ok(advance(core, pc))
            }
        }
        ControlOp::Loop { count, words } => set_up_loop(core, machine, value(core, count), words),
    }
}

/// Jumps to `target`, and leaves the hardware loops whose body does not hold it, but never those of
/// a caller.
#[inline(always)]
pub(crate) fn jump(core: &mut Core, target: u32) -> IssueOutcome {
    let outer = core.callers_loops();
    while core.loops[outer..]
        .last()
        .is_some_and(|top| !(top.start..=top.end).contains(&target))
    {
        core.loops.pop();
    }
    core.pc = target;
    IssueOutcome::Taken
}
