//! Classes of operations: an instruction's unit, latency and interval.

use crate::Extensions;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Index, IndexMut};

/// The unit that produces a result. A row of the instruction table names a class, the machine file gives its
/// latency and interval, and the issue model joins the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Integer and bit operations, permutes, selects, immediates.
    Integer,
    /// Floating add, subtract, multiply, min/max, compare, conversion.
    Add,
    /// Multiply-add and complex multiply.
    Madd,
    /// The complex butterfly.
    Butterfly,
    /// The elementary-function unit (not fully pipelined).
    Elementary,
    /// Add, subtract, multiply, min/max, compare, conversion of binary64 numbers.
    DoubleAdd,
    /// Multiply-add of binary64 numbers.
    DoubleMadd,
    /// Complex products and butterflies of binary64 numbers.
    DoubleComplex,
    /// Rounding errors of sums and products.
    Error,
    /// DMEM to section register.
    Load,
    /// DMEM to section register, at an address that each section forms itself.
    Gather,
    /// DMEM to section register, at any word address.
    Unaligned,
    /// Register of a section to a register of another one.
    Exchange,
    /// DMEM of a section to a register of the section beside it.
    Neighbour,
    /// Sign bits of all sections to shared scalar register.
    Vote,
    /// DMEM of section 0 to shared scalar register.
    ScalarLoad,
    /// Shared scalar arithmetic and address update.
    Scalar,
    /// Operations without a register result.
    Control,
}

impl Class {
    /// All classes, in declaration order.
    pub const ALL: [Self; 18] = [
        Self::Integer,
        Self::Add,
        Self::Madd,
        Self::Butterfly,
        Self::Elementary,
        Self::DoubleAdd,
        Self::DoubleMadd,
        Self::DoubleComplex,
        Self::Error,
        Self::Load,
        Self::Gather,
        Self::Unaligned,
        Self::Exchange,
        Self::Neighbour,
        Self::Vote,
        Self::ScalarLoad,
        Self::Scalar,
        Self::Control,
    ];

    /// The name used in machine files, causes and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Add => "add",
            Self::Madd => "madd",
            Self::Butterfly => "butterfly",
            Self::Elementary => "elementary",
            Self::DoubleAdd => "double-add",
            Self::DoubleMadd => "double-madd",
            Self::DoubleComplex => "double-complex",
            Self::Error => "error",
            Self::Load => "load",
            Self::Gather => "gather",
            Self::Unaligned => "unaligned",
            Self::Exchange => "exchange",
            Self::Neighbour => "neighbour",
            Self::Vote => "vote",
            Self::ScalarLoad => "scalar-load",
            Self::Scalar => "scalar",
            Self::Control => "control",
        }
    }

    /// Returns the extensions without which no operation of a machine has the class.
    #[must_use]
    pub const fn requires(self) -> Extensions {
        match self {
            Self::Gather => Extensions::SECTION_ADDRESSING,
            Self::Unaligned => Extensions::WORD_ADDRESSING,
            Self::Exchange | Self::Neighbour => Extensions::EXCHANGE,
            Self::Vote => Extensions::CONDITIONAL,
            Self::DoubleAdd | Self::DoubleMadd | Self::DoubleComplex => Extensions::DOUBLE,
            Self::Error => Extensions::DOUBLE_SINGLE,
            Self::Integer
            | Self::Add
            | Self::Madd
            | Self::Butterfly
            | Self::Elementary
            | Self::Load
            | Self::ScalarLoad
            | Self::Scalar
            | Self::Control => Extensions::empty(),
        }
    }

    /// True if the memory and control slot of a word issues the class, false if the arithmetic slot does.
    #[must_use]
    pub const fn is_memory(self) -> bool {
        match self {
            Self::Load
            | Self::Gather
            | Self::Unaligned
            | Self::Exchange
            | Self::Neighbour
            | Self::Vote
            | Self::ScalarLoad
            | Self::Scalar
            | Self::Control => true,
            Self::Integer
            | Self::Add
            | Self::Madd
            | Self::Butterfly
            | Self::Elementary
            | Self::DoubleAdd
            | Self::DoubleMadd
            | Self::DoubleComplex
            | Self::Error => false,
        }
    }

    /// Returns the floating-point operations of one section in the fullest operation of the class: the most
    /// that any row of the instruction table with this class has. An elementary function counts as one for
    /// each lane.
    #[must_use]
    pub const fn flops(self) -> u64 {
        match self {
            Self::Butterfly | Self::DoubleComplex => 10,
            Self::Madd => 8,
            Self::Add | Self::DoubleMadd | Self::Error => 4,
            Self::Elementary | Self::DoubleAdd => 2,
            Self::Integer
            | Self::Load
            | Self::Gather
            | Self::Unaligned
            | Self::Exchange
            | Self::Neighbour
            | Self::Vote
            | Self::ScalarLoad
            | Self::Scalar
            | Self::Control => 0,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A map with one value for each [`Class`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClassMap<T>([T; Class::ALL.len()]);

impl<T> ClassMap<T> {
    /// Builds the map from a function of the class.
    pub fn from_fn(mut f: impl FnMut(Class) -> T) -> Self {
        Self(std::array::from_fn(|i| f(Class::ALL[i])))
    }

    /// Iterates over classes and values, in declaration order.
    pub fn iter(&self) -> impl Iterator<Item = (Class, &T)> {
        Class::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<Class> for ClassMap<T> {
    type Output = T;
    fn index(&self, class: Class) -> &T {
        &self.0[class as usize]
    }
}

impl<T> IndexMut<Class> for ClassMap<T> {
    fn index_mut(&mut self, class: Class) -> &mut T {
        &mut self.0[class as usize]
    }
}
