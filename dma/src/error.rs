//! Reasons why a descriptor is refused: field, value, rule, suggestion.

use crate::{Descriptor, Direction, Target};
use std::fmt;

/// A field of a [`Descriptor`], of another kind of transfer, or of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// `direction`.
    Direction,
    /// The section of [`Target::Section`].
    Section,
    /// The stride of [`Target::Blocks`].
    BlockStride,
    /// `system`.
    System,
    /// `local`.
    Local,
    /// `run`.
    Run,
    /// The number of `levels`.
    Levels,
    /// The count of a level.
    Count(usize),
    /// The system stride of a level.
    SystemStride(usize),
    /// The local stride of a level.
    LocalStride(usize),
    /// `event`.
    Event,
    /// Effect on the destination.
    Combine,
    /// Kind of the transfer.
    Kind,
    /// The size of the elements of a list.
    Element,
    /// The number of entries of a list.
    Entries,
    /// The system memory address of a run, by the run's number from 0.
    RunSystem(u64),
    /// The local memory address of a run, by the run's number from 0.
    RunLocal(u64),
    /// The length of a run, by the run's number from 0.
    RunBytes(u64),
}

impl Field {
    /// True for fields of a run and of other kinds of transfers. The search for a nearest legal value covers
    /// descriptors only, so none is suggested for them.
    fn is_of_run(self) -> bool {
        match self {
            Self::RunSystem(_)
            | Self::RunLocal(_)
            | Self::RunBytes(_)
            | Self::Combine
            | Self::Kind
            | Self::Element
            | Self::Entries => true,
            Self::Direction
            | Self::Section
            | Self::BlockStride
            | Self::System
            | Self::Local
            | Self::Run
            | Self::Levels
            | Self::Count(_)
            | Self::SystemStride(_)
            | Self::LocalStride(_)
            | Self::Event => false,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direction => f.write_str("direction"),
            Self::Section => f.write_str("target section"),
            Self::BlockStride => f.write_str("block stride"),
            Self::System => f.write_str("system address"),
            Self::Local => f.write_str("local address"),
            Self::Run => f.write_str("run"),
            Self::Levels => f.write_str("number of levels"),
            Self::Count(i) => write!(f, "count of level {i}"),
            Self::SystemStride(i) => write!(f, "system stride of level {i}"),
            Self::LocalStride(i) => write!(f, "local stride of level {i}"),
            Self::Event => f.write_str("event"),
            Self::Combine => f.write_str("combination"),
            Self::Kind => f.write_str("kind"),
            Self::Element => f.write_str("list element"),
            Self::Entries => f.write_str("number of list entries"),
            Self::RunSystem(i) => write!(f, "system address of run {i}"),
            Self::RunLocal(i) => write!(f, "local address of run {i}"),
            Self::RunBytes(i) => write!(f, "length of run {i}"),
        }
    }
}

/// The value of a [`Field`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldValue {
    /// An address, size, stride, count or index.
    Number(i128),
    /// A direction.
    Direction(Direction),
    /// A name.
    Name(&'static str),
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Direction(d) => d.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// A memory with an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// System memory.
    System,
    /// The DMEM of a section.
    Dmem,
    /// Program memory.
    Program,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "system memory",
            Self::Dmem => "DMEM",
            Self::Program => "program memory",
        })
    }
}

/// A rule of the DMA controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rule {
    /// Misalignment to the DMA granule.
    #[error("must be a multiple of the DMA granule, {0} bytes")]
    Granule(u64),
    /// Misalignment to a program word.
    #[error("must be a multiple of a program word, {0} bytes")]
    ProgramWord(u64),
    /// A size or a count of 0: nothing would move.
    #[error("must be at least {0}")]
    AtLeast(u64),
    /// An index or a number of levels beyond what the machine has.
    #[error("must be at most {0} on this machine")]
    AtMost(u64),
    /// An access outside a memory.
    #[error("must keep the transfer inside {memory}, {size} bytes")]
    Inside {
        /// The memory that is left.
        memory: Memory,
        /// Size of the memory in bytes.
        size: u64,
    },
    /// More bytes than the destination holds: some byte would be written twice.
    #[error("must not move more than {memory} holds, {size} bytes")]
    Capacity {
        /// The destination memory.
        memory: Memory,
        /// Size of the destination in bytes.
        size: u64,
    },
    /// A store from a target that can only be loaded to.
    #[error("must be load: nothing can be stored from this target")]
    LoadsOnly,
    /// A sum with program memory.
    #[error("must be replace: program memory holds no numbers to add to")]
    ReplacesOnly,
    /// A list on a machine without the extension.
    #[error("must be strided: this machine does not have the extension `list-transfers`")]
    StridedOnly,
    /// An element that is no word, pair or quad.
    #[error("must be 4, 8 or 16 bytes")]
    ElementSize,
}

/// The first rule a transfer breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DescriptorError {
    /// The field at fault.
    pub field: Field,
    /// Its value.
    pub value: FieldValue,
    /// The rule it breaks.
    pub rule: Rule,
    /// The nearest value that obeys the rule, the other fields unchanged; `None`
    /// where no value does.
    pub nearest: Option<FieldValue>,
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DMA {} is {}: it {}", self.field, self.value, self.rule)?;
        match self.nearest {
            Some(nearest) => write!(f, "; the nearest legal value is {nearest}"),
            None if self.field.is_of_run() => Ok(()),
            None => f.write_str("; no value is legal here"),
        }
    }
}

impl DescriptorError {
    /// The descriptor with the nearest legal value in place of the wrong one.
    #[must_use]
    pub fn fix(&self, d: &Descriptor) -> Option<Descriptor> {
        let mut d = d.clone();
        match (self.field, self.nearest?) {
            (Field::Direction, FieldValue::Direction(direction)) => d.direction = direction,
            (field, FieldValue::Number(n)) => d.set(field, n)?,
            _ => return None,
        }
        Some(d)
    }
}

impl Descriptor {
    fn set(&mut self, field: Field, n: i128) -> Option<()> {
        match field {
            Field::Direction
            | Field::Combine
            | Field::Kind
            | Field::Element
            | Field::Entries
            | Field::RunSystem(_)
            | Field::RunLocal(_)
            | Field::RunBytes(_) => return None,
            Field::Section => self.target = Target::Section(u32::try_from(n).ok()?),
            Field::BlockStride => {
                self.target = Target::Blocks {
                    stride: i64::try_from(n).ok()?,
                }
            }
            Field::System => self.system = u64::try_from(n).ok()?,
            Field::Local => self.local = u32::try_from(n).ok()?,
            Field::Run => self.run = u64::try_from(n).ok()?,
            Field::Levels => self.levels.truncate(usize::try_from(n).ok()?),
            Field::Count(i) => self.levels.get_mut(i)?.count = u32::try_from(n).ok()?,
            Field::SystemStride(i) => {
                self.levels.get_mut(i)?.system_stride = i64::try_from(n).ok()?;
            }
            Field::LocalStride(i) => {
                self.levels.get_mut(i)?.local_stride = i64::try_from(n).ok()?;
            }
            Field::Event => self.event = Some(u32::try_from(n).ok()?),
        }
        Some(())
    }
}
