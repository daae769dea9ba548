//! Functions that run a word, selected by the operation in its memory slot.

use super::avx::{Avx, LaneHost, WordBody, WordFunction};
use super::operand_rows::Operands;
use super::portable::WordCall;
use super::section_lanes::Wide;
use crate::alu::PlainAlu;
use crate::core::Guest;
use crate::core::layout::{COLUMNS, DmemLine, LINE_LANES, Lane, PAIR, RegisterFile, Shared};
use crate::semantics::action::{Data, ExchangeOp, Neighbour, ScalarOp, Source};
use crate::semantics::scalar::Binary;
use crate::semantics::{arith, exchange, scalar};
use cp2_asm::isa::{AddressOperand, Mode, Op, SCALARS, Scalar};
use std::marker::PhantomData;

// Addressing modes, as parameters of the functions below.
pub(super) const OFFSET: u8 = 0;
pub(super) const POST: u8 = 1;
pub(super) const STEP: u8 = 2;
pub(super) const MODULO: u8 = 3;
pub(super) const REVERSE: u8 = 4;

/// Lanes of a word.
const WORD: usize = 1;

/// A word with a memory operation.
#[derive(Clone, Copy)]
pub(super) struct MemoryWord {
    pub place: AddressOperand,
    pub data: Data,
    /// True if loaded data may be written before the arithmetic runs.
    pub early: bool,
    pub host: Option<Avx>,
}

impl MemoryWord {
    /// Selects the function that runs the word.
    pub(super) fn run(self) -> WordFunction {
        match self.place {
            AddressOperand::Shared(address) => match address.mode {
                Mode::Offset(_) => self.select_function::<OFFSET>(),
                Mode::Post(_) => self.select_function::<POST>(),
                Mode::Step(_) => self.select_function::<STEP>(),
                Mode::Modulo(_) => self.select_function::<MODULO>(),
                Mode::Reverse(_) => self.select_function::<REVERSE>(),
            },
            AddressOperand::Own(_) => self.select_gather(),
        }
    }

    /// Selects the function of a word whose sections form their own addresses.
    fn select_gather(self) -> WordFunction {
        const QUAD: usize = LINE_LANES;
        match self.data {
            Data::Load { count: 1, .. } => self.select_body::<OwnAddressLoad<PAIR, PAIR>>(),
            Data::Load { .. } => self.select_body::<OwnAddressLoad<QUAD, QUAD>>(),
            Data::LoadDuplicate { .. } => self.select_body::<OwnAddressLoad<PAIR, QUAD>>(),
            Data::LoadWord { .. } => self.select_body::<OwnAddressLoad<WORD, PAIR>>(),
            // No row does this. The engine's reference step runs the word.
            Data::Store { .. }
            | Data::StoreWord { .. }
            | Data::LoadUnaligned { .. }
            | Data::LoadNeighbour { .. }
            | Data::StoreUnaligned { .. }
            | Data::LoadScalars { .. } => self.select_body::<Refuse>(),
        }
    }

    fn select_function<const MODE: u8>(self) -> WordFunction {
        const QUAD: usize = LINE_LANES;
        match (self.data, self.early) {
            (Data::Load { count: 1, .. }, true) => {
                self.select_body::<IndependentLoad<MODE, PAIR, PAIR>>()
            }
            (Data::Load { .. }, true) => self.select_body::<IndependentLoad<MODE, QUAD, QUAD>>(),
            (Data::LoadDuplicate { .. }, true) => {
                self.select_body::<IndependentLoad<MODE, PAIR, QUAD>>()
            }
            (Data::Load { count: 1, .. }, false) => {
                self.select_body::<OperandLoad<MODE, PAIR, PAIR>>()
            }
            (Data::Load { .. }, false) => self.select_body::<OperandLoad<MODE, QUAD, QUAD>>(),
            (Data::LoadDuplicate { .. }, false) => {
                self.select_body::<OperandLoad<MODE, PAIR, QUAD>>()
            }
            (Data::Store { count: 1, .. }, _) => self.select_body::<Store<MODE, PAIR>>(),
            (Data::Store { .. }, _) => self.select_body::<Store<MODE, QUAD>>(),
            (Data::LoadWord { .. }, _) => self.select_body::<UnalignedLoad<MODE, WORD, PAIR>>(),
            (Data::LoadUnaligned { count: 1, .. }, _) => {
                self.select_body::<UnalignedLoad<MODE, PAIR, PAIR>>()
            }
            (Data::LoadUnaligned { .. }, _) => {
                self.select_body::<UnalignedLoad<MODE, QUAD, QUAD>>()
            }
            (Data::LoadNeighbour { count, from, .. }, _) => {
                const NEXT: bool = true;
                match (count, from) {
                    (1, Neighbour::Next) => self.select_body::<NeighbourLoad<MODE, NEXT, PAIR>>(),
                    (1, _) => self.select_body::<NeighbourLoad<MODE, { !NEXT }, PAIR>>(),
                    (_, Neighbour::Next) => self.select_body::<NeighbourLoad<MODE, NEXT, QUAD>>(),
                    (..) => self.select_body::<NeighbourLoad<MODE, { !NEXT }, QUAD>>(),
                }
            }
            (Data::StoreWord { .. }, _) => self.select_body::<UnalignedStore<MODE, WORD>>(),
            (Data::StoreUnaligned { count: 1, .. }, _) => {
                self.select_body::<UnalignedStore<MODE, PAIR>>()
            }
            (Data::StoreUnaligned { .. }, _) => self.select_body::<UnalignedStore<MODE, QUAD>>(),
            (Data::LoadScalars { .. }, _) => {
                WordFunction::select_host::<LoadScalars<MODE>>(self.host)
            }
        }
    }

    fn select_body<B: PairedMemoryOperation>(self) -> WordFunction {
        WordFunction::select_host::<SingleMemoryOperation<B>>(self.host)
    }
}

/// A memory operation in a word with arithmetic.
trait PairedMemoryOperation {
    /// True if the arithmetic may run after the whole operation.
    const BEFORE: bool;

    /// Runs the operation, and `compute` at the point where the arithmetic belongs. Returns false,
    /// and does nothing, where it would fault.
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool;
}

/// Word body of one memory operation with any arithmetic.
struct SingleMemoryOperation<B>(PhantomData<B>);

impl<B: PairedMemoryOperation> WordBody for SingleMemoryOperation<B> {
    const THEN_COMPUTES: bool = B::BEFORE;

    #[inline(always)]
    fn run<H: LaneHost>(host: H, step: &WordCall, guest: &mut Guest<'_>) -> bool {
        B::run(step, guest, |guest| {
            if !B::BEFORE {
                step.run_arithmetic(host, guest);
            }
        })
    }
}

/// Returns `WORDS` words of every section's DMEM at `address`, if it is aligned and in range.
#[inline(always)]
fn words<const WORDS: usize>(dmem: &mut [DmemLine], address: u32) -> Option<&mut [Lane; WORDS]> {
    // Rotated right, an unaligned address is a large number, so that the range check refuses it.
    let index = address.rotate_right((WORDS * 4).trailing_zeros()) as usize;
    let line = dmem.get_mut(index / (LINE_LANES / WORDS))?;
    let first = index % (LINE_LANES / WORDS) * WORDS;
    line.0[first..].first_chunk_mut()
}

/// Writes `WORDS` words to `LANES` lanes, repeated until these are full.
#[inline(always)]
fn arrive<const WORDS: usize, const LANES: usize>(
    step: &WordCall,
    file: &mut RegisterFile,
    words: &[Lane; WORDS],
) {
    for part in step.row.lanes_mut::<LANES>(file).chunks_exact_mut(WORDS) {
        part.copy_from_slice(words);
    }
}

/// Returns the words that a load reads, if its address is good, and updates the address register.
#[inline(always)]
fn fetch<'a, const MODE: u8, const WORDS: usize>(
    step: &WordCall,
    dmem: &'a mut [DmemLine],
    scalars: &mut Shared,
) -> Option<&'a [Lane; WORDS]> {
    let at = step.generate::<MODE>(scalars, WORDS as u32 * 4);
    let value = words::<WORDS>(dmem, at.address)?;
    step.update(scalars, at.next);
    Some(value)
}

/// A load of registers that the arithmetic neither reads nor writes.
struct IndependentLoad<const MODE: u8, const WORDS: usize, const LANES: usize>;

impl<const MODE: u8, const WORDS: usize, const LANES: usize> PairedMemoryOperation
    for IndependentLoad<MODE, WORDS, LANES>
{
    const BEFORE: bool = true;

    #[inline(always)]
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool {
        let Some(value) = fetch::<MODE, WORDS>(step, guest.dmem, &mut guest.registers.scalars)
        else {
            return false;
        };
        arrive::<WORDS, LANES>(step, &mut guest.registers.file, value);
        compute(guest);
        true
    }
}

/// A load of registers that the arithmetic reads or writes: loaded values are written after it.
struct OperandLoad<const MODE: u8, const WORDS: usize, const LANES: usize>;

impl<const MODE: u8, const WORDS: usize, const LANES: usize> PairedMemoryOperation
    for OperandLoad<MODE, WORDS, LANES>
{
    const BEFORE: bool = false;

    #[inline(always)]
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool {
        let Some(value) = fetch::<MODE, WORDS>(step, guest.dmem, &mut guest.registers.scalars)
        else {
            return false;
        };
        let value = *value;
        compute(guest);
        arrive::<WORDS, LANES>(step, &mut guest.registers.file, &value);
        true
    }
}

/// A load from the section beside: the next one, or the one before.
struct NeighbourLoad<const MODE: u8, const NEXT: bool, const WORDS: usize>;

impl<const MODE: u8, const NEXT: bool, const WORDS: usize> PairedMemoryOperation
    for NeighbourLoad<MODE, NEXT, WORDS>
{
    const BEFORE: bool = false;

    #[inline(always)]
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool {
        let Some(value) = fetch::<MODE, WORDS>(step, guest.dmem, &mut guest.registers.scalars)
        else {
            return false;
        };
        let mut value = *value;
        for lane in &mut value {
            match NEXT {
                true => lane.rotate_left(1),
                false => lane.rotate_right(1),
            }
        }
        compute(guest);
        arrive::<WORDS, WORDS>(step, &mut guest.registers.file, &value);
        true
    }
}

/// A load at addresses that the sections form themselves.
struct OwnAddressLoad<const WORDS: usize, const LANES: usize>;

impl<const WORDS: usize, const LANES: usize> PairedMemoryOperation
    for OwnAddressLoad<WORDS, LANES>
{
    const BEFORE: bool = false;

    #[inline(always)]
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool {
        let addresses = step.own_addresses(guest, WORDS as u32 * 4);
        let mut value = [Lane::default(); WORDS];
        for (section, address) in addresses.into_iter().enumerate() {
            let Some(words) = words::<WORDS>(guest.dmem, address) else {
                return false;
            };
            for (to, from) in value.iter_mut().zip(words) {
                to[section] = from[section];
            }
        }
        compute(guest);
        arrive::<WORDS, LANES>(step, &mut guest.registers.file, &value);
        true
    }
}

/// Returns the index of the first of `WORDS` words of DMEM at `address`, if they are in range and the address
/// is that of a word.
#[inline(always)]
fn word_index<const WORDS: usize>(dmem: &[DmemLine], address: u32) -> Option<usize> {
    let first = address as usize / 4;
    let fits = address.is_multiple_of(4) && first + WORDS <= dmem.len() * LINE_LANES;
    fits.then_some(first)
}

/// A load from any word address.
struct UnalignedLoad<const MODE: u8, const WORDS: usize, const LANES: usize>;

impl<const MODE: u8, const WORDS: usize, const LANES: usize> PairedMemoryOperation
    for UnalignedLoad<MODE, WORDS, LANES>
{
    const BEFORE: bool = false;

    #[inline(always)]
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool {
        let at = step.generate::<MODE>(&guest.registers.scalars, WORDS as u32 * 4);
        let Some(first) = word_index::<WORDS>(guest.dmem, at.address) else {
            return false;
        };
        let value: [Lane; WORDS] = std::array::from_fn(|i| {
            let word = first + i;
            guest.dmem[word / LINE_LANES].0[word % LINE_LANES]
        });
        step.update(&mut guest.registers.scalars, at.next);
        compute(guest);
        arrive::<WORDS, LANES>(step, &mut guest.registers.file, &value);
        true
    }
}

/// A store of `WORDS` lanes to any word address.
struct UnalignedStore<const MODE: u8, const WORDS: usize>;

impl<const MODE: u8, const WORDS: usize> PairedMemoryOperation for UnalignedStore<MODE, WORDS> {
    const BEFORE: bool = true;

    #[inline(always)]
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool {
        let at = step.generate::<MODE>(&guest.registers.scalars, WORDS as u32 * 4);
        let Some(first) = word_index::<WORDS>(guest.dmem, at.address) else {
            return false;
        };
        let lanes = step.row.lanes::<WORDS>(&guest.registers.file);
        for (i, lane) in lanes.iter().enumerate() {
            let word = first + i;
            guest.dmem[word / LINE_LANES].0[word % LINE_LANES] = *lane;
        }
        step.update(&mut guest.registers.scalars, at.next);
        compute(guest);
        true
    }
}

/// Selects the function of a word that moves registers between sections.
pub(super) fn exchange(op: ExchangeOp, host: Option<Avx>) -> WordFunction {
    const QUAD: usize = LINE_LANES;
    match (op.mutual, op.count) {
        (false, 1) => WordFunction::select_host::<SingleMemoryOperation<Cross<false, PAIR>>>(host),
        (false, _) => WordFunction::select_host::<SingleMemoryOperation<Cross<false, QUAD>>>(host),
        (true, 1) => WordFunction::select_host::<SingleMemoryOperation<Cross<true, PAIR>>>(host),
        (true, _) => WordFunction::select_host::<SingleMemoryOperation<Cross<true, QUAD>>>(host),
    }
}

/// Selects the function of a word that only the reference step runs.
pub(super) fn refuse(host: Option<Avx>) -> WordFunction {
    WordFunction::select_host::<SingleMemoryOperation<Refuse>>(host)
}

/// A movement of `LANES` lanes between sections.
struct Cross<const MUTUAL: bool, const LANES: usize>;

impl<const MUTUAL: bool, const LANES: usize> PairedMemoryOperation for Cross<MUTUAL, LANES> {
    const BEFORE: bool = false;

    #[inline(always)]
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool {
        let op = ExchangeOp {
            mutual: MUTUAL,
            first: 0,
            second: 0,
            count: (LANES / PAIR) as u8,
            distance: step.bytes,
        };
        let file = &guest.registers.file;
        let (a, b) = (
            step.row.lanes::<LANES>(file),
            step.index.lanes::<LANES>(file),
        );
        let values: [[(u32, u32); COLUMNS]; LANES] = std::array::from_fn(|i| {
            std::array::from_fn(|section| {
                exchange::values(op, (section, COLUMNS), |s| a[i][s], |s| b[i][s])
            })
        });
        let first: [Lane; LANES] = values.map(|lane| lane.map(|(first, _)| first));
        let second: [Lane; LANES] = values.map(|lane| lane.map(|(_, second)| second));
        compute(guest);
        let file = &mut guest.registers.file;
        step.row.lanes_mut::<LANES>(file).copy_from_slice(&first);
        if MUTUAL {
            step.index.lanes_mut::<LANES>(file).copy_from_slice(&second);
        }
        true
    }
}

/// An operation that only the reference step runs.
struct Refuse;

impl PairedMemoryOperation for Refuse {
    const BEFORE: bool = false;

    #[inline(always)]
    fn run(_: &WordCall, _: &mut Guest<'_>, _: impl FnOnce(&mut Guest<'_>)) -> bool {
        false
    }
}

/// A store of `WORDS` lanes.
struct Store<const MODE: u8, const WORDS: usize>;

impl<const MODE: u8, const WORDS: usize> PairedMemoryOperation for Store<MODE, WORDS> {
    const BEFORE: bool = true;

    #[inline(always)]
    fn run(step: &WordCall, guest: &mut Guest<'_>, compute: impl FnOnce(&mut Guest<'_>)) -> bool {
        let at = step.generate::<MODE>(&guest.registers.scalars, WORDS as u32 * 4);
        let Some(words) = words::<WORDS>(guest.dmem, at.address) else {
            return false;
        };
        words.copy_from_slice(step.row.lanes::<WORDS>(&guest.registers.file));
        step.update(&mut guest.registers.scalars, at.next);
        compute(guest);
        true
    }
}

/// A load of shared scalars from section 0.
struct LoadScalars<const MODE: u8>;

impl<const MODE: u8> WordBody for LoadScalars<MODE> {
    const THEN_COMPUTES: bool = true;

    #[inline(always)]
    fn run<H: LaneHost>(_: H, step: &WordCall, guest: &mut Guest<'_>) -> bool {
        let at = step.generate::<MODE>(&guest.registers.scalars, step.bytes);
        let address = at.address as usize;
        let Some(line) = guest.dmem.get(address / 16) else {
            return false;
        };
        // The size is a power of two.
        if at.address & (step.bytes - 1) != 0 {
            return false;
        }
        for i in 0..usize::from(step.count) {
            let word = line.0[(address / 4 + i) % LINE_LANES][0];
            guest.registers.scalars.0[(usize::from(step.first) + i) % SCALARS] = word;
        }
        step.update(&mut guest.registers.scalars, at.next);
        true
    }
}

/// Selects the function of a word with an operation on scalars, and with arithmetic if it
/// `computes`.
pub(super) fn scalar(op: ScalarOp, computes: bool, host: Option<Avx>) -> WordFunction {
    if computes {
        function::<true>(op, host)
    } else {
        function::<false>(op, host)
    }
}

fn function<const COMPUTES: bool>(op: ScalarOp, host: Option<Avx>) -> WordFunction {
    let constant = |source| matches!(source, Source::Constant(_));
    macro_rules! functions {
        ($($name:ident)*) => {
            match op {
                ScalarOp::Move { y, .. } if constant(y) => WordFunction::select_host::<Set<COMPUTES>>(host),
                ScalarOp::Move { .. } => WordFunction::select_host::<Copy<COMPUTES>>(host),
                ScalarOp::High { .. } => WordFunction::select_host::<High<COMPUTES>>(host),
                $(ScalarOp::Binary { function: Binary::$name, z, .. } => {
                    if constant(z) {
                        WordFunction::select_host::<functions::$name<true, COMPUTES>>(host)
                    } else {
                        WordFunction::select_host::<functions::$name<false, COMPUTES>>(host)
                    }
                })*
            }
        };
    }
    functions!(Add Sub Mul And Or Shl Shr Sar)
}

/// Defines a body for an operation on scalars; its operands are those of the step.
macro_rules! operates {
    ($name:ident<$($parameter:ident),*>, |$step:ident| $op:expr) => {
        pub(super) struct $name<$(const $parameter: bool),*>;

        impl<$(const $parameter: bool),*> WordBody for $name<$($parameter),*> {
            const THEN_COMPUTES: bool = COMPUTES;

            #[inline(always)]
            fn run<H: LaneHost>(_: H, $step: &WordCall, guest: &mut Guest<'_>) -> bool {
                scalar::execute(&mut PlainAlu, $op, &mut guest.registers.scalars);
                true
            }
        }
    };
}

operates!(Set<COMPUTES>, |step| ScalarOp::Move {
    x: Scalar(step.first),
    y: Source::Constant(step.amount as u32),
});
operates!(Copy<COMPUTES>, |step| ScalarOp::Move {
    x: Scalar(step.first),
    y: Source::Register(Scalar(step.base)),
});
operates!(High<COMPUTES>, |step| ScalarOp::High {
    x: Scalar(step.first),
    value: step.amount as u32,
});

mod functions {
    use super::*;

    macro_rules! binary {
        ($($name:ident)*) => {
            $(operates!($name<CONSTANT, COMPUTES>, |step| ScalarOp::Binary {
                function: Binary::$name,
                x: Scalar(step.first),
                y: Source::Register(Scalar(step.base)),
                z: if CONSTANT {
                    Source::Constant(step.amount as u32)
                } else {
                    Source::Register(Scalar(step.step))
                },
            });)*
        };
    }
    binary!(Add Sub Mul And Or Shl Shr Sar);
}

/// Selects the function of a branch that a block continues behind.
pub(super) fn guard(computes: bool, host: Option<Avx>) -> WordFunction {
    if computes {
        WordFunction::select_host::<Guard<true>>(host)
    } else {
        WordFunction::select_host::<Guard<false>>(host)
    }
}

struct Guard<const COMPUTES: bool>;

impl<const COMPUTES: bool> WordBody for Guard<COMPUTES> {
    const THEN_COMPUTES: bool = COMPUTES;

    #[inline(always)]
    fn run<H: LaneHost>(_: H, step: &WordCall, guest: &mut Guest<'_>) -> bool {
        let value = guest.registers.scalars.0[usize::from(step.tested().0)];
        step.continues_for(value)
    }
}

/// Defines a body for every operation of the arithmetic slot.
macro_rules! computes {
    ($($op:ident)*) => {
        mod ops {
            $(pub(super) struct $op;)*
            /// A row of a machine file, whichever.
            pub(super) struct User;
        }

        impl WordBody for ops::User {
            const THEN_COMPUTES: bool = false;

            #[inline(always)]
            fn run<H: LaneHost>(host: H, step: &WordCall, guest: &mut Guest<'_>) -> bool {
                let operands = &mut Operands {
                    file: &mut guest.registers.file,
                    rows: &step.rows,
                    second: step.second,
                    host,
                };
                if let Op::User(row) = step.inst.op {
                    arith::perform(&mut Wide(host), Op::User(row), &step.inst, operands);
                }
                true
            }
        }

        $(impl WordBody for ops::$op {
            const THEN_COMPUTES: bool = false;

            #[inline(always)]
            fn run<H: LaneHost>(host: H, step: &WordCall, guest: &mut Guest<'_>) -> bool {
                let operands = &mut Operands {
                    file: &mut guest.registers.file,
                    rows: &step.rows,
                    second: step.second,
                    host,
                };
                arith::perform(&mut Wide(host), Op::$op, &step.inst, operands);
                true
            }
        })*

        /// Selects the function that runs the arithmetic of a word.
        pub(super) fn compute(op: Op, host: Option<Avx>) -> WordFunction {
            match op {
                $(Op::$op => WordFunction::select_host::<ops::$op>(host),)*
                Op::User(_) => WordFunction::select_host::<ops::User>(host),
            }
        }
    };
}

cp2_asm::for_each_op!(computes);
