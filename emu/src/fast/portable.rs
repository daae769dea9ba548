//! The portable tier: one function per word, chosen when the word is translated.
//!
//! Nothing is decoded at run time and nothing is specific to a host: vectors of
//! four sections are the `wide` crate's, with a fallback where there are none.

use super::wide::Wide;
use crate::alu::Plain;
use crate::core::Guest;
use crate::decoded::Decoded;
use crate::layout::{FILE_LANES, File, LINE_LANES, Lane, PAIR};
use crate::semantics::action::{Action, Data, MemoryOp, ScalarOp};
use crate::semantics::address::{Generated, generate};
use crate::semantics::{arith, scalar};
use cp2_asm::isa::{Address, Inst, Mode, Op, SCALARS, Scalar};

/// Runs a word; false, and nothing changed, where it would fault.
type Run = fn(&Step, &mut Guest<'_>) -> bool;

/// Runs a word's arithmetic.
type Compute = fn(&Inst, &mut File);

/// A word ready to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    run: Run,
    compute: Compute,
    inst: Inst,
    scalar: ScalarOp,
    /// Constant of the addressing mode: an offset or an increment.
    amount: i32,
    /// Address register.
    base: u8,
    /// Step register.
    step: u8,
    /// First lane of the register in the file, or first scalar.
    first: u8,
    /// Scalars loaded.
    count: u8,
    /// Bytes accessed per section.
    bytes: u32,
}

/// Runs whole passes over `steps`, until a word would fault.
///
/// Returns the words executed: all, or up to the one that would fault.
pub(crate) fn run(steps: &[Step], guest: &mut Guest<'_>, passes: u64) -> u64 {
    for pass in 0..passes {
        let done = once(steps, guest);
        if done < steps.len() {
            return pass * steps.len() as u64 + done as u64;
        }
    }
    passes * steps.len() as u64
}

/// Steps called from places of their own: a host predicts the target of each
/// call better than that of one call for all.
const SITES: usize = 8;

/// Runs `steps` up to the first that would fault; returns how many ran.
pub(crate) fn once(steps: &[Step], guest: &mut Guest<'_>) -> usize {
    let mut sites = steps.chunks_exact(SITES);
    let mut done = 0;
    for chunk in &mut sites {
        let mut chunk = chunk.iter().enumerate();
        // Unrolled: the length is known.
        while let Some((i, step)) = chunk.next() {
            if !(step.run)(step, guest) {
                return done + i;
            }
        }
        done += SITES;
    }
    for step in sites.remainder() {
        if !(step.run)(step, guest) {
            return done;
        }
        done += 1;
    }
    done
}

impl Step {
    /// Chooses what runs a word.
    pub(crate) fn new(word: &Decoded) -> Self {
        let mut step = Self {
            run: alone(word.word.arith.op),
            compute: compute(word.word.arith.op),
            inst: word.word.arith,
            scalar: ScalarOp::Move {
                x: Scalar(0),
                y: crate::semantics::action::Source::Constant(0),
            },
            amount: 0,
            base: 0,
            step: 0,
            first: 0,
            count: 0,
            bytes: 1,
        };
        match word.action {
            Action::Memory(op) => step.access(op),
            Action::Scalar(op) => {
                step.scalar = op;
                step.run = |step, guest| {
                    (step.compute)(&step.inst, guest.file);
                    scalar::execute(&mut Plain, step.scalar, guest.scalars);
                    true
                };
            }
            // What a control operation decides is the engine's business.
            Action::Control(_) | Action::Nop => {}
        }
        step
    }

    fn access(&mut self, op: MemoryOp) {
        let Address { base, mode } = op.address;
        (self.base, self.bytes) = (base, op.bytes);
        let first = match op.data {
            Data::Load { first, .. }
            | Data::LoadDuplicate { first }
            | Data::Store { first, .. } => first * PAIR as u8,
            Data::LoadScalars { first, count } => {
                self.count = count;
                first.0
            }
        };
        self.first = first;
        self.run = match mode {
            Mode::Offset(amount) => {
                self.amount = amount;
                memory::<OFFSET>(op.data)
            }
            Mode::Post(amount) => {
                self.amount = amount;
                memory::<POST>(op.data)
            }
            Mode::Step(step) => {
                self.step = step;
                memory::<STEP>(op.data)
            }
            Mode::Modulo(step) => {
                self.step = step;
                memory::<MODULO>(op.data)
            }
            Mode::Reverse(step) => {
                self.step = step;
                memory::<REVERSE>(op.data)
            }
        };
    }

    /// Address of the access and next value of the address register.
    #[inline(always)]
    fn generate<const MODE: u8>(&self, scalars: &[u32; SCALARS], bytes: u32) -> Generated {
        let mode = match MODE {
            OFFSET => Mode::Offset(self.amount),
            POST => Mode::Post(self.amount),
            STEP => Mode::Step(self.step),
            MODULO => Mode::Modulo(self.step),
            _ => Mode::Reverse(self.step),
        };
        let base = self.base;
        generate(Address { base, mode }, bytes, |scalar| {
            scalars[usize::from(scalar.0) % SCALARS]
        })
    }
}

// Addressing modes, as parameters of the functions below.
const OFFSET: u8 = 0;
const POST: u8 = 1;
const STEP: u8 = 2;
const MODULO: u8 = 3;
const REVERSE: u8 = 4;

/// The function that runs a word with this memory operation.
fn memory<const MODE: u8>(data: Data) -> Run {
    match data {
        Data::Load { count: 1, .. } => load::<MODE, PAIR, PAIR>,
        Data::Load { .. } => load::<MODE, LINE_LANES, LINE_LANES>,
        Data::LoadDuplicate { .. } => load::<MODE, PAIR, LINE_LANES>,
        Data::Store { count: 1, .. } => store::<MODE, PAIR>,
        Data::Store { .. } => store::<MODE, LINE_LANES>,
        Data::LoadScalars { .. } => load_scalars::<MODE>,
    }
}

/// `WORDS` words of every section's DMEM at `address`, where there are such.
#[inline(always)]
fn words<const WORDS: usize>(
    dmem: &mut [crate::layout::Line],
    address: u32,
) -> Option<&mut [Lane]> {
    if address as usize % (WORDS * 4) != 0 {
        return None;
    }
    let line = dmem.get_mut(address as usize / 16)?;
    let first = (address as usize / 4) % LINE_LANES;
    line.0.get_mut(first..first + WORDS)
}

#[inline(always)]
fn update(step: &Step, guest: &mut Guest<'_>, next: Option<u32>) {
    if let Some(next) = next {
        guest.scalars[usize::from(step.base) % SCALARS] = next;
    }
}

/// Loads `WORDS` words into `LANES` lanes, again and again.
fn load<const MODE: u8, const WORDS: usize, const LANES: usize>(
    step: &Step,
    guest: &mut Guest<'_>,
) -> bool {
    let at = step.generate::<MODE>(guest.scalars, WORDS as u32 * 4);
    let Some(words) = words::<WORDS>(guest.dmem, at.address) else {
        return false;
    };
    let mut value = [Lane::default(); WORDS];
    value.copy_from_slice(words);
    (step.compute)(&step.inst, guest.file);
    let first = usize::from(step.first) % FILE_LANES / LANES * LANES;
    for i in 0..LANES {
        guest.file.0[first + i] = value[i % WORDS];
    }
    update(step, guest, at.next);
    true
}

/// Stores `WORDS` lanes.
fn store<const MODE: u8, const WORDS: usize>(step: &Step, guest: &mut Guest<'_>) -> bool {
    let at = step.generate::<MODE>(guest.scalars, WORDS as u32 * 4);
    let Some(words) = words::<WORDS>(guest.dmem, at.address) else {
        return false;
    };
    let first = usize::from(step.first) % FILE_LANES / WORDS * WORDS;
    words.copy_from_slice(&guest.file.0[first..first + WORDS]);
    (step.compute)(&step.inst, guest.file);
    update(step, guest, at.next);
    true
}

/// Loads shared scalars from section 0.
fn load_scalars<const MODE: u8>(step: &Step, guest: &mut Guest<'_>) -> bool {
    let at = step.generate::<MODE>(guest.scalars, step.bytes);
    let address = at.address as usize;
    let Some(line) = guest.dmem.get(address / 16) else {
        return false;
    };
    if address % step.bytes as usize != 0 {
        return false;
    }
    for i in 0..usize::from(step.count) {
        let word = line.0[(address / 4 + i) % LINE_LANES][0];
        guest.scalars[(usize::from(step.first) + i) % SCALARS] = word;
    }
    (step.compute)(&step.inst, guest.file);
    update(step, guest, at.next);
    true
}

/// One function for every operation of the arithmetic slot.
macro_rules! computes {
    ($($op:ident)*) => {
        /// The function for an operation beside a memory operation.
        fn compute(op: Op) -> Compute {
            match op {
                $(Op::$op => |inst, file| arith::perform(&mut Wide, Op::$op, inst, file),)*
            }
        }

        /// The function for a word with nothing else.
        fn alone(op: Op) -> Run {
            match op {
                $(Op::$op => |step, guest| {
                    arith::perform(&mut Wide, Op::$op, &step.inst, guest.file);
                    true
                },)*
            }
        }
    };
}

cp2_asm::for_each_op!(computes);
