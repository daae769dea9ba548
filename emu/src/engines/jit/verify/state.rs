//! Abstract state: knowledge about values at a place in the code.
//!
//! A 32-bit value is a name plus a constant. A name stands for one value as long as it is held; a
//! new definition of the name makes its old holders unknown. Where paths meet, a place that holds
//! different values gets a new name, and only facts that hold on both paths stay.

use super::RefusedInstruction;
use super::walk::JudgedBuffer;
use iced_x86::{ConditionCode, Instruction, Register};
use std::collections::{BTreeMap, BTreeSet};

/// A place that holds a 32-bit value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StorageLocation {
    /// A general register by number.
    Register(u8),
    /// Scalar of the guest, by its byte offset.
    Scalar(u32),
    /// Word of the frame, by its byte offset.
    Frame(u32),
}

/// The name of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueName {
    /// The number 0.
    Zero,
    /// Initial value of a place of memory.
    Begin(StorageLocation),
    /// Last result of the instruction at this address.
    Made(u64),
    /// Value of a place when paths last met at this address.
    Met(u64, StorageLocation),
}

/// A name plus a constant, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SymbolicWord {
    pub name: ValueName,
    pub add: u32,
}

/// Knowledge about the content of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AbstractValue {
    /// A 32-bit number, the upper half of a register zero.
    Word(SymbolicWord),
    /// A 32-bit number rotated right by so many bits, the upper half of a register zero.
    Rotated(SymbolicWord, u32),
    /// Any 32-bit number.
    Any,
    /// Any 64-bit number.
    Wide,
}

impl AbstractValue {
    pub(super) fn word(self) -> Option<SymbolicWord> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the number if it is a constant.
    fn constant(self) -> Option<u32> {
        match self {
            Self::Word(word) if word.name == ValueName::Zero => Some(word.add),
            Self::Rotated(word, by) if word.name == ValueName::Zero => {
                Some(word.add.rotate_right(by))
            }
            _ => None,
        }
    }

    /// Returns the name in the value.
    fn name(self) -> Option<ValueName> {
        match self {
            Self::Word(word) | Self::Rotated(word, _) => Some(word.name),
            Self::Any | Self::Wide => None,
        }
    }
}

/// Operands of the last comparison; the second is a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ComparedOperands {
    value: AbstractValue,
    with: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AbstractState {
    registers: [AbstractValue; 16],
    memory: BTreeMap<StorageLocation, AbstractValue>,
    compared: Option<ComparedOperands>,
    /// Unsigned upper bounds of words.
    at_most: BTreeMap<SymbolicWord, u32>,
    /// Names that stand for the sum of two words.
    sums: BTreeMap<ValueName, (SymbolicWord, SymbolicWord)>,
    /// Pointers that are inside the buffer of a walk.
    inside: BTreeSet<(SymbolicWord, JudgedBuffer)>,
    /// Saved registers, the last one pushed at the end.
    stack: Vec<Register>,
    /// True if the upper halves of vectors may be in use.
    upper: bool,
}

impl AbstractState {
    /// Returns the state at a function's entry.
    pub(super) fn begin() -> Self {
        Self {
            registers: [AbstractValue::Wide; 16],
            memory: BTreeMap::new(),
            compared: None,
            at_most: BTreeMap::new(),
            sums: BTreeMap::new(),
            inside: BTreeSet::new(),
            stack: Vec::new(),
            upper: false,
        }
    }

    pub(super) fn get(&self, place: StorageLocation) -> AbstractValue {
        let begin = || {
            AbstractValue::Word(SymbolicWord {
                name: ValueName::Begin(place),
                add: 0,
            })
        };
        match place {
            StorageLocation::Register(r) => self.registers[usize::from(r) % 16],
            _ => self.memory.get(&place).copied().unwrap_or_else(begin),
        }
    }

    pub(super) fn set_value(&mut self, place: StorageLocation, value: AbstractValue) {
        match place {
            StorageLocation::Register(r) => self.registers[usize::from(r) % 16] = value,
            _ => {
                self.memory.insert(place, value);
            }
        }
    }

    /// Returns the name for the result of the instruction at `at`; older holders of the name become
    /// unknown.
    pub(super) fn name_result(&mut self, at: u64) -> SymbolicWord {
        let name = ValueName::Made(at);
        self.forget(|other| other == name);
        SymbolicWord { name, add: 0 }
    }

    /// Removes all knowledge about the names for which `gone` is true.
    fn forget(&mut self, gone: impl Fn(ValueName) -> bool) {
        let named = |value: &AbstractValue| value.name().is_some_and(&gone);
        let places = self.registers.iter_mut().chain(self.memory.values_mut());
        for value in places.filter(|value| named(value)) {
            *value = AbstractValue::Any;
        }
        if self.compared.is_some_and(|compared| named(&compared.value)) {
            self.compared = None;
        }
        self.at_most.retain(|word, _| !gone(word.name));
        self.sums
            .retain(|name, (a, b)| !gone(*name) && !gone(a.name) && !gone(b.name));
        self.inside
            .retain(|(word, walk)| !gone(word.name) && walk.names().into_iter().all(|n| !gone(n)));
    }

    pub(super) fn sum(&mut self, name: ValueName, of: (SymbolicWord, SymbolicWord)) {
        self.sums.insert(name, of);
    }

    pub(super) fn is_sum(&self, word: SymbolicWord, of: (SymbolicWord, SymbolicWord)) -> bool {
        word.add == 0 && self.sums.get(&word.name) == Some(&of)
    }

    pub(super) fn compare(&mut self, compared: Option<(AbstractValue, u32)>) {
        self.compared = compared.map(|(value, with)| ComparedOperands { value, with });
    }

    /// Returns the state on one side of a branch; `None` if a comparison of constants never goes
    /// there.
    pub(super) fn branch(&self, instruction: &Instruction, taken: bool) -> Option<Self> {
        let mut state = self.clone();
        let Some(ComparedOperands { value, with }) = self.compared else {
            return Some(state);
        };
        let most = match (instruction.condition_code(), taken) {
            (ConditionCode::a, false) | (ConditionCode::be, true) => Some(with),
            (ConditionCode::ae, false) | (ConditionCode::b, true) => with.checked_sub(1),
            _ => None,
        };
        if let Some(most) = most {
            if value.constant().is_some_and(|value| value > most) {
                return None;
            }
            state.bound(value, most);
        }
        Some(state)
    }

    /// Notes that the value is at most `most`.
    fn bound(&mut self, value: AbstractValue, most: u32) {
        let (word, most) = match value {
            AbstractValue::Word(word) => (word, most),
            // If low bits of the number are not 0, they are rotated to the top and the result is
            // larger than `most`. So the number is at most `most << by`.
            AbstractValue::Rotated(word, by) if u64::from(most) < 1 << (32 - by) => {
                (word, most << by)
            }
            _ => return,
        };
        let known = self.at_most.entry(word).or_insert(most);
        *known = most.min(*known);
    }

    /// Returns the smallest and the largest number that a word can be, if anything is known.
    pub(super) fn range(&self, word: SymbolicWord) -> Option<(u64, u64)> {
        if word.name == ValueName::Zero {
            return Some((word.add.into(), word.add.into()));
        }
        let known = self
            .at_most
            .iter()
            .filter(|(known, _)| known.name == word.name);
        let ranges = known.filter_map(|(known, most)| {
            // The difference is added to the known bound; if that may wrap around, nothing is
            // known.
            let more = word.add.wrapping_sub(known.add);
            let last = most.checked_add(more)?;
            Some((u64::from(more), u64::from(last)))
        });
        let buffers = self.inside.iter().filter(|(inside, _)| *inside == word);
        let buffers = buffers.filter_map(|(_, walk)| walk.range());
        ranges
            .chain(buffers)
            .reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))
    }

    pub(super) fn record_judgement(&mut self, (word, walk): (SymbolicWord, JudgedBuffer)) {
        self.inside.insert((word, walk));
    }

    /// Returns the walks whose buffer contains a word.
    pub(super) fn walks(&self, word: SymbolicWord) -> Vec<JudgedBuffer> {
        let of = self.inside.iter().filter(|(inside, _)| *inside == word);
        of.map(|(_, walk)| *walk).collect()
    }

    /// Returns the state after a sequence that has used the scratch register and whose comparison
    /// is spent.
    pub(super) fn failed(&self) -> Self {
        let mut state = self.clone();
        state.set_value(StorageLocation::Register(0), AbstractValue::Any);
        state.compared = None;
        state
    }

    pub(super) fn push(&mut self, register: Register) {
        self.stack.push(register);
    }

    pub(super) fn pop(&mut self, register: Register, at: u64) -> Result<(), RefusedInstruction> {
        if self.stack.pop() == Some(register) {
            return Ok(());
        }
        Err(RefusedInstruction::new(
            at,
            "pops another register than was pushed last",
        ))
    }

    pub(super) fn is_saved(&self, register: Register) -> bool {
        self.stack.contains(&register)
    }

    pub(super) fn touches_upper(&mut self, touched: bool) {
        self.upper = touched;
    }

    /// Returns an error if the function must not return here.
    pub(super) fn leaves(&self, at: u64) -> Result<(), RefusedInstruction> {
        if !self.stack.is_empty() {
            return Err(RefusedInstruction::new(
                at,
                "returns with registers on the stack",
            ));
        }
        if self.upper {
            return Err(RefusedInstruction::new(
                at,
                "returns with upper halves in use",
            ));
        }
        Ok(())
    }

    /// Joins the state of another path that comes to `at`; returns true if that changed this state.
    pub(super) fn join(&mut self, other: &Self, at: u64) -> bool {
        let before = self.clone();
        let places: BTreeSet<StorageLocation> = (0..16)
            .map(StorageLocation::Register)
            .chain(before.memory.keys().copied())
            .chain(other.memory.keys().copied())
            .collect();
        // Places that hold equal values on each path hold equal values here: they get one name.
        let mut met: BTreeMap<(AbstractValue, AbstractValue), ValueName> = BTreeMap::new();
        for place in &places {
            let pair @ (mine, theirs) = (before.get(*place), other.get(*place));
            let given = mine
                .name()
                .is_some_and(|name| matches!(name, ValueName::Met(a, _) if a == at));
            if mine == theirs && !given {
                continue;
            }
            let both = match pair {
                (AbstractValue::Wide, _) | (_, AbstractValue::Wide) => AbstractValue::Wide,
                (AbstractValue::Word(_), AbstractValue::Word(_)) => {
                    let name = *met.entry(pair).or_insert(ValueName::Met(at, *place));
                    AbstractValue::Word(SymbolicWord { name, add: 0 })
                }
                _ => AbstractValue::Any,
            };
            self.set_value(*place, both);
        }
        // A name that is given here stands for the new value only.
        let gone = |name: ValueName| {
            let word = AbstractValue::Word(SymbolicWord { name, add: 0 });
            met.iter()
                .any(|(pair, met)| *met == name && *pair != (word, word))
        };
        let keeps = |word: &SymbolicWord| !gone(word.name);
        self.at_most = (before.at_most.iter())
            .filter(|(word, _)| keeps(word))
            .filter_map(|(word, most)| Some((*word, *other.at_most.get(word)?.max(most))))
            .collect();
        let same = |name: &ValueName, of: &(SymbolicWord, SymbolicWord)| {
            other.sums.get(name) == Some(of) && !gone(*name) && keeps(&of.0) && keeps(&of.1)
        };
        self.sums.retain(|name, of| same(name, of));
        let lasting = |walk: &JudgedBuffer| walk.names().into_iter().all(|name| !gone(name));
        self.inside = (before.inside.iter())
            .filter(|(word, walk)| keeps(word) && lasting(walk))
            .filter(|fact| other.inside.contains(fact))
            .copied()
            .collect();
        for ((mine, theirs), name) in &met {
            let (Some(a), Some(b)) = (mine.word(), theirs.word()) else {
                continue;
            };
            for (word, most) in before.at_most.iter().filter(|(w, _)| w.name == a.name) {
                let by = word.add.wrapping_sub(a.add);
                let there = SymbolicWord {
                    name: b.name,
                    add: b.add.wrapping_add(by),
                };
                if let Some(theirs) = other.at_most.get(&there) {
                    let word = SymbolicWord {
                        name: *name,
                        add: by,
                    };
                    self.at_most.insert(word, *most.max(theirs));
                }
            }
            for walk in before.walks(a).into_iter().filter(&lasting) {
                if other.inside.contains(&(b, walk)) {
                    self.inside.insert((
                        SymbolicWord {
                            name: *name,
                            add: 0,
                        },
                        walk,
                    ));
                }
            }
        }
        if self.compared != other.compared {
            self.compared = None;
        }
        if self.stack != other.stack {
            // No path may return from here: the stack holds a register that is never pushed.
            self.stack = vec![Register::None];
        }
        self.upper |= other.upper;
        *self != before
    }
}
