//! The operations of a step.

use crate::device::MemoryElement;
use cp2_emu::{OutOfMemory, SystemRam};
use serde::{Deserialize, Serialize};

/// A number that an operation of a step gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepScalar(pub(super) u32);

/// What a word of system memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WordKind {
    /// A float of 4 bytes; a number is rounded to the nearest, ties to even.
    Float32,
    /// A float of 8 bytes.
    Float64,
    /// An unsigned integer of 4 bytes; a number is cut towards 0 to what fits, no number gives 0.
    Uint32,
}

impl WordKind {
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Float32 | Self::Uint32 => 4,
            Self::Float64 => 8,
        }
    }

    fn read(self, memory: &SystemRam, address: u64) -> Result<f64, OutOfMemory> {
        let mut bytes = [0; 8];
        let all = self.bytes() as usize;
        memory.read(address, &mut bytes[..all])?;
        Ok(match self {
            Self::Float32 => f32::get(&bytes).into(),
            Self::Float64 => f64::get(&bytes),
            Self::Uint32 => u32::get(&bytes).into(),
        })
    }

    fn write(self, memory: &mut SystemRam, address: u64, number: f64) -> Result<(), OutOfMemory> {
        let mut bytes = [0; 8];
        // Of all that are no numbers the one of the kernels.
        match self {
            Self::Float32 if number.is_nan() => f32::from_bits(0x7fc0_0000).put(&mut bytes),
            Self::Float64 if number.is_nan() => f64::from_bits(0x7ff8 << 48).put(&mut bytes),
            Self::Float32 => (number as f32).put(&mut bytes),
            Self::Float64 => number.put(&mut bytes),
            Self::Uint32 => (number as u32).put(&mut bytes),
        }
        memory.write(address, &bytes[..self.bytes() as usize])
    }
}

/// A type that a step reads and writes.
pub trait StepNumber: MemoryElement {
    /// What its words hold.
    const WORD: WordKind;
}

impl StepNumber for f32 {
    const WORD: WordKind = WordKind::Float32;
}
impl StepNumber for f64 {
    const WORD: WordKind = WordKind::Float64;
}
impl StepNumber for u32 {
    const WORD: WordKind = WordKind::Uint32;
}

/// An operation on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnaryOperation {
    /// Its negative.
    Negate,
    /// Its magnitude.
    Magnitude,
    /// Its square root.
    SquareRoot,
    /// The largest whole number that is not larger.
    Floor,
}

/// An operation on two numbers a and b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BinaryOperation {
    /// a + b.
    Add,
    /// a - b.
    Subtract,
    /// a b.
    Multiply,
    /// a / b.
    Divide,
    /// b if b < a, else a.
    Least,
    /// b if b > a, else a.
    Largest,
    /// 1 if a < b, else 0.
    Less,
    /// 1 if a and b are not 0, else 0.
    Both,
    /// 1 if a or b is not 0, else 0.
    Either,
}

/// What a step does in its turn. All but stores give a number; a store gives what it stores, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A number that is known.
    Constant {
        /// Its bits, as those of an f64.
        bits: u64,
    },
    /// A word of system memory.
    Load {
        /// What it holds.
        word: WordKind,
        /// Its byte address.
        address: u64,
    },
    /// An operation on a number.
    Unary {
        /// Which.
        operation: UnaryOperation,
        /// The number.
        of: StepScalar,
    },
    /// An operation on two numbers.
    Binary {
        /// Which.
        operation: BinaryOperation,
        /// The numbers.
        of: [StepScalar; 2],
    },
    /// One of two numbers.
    Select {
        /// What decides: the first number, unless this is 0.
        by: StepScalar,
        /// The numbers.
        of: [StepScalar; 2],
    },
    /// Writes a word of system memory.
    Store {
        /// What it will hold.
        word: WordKind,
        /// Its byte address.
        address: u64,
        /// The number.
        of: StepScalar,
    },
    /// Writes one of several words of system memory.
    Put {
        /// What it will hold.
        word: WordKind,
        /// Byte address of the first.
        address: u64,
        /// How many words there are.
        count: u64,
        /// The number of the word, rounded down: one that there is not is not written.
        index: StepScalar,
        /// The number.
        of: StepScalar,
    },
}

impl Operation {
    /// The numbers that it uses.
    pub(super) fn uses(&self) -> impl Iterator<Item = StepScalar> {
        let of = match *self {
            Self::Constant { .. } | Self::Load { .. } => [None; 3],
            Self::Unary { of, .. } | Self::Store { of, .. } => [Some(of), None, None],
            Self::Binary { of: [a, b], .. } => [Some(a), Some(b), None],
            Self::Put { index, of, .. } => [Some(index), Some(of), None],
            Self::Select { by, of: [a, b] } => [Some(by), Some(a), Some(b)],
        };
        of.into_iter().flatten()
    }

    /// The word of system memory that it touches, if any: the address of the first that it may be, and how many there are.
    pub(super) fn place(&self) -> Option<(WordKind, u64, u64)> {
        match *self {
            Self::Load { word, address } | Self::Store { word, address, .. } => {
                Some((word, address, 1))
            }
            Self::Put {
                word,
                address,
                count,
                ..
            } => Some((word, address, count)),
            _ => None,
        }
    }

    /// Whether it computes something.
    pub(super) fn computes(&self) -> bool {
        matches!(
            self,
            Self::Unary { .. } | Self::Binary { .. } | Self::Select { .. } | Self::Put { .. }
        )
    }

    /// Carries it out with the numbers of those before it, and gives its own.
    pub(super) fn run(&self, numbers: &[f64], memory: &mut SystemRam) -> Result<f64, OutOfMemory> {
        // A number that does not come before is refused when the step is given.
        let number = |of: StepScalar| numbers.get(of.0 as usize).copied().unwrap_or(f64::NAN);
        let truth = |is: bool| f64::from(u8::from(is));
        Ok(match *self {
            Self::Constant { bits } => f64::from_bits(bits),
            Self::Load { word, address } => word.read(memory, address)?,
            Self::Unary { operation, of } => match operation {
                UnaryOperation::Negate => -number(of),
                UnaryOperation::Magnitude => number(of).abs(),
                UnaryOperation::SquareRoot => number(of).sqrt(),
                UnaryOperation::Floor => number(of).floor(),
            },
            Self::Binary { operation, of } => {
                let [a, b] = of.map(number);
                match operation {
                    BinaryOperation::Add => a + b,
                    BinaryOperation::Subtract => a - b,
                    BinaryOperation::Multiply => a * b,
                    BinaryOperation::Divide => a / b,
                    BinaryOperation::Least if b < a => b,
                    BinaryOperation::Largest if b > a => b,
                    BinaryOperation::Least | BinaryOperation::Largest => a,
                    BinaryOperation::Less => truth(a < b),
                    BinaryOperation::Both => truth(a != 0.0 && b != 0.0),
                    BinaryOperation::Either => truth(a != 0.0 || b != 0.0),
                }
            }
            Self::Select { by, of } => {
                let [a, b] = of.map(number);
                if number(by) == 0.0 { b } else { a }
            }
            Self::Store { word, address, of } => {
                word.write(memory, address, number(of))?;
                number(of)
            }
            Self::Put {
                word,
                address,
                count,
                index,
                of,
            } => {
                let index = number(index);
                // No number is in no range.
                if (0.0..count as f64).contains(&index) {
                    let at = address + word.bytes() * index as u64;
                    word.write(memory, at, number(of))?;
                }
                number(of)
            }
        })
    }
}
