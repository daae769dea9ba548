//! The portable tier: one function per word, chosen when the word is translated.
//!
//! Nothing is decoded at run time and nothing is specific to a host: vectors of
//! four sections are the `wide` crate's, with a fallback where there are none.

use super::wide::Wide;
use crate::alu::Plain;
use crate::core::Guest;
use crate::decoded::Decoded;
use crate::layout::{FILE_LANES, File, LINE_LANES, Lane, Line, PAIR};
use crate::semantics::action::{Action, Condition, ControlOp, Data, MemoryOp, ScalarOp, Source};
use crate::semantics::address::{Generated, generate};
use crate::semantics::scalar::Binary;
use crate::semantics::{arith, scalar};
use cp2_asm::isa::{Address, Inst, Mode, Op, SCALARS, Scalar};

/// Runs a word; false, and nothing changed, where it would fault, or where a
/// branch goes the way that the block does not.
type Run = fn(&Step, &mut Guest<'_>) -> bool;

/// A word ready to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    run: Run,
    /// Runs the word's arithmetic, which never faults. Memory operations end by
    /// calling it, so that the compiler can make that a jump.
    compute: Run,
    inst: Inst,
    scalar: ScalarOp,
    /// Constant of the addressing mode: an offset or an increment.
    amount: i32,
    /// Address register, or the scalar that a branch tests.
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
        // Unrolled: the length is known.
        for (i, step) in chunk.iter().enumerate() {
            if !(step.run)(step, guest) {
                return done + i;
            }
        }
        done += SITES;
    }
    done + few(sites.remainder(), guest) as usize
}

/// [`once`] for few steps, without further ado.
#[inline]
pub(crate) fn few(steps: &[Step], guest: &mut Guest<'_>) -> u64 {
    let mut done = 0;
    for step in steps {
        if !(step.run)(step, guest) {
            break;
        }
        done += 1;
    }
    done
}

impl Step {
    /// Chooses what runs a word.
    pub(crate) fn new(word: &Decoded) -> Self {
        let mut step = Self {
            run: compute(word.word.arith.op),
            compute: compute(word.word.arith.op),
            inst: word.word.arith,
            scalar: ScalarOp::Move {
                x: Scalar(0),
                y: Source::Constant(0),
            },
            amount: 0,
            base: 0,
            step: 0,
            first: 0,
            count: 0,
            bytes: 1,
        };
        match word.action {
            Action::Memory(op) => {
                let (arith, mem) = (&word.word.arith, &word.word.mem);
                let early = ((arith.reads() | arith.writes()) & mem.writes()).is_empty();
                step.access(op, early);
            }
            Action::Scalar(op) => {
                step.scalar = op;
                step.run = if word.computes {
                    scalar::<true>(op)
                } else {
                    scalar::<false>(op)
                };
            }
            Action::Control(op) => {
                if let (Some(expect), ControlOp::Branch { condition, x, .. }) = (word.expect, op) {
                    step.base = x.0;
                    step.run = guard(condition, expect, word.computes);
                }
                // What else a control operation decides is the engine's business.
            }
            Action::Nop => {}
        }
        step
    }

    /// `early`: whether what is loaded may arrive before the arithmetic.
    fn access(&mut self, op: MemoryOp, early: bool) {
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
                memory::<OFFSET>(op.data, early)
            }
            Mode::Post(amount) => {
                self.amount = amount;
                memory::<POST>(op.data, early)
            }
            Mode::Step(step) => {
                self.step = step;
                memory::<STEP>(op.data, early)
            }
            Mode::Modulo(step) => {
                self.step = step;
                memory::<MODULO>(op.data, early)
            }
            Mode::Reverse(step) => {
                self.step = step;
                memory::<REVERSE>(op.data, early)
            }
        };
    }

    /// Runs the word's arithmetic alone.
    pub(crate) fn compute(&self, guest: &mut Guest<'_>) {
        (self.compute)(self, guest);
    }

    /// The scalar that a branch tests.
    #[inline(always)]
    fn tested(&self, guest: &Guest<'_>) -> u32 {
        guest.scalars[usize::from(self.base) % SCALARS]
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
fn memory<const MODE: u8>(data: Data, early: bool) -> Run {
    match (data, early) {
        (Data::Load { count: 1, .. }, true) => load::<MODE, PAIR, PAIR>,
        (Data::Load { .. }, true) => load::<MODE, LINE_LANES, LINE_LANES>,
        (Data::LoadDuplicate { .. }, true) => load::<MODE, PAIR, LINE_LANES>,
        (Data::Load { count: 1, .. }, false) => late::<MODE, PAIR, PAIR>,
        (Data::Load { .. }, false) => late::<MODE, LINE_LANES, LINE_LANES>,
        (Data::LoadDuplicate { .. }, false) => late::<MODE, PAIR, LINE_LANES>,
        (Data::Store { count: 1, .. }, _) => store::<MODE, PAIR>,
        (Data::Store { .. }, _) => store::<MODE, LINE_LANES>,
        (Data::LoadScalars { .. }, _) => load_scalars::<MODE>,
    }
}

/// The function that runs a word with this operation on scalars, and
/// arithmetic where it `COMPUTES`.
fn scalar<const COMPUTES: bool>(op: ScalarOp) -> Run {
    macro_rules! functions {
        ($($function:ident)*) => {
            match op {
                ScalarOp::Move { .. } | ScalarOp::High { .. } => |step, guest| {
                    scalar::execute(&mut Plain, step.scalar, guest.scalars);
                    !COMPUTES || (step.compute)(step, guest)
                },
                $(ScalarOp::Binary { function: Binary::$function, .. } => |step, guest| {
                    let mut op = step.scalar;
                    if let ScalarOp::Binary { function, .. } = &mut op {
                        *function = Binary::$function;
                    }
                    scalar::execute(&mut Plain, op, guest.scalars);
                    !COMPUTES || (step.compute)(step, guest)
                },)*
            }
        };
    }
    functions!(Add Sub Mul And Or Shl Shr Sar)
}

/// The function that runs a branch that is `expect`ed to be taken, or not, and
/// arithmetic where the word `computes`; nothing where it goes the other way.
fn guard(condition: Condition, expect: bool, computes: bool) -> Run {
    macro_rules! functions {
        ($($condition:ident)*) => {
            match (condition, expect, computes) {
                $((Condition::$condition, true, false) =>
                    |step, guest| Condition::$condition.holds(step.tested(guest)),
                (Condition::$condition, false, false) =>
                    |step, guest| !Condition::$condition.holds(step.tested(guest)),
                (Condition::$condition, true, true) => |step, guest| {
                    Condition::$condition.holds(step.tested(guest)) && (step.compute)(step, guest)
                },
                (Condition::$condition, false, true) => |step, guest| {
                    !Condition::$condition.holds(step.tested(guest)) && (step.compute)(step, guest)
                },)*
            }
        };
    }
    functions!(Zero NotZero Negative NotNegative)
}

/// `WORDS` words of every section's DMEM at `address`, where there are such.
#[inline(always)]
fn words<const WORDS: usize>(dmem: &mut [Line], address: u32) -> Option<&mut [Lane; WORDS]> {
    if address as usize % (WORDS * 4) != 0 {
        return None;
    }
    let line = dmem.get_mut(address as usize / 16)?;
    let first = (address as usize / 4) % LINE_LANES;
    line.0[first..].first_chunk_mut()
}

#[inline(always)]
fn update(step: &Step, scalars: &mut [u32; SCALARS], next: Option<u32>) {
    if let Some(next) = next {
        scalars[usize::from(step.base) % SCALARS] = next;
    }
}

/// Writes `WORDS` words to `LANES` lanes, again and again.
#[inline(always)]
fn arrive<const WORDS: usize, const LANES: usize>(
    step: &Step,
    file: &mut File,
    words: &[Lane; WORDS],
) {
    let first = usize::from(step.first) % FILE_LANES / LANES * LANES;
    for i in 0..LANES {
        file.0[first + i] = words[i % WORDS];
    }
}

/// What a load finds, where there is such DMEM; the address register moves on.
#[inline(always)]
fn fetch<'a, const MODE: u8, const WORDS: usize>(
    step: &Step,
    dmem: &'a mut [Line],
    scalars: &mut [u32; SCALARS],
) -> Option<&'a [Lane; WORDS]> {
    let at = step.generate::<MODE>(scalars, WORDS as u32 * 4);
    let value = words::<WORDS>(dmem, at.address)?;
    update(step, scalars, at.next);
    Some(value)
}

/// A load of registers that the arithmetic does not touch.
fn load<const MODE: u8, const WORDS: usize, const LANES: usize>(
    step: &Step,
    guest: &mut Guest<'_>,
) -> bool {
    let Some(value) = fetch::<MODE, WORDS>(step, guest.dmem, guest.scalars) else {
        return false;
    };
    arrive::<WORDS, LANES>(step, guest.file, value);
    (step.compute)(step, guest)
}

/// A load of registers that the arithmetic reads.
fn late<const MODE: u8, const WORDS: usize, const LANES: usize>(
    step: &Step,
    guest: &mut Guest<'_>,
) -> bool {
    let Some(value) = fetch::<MODE, WORDS>(step, guest.dmem, guest.scalars) else {
        return false;
    };
    let value = *value;
    let done = (step.compute)(step, guest);
    arrive::<WORDS, LANES>(step, guest.file, &value);
    done
}

/// Stores `WORDS` lanes.
fn store<const MODE: u8, const WORDS: usize>(step: &Step, guest: &mut Guest<'_>) -> bool {
    let at = step.generate::<MODE>(guest.scalars, WORDS as u32 * 4);
    let Some(words) = words::<WORDS>(guest.dmem, at.address) else {
        return false;
    };
    let first = usize::from(step.first) % FILE_LANES / WORDS * WORDS;
    words.copy_from_slice(&guest.file.0[first..first + WORDS]);
    update(step, guest.scalars, at.next);
    (step.compute)(step, guest)
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
    update(step, guest.scalars, at.next);
    (step.compute)(step, guest)
}

/// One function for every operation of the arithmetic slot.
macro_rules! computes {
    ($($op:ident)*) => {
        /// The function that runs the arithmetic of a word.
        fn compute(op: Op) -> Run {
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
