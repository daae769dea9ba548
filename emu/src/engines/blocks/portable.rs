//! The portable tier: one function per word, chosen when the word is translated.
//!
//! Nothing is decoded at run time. Vectors of four sections are the `wide` crate's, which has a
//! fallback for hosts without vector instructions. Each function is compiled a second time for
//! hosts with AVX2.

use super::avx::{self, Avx, LaneHost, WordFunction};
use super::operand_rows::RegisterRow;
use super::word_functions::{self, MODULO, OFFSET, POST, STEP};
use crate::core::Guest;
use crate::core::decoded::Decoded;
use crate::core::layout::Shared;
use crate::core::layout::{COLUMNS, PAIR};
use crate::semantics::action::{Action, ControlOp, Data, MemoryOp, ScalarOp, Source};
use crate::semantics::address::{Generated, generate, own_address};
use cp2_asm::isa::{Address, AddressOperand, Inst, Kind, Mode, OwnAddress, Scalar};

/// A word ready to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordCall {
    run: WordFunction,
    /// Runs the word's arithmetic, which never faults, and continues with the next word.
    compute: WordFunction,
    /// Kind of host that both functions are for.
    host: Option<Avx>,
    pub(super) inst: Inst,
    /// First lanes of the operands of the arithmetic.
    pub(super) rows: [RegisterRow; 5],
    /// First lanes of the second operand, apart from the others: otherwise compilers would compute
    /// the addresses of two results together as a vector, which takes longer.
    pub(super) second: RegisterRow,
    /// Constant of the addressing mode (an offset or an increment), or of an operation on scalars.
    pub(super) amount: i32,
    /// Bytes accessed per section; in a guard the bits that it tests; distance of a movement between sections.
    pub(super) bytes: u32,
    /// Address register, the scalar tested, or the first operand of an operation on scalars.
    pub(super) base: u8,
    /// Scalar that holds the step, the half-word of own addresses, or the second operand of an
    /// operation on scalars.
    pub(super) step: u8,
    /// Register loaded or stored.
    pub(super) row: RegisterRow,
    /// Register whose half-words own addresses are formed with, or second operand of a movement between
    /// sections.
    pub(super) index: RegisterRow,
    /// First scalar written.
    pub(super) first: u8,
    /// Number of scalars loaded.
    pub(super) count: u8,
    /// True if the word is a guard: a branch that a block continues behind.
    pub guard: bool,
    /// True if a guard lets the block continue where the tested bits are zero.
    zero: bool,
    /// Index of the word in its text.
    pub word: u32,
    /// Number of guards before it in its text.
    pub guards: u32,
}

/// Runs all `steps` up to `times` times, and stops at the first step that fails. Returns how many
/// times all of them ran, and how many steps did after that.
pub(crate) fn run(steps: &[WordCall], guest: &mut Guest<'_>, times: u64) -> (u64, usize) {
    for whole in 0..times {
        let done = run_words_once(steps, guest);
        if done < steps.len() {
            return (whole, done);
        }
    }
    (times, 0)
}

const FIRST_ADDRESS: Scalar = Scalar::address(0);
const FIRST_STEP: Scalar = Scalar::step(0);

/// Maximum number of steps that may call one another, in case a compiler does not make these calls jumps.
const DEPTH: usize = 128;

/// Runs `steps` up to the first that fails; returns how many ran.
#[inline]
pub(crate) fn run_words_once(steps: &[WordCall], guest: &mut Guest<'_>) -> usize {
    let mut done = 0;
    for some in steps.chunks(DEPTH) {
        let left = some
            .first()
            .map_or(0, |step| avx::start(step.run, step.host, some, guest));
        done += some.len() - left;
        if left > 0 {
            break;
        }
    }
    done
}

impl WordCall {
    /// Chooses the functions of a word for this host. The word is number `at` of its text, behind
    /// `guards` guards.
    pub(crate) fn new(word: &Decoded, at: usize, guards: usize) -> Self {
        Self {
            word: at as u32,
            guards: guards as u32,
            ..Self::from_word(word, Avx::find())
        }
    }

    fn from_word(word: &Decoded, host: Option<Avx>) -> Self {
        let compute = word_functions::compute(word.word.arith.op, host);
        let rows = rows(&word.word.arith);
        let mut step = Self {
            run: compute,
            compute,
            host,
            inst: word.word.arith,
            second: rows[1],
            rows,
            amount: 0,
            bytes: 1,
            base: 0,
            step: 0,
            row: RegisterRow::default(),
            index: RegisterRow::default(),
            first: 0,
            count: 0,
            guard: word.expect.is_some(),
            zero: false,
            word: 0,
            guards: 0,
        };
        match word.action {
            Action::Memory(op) => {
                let (arith, mem) = (&word.word.arith, &word.word.mem);
                let early = ((arith.reads() | arith.writes()) & mem.writes()).is_empty();
                step.access(op);
                let access = word_functions::MemoryWord {
                    place: op.place,
                    data: op.data,
                    early,
                    host,
                };
                step.run = access.run();
            }
            Action::Exchange(op) => {
                step.row = RegisterRow::from_pair(op.first);
                step.index = RegisterRow::from_pair(op.second);
                step.bytes = op.distance;
                step.run = word_functions::exchange(op, host);
            }
            Action::Scalar(op) => {
                step.operate(op);
                step.run = word_functions::scalar(op, word.computes, host);
            }
            Action::Control(op) => {
                // Every other control operation ends the block, and the engine executes it.
                if let (Some(taken), ControlOp::Branch { condition, x, .. }) = (word.expect, op) {
                    let (bits, zero) = condition.bits();
                    (step.base, step.bytes, step.zero) = (x.0, bits, zero == taken);
                    step.run = word_functions::guard(word.computes, host);
                }
            }
            // The reference step runs them: see `trace_words`.
            Action::Mask(_) | Action::Vote(_) => step.run = word_functions::refuse(host),
            Action::Nop => {}
        }
        step
    }

    fn access(&mut self, op: MemoryOp) {
        (self.base, self.bytes) = (op.place.base(), op.bytes);
        match op.data {
            Data::Load { first, .. }
            | Data::LoadDuplicate { first }
            | Data::Store { first, .. }
            | Data::LoadWord { first }
            | Data::StoreWord { first }
            | Data::LoadUnaligned { first, .. }
            | Data::LoadNeighbour { first, .. }
            | Data::StoreUnaligned { first, .. } => self.row = RegisterRow::from_pair(first),
            Data::LoadScalars { first, count } => (self.first, self.count) = (first.0, count),
        }
        match op.place {
            AddressOperand::Shared(address) => match address.mode {
                Mode::Offset(amount) | Mode::Post(amount) => self.amount = amount,
                Mode::Step(step) | Mode::Modulo(step) | Mode::Reverse(step) => {
                    self.step = Scalar::step(step).0;
                }
            },
            AddressOperand::Own(own) => {
                self.index = RegisterRow::from_pair(own.register);
                self.step = own.half;
            }
        }
    }

    fn operate(&mut self, op: ScalarOp) {
        let mut operand = |place: fn(&mut Self) -> &mut u8, source| match source {
            Source::Register(register) => *place(self) = register.0,
            Source::Constant(value) => self.amount = value as i32,
        };
        let x = match op {
            ScalarOp::Move { x, y } => {
                operand(|step| &mut step.base, y);
                x
            }
            ScalarOp::High { x, value } => {
                operand(|step| &mut step.base, Source::Constant(value));
                x
            }
            ScalarOp::Binary { x, y, z, .. } => {
                operand(|step| &mut step.base, y);
                operand(|step| &mut step.step, z);
                x
            }
        };
        self.first = x.0;
    }

    /// Runs the word's arithmetic alone.
    #[inline(always)]
    pub(crate) fn compute(&self, guest: &mut Guest<'_>) {
        avx::start(self.compute, self.host, std::slice::from_ref(self), guest);
    }

    /// Runs the word's arithmetic alone, on the kind of host that the word is for.
    #[inline(always)]
    pub(super) fn run_arithmetic(&self, host: impl LaneHost, guest: &mut Guest<'_>) {
        let host = host.avx().map(avx::Lanes::host);
        avx::start(self.compute, host, std::slice::from_ref(self), guest);
    }

    /// Returns the function that runs the word, and all words after it.
    #[inline(always)]
    pub(super) fn runs(&self) -> WordFunction {
        self.run
    }

    /// Returns the function that runs the word's arithmetic, and all words after it.
    #[inline(always)]
    pub(super) fn computes(&self) -> WordFunction {
        self.compute
    }

    /// Returns the scalar that a guard tests.
    #[inline(always)]
    pub(crate) fn tested(&self) -> Scalar {
        Scalar(self.base)
    }

    /// True if a guard lets the block continue where the scalar has this value.
    #[inline(always)]
    pub(crate) fn continues_for(&self, value: u32) -> bool {
        (value & self.bytes == 0) == self.zero
    }

    /// Sets the address register to its next value.
    #[inline(always)]
    pub(super) fn update(&self, scalars: &mut Shared, next: Option<u32>) {
        if let Some(next) = next {
            scalars.0[usize::from(self.base)] = next;
        }
    }

    /// Returns the address that each section forms itself for an access of `bytes`.
    #[inline(always)]
    pub(super) fn own_addresses(&self, guest: &Guest<'_>, bytes: u32) -> [u32; COLUMNS] {
        let a = guest.registers.scalars.0[usize::from(self.base)];
        let own = OwnAddress {
            base: self.base,
            register: 0,
            half: self.step,
        };
        let lanes = self.index.lanes::<PAIR>(&guest.registers.file);
        std::array::from_fn(|section| {
            own_address(own, a, [lanes[0][section], lanes[1][section]], bytes)
        })
    }

    /// Returns the address of the access and the next value of the address register.
    #[inline(always)]
    pub(super) fn generate<const MODE: u8>(&self, scalars: &Shared, bytes: u32) -> Generated {
        let mode = match MODE {
            OFFSET => Mode::Offset(self.amount),
            POST => Mode::Post(self.amount),
            STEP => Mode::Step(0),
            MODULO => Mode::Modulo(0),
            _ => Mode::Reverse(0),
        };
        // Register 0 of each kind stands for the word's own register, so that compilers know at
        // each place which kind is read.
        let read = |scalar: Scalar| {
            let base = usize::from(self.base);
            let place = match scalar {
                FIRST_ADDRESS => base,
                FIRST_STEP => usize::from(self.step),
                other => usize::from(other.0) + base % usize::from(Address::MODULO_REGISTERS),
            };
            scalars.0[place % scalars.0.len()]
        };
        generate(Address { base: 0, mode }, bytes, read)
    }
}

/// Returns the first lanes of the operands of an arithmetic operation.
fn rows(inst: &Inst) -> [RegisterRow; 5] {
    let mut rows = [RegisterRow::default(); 5];
    let operands = inst.row().form.operands().iter();
    let registers = operands.filter_map(|operand| match operand.kind {
        Kind::Pair => Some(RegisterRow::from_pair as fn(u8) -> RegisterRow),
        Kind::Quad => Some(RegisterRow::from_quad as fn(u8) -> RegisterRow),
        _ => None,
    });
    for ((row, of), register) in rows.iter_mut().zip(registers).zip(inst.r) {
        *row = of(register);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::decoded::decode;
    use crate::core::layout::{DmemLine, RegisterBanks, RegisterFile};
    use cp2_asm::testing::any_word_on;
    use cp2_machine::Machine;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Compares the functions for hosts with AVX2 with those for other hosts, on NaNs,
        /// infinities, zeros and random bits.
        #[test]
        fn both_forms_of_a_word_do_the_same(
            word in any_word_on(Machine::builtin("vm7").unwrap().cp2.extensions),
            values in prop::collection::vec(
                prop_oneof![
                    any::<u32>(),
                    (0u32..8).prop_map(|i| (i << 30) | [0, 0x3f80_0000, 0x7f80_0000, 0x7fa0_1234][i as usize % 4]),
                    any::<f32>().prop_map(f32::to_bits),
                ],
                16,
            ),
            step in 0u32..64,
        ) {
            let machine = Machine::builtin("vm7").unwrap();
            let (Ok(word), Some(avx)) = (decode(word.encode(), &machine), Avx::find()) else {
                return Ok(());
            };
            let some = |i: usize| values[(i * 7 + i / 16) % values.len()];
            let run = |host| {
                let lane = |i| std::array::from_fn(|s| some(4 * i + s));
                let mut registers = RegisterBanks {
                    file: RegisterFile(std::array::from_fn(lane)),
                    scalars: Shared(std::array::from_fn(|i| 8 * step + 8 * (i as u32 % 4))),
                };
                let mut dmem = vec![DmemLine([[some(3), some(5), some(8), some(2)]; 4]); 64];
                let done = {
                    let mut guest = Guest { registers: &mut registers, dmem: &mut dmem };
                    let step = WordCall::from_word(&word, host);
                    run_words_once(&[step], &mut guest)
                };
                (done, registers, dmem)
            };
            prop_assert_eq!(run(None), run(Some(avx)));
        }
    }
}
