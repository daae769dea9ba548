//! Passes of a hardware loop whose body is one block, carried out together.
//!
//! Most address registers move by the same number of bytes in every pass, so that the stores of all passes are known
//! once one pass has been followed. Only accesses whose addresses move otherwise are carried out pass by pass.

use super::code::Effect;
use super::partial::KnownNumber;
use super::state::KnownState;
use crate::semantics::action::{Data, MemoryOp};
use cp2_asm::isa::{Address, AddressOperand, Mode, Reg, RegSet, SCALARS, Scalar};
use cp2_machine::LANE_BYTES;

/// Bytes of the longest ring in which the place after many steps is computed at once.
const MOST_RING: i64 = 1 << 30;

/// The effects of a pass, by how they go on in the passes behind it.
#[derive(Debug, Default)]
pub(super) struct PassEffects {
    /// All accesses of a pass, in order; true for a store whose address moves evenly.
    all: Vec<(MemoryOp, bool)>,
    /// Accesses that are carried out in every pass, in order.
    each: Vec<MemoryOp>,
    /// Address registers that move by the same number of bytes in every pass.
    even: Vec<Scalar>,
    /// Loads that go round through address registers that nothing else uses, by these registers.
    rounds: Vec<Vec<MemoryOp>>,
}

/// A store whose address moves by the same number of bytes in every pass, as it was in one of them.
#[derive(Clone, Copy, Debug)]
struct EvenStore {
    number: KnownNumber,
    address: u32,
    bytes: u32,
    /// Index in [`PassEffects::even`] of its address register; none if that stays.
    register: Option<usize>,
}

impl PassEffects {
    /// Sorts the effects of a block; none if it computes scalars, which anything may depend on.
    pub(super) fn of(effects: &[Effect]) -> Option<Self> {
        let accesses = effects.iter().map(|effect| match effect {
            Effect::Memory(op) => Some(*op),
            Effect::Scalar(_) | Effect::Vote(_) => None,
        });
        let accesses: Vec<MemoryOp> = accesses.collect::<Option<_>>()?;
        let moved = accesses.iter().filter(|op| op.place.updates());
        let moved = moved.fold(RegSet::EMPTY, |set, op| set | base(op));
        // Registers whose values in the next pass are known only once it is carried out: those that a pass loads, and
        // what depends on them.
        let mut loaded = RegSet::EMPTY;
        let loads = |op: &&MemoryOp| matches!(op.data, Data::LoadScalars { .. });
        for op in accesses.iter().filter(loads) {
            if let Data::LoadScalars { first, count } = op.data {
                let all = (first.0..first.0.saturating_add(count)).map(|n| Scalar(n).reg());
                loaded = all.fold(loaded, |set, reg| set | RegSet::one(reg));
            }
        }
        let mut uneven = loaded;
        // Loads of scalars see what stores change.
        let seen = accesses.iter().any(|op| loads(&op));
        let is_even = |op: &MemoryOp, uneven: RegSet| {
            let AddressOperand::Shared(address) = op.place else {
                return false;
            };
            let data = seen && (op.data.is_store() || loads(&op));
            let own = Scalar::address(address.base).reg();
            let mut reads = address.reads().iter();
            let moves = |reg: Reg| uneven.contains(reg) || reg != own && moved.contains(reg);
            is_linear(address) && !data && !reads.any(moves)
        };
        loop {
            let known = uneven;
            // An access that is carried out in every pass sees its address register move with it.
            for op in accesses.iter().filter(|op| !is_even(op, known)) {
                uneven |= base(op) & moved;
            }
            if uneven == known {
                break;
            }
        }
        // Loads that go round leave nothing but their address register, which nothing else may use.
        let alone = |op: &MemoryOp| {
            let same = |other: &&MemoryOp| other.place.base() == op.place.base();
            accesses.iter().filter(same).all(|other| {
                let AddressOperand::Shared(address) = other.place else {
                    return false;
                };
                let own = Scalar::address(address.base).reg();
                let mut others = address.reads().iter().filter(|reg| *reg != own);
                let loads = other.data.is_section_load();
                let fixed = !others.any(|reg| uneven.contains(reg) || moved.contains(reg));
                loads && fixed && !loaded.contains(own) && matches!(address.mode, Mode::Modulo(_))
            })
        };
        let mut made = Self::default();
        for &op in &accesses {
            let even = is_even(&op, uneven);
            let register = Scalar::address(op.place.base());
            if even && op.place.updates() && !made.even.contains(&register) {
                made.even.push(register);
            }
            let same = |ops: &&mut Vec<MemoryOp>| ops[0].place.base() == op.place.base();
            match made.rounds.iter_mut().find(same) {
                _ if even => {}
                Some(known) => known.push(op),
                None if alone(&op) => made.rounds.push(vec![op]),
                None => made.each.push(op),
            }
            made.all.push((op, even && op.data.is_store()));
        }
        Some(made)
    }
}

/// Returns the address register of an access.
fn base(op: &MemoryOp) -> RegSet {
    RegSet::one(Scalar::address(op.place.base()).reg())
}

/// Returns true if an address register moves by the same number of bytes in every access.
pub(super) const fn is_linear(address: Address) -> bool {
    matches!(
        address.mode,
        Mode::Offset(_) | Mode::Post(_) | Mode::Step(_)
    )
}

impl KnownState {
    /// Carries out `passes` passes, one at least, of a block that is the body of the innermost loop and whose latest
    /// pass [`KnownState::run`] has carried out: the state behind them is that behind as many turns of it. The last
    /// pass of a loop is not among them.
    ///
    /// Returns how many passes were carried out one by one; none, with the passes not carried out, if these are more
    /// than `most`.
    pub(super) fn repeat(&mut self, effects: &PassEffects, passes: u32, most: u64) -> Option<u64> {
        let lane = |lanes: &[_; SCALARS], register: &Scalar| -> Option<KnownNumber> {
            lanes[usize::from(register.0) % SCALARS]
        };
        let before = self.lanes;
        let mut stores = Vec::new();
        for (op, store) in &effects.all {
            if *store
                && let AddressOperand::Shared(address) = op.place
                && let Some((generated, number)) = self.find_address(address, op.bytes)
            {
                let own = Scalar::address(address.base);
                stores.push(EvenStore {
                    number,
                    address: generated.address,
                    bytes: op.bytes,
                    register: effects.even.iter().position(|even| *even == own),
                });
            }
            self.access(op);
        }
        let moved = effects.even.iter().map(|register| {
            let (then, now) = (lane(&before, register)?, lane(&self.lanes, register)?);
            Some(now.bits.wrapping_sub(then.bits))
        });
        let moved: Vec<Option<u32>> = moved.collect();
        let more = passes - 1;
        if more == 0 {
            self.skip_passes(passes);
            return Some(0);
        }
        let hulls: Option<Vec<_>> = stores
            .iter()
            .map(|store| {
                // A register that is not known has no such store.
                let by = store.register.and_then(|register| moved[register]);
                self.find_unknown_hull(store, by.unwrap_or(0), more)
            })
            .collect();
        let closed = effects
            .rounds
            .iter()
            .map(|ops| self.find_next_round(ops, more));
        let closed: Vec<Option<(Scalar, u32)>> = closed.collect();
        let one_by_one = hulls.is_none() || !effects.each.is_empty() || closed.contains(&None);
        let singly = if one_by_one { u64::from(more) } else { 0 };
        if singly > most {
            return None;
        }
        match hulls {
            Some(hulls) => {
                for (store, ends) in stores.iter().zip(hulls) {
                    for address in ends {
                        self.store(store.number, address, store.bytes);
                    }
                }
                if !effects.each.is_empty() {
                    for _ in 0..more {
                        effects.each.iter().for_each(|op| self.access(op));
                    }
                }
                for (ops, next) in effects.rounds.iter().zip(closed) {
                    match next {
                        Some((register, bits)) => self.set_bits(register, bits),
                        None => (0..more).for_each(|_| ops.iter().for_each(|op| self.access(op))),
                    }
                }
                for (register, by) in effects.even.iter().zip(moved) {
                    if let (Some(number), Some(by)) = (lane(&self.lanes, register), by) {
                        let bits = number.bits.wrapping_add(by.wrapping_mul(more));
                        self.set_bits(*register, bits);
                    }
                }
            }
            // It counts which store meets a known word first.
            None => {
                for _ in 0..more {
                    effects.all.iter().for_each(|(op, _)| self.access(op));
                }
            }
        }
        self.skip_passes(passes);
        Some(singly)
    }

    /// Gives a register that is known other bits.
    fn set_bits(&mut self, register: Scalar, bits: u32) {
        if let Some(own) = &mut self.lanes[usize::from(register.0) % SCALARS] {
            own.bits = bits;
        }
    }

    /// Returns an address register that goes round by some loads, with its value so many passes further on; none where
    /// only the loads one by one tell it.
    fn find_next_round(&self, ops: &[MemoryOp], passes: u32) -> Option<(Scalar, u32)> {
        let base = ops.first()?.place.base();
        let round = base % Address::MODULO_REGISTERS;
        let read = |scalar: Scalar| Some(self.lanes[usize::from(scalar.0) % SCALARS]?.bits);
        let (at, begin) = (read(Scalar::address(base))?, read(Scalar::base(round))?);
        let length = i64::from(read(Scalar::length(round))?);
        let steps = ops.iter().map(|op| match op.place {
            AddressOperand::Shared(Address {
                mode: Mode::Modulo(s),
                ..
            }) => Some(i64::from(read(Scalar::step(s))?.cast_signed())),
            _ => None,
        });
        let steps: Vec<i64> = steps.collect::<Option<_>>()?;
        let place = i64::from(at) - i64::from(begin);
        // From a place in the ring, a step that is no longer than the ring leads to the place modulo its length. Longer
        // rings have offsets whose sign is lost in 32 bits.
        let within = (0..length).contains(&place) && length <= MOST_RING;
        if !within || steps.iter().any(|step| step.abs() > length) {
            return None;
        }
        let each = steps.iter().sum::<i64>().rem_euclid(length);
        let next = i64::from(begin) + (place + each * i64::from(passes)).rem_euclid(length);
        Some((Scalar::address(base), next as u32))
    }

    /// Returns the first and the last address of a store in so many passes behind it, in each of which its address is
    /// by so many bytes further on; none if words between them are known or lie outside DMEM.
    fn find_unknown_hull(&self, store: &EvenStore, by: u32, passes: u32) -> Option<[u32; 2]> {
        let (address, step) = (i64::from(store.address), i64::from(by.cast_signed()));
        let ends = [address + step, address + step * i64::from(passes)];
        let [first, last] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let end = usize::try_from(last + i64::from(store.bytes)).ok()? / LANE_BYTES;
        let words = usize::try_from(first).ok()? / LANE_BYTES..end;
        let unknown = end <= self.count_words() && !self.knows_any(words);
        let [Ok(first), Ok(last)] = ends.map(u32::try_from) else {
            return None;
        };
        unknown.then_some([first, last])
    }
}

#[cfg(test)]
mod tests {
    use crate::cycles::code::CountedCode;
    use crate::cycles::state::{Kind, KnownState};
    use cp2_asm::flow::Flow;
    use cp2_asm::isa::Word;
    use cp2_asm::{Options, Source, assemble};
    use cp2_machine::Machine;
    use proptest::prelude::*;

    /// Byte address of the words that are known at launch, and how many there are.
    const KNOWN: (u32, usize) = (0x200, 64);

    /// Returns an access to memory. Some stores meet known words; some pointers go round, or step by what an access
    /// loads from a table.
    fn any_access() -> impl Strategy<Value = String> {
        let operation = prop::sample::select(vec![
            "ldq q0,", "ldq q2,", "ldp r7,", "stq q1,", "stp r3,", "stw r5,", "ldw r6,",
            "ldx2 s4,", "ldx2 c4,", "ldx2 a0,", "ldx2 b0,", "ldx2 l2,", "ldx2 s2,",
        ]);
        let mode = (0..6u32, -3i32..4, 0..4u32).prop_map(|(mode, bytes, step)| match mode {
            0 => format!("]+{}", 16 * bytes),
            1 => format!(" + {}]", 16 * bytes),
            2 => format!("]+s{}", 4 + step % 2),
            3 => format!("]+s{step}%"),
            4 => format!("]+s{step}!"),
            _ => format!("]+s{step}"),
        });
        (operation, 0..4u32, mode).prop_map(|(op, base, mode)| {
            // No word writes a register twice.
            let base = if op == "ldx2 a0," { 2 + base % 2 } else { base };
            format!("{op} [a{base}{mode}")
        })
    }

    /// Follows a kernel; if `together` is true, passes are carried out together. Returns its state at the end, and the
    /// passes that were not followed.
    fn follow(words: &[u64], machine: &Machine, together: bool) -> (KnownState, u32) {
        let decoded: Vec<Word> = words.iter().map(|&w| Word::decode(w).unwrap()).collect();
        let flow = Flow::of(&decoded, &[0]).unwrap();
        let code = CountedCode::new(words, &flow, machine).unwrap();
        let known: Vec<u32> = (0..KNOWN.1 as u32).map(|n| 0x100 + 48 * (n % 13)).collect();
        let mut state = KnownState::new(machine, 0, &[], KNOWN.0, (KNOWN.0, &known));
        let mut skipped = 0;
        loop {
            let began = state.pc();
            let block = code.block(code.find_block(began).unwrap());
            if state.run(block, machine).unwrap().kind == Kind::Stop {
                return (state, skipped);
            }
            if together
                && state.pc() == began
                && let Some(left) = state.count_passes_left(block.last).filter(|left| *left > 0)
                && let Some(effects) = &block.pass
            {
                state.repeat(effects, left, u64::MAX).unwrap();
                skipped += left;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn passes_together_are_those_one_by_one(
            body in prop::collection::vec(any_access(), 1..7),
            set in prop::collection::vec(0u32..96, 8),
            passes in 1u32..40,
            from_arguments in any::<bool>(),
        ) {
            let machine = Machine::load("vm7+section-addressing+word-addressing").unwrap();
            let mut text = String::from(".program\n");
            for n in 0..4 {
                match from_arguments {
                    true => text += &format!("ldx2 a{}, [a15 + {}]\n", 2 * n, 8 * n),
                    false => text += &format!("movi a{n}, {}\n", 0x100 + 8 * set[n]),
                }
                text += &format!("movi s{n}, {}\nmovi b{n}, {}\n", 16 * (set[n] % 9), 0x180);
                text += &format!("movi l{n}, {}\n", 16 * (1 + set[n + 4] % 20));
            }
            text += &format!("movi s4, 16\nmovi s5, 32\nloop {passes} {{\n{}\n}}\nstop\n", body.join("\n"));
            let words = assemble(&Source::new("a.s", &text), &Options::default()).unwrap();
            let words = words.program.words;
            let (one, _) = follow(&words, &machine, false);
            let (other, skipped) = follow(&words, &machine, true);
            prop_assert_eq!(skipped, passes.saturating_sub(2), "{}", text);
            prop_assert_eq!(one.lanes, other.lanes, "{}", text);
            prop_assert!(one.describe() == other.describe(), "{}", text);
        }
    }
}
