//! Lays items out as words: branch targets, loop ends, good addresses.
//!
//! Conventions that keep most programs going: address registers of even number
//! and steps `s0..s7` are multiples of 16, the others of 8; `a15` points to a
//! table of good addresses and small counts and is never written; `c12..c15`
//! count the loops by branches; other scalar results go to `c0..c11`.

use super::case::ProgramShape;
use super::items::{LoopCount, ProgramItem, Via};
use super::tame::tame;
use cp2_asm::isa::{Address, AddressOperand, Inst, Mode, Op, RegSet, SCALARS, Scalar, Word};
use cp2_machine::Machine;

/// DMEM address of the table, which `a15` holds.
pub(super) const TABLE: u32 = 0x40;
/// Entries of the table that are addresses, each a pair of words.
const ADDRESSES: u32 = 32;
/// Entries after the addresses: the counts 0, 1, and so on.
const COUNTS: u32 = 8;
/// Lowest DMEM address that transfers may use; memory below belongs to the table.
pub(super) const LOW: u32 = TABLE + 8 * (ADDRESSES + COUNTS) + 128;

/// Lengths of the circular buffers of `a0..a7`; 0 is linear.
const LENGTHS: [u32; 8] = [256, 64, 0, 1024, 16, 128, 48, 512];
/// Steps `s0..s7`, in units of 16 bytes. Steps of even number are positive: in reverse mode a
/// negative step sets the highest bits of the address.
const LONG_STEPS: [i32; 8] = [1, -1, 2, -3, 32, -2, 8, 1];
/// Steps `s8..s15`, in units of 8 bytes; steps of even number are positive.
const SHORT_STEPS: [i32; 8] = [1, -1, 3, -5, 64, -2, 128, 2];

/// Returns the content of DMEM from [`TABLE`] on.
pub(super) fn table(machine: &Machine) -> Vec<u8> {
    let addresses = (0..ADDRESSES).flat_map(|i| [address(machine, 0, i), address(machine, 1, i)]);
    let counts = (0..COUNTS).flat_map(|i| [i, i]);
    addresses.chain(counts).flat_map(u32::to_le_bytes).collect()
}

/// Returns the `i`th good address for an address register: inside its circular buffer, if it has
/// one, and in the middle half of DMEM.
fn address(machine: &Machine, register: u8, i: u32) -> u32 {
    let size = machine.cp2.dmem.0 as u32;
    let granules = (size / 2 / 16).max(1);
    let base = i.wrapping_mul(2_654_435_761) >> 8;
    let place = size / 4 / 16 * 16 + base % granules * 16;
    place
        + if register % 2 == 1 && i % 2 == 1 {
            8
        } else {
            0
        }
}

/// Returns the value that the program sets a scalar to before it begins.
fn initial(machine: &Machine, scalar: Scalar) -> Option<i32> {
    let i = usize::from(scalar.0);
    let value = match i {
        // The register `a15` has its value at launch.
        15 => return None,
        0..15 => address(machine, scalar.0, (i as u32) % 8) as i32,
        16..24 => 16 * LONG_STEPS[i - 16],
        24..32 => 8 * SHORT_STEPS[i - 24],
        48..56 => address(machine, 0, (i - 48) as u32) as i32,
        56..64 => LENGTHS[i - 56] as i32,
        _ => return None,
    };
    Some(value)
}

/// Lays out a program of the items, the main routine first.
pub(super) fn lay_out(machine: &Machine, shape: &ProgramShape, items: &[ProgramItem]) -> Vec<Word> {
    let mut builder = ProgramBuilder {
        machine,
        shape,
        words: Vec::new(),
        open: Vec::new(),
        ended: None,
        skips: Vec::new(),
        calls: Vec::new(),
        starts: Vec::new(),
    };
    let (main, mut rest) = items.split_at(items.len() * 3 / (3 + shape.functions));
    builder.routine(main, Op::Stop);
    for left in (1..=shape.functions).rev() {
        let (function, others) = rest.split_at(rest.len() / left);
        builder.routine(function, Op::Ret);
        rest = others;
    }
    builder.finish(items.len())
}

/// A loop, or a mask, whose end is still to come.
struct OpenLoop {
    kind: Kind,
    /// Number of items that are still to come inside.
    left: u8,
    passes: u32,
}

enum Kind {
    /// Index of the loop word.
    Hardware(usize),
    /// First word of the body, the counter, and true if it counts up.
    Branches(usize, Scalar, bool),
    /// No loop: words that write some lanes only.
    Mask,
}

struct ProgramBuilder<'a> {
    machine: &'a Machine,
    shape: &'a ProgramShape,
    words: Vec<Word>,
    open: Vec<OpenLoop>,
    /// Last word of the hardware loop that was closed last.
    ended: Option<usize>,
    /// Branches of the current routine, and the number of words that they skip.
    skips: Vec<(usize, u8)>,
    /// Calls: index of the word, routine that it is in, and number that selects the function.
    calls: Vec<(usize, usize, u8)>,
    /// First words of the routines.
    starts: Vec<usize>,
}

impl ProgramBuilder<'_> {
    fn routine(&mut self, items: &[ProgramItem], end: Op) {
        self.starts.push(self.words.len());
        for item in items {
            // The item counts for the loops that are open before it.
            let open = self.open.len();
            self.item(item);
            for outer in self.open.iter_mut().take(open) {
                outer.left = outer.left.saturating_sub(1);
            }
            while self.open.last().is_some_and(|inner| inner.left == 0) {
                self.close();
            }
        }
        while !self.open.is_empty() {
            self.close();
        }
        let last = self.words.len();
        self.control(Word::NOP.arith, Inst::new(end));
        for (pc, words) in std::mem::take(&mut self.skips) {
            self.words[pc].mem.target = (pc + 1 + usize::from(words)).min(last) as u16;
        }
    }

    fn item(&mut self, item: &ProgramItem) {
        match *item {
            ProgramItem::Plain { word, unruly } => {
                let unruly = unruly && self.shape.unruly;
                let word = tame(word, self.machine, self.shape, unruly);
                if let (AddressOperand::Own(own), true, false) =
                    (word.mem.place, word.mem.has_address(), unruly)
                {
                    self.lower_half_words(own.register);
                }
                self.words.push(word);
            }
            ProgramItem::Point {
                register,
                via,
                value,
            } => self.point(register % 15, via, value),
            ProgramItem::Loop {
                arith,
                count,
                passes,
                items,
            } => self.hardware(arith, count, passes.into(), items),
            ProgramItem::Again { up, passes, items } => self.branches(up, passes.into(), items),
            ProgramItem::Nest { depth } => {
                for level in 0..depth {
                    let passes = u32::from(level % 2) + 1;
                    self.hardware(Word::NOP.arith, LoopCount::Immediate, passes, 1);
                }
            }
            ProgramItem::Skip {
                arith,
                op,
                scalar,
                words,
            } => {
                let mut mem = Inst::new(op);
                if op != Op::Jmp {
                    mem.r[0] = scalar;
                }
                self.skips.push((self.words.len(), words));
                self.control(arith, mem);
            }
            ProgramItem::Call { arith, function } => {
                let routine = self.starts.len() - 1;
                self.calls.push((self.words.len(), routine, function));
                self.control(arith, Inst::new(Op::Call));
            }
            ProgramItem::Mask { arith, quad, items } => {
                let has = self.machine.cp2.extensions.contains(Op::Msk.row().requires);
                let mut mem = Inst::new(if has { Op::Msk } else { Op::MemNop });
                let most = self.machine.cp2.registers.min(self.shape.registers.into()) as u8;
                if has {
                    mem.r[0] = quad % (most / 2).max(1);
                }
                self.control(arith, mem);
                if has {
                    let left = self.room(items);
                    self.push(Kind::Mask, left, 1);
                }
            }
            ProgramItem::Event { arith, op, event } => {
                let mut mem = Inst::new(op);
                let events = self.machine.cp2.events as i32;
                // Most machines have 32 events.
                let rare = self.shape.unruly && self.words.len().is_multiple_of(2);
                mem.imm = if rare {
                    31 - i32::from(event)
                } else {
                    i32::from(event) % events
                };
                self.control(arith, mem);
            }
        }
    }

    /// Adds a word of control flow with any arithmetic.
    fn control(&mut self, arith: Inst, mem: Inst) {
        let word = tame(Word { arith, ..Word::NOP }, self.machine, self.shape, false);
        self.words.push(Word { mem, ..word });
    }

    /// Adds words that cut the half-words of a register to small numbers, which differ between sections as
    /// what the register held does.
    fn lower_half_words(&mut self, register: u8) {
        let most = self.machine.cp2.registers.min(self.shape.registers.into()) as u8;
        let mask = (register + 1) % most;
        let mut value = Inst::new(Op::Lii);
        (value.r[0], value.imm) = (mask, 0x07_000f);
        let mut cut = Inst::new(Op::AndP);
        cut.r[..3].copy_from_slice(&[register, register, mask]);
        for arith in [value, cut] {
            self.words.push(Word { arith, ..Word::NOP });
        }
    }

    fn scalar(&mut self, op: Op, r: &[u8], imm: i32) {
        let mut mem = Inst::new(op);
        mem.r[..r.len()].copy_from_slice(r);
        mem.imm = imm;
        self.words.push(Word { mem, ..Word::NOP });
    }

    /// Adds a load of scalars from an entry of the table.
    fn load_entry(&mut self, op: Op, register: u8, entry: u32) {
        let mut mem = Inst::new(op);
        mem.r[0] = register;
        mem.place = AddressOperand::Shared(Address {
            base: 15,
            mode: Mode::Offset(8 * entry as i32),
        });
        self.words.push(Word { mem, ..Word::NOP });
    }

    fn point(&mut self, register: u8, via: Via, value: u16) {
        let entry = u32::from(value) % ADDRESSES;
        match via {
            Via::Immediate => {
                let address = address(self.machine, register, value.into());
                self.scalar(Op::Movi, &[register], address as i32);
            }
            Via::Load => self.load_entry(Op::LdX, register, entry),
            Via::LoadCouple => self.load_entry(Op::LdX2, (register % 14) & !1, entry),
            Via::Step => {
                let step = Scalar::step((value % 8) as u8);
                self.scalar(Op::AddX, &[register, register, step.0], 0);
            }
            Via::NewStep => {
                let step = Scalar::step(register);
                let (unit, steps) = match register {
                    0..8 => (16, LONG_STEPS),
                    _ => (8, SHORT_STEPS),
                };
                // The new step has the sign of the old one.
                let i = (2 * usize::from(value) + usize::from(register % 2)) % steps.len();
                self.scalar(Op::Movi, &[step.0], unit * steps[i]);
            }
        }
    }

    /// Returns the most passes that one more loop may make.
    fn allowed(&self) -> u32 {
        let routine = self.starts.len() as u32;
        let most = self.shape.passes / (2 * routine - 1);
        let around: u32 = self.open.iter().map(|o| o.passes).product();
        (most / around.max(1)).max(1)
    }

    /// Returns how many items one more loop may hold.
    fn room(&self, items: u8) -> u8 {
        let outer = self.open.last().map_or(u8::MAX, |o| o.left);
        items.min(outer.saturating_sub(1))
    }

    fn hardware(&mut self, arith: Inst, count: LoopCount, passes: u32, items: u8) {
        let mut passes = passes.min(self.allowed());
        // The register is free as a counter, because it is read at once.
        let register = Scalar::control(11);
        let mut mem = Inst::new(Op::LoopX);
        mem.r[0] = register.0;
        match count {
            LoopCount::Immediate => {
                mem = Inst::new(Op::LoopI);
                mem.imm = passes as i32;
            }
            LoopCount::Register => self.scalar(Op::Movi, &[register.0], passes as i32),
            LoopCount::Load => {
                passes = (passes - 1).min(COUNTS - 1);
                self.load_entry(Op::LdX, register.0, ADDRESSES + passes);
            }
        }
        let left = self.room(items);
        let kind = Kind::Hardware(self.words.len());
        self.control(arith, mem);
        self.push(kind, left, passes);
    }

    fn branches(&mut self, up: bool, passes: u32, items: u8) {
        let passes = passes.min(self.allowed());
        let mine = |o: &&OpenLoop| matches!(o.kind, Kind::Branches(..));
        let depth = self.open.iter().filter(mine).count() as u8 + self.starts.len() as u8;
        let counter = Scalar::control(12 + depth % 4);
        let first = if up {
            -(passes as i32)
        } else {
            passes as i32 - 1
        };
        self.scalar(Op::Movi, &[counter.0], first);
        let left = self.room(items);
        self.push(Kind::Branches(self.words.len(), counter, up), left, passes);
    }

    fn push(&mut self, kind: Kind, left: u8, passes: u32) {
        let passes = passes.max(1);
        self.open.push(OpenLoop { kind, left, passes });
        if left == 0 {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        match open.kind {
            Kind::Hardware(pc) => {
                let last = self.words.len() - 1;
                if last == pc || self.ended == Some(last) || !can_end(&self.words[last].mem) {
                    self.words.push(Word::NOP);
                }
                let last = self.words.len() - 1;
                self.words[pc].mem.target = (last - pc) as u16;
                self.ended = Some(last);
            }
            Kind::Mask => self.control(Word::NOP.arith, Inst::new(Op::MskAll)),
            Kind::Branches(first, counter, up) => {
                let (step, op) = if up { (1, Op::Bneg) } else { (-1, Op::Bpos) };
                self.scalar(Op::Addi, &[counter.0, counter.0], step);
                self.scalar(op, &[counter.0], 0);
                if let Some(word) = self.words.last_mut() {
                    word.mem.target = first as u16;
                }
            }
        }
    }

    /// Puts the prologue before the words, and sets the target of every call.
    fn finish(mut self, items: usize) -> Vec<Word> {
        let reads = self
            .words
            .iter()
            .fold(RegSet::EMPTY, |all, word| all | word.mem.reads());
        let prologue: Vec<Word> = (0..SCALARS as u8)
            .map(Scalar)
            .filter(|s| reads.contains(s.reg()))
            .filter_map(|s| Some((s, initial(self.machine, s)?)))
            .map(|(scalar, value)| {
                let mut mem = Inst::new(Op::Movi);
                mem.r[0] = scalar.0;
                mem.imm = value;
                Word { mem, ..Word::NOP }
            })
            .collect();
        for &(pc, routine, function) in &self.calls {
            // Calls go to later functions only, unless the program may go wrong.
            let first = if self.shape.unruly && function % 8 == 0 {
                1
            } else {
                routine + 1
            };
            match self.starts.get(first..) {
                Some(starts) if !starts.is_empty() => {
                    let start = starts[usize::from(function) % starts.len()];
                    self.words[pc].mem.target = start as u16;
                }
                _ => self.words[pc].mem = Inst::new(Op::MemNop),
            }
        }
        let shift = prologue.len() as u16;
        for word in &mut self.words {
            if matches!(
                word.mem.op,
                Op::Jmp | Op::Call | Op::Bz | Op::Bnz | Op::Bneg | Op::Bpos
            ) {
                word.mem.target += shift;
            }
        }
        // A program may lack its last word.
        if self.shape.unruly && items % 8 == 3 {
            self.words.pop();
        }
        prologue.into_iter().chain(self.words).collect()
    }
}

/// True if the operation may be the last of a hardware loop.
fn can_end(mem: &Inst) -> bool {
    use crate::semantics::action::{Action, ControlOp, action};
    !matches!(action(mem), Some(Action::Control(op)) if !matches!(op, ControlOp::Signal { .. }))
}
